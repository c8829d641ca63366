"""Owns the Media RSS elements of a feed's item: its images and videos.

The Video's publication and expiration date are the start and end of ``dcterms:valid``. ``platform``, ``uploader``
and retired tags have no element here and are left out.
https://www.rssboard.org/media-rss,
https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps#mrss
"""

from typing import Final

from sitemap import namespaces
from sitemap.escape import uri
from sitemap.model import Entry, Video
from sitemap.writing.elements import attribute, decimal, tag

# What an entry needs declared in the head, as bits.
MEDIA: Final = 1
DCTERMS: Final = 2


def bits(entry: Entry) -> int:
    """The namespaces that the entry needs."""
    if not (entry.images or entry.videos):
        return 0
    dated = any(video.publication_date or video.expiration_date or video.live for video in entry.videos)
    return MEDIA | (DCTERMS if dated else 0)


def declared(extensions: int) -> str:
    """The namespace declarations for the given bits."""
    return (f' xmlns:media="{namespaces.MEDIA}"' if extensions & MEDIA else "") + (
        f' xmlns:dcterms="{namespaces.DCTERMS}"' if extensions & DCTERMS else ""
    )


def media(entry: Entry) -> str:
    """One ``media:content`` for each image and video."""
    if not (entry.images or entry.videos):
        return ""
    images = [f'<media:content{attribute("url", uri(image.loc))} medium="image"/>' for image in entry.images]
    return "".join(images + [_video(video) for video in entry.videos])


def _video(video: Video) -> str:
    duration = "" if video.duration is None else decimal(video.duration)
    parts = (
        f'<media:content{attribute("url", uri(video.content_loc))} medium="video"{attribute("duration", duration)}>',
        _empty("media:player", attribute("url", uri(video.player_loc))),
        tag("media:title", video.title),
        tag("media:description", video.description),
        _empty("media:thumbnail", attribute("url", uri(video.thumbnail_loc))),
        tag("media:keywords", ", ".join(video.tags)),
        _rating(video.family_friendly),
        _restriction(video.restriction),
        _community(video),
        '<media:price type="subscription"/>' if video.requires_subscription else "",
        _valid(video),
        "<dcterms:type>live-video</dcterms:type>" if video.live else "",
        "</media:content>",
    )
    return "".join(parts)


def _empty(name: str, attributes: str) -> str:
    return f"<{name}{attributes}/>" if attributes else ""


def _rating(family_friendly: bool | None) -> str:
    if family_friendly is None:
        return ""
    return f'<media:rating scheme="urn:simple">{"nonadult" if family_friendly else "adult"}</media:rating>'


def _restriction(pair: tuple[str, str] | None) -> str:
    if pair is None:
        return ""
    return tag("media:restriction", pair[1], attribute("relationship", pair[0]) + ' type="country"')


def _community(video: Video) -> str:
    stars = "" if video.rating is None else f' average="{decimal(video.rating)}" min="0" max="5"'
    views = "" if video.view_count is None else f' views="{decimal(video.view_count)}"'
    inner = _empty("media:starRating", stars) + _empty("media:statistics", views)
    return f"<media:community>{inner}</media:community>" if inner else ""


def _valid(video: Video) -> str:
    """https://www.dublincore.org/specifications/dublin-core/dcmi-period/."""
    limits = [
        f"{name}={date}"
        for name, date in (("start", video.publication_date), ("end", video.expiration_date))
        if date
    ]
    return tag("dcterms:valid", "; ".join([*limits, "scheme=W3C-DTF"])) if limits else ""
