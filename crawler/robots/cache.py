"""The robots.txt of every origin, fetched once and again when it expires. What an answer means is decided in robots."""

import time
from collections.abc import Callable
from functools import partial
from typing import Final

import anyio

from crawler.fetch.fetcher import Fetcher
from crawler.fetch.limits import ROBOTS_BODY
from crawler.fetch.paced_fetcher import follow
from crawler.fetch.retry import RetryPolicy
from crawler.fetch.retry_loop import Retries
from crawler.model import Failure, Reply, Url
from crawler.robots.rules import Robots, RobotsAccess, allow_all, previous_or_fresh, robots_from_response
from crawler.robots.store import RobotsStore
from crawler.url.normalize import DEFAULT_PARAMS, normalize_url
from crawler.url.params import UrlParams

MAX_REDIRECTS = 5  # RFC 9309 2.3.1.2
MAX_RETRIES: Final = RetryPolicy(2, first=0.5, longest=150.0)


class RobotsCache:
    """``obey=False`` reads the files for the sitemaps they name, and allows everything.

    ``kept`` keeps every answer across runs. Each run asks anew; when an origin cannot be reached, the copy that is
    kept holds for as long as one may be used at all (RFC 9309 2.3.1.4 and 2.4: 24 hours).

    ``params`` are those that every URL of the crawl is made with; ``clock`` gives Unix time.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        user_agent: str,
        *,
        obey: bool = True,
        kept: RobotsStore | None = None,
        params: UrlParams = DEFAULT_PARAMS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._fetcher = fetcher
        self._user_agent = user_agent
        self._obey = obey
        self._kept = kept
        self._clock = clock
        self._params = params.keeping_all
        self._known: dict[str, Robots] = {}
        self._asking: dict[str, anyio.Lock] = {}

    def cached(self, home: str, now: float) -> Robots | None:
        """The rules of an origin, if they are known and have not expired."""
        robots = self._known.get(home)
        return robots if robots and robots.expires > now else None

    async def get(self, home: str) -> Robots:
        """The rules of an origin; asks for them when they are not known. Never raises for what a server does.

        Raises StorageError when they cannot be kept.
        """
        if known := self.cached(home, self._clock()):
            return known  # before anything is waited for: this is asked for every page
        async with self._asking.setdefault(home, anyio.Lock()):
            now = self._clock()
            known = self.cached(home, now)
            if known is None:
                kept = self._kept.get(home) if self._kept and self._obey else None
                copy = kept.last_readable(self._user_agent) if kept else None
                known = self._known[home] = previous_or_fresh(await self._fetch(home), copy, now)
            return known

    async def _fetch(self, home: str) -> Robots:
        async for _ in Retries(MAX_RETRIES, home):
            answer = await self._follow(normalize_url(f"{home}/robots.txt"))
            now = self._clock()
            robots = robots_from_response(answer, self._user_agent, now)
            if self._kept:
                self._kept.put(home, robots, answer if isinstance(answer, Reply) else None, now)
            permanent = isinstance(answer, Failure) and not answer.transient
            if not self._obey or robots.access is not RobotsAccess.NOTHING or permanent:
                break
        return robots if self._obey else _allow_all(robots)

    async def _follow(self, url: Url) -> Reply | Failure:
        return await follow(partial(self._fetcher.fetch, body=ROBOTS_BODY), url, MAX_REDIRECTS, self._params)


def _allow_all(robots: Robots) -> Robots:
    allowed = allow_all("robots.txt is ignored, as asked", robots.expires)
    allowed.sitemaps = robots.sitemaps
    return allowed
