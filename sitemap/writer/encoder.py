"""The common part of all encoders, and the encoders of text and urlsets, with elements in the order of the XSDs.

The fields of an entry that each format contains; the others are left out:

============================  ======  ====  ===  ========
field                         urlset  text  RSS  Atom
============================  ======  ====  ===  ========
loc                           yes     yes   yes  yes
lastmod                       yes           yes  required
changefreq, priority          yes
images, videos                yes           yes  yes
alternates                    yes
news                          yes
title, summary                              yes  yes
mobile                        opt-in
retired tags                  opt-in
============================  ======  ====  ===  ========
"""

from abc import ABC, abstractmethod
from typing import ClassVar, Final

from sitemap import namespaces
from sitemap.escape import XML_DECLARATION, escape_uri, escape_xml
from sitemap.model import Entry, Format
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
_ANY_DATE: Final = "1970-01-01"  # all dates have the same length in a head


class Encoder(ABC):
    """Encodes documents of one format: a head, entries and a foot. Checks no limits.

    ``suffix`` is that of uncompressed files. ``news`` is the bit of entries with news, which have a lower limit; 0 for
    a format without news.
    """

    format: ClassVar[Format]
    suffix: ClassVar[str] = ".xml"
    news: ClassVar[int] = 0
    _foot: ClassVar[bytes]

    def fault(self, entry: Entry) -> str:
        """Why this format cannot contain an entry, or "". :mod:`sitemap.validation` checks the common rules."""
        return ""

    def extensions(self, entry: Entry) -> int:
        """Bits of the namespaces that the head must declare for the entry; combine them with ``|``."""
        return 0

    @abstractmethod
    def entry(self, entry: Entry) -> bytes:
        """One entry with its line end, UTF-8."""

    @abstractmethod
    def head(self, extensions: int, updated: str) -> bytes:
        """The bytes before the first entry. ``updated`` is the newest lastmod of the document's entries or ""."""

    def foot(self) -> bytes:
        """The bytes after the last entry."""
        return self._foot

    def room(self, extensions: int) -> int:
        """The most bytes of head and foot together, for any ``updated``."""
        return len(self.head(extensions, _ANY_DATE)) + len(self._foot)


class TextEncoder(Encoder):
    """Encodes text: a URL in each line, without head and foot."""

    format = Format.TEXT
    suffix = ".txt"
    _foot = b""

    def entry(self, entry: Entry) -> bytes:
        """The URL and a line end."""
        return f"{escape_uri(entry.loc)}\n".encode()

    def head(self, extensions: int, updated: str) -> bytes:
        """Nothing."""
        return b""


class UrlsetEncoder(Encoder):
    """Encodes urlsets.

    ``retired`` are the names of retired tags to write, ``look`` the stylesheet instructions.
    """

    format = Format.URLSET
    news = NEWS
    _foot = b"</urlset>\n"

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
