"""Encodes images, videos, news and language variants: sitemap extensions in the order of their XSDs, and Media RSS."""

from typing import Final

from sitemap import namespaces
from sitemap.escape import escape_uri, escape_xml
from sitemap.model import Alternate, Entry, Image, News, Video


def text_element(name: str, text: str, attributes: str = "") -> str:
    """An element with escaped text, or "" without text. ``attributes`` are as from :func:`attribute_text`."""
    return f"<{name}{attributes}>{escape_xml(text)}</{name}>" if text else ""


def url_element(name: str, url: str, attributes: str = "") -> str:
    """An element with a URL."""
    return text_element(name, escape_uri(url), attributes)


def attribute_text(name: str, value: str) -> str:
    """A blank, the name and the escaped value, or "" without a value."""
    return f' {name}="{escape_xml(value)}"' if value else ""


def number_element(name: str, value: float | None) -> str:
    """An element with a number."""
    return "" if value is None else f"<{name}>{decimal_text(value)}</{name}>"


def yes_no_element(name: str, value: bool | None) -> str:
    """An element with ``yes`` or ``no``."""
    return "" if value is None else f"<{name}>{yes_or_no(value)}</{name}>"


def yes_or_no(value: bool) -> str:
    """``yes`` or ``no``."""
    return "yes" if value else "no"


def decimal_text(value: float) -> str:
    """A number as ``xsd:decimal``: never in scientific notation."""
    if isinstance(value, int):
        return str(int(value))
    text = repr(value)
    return text if "e" not in text and "n" not in text else f"{value:.6f}".rstrip("0").ljust(3, "0")


def image_element(image: Image) -> str:
    """One ``image:image``; https://www.google.com/schemas/sitemap-image/1.1/sitemap-image.xsd."""
    loc = escape_xml(escape_uri(image.loc))
    return f"<image:image><image:loc>{loc}</image:loc></image:image>"


def news_element(news: News) -> str:
    """One ``news:news``; https://www.google.com/schemas/sitemap-news/0.9/sitemap-news.xsd."""
    parts = (
        "<news:news><news:publication>",
        text_element("news:name", news.publication),
        text_element("news:language", news.language),
        "</news:publication>",
        text_element("news:publication_date", news.publication_date),
        text_element("news:title", news.title),
        "</news:news>",
    )
    return "".join(parts)


def alternate_element(alternate: Alternate) -> str:
    """One ``xhtml:link``."""
    return (
        f'<xhtml:link rel="alternate" hreflang="{escape_xml(alternate.hreflang)}" '
        f'href="{escape_xml(escape_uri(alternate.href))}"/>'
    )


# The namespaces that an entry of a feed needs, as bits.
MEDIA_BIT: Final = 1
DCTERMS_BIT: Final = 2


def namespace_bits(entry: Entry) -> int:
    """The namespaces that the entry needs."""
    if not (entry.images or entry.videos):
        return 0
    dated = any(video.publication_date or video.expiration_date or video.live for video in entry.videos)
    return MEDIA_BIT | (DCTERMS_BIT if dated else 0)


def namespace_declarations(extensions: int) -> str:
    """The namespace declarations for the given bits."""
    return (f' xmlns:media="{namespaces.MEDIA}"' if extensions & MEDIA_BIT else "") + (
        f' xmlns:dcterms="{namespaces.DCTERMS}"' if extensions & DCTERMS_BIT else ""
    )


def media_elements(entry: Entry) -> str:
    """One ``media:content`` for each image and video."""
    if not (entry.images or entry.videos):
        return ""
    images = [
        f'<media:content{attribute_text("url", escape_uri(image.loc))} medium="image"/>' for image in entry.images
    ]
    return "".join(images + [_video_content(video) for video in entry.videos])


def _video_content(video: Video) -> str:
    duration = "" if video.duration is None else decimal_text(video.duration)
    location = attribute_text("url", escape_uri(video.content_loc))
    parts = (
        f'<media:content{location} medium="video"{attribute_text("duration", duration)}>',
        _empty("media:player", attribute_text("url", escape_uri(video.player_loc))),
        text_element("media:title", video.title),
        text_element("media:description", video.description),
        _empty("media:thumbnail", attribute_text("url", escape_uri(video.thumbnail_loc))),
        text_element("media:keywords", ", ".join(video.tags)),
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
    return text_element("media:restriction", pair[1], attribute_text("relationship", pair[0]) + ' type="country"')


def _community(video: Video) -> str:
    stars = "" if video.rating is None else f' average="{decimal_text(video.rating)}" min="0" max="5"'
    views = "" if video.view_count is None else f' views="{decimal_text(video.view_count)}"'
    inner = _empty("media:starRating", stars) + _empty("media:statistics", views)
    return f"<media:community>{inner}</media:community>" if inner else ""


def _valid(video: Video) -> str:
    """https://www.dublincore.org/specifications/dublin-core/dcmi-period/."""
    limits = [
        f"{name}={date}" for name, date in (("start", video.publication_date), ("end", video.expiration_date)) if date
    ]
    return text_element("dcterms:valid", "; ".join([*limits, "scheme=W3C-DTF"])) if limits else ""


def video_element(video: Video) -> str:
    """One ``video:video``."""
    uploader, info = video.uploader or ("", "")
    parts = (
        "<video:video>",
        url_element("video:thumbnail_loc", video.thumbnail_loc),
        text_element("video:title", video.title),
        text_element("video:description", video.description),
        url_element("video:content_loc", video.content_loc),
        url_element("video:player_loc", video.player_loc),
        number_element("video:duration", video.duration),
        text_element("video:expiration_date", video.expiration_date),
        number_element("video:rating", video.rating),
        number_element("video:view_count", video.view_count),
        text_element("video:publication_date", video.publication_date),
        *[text_element("video:tag", text) for text in video.tags],
        yes_no_element("video:family_friendly", video.family_friendly),
        _relation_element("video:restriction", video.restriction),
        yes_no_element("video:requires_subscription", video.requires_subscription),
        text_element("video:uploader", uploader, attribute_text("info", escape_uri(info))),
        _relation_element("video:platform", video.platform),
        yes_no_element("video:live", video.live),
        "</video:video>",
    )
    return "".join(parts)


def _relation_element(name: str, pair: tuple[str, str] | None) -> str:
    return "" if pair is None else f'<{name} relationship="{escape_xml(pair[0])}">{escape_xml(pair[1])}</{name}>'
