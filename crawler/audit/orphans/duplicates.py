"""Duplicates: one page under several URLs, without a redirect or a canonical between them. Pure."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from itertools import groupby
from operator import attrgetter
from typing import Final

from msgspec import Struct

from crawler.model import Url
from crawler.parse.snapshot.diff import Delta, compare
from crawler.parse.snapshot.snapshot import load_snapshot, take_snapshot


class DuplicateCandidate(Struct, frozen=True):
    """A page that may be a duplicate of the others with the same ``key``, such as a normalized spelling.

    ``digest`` is the hash of the content; ``text`` is its snapshot (:mod:`crawler.parse.snapshot`), empty where pages
    with an equal ``title`` that say nearly the same are no copies. The crawl found a page without ``is_uncrawled`` by
    itself: such a page may have copies, but is no copy.
    """

    key: str
    id: int
    url: Url
    digest: bytes
    title: str
    text: bytes
    is_listed: bool  # in a sitemap
    is_uncrawled: bool = True


class LinkSupport(IntEnum):
    """How the site links a URL, the best first."""

    LINKED = 0  # the start leads to it
    NOFOLLOWED = 1  # only nofollow links lead to it
    LINKED_BY_ORPHAN = 2  # only orphans link to it
    UNLINKED = 3


def find_copies(
    candidates: Iterable[DuplicateCandidate], support: Callable[[int], LinkSupport]
) -> Iterator[tuple[int, int]]:
    """Pairs of ids: an unlinked page, and the page that it is a copy or another spelling of.

    A page with nofollow links is a copy only if its content is equal to the byte. Of several unlinked pages, the
    original is the one that a sitemap lists, else the one that orphans link, the one without parameters, the shortest,
    the one in lower case. Candidates of one key come together.
    """
    for _, group in groupby(candidates, attrgetter("key")):
        first, *others = sorted(group, key=lambda page: _preference(page, support(page.id)))
        for other in others:
            match support(other.id):
                case LinkSupport.LINKED:
                    is_copy = False
                case LinkSupport.NOFOLLOWED:
                    is_copy = _is_exact(first, other)
                case _:
                    is_copy = other.is_uncrawled and _is_same(first, other)
            if is_copy:
                yield other.id, first.id


def _preference(page: DuplicateCandidate, support: LinkSupport) -> tuple[object, ...]:
    is_linked = min(support, LinkSupport.LINKED_BY_ORPHAN)
    return is_linked, not page.is_listed, support, "?" in page.url, len(page.url), page.url.swapcase()


def _is_same(page: DuplicateCandidate, other: DuplicateCandidate) -> bool:
    """Whether two pages are one. A counter or a token may differ in each answer, so figures in the text may differ.

    Queries must be equal if both URLs have one: one that differs in case only holds another value, such as an id. If
    only one has parameters, these must not have chosen the figures, as in a page of a list or the report of a year.
    """
    if _is_exact(page, other):
        return True
    queries = {query for version in (page, other) if (query := _sorted_query(version.url))}
    if page.title != other.title or len(queries) > 1 or not (page.text and other.text):
        return False
    only = [version.url for version in (page, other) if "?" in version.url]
    texts = [
        _without_parameters(version.text, only[0]) if len(only) == 1 else version.text for version in (page, other)
    ]
    delta = compare(*texts)
    lost, gained = (
        Counter(change.shape for change in delta.differences if change.gone is side) for side in (True, False)
    )
    if not delta.known or delta.more or lost != gained:
        return False
    return len(only) != 1 or not _chose_figures(only[0], delta)


def _without_parameters(text: bytes, url: Url) -> bytes:
    """A snapshot without the parameters of its own URL: lists hand them on to the links to their further pages."""
    names = {re.escape(pair.partition("=")[0]) for pair in url.partition("?")[2].split("&") if "=" in pair}
    markup = load_snapshot(text) if names else None
    if markup is None:
        return text
    own = rf"(?:\?|&(?:amp;|#0?38;)?)(?:{'|'.join(sorted(names))})=[^\"'&\s<>]*+"
    return take_snapshot(re.sub(own, "", markup).encode())


def _chose_figures(url: Url, delta: Delta) -> bool:
    """Whether parameters may be the reason that figures of a page differ from those of the page without them."""
    if is_paginated(url):
        return bool(delta.differences)
    values = {float(value) for value in _WHOLE_NUMBER(url.partition("?")[2])}
    return any(value in values for change in delta.differences for *_, value in change.figures)


def _is_exact(page: DuplicateCandidate, other: DuplicateCandidate) -> bool:
    return bool(page.digest) and page.digest == other.digest


def _sorted_query(url: Url) -> str:
    return "&".join(sorted(url.partition("?")[2].split("&")))


_WHOLE_NUMBER: Final = re.compile(r"(?<![0-9.])[0-9]{1,15}(?![0-9.])").findall

MIN_TEXT: Final = 200  # characters of text, without spaces, of a page that needs no scripts
_MAX_READ: Final = 50_000  # characters of markup; an application shell has less
_UNREAD: Final = tuple(
    (re.compile(rf"<{name}\b", re.IGNORECASE).search, re.compile(rf"</{name}\s*+>", re.IGNORECASE).split)
    for name in ("head", "title", "noscript", "template", "svg")
)

_tag = re.compile(r"<[^>]*+>?").sub


def is_bare(markup: str) -> bool:
    """Whether a page has next to no text without its scripts. ``markup`` has no scripts, styles or comments.

    Takes linear time.
    """
    if len(markup) > _MAX_READ:
        return False
    for begins, split in _UNREAD:
        *ended, rest = split(markup)  # without an end tag it is no element
        parts = (part[: begin.start()] if (begin := begins(part)) else part for part in ended)
        markup = " ".join((*parts, rest))
    return len("".join(_tag(" ", markup).split())) < MIN_TEXT


# "p" may also mean a product, and at the root it is a WordPress post
_PAGE_PATH: Final = re.compile(
    r"/(?:(?:(?:comments?-)?page|seite|pagina)[/-]?\d+|p[/-]?\d{1,3})(?:/|\.html?|\.php)?(?:\?|$)", re.IGNORECASE
).search

_PAGE_QUERY: Final = re.compile(r"[?&](?:page|paged|pg|pagenum|start|offset)=\d++(?:&|$)", re.IGNORECASE).search
_PAGE_QUERY_BELOW_ROOT: Final = re.compile(r"[^/]++//[^/]++/[^?]++\?(?:.*&)?p=\d{1,3}(?:&|$)", re.IGNORECASE).match


def is_paginated(url: Url) -> bool:
    """Whether a URL is a page of a paginated list."""
    return bool(_PAGE_PATH(url) or _PAGE_QUERY(url) or _PAGE_QUERY_BELOW_ROOT(url))


_INDEX_FILE: Final = re.compile(r"/(?:index|default)\.(?:html?|php|aspx?|jsp|shtml)$")

_FIRST_PAGE: Final = re.compile(r"/page/1/?$")

_REPEATED_SLASHES: Final = re.compile("/{2,}")


# Of characters that a path or a query may have as they are, and that delimit nothing there: RFC 3986 2.2, 3.3 and 3.4.
_PATH_ESCAPE: Final = re.compile("%(?:2[146-9a-c]|3[abd]|40)")
_QUERY_ESCAPE: Final = re.compile("%(?:2[147-9acf]|3[af]|40)")


def _decode(escape: re.Match[str]) -> str:
    return chr(int(escape[0][1:], 16))


def normalize_spelling(url: Url) -> str:
    """One key for all spellings of a URL: without case, scheme, ``www.``, a last slash, the name of an index file,
    ``page/1`` and repeated slashes, without the escapes of characters that mean the same, and with sorted parameters.

    :mod:`crawler.url.normalize` has already resolved other escapes, dot segments, fragments and tracking parameters.
    """
    address, _, query = url.partition("://")[2].lower().partition("?")
    host, _, path = _PATH_ESCAPE.sub(_decode, address).partition("/")
    query = _QUERY_ESCAPE.sub(_decode, query)
    path = _FIRST_PAGE.sub("/", _INDEX_FILE.sub("/", _REPEATED_SLASHES.sub("/", f"/{path}"))).rstrip("/")
    if "&" in query:
        query = "&".join(sorted(query.split("&")))
    return f"{host.removeprefix('www.')}{path}{'?' if query else ''}{query}"
