"""Robots directives (noindex and its kin) of meta tags and of the X-Robots-Tag header. Pure.

The rules are those of https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag: names and values in
any case, lists with commas, statements add up and the most restrictive wins. A statement counts when it is for all
robots or for our product token. Those for a search engine (``googlebot``) are read apart, and those for other robots
do not count.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from msgspec import Struct

from crawler.fetch.header_values import parse_http_date

HEADER: Final = "X-Robots-Tag"
"""The start of the evidence of a header."""
ENGINES: Final = ("googlebot", "bingbot")
"""The tokens of the search engines whose own noindex counts: they report such a URL as submitted, but noindexed.
https://www.bing.com/webmasters/help/which-robots-metatags-does-bing-support-5198d240
"""
_ENGINE_EVIDENCE: Final = "only for "
_VALUED: Final = frozenset({"max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"})
_KNOWN: Final = frozenset({
    "noindex", "none", "nofollow", "noimageindex", "all", "index", "follow", "noarchive", "nocache", "nosnippet",
    "notranslate", "indexifembedded", "nositelinkssearchbox", "noodp", "noydir", "noai", "noimageai",
})  # fmt: skip
_prefix = re.compile(r"\s*([A-Za-z][A-Za-z0-9_.\-]*|\*)\s*:").match
_separator = re.compile(r"[,;]")
_unprintable = re.compile(r"[^\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]+|\s+")


class Directives(Struct, frozen=True):
    """The directives of a page. ``noindex`` is the evidence in the author's words, or "".

    ``expires`` is the Unix time after which the page must not be indexed, with its own evidence.
    """

    noindex: str = ""
    nofollow: bool = False
    noimageindex: bool = False
    expires: float | None = None
    expires_evidence: str = ""

    def noindex_at(self, now: float) -> str:
        """The evidence that the page must not be indexed at this time (Unix, seconds), or ""."""
        if self.noindex:
            return self.noindex
        return self.expires_evidence if self.expires is not None and self.expires < now else ""

    def merge(self, other: "Directives") -> "Directives":
        """Both together: the most restrictive of each."""
        mine, theirs = self.expires, other.expires
        earlier = other if mine is None or (theirs is not None and theirs < mine) else self
        return Directives(
            noindex=self.noindex or other.noindex,
            nofollow=self.nofollow or other.nofollow,
            noimageindex=self.noimageindex or other.noimageindex,
            expires=earlier.expires,
            expires_evidence=earlier.expires_evidence,
        )


NO_DIRECTIVES: Final = Directives()


def read_directives(metas: Mapping[str, Sequence[str]], headers: Iterable[str], token: str, now: float) -> Directives:
    """The directives of a page for a robot, merged.

    ``metas`` are the contents of the meta elements by their name in lower case, ``headers`` the values of X-Robots-Tag.
    """
    directives = NO_DIRECTIVES
    for value in headers:
        directives = directives.merge(read_header(value, token, now))
    for name in dict.fromkeys(("robots", token.lower())):
        for content in metas.get(name, ()):
            directives = directives.merge(read_meta(name, content, token, now))
    return directives


def read_engine_noindex(metas: Mapping[str, Sequence[str]], headers: Sequence[str], now: float) -> str:
    """The evidence that a page must not be indexed by some of :data:`ENGINES`, which it names; "" if there is none."""
    if not headers and not any(engine in metas for engine in ENGINES):
        return ""  # the rule for all robots is read already
    found = {engine: read_directives(metas, headers, engine, now).noindex_at(now) for engine in ENGINES}
    engines = [engine for engine, evidence in found.items() if evidence]
    return f"{_ENGINE_EVIDENCE}{' and '.join(engines)}: {found[engines[0]]}" if engines else ""


def is_engine_noindex(reason: str) -> bool:
    """Whether the reason of a noindex is evidence of :func:`read_engine_noindex`."""
    return reason.startswith(_ENGINE_EVIDENCE)


def read_meta(name: str, content: str, token: str, now: float) -> Directives:
    """The directives of ``<meta name=… content=…>``. ``token`` is our product token; ``now`` places two-digit years."""
    robot = name.strip().lower()
    if robot != "robots" and (not token or robot != token.lower()):
        return NO_DIRECTIVES
    return _read(content, token, f"meta {robot}", now)


def read_header(value: str, token: str, now: float) -> Directives:
    """The directives of one X-Robots-Tag value. A ``botname:`` holds for what follows it, up to the next one."""
    return _read(value, token, HEADER, now)


def _read(value: str, token: str, kind: str, now: float) -> Directives:
    names: set[str] = set()
    dates: list[float] = []
    is_ours = True
    pieces = _separator.split(value)
    for number, whole in enumerate(pieces):
        piece = whole
        prefix = _prefix(piece)
        if prefix and prefix[1].lower() not in _VALUED and prefix[1].lower() not in _KNOWN:
            is_ours = prefix[1].lower() in ("robots", "*", token.lower())
            piece = piece[prefix.end() :]
            prefix = _prefix(piece)
        if not is_ours:
            continue
        if prefix and prefix[1].lower() == "unavailable_after":
            moment = _date(piece[prefix.end() :], pieces[number + 1 : number + 3], now)
            dates += [] if moment is None else [moment]
        elif prefix is None or prefix[1].lower() in _KNOWN:
            names.update(piece.lower().replace(":", " ").split())
    evidence = f'{kind} "{_quotable(value)}"'
    return Directives(
        noindex=evidence if names & {"noindex", "none"} else "",
        nofollow=bool(names & {"nofollow", "none"}),
        noimageindex="noimageindex" in names,
        expires=min(dates, default=None),
        expires_evidence=evidence if dates else "",
    )


def _date(text: str, following: list[str], now: float) -> float | None:
    """The date of an unavailable_after, which may itself contain a comma: "Wed, 21 Oct 2026 07:28:00 GMT"."""
    for piece in [None, *following]:
        if piece is not None:
            if piece.strip().lower() in _KNOWN or _prefix(piece):
                return None
            text = f"{text},{piece}"
        moment = _moment(text.strip(), now)
        if moment is not None:
            return moment
    return None


def _moment(text: str, now: float) -> float | None:
    """RFC 822, RFC 850 and ISO 8601, as Google names them. Without a zone it is UTC."""
    if len(text) > 64:
        return None
    strict = parse_http_date(text, now)
    if strict is not None:
        return strict
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = parse(text)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    return None


def _quotable(value: str) -> str:
    text = _unprintable.sub(" ", value).strip()
    return text if len(text) <= 160 else f"{text[:160]}…"
