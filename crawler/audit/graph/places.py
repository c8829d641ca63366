"""Where the links of a page stand: in its text, in a list, or in a box that its template has around it. Pure.

A link of the template is one that other pages repeat at the same slot (:mod:`crawler.parse.snapshot.blocks`): most
pages that have the slot, or the pages that its box leads to, as those of a section do. Pages that repeat one another's
boxes share a template (https://doi.org/10.1145/511446.511522, https://arxiv.org/abs/1409.2590). What a page has of its
own lies between its first and its last text that others do not have, and divides the template into what is before and
after it. A side box leads to pages that have it, too: the topics below a text lead to others. Elements such as nav and
footer only decide between boxes that nothing else tells apart.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Mapping, Sequence
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from crawler.parse.snapshot.details import Anchor


class Place(StrEnum):
    """Where a link stands."""

    MENU = "menu"
    BREADCRUMB = "breadcrumb"
    FOOTER = "footer"
    SIDE = "side box"
    LIST = "list"
    CHANGING = "changing box"
    BODY = "body"


CONTENT: Final = frozenset({Place.BODY, Place.LIST})
"""The places in which somebody, or a list of pages of one kind, chose the page that the link leads to."""
BOXES: Final = frozenset({Place.FOOTER, Place.SIDE, Place.CHANGING})
"""The places that few people and search engines follow."""
_MOST: Final = 0.5
"""Share of the pages with a slot, from which on what they repeat there is of the template."""
_SAME: Final = 0.8
"""Share of the links of two boxes that both have, from which on they are one box. The list of a section names all pages
of it but the page itself; two boxes of related pages share some by chance."""
_FEW: Final = 3
"""Links or texts from which on there are many of them; more pages than that are many."""
_COMPARED: Final = 8  # boxes on the pages that a box leads to: those of one menu are alike
_RARE: Final = 0.2
"""Share of the pages up to which a text is a page's own. Lists repeat the beginning of an article."""
_BESIDE: Final = frozenset({"nav", "aside"})
_digits: Final = re.compile(r"\d+").sub


class PlacedPage(Struct):
    """A page: its URL, the URLs of its links in the order of the page, how each stands in it, and its texts.

    The texts are those of :class:`crawler.parse.snapshot.details.Details`.
    """

    url: str
    targets: Sequence[str]
    anchors: Sequence[Anchor]
    texts: Sequence[tuple[int, int, int, int]]


class _Own(Struct):
    """What a page has of its own: the links from ``begin`` to ``end``, and the number of its texts.

    ``last`` is the slot of its last link, 0 if an element footer tells where the footer is.
    """

    begin: int
    end: int
    texts: int
    last: int


def find_places(
    pages: Sequence[PlacedPage], changing: Mapping[str, Collection[str]], listed: Container[str] = ()
) -> list[list[Place]]:
    """The place of each link of each page. ``changing`` are the links of a page that not every read showed.

    ``listed`` are pages of the site that are not among ``pages``: a link to another URL may be a tool, such as "edit".
    Some hundred pages of one site show what repeats. Takes linear time in their links.
    """
    template = _Template(pages, changing, listed)
    return [template.places(page) for page in pages]


class _Template:
    """What the pages repeat."""

    def __init__(
        self, pages: Sequence[PlacedPage], changing: Mapping[str, Collection[str]], listed: Container[str]
    ) -> None:
        self.listed = listed
        self.boxes: dict[str, dict[int, tuple[str, ...]]] = {}
        self.texts = Counter(text for page in pages for text in {text for *_, text in page.texts})  # pages that have it
        marks: dict[int, list[str]] = defaultdict(list)  # by slot, the targets and the texts of links of each page
        moving = Counter[int]()
        for page in pages:
            boxes, texts = defaultdict[int, list[str]](list), defaultdict[int, list[str]](list)
            for target, anchor in zip(page.targets, page.anchors, strict=True):
                boxes[anchor.slot].append(target)
                texts[anchor.slot].append(anchor.text)
            self.boxes[page.url] = {slot: tuple(dict.fromkeys(targets)) for slot, targets in boxes.items()}
            for slot, linked in boxes.items():
                marks[slot] += {*linked, *texts[slot]}
            if shown := changing.get(page.url):
                for target, anchor in zip(page.targets, page.anchors, strict=True):
                    moving[anchor.slot] += 1 if target in shown else -1
        self.changing = {slot for slot, count in moving.items() if count > 0}
        by_slot: dict[int, dict[str, tuple[str, ...]]] = defaultdict(dict)  # the boxes of the pages that have a slot
        for url, having in self.boxes.items():
            for slot, targets in having.items():
                by_slot[slot][url] = targets
        sizes = Counter(  # pages that have a slot, also with a text that has no link
            slot for page in pages for slot in {*self.boxes[page.url], *(slot for *_, slot, _ in page.texts)}
        )
        few = min(_FEW, len(self.boxes) - 1)  # all pages of a small site are most of them
        self.repeated = {slot: _frequent(found, max(few + 1, _MOST * sizes[slot])) for slot, found in marks.items()}
        self.trails = {slot for slot, having in by_slot.items() if self._has_trails(slot, having)}
        self.moving = self.changing | self.trails

    def _has_trails(self, slot: int, having: Mapping[str, tuple[str, ...]]) -> bool:
        """Whether a slot has breadcrumbs: their links lead to pages that are one above the other."""
        left = (len(having) - 1) // (_FEW + 1)  # boxes that may be something else
        for url, targets in having.items():
            left -= not self._is_trail(url, slot, targets)
            if left < 0:
                return False
        return len({*having.values()}) > 1

    def _is_trail(self, url: str, slot: int, targets: tuple[str, ...]) -> bool:
        steps = zip(targets, (*targets[1:], url), strict=True)
        return all(
            _is_above(upper, lower) or self.boxes.get(upper, {}).get(slot) == targets[:number]
            for number, (upper, lower) in enumerate(steps)
        )

    def places(self, page: PlacedPage) -> list[Place]:
        """The place of each link of a page."""
        boxes = self.boxes[page.url]
        links = [*zip([anchor.slot for anchor in page.anchors], page.targets, strict=True)]
        entries: set[int] = set()  # of a list, by one author
        if len(links) > sum(map(len, boxes.values())):
            entries = {slot for (slot, _), times in Counter(links).items() if times >= _FEW}
        shared = {slot for slot, box in boxes.items() if self._is_shared(page.url, slot, box)}
        repeated = [slot not in entries and (slot in shared or target in self.repeated[slot]) for slot, target in links]
        own = self._own_part(page, repeated)
        found = []
        listed, begin, end, moving = (Place.LIST, own.begin, own.end, self.moving)  # enums are slow
        for at, (anchor, is_repeated) in enumerate(zip(page.anchors, repeated, strict=True)):
            is_own = begin <= at < end and not (is_repeated and anchor.landmark in _BESIDE)
            is_entry = is_own and not (anchor.in_prose or anchor.slot in moving)  # as most links of a page's own
            found.append(listed if is_entry else self._place(page, at, own, is_own=is_own, is_repeated=is_repeated))
        has_trail = Place.BREADCRUMB in found
        for at in reversed(range(len(found) - 1 if has_trail else 0)):  # its first step may look unlike the others
            near, after = page.anchors[at : at + 2]
            is_near = found[at + 1] is Place.BREADCRUMB and near.landmark == after.landmark
            if is_near and found[at] is Place.MENU and _is_above(page.targets[at], page.targets[at + 1]):
                found[at] = Place.BREADCRUMB
        return found

    def _own_part(self, page: PlacedPage, repeated: Sequence[bool]) -> _Own:
        own = [span for *span, text in page.texts if self.texts[text] <= max(1, _RARE * len(self.boxes))]
        if len(own) > 1 and page.anchors and repeated[-1]:
            slots = [anchor.slot for anchor in page.anchors]
            if slots.index(slots[-1]) < own[-1][0]:
                del own[-1]  # a footer may have a text of the page, such as a date
        links = [at for at, is_menu in enumerate(repeated) if not is_menu] if not own else []
        # a page without anything of its own is a menu
        spans = own or [[at, at + 1] for at in links[:1] + links[-1:]] or [[len(repeated)] * 2]
        begin, end = spans[0][0], spans[-1][1]
        has_footer = any(anchor.landmark == "footer" for anchor in page.anchors[end:])
        return _Own(begin, end, len(own), page.anchors[-1].slot if page.anchors and not has_footer else 0)

    def _place(self, page: PlacedPage, at: int, own: _Own, *, is_own: bool, is_repeated: bool) -> Place:
        target, anchor = page.targets[at], page.anchors[at]
        slot, landmark = anchor.slot, anchor.landmark
        has_same_text = anchor.text in self.repeated[slot]
        box = self.boxes[page.url][slot]
        place = Place.LIST
        if slot in self.changing:
            place = Place.CHANGING
        elif slot in self.trails and target != page.url:
            place = Place.BREADCRUMB
        elif anchor.in_prose and (is_own or not (is_repeated or has_same_text)):
            place = Place.BODY
        elif is_own or (landmark == "nav" and target not in self.repeated[slot] and _is_like(target, page.url)):
            place = Place.LIST
        elif has_same_text and target not in self.boxes and target not in self.listed:  # a tool
            place = _in_template(page, at, own, is_repeated=is_repeated)
        elif landmark == "main" and at >= own.end and target not in self.repeated[slot]:  # the numbers below a list
            place = Place.LIST
        elif is_repeated:
            place = _in_template(page, at, own, is_repeated=is_repeated)
        elif at < own.begin and landmark == "nav" and not has_same_text:
            place = Place.MENU
        elif landmark == "aside" or (at >= own.end and landmark != "main" and _FEW <= len(box) <= own.texts):
            known = [slot in self.boxes[to] for to in box[:: len(box) // _COMPARED + 1] if to in self.boxes]
            place = Place.LIST if has_same_text or sum(known) < _MOST * len(known) else Place.SIDE
        return place

    def _is_shared(self, url: str, slot: int, targets: tuple[str, ...]) -> bool:
        """Whether the pages that a box leads to have the same box."""
        own = {*targets, url}
        known = [target for target in targets if target in self.boxes]
        having = [target for target in known if slot in self.boxes[target]]
        if len(own) < _FEW or not having or len(having) < _MOST * len(known):
            return False
        others = ({target, *self.boxes[target][slot]} for target in having[:: len(having) // _COMPARED + 1])
        return all(len(own & other) >= _SAME * len(own | other) for other in others)


def _in_template(page: PlacedPage, at: int, own: _Own, *, is_repeated: bool) -> Place:
    landmark, slot = page.anchors[at].landmark, page.anchors[at].slot
    near = landmark or next((anchor.landmark for anchor in page.anchors[at + 1 : at + 2]), "")
    if at >= own.end and (slot == own.last if own.last else landmark == "footer"):
        return Place.FOOTER
    return Place.MENU if is_repeated and (at < own.begin or near == "nav") else Place.SIDE


def _frequent(marks: list[str], least: float) -> set[str]:
    return {mark for mark, count in Counter(marks).items() if count >= least}


def _is_like(url: str, other: str) -> bool:
    """Whether two URLs differ in their figures alone, as the pages of a list do."""
    return _digits("", url) == _digits("", other)


def _is_above(upper: str, lower: str) -> bool:
    """Whether a URL is in a folder above that of another, or is the index of its folder."""
    (high, _, name), (low, _, below) = (urlsplit(url).path.rpartition("/") for url in (upper, lower))
    are_indexes = [name.partition(".")[0] in {"", "index"} for name in (name, below)]
    return low.startswith(f"{high}/") or (low == high and are_indexes == [True, False])
