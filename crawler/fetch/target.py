"""Where requests of one origin go: scheme, host, port and, once checked, the address. Values only."""

from typing import Self

from msgspec import Struct
from msgspec.structs import replace

_DEFAULT_PORTS = {"http": 80, "https": 443}


class OriginTarget(Struct, frozen=True):
    """One origin. ``host`` has no brackets; ``address`` is where to connect, or "" when somebody else resolves."""

    origin: str
    scheme: str
    host: str
    port: int
    address: str = ""

    @classmethod
    def of(cls, origin: str) -> Self:
        """Take an origin in canonical form apart (``https://example.com``, ``http://[::1]:8000``)."""
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
        """The origin with the address in the place of the host, if there is an address."""
        return f"{self.scheme}://{_bracketed(self.address or self.host)}:{self.port}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
