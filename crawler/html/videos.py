"""The videos of a page: every place that states one, merged, and then valid or left out with a reason."""

import re
from collections.abc import Iterator
from typing import Final

from crawler.html import jsonld, videoobject
from crawler.html.embeds import embed
from crawler.html.outline import Element, Outline
from crawler.html.videodraft import Draft, finish, merge
from crawler.html.w3c import seconds, w3c
from crawler.url.resolve import Resolver
from sitemap import Video

MAX_VIDEOS: Final = 100
_PLAYERS: Final = ("video", "iframe")
_METAS: Final = frozenset({"og:video", "og:video:url", "og:video:secure_url", "twitter:player"})
_is_file = re.compile(
    r"[^?#]+\.(?:mp4|m4v|webm|ogv|mov|mpe?g|avi|wmv|flv|mkv|3gp|m3u8|mpd)(?:$|\?)", re.IGNORECASE
).match


class Videos:
    """Collects the videos of one page. ``page`` is the address that no video may have."""

    def __init__(
        self,
        outline: Outline,
        nodes: list[jsonld.Node],
        page: str,
        base: str,
        encoding: str,
        resolver: Resolver,
    ) -> None:
        self._outline = outline
        self._nodes = nodes
        self._page = page
        self._base = base
        self._encoding = encoding
        self._resolver = resolver
        self._metas = outline.metas

    def read(self) -> tuple[list[Video], list[str]]:
        """The videos that can be listed, and a sentence for each that cannot."""
        if not (self._nodes or self._outline.has_any(_PLAYERS) or not _METAS.isdisjoint(self._metas)):
            return [], []  # most pages: nothing states a video
        drafts = [
            *videoobject.video_drafts(self._nodes, self._resolve),
            *self._open_graph(),
            *self._twitter(),
            *self._elements(),
            *self._frames(),
        ]
        videos: list[Video] = []
        faults: list[str] = []
        for draft in merge(drafts)[:MAX_VIDEOS]:
            result = finish(draft, self._page)
            if isinstance(result, Video):
                videos.append(result)
            else:
                faults.append(result)
        return videos, faults

    def _resolve(self, text: str) -> str:
        if not text or text[:5].lower() in {"data:", "blob:", "about"}:
            return ""
        return self._resolver.resolve(self._base, text, self._encoding) or ""

    def _meta(self, *names: str) -> str:
        """The first content of the first of these names that has one."""
        return next((self._metas[name][0] for name in names if name in self._metas), "")

    def _from_page(self, origin: str, title: str = "") -> Draft:
        return Draft(
            origin=origin,
            title=title or self._meta("og:title", "twitter:title") or self._outline.title,
            description=self._meta("og:description", "description", "twitter:description"),
        )

    def _place(self, draft: Draft, url: str, kind: str = "") -> None:
        """Put an address where it belongs: a file is content, everything else a player."""
        player = embed(url)
        if player is not None:
            draft.player = draft.player or player.player
            draft.thumbnail = draft.thumbnail or player.thumbnail
            draft.keys.add(player.key)
            return
        draft.keys.add(url)
        if _is_file(url) or kind.lower().startswith(
            ("video/", "application/vnd.apple", "application/x-mpegurl")
        ):
            draft.content = draft.content or url
        else:
            draft.player = draft.player or url

    def _open_graph(self) -> Iterator[Draft]:
        """One video: several ``og:video`` of a page are its formats (https://ogp.me/#type_video)."""
        if not self._meta("og:video", "og:video:url", "og:video:secure_url"):
            return
        draft = self._from_page("og:video")
        kind = ""
        for element in reversed(
            self._outline.named("meta")
        ):  # the type follows the address that it speaks of
            name, value = (element.get("property") or element.get("name")).lower(), element.get("content")
            if name == "og:video:type":
                kind = value
            elif name in {"og:video", "og:video:url", "og:video:secure_url"}:
                url = self._resolve(value)
                if url:
                    self._place(draft, url, kind)
        draft.thumbnail = draft.thumbnail or self._resolve(
            self._meta("og:image:secure_url", "og:image", "og:image:url")
        )
        draft.duration = seconds(self._meta("og:video:duration", "video:duration"))
        draft.published = w3c(self._meta("og:video:release_date", "video:release_date"))
        tags = [*self._metas.get("og:video:tag", []), *self._metas.get("video:tag", [])]
        draft.tags = tuple(dict.fromkeys(tags))
        yield draft

    def _twitter(self) -> Iterator[Draft]:
        url = self._resolve(self._meta("twitter:player"))
        if url:
            draft = self._from_page("twitter:player", self._meta("twitter:title"))
            self._place(draft, url)
            draft.thumbnail = draft.thumbnail or self._resolve(
                self._meta("twitter:image", "twitter:image:src", "og:image")
            )
            yield draft

    def _elements(self) -> Iterator[Draft]:
        sources: dict[int, list[Element]] = {}
        for source in self._outline.named("source"):
            if source.owner_tag == "video":
                sources.setdefault(source.owner, []).append(source)
        for element in self._outline.named("video"):
            attributes = element.attributes
            if {"autoplay", "loop", "muted"} <= attributes.keys() and "controls" not in attributes:
                continue  # a moving background
            stated = [element, *sources.get(element.owner, [])]
            urls = [
                url for url in (self._resolve(one.get("src") or one.get("data-src")) for one in stated) if url
            ]
            if urls:
                draft = self._from_page("video element", element.get("title") or element.get("aria-label"))
                draft.content = urls[0]
                draft.keys.update(urls)
                draft.thumbnail = self._resolve(element.get("poster") or element.get("data-poster"))
                yield draft

    def _frames(self) -> Iterator[Draft]:
        for frame in self._outline.named("iframe"):
            for name in ("src", "data-src", "data-lazy-src"):
                url = self._resolve(frame.get(name))
                if url and embed(url):
                    draft = self._from_page("embedded player", frame.get("title"))
                    self._place(draft, url)
                    yield draft
                    break
