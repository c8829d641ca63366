"""Pages that answer under several URLs, without a redirect or a canonical between them."""

import re
from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from itertools import groupby
from operator import attrgetter
from typing import Final

from msgspec import Struct

from crawler.model import Url


class DuplicateCandidate(Struct, frozen=True):
    """One of several pages that may be one, such as by the spelling of their URLs (``key``).

    ``digest`` is that of what was read; ``title`` is "" where a title is not enough. One that is no ``is_stranger``
    may be what others are copies of, and is a page whatever they are.
    """

    key: str
    id: int
    url: Url
    digest: bytes
    title: str
    is_listed: bool  # in a sitemap
    is_uncrawled: bool = True


class LinkSupport(IntEnum):
    """What the site itself has for a URL, the best first."""

    LINKED = 0  # the start leads to it
    NOFOLLOWED = 1  # by links only that are not to be followed
    LINKED_BY_ORPHAN = 2  # pages that nothing leads to name it
    UNLINKED = 3


def find_copies(
    twins: Iterable[DuplicateCandidate], lead: Callable[[int], LinkSupport]
) -> Iterator[tuple[int, int]]:
    """Pairs of ids: a page that nothing leads to, and the page that it is another spelling or a copy of.

    Or one that nofollow links lead to, if it says the same to the byte. Of those that nothing leads to, the one that a
    sitemap lists is the page, else one that others name, one without parameters, the shortest, one in lower case. Twins
    of one key stand together.
    """
    for _, group in groupby(twins, attrgetter("key")):
        first, *others = sorted(group, key=lambda twin: _preference(twin, lead(twin.id)))
        for other in others:
            match lead(other.id):
                case LinkSupport.LINKED:
                    is_copy = False
                case LinkSupport.NOFOLLOWED:
                    is_copy = _is_exact(first, other)
                case _:
                    is_copy = other.is_uncrawled and _is_same(first, other)
            if is_copy:
                yield other.id, first.id


def _preference(twin: DuplicateCandidate, lead: LinkSupport) -> tuple[object, ...]:
    return (
        min(lead, LinkSupport.LINKED_BY_ORPHAN),
        not twin.is_listed,
        lead,
        "?" in twin.url,
        len(twin.url),
        twin.url.swapcase(),
    )


def _is_same(one: DuplicateCandidate, other: DuplicateCandidate) -> bool:
    """A counter or a token may differ from answer to answer; a title is then enough between spellings of one path.

    Not of one query: what differs in case only is another value, such as of an id, and many pages may have one title.
    """
    if _is_exact(one, other):
        return True
    return bool(one.title) and one.title == other.title and _sorted_query(one.url) == _sorted_query(other.url)


def _is_exact(one: DuplicateCandidate, other: DuplicateCandidate) -> bool:
    return bool(one.digest) and one.digest == other.digest


def _sorted_query(url: Url) -> list[str]:
    return sorted(url.partition("?")[2].split("&"))


MIN_TEXT: Final = 200  # characters of text, without spaces, of a page that is one without scripts

_MAX_READ: Final = 50_000  # characters of markup; of a frame for scripts there is less

_UNREAD: Final = tuple(
    (re.compile(rf"<{name}\b", re.IGNORECASE).search, re.compile(rf"</{name}\s*+>", re.IGNORECASE).split)
    for name in ("head", "title", "noscript", "template", "svg")
)

_tag = re.compile(r"<[^>]*+>?").sub


def is_bare(markup: str) -> bool:
    """Whether this is so of the markup of a page, without its scripts, styles and comments. Linear in it."""
    if len(markup) > _MAX_READ:
        return False
    for begins, split in _UNREAD:
        *ended, rest = split(markup)  # what never ends is no element: an end tag may be left out
        markup = " ".join(
            (*(each[: begin.start()] if (begin := begins(each)) else each for each in ended), rest)
        )
    return len("".join(_tag(" ", markup).split())) < MIN_TEXT


# "p" may as well be a product, and at the root it is a post of WordPress
_PAGE_PATH: Final = re.compile(
    r"/(?:(?:(?:comments?-)?page|seite|pagina)[/-]?\d+|p[/-]?\d{1,3})(?:/|\.html?|\.php)?(?:\?|$)",
    re.IGNORECASE,
).search

_PAGE_QUERY: Final = re.compile(
    r"[?&](?:page|paged|pg|pagenum|start|offset)=\d+(?:&|$)|//[^/]+/[^?]+\?(?:.*&)?p=\d{1,3}(?:&|$)",
    re.IGNORECASE,
).search


def is_paginated(url: Url) -> bool:
    """Whether a URL says that it is one page of several."""
    return bool(_PAGE_PATH(url) or _PAGE_QUERY(url))


_INDEX_FILE: Final = re.compile(r"/(?:index|default)\.(?:html?|php|aspx?|jsp|shtml)$")

_FIRST_PAGE: Final = re.compile(r"/page/1/?$")

_REPEATED_SLASHES: Final = re.compile("/{2,}")


def normalize_spelling(url: Url) -> str:
    """One text for a URL in any case, with and without a slash at its end, the name of an index file, ``page/1``,
    ``www.``, either scheme, doubled slashes, and with its parameters in any order.

    Escapes, dot segments, fragments and tracking parameters are gone already: see :mod:`crawler.url.normalize`.
    """
    where, _, query = url.partition("://")[2].lower().partition("?")
    host, _, path = where.partition("/")
    path = _FIRST_PAGE.sub("/", _INDEX_FILE.sub("/", _REPEATED_SLASHES.sub("/", f"/{path}"))).rstrip("/")
    if "&" in query:
        query = "&".join(sorted(query.split("&")))
    return f"{host.removeprefix('www.')}{path}{'?' if query else ''}{query}"
