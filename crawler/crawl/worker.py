"""The road of one URL: fetch, parse, judge, outcome. Each step is a collaborator; this file holds their order."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from crawler.crawl.indexability import is_readable
from crawler.crawl.outcome import OutcomeBuilder
from crawler.crawl.page_fetcher import FetchedPage, PageFetcher
from crawler.crawl.revalidation import apply_304_headers, merge_304
from crawler.crawl.set_ups import set_up_hint
from crawler.fetch.errors import PART_ONLY
from crawler.fetch.retry import LATE_RETRY, RetryPolicy, is_transient, retry_pause
from crawler.model import (
    DocumentKind,
    Failure,
    FetchedDocument,
    Lease,
    Outcome,
    Page,
    PreviousVisit,
    Reply,
    Retry,
    State,
    Verdict,
)
from crawler.parse.html.page import read_page
from crawler.parse.pool import ParsePool
from crawler.parse.protocol import ParserOptions
from crawler.url.resolve import UrlResolver

if TYPE_CHECKING:
    from crawler.render.renderer import Renderer

BLAMES_REQUEST: Final = frozenset((400, 412, 413, 431))
"""The statuses of a server that does not accept the header fields of a request (RFC 9110, section 15.5; RFC 6585,
section 5). For an ETag that is too long for it, nginx answers 400."""

_STATING_HEADERS: Final = ("x-robots-tag", "link", "refresh")  # that say what a page may say of itself


class ParsedPage(NamedTuple):
    """A reply (for a 304 the one it stands for) and its page, None without one to read."""

    reply: Reply
    page: Page | None
    is_known: bool  # the page is the one that the previous visit stored


@dataclass(slots=True)
class PageParser:
    """The parse step: the page of a reply, from the parser processes or, after a 304, from the previous visit.

    With a ``renderer``, some pages are read as scripts leave them.
    """

    pool: ParsePool
    options: ParserOptions
    renderer: "Renderer | None" = None

    async def parse(self, lease: Lease, reply: Reply, fetched: FetchedPage) -> ParsedPage:
        """Parse the body of a reply that is no transient failure."""
        previous = fetched.previous
        if previous and reply.status == 304 and fetched.request.conditional:
            reply = merge_304(reply, previous)
            page = previous.page
            if page and any(map(reply.header, _STATING_HEADERS)):
                document, options = FetchedDocument.of_reply(replace(reply, body=b"<p>")), self.options
                said = read_page(document, options.options, UrlResolver(options.params), reply.fetched_at)
                page = apply_304_headers(said, page)
            return ParsedPage(reply, page, is_known=True)
        if not (is_readable(reply) or (lease.kind is DocumentKind.SITEMAP and reply.status == 200)):
            return ParsedPage(reply, None, is_known=False)
        page = await self.pool.read(_document(lease, reply, previous))
        is_known = previous is not None and previous.page is not None and page.is_known
        if previous and previous.page and is_known:
            page = replace(previous.page, text=previous.text)
        if self.renderer and lease.kind is DocumentKind.PAGE:
            raw, page = page, await self.renderer.read(reply, page, previous)
            is_known = is_known and page is raw
        return ParsedPage(reply, page, is_known)


class PageWorker:
    """Takes leases from fetch to outcome. ``patience`` is how often in a row half a page is a failure.

    ``clock`` gives the Unix time of retries.

    ``set_up_hint`` is what the start page says of its making (:mod:`crawler.crawl.set_ups`).
    Counts requests (``fetched``), bytes received (``bytes``) and answers without news (``unchanged``). ``parsing`` is
    the number of leases that are parsed now.
    """

    def __init__(
        self,
        fetcher: PageFetcher,
        parser: PageParser,
        outcomes: OutcomeBuilder,
        retry: RetryPolicy,
        patience: int,
        clock: Callable[[], float],
    ) -> None:
        self._clock = clock
        self._fetcher = fetcher
        self._parser = parser
        self._outcomes = outcomes
        self._retry = retry
        self._patience = patience
        self.fetched = 0
        self.unchanged = 0
        self.bytes = 0
        self.parsing = 0
        self.set_up_hint = ""
        self._retried_late: set[int] = set()

    def without_request(self, lease: Lease, now: float) -> Outcome | None:
        """Outcome of a URL that robots.txt blocks or an earlier crawl answers; None when it must be fetched."""
        answer = self._fetcher.without_request(lease, now)
        return self._outcomes.without_request(lease, answer) if answer else None

    async def process(self, lease: Lease) -> Outcome | Retry:
        """Fetch, parse and judge. The caller has started the request with the throttle."""
        fetched = await self._fetcher.fetch(lease)
        if not isinstance(fetched, FetchedPage):
            return self._outcomes.without_request(lease, fetched)
        answer, request = fetched.answer, fetched.request
        self.fetched += 1
        if isinstance(answer, Reply):
            self.bytes += answer.wire_bytes
            self._see_set_up(lease, answer)
            if fetched.challenge:  # a retry would be one more reason to suspect us
                verdict = Verdict(State.CHALLENGED, fetched.challenge.reason)
                return self._outcomes.failed(lease, fetched, answer, verdict)
        now = self._clock()
        if request.conditional and isinstance(answer, Reply) and answer.status in BLAMES_REQUEST:
            return Retry(lease, now, f"answered {answer.status} to our validators", request)
        pause = retry_pause(answer, self._policy(lease), lease.attempts, lease.url, now)
        if pause is not None:
            reason = answer.message if isinstance(answer, Failure) else f"answered {answer.status}"
            return Retry(lease, now + pause, reason, request)
        if isinstance(answer, Failure) or is_transient(answer):
            return self._outcomes.transient(lease, fetched)
        self.parsing += 1
        try:
            parsed = await self._parser.parse(lease, answer, fetched)
        finally:
            self.parsing -= 1
        self._fetcher.trust_rendered(lease, parsed.page)
        if parsed.page and not parsed.is_known and _is_unread(lease, parsed.page):
            return self._outcomes.transient(lease, fetched, parsed.page)
        if why := self._why_cut(lease, fetched, parsed):
            pause = self._retry.delay(lease.attempts, lease.url)
            if pause is not None:
                return Retry(lease, now + pause, why, request)
            return self._outcomes.failed(lease, fetched, answer, Verdict(State.BAD_ANSWER, f"{PART_ONLY}: {why}"))
        self.unchanged += parsed.is_known
        return self._outcomes.judged(lease, fetched, *parsed)

    def _see_set_up(self, lease: Lease, reply: Reply) -> None:
        if lease.depth == 0 and lease.kind is DocumentKind.PAGE:
            self.set_up_hint = self.set_up_hint or set_up_hint(reply.body)

    def _policy(self, lease: Lease) -> RetryPolicy:
        """The retry rule of a failure; while the whole site fails, one late retry of each page instead of several."""
        if self._retry.retries < 2 or not self._fetcher.is_failing(lease.url):
            return self._retry
        is_late = lease.id in self._retried_late
        self._retried_late.add(lease.id)
        return replace(self._retry, retries=0 if is_late else lease.attempts + 1, first=LATE_RETRY, longest=LATE_RETRY)

    def _why_cut(self, lease: Lease, fetched: FetchedPage, parsed: ParsedPage) -> str:
        """Why the answer is only a part of a page, or "". After ``patience`` failed runs in a row it is taken as is."""
        page, previous = parsed.page, fetched.previous
        if page is None or parsed.is_known or previous is None or previous.failures >= self._patience:
            return ""
        return "" if parsed.reply.cut or lease.kind is DocumentKind.SITEMAP else page.cut


def _document(lease: Lease, reply: Reply, previous: PreviousVisit | None) -> FetchedDocument:
    if previous is None or previous.rendered:  # a raw page and a rendered one are not compared
        return FetchedDocument.of_reply(reply, lease.kind)
    return FetchedDocument.of_reply(reply, lease.kind, previous.digest if previous.page else b"", previous.text)


def _is_unread(lease: Lease, page: Page) -> bool:
    """Whether parsing failed in a way that may pass: the parser gave up, or a sitemap holds nothing but faults."""
    if lease.kind is DocumentKind.SITEMAP:
        return bool(page.faults) and not (page.links or page.sitemaps)
    return bool(page.fallback) and not page.is_html
