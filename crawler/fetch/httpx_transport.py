"""Transports of one origin over httpx: any of its transports, and its own, which connects to the checked address."""

import contextlib
import ssl
from collections.abc import AsyncIterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import httpcore
import httpx
from typing_extensions import override

from crawler.fetch.address_policy import OriginTarget
from crawler.fetch.errors import FailureCode, FetchError
from crawler.fetch.identity import Header
from crawler.fetch.limits import FetchLimits, TransportOptions
from crawler.fetch.response_heads import ForgivingBackend

_NO_BODY = httpx.ByteStream(b"")  # saves httpx the search for the fields of a body


class HttpxTransport:
    """Sends the requests of an origin over an httpx transport, see :class:`crawler.fetch.transports.Transport`.

    With ``is_ours`` it closes that transport, which takes the path from the ``target`` extension: httpx takes three
    times as long when it parses each URL. Any other one gets whole URLs.
    """

    def __init__(self, origin: str, transport: httpx.AsyncBaseTransport, *, is_ours: bool = True) -> None:
        self._origin = origin
        self._url = httpx.URL(f"{origin}/") if is_ours else None
        self._transport = transport

    async def send(
        self, method: str, target: str, fields: tuple[Header, ...], content: bytes
    ) -> tuple[int, list[Header], httpx.AsyncByteStream]:
        """Send one request: status, header fields and body of the response. Raises what the transport raises."""
        request = httpx.Request(
            method,
            self._url or self._origin + target,
            headers=[(name.encode(), value.encode("latin-1")) for name, value in fields],
            stream=_NO_BODY if method == "GET" else None,
            content=content,
            extensions={"target": target.encode("ascii")},
        )
        response = await self._transport.handle_async_request(request)
        if not isinstance(response.stream, httpx.AsyncByteStream):
            raise FetchError(FailureCode.INTERNAL, "the transport is not asynchronous")
        # RFC 9110, section 5.5: bytes over 127 are opaque; latin-1 keeps them as they are
        headers = [(name.lower().decode("latin-1"), value.decode("latin-1")) for name, value in response.headers.raw]
        return response.status_code, headers, response.stream

    async def aclose(self) -> None:
        """Close all connections."""
        if self._url:
            await self._transport.aclose()


class PinnedTransport(httpx.AsyncBaseTransport):
    """An ``httpx.AsyncHTTPTransport`` that connects to ``target.address``, for requests to the origin of ``target``.

    Host, SNI and the checked name of the certificate stay those of the URL.
    """

    def __init__(self, target: OriginTarget, options: TransportOptions, limits: FetchLimits) -> None:
        self._inner = httpx.AsyncHTTPTransport(
            verify=_ssl_context(options.ca_file),
            http2=options.http2,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=options.idle),
            trust_env=False,
            proxy=options.proxy or None,
        )
        pool = self._inner._pool  # noqa: SLF001 - there is no public way
        pool._network_backend = ForgivingBackend(pool._network_backend)  # noqa: SLF001
        self._pinned = httpx.URL(f"{target.pinned}/")
        # A forward proxy gets the absolute URL (RFC 9112, section 3.2.2).
        self._prefix = target.origin.encode() if options.proxy and target.scheme == "http" else b""
        self._extensions = {
            "sni_hostname": target.host,
            "timeout": {"connect": limits.connect, "read": None, "write": limits.idle, "pool": None},
        }

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request. Raises what httpx raises."""
        steps: list[str] = []

        async def trace(step: str, info: object) -> None:  # noqa: ARG001
            steps.append(step)

        path: bytes = request.extensions.get("target") or request.url.raw_path
        extensions = {"target": self._prefix + path, "trace": trace, **self._extensions}
        pinned = httpx.Request(
            request.method, self._pinned, headers=request.headers, stream=request.stream, extensions=extensions
        )
        try:
            response = await self._inner.handle_async_request(pinned)
        except httpx.ConnectTimeout as error:
            if any(step.endswith("start_tls.started") for step in steps):
                raise httpx.ConnectTimeout("TLS handshake timed out", request=request) from error
            raise
        response.stream = _PinnedBody(response)
        return response

    @override
    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()


class _PinnedBody(httpx.AsyncByteStream):
    """The body of a response, which closes without leftovers.

    httpcore takes bytes after the end of a body as the next response, and its nested generators warn on trio when they
    are not exhausted.
    """

    def __init__(self, response: httpx.Response) -> None:
        stream = response.stream
        assert isinstance(stream, httpx.AsyncByteStream)  # noqa: S101 - what AsyncHTTPTransport gives
        self._stream = stream
        self._chunks = aiter(stream)
        self._network = response.extensions["network_stream"]
        self._ended = False

    @override
    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            return await anext(self._chunks)
        except BaseException:
            self._ended = True
            raise

    @override
    async def aclose(self) -> None:
        body: Any = getattr(getattr(self._stream, "_httpcore_stream", None), "_stream", None)
        connection = getattr(body, "_connection", None)  # there is no public way
        if isinstance(connection, httpcore.AsyncHTTP11Connection) and not self._is_clean(connection):
            await self._network.aclose()
            with contextlib.suppress(httpx.TransportError):
                async for _ in self._chunks:  # until an error ends the generators
                    pass
            await body.aclose()
            await connection.aclose()  # after the body, which may mark the connection as idle
        await self._stream.aclose()

    def _is_clean(self, connection: httpcore.AsyncHTTP11Connection) -> bool:
        return self._ended and not connection._h11_state.trailing_data[0]  # noqa: SLF001


@lru_cache(maxsize=16)
def _ssl_context(ca_file: Path | None) -> ssl.SSLContext:
    # What the system trusts, as in the Rust client, and httpx's bundle, since not every Python finds the system's.
    # Cached, because loading takes tens of milliseconds.
    context = httpx.create_ssl_context(trust_env=False)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_default_certs()
    if ca_file:
        context.load_verify_locations(cafile=ca_file)
    return context
