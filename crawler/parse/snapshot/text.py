"""Splits markup into tags and texts, and reads each: what a reader sees, where links lead, what is stated as data.

A text here includes its inline tags (``a``, ``b``, ``img`` …); every other tag ends it. Readings are cached, because
the pages of a site repeat each other. Figures, dates and tokens can be masked, because they vary without meaning.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from html import unescape
from itertools import accumulate
from typing import Final, NamedTuple, TypeVar
from unicodedata import normalize
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

T = TypeVar("T")
_MAX_MEMO_ENTRIES: Final = 4_096
"""Entries of a memo. A full one is cleared, which is cheaper than to evict the oldest entry."""
_MAX_MEMO_TEXT: Final = 1_000
"""Characters of a text that is cached: longer ones rarely repeat."""


class Memo(dict[str, T]):
    """Caches a function: ``memo[text]`` is ``make(text)``. A hit is a plain dict look-up."""

    def __init__(self, make: Callable[[str], T]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, text: str) -> T:
        value = self._make(text)
        if len(text) < _MAX_MEMO_TEXT:
            if len(self) >= _MAX_MEMO_ENTRIES:
                self.clear()
            self[text] = value
        return value


_MONTH: Final = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?)"
)
_DAY: Final = "(?:mon|tues?|wed(?:nes)?|thur?s?|fri|sat(?:ur)?|sun)(?:day)?"
_CURRENCY: Final = "[$\u20ac\u00a3\u00a5\u20b9\u20bd\u20a9]"
# All in lower case, because matching in any case is slow.
_CODE: Final = "(?:eur|usd|gbp|chf|jpy|cad|aud|sek|nok|dkk|pln|czk|inr|cny|brl)"
_UNIT: Final = "(?:sec(?:ond)?|min(?:ute)?|hour|day|week|month|year)"
# Prices are the groups; they are not masked. Every alternative begins with a digit, a currency sign or a word.
_figure = re.compile(
    rf"([0-9][0-9.,]*+\s?(?:{_CURRENCY}|{_CODE}\b)|{_CURRENCY}\s?[0-9][0-9.,]*+)"
    rf"|[0-9]++\s{_UNIT}s?\sago\b"
    rf"|\b(?:({_CODE}\s?[0-9][0-9.,]*+)|(?:an?|one|a few)\s{_UNIT}s?\sago\b|(?:just now|yesterday|today)\b"
    rf"|{_MONTH}\b\.?,?|{_DAY}\b\.?,?"
    r"|(?=[a-z_-]{0,199}+[0-9])[a-z0-9_-]{1,200}+(?:[.,:/+][0-9a-z]{1,20}+)*+)|[0-9]++"
).finditer
_digit = re.compile("[0-9]").search
_nth: Final = r"[0-9]{1,2}(?:st|nd|rd|th)?\.?,?"
_dates = re.compile(
    rf"{_nth}\s(?:of\s)?{_MONTH}\b(?:\.?,?\s[0-9]{{4}}\b)?|\b{_MONTH}\.?\s(?:{_nth}\s)?[0-9]++", re.IGNORECASE
).finditer
_MOMENTS: Final = (" ago", "just now", "yesterday", "today")
_run = re.compile(r"\x00(?:[\s\x00,.:/-]|(?:am|pm|utc|gmt|at|st|nd|rd|th)\b)*+", re.IGNORECASE).sub
_lower = str.maketrans({letter.upper(): letter for letter in "abcdefghijklmnopqrstuvwxyz"})
MAX_MASKED_TEXT: Final = 2_000
"""Characters of a text that are masked; the rest is unchanged."""


def mask_variable_text(text: str) -> str:
    """The text with each run of figures, dates and tokens replaced by ``#``."""
    low = text[:MAX_MASKED_TEXT]
    low = low.lower() if low.isascii() else low.translate(_lower)  # keeps the length
    if not _digit(low) and not any(moment in low for moment in _MOMENTS):
        return text
    parts: list[str] = []
    at = 0
    for match in _figure(low):
        if match[1] or match[2]:
            continue
        begin, end = match.span()
        parts += (text[at:begin], "\x00")
        at = end
    parts.append(text[at:MAX_MASKED_TEXT])
    return _run("#", "".join(parts)) + text[MAX_MASKED_TEXT:]


_price = re.compile(rf"[0-9]\s?(?:{_CURRENCY}|{_CODE}\b)|(?:{_CURRENCY}|\b{_CODE})\s?[0-9]", re.IGNORECASE).search


def has_price(text: str) -> bool:
    """Whether a text has a number beside a currency."""
    return _digit(text) is not None and _price(text) is not None


def dates_in(text: str) -> Iterator[re.Match[str]]:
    """The dates in a text that have a day or a year beside the name of a month."""
    return _dates(text) if _digit(text) else iter(())


_QUOTES: Final = str.maketrans(
    dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u301d\u301e", '"')
    | dict.fromkeys("\u2018\u2019\u201a\u201b\u2039\u203a\u02bc", "'")
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-")
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", "")
)
_dashes = re.compile("(?:(?<!\\s)\\s++)?(?:-{2,}|[\u2014\u2015]+)\\s*+").sub  # some set spaces around them, some do not
_spaces = re.compile("[\u00a0\u2009\u202f](?=[!?:;%])|(?<!\\s)\\s++(?=\u00bb)|(?<=\u00ab)\\s++").sub


def fold_typography(text: str) -> str:
    """The text as it is compared: what a theme or a plug-in sets in another way is equal.

    Letters and their accents in one form (NFKC, https://www.unicode.org/reports/tr15/), one kind of quotes, of dashes
    and of spaces, no soft hyphens.
    """
    if not text.isascii():
        text = " ".join(_dashes(" - ", normalize("NFKC", _spaces("", text))).translate(_QUOTES).split())
    return _dashes(" - ", text) if "--" in text else text


is_asset = re.compile(r"\.(?:png|jpe?g|gif|webp|avif|svg|ico|bmp|mp4|webm|mp3|ogg|pdf|css|js)\Z", re.IGNORECASE).search
_session_name = re.compile(
    r"(?:.*(?:csrf|xsrf|token|nonce|session|sessid|signature|cachebust)|sid|_|cb|rnd|rand|random|utm_.*|gclid|fbclid)\Z",
    re.IGNORECASE | re.DOTALL,
).match
_session_value = re.compile(r"(?=[^=]*[0-9])(?:[0-9a-f]{16,}|[0-9a-zA-Z_-]{24,})\Z").match
# A token after the stem of a file name: hexadecimal, or figures and letters in turn, or with letters of both cases
# that are no word ("Bridge2").
# Not the mark of an edited picture in WordPress ("-e1700000000000").
_fingerprint = re.compile(
    r"(?<=[0-9A-Za-z][._-])(?=[A-Za-z0-9_-]{0,64}?[0-9])(?=[A-Za-z0-9_-]{0,64}?[a-zA-Z])"
    r"(?:(?!e[0-9]{10,13}[._-])(?:[0-9a-f]{7,64}|[0-9A-F]{8,64}"
    r"|(?=(?:[a-z]+[0-9]+){2}|(?:[0-9]+[a-z]+){2})[0-9a-z]{8,64})(?=[._-])"
    r"|(?![A-Z]?[a-z]+[0-9]*[._-])(?=[A-Za-z0-9_-]{0,32}?[A-Z])(?=[A-Za-z0-9_-]{0,32}?[a-z])[A-Za-z0-9_-]{8,32}(?=\.))"
).sub
_picture_format = re.compile(r"(?:-scaled|-[0-9]{1,5}x[0-9]{1,5})?\.(?:png|jpe?g|gif|webp|avif)\Z", re.IGNORECASE).subn
_SIZES: Final = frozenset(
    {"w", "h", "q", "width", "height", "quality", "format", "f", "fm", "fit", "auto", "dpr", "s", "size", "crop"}
)
"""What programs that resize pictures are told."""
_is_told = re.compile(rf"(?:{'|'.join(sorted(_SIZES))}|rs|resize|filters)[=:]", re.IGNORECASE).match
_is_picture = re.compile(r"\.(?:png|jpe?g|gif|webp|avif|svg)\Z", re.IGNORECASE).search
# The path at a proxy may begin with the host of the original.
_hosts = re.compile(r"\A(?:(?:https?:)?//[^/]*+)?+(?:/(?:[a-z0-9-]++\.)++[a-z]{2,24}(?=/))*+", re.IGNORECASE).sub
MAX_CLEANED_URL: Final = 2_000


def clean_url(href: str) -> str:
    """A URL without surrounding white space, cache busters, session ids and tokens.

    Of an asset, only the path counts, and a fingerprint in it is "*": build tools name a file by a digest of its bytes
    (``photo.3f2a1b9c.jpg``), and all names move with a new version of the tool. A picture shows the same in each format
    and size, on each host, and through a program that resizes the picture which its URL names.
    """
    href = href.strip()[:MAX_CLEANED_URL]
    path, mark, query = href.partition("?")
    if is_asset(path):
        name = path.rfind("/") + 1
        shown, _ = _picture_format(".jpg", _fingerprint("*", path[name:]))
        return (_picture_folder(path[:name]) if _is_picture(path) else path[:name]) + shown
    if not mark:
        return href
    if "." in query and (resized := _picture_in(query)):
        return clean_url(resized)
    query, mark, fragment = query.partition("#")
    query = "&".join(part for part in query.split("&") if not _is_session_token(part))
    return f"{path}?{query}{mark}{fragment}" if query else f"{path}{mark}{fragment}"


def _picture_folder(folder: str) -> str:
    """The folder of a picture, without hosts and what a program before it is told: ``/cdn-cgi/image/width=9/img/``."""
    parts = _hosts("", folder).split("/")
    told = [number for number, part in enumerate(parts) if _is_told(part)]
    shown = "/".join(["", *parts[told[-1] + 1 :]] if told else parts)
    return _hosts("", shown[shown.find("//") :]) if "//" in shown else shown


def _picture_in(query: str) -> str:
    """The picture that a query names for a program that resizes it, "" if it names more than that and a size."""
    values = {name: unquote(value) for name, _, value in (part.partition("=") for part in query.split("&"))}
    found = [value for value in values.values() if "/" in value and _is_picture(value.partition("?")[0])]
    return found[0] if len(found) == 1 and len(values.keys() - _SIZES) <= 1 else ""


has_fingerprint = re.compile(r"[0-9A-Za-z][._-]\*[._-]").search


def clean_value(value: str) -> str:
    """A stated value in one line; the URL of an asset is cleaned as in markup."""
    value = " ".join(value.split())
    return clean_url(value) if "/" in value and " " not in value and is_asset(value.partition("?")[0]) else value


def _is_session_token(part: str) -> bool:
    name, _, value = part.partition("=")
    return bool(_session_name(name[:80]) or _session_value(value))


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_INLINE_NAMES: Final = (
    "a abbr acronym area b bdi bdo big br cite code data del dfn em embed font i img ins kbd map mark nobr picture"
    " q rb rp rt ruby s samp small source span strike strong sub sup time track tt u var wbr"
)
"""Elements that do not end a text."""
_UNNAMED_TAGS: Final = _names("a area br embed img source track wbr")
"""Those that are no part of their own, whatever class they have: a link is one thing with the words around it."""
_MAX_PARTS: Final = 64
"""Parts of a text; the last one holds the rest."""
# Not before a small letter or a figure: that is an abbreviation.
_sentence_end = re.compile(r"(?<=[.!?\u2026])\s+(?![a-z0-9\s])|(?<=[\u3002\uff01\uff1f])(?=.)")
_LEAF_TAGS: Final = _names(
    "p li dt dd td th tr thead tbody tfoot caption figcaption h1 h2 h3 h4 h5 h6 pre option optgroup legend summary"
    " address label button hr textarea colgroup col param head title link meta base html body input frame"
)
"""Elements that give a text its role and are no containers: their end tag may be missing."""
_HEADING_TAGS: Final = _names("h1 h2 h3 h4 h5 h6")
_ANCHOR_TAGS: Final = _HEADING_TAGS | {"section"}
_MEDIA_TAGS: Final = _names("iframe video audio object frame")
_MUTE_TAGS: Final = _names("template svg datalist iframe canvas object noscript")
"""Elements whose text the page does not show: drawings, templates and fallback content."""
_SECTION_TAGS: Final = _names("article main section dialog")
_OUTER_TAGS: Final = _names("footer aside")
_FRAME_ROLES: Final = _names("navigation contentinfo")
_OWN_NAMED: Final = _names("html body article")
_STATES: Final = _names("active current selected open first last odd even lazy lazyloaded")
# instructions for search engines (robots, canonical) are no content
_METAS: Final = _names("description keywords author")
_PREFIXES: Final = ("og:", "article:", "product:", "book:", "video:")
_RELATIONS: Final = _names("alternate amphtml")
STAMP_PROPERTIES: Final = _names("og:updated_time article:modified_time dateModified sdDatePublished")
"""Statements about the time of the last change. They tell when a page changed, not whether it did."""
COUNT_PROPERTIES: Final = _names(
    "aggregateRating ratingCount reviewCount interactionStatistic interactionCount userInteractionCount commentCount"
    " answerCount upvoteCount downvoteCount"
)
"""Statements that sum up what visitors did (https://schema.org/AggregateRating): nobody writes them."""
NO_CONTENT: Final = STAMP_PROPERTIES | COUNT_PROPERTIES
"""Names of structured data whose values say nothing of what a page shows."""
LEAF: Final = b"\x1f"
"""Comes in a place before an element that gives a text its role; no class or id contains this character."""
_attribute = re.compile(r"([^\s\"'>/=]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'>]++)))?+")
_tag = re.compile(r"<(/?[a-zA-Z][^\s/>]*+)(.*+)", re.DOTALL).match
_figures = re.compile(r"(?<![0-9a-z])[a-z]*+[0-9][0-9a-z]*+", re.IGNORECASE)


class TagEffect(Struct, frozen=True):
    """What a tag does. ``token`` names it in a place, and ``leaf`` if it contains no others.

    ``statement`` is a name and value that it states itself.
    """

    name: str
    ends: bool = False
    opens: bool = False
    token: bytes = b""
    leaf: bytes = b""
    is_heading: bool = False
    is_mute: bool = False
    is_section: bool = False
    is_frame: bool = False
    is_outer: bool = False  # a frame if it is in no section
    statement: tuple[str, str] = ("", "")


NO_EFFECT: Final = TagEffect("")  # of comments and declarations


def _read_tag(written: str) -> TagEffect:
    """The effect of a tag, given from "<" to ">"."""
    parts = _tag(written)
    if not parts:
        return NO_EFFECT
    tag, text = parts[1].lower(), parts[2].removesuffix(">")
    if tag[0] == "/":
        return TagEffect(tag[1:], ends=True, opens=tag[1:] not in _LEAF_TAGS)
    attributes = _read_attributes(text)
    token = _token(tag, attributes)
    opens = tag not in _LEAF_TAGS and not (tag in _MUTE_TAGS and text.endswith("/"))
    return TagEffect(
        tag,
        opens=opens,
        token=token,
        leaf=b"" if opens else LEAF + token,
        is_heading=tag in _HEADING_TAGS,
        is_mute=tag in _MUTE_TAGS,
        is_section=tag in _SECTION_TAGS,
        is_frame=tag == "nav" or attributes.get("role", "").lower() in _FRAME_ROLES,
        is_outer=tag in _OUTER_TAGS,
        statement=_statement(tag, attributes),
    )


TAG_EFFECTS: Final = Memo(_read_tag)
"""The effect of each tag that ends a text, by the tag as written."""


def _read_attributes(text: str) -> dict[str, str]:
    """Attributes by name in lower case, the first of each name, with character references decoded."""
    attributes = {
        name.lower(): double or single or plain for name, double, single, plain in reversed(_attribute.findall(text))
    }
    return {name: unescape(value) for name, value in attributes.items()} if "&" in text else attributes


def _media_source(attributes: dict[str, str]) -> str:
    """The URL of a picture or a player, lazily loaded ones included; "" for a data URL."""
    sources = (attributes.get(name) for name in ("src", "data-src", "data"))
    return clean_url(next((source for source in sources if source and not source.startswith("data:")), ""))


def _microdata_value(tag: str, attributes: dict[str, str]) -> tuple[str, str]:
    """The microdata name and value in attributes (https://html.spec.whatwg.org/#values), or two empty strings."""
    name = attributes.get("itemprop", "")
    value = attributes.get("content") or (attributes.get("href", "") if tag == "link" else "")
    return (name, value) if value and name not in NO_CONTENT else ("", "")


def _statement(tag: str, attributes: dict[str, str]) -> tuple[str, str]:
    if "itemprop" in attributes:
        return _microdata_value(tag, attributes)
    if tag == "meta":
        name = (attributes.get("property") or attributes.get("name") or "").lower()
        if name in _METAS or (name.startswith(_PREFIXES) and name not in NO_CONTENT):
            return name, attributes.get("content", "")
    elif tag == "link":
        rels = attributes.get("rel", "").lower().split()
        if not _RELATIONS.isdisjoint(rels) and "stylesheet" not in rels:
            name = " ".join(["link", *sorted(rels), attributes.get("hreflang", "")])
            return name, clean_url(attributes.get("href", ""))
    elif tag in _MEDIA_TAGS:
        return tag, _media_source(attributes)
    return "", ""


def _token(tag: str, attributes: dict[str, str]) -> bytes:
    """A tag with its class and id, without figures and states, which vary between pages of one template.

    On ``body`` and ``article``, content management systems write the names of the page, its author and its topics.
    The id of a heading, or of a section, is its own text.
    """
    if tag in _OWN_NAMED or not ("class" in attributes or "id" in attributes):
        return tag.encode("utf-8", "surrogatepass")
    classes = {*attributes.get("class", "").split()}
    own = "" if tag in _ANCHOR_TAGS or "section" in classes else attributes.get("id", "")
    names = [*sorted(classes - _STATES), "#" + own]
    if names == ["#"]:
        names = []
    return (tag + _figures.sub("0", " ".join(("", *names))[:500])).encode("utf-8", "surrogatepass")


_MAX_RUNS: Final = 24
"""Spans that are told apart; the rest counts as one that differs."""
_MAX_GAP: Final = 24  # equal pieces between two differences up to which one span is cheaper than two


def _any_of(names: list[str]) -> str:
    """A pattern for names in any case. Unlike a list of alternatives, it fails at the first wrong letter."""
    heads = sorted({name[0] for name in names if name})
    tails = "|".join(
        f"[{head}{head.upper()}]" + _any_of([name[1:] for name in names if name[:1] == head]) for head in heads
    )
    return (f"(?:{tails})" if heads else "") + ("?" if heads and "" in names else "")


# Quotes only count after "="; a tag without an end reaches to the end of the text.
_TAG: Final = r"/?[a-zA-Z][^\s/>]*+[^>=]*+(?:=\s*+(?:\"[^\"]*+\"|'[^']*+')?+[^>=]*+)*+(?:>|\Z)"
# Most tags are links, whose end is read at once, or have no attributes: that saves a fifth of the time; half of it if
# their name is one of these.
text_border = re.compile(
    rf"(<(?:/?(?:li|p|div|ul|ol|t[drh]|d[dtl]|h[1-6])>|(?!/?a[\s>]|/?{_any_of(_INLINE_NAMES.split())}[\s/>])"
    rf"(?:/?[a-zA-Z][a-zA-Z0-9]*+>|{_TAG}|[!?/][^>]*+(?:>|\Z))))"
)
_any_tag = re.compile(f"(<{_TAG})")
_values: Final = {quote: re.compile(rf"=\s*+{quote}") for quote in "\"'"}


class DiffSpan(NamedTuple):
    """Pieces of an old and a new body, by their indexes. ``same``: these pieces are equal."""

    same: bool
    old: slice
    new: slice


def split_markup(markup: str) -> list[str]:
    """Alternating tags and texts: a tag that ends a text, then the text after it with its inline tags.

    The first tag is "", so that the list consists of pairs.
    """
    return ["", *text_border.split(markup)]


def split_markup_like(markup: str, known: str, pieces: list[str]) -> list[str]:
    """The same, reusing the ``pieces`` of a ``known`` markup as far as both agree, at the beginning and at the end.

    In the beginning that agrees, a tag ends at the same place in both, unless its quoted value has no end quote. Before
    the last quote of the known markup, every quoted value has one. Both agree again from a tag of both on, because a
    tag is read without regard to what is before it.
    """
    agree = common_prefix(markup, known)
    for quote, begins in _values.items():
        if begins.search(known):
            agree = min(agree, known.rfind(quote))
    ends = [0, *accumulate(map(len, pieces))]
    shared = min(bisect_right(ends, agree) - 1, len(pieces) - 3)  # the last tag may have no end
    shared -= 1 - shared % 2  # up to and including a tag
    shared = max(shared, 1)
    more = len(markup) - len(known)
    same = len(known) - common_prefix(markup[::-1], known[::-1])
    found, at = pieces[:shared], ends[shared]
    for tag in text_border.finditer(markup, at):
        place = tag.start() - more
        n = bisect_right(ends, place) - 1  # the last piece that begins there: pieces may be empty
        if place >= same and ends[n] == place and n % 2 == 0:
            return [*found, markup[at : tag.start()], *pieces[n:]]
        found += (markup[at : tag.start()], tag[0])
        at = tag.end()
    return [*found, markup[at:]]


def common_prefix(old: Sequence[str], new: Sequence[str]) -> int:
    """The number of equal characters or pieces at the beginning of both."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def diff_spans(old: list[str], new: list[str]) -> Iterator[DiffSpan]:
    """All pieces of both in order, in spans that are equal or differ in turn. No pair of tag and text is split."""
    first = common_prefix(old, new) & ~1
    last = min(common_prefix(old[::-1], new[::-1]), min(len(old), len(new)) - first) & ~1
    more = len(old) - len(new)
    at = 0
    for begin, end in _differing_spans(old, new, first, last) if more == 0 else [(first, len(new) - last)]:
        yield DiffSpan(True, slice(at, begin), slice(at, begin))
        yield DiffSpan(False, slice(begin, end + more), slice(begin, end))
        at = end
    yield DiffSpan(True, slice(at + more, None), slice(at, None))


def _differing_spans(old: list[str], new: list[str], first: int, last: int) -> Iterator[tuple[int, int]]:
    """The differing spans of two lists of equal length; near ones are joined."""
    begin = end = first
    count = 1
    for n in range(first, len(new) - last):
        if old[n] == new[n]:
            continue
        if n - end > _MAX_GAP and count < _MAX_RUNS:
            yield begin, end
            begin = n & ~1
            count += 1
        end = (n & ~1) + 2
    yield begin, end


# The most frequent tag, with a URL that needs no cleaning.
_link = re.compile(
    r"<a (?:class=\"[^\"]*+\" )?href=\"((?!javascript:)[a-z./#][^\"&?\s]{0,499}+)\""
    r"(?: (?:title|class|rel|target)=\"[^\"]*+\")*+>\Z"
).match


class TextReading(Struct, frozen=True, gc=False):
    """What one part of a text says: ``compared_text`` with the targets of its links, and ``text`` for display.

    ``token`` names the inline element that the part is in, if that has a class or an id. ``is_labelled``: it is a link
    behind a label.
    """

    compared_text: str = ""
    text: str = ""
    is_link: bool = False
    facts: tuple[tuple[str, str], ...] = ()
    token: bytes = b""
    is_labelled: bool = False


class _InlineTag(Struct, frozen=True, gc=False):
    """The effect of a tag inside a text. ``begins`` and ``ends`` are for links; ``token`` is for an own part.

    ``time`` is what a ``time`` element states as data (https://html.spec.whatwg.org/#the-time-element): it counts in
    place of its words, such as "3 days ago".
    """

    begins: bool = False
    ends: bool = False
    text: str = ""
    target: str = ""
    fact: tuple[str, str] = ("", "")
    name: str = ""
    token: bytes = b""
    time: str = ""


def _read_inline_tag(written: str) -> _InlineTag:
    if link := _link(written):
        return _InlineTag(begins=True, target=clean_url(link[1]))
    parts = _tag(written)
    if not parts:
        return _InlineTag()
    tag = parts[1].lower()
    attributes = _read_attributes(parts[2].removesuffix(">")) if tag[0] != "/" and parts[2] != ">" else {}
    target = clean_url(attributes["href"]) if "href" in attributes else _media_source(attributes)
    is_named = tag not in _UNNAMED_TAGS and ("class" in attributes or "id" in attributes)
    return _InlineTag(
        begins=tag == "a",
        ends=tag == "/a",
        text=f" {attributes.get('alt', '')} " if tag in {"br", "img"} else "",
        target="" if target[:11].lower().startswith("javascript:") else target,
        fact=_microdata_value(tag, attributes),
        name=tag,
        token=_token(tag, attributes) if is_named else b"",
        time=attributes.get("datetime", "") if tag == "time" else "",
    )


_INLINE_TAGS: Final = Memo(_read_inline_tag)
_MAX_LABEL: Final = 2  # words


class _OpenPart:
    """The part of a text that is read now, with its number."""

    __slots__ = ("facts", "link", "number", "outside", "targets", "texts", "token")

    def __init__(self, token: bytes = b"", number: int = 1) -> None:
        self.token, self.number = token, number
        self.texts: list[str] = []
        self.targets: list[str] = []
        self.facts: list[tuple[str, str]] = []
        self.outside: list[str] = []  # the words that are in no link
        self.link = 0, 0  # the numbers of texts and of targets before the last link

    def add(self, text: str) -> None:
        """Add a text that is in no link."""
        self.texts.append(text)
        self.outside += text.split()

    def read(self, tag: "_InlineTag") -> None:
        """Read a tag of this part: where a link or a picture leads.

        A picture in a link to itself leads nowhere else. A link to a part of the page without a word is a mark, such as
        that of a heading.
        """
        if tag.begins:
            self.link = len(self.texts), len(self.targets)
        texts, targets = self.link
        is_inner = tag.ends and [target[0] for target in self.targets[targets:]] == ["#"]
        if is_inner and not any(map(str.isalnum, "".join(self.texts[texts:]))):
            del self.texts[texts:], self.targets[targets:]
        if tag.target and not (tag.name == "img" and self.targets[-1:] == [tag.target]):
            self.targets.append(tag.target)

    def follow(self, parts: list[TextReading], token: bytes = b"") -> "_OpenPart":
        """End this part, which says something or is dropped, and begin the next one.

        A label before a link, such as "Next:", is a part of its own.
        """
        texts, targets = self.link
        label = "".join(self.texts[:texts])
        is_before_all = bool(self.targets) and not targets and self.outside == label.split()
        is_labelled = is_before_all and 0 < len(self.outside) <= _MAX_LABEL
        if is_labelled:
            text = _in_one_line(label)
            parts.append(TextReading(fold_typography(text), text, token=self.token))
            self.texts, self.outside = self.texts[texts:], []
        text = _in_one_line("".join(self.texts))
        compared = "\x1f".join((fold_typography(text), *self.targets))
        if compared or self.facts:
            is_link = bool(self.targets) and not self.outside
            shown, facts = text or compared[1:], tuple(self.facts)
            parts.append(TextReading(compared, shown, is_link, facts, self.token, is_labelled))
        return _OpenPart(token, self.number + 1)


def _in_one_line(raw: str) -> str:
    return " ".join((unescape(raw) if "&" in raw else raw).split())


def _read_text(raw: str) -> tuple[TextReading, ...]:
    """The parts of a text: its sentences, and its inline elements with a class or an id.

    An editor, or a program, changes one part and leaves the others alone. A link is never divided.
    """
    if "<" not in raw:
        sentences = _sentence_end.split(raw, _MAX_PARTS - 1)
        return tuple(TextReading(fold_typography(text), text) for text in map(_in_one_line, sentences) if text)
    parts: list[TextReading] = []
    part = _OpenPart()
    is_in_link, is_in_time, named, depth = False, False, "", 0  # named: the open element that is a part of its own
    pieces = ["", *_any_tag.split(raw)]
    for written, shown in zip(pieces[::2], pieces[1::2], strict=True):
        tag = _INLINE_TAGS[written]
        is_in_time = bool(tag.time) or (is_in_time and tag.name != "/time")
        text = tag.time if is_in_time else shown
        if named:
            depth += (tag.name == named) - (tag.name[1:] == named)
        elif tag.token and not is_in_link and part.number < _MAX_PARTS:
            named, depth = tag.name, 1
            part = part.follow(parts, tag.token)
        part.texts.append(tag.text)
        is_in_link = tag.begins or (is_in_link and not tag.ends)
        part.read(tag)
        if tag.fact[1]:
            part.facts.append(tag.fact)
        if named and not depth:
            named = ""
            part = part.follow(parts)
        if is_in_link or not text:
            part.texts.append(text)
            continue
        first, *others = _sentence_end.split(text, _MAX_PARTS - part.number) if part.number < _MAX_PARTS else (text,)
        part.add(first)
        for sentence in others:
            part = part.follow(parts, part.token)
            part.add(sentence)
    part.follow(parts)
    return tuple(parts)


TEXTS: Final = Memo(_read_text)
"""The parts of each text, by its markup."""
_KEPT: Final = "\x02"  # stands for what a text in one line would lose; no text has it
_indent = re.compile(r"(\n(?:<[^<>]*+>)*+)([ \t]++)").sub


def _read_code(raw: str) -> tuple[TextReading, ...]:
    """The parts of a text whose lines, indents and dashes mean something, such as that of a ``pre``."""
    marked = _indent(lambda found: found[1] + _KEPT * len(found[2]), raw).replace("--", f"-{_KEPT}-")
    return tuple(replace(part, text=part.text.replace(_KEPT, "")) for part in _read_text(marked))


CODES: Final = Memo(_read_code)
"""The same of texts in ``pre``."""
CODE_LEAF: Final = LEAF + b"pre"
"""The beginning of the place of such a text, behind its containers."""
