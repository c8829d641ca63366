"""The second wave: URLs that only the sources know are asked what they are today, the most telling ones first."""

from collections.abc import Iterator
from heapq import nlargest
from typing import Final

from crawler.claim import Source
from crawler.evidence.homes import Homes, Stranger
from crawler.frontier.sqlite import SqliteFrontier
from crawler.model import Find, Found

BATCH: Final = 1_000  # URLs admitted at once
# What is published is a promise, and a search engine has seen a page; a log knows every scanner's guess.
_RANK: Final = {
    Source.SITEMAP: 5,
    Source.SEARCH: 3,
    Source.ANALYTICS: 3,
    Source.BACKLINKS: 2,
    Source.CRAWL: 2,
    Source.LIST: 2,
    Source.LOG: 1,
}
_LINKED: Final = 4  # by nofollow


class Outside:
    """Chooses ``most`` of them at most. From ``min_visits`` by people on, a URL that never answered is asked for."""

    def __init__(self, homes: Homes, most: int, min_visits: int) -> None:
        self._homes = homes
        self._most = most
        self._min_visits = min_visits
        self._passed_by = 0

    def ask(self, frontier: SqliteFrontier) -> None:
        """Let a frontier in which nothing is left know of them. Raises StorageError."""
        frontier.commit()  # what is not committed the other connection does not see
        self._homes.learn_spellings()
        chosen = self._chosen()
        for start in range(0, len(chosen), BATCH):
            frontier.admit([_find(each) for each in chosen[start : start + BATCH]])

    def notes(self) -> list[str]:
        """What a person should know of those that were not asked for."""
        if not self._passed_by:
            return []
        said = (
            f"{self._passed_by:,} URLs that only sources know were not asked for, and nothing is said of them"
        )
        return [f"{said}: raise --max-outside"]

    def _chosen(self) -> list[Stranger]:
        seen = 0

        def strangers() -> Iterator[Stranger]:
            nonlocal seen
            for each in self._homes.strangers():
                if self._is_telling(each):
                    seen += 1
                    yield each

        chosen = nlargest(self._most, strangers(), key=_rank)
        self._passed_by = seen - len(chosen)
        return chosen

    def _is_telling(self, stranger: Stranger) -> bool:
        """Whether the answer would tell something that is not known."""
        if stranger.is_linked or Source.SITEMAP in stranger.sources:
            return True
        was_answered = bool(stranger.answered or stranger.other or stranger.sources != {Source.LOG})
        if was_answered:
            return self._homes.meet(stranger.url) is None  # else it is another spelling of a page
        return stranger.people >= self._min_visits


def _rank(stranger: Stranger) -> tuple[int, int, str]:
    rank = max((_RANK[source] for source in stranger.sources), default=_LINKED)
    return max(rank, _LINKED if stranger.is_linked else 0), stranger.requests + stranger.other, stranger.url


def _find(stranger: Stranger) -> Find:
    return Find(stranger.url, Found.SITEMAP if Source.SITEMAP in stranger.sources else Found.OUTSIDE, 1)
