"""Chooses the format of a log: by its first lines, or by the --log-format option."""

import re
from itertools import starmap
from typing import Final, Protocol

from crawler.audit.sources.logs import json_format
from crawler.audit.sources.logs.fields import LogRow
from crawler.audit.sources.logs.json_format import JsonLogReader
from crawler.audit.sources.logs.text_formats import LogFormatError, LogFormatReader, W3cLogReader, unwrap_format

COMMON: Final = '$remote_addr $ident $remote_user [$time_local] "$request" $status $body_bytes_sent'
COMBINED: Final = f'{COMMON} "$http_referer" "$http_user_agent"'
_ELB: Final = (
    '$time_iso8601 $elb $remote_addr $to $wait $work $back $status $from $received $sent "$request"'
    ' "$http_user_agent"$rest'
)
_SYSLOG: Final = "$remote_user]: "  # the prefix of a syslog relay, up to the process number
_OTHER_FORMATS: Final = {
    "AWS ALB": f"$type {_ELB}",
    "AWS ELB": _ELB,
    "AWS S3": '$owner $bucket [$time_local] $remote_addr $requester $id $operation $key "$request" $status $error $sent'
    ' $size $time $turn "$http_referer" "$http_user_agent"$rest',
    "Envoy": '[$time_iso8601] "$request" $status $flags $received $sent $time $service "$http_x_forwarded_for"'
    ' "$http_user_agent" "$id" "$host" "$upstream_addr"$rest',
    "HAProxy": f"{_SYSLOG}$remote_addr [$time_local] $frontend $backend $times $status $sent $cookie $set $end"
    ' $connections $queues $captured"$request"$rest',
    "syslog combined": f"{_SYSLOG}{COMBINED}$rest",
    "syslog common": f"{_SYSLOG}{COMMON}$rest",
}
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
https://docs.haproxy.org/3.0/configuration.html#8.2.3.
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
"""The names that --log-format accepts."""

_address = re.compile(rb"[0-9A-Fa-f]*+[:.][0-9A-Fa-f:.]*+").fullmatch
_name = re.compile(rb"(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}(?::\d+)?").fullmatch
_extra = re.compile(rb' (?:"((?:[^"\\]++|\\.)*+)"|([^" ]\S*+))')
_head = re.compile(
    rb'(\S++) (\S++) [^\["]*+\[[^\]]*+\] "(?:[^"\\]++|\\.)*+" \S++ \S++( "(?:[^"\\]++|\\.)*+" "(?:[^"\\]++|\\.)*+")?'
).match


class LogReader(Protocol):
    """Reads the lines of one file, block by block."""

    name: str
    has_agents: bool

    def rows(self, text: bytes) -> tuple[list[LogRow], list[bytes]]:
        """The rows of some lines, and the unreadable lines."""


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
    if sum(line.lstrip()[:1] == b"{" for line in lines) * 2 > len(lines):
        try:
            return JsonLogReader(json_format.learn_fields(lines))
        except LogFormatError:
            return None
    best, best_count = None, 0
    for reader in (_server_format(lines), *starmap(LogFormatReader, _OTHER_FORMATS.items())):
        count = len(reader.rows(b"\n".join(lines))[0]) if reader else 0
        if count * 2 >= len(lines) and count > best_count:
            best, best_count = reader, count
        if best_count == len(lines):
            break
    return best


def _server_format(lines: list[bytes]) -> LogFormatReader | None:
    """The reader of the common format family, which may have the host somewhere and more fields at the end."""
    heads = [(line, found) for line in lines if (found := _head(line))]
    if not heads:
        return None
    half = len(heads) / 2
    with_agent = sum(bool(found[3]) for _, found in heads) > half
    name, text = ("combined", COMBINED) if with_agent else ("common", COMMON)
    if sum(bool(_address(found[2])) for _, found in heads) > half:
        name, text = f"vhost {name}", f"$host {text}"
    elif sum(bool(_name(found[2]) and _address(found[1])) for _, found in heads) > half:
        name, text = f"{name} with the host", text.replace("$ident", "$host")
    extras = [_extra.findall(line, found.end()) for line, found in heads if bool(found[3]) == with_agent]
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
