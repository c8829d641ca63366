"""When a page says it was last modified. A date of publication is not one."""

import re
from datetime import datetime
from typing import Final

from crawler.parse.html import jsonld
from crawler.parse.html.outline import Outline

_datetime = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ]([0-9]{2}:[0-9]{2})(:[0-9]{2})?(?:[.,]([0-9]{1,9})[0-9]*)?[ ]?(Z|z|[+-][0-9]{2}:?[0-9]{2}|[+-][0-9]{2})?)?"
).fullmatch

_duration = re.compile(
    r"P(?:([0-9]{1,3})D)?(?:T(?:([0-9]{1,4})H)?(?:([0-9]{1,6})M)?(?:([0-9]{1,8})(?:[.,][0-9]+)?S)?)?",
    re.IGNORECASE,
).fullmatch

MAX_DATE_TEXT: Final = 64


def w3c_date(text: str) -> str:
    """A date in a form that both W3C Datetime and the XSD of sitemaps take, or "".

    ``YYYY-MM-DD`` stays; a time gets its seconds and its zone in full. A time without a zone says no moment: its day is
    kept. https://www.w3.org/TR/NOTE-datetime
    """
    text = text.strip()
    found = _datetime(text) if len(text) <= MAX_DATE_TEXT else None
    if found is None:
        return ""
    day, minutes, seconds, fraction, zone = found.groups()
    offset = _offset(zone) if zone else ""
    value = (
        f"{day}T{minutes}{seconds or ':00'}{'.' + fraction if fraction else ''}{offset}"
        if minutes and zone
        else day
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
    found = _duration(text) if len(text) <= MAX_DATE_TEXT else None
    if found is None or not any(found.groups()):
        return None
    days, hours, minutes, rest = (int(part or 0) for part in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest


def _offset(zone: str) -> str:
    if zone in {"Z", "z"}:
        return "Z"
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return f"{zone[0]}{digits[:2]}:{digits[2:]}"


_METAS: Final = ("article:modified_time", "og:updated_time")

# What a page can be about as a whole. What it only mentions (a comment, an offer, a video) has dates of its own.
_CREATIVE_TYPES: Final = frozenset(
    {
        "Recipe",
        "Product",
        "Event",
        "Course",
        "Book",
        "Movie",
        "Dataset",
        "HowTo",
        "Review",
        "Report",
        "Guide",
        "CreativeWork",
    }
    | {
        "MedicalWebPage",
        "SoftwareApplication",
        "JobPosting",
        "Blog",
        "WebContent",
        "QAPage",
        "Question",
        "DefinedTerm",
    }
)

_TYPE_SUFFIXES: Final = ("Article", "Page", "Posting", "Report")


def modified_date(outline: Outline, nodes: list[jsonld.JsonLdNode]) -> tuple[str, str]:
    """The best date as a W3C datetime and where it stands, or two empty texts.

    JSON-LD of the main entity comes first, an article before the page around it; then Open Graph, then microdata.
    """
    for stated, source in (
        (_structured(nodes), "JSON-LD dateModified"),
        *((outline.metas.get(name, []), name) for name in _METAS),
        (_microdata(outline), "microdata dateModified"),
    ):
        for text in stated:
            date = w3c_date(text)
            if date:
                return date, source
    return "", ""


def _structured(nodes: list[jsonld.JsonLdNode]) -> list[str]:
    pages: list[str] = []
    things: list[str] = []
    for node in nodes:
        date = node.values.get("dateModified")
        if not isinstance(date, str) or not _is_main(node):
            continue
        (pages if all(name.endswith("Page") for name in node.types) else things).append(date)
    return things + pages


def _is_main(node: jsonld.JsonLdNode) -> bool:
    if node.depth > 1:
        return False
    return any(name in _CREATIVE_TYPES or name.endswith(_TYPE_SUFFIXES) for name in node.types)


def _microdata(outline: Outline) -> list[str]:
    return [element.get("content") or element.get("datetime") or element.text for element in outline.dated()]
