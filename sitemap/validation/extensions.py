"""Validates the extensions of an entry: images, videos, news and language variants.

https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps and, where it is narrower,
https://www.google.com/schemas/sitemap-video/1.1/sitemap-video.xsd
"""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from sitemap import dates, limits
from sitemap.escape import FORBIDDEN_CHARACTERS
from sitemap.model import Alternate, Image, News, Video
from sitemap.validation.url import DATE_FORMS, Fault, first_sentence, url_fault

# tCountryList, tPlatformList
_COUNTRIES: Final = re.compile(r"(?:[A-Z]{2}(?: +[A-Z]{2})*)?")

_PLATFORMS: Final = re.compile(r"(?:(?:web|mobile|tv)(?: (?:web|mobile|tv))*)?")


def video_fault(video: Video, loc: str = "") -> str:
    """The first fault of a video of the page at ``loc``, or ""."""
    return first_sentence(video_faults(video, loc))


def video_faults(video: Video, loc: str = "") -> Iterator[Fault]:
    """All faults of a video of the page at ``loc``, except those of retired tags."""
    yield from _url_faults(video, loc)
    yield from _text_faults(video)
    yield from _number_faults(video)
    yield from _list_faults(video)
    yield from _uploader_faults(video, loc)


def _url_faults(video: Video, loc: str) -> Iterator[Fault]:
    for name in ("thumbnail_loc", "content_loc", "player_loc"):
        url: str = getattr(video, name)
        if not url:
            continue
        if fault := url_fault(name, url):
            yield Fault("video.url", fault)
        elif url == loc and name != "thumbnail_loc":
            yield Fault("video.is_page", f"{name} is the page itself")
    if not video.thumbnail_loc:
        yield Fault("video.missing_tag", "thumbnail_loc is missing")
    if not (video.content_loc or video.player_loc):
        yield Fault("video.missing_tag", "a video needs content_loc or player_loc")


def _text_faults(video: Video) -> Iterator[Fault]:
    for name, limit in (("title", limits.MAX_VIDEO_TITLE), ("description", limits.MAX_VIDEO_DESCRIPTION)):
        text: str = FORBIDDEN_CHARACTERS.sub("", getattr(video, name))
        if not text.strip():
            yield Fault("video.missing_tag", f"a video needs a {name}")
        if len(text) > limit:
            yield Fault(f"video.{name}_too_long", f"{name} has {len(text):,} characters, {limit:,} are allowed")


def _number_faults(video: Video) -> Iterator[Fault]:
    if video.duration is not None and not 1 <= video.duration <= limits.MAX_VIDEO_DURATION:
        yield Fault(
            "video.duration", f"duration {video.duration} is not between 1 and {limits.MAX_VIDEO_DURATION:,} seconds"
        )
    if video.rating is not None and not 0.0 <= video.rating <= limits.MAX_VIDEO_RATING:
        yield Fault("video.rating", f"rating {video.rating} is not between 0.0 and {limits.MAX_VIDEO_RATING}")
    if video.view_count is not None and video.view_count < 0:
        yield Fault("video.view_count", f"view_count {video.view_count} is negative")
    for name in ("expiration_date", "publication_date"):
        text: str = getattr(video, name)
        if text and not dates.is_valid_date(text):
            yield Fault("video.date", f"{name} {text[:64]!r} is not a date: write {DATE_FORMS}")


def _list_faults(video: Video) -> Iterator[Fault]:
    for name, allowed in (("restriction", _COUNTRIES), ("platform", _PLATFORMS)):
        pair: tuple[str, str] | None = getattr(video, name)
        if pair is not None and (pair[0] not in {"allow", "deny"} or not allowed.fullmatch(pair[1])):
            yield Fault(
                f"video.{name}",
                f"{name} {' '.join(pair)[:64]!r} must be allow or deny, with a list that the XSD allows",
            )
    if len(video.tags) > limits.MAX_VIDEO_TAGS:
        yield Fault(
            "video.too_many_tags", f"it has {len(video.tags)} tags, at most {limits.MAX_VIDEO_TAGS} are allowed"
        )


def _uploader_faults(video: Video, loc: str) -> Iterator[Fault]:
    if video.uploader is None:
        return
    name, info = video.uploader
    if not FORBIDDEN_CHARACTERS.sub("", name).strip() or len(name) > limits.MAX_VIDEO_UPLOADER:
        yield Fault(
            "video.uploader", f"uploader has {len(name)} characters, 1 to {limits.MAX_VIDEO_UPLOADER} are allowed"
        )
    if info and (fault := url_fault("uploader info", info)):
        yield Fault("video.uploader", fault)
    elif info and loc and not _one_domain(info, loc):
        yield Fault("video.uploader", f"the uploader's info {info[:64]!r} is not on the domain of the page")


def _one_domain(url: str, other: str) -> bool:
    """Whether the last two labels of both hosts are equal: close to the domain without a list of public suffixes."""
    try:
        hosts = (urlsplit(url).hostname or "", urlsplit(other).hostname or "")
    except ValueError:
        return False
    return hosts[0].split(".")[-2:] == hosts[1].split(".")[-2:]


_LANGUAGE: Final = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*")  # xsd:language; x-default is one


def image_fault(image: Image) -> str:
    """The first fault of an image, or "". It may be on another host."""
    return first_sentence(image_faults(image))


def image_faults(image: Image) -> Iterator[Fault]:
    """All faults of an image (https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps)."""
    if fault := url_fault("image:loc", image.loc):
        yield Fault("image.loc_missing", fault)


def alternate_fault(alternate: Alternate) -> str:
    """The first fault of a language variant, or "". It may be on another host."""
    return first_sentence(alternate_faults(alternate))


def alternate_faults(alternate: Alternate) -> Iterator[Fault]:
    """All faults of a language variant. Checks only the form of hreflang; :mod:`sitemap.languages` knows the codes."""
    if not _LANGUAGE.fullmatch(alternate.hreflang):
        yield Fault("hreflang.code", f"hreflang {alternate.hreflang[:64]!r} is neither a language tag nor x-default")
    if fault := url_fault("href", alternate.href):
        yield Fault("hreflang.url", fault)


# https://www.google.com/schemas/sitemap-news/0.9/sitemap-news.xsd (language)
_NEWS_LANGUAGE: Final = re.compile("zh-cn|zh-tw|[a-z]{2,3}")


def news_fault(news: News) -> str:
    """The first fault of an article, or ""."""
    return first_sentence(news_faults(news))


def news_faults(news: News) -> Iterator[Fault]:
    """All faults of an article, except those of retired tags. Checks only the form of the language."""
    for name, text in (
        ("a publication name", news.publication),
        ("a language", news.language),
        ("a publication_date", news.publication_date),
        ("a title", news.title),
    ):
        if not FORBIDDEN_CHARACTERS.sub("", text).strip():
            yield Fault("news.missing_tag", f"news needs {name}")
    if news.publication_date and not dates.is_valid_date(news.publication_date):
        yield Fault("news.date", f"publication_date {news.publication_date[:64]!r} is not a date: write {DATE_FORMS}")
    if news.language and not _NEWS_LANGUAGE.fullmatch(news.language):
        yield Fault(
            "news.language", f"language {news.language[:64]!r} is not two or three lower-case letters, zh-cn or zh-tw"
        )
