"""What a log says was asked for: request lines and addresses as servers write them, escapes undone.

nginx writes ``"``, ``\\`` and what is not printable as ``\\xHH`` (https://nginx.org/en/docs/http/ngx_http_log_module.html),
Apache as ``\\"``, ``\\\\``, ``\\t`` and ``\\xhh`` (https://httpd.apache.org/docs/2.4/mod/mod_log_config.html).
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

LogRow = tuple[bytes, bytes, bytes | None, bytes, bytes, bytes, bytes | None]

"""One line: address, when, target, status, agent, host, request. Where there is no target, the request line has it."""


_escape = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|(.))", re.DOTALL)

_LETTERS: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"b": b"\b", b"f": b"\f", b"v": b"\v"}

_request = re.compile(rb"(?:GET|HEAD) ([^ ].*?)(?: HTTP/\d(?:\.\d)?)?$", re.DOTALL).match

_unprintable = re.compile(rb"[^\x21-\x7e]")


def unescape(text: bytes) -> bytes:
    """The bytes that a server's escapes stand for."""
    return _escape.sub(_plain, text) if b"\\" in text else text


def request_target(request: bytes) -> bytes | None:
    """What a request line, escaped as it stands in a log, asks for: see :func:`asked_for`."""
    return decoded_target(unescape(request))


def decoded_target(request: bytes) -> bytes | None:
    """What a request line asks for, without spaces, or None: for nothing, or not by GET or HEAD."""
    found = _request(request)
    return found[1].replace(b" ", b"%20") if found else None


def target_text(asked: bytes) -> str:
    """A target as text. Bytes that no URL may have are escaped, as the browser should have done."""
    if asked.isascii() and (plain := asked.decode("ascii")).isprintable() and " " not in plain:
        return plain
    return _unprintable.sub(lambda found: b"%%%02X" % ord(found[0]), asked).decode("ascii")


def _plain(found: re.Match[bytes]) -> bytes:
    return bytes([int(found[1], 16)]) if found[1] else _LETTERS.get(found[2], found[2])


_MONTHS: Final = {
    name: number
    for number, name in enumerate(b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), start=1)
}

_common = re.compile(rb"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d)[^ ]* ?([+-]\d\d:?\d\d|Z?)").match

_iso = re.compile(
    rb"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::\d\d(?:[.,]\d+)?)?)? ?([+-]\d\d:?\d\d|Z|UTC|)$"
).match

_epoch = re.compile(rb"\d{9,19}(?:\.\d+)?$").match

_MAX_CACHED: Final = 4_096


class DayCache:
    """Days by the text of a time; the lines of a log come in order, so that few are looked at twice."""

    def __init__(self) -> None:
        self._known: dict[bytes, str] = {}

    def day(self, when: bytes) -> str:
        """The day (``2026-11-21``, UTC), or "" for what is no time."""
        # a common time says the same day until its hour or its zone changes
        key = when[:14] + when[20:] if when[2:3] == b"/" else when
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _MAX_CACHED:
                self._known.clear()
            found = self._known[key] = parse_log_day(when)
        return found


def parse_log_day(when: bytes) -> str:
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
