"""The fetch step of one URL: its robots.txt rule, the answer of an earlier crawl, or one request."""

import time
from collections.abc import Callable
from http import HTTPStatus
from typing import NamedTuple

import anyio
from msgspec import Struct

from crawler.crawl.revalidation import EarlierAnswer, EarlierCrawl, PreviousVisits, conditional_headers, request_record
from crawler.fetch.challenge import ANSWERS, MAX_LINKS, Challenge, detect_challenge, doubtful_text
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.limits import PAGE_BODY, SITEMAP_BODY, BodyLimits
from crawler.fetch.retry import WAIT_STATUSES, parse_retry_after
from crawler.fetch.throttle import Throttle
from crawler.model import DocumentKind, Failure, Lease, Page, PreviousVisit, Reply, Request, State, Url, Verdict
from crawler.robots.cache import RobotsCache
from crawler.robots.rules import Blocked, Robots
from crawler.state.store import PauseStore
from crawler.url.normalize import origin_of


class FetchOptions(Struct, frozen=True):
    """Limits of bodies, and the longest Crawl-delay that is obeyed, in seconds.

    ``patience``: runs in a row after which a page is believed that answers 200 without the template of its site.
    """

    page_body: BodyLimits = PAGE_BODY
    sitemap_body: BodyLimits = SITEMAP_BODY
    max_crawl_delay: float = 60.0
    patience: int = 3


class FetchedPage(NamedTuple):
    """The answer to one request, the previous visit that made the request conditional, and the challenge that it is."""

    answer: Reply | Failure
    previous: PreviousVisit | None
    request: Request
    challenge: Challenge | None = None


IsRendered = Callable[[Url, Page], bool]
"""Whether a page that was read before is read by rendering."""


def never_rendered(_url: Url, _page: Page) -> bool:
    """The choice of a crawl without a browser."""
    return False


class PageFetcher:
    """Fetches the URL of a lease within the rules of its origin. ``earlier`` answers in place of the server.

    ``doubtful`` has what pages say that may be challenges, by id.

    A page that ``is_rendered`` is fetched in full: the response may be the same, and what scripts draw of it not. So is
    one that ``earlier`` did not render. A request that is tried again has no validators, which may be why it failed.
    """

    def __init__(  # noqa: PLR0913 - each is a collaborator
        self,
        fetcher: Fetcher,
        robots_cache: RobotsCache,
        throttle: Throttle,
        previous_visits: PreviousVisits,
        pauses: PauseStore,
        earlier: EarlierCrawl | None,
        options: FetchOptions,
        is_rendered: IsRendered = never_rendered,
    ) -> None:
        self._fetcher = fetcher
        self._robots_cache = robots_cache
        self._throttle = throttle
        self._previous_visits = previous_visits
        self._pauses = pauses
        self._earlier = earlier
        self._options = options
        self._is_rendered = is_rendered
        self.doubtful: dict[int, str] = {}

    def without_request(self, lease: Lease, now: float) -> Verdict | EarlierAnswer | None:
        """The answer that needs no request; None when one is needed or robots.txt is not in the cache."""
        robots = self._robots_cache.cached(origin_of(lease.url), now)
        return self._known(lease, robots, now) if robots else None

    def is_failing(self, url: Url) -> bool:
        """Whether the origin of a URL returns server errors only."""
        return self._throttle.is_failing(url)

    async def fetch(self, lease: Lease) -> FetchedPage | Verdict | EarlierAnswer:
        """Send one request, and report its end to the throttle. Raises StorageError."""
        answer: Reply | Failure | None = None
        challenge: Challenge | None = None
        origin, options = origin_of(lease.url), self._options
        try:
            robots = await self._robots_cache.get(origin)
            delay = robots.crawl_delay(options.max_crawl_delay)
            wait = self._throttle.set_crawl_delay(origin, delay) if delay else 0.0
            if known := self._known(lease, robots, time.time()):
                return known
            if wait:
                await anyio.sleep(wait)
            body = options.sitemap_body if lease.kind is DocumentKind.SITEMAP else options.page_body
            previous = self._previous_visits.get(lease.id, lease.kind)
            is_rendered = previous and previous.page and self._is_rendered(lease.url, previous.page)
            headers = [] if is_rendered or lease.attempts else conditional_headers(previous)
            answer = await self._fetcher.fetch(lease.url, headers=headers, body=body)
            challenge = detect_challenge(answer) if isinstance(answer, Reply) else None
            if previous and isinstance(answer, Reply) and answer.status == HTTPStatus.OK:
                previous = self._previous_visits.with_text(previous)
        finally:
            counted, is_page = None if challenge else answer, lease.kind is DocumentKind.PAGE
            self._throttle.finish(
                lease.url, self._throttle.clock(), counted, had_failed=lease.attempts > 0, is_page=is_page
            )
        if isinstance(answer, Reply) and not challenge:
            self._keep_pause(origin, answer)
            was_whole = _was_whole(previous, options.patience if answer.status in ANSWERS else 0)
            if lease.kind is DocumentKind.PAGE and (text := doubtful_text(answer, was_whole=was_whole)):
                self.doubtful[lease.id] = text
            else:
                self.doubtful.pop(lease.id, None)  # an earlier try was in doubt
        return FetchedPage(answer, previous, request_record(answer, bool(headers), time.time()), challenge)

    def trust_rendered(self, lease: Lease, page: Page | None) -> None:
        """Take away the doubt about a page that its scripts make whole."""
        if page and page.rendered:
            self.doubtful.pop(lease.id, None)

    async def is_allowed(self, url: Url) -> bool:
        """Whether robots.txt allows a request that no page leads to."""
        return not isinstance((await self._robots_cache.get(origin_of(url))).can_fetch(url), Blocked)

    async def fetch_again(self, url: Url) -> FetchedPage:
        """Fetch a page once more, unconditionally, and report the end to the throttle."""
        answer: Reply | Failure | None = None
        challenge: Challenge | None = None
        try:
            answer = await self._fetcher.fetch(url, body=self._options.page_body)
            challenge = detect_challenge(answer) if isinstance(answer, Reply) else None
        finally:
            self._throttle.finish(url, self._throttle.clock(), None if challenge else answer)
        return FetchedPage(answer, None, request_record(answer, False, time.time()), challenge)

    def _keep_pause(self, origin: str, reply: Reply) -> None:
        now = time.time()
        seconds = parse_retry_after(reply.header("retry-after"), now) if reply.status in WAIT_STATUSES else None
        if seconds and seconds >= 1.0:
            self._pauses.put(origin, now + seconds, f"answered {reply.status}")

    def _known(self, lease: Lease, robots: Robots, now: float) -> Verdict | EarlierAnswer | None:
        rule = robots.can_fetch(lease.url)
        if isinstance(rule, Blocked):
            state = State.SITEMAP_FILE if lease.kind is DocumentKind.SITEMAP else State.ROBOTS
            return Verdict(state, rule.reason)
        if self._earlier is None or lease.kind is not DocumentKind.PAGE:
            return None
        previous = self._previous_visits.get(lease.id, lease.kind)
        answer = self._earlier.answer(lease.url, previous and self._previous_visits.with_text(previous), now)
        page = answer.page if answer else None
        return None if page and not page.rendered and self._is_rendered(lease.url, page) else answer


def _was_whole(previous: PreviousVisit | None, patience: int) -> bool:
    """Whether a page had the site's template. It may lose it after ``patience`` failed runs in a row (0: never)."""
    if previous is None or previous.rendered or (patience and previous.failures >= patience):
        return False
    return len(previous.links) > MAX_LINKS
