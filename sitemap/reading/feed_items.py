"""Owns what an item of a feed means: its link, date, title and summary, and the media it carries. Pure."""

import html
from typing import Any, Final

from sitemap.model import Alternate, Entry
from sitemap.reading import values
from sitemap.reading.extensions import Say, alternates
from sitemap.reading.media import Item, media
from sitemap.reading.parts import Part
from sitemap.reading.vocabulary import CORE

MAX_SUMMARY: Final = 10_000  # characters; what is longer is cut
# What tells best when a page last changed comes first.
_RSS_DATES = ("modified", "updated", "pubdate", "date")
_ATOM_DATES = ("updated", "modified", "published", "issued")


def feed_entry(fields: dict[str, Any], base: str, say: Say, *, atom: bool) -> Entry | None:
    """The page that an item is about, or None when it names none."""
    links = [{key.lower(): value.strip() for key, value in link.items()} for link in fields.get("links", ())]
    pages = [
        link for link in links if link.get("rel", "alternate").lower() == "alternate" and link.get("href")
    ]
    main = next((link for link in pages if not link.get("hreflang")), pages[0] if pages else {})
    stated = main.get("href", "") if atom else rss_link(fields, main.get("href", ""))
    loc, rule, sentence = values.url(stated, base)
    if sentence:
        say(rule, sentence)
    lastmod = _lastmod(fields, _ATOM_DATES if atom else _RSS_DATES, say)
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
    images, videos = media(_with_enclosures(fields, links), Item(title, summary, base, say))
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


def _lastmod(fields: dict[str, Any], dates: tuple[str, ...], say: Say) -> str:
    stated = next((text for name in dates if (text := fields.get(name, "").strip())), "")
    lastmod = values.lastmod(stated)[0] if stated else ""
    if stated and not lastmod:
        say("lastmod.invalid", f"{stated[:64]!r} is no date to the day")
    return lastmod


def _variants(
    pages: list[dict[str, str]], main: dict[str, str], base: str, say: Say
) -> tuple[Alternate, ...]:
    """RFC 4287 section 4.2.7.4: hreflang tells the language of what is linked, so one alone is no variant."""
    variants = [link for link in pages if link.get("hreflang")]
    if variants == [main]:
        return ()
    return alternates([link | {"rel": "alternate"} for link in variants], base, say)


def _with_enclosures(fields: dict[str, Any], links: list[dict[str, str]]) -> list[Part]:
    """The parts of an item, and Atom's enclosures in the form of RSS's."""
    parts: list[Part] = fields.get("parts", [])
    return parts + [
        Part(CORE, "enclosure", {"url": link.get("href", ""), "type": link.get("type", "")})
        for link in links
        if link.get("rel", "").lower() == "enclosure"
    ]
