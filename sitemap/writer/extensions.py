"""Owns the elements of the image, news and hreflang extensions, in the sequence of their XSDs."""

from typing import Final

from sitemap import namespaces
from sitemap.escape import escape, uri
from sitemap.model import Alternate, Entry, Image, News, Price, TvShow, Video


def tag(name: str, text: str, attributes: str = "") -> str:
    """An element with escaped text, or "" when there is none. ``attributes`` are as :func:`attribute` makes them."""
    return f"<{name}{attributes}>{escape(text)}</{name}>" if text else ""


def link(name: str, url: str, attributes: str = "") -> str:
    """An element with a URL."""
    return tag(name, uri(url), attributes)


def attribute(name: str, value: str) -> str:
    """A blank, the name and the escaped value, or "" when there is none."""
    return f' {name}="{escape(value)}"' if value else ""


def number(name: str, value: float | None) -> str:
    """An element with a number."""
    return "" if value is None else f"<{name}>{decimal(value)}</{name}>"


def yes_no(name: str, value: bool | None) -> str:
    """An element with ``yes`` or ``no``."""
    return "" if value is None else f"<{name}>{said(value)}</{name}>"


def said(value: bool) -> str:
    """``yes`` or ``no``."""
    return "yes" if value else "no"


def decimal(value: float) -> str:
    """A number as ``xsd:decimal``: never in scientific notation."""
    if isinstance(value, int):
        return str(int(value))
    text = repr(value)
    return text if "e" not in text and "n" not in text else f"{value:.6f}".rstrip("0").ljust(3, "0")


def image(image: Image, retired: frozenset[str]) -> str:
    """One ``image:image``; https://www.google.com/schemas/sitemap-image/1.1/sitemap-image.xsd."""
    loc = escape(uri(image.loc))
    more = "" if not retired else _retired(image, retired)
    return f"<image:image><image:loc>{loc}</image:loc>{more}</image:image>"


def news(news: News, retired: frozenset[str]) -> str:
    """One ``news:news``; https://www.google.com/schemas/sitemap-news/0.9/sitemap-news.xsd."""

    def asked(name: str, text: str) -> str:
        return tag(name, text) if name in retired else ""

    parts = (
        "<news:news><news:publication>",
        tag("news:name", news.publication),
        tag("news:language", news.language),
        "</news:publication>",
        asked("news:access", news.access),
        asked("news:genres", news.genres),
        tag("news:publication_date", news.publication_date),
        tag("news:title", news.title),
        asked("news:keywords", news.keywords),
        asked("news:stock_tickers", news.stock_tickers),
        "</news:news>",
    )
    return "".join(parts)


def alternate(alternate: Alternate) -> str:
    """One ``xhtml:link``."""
    return f'<xhtml:link rel="alternate" hreflang="{escape(alternate.hreflang)}" href="{escape(uri(alternate.href))}"/>'


def _retired(image: Image, retired: frozenset[str]) -> str:
    texts = (
        ("image:caption", image.caption),
        ("image:geo_location", image.geo_location),
        ("image:title", image.title),
    )
    return "".join(tag(name, text) for name, text in texts if name in retired) + (
        link("image:license", image.license) if "image:license" in retired else ""
    )


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
