"""Validates an entry: its own four tags, its extensions, and the types of its values."""

import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from sitemap import dates, limits, location
from sitemap.escape import escape_uri
from sitemap.model import Entry
from sitemap.validation.extensions import alternate_faults, image_faults, news_faults, video_faults
from sitemap.validation.url import DATE_FORMS, NO_URL, Fault, first_sentence, is_absolute


def entry_fault(entry: Entry, directory: str) -> str:
    """Why a sitemap cannot list an entry, or "".

    ``directory`` is the :func:`sitemap.directory` of the sitemap; "" allows any URL.
    """
    return "" if _is_sound(entry, directory) else first_sentence(_faults(entry, directory))


def entry_faults(entry: Entry, directory: str) -> Iterator[Fault]:
    """All faults of an entry, except those of retired tags (:func:`sitemap.validation.retired.retired_faults`)."""
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

_VALUES: Final = {
    "images": "Image", "videos": "Video", "alternates": "Alternate", "news": "News", "prices": "Price",
    "tvshow": "TvShow",
}  # fmt: skip


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
