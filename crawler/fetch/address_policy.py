"""Address policy: the network addresses and ports that a crawl may connect to. Pure."""

import csv
import ipaddress
from collections.abc import Iterable
from enum import Enum
from functools import lru_cache
from importlib.resources import files
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from crawler.fetch.errors import FailureCode, FetchError

_DEFAULT_PORTS = {"http": 80, "https": 443}


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


class OriginTarget(Struct, frozen=True):
    """One origin. ``host`` has no brackets; ``address`` is where to connect, or "" when the transport resolves."""

    origin: str
    scheme: str
    host: str
    port: int
    address: str = ""

    @classmethod
    def of(cls, origin: str) -> Self:
        """The target of an origin in canonical form (``https://example.com``, ``http://[::1]:8000``)."""
        scheme, _, authority = origin.partition("://")
        host, _, port = authority.rpartition(":")
        if not host or port.endswith("]"):
            host, port = authority, ""
        return cls(origin, scheme, host.strip("[]"), int(port) if port else _DEFAULT_PORTS[scheme])

    def pinned_to(self, address: str) -> Self:
        """The same origin, pinned to an address."""
        return replace(self, address=address)

    @property
    def host_port(self) -> str:
        """``example.com:443``, ``[::1]:8000``."""
        return f"{_bracketed(self.host)}:{self.port}"

    @property
    def pinned(self) -> str:
        """The origin with the address in place of the host, if there is an address."""
        return f"{self.scheme}://{_bracketed(self.address or self.host)}:{self.port}"


class AddressKind(Enum):
    """The kind of an address."""

    PUBLIC = "public"
    PRIVATE = "private"
    METADATA = "metadata"


_TABLE = list(csv.reader((files("crawler.fetch") / "special_addresses.csv").read_text(encoding="utf-8").splitlines()))
# IANA Special-Purpose Address Registries for IPv4 and IPv6 (RFC 6890 and successors), even their few globally reachable
# anycast entries, where no website is; multicast (RFC 5771) and the reserved class E (RFC 1112).
_SPECIAL = tuple(ipaddress.ip_network(network) for network, kind in _TABLE if kind == AddressKind.PRIVATE.value)
# Where cloud providers give credentials to processes of the machine itself.
_METADATA = frozenset(ipaddress.ip_address(address) for address, kind in _TABLE if kind == AddressKind.METADATA.value)
# Only this is global unicast (RFC 4291, section 2.4; IANA IPv6 Global Unicast Address Assignments).
_UNICAST_V6 = IPv6Network("2000::/3")

# Prefixes that carry an IPv4 address, with the number of bits to its right.
_EMBEDDING_RANGES = (
    (IPv6Network("::ffff:0:0/96"), 0),  # IPv4-mapped, RFC 4291
    (IPv6Network("64:ff9b::/96"), 0),  # NAT64, RFC 6052
    (IPv6Network("::/96"), 0),  # IPv4-compatible, RFC 4291 (deprecated)
    (IPv6Network("2002::/16"), 80),  # 6to4, RFC 3056
)
_TEREDO = IPv6Network("2001::/32")  # RFC 4380: server in bits 32..63, client inverted in the last 32

# Fetch Standard, section 2.11 "Port blocking" (bad ports).
# fmt: off
_BAD_PORTS = frozenset((
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103,
    104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514,
    515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723,
    2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
))
# fmt: on


@lru_cache(maxsize=4096)
def address_kind(address: str) -> AddressKind:
    """The kind of a numeric address, which may have a scope id (``%eth0``). Raises ValueError for anything else.

    An IPv6 address that carries an IPv4 address is of the kind of that.
    """
    return _kind_of(ipaddress.ip_address(address))


def _kind_of(address: IPv4Address | IPv6Address) -> AddressKind:
    if isinstance(address, IPv4Address):
        if address in _METADATA:
            return AddressKind.METADATA
        return AddressKind.PRIVATE if any(address in network for network in _SPECIAL) else AddressKind.PUBLIC
    plain = IPv6Address(int(address))  # without a scope id, which is never equal to anything
    if plain in _METADATA:
        return AddressKind.METADATA
    if plain in _TEREDO:
        return _worst_kind(IPv4Address(~int(plain) & 0xFFFFFFFF), IPv4Address(int(plain) >> 64 & 0xFFFFFFFF))
    for network, shift in _EMBEDDING_RANGES:
        if plain in network and int(plain) > 1:  # :: and ::1 carry nothing
            return _kind_of(IPv4Address(int(plain) >> shift & 0xFFFFFFFF))
    if plain not in _UNICAST_V6 or any(plain in network for network in _SPECIAL):
        return AddressKind.PRIVATE
    return AddressKind.PUBLIC


def _worst_kind(*addresses: IPv4Address) -> AddressKind:
    kinds = {_kind_of(address) for address in addresses}
    return next(kind for kind in (AddressKind.METADATA, AddressKind.PRIVATE, AddressKind.PUBLIC) if kind in kinds)


def is_numeric(host: str) -> bool:
    """Whether a host, in canonical form and without brackets, is an address and no name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


class AddressPolicy(Struct, frozen=True):
    """The rule that public pages never lead to private addresses, for one crawl.

    ``private`` holds ``host:port`` of the seed and of other hosts that may be at a private address, in lower case, an
    IPv6 host in brackets (``intranet.example:80``, ``[::1]:8000``); they may be public too. ``public`` holds those of
    them that had a public address in an earlier run, and so cannot become private: whoever controls the DNS of a public
    site could otherwise have a private server read and published ("DNS rebinding"). ``is_named``: the operator names
    every host and port, so all may be private, and no port is blocked.
    """

    private: frozenset[str] = frozenset()
    is_named: bool = False
    public: frozenset[str] = frozenset()

    @classmethod
    def for_seeds(
        cls, origins: Iterable[str], allowed: Iterable[str] = (), *, public: frozenset[str] = frozenset()
    ) -> "AddressPolicy":
        """The policy of a crawl that starts at these origins; ``allowed`` are further origins that may be private.

        Those may be private even if they are ``public``: the operator names them.
        """
        seeds, named = ({OriginTarget.of(origin).host_port for origin in group} for group in (origins, allowed))
        return cls(frozenset(seeds | named), public=(public & seeds) - named)

    def check_port(self, port: int) -> None:
        """Raise FetchError for a blocked port."""
        if port in _BAD_PORTS and not self.is_named:
            raise FetchError(FailureCode.BLOCKED_PORT, f"port {port}")

    def is_public(self, addresses: list[str]) -> bool:
        """Whether all addresses are public ones."""
        return all(address_kind(address) is AddressKind.PUBLIC for address in addresses)

    def permit(self, host_port: str, addresses: list[str], was_public: bool = False) -> list[str]:
        """The permitted addresses of a host, in their order.

        If one address is public, the others are dropped. ``was_public``: the host had a public address earlier, so it
        cannot become private. Raises FetchError when no address is left.
        """
        kinds = {address: address_kind(address) for address in addresses}
        public = [address for address in addresses if kinds[address] is AddressKind.PUBLIC]
        if public:
            return public
        allowed = (self.is_named or host_port in self.private) and not was_public
        rest = [address for address in addresses if allowed and kinds[address] is AddressKind.PRIVATE]
        if rest:
            return rest
        metadata = any(kind is AddressKind.METADATA for kind in kinds.values())
        code = FailureCode.PRIVATE_ADDRESS
        if metadata:
            code = FailureCode.METADATA_ADDRESS
        elif host_port in self.private:
            code = FailureCode.BECAME_PRIVATE
        raise FetchError(code, ", ".join(addresses))
