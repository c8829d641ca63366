"""The transport of one origin over the Rust client ``reqwest``. Raises httpx's exceptions only.

It makes none of httpx's requests and responses: they cost more than the client takes for a page.
"""

import asyncio
import contextlib
import os
import re
import socket
import sys
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Self

import anyio.lowlevel
from pyreqwest import exceptions as rust
from pyreqwest.client import Client, ClientBuilder
from pyreqwest.proxy import ProxyBuilder
from pyreqwest.request import StreamRequest
from pyreqwest.response import Response

from crawler.fetch.address_policy import OriginTarget
from crawler.fetch.identity import Header
from crawler.fetch.limits import FetchLimits, TransportOptions

if TYPE_CHECKING:  # httpx is loaded where it is used: that takes a tenth of a second
    import httpx

    from crawler.fetch.httpx_transport import HttpxTransport

_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----[^-]*+-----END CERTIFICATE-----")

# pyreqwest cannot read header values with bytes over 127. For one of these headers the request is sent again by
# httpx's transport; such values of other headers are dropped.
_NEEDED = frozenset(("location", "link", "refresh", "x-robots-tag", "content-type"))

# Parts of the messages of hyper about heads that it cannot read, or with more than a hundred fields.
_UNREAD_HEAD = ("invalid HTTP ", "message head is too large")

# A cancelled request continues inside pyreqwest until its own time-outs, which therefore follow ours closely (seconds).
_TIMEOUT_MARGIN = 0.1

_LOOK_SECONDS = 1.0

# The names of httpx's exceptions. The first match decides.
_EXCEPTION_TYPES: tuple[tuple[type[rust.PyreqwestError], str], ...] = (
    (rust.ConnectTimeoutError, "ConnectTimeout"),
    (rust.RequestTimeoutError, "ReadTimeout"),
    (rust.ConnectError, "ConnectError"),
    (rust.WriteError, "WriteError"),
    (rust.NetworkError, "ReadError"),
    (rust.DecodeError, "RemoteProtocolError"),
    (rust.RequestPanicError, "TransportError"),
    (rust.ClientClosedError, "TransportError"),
    (rust.RequestError, "RemoteProtocolError"),
    (rust.BuilderError, "UnsupportedProtocol"),
    (rust.PyreqwestError, "TransportError"),
)


class ReqwestTransport:
    """Sends the requests of one origin, to ``target.address`` if there is one.

    Bodies arrive as on the wire, in whole chunks, without read-ahead. Redirects, cookies, Referer,
    decompression and proxies from the environment are off.
    """

    def __init__(self, target: OriginTarget, options: TransportOptions, limits: FetchLimits) -> None:
        self._origin = target.origin
        self._host: Header = ("Host", target.origin.partition("://")[2])  # the client adds that of the URL itself
        self._setup = (target, options, limits)
        self._client = _client(target, options, limits)
        self._fallback: HttpxTransport | None = None
        self._needs_httpx = False
        self._flood = FloodWatch(target, limits.body.wire)

    async def send(
        self, method: str, target: str, fields: tuple[Header, ...], content: bytes
    ) -> "tuple[int, list[Header], _ReqwestBody | _NoBody | httpx.AsyncByteStream]":
        """Send one request, see :class:`crawler.fetch.transports.Transport`. Raises httpx.TransportError.

        When the head of the response or a header that counts cannot be read, the request is sent again over httpx.
        After such a head, httpx sends all requests of the origin: its server may always send such heads.
        """
        if self._needs_httpx:
            return await self._over_httpx().send(method, target, fields, content)
        sent = [field for field in fields if field != self._host]
        try:
            builder = self._client.request(method, self._origin + target)
            if method != "GET":
                builder = builder.body_bytes(content)
            if method in {"POST", "PUT", "PATCH"} and not content:
                builder = builder.header("Content-Length", "0")  # RFC 9110, section 8.6
            sending = builder.headers(sent).streamed_read_buffer_limit(0).build_streamed()
            self._flood.start()
            try:
                response = await sending.__aenter__()
            finally:
                self._flood.waiting -= 1
        except rust.PyreqwestError as error:
            failure = _httpx_error(error)
            if method == "GET" and any(words in str(failure) for words in _UNREAD_HEAD):
                with contextlib.suppress(Exception):  # if there is no head at all, the first failure tells
                    answer = await self._over_httpx().send(method, target, fields, content)
                    self._needs_httpx = True
                    return answer
            raise failure from error
        except asyncio.CancelledError:
            await _raise_cancellation()
            raise
        try:
            headers = list(response.headers.items())
        except ValueError:
            readable = _readable_fields(response, _NEEDED if method == "GET" else frozenset())
            if readable is None:
                await sending.__aexit__(None, None, None)
                return await self._over_httpx().send(method, target, fields, content)
            headers = readable
        status = response.status
        if status == HTTPStatus.NOT_MODIFIED:  # it ends with its head (RFC 9112, section 6.3), and there are many
            await sending.__aexit__(None, None, None)
            return status, headers, _NoBody()
        return status, headers, _ReqwestBody(response, sending)

    def _over_httpx(self) -> "HttpxTransport":
        """Another transport of the same origin, which can read every header."""
        if self._fallback is None:
            from crawler.fetch.httpx_transport import HttpxTransport, PinnedTransport  # noqa: PLC0415 - rarely needed

            self._fallback = HttpxTransport(self._origin, PinnedTransport(*self._setup))
        return self._fallback

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.close()
        if self._fallback is not None:
            await self._fallback.aclose()


class FloodWatch:
    """Ends connections that receive far more than bodies: informational responses (1xx) without an end.

    The client reads these itself and counts nothing. So while requests wait for a response, this asks the system once
    a second how many bytes each connection received (Linux: ``tcpi_bytes_received`` of TCP_INFO).
    """

    delivered = 0  # bytes of all bodies in this process

    def __init__(self, target: OriginTarget, limit: int) -> None:
        self._peer, self._limit = (target.address, target.port), limit
        self._timer: asyncio.TimerHandle | None = None
        self._received: dict[str, int] = {}
        self._before = 0
        self.waiting = 0

    def start(self) -> None:
        """One more request waits for its response."""
        self.waiting += 1
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._look)

    def _look(self) -> None:
        self._timer = None
        allowed, self._before = self._limit + FloodWatch.delivered - self._before, FloodWatch.delivered
        known, self._received = self._received, {}
        for path in Path("/proc/self/fd").glob("*") if self.waiting and sys.platform == "linux" else ():
            with contextlib.suppress(OSError):
                if not (name := str(path.readlink())).startswith("socket:"):
                    continue
                with socket.socket(fileno=os.dup(int(path.name))) as connection:
                    if connection.getpeername()[:2] != self._peer:
                        continue
                    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 136)
                    received = self._received[name] = int.from_bytes(info[128:136], sys.byteorder)
                    if received - known.get(name, received) > allowed:
                        connection.shutdown(socket.SHUT_RDWR)
        if self.waiting:
            self._timer = asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._look)


class _NoBody:
    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Close nothing."""


class _ReqwestBody:
    def __init__(self, response: Response, sending: StreamRequest) -> None:
        self._reader = response.body_reader
        self._sending = sending

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await self._reader.read_chunk()
        except rust.PyreqwestError as error:
            raise _httpx_error(error) from error
        except asyncio.CancelledError:
            await _raise_cancellation()
            raise
        if chunk is None:
            raise StopAsyncIteration
        FloodWatch.delivered += len(chunk)
        return bytes(chunk)

    async def aclose(self) -> None:
        await self._sending.__aexit__(None, None, None)


async def _raise_cancellation() -> None:
    """Raise the cancellation of the scope that caused it, if one did.

    pyreqwest raises its own CancelledError on cancellation, which anyio does not recognise as that of its scope.
    """
    await anyio.lowlevel.checkpoint_if_cancelled()


def _readable_fields(response: Response, needed: frozenset[str]) -> list[Header] | None:
    """The readable header fields; None if a needed one is not readable."""
    fields: list[Header] = []
    for name in dict.fromkeys(response.headers.keys()):
        try:
            fields.extend((name, value) for value in response.headers.getall(name))
        except ValueError:
            if name in needed:
                return None
    return fields


def _httpx_error(error: rust.PyreqwestError) -> "httpx.TransportError":
    """The httpx exception for one of pyreqwest's, with all causes in its message but the one that quotes the URL."""
    import httpx  # noqa: PLC0415 - most crawls need none of it

    details = getattr(error, "details", None) or {}
    causes = [cause["message"] for cause in details.get("causes") or ()]
    message = ": ".join(cause for cause in dict.fromkeys(causes) if "for url (" not in cause) or error.message
    kind = next(kind for rust_kind, kind in _EXCEPTION_TYPES if isinstance(error, rust_kind))
    exception: type[httpx.TransportError] = getattr(httpx, kind)
    return exception(message)


def _client(target: OriginTarget, options: TransportOptions, limits: FetchLimits) -> Client:
    try:
        return _builder(target, options, limits).build()
    except rust.BuilderError as error:
        if "No CA certificates" not in str(error):
            raise ValueError(
                f"the options for connections to {target.origin}, such as its proxy or CA file, cannot be used: {error}"
            ) from error
    # The system has no certificate authorities, as in small containers: use the bundle of httpx.
    import certifi  # noqa: PLC0415 - a dependency of httpx, needed only here

    builder = _builder(target, options, limits)
    for certificate in _CERTIFICATE.findall(certifi.contents().encode()):
        builder = builder.add_root_certificate_pem(certificate)
    return builder.build()


def _builder(target: OriginTarget, options: TransportOptions, limits: FetchLimits) -> ClientBuilder:
    builder = (
        ClientBuilder()
        .gzip(False)
        .brotli(False)
        .zstd(False)
        .deflate(False)
        .follow_redirects(False)
        .referer(False)
        .default_cookie_store(False)
        .no_proxy()
        .http2(options.http2)
        .http1_allow_obsolete_multiline_headers_in_responses(True)
        .http1_allow_spaces_after_header_name_in_responses(True)
        .http1_ignore_invalid_headers_in_responses(True)
        .min_tls_version("TLSv1.2")
        .connect_timeout(timedelta(seconds=limits.connect))
        .read_timeout(timedelta(seconds=max(limits.first_byte, limits.idle) + _TIMEOUT_MARGIN))
        .timeout(timedelta(seconds=limits.total + _TIMEOUT_MARGIN))
        .pool_max_idle_per_host(options.idle)
    )
    if target.address and target.address != target.host:
        builder = builder.resolve(target.host, target.address, target.port)
    if options.proxy:
        builder = builder.proxy(ProxyBuilder.all(options.proxy))
    if options.ca_file:
        for certificate in _CERTIFICATE.findall(options.ca_file.read_bytes()):
            builder = builder.add_root_certificate_pem(certificate)
    return builder
