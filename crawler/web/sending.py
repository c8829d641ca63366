"""How a file is sent: as it was when it was opened, whole or in part, packed for those who take that, or not again.

https://www.rfc-editor.org/rfc/rfc9110 sections 8.8 (validators), 13 (conditions) and 14 (ranges). One range is sent;
who asks for several gets the whole file, as section 14.2 allows.
"""

import os
import re
from collections.abc import AsyncIterator, Mapping
from email.utils import formatdate, parsedate_to_datetime
from typing import Final, Protocol

import anyio
import anyio.to_thread
from msgspec import Struct
from starlette.datastructures import Headers
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

PIECE: Final = 128 * 2**10  # bytes
_SMALL: Final = 1_400  # bytes: what fits in one packet gains nothing by being packed
_LEVEL: Final = 2
_GZIP: Final = 31  # zlib's name for the gzip format
_range = re.compile(r"bytes=[ \t]*(\d{0,18})-(\d{0,18})[ \t]*", re.ASCII).fullmatch
_weight = re.compile(
    r"[ \t]*q[ \t]*=[ \t]*(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)[ \t]*", re.ASCII | re.IGNORECASE
).fullmatch


class Packing(Protocol):
    """What packs bytes."""

    def compress(self, data: bytes, /) -> bytes:
        """Take some, give what is ready."""

    def flush(self) -> bytes:
        """Give the rest."""


class Part(Struct, frozen=True):
    """The bytes from ``first`` on, ``length`` of them."""

    first: int
    length: int


class Sending:
    """An open file on its way to a client. It is closed in the end, whatever happens.

    ``is_text`` lets it be packed on the way. ``headers`` are sent too.
    """

    def __init__(
        self, descriptor: int, media_type: str, headers: Mapping[str, str], *, is_text: bool
    ) -> None:
        self._descriptor = descriptor
        facts = os.fstat(descriptor)
        self._size = facts.st_size
        self._moment = int(facts.st_mtime)
        self._tag = f"{facts.st_mtime_ns:x}-{facts.st_size:x}"
        self._is_text = is_text
        self._headers = {
            **headers,
            "content-type": media_type,
            "last-modified": formatdate(self._moment, usegmt=True),
            "accept-ranges": "bytes",
            **({"vary": "Accept-Encoding"} if is_text else {}),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As https://asgi.readthedocs.io/en/latest/specs/www.html has it."""
        try:
            await self._answer(Headers(scope=scope), scope["method"] == "HEAD")(scope, receive, send)
        finally:
            os.close(self._descriptor)

    def _answer(self, asked: Headers, is_head: bool) -> Response:
        part = self._part(asked)
        packed = part is None and self._is_text and self._size > _SMALL and _takes_gzip(asked)
        # https://www.rfc-editor.org/rfc/rfc9110#section-8.8.3.3: what is packed is another representation
        headers = {**self._headers, "etag": f'"{self._tag}-gzip"' if packed else f'"{self._tag}"'}
        if status := self._condition(asked):
            kept = ("etag", "last-modified", "vary", "cache-control")
            return Response(status_code=status, headers={key: headers[key] for key in kept if key in headers})
        if part is not None and not part.length:
            return Response(status_code=416, headers={"content-range": f"bytes */{self._size}"})
        if packed:
            headers["content-encoding"] = "gzip"
            return _response(200, headers, self._packed(), is_head)
        status = 200
        if part is not None:
            status = 206
            headers["content-range"] = f"bytes {part.first}-{part.first + part.length - 1}/{self._size}"
        part = part or Part(0, self._size)
        headers["content-length"] = str(part.length)
        return _response(status, headers, self._plain(part), is_head)

    def _condition(self, asked: Headers) -> int:
        """The status that the conditions of a request lead to, in their order; 0: send it."""
        if matching := _several(asked, "if-match"):
            if not self._is_one_of(matching):
                return 412
        elif (date := _date(asked, "if-unmodified-since")) is not None and self._moment > date:
            return 412
        if tags := _several(asked, "if-none-match"):
            return 304 if self._is_one_of(tags) else 0
        date = _date(asked, "if-modified-since")
        return 304 if date is not None and self._moment <= date else 0

    def _is_one_of(self, tags: str) -> bool:
        own = {f'"{self._tag}"', f'"{self._tag}-gzip"'}
        return tags.strip() == "*" or any(tag.strip().removeprefix("W/") in own for tag in tags.split(","))

    def _part(self, asked: Headers) -> Part | None:
        """The part that is asked for, of length 0 when there is no such; None: all of it."""
        ranges = asked.getlist("range")
        found = _range(ranges[0]) if len(ranges) == 1 else None
        known = asked.get("if-range", "").strip()
        if found is None or (known and known not in (f'"{self._tag}"', self._headers["last-modified"])):
            return None
        first, last = found.groups()
        if not first:
            length = min(int(last or 0), self._size)
            return Part(self._size - length, length) if last else None
        if last and int(last) < int(first):
            return (
                None  # https://www.rfc-editor.org/rfc/rfc9110#section-14.1.1: invalid, so that it is ignored
            )
        end = min(int(last) + 1, self._size) if last else self._size
        return Part(int(first), max(0, end - int(first)))

    async def _plain(self, part: Part) -> AsyncIterator[bytes]:
        place, left = part.first, part.length
        while left:
            piece = await anyio.to_thread.run_sync(os.pread, self._descriptor, min(left, PIECE), place)
            if not piece:
                raise OSError("the file has become shorter while it was sent")
            place, left = place + len(piece), left - len(piece)
            yield piece

    async def _packed(self) -> AsyncIterator[bytes]:
        from isal import isal_zlib  # noqa: PLC0415 - only who packs pays for it

        packer = isal_zlib.compressobj(_LEVEL, wbits=_GZIP)
        for place in range(0, self._size, PIECE):
            length = min(PIECE, self._size - place)
            if piece := await anyio.to_thread.run_sync(self._pack, packer, place, length):
                yield piece
        yield packer.flush()

    def _pack(self, packer: Packing, place: int, length: int) -> bytes:
        piece = os.pread(self._descriptor, length, place)
        if len(piece) < length:
            raise OSError("the file has become shorter while it was sent")
        return packer.compress(piece)


def _response(status: int, headers: dict[str, str], body: AsyncIterator[bytes], is_head: bool) -> Response:
    if is_head:
        answer = Response(status_code=status, headers={"content-length": "0", **headers})
        if "content-length" not in headers:
            del answer.headers["content-length"]
        return answer
    return StreamingResponse(body, status, headers)


def _takes_gzip(asked: Headers) -> bool:
    """Whether gzip is acceptable: https://www.rfc-editor.org/rfc/rfc9110#section-12.5.3."""
    found = {}
    for each in ",".join(asked.getlist("accept-encoding")).split(","):
        coding, _, weight = each.strip().partition(";")
        found[coding.strip().lower()] = not weight or (_weight(weight) is not None and _worth(weight) > 0)
    return found.get("gzip", found.get("x-gzip", found.get("*", False)))


def _worth(weight: str) -> float:
    return float(weight.partition("=")[2])


def _several(asked: Headers, name: str) -> str:
    return ",".join(asked.getlist(name))


def _date(asked: Headers, name: str) -> float | None:
    """A date of the request; what is none is ignored: https://www.rfc-editor.org/rfc/rfc9110#section-13.1.3."""
    try:
        return parsedate_to_datetime(asked[name]).timestamp()
    except (KeyError, ValueError, OverflowError):
        return None
