"""Similar pages: siblings by path (directory, shape of the name, next numbers), and pages with common words. Pure."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from math import log, sqrt
from typing import Final

from crawler.model import Url
from crawler.url.normalize import origin_of

MAX_SIBLINGS: Final = 15
_MIN_SIBLINGS: Final = 3  # siblings in a narrow group; with fewer, a wider group is used
MAX_PAGES_PER_WORD: Final = 200  # a word on more pages says nothing
_MAX_SUBJECTS: Final = 4  # words of a page whose other pages are returned
_PAGES_PER_SUBJECT: Final = 8
_MAX_LOOKED_UP: Final = 6  # words of a page that are looked up, the rarest ones
_INDEX_NAMES: Final = ("", "index.html", "index.htm", "index.php")
_PAGE_SUFFIXES: Final = ("", ".html", ".htm", ".php")
_STOP_WORDS: Final = frozenset({"html", "htm", "php", "index", "the", "and", "for", "page", "with"})

_number = re.compile(r"(\d+)")
_digits = re.compile(r"\d+")
_letters = re.compile(r"[a-z_%~+-]+", re.IGNORECASE)
_hex_runs = re.compile(r"[0-9a-f]{6,}+", re.IGNORECASE).sub
_plural = re.compile(r"(?<=[^\W\d_]{2}[^\W\d_s])s$").sub
_words = re.compile(r"[^\W\d_]{3,}|\d{4,}").findall

SortKey = tuple[str | int, ...]


class PathSiblings:
    """Groups the pages of a site by their paths. ``pages`` are nodes and URLs. Takes some microseconds a page."""

    def __init__(self, pages: Iterable[tuple[int, str]]) -> None:
        self._groups: dict[tuple[str, str], list[tuple[SortKey, int]]] = {}
        for node, url in pages:
            order = _natural_key(url)
            for key in _sibling_keys(url):
                self._groups.setdefault(key, []).append((order, node))
        for group in self._groups.values():
            group.sort()

    def siblings(self, url: str, node: int) -> list[int]:
        """The siblings of a URL in its narrowest group with enough of them, the nearest first."""
        order = _natural_key(url)
        fallback: list[int] = []
        for key in _sibling_keys(url):
            group = self._groups.get(key, [])
            near = [page for page in _neighbours(group, bisect_left(group, (order, -1))) if page != node]
            if len(near) >= _MIN_SIBLINGS:
                return near[:MAX_SIBLINGS]
            fallback = fallback or near
        return fallback


def index_urls_above(url: str) -> Iterator[list[str]]:
    """The possible index URLs of a page's directory, then of the directory above it, up to the site's root."""
    origin = origin_of(Url(url))
    directory = split_parent(url)[0]
    while len(directory) > len(origin):
        bare = directory.rstrip("/")
        names = [f"{directory}{name}" for name in _INDEX_NAMES] if directory.endswith("/") else [directory]
        if len(bare) > len(origin):
            names += [f"{bare}{suffix}" for suffix in _PAGE_SUFFIXES]
        yield [name for name in names if name != url]
        directory = bare[: bare.rindex("/") + 1] if len(bare) > len(origin) else ""


def url_shape(url: str) -> tuple[str, str]:
    """The key that URLs of one kind of page share, such as those of all articles."""
    return [*_sibling_keys(url)][-1]


def _masked_hash(run: re.Match[str]) -> str:
    """A run of hexadecimal digits: "0" if it has digits and letters, like a hash; else unchanged."""
    return run[0] if run[0].isdigit() or run[0].isalpha() else "0"


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
    shape = _letters.sub("w", _digits.sub("0", _hex_runs(_masked_hash, name)))
    yield directory, shape
    yield directory, ""
    yield _digits.sub("0", directory), f"{shape}*"


def _natural_key(url: str) -> SortKey:
    """A key that sorts page 9 before page 10."""
    return tuple(int(part[:18]) if part.isdecimal() else part for part in _number.split(url))


def _neighbours(group: list[tuple[SortKey, int]], place: int) -> Iterator[int]:
    """The pages on both sides of a place, alternating."""
    for step in range(MAX_SIBLINGS + 1):
        for at in (place + step, place - step - 1):
            if 0 <= at < len(group):
                yield group[at][1]


class TitleIndex:
    """Indexes the pages of a site by their words. ``pages`` are nodes with URL and title."""

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
        """The words of a page that some but not all pages have, with their information, the rarest first."""
        counts = ((word, self._counts[word]) for word in title_words(url, title))
        words = {word: log(self._size / count) for word, count in counts if 0 < count < self._size}
        return dict(sorted(words.items(), key=lambda pair: (-pair[1], pair[0])))

    def pages_sharing(self, words: Mapping[str, float]) -> dict[int, float]:
        """The pages that share the rarest of these words, with the sum of the shared information."""
        pages: dict[int, float] = {}
        selected = [word for word in words if self._counts[word] <= MAX_PAGES_PER_WORD]
        for word in selected[:_MAX_LOOKED_UP]:
            for node in self._pages[word]:
                pages[node] = pages.get(node, 0.0) + words[word]
        return pages

    def subjects(self, words: Mapping[str, float]) -> Iterator[tuple[str, list[int]]]:
        """The words that some other pages share, the rarest first, each with a sample of these pages."""
        subjects = [word for word in words if 2 <= self._counts[word] <= MAX_PAGES_PER_WORD]
        for word in subjects[:_MAX_SUBJECTS]:
            pages = self._pages[word]
            yield word, pages[:: -(-len(pages) // _PAGES_PER_SUBJECT)]

    def similarity(self, words: Mapping[str, float], url: str, title: str) -> tuple[float, list[str]]:
        """The similarity of a page with these words to another page, from 0 to 1, and the words that both have.

        Words that most pages have count little, even when a page has no others.
        """
        other = self.rare_words(url, title)
        shared = [word for word in words if word in other]
        common = sum(words[word] for word in shared)
        if not common:
            return 0.0, []
        norm = sqrt(sum(words.values()) * sum(other.values()))
        return common / norm * min(1.0, common / log(self._size)), shared


@lru_cache(maxsize=4_096)
def title_words(url: str, title: str) -> frozenset[str]:
    """The words of a title and of the last part of a path, in lower case and roughly in the singular."""
    name = split_parent(url)[1]
    return frozenset(_plural("", word) for word in _words(f"{title} {name}".lower())) - _STOP_WORDS
