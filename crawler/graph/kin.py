"""Which pages are the nearest kin of a URL by its path: same directory, names of the same make, next numbers."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Final

from crawler.model import Url
from crawler.url.normalize import origin

NEAREST: Final = 15  # siblings that are looked at
_ENOUGH: Final = 3  # siblings, for a narrower kinship to do
_INDEXES: Final = ("", "index.html", "index.htm", "index.php")
_ENDS: Final = ("", ".html", ".htm", ".php")
_number = re.compile(r"(\d+)")
_digits = re.compile(r"\d+")
_letters = re.compile(r"[a-z_%~+-]+", re.IGNORECASE)
_hash = re.compile(r"(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{6,}", re.IGNORECASE)

Key = tuple[str | int, ...]


class Kin:
    """The pages of a site by their paths. ``pages`` are nodes with their URLs. Takes some microseconds a page."""

    def __init__(self, pages: Iterable[tuple[int, str]]) -> None:
        self._groups: dict[tuple[str, str], list[tuple[Key, int]]] = {}
        for node, url in pages:
            order = _order(url)
            for kinship in _kinships(url):
                self._groups.setdefault(kinship, []).append((order, node))
        for group in self._groups.values():
            group.sort()

    def siblings(self, url: str, node: int) -> list[int]:
        """The nearest siblings of a URL, the nearest first. The narrowest kinship that has some is taken."""
        order = _order(url)
        found: list[int] = []
        for kinship in _kinships(url):
            group = self._groups.get(kinship, [])
            near = [each for each in _around(group, bisect_left(group, (order, -1))) if each != node]
            if len(near) >= _ENOUGH:
                return near[:NEAREST]
            found = found or near
        return found


def above(url: str) -> Iterator[list[str]]:
    """The URLs that can be the index of a page's directory, then of the one above it, up to the site's root."""
    home = origin(Url(url))
    directory = parent(url)[0]
    while len(directory) > len(home):
        bare = directory.rstrip("/")
        names = [f"{directory}{name}" for name in _INDEXES] if directory.endswith("/") else [directory]
        if len(bare) > len(home):
            names += [f"{bare}{end}" for end in _ENDS]
        yield [name for name in names if name != url]
        directory = bare[: bare.rindex("/") + 1] if len(bare) > len(home) else ""


def kind(url: str) -> tuple[str, str]:
    """What the URLs of one kind of page have in common, such as those of all articles."""
    return [*_kinships(url)][-1]


def parent(url: str) -> tuple[str, str]:
    """The directory of a page and its name in it. A slash at the end makes no directory; a query is a name."""
    path, mark, query = url.partition("?")
    if mark:
        return path, query
    bare = path.rstrip("/")
    cut = bare.rfind("/") + 1
    return (bare[:cut], path[cut:]) if cut > len("https://") else (path, "")


def _kinships(url: str) -> Iterator[tuple[str, str]]:
    directory, name = parent(url)
    make = _letters.sub("w", _digits.sub("0", _hash.sub("0", name)))
    yield directory, make
    yield directory, ""
    yield _digits.sub("0", directory), f"{make}*"


def _order(url: str) -> Key:
    """What sorts page 9 before page 10."""
    return tuple(int(part[:18]) if part.isdecimal() else part for part in _number.split(url))


def _around(group: list[tuple[Key, int]], place: int) -> Iterator[int]:
    """The members on both sides of a place in turns."""
    for step in range(NEAREST + 1):
        for at in (place + step, place - step - 1):
            if 0 <= at < len(group):
                yield group[at][1]
