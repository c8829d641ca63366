"""Owns what a set at a location is made of: its names, its format, the limits of a file, and each entry's bytes."""

from collections.abc import Collection
from functools import cache

from sitemap.errors import InvalidEntry, LimitExceeded, SitemapError
from sitemap.model import Entry
from sitemap.validation.entry import entry_fault, type_fault
from sitemap.writer import stylesheet
from sitemap.writer.bulk import LINE_ENCODERS
from sitemap.writer.encoder import encoder
from sitemap.writer.names import FileNames
from sitemap.writer.options import WriterOptions
from sitemap.writer.shard import Shard


class SetLayout:
    """A set with nothing in it yet. Whoever counts entries counts what :meth:`take` makes of them, in new shards.

    InvalidLocation, LimitExceeded and SitemapError for a location and options that no set can have.
    """

    def __init__(self, location: str, options: WriterOptions) -> None:
        self.options = options
        self.stylesheets = stylesheet.stylesheet_files(options.stylesheet)
        self.encoder = encoder(
            options.format,
            channel=options.channel,
            retired=options.retired,
            stylesheets=tuple(self.stylesheets),
        )
        self.names = FileNames(
            location,
            options.child,
            gzip=options.gzip,
            suffix=self.encoder.suffix,
            grouped=options.group is not None,
        )
        if self.names.index in self.stylesheets:
            raise SitemapError(
                f"{self.names.index} is the name of the stylesheet: choose another for the set"
            )
        self._room = cache(self.encoder.room)
        self.new_shard()  # its limits are checked before anything is touched
        self._directory = self.names.directory
        self._line = LINE_ENCODERS.get(options.format)
        self._group = options.group

    def limits(self, percent: int = 100) -> tuple[int, int]:
        """The most entries and the most uncompressed bytes of a file that is filled to so many percent."""
        urls, n_bytes = self.options.max_urls, self.options.max_bytes
        return max(1, urls * percent // 100), n_bytes * percent // 100

    def new_shard(self, percent: int = 100) -> Shard:
        """The count of a file with nothing in it."""
        return Shard(self._room, *self.limits(percent), self.encoder.news)

    def encode(self, entry: Entry) -> tuple[str, bytes, int]:
        """The group of an entry, its bytes, and the bits of what they need declared.

        InvalidEntry when no valid set at this location can hold it. Raises what the caller's functions raise.
        """
        try:
            line = None if self._line is None else self._line(entry, self._directory)
            if line is not None:
                return "" if self._group is None else self._group(entry), line, 0
            if fault := self._fault(entry):
                raise InvalidEntry(entry.loc, fault)
            return "" if self._group is None else self._group(entry), *self.encoded(entry)
        except (TypeError, AttributeError, ValueError) as error:
            if not (fault := type_fault(entry)):
                raise  # it is the caller's: that of a group, or of who vouches
            raise InvalidEntry(str(getattr(entry, "loc", entry)), fault) from error

    def encoded(self, entry: Entry) -> tuple[bytes, int]:
        """The bytes of an entry that was found valid, and the bits of what they need declared."""
        return self.encoder.entry(entry), self.encoder.extensions(entry)

    def too_big(self, entry: Entry, n_bytes: int, extensions: int) -> InvalidEntry | None:
        """What to say of an entry that no file can hold, not even one without any other."""
        if self.new_shard().offer(n_bytes, extensions):
            return None
        most = self.options.max_bytes
        return InvalidEntry(entry.loc, f"it takes {n_bytes:,} bytes alone, {most:,} are allowed in a file")

    def check_group(self, group: str, known: Collection[str]) -> None:
        """Say no to one group more than there may be (LimitExceeded), and to what is no name (SitemapError)."""
        if not isinstance(group, str):
            raise SitemapError(f"a group is named by a str, not by {group!r}: see WriterOptions.group")
        most = self.options.max_groups
        if len(known) >= most:
            raise LimitExceeded(
                f"{group[:64]!r} is one more than {most:,} groups: group more coarsely, or raise max_groups"
            )

    def _fault(self, entry: Entry) -> str:
        vouched = self.options.vouched
        elsewhere = vouched is not None and vouched(entry.loc)
        return entry_fault(entry, "" if elsewhere else self._directory) or self.encoder.fault(entry)
