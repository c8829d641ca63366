"""Heads of responses with faults that browsers forgive, cleaned before httpx's parser refuses the response for them.

Browsers skip a line that is no header field, such as a PHP warning, and read on
(https://fetch.spec.whatwg.org/#concept-header-list and RFC 9112, sections 2.2, 5.1 and 5.2). What says where the body
ends stays as it is: two lengths that differ remain an error.
"""

import re
from typing import Any, Final

import httpcore
from typing_extensions import override

_MAX_BYTES: Final = 100 * 1024  # of a head; the parser refuses a longer one
_end = re.compile(rb"\r?\n\r?\n").search
_fold = re.compile(rb"\r?\n[ \t]++")
_status = re.compile(rb"HTTP/(?:(1\.[01])|[0-9.]*+)[ \t]++(?=[0-9]{3})").match
_field = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]++)[ \t]*+(:[\t\x20-\x7e\x80-\xff]*+)").fullmatch
_informational = re.compile(rb"HTTP/1\.[01] 1[0-9]{2}[ \r]").match


def clean_head(head: bytes) -> bytes:
    """A head without the lines that are no fields, each field on one line, and with a version of HTTP/1."""
    first, *lines = _fold.sub(b" ", head.strip(b"\r\n").replace(b"\r\n", b"\n")).split(b"\n")
    if status := _status(first):
        first = b"HTTP/%b %b" % (status[1] or b"1.0", first[status.end() :])
    fields = [field[1] + field[2] for line in lines if (field := _field(line))]
    kept = [field for field in fields if field.lower().replace(b" ", b"") != b"transfer-encoding:identity"]
    return b"\r\n".join([first, *kept, b"", b""])


class ForgivingBackend(httpcore.AsyncNetworkBackend):
    """The network of httpcore, with connections that clean the heads of responses."""

    def __init__(self, network: httpcore.AsyncNetworkBackend) -> None:
        self._network = network

    @override
    async def connect_tcp(self, *args: Any, **options: Any) -> Any:
        """Connect. Raises what httpcore raises."""
        return _ForgivingStream(await self._network.connect_tcp(*args, **options))

    @override
    async def sleep(self, seconds: float) -> None:
        """Sleep."""
        await self._network.sleep(seconds)


class _ForgivingStream:
    """A connection of httpcore. Leaves informational responses out, which say nothing to a crawl."""

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._is_http = self._is_head = True  # HTTP/1, as far as the first bytes say; the head of a response is next

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._is_head = self._is_http
        await self._stream.write(buffer, timeout)

    async def start_tls(self, *args: Any, **options: Any) -> "_ForgivingStream":
        return _ForgivingStream(await self._stream.start_tls(*args, **options))

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        received = await self._stream.read(max_bytes, timeout)
        if not self._is_head:
            return received
        head, searched = bytearray(received), 0
        while received and len(head) <= _MAX_BYTES and head.startswith(b"HTTP/"[: len(head)]):
            if end := _end(head, searched):
                cleaned = clean_head(bytes(head[: end.end()]))
                searched = 0
                del head[: end.end()]
                if not _informational(cleaned):
                    self._is_head = False
                    return cleaned + head
            if not (end and head):
                searched = max(0, len(head) - 3)
                received = await self._stream.read(max_bytes, timeout)
                head += received
        self._is_http = self._is_head = False
        return bytes(head)
