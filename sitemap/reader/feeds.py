"""Owns what an item of a feed means: its link, date, title and summary, and the media it carries. Pure."""

import html
from typing import Any, Final

from sitemap.escape import quote_text
from sitemap.model import Alternate, Entry
from sitemap.reader import values
from sitemap.reader.extensions import ReportFinding, ReportValue, read_alternates
from sitemap.reader.media_rss import MediaItem, read_media
from sitemap.reader.parts import Part
from sitemap.reader.xml_names import CORE

MAX_SUMMARY: Final = 10_000  # characters; what is longer is cut
# What tells best when a page last changed comes first.
_RSS_DATES = ("modified", "updated", "pubdate", "date")
_ATOM_DATES = ("updated", "modified", "published", "issued")


_Links = list[tuple[dict[str, str], int]]  # attributes and line of each


def read_feed_entry(
    fields: dict[str, Any], base: str, say: ReportFinding, say_of: ReportValue, *, atom: bool
) -> Entry | None:
    """The page that an item is about, or None when it names none."""
    links: _Links = [
        ({key.lower(): value.strip() for key, value in link.items()}, line)
        for link, line in fields.get("links", ())
    ]
    pages = [
        (link, line)
        for link, line in links
        if link.get("rel", "alternate").lower() == "alternate" and link.get("href")
    ]
    main, line = next((page for page in pages if not page[0].get("hreflang")), pages[0] if pages else ({}, 0))
    stated = main.get("href", "") if atom else rss_link(fields, main.get("href", ""))
    loc, rule, sentence = values.parse_url(stated, base)
    if sentence:
        if line:
            say(rule, sentence, line)
        else:
            say_of(rule, sentence, "link" if "link" in fields else "guid")
    lastmod = _lastmod(fields, _ATOM_DATES if atom else _RSS_DATES, say_of)
    if not loc:
        return None
    title = fields.get("title", "").strip()
    title = "" if title == loc else title  # a feed must have one, so writers without one write the URL
    summary = next(
        (text for name in ("summary", "description", "content") if (text := fields.get(name, "").strip())), ""
    )[:MAX_SUMMARY]
    if (
        not atom and "<" not in summary
    ):  # a description is HTML: without a tag it is text in the guise of HTML
        summary = html.unescape(summary)
    images, videos = read_media(_with_enclosures(fields, links), MediaItem(title, summary, base, say))
    return Entry(
        loc,
        lastmod,
        images=images,
        videos=videos,
        alternates=_variants(pages, main, base, say),
        title=title,
        summary=summary,
    )


def rss_link(fields: dict[str, Any], other: str) -> str:
    """https://www.rssboard.org/rss-specification: a guid is a link unless it says that it is not."""
    if link := fields.get("link", "").strip() or fields.get("about", "").strip():
        return str(link)
    guid = fields.get("guid", "").strip()
    permanent = {key.lower(): value for key, value in fields.get("guid@", {}).items()}.get(
        "ispermalink", "true"
    )
    if permanent.strip().lower() != "false" and guid.lower().startswith(("http://", "https://")):
        return str(guid)
    return other


def _lastmod(fields: dict[str, Any], dates: tuple[str, ...], say_of: ReportValue) -> str:
    name = next((name for name in dates if fields.get(name, "").strip()), "")
    stated = fields[name].strip() if name else ""
    lastmod = values.parse_lastmod(stated)[0] if stated else ""
    if stated and not lastmod:
        say_of(
            "lastmod.invalid",
            f"{quote_text(stated)} is no date to the day: write YYYY-MM-DDThh:mm:ss+00:00",
            name,
        )
    return lastmod


def _variants(pages: _Links, main: dict[str, str], base: str, say: ReportFinding) -> tuple[Alternate, ...]:
    """RFC 4287 section 4.2.7.4: hreflang tells the language of what is linked, so one alone is no variant."""
    variants = [page for page in pages if page[0].get("hreflang")]
    if len(variants) == 1 and variants[0][0] is main:
        return ()
    return read_alternates([(link | {"rel": "alternate"}, line) for link, line in variants], base, say)


def _with_enclosures(fields: dict[str, Any], links: _Links) -> list[Part]:
    """The parts of an item, and Atom's enclosures in the form of RSS's."""
    parts: list[Part] = fields.get("parts", [])
    return parts + [
        Part(CORE, "enclosure", {"url": link.get("href", ""), "type": link.get("type", "")}, line)
        for link, line in links
        if link.get("rel", "").lower() == "enclosure"
    ]
