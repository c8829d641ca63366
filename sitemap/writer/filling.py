"""The open files of a set, one for each group: fills them within a memory limit, and closes them."""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from sitemap import limits
from sitemap.errors import InvalidLocation, SitemapError
from sitemap.writer.destination import Stage
from sitemap.writer.index import IndexChildren
from sitemap.writer.layout import SetLayout
from sitemap.writer.names import group_slugs
from sitemap.writer.shard import Shard
from sitemap.writer.staged import FileFacts, SitemapFile

PIECE: Final = 1024 * 1024  # bytes; compressed bytes depend on the pieces, so their size is fixed
_MAX_MEMORY: Final = 8 * 1024 * 1024  # bytes of encoded entries in memory, over all groups


class BodyMemory:
    """The memory, in bytes, that the bodies of one set share. When it is full, the largest body goes to disk."""

    def __init__(self, stage: Stage, limit: int) -> None:
        self.stage = stage
        self.limit = limit
        self.used = 0
        self.bodies: set[EntryBody] = set()

    def make_room(self) -> None:
        """Move the largest bodies to disk until the others are within the limit."""
        while self.used > self.limit:
            max(self.bodies, key=len).flush()


class EntryBody:
    """The entries of one file. OSError or DestinationError if the disk fails."""

    def __init__(self, memory: BodyMemory) -> None:
        self._memory = memory
        self._waiting = bytearray()
        self._file: BinaryIO | None = None
        memory.bodies.add(self)

    def __len__(self) -> int:
        """The bytes in memory."""
        return len(self._waiting)

    def add(self, data: bytes) -> None:
        """Append some encoded entries."""
        self._waiting += data
        memory = self._memory
        memory.used += len(data)
        if memory.used > memory.limit:
            memory.make_room()

    def flush(self) -> None:
        """Move the bytes in memory to disk."""
        if self._file is None:
            self._file = self._memory.stage.scratch()
        self._file.write(self._waiting)
        self._memory.used -= len(self._waiting)
        self._waiting = bytearray()

    def pieces(self) -> Iterator[bytes]:
        """All bytes, in pieces of :data:`PIECE` bytes except for the last."""
        if self._file is None:
            for start in range(0, len(self._waiting), PIECE):
                yield bytes(self._waiting[start : start + PIECE])
            return
        self.flush()
        self._file.seek(0)
        while piece := self._file.read(PIECE):
            yield piece

    def close(self) -> None:
        """Forget the entries."""
        self._memory.used -= len(self._waiting)
        self._memory.bodies.discard(self)
        self._waiting = bytearray()
        if self._file is not None:
            self._file.close()


@dataclass(slots=True, eq=False)
class OpenFile:
    """The open file of one group, and its number in that group."""

    group: str
    slug: str
    number: int
    shard: Shard
    body: EntryBody

    def offer(self, data: bytes, extensions: int, lastmod: str, count: int = 1) -> bool:
        """Add encoded entries; ``lastmod`` is their newest. False, without adding any, if they do not fit.

        OSError or DestinationError if the disk fails.
        """
        if self.shard.offer(len(data), extensions, lastmod, count):
            self.body.add(data)
            return True
        return False


class OpenFiles:
    """All files of a set except its index. The methods raise LimitExceeded, OSError and DestinationError."""

    def __init__(self, stage: Stage, layout: SetLayout, children: IndexChildren) -> None:
        self._stage = stage
        self._layout = layout
        self._encoder = layout.encoder
        self._names = layout.names
        self._children = children
        self._memory = BodyMemory(stage, _MAX_MEMORY)
        self.open: dict[str, OpenFile] = {}
        self._taken: set[str] = set()  # slugs of groups, for file systems that ignore case
        self._closed: list[tuple[str, int, FileFacts]] = []

    def of(self, group: str, number: int = 0) -> OpenFile:
        """The open file of a group, opened on first use; with a number, the file of that number.

        SitemapError for a closed file, and for an invalid group or number.
        """
        filling = self.open.get(group)
        if filling is None:
            self._layout.check_group(group, self.open)
            self._check(group, number, 1)
            slug = self._slug(group)
            self._taken.add(slug.casefold())
            self._children.reserve(self._names.url(self._names.child(number or 1, slug)))
            shard, body = self._layout.new_shard(), EntryBody(self._memory)
            filling = self.open[group] = OpenFile(group, slug, number or 1, shard, body)
        elif number and number != filling.number:
            self._check(group, number, filling.number)
            self.next_file(filling, number)
        return filling

    def next_file(self, filling: OpenFile, number: int = 0) -> None:
        """Close a file and open another of its group: the next one, or the one with a higher number."""
        number = number or filling.number + 1
        self._children.reserve(self._names.url(self._names.child(number, filling.slug)))
        if filling.shard.entries:  # none if all entries for it were refused
            self._close(filling, self._names.child(filling.number, filling.slug))
            filling.body = EntryBody(self._memory)
        filling.number = number
        filling.shard = self._layout.new_shard()

    def close(self, *, single: bool) -> list[FileFacts]:
        """Close all files, and return their facts in the order of groups and numbers.

        An only file gets the name of the set if ``single`` allows it.
        """
        filled = [filling for filling in self.open.values() if filling.shard.entries]
        alone = single and len(filled) == 1 and not self._closed
        for filling in sorted(filled, key=lambda filling: filling.group):
            name = self._names.single if alone else self._names.child(filling.number, filling.slug)
            self._close(filling, name)
        return [facts for _, _, facts in sorted(self._closed)]  # no two have one group and number

    def forget(self) -> None:
        """Discard the open files."""
        for filling in self.open.values():
            with contextlib.suppress(OSError):  # buffered bytes are discarded anyway
                filling.body.close()

    def slugs(self) -> Iterable[str]:
        """The slugs of the groups: their part of file names."""
        return [filling.slug for filling in self.open.values() if filling.slug]

    def _check(self, group: str, number: int, least: int) -> None:
        shard = f"shard {number} of the group {group[:64]!r}" if group else f"shard {number}"
        if not 0 <= number <= limits.MAX_CHILDREN:
            raise SitemapError(f"{shard} does not exist, because shards have numbers from 1 to {limits.MAX_CHILDREN:,}")
        if number and number < least:
            raise SitemapError(
                f"an entry for {shard} follows an entry for shard {least}. Pass the entries in the order of the shards"
            )

    def _slug(self, group: str) -> str:
        """A slug for a group that differs from those of other groups and from other sitemaps in the index."""
        if not self._names.grouped:
            return ""
        others = [name for child in self._children.others if (name := self._names.file(child.loc))]
        for slug in group_slugs(group):
            if slug.casefold() in self._taken or self._names.is_index(slug):
                continue
            if not (others and any(map(self._names.own_pattern([slug]).fullmatch, others))):
                return slug
        raise InvalidLocation(
            f"the files of the group {group[:64]!r} would have the same names as other files. Rename the group"
        )

    def _close(self, filling: OpenFile, name: str) -> None:
        """Write head, body and foot of a file."""
        shard = filling.shard
        with SitemapFile(self._stage, name) as target:
            target.write(self._encoder.head(shard.extensions, shard.lastmod))
            for piece in filling.body.pieces():
                target.write(piece)
            target.write(self._encoder.foot())
        filling.body.close()
        facts = target.facts(self._names.url(name), shard.entries, shard.lastmod, filling.group, filling.number)
        self._closed.append((filling.group, filling.number, facts))
