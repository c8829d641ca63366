"""The interface of an encoder, the text encoder, and the choice of an encoder for a format.

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

from collections.abc import Collection, Sequence
from typing import Final, Protocol

from sitemap.errors import SitemapError
from sitemap.escape import escape_uri
from sitemap.formats import Format
from sitemap.model import Entry
from sitemap.validation.retired import requested_tags
from sitemap.writer.feeds import AtomEncoder, Channel, RssEncoder
from sitemap.writer.stylesheet import Stylesheet, stylesheet_instructions
from sitemap.writer.urlset import UrlsetEncoder


class TextEncoder:
    """Implements :class:`sitemap.writer.encoder.Encoder` for text."""

    format: Final = Format.TEXT
    suffix: Final = ".txt"
    news: Final = 0

    def fault(self, entry: Entry) -> str:
        """No faults: every URL is a line."""
        return ""

    def extensions(self, entry: Entry) -> int:
        """None."""
        return 0

    def entry(self, entry: Entry) -> bytes:
        """The URL and a line end."""
        return f"{escape_uri(entry.loc)}\n".encode()

    def head(self, extensions: int, updated: str) -> bytes:
        """Nothing."""
        return b""

    def foot(self) -> bytes:
        """Nothing."""
        return b""

    def room(self, extensions: int) -> int:
        """None."""
        return 0


class Encoder(Protocol):
    """Encodes documents of one format: a head, entries and a foot. Checks no limits."""

    @property
    def format(self) -> Format:
        """The format of its documents."""

    @property
    def suffix(self) -> str:
        """The suffix of uncompressed files: ".xml" or ".txt"."""

    @property
    def news(self) -> int:
        """The bit of entries with news, which have a lower limit; 0 for a format without news."""

    def fault(self, entry: Entry) -> str:
        """Why this format cannot contain an entry, or "". :mod:`sitemap.validation` checks the common rules."""

    def extensions(self, entry: Entry) -> int:
        """Bits of the namespaces that the head must declare for the entry; combine them with ``|``."""

    def entry(self, entry: Entry) -> bytes:
        """One entry with its line end, UTF-8."""

    def head(self, extensions: int, updated: str) -> bytes:
        """The bytes before the first entry. ``updated`` is the newest lastmod of the document's entries or ""."""

    def foot(self) -> bytes:
        """The bytes after the last entry."""

    def room(self, extensions: int) -> int:
        """The most bytes of head and foot together, for any ``updated``."""


def encoder(
    format: Format = Format.URLSET,  # noqa: A002  # its name everywhere
    *,
    channel: Channel | None = None,
    retired: Collection[str] = (),
    stylesheets: Sequence[Stylesheet | str] = (),
) -> Encoder:
    """The encoder of a format that lists pages: URLSET, TEXT, RSS or ATOM.

    ``channel`` describes a feed; ``retired`` names tags of :data:`sitemap.RETIRED` that a urlset shall contain;
    ``stylesheets`` are linked in the head (not in text). SitemapError for any other format, a feed without a channel,
    or a name that is not a retired tag.
    """
    tags, look = requested_tags(retired), stylesheet_instructions(stylesheets)
    if format == Format.URLSET:
        return UrlsetEncoder(tags, look)
    if format == Format.TEXT:
        return TextEncoder()
    if format in {Format.RSS, Format.ATOM}:
        if channel is None:
            raise SitemapError(f"{format} needs a Channel with the title and link of the feed")
        return RssEncoder(channel, look) if format == Format.RSS else AtomEncoder(channel, look)
    raise SitemapError(f"the format {format} cannot list pages: choose urlset, text, RSS or Atom")
