"""The layout of a set at a location: its file names, its format, the limits of a file, and the bytes of an entry."""

from collections.abc import Collection, Sequence
from functools import cache

from sitemap.errors import InvalidEntry, LimitExceeded, SitemapError
from sitemap.model import Entry, Format
from sitemap.validation import entry_fault, type_fault
from sitemap.writer.encoder import LINE_ENCODERS, Encoder, TextEncoder, UrlsetEncoder
from sitemap.writer.feeds import AtomEncoder, Channel, RssEncoder
from sitemap.writer.names import FileNames
from sitemap.writer.options import Stylesheet, WriterOptions, stylesheet_files, stylesheet_instructions
from sitemap.writer.shard import Shard


class SetLayout:
    """The layout of one set, which the writer and :class:`sitemap.Assignment` share so that both count alike.

    InvalidLocation, LimitExceeded and SitemapError for an invalid location or options.
    """

    def __init__(self, location: str, options: WriterOptions) -> None:
        self.options = options
        self.stylesheets = stylesheet_files(options.stylesheet)
        self.encoder = encoder(options.format, channel=options.channel, stylesheets=tuple(self.stylesheets))
        self.names = FileNames(
            location,
            options.child,
            gzip=options.gzip,
            suffix=self.encoder.suffix,
            grouped=options.group is not None,
            index=options.index,
        )
        if self.names.index in self.stylesheets:
            raise SitemapError(
                f"the sitemap cannot have the name {self.names.index}, because its stylesheet has the same name. "
                "Choose another name"
            )
        self._room = cache(self.encoder.room)
        self.new_shard()  # checks the limits before anything is written
        self._directory = self.names.directory
        self._line = LINE_ENCODERS.get(options.format)
        self._group = options.group

    def limits(self, percent: int = 100) -> tuple[int, int]:
        """The most entries and uncompressed bytes of a file that is filled to ``percent``."""
        urls, n_bytes = self.options.max_urls, self.options.max_bytes
        return max(1, urls * percent // 100), n_bytes * percent // 100

    def new_shard(self, percent: int = 100) -> Shard:
        """The count of an empty file."""
        return Shard(self._room, *self.limits(percent), self.encoder.news)

    def encode(self, entry: Entry) -> tuple[str, bytes, int]:
        """The group of an entry, its bytes, and the bits of the namespaces that they need.

        InvalidEntry if no valid set at this location can contain it. Errors of the caller's functions pass through.
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
                raise  # an error of the caller's ``group`` or ``vouched``
            raise InvalidEntry(str(getattr(entry, "loc", entry)), fault) from error

    def encoded(self, entry: Entry) -> tuple[bytes, int]:
        """The bytes of a valid entry, and the bits of the namespaces that they need."""
        return self.encoder.entry(entry), self.encoder.extensions(entry)

    def too_big(self, entry: Entry, n_bytes: int, extensions: int) -> InvalidEntry | None:
        """The error for an entry that does not fit into an empty file, else None."""
        if self.new_shard().offer(n_bytes, extensions):
            return None
        limit = self.options.max_bytes
        return InvalidEntry(entry.loc, f"this entry alone has {n_bytes:,} bytes, but a file may have at most {limit:,}")

    def check_group(self, group: str, known: Collection[str]) -> None:
        """LimitExceeded for one group too many, SitemapError for a group name that is not a str."""
        if not isinstance(group, str):
            raise SitemapError(f"WriterOptions.group must return a str for each entry, not {group!r}")
        limit = self.options.max_groups
        if len(known) >= limit:
            raise LimitExceeded(
                f"the group {group[:64]!r} exceeds the limit of {limit:,} groups. Use fewer groups, or raise max_groups"
            )

    def _fault(self, entry: Entry) -> str:
        vouched = self.options.vouched
        is_vouched = vouched is not None and vouched(entry.loc)
        return entry_fault(entry, "" if is_vouched else self._directory) or self.encoder.fault(entry)


def encoder(
    format: Format = Format.URLSET,  # noqa: A002  # its name everywhere
    *,
    channel: Channel | None = None,
    stylesheets: Sequence[Stylesheet | str] = (),
) -> Encoder:
    """The encoder of a format that lists pages: URLSET, TEXT, RSS or ATOM.

    ``channel`` describes a feed; ``stylesheets`` are linked in the head (not in text). SitemapError for any other
    format, or a feed without a channel.
    """
    look = stylesheet_instructions(stylesheets)
    if format == Format.URLSET:
        return UrlsetEncoder(look)
    if format == Format.TEXT:
        return TextEncoder()
    if format in {Format.RSS, Format.ATOM}:
        if channel is None:
            raise SitemapError(f"the format {format} needs a Channel with the title and link of the feed")
        return RssEncoder(channel, look) if format == Format.RSS else AtomEncoder(channel, look)
    raise SitemapError(f"the format {format} cannot list pages. Choose urlset, text, RSS or Atom")
