"""The limits of a fetch in time and bytes, and the options of transports. Values only."""

from pathlib import Path

from msgspec import Struct

KIB = 1024
MIB = 1024 * KIB


class BodyLimits(Struct, frozen=True):
    """Limits of a body, in bytes.

    A body over ``wire`` or ``decoded`` is cut there and its prefix is kept. A body whose Content-Length is over
    ``refuse`` is not read at all. More than ``ratio`` decoded bytes for each byte received, once ``ratio_after`` bytes
    are decoded, is a bomb. ``codings`` is how many content codings may be stacked; ``zstd_window`` the largest window
    a zstd frame may have (8 MiB by RFC 8878, section 3.1.1.1.2, and RFC 9659). With ``is_optional`` a response is
    good once its head has arrived: a body that fails is cut there. ``pages_only``: the body of a good response is read
    only if its Content-Type is HTML, a feed or unknown.
    """

    wire: int = 20 * MIB
    decoded: int = 10 * MIB
    refuse: int = 100 * MIB
    ratio: int = 200
    ratio_after: int = MIB
    codings: int = 2
    zstd_window: int = 8 * MIB
    is_optional: bool = False
    pages_only: bool = False


PAGE_BODY = BodyLimits(pages_only=True)
SITEMAP_BODY = BodyLimits(wire=64 * MIB, decoded=64 * MIB)
ROBOTS_BODY = BodyLimits(wire=MIB, decoded=500 * KIB)


class FetchLimits(Struct, frozen=True):
    """Limits of one fetch, times in seconds.

    ``connect`` covers name lookup, connecting and the handshake, ``first_byte`` everything until the head of the
    answer is complete, ``idle`` a pause inside the body, ``total`` the whole fetch. A body with less than ``rate``
    bytes per second over ``rate_window`` seconds fails, and so does one that comes in more than ``reads`` pieces of
    less than ``read_size`` bytes on average. ``headers`` is the size of all header lines.
    """

    connect: float = 10.0
    first_byte: float = 30.0
    idle: float = 30.0
    total: float = 120.0
    rate: int = KIB
    rate_window: float = 30.0
    reads: int = 20_000
    read_size: int = 128
    headers: int = 100 * KIB
    body: BodyLimits = BodyLimits()


class TransportOptions(Struct, frozen=True):
    """Options of every kind of transport.

    ``proxy`` is a URL (``http://user:password@host:port``, ``socks5h://…``) or "" for none; the environment is
    ignored. ``ca_file`` is a PEM bundle to trust besides the system's authorities. ``insecure_hosts`` are host names
    whose certificate is not checked. ``idle`` is how many idle connections to an origin are kept open.
    """

    proxy: str = ""
    ca_file: Path | None = None
    insecure_hosts: frozenset[str] = frozenset()
    http2: bool = False
    idle: int = 32
