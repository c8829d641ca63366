"""Owns the bytes of a sitemap: one entry, one child, heads and feet. Checks no limits and knows no files.

Elements come in the sequence of the XSDs; text is escaped, and characters that XML 1.0 forbids are left out.
https://www.sitemaps.org/protocol.html#escaping and https://www.w3.org/TR/xml/#charsets
"""

import re
from typing import Final

from sitemap.model import Alternate, Child, Entry, Video

NAMESPACE: Final = "http://www.sitemaps.org/schemas/sitemap/0.9"
IMAGE_NAMESPACE: Final = "http://www.google.com/schemas/sitemap-image/1.1"
VIDEO_NAMESPACE: Final = "http://www.google.com/schemas/sitemap-video/1.1"
XHTML_NAMESPACE: Final = "http://www.w3.org/1999/xhtml"

# The extensions that an entry uses, as bits: plain integers, because they are computed for each entry.
PLAIN: Final = 0
IMAGES: Final = 1
VIDEOS: Final = 2
ALTERNATES: Final = 4
_PREFIXES = (
    (IMAGES, "image", IMAGE_NAMESPACE),
    (VIDEOS, "video", VIDEO_NAMESPACE),
    (ALTERNATES, "xhtml", XHTML_NAMESPACE),
)

_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
URLSET_FOOT: Final = b"</urlset>\n"
INDEX_HEAD: Final = f'{_DECLARATION}<sitemapindex xmlns="{NAMESPACE}">\n'.encode()
INDEX_FOOT: Final = b"</sitemapindex>\n"

FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_AUTHORITY = re.compile("[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")
_STRAY_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")


def urlset_head(extensions: int = PLAIN) -> bytes:
    """The start of a urlset up to its first entry; declares the namespaces of the given extension bits only."""
    declared = "".join(f' xmlns:{prefix}="{uri}"' for bit, prefix, uri in _PREFIXES if extensions & bit)
    return f'{_DECLARATION}<urlset xmlns="{NAMESPACE}"{declared}>\n'.encode()


def extensions_of(entry: Entry) -> int:
    """The bits of the extensions that an entry uses: ``IMAGES | VIDEOS | ALTERNATES``."""
    return (
        (IMAGES if entry.images else 0)
        | (VIDEOS if entry.videos else 0)
        | (ALTERNATES if entry.alternates else 0)
    )


def uri(url: str) -> str:
    """The URL as ``xsd:anyURI`` and RFC 3986 section 3 want it: ``[``, ``]``, stray ``%`` and a second ``#`` escaped.

    URLs as browsers write them (``?filter[color]=red``, ``?off=50%``) hold these as they are. Everything else, also
    what is not ASCII (RFC 3987), is left alone.
    """
    if "[" not in url and "]" not in url and "%" not in url and "#" not in url:
        return url
    authority = _AUTHORITY.match(url)  # an IPv6 host keeps its brackets
    head, tail = (authority[0], url[authority.end() :]) if authority else ("", url)
    tail = _STRAY_PERCENT.sub("%25", tail).replace("[", "%5B").replace("]", "%5D")
    before, mark, fragment = tail.partition("#")
    return head + before + mark + fragment.replace("#", "%23")


def escape(text: str) -> str:
    """Text for an element's content or a quoted attribute, without the characters that XML forbids."""
    if "&" in text:
        text = text.replace("&", "&amp;")
    if "<" in text or ">" in text or '"' in text or "'" in text:
        text = text.replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;").replace("'", "&apos;")
    if not text.isprintable():
        # A parser would turn these into others (https://www.w3.org/TR/xml/#sec-line-ends and #AVNormalize).
        text = FORBIDDEN.sub("", text).replace("\r", "&#13;").replace("\n", "&#10;").replace("\t", "&#9;")
    return text


def encode_entry(entry: Entry) -> bytes:
    """One ``url`` element and a line end, UTF-8."""
    loc = uri(entry.loc)
    # The tests of escape() are written out here because this runs for each of millions of entries.
    if "&" in loc or "<" in loc or ">" in loc or '"' in loc or "'" in loc or not loc.isprintable():
        loc = escape(loc)
    lastmod = f"<lastmod>{escape(entry.lastmod)}</lastmod>" if entry.lastmod else ""
    if entry.priority is None and not (entry.changefreq or entry.images or entry.videos or entry.alternates):
        return f"<url><loc>{loc}</loc>{lastmod}</url>\n".encode()
    return f"<url><loc>{loc}</loc>{lastmod}{_rest(entry)}</url>\n".encode()


def encode_child(child: Child) -> bytes:
    """One ``sitemap`` element of an index and a line end, UTF-8."""
    return f"<sitemap>{_tag('loc', uri(child.loc))}{_tag('lastmod', child.lastmod)}</sitemap>\n".encode()


def _rest(entry: Entry) -> str:
    """Everything of an entry that comes after ``lastmod``."""
    parts = [_tag("changefreq", entry.changefreq)]
    if entry.priority is not None:
        parts.append(f"<priority>{_decimal(entry.priority)}</priority>")
    parts += [
        f"<image:image><image:loc>{escape(uri(image.loc))}</image:loc></image:image>"
        for image in entry.images
    ]
    parts += [_video(video) for video in entry.videos]
    parts += [_alternate(alternate) for alternate in entry.alternates]
    return "".join(parts)


def _alternate(alternate: Alternate) -> str:
    return f'<xhtml:link rel="alternate" hreflang="{escape(alternate.hreflang)}" href="{escape(uri(alternate.href))}"/>'


def _video(video: Video) -> str:
    """One ``video:video``, in the sequence of sitemap-video.xsd."""
    uploader, info = video.uploader or ("", "")
    parts = (
        _tag("video:thumbnail_loc", uri(video.thumbnail_loc)),
        _tag("video:title", video.title),
        _tag("video:description", video.description),
        _tag("video:content_loc", uri(video.content_loc)),
        _tag("video:player_loc", uri(video.player_loc)),
        _number("video:duration", video.duration),
        _tag("video:expiration_date", video.expiration_date),
        _number("video:rating", video.rating),
        _number("video:view_count", video.view_count),
        _tag("video:publication_date", video.publication_date),
        *(_tag("video:tag", tag) for tag in video.tags),
        _yes_no("video:family_friendly", video.family_friendly),
        _related("video:restriction", video.restriction),
        _yes_no("video:requires_subscription", video.requires_subscription),
        _tag("video:uploader", uploader, f' info="{escape(uri(info))}"' if info else ""),
        _related("video:platform", video.platform),
        _yes_no("video:live", video.live),
    )
    return f"<video:video>{''.join(parts)}</video:video>"


def _tag(name: str, text: str, attributes: str = "") -> str:
    return f"<{name}{attributes}>{escape(text)}</{name}>" if text else ""


def _number(name: str, value: float | None) -> str:
    return "" if value is None else f"<{name}>{_decimal(value)}</{name}>"


def _yes_no(name: str, value: bool | None) -> str:
    return "" if value is None else f"<{name}>{'yes' if value else 'no'}</{name}>"


def _related(name: str, pair: tuple[str, str] | None) -> str:
    return "" if pair is None else f'<{name} relationship="{escape(pair[0])}">{escape(pair[1])}</{name}>'


def _decimal(value: float) -> str:
    """A number as ``xsd:decimal``: never in scientific notation."""
    if isinstance(value, int):
        return str(int(value))
    text = repr(value)
    return text if "e" not in text and "n" not in text else f"{value:.6f}".rstrip("0").ljust(3, "0")
