"""One HTTP exchange: sends the request, reads head and body within the limits."""

import contextlib
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from http import HTTPStatus
from typing import NamedTuple

import anyio
import httpx

from crawler.fetch.body import DRAIN_BYTES, DRAIN_SECONDS, BodyDecoder, limits_of_wanted, looks_like_text, split_codings
from crawler.fetch.dns import OriginConnection
from crawler.fetch.errors import FailureCode, FetchError, diagnose
from crawler.fetch.identity import Header
from crawler.fetch.limits import BodyLimits, Deadline, FetchLimits
from crawler.model import Url

_KEPT_HEADERS = frozenset(
    b"content-type content-length content-encoding content-language content-disposition location link x-robots-tag"
    b" refresh last-modified etag date age retry-after server cf-mitigated"
    b" transfer-encoding x-amzn-waf-action x-vercel-mitigated".split()
)
"""The header fields that later stages read; the others are dropped before they are decoded."""
_NO_BODY = httpx.ByteStream(b"")  # saves httpx the search for the fields of a body
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
    fields: httpx.Headers
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
            fields = httpx.Headers(fields)
            fields["Accept-Encoding"] = "identity"
        start = self._url.index("/", 8)
        try:
            request = httpx.Request(
                self._method,
                connection.url or self._url,
                headers=fields,
                stream=_NO_BODY if self._method == "GET" else None,
                content=self._content,
                extensions={"target": self._url[start:].encode("ascii")},
            )
            response = await connection.transport.handle_async_request(request)
        except Exception as error:  # a transport may raise anything
            raise diagnose(error, tls=tls, in_body=False) from error
        stream = response.stream
        if not isinstance(stream, httpx.AsyncByteStream):
            raise FetchError(FailureCode.INTERNAL, "the transport is not asynchronous")
        chunks = aiter(stream)
        try:
            answer = await self._read(response, chunks)
        except BaseException as error:
            # In the middle of the body: close the connection, also when cancelled.
            with anyio.CancelScope(shield=True):
                if isinstance(chunks, AsyncGenerator):
                    await chunks.aclose()
                await response.aclose()
            if isinstance(error, Exception):
                raise diagnose(error, tls=tls, in_body=True) from error
            raise
        with anyio.CancelScope(shield=True):  # this closes the connection if some of the body is left
            await stream.aclose()
        return answer

    async def _read(self, response: httpx.Response, chunks: AsyncIterator[bytes]) -> HttpResponse:
        self._deadline.head_received(self._clock())
        headers = self._headers(response)
        self._head, self._body = (response.status_code, headers), None
        values = dict(reversed(headers))  # the first value of each field
        stated = _LENGTH.fullmatch(values.get("content-length", ""))
        length = int(stated[0]) if stated else 0
        limits: BodyLimits | None = self._limits.body
        if self._method == "GET":
            limits = limits_of_wanted(response.status_code, values.get("content-type", ""), self._limits.body)
        if limits is None:
            self._is_body_optional = True
            return HttpResponse(
                response.status_code, headers, b"", await self._drain(response.status_code, chunks, length), ""
            )
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
        if decoder is None:
            return HttpResponse(response.status_code, headers, b"", 0, "")
        cut = decoder.cut if limits is self._limits.body else ""  # a challenge is smaller
        return HttpResponse(response.status_code, headers, decoder.finish(), decoder.wire, cut)

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
        return received

    def _decoder(self, codings: list[str], first: bytes, limits: BodyLimits) -> BodyDecoder:
        self._first = first
        names = split_codings(codings) if codings else []
        if self._plain and looks_like_text(first):
            names = []
        return BodyDecoder(names, limits)

    def _headers(self, response: httpx.Response) -> tuple[Header, ...]:
        size, headers = 0, []
        for raw_name, value in response.headers.raw:
            size += len(raw_name) + len(value) + 4  # ": " and the line end
            name = raw_name.lower()
            if name == b"transfer-encoding" and value.strip().lower() not in (b"chunked", b"identity"):
                raise FetchError(FailureCode.BAD_RESPONSE, "a transfer coding that was not requested")
            if name in _KEPT_HEADERS:
                # RFC 9110, section 5.5: bytes over 127 are opaque; latin-1 keeps them as they are
                headers.append((name.decode("ascii"), value.decode("latin-1")))
        if size > self._limits.headers:
            raise FetchError(FailureCode.HEADER_TOO_LARGE, f"{size:,} bytes")
        return tuple(headers)
