"""Copies with fresh links: pages that are equal but for ids in their URLs, and whose links have new ids on each page.

The ids, one or two, may stand anywhere in the path, also behind the name of the page, and the text may show them. A
parameter of a segment, as ``b`` in ``/a;b``, is a segment here. Two pages are copies if

- their URLs are equal when the segments of the ids are left open,
- so are, one by one, those of their links that are not on both pages: at least two, or one to another open URL,
- none of these links has the page's own ids, as links within a version or a language have,
- and text and pictures are equal without the ids.

Such a space is endless if the pages that the copies lead to are copies, too. Pure.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

from msgspec import Struct, field

from crawler.crawl.frontier.cache import Recent
from crawler.model import Lease, Url
from crawler.url.normalize import origin_of

Opening = tuple[int, ...]
"""The segments of a path that are left open, counted from its start or, below zero, from its end."""
Content = tuple[Callable[[], str], list[Url]]
"""What is compared of a page: text and pictures, and links."""

COPY_PREFIX: Final = "trap.copies: "
"""The start of the reason of a URL that is left out because it belongs to a space of copies."""
_OPENINGS: Final[tuple[Opening, ...]] = (
    *((0,), (1,), (2,), (3,), (-1,), (-2,)),
    *((0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (0, -1), (-2, -1)),
)
_MIN_LINKS: Final = 2  # so many links must have new ids, if one of them leads to the open URL of its page
_MIN_FORMS: Final = 3  # so many ids must be seen, and so many copies lead to new URLs
_MIN_SHOWN: Final = 6  # characters of an id that is shown in the text
_SHARE: Final = 5  # times as many copies as other pages among those that copies lead to
_MAX_TARGETS: Final = 20_000

_delimiters = re.compile("([/;])").split  # a semicolon delimits a parameter of a segment (RFC 3986 3.3)
_parts = re.compile(r"[A-Za-z0-9]++").findall
_count = re.compile(r"(?<![0-9])[0-9]{1,7}(?![0-9])").sub


class FreshSpace(Struct):
    """Pages of one origin that may be copies without end. ``reason`` is why a URL of the space is left out."""

    reason: str
    opening: Opening
    copies: int = 0
    leading: set[int] = field(default_factory=set)  # ids of copies that led to new URLs, a few
    forms: list[set[str]] = field(default_factory=list)  # of the ids in new URLs, a few of each
    targets: set[str] = field(default_factory=set)  # the open URLs of fresh links
    members: dict[str, list[tuple[int, Url, int]]] = field(default_factory=dict)  # depth, URL and id, by open URL
    is_endless: bool = False

    def lead(self, page: int, url: Url) -> None:
        """Note that a copy, by its id, leads to a new URL."""
        opened = _opened(url, self.opening)
        if opened and opened[0] in self.targets:
            for forms, value in zip(self.forms, opened[1], strict=True):
                if len(forms) < _MIN_FORMS:
                    forms.add(_count("#", value))  # segments that only count are left to the templates
            if len(self.leading) < _MIN_FORMS:
                self.leading.add(page)


class _FirstRead(Struct):
    """The first page of an open URL; its ``id`` is 0 while it waits to be read."""

    depth: int
    url: Url
    id: int
    links: int
    copies: int = 0
    differs: bool = False
    has_other_links: bool = False


class FreshLinks:
    """Finds spaces of copies with fresh links. ``load`` gives the content of a page that was read, by its id."""

    def __init__(self, load: Callable[[int], Content | None], evidence: int) -> None:
        self._load = load
        self._evidence = evidence
        self._reads: Recent[tuple[Opening, str], _FirstRead] = Recent()
        self.spaces: dict[tuple[str, Opening], FreshSpace] = {}

    def read(self, lease: Lease, links: list[Url], text: Callable[[], str]) -> list[FreshSpace]:
        """Compare a page with the first one of each of its open URLs. Returns the spaces in which it is a copy.

        ``text`` gives the text and the pictures of the page.
        """
        copy_of: list[FreshSpace] = []
        head, segments, tail = _split(lease.url)
        for opening, places in _open_places(_size(segments)):
            open_url = _open(head, segments, tail, places)
            first = self._reads.use((opening, open_url))
            if first is None or not first.id:
                self._reads.keep((opening, open_url), _FirstRead(lease.depth, lease.url, lease.id, len(links)))
            elif first.differs or first.id == lease.id:
                continue
            elif abs(first.links - len(links)) > 1:  # one of the pages may link to itself
                first.differs = first.has_other_links = True
            else:
                own = [segments[place] for place in places]
                if space := self._compare(first, lease, (text, links), opening, open_url, own):
                    copy_of.append(space)
        return copy_of

    def _compare(
        self, first: _FirstRead, lease: Lease, content: Content, opening: Opening, open_url: str, own: list[str]
    ) -> FreshSpace | None:
        before = self._load(first.id)
        if before is None:
            return None
        text, links = content
        fresh = _targets({*links}.difference(before[1], [lease.url]), opening, own, open_url)
        _, own_before = _opened(first.url, opening) or ("", [])
        stale = _targets({*before[1]}.difference(links, [first.url]), opening, own_before, open_url)
        if not fresh or not stale or fresh.keys() != stale.keys():
            first.differs = first.has_other_links = True
            return None
        text_before, text_now = before[0](), text()
        if text_now != text_before and _without(text_now, own, fresh) != _without(text_before, own_before, stale):
            first.differs = True
            return None
        first.copies += 1
        space = self._space(lease.url, opening, open_url)
        space.copies += 1
        if len(space.targets) < _MAX_TARGETS:
            space.targets.update(fresh)
        members = space.members.setdefault(open_url, [(first.depth, first.url, first.id)])
        members.append((lease.depth, lease.url, lease.id))
        return space

    def _space(self, url: Url, opening: Opening, open_url: str) -> FreshSpace:
        key = (origin_of(url), opening)
        if (space := self.spaces.get(key)) is None:
            reason = f"{COPY_PREFIX}pages such as {open_url} are equal but for * in their URLs and in their links"
            space = self.spaces[key] = FreshSpace(reason, opening, forms=[set() for _ in opening])
        return space

    def decide(self, space: FreshSpace) -> bool:
        """Whether a space is found to be endless now."""
        if space.is_endless or space.copies < self._evidence or len(space.leading) < _MIN_FORMS:
            return False
        reads = [read for target in space.targets if (read := self._reads.get((space.opening, target)))]
        different = sum(read.differs for read in reads)
        equal = sum(read.copies > 0 and not read.differs for read in reads)
        has_forms = all(len(forms) >= _MIN_FORMS for forms in space.forms)
        space.is_endless = has_forms and equal > 0 and equal >= _SHARE * different
        return space.is_endless

    def space_of(self, url: Url) -> FreshSpace | None:
        """The endless space that a URL belongs to, unless it is the first of its pages."""
        if not any(space.is_endless for space in self.spaces.values()):
            return None
        origin = origin_of(url)
        head, segments, tail = _split(url)
        for opening, places in _open_places(_size(segments)):
            open_url = _open(head, segments, tail, places)
            space = self.spaces.get((origin, opening))
            if space and space.is_endless and open_url in space.targets:
                first = self._reads.get((opening, open_url))
                if first is None:
                    self._reads.keep((opening, open_url), _FirstRead(0, url, 0, 0))
                elif not first.has_other_links:
                    return space
        return None


def _targets(links: Iterable[Url], opening: Opening, own: list[str], open_url: str) -> dict[str, list[str]]:
    """The values of the open segments of links by their open URLs; nothing if these are no fresh links.

    One link alone may be the next page, unless it leads from the open URL of its page to another one.
    """
    targets: dict[str, list[str]] = {}
    for link in links:
        opened = _opened(link, opening)
        if opened is None or opened[0] in targets or any(map(str.__eq__, opened[1], own)):
            return {}
        targets[opened[0]] = opened[1]
    return targets if len(targets) >= _MIN_LINKS or open_url not in targets else {}


def _without(text: str, own: list[str], targets: dict[str, list[str]]) -> str:
    """A text without the ids of a page and of its links, which may be parts of their segments, as in ``s-9F8A``."""
    values = {value for values in (own, *targets.values()) for value in values}
    ids = {part for value in values for part in (value, *_parts(value)) if len(part) >= _MIN_SHOWN}
    return re.sub("|".join(map(re.escape, sorted(ids, key=len, reverse=True))), "", text) if ids else text


@lru_cache(maxsize=256)  # a URL has at most thousands of segments
def _open_places(size: int) -> tuple[tuple[Opening, Opening], ...]:
    """Each opening that a path of ``size`` segments has room for, with its places among segments and delimiters."""
    found = []
    for opening in _OPENINGS:
        places = [at if at >= 0 else size + at for at in opening]
        if min(places) >= 0 and max(places) < size and len({*places}) == len(places):
            found.append((opening, tuple(2 * place for place in places)))
    return tuple(found)


def _opened(url: Url, opening: Opening) -> tuple[str, list[str]] | None:
    """A URL with ``*`` for its open segments, and their values; None if its path is too short."""
    head, segments, tail = _split(url)
    places = dict(_open_places(_size(segments))).get(opening)
    if places is None:
        return None
    return _open(head, segments, tail, places), [segments[place] for place in places]


def _split(url: Url) -> tuple[str, list[str], str]:
    """A URL as its origin with a slash, the segments of its path, and its query with the question mark.

    Between two segments is their delimiter.
    """
    start = url.index("/", 8) + 1
    path, mark, query = url[start:].partition("?")
    return url[:start], _delimiters(path), mark + query


def _size(segments: list[str]) -> int:
    """The number of segments between the delimiters; an empty last one does not count."""
    return (len(segments) + 1) // 2 - (not segments[-1])


def _open(head: str, segments: list[str], tail: str, places: Opening) -> str:
    """The URL with ``*`` in these places."""
    opened = segments.copy()
    for place in places:
        opened[place] = "*"
    return f"{head}{''.join(opened)}{tail}"
