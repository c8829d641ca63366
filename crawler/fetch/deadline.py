"""The time limits of one fetch: which one is next, and which one ended the fetch. Pure; every time is an argument."""

from collections.abc import Callable

from crawler.fetch.errors import FailureCode, FetchError
from crawler.fetch.limits import FetchLimits

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
