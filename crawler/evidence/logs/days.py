"""When a line was written: the day in UTC of every way in which logs write times."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

_MONTHS: Final = {
    name: number
    for number, name in enumerate(b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), start=1)
}
_common = re.compile(rb"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d)[^ ]* ?([+-]\d\d:?\d\d|Z?)").match
_iso = re.compile(
    rb"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::\d\d(?:[.,]\d+)?)?)? ?([+-]\d\d:?\d\d|Z|UTC|)$"
).match
_epoch = re.compile(rb"\d{9,19}(?:\.\d+)?$").match
_REMEMBERED: Final = 4_096


class Days:
    """Days by the text of a time; the lines of a log come in order, so that few are looked at twice."""

    def __init__(self) -> None:
        self._known: dict[bytes, str] = {}

    def of(self, when: bytes) -> str:
        """The day (``2026-11-21``, UTC), or "" for what is no time."""
        # a common time says the same day until its hour or its zone changes
        key = when[:14] + when[20:] if when[2:3] == b"/" else when
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            found = self._known[key] = day(when)
        return found


def day(when: bytes) -> str:
    """The same without remembering: common log times, ISO 8601, seconds (or milli-, micro-, nanoseconds) since 1970."""
    try:
        if found := _common(when):
            number, name, year, hour, minute, zone = found.groups()
            at = datetime(int(year), _MONTHS[name], int(number), int(hour), int(minute), tzinfo=UTC)
            return _utc(at, zone)
        if found := _iso(when):
            year, month, number, hour, minute, zone = found.groups()
            at = datetime(int(year), int(month), int(number), int(hour or 0), int(minute or 0), tzinfo=UTC)
            return _utc(at, zone)
        if _epoch(when):
            seconds = float(when)
            while seconds > 1e11:  # the year 5138: it was not seconds
                seconds /= 1_000
            return datetime.fromtimestamp(seconds, UTC).date().isoformat()
    except (ValueError, KeyError, OverflowError):
        pass
    return ""


def _utc(at: datetime, zone: bytes) -> str:
    if zone[:1] in (b"+", b"-"):
        ahead = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
        at += -ahead if zone[:1] == b"+" else ahead
    return at.date().isoformat()
