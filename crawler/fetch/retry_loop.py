"""Waiting: the clock of all pauses, and the retry loop of everything that waits in place.

Frontier and schedule retry later, by the same policy.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Self

import anyio

from crawler.fetch.retry import RetryPolicy

Sleep = Callable[[float], Awaitable[None]]
"""Waits for so many seconds."""


Clock = Callable[[], float]
"""Gives Unix time in seconds."""


def steady_clock() -> Clock:
    """A clock that gives Unix time now, and from then on follows the monotonic clock.

    So a pause keeps its length when the clock of the machine is set. That clock dates, but measures nothing.
    """
    offset = time.time() - time.monotonic()
    return lambda: offset + time.monotonic()


class Retries:
    """Attempts with pauses: the body of ``async for _ in Retries(policy)`` is one attempt; leave it on success.

    Set ``asked`` to the seconds of a Retry-After before the next attempt, None for our own pause.
    """

    def __init__(self, policy: RetryPolicy, key: str = "", sleep: Sleep = anyio.sleep) -> None:
        self.asked: float | None = None
        self._policy, self._key, self._sleep = policy, key, sleep
        self._failures = 0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> int:
        """The number of failed attempts so far."""
        if self._failures:
            pause = self._policy.delay(self._failures - 1, self._key, self.asked)
            if pause is None:
                raise StopAsyncIteration
            await self._sleep(pause)
        self._failures += 1
        return self._failures - 1
