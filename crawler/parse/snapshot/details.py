"""Reads what tables say of a page and a crawl does not need: headings, description, words, the text of links. Pure.

It reads the snapshot of a page, which the state has anyway: its markup without scripts, styles and comments. So a crawl
costs nothing more, and states of older crawls have these columns too. Takes linear time.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable
from functools import lru_cache
from html import unescape
from typing import ClassVar, Final, NamedTuple

from msgspec import Struct

from crawler.parse.snapshot.blocks import (
    MAX_BLOCKS,
    MAX_CONTAINERS,
    Container,
    parts_of,
    split_jsonld,
    stable_hash,
    weight_of,
)
from crawler.parse.snapshot.text import LEAF, TAG_EFFECTS, Memo, clean_url, mask_variable_text, text_border

# The look-ahead rejects most tags by their first letter, which saves a third of the time.
_tags = re.compile(
    r"<(?=/?[abfhmnABFHMN])(/?)(a|area|article|nav|header|footer|aside|main|base)(?=[\s/>])([^<>]*+)>", re.IGNORECASE
).finditer
_border: Final = text_border.pattern[1:-1]
# Most tags that end a text have no text behind them, but one more such tag or a link: they are read with it.
_rows = re.compile(
    rf"({_border}(?:\s*+{_border})*+)"
    r"(\s*+<a (?:class=\"[^\"<>]*+\" )?href=\"([^\"<>&\s]++)\"([^<>]*+)>([^<]{0,999}+)</a>)?"
).split
_naming_tags = re.compile(r"<(?=[hmHM])(h1|meta)(?=[\s/>])([^<>]*+)>", re.IGNORECASE).finditer
_between_tags = re.compile(r"<[^<>]*+>").split
_attributes = re.compile(r"([^\s/=]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"']++))?+)?+").finditer
_alt = re.compile(r"<img\b[^<>]{0,2000}?\balt\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)')", re.IGNORECASE).search
_is_heading = re.compile(rb"\x1fh[1-6][^\x1f]*\Z").search
_head_end = re.compile(r"</head\b|<body\b", re.IGNORECASE).search
MAX_TEXT: Final = 300
"""Characters of an anchor, a heading and a description that are kept."""
_MAX_ATTRIBUTES: Final = 8_192  # characters of one tag
_MAX_ANCHOR: Final = 20_000  # characters of markup in one link
_MAX_LANDMARKS: Final = 50  # in one another
_MIN_TEXT: Final = 5  # words without links that make a text of a page, not a label
_MIN_PROSE: Final = 3  # words without links in a sentence that contains a link, if nothing ends it
_ENDS_OF_SENTENCES: Final = (".", "!", "?", "。")
_OUTER: Final = frozenset({"footer", "aside"})
_LANDMARKS: Final = frozenset({"nav", "header", "footer", "aside", "main", "article"})


class Anchor(Struct, array_like=True, gc=False):
    """One link as it stands in the markup: its href, its text, its rel, and the landmark element around it, or "".

    ``slot`` is its place in the template, as :mod:`.blocks` knows it, or 0; ``in_prose``: it stands in a sentence.
    """

    href: str
    text: str
    rel: str
    landmark: str
    slot: int = 0
    in_prose: bool = False


class Headline(NamedTuple):
    """How a page names itself. ``h1`` is its first heading of this level, ``h1_count`` the number of them."""

    h1: str
    h1_count: int
    description: str
    robots: str


class Details(Struct, frozen=True, array_like=True):
    """What a page shows, with the fields of its :class:`Headline`.

    ``texts`` are its longer texts: the number of links before each and up to its end, its slot, and a hash of it
    without figures.
    """

    h1: str
    h1_count: int
    description: str
    robots: str
    words: int
    base: str
    anchors: list[Anchor]
    texts: list[tuple[int, int, int, int]] = []


def read_details(markup: str) -> Details:
    """The details of a page from the markup of its snapshot."""
    start = body_start(markup)
    shown, statements = split_jsonld(markup[start:])
    scan = _Scan(markup[:start] + shown)
    scan.add(_read_piece(markup[:start])[1], 0)
    scan.read(start)
    texts = scan.texts()
    words = scan.words + sum(map(words_in, statements))
    return Details(*read_headline(markup), words, scan.base, scan.anchors, texts)


_Tag = tuple[str, str, str | None, str, int]
"""The name, with a slash if it is an end tag, the href, the text, None if that ends elsewhere, the rel, and its end."""


def _read_piece(piece: str) -> tuple[int, list[_Tag]]:
    """The words of a tag, or of a text with its inline tags, and those of its tags that count here."""
    tags: list[_Tag] = []
    for tag in _tags(piece):
        name = (tag[1] + tag[2]).lower()
        if name.removeprefix("/") in _LANDMARKS:
            tags.append((name, "", "", "", 0))
        elif not tag[1] and "href" in (attributes := _read_attributes(tag[3])):
            text: str | None = attributes.get("alt", "")
            if name == "a":
                is_whole = piece.find("</a", tag.end(), tag.end() + _MAX_ANCHOR) >= 0
                text = _text_until(piece, tag.end(), "</a") if is_whole else None
            tags.append((name, attributes["href"], text, attributes.get("rel", "").lower(), tag.end()))
    return words_in(piece), tags


def _read_borders(written: str) -> tuple[bytes | None, list[tuple[str, str]], int, list[_Tag]]:
    """What tags do that end a text, one after the other.

    The role of the text behind them, None if it is the same as before; the containers that they enter, by their tags,
    and leave, by their names; their words, and those of the tags that count here.
    """
    role, steps, words, tags = None, [], 0, []
    for border in text_border.finditer(written):
        effect, count, found = _TAGS[border[0]]
        words += count
        tags += [(*tag[:-1], border.start() + tag[-1]) for tag in found]
        if effect.name:
            role = effect.leaf
        if effect.opens:
            steps.append(("", effect.name) if effect.ends else (border[0], ""))
    return role, steps, words, tags


_PIECES: Final = Memo(_read_piece)
_TAGS: Final = Memo(lambda written: (TAG_EFFECTS[written], *_read_piece(written)))
_BORDERS: Final = Memo(_read_borders)


class _Point(dict[str, tuple["_Point", int, list[_Tag]]]):
    """Where texts stand: in a container, behind the tag ``leaf``. ``slot`` is 0 where a page shows nothing.

    ``point[borders]`` is the point behind these tags, with their words, and those of them that count here. The pages of
    a site repeat their points, so each is made once.
    """

    __slots__ = ("container", "is_heading", "landmark", "leaf", "place", "slot")
    known: ClassVar[dict[tuple[int, bytes], "_Point"]] = {}
    steps: ClassVar = 0  # that are kept, as weight_of() counts them

    def __init__(self, container: Container, leaf: bytes) -> None:
        super().__init__()
        self.container, self.leaf = container, leaf
        self.place = container.place + leaf
        self.is_heading = bool(_is_heading(self.place))
        self.landmark = "nav" if container.is_frame and not container.is_mute else ""
        self.slot = 0 if container.is_mute else _slot(self.place)

    @classmethod
    def first(cls) -> "_Point":
        """Where a page begins. No page comes again to the points of an earlier root, which keep its containers."""
        root = Container.root()
        if cls.steps >= MAX_CONTAINERS or (id(root), b"") not in cls.known:
            for point in cls.known.values():
                point.clear()  # a process may collect no cycles
            cls.known.clear()
            cls.steps = 0
        return cls.of(root, b"")

    @classmethod
    def of(cls, container: Container, leaf: bytes) -> "_Point":
        """The point of a text: it keeps its container, so that no other one has its number."""
        point = cls.known.get((id(container), leaf)) or cls(container, leaf)
        if cls.steps < MAX_CONTAINERS:
            cls.known[id(container), leaf] = point
        return point

    def __missing__(self, borders: str) -> "tuple[_Point, int, list[_Tag]]":
        role, steps, words, tags = _BORDERS[borders]
        container = self.container
        for entered, left in steps:
            container = container[entered] if entered else container.without(left)
        step = _Point.of(container, self.leaf if role is None else role), words, tags
        if _Point.steps < MAX_CONTAINERS:
            _Point.steps += weight_of(borders)
            self[borders] = step
        return step


class _Scan:
    """Reads the body of a page in one pass: its anchors, and its texts."""

    def __init__(self, markup: str) -> None:
        self._markup = markup
        self._around: list[str] = []
        self._outer = self.base = ""
        self.words = 0
        self.anchors: list[Anchor] = []
        # texts with more in them than a link: where each stands, its markup, and the links before it and up to its end
        self._passages: list[tuple[_Point, str, int, int]] = []

    def add(self, tags: Iterable[_Tag], begin: int) -> None:
        """Add the tags of a piece that begins at a place of the markup."""
        for name, href, shown, rel, end in tags:
            if name == "base":
                self.base = self.base or href
            elif name in {"a", "area"}:
                text = _text_until(self._markup, begin + end, "</a") if shown is None else shown
                self.anchors.append(Anchor(href.strip(), text, rel, self._outer))
            else:
                _enter(self._around, name.removeprefix("/"), name[:1] == "/")
                self._outer = _landmark(self._around)

    def read(self, end: int) -> None:
        """Read the markup from ``end`` on."""
        point = _Point.first()
        anchors = self.anchors
        words = 0
        columns = iter(["", *[None] * 4, *_rows(self._markup[end:])])
        for borders, link, href, more, text, rest in zip(*[columns] * 6, strict=True):
            point, count, tags = point[borders]
            words += count
            if tags:
                self.add(tags, end)
            end += len(borders)
            if link:
                end += len(link)
                shown = (unescape(text) if "&" in text else text).split()
                words += len(shown)
                rel = _read_attributes(more).get("rel", "").lower() if more else ""
                anchors.append(Anchor(href, " ".join(shown)[:MAX_TEXT], rel, self._outer or point.landmark, point.slot))
            if rest or (link and point.is_heading):
                self._read_text(point, link or "", rest, end)
                end += len(rest)
        self.words += words

    def _read_text(self, point: _Point, link: str, rest: str, end: int) -> None:
        """Read a text that ends with ``rest``. A link alone and a label are no texts, but in headings."""
        before = len(self.anchors) - bool(link)
        if "<" in rest:
            count, tags = _PIECES[rest]
            self.add(tags, end)
        else:
            count = len((unescape(rest) if "&" in rest else rest).split())
        self.words += count
        is_blank = not rest or rest.isspace()
        is_label = not link and count < _MIN_TEXT and "<" not in rest and "&" not in rest
        if point.slot and (link or not is_blank) and (point.is_heading or not (is_label or is_blank)):
            self._passages.append((point, link + rest, before, len(self.anchors)))

    def texts(self) -> list[tuple[int, int, int, int]]:
        """The longer texts. Gives each link in a text its slot."""
        texts = []
        for point, raw, at, after in self._passages[:MAX_BLOCKS]:
            anchors = self.anchors[at:after]
            numbers_of: dict[str, list[int]] = {}
            for number, anchor in enumerate(anchors):
                numbers_of.setdefault(clean_url(anchor.href), []).append(number)
            begin = 0
            for part in parts_of(point.leaf, raw):
                _, *targets = part.compared_text.split("\x1f")
                found = []
                for target in targets:
                    numbers = numbers_of.get(target, ())  # none: a picture, or a link without an anchor
                    if (nth := bisect_left(numbers, begin)) < len(numbers):
                        begin = numbers[nth] + 1
                        found.append(anchors[begin - 1])
                words = len(part.text.split()) - sum(len(anchor.text.split()) for anchor in found)
                own = point.place + LEAF + part.token if part.token else point.place
                # the hash of a long place may begin with the mark of a statement
                if part.compared_text and (words >= _MIN_TEXT or _is_heading(own)) and not own.startswith(b"="):
                    shown = mask_variable_text(part.text).encode("utf-8", "surrogatepass")
                    texts.append((at + begin - len(found), at + begin, _slot(own), stable_hash(shown)))
                is_prose = words >= _MIN_PROSE or (words > 0 and part.text.endswith(_ENDS_OF_SENTENCES))
                for anchor in found:
                    anchor.slot, anchor.in_prose = _slot(own), is_prose
                    anchor.landmark = anchor.landmark or point.landmark
        return texts


def read_headline(markup: str) -> Headline:
    """How a page names itself, from the markup of its snapshot."""
    headings: list[str] = []
    metas: dict[str, str] = {}
    for tag in _naming_tags(markup):
        if tag[1].lower() == "h1":
            headings.append(_text_until(markup, tag.end(), "</h1"))
        else:
            attributes = _read_attributes(tag[2])
            metas.setdefault(attributes.get("name", "").lower(), attributes.get("content", ""))
    description, robots = (_one_line(metas.get(name, "")) for name in ("description", "robots"))
    return Headline(next(filter(None, headings), ""), len(headings), description, robots)


def count_words(markup: str) -> int:
    """The words in the body of a page, from the markup of its snapshot."""
    return len(read_text(markup).split())


def read_text(markup: str) -> str:
    """The text in the body of a page, from the markup of its snapshot."""
    return _plain(markup[body_start(markup) :])


def body_start(markup: str) -> int:
    """Where the body of a page begins, and what is not shown ends."""
    head = _head_end(markup)
    return head.start() if head else 0


def words_in(markup: str) -> int:
    """The words in a part of the markup of a page."""
    return len(_plain(markup).split())


def _plain(markup: str) -> str:
    return unescape(" ".join(_between_tags(markup)))


@lru_cache(maxsize=20_000)
def _slot(place: bytes) -> int:
    return stable_hash(place)


def _enter(around: list[str], name: str, is_end: bool) -> None:
    if not is_end:
        around += [name] * (len(around) < _MAX_LANDMARKS)
    elif name in around:
        del around[len(around) - 1 - around[::-1].index(name) :]


def _landmark(around: list[str]) -> str:
    """The landmark that counts inside of these: not an aside or a footer around an article, which is content."""
    last = len(around) - around[::-1].index("article") if "article" in around else 0
    names = [name for at, name in enumerate(around) if name != "article" and (at >= last or name not in _OUTER)]
    return next((name for name in names if name in _OUTER), names[-1] if names else "")


@lru_cache(maxsize=20_000)  # the pages of a site repeat their menus
def _read_attributes(text: str) -> dict[str, str]:
    attributes: dict[str, str] = {}
    for found in _attributes(text[:_MAX_ATTRIBUTES]):
        name, *values = found.groups("")
        attributes.setdefault(name.lower(), unescape("".join(values)))
    return attributes


def _text_until(markup: str, start: int, end_tag: str) -> str:
    """The text of an element; the description of a picture in it where it has none."""
    limit = start + _MAX_ANCHOR
    end = markup.find(end_tag, start, limit)
    end = markup.find(end_tag.upper(), start, limit) if end < 0 else end
    return _text_of(markup[start : end if end >= 0 else start])


@lru_cache(maxsize=20_000)
def _text_of(inner: str) -> str:
    text = _one_line(" ".join(_between_tags(inner)))
    picture = None if text else _alt(inner)
    return _one_line(picture[1] or picture[2] or "") if picture else text


def _one_line(text: str) -> str:
    return " ".join((unescape(text) if "&" in text else text).split())[:MAX_TEXT]
