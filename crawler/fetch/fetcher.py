"""Fetches one URL within all limits. Follows no redirect and raises no exception."""

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Self

import anyio
from msgspec.structs import replace

from crawler.fetch.address_policy import AddressPolicy, OriginTarget
from crawler.fetch.body import ACCEPTED
from crawler.fetch.dns import HostResolver, OriginConnections, system_resolver
from crawler.fetch.errors import FailureCode, FetchError, diagnose, failure
from crawler.fetch.exchange import HttpExchange, HttpRequest, HttpResponse
from crawler.fetch.identity import Header, Identity
from crawler.fetch.limits import BodyLimits, Deadline, FetchLimits
from crawler.fetch.transports import CallerTransport, Transports
from crawler.model import Failure, Reply, Url

if TYPE_CHECKING:  # httpx is loaded where it is used: that takes a tenth of a second
    import httpx

# Failures to connect: the host is resolved again next time.
_CONNECTION_CODES = frozenset(
    (
        FailureCode.REFUSED,
        FailureCode.UNREACHABLE,
        FailureCode.TIME_CONNECT,
        FailureCode.TIME_TLS,
        FailureCode.TLS_EXPIRED,
        FailureCode.TLS_HOSTNAME,
        FailureCode.TLS_AUTHORITY,
        FailureCode.TLS_UNTRUSTED,
        FailureCode.TLS_PROTOCOL,
    )
)


class Fetcher:
    """Fetches URLs for one crawl. Close it when done, or use it as an async context manager.

    ``transports`` is a kind of transport (:class:`ReqwestTransports`, :class:`HttpxTransports`), or any httpx
    transport, which resolves names itself and which the caller closes. ``clock`` gives Unix time in seconds.
    """

    def __init__(
        self,
        transports: "Transports | httpx.AsyncBaseTransport",
        identity: Identity,
        policy: AddressPolicy | None = None,
        limits: FetchLimits | None = None,
        resolver: HostResolver = system_resolver,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not isinstance(transports, Transports):
            transports = CallerTransport(transports)
        self._transports = transports
        self._identity = identity
        self._limits = limits or FetchLimits()
        self._origins = OriginConnections(transports, policy or AddressPolicy(), resolver, self._limits.connect)
        self._clock = clock
        self._fields: dict[str, tuple[Header, ...]] = {}
        self._loop_clock: Callable[[], float] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @property
    def public_hosts(self) -> frozenset[str]:
        """The ``host:port`` that have or had a public address."""
        return frozenset(self._origins.public)

    def became_private(self, origin: str) -> str:
        """The private addresses of an origin that was public, "" if it is still public or not known yet."""
        return self._origins.became_private.get(OriginTarget.of(origin).host_port, "")

    async def aclose(self) -> None:
        """Close all connections."""
        await self._origins.aclose()

    async def fetch(
        self,
        url: Url,
        *,
        headers: Iterable[Header] = (),
        body: BodyLimits | None = None,
        method: str = "GET",
        content: bytes = b"",
    ) -> Reply | Failure:
        """GET one URL (:class:`HttpExchange` may send it a second time), or send ``content`` to it.

        ``headers`` are added to the request (``If-None-Match`` …); ``body`` replaces the limits of the body. Every
        status is a ``Reply``. Raises nothing. With a mirror the request goes there, but the ``Reply`` has ``url``.
        """
        clock = self._loop_clock = self._loop_clock or _loop_clock()
        started, sent_at = clock(), self._clock()
        request_url = self._transports.request_url(url)
        origin = request_url[: request_url.index("/", 8)]
        deadline = Deadline(self._limits, started)
        error: FetchError | None = None
        answer: HttpResponse | None = None
        exchange: HttpExchange | None = None
        with anyio.CancelScope(deadline=deadline.at) as scope:
            deadline.on_change = lambda at: setattr(scope, "deadline", at)
            try:
                limits = self._limits if body is None else replace(self._limits, body=body)
                fields = self._fields_for(origin, headers)
                request = HttpRequest(request_url, fields, method, content)
                exchange = HttpExchange(request, limits, deadline, clock)
                answer = await self._run_exchange(origin, exchange)
            except FetchError as known:
                error = known
            except Exception as unknown:  # noqa: BLE001 - no page may end the crawl
                error = diagnose(unknown, tls=origin.startswith("https:"), in_body=False)
        now = clock()
        if answer or (answer := exchange.arrived() if exchange else None):
            return Reply(url, *answer[:3], sent_at, now - started, answer.wire, answer.cut, answer.is_miscoded)
        if scope.cancelled_caught or error is None:
            error = deadline.failure(now)
        return failure(error.code, origin.partition("://")[2], error.detail, now - started)

    async def _run_exchange(self, origin: str, exchange: HttpExchange) -> HttpResponse:
        connection = await self._origins.acquire(origin)
        try:
            answer = await exchange.run(connection)
        except FetchError as error:
            if error.code in _CONNECTION_CODES:
                self._origins.retire(connection)
            raise
        else:
            connection.answered = True
            return answer
        finally:
            await self._origins.release(connection)

    def _fields_for(self, origin: str, headers: Iterable[Header]) -> tuple[Header, ...]:
        fields = self._fields.get(origin)
        if fields is None:
            identity = self._identity.headers_for(origin)
            if all(name.lower() != "host" for name, _ in identity):
                identity = (("Host", origin.partition("://")[2]), *identity)
            fields = self._fields[origin] = (*identity, ("Accept-Encoding", ACCEPTED))
        if sign := self._identity.sign:
            host = next(value for name, value in fields if name.lower() == "host")
            headers = (*headers, *sign(f"{origin.partition('://')[0]}://{host}"))
        return (*fields, *headers) if headers else fields


def _loop_clock() -> Callable[[], float]:
    """The clock of the running event loop: of asyncio its own method, because anyio finds the loop at every call."""
    try:
        return asyncio.get_running_loop().time
    except RuntimeError:  # trio
        return anyio.current_time
