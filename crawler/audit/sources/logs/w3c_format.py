"""Reads logs whose header names the columns: W3C extended (IIS) and CloudFront.

https://www.w3.org/TR/WD-logfile.html, https://learn.microsoft.com/en-us/windows/win32/http/w3c-logging,
https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/standard-logs-reference.html. Times are UTC.
"""

import re
from typing import Final
from urllib.parse import unquote_to_bytes

from crawler.audit.sources.logs.fields import LogRow
from crawler.audit.sources.logs.log_format import LogFormatError

_NEEDED: Final = (b"cs-uri-stem", b"sc-status")
_HOSTS: Final = (b"x-host-header", b"cs-host", b"cs(host)")
_double_escape = re.compile(rb"%25([0-9A-Fa-f]{2})")


class W3cLogReader:
    """Reads the lines of one file, whose ``#Fields`` may change in between."""

    has_agents = True

    def __init__(self, fields: bytes = b"") -> None:
        """Begin with the columns of a ``#Fields`` line, for a file without one. Raises LogFormatError."""
        self.name = "W3C extended"
        self._is_cloudfront = False
        self._places: dict[bytes, int] = {}
        self._count = 0
        if fields:
            self._begin(fields)
            if not all(name in self._places for name in _NEEDED):
                raise LogFormatError("the columns cs-uri-stem or sc-status are missing")

    def rows(self, text: bytes) -> tuple[list[LogRow], list[bytes]]:
        """The rows of some lines, and the lines with a wrong number of columns. Directives are skipped."""
        rows: list[LogRow] = []
        others: list[bytes] = []
        for line in text.removesuffix(b"\n").split(b"\n"):
            if line[:1] == b"#":
                if line[:8].lower() == b"#fields:":
                    self._begin(line)
                continue
            cells = line.rstrip(b"\r\n").split(b"\t" if b"\t" in line else b" ")
            if len(cells) != self._count or not all(name in self._places for name in _NEEDED):
                others.append(line)
            else:
                rows.append(self._row(cells))
        return rows, others

    def header_at_end(self, text: bytes) -> bytes:
        """The last ``#Fields`` directive in these lines, b"" without one."""
        end = len(text)
        while (end := text.rfind(b"#", 0, end)) >= 0:
            if text[end : end + 8].lower() == b"#fields:" and text[end - 1 : end] in (b"\n", b""):
                line = text[end:].partition(b"\n")[0]
                self._begin(line)
                return line
        return b""

    def _begin(self, line: bytes) -> None:
        names = line.partition(b":")[2].lower().split()
        self._places = {name: place for place, name in reversed(list(enumerate(names)))}
        self._count = len(names)
        self._is_cloudfront = any(name.startswith(b"x-edge") for name in names)
        self.name = "CloudFront" if self._is_cloudfront else "W3C extended"

    def _row(self, cells: list[bytes]) -> LogRow:
        def cell(name: bytes) -> bytes:
            place = self._places.get(name)
            value = b"" if place is None else cells[place]
            return b"" if value == b"-" else value

        stem, query = cell(b"cs-uri-stem"), cell(b"cs-uri-query")
        agent = cell(b"cs(user-agent)") or b"-"
        if self._is_cloudfront:
            stem, query = _double_escape.sub(rb"%\1", stem), _double_escape.sub(rb"%\1", query)
            agent = unquote_to_bytes(unquote_to_bytes(agent))
        else:
            # IIS writes a plus instead of a space
            stem, agent = stem.replace(b"+", b"%20"), agent.replace(b"+", b" ")
        when = cell(b"date") + (b" " + cell(b"time") if cell(b"date") and cell(b"time") else b"")
        target = stem + (b"?" + query if query else b"")
        is_page_request = cell(b"cs-method") in (b"GET", b"HEAD", b"")
        host = next((cell(name) for name in _HOSTS if cell(name)), b"")
        return (cell(b"c-ip"), when, target if is_page_request else None, cell(b"sc-status"), agent, host, None)
