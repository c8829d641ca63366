"""Values of HTTP headers: dates in their three forms, strictly (RFC 9110 5.6.7), and media types.

Also whether a body is text, whatever its media type says. Pure.
"""

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TIME: Final = r"([0-9]{2}):([0-9]{2}):([0-9]{2})"
_MONTH: Final = f"({'|'.join(_MONTHS)})"
_DAY: Final = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_LONG_DAY: Final = "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_imf_fixdate = re.compile(rf"{_DAY}, ([0-9]{{2}}) {_MONTH} ([0-9]{{4}}) {_TIME} GMT").fullmatch
_rfc850 = re.compile(rf"{_LONG_DAY}, ([0-9]{{2}})-{_MONTH}-([0-9]{{2}}) {_TIME} GMT").fullmatch
_SNIFF_BYTES: Final = 1024
_binary_byte = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]").search  # WHATWG MIME Sniffing, section 3
_BOMS: Final = (b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf")
_asctime = re.compile(rf"{_DAY} {_MONTH} ([ 0-9][0-9]) {_TIME} ([0-9]{{4}})").fullmatch


def parse_http_date(text: str, now: float) -> float | None:
    """Unix time in seconds, or None for another form or a date that does not exist.

    ``now`` (Unix time) places the two-digit years of RFC 850 dates: one that seems more than 50 years in the
    future is in the past. The weekday is not checked.
    """
    return _parse_forms(text.strip(" \t"), datetime.fromtimestamp(now, UTC).year)


@lru_cache(maxsize=256)  # pages share Date and Last-Modified
def _parse_forms(text: str, this_year: int) -> float | None:
    if match := _imf_fixdate(text):
        day, month, year, *clock = match.groups()
    elif match := _asctime(text):
        month, day, *clock, year = match.groups()
    elif match := _rfc850(text):
        day, month, short, *clock = match.groups()
        year = str(_century(int(short), this_year))
    else:
        return None
    return _moment(int(year), _MONTHS.index(month) + 1, int(day), [int(part) for part in clock])


def _century(short: int, this_year: int) -> int:
    year = this_year - this_year % 100 + short
    return year - 100 if year > this_year + 50 else year


def _moment(year: int, month: int, day: int, clock: list[int]) -> float | None:
    hour, minute, second = clock
    if second > 60:
        return None
    try:
        start = datetime(year, month, day, hour, minute, tzinfo=UTC)
    except ValueError:
        return None
    return start.timestamp() + second  # a leap second is the first of the next minute


HTML_TYPES: Final = frozenset({"text/html", "application/xhtml+xml"})
FEED_TYPES: Final = frozenset({"application/rss+xml", "application/atom+xml", "application/rdf+xml"})
_UNKNOWN_TYPES: Final = frozenset({"", "*/*", "unknown/unknown", "application/unknown", "text/xml", "application/xml"})

_essence = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+").fullmatch


@lru_cache(maxsize=64)  # the pages of a site share few values
def parse_media_type(value: str) -> str:
    """Type and subtype in lower case, without parameters; "" without a valid one.

    In a list with commas the first valid one counts, because some servers send the header twice.
    """
    for piece in value.split(","):
        name = piece.partition(";")[0].strip(" \t\r\n")
        if _essence(name):
            return name.lower()
    return ""


def is_html_type(name: str) -> bool | None:
    """True for HTML, False for another type, None when the bytes decide: no type, or XML of any kind."""
    if name in HTML_TYPES:
        return True
    return None if name in _UNKNOWN_TYPES else False


def may_be_page(content_type: str) -> bool:
    """Whether a body of this Content-Type is parsed: HTML, a feed, or an unknown type."""
    name = parse_media_type(content_type)
    return name in FEED_TYPES or is_html_type(name) is not False


_TYPE_BY_SUFFIX: Final = {
    ".xml": "application/xml",
    ".txt": "text/plain; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".atom": "application/atom+xml",
    ".rss": "application/rss+xml",
    ".css": "text/css; charset=utf-8",
    ".xsl": "text/xsl",
    ".gz": "application/gzip",
}


def content_type(name: str) -> str:
    """The Content-Type of a published file, by its name.

    A .gz file is served as gzip, which readers of sitemaps unpack, and never with a Content-Encoding
    (https://www.sitemaps.org/protocol.html, https://www.rfc-editor.org/rfc/rfc6713).
    """
    _, dot, ending = name.lower().rpartition(".")
    return _TYPE_BY_SUFFIX.get(dot + ending, "application/octet-stream")


def looks_like_text(body: bytes) -> bool:
    """Whether the first KiB has no byte that text never has (WHATWG MIME Sniffing, section 7.2)."""
    return body.startswith(_BOMS) or not _binary_byte(body[:_SNIFF_BYTES])
