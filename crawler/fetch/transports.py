"""The kinds of transports of a fetcher, and their common protocol."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from typing_extensions import override

from crawler.fetch.address_policy import OriginTarget
from crawler.fetch.folder_transport import FolderTransport
from crawler.fetch.identity import Header
from crawler.fetch.limits import FetchLimits, TransportOptions
from crawler.model import Url
from crawler.url.params import Mirror

try:  # not where it is used: pyreqwest crashes if the thread that imports it ends before others use it
    from crawler.fetch.reqwest_transport import ReqwestTransport
except ImportError:  # no build for this machine
    ReqwestTransport = None  # type: ignore[assignment,misc]

if TYPE_CHECKING:  # httpx is loaded where it is used: that takes a tenth of a second
    import httpx


class Body(Protocol):
    """The body of a response, in chunks as they arrive."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The chunks; a transport may raise anything."""

    async def aclose(self) -> None:
        """End the response. Closes the connection if some of the body is left."""


class Transport(Protocol):
    """Sends the requests of one origin."""

    async def send(
        self, method: str, target: str, fields: tuple[Header, ...], content: bytes
    ) -> tuple[int, list[Header], Body]:
        """Send one request: status, header fields with names in lower case, and body of the response.

        ``target`` is the path with the query. A transport may raise anything.
        """

    async def aclose(self) -> None:
        """Close all connections."""


class Transports(ABC):
    """A kind of transport."""

    def request_url(self, url: Url) -> Url:
        """The URL to request for a URL: itself, or that of a mirror."""
        return url

    @abstractmethod
    def needs_address(self, target: OriginTarget) -> bool:
        """Whether ``open`` needs a checked address in this target; False when the transport resolves or needs none."""

    @abstractmethod
    def open(self, target: OriginTarget) -> Transport:
        """A transport for the requests of one origin, which the caller closes.

        Raises OSError for an unreadable CA file, ValueError for a bad option.
        """


class _OwnTransports(Transports):
    """The common part of our own kinds: one transport for each target, and a proxy that resolves names itself."""

    def __init__(self, options: TransportOptions | None = None, limits: FetchLimits | None = None) -> None:
        self._options = options or TransportOptions()
        self._limits = limits or FetchLimits()

    @override
    def needs_address(self, target: OriginTarget) -> bool:
        return not self._options.proxy


class ReqwestTransports(_OwnTransports):
    """Connections by the Rust client ``reqwest``, which needs asyncio; by httpx where that client cannot be loaded."""

    @override
    def open(self, target: OriginTarget) -> Transport:
        if ReqwestTransport is None:
            return HttpxTransports(self._options, self._limits).open(target)
        return ReqwestTransport(target, self._options, self._limits)


class HttpxTransports(_OwnTransports):
    """Connections by httpx itself; works with asyncio and trio."""

    @override
    def open(self, target: OriginTarget) -> Transport:
        from crawler.fetch.httpx_transport import HttpxTransport, PinnedTransport  # noqa: PLC0415 - loads httpx

        return HttpxTransport(target.origin, PinnedTransport(target, self._options, self._limits))


class CallerTransport(Transports):
    """One transport of the caller for all origins. It resolves names itself, and the caller closes it."""

    def __init__(self, transport: "httpx.AsyncBaseTransport") -> None:
        self._transport = transport

    @override
    def needs_address(self, target: OriginTarget) -> bool:
        return False

    @override
    def open(self, target: OriginTarget) -> Transport:
        from crawler.fetch.httpx_transport import HttpxTransport  # noqa: PLC0415 - loads httpx

        return HttpxTransport(target.origin, self._transport, is_ours=False)


class _WrappedTransports(Transports):
    """A wrapper around another kind of transport."""

    def __init__(self, inner: Transports) -> None:
        self._inner = inner

    @override
    def request_url(self, url: Url) -> Url:
        return self._inner.request_url(url)

    @override
    def needs_address(self, target: OriginTarget) -> bool:
        return self._inner.needs_address(target)

    @override
    def open(self, target: OriginTarget) -> Transport:
        return self._inner.open(target)


class ServerTransports(_WrappedTransports):
    """Requests public URLs from the source of a mirror."""

    def __init__(self, inner: Transports, mirror: Mirror) -> None:
        super().__init__(inner)
        self._mirror = mirror

    @override
    def request_url(self, url: Url) -> Url:
        return self._mirror.request_url(url)


class FolderTransports(_WrappedTransports):
    """Reads the origin of ``public``, the URL of a directory, from a folder with the pages of that directory."""

    def __init__(self, inner: Transports, folder: Path, public: str) -> None:
        super().__init__(inner)
        self._folder = folder
        self._public = public
        self._origin = public[: public.index("/", 8)]

    @override
    def needs_address(self, target: OriginTarget) -> bool:
        return target.origin != self._origin and super().needs_address(target)

    @override
    def open(self, target: OriginTarget) -> Transport:
        if target.origin != self._origin:
            return super().open(target)
        return FolderTransport(self._folder, self._public)
