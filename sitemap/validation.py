"""Validates entries before they are written: the protocol, Google's rules, the XSDs. Pure.

Functions named ``…_faults`` yield every fault, for the linter. Those named ``…_fault`` return the first one as a
sentence, or "", for the writer. Entry point: :func:`entry_fault`.

Videos: https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps and, where it is narrower,
https://www.google.com/schemas/sitemap-video/1.1/sitemap-video.xsd.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from sitemap import dates, limits, location
from sitemap.escape import FORBIDDEN_CHARACTERS, escape_uri
from sitemap.model import Alternate, Entry, Image, News, Video

# xsd:anyURI allows much, but a URL never contains white space, and loses its meaning if a character is removed.
NO_URL: Final = re.compile(
    "[\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ud800-\udfff\ufeff\ufffe\uffff]"
)

# Nearly every URL matches, so that no parser is needed to see that it is absolute.
_USUAL: Final = re.compile(r"https?://[A-Za-z0-9.-]*[A-Za-z0-9](?::[0-9]{1,4})?(?:[/?#]|$)")


def url_fault(name: str, url: str) -> str:
    """Why a URL cannot be the value of the tag ``name``, or ""."""
    if not url:
        return f"{name} is missing"
    length = len(url) if len(url) <= limits.MAX_LOC // 3 else len(escape_uri(url))  # escaping may triple it
    if length > limits.MAX_LOC:
        return f"{name} has {length:,} characters, fewer than {limits.MAX_LOC + 1:,} are allowed"
    if NO_URL.search(url):
        return f"{name} contains white space or a control character: percent-encode it"
    return "" if is_absolute(url) else f"{name} is not an absolute http or https URL without credentials"


def is_absolute(url: str) -> bool:
    """Whether a URL is absolute http(s), without user name and password."""
    if _USUAL.match(url):
        return True
    try:
        location.origin_and_path(url)
    except ValueError:
        return False
    return True


DATE_FORMS: Final = "YYYY-MM-DD or YYYY-MM-DDThh:mm:ss+00:00"  # as messages name them


class Fault(NamedTuple):
    """A rule id of :data:`sitemap.RULES`, and a sentence without the URL of the entry."""

    rule: str
    sentence: str


def first_sentence(faults: Iterable[Fault]) -> str:
    """The sentence of the first fault, or ""."""
    for fault in faults:
        return fault.sentence
    return ""


# tCountryList, tPlatformList
_COUNTRIES: Final = re.compile(r"(?:[A-Z]{2}(?: +[A-Z]{2})*)?")

_PLATFORMS: Final = re.compile(r"(?:(?:web|mobile|tv)(?: (?:web|mobile|tv))*)?")


def video_fault(video: Video, loc: str = "") -> str:
    """The first fault of a video of the page at ``loc``, or ""."""
    return first_sentence(video_faults(video, loc))


def video_faults(video: Video, loc: str = "") -> Iterator[Fault]:
    """All faults of a video of the page at ``loc``."""
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
                f"{name} {' '.join(pair)[:64]!r} needs allow or deny as its relationship, and a list of valid codes",
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
    """All faults of an article. Checks only the form of the language."""
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


def entry_fault(entry: Entry, directory: str) -> str:
    """Why a sitemap cannot list an entry, or "".

    ``directory`` is the :func:`sitemap.directory` of the sitemap; "" allows any URL.
    """
    return "" if _is_sound(entry, directory) else first_sentence(_faults(entry, directory))


def entry_faults(entry: Entry, directory: str) -> Iterator[Fault]:
    """All faults of an entry."""
    return iter(()) if _is_sound(entry, directory) else _faults(entry, directory)


def _is_sound(entry: Entry, directory: str) -> bool:
    """Whether an entry has only a valid loc and lastmod: the fast path for most entries."""
    loc = entry.loc
    return (
        limits.MIN_LOC <= len(loc) <= limits.MAX_LOC // 3  # escape_uri() turns one character into up to three
        and loc.isascii()
        and loc.isprintable()
        and " " not in loc
        and (location.is_within(directory, loc) if directory else is_absolute(loc))
        and not (entry.lastmod and not dates.is_valid_date(entry.lastmod))
        and not (entry.changefreq or entry.images or entry.videos or entry.alternates)
        and entry.priority is None
        and entry.news is None
    )


def _faults(entry: Entry, directory: str) -> Iterator[Fault]:
    yield from _loc_faults(escape_uri(entry.loc), directory)  # the limit is for the escaped URL
    if entry.lastmod and not dates.is_valid_date(entry.lastmod):
        rule = "lastmod.form" if dates.parse_date(entry.lastmod) else "lastmod.invalid"
        yield Fault(rule, f"lastmod {entry.lastmod[:64]!r} is not a date: write {DATE_FORMS}")
    if entry.changefreq and entry.changefreq not in limits.CHANGE_FREQUENCIES:
        words = ", ".join(sorted(limits.CHANGE_FREQUENCIES))
        yield Fault("changefreq.invalid", f"changefreq {entry.changefreq[:64]!r} is invalid: write one of {words}")
    if entry.priority is not None and not 0.0 <= entry.priority <= 1.0:
        yield Fault("priority.invalid", f"priority {entry.priority} is not between 0.0 and 1.0")
    if len(entry.images) > limits.MAX_IMAGES:
        yield Fault("image.too_many", f"it has {len(entry.images):,} images, at most {limits.MAX_IMAGES:,} are allowed")
    for image in entry.images:
        yield from image_faults(image)
    for video in entry.videos:
        for rule, sentence in video_faults(video, entry.loc):
            yield Fault(rule, f"video {video.title[:64]!r}: {sentence}")
    if entry.news is not None:
        yield from news_faults(entry.news)
    for alternate in entry.alternates:
        yield from alternate_faults(alternate)


def _loc_faults(loc: str, directory: str) -> Iterator[Fault]:
    if not loc.strip():
        yield Fault("sitemap.loc_missing", "it has no loc")
        return
    if len(loc) > limits.MAX_LOC:
        yield Fault(
            "sitemap.loc_too_long", f"it has {len(loc):,} characters, fewer than {limits.MAX_LOC + 1:,} are allowed"
        )
    if len(loc) < limits.MIN_LOC:
        yield Fault(
            "sitemap.loc_too_short", f"it has {len(loc)} characters, the XSD requires at least {limits.MIN_LOC}"
        )
    if NO_URL.search(loc):
        yield Fault("sitemap.loc_encoding", "it contains white space or a control character: percent-encode it")
    if not is_absolute(loc):
        yield _not_absolute(loc)
    elif directory and not location.is_within(directory, loc):
        yield Fault("location.outside", f"it is not below {directory}, where the sitemap is")


def _not_absolute(loc: str) -> Fault:
    try:
        split = urlsplit(loc)
        if "@" in split.netloc:
            return Fault("sitemap.loc_credentials", "it contains a user name: remove it")
        if not split.scheme or (split.scheme in {"http", "https"} and not split.netloc):
            return Fault("sitemap.loc_relative", "it is not absolute: put the protocol and the host before it")
    except ValueError:
        pass
    return Fault("sitemap.loc_invalid", "it is not an absolute http or https URL")


_TYPE_MESSAGE: Final = re.compile(
    r"Expected `(?P<expected>[^`]*)`, got `(?P<actual>[^`]*)`(?: - at `\$\.(?P<field>[^`]*)`)?"
)

_VALUES: Final = {"images": "Image", "videos": "Video", "alternates": "Alternate", "news": "News"}


def type_fault(entry: object) -> str:
    """A sentence about the first value of a wrong type and its remedy, or ""."""
    if isinstance(entry, str):
        return "a str is not an Entry: write Entry('https://…')"
    if not isinstance(entry, Entry):
        return f"a value of type {type(entry).__name__} is not an Entry: write Entry('https://…')"
    try:
        msgspec.convert(_to_plain(entry), Entry)
    except msgspec.ValidationError as error:
        match = _TYPE_MESSAGE.match(str(error))
        if match is None:
            return str(error)
        field, expected, actual = match["field"] or "a value", match["expected"], match["actual"]
        name = _VALUES.get(re.split(r"[.\[]", field)[0], "") if field.count(".") == 0 else ""
        if expected == "array":
            return f"{field} is of the type {actual}: pass a tuple"
        if expected.startswith("object") and name:
            return f"{field} is of the type {actual}: write {name}(…)"
        if actual in {"date", "datetime"}:
            return f"{field} is a {actual}: convert it to text with sitemap.format_date()"
        return f"{field} is of the type {actual}, and must be {expected.replace('null', 'None')}"
    return ""


def _to_plain(value: Any) -> Any:
    """A value with its structs as dicts, so that msgspec checks their fields."""
    if isinstance(value, msgspec.Struct):
        return {name: _to_plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, tuple | list):
        return [_to_plain(item) for item in value]
    return value
