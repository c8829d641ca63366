"""The judge step of one URL: its outcome, with the verdict, the links and the discovered URLs."""

from dataclasses import dataclass

from msgspec import Struct
from msgspec.structs import replace

from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.crawl.indexability import IndexabilityJudge
from crawler.crawl.page_fetcher import FetchedPage
from crawler.crawl.revalidation import EarlierAnswer, content_to_store, response_metadata
from crawler.model import (
    DiscoveredBy,
    DiscoveredUrl,
    DocumentKind,
    Failure,
    Lease,
    Outcome,
    Page,
    Reply,
    State,
    Url,
    Verdict,
)

MAX_NESTING = 3  # sitemap indexes in sitemap indexes; the protocol allows none


class OutcomeOptions(Struct, frozen=True):
    """Which redirects, links and sitemaps lead to more URLs."""

    max_redirects: int = 10
    obey_nofollow: bool = True
    follow_sitemaps: bool = True


@dataclass(slots=True)
class OutcomeBuilder:
    """Builds the outcomes of one crawl. The frontier counts the redirects that led to a URL."""

    judge: IndexabilityJudge
    frontier: SqliteFrontier
    options: OutcomeOptions

    def without_request(self, lease: Lease, answer: Verdict | EarlierAnswer) -> Outcome:
        """Outcome of a URL that robots.txt blocks, or that an earlier crawl answers."""
        if isinstance(answer, Verdict):
            return Outcome(lease, answer)
        return replace(
            self._of_page(lease, answer.verdict, answer.status, answer.page),
            page=answer.page if answer.content is None else None,
            content=answer.content,
            sighting=answer.sighting,
            request=answer.request,
        )

    def judged(self, lease: Lease, fetched: FetchedPage, reply: Reply, page: Page | None, is_known: bool) -> Outcome:
        """Outcome of a reply. ``is_known``: the page is the one that the previous visit stored."""
        if lease.kind is DocumentKind.SITEMAP:
            outcome = self._of_sitemap(lease, reply, page)
        else:
            outcome = self._of_page(lease, self.judge.verdict(reply, page), reply.status, page)
        if _is_last_check(lease):
            outcome = _last_check(outcome)
        return replace(
            outcome,
            page=None if is_known else content_to_store(reply, page),
            content=fetched.previous.content if fetched.previous and is_known else None,
            sighting=response_metadata(reply, page) if reply.status == 200 else None,
            request=fetched.request,
        )

    def transient(self, lease: Lease, fetched: FetchedPage, page: Page | None = None) -> Outcome:
        """Outcome of a transient failure; keeps the links of the previous visit."""
        answer = fetched.answer
        if isinstance(answer, Failure):
            outcome = Outcome(lease, self.judge.failure(answer))
        elif lease.kind is DocumentKind.SITEMAP:
            outcome = self._of_sitemap(lease, answer, page)
        else:
            outcome = Outcome(lease, self.judge.verdict(answer, page), answer.status)
        return self._with_known_links(outcome, fetched)

    def failed(self, lease: Lease, fetched: FetchedPage, reply: Reply, verdict: Verdict) -> Outcome:
        """Outcome of a reply that says nothing about the page; keeps the links of the previous visit."""
        if lease.kind is DocumentKind.SITEMAP:
            verdict = Verdict(State.SITEMAP_FILE, verdict.reason)
        return self._with_known_links(Outcome(lease, verdict, reply.status), fetched)

    def _with_known_links(self, outcome: Outcome, fetched: FetchedPage) -> Outcome:
        lease, previous = outcome.lease, fetched.previous
        outcome = replace(outcome, request=fetched.request)
        if previous is None or _is_last_check(lease):
            return outcome
        known = previous.page or Page(links=previous.links)
        if lease.kind is DocumentKind.SITEMAP:
            return replace(outcome, finds=_sitemap_entries(lease, known))
        return replace(outcome, links=self._links(lease, known))

    def _of_page(self, lease: Lease, verdict: Verdict, status: int, page: Page | None) -> Outcome:
        limit = self.options.max_redirects
        if verdict.state is State.REDIRECT and self.frontier.hops(lease) >= limit:
            verdict = Verdict(State.BAD_ANSWER, f"more than {limit} redirects in a row")
        finds = []
        if verdict.state is State.REDIRECT and verdict.target:
            finds.append(DiscoveredUrl(verdict.target, DiscoveredBy.REDIRECT, lease.depth, lease.id))
        if page and self.options.follow_sitemaps:  # an index that is linked as a page
            finds += _child_sitemaps(lease, page, 1)
        links = self._links(lease, page) if page else []
        return Outcome(lease, verdict, status, links, tuple(finds))

    def _of_sitemap(self, lease: Lease, reply: Reply, page: Page | None) -> Outcome:
        """Outcome of one of the site's own sitemaps: its entries are discovered URLs, one step from the seed."""
        verdict = self.judge.verdict(reply, None)
        finds: tuple[DiscoveredUrl, ...] = ()
        if target := verdict.target:
            reason, depth = verdict.reason, lease.depth + 1
            if lease.depth < self.options.max_redirects:
                kind = DocumentKind.SITEMAP
                finds = (DiscoveredUrl(target, DiscoveredBy.REDIRECT, depth, lease.id, kind),)
        elif page is None:
            reason = f"answered {reply.status}"
        else:
            reason, finds = "; ".join(page.faults), _sitemap_entries(lease, page)
        return Outcome(lease, Verdict(State.SITEMAP_FILE, reason), reply.status, finds=finds)

    def _links(self, lease: Lease, page: Page) -> list[tuple[Url, int]]:
        links = page.links if lease.found != DiscoveredBy.SPELLING else []
        if not page.is_html and not self.options.follow_sitemaps:
            links = [(url, found) for url, found in links if found != DiscoveredBy.SITEMAP]
        if not self.options.obey_nofollow:
            return [(url, found & ~DiscoveredBy.NOFOLLOW or DiscoveredBy.LINK) for url, found in links]
        if page.nofollow:
            followed = DiscoveredBy.LINK | DiscoveredBy.FRAME
            dropped = followed | DiscoveredBy.SCRIPT
            links = [
                (url, found & ~dropped | DiscoveredBy.NOFOLLOW if found & followed else found) for url, found in links
            ]
        return links


def _sitemap_entries(lease: Lease, page: Page) -> tuple[DiscoveredUrl, ...]:
    entries = [DiscoveredUrl(url, found, 1, lease.id, date=page.dates.get(url, "")) for url, found in page.links]
    if lease.depth < MAX_NESTING:
        entries += _child_sitemaps(lease, page, lease.depth + 1)
    return tuple(entries)


def _child_sitemaps(lease: Lease, page: Page, depth: int) -> list[DiscoveredUrl]:
    kind = DocumentKind.SITEMAP
    return [DiscoveredUrl(url, DiscoveredBy.SITEMAP, depth, lease.id, kind) for url in page.sitemaps]


def _is_last_check(lease: Lease) -> bool:
    """Whether only an earlier run leads to the URL: its status is checked once more, and its links do not count."""
    return lease.found == DiscoveredBy.PREVIOUS_RUN


def _last_check(outcome: Outcome) -> Outcome:
    verdict = outcome.verdict
    if verdict.state is State.INDEXABLE:
        verdict = Verdict(State.UNLINKED, "it responds, but nothing leads to it any more")
    return replace(outcome, verdict=verdict, links=[], finds=())
