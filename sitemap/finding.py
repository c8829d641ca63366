"""Owns what is said about a document that is not as it should be: one finding a defect, in bounded number."""

import sys
from typing import Final

from msgspec import Struct

from sitemap.rules import RULES, Severity

MAX_FINDINGS: Final = 20  # of one rule in a document that are kept word for word, unless more are wanted


class Finding(Struct, frozen=True):
    """One thing that is not as it should be: the id of its rule, a sentence that says what is wrong, and where.

    ``file`` is the path or URL of a document, or "" where only one is spoken of, and ``line`` counts from 1; 0: none.
    The line of what reading finds (order, a value, a tag of an image, video or article, a link) is that of the start
    tag of the element at fault; the line of what linting finds of an entry is that of its ``url`` or ``sitemap`` tag.
    ``url`` is the URL that the finding is about; "" if it is about a place in a file. ``times`` is how many defects of
    its rule it stands for: 1, or all those that were not kept.
    """

    rule: str
    sentence: str
    file: str = ""
    line: int = 0
    url: str = ""
    times: int = 1

    @property
    def severity(self) -> Severity:
        """How bad it is, as the rule says."""
        return RULES[self.rule].severity


class FindingCollector:
    """Collects the findings of one document. The first ``most`` of a rule are kept (0: all), else their number."""

    def __init__(self, file: str = "", most: int = MAX_FINDINGS) -> None:
        self.counts: dict[str, int] = {}  # of each rule, also of what was not kept
        self._file = file
        self.most = most or sys.maxsize  # of one rule that are kept
        self._kept: list[Finding] = []
        self._told: set[Finding] = set()  # what will be met again

    def read_again(self, line: int) -> None:
        """From this line on the document is read a second time: what was said of it is not said twice."""
        self._told = {finding for finding in self._kept if finding.line >= line}

    def add(self, rule: str, line: int, sentence: str) -> None:
        """Take down one finding; pieces of the document in it are quoted with :func:`sitemap.escape.shown`."""
        if self._told and (told := self._finding(rule, line, sentence)) in self._told:
            self._told.remove(told)
            return
        count = self.counts[rule] = self.counts.get(rule, 0) + 1
        if count <= self.most:
            self._kept.append(self._finding(rule, line, sentence))

    def has_room(self, rule: str) -> bool:
        """Whether one more finding of a rule is kept word for word."""
        return self.counts.get(rule, 0) < self.most

    def count(self, rule: str, times: int) -> None:
        """Take down so many more findings of a rule of which as many are kept as may be."""
        if times:
            self.counts[rule] = self.counts.get(rule, 0) + times

    def all(self) -> tuple[Finding, ...]:
        """The findings in order, and for each rule with more of them one that says how many."""
        more = tuple(
            self._finding(rule, 0, f"and {count - self.most:,} more like these", count - self.most)
            for rule, count in self.counts.items()
            if count > self.most
        )
        return (*self._kept, *more)

    def _finding(self, rule: str, line: int, sentence: str, times: int = 1) -> Finding:
        return Finding(rule, sentence, self._file, line, times=times)
