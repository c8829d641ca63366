"""Queues the URLs that only sources know for a second crawl, the most informative first; and checks the start URL."""

import sqlite3
from collections.abc import Iterator
from heapq import nlargest
from typing import Final

from crawler.audit.evidence.review import ClaimReview
from crawler.audit.evidence.url_matching import UncrawledUrl, UrlMatcher
from crawler.audit.evidence.visits import VisitLookup
from crawler.audit.health.visit import VisitedUrl
from crawler.audit.not_asked import AskableUrls
from crawler.audit.source_record import SourceKind
from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.errors import NEXT_RUN
from crawler.model import DiscoveredBy, DiscoveredUrl, State, Url

BATCH_SIZE: Final = 1_000  # URLs admitted at once
MAX_ROUNDS: Final = 6  # how many nofollow links in a row are followed; spellings come in the last round

# A sitemap is a promise, and a search engine has seen a page; a log has every scanner's guess.
_SOURCE_RANK: Final = {
    SourceKind.SITEMAP: 6,
    SourceKind.REGISTER: 4,
    SourceKind.SEARCH: 4,
    SourceKind.ANALYTICS: 4,
    SourceKind.BACKLINKS: 3,
    SourceKind.CRAWL: 3,
    SourceKind.LIST: 3,
    SourceKind.LOG: 2,
}

# They record what visitors requested, not what exists.
_UNVETTED_SOURCES: Final = frozenset({SourceKind.LOG, SourceKind.ANALYTICS})
_LINKED_RANK: Final = 5  # by nofollow, or under another name of the site
_SPELLING_RANK: Final = 1  # another spelling of a known page, and perhaps a page of its own


class UncrawledUrlQueue:
    """Admits at most ``most`` uncrawled URLs to the frontier, in all rounds together.

    Those that may change something stay out: see :mod:`crawler.audit.not_asked`. A URL that never answered needs
    ``min_visits`` by people and search engines.
    """

    def __init__(
        self, matcher: UrlMatcher, review: ClaimReview, askable: AskableUrls, limit: int, min_visits: int
    ) -> None:
        self._matcher = matcher
        self._askable = askable
        self._review = review
        self._most = limit
        self._min_visits = min_visits
        self.skipped = 0  # uncrawled URLs beyond the limit
        self._rounds = MAX_ROUNDS

    def admit_next(self, frontier: SqliteFrontier) -> bool:
        """Admit the next URLs to an empty, committed frontier; returns whether to call it again.

        Fetched URLs may link to more that only nofollow links lead to. Raises StorageError.
        """
        samples = [url for url in self._review.samples(self._left()) if not self._askable.refuses(url)]
        if samples:
            frontier.admit(DiscoveredUrl(url, DiscoveredBy.AUDIT_SOURCE, 1) for url in samples)
            return True
        if self._rounds == MAX_ROUNDS:  # all links are known
            self._review.separate_scanners()
        self._rounds -= 1
        self._review.release_pages()
        self._matcher.learn_spellings()
        chosen = self._next_urls()
        for start in range(0, len(chosen), BATCH_SIZE):
            frontier.admit(chosen[start : start + BATCH_SIZE])
        return bool(chosen) and self._rounds > 0

    def notes(self) -> list[str]:
        """A note on the URLs that were not fetched."""
        if not self.skipped:
            return []
        text = f"{self.skipped:,} URLs that only sources name were not fetched, so the report leaves them out"
        return [f"{text}: raise --max-unlinked"]

    def _next_urls(self) -> list[DiscoveredUrl]:
        total = 0

        def ranked_urls() -> Iterator[tuple[int, int, UncrawledUrl]]:
            nonlocal total
            for url in self._matcher.uncrawled_urls():
                if (rank := self._rank(url)) and not self._is_refused(url):
                    total += 1
                    yield rank, url.requests + url.other, url

        ranked = ranked_urls()
        chosen = nlargest(self._left(), ranked, key=lambda url: (*url[:2], url[2].url))
        for _ in ranked:
            pass  # count the rest
        # spellings come last, when all linked pages are known: their links are the same
        others = [url for url in chosen if url[0] > _SPELLING_RANK]
        chosen = others if others and self._rounds else [url for url in chosen if url[0] == _SPELLING_RANK]
        self.skipped = total - len(chosen)
        return [DiscoveredUrl(uncrawled.url, _discovered_by(rank, uncrawled), 1) for rank, _, uncrawled in chosen]

    def _is_refused(self, url: UncrawledUrl) -> bool:
        """Whether only sources name a URL, and it is not askable."""
        return not url.is_linked and SourceKind.SITEMAP not in url.sources and self._askable.refuses(url.url)

    def _left(self) -> int:
        """How many more URLs to admit. A resumed audit fetches no more than one that was not cut short."""
        return max(0, self._most - self._matcher.requested_count())

    def _rank(self, url: UncrawledUrl) -> int:
        """How informative a fetch would be; 0: not at all."""
        rank = max((_SOURCE_RANK[source] for source in url.sources), default=0)
        if url.is_linked or SourceKind.SITEMAP in url.sources:
            return max(rank, _LINKED_RANK * url.is_linked)
        if url.sources == {SourceKind.LOG} and self._matcher.has_extra_params(url.url):
            # anybody can add parameters to a URL, and links may carry them on for ever
            return _SPELLING_RANK if url.ok else 0
        if url.ok or url.moved or url.other or url.sources != {SourceKind.LOG}:
            if self._matcher.find_variant(url.url) is None:
                return rank
            # another spelling of a page; one that answered without a redirect may be a page of its own
            return _SPELLING_RANK if url.ok or url.sources - _UNVETTED_SOURCES else 0
        return rank if url.people >= self._min_visits else 0


def _discovered_by(rank: int, url: UncrawledUrl) -> int:
    if rank == _SPELLING_RANK:
        return DiscoveredBy.SPELLING
    return DiscoveredBy.SITEMAP if SourceKind.SITEMAP in url.sources else DiscoveredBy.AUDIT_SOURCE


_LOGIN_STATUSES: Final = frozenset({401, 403, 407})

_REMEDIES: Final = {
    State.NOINDEX: "start from a page that is indexed, or ignore noindex with --set obey.noindex=false",
    State.ROBOTS: "if the site is yours, ignore robots.txt with --set obey.robots=false",
    State.SERVER_ERROR: "run the same command again when that is fixed",
    State.CHALLENGED: "let Siteatlas through in the settings of the firewall",
    State.UNREACHABLE: "run the same command again when that is fixed",
    State.CLIENT_ERROR: "start from a page that exists",
    State.SOFT_404: "start from a page that exists",
    State.WRONG_TYPE: "start from an HTML page",
}


class StartUrlCheck:
    """Where the start URL leads. ``db`` has the state of the site attached as ``site``. Raises StorageError."""

    def __init__(self, db: sqlite3.Connection, seed: Url) -> None:
        self._seed = seed
        trail = VisitLookup(db).redirect_trail(seed)
        self._end = next((visited for visited in trail if visited.state != State.REDIRECT), trail[-1])

    @property
    def other_site(self) -> str:
        """The URL of another site that the start URL redirects to, or "": there is nothing of this site to audit."""
        return self._end.url if self._end.state == State.OUT_OF_SCOPE else ""

    def sentence(self) -> str:
        """Why there is nothing to audit, and the remedy."""
        end = self._end
        if self.other_site:
            text = f"the start URL {self._seed} redirects to {end.url}, which is another site"
            return f"{text}: {NEXT_RUN.starting_at(end.url)}"
        problem = f"no indexable page was found from the start URL {self._seed}"
        if not end.state or end.state == State.INDEXABLE:
            return problem
        redirect = f" (after the redirect to {end.url})" if end.url != self._seed else ""
        reason = f" ({end.reason})" if end.reason else ""
        return f"{problem}: its state{redirect} is {end.state}{reason}; {_remedy(end)}"


def _remedy(end: VisitedUrl) -> str:
    if end.status in _LOGIN_STATUSES:
        return "--basic-auth, --header or --cookie grant access"
    if end.state == State.CANONICAL_ELSEWHERE and end.target:
        return f"to audit its canonical, {NEXT_RUN.starting_at(end.target)}"
    return _REMEDIES.get(State(end.state), "start from another page")
