"""Owns the bytes of a sitemap: one entry, one child, heads and feet. Checks no limits and knows no files.

Elements come in the sequence of the XSDs.
"""

from typing import Final

from sitemap import namespaces
from sitemap.model import Alternate, Child, Entry, Video
from sitemap.xml_text import escape, uri

# The extensions that an entry uses, as bits: plain integers, because they are computed for each entry.
PLAIN: Final = 0
IMAGES: Final = 1
VIDEOS: Final = 2
ALTERNATES: Final = 4
_PREFIXES = (
    (IMAGES, "image", namespaces.IMAGE),
    (VIDEOS, "video", namespaces.VIDEO),
    (ALTERNATES, "xhtml", namespaces.XHTML),
)

_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
URLSET_FOOT: Final = b"</urlset>\n"
INDEX_HEAD: Final = f'{_DECLARATION}<sitemapindex xmlns="{namespaces.SITEMAP}">\n'.encode()
INDEX_FOOT: Final = b"</sitemapindex>\n"


def urlset_head(extensions: int = PLAIN) -> bytes:
    """The start of a urlset up to its first entry; declares the namespaces of the given extension bits only."""
    declared = "".join(f' xmlns:{prefix}="{uri}"' for bit, prefix, uri in _PREFIXES if extensions & bit)
    return f'{_DECLARATION}<urlset xmlns="{namespaces.SITEMAP}"{declared}>\n'.encode()


def extensions_of(entry: Entry) -> int:
    """The bits of the extensions that an entry uses: ``IMAGES | VIDEOS | ALTERNATES``."""
    return (
        (IMAGES if entry.images else 0)
        | (VIDEOS if entry.videos else 0)
        | (ALTERNATES if entry.alternates else 0)
    )


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
