"""Reads a stretch of text with the tags inside it: what a reader sees, where its links lead, what it states as data."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from html import unescape
from itertools import accumulate
from typing import Final, NamedTuple, TypeVar

from msgspec import Struct

T = TypeVar("T")


MAX_MEMO_ENTRIES: Final = 4_096

"""Texts that are remembered at most; then all are forgotten, which is cheaper than to know the oldest."""

MAX_MEMO_TEXT: Final = 1_000

"""Characters of a text up to which it may be met again."""


class Memo(dict[str, T]):
    """``memo[text]`` is what ``make`` makes of a text; the look-up of a known one is that of a plain dict."""

    def __init__(self, make: Callable[[str], T]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, text: str) -> T:
        made = self._make(text)
        if len(text) < MAX_MEMO_TEXT:
            if len(self) >= MAX_MEMO_ENTRIES:
                self.clear()
            self[text] = made
        return made


_MONTH: Final = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?)"
)

_DAY: Final = "(?:mon|tues?|wed(?:nes)?|thur?s?|fri|sat(?:ur)?|sun)(?:day)?"

_CURRENCY: Final = "[$\u20ac\u00a3\u00a5\u20b9\u20bd\u20a9]"

# All in lower case, for a case that does not matter costs most of the time.
_CODE: Final = "(?:eur|usd|gbp|chf|jpy|cad|aud|sek|nok|dkk|pln|czk|inr|cny|brl)"

_UNIT: Final = "(?:sec(?:ond)?|min(?:ute)?|hour|day|week|month|year)"

# Prices, which stay, are the groups. Every alternative begins with a figure, at a sign of money, or with a word.
_figure = re.compile(
    rf"([0-9][0-9.,]*+\s?(?:{_CURRENCY}|{_CODE}\b)|{_CURRENCY}\s?[0-9][0-9.,]*+)"
    rf"|[0-9]++\s{_UNIT}s?\sago\b"
    rf"|\b(?:({_CODE}\s?[0-9][0-9.,]*+)|(?:an?|one|a few)\s{_UNIT}s?\sago\b|(?:just now|yesterday|today)\b"
    rf"|{_MONTH}\b\.?,?|{_DAY}\b\.?,?"
    r"|(?=[a-z0-9_-]*[0-9])[a-z0-9_-]{1,200}+(?:[.,:/+][0-9a-z]{1,20}+)*+)|[0-9]++"
).finditer

_digit = re.compile("[0-9]").search

_MOMENTS: Final = (" ago", "just now", "yesterday", "today")

_run = re.compile(r"\x00(?:[\s\x00,.:/-]|(?:am|pm|utc|gmt|at|st|nd|rd|th)\b)*+", re.IGNORECASE).sub

_lower = str.maketrans({letter.upper(): letter for letter in "abcdefghijklmnopqrstuvwxyz"})

MAX_MASKED_TEXT: Final = 2_000

"""Characters of a text that are looked at for figures; what follows counts as it is."""


def mask_variable_text(text: str) -> str:
    """The text with every run of figures, dates and tokens as one ``#``."""
    low = text[:MAX_MASKED_TEXT]
    low = low.lower() if low.isascii() else low.translate(_lower)  # as long as before
    if not _digit(low) and not any(moment in low for moment in _MOMENTS):
        return text
    parts: list[str] = []
    at = 0
    for found in _figure(low):
        if found[1] or found[2]:
            continue
        begin, end = found.span()
        parts += (text[at:begin], "\x00")
        at = end
    parts.append(text[at:MAX_MASKED_TEXT])
    return _run("#", "".join(parts)) + text[MAX_MASKED_TEXT:]


_asset = re.compile(
    r"\.(?:png|jpe?g|gif|webp|avif|svg|ico|bmp|mp4|webm|mp3|ogg|pdf|css|js)\Z", re.IGNORECASE
).search

_fleeting = re.compile(
    r"(?:.*(?:csrf|xsrf|token|nonce|session|sessid|signature|cachebust)|sid|_|cb|rnd|rand|random|utm_.*|gclid|fbclid)\Z",
    re.IGNORECASE | re.DOTALL,
).match

_random = re.compile(r"(?=[^=]*[0-9])(?:[0-9a-f]{16,}|[0-9a-zA-Z_-]{24,})\Z").match

MAX_CLEANED_URL: Final = 2_000


def clean_url(href: str) -> str:
    """An address as a reader means it: without fragments of white space, cache busters, session ids and tokens."""
    href = href.strip()[:MAX_CLEANED_URL]
    path, mark, query = href.partition("?")
    if not mark:
        return href
    query, mark, fragment = query.partition("#")
    if _asset(path):
        return path
    kept = "&".join(part for part in query.split("&") if not _is_session_token(part))
    return f"{path}?{kept}{mark}{fragment}" if kept else f"{path}{mark}{fragment}"


def _is_session_token(part: str) -> bool:
    name, _, value = part.partition("=")
    return bool(_fleeting(name[:80]) or _random(value))


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


INLINE_TAGS: Final = (
    "a abbr acronym area b bdi bdo big br cite code data del dfn em embed font i img ins kbd map mark nobr picture"
    " q rb rp rt ruby s samp small source span strike strong sub sup time track tt u var wbr"
)

"""Elements within which a text goes on."""

_LEAF_TAGS: Final = _names(
    "p li dt dd td th tr thead tbody tfoot caption figcaption h1 h2 h3 h4 h5 h6 pre option optgroup legend summary"
    " address label button hr textarea colgroup col param head title link meta base html body noscript input frame"
)

"""Elements that other elements end: they name what a text is, and contain nothing for long."""

_HEADING_TAGS: Final = _names("h1 h2 h3 h4 h5 h6")

_MEDIA_TAGS: Final = _names("iframe video audio object frame")

_MUTE_TAGS: Final = _names("template svg math datalist iframe canvas object")

"""Elements whose text is no text of the page: drawings, and what is shown instead."""

_SECTION_TAGS: Final = _names("article main section dialog")

_OUTER_TAGS: Final = _names("footer aside")

_FRAME_ROLES: Final = _names("navigation contentinfo")

_STATES: Final = _names("active current selected open first last odd even lazy lazyloaded")

# what is said to search engines (robots, canonical) is no part of what the page says
_METAS: Final = _names("description keywords author")

_PREFIXES: Final = ("og:", "article:", "product:", "book:", "video:")

_RELATIONS: Final = _names("alternate amphtml next prev")

STAMP_PROPERTIES: Final = _names("og:updated_time article:modified_time dateModified sdDatePublished")

"""Statements about the time of the last change. They are evidence of when, not of whether."""


_attribute = re.compile(r"([^\s\"'>/=]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'>]++)))?+")

_tag = re.compile(r"<(/?[a-zA-Z][^\s/>]*+)(.*?)>?\Z", re.DOTALL).match

_figures = re.compile(r"[0-9a-z]*[0-9][0-9a-z]*", re.IGNORECASE)


class TagEffect(Struct, frozen=True):
    """What a tag does. ``token`` names it for places; ``states`` is what it says itself, as name and value."""

    name: str
    ends: bool = False
    opens: bool = False
    token: bytes = b""
    is_heading: bool = False
    is_mute: bool = False
    is_section: bool = False
    is_frame: bool = False
    is_outer: bool = False  # a frame if it is in no section
    states: tuple[str, str] = ("", "")


NO_EFFECT: Final = TagEffect("")

"""What comments and the like do."""


def _read_tag(written: str) -> TagEffect:
    """What a tag does, as it is written from "<" to ">"."""
    found = _tag(written)
    if not found:
        return NO_EFFECT
    tag, attributes = found[1].lower(), found[2]
    if tag[0] == "/":
        return TagEffect(tag[1:], ends=True, opens=tag[1:] not in _LEAF_TAGS)
    stated = read_attributes(attributes)
    return TagEffect(
        tag,
        opens=tag not in _LEAF_TAGS and not (tag in _MUTE_TAGS and attributes.endswith("/")),
        token=_token(tag, stated),
        is_heading=tag in _HEADING_TAGS,
        is_mute=tag in _MUTE_TAGS,
        is_section=tag in _SECTION_TAGS,
        is_frame=tag == "nav" or stated.get("role", "").lower() in _FRAME_ROLES,
        is_outer=tag in _OUTER_TAGS,
        states=_statement(tag, stated),
    )


TAG_EFFECTS: Final = Memo(_read_tag)

"""What each tag that ends a text does, by the tag as it is written."""


def read_attributes(text: str) -> dict[str, str]:
    """Attributes by name in lower case, the first of each name, with character references decoded."""
    found = {
        name.lower(): double or single or plain
        for name, double, single, plain in reversed(_attribute.findall(text))
    }
    return {name: unescape(value) for name, value in found.items()} if "&" in text else found


def media_source(stated: dict[str, str]) -> str:
    """The address of a picture or a player, also of one that is loaded late; "" for one that is in the page itself."""
    found = stated.get("src") or stated.get("data-src") or stated.get("data") or ""
    return "" if found.startswith("data:") else clean_url(found)


def microdata_value(tag: str, stated: dict[str, str]) -> tuple[str, str]:
    """Microdata whose value is in an attribute (https://html.spec.whatwg.org/#values), or two empty texts."""
    name = stated.get("itemprop", "")
    value = stated.get("content") or (stated.get("href", "") if tag == "link" else "")
    return (name, value) if value and name not in STAMP_PROPERTIES else ("", "")


def _statement(tag: str, stated: dict[str, str]) -> tuple[str, str]:
    if "itemprop" in stated:
        return microdata_value(tag, stated)
    if tag == "meta":
        name = (stated.get("property") or stated.get("name") or "").lower()
        if name in _METAS or (name.startswith(_PREFIXES) and name not in STAMP_PROPERTIES):
            return name, stated.get("content", "")
    elif tag == "link":
        rels = stated.get("rel", "").lower().split()
        if not _RELATIONS.isdisjoint(rels) and "stylesheet" not in rels:
            name = " ".join(["link", *sorted(rels), stated.get("hreflang", "")])
            return name, clean_url(stated.get("href", ""))
    elif tag in _MEDIA_TAGS:
        return tag, media_source(stated)
    return "", ""


def _token(tag: str, stated: dict[str, str]) -> bytes:
    """A tag with its class and id, without figures and states, which differ where pages are meant to agree."""
    if "class" not in stated and "id" not in stated:
        return tag.encode("utf-8", "surrogatepass")
    names = [*sorted(set(stated.get("class", "").split()) - _STATES), "#" + stated.get("id", "")]
    return _figures.sub("0", " ".join((tag, *names))[:500]).encode("utf-8", "surrogatepass")


MAX_RUNS: Final = 24

"""Stretches that are told apart; what follows counts as one that differs."""

_MAX_GAP: Final = 24  # pieces between two differences up to which it is cheaper to read them twice


def _any_of(names: list[str]) -> str:
    """A pattern for names in any case that gives up at the first wrong letter, as a list of names would not."""
    heads = sorted({name[0] for name in names if name})
    tails = "|".join(
        f"[{head}{head.upper()}]" + _any_of([name[1:] for name in names if name[:1] == head])
        for head in heads
    )
    return (f"(?:{tails})" if heads else "") + ("?" if heads and "" in names else "")


# Quotes count after "=" only; what has no end reaches to the end of the text.
_TAG: Final = r"/?[a-zA-Z][^\s/>]*+[^>=]*+(?:=\s*+(?:\"[^\"]*+\"|'[^']*+')?+[^>=]*+)*+(?:>|\Z)"

_text_border = re.compile(rf"(<(?!/?{_any_of(INLINE_TAGS.split())}[\s/>])(?:{_TAG}|[!?/][^>]*+(?:>|\Z)))")

inner_tags = re.compile(f"(<{_TAG})")

"""Any tag of a name, for the tags inside a text."""

_values: Final = {quote: re.compile(rf"=\s*+{quote}") for quote in "\"'"}


class DiffSpan(NamedTuple):
    """Pieces of an old and a new body by their numbers; ``same``: these pieces are equal."""

    same: bool
    old: slice
    new: slice


def split_markup(markup: str) -> list[str]:
    """Pairs of a tag that ends a text and of the text behind it; what belongs to a text is left in it.

    The first tag is "": before it there is nothing.
    """
    return ["", *_text_border.split(markup)]


def split_markup_like(markup: str, known: str, pieces: list[str]) -> list[str]:
    """The same, when ``pieces`` are those of a ``known`` markup: they are taken over as far as both agree.

    A tag ends in both at the same place, unless a search for the end of a quoted value goes on in vain to the end of
    the markup, which differs. Before the last quote of the known one it does not.
    """
    agree = _common_prefix(markup, known)
    for quote, begins in _values.items():
        if begins.search(known):
            agree = min(agree, known.rfind(quote))
    ends = list(accumulate(map(len, pieces)))
    shared = min(bisect_right(ends, agree), len(pieces) - 3)  # the last tag may have no end
    shared -= 1 - shared % 2  # up to a tag and with it
    return (
        [*pieces[:shared], *_text_border.split(markup[ends[shared - 1] :])]
        if shared > 1
        else split_markup(markup)
    )


def _common_prefix(one: Sequence[str], other: Sequence[str]) -> int:
    """How many characters or pieces at their beginning are the same."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def diff_spans(old: list[str], new: list[str]) -> Iterator[DiffSpan]:
    """All pieces of both in order, cut where they begin to be the same or to differ. No pair is cut."""
    first = _common_prefix(old, new) & ~1
    last = min(_common_prefix(old[::-1], new[::-1]), min(len(old), len(new)) - first) & ~1
    more = len(old) - len(new)
    at = 0
    for begin, end in _differing_spans(old, new, first, last) if more == 0 else [(first, len(new) - last)]:
        yield DiffSpan(True, slice(at, begin), slice(at, begin))
        yield DiffSpan(False, slice(begin, end + more), slice(begin, end))
        at = end
    yield DiffSpan(True, slice(at + more, None), slice(at, None))


def _differing_spans(old: list[str], new: list[str], first: int, last: int) -> Iterator[tuple[int, int]]:
    """The stretches that differ in two lists of one length, those near each other as one."""
    begin = end = first
    count = 1
    for n in range(first, len(new) - last):
        if old[n] == new[n]:
            continue
        if n - end > _MAX_GAP and count < MAX_RUNS:
            yield begin, end
            begin = n & ~1
            count += 1
        end = (n & ~1) + 2
    yield begin, end


_tag_parts = re.compile(r"<(/?[a-zA-Z][^\s/>]*+)(.*?)>?\Z", re.DOTALL).match


# The most frequent of all tags, where it says nothing but an address that needs no reading.
_link = re.compile(
    r"<a (?:class=\"[^\"]*+\" )?href=\"((?!javascript:)[a-z./#][^\"&?\s]{0,499}+)\""
    r"(?: (?:title|class|rel|target)=\"[^\"]*+\")*+>\Z"
).match


class TextReading(Struct, frozen=True, gc=False):
    """What a stretch says. ``says`` is all that counts, ``text`` is what a person may be shown."""

    compared_text: str = ""
    text: str = ""
    is_link: bool = False
    facts: tuple[tuple[str, str], ...] = ()


class _InlineTag(Struct, frozen=True, gc=False):
    """What one tag inside a text adds to it."""

    begins: bool = False  # a link
    ends: bool = False
    text: str = ""
    target: str = ""
    fact: tuple[str, str] = ("", "")


def _read_inline_tag(written: str) -> _InlineTag:
    if plain := _link(written):
        return _InlineTag(begins=True, target=plain[1])
    found = _tag_parts(written)
    if not found:
        return _InlineTag()
    tag, attributes = found[1].lower(), found[2]
    stated = read_attributes(attributes) if tag[0] != "/" and attributes else {}
    target = clean_url(stated["href"]) if "href" in stated else media_source(stated)
    return _InlineTag(
        begins=tag == "a",
        ends=tag == "/a",
        text=f" {stated.get('alt', '')} " if tag in {"br", "wbr", "img"} else "",
        target="" if target[:11].lower().startswith("javascript:") else target,
        fact=microdata_value(tag, stated),
    )


_INLINE_TAGS: Final = Memo(_read_inline_tag)


def _read_text(raw: str) -> TextReading:
    if "<" not in raw:
        text = " ".join((unescape(raw) if "&" in raw else raw).split())
        return TextReading(text, text)
    parts = inner_tags.split(raw)
    targets: list[str] = []
    facts: list[tuple[str, str]] = []
    in_link, outside = False, not (not parts[0] or parts[0].isspace())
    for at in range(1, len(parts), 2):
        inner = _INLINE_TAGS[parts[at]]
        parts[at] = inner.text
        if inner.begins or inner.ends:
            in_link = inner.begins
        if inner.target:
            targets.append(inner.target)
        if inner.fact[1]:
            facts.append(inner.fact)
        if not in_link and not outside:
            text = parts[at + 1]
            outside = not (not text or text.isspace())
    text = "".join(parts)
    text = " ".join((unescape(text) if "&" in text else text).split())
    says = "\x1f".join((text, *targets))
    return TextReading(says, text or says[1:], bool(targets) and not outside, tuple(facts))


TEXTS: Final = Memo(_read_text)

"""What a stretch says, by its markup."""
