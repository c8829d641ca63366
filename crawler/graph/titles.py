"""Which pages are alike by the words of their titles and names: rare words say more than common ones."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from math import log, sqrt
from typing import Final

from crawler.graph.kin import parent

COMMON: Final = 200  # pages with a word, beyond which it tells nothing
_SUBJECTS: Final = 4  # words whose pages are asked for, and how many pages of each
_EACH: Final = 8
_WORDS: Final = 6  # of a page that are looked up, the rarest ones
_plural = re.compile(r"(?<=[^s])s$").sub
_words = re.compile(r"[^\W\d_]{3,}|\d{4,}").findall


class Titles:
    """The pages of a site by their words. ``pages`` are nodes with URL and title."""

    def __init__(self, pages: Iterable[tuple[int, str, str]]) -> None:
        self._pages: dict[str, list[int]] = {}
        self._counts: Counter[str] = Counter()
        self._size = 0
        for node, url, title in pages:
            self._size += 1
            for word in words(url, title):
                self._counts[word] += 1
                if self._counts[word] <= COMMON + 1:
                    self._pages.setdefault(word, []).append(node)

    def rare(self, url: str, title: str) -> dict[str, float]:
        """The words of a page that some other pages have too, with what they say, most first."""
        counts = ((word, self._counts[word]) for word in words(url, title))
        found = {word: log(self._size / count) for word, count in counts if 0 < count < self._size}
        return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))

    def like(self, said: Mapping[str, float]) -> dict[int, float]:
        """The pages that share these words and what they share, in sum."""
        found: dict[int, float] = {}
        rare = [word for word in said if self._counts[word] <= COMMON]
        for word in rare[:_WORDS]:
            for node in self._pages[word]:
                found[node] = found.get(node, 0.0) + said[word]
        return found

    def subjects(self, said: Mapping[str, float]) -> Iterator[tuple[str, list[int]]]:
        """The words that some pages share, the rarest first, each with some of these pages."""
        some = [word for word in said if 2 <= self._counts[word] <= COMMON]
        for word in some[:_SUBJECTS]:
            pages = self._pages[word]
            yield word, pages[:: -(-len(pages) // _EACH)]

    def alike(self, said: Mapping[str, float], url: str, title: str) -> tuple[float, list[str]]:
        """How much a page that says these words is like another, from 0 to 1, and the words that both have.

        Words that most pages have say little, also where they are all that there is to say.
        """
        other = self.rare(url, title)
        shared = [word for word in said if word in other]
        common = sum(said[word] for word in shared)
        if not common:
            return 0.0, []
        whole = sqrt(sum(said.values()) * sum(other.values()))
        return common / whole * min(1.0, common / log(self._size)), shared


@lru_cache(maxsize=4_096)
def words(url: str, title: str) -> frozenset[str]:
    """The words of a title and of the last part of a path, in lower case; a plural is its singular, roughly."""
    name = parent(url)[1]
    return frozenset(_plural("", word) for word in _words(f"{title} {name}".lower())) - _EMPTY


_EMPTY: Final = frozenset({"html", "htm", "php", "index", "the", "and", "for", "page", "with"})
