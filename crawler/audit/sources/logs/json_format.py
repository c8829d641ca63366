"""Reads logs of one JSON object a line: nginx with escape=json, Caddy, Traefik, and all with similar names.

https://caddyserver.com/docs/caddyfile/directives/log, https://doc.traefik.io/traefik/observability/access-logs/,
https://developers.cloudflare.com/logs/logpush/logpush-job/datasets/zone/http_requests/,
https://techdocs.akamai.com/datastream2/docs/data-set-parameters,
https://cloud.google.com/load-balancing/docs/https/https-logging-monitoring.
"""

import codecs
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import unquote_to_bytes

import msgspec

from crawler.audit.sources.logs.fields import LogReader, LogRow, decoded_target, log_table
from crawler.audit.sources.logs.text_formats import LogFormatError

MAX_DEPTH: Final = 4
"""Levels of nested objects that are read."""

_FIELDS: Final = {field: names.split() for field, names, _ in log_table("fields.csv") if names}
"""Names of each field without case and punctuation, the likeliest first."""
_decode: Final = msgspec.json.Decoder().decode
_punctuation = re.compile(r"[^a-z0-9]")
_bare = re.compile(r"(?<=[:,\[])\s*(\$\w+)\s*(?=[,}\]])")
FieldPath = tuple[str, ...]


class JsonLogReader(LogReader):
    """Reads the lines of one file. The field paths come from its first objects or from a log_format."""

    def __init__(self, paths: dict[str, FieldPath], name: str = "JSON lines") -> None:
        """Take the path of each field. Raises LogFormatError without a status or a target."""
        if "status" not in paths or not paths.keys() & {"target", "request"}:
            raise LogFormatError("the lines are not JSON objects with a status and a request")
        self.name = name
        self._paths = [paths.get(field, ()) for field in _FIELDS]
        self.has_agents = "agent" in paths

    def row(self, line: bytes) -> LogRow | None:
        """The row of an object. Without a request, it has no target."""
        record = parse_object(line)
        if record is None:
            return None
        when, request, method, target, query, status, agent, host, address = [
            _text(record, path) for path in self._paths
        ]
        when = when or line[:10].replace(b"/", b"-")  # a prefix may begin with the day
        if method.upper() not in (b"GET", b"HEAD", b""):
            return (address, when, None, status, agent, host, None)
        if b"%20" in agent:  # Akamai and CloudFront write no spaces
            agent = unquote_to_bytes(agent)
        if target and b" " not in request:
            if not target.startswith(b"/") and b"://" not in target:
                target = b"/" + target
            if query not in (b"", b"-") and b"?" not in target:
                target += b"?" + query.removeprefix(b"?")
            return (address, when, target.replace(b" ", b"%20"), status, agent, host, None)
        return (address, when, decoded_target(request), status, agent, host, None)


def learn_fields(lines: list[bytes]) -> dict[str, FieldPath]:
    """The paths of the fields in these lines. Likelier names win, then those nearer to the top."""
    places: dict[str, FieldPath] = {}
    for line in lines:
        leaves = _values(parse_object(line) or {}, ())
        for path in sorted((path for path, value in leaves if not isinstance(value, dict)), key=len):
            for depth in range(len(path)):
                places.setdefault(_punctuation.sub("", "".join(path[depth:]).lower()), path)
    return _likeliest_paths(places)


def fields_of_format(text: str) -> dict[str, FieldPath]:
    """The paths of the fields in a log_format that makes JSON. Raises LogFormatError."""
    try:
        record = json.loads(_bare.sub(r'"\1"', text))
    except (ValueError, RecursionError):
        raise LogFormatError("the format begins like JSON, but is not valid JSON") from None
    variables = {
        _punctuation.sub("", value.strip("${}").lower()): path
        for path, value in _values(record, ())
        if isinstance(value, str) and value.startswith("$")
    }
    return _likeliest_paths(variables)


def _likeliest_paths(paths: dict[str, FieldPath]) -> dict[str, FieldPath]:
    """The path of each field, by its likeliest name."""
    found = {field: [paths[name] for name in names if name in paths] for field, names in _FIELDS.items()}
    return {field: candidates[0] for field, candidates in found.items() if candidates}


def parse_object(line: bytes) -> dict[str, Any] | None:
    """The object of a line, None without one. A prefix, as of syslog or Kubernetes, may come before the object.

    nginx keeps raw bytes: those that are no UTF-8 are escaped here.
    """
    try:
        record = _decode(line[line.find(b"{") :])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        escaped = line.decode("utf-8", "siteatlas.escape").encode()
        return None if escaped == line else parse_object(escaped)
    return record if isinstance(record, dict) else None


def longest_text(lines: list[bytes]) -> FieldPath:
    """The path of the field with the longest texts in these objects."""
    sizes = Counter[FieldPath]()
    for line in lines:
        sizes.update({path: len(str(value)) for path, value in _values(parse_object(line) or {}, ())})
    return max(sizes, key=sizes.__getitem__, default=())


def unwrap(lines: list[bytes], path: FieldPath) -> tuple[list[bytes], list[bytes]]:
    """The texts in one field of objects, each as one line, and the lines without it."""
    texts: list[bytes] = []
    others: list[bytes] = []
    for line in lines:
        text = _text(parse_object(line) or {}, path).strip()
        (texts if text else others).append(text.replace(b"\n", b" ") or line)
    return texts, others


def _escape(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)  # noqa: S101 - only decoding uses it
    return "".join(f"%{byte:02X}" for byte in error.object[error.start : error.end]), error.end


codecs.register_error("siteatlas.escape", _escape)


def _values(record: object, path: FieldPath) -> Iterator[tuple[FieldPath, object]]:
    if isinstance(record, dict) and len(path) < MAX_DEPTH:
        for name, value in record.items():
            yield from _values(value, (*path, name))
    else:
        yield path, record


def _text(record: dict[str, Any], path: FieldPath) -> bytes:
    value: object = record if path else ""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    if isinstance(value, list):
        value = value[0] if value else ""
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).encode() if isinstance(value, int | float) and not isinstance(value, bool) else b""
