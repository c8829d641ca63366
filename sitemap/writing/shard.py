"""Owns the count of one file: what fits, and what it holds. Never holds the bytes themselves, never over a limit."""

from collections.abc import Callable

from sitemap import limits, w3c
from sitemap.errors import LimitExceeded


class Shard:
    """Counts the entries and the uncompressed bytes of one file, its head and foot included, at every moment.

    ``room`` is that of the :class:`sitemap.writing.encoder.Encoder`: what a head declares is counted from the first
    entry on that needs it. ``max_urls`` and ``max_bytes`` may be lower than the protocol's limits, never higher
    (LimitExceeded).
    """

    __slots__ = ("_body", "_room", "_room_of", "entries", "extensions", "lastmod", "max_bytes", "max_urls")

    def __init__(
        self,
        room: Callable[[int], int],
        max_urls: int = limits.MAX_URLS,
        max_bytes: int = limits.MAX_BYTES,
    ) -> None:
        if not 1 <= max_urls <= limits.MAX_URLS:
            raise LimitExceeded(f"max_urls is {max_urls:,}: it must be between 1 and {limits.MAX_URLS:,}")
        self._room_of = room
        self._room = room(0)
        if not self._room < max_bytes <= limits.MAX_BYTES:
            raise LimitExceeded(
                f"max_bytes is {max_bytes:,}: it must be between {self._room + 1} and {limits.MAX_BYTES:,}"
            )
        self.max_urls = max_urls
        self.max_bytes = max_bytes
        self.entries = 0
        self.extensions = 0
        self.lastmod = ""  # the newest of its entries, as it was written, or ""
        self._body = 0

    @property
    def size(self) -> int:
        """The most uncompressed bytes that the file has if it is closed now."""
        return self._room + self._body

    @property
    def free(self) -> int:
        """How many entries may be added if they are small enough."""
        return self.max_urls - self.entries

    def fits(self, n_bytes: int, extensions: int = 0, count: int = 1) -> bool:
        """Whether encoded entries of so many bytes can be added without passing a limit."""
        together = self.extensions | extensions
        room = self._room if together == self.extensions else self._room_of(together)
        return self.entries + count <= self.max_urls and room + self._body + n_bytes <= self.max_bytes

    def add(self, n_bytes: int, extensions: int = 0, lastmod: str = "", count: int = 1) -> None:
        """Count encoded entries, ``lastmod`` their newest. LimitExceeded, with nothing counted, if they do not fit."""
        if not self.fits(n_bytes, extensions, count):
            raise LimitExceeded(
                f"the shard holds {self.entries:,} entries and {self.size:,} bytes: {n_bytes:,} more do not fit"
            )
        self.entries += count
        self._body += n_bytes
        if extensions | self.extensions != self.extensions:
            self.extensions |= extensions
            self._room = self._room_of(self.extensions)
        if lastmod and w3c.is_later(lastmod, self.lastmod):
            self.lastmod = lastmod
