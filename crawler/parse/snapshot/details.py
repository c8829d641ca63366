"""Reads what tables say of a page and a crawl does not need: headings, description, words, the text of links. Pure.

It reads the snapshot of a page, which the state has anyway: its markup without scripts, styles and comments. So a crawl
costs nothing more, and states of older crawls have these columns too. Takes linear time.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from html import unescape
from typing import Final, NamedTuple

from msgspec import Struct

from crawler.parse.snapshot.blocks import MAX_BLOCKS, Container, extract_jsonld, parts_of, stable_hash
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
_MAX_UNREAD: Final = 100  # links in a row that a page does not show, such as those in drawings
_MIN_TEXT: Final = 5  # words without links that make a text of a page, not a label
_MIN_PROSE: Final = 3  # words without links in a sentence that contains a link
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

    ``texts`` are its longer texts: the number of links before each and up to its end, and a hash of it without figures.
    """

    h1: str
    h1_count: int
    description: str
    robots: str
    words: int
    base: str
    anchors: list[Anchor]
    texts: list[tuple[int, int, int]] = []


def read_details(markup: str) -> Details:
    """The details of a page from the markup of its snapshot."""
    start = body_start(markup)
    body, statements = extract_jsonld(markup[start:])
    scan = _Scan(markup)
    scan.add(_read_piece(markup[:start])[1], 0)
    scan.read(markup[start:], start)
    shown = scan
    if statements:
        shown = _Scan(markup)
        shown.read(body, start)
    texts = _find_slots(shown.passages[: MAX_BLOCKS - len(statements)], scan.anchors)
    return Details(*read_headline(markup), scan.words, scan.base, scan.anchors, texts)


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


_Passage = tuple[Container, bytes, str, Anchor | None]
"""A text: its container, what gives it its role, its markup, and the anchor if that is all of it."""


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


class _Scan:
    """Reads the body of a page in one pass: its anchors, and its passages."""

    def __init__(self, markup: str) -> None:
        self._markup = markup
        self._around: list[str] = []
        self._outer = self.base = ""
        self.words = 0
        self.anchors: list[Anchor] = []
        self.passages: list[_Passage] = []

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

    def _add_plain(self, href: str, more: str, text: str) -> Anchor:
        shown = (unescape(text) if "&" in text else text).split()
        self.words += len(shown)
        rel = _read_attributes(more).get("rel", "").lower() if more else ""
        anchor = Anchor(href, " ".join(shown)[:MAX_TEXT], rel, self._outer)
        self.anchors.append(anchor)
        return anchor

    def read(self, body: str, end: int) -> None:
        """Read markup that begins at ``end``."""
        container, leaf, is_mute = Container.root(), b"", False
        words = 0
        columns = iter(["", *[None] * 4, *_rows(body)])
        for borders, link, href, more, text, rest in zip(*[columns] * 6, strict=True):
            role, steps, count, tags = _BORDERS[borders]
            words += count
            if tags:
                self.add(tags, end)
            end += len(borders)
            if role is not None:
                leaf = role
            for entered, left in steps:
                container = container[entered] if entered else container.without(left)
                is_mute = container.is_mute
            anchor, raw = None, rest
            if link:
                end += len(link)
                anchor = self._add_plain(href, more, text)
                raw = link + rest
            if rest:
                end += len(rest)
                if "<" in rest:
                    count, tags = _PIECES[rest]
                    words += count
                    self.add(tags, end - len(rest))
                else:
                    words += len((unescape(rest) if "&" in rest else rest).split())
                if anchor and not rest.isspace():
                    anchor = None
            if not is_mute and (anchor or (raw and not raw.isspace())):
                self.passages.append((container, leaf, raw, anchor))
        self.words += words


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


def _find_slots(passages: list[_Passage], anchors: list[Anchor]) -> list[tuple[int, int, int]]:
    """Give each link its slot; returns the longer texts."""
    hrefs: list[str] = []
    texts = []
    at = 0
    last: tuple[object, object] = None, None
    for container, leaf, raw, plain in passages:
        if last[0] is not container or last[1] is not leaf:
            last, place = (container, leaf), container.place + leaf
            slot, landmark, is_heading = _slot(place), "nav" if container.is_frame else "", bool(_is_heading(place))
        if plain and not is_heading and anchors[at : at + 1] == [plain]:  # most links of most pages
            anchor = anchors[at]
            anchor.slot, anchor.landmark = slot, anchor.landmark or landmark
            at += 1
            continue
        if not is_heading and "<" not in raw and "&" not in raw and len(raw.split()) < _MIN_TEXT:  # a label
            continue
        for part in parts_of(leaf, raw):
            _, *targets = part.compared_text.split("\x1f")
            if targets and not hrefs:
                hrefs = [clean_url(anchor.href) for anchor in anchors]
            found = []
            for target in targets:
                with suppress(ValueError):  # a picture, or a link without an anchor
                    at = hrefs.index(target, at, at + _MAX_UNREAD) + 1
                    found.append(anchors[at - 1])
            words = len(part.text.split()) - sum(len(anchor.text.split()) for anchor in found)
            own = place + LEAF + part.token if part.token else place
            # the hash of a long place may begin with the mark of a statement
            if part.compared_text and (words >= _MIN_TEXT or _is_heading(own)) and not place.startswith(b"="):
                shown = mask_variable_text(part.text).encode("utf-8", "surrogatepass")
                texts.append((at - len(found), at, stable_hash(shown)))
            for anchor in found:
                anchor.slot, anchor.in_prose = _slot(own), words >= _MIN_PROSE
                anchor.landmark = anchor.landmark or landmark
    return texts


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
