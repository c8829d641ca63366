"""The rules of the linter, in one table, what a rule is, and findings: the defects of a document, in bounded number.

An id never changes its meaning and is never reused. An *error* makes a file or an entry invalid or unusable. A
*warning* makes search engines distrust or skip something. A *note* needs no action.
"""

import csv
import sys
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from typing import Final

from msgspec import Struct
from msgspec.structs import force_setattr

from sitemap.escape import shorten


class Severity(StrEnum):
    """The severity of a finding, worst first. A worse severity is greater: ``ERROR > NOTE``."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def _rank(self) -> int:
        return -list(Severity).index(self)

    # A severity compares with other strings as a string.
    def __lt__(self, other: str) -> bool:
        return self._rank < other._rank if isinstance(other, Severity) else str.__lt__(self, other)

    def __le__(self, other: str) -> bool:
        return self == other or self < other

    def __gt__(self, other: str) -> bool:
        return not self <= other

    def __ge__(self, other: str) -> bool:
        return not self < other


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the linter or the audit.

    ``title`` is the heading of its findings, ``remedy`` says what to do about them. ``sentence`` is what the rule
    requires (linter), or what its findings have in common (audit). ``source`` is the URL of the rule's source, or "".
    """

    id: str
    severity: Severity
    title: str
    sentence: str
    remedy: str
    source: str = ""

    @property
    def family(self) -> str:
        """The part of the id before the dot."""
        return self.id.partition(".")[0]


_TABLE: Final = (files("sitemap") / "rules.csv").read_text(encoding="utf-8")
RULES: Final = {
    rule_id: Rule(rule_id, Severity(severity), *texts)
    for rule_id, severity, *texts in list(csv.reader(_TABLE.splitlines()))[1:]
}
"""All rules of lint by their id."""


MAX_FINDINGS: Final = 20  # kept per rule and document, by default


class Finding(Struct, frozen=True):
    """One defect: the id of the broken rule, a sentence that says what is wrong, and its place.

    ``file`` is the path or URL of the document, or "" if there is only one document. ``line`` counts from 1; 0 means no
    line. A finding of the reader has the line of the faulty element's start tag; a finding of the linter about an entry
    has the line of its ``url`` or ``sitemap`` tag. ``url`` is the URL that the finding is about, or "" if it is about a
    place in a file. ``times`` is the number of defects that it stands for: more than 1 if it sums up others.
    """

    rule: str
    sentence: str
    file: str = ""
    line: int = 0
    url: str = ""
    times: int = 1

    def __post_init__(self) -> None:
        if (short := shorten(self.sentence)) is not self.sentence:
            force_setattr(self, "sentence", short)

    @property
    def severity(self) -> Severity:
        """The severity of the rule."""
        return RULES[self.rule].severity


class FindingCollector:
    """Collects the findings of one document. Keeps the first ``limit`` of each rule (0: all) and counts the others."""

    def __init__(self, file: str = "", limit: int = MAX_FINDINGS) -> None:
        self.counts: dict[str, int] = {}  # by rule, also of findings that are not kept
        self._file = file
        self.limit = limit or sys.maxsize
        self._kept: list[Finding] = []
        self._repeats: set[Finding] = set()  # that the second reading will report again

    def read_again(self, line: int) -> None:
        """Note that the document is read a second time from this line on, so that no finding is added twice."""
        self._repeats = {finding for finding in self._kept if finding.line >= line}

    def add(self, rule: str, line: int, sentence: str) -> None:
        """Add one finding. The caller quotes document text with :func:`sitemap.escape.quote_text`."""
        if self._repeats and (repeat := self._finding(rule, line, sentence)) in self._repeats:
            self._repeats.remove(repeat)
            return
        count = self.counts[rule] = self.counts.get(rule, 0) + 1
        if count <= self.limit:
            self._kept.append(self._finding(rule, line, sentence))

    def has_room(self, rule: str) -> bool:
        """Whether one more finding of a rule would be kept."""
        return self.counts.get(rule, 0) < self.limit

    def count(self, rule: str, times: int) -> None:
        """Count more findings of a rule whose limit is reached."""
        if times:
            self.counts[rule] = self.counts.get(rule, 0) + times

    def all(self) -> tuple[Finding, ...]:
        """The kept findings in order, then one for each rule with more findings that states their number."""
        more = tuple(
            self._finding(rule, 0, f"and {count - self.limit:,} more like these", count - self.limit)
            for rule, count in self.counts.items()
            if count > self.limit
        )
        return (*self._kept, *more)

    def _finding(self, rule: str, line: int, sentence: str, times: int = 1) -> Finding:
        return Finding(rule, sentence, self._file, line, times=times)
