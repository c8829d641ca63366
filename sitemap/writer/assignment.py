"""Owns which file has which entry when that is remembered: entries stay, new ones go where there is room.

Pure, and of flat memory: what is kept here is counted per file, and nothing per entry.
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
_FULL_PERCENT: Final = 85  # percent of its limits that a repacked file has: the rest is for new entries
_MIN_SAVED_PERCENT: Final = 25  # percent of its files that a group must get rid of to be repacked


class Assignment:
    """Tells the shards of entries: numbers of files within their group, from 1, maybe with gaps.

    ``location`` and ``options`` are those of the :class:`sitemap.SitemapWriter` that will write the set, so that
    everything is counted as it counts. The caller remembers the group and the number of each URL, and asks in this
    order, always with each URL once:

    1. :meth:`keep` for each entry that is remembered, in any order;
    2. :meth:`place` for each other entry, and for those that could not be kept, in the order of their URLs;
    3. :meth:`repack`, and then :meth:`place` once more for every entry of the groups it names, in the order of their
       URLs.

    Then the entries are given to the writer in the order of group, shard and URL. With nothing to remember the files
    are those that the writer fills by itself. A shard that nothing is in any more is no file.

    Raises what the writer raises for a location and options that cannot be.

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
        """Count an entry where it was. False, with nothing counted, when it cannot stay there.

        It is of another group now, has grown so that the file is over a limit, or cannot be listed at all, which
        :meth:`place` will say. LimitExceeded and SitemapError as for :meth:`place`.
        """
        try:
            own, data, extensions = self._layout.encode(entry)
        except InvalidEntry:
            return False
        if own != group or not 1 <= number <= limits.MAX_CHILDREN:
            return False
        return self._of(own).keep(number, len(data), extensions)

    def place(self, entry: Entry) -> tuple[str, int]:
        """Count an entry in the first file of its group that has room, else in a new one; its group and number.

        A file that had no room for one entry is not asked again for a later one: time is linear. InvalidEntry, with
        nothing counted, when no valid set can hold it. LimitExceeded for too many groups or files, SitemapError for a
        group that is not named by text.
        """
        group, data, extensions = self._layout.encode(entry)
        files = self._of(group)
        if not files.offer(len(data), extensions):
            if too_big := self._layout.too_big(entry, len(data), extensions):
                raise too_big
            files.advance(len(data), extensions)
        return group, files.current

    def repack(self) -> list[str]:
        """Forget the shards of all groups whose holes it pays to close, and name these groups.

        It pays when at least one file and a quarter of the group's files are saved even if the new ones are filled to
        85 % only. So they are, and there is room again: a group is not repacked because of a few entries more or less.
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
    """The files of one group, and the one among them that is being filled. ``percent`` of a new file are."""

    __slots__ = ("_free", "_largest", "_layout", "_open", "_percent", "_shards", "_waiting", "current")

    def __init__(self, layout: SetLayout, percent: int = 100) -> None:
        self._layout = layout
        self._percent = percent
        self._shards: dict[int, Shard] = {}
        self._largest = 0  # bytes of an entry
        self._waiting: list[int] | None = None  # shards that may have room, the first one last
        self._free = filterfalse(self._shards.__contains__, count(1))
        self._open: Shard | None = None
        self.current = 0  # the number of the one that is being filled

    def keep(self, number: int, n_bytes: int, extensions: int) -> bool:
        """Count an entry in a certain file. False, with nothing counted, when it has no room."""
        shard = self._shards.get(number) or self._layout.new_shard()
        if not shard.offer(n_bytes, extensions):
            return False
        if shard.entries == 1:
            self._shards[number] = shard
        self._largest = max(self._largest, n_bytes)
        return True

    def offer(self, n_bytes: int, extensions: int) -> bool:
        """Count an entry in the file that is being filled. False, with nothing counted, when it has no room."""
        if self._open is None or not self._open.offer(n_bytes, extensions):
            return False
        self._largest = max(self._largest, n_bytes)
        return True

    def advance(self, n_bytes: int, extensions: int) -> None:
        """Go on to the first file that has room for an entry, and count it there. LimitExceeded if there is none."""
        if self._waiting is None:
            self._waiting = sorted(self._shards, reverse=True)
        while self._waiting:
            self.current = self._waiting.pop()
            self._open = self._shards[self.current]
            if self.offer(n_bytes, extensions):
                return
        self.current = next(self._free)
        if self.current > limits.MAX_CHILDREN:
            raise LimitExceeded(f"an index has {limits.MAX_CHILDREN:,} sitemaps at most: split the set")
        self._open = self._shards[self.current] = self._layout.new_shard(self._percent)
        if not self.offer(n_bytes, extensions):  # it is nearly as big as a file
            self._open = self._shards[self.current] = self._layout.new_shard()
            self.offer(n_bytes, extensions)

    def sparse(self) -> bool:
        """Whether there are so few entries for so many files that it pays to place them anew."""
        shards = list(self._shards.values())
        saved = len(shards) - self._needed(shards)
        return saved >= 1 and 100 * saved >= _MIN_SAVED_PERCENT * len(shards)

    def _needed(self, shards: list[Shard]) -> int:
        """How many files are surely enough when each is filled to :data:`_FULL` percent.

        Each of them but the last has as many entries or articles as it may, or not enough bytes left for the largest.
        """
        entries, articles = sum(shard.entries for shard in shards), sum(shard.articles for shard in shards)
        n_bytes, extensions = (
            sum(shard.body for shard in shards),
            reduce(or_, (shard.extensions for shard in shards), 0),
        )
        urls, space = self._layout.limits(_FULL_PERCENT)
        space -= self._layout.encoder.room(extensions) + self._largest
        if space <= 0:
            return len(shards)
        return 1 + (entries - 1) // urls + n_bytes // space + articles // limits.MAX_NEWS
