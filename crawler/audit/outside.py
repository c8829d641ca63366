"""The second wave: URLs that only the sources know are asked what they are today, the most telling ones first."""

from collections.abc import Iterator
from heapq import nlargest
from typing import Final

from crawler.claim import Source
from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.evidence.homes import Homes, Stranger
from crawler.model import Find, Found

BATCH: Final = 1_000  # URLs admitted at once
ROUNDS: Final = 6  # of asking: how long a way of nofollow links is followed; the last are spellings
# What is published is a promise, and a search engine has seen a page; a log knows every scanner's guess.
_RANK: Final = {
    Source.SITEMAP: 6,
    Source.SEARCH: 4,
    Source.ANALYTICS: 4,
    Source.BACKLINKS: 3,
    Source.CRAWL: 3,
    Source.LIST: 3,
    Source.LOG: 2,
}
_CARELESS: Final = frozenset(
    {Source.LOG, Source.ANALYTICS}
)  # they name what was asked for, not what is there
_LINKED: Final = 5  # by nofollow, or under another name of the site
_SPELLING: Final = 1  # of a page that is known, and perhaps a page of its own


class Outside:
    """Chooses ``most`` of them at most, in all rounds.

    From ``min_visits`` by people and search engines on, a URL that never answered is asked for.
    """

    def __init__(self, homes: Homes, most: int, min_visits: int) -> None:
        self._homes = homes
        self._most = most
        self._min_visits = min_visits
        self.passed_by = 0  # those that were not asked for, for want of room
        self._rounds = ROUNDS

    def ask(self, frontier: SqliteFrontier) -> bool:
        """Let a frontier in which nothing is left, and all is committed, know of them; answers whether to ask again.

        What was asked for may link to more of what only nofollow links lead to. Raises StorageError.
        """
        self._rounds -= 1
        self._homes.learn_spellings()
        chosen = self._chosen()
        for start in range(0, len(chosen), BATCH):
            frontier.admit(chosen[start : start + BATCH])
        return bool(chosen) and self._rounds > 0

    def notes(self) -> list[str]:
        """What a person should know of those that were not asked for."""
        if not self.passed_by:
            return []
        said = (
            f"{self.passed_by:,} URLs that only sources know were not asked for, and nothing is said of them"
        )
        return [f"{said}: raise --max-outside"]

    def _chosen(self) -> list[Find]:
        seen = 0

        def strangers() -> Iterator[tuple[int, int, Stranger]]:
            nonlocal seen
            for each in self._homes.strangers():
                if rank := self._rank(each):
                    seen += 1
                    yield rank, each.requests + each.other, each

        # an audit that was cut short asks for no more than one that was not
        left = max(0, self._most - self._homes.asked())
        ranked = strangers()
        chosen = nlargest(left, ranked, key=lambda each: (*each[:2], each[2].url))
        for _ in ranked:
            pass  # they are counted, also if none is wanted
        # what spellings link to is no news: they come last, when all that is linked is known and was read as such
        others = [each for each in chosen if each[0] > _SPELLING]
        chosen = others if others and self._rounds else [each for each in chosen if each[0] == _SPELLING]
        self.passed_by = seen - len(chosen)
        return [Find(stranger.url, _found(rank, stranger), 1) for rank, _, stranger in chosen]

    def _rank(self, stranger: Stranger) -> int:
        """How telling the answer would be; 0 if it would tell nothing that is not known."""
        rank = max((_RANK[source] for source in stranger.sources), default=0)
        if stranger.is_linked or Source.SITEMAP in stranger.sources:
            return max(rank, _LINKED * stranger.is_linked)
        if stranger.sources == {Source.LOG} and self._homes.is_dressed(stranger.url):
            # anybody can write parameters behind a URL, and its links may carry them on for ever
            return _SPELLING if stranger.ok else 0
        if stranger.ok or stranger.moved or stranger.other or stranger.sources != {Source.LOG}:
            if self._homes.meet(stranger.url) is None:
                return rank
            # another spelling of a page; one that was answered, and led nowhere else, may be a page of its own
            return _SPELLING if stranger.ok or stranger.sources - _CARELESS else 0
        return rank if stranger.people >= self._min_visits else 0


def _found(rank: int, stranger: Stranger) -> int:
    if rank == _SPELLING:
        return Found.SPELLING
    return Found.SITEMAP if Source.SITEMAP in stranger.sources else Found.OUTSIDE
