"""Writes the tables of a report: findings, redirects, links to add, bots; as CSV, and as one XLSX workbook.

CSV follows RFC 4180, with a byte order mark: without one, Excel reads UTF-8 as a code page. Cells that would start a
formula (https://owasp.org/www-community/attacks/CSV_Injection) become texts with a leading apostrophe.

The workbook is a stream, in flat memory. Every text in it is written as a text, never as a formula or as a link: Excel
opens at most 65,530 links in a sheet
(https://support.microsoft.com/en-us/office/1672b34d-7043-467e-8e27-269d656771c3).
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

from crawler.audit.finding import AuditFinding, AuditFindings, AuditReport
from crawler.audit.rules import REPORTED_RULES
from crawler.audit.verdict import reported_counts
from sitemap import safe

_MAX_CELL: Final = 32_000  # characters: Excel splits a cell with more than 32,767
# What begins a formula, also in the fullwidth, small, superscript and subscript forms that spreadsheets accept, after
# blanks, quotes and anything else that is neither a word nor a visible ASCII character.
_FORMULA: Final = re.compile(
    r"[^\w!#-&(-~]*?[=+\-@\uff1d\uff0b\uff0d\uff20\ufe62\ufe63\ufe66\ufe6b\u207a-\u207c\u208a-\u208c\u2212]"
).match

Cell = str | int | float | None
CSV_DIRECTORY: Final = "csv"  # the folder of the tables, one for each rule with findings
RESOLVED_COLUMNS: Final = "Rule|URL|Found since|Now|File|Became"
_LOGS, _SEARCH, _BACKLINKS = ("people", "bots"), ("clicks", "impressions"), ("backlinks", "domains")
_ANALYTICS = ("sessions", "views", "users")


def _counted(name: str, group: tuple[str, ...]) -> Callable[[AuditFinding], Cell]:
    """A count of a source, empty when the source does not know the URL: then all counts of the ``group`` are 0."""
    return lambda finding: getattr(finding, name) if any(getattr(finding, each) for each in group) else None


_NEW: Final[Mapping[bool | None, Cell]] = {True: "yes", False: "no", None: None}

CSV_COLUMNS: Final[tuple[tuple[str, Callable[[AuditFinding], Cell]], ...]] = (
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
    ("Visits by people", _counted("people", _LOGS)),
    ("Visits by bots", _counted("bots", _LOGS)),
    ("Search clicks", _counted("clicks", _SEARCH)),
    ("Search impressions", _counted("impressions", _SEARCH)),
    ("Sessions", _counted("sessions", _ANALYTICS)),
    ("Views", _counted("views", _ANALYTICS)),
    ("Users", _counted("users", _ANALYTICS)),
    ("Links from other sites", _counted("backlinks", _BACKLINKS)),
    ("Domains that link to it", _counted("domains", _BACKLINKS)),
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
    ("New", lambda finding: _NEW[finding.is_new]),
    ("Found since", lambda finding: cell_text(finding.since)),
    ("Certainty", lambda finding: finding.certainty.value),
    ("Segment", lambda finding: cell_text(finding.segment)),
)
"""The columns, the same in every table: the heading, and the cell of a finding."""


FINDING_COLUMNS: Final[tuple[tuple[str, Callable[[AuditFinding], Cell]], ...]] = (
    ("Rule", lambda finding: cell_text(finding.rule)),
    ("Severity", lambda finding: finding.severity.value),
    *CSV_COLUMNS,
)
"""The columns of the table of all findings."""


def all_findings(report: AuditReport, findings: AuditFindings) -> Iterator[AuditFinding]:
    """The findings of all rules, in the order of the reports."""
    return chain.from_iterable(findings(count.rule) for count in reported_counts(report))


def write_csv(findings: Iterable[AuditFinding], file: BinaryIO) -> None:
    """Write a table of findings with a row of headings. Raises OSError."""
    rows = ([cell(finding) for _, cell in CSV_COLUMNS] for finding in findings)
    write_table([heading for heading, _ in CSV_COLUMNS], rows, file)


def write_table(headings: Iterable[str], rows: Iterable[Iterable[Cell]], file: BinaryIO) -> None:
    """Write a table as CSV. Raises OSError."""
    lines = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    try:
        table = csv.writer(lines, quoting=csv.QUOTE_NONNUMERIC)
        table.writerow(headings)
        table.writerows(rows)
    finally:
        lines.detach()  # flushes, and leaves the file open


def _finding_rows(report: AuditReport, findings: AuditFindings) -> Iterator[list[Cell]]:
    return ([cell(finding) for _, cell in FINDING_COLUMNS] for finding in all_findings(report, findings))


def _resolved_rows(_: AuditReport, findings: AuditFindings) -> Iterator[list[Cell]]:
    """The findings that only the previous audit has; an empty "Became" means resolved."""
    for gone in chain.from_iterable(map(findings.resolved, REPORTED_RULES)):
        yield [*map(cell_text, (gone.rule, gone.url, gone.since, gone.now, gone.file, gone.became))]


def _accepted_rows(report: AuditReport, findings: AuditFindings) -> Iterator[list[Cell]]:
    """The accepted findings, each with the reason, the last day and the number of its entry."""
    for number, entry in enumerate(report.accepted, 1):
        for found in findings.accepted(number - 1):
            about = found.rule, found.sentence, found.url, found.file, found.since
            yield [*map(cell_text, (*about, entry.reason, entry.until, str(number)))]


def _not_asked_rows(report: AuditReport, _: AuditFindings) -> Iterator[list[Cell]]:
    return ([cell_text(each.url), cell_text(each.reason)] for each in report.not_asked)


def _uncrawled_rows(_: AuditReport, findings: AuditFindings) -> Iterator[list[Cell]]:
    """The pages that no search engine requested."""
    for page in findings.uncrawled():
        named, is_listed = map(cell_text, (page.url, page.section, page.segment)), "yes" if page.is_listed else "no"
        yield [*named, page.depth, page.inlinks, is_listed, cell_text(page.lastmod), page.people]


_TITLE_MARKS: Final = (" | ", " · ", " • ", " – ", " — ", " » ", " - ")  # noqa: RUF001


def redirect_rows(report: AuditReport, findings: AuditFindings) -> Iterator[list[Cell]]:
    """The best target for the redirect of each dead URL, each URL once."""
    seen: set[str] = set()
    for finding in _of_families(report, findings, "gone"):
        if finding.targets and finding.url not in seen:
            seen.add(finding.url)
            target = finding.targets[0]
            score = round(target.score, 2)
            yield [cell_text(finding.url), cell_text(target.url), score, cell_text(target.reason)]


def link_rows(report: AuditReport, findings: AuditFindings) -> Iterator[list[Cell]]:
    """The links to add, one for each page that should link to an orphan. Reads the findings twice.

    The anchor text is the title of the orphan, without the name of the site: the end that several titles have.
    """
    orphans = partial(_of_families, report, findings, "orphan", "weak")
    ends = Counter(end for finding in orphans() if (end := _split_title(finding.title)[1]))
    site_name = next((end for end, times in ends.most_common(1) if times > 1), "")
    for finding in orphans():
        for hub in finding.hubs:
            yield [*map(cell_text, (hub.url, finding.url, anchor_text(finding, site_name), hub.reason))]


def _of_families(report: AuditReport, findings: AuditFindings, *families: str) -> Iterator[AuditFinding]:
    rules = (count.rule for count in reported_counts(report) if count.rule.partition(".")[0] in families)
    return chain.from_iterable(map(findings, rules))


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


def cell_text(value: str) -> str:
    """A text for a cell: invisible characters are escaped, and it is never a formula."""
    if not value:
        return ""
    shown = safe(value)
    if len(shown) > _MAX_CELL:
        shown = f"{shown[:_MAX_CELL]}…"
    is_formula = not value[0].isalpha() and _FORMULA(value)  # most texts begin with a letter
    return f"'{shown}" if is_formula else shown


def join_cells(values: Iterable[str]) -> str:
    """A list of texts as one cell."""
    return cell_text(" | ".join(values)) if values else ""


if TYPE_CHECKING:
    from xlsxwriter import Workbook
    from xlsxwriter.worksheet import Worksheet

MAX_ROWS: Final = 200_000  # findings in the workbook: a sheet has room for 1,048,576 rows, and few people for as many
_WIDTHS: Final = {"URL": 60, "Finding": 50, "From": 60, "To": 60, "From page": 60, "To page": 60, "Reason": 50}
_WIDE: Final = frozenset({"What to do", "Why", "How", "For example", "Patterns", "Title", "Anchor text"})


def write_xlsx(report: AuditReport, findings: AuditFindings, file: BinaryIO) -> None:
    """Write the workbook, with the first :data:`MAX_ROWS` findings. Raises OSError."""
    from xlsxwriter import Workbook  # noqa: PLC0415 - only this report needs it
    from xlsxwriter.exceptions import FileCreateError  # noqa: PLC0415

    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    book = Workbook(file, options)
    book.set_properties(
        {
            "title": cell_text(f"Audit of {report.url}"),
            "created": datetime.fromtimestamp(report.started, UTC).replace(tzinfo=None),
        }
    )
    for table in TABLES:
        if table.sheet:
            _add_sheet(book, table.sheet, table.headings, islice(table.rows(report, findings), MAX_ROWS))
    try:
        book.close()
    except FileCreateError as error:
        raise OSError(str(error)) from error


def _action_rows(report: AuditReport, _: AuditFindings) -> Iterator[list[Cell]]:
    for number, action in enumerate(report.actions, 1):
        patterns = ", ".join(f"{pattern.pattern} ({pattern.count:,})" for pattern in action.patterns)
        texts = map(cell_text, (action.title, action.why, action.how, action.severity))
        yield [number, *texts, action.count, cell_text(", ".join(action.examples)), cell_text(patterns)]


def _bot_rows(report: AuditReport, _: AuditFindings) -> Iterator[list[Cell]]:
    """A row for each bot and each status that it got."""
    for bot in report.bots.bots if report.bots else ():
        for status, requests in bot.statuses.items():
            yield [*map(cell_text, (bot.name, bot.kind)), int(status), requests, *map(cell_text, (bot.first, bot.last))]


def _add_sheet(book: "Workbook", name: str, headings: Iterable[str], rows: Iterable[list[Cell]]) -> None:
    """Add a sheet with a fixed row of headings that filter it, unless it has no rows."""
    rows = iter(rows)
    first = next(rows, None)
    if first is None:
        return
    sheet = book.add_worksheet(name)
    headings = list(headings)
    for column, heading in enumerate(headings):
        sheet.set_column(column, column, _WIDTHS.get(heading, 40 if heading in _WIDE else 12))
        sheet.write_string(0, column, heading, book.add_format({"bold": True}))
    sheet.freeze_panes(1, 1)
    last = _write_rows(sheet, chain([first], rows))
    sheet.autofilter(0, 0, last, len(headings) - 1)


def _write_rows(sheet: "Worksheet", rows: Iterator[list[Cell]]) -> int:
    """Write rows below the headings; returns the number of the last. Empty texts and zeros stay blank."""
    last = 0
    for last, row in enumerate(rows, 1):
        for column, value in enumerate(row):
            if isinstance(value, str):
                if value:
                    sheet.write_string(last, column, value)
            elif value:
                sheet.write_number(last, column, value)
    return last


class ReportTable(NamedTuple):
    """A table: its CSV file and its sheet in the workbook, "" for none; its headings, and its rows."""

    file: str
    sheet: str
    headings: Sequence[str]
    rows: Callable[[AuditReport, AuditFindings], Iterator[list[Cell]]]


TABLES: Final = tuple(
    ReportTable(f"{CSV_DIRECTORY}/{file}.csv" if file else "", sheet, headings.split("|"), rows)
    for file, sheet, headings, rows in (
        ("", "What to do", "No.|What to do|Why|How|Severity|Findings|For example|Patterns", _action_rows),
        ("findings", "Findings", "|".join(heading for heading, _ in FINDING_COLUMNS), _finding_rows),
        ("redirects", "Redirects", "From|To|Likeness|Reason", redirect_rows),
        ("links", "Links to add", "From page|To page|Anchor text|Reason", link_rows),
        ("", "Bot activity", "Bot|Kind|Status|Requests|First day|Last day", _bot_rows),
        (
            "uncrawled",
            "Not crawled",
            "URL|Section|Segment|Crawl depth|Pages that link to it|In a sitemap|lastmod|Visits by people",
            _uncrawled_rows,
        ),
        ("not-asked", "", "URL|Reason", _not_asked_rows),
        ("accepted", "", "Rule|Finding|URL|File|Found since|Reason|Accepted until|Entry", _accepted_rows),
        ("mended", "", RESOLVED_COLUMNS, _resolved_rows),
    )
)
"""All tables beside those of the rules, in the order of the workbook."""
