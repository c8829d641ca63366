"""Owns the errors of this package. Every exception that leaves the package is one of these."""

from sitemap.escape import quote_text


class SitemapError(Exception):
    """Anything this package refuses or cannot do; the message names the thing and the remedy."""


class InvalidEntry(SitemapError):
    """An entry that no valid sitemap can hold. ``loc`` is its URL, ``reason`` a sentence without the URL."""

    def __init__(self, loc: str, reason: str) -> None:
        super().__init__(f"{quote_text(loc)} cannot be listed: {reason}")
        self.loc = loc
        self.reason = reason


class LimitExceeded(SitemapError):
    """A limit of the protocol would be passed; nothing was written past it."""


class EmptySitemap(SitemapError):
    """There is no entry to write; the XSD wants at least one ``url`` in a ``urlset``."""


class InvalidLocation(SitemapError):
    """A sitemap cannot live at this address, or not under this file name."""


class NotASitemap(SitemapError):
    """The document is no sitemap and no feed in any form that is known here, or must not be read."""


class SourceError(SitemapError):
    """A sitemap could not be opened or read from where it is."""


class DestinationError(SitemapError):
    """The set could not be stored; what was published before is untouched."""
