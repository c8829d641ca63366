"""Reads the extensions of a url: images, videos, news and language variants. Pure."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol, TypeVar

from sitemap.model import Alternate, Image, News, Video
from sitemap.reader import values
from sitemap.reader.parts import Part
from sitemap.reader.xml_names import CORE

MAX_EXTENSIONS: Final = 10_000  # images, videos or links of one entry
_Value = TypeVar("_Value", int, bool)
ReportValue = Callable[[str, str, str], None]  # with a rule id, a sentence, and the key of the value ("": the item)


class ReportFinding(Protocol):
    """A function that adds a finding."""

    def __call__(self, rule: str, sentence: str, line: int = 0) -> None:
        """Add a finding; the line 0 means the current line."""


# The tags of an image are the fields of its value; those of news are all but one.
_IMAGE_TAGS: Final = frozenset(Image.__struct_fields__)
_NEWS_TAGS: Final = frozenset(News.__struct_fields__) - {"language"}
_PUBLICATION_TAGS: Final = frozenset({"name", "language"})
_VIDEO_TEXTS = (
    "thumbnail_loc", "title", "description", "content_loc", "player_loc", "expiration_date", "publication_date",
)  # fmt: skip
_VIDEO_WHOLE = ("duration", "view_count")
_VIDEO_FLAGS = ("family_friendly", "requires_subscription", "live")
_VIDEO_MANY: Final = frozenset({"tag"})
_VIDEO_TAGS: Final = _VIDEO_MANY | {
    *_VIDEO_TEXTS, *_VIDEO_WHOLE, *_VIDEO_FLAGS,
    "rating", "restriction", "platform", "uploader",
}  # fmt: skip
_RETIRED: Final = {
    "image": frozenset({"caption", "geo_location", "title", "license"}),
    "video": frozenset({"category", "gallery_loc", "price", "tvshow", "content_segment_loc", "id"}),
    "news": frozenset({"access", "genres", "keywords", "stock_tickers"}),
}
"""https://developers.google.com/search/blog/2022/05/spring-cleaning-sitemap-extensions"""
_RETIRED_ATTRIBUTES: Final = ("allow_embed", "autoplay")  # of player_loc
_IMAGE_RULES = dict.fromkeys(
    ("sitemap.loc_missing", "sitemap.loc_relative", "sitemap.loc_invalid"), "image.loc_missing"
)
_PLURALS: Final = {"image": "images", "video": "videos"}
_VARIANT_RULES = dict.fromkeys(_IMAGE_RULES, "hreflang.url")


class PartTags:
    """The child elements of a part. Reports unknown, repeated and too long ones, and leaves them out."""

    def __init__(
        self, part: Part, known: frozenset[str], report: ReportFinding, many: frozenset[str] = frozenset()
    ) -> None:
        self._tags: dict[str, list[Part]] = {}
        self._report = report
        kind = part.local
        for inner in part.parts:
            name = inner.local
            if name in _RETIRED.get(kind, ()):
                report("retired.tag", f"{kind}:{name} is retired: leave it out", inner.line)
            elif name not in known:
                if inner.family in {part.family, CORE}:
                    report("sitemap.unknown_element", f"{kind} has no tag {name[:64]!r}: remove it", inner.line)
            elif name in self._tags and name not in many:
                report("sitemap.repeated", f"{kind} has more than one {name}: keep one", inner.line)
            elif inner.too_long:
                sentence = f"{name} has more than {len(inner.text):,} characters: shorten it"
                report("sitemap.value_too_long", sentence, inner.line)
            else:
                self._tags.setdefault(name, []).append(inner)

    def __contains__(self, name: str) -> bool:
        return name in self._tags

    def all(self, name: str) -> Iterable[Part]:
        """All elements of this name."""
        return self._tags.get(name, ())

    def first(self, name: str) -> Part | None:
        """The first element of this name, or None."""
        return self._tags[name][0] if name in self._tags else None

    def text(self, name: str) -> str:
        """The text of the element, or ""."""
        return self._tags[name][0].text if name in self._tags else ""

    def whole(self, name: str, rule: str) -> int | None:
        """The whole number in the element, or None; reports any other value."""
        return self._read(name, rule, values.parse_whole)

    def yes_no(self, name: str) -> bool | None:
        """The yes or no in the element, or None; reports any other value."""
        return self._read(name, "video.yes_no", values.parse_yes_no)

    def pair(self, name: str, attribute: str) -> tuple[str, str] | None:
        """The text and an attribute of the element, or None without such an element."""
        part = self.first(name)
        return (part.text, part.attribute(attribute)) if part else None

    def _read(self, name: str, rule: str, read: Callable[[str], tuple[_Value | None, str]]) -> _Value | None:
        if name not in self._tags:
            return None
        value, sentence = read(self._tags[name][0].text)
        if sentence:
            self._report(rule, f"{name} {sentence}", self._tags[name][0].line)
        return value


def add_part(fields: dict[str, Any], part: Part, base: str, report: ReportFinding) -> None:
    """Add the value of a part of a url to the fields of the url."""
    kind = part.local
    if kind == "image":
        if image := read_image(part, base, report):
            append_value(fields, kind, image, report, part.line)
    elif kind == "video":
        append_value(fields, kind, read_video(part, report), report, part.line)
    elif kind in fields:
        report("sitemap.repeated", f"a url has more than one {kind}: keep one", part.line)
    elif kind == "news":
        fields[kind] = read_news(part, report)
    else:
        fields[kind] = True
        report("retired.tag", "mobile:mobile is retired: leave it out", part.line)


def append_value(fields: dict[str, Any], key: str, value: object, report: ReportFinding, line: int = 0) -> None:
    """Append a value to the list of a key, up to a bound. Reports the first value beyond it."""
    values_of_key = fields.setdefault(key, [])
    if len(values_of_key) < MAX_EXTENSIONS:
        values_of_key.append(value)
    elif key + "+" not in fields:
        fields[key + "+"] = True
        rule = "image.too_many" if key == "image" else "sitemap.value_too_long"
        report(rule, f"an entry has more than {MAX_EXTENSIONS:,} {_PLURALS.get(key, key)}: remove some", line)


def read_image(part: Part, base: str, report: ReportFinding) -> Image | None:
    """An image, or None if it has no URL."""
    if len(part.parts) == 1 and part.parts[0].local == "loc":  # the fast path, for nearly all images
        loc = part.parts[0].text
        if values.is_plain(loc):
            return Image(loc)
    tags = PartTags(part, _IMAGE_TAGS, report)
    loc, rule, sentence = values.parse_url(tags.text("loc"), base)
    if sentence:
        report(_IMAGE_RULES.get(rule, rule), f"image: {sentence}", (tags.first("loc") or part).line)
    if not loc:
        return None
    return Image(loc)


def read_news(part: Part, report: ReportFinding) -> News:
    """An article as stated."""
    tags = PartTags(part, _NEWS_TAGS, report)
    publication = tags.first("publication") or Part("", "publication", {})
    inner = PartTags(publication, _PUBLICATION_TAGS, report)
    rest = {name: tags.text(name) for name in _NEWS_TAGS - {"publication"}}
    return News(publication=inner.text("name"), language=inner.text("language"), **rest)


def read_video(part: Part, report: ReportFinding) -> Video:
    """A video as stated. Reports and leaves out values of a wrong type; checks nothing else."""
    tags = PartTags(part, _VIDEO_TAGS, report, _VIDEO_MANY)
    stated: dict[str, Any] = {name: tags.text(name) for name in _VIDEO_TEXTS}
    stated |= {name: tags.whole(name, f"video.{name}") for name in _VIDEO_WHOLE}
    stated |= {name: tags.yes_no(name) for name in _VIDEO_FLAGS}
    for name in ("restriction", "platform"):
        if pair := tags.pair(name, "relationship"):
            stated[name] = (pair[1], pair[0])
    player = tags.first("player_loc")
    for name in _RETIRED_ATTRIBUTES:
        if player and player.attribute(name):
            report("retired.tag", f"video:player_loc@{name} is retired: leave it out", player.line)
    return Video(
        **stated,
        uploader=tags.pair("uploader", "info"),
        rating=parse_rating(stars.text, report, stars.line) if (stars := tags.first("rating")) else None,
        tags=tuple(tag.text for tag in tags.all("tag")),
    )


def parse_rating(text: str, report: ReportFinding, line: int) -> float | None:
    """A rating as a number, or None; reports any other text."""
    value = values.parse_number(text)
    if text and value is None:
        report("video.rating", f"rating {text[:64]!r} is not a number: write one from 0.0 to 5.0", line)
    return value


def whole_attribute(part: Part, attribute: str, rule: str, report: ReportFinding) -> int | None:
    """The whole number in an attribute, or None; reports any other value."""
    text = part.attribute(attribute)
    value, sentence = values.parse_whole(text) if text else (None, "")
    if sentence:
        report(rule, f"{attribute} {sentence}", part.line)
    return value


def read_alternates(
    links: Iterable[tuple[Mapping[str, str], int]], base: str, report: ReportFinding
) -> tuple[Alternate, ...]:
    """The language variants among the links of an entry; each link is its attributes and its line."""
    alternates = []
    for stated, line in links:
        link = stated
        if "hreflang" not in link or link.get("rel") != "alternate":
            link = {key.lower(): value.strip() for key, value in stated.items()}
            if link.get("rel", "").lower() != "alternate":
                if "hreflang" in link:
                    report("hreflang.code", 'a link with hreflang has no rel: write rel="alternate"', line)
                continue
            if "hreflang" not in link:
                if "media" not in link:  # a page for small screens has one
                    report("hreflang.code", "an alternate link has no hreflang: write its language", line)
                continue
        url, rule, sentence = values.parse_url(link.get("href", ""), base)
        if sentence:
            report(_VARIANT_RULES.get(rule, rule), f"variant: {sentence}", line)
        if url:
            alternates.append(Alternate(link["hreflang"].strip(), url))
    return tuple(alternates)
