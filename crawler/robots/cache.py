"""The robots.txt of every origin: fetched once, and again when it expires. ``rules.py`` decides what answers mean."""

import time
from collections.abc import Callable
from functools import partial
from typing import Final

import anyio

from crawler.fetch.fetcher import Fetcher
from crawler.fetch.limits import ROBOTS_BODY
from crawler.fetch.paced_fetcher import Retries, follow
from crawler.fetch.retry import RetryPolicy
from crawler.model import Failure, Reply
from crawler.robots.rules import Robots, RobotsAccess, allow_all, previous_or_fresh, robots_from_response
from crawler.robots.store import RobotsStore
from crawler.url.normalize import DEFAULT_PARAMS, normalize_url
from crawler.url.params import UrlParams

MAX_REDIRECTS = 5  # RFC 9309 2.3.1.2
MAX_RETRIES: Final = RetryPolicy(2, first=0.5, longest=150.0)


class RobotsCache:
    """The rules of every origin of a crawl. ``obey=False`` allows everything, and reads only the Sitemap lines.

    ``kept`` stores every answer across runs. Each run fetches anew; for an unreachable origin the stored copy holds for
    24 hours (RFC 9309 2.3.1.4 and 2.4). ``params`` normalize the URLs of the crawl; ``clock`` gives Unix time.
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
        self._cache: dict[str, Robots] = {}
        self._locks: dict[str, anyio.Lock] = {}

    def cached(self, origin: str, now: float) -> Robots | None:
        """The rules of an origin, None when they are unknown or expired."""
        robots = self._cache.get(origin)
        return robots if robots and robots.expires > now else None

    async def get(self, origin: str) -> Robots:
        """The rules of an origin, fetched when they are unknown. Raises StorageError, but nothing for a bad server."""
        if known := self.cached(origin, self._clock()):
            return known  # without waiting, since every page needs this
        async with self._locks.setdefault(origin, anyio.Lock()):
            now = self._clock()
            known = self.cached(origin, now)
            if known is None:
                stored = self._kept.get(origin) if self._kept and self._obey else None
                copy = stored.last_readable(self._user_agent) if stored else None
                known = self._cache[origin] = previous_or_fresh(await self._fetch(origin), copy, now)
            return known

    async def _fetch(self, origin: str) -> Robots:
        async for _ in Retries(MAX_RETRIES, origin):
            fetch = partial(self._fetcher.fetch, body=ROBOTS_BODY)
            answer = await follow(fetch, normalize_url(f"{origin}/robots.txt"), MAX_REDIRECTS, self._params)
            now = self._clock()
            robots = robots_from_response(answer, self._user_agent, now)
            if self._kept:
                self._kept.put(origin, robots, answer if isinstance(answer, Reply) else None, now)
            permanent = isinstance(answer, Failure) and not answer.transient
            if not self._obey or robots.access is not RobotsAccess.NOTHING or permanent:
                break
        return robots if self._obey else _allow_all(robots)


def _allow_all(robots: Robots) -> Robots:
    allowed = allow_all("robots.txt is ignored, as configured", robots.expires)
    allowed.sitemaps = robots.sitemaps
    return allowed
