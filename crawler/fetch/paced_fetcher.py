"""Fetches URLs outside the crawl: throttled for each origin, with retries, along redirects; the clock of all pauses.

:class:`Retries` is the loop of everything that waits in place. Frontier and schedule retry later, by the same policy.
"""

import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, Self, TypeVar

import anyio

from crawler.fetch.fetcher import Fetcher
from crawler.fetch.identity import Header
from crawler.fetch.limits import BodyLimits
from crawler.fetch.permits import run_permits
from crawler.fetch.redirect import REDIRECTS, redirect_target
from crawler.fetch.retry import RetryPolicy, is_transient
from crawler.fetch.throttle import Throttle, ThrottleOptions
from crawler.model import Failure, Reply, Url
from crawler.url.normalize import InvalidUrl, origin_of
from crawler.url.params import UrlParams

MAX_WAIT: Final = 60.0  # the longest pause in seconds that an origin may request
AnswerT = TypeVar("AnswerT", bound=Reply | Failure | None)
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


class AskedToWait(Exception):
    """An origin requests a pause of more than ``MAX_WAIT``. The text is a sentence."""


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


class PacedFetcher:
    """Sends requests to each origin at ``pace``, with retries."""

    def __init__(self, fetcher: Fetcher, pace: ThrottleOptions, retries: int) -> None:
        self.throttle = Throttle(pace, 0, steady_clock(), permits=run_permits())
        self._fetcher = fetcher
        self._policy = RetryPolicy(retries, first=0.5, longest=150.0)

    async def fetch(
        self, url: Url, headers: Iterable[Header] = (), body: BodyLimits | None = None, method: str = "GET"
    ) -> Reply | Failure:
        """The answer, after retries. Raises AskedToWait."""
        origin = origin_of(url)
        async for _ in Retries(self._policy, url):
            while (wait := self.throttle.seconds_until_ready(origin, self.throttle.clock())) > 0:
                if wait > MAX_WAIT:
                    raise AskedToWait(f"{origin} requested a pause of {wait:,.0f} seconds. Try again later")
                await anyio.sleep(wait)
            self.throttle.start(url, self.throttle.clock())
            try:
                answer = await self._fetcher.fetch(url, headers=headers, body=body, method=method)
            except BaseException:
                self.throttle.finish(url, self.throttle.clock(), None)
                raise
            self.throttle.finish(url, self.throttle.clock(), answer)
            if not is_transient(answer):
                break
        return answer


async def follow(fetch: Callable[[Url], Awaitable[AnswerT]], url: Url, limit: int, params: UrlParams) -> AnswerT:
    """The answer after at most ``limit`` redirects, across origins; a redirect when it has no usable target.

    ``params`` normalize the targets.
    """
    for _ in range(limit):
        answer = await fetch(url)
        if not isinstance(answer, Reply) or answer.status not in REDIRECTS:
            return answer
        target = redirect_target(answer, params)
        if isinstance(target, InvalidUrl):
            return answer
        url = target
    return await fetch(url)
