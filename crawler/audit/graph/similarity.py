"""Which pages are the nearest kin of a URL by its path: same directory, names of the same make, next numbers."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from math import log, sqrt
from typing import Final

from crawler.model import Url
from crawler.url.normalize import origin_of

MAX_SIBLINGS: Final = 15  # siblings that are looked at

_MIN_SIBLINGS: Final = 3  # siblings, for a narrower kinship to do

_INDEX_NAMES: Final = ("", "index.html", "index.htm", "index.php")

_PAGE_SUFFIXES: Final = ("", ".html", ".htm", ".php")

_number = re.compile(r"(\d+)")

_digits = re.compile(r"\d+")

_letters = re.compile(r"[a-z_%~+-]+", re.IGNORECASE)

_hash = re.compile(r"(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{6,}", re.IGNORECASE)


SortKey = tuple[str | int, ...]


class PathSiblings:
    """The pages of a site by their paths. ``pages`` are nodes with their URLs. Takes some microseconds a page."""

    def __init__(self, pages: Iterable[tuple[int, str]]) -> None:
        self._groups: dict[tuple[str, str], list[tuple[SortKey, int]]] = {}
        for node, url in pages:
            order = _natural_key(url)
            for kinship in _sibling_keys(url):
                self._groups.setdefault(kinship, []).append((order, node))
        for group in self._groups.values():
            group.sort()

    def siblings(self, url: str, node: int) -> list[int]:
        """The nearest siblings of a URL, the nearest first. The narrowest kinship that has some is taken."""
        order = _natural_key(url)
        found: list[int] = []
        for kinship in _sibling_keys(url):
            group = self._groups.get(kinship, [])
            near = [each for each in _page_values(group, bisect_left(group, (order, -1))) if each != node]
            if len(near) >= _MIN_SIBLINGS:
                return near[:MAX_SIBLINGS]
            found = found or near
        return found


def index_urls_above(url: str) -> Iterator[list[str]]:
    """The URLs that can be the index of a page's directory, then of the one above it, up to the site's root."""
    home = origin_of(Url(url))
    directory = split_parent(url)[0]
    while len(directory) > len(home):
        bare = directory.rstrip("/")
        names = [f"{directory}{name}" for name in _INDEX_NAMES] if directory.endswith("/") else [directory]
        if len(bare) > len(home):
            names += [f"{bare}{end}" for end in _PAGE_SUFFIXES]
        yield [name for name in names if name != url]
        directory = bare[: bare.rindex("/") + 1] if len(bare) > len(home) else ""


def url_shape(url: str) -> tuple[str, str]:
    """What the URLs of one kind of page have in common, such as those of all articles."""
    return [*_sibling_keys(url)][-1]


def split_parent(url: str) -> tuple[str, str]:
    """The directory of a page and its name in it. A slash at the end makes no directory; a query is a name."""
    path, mark, query = url.partition("?")
    if mark:
        return path, query
    bare = path.rstrip("/")
    cut = bare.rfind("/") + 1
    return (bare[:cut], path[cut:]) if cut > len("https://") else (path, "")


def _sibling_keys(url: str) -> Iterator[tuple[str, str]]:
    directory, name = split_parent(url)
    make = _letters.sub("w", _digits.sub("0", _hash.sub("0", name)))
    yield directory, make
    yield directory, ""
    yield _digits.sub("0", directory), f"{make}*"


def _natural_key(url: str) -> SortKey:
    """What sorts page 9 before page 10."""
    return tuple(int(part[:18]) if part.isdecimal() else part for part in _number.split(url))


def _page_values(group: list[tuple[SortKey, int]], place: int) -> Iterator[int]:
    """The members on both sides of a place in turns."""
    for step in range(MAX_SIBLINGS + 1):
        for at in (place + step, place - step - 1):
            if 0 <= at < len(group):
                yield group[at][1]


MAX_PAGES_PER_WORD: Final = 200  # pages with a word, beyond which it tells nothing

_MAX_SUBJECTS: Final = 4  # words whose pages are asked for, and how many pages of each

_PAGES_PER_SUBJECT: Final = 8

_MAX_LOOKED_UP: Final = 6  # of a page that are looked up, the rarest ones

_plural = re.compile(r"(?<=[^s])s$").sub

_words = re.compile(r"[^\W\d_]{3,}|\d{4,}").findall


class TitleIndex:
    """The pages of a site by their words. ``pages`` are nodes with URL and title."""

    def __init__(self, pages: Iterable[tuple[int, str, str]]) -> None:
        self._pages: dict[str, list[int]] = {}
        self._counts: Counter[str] = Counter()
        self._size = 0
        for node, url, title in pages:
            self._size += 1
            for word in title_words(url, title):
                self._counts[word] += 1
                if self._counts[word] <= MAX_PAGES_PER_WORD + 1:
                    self._pages.setdefault(word, []).append(node)

    def rare_words(self, url: str, title: str) -> dict[str, float]:
        """The words of a page that some other pages have too, with what they say, most first."""
        counts = ((word, self._counts[word]) for word in title_words(url, title))
        found = {word: log(self._size / count) for word, count in counts if 0 < count < self._size}
        return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))

    def pages_sharing(self, said: Mapping[str, float]) -> dict[int, float]:
        """The pages that share these words and what they share, in sum."""
        found: dict[int, float] = {}
        rare = [word for word in said if self._counts[word] <= MAX_PAGES_PER_WORD]
        for word in rare[:_MAX_LOOKED_UP]:
            for node in self._pages[word]:
                found[node] = found.get(node, 0.0) + said[word]
        return found

    def subjects(self, said: Mapping[str, float]) -> Iterator[tuple[str, list[int]]]:
        """The words that some pages share, the rarest first, each with some of these pages."""
        some = [word for word in said if 2 <= self._counts[word] <= MAX_PAGES_PER_WORD]
        for word in some[:_MAX_SUBJECTS]:
            pages = self._pages[word]
            yield word, pages[:: -(-len(pages) // _PAGES_PER_SUBJECT)]

    def similarity(self, said: Mapping[str, float], url: str, title: str) -> tuple[float, list[str]]:
        """How much a page that says these words is like another, from 0 to 1, and the words that both have.

        Words that most pages have say little, also where they are all that there is to say.
        """
        other = self.rare_words(url, title)
        shared = [word for word in said if word in other]
        common = sum(said[word] for word in shared)
        if not common:
            return 0.0, []
        whole = sqrt(sum(said.values()) * sum(other.values()))
        return common / whole * min(1.0, common / log(self._size)), shared


@lru_cache(maxsize=4_096)
def title_words(url: str, title: str) -> frozenset[str]:
    """The words of a title and of the last part of a path, in lower case; a plural is its singular, roughly."""
    name = split_parent(url)[1]
    return frozenset(_plural("", word) for word in _words(f"{title} {name}".lower())) - _STOP_WORDS


_STOP_WORDS: Final = frozenset({"html", "htm", "php", "index", "the", "and", "for", "page", "with"})
