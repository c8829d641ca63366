"""Owns the ``video:video`` element, in the sequence of its XSD.

https://www.google.com/schemas/sitemap-video/1.1/sitemap-video.xsd
"""

from sitemap.escape import escape, uri
from sitemap.model import Price, TvShow, Video
from sitemap.writing.elements import attribute, link, number, said, tag, yes_no


def video(video: Video, retired: frozenset[str]) -> str:
    """One ``video:video``, with those of its retired tags that are asked for."""

    def asked(name: str, element: str) -> str:
        return element if name in retired else ""

    uploader, info = video.uploader or ("", "")
    gallery, gallery_title = video.gallery_loc or ("", "")
    parts = (
        "<video:video>",
        link("video:thumbnail_loc", video.thumbnail_loc),
        tag("video:title", video.title),
        tag("video:description", video.description),
        link("video:content_loc", video.content_loc),
        link("video:player_loc", video.player_loc, _player(video, retired) if retired else ""),
        number("video:duration", video.duration),
        tag("video:expiration_date", video.expiration_date),
        number("video:rating", video.rating),
        asked("video:content_segment_loc", _segments(video)),
        number("video:view_count", video.view_count),
        tag("video:publication_date", video.publication_date),
        *[tag("video:tag", text) for text in video.tags],
        asked("video:category", tag("video:category", video.category)),
        yes_no("video:family_friendly", video.family_friendly),
        _related("video:restriction", video.restriction),
        asked("video:gallery_loc", link("video:gallery_loc", gallery, attribute("title", gallery_title))),
        asked("video:price", "".join(_price(price) for price in video.prices)),
        yes_no("video:requires_subscription", video.requires_subscription),
        tag("video:uploader", uploader, attribute("info", uri(info))),
        asked("video:tvshow", _tvshow(video.tvshow)),
        _related("video:platform", video.platform),
        yes_no("video:live", video.live),
        asked(
            "video:id", "".join(tag("video:id", text, attribute("type", kind)) for kind, text in video.ids)
        ),
        "</video:video>",
    )
    return "".join(parts)


def _player(video: Video, retired: frozenset[str]) -> str:
    """The attributes of ``player_loc``."""
    embed = "" if video.allow_embed is None else said(video.allow_embed)
    return (attribute("allow_embed", embed) if "video:player_loc@allow_embed" in retired else "") + (
        attribute("autoplay", video.autoplay) if "video:player_loc@autoplay" in retired else ""
    )


def _segments(video: Video) -> str:
    return "".join(
        link(
            "video:content_segment_loc",
            url,
            attribute("duration", "" if duration is None else str(duration)),
        )
        for url, duration in video.segments
    )


def _price(price: Price) -> str:
    attributes = (
        attribute("currency", price.currency)
        + attribute("type", price.type)
        + attribute("resolution", price.resolution)
    )
    return f"<video:price{attributes}>{escape(price.amount)}</video:price>"


def _tvshow(show: TvShow | None) -> str:
    if show is None:
        return ""
    parts = (
        "<video:tvshow>",
        tag("video:show_title", show.show_title),
        tag("video:video_type", show.video_type),
        tag("video:episode_title", show.episode_title),
        number("video:season_number", show.season_number),
        number("video:episode_number", show.episode_number),
        tag("video:premier_date", show.premier_date),
        "</video:tvshow>",
    )
    return "".join(parts)


def _related(name: str, pair: tuple[str, str] | None) -> str:
    return "" if pair is None else f'<{name} relationship="{escape(pair[0])}">{escape(pair[1])}</{name}>'
