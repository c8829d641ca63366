"""Owns what an item of a urlset or an index means: makes entries and children of the values that were read. Pure."""

from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

from sitemap import dates, limits
from sitemap.model import Child, Entry
from sitemap.reader import values
from sitemap.reader.extensions import ReportFinding, ReportValue, read_alternates

_ELEMENT_ORDER: Final = {"loc": 0, "lastmod": 1, "changefreq": 2, "priority": 3}
_LAST: Final = 4  # everything else, in any order
_SHORT_SEQUENCES: Final = frozenset({("loc",), ("loc", "lastmod")})
_HINTS: Final = (("changefreq",), ("priority",), ("changefreq", "priority"))
_HINTED_SEQUENCES: Final = frozenset({(*short, *hints) for short in _SHORT_SEQUENCES for hints in _HINTS})


def build_child(fields: dict[str, Any], base: str, say_of: ReportValue) -> Child | None:
    """A sitemap of an index, or None when it has no URL."""
    loc = _loc(fields, base, say_of)
    lastmod = _lastmod(fields, say_of)
    if tuple(fields) not in _SHORT_SEQUENCES:
        _check_order(fields, say_of)
    return Child(loc, lastmod) if loc else None


def build_entry(fields: dict[str, Any], base: str, say: ReportFinding, say_of: ReportValue) -> Entry | None:
    """A url, or None when it has no URL. ``fields`` are in the order of the document."""
    order = tuple(fields)
    loc = fields.get("loc", "")
    if not values.is_plain(loc):
        loc = _loc(fields, base, say_of)
    lastmod = fields.get("lastmod", "")
    if not dates.is_valid_date(lastmod):
        lastmod = _lastmod(fields, say_of)
    if order in _SHORT_SEQUENCES:
        return Entry(loc, lastmod) if loc else None
    changefreq = _changefreq(fields, say_of)
    priority = _priority(fields, say_of)
    if order in _HINTED_SEQUENCES:
        return Entry(loc, lastmod, changefreq, priority) if loc else None
    _check_order(fields, say_of)
    variants = read_alternates(fields["links"], base, say) if "links" in fields else ()
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


def _loc(fields: dict[str, Any], base: str, say_of: ReportValue) -> str:
    loc, rule, sentence = values.parse_url(fields.get("loc", ""), base)
    if sentence:
        say_of(rule, sentence, "loc")
    return loc


def _lastmod(fields: dict[str, Any], say_of: ReportValue) -> str:
    if "lastmod" not in fields:
        return ""
    lastmod, rule, sentence = values.parse_lastmod(fields["lastmod"])
    if sentence:
        say_of(rule, sentence, "lastmod")
    return lastmod


def _changefreq(fields: dict[str, Any], say_of: ReportValue) -> str:
    text: str = fields.get("changefreq", "")
    if text in limits.CHANGE_FREQUENCIES or "changefreq" not in fields:
        return text
    word, sentence = values.parse_changefreq(text)
    if sentence:
        say_of("changefreq.invalid", sentence, "changefreq")
    return word


def _priority(fields: dict[str, Any], say_of: ReportValue) -> float | None:
    if "priority" not in fields:
        return None
    value, sentence = values.parse_priority(fields["priority"])
    if sentence:
        say_of("priority.invalid", sentence, "priority")
    return value


def _check_order(fields: dict[str, Any], say_of: ReportValue) -> None:
    if late := _first_late(tuple(fields)):
        say_of("sitemap.order", f"{late[0]} comes after {late[1]}: put it before", late[0])


@lru_cache(maxsize=1_024)
def _first_late(names: tuple[str, ...]) -> tuple[str, str] | None:
    """The first element that comes too late, and one that it should have come before."""
    for before, name in pairwise(names):
        if _ELEMENT_ORDER.get(name, _LAST) < _ELEMENT_ORDER.get(before, _LAST):
            return name, {"links": "xhtml:link", "other": "an extension"}.get(before, before)
    return None
