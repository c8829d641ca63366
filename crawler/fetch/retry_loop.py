"""The loop of every retry that waits in place. The frontier and the schedule come back later, by the same rule."""

from collections.abc import Awaitable, Callable
from typing import Self

import anyio

from crawler.fetch.retry import RetryPolicy

Sleep = Callable[[float], Awaitable[None]]
"""Waits for so many seconds."""


class Retries:
    """The tries of one thing: ``async for _ in Retries(policy)`` tries, waits and tries again, until it is left.

    Set ``asked`` to the seconds that the other side asks to wait before the next try, None for a pause of our own.
    """

    def __init__(self, policy: RetryPolicy, key: str = "", sleep: Sleep = anyio.sleep) -> None:
        self.asked: float | None = None
        self._policy, self._key, self._sleep = policy, key, sleep
        self._failures = 0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> int:
        """The number of tries before this one."""
        if self._failures:
            pause = self._policy.delay(self._failures - 1, self._key, self.asked)
            if pause is None:
                raise StopAsyncIteration
            await self._sleep(pause)
        self._failures += 1
        return self._failures - 1
