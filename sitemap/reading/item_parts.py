"""Owns what the parts of an item mean together: the link of a feed's entry, the tags of a video. Pure."""

from typing import Any

from sitemap.model import Video
from sitemap.reading import values

_VIDEO_WHOLE = ("duration", "view_count")
_VIDEO_FLAGS = ("family_friendly", "requires_subscription", "live")
_VIDEO_PLAIN = (
    "thumbnail_loc", "title", "description", "content_loc", "player_loc", "expiration_date", "publication_date",
)  # fmt: skip


def atom_link(fields: dict[str, Any]) -> str:
    """RFC 4287 section 4.2.7.2: a link without ``rel`` is an alternate."""
    links = [link for link in fields.get("links", ()) if link.get("rel", "alternate").lower() == "alternate"]
    return next((link.get("href", "") for link in links if link.get("href")), "")


def rss_link(fields: dict[str, Any]) -> str:
    """https://www.rssboard.org/rss-specification: a guid is a link unless it says that it is not."""
    if link := fields.get("link", "").strip() or fields.get("about", "").strip():
        return str(link)
    guid = fields.get("guid", "").strip()
    permanent = {key.lower(): value for key, value in fields.get("guid@", {}).items()}.get(
        "ispermalink", "true"
    )
    return (
        guid
        if permanent.strip().lower() != "false" and guid.lower().startswith(("http://", "https://"))
        else ""
    )


def video(fields: dict[str, Any]) -> Video:
    """A video as it is stated. Numbers that are none are left out; nothing else is judged here."""
    stated: dict[str, Any] = {name: fields.get(name, "").strip() for name in _VIDEO_PLAIN}
    stated |= {name: values.whole(fields.get(name, "")) for name in _VIDEO_WHOLE}
    stated |= {name: values.yes_no(fields.get(name, "")) for name in _VIDEO_FLAGS}
    for name, attribute in (
        ("restriction", "relationship"),
        ("platform", "relationship"),
        ("uploader", "info"),
    ):
        if name in fields:
            text, other = fields[name].strip(), fields.get(name + "@", {}).get(attribute, "").strip()
            stated[name] = (text, other) if name == "uploader" else (other, text)
    return Video(**stated, rating=values.number(fields.get("rating", "")), tags=tuple(fields.get("tags", ())))
