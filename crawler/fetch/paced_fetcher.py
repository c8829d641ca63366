"""Fetches what is no page of the crawl: at the pace of its origin, again while that may help, along redirects."""

import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

import anyio

from crawler.fetch.fetcher import Fetcher
from crawler.fetch.identity import Header
from crawler.fetch.limits import BodyLimits
from crawler.fetch.redirect import REDIRECTS, redirect_target
from crawler.fetch.retry import RetryPolicy, is_transient
from crawler.fetch.retry_loop import Retries
from crawler.fetch.throttle import Throttle, ThrottleOptions
from crawler.model import Failure, Reply, Url
from crawler.url.normalize import InvalidUrl, origin_of
from crawler.url.params import UrlParams

MAX_WAIT: Final = 60.0  # seconds that an origin may ask for before it counts as not answering
AnswerT = TypeVar("AnswerT", bound=Reply | Failure | None)


class AskedToWait(Exception):
    """An origin wants no request for longer than ``LONGEST_WAIT``. The text is a sentence."""


class PacedFetcher:
    """One request at a time to each origin, at ``pace``. ``clock`` gives Unix time."""

    def __init__(
        self, fetcher: Fetcher, pace: ThrottleOptions, retries: int, clock: Callable[[], float] = time.time
    ) -> None:
        self.lanes = Throttle(pace, 0)
        self._fetcher = fetcher
        self._policy = RetryPolicy(retries, first=0.5, longest=150.0)
        self._clock = clock

    async def fetch(
        self, url: Url, headers: Iterable[Header] = (), body: BodyLimits | None = None
    ) -> Reply | Failure:
        """The answer, asked for again while that may help. Raises AskedToWait."""
        home = origin_of(url)
        async for _ in Retries(self._policy, url):
            while (wait := self.lanes.seconds_until_ready(home, self._clock())) > 0:
                if wait > MAX_WAIT:
                    raise AskedToWait(f"{home} wants no request for {wait:,.0f} seconds: try again later")
                await anyio.sleep(wait)
            self.lanes.start(url, self._clock())
            try:
                answer = await self._fetcher.fetch(url, headers=headers, body=body)
            except BaseException:
                self.lanes.finish(url, self._clock(), None)
                raise
            self.lanes.finish(url, self._clock(), answer)
            if not is_transient(answer):
                break
        return answer


async def follow(ask: Callable[[Url], Awaitable[AnswerT]], url: Url, most: int, params: UrlParams) -> AnswerT:
    """The answer at the end of ``most`` redirects at most, across origins; a redirect that leads nowhere, or one more.

    ``params`` are those that the URLs on the way are made with.
    """
    for _ in range(most):
        answer = await ask(url)
        if not isinstance(answer, Reply) or answer.status not in REDIRECTS:
            return answer
        target = redirect_target(answer, params)
        if isinstance(target, InvalidUrl):
            return answer
        url = target
    return await ask(url)
