"""What the operator decides about connections. Values only."""

from pathlib import Path

from msgspec import Struct


class TransportOptions(Struct, frozen=True):
    """Options of every kind of transport.

    ``proxy`` is a URL (``http://user:password@host:port``, ``socks5h://…``) or "" for none; the environment is never
    asked. ``ca_file`` is a PEM bundle to trust besides the system's authorities. ``insecure_hosts`` are host names
    whose certificate is not checked. ``idle`` is how many idle connections to an origin are kept open.
    """

    proxy: str = ""
    ca_file: Path | None = None
    insecure_hosts: frozenset[str] = frozenset()
    http2: bool = False
    idle: int = 32
