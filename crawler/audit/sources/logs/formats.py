"""Chooses the format of a log: by its first lines, or by the audit.log_format option."""

import re
from collections import Counter
from itertools import starmap
from typing import Final

from crawler.audit.sources.logs import json_format
from crawler.audit.sources.logs.fields import LogReader, LogRow, client_address, log_table
from crawler.audit.sources.logs.json_format import JsonLogReader
from crawler.audit.sources.logs.text_formats import LogFormatError, LogFormatReader, W3cLogReader, unwrap_format

COMMON: Final = '$remote_addr $ident $remote_user [$time_local] "$request" $status $body_bytes_sent'
COMBINED: Final = f'{COMMON} "$http_referer" "$http_user_agent"'
_OTHER_FORMATS: Final = dict(log_table("formats.csv"))
LINE_FORMATS: Final = {
    "combined": f"{COMBINED}$rest",
    "vhost combined": f"$host {COMBINED}$rest",
    "common": f"{COMMON}$rest",
    "vhost common": f"$host {COMMON}$rest",
    **_OTHER_FORMATS,
}
"""The formats of plain lines.

https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-access-logs.html,
https://docs.aws.amazon.com/elasticloadbalancing/latest/classic/access-log-collection.html,
https://docs.aws.amazon.com/AmazonS3/latest/userguide/LogFormat.html,
https://www.envoyproxy.io/docs/envoy/latest/configuration/observability/access_log/usage,
https://docs.haproxy.org/3.0/configuration.html#8.2.3,
https://learn.microsoft.com/en-us/windows/win32/http/iis-logging,
https://github.com/NginxProxyManager/nginx-proxy-manager/blob/develop/docker/rootfs/etc/nginx/conf.d/include/log-proxy.conf.
"""
_JSON_NAMES: Final = ("json", "caddy", "traefik")
_COLUMN_NAMES: Final = ("w3c", "iis", "cloudfront")
_ALIASES: Final = {
    "vhost": "vhost combined",
    "vhost_combined": "vhost combined",
    "main": "combined",
    **{name.lower().removeprefix("aws "): name for name in _OTHER_FORMATS},
}
NAMES: Final = ("combined", "common", "vhost", *_JSON_NAMES, *_COLUMN_NAMES, "alb", "elb", "s3", "envoy", "haproxy")
"""The names that audit.log_format accepts."""

_name = re.compile(rb"(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}(?::\d+)?").fullmatch
_extra = re.compile(rb' (?:"((?:[^"\\]++|\\.)*+)"|([^" ]\S*+))')
_host = re.compile(rb"[\w.\x80-\xff-]++(?::\d+)?").fullmatch
_head = re.compile(
    rb'([^"]*?) \[[^\["\]]{1,64}\] "(?:[^"\\]++|\\.)*+" \S++ \S++( "(?:[^"\\]++|\\.)*+" "(?:[^"\\]++|\\.)*+")?'
).match


class WrappedLogReader(LogReader):
    """Reads log lines that are in one field (``path``) of JSON objects, with the reader of their format."""

    def __init__(self, path: json_format.FieldPath, reader: LogReader) -> None:
        self.name = f"{reader.name} in JSON lines"
        self.has_agents = reader.has_agents
        self._path = path
        self._reader = reader

    def rows(self, text: bytes) -> tuple[list[LogRow], list[bytes]]:
        """The rows of some lines, and the unreadable lines."""
        wrapped, others = json_format.unwrap(text.removesuffix(b"\n").split(b"\n"), self._path)
        rows, odd = self._reader.rows(b"\n".join(wrapped))
        return rows, others + odd


def choose_reader(text: str, sample: list[bytes]) -> LogReader | None:
    """The reader for a log with these first lines; ``text`` is the format option, "" detects. Raises LogFormatError."""
    if text:
        return reader_of_format(text, sample)
    # an empty log has every format
    return detect_reader(sample) if sample else LogFormatReader("combined", LINE_FORMATS["combined"])


def reader_of_format(text: str, sample: list[bytes]) -> LogReader:
    """The reader of a format by its name or definition. Raises LogFormatError."""
    name = text.strip().lower()
    if name in _JSON_NAMES:
        return JsonLogReader(json_format.learn_fields(sample))
    if name in _COLUMN_NAMES:
        return W3cLogReader()
    name = _ALIASES.get(name.removeprefix("aws "), name)
    if name in LINE_FORMATS:
        return LogFormatReader(name, LINE_FORMATS[name])
    if name.startswith("#fields:"):
        return W3cLogReader(text.strip().encode())
    if not re.search(r"[$%]", text):
        raise LogFormatError(
            f"the format is neither a known name ({', '.join(NAMES)}) nor the value of log_format (nginx) or "
            "LogFormat (Apache)"
        )
    value = unwrap_format(text)
    if value.lstrip().startswith("{"):
        return JsonLogReader(json_format.fields_of_format(value), "JSON lines (as given)")
    return LogFormatReader("as given", value)


def detect_reader(lines: list[bytes]) -> LogReader | None:
    """The reader of the format that most of the first lines have; None without one."""
    if any(line[:8].lower() == b"#fields:" for line in lines):
        return W3cLogReader()
    if sum(json_format.parse_object(line) is not None for line in lines) * 2 > len(lines):
        try:
            return JsonLogReader(json_format.learn_fields(lines))
        except LogFormatError:
            return _wrapped_reader(lines)
    best, best_count = None, 0
    for reader in (_server_format(lines), *starmap(LogFormatReader, _OTHER_FORMATS.items())):
        count = len(reader.rows(b"\n".join(lines))[0]) if reader else 0
        if count * 2 >= len(lines) and count > best_count:
            best, best_count = reader, count
        if best_count == len(lines):
            break
    return best


def _wrapped_reader(lines: list[bytes]) -> LogReader | None:
    """The reader of log lines in one field of JSON objects, as Docker and log shippers write them; None without one."""
    path = json_format.longest_text(lines)
    wrapped = json_format.unwrap(lines, path)[0]
    reader = detect_reader(wrapped) if wrapped else None
    return WrappedLogReader(path, reader) if reader else None


def _layout(head: bytes) -> tuple[int, str]:
    """The layout of a line by the text before its time: prefix, host, addresses of client and proxies, ident, user.

    These are the words of the prefix, as syslog, Kubernetes and Docker Compose write it, and the place of the host:
    "first", "second" (after the address) or "".
    """
    words = head.split()
    # without an address (a host name, or "-") there is no prefix
    place = next((place for place, word in enumerate(words) if word.endswith(b",") or client_address(word)), 0)
    before, after = words[:place], words[place:]
    while after[0].endswith(b",") and len(after) > 1:
        del after[0]
    if len(after) == 4 and client_address(after[1]):  # "127.0.0.1:8080 203.0.113.1 - -"
        return (len(before), "first")
    if len(after) == 3 and (_name(after[1]) or client_address(after[1])):
        return (len(before), "second")
    is_first = bool(before) and bool(_name(before[-1]) or (len(before) == 1 and _host(before[0])))
    return (len(before) - is_first, "first" if is_first else "")


def _server_format(lines: list[bytes]) -> LogFormatReader | None:
    """The reader of the common format family, which may have a prefix, the host somewhere and more at the end."""
    heads = [(line, found) for line in lines if (found := _head(line))]
    if not heads:
        return None
    half = len(heads) / 2
    with_agent = sum(bool(found[2]) for _, found in heads) > half
    name, text = ("combined", COMBINED) if with_agent else ("common", COMMON)
    layouts = Counter(_layout(found[1]) for _, found in heads if found[1].strip())
    ((prefix, order), _), *_ = layouts.most_common(1) or [((0, ""), 0)]
    if order == "first":
        name, text = f"vhost {name}", f"$host {text}"
    elif order:
        name, text = f"{name} with the host", text.replace("$ident", "$host")
    if prefix:
        name, text = f"{name} with a prefix", "$word" * prefix + text
    extras = [_extra.findall(line, found.end()) for line, found in heads if bool(found[2]) == with_agent]
    place = None if "host" in name else _host_at(extras)
    if place is None:
        return LogFormatReader(f"{name} and more" if sum(map(bool, extras)) > half else name, f"{text}$rest")
    shapes = [' "$more"' if fields[0] else " $more" for fields in extras[0][:place]]
    host = ' "$host"' if extras[0][place][0] else " $host"
    return LogFormatReader(f"{name} and the host", f"{text}{''.join(shapes)}{host}$rest")


def _host_at(extras: list[list[tuple[bytes, bytes]]]) -> int | None:
    """The index of the extra field that names a host in every line; None without one."""
    if not extras:
        return None
    for place in range(min(map(len, extras))):
        values = [fields[place][0] or fields[place][1] for fields in extras]
        shapes = {tuple(bool(cell[0]) for cell in fields[: place + 1]) for fields in extras}
        if all(map(_name, values)) and len(shapes) == 1:
            return place
    return None
