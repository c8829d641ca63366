"""Writes an audit as one XLSX workbook: actions, all findings, redirects, links to add, bots. A stream, in flat memory.

Every text is written as a text, never as a formula or as a link: Excel opens at most 65,530 links in a sheet
(https://support.microsoft.com/en-us/office/1672b34d-7043-467e-8e27-269d656771c3).
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain, islice
from typing import TYPE_CHECKING, BinaryIO, Final

from crawler.audit.finding import Action, AuditFindings, AuditReport, BotActivity
from crawler.audit.report.csv import (
    FINDING_COLUMNS,
    LINK_COLUMNS,
    REDIRECT_COLUMNS,
    UNCRAWLED_COLUMNS,
    Cell,
    all_findings,
    cell_text,
    link_rows,
    redirect_rows,
    uncrawled_row,
)

if TYPE_CHECKING:
    from xlsxwriter import Workbook
    from xlsxwriter.worksheet import Worksheet

MAX_ROWS: Final = 200_000  # findings in the workbook: a sheet has room for 1,048,576 rows, and few people for as many
_ACTION_COLUMNS: Final = ("No.", "What to do", "Why", "How", "Severity", "Findings", "For example", "Patterns")
_BOT_COLUMNS: Final = ("Bot", "Kind", "Status", "Requests", "First day", "Last day")
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
    _add_sheet(book, "What to do", _ACTION_COLUMNS, map(_action_row, range(1, 1_000), report.actions))
    found = islice(all_findings(report, findings), MAX_ROWS)
    rows = ([cell(finding) for _, cell in FINDING_COLUMNS] for finding in found)
    _add_sheet(book, "Findings", [heading for heading, _ in FINDING_COLUMNS], rows)
    _add_sheet(book, "Redirects", REDIRECT_COLUMNS, redirect_rows(report, findings))
    _add_sheet(book, "Links to add", LINK_COLUMNS, islice(link_rows(report, findings), MAX_ROWS))
    if report.bots:
        _add_sheet(book, "Bot activity", _BOT_COLUMNS, _bot_rows(report.bots))
        _add_sheet(book, "Not crawled", UNCRAWLED_COLUMNS, map(uncrawled_row, islice(findings.uncrawled(), MAX_ROWS)))
    try:
        book.close()
    except FileCreateError as error:
        raise OSError(str(error)) from error


def _action_row(number: int, action: Action) -> list[Cell]:
    patterns = ", ".join(f"{pattern.pattern} ({pattern.count:,})" for pattern in action.patterns)
    texts = map(cell_text, (action.title, action.why, action.how, action.severity))
    return [number, *texts, action.count, cell_text(", ".join(action.examples)), cell_text(patterns)]


def _bot_rows(activity: BotActivity) -> Iterator[list[Cell]]:
    """A row for each bot and each status that it got."""
    for bot in activity.bots:
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
