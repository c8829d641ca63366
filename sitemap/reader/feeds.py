"""Reads an item of a feed: its link, date, title, summary and media. Pure."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from sitemap.escape import quote_text
from sitemap.model import Alternate, Entry, Image, Video
from sitemap.reader import values
from sitemap.reader.extensions import ReportFinding, ReportValue, parse_rating, read_alternates, whole_attribute
from sitemap.reader.parts import Part
from sitemap.reader.xml_names import CORE, DC, MEDIA

_FLASH: Final = "application/x-shockwave-flash"  # a player, not a video file

_MAX_OBJECTS: Final = 1_000  # images and videos of an item; each reads the elements that they share
_MAX_ELEMENTS: Final = 100  # of one name
_TEXT_FAMILIES: Final = frozenset({MEDIA, DC})

# https://www.dublincore.org/specifications/dublin-core/dcmi-period/
_PERIOD = re.compile(r"(?:^|;)\s*(start|end)\s*=\s*([^;\s]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MediaItem:
    """What the media of an item share: its title and summary, the base URL, and the function that reports defects."""

    title: str
    summary: str
    base: str
    report: ReportFinding

    def address(self, part: Part | None, rule: str, attribute: str = "url") -> str:
        """The absolute URL in an attribute, or ""."""
        text = part.attribute(attribute) if part else ""
        if not part or not text:
            return ""
        url, _, sentence = values.parse_url(text, self.base)
        if sentence:
            self.report(rule, sentence, part.line)
        return url


def read_media(parts: list[Part], item: MediaItem) -> tuple[tuple[Image, ...], tuple[Video, ...]]:
    """The images and videos of an item, each once, in the order of the document.

    The contents of a ``media:group`` are versions of one object: the default one counts, or else the first.
    """
    images: dict[str, Image] = {}
    videos: list[Video] = []
    for number, media_object in enumerate(_objects(parts)):
        if number == _MAX_OBJECTS:
            item.report("sitemap.value_too_long", f"an item has more than {_MAX_OBJECTS:,} media: remove some")
            break
        if media_object.kind == "image":
            image = _image(media_object, item)
            if image.loc:
                images.setdefault(image.loc, image)
        else:
            videos.append(_video(media_object, item))
    known = {*images, *(video.content_loc for video in videos)}
    thumbnail = _thumbnail(parts, item)
    for part in parts:
        if part.local != "enclosure":
            continue
        kind = part.attribute("type").lower().partition("/")[0]
        rule = {"image": "image.loc_missing", "video": "video.url"}.get(kind)
        loc = item.address(part, rule) if rule else ""
        if not loc or loc in known:
            continue
        if kind == "image":
            images.setdefault(loc, Image(loc))
        elif thumbnail and item.title and item.summary:
            videos.append(Video(thumbnail, item.title, item.summary, content_loc=loc))
    return tuple(images.values()), tuple(videos)


_Level = dict[str, list[Part]]  # the elements of one level, by local name


@dataclass(frozen=True, slots=True)
class _MediaObject:
    """An "image" or "video": its content, if any, and the elements that describe it, innermost level first."""

    kind: str
    content: Part | None
    levels: tuple[_Level, ...]

    def find(self, name: str) -> Part | None:
        """The innermost element of this name, or None."""
        return next(self.all(name), None)

    def all(self, name: str) -> Iterator[Part]:
        """The first elements of this name, innermost first."""
        return islice((part for level in self.levels for part in level.get(name, ())), _MAX_ELEMENTS)

    def text(self, name: str) -> str:
        """The text of the innermost element, or ""."""
        part = self.find(name)
        return part.text if part else ""

    def attribute(self, name: str, attribute: str) -> str:
        """An attribute of the innermost element, or ""."""
        part = self.find(name)
        return part.attribute(attribute) if part else ""


def _level(parts: list[Part]) -> _Level:
    level: _Level = {}
    for part in parts:
        if part.family in _TEXT_FAMILIES:
            level.setdefault(part.local, []).append(part)
    return level


def _objects(parts: list[Part]) -> Iterator[_MediaObject]:
    outer = _level(parts)
    has_media = False
    for part in parts:
        if part.family == MEDIA and part.local in {"content", "group"}:
            has_media = True
            if part.local == "content":
                yield from _merge_versions([part], outer)
            else:
                yield from _merge_versions(list(part.all("content")), _level(part.parts), outer)
    if not has_media:
        yield from _merge_versions([], outer)


def _merge_versions(contents: list[Part], *levels: _Level) -> Iterator[_MediaObject]:
    """The image and the video among the versions of one object; a player without content is a video."""
    chosen: dict[str, Part] = {}
    for content in sorted(contents, key=lambda part: part.attribute("isdefault").lower() != "true"):
        if kind := _kind(content):
            chosen.setdefault(kind, content)
    for kind, content in chosen.items():
        yield _MediaObject(kind, content, (_level(content.parts), *levels))
    if not contents and "player" in levels[0]:
        yield _MediaObject("video", None, levels)


def _kind(content: Part) -> str:
    medium, mime = content.attribute("medium").lower(), content.attribute("type").lower()
    if medium in {"image", "video"}:
        return medium
    if mime == _FLASH or mime.startswith("video/"):
        return "video"
    if mime.startswith("image/"):
        return "image"
    return "video" if not (medium or mime) and any(content.all("player")) else ""


def _image(media_object: _MediaObject, item: MediaItem) -> Image:
    return Image(item.address(media_object.content, "image.loc_missing"))


def _video(media_object: _MediaObject, item: MediaItem) -> Video:
    content = media_object.content or Part(MEDIA, "content", {})
    url = item.address(content, "video.url")
    player = item.address(media_object.find("player"), "video.url")
    period = {name.lower(): date for name, date in _PERIOD.findall(media_object.text("valid"))}
    subscribed = any(part.attribute("type").lower() == "subscription" for part in media_object.all("price"))
    flash = content.attribute("type").lower() == _FLASH
    return Video(
        thumbnail_loc=item.address(media_object.find("thumbnail"), "video.url"),
        title=media_object.text("title"),
        description=media_object.text("description"),
        content_loc="" if flash else url,
        player_loc=player or (url if flash else ""),
        duration=whole_attribute(content, "duration", "video.duration", item.report),
        publication_date=period.get("start", ""),
        expiration_date=period.get("end", ""),
        restriction=next(
            (
                (part.attribute("relationship"), part.text)
                for part in media_object.all("restriction")
                if part.attribute("type").lower() == "country"
            ),
            None,
        ),
        uploader=next(
            ((part.text, "") for part in media_object.all("credit") if part.attribute("role").lower() == "uploader"),
            None,
        ),
        family_friendly={"adult": False, "nonadult": True}.get(media_object.text("rating").lower()),
        requires_subscription=subscribed or None,
        live="live-video" in {part.text.lower() for part in media_object.all("type")} or None,
        tags=tuple(
            tag
            for text in media_object.text("keywords").split(",", _MAX_ELEMENTS)[:_MAX_ELEMENTS]
            if (tag := text.strip())
        ),
        **_community(media_object.find("community"), item),
    )


def _community(part: Part | None, item: MediaItem) -> dict[str, Any]:
    stars = next(part.all("starrating"), None) if part else None
    statistics = next(part.all("statistics"), None) if part else None
    return {
        "rating": parse_rating(stars.attribute("average"), item.report, stars.line) if stars else None,
        "view_count": whole_attribute(statistics, "views", "video.view_count", item.report) if statistics else None,
    }


def _thumbnail(parts: list[Part], item: MediaItem) -> str:
    """The thumbnail of an item, which also serves an enclosed video."""
    for part in parts:
        if part.local in {"thumbnail", "image"}:
            for attribute in ("url", "href"):
                if part.attribute(attribute):
                    return item.address(part, "video.url", attribute)
    return ""


MAX_SUMMARY: Final = 10_000  # characters; a longer one is cut

# The element that best tells when a page last changed comes first.
_RSS_DATES = ("modified", "updated", "pubdate", "date")
_ATOM_DATES = ("updated", "modified", "published", "issued")


_Links = list[tuple[dict[str, str], int]]  # attributes and line of each


def read_feed_entry(
    fields: dict[str, Any], base: str, report: ReportFinding, report_value: ReportValue, *, atom: bool
) -> Entry | None:
    """The page of an item, or None if it has no link."""
    links: _Links = [
        ({key.lower(): value.strip() for key, value in link.items()}, line) for link, line in fields.get("links", ())
    ]
    pages = [
        (link, line) for link, line in links if link.get("rel", "alternate").lower() == "alternate" and link.get("href")
    ]
    main_link, line = next((page for page in pages if not page[0].get("hreflang")), pages[0] if pages else ({}, 0))
    stated = main_link.get("href", "") if atom else rss_link(fields, main_link.get("href", ""))
    loc, rule, sentence = values.parse_url(stated, base)
    if sentence:
        if line:
            report(rule, sentence, line)
        else:
            report_value(rule, sentence, "link" if "link" in fields else "guid")
    lastmod = _lastmod(fields, _ATOM_DATES if atom else _RSS_DATES, report_value)
    if not loc:
        return None
    title = fields.get("title", "").strip()
    title = "" if title == loc else title  # RSS requires a title, so generators without one write the URL
    summary = next(
        (text for name in ("summary", "description", "content") if (text := fields.get(name, "").strip())), ""
    )[:MAX_SUMMARY]
    if not atom and "<" not in summary:  # a description is HTML; without tags only entities remain
        summary = html.unescape(summary)
    images, videos = read_media(_with_enclosures(fields, links), MediaItem(title, summary, base, report))
    return Entry(
        loc,
        lastmod,
        images=images,
        videos=videos,
        alternates=_variants(pages, main_link, base, report),
        title=title,
        summary=summary,
    )


def rss_link(fields: dict[str, Any], other: str) -> str:
    """https://www.rssboard.org/rss-specification: a guid is a link unless isPermaLink is false."""
    if link := fields.get("link", "").strip() or fields.get("about", "").strip():
        return str(link)
    guid = fields.get("guid", "").strip()
    permanent = {key.lower(): value for key, value in fields.get("guid@", {}).items()}.get("ispermalink", "true")
    if permanent.strip().lower() != "false" and guid.lower().startswith(("http://", "https://")):
        return str(guid)
    return other


def _lastmod(fields: dict[str, Any], dates: tuple[str, ...], report_value: ReportValue) -> str:
    name = next((name for name in dates if fields.get(name, "").strip()), "")
    stated = fields[name].strip() if name else ""
    lastmod = values.parse_lastmod(stated)[0] if stated else ""
    if stated and not lastmod:
        report_value(
            "lastmod.invalid", f"{quote_text(stated)} does not state a day: write YYYY-MM-DDThh:mm:ss+00:00", name
        )
    return lastmod


def _variants(pages: _Links, main: dict[str, str], base: str, report: ReportFinding) -> tuple[Alternate, ...]:
    """RFC 4287 section 4.2.7.4: hreflang is the language of the target, so a single link with it is not a variant."""
    variants = [page for page in pages if page[0].get("hreflang")]
    if len(variants) == 1 and variants[0][0] is main:
        return ()
    return read_alternates([(link | {"rel": "alternate"}, line) for link, line in variants], base, report)


def _with_enclosures(fields: dict[str, Any], links: _Links) -> list[Part]:
    """The parts of an item, with Atom enclosures in the form of RSS enclosures."""
    parts: list[Part] = fields.get("parts", [])
    return parts + [
        Part(CORE, "enclosure", {"url": link.get("href", ""), "type": link.get("type", "")}, line)
        for link, line in links
        if link.get("rel", "").lower() == "enclosure"
    ]
