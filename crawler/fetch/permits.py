"""Whether a run may send requests to an origin now: always, or when no other run of a fleet does. Pure.

A run that shares origins asks for each of them, for a short time at once, and gives it back when others want it. So
however many runs of a fleet meet at an origin, its requests start as far apart as those of one run.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Lock
from typing import Final, Literal, Protocol, TypeVar

import msgspec
from msgspec import Struct

_RECHECK: Final = 0.1  # seconds until the crawl looks again whether an origin has been granted
_REPEAT: Final = 1.0  # seconds between two requests for the same origin
_COOL_DOWN: Final = 2.0  # seconds for which a run that gave an origin back lets others take it

T = TypeVar("T")


class OriginMessage(Struct, frozen=True):
    """What a run tells: it wants an origin, gives it back, or was asked by it to wait (Retry-After).

    ``seconds`` are those of the wait, or those until the next request may start there.
    """

    origin: str
    act: Literal["take", "release", "pause"]
    seconds: float = 0.0


class OriginGrant(Struct, frozen=True):
    """What a run is told: until when it may start requests at an origin, by the ``clock`` of :class:`SharedOrigins`.

    ``deadline`` 0 means not at all. No request may start for ``pause`` seconds. ``is_wanted``: another run waits.
    """

    origin: str
    deadline: float
    pause: float = 0.0
    is_wanted: bool = False


def encode_line(value: object) -> bytes:
    """The line on the standard input or output of a run that says something."""
    return msgspec.json.encode(value) + b"\n"


def decode_line(line: bytes, kind: type[T]) -> T | None:
    """What such a line says; None for one that says something of another kind, or is incomplete."""
    with suppress(msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.json.decode(line, type=kind)
    return None


class Permits(Protocol):
    """Asked before each request, and told when it starts and ends."""

    def seconds_until_allowed(self, origin: str) -> float:
        """Seconds until it is worth asking again whether a request may start; 0 when it may start now."""

    def start(self, origin: str) -> None:
        """A request starts."""

    def end(self, origin: str, ready_in: float) -> None:
        """A request ended; by the pace of this run the next one may start in so many seconds."""

    def pause(self, origin: str, seconds: float) -> None:
        """The origin requests a pause of so many seconds by Retry-After."""


class NoPermits:
    """A run that shares no origin with others: everything is allowed."""

    def seconds_until_allowed(self, origin: str) -> float:  # noqa: ARG002
        """Now."""
        return 0.0

    def start(self, origin: str) -> None:
        """Nothing to note."""

    def end(self, origin: str, ready_in: float) -> None:
        """Nothing to note."""

    def pause(self, origin: str, seconds: float) -> None:
        """Nobody else to tell."""


class _Origin:
    """One origin, as this run has it."""

    def __init__(self) -> None:
        self.deadline = 0.0
        self.renew_at = 0.0
        self.paused_until = 0.0
        self.ask_at = 0.0
        self.in_flight = 0
        self.ready_at = 0.0
        self.is_wanted = False


class SharedOrigins:
    """The origins of a run in a fleet. ``send`` takes messages; :meth:`hear` takes the answers, in another thread.

    ``clock`` gives seconds that also pass while the machine is suspended.
    """

    def __init__(self, send: Callable[[OriginMessage], None], clock: Callable[[], float]) -> None:
        self._send = send
        self._clock = clock
        self._lock = Lock()
        self._origins: dict[str, _Origin] = {}

    def seconds_until_allowed(self, origin: str) -> float:
        """Seconds until a request may start, or until it is known; asks for the origin when that is due."""
        with self._lock:
            held, now = self._origin(origin), self._clock()
            is_held = now < held.deadline and not held.is_wanted
            if not is_held or now >= held.renew_at:
                self._ask(origin, held, now)
            if now < held.paused_until:
                return held.paused_until - now
            return 0.0 if is_held else _RECHECK

    def start(self, origin: str) -> None:
        """A request starts."""
        with self._lock:
            self._origin(origin).in_flight += 1

    def end(self, origin: str, ready_in: float) -> None:
        """A request ended. The last one gives the origin back, if another run wants it."""
        with self._lock:
            held = self._origin(origin)
            held.in_flight -= 1
            held.ready_at = self._clock() + ready_in
            self._yield(origin, held)

    def pause(self, origin: str, seconds: float) -> None:
        """Tell the other runs that the origin requests a pause."""
        self._send(OriginMessage(origin, "pause", seconds))

    def hear(self, grants: Iterable[OriginGrant]) -> None:
        """Take the answers."""
        with self._lock:
            now = self._clock()
            for grant in grants:
                held = self._origin(grant.origin)
                held.deadline = grant.deadline
                held.renew_at = (now + grant.deadline) / 2
                held.paused_until = max(held.paused_until, now + grant.pause)
                held.is_wanted = grant.is_wanted and grant.deadline > 0
                self._yield(grant.origin, held)

    def _origin(self, origin: str) -> _Origin:
        return self._origins.setdefault(origin, _Origin())

    def _ask(self, origin: str, held: _Origin, now: float) -> None:
        if now >= held.ask_at and not held.is_wanted:
            held.ask_at = now + _REPEAT
            self._send(OriginMessage(origin, "take"))

    def _yield(self, origin: str, held: _Origin) -> None:
        """Give a wanted origin back as soon as no request to it is in flight."""
        if held.is_wanted and not held.in_flight:
            now = self._clock()
            held.is_wanted, held.deadline, held.ask_at = False, 0.0, now + _COOL_DOWN
            self._send(OriginMessage(origin, "release", max(0.0, held.ready_at - now)))


_permits: list[Permits] = [NoPermits()]


def run_permits() -> Permits:
    """The permits of the run in this process."""
    return _permits[-1]


def use_permits(permits: Permits) -> None:
    """Make these the permits of the run in this process."""
    _permits[:] = [permits]
