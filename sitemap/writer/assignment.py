"""Assigns entries to stable shards: known entries stay, new ones go where there is room.

Pure. Memory grows with the number of files, not of entries.
"""

from functools import reduce
from itertools import count, filterfalse
from operator import or_
from typing import Final

from sitemap import limits
from sitemap.errors import InvalidEntry, LimitExceeded
from sitemap.model import Entry
from sitemap.writer.layout import SetLayout
from sitemap.writer.options import WriterOptions
from sitemap.writer.shard import Shard

_DEFAULTS: Final = WriterOptions()
_FULL_PERCENT: Final = 85  # of its limits that a repacked file uses; the rest is for new entries
_MIN_SAVED_PERCENT: Final = 25  # of its files that a group must save to be repacked


class Assignment:
    """Assigns a shard to each entry: the number of a file in its group, from 1, possibly with gaps.

    ``location`` and ``options`` are those of the :class:`sitemap.SitemapWriter` that will write the set, because both
    must count alike. The caller stores the group and shard of each URL, and calls in this order, with each URL once:

    1. :meth:`keep` for each entry with a stored shard, in any order;
    2. :meth:`place` for each other entry, and for those that :meth:`keep` refuses, in the order of their URLs;
    3. :meth:`repack`, and then :meth:`place` again for every entry of the groups that it returns, in the order of
       their URLs.

    Then the writer gets the entries in the order of group, shard and URL. Without stored shards the files are the same
    as those of the writer alone. A shard without entries has no file.

    Raises the same errors as the writer for an invalid location or options.

        >>> from sitemap import Assignment, Entry, WriterOptions
        >>> assignment = Assignment("https://example.com/sitemap.xml", WriterOptions(max_urls=2))
        >>> assignment.keep(Entry("https://example.com/b"), "", 1)
        True
        >>> assignment.keep(Entry("https://example.com/d"), "", 2)
        True
        >>> [assignment.place(Entry(f"https://example.com/{name}")) for name in "ace"]
        [('', 1), ('', 2), ('', 3)]
    """

    def __init__(self, location: str, options: WriterOptions = _DEFAULTS) -> None:
        self._layout = SetLayout(location, options)
        self._groups: dict[str, _Group] = {}

    def keep(self, entry: Entry, group: str, number: int) -> bool:
        """Count an entry in its stored shard. False, without counting it, if it cannot stay there.

        Its group has changed, the file would exceed a limit, or no sitemap can list it; in the last case :meth:`place`
        raises. LimitExceeded and SitemapError as for :meth:`place`.
        """
        try:
            own, data, extensions = self._layout.encode(entry)
        except InvalidEntry:
            return False
        if own != group or not 1 <= number <= limits.MAX_CHILDREN:
            return False
        return self._of(own).keep(number, len(data), extensions)

    def place(self, entry: Entry) -> tuple[str, int]:
        """Count an entry in the first file of its group with room, else in a new one. Returns its group and shard.

        A file without room for one entry is not tried again for a later one, so that time is linear. InvalidEntry,
        without counting the entry, if no valid set can contain it. LimitExceeded for too many groups or files,
        SitemapError for a group name that is not a str.
        """
        group, data, extensions = self._layout.encode(entry)
        files = self._of(group)
        if not files.offer(len(data), extensions):
            if too_big := self._layout.too_big(entry, len(data), extensions):
                raise too_big
            files.advance(len(data), extensions)
        return group, files.current

    def repack(self) -> list[str]:
        """Forget the shards of all sparse groups, and return the names of these groups.

        A group is sparse if files filled to 85 % would save at least one file and a quarter of its files. The new files
        are filled so far, so a few entries more or less do not repack a group again.
        """
        sparse = [group for group, files in self._groups.items() if files.sparse()]
        for group in sparse:
            self._groups[group] = _Group(self._layout, _FULL_PERCENT)
        return sorted(sparse)

    def _of(self, group: str) -> "_Group":
        files = self._groups.get(group)
        if files is None:
            self._layout.check_group(group, self._groups)
            files = self._groups[group] = _Group(self._layout)
        return files


class _Group:
    """The files of one group, and the current one. A new file is filled to ``percent``."""

    __slots__ = ("_free", "_largest", "_layout", "_open", "_percent", "_shards", "_waiting", "current")

    def __init__(self, layout: SetLayout, percent: int = 100) -> None:
        self._layout = layout
        self._percent = percent
        self._shards: dict[int, Shard] = {}
        self._largest = 0  # bytes of the largest entry
        self._waiting: list[int] | None = None  # shards that may have room, in descending order
        self._free = filterfalse(self._shards.__contains__, count(1))
        self._open: Shard | None = None
        self.current = 0  # the number of the current file

    def keep(self, number: int, n_bytes: int, extensions: int) -> bool:
        """Count an entry in the file with this number. False, without counting it, if there is no room."""
        shard = self._shards.get(number) or self._layout.new_shard()
        if not shard.offer(n_bytes, extensions):
            return False
        if shard.entries == 1:
            self._shards[number] = shard
        self._largest = max(self._largest, n_bytes)
        return True

    def offer(self, n_bytes: int, extensions: int) -> bool:
        """Count an entry in the current file. False, without counting it, if there is no room."""
        if self._open is None or not self._open.offer(n_bytes, extensions):
            return False
        self._largest = max(self._largest, n_bytes)
        return True

    def advance(self, n_bytes: int, extensions: int) -> None:
        """Go on to the first file with room for an entry, and count it there. LimitExceeded if there is none."""
        if self._waiting is None:
            self._waiting = sorted(self._shards, reverse=True)
        while self._waiting:
            self.current = self._waiting.pop()
            self._open = self._shards[self.current]
            if self.offer(n_bytes, extensions):
                return
        self.current = next(self._free)
        if self.current > limits.MAX_CHILDREN:
            raise LimitExceeded(
                f"an index can list at most {limits.MAX_CHILDREN:,} sitemaps. Divide the URLs among several indexes"
            )
        self._open = self._shards[self.current] = self._layout.new_shard(self._percent)
        if not self.offer(n_bytes, extensions):  # the entry is nearly as large as a file
            self._open = self._shards[self.current] = self._layout.new_shard()
            self.offer(n_bytes, extensions)

    def sparse(self) -> bool:
        """Whether the group has so many files for its entries that it should be repacked."""
        shards = list(self._shards.values())
        saved = len(shards) - self._needed_files(shards)
        return saved >= 1 and 100 * saved >= _MIN_SAVED_PERCENT * len(shards)

    def _needed_files(self, shards: list[Shard]) -> int:
        """A sufficient number of files if each is filled to :data:`_FULL_PERCENT`.

        Each file except the last has the most entries or articles, or too few bytes left for the largest entry.
        """
        entries, articles = sum(shard.entries for shard in shards), sum(shard.articles for shard in shards)
        n_bytes = sum(shard.body for shard in shards)
        extensions = reduce(or_, (shard.extensions for shard in shards), 0)
        urls, space = self._layout.limits(_FULL_PERCENT)
        space -= self._layout.encoder.room(extensions) + self._largest
        return 1 + (entries - 1) // urls + n_bytes // max(space, 1) + articles // limits.MAX_NEWS
