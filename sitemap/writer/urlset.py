"""Encodes urlsets: head, entries and foot, with elements in the order of the XSDs."""

from typing import Final

from sitemap import namespaces
from sitemap.escape import XML_DECLARATION, escape_uri, escape_xml
from sitemap.formats import Format
from sitemap.model import Entry
from sitemap.validation.retired import retired_fault
from sitemap.writer.extensions import (
    alternate_element,
    decimal_text,
    image_element,
    news_element,
    text_element,
    video_element,
)

# The extensions of an entry as bits; plain integers are fast, and they are computed for each entry.
IMAGES: Final = 1
VIDEOS: Final = 2
NEWS: Final = 4
ALTERNATES: Final = 8
MOBILE: Final = 16
_PREFIXES: Final = (
    (IMAGES, "image", namespaces.IMAGE),
    (VIDEOS, "video", namespaces.VIDEO),
    (NEWS, "news", namespaces.NEWS),
    (ALTERNATES, "xhtml", namespaces.XHTML),
    (MOBILE, "mobile", namespaces.MOBILE),
)
_FOOT: Final = b"</urlset>\n"


class UrlsetEncoder:
    """Implements :class:`sitemap.writer.encoder.Encoder` for urlsets.

    ``retired`` are the names of retired tags to write, ``look`` the stylesheet instructions.
    """

    format: Final = Format.URLSET
    suffix: Final = ".xml"
    news: Final = NEWS

    def __init__(self, retired: frozenset[str] = frozenset(), look: str = "") -> None:
        self._retired = retired
        self._mobile = "mobile:mobile" in retired
        self._start = f'{XML_DECLARATION}{look}<urlset xmlns="{namespaces.SITEMAP}"'

    def fault(self, entry: Entry) -> str:
        """The first fault of the requested retired tags, or ""; the others are not written."""
        return retired_fault(entry, self._retired) if self._retired else ""

    def extensions(self, entry: Entry) -> int:
        """The namespaces that the entry needs."""
        return (
            (IMAGES if entry.images else 0)
            | (VIDEOS if entry.videos else 0)
            | (NEWS if entry.news else 0)
            | (ALTERNATES if entry.alternates else 0)
            | (MOBILE if entry.mobile and self._mobile else 0)
        )

    def entry(self, entry: Entry) -> bytes:
        """One ``url`` element."""
        loc = escape_uri(entry.loc)
        # The checks of escape_xml() are inlined because this runs for each of millions of entries.
        if "&" in loc or "<" in loc or ">" in loc or '"' in loc or "'" in loc or not loc.isprintable():
            loc = escape_xml(loc)
        lastmod = f"<lastmod>{escape_xml(entry.lastmod)}</lastmod>" if entry.lastmod else ""
        return f"<url><loc>{loc}</loc>{lastmod}{self._rest(entry)}</url>\n".encode()

    def head(self, extensions: int, updated: str) -> bytes:
        """The start of the document; declares only the namespaces of these bits."""
        declared = "".join(f' xmlns:{prefix}="{name}"' for bit, prefix, name in _PREFIXES if extensions & bit)
        return f"{self._start}{declared}>\n".encode()

    def foot(self) -> bytes:
        """The end tag."""
        return _FOOT

    def room(self, extensions: int) -> int:
        """The bytes of head and foot."""
        return len(self.head(extensions, "")) + len(_FOOT)

    def _rest(self, entry: Entry) -> str:
        """The elements after ``lastmod``."""
        if (
            entry.priority is None
            and not (entry.changefreq or entry.images or entry.videos or entry.alternates or entry.mobile)
            and entry.news is None
        ):
            return ""
        parts = [text_element("changefreq", entry.changefreq)]
        if entry.priority is not None:
            parts.append(f"<priority>{decimal_text(entry.priority)}</priority>")
        parts += [image_element(image, self._retired) for image in entry.images]
        parts += [video_element(video, self._retired) for video in entry.videos]
        if entry.news is not None:
            parts.append(news_element(entry.news, self._retired))
        parts += [alternate_element(alternate) for alternate in entry.alternates]
        if entry.mobile and self._mobile:
            parts.append("<mobile:mobile/>")
        return "".join(parts)
