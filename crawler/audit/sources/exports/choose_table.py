"""Chooses the tables of an export to read, by their content, and finds the days that they cover."""

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec import Struct

from crawler.audit.source_record import SourceKind
from crawler.audit.sources.exports.columns import (
    CellUrlParser,
    ExportColumns,
    ExportTable,
    columns_text,
    find_columns,
    parse_day,
    split_tables,
)
from crawler.audit.sources.exports.files import ExportPart, OpenedExport
from crawler.audit.sources.exports.headers import format_of, normalize_name, source_of
from crawler.audit.sources.exports.rows import NO_SEPARATOR, CsvRows, ExportText, JsonRows
from crawler.errors import UsageError

MAX_TABLES: Final = 100  # of one file that are searched for a column of URLs
_ISSUE_NAMES: Final = frozenset({"issue", "problem", "problème", "problema", "probleem", "проблема", "問題", "问题"})
_MAX_QUOTED: Final = 200  # characters of a quoted text
_MARKUP_STARTS: Final = ("<?xml", "<!doctype", "<html", "<urlset", "<sitemapindex", "<rss")


class TableRequest(Struct, frozen=True):
    """The request for a table: the file as the user named it, its kind, the site, and the column or ""."""

    name: str
    source: SourceKind
    reader: CellUrlParser
    column: str = ""


class ChosenTable(Struct, frozen=True):
    """The parts to read, their format, the first and last day that they cover, and notes."""

    parts: list[ExportPart]
    format: str
    span: tuple[str, str] = ("", "")
    notes: list[str] = []
    issue: str = ""  # of Search Console with all of the URLs


class _TableCandidate(Struct, frozen=True):
    part: ExportPart
    columns: ExportColumns | None = None
    format: str = ""
    listed: str = ""
    days: list[str] = []
    issue: str = ""


def read_rows(text: ExportText, name: str) -> CsvRows | JsonRows:
    """The rows of a file; its beginning determines the reader. Raises UsageError when it is no table."""
    begin = text.head.lstrip("\ufeff \t\r\n")[:64].lower()
    if begin.startswith(_MARKUP_STARTS):
        kind = "HTML" if "html" in begin else "XML"
        hint = "export a CSV" if kind == "HTML" else "give sitemaps with --sitemap, and tables as CSV"
        raise UsageError(f"{name} is {kind}: {hint}")
    if "\x00" in begin:
        raise UsageError(f"{name} is not a text file. Export the table as CSV")
    return JsonRows(text) if begin.startswith(("{", "[")) else CsvRows(text, name)


def choose_parts(opened: OpenedExport, request: TableRequest) -> ChosenTable:
    """The tables to read. Raises UsageError when there are none, with the names of the columns."""
    candidates = list(_candidates(opened, request))
    tables = [(table, table.columns) for table in candidates if table.columns]
    if not tables:
        raise UsageError(_no_table_error(request, candidates))
    best, best_columns = max(tables, key=lambda table: (len(table[1].by_role), bool(table[1].header)))
    _refuse_wrong_kind(request, best.format)
    same = [table for table, columns in tables if columns.header == best_columns.header]
    others = [table.part.name for table, columns in tables if columns.header != best_columns.header]
    days = [day for table in candidates if not table.columns for day in table.days]
    return ChosenTable(
        [table.part for table in same],
        best.format,
        (min(days), max(days)) if days else ("", ""),
        [f"it also contains {', '.join(others[:5])}, which was not read"] if others else [],
        next((table.issue for table in candidates if table.issue), ""),
    )


def _refuse_wrong_kind(request: TableRequest, product: str) -> None:
    """Raise UsageError for an analytics export as --search, or the reverse: users mix them up easily."""
    source = source_of(product)
    if {request.source, source} == {SourceKind.SEARCH, SourceKind.ANALYTICS}:
        raise UsageError(f"{request.name} is a {product.removesuffix(' pages')} export. Give the file with --{source}")


def _candidates(opened: OpenedExport, request: TableRequest) -> Iterator[_TableCandidate]:
    for part in opened.parts:
        try:
            yield _candidate(part, request)
        except UsageError:
            if not part.name:  # an archive may hold pictures and the like
                raise
        except OSError as error:
            reason = error.strerror or error
            raise UsageError(f"{error.filename or request.name} cannot be read: {reason}") from None


def _candidate(part: ExportPart, request: TableRequest) -> _TableCandidate:
    name, place = part.name or request.name, Path(request.name, part.name)
    days: list[str] = []
    names = issue = ""
    with ExportText(part.open()) as text:
        rows = read_rows(text, name)
        for table in islice(split_tables(iter(rows)), MAX_TABLES):
            try:
                columns = find_columns(table.sample, request.source, request.reader, request.column)
            except UsageError as error:
                raise UsageError(
                    f"{request.name} {error}. Choose one of its columns with audit.url_column: {_named(table, place)}"
                ) from None
            if columns:
                return _TableCandidate(part, columns, _format(rows, columns.header))
            names = max(names, _named(table, place), key=len)
            days = days or _days_of(table)
            issue = issue or _issue_of(table)
        if text.fault:
            raise UsageError(f"{name} cannot be read: {text.fault}")
    return _TableCandidate(part, listed=names, days=days, issue=issue)


def _named(table: ExportTable, place: Path) -> str:
    """The columns of a table, for a message that others may read: not of what somebody's link leads to."""
    # the method of Path raises for a long name, which a member of an archive may have
    return "not shown of a link" if os.path.islink(place) else columns_text(table.sample)  # noqa: PTH114


def _format(rows: CsvRows | JsonRows, header: Sequence[str]) -> str:
    if known := format_of(header):
        return known
    if isinstance(rows, JsonRows):
        return "JSON lines" if rows.by_line else "JSON"
    return "list of URLs" if rows.separator == NO_SEPARATOR else "table"


def _days_of(table: ExportTable) -> list[str]:
    """The days in the first column if it has only days, as the chart of a Search Console export has."""
    cells = [row[0] for row in table.rows()][1:5_000]
    days = [parse_day(cell) for cell in cells]
    return days if cells and all(days) else []


def _issue_of(table: ExportTable) -> str:
    """The issue in the metadata of a page indexing export: "Crawled - currently not indexed"."""
    issues = (row[1] for row in table.sample if len(row) == 2 and normalize_name(row[0]) in _ISSUE_NAMES)
    return next(issues, "")[:_MAX_QUOTED]


def _no_table_error(request: TableRequest, candidates: list[_TableCandidate]) -> str:
    if len(candidates) == 1 and not candidates[0].part.name:
        if not candidates[0].listed:
            return f"{request.name} is empty"
        return (
            f"{request.name}: no column contains URLs of pages. The columns are: {candidates[0].listed}. Choose the "
            "column with audit.url_column, or export the table of the pages"
        )
    files = ", ".join(f"{candidate.part.name} ({candidate.listed})" for candidate in candidates[:10])
    return (
        f"{request.name}: none of its files contains URLs of pages. The files are: {files or 'none that can be read'}"
    )
