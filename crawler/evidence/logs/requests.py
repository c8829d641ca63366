"""What a log says was asked for: request lines and addresses as servers write them, escapes undone.

nginx writes ``"``, ``\\`` and what is not printable as ``\\xHH`` (https://nginx.org/en/docs/http/ngx_http_log_module.html),
Apache as ``\\"``, ``\\\\``, ``\\t`` and ``\\xhh`` (https://httpd.apache.org/docs/2.4/mod/mod_log_config.html).
"""

import re
from typing import Final

Row = tuple[bytes, bytes, bytes | None, bytes, bytes, bytes, bytes | None]
"""One line: address, when, target, status, agent, host, request. Where there is no target, the request line has it."""

_escape = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|(.))", re.DOTALL)
_LETTERS: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_request = re.compile(rb"(?:GET|HEAD) ([^ ].*?)(?: HTTP/\d(?:\.\d)?)?$", re.DOTALL).match
_unprintable = re.compile(rb"[^\x21-\x7e]")


def unescaped(text: bytes) -> bytes:
    """The bytes that a server's escapes stand for."""
    return _escape.sub(_plain, text) if b"\\" in text else text


def target(request: bytes) -> bytes | None:
    """What a request line, escaped as it stands in a log, asks for: see :func:`asked_for`."""
    return asked_for(unescaped(request))


def asked_for(request: bytes) -> bytes | None:
    """What a request line asks for, without spaces, or None: for nothing, or not by GET or HEAD."""
    found = _request(request)
    return found[1].replace(b" ", b"%20") if found else None


def text(asked: bytes) -> str:
    """A target as text. Bytes that no URL may have are escaped, as the browser should have done."""
    if asked.isascii() and (plain := asked.decode("ascii")).isprintable() and " " not in plain:
        return plain
    return _unprintable.sub(lambda found: b"%%%02X" % ord(found[0]), asked).decode("ascii")


def _plain(found: re.Match[bytes]) -> bytes:
    return bytes([int(found[1], 16)]) if found[1] else _LETTERS.get(found[2], found[2])
