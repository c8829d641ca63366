"""Owns what the extensions of a url mean: its images, videos, news and language variants. Pure."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol, TypeVar

from sitemap.model import Alternate, Image, News, Price, TvShow, Video
from sitemap.reader import values
from sitemap.reader.parts import Part
from sitemap.reader.xml_names import CORE
from sitemap.validation.retired import RETIRED

MAX_EXTENSIONS: Final = 10_000  # images, videos or links of one entry
_Value = TypeVar("_Value", int, bool)
ReportValue = Callable[
    [str, str, str], None
]  # a rule id, a sentence, and the key of the value, or "" for the item


class ReportFinding(Protocol):
    """Takes down a finding: a rule id, a sentence, and the line, 0 for the one that is being read."""

    def __call__(self, rule: str, sentence: str, line: int = 0) -> None:
        """Take it down."""


_IMAGE_TAGS: Final = frozenset({"loc", "caption", "geo_location", "title", "license"})
_NEWS_TAGS: Final = frozenset(
    {"publication", "publication_date", "title", "access", "genres", "keywords", "stock_tickers"}
)
_PUBLICATION_TAGS: Final = frozenset({"name", "language"})
_TVSHOW_TAGS: Final = frozenset(
    {"show_title", "video_type", "episode_title", "season_number", "episode_number", "premier_date"}
)
_VIDEO_TEXTS = (
    "thumbnail_loc", "title", "description", "content_loc", "player_loc", "expiration_date", "publication_date",
    "category",
)  # fmt: skip
_VIDEO_WHOLE = ("duration", "view_count")
_VIDEO_FLAGS = ("family_friendly", "requires_subscription", "live")
_VIDEO_MANY: Final = frozenset({"tag", "price", "content_segment_loc", "id"})
_VIDEO_TAGS: Final = _VIDEO_MANY | {
    *_VIDEO_TEXTS, *_VIDEO_WHOLE, *_VIDEO_FLAGS,
    "rating", "restriction", "platform", "uploader", "gallery_loc", "tvshow",
}  # fmt: skip
_RETIRED: Final = frozenset(RETIRED)
_IMAGE_RULES = dict.fromkeys(
    ("sitemap.loc_missing", "sitemap.loc_relative", "sitemap.loc_invalid"), "image.loc_missing"
)
_PLURALS: Final = {"image": "images", "video": "videos"}
_VARIANT_RULES = dict.fromkeys(_IMAGE_RULES, "hreflang.url")


class PartTags:
    """The elements directly inside a part, each judged: unknown and repeated ones are findings and left out."""

    def __init__(
        self, part: Part, known: frozenset[str], say: ReportFinding, many: frozenset[str] = frozenset()
    ) -> None:
        self.found: dict[str, list[Part]] = {}
        self._say = say
        kind = part.local
        for inner in part.parts:
            name = inner.local
            if name not in known:
                if inner.family in {part.family, CORE}:
                    say(
                        "sitemap.unknown_element", f"{kind} has no tag {name[:64]!r}: take it out", inner.line
                    )
            elif name in self.found and name not in many:
                say("sitemap.repeated", f"{kind} has more than one {name}: keep one", inner.line)
            elif inner.too_long:
                said = f"{name} has more than {len(inner.text):,} characters: no value needs so many"
                say("sitemap.value_too_long", said, inner.line)
            else:
                self.found.setdefault(name, []).append(inner)
                if f"{kind}:{name}" in _RETIRED:
                    say("retired.tag", f"{kind}:{name} is retired: leave it out", inner.line)

    def __contains__(self, name: str) -> bool:
        return name in self.found

    def all(self, name: str) -> Iterable[Part]:
        """All elements of a name."""
        return self.found.get(name, ())

    def first(self, name: str) -> Part | None:
        """The element of a name."""
        return self.found[name][0] if name in self.found else None

    def text(self, name: str) -> str:
        """The text of an element, or ""."""
        return self.found[name][0].text if name in self.found else ""

    def whole(self, name: str, rule: str) -> int | None:
        """The whole number in an element, or None; anything else is a finding."""
        return self._read(name, rule, values.parse_whole)

    def yes_no(self, name: str) -> bool | None:
        """The yes or no in an element, or None; anything else is a finding."""
        return self._read(name, "video.yes_no", values.parse_yes_no)

    def pair(self, name: str, attribute: str) -> tuple[str, str] | None:
        """The text and an attribute of an element, or None when there is no such element."""
        part = self.first(name)
        return (part.text, part.attribute(attribute)) if part else None

    def _read(self, name: str, rule: str, read: Callable[[str], tuple[_Value | None, str]]) -> _Value | None:
        if name not in self.found:
            return None
        value, sentence = read(self.found[name][0].text)
        if sentence:
            self._say(rule, f"{name} {sentence}", self.found[name][0].line)
        return value


def add_part(fields: dict[str, Any], part: Part, base: str, say: ReportFinding) -> None:
    """Keep what a part of a url means among the fields of the url."""
    kind = part.local
    if kind == "image":
        if found := read_image(part, base, say):
            append_value(fields, kind, found, say, part.line)
    elif kind == "video":
        append_value(fields, kind, read_video(part, say), say, part.line)
    elif kind in fields:
        say("sitemap.repeated", f"a url has more than one {kind}: keep one", part.line)
    elif kind == "news":
        fields[kind] = read_news(part, say)
    else:
        fields[kind] = True
        say("retired.tag", "mobile:mobile is retired: leave it out", part.line)


def append_value(fields: dict[str, Any], key: str, value: object, say: ReportFinding, line: int = 0) -> None:
    """Keep one of many values, up to a bound, which is said of the line."""
    kept = fields.setdefault(key, [])
    if len(kept) < MAX_EXTENSIONS:
        kept.append(value)
    elif key + "+" not in fields:
        fields[key + "+"] = True
        rule = "image.too_many" if key == "image" else "sitemap.value_too_long"
        say(rule, f"an entry has more than {MAX_EXTENSIONS:,} {_PLURALS.get(key, key)}: take some out", line)


def read_image(part: Part, base: str, say: ReportFinding) -> Image | None:
    """An image, or None when it has no URL."""
    if len(part.parts) == 1 and part.parts[0].local == "loc":  # as nearly all of them are
        loc = part.parts[0].text
        if values.is_plain(loc):
            return Image(loc)
    tags = PartTags(part, _IMAGE_TAGS, say)
    loc, rule, sentence = values.parse_url(tags.text("loc"), base)
    if sentence:
        say(_IMAGE_RULES.get(rule, rule), f"image: {sentence}", (tags.first("loc") or part).line)
    if not loc:
        return None
    return Image(loc, *(tags.text(name) for name in ("caption", "geo_location", "title", "license")))


def read_news(part: Part, say: ReportFinding) -> News:
    """An article, as it is stated."""
    tags = PartTags(part, _NEWS_TAGS, say)
    publication = tags.first("publication") or Part("", "publication", {})
    inner = PartTags(publication, _PUBLICATION_TAGS, say)
    rest = {name: tags.text(name) for name in _NEWS_TAGS - {"publication"}}
    return News(publication=inner.text("name"), language=inner.text("language"), **rest)


def read_video(part: Part, say: ReportFinding) -> Video:
    """A video as it is stated. Values that no video can hold are findings and left out; nothing else is judged."""
    tags = PartTags(part, _VIDEO_TAGS, say, _VIDEO_MANY)
    stated: dict[str, Any] = {name: tags.text(name) for name in _VIDEO_TEXTS}
    stated |= {name: tags.whole(name, f"video.{name}") for name in _VIDEO_WHOLE}
    stated |= {name: tags.yes_no(name) for name in _VIDEO_FLAGS}
    for name in ("restriction", "platform"):
        if pair := tags.pair(name, "relationship"):
            stated[name] = (pair[1], pair[0])
    for name, attribute in (("uploader", "info"), ("gallery_loc", "title")):
        stated[name] = tags.pair(name, attribute)
    if player := tags.first("player_loc"):
        stated |= _player(player, say)
    return Video(
        **stated,
        rating=parse_rating(stars.text, say, stars.line) if (stars := tags.first("rating")) else None,
        tags=tuple(tag.text for tag in tags.all("tag")),
        prices=tuple(
            Price(tag.text, *(tag.attribute(name) for name in ("currency", "type", "resolution")))
            for tag in tags.all("price")
        ),
        tvshow=_tvshow(show, say) if (show := tags.first("tvshow")) else None,
        segments=tuple((tag.text, _duration(tag, say)) for tag in tags.all("content_segment_loc")),
        ids=tuple((tag.attribute("type"), tag.text) for tag in tags.all("id")),
    )


def parse_rating(text: str, say: ReportFinding, line: int) -> float | None:
    """A rating as a number, or None; what is no number is a finding."""
    value = values.parse_number(text)
    if text and value is None:
        say("video.rating", f"rating {text[:64]!r} is no number: write one from 0.0 to 5.0", line)
    return value


def read_alternates(
    links: Iterable[tuple[Mapping[str, str], int]], base: str, say: ReportFinding
) -> tuple[Alternate, ...]:
    """The language variants among the links of an entry, given as attributes and line."""
    found = []
    for stated, line in links:
        link = stated
        if "hreflang" not in link or link.get("rel") != "alternate":
            link = {key.lower(): value.strip() for key, value in stated.items()}
            if link.get("rel", "").lower() != "alternate":
                if "hreflang" in link:
                    say("hreflang.code", 'a link with hreflang has no rel: write rel="alternate"', line)
                continue
            if "hreflang" not in link:
                if "media" not in link:  # a page for small screens
                    say("hreflang.code", "an alternate link has no hreflang: write its language", line)
                continue
        url, rule, sentence = values.parse_url(link.get("href", ""), base)
        if sentence:
            say(_VARIANT_RULES.get(rule, rule), f"variant: {sentence}", line)
        if url:
            found.append(Alternate(link["hreflang"].strip(), url))
    return tuple(found)


def _player(player: Part, say: ReportFinding) -> dict[str, Any]:
    found: dict[str, Any] = {"autoplay": player.attribute("autoplay")}
    if embed := player.attribute("allow_embed"):
        found["allow_embed"], sentence = values.parse_yes_no(embed)
        if sentence:
            say("video.yes_no", f"allow_embed {sentence}", player.line)
    for name in ("allow_embed", "autoplay"):
        if player.attribute(name):
            say("retired.tag", f"video:player_loc@{name} is retired: leave it out", player.line)
    return found


def _duration(segment: Part, say: ReportFinding) -> int | None:
    text = segment.attribute("duration")
    value, sentence = values.parse_whole(text) if text else (None, "")
    if sentence:
        say("video.duration", f"duration {sentence}", segment.line)
    return value


def _tvshow(part: Part, say: ReportFinding) -> TvShow:
    tags = PartTags(part, _TVSHOW_TAGS, say)
    return TvShow(
        tags.text("show_title"),
        tags.text("video_type"),
        tags.text("episode_title"),
        tags.whole("season_number", "retired.value"),
        tags.whole("episode_number", "retired.value"),
        tags.text("premier_date"),
    )
