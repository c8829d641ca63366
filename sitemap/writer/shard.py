"""Counts the entries and bytes of one file, and keeps it within all limits. Does not hold the bytes."""

from collections.abc import Callable

from sitemap import dates, limits
from sitemap.errors import LimitExceeded


class Shard:
    """Counts the entries and uncompressed bytes of one file, including head and foot.

    ``room`` and ``news`` are those of the :class:`sitemap.writer.encoder.Encoder`: a declaration in the head counts
    from the first entry that needs it, and articles have their own limit. ``max_urls`` and ``max_bytes`` may be
    lower than the protocol's limits, never higher (LimitExceeded).
    """

    __slots__ = (
        "_news",
        "_room",
        "_room_of",
        "articles",
        "body",
        "entries",
        "extensions",
        "lastmod",
        "max_bytes",
        "max_urls",
    )

    def __init__(
        self,
        room: Callable[[int], int],
        max_urls: int = limits.MAX_URLS,
        max_bytes: int = limits.MAX_BYTES,
        news: int = 0,
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
        self.lastmod = ""  # the newest of its entries, or ""
        self.body = 0  # bytes of its entries
        self._news = news
        self.articles = 0  # entries with news

    @property
    def size(self) -> int:
        """The most uncompressed bytes of the file if it is closed now."""
        return self._room + self.body

    @property
    def free(self) -> int:
        """The number of further entries, if they are small enough."""
        return self.max_urls - self.entries

    def offer(self, n_bytes: int, extensions: int = 0, lastmod: str = "", count: int = 1) -> bool:
        """Count encoded entries; ``lastmod`` is their newest. False, without counting any, if they do not fit."""
        together = self.extensions | extensions
        room = self._room if together == self.extensions else self._room_of(together)
        if self.entries + count > self.max_urls or room + self.body + n_bytes > self.max_bytes:
            return False
        if extensions & self._news:  # entries that need a declaration come one by one
            if self.articles == limits.MAX_NEWS:
                return False
            self.articles += 1
        self.entries += count
        self.body += n_bytes
        self.extensions = together
        self._room = room
        if lastmod and dates.is_later(lastmod, self.lastmod):
            self.lastmod = lastmod
        return True
