"""Builds entries and children from the values of a urlset or an index. Pure."""

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


def build_child(fields: dict[str, Any], base: str, report_value: ReportValue) -> Child | None:
    """A sitemap of an index, or None if it has no URL."""
    loc = _loc(fields, base, report_value)
    lastmod = _lastmod(fields, report_value)
    if tuple(fields) not in _SHORT_SEQUENCES:
        _check_order(fields, report_value)
    return Child(loc, lastmod) if loc else None


def build_entry(fields: dict[str, Any], base: str, report: ReportFinding, report_value: ReportValue) -> Entry | None:
    """An entry, or None if it has no URL. ``fields`` are in the order of the document."""
    order = tuple(fields)
    loc = fields.get("loc", "")
    if not values.is_plain(loc):
        loc = _loc(fields, base, report_value)
    lastmod = fields.get("lastmod", "")
    if not dates.is_valid_date(lastmod):
        lastmod = _lastmod(fields, report_value)
    if order in _SHORT_SEQUENCES:
        return Entry(loc, lastmod) if loc else None
    changefreq = _changefreq(fields, report_value)
    priority = _priority(fields, report_value)
    if order in _HINTED_SEQUENCES:
        return Entry(loc, lastmod, changefreq, priority) if loc else None
    _check_order(fields, report_value)
    variants = read_alternates(fields["links"], base, report) if "links" in fields else ()
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


def _loc(fields: dict[str, Any], base: str, report_value: ReportValue) -> str:
    loc, rule, sentence = values.parse_url(fields.get("loc", ""), base)
    if sentence:
        report_value(rule, sentence, "loc")
    return loc


def _lastmod(fields: dict[str, Any], report_value: ReportValue) -> str:
    if "lastmod" not in fields:
        return ""
    lastmod, rule, sentence = values.parse_lastmod(fields["lastmod"])
    if sentence:
        report_value(rule, sentence, "lastmod")
    return lastmod


def _changefreq(fields: dict[str, Any], report_value: ReportValue) -> str:
    text: str = fields.get("changefreq", "")
    if text in limits.CHANGE_FREQUENCIES or "changefreq" not in fields:
        return text
    word, sentence = values.parse_changefreq(text)
    if sentence:
        report_value("changefreq.invalid", sentence, "changefreq")
    return word


def _priority(fields: dict[str, Any], report_value: ReportValue) -> float | None:
    if "priority" not in fields:
        return None
    value, sentence = values.parse_priority(fields["priority"])
    if sentence:
        report_value("priority.invalid", sentence, "priority")
    return value


def _check_order(fields: dict[str, Any], report_value: ReportValue) -> None:
    if late := _first_late(tuple(fields)):
        report_value("sitemap.order", f"{late[0]} comes after {late[1]}: put it before", late[0])


@lru_cache(maxsize=1_024)
def _first_late(names: tuple[str, ...]) -> tuple[str, str] | None:
    """The first element that comes too late, and one that it must precede."""
    for previous, name in pairwise(names):
        if _ELEMENT_ORDER.get(name, _LAST) < _ELEMENT_ORDER.get(previous, _LAST):
            return name, {"links": "xhtml:link", "other": "an extension"}.get(previous, previous)
    return None
