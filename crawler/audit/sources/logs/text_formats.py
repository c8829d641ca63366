"""Reads log lines in a format of fields: log_format of nginx, LogFormat of Apache, and columns that a header names.

nginx and Apache (https://nginx.org/en/docs/http/ngx_http_log_module.html#log_format,
https://httpd.apache.org/docs/2.4/mod/mod_log_config.html#formats): a format is compiled to a regular expression. No
expression backtracks, so every line takes linear time.

W3C extended (IIS) and CloudFront (https://www.w3.org/TR/WD-logfile.html,
https://learn.microsoft.com/en-us/windows/win32/http/w3c-logging,
https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/standard-logs-reference.html): times are UTC.
"""

import re
from typing import Final, cast
from urllib.parse import unquote_to_bytes

from crawler.audit.sources.logs.fields import LogReader, LogRow, log_table

_combined_shape = re.compile(
    r"<address> <\?> <user> \[<when>\] \"<request>\" <status> <\?> \"<\?>\" \"<agent>\"(?P<rest><rest>)?"
).fullmatch

# Python looks up a character in a table when a set has three that stand apart: NUL makes three of two.
_LINE = (
    r"([^ \n\0]*+) [^ \n\0]*+ (?!\[)[^\[\n\0]*+(?<= )\[([^\]\n\0]*+)\] "
    r'"(?:GET|HEAD) ([^ "\\\n]++) HTTP/[0-9.]++" ([0-9]{3}) [^ \n\0]*+ "[^"\\\n]*+" "([^"\\\n]*+)"'
)

_END = r"[ \t\r]*+"


def fast_matcher(shape: str) -> re.Pattern[bytes] | None:
    """A pattern that finds a row in each line, for a layout with fields such as ``<when>``; None for most layouts.

    A row is a :data:`crawler.audit.sources.logs.fields.LogRow`. A row without a target has the whole line as its
    request: the full pattern must match it. Each line must end with a newline.
    """
    match = _combined_shape(shape)
    if not match:
        return None
    end = rf"(?: [^\n]*+)?+{_END}" if match["rest"] else _END
    return re.compile(rf"(?:{_LINE}{end}()|([^\n]*+))\n".encode())


_QUOTED: Final = r'[^"\\]*+(?:\\.[^"\\]*+)*+'
_REQUEST: Final = rf'(?:(?:GET|HEAD) (?P<target>[^ "\\]++) HTTP/[0-9.]++(?=")|(?P<request>{_QUOTED}))'
# times, addresses and states of several servers in a row: "0.1, 0.2 : 0.3"
_LIST_PATTERN: Final = r"(?:[^ ]| (?=: )|(?<=[,:]) )*+"
_SPACED_FIELDS: Final = frozenset({"user", "path"})
_REST_FIELD: Final = "rest"

# the fields of a row by their names in nginx and in Apache
_FIELDS: Final = {name: field for field, _, names in log_table("fields.csv") for name in names.split("|")} | {
    "is_args": "is_args",
    "word": "word",
    _REST_FIELD: _REST_FIELD,
}

_ROW_FIELDS: Final = ("address", "when", "target", "status", "agent", "host", "request")
_TARGET: Final = _ROW_FIELDS.index("target")
_REQUEST_LINE: Final = _ROW_FIELDS.index("request")
_REQUEST_PARTS: Final = ("method", "path", "query")
_PORT_FIELDS: Final = frozenset({"server_port", "p"})

_nginx = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_apache = re.compile(r"%[!,\d]*+[<>]?+(?:\{([^{}]*+)\}(\^?[a-zA-Z]{1,2})|([a-zA-Z%]))")
_directive = re.compile(r"\s*+log_format\s++\S++\s++(?:escape=\S++\s++)?+(.*)", re.DOTALL).match
_logformat = re.compile(
    r'\s*+(?:LogFormat|CustomLog\s++\S++)\s++"((?:[^"\\]++|\\.)*+)"', re.DOTALL | re.IGNORECASE
).match
# An unclosed string reaches to the end, so that it is read once.
_string = re.compile(r"'((?:[^'\\]++|\\.)*+)(?:'|\\?\Z)|\"((?:[^\"\\]++|\\.)*+)(?:\"|\\?\Z)", re.DOTALL).finditer


class LogFormatError(ValueError):
    """The text defines no format; the message says why, without repeating the text."""


class LogFormatReader(LogReader):
    """Reads lines of one format."""

    def __init__(self, name: str, text: str) -> None:
        """Compile the value of log_format or LogFormat. Raises LogFormatError."""
        self.name = name
        pieces = _needed_parts(_format_parts(text.replace(" - ", " $ident ") if "$" in text else text))
        named = {field for field, _ in pieces if field}
        if "status" not in named or not named & {"request", "target", "path"}:
            raise LogFormatError(
                "the format lacks the status or the request. Add $status and $request (nginx), or %>s and %r (Apache)"
            )
        pattern = re.compile(_expression(pieces).encode("utf-8"), re.DOTALL)
        self._match, groups = pattern.match, pattern.groupindex
        self._picked = [groups.get(field, groups["none"]) for field in _ROW_FIELDS]
        self._pieces = [groups.get(field, groups["none"]) for field in _REQUEST_PARTS]
        self._is_whole = "request" in named
        self._is_target = "target" in named
        # all lines of the combined format at once, in half of the time with the same result
        self._quick = fast_matcher("".join(f"<{field}>" if field else literal for field, literal in pieces))
        self.has_agents = "agent" in named

    def rows(self, text: bytes) -> tuple[list[LogRow], list[bytes]]:
        """The rows of some lines, and the lines of another format."""
        if self._quick:
            return self._parse_remaining(self._quick.findall(text if text.endswith(b"\n") else text + b"\n"))
        if not self._is_whole:
            return super().rows(text)
        lines = text.removesuffix(b"\n").split(b"\n")
        picked = self._picked
        matches = list(map(self._match, lines))
        return (
            [cast("LogRow", match.group(*picked)) for match in matches if match],
            [line for line, match in zip(lines, matches, strict=True) if not match],
        )

    def _parse_remaining(self, rows: list[LogRow]) -> tuple[list[LogRow], list[bytes]]:
        """The rows and other lines, from the matches of the quick pattern: it keeps whole lines that do not fit."""
        odd = [place for place, row in enumerate(rows) if not row[_TARGET]]
        others: list[bytes] = []
        for place in reversed(odd):
            line = rows[place][_REQUEST_LINE] or b""
            if match := self._match(line):
                rows[place] = cast("LogRow", match.group(*self._picked))
            else:
                others.append(line)
                del rows[place]
        return rows, others[::-1]

    def row(self, line: bytes) -> LogRow | None:
        """The row of a format with separate method, path and query."""
        match = self._match(line)
        if not match:
            return None
        address, when, target, status, agent, host, _ = match.group(*self._picked)
        method, path, query = match.group(*self._pieces)
        if not self._is_target:
            target = path + (b"?" + query.removeprefix(b"?") if query not in (b"", b"-") else b"")
        return (address, when, None, status, agent, host, (method or b"GET") + b" " + target + b" HTTP/1.1")


def unwrap_format(text: str) -> str:
    """The format itself, without the directive of the configuration around it."""
    if match := _directive(text.rstrip().removesuffix(";")):
        strings = list(_string(match[1]))
        if strings:
            return "".join(re.sub(r"\\(.)", r"\1", string[1] or string[2] or "") for string in strings)
        return match[1].strip()
    if match := _logformat(text):
        return re.sub(r'\\(["\\])', r"\1", match[1])
    return text.replace('\\"', '"')


def _format_parts(text: str) -> list[tuple[str, str]]:
    """Fields (with their names, or "?") and the literals between them (with "")."""
    is_nginx = bool(_nginx.search(text))
    pieces: list[tuple[str, str]] = []
    position = 0
    for match in (_nginx if is_nginx else _apache).finditer(text):
        if match.start() > position:
            pieces.append(("", text[position : match.start()]))
        position = match.end()
        pieces += [(_field(match[1] or match[2]), "")] if is_nginx else _of_apache(match)
    if not pieces:
        raise LogFormatError("the format contains no field such as $request (nginx) or %r (Apache)")
    if position < len(text):
        pieces.append(("", text[position:]))
    return pieces


def _needed_parts(pieces: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The parts up to the last needed field; anything may follow after a space."""
    last = max(
        (place for place, (field, _) in enumerate(pieces) if field in (*_ROW_FIELDS, *_REQUEST_PARTS)), default=-1
    )
    after = pieces[last + 1][1] if 0 <= last < len(pieces) - 1 else ""
    end, space, _ = after.partition(" ")
    if last < 0 or not (space or pieces[last + 1 :] in ([("", after)], [("", after), (_REST_FIELD, "")])):
        return pieces
    return [*pieces[: last + 1], *([("", end)] if end else []), (_REST_FIELD, "")]


def _of_apache(match: re.Match[str]) -> list[tuple[str, str]]:
    inner, kind, letter = match.groups()
    if letter == "%":
        return [("", "%")]
    if letter == "t":
        return [("", "["), ("when", ""), ("", "]")]
    if letter:
        return [(_field(letter), "")]
    if kind == "t":
        return [("when", "")]
    name = kind if kind in ("a", "p") else f"{inner} {kind}".lower()
    return [(_field(name), "")]


def _field(name: str) -> str:
    if name in _PORT_FIELDS:
        return "port"
    return _FIELDS.get(name, "listed" if name.startswith(("upstream_", "http_x_", "x-")) else "?")


def _expression(pieces: list[tuple[str, str]]) -> str:
    source = ""
    used: set[str] = set()
    for place, (field, literal) in enumerate(pieces):
        follows = pieces[place + 1][0] if place + 1 < len(pieces) else ""
        after = next((literal or " " for name, literal in pieces[place + 1 :] if name in ("", _REST_FIELD)), "")
        if not field:
            source += re.escape(literal)
        elif field == _REST_FIELD:
            source += "(?: .*+)?+"
        else:
            within = (
                _value_pattern_before(field, after)
                if follows not in ("", _REST_FIELD)
                else _value_pattern(field, after)
            )
            is_new = field in (*_ROW_FIELDS, *_REQUEST_PARTS) and field not in used
            # a whole request line names its own groups
            source += within if "(?P<" in within else f"(?P<{field}>{within})" if is_new else f"(?:{within})"
            used.add(field)
    return rf"{source}[ \t\r]*+\Z(?P<none>)"


def _value_pattern_before(field: str, after: str) -> str:
    """The pattern of a field that another field follows directly, as in ``$host$uri$is_args$args``."""
    if field == "word":  # of a prefix; syslog pads the day of the month
        return r"[^ ]++ ++"
    if field == "is_args":
        return r"\??"
    stop = {"path": "?", "host": "/", "target": "?"}.get(field, "")
    return rf"(?:[^{re.escape(after[:1] + stop)}\\]|\\.)*+"


def _value_pattern(field: str, after: str) -> str:
    """The pattern of a field, which depends on the literal after it."""
    is_quoted = after.startswith('"')
    if field == "request":
        until = rf"(?:(?!{re.escape(after)}).)*+" if after else ".*+"
        return _REQUEST if is_quoted else rf"(?P<target>(?!))?+(?P<request>{until})"
    if is_quoted:
        return _QUOTED
    if field == "status":
        return r"[0-9]{3}|-"
    if field == "listed" and after.startswith(" "):
        return _LIST_PATTERN
    if not after:
        return ".*+"
    if len(after) == 1 or field not in _SPACED_FIELDS:
        return rf"[^{re.escape(after[0])}]*+"
    return rf"(?:(?!{re.escape(after)}).)*+"


_NEEDED: Final = (b"cs-uri-stem", b"sc-status")
_HOSTS: Final = (b"x-host-header", b"cs-host", b"cs(host)")
# A field may be a quoted string, with its quotation marks doubled: https://www.w3.org/TR/WD-logfile.html
_cells = re.compile(rb'(?:\A|(?<=[ \t]))(?:"((?:[^"]|"")*+)"(?=[ \t]|\Z)|([^ \t]*+))').findall


def _unquoted(line: bytes) -> list[bytes]:
    return [string.replace(b'""', b'"') or plain for string, plain in _cells(line)]


_double_escape = re.compile(rb"%25([0-9A-Fa-f]{2})")


class W3cLogReader(LogReader):
    """Reads the lines of one file, whose ``#Fields`` may change in between."""

    def __init__(self, fields: bytes = b"") -> None:
        """Begin with the columns of a ``#Fields`` line, for a file without one. Raises LogFormatError."""
        self.name = "W3C extended"
        self._is_cloudfront = False
        self._places: dict[bytes, int] = {}
        self._count = 0
        if fields:
            self._begin(fields)
            if not all(name in self._places for name in _NEEDED):
                raise LogFormatError("the line #Fields of the log does not name the columns cs-uri-stem and sc-status")

    def row(self, line: bytes) -> LogRow | tuple[()] | None:
        """The row of a line, None if it has a wrong number of columns. Directives have none."""
        if line[:1] == b"#":
            if line[:8].lower() == b"#fields:":
                self._begin(line)
            return ()
        line = line.rstrip(b"\r\n")
        cells = line.split(b"\t" if b"\t" in line else b" ") if b'"' not in line else _unquoted(line)
        if len(cells) != self._count or not all(name in self._places for name in _NEEDED):
            return None
        return self._row(cells)

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
