"""Parses dates in every form seen in sitemaps and feeds, and writes the two forms that the XSD allows.

https://www.w3.org/TR/NOTE-datetime and https://www.sitemaps.org/schemas/sitemap/0.9/sitemap.xsd (tLastmod)
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from enum import StrEnum

from sitemap.errors import SitemapError


class Precision(StrEnum):
    """The smallest unit that a date states."""

    YEAR = "year"
    MONTH = "month"
    DAY = "day"
    MINUTE = "minute"
    SECOND = "second"
    FRACTION = "fraction"


@dataclass(frozen=True, slots=True)
class Moment:
    """A date as stated: a ``date`` if it has no time, else an aware ``datetime``.

    Units that are not stated are 1 in a date and 0 in a time.
    """

    value: date | datetime
    precision: Precision

    def instant(self) -> datetime:
        """The earliest aware datetime that it can mean; a date begins at midnight UTC."""
        if isinstance(self.value, datetime):
            return self.value
        return datetime(self.value.year, self.value.month, self.value.day, tzinfo=UTC)


_XSD = re.compile(
    r"[0-9]{4}-[01][0-9]-[0-3][0-9]"
    r"(?:T[0-2][0-9]:[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?(?:Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00)))?"
)
_CLOCK_END = len("2004-12-23T18:00:15")
_is_xsd = _XSD.fullmatch
_DIGITS = str.maketrans("123456789", "000000000")
_USUAL_SHAPES = frozenset({"", "0000-00-00", "0000-00-00T00:00:00Z", "0000-00-00T00:00:00+00:00"})
_ISO = re.compile(
    r"(?P<year>[0-9]{4})(?:-?(?P<month>[0-9]{2})(?:-?(?P<day>[0-9]{2}))?)?"
    r"(?:(?:[Tt]|[ ]+)(?P<clock>.+))?"
)
_SLASHED = re.compile(r"(?P<year>[0-9]{4})[/.-](?P<month>[0-9]{1,2})[/.-](?P<day>[0-9]{1,2})(?:[Tt ]+(?P<clock>.+))?")
_RFC822 = re.compile(
    r"(?:[A-Za-z]{3,9}\.?,?\s+)?(?P<day>[0-9]{1,2})[\s-](?P<name>[A-Za-z]{3,9})\.?[\s-](?P<year>[0-9]{4}|[0-9]{2})"
    r"(?:,?\s+(?P<clock>.+))?"
)
_ASCTIME = re.compile(
    r"(?:[A-Za-z]{3,9},?\s+)?(?P<name>[A-Za-z]{3,9})\.?\s+(?P<day>[0-9]{1,2}),?\s+"
    r"(?:(?P<clock>[0-9]{1,2}:[0-9:]+(?:\s+[A-Za-z]{1,5})?)\s+)?(?P<year>[0-9]{4})(?:\s+(?P<late>[0-9]{1,2}:.+))?"
)
_CLOCK = re.compile(
    r"(?P<hour>[0-9]{1,2})(?::?(?P<minute>[0-9]{2})(?::?(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]+))?)?)?"
    r"\s*(?P<half>[AaPp]\.?[Mm]\.?)?\s*(?P<zone>.*)"
)
_OFFSET = re.compile(
    r"(?:(?:GMT|UTC|UT)\s*)?(?P<sign>[+\u2212-])(?P<hours>[0-9]{1,2}):?(?P<minutes>[0-9]{2})?(?:\s*(?:\(.*\)|UTC|GMT))?"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# RFC 822 section 5.1; its military letters are defined wrongly and count as UTC (RFC 2822 section 4.3).
_UTC_NAMES = frozenset({"", "Z", "GMT", "UT", "UTC", "WET", "-0000"})
_ZONES = {
    "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
    # Not in a standard, but seen in feeds.
    "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "BST": 1, "WEST": 1, "MSK": 3, "JST": 9, "KST": 9,
}  # fmt: skip


def parse_date(text: str) -> Moment | None:
    """The date that a text states, or None if it states no existing date.

    Accepts W3C datetimes (also basic ISO 8601, a space for the ``T``, AM and PM), RFC 822/1123/850 and asctime dates. A
    time without a zone counts as UTC. Years are 1 to 9999.
    """
    text = text.strip()
    if not 4 <= len(text) <= 64:
        return None
    for pattern in (_ISO, _SLASHED, _RFC822, _ASCTIME):
        match = pattern.fullmatch(text)
        if match:
            try:
                return _build_moment(match.groupdict())
            except (ValueError, OverflowError):
                return None
    return None


def format_date(value: date | datetime, *, fraction: bool = False) -> str:
    """``YYYY-MM-DD`` for a date, ``YYYY-MM-DDThh:mm:ss+00:00`` for a datetime. SitemapError if it cannot be written.

    A naive datetime or a value of another type cannot. ``fraction`` keeps the fraction of a second, which is cut off by
    default.

    >>> format_date(date(2026, 2, 13))
    '2026-02-13'
    """
    if not isinstance(value, date):
        raise SitemapError(f"{type(value).__name__} is not a date. Pass a date or an aware datetime")
    if not isinstance(value, datetime):
        return value.isoformat()
    if value.tzinfo is None:
        raise SitemapError("a datetime without a time zone cannot be written. Add a time zone, such as datetime.UTC")
    try:
        value = value.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise SitemapError(str(error)) from error
    return (value if fraction else value.replace(microsecond=0)).isoformat()


def normalize_date(text: str) -> str:
    """The text in a form that the XSD allows, or "" if it does not state a day.

    A valid text stays unchanged, and a fraction of a second is kept. ``2024`` and ``2024-05`` give "": they are W3C
    datetimes, but the XSD requires a day.
    """
    text = text.strip()
    if is_valid_date(text):
        return text
    moment = parse_date(text)
    if moment is None or moment.precision in {Precision.YEAR, Precision.MONTH}:
        return ""
    try:
        return format_date(moment.value, fraction=True)
    except SitemapError:
        return ""


def is_valid_date(text: str) -> bool:
    """Whether the XSD and the W3C note allow the text, and the day exists."""
    return bool(text) and to_instant(text) is not None


def to_instant(text: str) -> datetime | None:
    """The aware datetime of a text that :func:`is_valid_date` accepts, else None. Fast; for comparisons."""
    if not _is_xsd(text):
        return None
    try:
        return datetime.fromisoformat(text if len(text) > 10 else text + "T00:00:00+00:00")
    except ValueError:
        return None


def is_later(text: str, than: str) -> bool:
    """Whether a valid date is later than another; "" is earlier than any. Fast for dates of the same form."""
    if len(text) == len(than) and text[_CLOCK_END:] == than[_CLOCK_END:]:  # the same zone: text order is time order
        return text > than
    moment, other = to_instant(text), to_instant(than)
    return moment is not None and (other is None or moment > other)


def newest_date(texts: Sequence[str]) -> str | None:
    """The first of the latest dates, "" if all are "", or None if one is invalid.

    Equal to calling :func:`is_valid_date` and :func:`is_later` for each text, but much faster if all have one form.
    """
    joined, shape = " ".join(texts), texts[0].translate(_DIGITS) if texts else ""
    if shape in _USUAL_SHAPES and joined.translate(_DIGITS) == " ".join([shape] * len(texts)):
        zone = texts[0][_CLOCK_END:] if shape else ""
        if not zone or joined.count(zone) == len(texts):
            return max(texts, default="") if not shape or _all_exist(texts) else None
    latest = ""
    for text in dict.fromkeys(texts):
        if text and not is_valid_date(text):
            return None
        if text and is_later(text, latest):
            latest = text
    return latest


def _all_exist(texts: Sequence[str]) -> bool:
    """Whether texts in the form of dates, all in the zone of the first, are existing dates."""
    try:
        for _ in map(datetime.fromisoformat, texts):
            pass
    except ValueError:
        return False
    return is_valid_date(texts[0])  # its zone too


def _build_moment(parts: dict[str, str | None]) -> Moment:
    year = _year(parts["year"] or "")
    month = _MONTHS.index(name[:3].lower()) + 1 if (name := parts.get("name")) else int(parts.get("month") or 1)
    day = date(year, month, int(parts.get("day") or 1))
    clock = parts.get("clock") or parts.get("late")
    if clock:
        return _with_clock(day, clock)
    if parts.get("day"):
        return Moment(day, Precision.DAY)
    return Moment(day, Precision.MONTH if parts.get("month") else Precision.YEAR)


def _year(digits: str) -> int:
    if len(digits) == 2:  # RFC 2822 section 4.3
        return int(digits) + (2000 if int(digits) < 50 else 1900)
    return int(digits)


def _with_clock(day: date, clock: str) -> Moment:
    match = _CLOCK.fullmatch(clock.strip())
    if not match:
        raise ValueError(clock)
    hour = int(match["hour"])
    if half := match["half"]:
        if not 1 <= hour <= 12:
            raise ValueError(clock)
        hour = hour % 12 + (12 if half[0] in "Pp" else 0)
    carry = timedelta()
    if hour == 24 and not int(match["minute"] or 0) and not int(match["second"] or 0):
        hour, carry = 0, timedelta(days=1)  # ISO 8601: the end of the day
    second = 59 if match["second"] == "60" else int(match["second"] or 0)  # a leap second
    micro = int((match["fraction"] or "0")[:6].ljust(6, "0"))
    zone = _zone(match["zone"].strip())
    value = datetime(day.year, day.month, day.day, hour, int(match["minute"] or 0), second, micro, zone) + carry
    if match["fraction"]:
        return Moment(value, Precision.FRACTION)
    return Moment(value, Precision.SECOND if match["second"] else Precision.MINUTE)


def _zone(text: str) -> timezone:
    upper = text.upper().partition("[")[0]  # a zone name may follow (RFC 9557)
    if upper in _UTC_NAMES or (len(upper) == 1 and upper.isalpha()):
        return UTC
    if upper in _ZONES:
        return timezone(timedelta(hours=_ZONES[upper]))
    match = _OFFSET.fullmatch(upper)
    if not match:
        raise ValueError(text)
    offset = timedelta(hours=int(match["hours"]), minutes=int(match["minutes"] or 0))
    return timezone(-offset if match["sign"] != "+" else offset)
