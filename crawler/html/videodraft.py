"""A video as it is put together from several statements, and the rules that make it one a sitemap may list."""

from msgspec import Struct, field

from crawler.html.clean import one_line
from sitemap import Video

MAX_TITLE = 512
MAX_DESCRIPTION = 2_048
MAX_DURATION = 28_800
MAX_TAGS = 32
MAX_UPLOADER = 255


class Draft(Struct):
    """What is known of one video; every address is resolved. ``keys`` tell whether two drafts are the same video.

    ``origin`` says where it was stated, for the faults.
    """

    origin: str
    keys: set[str] = field(default_factory=set)
    thumbnail: str = ""
    title: str = ""
    description: str = ""
    content: str = ""
    player: str = ""
    duration: int | None = None
    expires: str = ""
    rating: float | None = None
    views: int | None = None
    published: str = ""
    family_friendly: bool | None = None
    restriction: tuple[str, str] | None = None
    subscription: bool | None = None
    uploader: tuple[str, str] | None = None
    live: bool | None = None
    tags: tuple[str, ...] = ()

    def absorb(self, other: "Draft") -> None:
        """Fill what is unknown here from another statement about the same video."""
        self.keys |= other.keys
        for name in self.__struct_fields__:
            if getattr(self, name) in (None, "", ()):
                setattr(self, name, getattr(other, name))


def merge(drafts: list[Draft]) -> list[Draft]:
    """One draft for each video, in the order first stated; what is stated first counts."""
    merged: list[Draft] = []
    by_key: dict[str, Draft] = {}
    for draft in drafts:
        same = next((by_key[key] for key in sorted(draft.keys) if key in by_key), None)
        if same is None:
            merged.append(draft)
            same = draft
        else:
            same.absorb(draft)
        for key in draft.keys:
            by_key.setdefault(key, same)
    return merged


def finish(draft: Draft, page: str) -> Video | str:
    """The video, or why it cannot be listed.

    https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps#video-sitemap-elements
    """
    title = one_line(draft.title, MAX_TITLE)
    description = one_line(draft.description, MAX_DESCRIPTION)
    name = f"the video {title[:60]!a} ({draft.origin})" if title else f"a video ({draft.origin})"
    content = "" if draft.content == page else draft.content
    player = "" if draft.player == page else draft.player
    missing = [
        what
        for what, value in (("thumbnail", draft.thumbnail), ("title", title), ("description", description))
        if not value
    ]
    if missing:
        return f"{name} has no {' and no '.join(missing)}"
    if not content and not player:
        at_page = page in {draft.content, draft.player}
        return f"{name} has {'only the page itself as' if at_page else 'no'} content or player address"
    duration = draft.duration
    return Video(
        thumbnail_loc=draft.thumbnail,
        title=title,
        description=description,
        content_loc=content,
        player_loc=player,
        duration=duration if duration is not None and 1 <= duration <= MAX_DURATION else None,
        expiration_date=draft.expires,
        rating=draft.rating if draft.rating is not None and 0.0 <= draft.rating <= 5.0 else None,
        view_count=draft.views,
        publication_date=draft.published,
        family_friendly=draft.family_friendly,
        restriction=draft.restriction,
        requires_subscription=draft.subscription,
        uploader=draft.uploader,
        live=draft.live,
        tags=draft.tags[:MAX_TAGS],
    )
