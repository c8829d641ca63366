"""The reports of Google's APIs that an audit reads: requests, rows, and the remedies of refusals. Pure.

https://developers.google.com/webmaster-tools/v1/searchanalytics/query,
https://developers.google.com/analytics/devguides/reporting/data/v1/rest/v1beta/properties/runReport
"""

import re
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote

import msgspec
from msgspec import Struct

from crawler.audit.source_record import SourceKind
from crawler.errors import UsageError

SEARCH_CONSOLE_ROWS: Final = 25_000
"""The most rows of one response (``rowLimit``)."""
GA4_ROWS: Final = 100_000
"""Rows to request at once (``limit``); the API returns at most 250,000."""
_SEARCH_API: Final = {
    "scope": "https://www.googleapis.com/auth/webmasters.readonly",
    "api": "Google Search Console API",
    "access": "add {} as a user of the property, in Search Console under Settings, Users and permissions",
    "missing": "write it as Search Console does: a URL with a slash at its end, or sc-domain:example.com",
}
_GA4_DIMENSIONS: Final = ("hostName", "pagePathPlusQueryString")
_GA4_METRICS: Final = ("screenPageViews", "sessions", "totalUsers")


class DateSpan(Struct, frozen=True):
    """The first and the last day of a report, as ``2026-11-21``."""

    first: str
    last: str


class ReportRow(Struct, frozen=True):
    """A row: the URL, or the path on ``host``, and the ``counts`` of its visits by their names in SourceCounts."""

    url: str
    counts: dict[str, Any]  # whole numbers
    host: str = ""


class ReportPage(Struct, frozen=True):
    """The rows of one response that could be read, the index of the next row, and None if no rows follow."""

    rows: list[ReportRow]
    following: int | None


class GoogleApi(Struct, frozen=True, kw_only=True):
    """An API for one property. ``scope`` is that of the access token, ``url`` that of the requests.

    ``access`` says how to give the account (``{}``) access, ``missing`` what to do if the property does not exist, and
    ``api`` is the name of the API in the Google Cloud console.
    """

    name: str
    property_id: str
    scope: str
    url: str
    api: str
    access: str
    missing: str

    @property
    def title(self) -> str:
        """The name with the property, for people."""
        return f"{self.name} {self.property_id}"


class GoogleReport(GoogleApi, frozen=True, kw_only=True):
    """A report of one property.

    ``request`` gives the JSON of a request from the days and the index of the first row; ``read`` reads its response,
    given the index of its first row, and raises msgspec.DecodeError for one that is none.
    """

    source: SourceKind
    request: Callable[[DateSpan, int], bytes]
    read: Callable[[bytes, int], ReportPage]


def search_console_report(property_: str, endpoint: str) -> GoogleReport:
    """The pages of a property with clicks and impressions. Raises UsageError for a name or endpoint that cannot be."""
    _check_endpoint("search_console.endpoint", endpoint)
    _check_property(property_)
    return GoogleReport(
        name="Search Console",
        source=SourceKind.SEARCH,
        property_id=property_,
        url=f"{endpoint.rstrip('/')}/sites/{quote(property_, safe='')}/searchAnalytics/query",
        **_SEARCH_API,
        request=_search_request,
        read=_read_search,
    )


def inspection_api(property_: str, endpoint: str) -> GoogleApi:
    """The index status of URLs of a property. Raises UsageError as :func:`search_console_report`."""
    _check_endpoint("audit.inspection_endpoint", endpoint)
    _check_property(property_)
    return GoogleApi(
        name="URL Inspection",
        property_id=property_,
        url=f"{endpoint.rstrip('/')}/urlInspection/index:inspect",
        **_SEARCH_API,
    )


def _check_property(property_: str) -> None:
    if not property_.startswith("sc-domain:") and not re.fullmatch(r"https?://\S+/", property_):
        raise UsageError(
            f"--search-console {property_!r} must be a URL with a slash at its end, or sc-domain:example.com"
        )


def ga4_report(property_: str, endpoint: str) -> GoogleReport:
    """The pages of a property with views, sessions and users. Raises UsageError as :func:`search_console_report`."""
    _check_endpoint("audit.ga4_endpoint", endpoint)
    number = property_.removeprefix("properties/")
    if not (number.isascii() and number.isdigit()):
        hint = ", but the id of a data stream" if number.upper().startswith("G-") else ""
        raise UsageError(
            f"--ga4 {property_!r} is not the number of a property{hint}. Google Analytics shows the number under "
            "Admin, Property details"
        )
    return GoogleReport(
        name="Google Analytics",
        source=SourceKind.ANALYTICS,
        property_id=number,
        scope="https://www.googleapis.com/auth/analytics.readonly",
        url=f"{endpoint.rstrip('/')}/properties/{number}:runReport",
        api="Google Analytics Data API",
        access="add {} as a viewer of the property, in Google Analytics under Admin, Property access management",
        missing="take the number from Google Analytics, under Admin, Property details",
        request=_ga4_request,
        read=_read_ga4,
    )


def _check_endpoint(name: str, endpoint: str) -> None:
    if not re.fullmatch(r"https?://[^/\s]+(/\S*)?", endpoint):
        raise UsageError(f"{name} {endpoint!r} is not an http(s) URL")


class _SearchRow(Struct):
    keys: list[str]
    clicks: float = 0
    impressions: float = 0


class _SearchRows(Struct):
    rows: list[_SearchRow] = []


class _Value(Struct):
    value: str = ""


class _Ga4Row(Struct, rename="camel"):
    dimension_values: list[_Value]
    metric_values: list[_Value]


class _Ga4Rows(Struct, rename="camel"):
    rows: list[_Ga4Row] = []
    row_count: int = 0


def _search_request(span: DateSpan, start: int) -> bytes:
    return msgspec.json.encode(
        {
            "startDate": span.first,
            "endDate": span.last,
            "dimensions": ["page"],
            "type": "web",
            "rowLimit": SEARCH_CONSOLE_ROWS,
            "startRow": start,
        }
    )


def _read_search(body: bytes, start: int) -> ReportPage:
    rows = msgspec.json.decode(body, type=_SearchRows).rows
    read = [
        ReportRow(row.keys[0], {"clicks": round(row.clicks), "impressions": round(row.impressions)})
        for row in rows
        if row.keys
    ]
    # the API says nothing of the total: a page that is not full is the last one
    return ReportPage(read, None if len(rows) < SEARCH_CONSOLE_ROWS else start + len(rows))


def _ga4_request(span: DateSpan, start: int) -> bytes:
    return msgspec.json.encode(
        {
            "dateRanges": [{"startDate": span.first, "endDate": span.last}],
            "dimensions": [{"name": name} for name in _GA4_DIMENSIONS],
            "metrics": [{"name": name} for name in _GA4_METRICS],
            # a stable order: no row is in two pages or in none
            "orderBys": [
                {"metric": {"metricName": _GA4_METRICS[0]}, "desc": True},
                *({"dimension": {"dimensionName": name}} for name in _GA4_DIMENSIONS),
            ],
            "limit": str(GA4_ROWS),  # int64, in JSON a string
            "offset": str(start),
        }
    )


def _read_ga4(body: bytes, start: int) -> ReportPage:
    report = msgspec.json.decode(body, type=_Ga4Rows)
    rows = []
    for row in report.rows:
        values = [item.value for item in row.dimension_values]
        counts = [int(item.value) if item.value.isascii() and item.value.isdigit() else 0 for item in row.metric_values]
        if len(values) == len(_GA4_DIMENSIONS) and len(counts) == len(_GA4_METRICS):
            rows.append(ReportRow(values[1], dict(zip(("views", "sessions", "users"), counts, strict=True)), values[0]))
    following = start + len(report.rows)
    return ReportPage(rows, None if not report.rows or following >= report.row_count else following)
