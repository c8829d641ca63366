"""The second wave: URLs that only the sources know are asked what they are today, the most telling ones first."""

import sqlite3
from collections.abc import Iterator
from heapq import nlargest
from typing import Final

from crawler.audit.claim import SourceKind
from crawler.audit.evidence.url_matching import UncrawledUrl, UrlMatcher
from crawler.audit.evidence.visits import VisitLookup
from crawler.audit.health.visit import VisitedUrl
from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.model import DiscoveredBy, DiscoveredUrl, State, Url

BATCH_SIZE: Final = 1_000  # URLs admitted at once

MAX_ROUNDS: Final = 6  # of asking: how long a way of nofollow links is followed; the last are spellings

# What is published is a promise, and a search engine has seen a page; a log knows every scanner's guess.
_SOURCE_RANK: Final = {
    SourceKind.SITEMAP: 6,
    SourceKind.SEARCH: 4,
    SourceKind.ANALYTICS: 4,
    SourceKind.BACKLINKS: 3,
    SourceKind.CRAWL: 3,
    SourceKind.LIST: 3,
    SourceKind.LOG: 2,
}

_UNVETTED_SOURCES: Final = frozenset(
    {SourceKind.LOG, SourceKind.ANALYTICS}
)  # they name what was asked for, not what is there

_LINKED_RANK: Final = 5  # by nofollow, or under another name of the site

_SPELLING_RANK: Final = 1  # of a page that is known, and perhaps a page of its own


class UncrawledUrlQueue:
    """Chooses ``most`` of them at most, in all rounds.

    From ``min_visits`` by people and search engines on, a URL that never answered is asked for.
    """

    def __init__(self, homes: UrlMatcher, most: int, min_visits: int) -> None:
        self._matcher = homes
        self._most = most
        self._min_visits = min_visits
        self.skipped = 0  # those that were not asked for, for want of room
        self._rounds = MAX_ROUNDS

    def admit_next(self, frontier: SqliteFrontier) -> bool:
        """Let a frontier in which nothing is left, and all is committed, know of them; answers whether to ask again.

        What was asked for may link to more of what only nofollow links lead to. Raises StorageError.
        """
        self._rounds -= 1
        self._matcher.learn_spellings()
        chosen = self._next_urls()
        for start in range(0, len(chosen), BATCH_SIZE):
            frontier.admit(chosen[start : start + BATCH_SIZE])
        return bool(chosen) and self._rounds > 0

    def notes(self) -> list[str]:
        """What a person should know of those that were not asked for."""
        if not self.skipped:
            return []
        said = f"{self.skipped:,} URLs that only sources know were not asked for, and nothing is said of them"
        return [f"{said}: raise --max-unlinked"]

    def _next_urls(self) -> list[DiscoveredUrl]:
        seen = 0

        def strangers() -> Iterator[tuple[int, int, UncrawledUrl]]:
            nonlocal seen
            for each in self._matcher.uncrawled_urls():
                if rank := self._rank(each):
                    seen += 1
                    yield rank, each.requests + each.other, each

        # an audit that was cut short asks for no more than one that was not
        left = max(0, self._most - self._matcher.requested_count())
        ranked = strangers()
        chosen = nlargest(left, ranked, key=lambda each: (*each[:2], each[2].url))
        for _ in ranked:
            pass  # they are counted, also if none is wanted
        # what spellings link to is no news: they come last, when all that is linked is known and was read as such
        others = [each for each in chosen if each[0] > _SPELLING_RANK]
        chosen = others if others and self._rounds else [each for each in chosen if each[0] == _SPELLING_RANK]
        self.skipped = seen - len(chosen)
        return [
            DiscoveredUrl(stranger.url, _discovered_by(rank, stranger), 1) for rank, _, stranger in chosen
        ]

    def _rank(self, stranger: UncrawledUrl) -> int:
        """How telling the answer would be; 0 if it would tell nothing that is not known."""
        rank = max((_SOURCE_RANK[source] for source in stranger.sources), default=0)
        if stranger.is_linked or SourceKind.SITEMAP in stranger.sources:
            return max(rank, _LINKED_RANK * stranger.is_linked)
        if stranger.sources == {SourceKind.LOG} and self._matcher.has_extra_params(stranger.url):
            # anybody can write parameters behind a URL, and its links may carry them on for ever
            return _SPELLING_RANK if stranger.ok else 0
        if stranger.ok or stranger.moved or stranger.other or stranger.sources != {SourceKind.LOG}:
            if self._matcher.find_variant(stranger.url) is None:
                return rank
            # another spelling of a page; one that was answered, and led nowhere else, may be a page of its own
            return _SPELLING_RANK if stranger.ok or stranger.sources - _UNVETTED_SOURCES else 0
        return rank if stranger.people >= self._min_visits else 0


def _discovered_by(rank: int, stranger: UncrawledUrl) -> int:
    if rank == _SPELLING_RANK:
        return DiscoveredBy.SPELLING
    return DiscoveredBy.SITEMAP if SourceKind.SITEMAP in stranger.sources else DiscoveredBy.AUDIT_SOURCE


_LOGIN_STATUSES: Final = frozenset({401, 403, 407})

_REMEDIES: Final = {
    State.NOINDEX: "start from a page that is indexed, or read past it with --no-respect-noindex",
    State.ROBOTS: "read it all the same with --ignore-robots if the site is yours",
    State.SERVER_ERROR: "run the same command again when that is mended",
    State.UNREACHABLE: "run the same command again when that is mended",
    State.CLIENT_ERROR: "start from a page that is there",
    State.WRONG_TYPE: "start from a page of HTML",
}


class StartUrlCheck:
    """Looks at ``db``, which has the state of the site beside it as ``site``. Raises StorageError."""

    def __init__(self, db: sqlite3.Connection, seed: Url) -> None:
        self._seed = seed
        self._end = _redirect_end(VisitLookup(db), seed)

    @property
    def other_site(self) -> str:
        """The URL of another site that the start URL redirects to, or "": there is nothing of this site to audit."""
        return self._end.url if self._end.state == State.OUT_OF_SCOPE else ""

    def sentence(self) -> str:
        """Why there is nothing to audit, and the remedy."""
        end = self._end
        if self.other_site:
            said = f"the start URL {self._seed} redirects to {end.url}, which is another site"
            return f"{said}: siteatlas audit {end.url} audits that"
        told = f"no page from the start URL {self._seed} on is indexable"
        if not end.state or end.state == State.INDEXABLE:
            return told
        by_way = f" (which it redirects to, {end.url})" if end.url != self._seed else ""
        why = f" ({end.reason})" if end.reason else ""
        return f"{told}: it{by_way} ended as {end.state}{why}; {_remedy(end)}"


def _redirect_end(visits: VisitLookup, url: str) -> VisitedUrl:
    """Where the redirects of a URL end, or the last of them that is known."""
    seen = {url}
    visited = visits.get(url).visited
    while visited.state == State.REDIRECT and visited.target and visited.target not in seen:
        seen.add(visited.target)
        following = visits.get(visited.target).visited
        if not following.state:
            break
        visited = following
    return visited


def _remedy(end: VisitedUrl) -> str:
    if end.status in _LOGIN_STATUSES:
        return "--basic-auth, --header or --cookie let us in"
    if end.state == State.CANONICAL_ELSEWHERE and end.target:
        return f"siteatlas audit {end.target} audits the page that it names"
    return _REMEDIES.get(State(end.state), "start from another page")
