"""One HTTP exchange: sends the request, reads head and body within the limits."""

import contextlib
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from http import HTTPStatus
from typing import NamedTuple

import anyio

from crawler.fetch.body import DRAIN_BYTES, DRAIN_SECONDS, BodyDecoder, limits_of_wanted, split_codings
from crawler.fetch.dns import OriginConnection
from crawler.fetch.errors import FailureCode, FetchError, diagnose
from crawler.fetch.header_values import looks_like_text
from crawler.fetch.identity import Header
from crawler.fetch.limits import BodyLimits, Deadline, FetchLimits
from crawler.model import Url

_KEPT_HEADERS = frozenset(
    {"content-type", "content-length", "content-encoding", "content-language", "content-disposition", "location"}
    | {"link", "x-robots-tag", "refresh", "last-modified", "etag", "date", "age", "retry-after", "server"}
    | {"transfer-encoding", "set-cookie", "cf-mitigated", "x-amzn-waf-action", "x-vercel-mitigated"}
)
"""The header fields that later stages read; the others are dropped."""
_LENGTH = re.compile(r"[0-9]{1,18}", re.ASCII)


class HttpResponse(NamedTuple):
    """A response: status, headers, decoded body, bytes received, and why the body is cut."""

    status: int
    headers: tuple[Header, ...]
    body: bytes
    wire: int
    cut: str
    is_miscoded: bool = False


class HttpRequest(NamedTuple):
    """A request: URL, header fields, method, and the body if it is no GET."""

    url: Url
    fields: tuple[Header, ...]
    method: str = "GET"
    content: bytes = b""


class HttpExchange:
    """One request and its response. ``clock`` is that of the ``deadline``.

    A GET is sent a second time in two cases, at most once: a kept-alive connection was closed (RFC 9112, section
    9.3.1), or a body is labelled as compressed but is plain text.
    """

    def __init__(
        self, request: HttpRequest, limits: FetchLimits, deadline: Deadline, clock: Callable[[], float]
    ) -> None:
        self._clock = clock
        self._url, self._fields, self._method, self._content = request
        self._limits = limits
        self._deadline = deadline
        self._plain = False  # request no content coding, and ignore the label of a plain body
        self._first = b""  # the first bytes of the body as received
        self._head: tuple[int, tuple[Header, ...]] | None = None
        self._body: BodyDecoder | None = None
        self._is_body_optional = limits.body.is_optional
        self._is_read = False  # to its end: nothing of the body is left on the connection

    async def run(self, connection: OriginConnection) -> HttpResponse:
        """Send the request and read the response. Raises FetchError only."""
        try:
            return await self._request(connection)
        except FetchError as error:
            reused = error.code is FailureCode.RESET and connection.answered
            mislabelled = error.code in (FailureCode.BODY_DECODE_ERROR, FailureCode.BODY_TRUNCATED) and looks_like_text(
                self._first
            )
            if self._method != "GET" or not (reused or mislabelled):
                raise
            self._plain = mislabelled
        self._deadline.request_sent(self._clock())
        return (await self._request(connection))._replace(is_miscoded=self._plain)

    def arrived(self) -> HttpResponse | None:
        """The response without the rest of its body, after a failure, if the limits allow that."""
        if not self._is_body_optional or self._head is None:
            return None
        body = self._body.so_far() if self._body else b""
        return HttpResponse(*self._head, body, self._body.wire if self._body else 0, "the rest did not arrive")

    async def _request(self, connection: OriginConnection) -> HttpResponse:
        tls = connection.target.scheme == "https"
        fields = self._fields
        if self._plain:
            kept = (each for each in fields if each[0].lower() != "accept-encoding")
            fields = (*kept, ("Accept-Encoding", "identity"))
        try:
            status, headers, stream = await connection.send(self._method, self._url, fields, self._content)
        except Exception as error:  # a transport may raise anything
            raise diagnose(error, tls=tls, in_body=False) from error
        chunks = aiter(stream)
        self._is_read = False
        try:
            answer = await self._read(status, headers, chunks)
        except BaseException as error:
            # In the middle of the body: close the connection, also when cancelled.
            with anyio.CancelScope(shield=True):
                if isinstance(chunks, AsyncGenerator):
                    await chunks.aclose()
                await stream.aclose()
            if isinstance(error, Exception):
                raise diagnose(error, tls=tls, in_body=True) from error
            raise
        if self._is_read:
            await stream.aclose()
            return answer
        with anyio.CancelScope(shield=True):  # this closes the connection, because some of the body is left
            await stream.aclose()
        return answer

    async def _read(self, status: int, received: list[Header], chunks: AsyncIterator[bytes]) -> HttpResponse:
        self._deadline.head_received(self._clock())
        headers = self._headers(received)
        self._head, self._body = (status, headers), None
        values = dict(reversed(headers))  # the first value of each field
        stated = _LENGTH.fullmatch(values.get("content-length", ""))
        length = int(stated[0]) if stated else 0
        limits: BodyLimits | None = self._limits.body
        if self._method == "GET":
            limits = limits_of_wanted(status, values.get("content-type", ""), self._limits.body)
        if limits is None:
            self._is_body_optional = True
            return HttpResponse(status, headers, b"", await self._drain(status, chunks, length), "")
        if length > limits.refuse:
            raise FetchError(FailureCode.BODY_TOO_LARGE, f"{length:,} bytes")
        codings = [value for name, value in headers if name == "content-encoding"]
        decoder: BodyDecoder | None = None
        async for chunk in chunks:
            self._deadline.body_received(len(chunk), self._clock())
            if decoder is None:
                decoder = self._body = self._decoder(codings, chunk, limits)
            if not decoder.feed(chunk):
                break
        else:
            self._is_read = True
        if decoder is None:
            return HttpResponse(status, headers, b"", 0, "")
        cut = decoder.cut if limits is self._limits.body else ""  # a challenge is smaller
        return HttpResponse(status, headers, decoder.finish(), decoder.wire, cut)

    async def _drain(self, status: int, chunks: AsyncIterator[bytes], length: int) -> int:
        """Receive a small unwanted body, and return the number of its bytes; what is left ends with the connection."""
        received = 0
        if length > DRAIN_BYTES and status != HTTPStatus.NOT_MODIFIED:
            return received
        # A 304 ends with its head (RFC 9112, section 6.3): it needs no timer, and there are many.
        timer = contextlib.nullcontext() if status == HTTPStatus.NOT_MODIFIED else anyio.move_on_after(DRAIN_SECONDS)
        with timer, contextlib.suppress(Exception):  # the head is all that counts
            async for chunk in chunks:
                received += len(chunk)
                if received > DRAIN_BYTES:
                    break
            else:
                self._is_read = True
        return received

    def _decoder(self, codings: list[str], first: bytes, limits: BodyLimits) -> BodyDecoder:
        self._first = first
        names = split_codings(codings) if codings else []
        if self._plain and looks_like_text(first):
            names = []
        return BodyDecoder(names, limits)

    def _headers(self, received: list[Header]) -> tuple[Header, ...]:
        size, headers = 0, []
        for field in received:
            name, value = field
            size += len(name) + len(value) + 4  # ": " and the line end
            if name in _KEPT_HEADERS:
                if name == "transfer-encoding" and value.strip().lower() not in ("chunked", "identity"):
                    raise FetchError(
                        FailureCode.BAD_RESPONSE, "the response has a transfer coding that the request did not allow"
                    )
                headers.append(field if value.isascii() or name == "etag" else (name, _text(value)))
        if size > self._limits.headers:
            raise FetchError(FailureCode.HEADER_TOO_LARGE, f"{size:,} bytes")
        return tuple(headers)


def _text(value: str) -> str:
    """A header value whose bytes a transport read as Latin-1: UTF-8 when it can be, as browsers read URLs in headers.

    An ETag stays as it is, because it is sent back.
    """
    with contextlib.suppress(UnicodeError):
        return value.encode("latin-1").decode()
    return value
