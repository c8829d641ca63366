"""Reads what tables say of a page and a crawl does not need: headings, description, words, the text of links. Pure.

It reads the snapshot of a page, which the state has anyway: its markup without scripts, styles and comments. So a crawl
costs nothing more, and states of older crawls have these columns too. Takes linear time.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from html import unescape
from typing import Final, NamedTuple

from msgspec import Struct

from crawler.parse.snapshot.blocks import ContentBlock, blocks_of, read_entries, stable_hash
from crawler.parse.snapshot.text import clean_url, common_prefix, mask_variable_text

# The first part reads most links of most pages at once. The look-ahead rejects most tags by their first letter, which
# saves a third of the time.
_tags = re.compile(
    r"(?-i:<a (?:class=\"[^\"<>]*+\" )?href=\"([^\"<>&\s]++)\"([^<>]*+)>([^<]{0,999}+)</a>)"
    r"|<(?=/?[abfhmnABFHMN])(/?)(a|area|article|nav|header|footer|aside|main|base)(?=[\s/>])([^<>]*+)>",
    re.IGNORECASE,
).finditer
_PLAIN_LINK: Final = 3  # the last group of the first part
_naming_tags = re.compile(r"<(?=[hmHM])(h1|meta)(?=[\s/>])([^<>]*+)>", re.IGNORECASE).finditer
_naming_tag = re.compile(r"</?(?:h1|meta)\b", re.IGNORECASE).search
_between_tags = re.compile(r"<[^<>]*+>").split
_any_tag = re.compile(r"<[^<>]*+>").search
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
    anchors: list[Anchor] = []
    whole: dict[int, str] = {}  # the markup of most links
    base = outer = ""
    around: list[str] = []
    for tag in _tags(markup):
        if tag.lastindex == _PLAIN_LINK:
            whole[len(anchors)], href, more, text = tag.group(0, 1, 2, 3)
            rel = _read_attributes(more).get("rel", "").lower() if more else ""
            anchors.append(Anchor(href, _one_line(text), rel, outer))
            continue
        is_end, name, written = tag.group(4, 5, 6)
        name = name.lower()
        if name in _LANDMARKS:
            _enter(around, name, is_end)
            outer = _landmark(around)
        elif not is_end:
            attributes = _read_attributes(written)
            if name == "base":
                base = base or attributes.get("href", "")
            elif "href" in attributes:
                text = _text_until(markup, tag.end(), "</a") if name == "a" else attributes.get("alt", "")
                anchors.append(Anchor(attributes["href"].strip(), text, attributes.get("rel", "").lower(), outer))
    texts = _find_slots(markup, anchors, whole)
    return Details(*read_headline(markup), count_words(markup), base, anchors, texts)


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
    return _plain(markup[_body_start(markup) :])


def _body_start(markup: str) -> int:
    head = _head_end(markup)
    return head.start() if head else 0


def _words_in(markup: str) -> int:
    return len(_plain(markup).split())


def _plain(markup: str) -> str:
    return unescape(" ".join(_between_tags(markup)))


class Edit(NamedTuple):
    """What differs between two versions of a page: words in their bodies, and whether the headline may differ.

    ``before`` and ``after`` are counted from the last tag before a difference to the first one behind it: to count a
    page takes as long as to unpack it five times.
    """

    before: int
    after: int
    has_headline: bool


def read_edit(old: str, new: str) -> Edit:
    """What differs between two versions of a page, from the markup of their snapshots."""
    alike = common_prefix(old, new)
    start = next((tag.end() for tag in _tags_before(old, alike)), 0)
    rest = common_prefix(old[start:][::-1], new[start:][::-1])
    tag = _any_tag(old, len(old) - rest)
    rest = len(old) - tag.start() if tag else 0
    before, after = old[start : len(old) - rest], new[start : len(new) - rest]
    is_in_heading = _last_of(("<h1", "<H1"), old, start) > _last_of(("</h1", "</H1"), old, start)
    has_headline = is_in_heading or any(_naming_tag(part) for part in (before, after))
    bodies = [(_body_start(markup), len(markup) - rest) for markup in (old, new)]
    if len({(begin >= start, begin >= end) for begin, end in bodies}) > 1:  # one of the bodies has what is alike
        return Edit(count_words(old), count_words(new), has_headline)
    (begin, end), (new_begin, new_end) = bodies
    words = _words_in(old[max(start, begin) : end]), _words_in(new[max(start, new_begin) : new_end])
    return Edit(*words, has_headline)


def _last_of(names: tuple[str, ...], markup: str, end: int) -> int:
    return max(markup.rfind(name, 0, end) for name in names)


def _tags_before(markup: str, end: int) -> Iterator[re.Match[str]]:
    """The tags that end before a place, the last one first."""
    while (end := markup.rfind(">", 0, end)) >= 0:
        if found := _any_tag(markup, max(0, markup.rfind("<", 0, end)), end + 1):
            yield found


def _find_slots(markup: str, anchors: list[Anchor], whole: dict[int, str]) -> list[tuple[int, int, int]]:
    """Give each link its slot; returns the longer texts. ``whole`` is the markup of some links, by their number."""
    hrefs: list[str] = []
    texts = []
    at = 0
    for entry in read_entries(markup[_body_start(markup) :]):
        if not isinstance(entry, ContentBlock) and at < len(anchors):
            container, leaf, raw, _ = entry
            if whole.get(at) == raw.strip() and not (leaf and _is_heading(leaf)):  # most links of most pages
                _set_slot(anchors[at], container.place + leaf, is_frame=container.is_frame, in_prose=False)
                at += 1
                continue
        for block in blocks_of(entry):
            _, *targets = block.compared_text.split("\x1f")
            if targets and not hrefs:
                hrefs = [clean_url(anchor.href) for anchor in anchors]
            found = []
            for target in targets:
                with suppress(ValueError):  # a picture, or a link without an anchor
                    at = hrefs.index(target, at, at + _MAX_UNREAD) + 1
                    found.append(anchors[at - 1])
            words = len(block.text.split()) - sum(len(anchor.text.split()) for anchor in found)
            if (words >= _MIN_TEXT or _is_heading(block.place)) and not block.place.startswith(b"="):
                text = mask_variable_text(block.text).encode("utf-8", "surrogatepass")
                texts.append((at - len(found), at, stable_hash(text)))
            for anchor in found:
                _set_slot(anchor, block.place, is_frame=block.is_frame, in_prose=words >= _MIN_PROSE)
    return texts


def _set_slot(anchor: Anchor, place: bytes, *, is_frame: bool, in_prose: bool) -> None:
    anchor.slot, anchor.in_prose = _slot(place), in_prose
    anchor.landmark = anchor.landmark or ("nav" if is_frame else "")


@lru_cache(maxsize=20_000)
def _slot(place: bytes) -> int:
    return stable_hash(place)


def _enter(around: list[str], name: str, is_end: str) -> None:
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
