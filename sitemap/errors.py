"""The errors of this package. Every exception that the package raises is one of these."""

from sitemap.escape import quote_text


class SitemapError(Exception):
    """Base class of all errors; the message names the problem and the remedy."""


class InvalidEntry(SitemapError):
    """No valid sitemap can contain the entry. ``loc`` is its URL, ``reason`` a sentence without the URL."""

    def __init__(self, loc: str, reason: str) -> None:
        super().__init__(f"{quote_text(loc)} cannot be listed: {reason}")
        self.loc = loc
        self.reason = reason


class LimitExceeded(SitemapError):
    """A limit of the protocol would be exceeded; nothing is written beyond it."""


class EmptySitemap(SitemapError):
    """There is no entry to write; the XSD requires at least one ``url`` in a ``urlset``."""


class InvalidLocation(SitemapError):
    """A sitemap cannot have this URL or file name."""


class NotASitemap(SitemapError):
    """The document is not a sitemap or feed in a known format, or must not be read."""


class SourceError(SitemapError):
    """A sitemap cannot be opened or read."""


class DestinationError(SitemapError):
    """The set cannot be stored; the previously published set is unchanged."""
