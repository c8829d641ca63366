"""Owns what an entry must satisfy before it may be written: the protocol, Google's rules and what the XSDs enforce.

Every function answers the reason for a refusal in a sentence, or "" when there is none. Pure.
"""

import re
from urllib.parse import urlsplit

from sitemap import limits, location, w3c
from sitemap.model import Alternate, Entry, Image, Video
from sitemap.xml_text import FORBIDDEN, uri

# xsd:anyURI is wide, but white space is never part of a URL, and a URL loses its meaning with a character.
_NO_URL = re.compile(
    "[\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ud800-\udfff\ufffe\uffff]"
)
_LANGUAGE = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*")  # xsd:language; x-default is one
# https://www.google.com/schemas/sitemap-video/1.1/sitemap-video.xsd (tCountryList, tPlatformList)
_COUNTRIES = re.compile(r"(?:[A-Z]{2}(?: +[A-Z]{2})*)?")
_PLATFORMS = re.compile(r"(?:(?:web|mobile|tv)(?: +(?:web|mobile|tv))*)?")


def entry_fault(entry: Entry, directory: str) -> str:
    """Why an entry cannot be listed in a sitemap whose :func:`sitemap.location.directory` is given, or "".

    The directory "" is that of a sitemap which may list anything.
    """
    loc = uri(entry.loc)  # its length counts as it will be written
    if not limits.MIN_LOC <= len(loc) <= limits.MAX_LOC:
        return _loc_length(len(loc))
    # Two fast tests spare most URLs the expression: printable ASCII holds no white space but the blank.
    if not (loc.isascii() and loc.isprintable() and " " not in loc) and _NO_URL.search(loc):
        return "it holds white space or a control character: percent-encode it"
    if directory and not location.within(directory, loc):
        return f"it is not below {directory}, where the sitemap is"
    if entry.lastmod and not w3c.is_valid(entry.lastmod):
        return f"lastmod {entry.lastmod[:64]!r} is no date as YYYY-MM-DD or YYYY-MM-DDThh:mm:ss+00:00"
    if entry.changefreq and entry.changefreq not in limits.CHANGE_FREQUENCIES:
        return (
            f"changefreq {entry.changefreq[:64]!r} is none of {', '.join(sorted(limits.CHANGE_FREQUENCIES))}"
        )
    if entry.priority is not None and not 0.0 <= entry.priority <= 1.0:
        return f"priority {entry.priority} is not between 0.0 and 1.0"
    if entry.images or entry.videos or entry.alternates:
        return _extension_fault(entry)
    return ""


def image_fault(image: Image) -> str:
    """Why an image cannot be listed, or "". Its host may be another one."""
    return _url_fault("image:loc", image.loc)


def alternate_fault(alternate: Alternate) -> str:
    """Why a language variant cannot be listed, or "". Its host may be another one."""
    if not _LANGUAGE.fullmatch(alternate.hreflang):
        return f"hreflang {alternate.hreflang[:64]!r} is no language tag and not x-default"
    return _url_fault("href", alternate.href)


def video_fault(video: Video, loc: str = "") -> str:
    """Why a video cannot be listed for the page at ``loc``, or "".

    https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps
    """
    for name in ("thumbnail_loc", "content_loc", "player_loc"):
        url: str = getattr(video, name)
        if fault := _url_fault(name, url) if url or name == "thumbnail_loc" else "":
            return fault
        if url and url == loc and name != "thumbnail_loc":
            return f"{name} is the page itself"
    if not (video.content_loc or video.player_loc):
        return "a video needs content_loc or player_loc"
    for name, most in (("title", limits.MAX_VIDEO_TITLE), ("description", limits.MAX_VIDEO_DESCRIPTION)):
        text: str = FORBIDDEN.sub("", getattr(video, name))
        if not text.strip():
            return f"a video needs a {name}"
        if len(text) > most:
            return f"{name} has {len(text):,} characters, {most:,} are allowed"
    return _video_numbers_fault(video) or _video_lists_fault(video)


def _loc_length(length: int) -> str:
    if length > limits.MAX_LOC:
        return f"it has {length:,} characters, fewer than {limits.MAX_LOC + 1:,} are allowed"
    return f"it has {length} characters, the XSD wants at least {limits.MIN_LOC}"


def _url_fault(name: str, url: str) -> str:
    if not url:
        return f"{name} is missing"
    if len(uri(url)) > limits.MAX_LOC:
        return f"{name} has {len(uri(url)):,} characters, fewer than {limits.MAX_LOC + 1:,} are allowed"
    if _NO_URL.search(url):
        return f"{name} holds white space or a control character: percent-encode it"
    try:
        split = urlsplit(url)
    except ValueError:
        return f"{name} is no URL"
    return (
        ""
        if split.scheme in {"http", "https"} and split.hostname
        else f"{name} is no absolute http or https URL"
    )


def _extension_fault(entry: Entry) -> str:
    if len(entry.images) > limits.MAX_IMAGES:
        return f"it has {len(entry.images):,} images, {limits.MAX_IMAGES:,} are allowed"
    for image in entry.images:
        if fault := image_fault(image):
            return fault
    for video in entry.videos:
        if fault := video_fault(video, entry.loc):
            return f"video {video.title[:64]!r}: {fault}"
    for alternate in entry.alternates:
        if fault := alternate_fault(alternate):
            return fault
    return ""


def _video_numbers_fault(video: Video) -> str:
    if video.duration is not None and not 1 <= video.duration <= limits.MAX_VIDEO_DURATION:
        return f"duration {video.duration} is not between 1 and {limits.MAX_VIDEO_DURATION:,} seconds"
    if video.rating is not None and not 0.0 <= video.rating <= limits.MAX_VIDEO_RATING:
        return f"rating {video.rating} is not between 0.0 and {limits.MAX_VIDEO_RATING}"
    if video.view_count is not None and video.view_count < 0:
        return f"view_count {video.view_count} is negative"
    for name in ("expiration_date", "publication_date"):
        text: str = getattr(video, name)
        if text and not w3c.is_valid(text):
            return f"{name} {text[:64]!r} is no date as YYYY-MM-DD or YYYY-MM-DDThh:mm:ss+00:00"
    return ""


def _video_lists_fault(video: Video) -> str:
    for name, allowed in (("restriction", _COUNTRIES), ("platform", _PLATFORMS)):
        pair: tuple[str, str] | None = getattr(video, name)
        if pair is not None and (pair[0] not in {"allow", "deny"} or not allowed.fullmatch(pair[1])):
            return f"{name} {' '.join(pair)[:64]!r} is not allow or deny with a list the XSD knows"
    if len(video.tags) > limits.MAX_VIDEO_TAGS:
        return f"it has {len(video.tags)} tags, {limits.MAX_VIDEO_TAGS} are allowed"
    if video.uploader is not None:
        name, info = video.uploader
        if not name or len(name) > limits.MAX_VIDEO_UPLOADER:
            return f"uploader has {len(name)} characters, 1 to {limits.MAX_VIDEO_UPLOADER} are allowed"
        return _url_fault("uploader info", info) if info else ""
    return ""
