"""Parses the fields of a log line: request lines, targets and times, with the escapes of servers resolved.

nginx writes ``"``, ``\\`` and what is not printable as ``\\xHH`` (https://nginx.org/en/docs/http/ngx_http_log_module.html),
Apache as ``\\"``, ``\\\\``, ``\\t`` and ``\\xhh`` (https://httpd.apache.org/docs/2.4/mod/mod_log_config.html).
"""

import csv
import ipaddress
import re
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import Final

LogRow = tuple[bytes, bytes, bytes | None, bytes, bytes, bytes, bytes | None]
"""One line: address, when, target, status, agent, host, request. Without a target, the request line has it."""


def log_table(name: str) -> list[list[str]]:
    """The rows of a table beside this module, without its headings."""
    text = (files("crawler.audit.sources.logs") / name).read_text(encoding="utf-8")
    return list(csv.reader(text.splitlines()))[1:]


class LogReader:
    """Reads the lines of one file. ``has_agents``: the format has user agents."""

    name = ""
    has_agents = True

    def rows(self, text: bytes) -> tuple[list[LogRow], list[bytes]]:
        """The rows of some lines, and the unreadable lines."""
        rows, others = list[LogRow](), list[bytes]()
        for line in text.removesuffix(b"\n").split(b"\n"):
            if row := self.row(line):
                rows.append(row)
            elif row is None:
                others.append(line)
        return rows, others

    def row(self, line: bytes) -> LogRow | tuple[()] | None:
        """The row of a line, None for an unreadable line, an empty one for a line that states something else."""
        raise NotImplementedError


_escape = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|(.))", re.DOTALL)

_LETTERS: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"b": b"\b", b"f": b"\f", b"v": b"\v"}

_request = re.compile(rb"(?:GET|HEAD) ([^ ].*?)(?: HTTP/\d(?:\.\d)?)?$", re.DOTALL).match

_unprintable = re.compile(rb"[^\x21-\x7e]")


def client_address(text: bytes) -> str:
    """The IP address in a field, without port and brackets, of several the first; "" for other text."""
    name = text.partition(b",")[0].decode("ascii", "replace")
    name = name.strip("[").partition("]")[0] if name.startswith("[") else name
    name = name.partition(":")[0] if name.count(":") == 1 else name
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return ""


def unescape(text: bytes) -> bytes:
    """The text with the escapes of a server resolved."""
    return _escape.sub(_plain, text) if b"\\" in text else text


def request_target(request: bytes) -> bytes | None:
    """The target of a request line with escapes; see :func:`decoded_target`."""
    return decoded_target(unescape(request))


def decoded_target(request: bytes) -> bytes | None:
    """The target of a request line, with spaces escaped; None without one, or for methods other than GET and HEAD."""
    match = _request(request)
    return match[1].replace(b" ", b"%20") if match else None


def target_text(target: bytes) -> str:
    """A target as text. Bytes that a URL may not have are escaped, as the browser should have done."""
    if target.isascii() and (plain := target.decode("ascii")).isprintable() and " " not in plain:
        return plain
    return _unprintable.sub(lambda match: b"%%%02X" % ord(match[0]), target).decode("ascii")


def _plain(match: re.Match[bytes]) -> bytes:
    return bytes([int(match[1], 16)]) if match[1] else _LETTERS.get(match[2], match[2])


_MONTHS: Final = {
    name: number for number, name in enumerate(b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), start=1)
}

_common = re.compile(rb"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d)[^ ]* ?([+-]\d\d:?\d\d|Z?)").match

_iso = re.compile(rb"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::\d\d(?:[.,]\d+)?)?)? ?([+-]\d\d:?\d\d|Z|UTC|)$").match

_american = re.compile(rb"(\d\d?)/(\d\d?)/(\d\d|\d{4})$").match  # IIS native
_epoch = re.compile(rb"\d{9,19}(?:\.\d+)?$").match

_MAX_CACHED: Final = 4_096
MAX_DAYS: Final = 4_000
"""Days that are counted as days of a log: eleven years."""


class DayCache:
    """Caches days by the text of a time. The lines of a log are in order, so nearly all hits are recent.

    ``days`` are the first :data:`MAX_DAYS` days that were parsed.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, str] = {}
        self.days: set[str] = set()

    def day(self, when: bytes) -> str:
        """The day (``2026-11-21``, UTC), or "" for text that is no time."""
        # the day of a common time changes only with its hour or its zone
        key = when[:14] + when[20:] if when[2:3] == b"/" else when
        result = self._known.get(key)
        if result is None:
            if len(self._known) >= _MAX_CACHED:
                self._known.clear()
            result = self._known[key] = parse_log_day(when)
            if result and len(self.days) < MAX_DAYS:
                self.days.add(result)
        return result


def parse_log_day(when: bytes) -> str:
    """The day of a common log time, an ISO 8601 time, or (milli-, micro-, nano-)seconds since 1970; or ""."""
    try:
        if match := _common(when):
            number, name, year, hour, minute, zone = match.groups()
            at = datetime(int(year), _MONTHS[name], int(number), int(hour), int(minute), tzinfo=UTC)
            return _utc(at, zone)
        if match := _iso(when):
            year, month, number, hour, minute, zone = match.groups()
            at = datetime(int(year), int(month), int(number), int(hour or 0), int(minute or 0), tzinfo=UTC)
            return _utc(at, zone)
        if match := _american(when):
            month, number, year = match.groups()
            return datetime(2000 + int(year) % 2000, int(month), int(number), tzinfo=UTC).date().isoformat()
        if _epoch(when):
            seconds = float(when)
            while seconds > 1e11:  # the year 5138: a smaller unit than seconds
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
