"""When a page says it was last modified. A date of publication is not one."""

from typing import Final

from crawler.html import jsonld
from crawler.html.outline import Outline
from crawler.html.w3c import w3c

_METAS: Final = ("article:modified_time", "og:updated_time")
# What a page can be about as a whole. What it only mentions (a comment, an offer, a video) has dates of its own.
_CREATIVE: Final = frozenset(
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
_SUFFIXES: Final = ("Article", "Page", "Posting", "Report")


def modified(outline: Outline, nodes: list[jsonld.Node]) -> tuple[str, str]:
    """The best date as a W3C datetime and where it stands, or two empty texts.

    JSON-LD of the main entity comes first, an article before the page around it; then Open Graph, then microdata.
    """
    for stated, source in (
        (_structured(nodes), "JSON-LD dateModified"),
        *((outline.metas.get(name, []), name) for name in _METAS),
        (_microdata(outline), "microdata dateModified"),
    ):
        for text in stated:
            date = w3c(text)
            if date:
                return date, source
    return "", ""


def _structured(nodes: list[jsonld.Node]) -> list[str]:
    pages: list[str] = []
    things: list[str] = []
    for node in nodes:
        date = node.values.get("dateModified")
        if not isinstance(date, str) or not _is_main(node):
            continue
        (pages if all(name.endswith("Page") for name in node.types) else things).append(date)
    return things + pages


def _is_main(node: jsonld.Node) -> bool:
    if node.depth > 1:
        return False
    return any(name in _CREATIVE or name.endswith(_SUFFIXES) for name in node.types)


def _microdata(outline: Outline) -> list[str]:
    return [element.get("content") or element.get("datetime") or element.text for element in outline.dated()]
