"""Owns the contract of a format that can be written, and the choice among them.

What each format carries of an entry; everything else of it is left out:

============================  ======  ====  ===  ====
field                         urlset  text  RSS  Atom
============================  ======  ====  ===  ====
loc                           yes     yes   yes  yes
lastmod                       yes           yes  needed
changefreq, priority          yes
images, videos                yes           yes  yes
alternates                    yes
news                          yes
title, summary                              yes  yes
mobile                        asked
retired tags                  asked
============================  ======  ====  ===  ====
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
        """Nothing: every URL is a line."""
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
    """Makes the bytes of one format. A document is its head, its entries and its foot. Checks no limits."""

    @property
    def format(self) -> Format:
        """The format of its documents."""

    @property
    def suffix(self) -> str:
        """How the names of its files end when they are not packed: ".xml" or ".txt"."""

    @property
    def news(self) -> int:
        """The bit of entries with news, of which a document has fewer; 0 for a format that has none."""

    def fault(self, entry: Entry) -> str:
        """Why this format cannot hold an entry, or "". What every format demands is :mod:`sitemap.validation`'s."""

    def extensions(self, entry: Entry) -> int:
        """Bits of what the head of a document with this entry must declare; those of several are or-ed."""

    def entry(self, entry: Entry) -> bytes:
        """One entry with its line end, UTF-8."""

    def head(self, extensions: int, updated: str) -> bytes:
        """What comes before the first entry. ``updated`` is the newest lastmod of the document's entries or ""."""

    def foot(self) -> bytes:
        """What comes behind the last entry."""

    def room(self, extensions: int) -> int:
        """The most bytes that head and foot can take together, whatever ``updated`` is."""


def encoder(
    format: Format = Format.URLSET,  # noqa: A002  # its name everywhere
    *,
    channel: Channel | None = None,
    retired: Collection[str] = (),
    stylesheets: Sequence[Stylesheet | str] = (),
) -> Encoder:
    """The encoder of a format that lists pages: URLSET, TEXT, RSS or ATOM.

    ``channel`` is what a feed says about itself; ``retired`` names tags of :data:`sitemap.RETIRED` that a urlset shall
    have all the same; ``stylesheets`` are linked in the head (text has none). SitemapError for a format that is not
    written, a feed without a channel, or a name that is no retired tag.
    """
    asked, look = requested_tags(retired), stylesheet_instructions(stylesheets)
    if format == Format.URLSET:
        return UrlsetEncoder(asked, look)
    if format == Format.TEXT:
        return TextEncoder()
    if format in {Format.RSS, Format.ATOM}:
        if channel is None:
            raise SitemapError(f"{format} needs a Channel: say the feed's title and link")
        return RssEncoder(channel, look) if format == Format.RSS else AtomEncoder(channel, look)
    raise SitemapError(f"pages are not listed in the format {format}: choose urlset, text, RSS or Atom")
