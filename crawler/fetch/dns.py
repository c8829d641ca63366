"""Connections to origins: each is resolved once, checked, pinned to an address, and gets one transport."""

import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Mapping

import anyio

from crawler.fetch.address_policy import AddressPolicy, OriginTarget, is_numeric
from crawler.fetch.errors import FailureCode, FetchError, diagnose, diagnose_lookup
from crawler.fetch.identity import Header
from crawler.fetch.transports import Body, Transport, Transports
from crawler.model import Url
from crawler.url.normalize import InvalidUrl, host_of, normalize_url

HostResolver = Callable[[str, int], Awaitable[list[str]]]
"""Resolves a host name and a port to numeric addresses, best first. Raises OSError (socket.gaierror) without any."""
_FAMILY_DELAY = 0.25  # seconds until the next address is tried too (RFC 8305, section 5)


async def system_resolver(host: str, port: int) -> list[str]:
    """The addresses of a name as the operating system knows them.

    A name below localhost that it does not know is this machine, as in browsers (RFC 6761, section 6.3).
    """
    try:
        entries = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror:
        if not host.endswith(".localhost"):
            raise
        entries = await anyio.getaddrinfo("localhost", port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


class OriginConnection:
    """An origin with an open transport. ``answered``: it has answered over this transport."""

    def __init__(self, target: OriginTarget, transport: Transport) -> None:
        self.target = target
        self.transport = transport
        self.use_count = 0
        self.answered = False
        self.retired = False

    async def send(
        self, method: str, url: Url, fields: tuple[Header, ...], content: bytes
    ) -> tuple[int, list[Header], Body]:
        """Send one request: status, header fields and body. A transport may raise anything."""
        return await self.transport.send(method, url[url.index("/", 8) :], fields, content)


class OriginConnections:
    """The open origins. Pair ``acquire`` with ``release``; after ``retire`` the next ``acquire`` resolves again."""

    def __init__(
        self, transports: Transports, policy: AddressPolicy, resolver: HostResolver, connect: float, limit: int = 128
    ) -> None:
        """``connect`` limits lookup and connecting, in seconds; ``limit`` is the number of origins to keep open."""
        self._transports = transports
        self._policy = policy
        self._resolver = resolver
        self._connect = connect
        self._limit = limit
        self._connections: dict[str, OriginConnection] = {}
        self._opening: dict[str, anyio.Lock] = {}
        self.public = set(policy.public)
        """The ``host:port`` that have or had a public address: they cannot become private."""
        self.became_private: dict[str, str] = {}
        """Those of them that now have private addresses only, with these."""

    async def acquire(self, origin: str) -> OriginConnection:
        """The connection of an origin in canonical form. Raises FetchError."""
        connection = self._connections.get(origin)
        if connection is None:
            connection = await self._open_once(origin)
        connection.use_count += 1
        return connection

    async def release(self, connection: OriginConnection) -> None:
        """End the use of a connection. Safe to call while cancelled."""
        connection.use_count -= 1
        if connection.retired and not connection.use_count:
            await _close(connection)

    def retire(self, connection: OriginConnection) -> None:
        """Drop a connection and its address; its transport closes after its last use."""
        if self._connections.get(connection.target.origin) is connection:
            del self._connections[connection.target.origin]
        connection.retired = True

    async def aclose(self) -> None:
        """Close all transports."""
        connections, self._connections = list(self._connections.values()), {}
        for connection in connections:
            connection.retired = True
            await _close(connection)

    async def _open_once(self, origin: str) -> OriginConnection:
        lock = self._opening.setdefault(origin, anyio.Lock())
        try:
            async with lock:
                connection = self._connections.get(origin)
                if connection is None:
                    connection = await self._open(OriginTarget.of(origin))
                    self._connections[origin] = connection
        finally:
            if not lock.statistics().tasks_waiting and not lock.locked():
                self._opening.pop(origin, None)
        await self._make_room(connection)
        return connection

    async def _open(self, target: OriginTarget) -> OriginConnection:
        self._policy.check_port(target.port)
        if is_numeric(target.host):
            addresses = self._permitted(target, [target.host])
        elif self._transports.needs_address(target):
            addresses = self._permitted(target, await self._lookup(target))
        else:
            addresses = [""]
        address = addresses[0] if len(addresses) == 1 else await self._fastest(target, addresses)
        try:
            return OriginConnection(target, self._transports.open(target.pinned_to(address)))
        except (OSError, ValueError) as error:
            raise FetchError(FailureCode.OPTIONS) from error

    def _permitted(self, target: OriginTarget, addresses: list[str]) -> list[str]:
        try:
            permitted = self._policy.permit(target.host_port, addresses, target.host_port in self.public)
        except FetchError as error:
            if error.code is FailureCode.BECAME_PRIVATE:
                self.became_private[target.host_port] = error.detail
            raise
        if self._policy.is_public(permitted):
            self.public.add(target.host_port)
        return permitted

    async def _lookup(self, target: OriginTarget) -> list[str]:
        try:
            with anyio.fail_after(self._connect):
                addresses = await self._resolver(target.host, target.port)
        except TimeoutError as error:
            detail = f"no answer from the resolver in {self._connect:g} s"
            raise FetchError(FailureCode.DNS_TEMPORARY, detail) from error
        except OSError as error:
            raise diagnose_lookup(error) from error
        except UnicodeError as error:  # Python's IDNA codec refuses names that DNS cannot have
            raise FetchError(FailureCode.DNS_NXDOMAIN, "not a valid host name") from error
        if not addresses:
            raise FetchError(FailureCode.DNS_NXDOMAIN)
        return addresses

    async def _fastest(self, target: OriginTarget, addresses: list[str]) -> str:
        """The address that accepts a connection first; each has a head start over the next (RFC 8305)."""
        winners: list[str] = []
        errors: list[OSError] = []
        with anyio.move_on_after(self._connect):
            async with anyio.create_task_group() as group:

                async def knock(address: str, done: anyio.Event) -> None:
                    try:
                        stream = await anyio.connect_tcp(address, target.port)
                        winners.append(address)
                        group.cancel_scope.cancel()
                        await anyio.aclose_forcefully(stream)
                    except OSError as error:
                        errors.append(error)
                    finally:
                        done.set()

                for address in _interleave_families(addresses):
                    done = anyio.Event()
                    group.start_soon(knock, address, done)
                    with anyio.move_on_after(_FAMILY_DELAY):
                        await done.wait()
        if winners:
            return winners[0]
        if len(errors) < len(addresses):
            raise FetchError(FailureCode.TIME_CONNECT, f"{len(addresses)} addresses in {self._connect:g} s")
        raise diagnose(errors[-1], tls=False, in_body=False) from errors[-1]

    async def _make_room(self, new: OriginConnection) -> None:
        if len(self._connections) <= self._limit:
            return
        for origin, connection in list(self._connections.items()):
            if not connection.use_count and connection is not new:
                del self._connections[origin]
                connection.retired = True
                await _close(connection)
                return


def _interleave_families(addresses: list[str]) -> list[str]:
    """Addresses of both families in turn, the family of the first one first (RFC 8305, section 4)."""
    first = ":" in addresses[0]
    same = [address for address in addresses if (":" in address) == first]
    other = [address for address in addresses if (":" in address) != first]
    mixed: list[str] = []
    for index in range(max(len(same), len(other))):
        mixed += same[index : index + 1] + other[index : index + 1]
    return mixed


async def _close(connection: OriginConnection) -> None:
    with anyio.CancelScope(shield=True):
        await connection.transport.aclose()


_OVERRIDE = re.compile(r"([^\[\]:/?#@*+-][^\[\]:/?#@*]*|\[[^\]/?#@]*\]):([0-9]{1,5}):(.+)").fullmatch
_OVERRIDE_FORM = "HOST:PORT:ADDRESS, like www.example.com:443:10.0.0.5"


def read_override(text: str) -> tuple[str, tuple[str, ...]]:
    """The ``host:port`` and the addresses, best first, of ``HOST:PORT:ADDRESS[,ADDRESS]…``.

    An IPv6 address may be in brackets. Raises ValueError with a sentence for another form, for a host that is an
    address, and for a bad address. See https://curl.se/docs/manpage.html#--resolve; its wildcards and prefixes are not
    supported, because an address for every host would include hosts that only pages name.
    """
    match = _OVERRIDE(text.strip())
    if match is None or not 0 < int(match[2]) < 65_536:
        raise ValueError(f"{text!r} is not {_OVERRIDE_FORM}")
    try:
        name = host_of(normalize_url(f"http://{match[1]}/")).strip("[]")
    except InvalidUrl as error:
        raise ValueError(f"{text!r} is not {_OVERRIDE_FORM}: {error}") from None
    if is_numeric(name):
        raise ValueError(f"{text!r} must begin with a host name, but {name} is an IP address")
    return f"{name}:{int(match[2])}", tuple(_parse_address(part, text) for part in match[3].split(","))


def resolver_with_overrides(
    overrides: Mapping[str, tuple[str, ...]], otherwise: HostResolver = system_resolver
) -> HostResolver:
    """A resolver with these addresses by ``host:port``, and another resolver for all other hosts."""

    async def resolve(name: str, port: int) -> list[str]:
        addresses = overrides.get(f"{name}:{port}")
        return list(addresses) if addresses else await otherwise(name, port)

    return resolve


def _parse_address(part: str, text: str) -> str:
    written = part.strip()
    bare = written[1:-1] if written.startswith("[") and written.endswith("]") else written
    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        raise ValueError(f"{written!r} in {text!r} is not an IP address. Write {_OVERRIDE_FORM}") from None
