"""Finds the table to read: in an archive the files about URLs, by what is in them, and the days that they are of."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from msgspec import Struct

from crawler.audit.claim import SourceKind
from crawler.audit.sources.exports.columns import (
    CellUrlParser,
    ExportColumns,
    ExportTable,
    columns_text,
    find_columns,
    header_of,
    parse_day,
    split_tables,
)
from crawler.audit.sources.exports.csv import NO_SEPARATOR, CsvRows, ExportText
from crawler.audit.sources.exports.files import ExportPart, OpenedExport
from crawler.audit.sources.exports.headers import format_of, normalize_name, source_of
from crawler.audit.sources.exports.json import JsonRows
from crawler.errors import UsageError

MAX_TABLES: Final = 100  # of one file, in which a column of URLs is looked for
_ISSUE_NAMES: Final = frozenset(
    {"issue", "problem", "problème", "problema", "probleem", "проблема", "問題", "问题"}
)
_MAX_QUOTED: Final = 200  # characters of what is quoted
_MARKUP_STARTS: Final = ("<?xml", "<!doctype", "<html", "<urlset", "<sitemapindex", "<rss")


class TableRequest(Struct, frozen=True):
    """What is looked for: the file as a person named it, its kind, the site, and the column if that is named."""

    name: str
    source: SourceKind
    reader: CellUrlParser
    column: str = ""


class ChosenTable(Struct, frozen=True):
    """The parts to read, what they are, the days that they are of, and what else is known of them."""

    parts: list[ExportPart]
    format: str
    span: tuple[str, str] = ("", "")
    notes: list[str] = []
    issue: str = ""  # that a console has with all of them


class _TableCandidate(Struct, frozen=True):
    part: ExportPart
    columns: ExportColumns | None
    header: list[str]
    format: str
    listed: str
    days: list[str]
    issue: str = ""


def read_rows(text: ExportText, name: str) -> CsvRows | JsonRows:
    """The rows of a file, by what it begins with. Raises UsageError for what is no table."""
    begin = text.head.lstrip("\ufeff \t\r\n")[:64].lower()
    if begin.startswith(_MARKUP_STARTS):
        kind = "HTML" if "html" in begin else "XML"
        hint = "export a CSV" if kind == "HTML" else "sitemaps are given as sitemaps, tables as CSV"
        raise UsageError(f"{name} is {kind}: {hint}")
    if "\x00" in begin:
        raise UsageError(f"{name} is no text: export a CSV")
    return JsonRows(text) if begin.startswith(("{", "[")) else CsvRows(text, name)


def choose_parts(opened: OpenedExport, wanted: TableRequest) -> ChosenTable:
    """The parts to read. Raises UsageError when there is none, in a sentence with the columns that there are."""
    looks = list(_candidates(opened, wanted))
    found = [look for look in looks if look.columns]
    if not found:
        raise UsageError(_no_table_error(wanted, looks))
    best = max(found, key=lambda look: (len(look.columns.by_role) if look.columns else 0, bool(look.header)))
    _refuse_wrong_kind(wanted, best.format)
    same = [look for look in found if look.header == best.header]
    others = [look.part.name for look in found if look.header != best.header]
    days = [each for look in looks if not look.columns for each in look.days]
    return ChosenTable(
        [look.part for look in same],
        best.format,
        (min(days), max(days)) if days else ("", ""),
        [f"it also holds {', '.join(others[:5])}, which was not read"] if others else [],
        next((look.issue for look in looks if look.issue), ""),
    )


def _refuse_wrong_kind(wanted: TableRequest, product: str) -> None:
    """What a console says and what analytics count are easily taken for one another. Raises UsageError."""
    meant = source_of(product)
    if {wanted.source, meant} == {SourceKind.SEARCH, SourceKind.ANALYTICS}:
        raise UsageError(
            f"{wanted.name}: this is a {product.removesuffix(' pages')} export: give it as --{meant}"
        )


def _candidates(opened: OpenedExport, wanted: TableRequest) -> Iterator[_TableCandidate]:
    for part in opened.parts:
        try:
            yield _candidate(part, wanted)
        except UsageError:
            if not part.name:  # pictures and the like may lie in an archive
                raise
        except OSError as error:
            said = error.strerror or error
            raise UsageError(f"{error.filename or wanted.name} cannot be read: {said}") from None


def _candidate(part: ExportPart, wanted: TableRequest) -> _TableCandidate:
    name = part.name or wanted.name
    days: list[str] = []
    names = issue = ""
    with ExportText(part.open()) as text:
        rows = read_rows(text, name)
        for table in islice(split_tables(iter(rows)), MAX_TABLES):
            try:
                columns = find_columns(table.sample, wanted.source, wanted.reader, wanted.column)
            except UsageError as error:
                raise UsageError(
                    f"{wanted.name} {error}; it has: {columns_text(table.sample)}. Name one with --url-column"
                ) from None
            if columns:
                header = header_of(table.sample, wanted.reader)
                return _TableCandidate(part, columns, header, _format(rows, header), "", [])
            names = max(names, columns_text(table.sample), key=len)
            days = days or _days_of(table)
            issue = issue or _issue_of(table)
        if text.fault:
            raise UsageError(f"{name} cannot be read: {text.fault}")
    return _TableCandidate(part, None, [], "", names, days, issue)


def _format(rows: CsvRows | JsonRows, header: list[str]) -> str:
    if known := format_of(header):
        return known
    if isinstance(rows, JsonRows):
        return "JSON lines" if rows.by_line else "JSON"
    return "list of URLs" if rows.separator == NO_SEPARATOR else "table"


def _days_of(table: ExportTable) -> list[str]:
    """The days in the first column, when it holds nothing else: the chart of a Search Console export."""
    cells = [row[0] for row in table.rows()][1:5_000]
    found = [parse_day(cell) for cell in cells]
    return found if cells and all(found) else []


def _issue_of(table: ExportTable) -> str:
    """What the metadata of an export about the indexing of pages say of them: "Crawled - currently not indexed"."""
    found = (row[1] for row in table.sample if len(row) == 2 and normalize_name(row[0]) in _ISSUE_NAMES)
    return next(found, "")[:_MAX_QUOTED]


def _no_table_error(wanted: TableRequest, looks: list[_TableCandidate]) -> str:
    if len(looks) == 1 and not looks[0].part.name:
        if not looks[0].listed:
            return f"{wanted.name} is empty"
        return (
            f"{wanted.name}: no column holds URLs of pages; it has: {looks[0].listed}. "
            "Name the column with --url-column, or export the table of the pages"
        )
    files = ", ".join(f"{look.part.name} ({look.listed})" for look in looks[:10])
    return f"{wanted.name}: no file in it holds URLs of pages; it has: {files or 'nothing that can be read'}"
