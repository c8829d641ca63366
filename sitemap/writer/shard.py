"""Counts the entries and bytes of one file, and keeps it within all limits. Does not hold the bytes."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sitemap import dates, limits
from sitemap.errors import LimitExceeded


@dataclass(slots=True, eq=False)
class Shard:
    """Counts the entries and uncompressed bytes of one file, including head and foot.

    ``room_of`` and ``news`` are the ``room`` and ``news`` of the :class:`sitemap.writer.encoder.Encoder`: a declaration
    in the head counts from the first entry that needs it, and articles have their own limit. ``max_urls`` and
    ``max_bytes`` may be lower than the protocol's limits, never higher (LimitExceeded).
    """

    room_of: Callable[[int], int]
    max_urls: int = limits.MAX_URLS
    max_bytes: int = limits.MAX_BYTES
    news: int = 0
    entries: int = 0
    articles: int = 0  # entries with news
    body: int = 0  # bytes of its entries
    extensions: int = 0  # of its entries, as bits
    lastmod: str = ""  # the newest of its entries, or ""
    room: int = field(init=False)  # bytes of head and foot

    def __post_init__(self) -> None:
        if not 1 <= self.max_urls <= limits.MAX_URLS:
            raise LimitExceeded(f"max_urls is {self.max_urls:,}: it must be between 1 and {limits.MAX_URLS:,}")
        self.room = self.room_of(0)
        if not self.room < self.max_bytes <= limits.MAX_BYTES:
            raise LimitExceeded(
                f"max_bytes is {self.max_bytes:,}: it must be between {self.room + 1} and {limits.MAX_BYTES:,}"
            )

    @property
    def size(self) -> int:
        """The most uncompressed bytes of the file if it is closed now."""
        return self.room + self.body

    @property
    def free(self) -> int:
        """The number of further entries, if they are small enough."""
        return self.max_urls - self.entries

    def offer(self, n_bytes: int, extensions: int = 0, lastmod: str = "", count: int = 1) -> bool:
        """Count encoded entries; ``lastmod`` is their newest. False, without counting any, if they do not fit."""
        together = self.extensions | extensions
        room = self.room if together == self.extensions else self.room_of(together)
        if self.entries + count > self.max_urls or room + self.body + n_bytes > self.max_bytes:
            return False
        if extensions & self.news:  # entries that need a declaration come one by one
            if self.articles == limits.MAX_NEWS:
                return False
            self.articles += 1
        self.entries += count
        self.body += n_bytes
        self.extensions = together
        self.room = room
        if lastmod and dates.is_later(lastmod, self.lastmod):
            self.lastmod = lastmod
        return True
