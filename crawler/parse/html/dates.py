"""Decides when a page says it was last modified. A publication date does not count."""

import re
from datetime import datetime
from typing import Final

from crawler.parse.html import jsonld
from crawler.parse.html.outline import Outline

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


def modified_date(outline: Outline, nodes: list[jsonld.JsonLdNode]) -> tuple[str, str]:
    """The best date as a W3C datetime and the name of its source, or two empty strings.

    JSON-LD of the main entity comes first, an article before its page; then Open Graph, then microdata.
    """
    for texts, source in (
        (_structured(nodes), "JSON-LD dateModified"),
        *((outline.metas.get(name, []), name) for name in _METAS),
        (_microdata(outline), "microdata dateModified"),
    ):
        for text in texts:
            date = w3c_date(text)
            if date:
                return date, source
    return "", ""


def _structured(nodes: list[jsonld.JsonLdNode]) -> list[str]:
    pages: list[str] = []
    others: list[str] = []
    for node in nodes:
        date = node.values.get("dateModified")
        if not isinstance(date, str) or not _is_main(node):
            continue
        (pages if all(name.endswith("Page") for name in node.types) else others).append(date)
    return others + pages


def _is_main(node: jsonld.JsonLdNode) -> bool:
    if node.depth > 1:
        return False
    return any(name in _CREATIVE_TYPES or name.endswith(_TYPE_SUFFIXES) for name in node.types)


def _microdata(outline: Outline) -> list[str]:
    return [element.get("content") or element.get("datetime") or element.text for element in outline.dated()]
