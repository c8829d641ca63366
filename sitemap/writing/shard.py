"""Owns the count of one urlset: what fits, and what it holds. Never holds the bytes themselves, never over a limit."""

from datetime import datetime

from sitemap import limits, w3c
from sitemap.errors import LimitExceeded
from sitemap.writing.encode import PLAIN, URLSET_FOOT, urlset_head

_HEADS = tuple(len(urlset_head(extensions)) + len(URLSET_FOOT) for extensions in range(32))


class Shard:
    """Counts the entries and the uncompressed bytes of one urlset, its head and foot included, at every moment.

    ``extensions`` are the bits of :mod:`sitemap.writing.encode`: a namespace is declared, and counted, from the first
    entry on that needs it. ``max_urls`` and ``max_bytes`` may be lower than the protocol's limits, never higher
    (LimitExceeded).
    """

    __slots__ = ("_body", "_newest", "entries", "extensions", "lastmod", "max_bytes", "max_urls")

    def __init__(self, max_urls: int = limits.MAX_URLS, max_bytes: int = limits.MAX_BYTES) -> None:
        if not 1 <= max_urls <= limits.MAX_URLS:
            raise LimitExceeded(f"max_urls is {max_urls:,}: it must be between 1 and {limits.MAX_URLS:,}")
        if not _HEADS[-1] < max_bytes <= limits.MAX_BYTES:
            raise LimitExceeded(
                f"max_bytes is {max_bytes:,}: it must be between {_HEADS[-1] + 1} and {limits.MAX_BYTES:,}"
            )
        self.max_urls = max_urls
        self.max_bytes = max_bytes
        self.entries = 0
        self.extensions = PLAIN
        self.lastmod = ""  # the newest of its entries, as it was written, or ""
        self._body = 0
        self._newest: datetime | None = None

    @property
    def size(self) -> int:
        """The uncompressed bytes of the file if it were closed now."""
        return _HEADS[self.extensions] + self._body

    def fits(self, n_bytes: int, extensions: int = PLAIN) -> bool:
        """Whether an encoded entry of so many bytes can be added without passing a limit."""
        return (
            self.entries < self.max_urls
            and _HEADS[self.extensions | extensions] + self._body + n_bytes <= self.max_bytes
        )

    def add(self, n_bytes: int, extensions: int = PLAIN, lastmod: str = "") -> None:
        """Count one encoded entry. LimitExceeded, with nothing counted, when it does not fit."""
        if not self.fits(n_bytes, extensions):
            raise LimitExceeded(
                f"the shard holds {self.entries:,} entries and {self.size:,} bytes: {n_bytes:,} more do not fit"
            )
        self.entries += 1
        self.extensions |= extensions
        self._body += n_bytes
        if lastmod:
            self._note(lastmod)

    def _note(self, lastmod: str) -> None:
        moment = w3c.instant(lastmod)
        if moment is not None and (self._newest is None or moment > self._newest):
            self._newest, self.lastmod = moment, lastmod
