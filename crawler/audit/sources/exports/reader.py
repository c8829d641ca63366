"""Reads an export as claims: opens it, finds its table and columns, and reports every row."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from crawler.audit.source_record import SourceKind, SourceRecord, SourceReport
from crawler.audit.sources.exports.choose_table import ChosenTable, TableRequest, choose_parts, read_rows
from crawler.audit.sources.exports.columns import (
    CellUrlParser,
    ExportColumns,
    ExportTable,
    find_columns,
    find_days,
    parse_count,
    parse_day,
    split_tables,
)
from crawler.audit.sources.exports.files import ExportPart, OpenUrl, is_remote_source, open_export
from crawler.audit.sources.exports.headers import ColumnRole, source_of
from crawler.audit.sources.exports.rows import MAX_LINE, CsvRows, ExportText, JsonRows
from crawler.audit.sources.urls import RejectReason, SourceUrlParser, count_row
from crawler.errors import UsageError
from crawler.model import Url

_UI_ROW_LIMIT: Final = 1_000  # of the web interface of Search Console
_MAX_HOSTS: Final = 1_000  # other sites that are counted
_TABLES: Final = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".zip")
_NOT_A_URL: Final = frozenset({"", "(not set)", "(other)", "total", "grand total", "totals"})
_COUNTS: Final = (
    *(ColumnRole.CLICKS, ColumnRole.IMPRESSIONS, ColumnRole.SESSIONS, ColumnRole.VIEWS, ColumnRole.USERS),
    *(ColumnRole.LINKS, ColumnRole.DOMAINS, ColumnRole.STATUS),
)
_NOT_INDEXABLE_WORDS: Final = ("non", "nicht", "no ", "false", "0")  # how "Non-Indexable" begins


def check_export(name: str, source: SourceKind, column: str) -> None:
    """Check that a local file can be read, before the first request to the site; URLs are not opened.

    ``column`` is the name or the number (from 1) of the column with the URLs; "" detects it. Raises UsageError, which
    names the file, its content and the remedy.
    """
    if not is_remote_source(name):
        choose_parts(open_export(name, refuse_url), TableRequest(name, source, CellUrlParser(None), column))


def export_hint(name: str) -> str:
    """The option for a file that is an export or a list, as the end of a sentence; "" for other files."""
    try:
        kind = choose_parts(
            open_export(name, refuse_url), TableRequest(name, SourceKind.LIST, CellUrlParser(None))
        ).format
    except UsageError:
        return ""
    if source := source_of(kind):
        return f"is a {kind.removesuffix(' pages')} export. Give the file with --{source}"
    if kind == "list of URLs":
        return "looks like a list of URLs. Give the file with --list"
    if name.lower().endswith(_TABLES):
        return "looks like a table of URLs. Give the file with --search, --analytics, --backlinks, --list or --crawl"
    return ""


def read_export(
    name: str, source: SourceKind, addresses: SourceUrlParser, column: str, open_url: OpenUrl
) -> tuple[SourceReport, Iterator[SourceRecord]]:
    """The report and the claims of an export, one for each row. The report is complete after all claims.

    ``name`` is a path, or a URL that ``open_url`` fetches. ``source`` is the kind that the user gave, ``column`` as in
    :func:`check_export`. An unreadable
    file raises UsageError; an unreadable URL is a fault in the report, because it may answer tomorrow.
    """
    report = SourceReport(source=source, name=name)
    request = TableRequest(name, source, CellUrlParser(addresses), column)
    try:
        content = open_export(name, open_url)
        report.bytes = content.bytes
        choice = choose_parts(content, request)
    except UsageError as error:
        if not is_remote_source(name):
            raise
        report.complete = False
        report.faults.append(str(error))
        return report, iter(())
    report.format = choice.format
    report.about = choice.issue
    report.notes.extend(choice.notes)
    if choice.issue:
        report.notes.append(f'it states this issue for all its URLs: "{choice.issue}"')
    return report, _ExportReader(report, request, choice, addresses.site).claims()


def refuse_url(url: str) -> bytes:
    """Open no URL: the name is that of a file."""
    raise AssertionError(url)


class _ExportReader:
    """The reading of one export."""

    def __init__(self, report: SourceReport, request: TableRequest, choice: ChosenTable, site: str) -> None:
        self._report = report
        self._request = request
        self._choice = choice
        self._site = site
        self._hosts: Counter[str] = Counter()
        self._unread_example = ""  # the first cell that is no URL

    def claims(self) -> Iterator[SourceRecord]:
        for part in self._choice.parts:
            yield from self._claims_of_part(part)
        self._finish()

    def _claims_of_part(self, part: ExportPart) -> Iterator[SourceRecord]:
        span, columns = self._choice.span, None
        with ExportText(part.open()) as text:
            rows = read_rows(text, part.name or self._request.name)
            for table in split_tables(iter(rows)):
                days = [day for comment in rows.comments for day in find_days(comment)]
                rows.comments.clear()
                span = (min(days), max(days)) if days else span
                columns = self._columns(table, columns)
                if columns:
                    yield from self._claims_of_table(table, columns, span)
            self._note_unread(text, rows)

    def _columns(self, table: ExportTable, previous: ExportColumns | None) -> ExportColumns | None:
        """The columns of a table; after an empty row within a table, the previous ones."""
        first = table.sample[0]
        request = self._request
        if previous and len(first) == previous.width:
            cell = first[previous.url]
            if cell.casefold() in _NOT_A_URL or request.reader.parse(cell) is not RejectReason.UNREAD:
                return replace(previous, header=())
        try:
            return find_columns(table.sample, request.source, request.reader, request.column)
        except UsageError:  # a further table without the column that was named
            return None

    def _claims_of_table(
        self, table: ExportTable, columns: ExportColumns, span: tuple[str, str]
    ) -> Iterator[SourceRecord]:
        report, claims = self._report, ExportClaimBuilder(columns, self._request.source, span)
        rows = table.rows()
        if columns.header:
            for row in rows:  # and titles before it
                if len(row) >= columns.width:
                    break
        for row in rows:
            report.rows += 1
            parsed = self._url(row, columns)
            is_other = not isinstance(parsed, RejectReason) and not claims.is_page(row)
            if url := count_row(report, RejectReason.NO_URL if is_other else parsed):
                claim = claims.build(url, row)
                if claim.first:
                    report.first = min(report.first or claim.first, claim.first)
                    report.last = max(report.last, claim.last)
                yield claim

    def _url(self, row: list[str], columns: ExportColumns) -> Url | RejectReason:
        if len(row) <= columns.url or (len(row) > columns.width and any(row[columns.width :])):
            # an extra cell: a comma split the URL, and half a URL names another page
            self._unread_example = self._unread_example or " ".join(row)[:80]
            return RejectReason.UNREAD
        text = row[columns.url].strip()
        host = columns.by_role.get(ColumnRole.HOST)
        if host is not None and text.startswith("/") and len(row) > host and "." in row[host]:
            text = f"https://{row[host].strip()}{text}"
        url = self._request.reader.parse(text)
        if url is RejectReason.FOREIGN:
            self._count_host(text)
        elif url is RejectReason.UNREAD:
            if text.casefold() in _NOT_A_URL:
                if text.casefold() == "(other)":
                    self._report.note_rest()
                return RejectReason.NO_URL
            self._unread_example = self._unread_example or text[:80]
        return url

    def _count_host(self, text: str) -> None:
        name = text.partition("://")[2] or text
        name = name.replace("\\", "/").partition("/")[0].rpartition("@")[2].partition("?")[0].lower()[:100]
        if name in self._hosts or len(self._hosts) < _MAX_HOSTS:
            self._hosts[name] += 1

    def _note_unread(self, text: ExportText, rows: CsvRows | JsonRows) -> None:
        """Report the parts of a file that could not be read."""
        report = self._report
        broken = text.overlong + rows.skipped
        report.rows += broken
        report.unread += broken
        if text.overlong:
            report.faults.append(f"{text.overlong:,} lines are longer than {MAX_LINE:,} characters: left out")
        if rows.skipped:
            report.faults.append(f"{rows.skipped:,} rows are broken (a quotation mark that is never closed?)")
        if text.fault:
            report.faults.append(f"{text.fault}; the rows before that were read")
        report.complete = report.complete and not (broken or text.fault)

    def _finish(self) -> None:
        report = self._report
        if not report.rows:
            report.notes.append("it has no rows")
        if report.rows == _UI_ROW_LIMIT and report.format == "Search Console pages":
            report.notes.append(
                "it has 1,000 rows, the maximum that the web interface of Search Console exports: the site may have "
                "more pages"
            )
        if self._unread_example:
            example = "".join(character if character.isprintable() else " " for character in self._unread_example)
            report.notes.append(f'rows without a URL were left out, the first one is "{example}"')
        if report.source == SourceKind.CRAWL and report.beside:
            report.notes.append(f"{report.beside:,} of its URLs are not indexable pages with status 200")
        self._note_other_site()

    def _note_other_site(self) -> None:
        """Report an export of another site."""
        report = self._report
        if report.foreign <= report.used:
            return
        (name, _), *more = self._hosts.most_common(2) or [("other sites", 0)]
        some = f"{report.foreign:,} of its {report.rows:,} URLs"
        if name.removeprefix("www.") == self._site and not more:
            report.notes.append(f"{some} are outside the audited scope")
        elif report.used:
            report.notes.append(f"{some} belong to other sites, most of them to {name}")
        else:
            owners = f"{name} and other sites" if more else name
            report.faults.append(f"all {report.foreign:,} URLs belong to {owners}. Give an export of the audited site")


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
        self._is_typed = ColumnRole.TYPE in others  # so is_page has seen that it is HTML
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
        return SourceRecord(url=url, first=first, last=last, is_page=self._is_typed, **counts)

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
