"""Owns the tables of an audit: the findings of one rule as CSV that spreadsheets open right and never run.

RFC 4180 with a byte order mark, for without one Excel takes UTF-8 for a code page. Cells that would start a formula
(https://owasp.org/www-community/attacks/CSV_Injection) are texts that begin with an apostrophe.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable
from typing import BinaryIO, Final

from crawler.audit.finding import AuditFinding, ResolvedFinding
from sitemap import safe

_MAX_CELL: Final = 32_000  # characters: of what goes beyond 32,767, Excel makes cells of their own
# What begins a formula, also in the wide, small, raised and lowered forms that are taken for the same, after blanks,
# quotes and whatever else is neither a word nor a visible sign of ASCII.
_FORMULA: Final = re.compile(
    r"[^\w!#-&(-~]*?[=+\-@\uff1d\uff0b\uff0d\uff20\ufe62\ufe63\ufe66\ufe6b\u207a-\u207c\u208a-\u208c\u2212]"
)

_Cell = str | int | float | None
CSV_COLUMNS: Final[tuple[tuple[str, Callable[[AuditFinding], _Cell]], ...]] = (
    ("URL", lambda each: cell_text(each.url)),
    ("Finding", lambda each: cell_text(each.sentence)),
    ("Conclusive", lambda each: "yes" if each.is_certain else "no"),
    ("Title", lambda each: cell_text(each.title)),
    ("State", lambda each: cell_text(each.state)),
    ("Status", lambda each: each.status),
    ("Crawl depth", lambda each: each.depth),
    ("Pages that link to it", lambda each: each.inlinks),
    ("Link weight", lambda each: round(each.weight, 4)),
    ("Known from", lambda each: join_cells(each.known)),
    ("First seen", lambda each: cell_text(each.first)),
    ("Last seen", lambda each: cell_text(each.last)),
    ("Visits by people", lambda each: each.people),
    ("Visits by bots", lambda each: each.bots),
    ("Search clicks", lambda each: each.clicks),
    ("Search impressions", lambda each: each.impressions),
    ("Sessions", lambda each: each.sessions),
    ("Views", lambda each: each.views),
    ("Users", lambda each: each.users),
    ("Links from other sites", lambda each: each.backlinks),
    ("Domains that link to it", lambda each: each.domains),
    ("lastmod", lambda each: cell_text(each.lastmod)),
    ("Other spellings", lambda each: join_cells(each.spellings)),
    ("Linked from", lambda each: join_cells(f"{by.url} ({by.how})" for by in each.referrers)),
    ("Link it from", lambda each: join_cells(f"{hub.url} ({hub.reason})" for hub in each.hubs)),
    ("Evidence", lambda each: join_cells(each.evidence)),
    ("Group", lambda each: cell_text(each.group)),
    ("File", lambda each: cell_text(each.file)),
    ("Line", lambda each: each.line or None),
    ("Times", lambda each: each.times),
    ("New", lambda each: "yes" if each.is_new else "no"),
    ("Found since", lambda each: cell_text(each.since)),
)
"""The columns, the same in every table: the heading, and what of a finding stands under it."""


def write_csv(findings: Iterable[AuditFinding], file: BinaryIO) -> None:
    """Write a table of findings, with a row of headings. Numbers are numbers. Raises OSError."""
    rows = ([cell(each) for _, cell in CSV_COLUMNS] for each in findings)
    _table([heading for heading, _ in CSV_COLUMNS], rows, file)


RESOLVED_COLUMNS: Final = ("Rule", "URL", "Found since", "Now", "File", "Became")


def write_resolved(mended: Iterable[ResolvedFinding], file: BinaryIO) -> None:
    """Write the table of what the audit before had and is no more: what became nothing is mended. Raises OSError."""
    rows = ((each.rule, each.url, each.since, each.now, each.file, each.became) for each in mended)
    _table(RESOLVED_COLUMNS, (map(cell_text, row) for row in rows), file)


def _table(headings: Iterable[str], rows: Iterable[Iterable[_Cell]], file: BinaryIO) -> None:
    lines = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    try:
        table = csv.writer(lines, quoting=csv.QUOTE_NONNUMERIC)
        table.writerow(headings)
        table.writerows(rows)
    finally:
        lines.detach()  # which writes the rest, and leaves the file open


def cell_text(value: str) -> str:
    """A text as a cell may hold it: what cannot be seen is escaped, and it is never a formula."""
    shown = safe(value)
    if len(shown) > _MAX_CELL:
        shown = f"{shown[:_MAX_CELL]}…"
    return f"'{shown}" if _FORMULA.match(value) else shown


def join_cells(values: Iterable[str]) -> str:
    """A list of texts as one cell."""
    return cell_text(" | ".join(values))
