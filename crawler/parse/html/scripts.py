"""Reads what scripts may do to a page: which ones it loads, and whether one of the site's own may add links. Pure.

Only a browser can tell what a script does. Without one, a page is in doubt if a script of the site itself builds
markup, or is in a file that nobody reads, and the page has an empty place for what it builds: a list without entries, a
``div`` with an id and nothing in it. No place is needed if a script in the page itself writes links. Scripts and places
for analytics, consent, advertising, themes and a search box do not count: they add no links to pages of the site that
a visitor did not ask for.
"""

import re
from collections.abc import Iterable
from functools import lru_cache, partial
from itertools import accumulate
from typing import Final, NamedTuple

from crawler.model import Url
from crawler.url.normalize import host_of

MAX_SCRIPTS: Final = 100
INLINE: Final = "inline"
"""Stands for scripts in the markup itself."""
UNRUN: Final = "unrun: "
"""Begins the note of a page with a script that was not run and may add links."""
WRITER: Final = "an inline script that writes links"
_BUILDER: Final = "an inline script that builds markup"
_MAX_CACHED: Final = 2_000  # bytes of a script
_WORDS: Final = b"document HTML $( $. Query create import Element location Vue".split()
_source = re.compile(rb"""(?i)\bsrc\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++))""").search
_host = re.compile(r"\s*+(?:https?:)?//(?:[^/?#@]*+@)?([^/?#:]*+)", re.IGNORECASE).match
_data_type = re.compile(
    rb"""(?i)\btype\s*+=\s*+["']?(?:application/(?:ld\+)?json|text/(?:template|x-)|importmap|speculationrules)"""
).search
_builds = re.compile(
    rb"(?:inner|outer)HTML|insertAdjacent|document\.write|attachShadow|customElements|createApp|createRoot|new Vue"
    rb"|\.(?:mount|html|load|(?:ap|pre)pend(?:To)?)\(|replaceChildren|cloneNode|importNode|\bimport\b"
    rb"|createElement\w{0,20}+\(\s*+[\"'`](?!script|style|link|img|iframe)"
    rb"|\blocation(?:(?:\.href)?\s*+=(?!=)|\.(?:replace|assign)\()"
).search
_creates = re.compile(rb"createElement\w{0,20}+\(\s*+[^\s\"'`]").search
_writes_links = re.compile(
    rb"(?i)createElement\(\s*+[\"'`]a[\"'`]"
    rb"|(?:<|\\u003c|\\x3c)a\s(?![^>]{0,200}?href=\\?[\"']?(?:mai|tel:|#|javascript:))"
).search
_loads = re.compile(rb"""["'`]((?:\.{0,2}/)(?!/)[^"'`\s]++)["'`]""").findall
_FOR_OTHERS: Final = (
    rb"consent|cookie|gdpr|ccpa|onetrust|didomi|usercentrics|analytics|gtag|gtm\b|matomo|piwik|plausible|umami|pixel"
    rb"|adsbygoogle|ad-?slot|advert|sponsor|prebid|googletag|\bgpt\b|(?<![a-z])ads?(?![a-z])"
)
_is_for_others = re.compile(_FOR_OTHERS, re.IGNORECASE).search
_listens = re.compile(rb"(?:on|[\"'])(?:input|key(?:up|down|press)|submit)\b").search


class Script(NamedTuple):
    """A script: its source as written or ``INLINE``, "" for data; and what makes it add links, or ""."""

    source: str
    doubt: str = ""


def is_file(script: str) -> bool:
    """Whether one of the ``scripts`` of a page is the source of a file: not what is inline, nor an empty place."""
    return script != INLINE and not script.startswith("<")


def read_scripts(elements: Iterable[bytes]) -> list[Script]:
    """The scripts among the elements of a page, each source once. Data blocks do not count."""
    scripts = (element for element in elements if element[1:7].lower() == b"script")
    read = (_cached_script(text) if len(text) < _MAX_CACHED else _read_script(text) for text in scripts)
    return [*dict.fromkeys(script for script in read if script.source)][:MAX_SCRIPTS]


def _read_script(element: bytes) -> Script:
    tag, _, text = element.partition(b">")
    if _data_type(tag):
        return Script("")
    if (named := _source(tag)) and (written := named[1] or named[2] or named[3]):
        source = written.decode("utf-8", "replace")
        return Script(source, "" if _is_for_others(written) else source)
    return Script(INLINE, _doubt(text))


_cached_script = lru_cache(maxsize=512)(_read_script)  # most pages of a site have the same


def _doubt(text: bytes) -> str:
    """What makes the text of a script in the page add links, or ""."""
    if not any(word in text for word in _WORDS):
        return ""  # to find words takes less time than the expressions below
    # a name that is not written out may be "script", for a file that need not be waited for
    if _builds(text) or (_creates(text) and b"async" not in text):
        is_aside = _is_for_others(text) or (b"search" in text.lower() and _listens(text))
        return WRITER if _writes_links(text) and not is_aside else _BUILDER
    files = (name for name in _loads(text) if b"createElement" in text and b"js" in name)
    return next((name.decode("utf-8", "replace") for name in files if not _is_for_others(name)), "")


def unrun_script(scripts: Iterable[Script], page: Url) -> str:
    """The script of the site of a page that may add links, in words, or "". One that needs no place comes first.

    The last two labels of a host stand for its registrable domain, which counts a stranger's file rather than miss one.
    """
    doubts = [doubt for source, doubt in scripts if doubt and (doubt != source or _is_of_site(source, page))]
    return WRITER if WRITER in doubts else doubts[0][:200] if doubts else ""


def _is_of_site(source: str, page: Url) -> bool:
    host = _host(source) if "//" in source else None
    return not host or host[1].lower().split(".")[-2:] == host_of(page).split(".")[-2:]


_LAYOUT_TAGS: Final = b"div|section|article|aside|header|footer|table|tbody"
_NAMED_TAGS: Final = _LAYOUT_TAGS + b"|nav|ul|ol|menu|main|body"
_TAGS: Final = _NAMED_TAGS + rb"|[a-z]++-[a-z-]++"
_SHOWN_TAGS: Final = b"a|area|img|picture|video|audio|iframe|object|embed|form|button|select|textarea|canvas"
_LOADING: Final = rb"loading[^<>]{0,40}+"


def _in_any_case(words: bytes) -> bytes:
    """An expression for words in any case. With a flag for that, a search takes twice as long."""
    return re.sub(rb"[a-z]", lambda letter: b"[%s%s]" % (letter[0], letter[0].upper()), words)


# Behind a tag that begins something, which most are not, or behind what is for browsers without scripts. It begins with
# one character of markup, and asks for names last: an expression for the whole element takes three times as long.
_NO_END_TAG: Final = b"".join(
    rb"(?<!</(?!%s)[a-zA-Z0-9]{%d}>)" % (_in_any_case(b"noscript"), length) for length in (3, 2, 1, 5, 4, 7, 6, 8)
)
_gaps = re.compile(
    rb">(?=\s*+(?:</|[lL]))%s(?=\s*+(?:</(?:%s|[a-zA-Z]++-[a-zA-Z-])|%s[^<>]{0,40}+</))"
    % (_NO_END_TAG, _in_any_case(_NAMED_TAGS), _in_any_case(b"loading"))
).finditer
_container = re.compile(rb"<(" + _TAGS + rb")(?![a-z0-9-])([^<>]*+)>\s*+").match
_blank = re.compile(rb"(?:\s++|" + _LOADING + rb"|<(?!/?(?:" + _SHOWN_TAGS + rb")\b)[^<>]*+>){0,60}+").match
_without_noscript = partial(re.compile(rb"<noscript\b.*?(?:</noscript\b[^>]*+>|\Z)", re.DOTALL).sub, b"")
_is_other_place = re.compile(
    _FOR_OTHERS + rb"|privacy|theme-?(?:toggle|switch|picker|select)|dark-?mode|color-?(?:mode|scheme)|search|suggest"
    rb"|auto-?complete|typeahead|captcha|announcer|icon|youtube|vimeo"
).search
_is_link_place = re.compile(
    rb"\sclass=(?:\"(?:[^\"]*[\s_-])?|'(?:[^']*[\s_-])?|(?:[^\s\"'>]*[_-])?)(?:nav|navigation|menu|links?|list|items|posts"
    rb"|products|articles|entries|related|toc|categories|tags|archive|cards|grid|feed|content|app|root)(?![\w-])"
).search
_waits = re.compile(rb"load|spin|skeleton|shimmer").search
_has_name = re.compile(rb"\s(?:id|(?!aria)[a-z]++-[a-z-]++)=").search


def empty_places(markup: bytes) -> list[str]:
    """The tags of the empty places of a page that a script may fill with links. Takes linear time.

    ``markup`` has no scripts, styles or comments. A place is empty without a text, a picture or a control, or while it
    says that it is loading, or holds only an element that does; what is for browsers without scripts does not count. A
    tag for layout has a class and no other name, so it counts if that says what it is for.
    """
    if next(_gaps(markup), None) is None:
        return []  # most pages need no more than one search
    markup = markup.lower()
    markup = _without_noscript(markup) if b"<noscript" in markup else markup
    found: dict[str, None] = {}
    for gap in _gaps(markup):
        at, last, is_waiting = markup.rfind(b"<", 0, gap.start()), -1, True
        while at >= 0 and is_waiting and not markup.startswith(b"</", at):  # and on to those that hold nothing else
            element = _container(markup, at)
            if last >= 0 and (element is None or element.end() != last):
                break
            is_waiting = element is None or not element[2] or bool(_waits(element[2]))
            if element and _may_hold_links(element, markup) and _is_empty(element, markup):
                found[element[0].decode("utf-8", "replace").strip()[:200]] = None
            last, at = at, markup.rfind(b"<", 0, at)
    return list(found)


def _may_hold_links(element: re.Match[bytes], markup: bytes) -> bool:
    tag, names = element.groups()
    if _is_other_place(element[0]) or (b"result" in names and b"search" in markup):
        return False
    return tag not in _LAYOUT_TAGS.split(b"|") or bool(_has_name(names) or _is_link_place(names))


def _is_empty(element: re.Match[bytes], markup: bytes) -> bool:
    """Whether an element ends in the blank markup that it begins with."""
    slashes = re.findall(rb"<(/?)" + element[1] + rb"\b", (_blank(markup, element.end()) or element)[0])
    return 0 in accumulate((-1 if slash else 1 for slash in slashes), initial=1)
