"""The journey of one lease: robots, fetch, read, judge. It calls its parts in order; every rule is somebody else's.

::

    rulebook.rules | earlier.answer, or recall | fetcher.fetch, if changed | pool.read | judge | Outcome or Retry
"""

import math
import time
from dataclasses import dataclass

from msgspec.structs import replace

from crawler.crawl.earlier_crawl import EarlierCrawl
from crawler.crawl.frontier import Frontier
from crawler.crawl.indexability import IndexabilityJudge, is_readable
from crawler.crawl.revalidation import (
    PreviousVisits,
    apply_304_robots,
    conditional_headers,
    content_to_store,
    merge_304,
    request_record,
    response_metadata,
)
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.limits import PAGE_BODY, SITEMAP_BODY, BodyLimits
from crawler.fetch.retry import RetryPolicy, is_transient, parse_retry_after
from crawler.fetch.throttle import Throttle
from crawler.model import (
    DiscoveredBy,
    DiscoveredUrl,
    DocumentKind,
    Failure,
    FetchedDocument,
    Lease,
    Outcome,
    Page,
    PreviousVisit,
    Reply,
    Request,
    Retry,
    State,
    StatusBadge,
    Url,
)
from crawler.parse.pool import ParsePool
from crawler.robots.cache import RobotsCache
from crawler.robots.rules import Blocked, Robots
from crawler.url.normalize import origin_of

MAX_NESTING = 3  # sitemap indexes in sitemap indexes; the protocol allows none


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """What a journey needs to know of the configuration."""

    retries: int = 3
    max_redirects: int = 10
    obey_nofollow: bool = True
    page_body: BodyLimits = PAGE_BODY
    sitemap_body: BodyLimits = SITEMAP_BODY
    max_crawl_delay: float = 60.0
    max_retry_after: float = 3600.0
    follow_sitemaps: bool = True
    token: str = ""  # that robots directives call us by


@dataclass(frozen=True, slots=True)
class WorkerParts:
    """Who is called on the way. ``earlier`` has answers of another crawl, which are not asked for again."""

    robots_cache: RobotsCache
    fetcher: Fetcher
    pool: ParsePool
    judge: IndexabilityJudge
    throttle: Throttle
    frontier: Frontier
    previous_visits: PreviousVisits
    earlier: EarlierCrawl | None = None


class PageWorker:
    """Travels leases. ``fetched`` and ``bytes`` count requests and bytes received so far, ``unchanged`` those answers
    that told nothing new."""

    def __init__(self, parts: WorkerParts, manners: WorkerOptions) -> None:
        self._parts = parts
        self._options = manners
        self.fetched = 0
        self.unchanged = 0
        self.bytes = 0

    def without_request(self, lease: Lease, now: float) -> Outcome | None:
        """The end of a lease that known rules forbid to fetch, or whose answer an earlier crawl has."""
        robots = self._parts.robots_cache.cached(origin_of(lease.url), now)
        return self._known(lease, robots, now) if robots else None

    async def process(self, lease: Lease) -> Outcome | Retry:
        """Fetch, read and judge. The lane of the lease's origin was told that a request starts."""
        answer: Reply | Failure | None = None
        try:
            robots = await self._parts.robots_cache.get(origin_of(lease.url))
            if known := self._known(lease, robots, time.time()):
                return known
            if delay := robots.crawl_delay(self._options.max_crawl_delay):
                self._parts.throttle.set_crawl_delay(origin_of(lease.url), delay)
            body = (
                self._options.sitemap_body if lease.kind is DocumentKind.SITEMAP else self._options.page_body
            )
            before = self._parts.previous_visits.get(lease.id, lease.kind)
            asked = conditional_headers(before)
            answer = await self._parts.fetcher.fetch(lease.url, headers=asked, body=body)
            self.fetched += 1
        finally:
            self._parts.throttle.finish(lease.url, time.time(), answer)
        if isinstance(answer, Reply):
            self.bytes += answer.wire_bytes
        request = request_record(answer, bool(asked), time.time())
        return self._retry_or_none(lease, answer, request) or await self._handle_response(
            lease, answer, before, request
        )

    def _known(self, lease: Lease, robots: Robots, now: float) -> Outcome | None:
        """The end of a lease that needs no request. ``now`` is Unix time."""
        if (
            (blocked := _blocked(lease, robots))
            or self._parts.earlier is None
            or lease.kind is not DocumentKind.PAGE
        ):
            return blocked
        before = self._parts.previous_visits.get(lease.id, lease.kind)
        answer = self._parts.earlier.answer(lease.url, before, now)
        if answer is None:
            return None
        page = answer.page
        is_same = bool(before and before.page and page and page.digest and page.digest == before.digest)
        return replace(
            self._ended(lease, answer.verdict, answer.status, page),
            page=None if is_same else page,
            content=before.content if before and is_same else None,
            sighting=answer.sighting,
            request=answer.request,
        )

    def _retry_or_none(self, lease: Lease, answer: Reply | Failure, request: Request) -> Retry | None:
        """A later turn, when what went wrong may pass."""
        if not is_transient(answer):
            return None
        now = time.time()
        asked = parse_retry_after(answer.header("retry-after"), now) if isinstance(answer, Reply) else None
        # one broken page may not hold up the whole site
        longest = math.inf if _asks_to_wait(answer) else self._options.max_retry_after
        policy = RetryPolicy(self._options.retries, longest_asked=longest)
        pause = policy.delay(lease.attempts, lease.url, asked)
        if pause is None:
            return None
        reason = answer.message if isinstance(answer, Failure) else f"answered {answer.status}"
        return Retry(lease, now + pause, reason, request)

    async def _handle_response(
        self, lease: Lease, answer: Reply | Failure, before: PreviousVisit | None, request: Request
    ) -> Outcome:
        if isinstance(answer, Failure) or is_transient(answer):
            return self._transient_outcome(lease, answer, before, request)
        if before and answer.status == 304 and request.conditional:
            answer = merge_304(answer, before)
            page = before.page and apply_304_robots(answer, before.page, self._options.token)
            is_known = True
        else:
            page = await self._read(lease, answer, before)
            if page and _is_unread(lease, page):
                return self._transient_outcome(lease, answer, before, request, page)
            is_known = bool(before and page and page.is_known)
            page = before.page if before and is_known else page
        self.unchanged += is_known
        ended = self._judged_outcome(lease, answer, page)
        if _is_last_check(lease):
            ended = _last_check_outcome(ended)
        return replace(
            ended,
            page=None if is_known else content_to_store(answer, page),
            content=before.content if before and is_known else None,
            sighting=response_metadata(answer, page) if answer.status == 200 else None,
            request=request,
        )

    def _transient_outcome(
        self,
        lease: Lease,
        answer: Reply | Failure,
        before: PreviousVisit | None,
        request: Request,
        page: Page | None = None,
    ) -> Outcome:
        """The end of what failed for reasons that may pass. What it linked to the last time is still found."""
        if isinstance(answer, Failure):
            outcome = Outcome(lease, self._parts.judge.failure(answer), request=request)
        elif lease.kind is DocumentKind.SITEMAP:
            outcome = replace(self._sitemap(lease, answer, page), request=request)
        else:
            verdict = self._parts.judge.verdict(answer, page)
            outcome = Outcome(lease, verdict, answer.status, request=request)
        if before is None or _is_last_check(lease):
            return outcome
        known = before.page or Page(links=before.links)
        if lease.kind is DocumentKind.SITEMAP:
            return replace(outcome, finds=self._finds_of_sitemap(lease, known))
        return replace(outcome, links=self._links(lease, known))

    def _judged_outcome(self, lease: Lease, answer: Reply, page: Page | None) -> Outcome:
        if lease.kind is DocumentKind.SITEMAP:
            return self._sitemap(lease, answer, page)
        return self._ended(lease, self._parts.judge.verdict(answer, page), answer.status, page)

    def _ended(self, lease: Lease, verdict: StatusBadge, status: int, page: Page | None) -> Outcome:
        """The end of a page, with all that it leads to."""
        most = self._options.max_redirects
        if verdict.state is State.REDIRECT and self._parts.frontier.hops(lease) >= most:
            verdict = StatusBadge(State.BAD_ANSWER, f"redirect.too_many: more than {most} redirects in a row")
        return Outcome(
            lease,
            verdict,
            status=status,
            links=self._links(lease, page) if page else [],
            finds=(*_redirect_finds(lease, verdict), *self._child_sitemaps(lease, page)),
        )

    async def _read(self, lease: Lease, reply: Reply, before: PreviousVisit | None) -> Page | None:
        if not (is_readable(reply) or (lease.kind is DocumentKind.SITEMAP and reply.status == 200)):
            return None
        return await self._parts.pool.read(
            FetchedDocument(
                reply.url,
                reply.header("content-type") or "",
                reply.header_all("link"),
                reply.header_all("x-robots-tag"),
                reply.header("refresh") or "",
                reply.body,
                lease.kind,
                before.digest if before and before.page else b"",
                before.text if before else b"",
            )
        )

    def _sitemap(self, lease: Lease, reply: Reply, page: Page | None) -> Outcome:
        """A sitemap of the site's own: its entries are finds, one step from the start."""
        redirect = self._parts.judge.verdict(reply, None)
        if redirect.target:
            hop = DiscoveredUrl(
                redirect.target, DiscoveredBy.REDIRECT, lease.depth + 1, lease.id, DocumentKind.SITEMAP
            )
            further = (hop,) if lease.depth < self._options.max_redirects else ()
            return Outcome(
                lease, StatusBadge(State.SITEMAP_FILE, redirect.reason), reply.status, finds=further
            )
        if page is None:
            return Outcome(lease, StatusBadge(State.SITEMAP_FILE, f"answered {reply.status}"), reply.status)
        return Outcome(
            lease,
            StatusBadge(State.SITEMAP_FILE, "; ".join(page.faults)),
            reply.status,
            finds=self._finds_of_sitemap(lease, page),
        )

    def _finds_of_sitemap(self, lease: Lease, page: Page) -> tuple[DiscoveredUrl, ...]:
        """What a sitemap of the site's own lists."""
        finds = [DiscoveredUrl(url, found, 1, lease.id) for url, found in page.links]
        if lease.depth < MAX_NESTING:
            below = lease.depth + 1
            finds += [
                DiscoveredUrl(url, DiscoveredBy.SITEMAP, below, lease.id, DocumentKind.SITEMAP)
                for url in page.sitemaps
            ]
        return tuple(finds)

    def _child_sitemaps(self, lease: Lease, page: Page | None) -> list[DiscoveredUrl]:
        """The sitemaps that an index names which was linked as a page."""
        urls = page.sitemaps if page and self._options.follow_sitemaps else []
        return [DiscoveredUrl(url, DiscoveredBy.SITEMAP, 1, lease.id, DocumentKind.SITEMAP) for url in urls]

    def _links(self, lease: Lease, page: Page) -> list[tuple[Url, int]]:
        links = page.links if lease.found != DiscoveredBy.SPELLING else []
        if not page.is_html and not self._options.follow_sitemaps:
            links = [(url, found) for url, found in links if found != DiscoveredBy.SITEMAP]
        if not self._options.obey_nofollow:
            links = [(url, found & ~DiscoveredBy.NOFOLLOW or DiscoveredBy.LINK) for url, found in links]
        elif page.nofollow:
            walked = DiscoveredBy.LINK | DiscoveredBy.FRAME
            links = [
                (url, found & ~walked | DiscoveredBy.NOFOLLOW if found & walked else found)
                for url, found in links
            ]
        return links


def _is_unread(lease: Lease, page: Page) -> bool:
    """Whether nothing could be made of a document that may be well another time: by us, or of a sitemap by anybody."""
    if lease.kind is DocumentKind.SITEMAP:
        return bool(page.faults) and not (page.links or page.sitemaps)
    return bool(page.fallback) and not page.is_html


def _last_check_outcome(ended: Outcome) -> Outcome:
    verdict = ended.verdict
    if verdict.state is State.INDEXABLE:
        verdict = StatusBadge(State.UNLINKED, "it answers as before, but no page leads to it any more")
    return replace(ended, verdict=verdict, links=[], finds=())


def _is_last_check(lease: Lease) -> bool:
    """Whether only an earlier run leads here: it is asked what has become of it, and what it links to is no news."""
    return lease.found == DiscoveredBy.PREVIOUS_RUN


def _blocked(lease: Lease, robots: Robots) -> Outcome | None:
    answer = robots.can_fetch(lease.url)
    if not isinstance(answer, Blocked):
        return None
    state = State.SITEMAP_FILE if lease.kind is DocumentKind.SITEMAP else State.ROBOTS
    return Outcome(lease, StatusBadge(state, answer.reason))


def _asks_to_wait(answer: Reply | Failure) -> bool:
    return isinstance(answer, Reply) and answer.status in (429, 503)


def _redirect_finds(lease: Lease, verdict: StatusBadge) -> tuple[DiscoveredUrl, ...]:
    """Where a redirect leads is a discovery like any other."""
    if verdict.state is not State.REDIRECT or verdict.target is None:
        return ()
    return (DiscoveredUrl(verdict.target, DiscoveredBy.REDIRECT, lease.depth, lease.id),)
