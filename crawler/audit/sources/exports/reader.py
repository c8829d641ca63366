"""Reads an export as claims: opens it, finds the table and its columns, and accounts for every row."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from crawler.audit.claim import SourceKind, SourceRecord, SourceReport
from crawler.audit.sources.exports.choose_table import ChosenTable, TableRequest, choose_parts, read_rows
from crawler.audit.sources.exports.claims import ExportClaimBuilder
from crawler.audit.sources.exports.columns import (
    CellUrlParser,
    ExportColumns,
    ExportTable,
    find_columns,
    find_days,
    split_tables,
)
from crawler.audit.sources.exports.csv import MAX_LINE, CsvRows, ExportText
from crawler.audit.sources.exports.files import ExportPart, OpenUrl, is_remote_source, open_export
from crawler.audit.sources.exports.headers import ColumnRole, source_of
from crawler.audit.sources.exports.json import JsonRows
from crawler.audit.sources.exports.siteatlas_state import check_state, find_state, read_state
from crawler.audit.sources.urls import RejectReason, SourceUrlParser
from crawler.errors import UsageError
from crawler.model import Url


class ExportOptions(Struct, frozen=True, kw_only=True):
    """``column`` is the name or the number (from 1) of the column with the URLs; "": it is detected."""

    column: str = ""


_UI_ROW_LIMIT: Final = 1_000  # that the web interface of Search Console exports at most

_MAX_HOSTS: Final = 1_000  # other sites that are counted apart

_TABLES: Final = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".zip")

_NOT_A_URL: Final = frozenset({"", "(not set)", "(other)", "total", "grand total", "totals"})


def check_export(name: str, source: SourceKind, options: ExportOptions) -> None:
    """Look whether a local file can be read, before anything is asked of the site; URLs are not opened.

    Raises UsageError, in a sentence that names the file, what is in it and the remedy.
    """
    if is_remote_source(name):
        return
    if source == SourceKind.CRAWL and (state := find_state(name)):
        check_state(state)
    else:
        choose_parts(
            open_export(name, _refuse_url), TableRequest(name, source, CellUrlParser(None), options.column)
        )


def export_hint(name: str) -> str:
    """As what a file should be given, as the end of a sentence, when it is an export or a list; "" for all others."""
    try:
        kind = choose_parts(
            open_export(name, _refuse_url), TableRequest(name, SourceKind.LIST, CellUrlParser(None))
        ).format
    except UsageError:
        return ""
    if source := source_of(kind):
        return f"this is a {kind.removesuffix(' pages')} export: give it as --{source}"
    if kind == "list of URLs":
        return "this looks like a list of URLs: give it as --list"
    if name.lower().endswith(_TABLES):
        return "this looks like a table of URLs: give it as --search, --analytics, --backlinks, --list or --crawl"
    return ""


def read_export(
    name: str, source: SourceKind, addresses: SourceUrlParser, options: ExportOptions, open_url: OpenUrl
) -> tuple[SourceReport, Iterator[SourceRecord]]:
    """What an export says of URLs of the site, a claim for each row; the account is whole when these are taken.

    ``name`` is a path, or a URL that ``open_url`` fetches. ``source`` is what a person gave it as. A file that
    cannot be read raises UsageError; a URL that cannot is a fault of its account, for it may answer tomorrow.
    """
    account = SourceReport(source=source, name=name)
    if source == SourceKind.CRAWL and not is_remote_source(name) and (state := find_state(name)):
        return account, read_state(state, account, addresses)
    wanted = TableRequest(name, source, CellUrlParser(addresses), options.column)
    try:
        content = open_export(name, open_url)
        account.bytes = content.bytes
        choice = choose_parts(content, wanted)
    except UsageError as error:
        if not is_remote_source(name):
            raise
        account.complete = False
        account.faults.append(str(error))
        return account, iter(())
    account.format = choice.format
    account.about = choice.issue
    account.notes.extend(choice.notes)
    if choice.issue:
        account.notes.append(f'it says of all its URLs: "{choice.issue}"')
    return account, _ExportReader(account, wanted, choice, addresses.site).claims()


def _refuse_url(url: str) -> bytes:
    raise AssertionError(url)


class _ExportReader:
    """The reading of one export."""

    def __init__(self, account: SourceReport, wanted: TableRequest, choice: ChosenTable, site: str) -> None:
        self._account = account
        self._wanted = wanted
        self._choice = choice
        self._site = site
        self._hosts: Counter[str] = Counter()
        self._odd = ""  # the first cell that is no URL

    def claims(self) -> Iterator[SourceRecord]:
        for part in self._choice.parts:
            yield from self._claims_of_part(part)
        self._finish()

    def _claims_of_part(self, part: ExportPart) -> Iterator[SourceRecord]:
        span, columns = self._choice.span, None
        with ExportText(part.open()) as text:
            rows = read_rows(text, part.name or self._wanted.name)
            for table in split_tables(iter(rows)):
                named = [each for remark in rows.comments for each in find_days(remark)]
                rows.comments.clear()
                span = (min(named), max(named)) if named else span
                columns = self._columns(table, columns)
                if columns:
                    yield from self._claims_of_table(table, columns, span)
            self._note_unread(text, rows)

    def _columns(self, table: ExportTable, before: ExportColumns | None) -> ExportColumns | None:
        """Those of a table; after an empty row within it they are the ones before."""
        first = table.sample[0]
        wanted = self._wanted
        is_more = before and len(first) == before.width
        if before and is_more:
            cell = first[before.url]
            if cell.casefold() in _NOT_A_URL or wanted.reader.parse(cell) is not RejectReason.UNREAD:
                return ExportColumns(before.url, before.by_role, before.width, has_header=False)
        try:
            return find_columns(table.sample, wanted.source, wanted.reader, wanted.column)
        except UsageError:  # a further table without the column that was named
            return None

    def _claims_of_table(
        self, table: ExportTable, columns: ExportColumns, span: tuple[str, str]
    ) -> Iterator[SourceRecord]:
        account, claims = self._account, ExportClaimBuilder(columns, self._wanted.source, span)
        rows = table.rows()
        if columns.has_header:
            for row in rows:  # and titles before it
                if len(row) >= columns.width:
                    break
        for row in rows:
            account.rows += 1
            url = self._url(row, columns)
            if not isinstance(url, RejectReason):
                if not claims.is_page(row):
                    account.beside += 1
                    continue
                account.used += 1
                claim = claims.build(url, row)
                if claim.first:
                    account.first = min(account.first or claim.first, claim.first)
                    account.last = max(account.last, claim.last)
                yield claim
            elif url is RejectReason.NOT_A_PAGE:
                account.beside += 1
            elif url is RejectReason.FOREIGN:
                account.foreign += 1
            else:
                account.unread += 1

    def _url(self, row: list[str], columns: ExportColumns) -> Url | RejectReason:
        if len(row) <= columns.url or (len(row) > columns.width and any(row[columns.width :])):
            # one cell more: a comma in a URL parted it, and half a URL names another page
            self._odd = self._odd or " ".join(row)[:80]
            return RejectReason.UNREAD
        text = row[columns.url].strip()
        host = columns.by_role.get(ColumnRole.HOST)
        if host is not None and text.startswith("/") and len(row) > host and "." in row[host]:
            text = f"https://{row[host].strip()}{text}"
        url = self._wanted.reader.parse(text)
        if url is RejectReason.FOREIGN:
            self._count_host(text)
        elif url is RejectReason.UNREAD:
            if text.casefold() in _NOT_A_URL:
                self._note_rest(text)
                return RejectReason.NOT_A_PAGE
            self._odd = self._odd or text[:80]
        return url

    def _note_rest(self, text: str) -> None:
        """GA4 puts what exceeds its limit of rows together: https://support.google.com/analytics/answer/13331684."""
        said = "it sums up further pages as (other), without naming them"
        if text.casefold() == "(other)" and said not in self._account.notes:
            self._account.complete = False
            self._account.notes.append(said)

    def _count_host(self, text: str) -> None:
        name = text.partition("://")[2] or text
        name = name.replace("\\", "/").partition("/")[0].rpartition("@")[2].partition("?")[0].lower()[:100]
        if name in self._hosts or len(self._hosts) < _MAX_HOSTS:
            self._hosts[name] += 1

    def _note_unread(self, text: ExportText, rows: CsvRows | JsonRows) -> None:
        """What of a file could not be read."""
        account = self._account
        broken = text.overlong + rows.skipped
        account.rows += broken
        account.unread += broken
        if text.overlong:
            account.faults.append(
                f"{text.overlong:,} lines are longer than {MAX_LINE:,} characters: left out"
            )
        if rows.skipped:
            account.faults.append(
                f"{rows.skipped:,} rows are broken (a quotation mark that is never closed?)"
            )
        if text.fault:
            account.faults.append(f"{text.fault}; what comes before was read")
        account.complete = account.complete and not (broken or text.fault)

    def _finish(self) -> None:
        account = self._account
        if not account.rows:
            account.notes.append("it has no rows")
        if account.rows == _UI_ROW_LIMIT and account.format == "Search Console pages":
            account.notes.append(
                "it has 1,000 rows, all that the web interface of Search Console exports: there may be more pages"
            )
        if self._odd:
            odd = "".join(each if each.isprintable() else " " for each in self._odd)
            account.notes.append(f'rows that name no URL were left out, the first of them "{odd}"')
        if account.source == SourceKind.CRAWL and account.beside:
            account.notes.append(
                f"{account.beside:,} of its URLs are no pages that answered 200 and can be indexed"
            )
        self._note_other_site()

    def _note_other_site(self) -> None:
        """Says so when it is another site's export."""
        account = self._account
        if account.foreign <= account.used:
            return
        (name, _), *more = self._hosts.most_common(2) or [("other sites", 0)]
        if name.removeprefix("www.") == self._site and not more:
            said = f"{account.foreign:,} of its {account.rows:,} URLs are outside of what is audited"
            account.notes.append(said)
        elif account.used:
            said = (
                f"{account.foreign:,} of its {account.rows:,} URLs are of other sites, most of them of {name}"
            )
            account.notes.append(said)
        else:
            others = " and other sites" if more else ""
            said = f"all {account.foreign:,} URLs are of {name}{others}: is it the right export?"
            account.faults.append(said)
