"""Decides when a page says it was last modified. A publication date does not count, nor one of what it only mentions.

A date belongs to the item that states it (https://html.spec.whatwg.org/multipage/microdata.html#associating-names-with-items):
a comment, a review and the teaser of another page have their own.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from crawler.model import Url
from crawler.parse.html import jsonld
from crawler.parse.html.links import PageUrls
from crawler.parse.html.outline import Outline
from crawler.url.normalize import host_of, path_and_query

_datetime = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ]([0-9]{2}:[0-9]{2})(:[0-9]{2})?(?:[.,]([0-9]{1,9}+)[0-9]*+)?+[ ]?"
    r"(Z|z|[+-][0-9]{2}:?[0-9]{2}|[+-][0-9]{2})?)?"
).fullmatch
_duration = re.compile(
    r"P(?:([0-9]{1,3})D)?(?:T(?:([0-9]{1,4})H)?(?:([0-9]{1,6})M)?(?:([0-9]{1,8})(?:[.,][0-9]+)?S)?)?", re.IGNORECASE
).fullmatch
MAX_DATE_TEXT: Final = 64
_METAS: Final = ("article:modified_time", "og:updated_time")
# Types that describe a page as a whole. What a page only mentions (a comment, an offer, a video) has its own dates.
_CREATIVE_TYPES: Final = frozenset(
    {"Recipe", "Product", "Event", "Course", "Book", "Movie", "Dataset", "HowTo", "Review", "Report", "Guide"}
    | {"CreativeWork", "MedicalWebPage", "SoftwareApplication", "JobPosting", "Blog", "WebContent", "QAPage"}
    | {"Question", "DefinedTerm"}
)
_TYPE_SUFFIXES: Final = ("Article", "Page", "Posting", "Report")


def w3c_date(text: str) -> str:
    """A date in a form that both W3C Datetime and the sitemap XSD accept, or "".

    ``YYYY-MM-DD`` is unchanged. A time gets seconds and a full zone; a time without a zone is reduced to its day.
    https://www.w3.org/TR/NOTE-datetime
    """
    text = text.strip()
    match = _datetime(text) if len(text) <= MAX_DATE_TEXT else None
    if match is None:
        return ""
    day, minutes, seconds, fraction, zone = match.groups()
    offset = _offset(zone) if zone else ""
    value = (
        f"{day}T{minutes}{seconds or ':00'}{'.' + fraction if fraction else ''}{offset}" if minutes and zone else day
    )
    try:
        datetime.fromisoformat(f"{day}T{minutes or '00:00'}{seconds or ':00'}{offset}")
    except ValueError:
        return ""
    return "" if day.startswith("0000") else value


def duration_seconds(text: str) -> int | None:
    """The seconds of an ISO 8601 duration (``PT1M33S``) or of a plain number, or None."""
    text = text.strip()
    if re.fullmatch(r"[0-9]{1,8}(?:\.[0-9]+)?", text, re.ASCII):
        return int(text.partition(".")[0])
    match = _duration(text) if len(text) <= MAX_DATE_TEXT else None
    if match is None or not any(match.groups()):
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _offset(zone: str) -> str:
    if zone in {"Z", "z"}:
        return "Z"
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return f"{zone[0]}{digits[:2]}:{digits[2:]}"


def modified_date(outline: Outline, nodes: list[jsonld.JsonLdNode], urls: PageUrls) -> tuple[str, str]:
    """The best date as a W3C datetime and the name of its source, or two empty strings.

    JSON-LD of the main entity comes first, an article before its page; then Open Graph, then microdata.
    """
    for texts, source in (
        (_structured(nodes, urls), "JSON-LD dateModified"),
        *((outline.metas.get(name, []), name) for name in _METAS),
        (_structured(outline.items, urls), "microdata dateModified"),
    ):
        for text in texts:
            date = w3c_date(text)
            if date:
                return date, source
    return "", ""


def _structured(nodes: list[jsonld.JsonLdNode], urls: PageUrls) -> list[str]:
    """The dates of the items that the page is about: articles before pages, and first those that name this page.

    Articles that name no page and have different dates are the teasers of a list.
    """
    found: dict[tuple[bool, bool], list[str]] = defaultdict(list)
    for node in nodes:
        if not node.is_main or not any(name.endswith("dateModified") for name in node.values):
            continue
        values = {jsonld.local_name(name): value for name, value in node.values.items()}
        date = next(filter(None, map(w3c_date, _texts(values.get("dateModified")))), "")
        is_about = _is_about(values, urls)
        if date and is_about is not False and any(map(_describes_a_page, node.types)):
            found[all(name.endswith("Page") for name in node.types), not is_about].append(date)
    if len(set(found[False, True])) > 1:
        del found[False, True]
    return [date for key in sorted(found) for date in found[key]]


def _describes_a_page(name: str) -> bool:
    return name in _CREATIVE_TYPES or name.endswith(_TYPE_SUFFIXES)


def _texts(value: Any) -> Iterator[str]:
    """The texts of a value, which may be a list or a value object (https://www.w3.org/TR/json-ld11/#value-objects)."""
    for one in value if isinstance(value, list) else [value]:
        text = one.get("@value", one.get("@id")) if isinstance(one, dict) else one
        if isinstance(text, str):
            yield text


def _is_about(values: dict[str, Any], urls: PageUrls) -> bool | None:
    """Whether an item is about this page; None if it names no page of this site, or only the start page."""
    here = _place(urls.page)
    stated = [[*_texts(values.get(name))] for name in ("url", "mainEntityOfPage", "@id")]
    *named, by_id = (
        [_place(url) for text in texts if "/" in text and (url := urls.in_markup(text))] for texts in stated
    )
    if any(here in places for places in (*named, by_id)):
        return True
    return False if any(host == here[0] and path for places in named for host, path in places) else None


def _place(url: Url) -> tuple[str, str]:
    return host_of(url).removeprefix("www."), path_and_query(url).rstrip("/")
