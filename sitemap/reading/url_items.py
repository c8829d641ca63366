"""Owns what an item of a urlset or an index means: makes entries and children of the values that were read. Pure."""

from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

from sitemap import limits, w3c
from sitemap.model import Child, Entry
from sitemap.reading import values
from sitemap.reading.extensions import Lines, Say, alternates

_SEQUENCE: Final = {"loc": 0, "lastmod": 1, "changefreq": 2, "priority": 3}
_LAST: Final = 4  # everything else, in any order
_SHORT: Final = frozenset({("loc",), ("loc", "lastmod")})
_HINTS: Final = (("changefreq",), ("priority",), ("changefreq", "priority"))
_HINTED: Final = frozenset({(*short, *hints) for short in _SHORT for hints in _HINTS})


def child(fields: dict[str, Any], lines: Lines, base: str, say: Say) -> Child | None:
    """A sitemap of an index, or None when it has no URL. ``lines`` are those of its fields, and its own."""
    loc = _loc(fields, lines, base, say)
    lastmod = _lastmod(fields, lines, say)
    if tuple(fields) not in _SHORT:
        _check_order(fields, lines, say)
    return Child(loc, lastmod) if loc else None


def entry(fields: dict[str, Any], lines: Lines, base: str, say: Say) -> Entry | None:
    """A url, or None when it has no URL. ``fields`` are in the order of the document."""
    order = tuple(fields)
    loc = fields.get("loc", "")
    if not values.is_plain(loc):
        loc = _loc(fields, lines, base, say)
    lastmod = fields.get("lastmod", "")
    if not w3c.is_valid(lastmod):
        lastmod = _lastmod(fields, lines, say)
    if order in _SHORT:
        return Entry(loc, lastmod) if loc else None
    changefreq = _changefreq(fields, lines, say)
    priority = _priority(fields, lines, say)
    if order in _HINTED:
        return Entry(loc, lastmod, changefreq, priority) if loc else None
    _check_order(fields, lines, say)
    variants = alternates(fields["links"], base, say) if "links" in fields else ()
    if not loc:
        return None
    return Entry(
        loc,
        lastmod,
        changefreq,
        priority,
        tuple(fields.get("image", ())),
        tuple(fields.get("video", ())),
        variants,
        fields.get("news"),
        mobile="mobile" in fields,
    )


def _loc(fields: dict[str, Any], lines: Lines, base: str, say: Say) -> str:
    loc, rule, sentence = values.url(fields.get("loc", ""), base)
    if sentence:
        say(rule, sentence, lines["loc" if "loc" in fields else ""])
    return loc


def _lastmod(fields: dict[str, Any], lines: Lines, say: Say) -> str:
    if "lastmod" not in fields:
        return ""
    lastmod, rule, sentence = values.lastmod(fields["lastmod"])
    if sentence:
        say(rule, sentence, lines["lastmod"])
    return lastmod


def _changefreq(fields: dict[str, Any], lines: Lines, say: Say) -> str:
    text: str = fields.get("changefreq", "")
    if text in limits.CHANGE_FREQUENCIES or "changefreq" not in fields:
        return text
    word, sentence = values.changefreq(text)
    if sentence:
        say("changefreq.invalid", sentence, lines["changefreq"])
    return word


def _priority(fields: dict[str, Any], lines: Lines, say: Say) -> float | None:
    if "priority" not in fields:
        return None
    value, sentence = values.priority(fields["priority"])
    if sentence:
        say("priority.invalid", sentence, lines["priority"])
    return value


def _check_order(fields: dict[str, Any], lines: Lines, say: Say) -> None:
    if late := _late(tuple(fields)):
        say("sitemap.order", f"{late[0]} comes after {late[1]}: put it before", lines[late[0]])


@lru_cache(maxsize=1_024)
def _late(names: tuple[str, ...]) -> tuple[str, str] | None:
    """The first element that comes too late, and one that it should have come before."""
    for before, name in pairwise(names):
        if _SEQUENCE.get(name, _LAST) < _SEQUENCE.get(before, _LAST):
            return name, {"links": "xhtml:link", "other": "an extension"}.get(before, before)
    return None
