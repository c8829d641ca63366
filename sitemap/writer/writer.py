"""Writes a set of sitemaps: streams entries into files, and publishes the set as a whole or not at all."""

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final, NoReturn, Self

from sitemap.errors import DestinationError, EmptySitemap, InvalidEntry, LimitExceeded, SitemapError
from sitemap.escape import quote_text
from sitemap.model import Child, Entry, Format
from sitemap.writer.destination import Destination, Directory, place_of
from sitemap.writer.encoder import BATCH_ENCODERS, EntryBatch, plain_batch
from sitemap.writer.files import destination_error
from sitemap.writer.filling import OpenFile, OpenFiles
from sitemap.writer.index import IndexChildren, index_children, index_head
from sitemap.writer.layout import SetLayout
from sitemap.writer.options import WriterOptions
from sitemap.writer.staged import FileFacts, FileKind, Published, SitemapFile, commit_set

_DEFAULTS: Final = WriterOptions()
_BATCH: Final = 2_000  # entries
OnRefused = Callable[[InvalidEntry], object]


class SitemapWriter:
    """Writes entries, in the caller's order, as one sitemap or as an index with its children.

    ``destination`` is where the files go; a path means a :class:`sitemap.Directory`.
    ``location`` is the public URL of the set: it decides which pages may be listed (:mod:`sitemap.location`) and the
    file names (:class:`sitemap.writer.names.FileNames`). It is the URL of the only file, in any format, or else of the
    index, which is XML, unless the options give the index another name. :class:`WriterOptions` has all options. Memory
    is flat: entries go to the stage as they come. As a context manager it calls :meth:`abort` unless the set was
    finished.
    Raises InvalidLocation, LimitExceeded and SitemapError for invalid arguments, DestinationError if the destination
    cannot store a set.

        >>> from sitemap import Directory, Entry, SitemapWriter
        >>> with SitemapWriter(Directory("public"), "https://example.com/sitemap.xml") as writer:  # doctest: +SKIP
        ...     writer.add(Entry("https://example.com/"))
        ...     writer.finish().url
        'https://example.com/sitemap.xml'
    """

    def __init__(
        self, destination: Destination | str | os.PathLike[str], location: str, options: WriterOptions = _DEFAULTS
    ) -> None:
        self._options = options
        self._group = options.group
        self._layout = SetLayout(location, options)
        self._encoder = self._layout.encoder
        self.names = self._layout.names
        self._directory = self.names.directory
        self._children = IndexChildren(self.names, index_head(tuple(self._layout.stylesheets)), options.vouched)
        self._last = ""
        self._urls = 0
        self._over = False
        if isinstance(destination, str | os.PathLike):
            destination = Directory(destination)
        self._place = place_of(destination, self.names.location)
        self._stage = destination.stage()
        self._fillings = OpenFiles(self._stage, self._layout, self._children)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.abort()

    def add(self, entry: Entry, shard: int = 0) -> None:
        """Write one entry. InvalidEntry, without writing it, if no valid set at this location can contain it.

        InvalidEntry also if its ``loc`` equals that of the previous entry, so that sorted input gives no duplicates.
        ``shard`` is the number of the entry's file in its group (:class:`sitemap.Assignment`); entries of one group
        then come in the order of their shards. Without it, files are filled one after the other.

        LimitExceeded if the shard or the index is full or there are too many groups, SitemapError for an earlier shard,
        DestinationError if the disk fails. These errors end the writer.
        """
        if self._over:
            self._check_open()
        group, data, extensions = self._layout.encode(entry)
        if entry.loc == self._last:
            raise InvalidEntry(entry.loc, "it was just added")
        self._put(group, entry, data, extensions, shard)

    def extend(self, entries: Iterable[Entry], refused: OnRefused | None = None, *, shard: int = 0) -> None:
        """Write all entries, like :meth:`add` for each, but much faster for entries with only a loc and a lastmod.

        ``refused`` is called with the InvalidEntry of each entry that cannot be listed; without it the error is raised,
        and the earlier entries stay written. Otherwise raises the same errors as :meth:`add` and the iterable.
        """
        if isinstance(entries, str | Entry):
            raise SitemapError(
                f"extend needs an iterable of entries, not {type(entries).__name__}. Use add for one Entry"
            )
        source = iter(entries)
        while batch := list(islice(source, _BATCH)):
            self._check_open()
            if not self._put_all(batch, refused, shard):
                for entry in batch:
                    self._or_refuse(refused, self.add, entry, shard)

    def add_child(self, child: Child | Published) -> None:
        """List another sitemap or feed, or a published set of one file, in the index; the set then has an index.

        InvalidEntry if it cannot be listed: it is neither below the directory of the index nor vouched for, it is an
        index, it is already listed, or it has the name of a file of this set. LimitExceeded if the index is full. Add
        all children before the entries, so that groups get other file names.
        """
        self._check_open()
        loc = child.url if isinstance(child, Published) else child.loc
        name = self.names.file(loc)
        if name in self._layout.stylesheets or self.names.own_pattern(self._fillings.slugs()).fullmatch(name):
            raise InvalidEntry(loc, "this sitemap has another file with the same name. Rename one of the two files")
        self._children.add(child)

    def finish(self, former: Iterable[str] = ()) -> Published:
        """Publish the set. EmptySitemap without entries, DestinationError if it cannot be stored.

        Old files of the set leave if they are named as with these options, or are in ``former``, the file names of the
        last publish, which may have had other options. After any error nothing is published.
        """
        self._check_open()
        try:
            if not self._urls:
                raise EmptySitemap(
                    f"{self.names.location} would contain no entries, so the published files stay unchanged"
                )
            beside = tuple(self._write_sheets())
            files = self._fillings.close(single=not (self._options.always_index or self._children.others))
            index = files[0].name != self.names.single
            kind = FileKind.LINES if self._encoder.format is Format.TEXT else FileKind.XML
            staged = [(facts, FileKind.XML if facts.name.endswith(".xsl") else FileKind.ANY) for facts in beside]
            staged += [(facts, kind) for facts in files]
            if index:
                own = index_children(self._stage, self.names.index, files, self._options.today)
                files.append(self._children.write(self._stage, self.names.index, own))
                staged.append((files[-1], FileKind.XML))
            commit_set(self._stage, staged, self.names.own_pattern(self._fillings.slugs(), former))
        except OSError as error:
            self._fail(error)
        finally:
            self.abort()
        return Published(files[-1].url, self._urls, index, tuple(files), beside)

    def abort(self) -> None:
        """Discard everything unpublished. Does nothing after :meth:`finish` or a second time."""
        if not self._over:
            self._over = True
            self._fillings.forget()
            self._stage.discard()

    def _check_open(self) -> None:
        if self._over:
            raise SitemapError("this writer is closed. Create a new writer for another sitemap")

    def _or_refuse(self, refused: OnRefused | None, put: Callable[..., None], *arguments: object) -> None:
        try:
            put(*arguments)
        except InvalidEntry as error:
            if refused is None:
                raise
            refused(error)

    def _filling(self, group: str, shard: int) -> OpenFile:
        try:
            return self._fillings.of(group, shard)
        except (OSError, SitemapError) as error:
            self._fail(error)

    def _put(self, group: str, entry: Entry, data: bytes, extensions: int, shard: int) -> None:
        """Write one valid entry."""
        filling = self._fillings.open.get(group)
        if filling is None or (shard and shard != filling.number):
            filling = self._filling(group, shard)
        try:
            if not filling.offer(data, extensions, entry.lastmod):
                self._offer_next(filling, entry, data, extensions, shard)
        except (OSError, DestinationError, LimitExceeded) as error:
            self._fail(error)
        self._last = entry.loc
        self._urls += 1

    def _offer_next(self, filling: OpenFile, entry: Entry, data: bytes, extensions: int, shard: int) -> None:
        """Begin the next file of a group with an entry, unless it is too large for any file."""
        if too_big := self._layout.too_big(entry, len(data), extensions):
            raise too_big
        if shard:
            raise LimitExceeded(
                f"shard {shard} has no room for {quote_text(entry.loc)}. Assign the shards of all entries with an"
                " Assignment of the same location and options"
            )
        self._fillings.next_file(filling)
        filling.offer(data, extensions, entry.lastmod)

    def _put_all(self, entries: list[Entry], refused: OnRefused | None, shard: int) -> bool:
        """Write a batch at once if all its entries are plain; else return False."""
        if self._encoder.format not in BATCH_ENCODERS:
            return False
        try:
            batch = plain_batch(entries, self._directory, self._last)
        except (TypeError, AttributeError):  # a value has a wrong type, which add() reports
            return False
        if batch is None:
            return False
        for group, part in self._parts(batch):
            self._put_part(group, part, refused, shard)
        self._last = entries[-1].loc
        return True

    def _parts(self, batch: EntryBatch) -> Iterator[tuple[str, EntryBatch]]:
        """The groups of a batch, each with its entries in order."""
        if self._group is None:
            yield "", batch
            return
        numbers: dict[str, list[int]] = {}
        for number, group in enumerate(map(self._group, batch.entries)):
            numbers.setdefault(group, []).append(number)
        for group, members in numbers.items():
            yield group, batch if len(members) == len(batch) else batch.part(members)

    def _put_part(self, group: str, batch: EntryBatch, refused: OnRefused | None, shard: int) -> None:
        """Write valid entries of one group, at once as far as its file has room."""
        filling, done = self._filling(group, shard), 0
        while done < len(batch):
            part = slice(done, done + (filling.shard.free or 1))
            data = BATCH_ENCODERS[self._encoder.format](batch, part)
            count = len(batch.entries[part])
            done += count
            try:
                if filling.offer(data, 0, batch.newest(part), count):
                    self._urls += count
                    continue
            except (OSError, DestinationError) as error:
                self._fail(error)
            for entry in batch.entries[part]:
                self._or_refuse(refused, self._put, group, entry, *self._layout.encoded(entry), shard)

    def _write_sheets(self) -> Iterator[FileFacts]:
        for name, content in self._layout.stylesheets.items():
            with SitemapFile(self._stage, name) as target:
                target.write(content)
            yield target.facts(self.names.url(name), 0, "")

    def _fail(self, error: OSError | SitemapError) -> NoReturn:
        self.abort()
        if isinstance(error, SitemapError):
            raise error
        raise destination_error(f"{self._place} cannot be written", error) from error
