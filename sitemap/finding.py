"""Owns what is said about a document that is not as it should be: one finding a defect, in bounded number."""

from dataclasses import dataclass
from typing import Final

PER_RULE: Final = 20  # findings of one rule that are kept word for word


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect: a stable rule id (``sitemap.truncated``), the line (from 1; 0 when it has none), and a sentence."""

    rule: str
    line: int
    sentence: str


class Findings:
    """Collects the findings of one document. After the first 20 of a rule only their number is kept."""

    def __init__(self) -> None:
        self._kept: list[Finding] = []
        self._counts: dict[str, int] = {}

    def add(self, rule: str, line: int, sentence: str) -> None:
        """Take down one finding; quoted pieces of the document must be cut to size and ``repr``-ed by the caller."""
        count = self._counts[rule] = self._counts.get(rule, 0) + 1
        if count <= PER_RULE:
            self._kept.append(Finding(rule, line, sentence))

    def all(self) -> tuple[Finding, ...]:
        """The findings in order, and for each rule with more of them one that says how many."""
        more = tuple(
            Finding(rule, 0, f"and {count - PER_RULE:,} more like these")
            for rule, count in self._counts.items()
            if count > PER_RULE
        )
        return (*self._kept, *more)
