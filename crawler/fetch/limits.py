"""The limits of a fetch in time and bytes: their values, which time limit is next, and which one ended a fetch.

Pure; every time is an argument. The options of transports are here too.
"""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from crawler.fetch.errors import FailureCode, FetchError

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
ROBOTS_BODY = BodyLimits(wire=MIB, decoded=500 * KIB, refuse=2**62)  # RFC 9309 2.5: its start counts, however long


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

    ``proxy`` is a URL (``http://user:password@host:port``, ``socks5h://…``) or "" for none; the environment is ignored.
    ``ca_file`` is a PEM bundle to trust besides the system's authorities. ``idle`` is how many idle connections to an
    origin are kept open.
    """

    proxy: str = ""
    ca_file: Path | None = None
    http2: bool = False
    idle: int = 32


# The deadline moves only by more than this share of the idle limit, since each move costs a timer.
_SLACK = 0.05


class Deadline:
    """The time limits of one fetch over its stages: waiting for the head, then reading the body.

    ``at`` is when the fetch fails, on the clock of the ``now`` arguments. Calls ``on_change`` with it when it moves.
    """

    def __init__(self, limits: FetchLimits, now: float) -> None:
        self._limits = limits
        self._end = now + limits.total
        self._in_body = False
        self._window_start = now
        self._window_bytes = 0
        self._reads = self._body_bytes = 0
        self.on_change: Callable[[float], None] | None = None
        self.at = min(self._end, now + limits.first_byte)

    def request_sent(self, now: float) -> None:
        """A request was sent."""
        self._in_body = False
        self._move(min(self._end, now + self._limits.first_byte))

    def head_received(self, now: float) -> None:
        """The head of the answer is complete."""
        self._in_body = True
        self._window_start, self._window_bytes = now, 0
        self._reads = self._body_bytes = 0
        self._move(min(self._end, now + self._limits.idle))

    def body_received(self, size: int, now: float) -> None:
        """Count bytes of the body, read at once. Raises FetchError when they arrive too slowly, or too few at once."""
        limits = self._limits
        self._window_bytes += size
        self._body_bytes += size
        self._reads += 1
        if self._reads > limits.reads and self._body_bytes < self._reads * limits.read_size:
            raise FetchError(FailureCode.BODY_IN_CRUMBS, f"{self._body_bytes:,} bytes in {self._reads:,} pieces")
        if now - self._window_start >= limits.rate_window:
            if self._window_bytes < limits.rate * limits.rate_window:
                detail = f"{self._window_bytes:,} bytes in {now - self._window_start:.0f} s"
                raise FetchError(FailureCode.TIME_TOO_SLOW, detail)
            self._window_start, self._window_bytes = now, 0
        self._move(min(self._end, now + limits.idle))

    def failure(self, now: float) -> FetchError:
        """The failure when the deadline has passed."""
        if now >= self._end:
            return FetchError(FailureCode.TIME_TOTAL, f"{self._limits.total:g} s")
        if self._in_body:
            return FetchError(FailureCode.TIME_IDLE, f"nothing for {self._limits.idle:g} s")
        return FetchError(FailureCode.TIME_FIRST_BYTE, f"{self._limits.first_byte:g} s")

    def _move(self, at: float) -> None:
        if abs(at - self.at) > _SLACK * self._limits.idle or at == self._end != self.at:
            self.at = at
            if self.on_change is not None:
                self.on_change(at)
