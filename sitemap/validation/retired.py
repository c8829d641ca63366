"""Validates the values of retired tags, so that a file with them still passes the schemas.

https://www.google.com/schemas/sitemap-image/1.1/sitemap-image.xsd and its siblings for video/1.1 and news/0.9
"""

import re
from collections.abc import Collection, Iterator
from difflib import get_close_matches
from typing import Final

from sitemap import dates, limits
from sitemap.errors import SitemapError
from sitemap.escape import FORBIDDEN_CHARACTERS
from sitemap.model import Entry, Image, News, Price, TvShow, Video
from sitemap.validation.url import DATE_FORMS, Fault, first_sentence, url_fault

RETIRED: Final = (
    "image:caption",
    "image:geo_location",
    "image:title",
    "image:license",
    "video:category",
    "video:gallery_loc",
    "video:price",
    "video:tvshow",
    "video:player_loc@allow_embed",
    "video:player_loc@autoplay",
    "video:content_segment_loc",
    "video:id",
    "news:access",
    "news:genres",
    "news:keywords",
    "news:stock_tickers",
    "mobile:mobile",
)


def requested_tags(names: Collection[str]) -> frozenset[str]:
    """The names as a set. SitemapError for a name that is not a retired tag; it suggests the closest one."""
    for name in names:
        if name not in RETIRED:
            closest = get_close_matches(name, RETIRED, 1, 0)[0]
            raise SitemapError(f"{name[:64]!r} is not a retired tag: did you mean {closest!r}?")
    return frozenset(names)


_AMOUNT: Final = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")  # a non-negative decimal

_CURRENCY: Final = re.compile("[A-Z]{3}")

_SHOWS: Final = frozenset({"full", "preview", "clip", "interview", "news", "other"})

_IDS: Final = frozenset({"tms:series", "tms:program", "rovi:series", "rovi:program", "freebase", "url"})

_GENRE: Final = "(?:PressRelease|Satire|Blog|OpEd|Opinion|UserGenerated)"

_GENRES: Final = re.compile(f"{_GENRE}(?:, *{_GENRE})*")

_TICKERS: Final = re.compile(r"\w++:\w++(?:, *+\w++:\w++){0,4}+").fullmatch


def retired_fault(entry: Entry, tags: Collection[str] = RETIRED) -> str:
    """The first fault of the retired ``tags`` of an entry, or ""."""
    return first_sentence(retired_faults(entry, tags))


def retired_faults(entry: Entry, tags: Collection[str] = RETIRED) -> Iterator[Fault]:
    """All faults of the retired ``tags`` of an entry."""
    for image in entry.images:
        yield from _faults_of(_image(image), tags)
    for video in entry.videos:
        yield from _faults_of(_video(video), tags)
    if entry.news is not None:
        yield from _faults_of(_news(entry.news), tags)


def _faults_of(pairs: Iterator[tuple[str, str]], tags: Collection[str]) -> Iterator[Fault]:
    for tag, sentence in pairs:
        if sentence and tag in tags:
            yield Fault("retired.value", sentence)


def _image(image: Image) -> Iterator[tuple[str, str]]:
    if image.license:
        yield "image:license", url_fault("image:license", image.license)


def _video(video: Video) -> Iterator[tuple[str, str]]:
    if len(video.category) > limits.MAX_VIDEO_CATEGORY:
        yield (
            "video:category",
            f"category has {len(video.category):,} characters, {limits.MAX_VIDEO_CATEGORY} are allowed",
        )
    if video.gallery_loc is not None:
        yield "video:gallery_loc", url_fault("gallery_loc", video.gallery_loc[0])
    for price in video.prices:
        yield "video:price", _price(price)
    if video.tvshow is not None:
        yield "video:tvshow", _tvshow(video.tvshow)
    for url, duration in video.segments:
        yield "video:content_segment_loc", url_fault("content_segment_loc", url)
        if duration is not None and not 0 <= duration <= limits.MAX_VIDEO_DURATION:
            yield (
                "video:content_segment_loc",
                f"the duration {duration} of a segment is not between 0 and {limits.MAX_VIDEO_DURATION:,} seconds",
            )
    for kind, text in video.ids:
        if kind not in _IDS:
            yield ("video:id", f"the type {kind[:64]!r} of an id is invalid: write one of {', '.join(sorted(_IDS))}")
        elif not text:
            yield "video:id", "an id is empty"


def _price(price: Price) -> str:
    if price.amount and not (_AMOUNT.fullmatch(price.amount) and _CURRENCY.fullmatch(price.currency)):
        return f"price {price.amount[:32]!r} {price.currency[:8]!r} is not an amount with an ISO 4217 currency"
    if not price.amount and (price.currency or not price.type):
        return "a price needs an amount with a currency, or a type"
    if price.type.lower() not in {"", "purchase", "rent"} or price.resolution.lower() not in {"", "hd", "sd"}:
        return "the type of a price is purchase or rent, its resolution hd or sd"
    return ""


def _tvshow(show: TvShow) -> str:
    if not FORBIDDEN_CHARACTERS.sub("", show.show_title):
        return "tvshow needs a show_title"
    if show.video_type not in _SHOWS:
        return f"video_type {show.video_type[:64]!r} is invalid: write one of {', '.join(sorted(_SHOWS))}"
    if show.premier_date and not dates.is_valid_date(show.premier_date):
        return f"premier_date {show.premier_date[:64]!r} is not a date: write {DATE_FORMS}"
    for name in ("season_number", "episode_number"):
        number: int | None = getattr(show, name)
        if number is not None and number < 1:
            return f"{name} {number} is not positive"
    return ""


def _news(news: News) -> Iterator[tuple[str, str]]:
    if news.access not in {"", "Subscription", "Registration"}:
        yield "news:access", f"access {news.access[:64]!r} is neither Subscription nor Registration"
    if news.genres and not _GENRES.fullmatch(news.genres):
        yield "news:genres", f"genres {news.genres[:64]!r} is not a list of genres of Google News"
    if news.stock_tickers and not _TICKERS(news.stock_tickers):
        yield ("news:stock_tickers", f"stock_tickers {news.stock_tickers[:64]!r} is not a list of up to five tickers")
