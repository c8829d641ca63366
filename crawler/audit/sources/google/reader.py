"""Reads reports of Search Console and Google Analytics as claims: what is missing by the API, the rest from the cache.

A refusal, which only a person can mend, is a UsageError. A failure that may pass, and the limit of requests a day, are
faults of the source: the audit uses the rows that are stored. The cache is in the memory of the audits, and counts the
requests of each day.
"""

import sqlite3
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Self

import anyio
import msgspec

from crawler.audit.source_record import SourceRecord, SourceReport
from crawler.audit.sources.google.reports import (
    DateSpan,
    GoogleApi,
    GoogleReport,
    ReportRow,
    ga4_report,
    search_console_report,
)
from crawler.audit.sources.urls import RejectReason, SourceUrlParser, count_row
from crawler.config.config import Config
from crawler.config.fetcher import build_service_fetcher
from crawler.config.google import (
    DISABLED_REASONS,
    QUOTA_REASONS,
    AccessTokens,
    ServiceAccount,
    TokenRefused,
    TokenResponse,
    TokenUnavailable,
    error_reasons,
)
from crawler.config.secrets import quote_message, reveal_secret
from crawler.errors import UsageError
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.limits import MIB, BodyLimits, FetchLimits, TransportOptions
from crawler.fetch.paced_fetcher import Retries
from crawler.fetch.retry import RetryPolicy, is_transient, parse_retry_after
from crawler.model import Failure, Reply, Url
from crawler.state.database import Database, storage_errors, transaction
from crawler.units import count_text, span

GOOGLE_DB: Final = Database(
    file="google.db",
    application_id=0x53_41_47_4F,  # "SAGO"
    version=2,
    tables=(files("crawler.audit.sources.google") / "google.sql").read_text(encoding="utf-8"),
    description="the results of Google's APIs",
    remedy="Move the file away. The next audit then requests them again",
)
_COUNT: Final = """INSERT INTO request VALUES (?, ?, 1)
  ON CONFLICT (name, day) DO UPDATE SET requests = requests + 1"""


class ApiCache:
    """The stored results of one API for one property: its ``name``. Every method raises StorageError."""

    def __init__(self, db: sqlite3.Connection, name: str) -> None:
        self._db = db
        self._name = name

    @classmethod
    @contextmanager
    def opened(cls, directory: Path, name: str) -> Iterator[Self]:
        """Open the results in a directory, created when missing. Raises StorageError, UsageError."""
        db = GOOGLE_DB.open(directory / GOOGLE_DB.file)
        try:
            yield cls(db, name)
        finally:
            db.close()

    def _rows(self, query: str, *values: object) -> Iterator[tuple[Any, ...]]:
        """The rows of a query for this name."""
        with storage_errors(GOOGLE_DB.description):
            yield from self._db.execute(query, (self._name, *values))

    def requests(self, day: str) -> int:
        """The number of requests of a day (UTC)."""
        rows = self._rows("SELECT requests FROM request WHERE name = ? AND day = ?", day)
        return int(next(rows, (0,))[0])

    def count_request(self, day: str) -> None:
        """Count a request before it is sent, and forget those of earlier days."""
        with transaction(self._db, GOOGLE_DB.description):
            self._db.execute("DELETE FROM request WHERE name = ? AND day != ?", (self._name, day))
            self._db.execute(_COUNT, (self._name, day))


class InspectionCache(ApiCache):
    """The stored index statuses of the URLs of a property."""

    def put(self, url: str, day: str, body: bytes) -> None:
        """Store the result for a URL in place of an earlier one."""
        with transaction(self._db, GOOGLE_DB.description):
            self._db.execute("INSERT OR REPLACE INTO inspection VALUES (?, ?, ?, ?)", (self._name, url, day, body))

    def results(self) -> Iterator[tuple[str, str, bytes]]:
        """All stored results: URL, day (UTC) and JSON."""
        return self._rows("SELECT url, day, body FROM inspection WHERE name = ?")


class ReportCache(ApiCache):
    """The stored rows of one report."""

    def missing_row(self, span: DateSpan) -> int | None:
        """The index of the first row that is not stored, None: all are."""
        query = "SELECT following FROM page WHERE name = ? AND first = ? AND last = ? ORDER BY start DESC LIMIT 1"
        start: int | None = next(self._rows(query, span.first, span.last), (0,))[0]
        return start

    def last_complete(self) -> DateSpan | None:
        """The latest days whose rows are all stored."""
        query = "SELECT first, last FROM page WHERE name = ? AND following IS NULL ORDER BY last DESC, first LIMIT 1"
        return next((DateSpan(*row) for row in self._rows(query)), None)

    def put(self, span: DateSpan, start: int, following: int | None, body: bytes) -> None:
        """Store a response. The last one of a report replaces the reports of other days."""
        values = (self._name, span.first, span.last)
        with transaction(self._db, GOOGLE_DB.description):
            packed = zlib.compress(body, 1)
            self._db.execute(
                "INSERT OR REPLACE INTO page VALUES (?, ?, ?, ?, ?, ?)", (*values, start, following, packed)
            )
            if following is None:
                self._db.execute("DELETE FROM page WHERE name = ? AND (first, last) != (?, ?)", values)

    def bodies(self, span: DateSpan) -> Iterator[tuple[int, bytes]]:
        """The stored responses, in order, each with the index of its first row."""
        query = "SELECT start, body FROM page WHERE name = ? AND first = ? AND last = ? ORDER BY start"
        return ((start, zlib.decompress(packed)) for start, packed in self._rows(query, span.first, span.last))


_SETTING: Final = "audit.google_credentials"
_BODY: Final = BodyLimits(wire=64 * MIB, decoded=256 * MIB)
_NOT_A_PAGE: Final = frozenset({"", "(not set)", "(other)"})
_UNAUTHORIZED: Final = 401


class ApiUnavailable(Exception):
    """The API cannot be read now. The message is a sentence."""


def google_reports(config: Config) -> list[GoogleReport]:
    """The reports that the configuration names. Raises UsageError for a name that cannot be a property's."""
    audit = config.audit
    reports = []
    if audit.search_console:
        reports.append(search_console_report(audit.search_console, config.search_console.endpoint))
    if audit.ga4:
        reports.append(ga4_report(audit.ga4, audit.ga4_endpoint))
    return reports


def check_reports(config: Config) -> None:
    """Check properties and credentials before the first request. Raises UsageError."""
    if config.audit.inspect_urls and not config.audit.search_console:
        raise UsageError("audit.inspect_urls needs a property of Search Console. Add --search-console PROPERTY")
    for report in google_reports(config):
        AccessTokens(_account(config), report.scope, _SETTING)


def read_report(
    report: GoogleReport, config: Config, directory: Path, addresses: SourceUrlParser, now: float
) -> tuple[SourceReport, Iterator[SourceRecord]]:
    """The report and the claims of a source, one for each row. The report is complete after all claims.

    ``directory`` has the stored results; ``now`` is Unix time. Raises UsageError for a refusal, StorageError.
    """
    source = SourceReport(source=report.source, name=report.title, format=f"{report.name} API")
    days = _days(now, config.audit.google_days)
    with ReportCache.opened(directory, report.title) as cache:
        try:
            anyio.run(_fetch_rows, report, config, cache, now, days)
        except ApiUnavailable as error:
            source.complete = False
            source.faults.append(str(error))
            if (stored := cache.last_complete()) and stored != days:
                source.notes.append(f"the rows of {stored.first} to {stored.last} are used")
                days = stored
    return source, _claims(report, source, directory, days, addresses)


async def _fetch_rows(report: GoogleReport, config: Config, cache: ReportCache, now: float, days: DateSpan) -> None:
    """Store the rows of these days that are missing. Raises ApiUnavailable, UsageError, StorageError."""
    start = cache.missing_row(days)
    if start is None:
        return
    limit = config.audit.max_google_requests
    async with ApiReader(report, config, cache, now, limit, "audit.max_google_requests") as reader:
        while start is not None:
            body = await reader.post(report.request(days, start))
            try:
                following = report.read(body, start).following
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                raise ApiUnavailable(
                    f"the response of {report.name} cannot be read. The next audit tries again"
                ) from None
            cache.put(days, start, following, body)
            start = following


def _account(config: Config) -> ServiceAccount:
    setting = config.audit.google_credentials or config.search_console.account
    if not setting:
        raise UsageError(
            f"--search-console and --ga4 need a service account. Give its key file (JSON) with {_SETTING}, as a "
            "path, file:PATH or env:NAME"
        )
    return ServiceAccount.read(setting, _SETTING)


def _days(now: float, number: int) -> DateSpan:
    """So many days up to yesterday (UTC): results of the present day would change."""
    last = datetime.fromtimestamp(now, UTC).date() - timedelta(days=1)
    return DateSpan((last - timedelta(days=number - 1)).isoformat(), last.isoformat())


def _claims(
    report: GoogleReport, source: SourceReport, directory: Path, days: DateSpan, addresses: SourceUrlParser
) -> Iterator[SourceRecord]:
    source.first, source.last = days.first, days.last
    with ReportCache.opened(directory, report.title) as cache:
        for start, body in cache.bodies(days):
            source.bytes += len(body)
            for row in report.read(body, start).rows:
                source.rows += 1
                if claim := _claim(row, source, days, addresses):
                    yield claim
    if not source.rows and source.complete:
        source.notes.append("it has no rows")
    if source.foreign > source.used:
        source.notes.append(f"{source.foreign:,} of its {source.rows:,} URLs belong to other sites or are out of scope")


def _claim(row: ReportRow, source: SourceReport, days: DateSpan, addresses: SourceUrlParser) -> SourceRecord | None:
    if row.url in _NOT_A_PAGE:
        parsed: Url | RejectReason = RejectReason.NO_URL
        if row.url == "(other)":
            source.note_rest()
    else:
        is_home = row.host.lower().removeprefix("www.") == addresses.site.partition(":")[0]
        parsed = addresses.parse(row.url if is_home or not row.host else f"https://{row.host}{row.url}")
    if (url := count_row(source, parsed)) is None:
        return None
    return SourceRecord(url=url, first=days.first, last=days.last, **row.counts)


class ApiReader:
    """Sends requests to one API; an async context manager that closes its connections.

    It sends at most ``limit`` requests a day, the value of the option ``setting``; ``cache`` counts them. ``now`` is
    Unix time. Raises UsageError for bad credentials.
    """

    def __init__(self, api: GoogleApi, config: Config, cache: ApiCache, now: float, limit: int, setting: str) -> None:
        self._api = api
        self._cache = cache
        self._day = datetime.fromtimestamp(now, UTC).date().isoformat()
        self._limit = limit
        self._limit_setting = setting
        self._policy = RetryPolicy(config.fetch.retries, longest_asked=config.pace.max_retry_after)
        self._account = _account(config)
        self._tokens = AccessTokens(self._account, api.scope, _SETTING)
        self._fetcher = _fetcher(config)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._fetcher.aclose()

    async def post(self, request: bytes) -> bytes:
        """The body of the successful response to a request (JSON). Raises ApiUnavailable, UsageError, StorageError."""
        reason = ""
        retries = Retries(self._policy, self._api.url)
        async for _ in retries:
            answer, token = await self._send(request)
            if isinstance(answer, Reply) and answer.status == _UNAUTHORIZED:  # the token may have expired
                self._tokens.discard()
                answer, token = await self._send(request)
            if isinstance(answer, Reply) and answer.status == 200 and not answer.cut:
                return answer.body
            reason = self._failure(answer, token)
            retries.asked = (
                parse_retry_after(answer.header("retry-after"), time.time()) if isinstance(answer, Reply) else None
            )
        asked = f". {self._api.name} asks to wait {span(retries.asked)}" if retries.asked else ""
        raise ApiUnavailable(f"{reason}{asked}. The next audit tries again")

    async def _send(self, request: bytes) -> tuple[Reply | Failure, str]:
        """The response to one request, and the token that it was sent with."""
        token = await _token(self._fetcher, self._tokens)
        if self._cache.requests(self._day) >= self._limit:
            limit = count_text(self._limit, "request")
            raise ApiUnavailable(
                f"the limit of {limit} per day is reached. The next audit after midnight (UTC) continues. To continue "
                f"earlier, raise {self._limit_setting}"
            )
        self._cache.count_request(self._day)
        headers = [("Authorization", f"Bearer {token}"), ("Content-Type", "application/json")]
        url = Url(self._api.url)
        return await self._fetcher.fetch(url, headers=headers, body=_BODY, method="POST", content=request), token

    def _failure(self, answer: Reply | Failure, token: str) -> str:
        """Why there are no rows now, in a sentence. Raises UsageError for a refusal."""
        api = self._api
        if isinstance(answer, Failure):
            return f"{api.name} cannot be reached: {quote_message(answer.message, (token,))}"
        if answer.cut:
            return f"the response of {api.name} was cut: {answer.cut}"
        reasons, message = error_reasons(answer.body)
        detail = f": {quote_message(message, (token,))}" if message else ""
        text = f"{api.name} answered {answer.status}{detail}"
        if is_transient(answer.status) or answer.status >= 500 or reasons & QUOTA_REASONS:
            return text
        raise UsageError(f"{text}; {self._remedy(answer.status, reasons)}")

    def _remedy(self, status: int, reasons: frozenset[str]) -> str:
        api, email = self._api, self._account.email
        match status:
            case 401:
                return (
                    f"Google does not accept the token of {email}: check the clock of this machine, and check that the "
                    "key was not deleted"
                )
            case 403 if reasons & DISABLED_REASONS:
                return f"enable the {api.api} in the Google Cloud project of {email}"
            case 403:
                return f"{api.access.format(email)} (property {api.property_id})"
            case 400 | 404:
                return f"the property {api.property_id} may not exist: {api.missing}"
        return "check the property and the service account"


async def _token(fetcher: Fetcher, tokens: AccessTokens) -> str:
    async def send(method: str, url: str, headers: Mapping[str, str], body: bytes) -> TokenResponse:
        answer = await fetcher.fetch(Url(url), headers=headers.items(), body=_BODY, method=method, content=body)
        if isinstance(answer, Failure):
            return TokenResponse()
        return TokenResponse(answer.status, dict(answer.headers), answer.body)

    try:
        return await tokens.get(send, time.time)
    except TokenRefused as error:
        raise UsageError(f"{_SETTING}: {error}") from None
    except TokenUnavailable as error:
        raise ApiUnavailable(str(error) or f"{tokens.server} returned no token. The next audit tries again") from None


def _fetcher(config: Config) -> Fetcher:
    """A fetcher for Google, without the secrets of the site."""
    fetch = config.fetch
    limits = FetchLimits(
        connect=fetch.connect_timeout, first_byte=fetch.read_timeout, idle=fetch.read_timeout, total=fetch.timeout
    )
    ca_file = Path(fetch.ca_file) if fetch.ca_file else None
    options = TransportOptions(proxy=reveal_secret(fetch.proxy), ca_file=ca_file, idle=0)
    return build_service_fetcher(fetch.user_agent, options, limits)
