"""Writes tables as CSV that spreadsheets open correctly and never execute: findings, redirects, and links to add.

RFC 4180 with a byte order mark: without one, Excel reads UTF-8 as a code page. Cells that would start a formula
(https://owasp.org/www-community/attacks/CSV_Injection) become texts with a leading apostrophe.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import islice
from typing import BinaryIO, Final

from crawler.audit.finding import AuditFinding, ResolvedFinding
from sitemap import safe

_MAX_CELL: Final = 32_000  # characters: Excel splits a cell with more than 32,767
# What begins a formula, also in the fullwidth, small, superscript and subscript forms that spreadsheets accept, after
# blanks, quotes and anything else that is neither a word nor a visible ASCII character.
_FORMULA: Final = re.compile(
    r"[^\w!#-&(-~]*?[=+\-@\uff1d\uff0b\uff0d\uff20\ufe62\ufe63\ufe66\ufe6b\u207a-\u207c\u208a-\u208c\u2212]"
).match

_Cell = str | int | float | None
CSV_COLUMNS: Final[tuple[tuple[str, Callable[[AuditFinding], _Cell]], ...]] = (
    ("URL", lambda finding: cell_text(finding.url)),
    ("Finding", lambda finding: cell_text(finding.sentence)),
    ("Conclusive", lambda finding: "yes" if finding.is_certain else "no"),
    ("Title", lambda finding: cell_text(finding.title)),
    ("State", lambda finding: cell_text(finding.state)),
    ("Status", lambda finding: finding.status),
    ("Crawl depth", lambda finding: finding.depth),
    ("Pages that link to it", lambda finding: finding.inlinks),
    ("Link weight", lambda finding: round(finding.weight, 4)),
    ("Known from", lambda finding: join_cells(finding.known)),
    ("First seen", lambda finding: cell_text(finding.first)),
    ("Last seen", lambda finding: cell_text(finding.last)),
    ("Visits by people", lambda finding: finding.people),
    ("Visits by bots", lambda finding: finding.bots),
    ("Search clicks", lambda finding: finding.clicks),
    ("Search impressions", lambda finding: finding.impressions),
    ("Sessions", lambda finding: finding.sessions),
    ("Views", lambda finding: finding.views),
    ("Users", lambda finding: finding.users),
    ("Links from other sites", lambda finding: finding.backlinks),
    ("Domains that link to it", lambda finding: finding.domains),
    ("lastmod", lambda finding: cell_text(finding.lastmod)),
    ("Other spellings", lambda finding: join_cells(finding.spellings)),
    ("Linked from", lambda finding: join_cells(f"{by.url} ({by.how})" for by in finding.referrers)),
    ("Link it from", lambda finding: join_cells(f"{hub.url} ({hub.reason})" for hub in finding.hubs)),
    ("Redirect it to", lambda finding: join_cells(f"{page.url} ({page.reason})" for page in finding.targets)),
    ("Evidence", lambda finding: join_cells(finding.evidence)),
    ("Group", lambda finding: cell_text(finding.group)),
    ("File", lambda finding: cell_text(finding.file)),
    ("Line", lambda finding: finding.line or None),
    ("Times", lambda finding: finding.times),
    ("New", lambda finding: "yes" if finding.is_new else "no"),
    ("Found since", lambda finding: cell_text(finding.since)),
)
"""The columns, the same in every table: the heading, and the cell of a finding."""


def write_csv(findings: Iterable[AuditFinding], file: BinaryIO) -> None:
    """Write a table of findings with a row of headings. Raises OSError."""
    rows = ([cell(finding) for _, cell in CSV_COLUMNS] for finding in findings)
    _table([heading for heading, _ in CSV_COLUMNS], rows, file)


RESOLVED_COLUMNS: Final = ("Rule", "URL", "Found since", "Now", "File", "Became")


def write_resolved(resolved: Iterable[ResolvedFinding], file: BinaryIO) -> None:
    """Write the findings that only the previous audit has; an empty "Became" means resolved. Raises OSError."""
    rows = (
        (finding.rule, finding.url, finding.since, finding.now, finding.file, finding.became) for finding in resolved
    )
    _table(RESOLVED_COLUMNS, (map(cell_text, row) for row in rows), file)


REDIRECT_COLUMNS: Final = ("From", "To", "Likeness", "Reason")
LINK_COLUMNS: Final = ("From page", "To page", "Anchor text", "Reason")
_TITLE_MARKS: Final = (" | ", " · ", " • ", " – ", " — ", " » ", " - ")  # noqa: RUF001


def write_redirects(findings: Iterable[AuditFinding], file: BinaryIO) -> None:
    """Write the best target for the redirect of each dead URL, each URL once. Raises OSError."""
    rows: dict[str, list[_Cell]] = {}
    for finding in findings:
        for target in finding.targets[:1]:
            texts = map(cell_text, (finding.url, target.url, target.reason))
            rows.setdefault(finding.url, [*islice(texts, 2), round(target.score, 2), *texts])
    _table(REDIRECT_COLUMNS, rows.values(), file)


def write_links(findings: Callable[[], Iterable[AuditFinding]], file: BinaryIO) -> None:
    """Write the links to add, one for each page that should link to an orphan. Raises OSError.

    The anchor text is the title of the orphan. ``findings`` is called twice: first to learn which end of the titles is
    the name of the site.
    """
    ends = Counter(end for finding in findings() if (end := _split_title(finding.title)[1]))
    site_name = next((end for end, times in ends.most_common(1) if times > 1), "")
    rows = (
        [*map(cell_text, (hub.url, finding.url, anchor_text(finding, site_name), hub.reason))]
        for finding in findings()
        for hub in finding.hubs
    )
    _table(LINK_COLUMNS, rows, file)


def anchor_text(finding: AuditFinding, site_name: str) -> str:
    """The text of a link to a page: its title without the name of the site, or the words of its name."""
    title, end = _split_title(finding.title)
    if finding.title:
        return title if end == site_name else finding.title
    name = finding.url.partition("?")[0].rstrip("/").rpartition("/")[2]
    return " ".join(filter(None, re.split(r"[\W_]+", name.partition(".")[0])))


def _split_title(title: str) -> tuple[str, str]:
    """A title without its last part, and that part, which may be the name of the site."""
    place, mark = max((title.rfind(mark), mark) for mark in _TITLE_MARKS)
    return (title[:place], title[place + len(mark) :]) if place > 0 else (title, "")


def _table(headings: Iterable[str], rows: Iterable[Iterable[_Cell]], file: BinaryIO) -> None:
    lines = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    try:
        table = csv.writer(lines, quoting=csv.QUOTE_NONNUMERIC)
        table.writerow(headings)
        table.writerows(rows)
    finally:
        lines.detach()  # flushes, and leaves the file open


def cell_text(value: str) -> str:
    """A text for a cell: invisible characters are escaped, and it is never a formula."""
    shown = safe(value)
    if len(shown) > _MAX_CELL:
        shown = f"{shown[:_MAX_CELL]}…"
    return f"'{shown}" if _FORMULA(value) else shown


def join_cells(values: Iterable[str]) -> str:
    """A list of texts as one cell."""
    return cell_text(" | ".join(values))
