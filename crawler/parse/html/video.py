"""Decides which videos of a page a sitemap can list.

JSON-LD, Open Graph, Twitter cards, ``video`` elements and players of known sites each give drafts. Drafts of the same
video are merged; a complete one becomes a video, an incomplete one a fault.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from crawler.parse.html import jsonld
from crawler.parse.html.dates import duration_seconds, w3c_date
from crawler.parse.html.links import PageUrls
from crawler.parse.html.outline import Element, Outline
from crawler.parse.html.text import MAX_TITLE, one_line
from sitemap import Video

MAX_VIDEOS: Final = 100
MAX_DESCRIPTION: Final = 2_048
MAX_DURATION: Final = 28_800
MAX_TAGS: Final = 32
MAX_UPLOADER: Final = 255
_PLAYERS: Final = ("video", "iframe")
_METAS: Final = frozenset({"og:video", "og:video:url", "og:video:secure_url", "twitter:player"})
_is_file = re.compile(
    r"[^?#]+\.(?:mp4|m4v|webm|ogv|mov|mpe?g|avi|wmv|flv|mkv|3gp|m3u8|mpd)(?:$|\?)", re.IGNORECASE
).match
_number = re.compile(r"\s*([0-9]{1,15})(?:\.[0-9]+)?\s*", re.ASCII).fullmatch
_rating = re.compile(r"\s*([0-9](?:[.,][0-9]{1,6})?)\s*", re.ASCII).fullmatch
_country = re.compile(r"\s*([A-Za-z]{2})\s*", re.ASCII).fullmatch
_ID: Final = r"([A-Za-z0-9_-]{11})(?![A-Za-z0-9_-])"
_youtube = re.compile(
    rf"https?://(?:www\.|m\.)?(?:youtube(?:-nocookie)?\.com/(?:embed/|v/|shorts/|live/|watch\?(?:[^#]*&)?v=)|youtu\.be/){_ID}"
).match
_vimeo = re.compile(r"https?://(?:player\.vimeo\.com/video/|(?:www\.)?vimeo\.com/(?:[a-z]+/)*)([0-9]{4,})").match
_dailymotion = re.compile(
    r"https?://(?:www\.|geo\.)?(?:dailymotion\.com/(?:embed/)?video/|dailymotion\.com/player[^?]*\?(?:[^#]*&)?video="
    r"|dai\.ly/)([A-Za-z0-9]{5,})"
).match
_other_site = re.compile(
    r"https?://(?:fast\.wistia\.(?:net|com)/embed/|(?:www\.)?loom\.com/embed/|player\.twitch\.tv/\?|streamable\.com/[eo]/"
    r"|play\.vidyard\.com/|players\.brightcove\.net/|cdn\.jwplayer\.com/players/|rutube\.ru/play/embed/"
    r"|(?:www\.)?tiktok\.com/(?:embed|player)/|embed\.ted\.com/|player\.bilibili\.com/|(?:www\.)?facebook\.com/plugins/video"
    r"|vk\.com/video_ext\.php|tube\.[^/]+/videos/embed/|[^/]+/videos/embed/[0-9a-zA-Z-]{20,})"
).match


class EmbeddedVideo(Struct, frozen=True):
    """A video of a known site. ``key`` is equal for all its URLs; ``thumbnail`` is "" when no rule gives it."""

    key: str
    player: str
    thumbnail: str = ""


def find_embedded_video(url: str) -> EmbeddedVideo | None:
    """The video that a URL plays or shows, or None for a URL of no known video site."""
    if match := _youtube(url):
        name = match[1]
        if name == "videoseries":
            return None
        return EmbeddedVideo(
            f"youtube:{name}", f"https://www.youtube.com/embed/{name}", f"https://i.ytimg.com/vi/{name}/hqdefault.jpg"
        )
    if match := _vimeo(url):
        return EmbeddedVideo(f"vimeo:{match[1]}", f"https://player.vimeo.com/video/{match[1]}")
    if match := _dailymotion(url):
        name = match[1]
        return EmbeddedVideo(
            f"dailymotion:{name}",
            f"https://www.dailymotion.com/embed/video/{name}",
            f"https://www.dailymotion.com/thumbnail/video/{name}",
        )
    return EmbeddedVideo(url, url) if _other_site(url) else None


class VideoDraft(Struct):
    """What the page states about one video. Every URL is resolved. Drafts that share one of ``keys`` are one video.

    ``origin`` names the markup that states it, for the faults.
    """

    origin: str
    video: Video
    keys: set[str] = field(default_factory=set)

    def fill(self, **stated: Any) -> None:
        """Fill those of these fields of the video that are empty."""
        empty = {name: value for name, value in stated.items() if getattr(self.video, name) in (None, "", ())}
        self.video = replace(self.video, **empty)

    def absorb(self, other: "VideoDraft") -> None:
        """Fill empty fields from another draft of the same video."""
        self.keys |= other.keys
        self.fill(**asdict(other.video))


def merge_drafts(drafts: list[VideoDraft]) -> list[VideoDraft]:
    """One draft for each video, in document order. A field keeps its first value."""
    merged: list[VideoDraft] = []
    by_key: dict[str, VideoDraft] = {}
    for draft in drafts:
        earlier = next((by_key[key] for key in sorted(draft.keys) if key in by_key), None)
        if earlier is None:
            merged.append(draft)
        else:
            earlier.absorb(draft)
        for key in draft.keys:
            by_key.setdefault(key, earlier or draft)
    return merged


def finish_draft(draft: VideoDraft, page: str) -> Video | str:
    """The video, or a sentence that says why it cannot be listed. ``page`` is the URL of the page.

    https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps#video-sitemap-elements
    """
    video = draft.video
    title = one_line(video.title, MAX_TITLE)
    description = one_line(video.description, MAX_DESCRIPTION)
    name = f"the video {title[:60]!a} ({draft.origin})" if title else f"a video ({draft.origin})"
    content = "" if video.content_loc == page else video.content_loc
    player = "" if video.player_loc == page else video.player_loc
    missing = [
        field_name
        for field_name, value in (("thumbnail", video.thumbnail_loc), ("title", title), ("description", description))
        if not value
    ]
    if missing:
        return f"{name} has no {' and no '.join(missing)}"
    if not content and not player:
        at_page = page in {video.content_loc, video.player_loc}
        return f"{name} has {'only the page itself as' if at_page else 'no'} content or player address"
    return replace(
        video,
        title=title,
        description=description,
        content_loc=content,
        player_loc=player,
        duration=video.duration if 1 <= (video.duration or 0) <= MAX_DURATION else None,
        rating=video.rating if 0.0 <= (video.rating or 0.0) <= 5.0 else None,
        tags=video.tags[:MAX_TAGS],
    )


ResolveUrl = Callable[[str], str]
"""Returns the URL for an href, or "" when it is refused."""


def video_drafts(nodes: list[jsonld.JsonLdNode], resolve: ResolveUrl) -> Iterator[VideoDraft]:
    """One draft for each VideoObject. Of several nodes with one ``@id``, the fullest is read."""
    by_id = jsonld.nodes_by_id(nodes)
    for node in nodes:
        if "VideoObject" in node.types:
            key = node.values.get("@id")
            if not isinstance(key, str) or by_id.get(key, node) is node:
                yield _draft(node.values, by_id, resolve)


def _draft(values: dict[str, Any], by_id: dict[str, jsonld.JsonLdNode], resolve: ResolveUrl) -> VideoDraft:
    def part(name: str) -> dict[str, Any]:
        return _object(values.get(name), by_id)

    video = Video(
        thumbnail_loc=_thumbnail(values, part("thumbnail"), resolve),
        title=_text(values.get("name")) or _text(values.get("headline")),
        description=_text(values.get("description")),
        content_loc=resolve(_text(values.get("contentUrl"))),
        player_loc=resolve(_text(values.get("embedUrl"))),
        duration=duration_seconds(_text(values.get("duration"))),
        expiration_date=w3c_date(_text(values.get("expires"))),
        rating=_parse_rating(part("aggregateRating")),
        view_count=_parse_views(values),
        publication_date=w3c_date(_text(values.get("uploadDate")) or _text(values.get("datePublished"))),
        family_friendly=_parse_bool(values.get("isFamilyFriendly")),
        restriction=_restriction(values),
        requires_subscription=_parse_bool(values.get("requiresSubscription")),
        uploader=_uploader(part("author") or part("creator") or part("publisher")),
        live=_parse_bool(part("publication").get("isLiveBroadcast")),
        tags=_tags(values.get("keywords")),
    )
    draft = VideoDraft("JSON-LD", video)
    for url in (video.content_loc, video.player_loc):
        if url:
            player = find_embedded_video(url)
            draft.keys.add(player.key if player else url)
            draft.fill(thumbnail_loc=player.thumbnail if player else "")
    return draft


def _text(value: Any) -> str:
    """A value as text: of a list its first item, of an object its ``@value``."""
    if isinstance(value, list):
        value = value[0] if value else ""
    if isinstance(value, dict):
        value = value.get("@value", "")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    return value.strip() if isinstance(value, str) else ""


def _object(value: Any, by_id: dict[str, jsonld.JsonLdNode]) -> dict[str, Any]:
    if isinstance(value, list):
        value = value[0] if value else None
    if not isinstance(value, dict):
        return {}
    key = value.get("@id")
    if len(value) == 1 and isinstance(key, str) and key in by_id:
        return by_id[key].values
    return value


def _thumbnail(values: dict[str, Any], image: dict[str, Any], resolve: ResolveUrl) -> str:
    stated = values.get("thumbnailUrl")
    candidates = [
        *(stated if isinstance(stated, list) else [stated]),
        *(image.get("contentUrl"), image.get("url"), values.get("thumbnail"), values.get("image")),
    ]
    for value in candidates:
        url = resolve(_text(value.get("url") if isinstance(value, dict) else value))
        if url:
            return url
    return ""


def _parse_views(values: dict[str, Any]) -> int | None:
    counters = values.get("interactionStatistic")
    for counter in counters if isinstance(counters, list) else [counters]:
        if isinstance(counter, dict):
            kind = counter.get("interactionType")
            name = kind.get("@type") if isinstance(kind, dict) else kind
            if isinstance(name, str) and not name.endswith("WatchAction"):
                continue
            count = _number(_text(counter.get("userInteractionCount")))
            if count:
                return int(count[1])
    count = _number(_text(values.get("interactionCount")))
    return int(count[1]) if count else None


def _parse_rating(rating: dict[str, Any]) -> float | None:
    best = _text(rating.get("bestRating")) or "5"
    value = _rating(_text(rating.get("ratingValue")))
    return float(value[1].replace(",", ".")) if value and best in {"5", "5.0"} else None


def _parse_bool(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    word = _text(value).lower().rpartition("/")[2]
    if word in {"true", "yes", "1"}:
        return True
    return False if word in {"false", "no", "0"} else None


def _restriction(values: dict[str, Any]) -> tuple[str, str] | None:
    for name, relationship in (("regionsAllowed", "allow"), ("ineligibleRegion", "deny")):
        stated = values.get(name)
        words = re.split(r"[,;\s]+", stated) if isinstance(stated, str) else stated
        if isinstance(words, list):
            matches = (_country(word) for word in map(_region, words) if word)
            countries = sorted({country[1].upper() for country in matches if country})
            if countries:
                return relationship, " ".join(countries)
    return None


def _region(value: Any) -> str:
    return _text(value.get("name") or value.get("identifier")) if isinstance(value, dict) else _text(value)


def _uploader(author: dict[str, Any]) -> tuple[str, str] | None:
    """The name without a page: that is optional, and valid only on the domain of the sitemap."""
    name = one_line(_text(author.get("name")), MAX_UPLOADER)
    return (name, "") if name else None


def _tags(value: Any) -> tuple[str, ...]:
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, list):
        return ()
    tags = (one_line(_text(word), 100) for word in words[:200])
    return tuple(dict.fromkeys(tag for tag in tags if tag))


class VideoCollector:
    """Collects the videos of one page."""

    def __init__(self, outline: Outline, nodes: list[jsonld.JsonLdNode], urls: PageUrls) -> None:
        self._outline = outline
        self._nodes = nodes
        self._urls = urls
        self._metas = outline.metas

    def read(self) -> tuple[list[Video], list[str]]:
        """The videos that can be listed, and a sentence for each that cannot."""
        if not (self._nodes or self._outline.has_any(_PLAYERS) or not _METAS.isdisjoint(self._metas)):
            return [], []  # most pages state no video
        drafts = [
            *video_drafts(self._nodes, self._resolve),
            *self._open_graph(),
            *self._twitter(),
            *self._elements(),
            *self._frames(),
        ]
        videos: list[Video] = []
        faults: list[str] = []
        for draft in merge_drafts(drafts)[:MAX_VIDEOS]:
            result = finish_draft(draft, self._urls.page)
            if isinstance(result, Video):
                videos.append(result)
            else:
                faults.append(result)
        return videos, faults

    def _resolve(self, href: str) -> str:
        if not href or href[:5].lower() in {"data:", "blob:", "about"}:
            return ""
        return self._urls.in_markup(href) or ""

    def _meta(self, *names: str) -> str:
        """The first content of the first of these names that the page states, or ""."""
        return next((self._metas[name][0] for name in names if name in self._metas), "")

    def _new_draft(self, origin: str, title: str = "") -> VideoDraft:
        title = title or self._meta("og:title", "twitter:title") or self._outline.title
        return VideoDraft(origin, Video("", title, self._meta("og:description", "description", "twitter:description")))

    def _add_url(self, draft: VideoDraft, url: str, media_type: str = "") -> None:
        """Add a URL to a draft: a file as its content, any other as its player."""
        player = find_embedded_video(url)
        if player is not None:
            draft.fill(player_loc=player.player, thumbnail_loc=player.thumbnail)
            draft.keys.add(player.key)
            return
        draft.keys.add(url)
        if _is_file(url) or media_type.lower().startswith(("video/", "application/vnd.apple", "application/x-mpegurl")):
            draft.fill(content_loc=url)
        else:
            draft.fill(player_loc=url)

    def _open_graph(self) -> Iterator[VideoDraft]:
        """At most one video: several ``og:video`` of a page are its formats (https://ogp.me/#type_video)."""
        if not self._meta("og:video", "og:video:url", "og:video:secure_url"):
            return
        draft = self._new_draft("og:video")
        media_type = ""
        for element in reversed(self._outline.named("meta")):  # the type follows the URL that it belongs to
            name, value = (element.get("property") or element.get("name")).lower(), element.get("content")
            if name == "og:video:type":
                media_type = value
            elif name in {"og:video", "og:video:url", "og:video:secure_url"}:
                url = self._resolve(value)
                if url:
                    self._add_url(draft, url, media_type)
        draft.fill(
            thumbnail_loc=self._resolve(self._meta("og:image:secure_url", "og:image", "og:image:url")),
            duration=duration_seconds(self._meta("og:video:duration", "video:duration")),
            publication_date=w3c_date(self._meta("og:video:release_date", "video:release_date")),
            tags=tuple(dict.fromkeys([*self._metas.get("og:video:tag", []), *self._metas.get("video:tag", [])])),
        )
        yield draft

    def _twitter(self) -> Iterator[VideoDraft]:
        url = self._resolve(self._meta("twitter:player"))
        if url:
            draft = self._new_draft("twitter:player", self._meta("twitter:title"))
            self._add_url(draft, url)
            draft.fill(thumbnail_loc=self._resolve(self._meta("twitter:image", "twitter:image:src", "og:image")))
            yield draft

    def _elements(self) -> Iterator[VideoDraft]:
        sources: dict[int, list[Element]] = {}
        for source in self._outline.named("source"):
            if source.owner_tag == "video":
                sources.setdefault(source.owner, []).append(source)
        for element in self._outline.named("video"):
            attributes = element.attributes
            if {"autoplay", "loop", "muted"} <= attributes.keys() and "controls" not in attributes:
                continue  # a background
            stated = [element, *sources.get(element.owner, [])]
            hrefs = (source.get("src") or source.get("data-src") for source in stated)
            if urls := [url for url in map(self._resolve, hrefs) if url]:
                draft = self._new_draft("video element", element.get("title") or element.get("aria-label"))
                poster = element.get("poster") or element.get("data-poster")
                draft.fill(content_loc=urls[0], thumbnail_loc=self._resolve(poster))
                draft.keys.update(urls)
                yield draft

    def _frames(self) -> Iterator[VideoDraft]:
        for frame in self._outline.named("iframe"):
            for name in ("src", "data-src", "data-lazy-src"):
                url = self._resolve(frame.get(name))
                if url and find_embedded_video(url):
                    draft = self._new_draft("embedded player", frame.get("title"))
                    self._add_url(draft, url)
                    yield draft
                    break
