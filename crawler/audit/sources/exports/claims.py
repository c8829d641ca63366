"""Makes claims from the rows of one table: counts, days, and whether another crawler read a page."""

from typing import Any, Final

from crawler.audit.source_record import SourceKind, SourceRecord
from crawler.audit.sources.exports.columns import ExportColumns, parse_count, parse_day
from crawler.audit.sources.exports.headers import ColumnRole
from crawler.model import Url

_COUNTS: Final = (
    *(ColumnRole.CLICKS, ColumnRole.IMPRESSIONS, ColumnRole.SESSIONS, ColumnRole.VIEWS, ColumnRole.USERS),
    *(ColumnRole.LINKS, ColumnRole.DOMAINS, ColumnRole.STATUS),
)
_NOT_INDEXABLE_WORDS: Final = ("non", "nicht", "no ", "false", "0")  # how "Non-Indexable" begins


class ExportClaimBuilder:
    """Makes claims from rows with these columns. ``span`` are the first and last day of the table."""

    def __init__(self, columns: ExportColumns, source: SourceKind, span: tuple[str, str]) -> None:
        others = columns.by_role
        self._counts = [(role.value, others[role]) for role in _COUNTS if role in others]
        self._dates = [others.get(role, -1) for role in (ColumnRole.DAY, ColumnRole.FIRST, ColumnRole.LAST)]
        self._tests = [
            (role, others[role])
            for role in (ColumnRole.STATUS, ColumnRole.INDEXABLE, ColumnRole.TYPE)
            if role in others
        ]
        # of a row without a count
        self._links = int(source == SourceKind.BACKLINKS and ColumnRole.DOMAINS not in others)
        # the days of a chart are not the days of crawling
        self._span = ("", "") if source == SourceKind.SEARCH and ColumnRole.LAST in others else span

    def build(self, url: Url, row: list[str]) -> SourceRecord:
        """The claim of a row about its URL."""
        width = len(row)
        counts: dict[str, Any] = {"links": self._links} if self._links else {}
        for name, at in self._counts:
            if at < width:
                counts[name] = parse_count(row[at])
        first, last = self._span if max(self._dates) < 0 else self._days(row)
        return SourceRecord(url=url, first=first, last=last, **counts)

    def is_page(self, row: list[str]) -> bool:
        """Whether another crawler got an indexable HTML page with status 200."""
        for role, at in self._tests:
            cell = row[at].strip().casefold() if at < len(row) else ""
            if role == ColumnRole.STATUS and not cell.startswith("200"):
                return False
            if role == ColumnRole.INDEXABLE and cell.startswith(_NOT_INDEXABLE_WORDS):
                return False
            if role == ColumnRole.TYPE and cell and "html" not in cell:
                return False
        return True

    def _days(self, row: list[str]) -> tuple[str, str]:
        on, first, last = (parse_day(row[at]) if 0 <= at < len(row) else "" for at in self._dates)
        if on:
            return on, on
        first, last = first or self._span[0] or last, last or self._span[1] or first
        return min(first, last), max(first, last)
