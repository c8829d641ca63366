"""Owns the writing of a set of sitemaps: streams entries into shards, and publishes them as a whole or not at all."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import BinaryIO, NoReturn, Self

from sitemap import limits, w3c
from sitemap.acceptance import entry_fault
from sitemap.errors import DestinationError, EmptySitemap, InvalidEntry, LimitExceeded, SitemapError
from sitemap.model import Child, Entry
from sitemap.writing import encode
from sitemap.writing.destination import Destination, Stage
from sitemap.writing.encode import INDEX_FOOT, INDEX_HEAD, URLSET_FOOT, urlset_head
from sitemap.writing.explain import failure
from sitemap.writing.naming import Names
from sitemap.writing.shard import Shard
from sitemap.writing.target import FileFacts, Target
from sitemap.writing.verify import verify

_BUFFER = 1024 * 1024  # bytes of encoded entries that wait in memory


@dataclass(frozen=True, slots=True)
class Published:
    """A published set. ``files`` has the children in order and, last, the file at ``url`` that leads to them."""

    url: str  # the address to announce
    urls: int
    index: bool
    files: tuple[FileFacts, ...]


@dataclass(slots=True)
class _Body:
    """The entries of the shard being filled, on disk but for the last of them."""

    file: BinaryIO
    waiting: list[bytes] = field(default_factory=list)
    bytes_waiting: int = 0

    def add(self, data: bytes) -> None:
        self.waiting.append(data)
        self.bytes_waiting += len(data)
        if self.bytes_waiting >= _BUFFER:
            self.flush()

    def flush(self) -> None:
        self.file.write(b"".join(self.waiting))
        self.waiting.clear()
        self.bytes_waiting = 0


class SitemapWriter:
    """Writes entries, in the caller's order, as one sitemap or as an index with its children.

    ``location`` is the public URL of the set: it decides what may be listed (:mod:`sitemap.location`) and how files are
    called (:class:`sitemap.writing.naming.Names`). ``vouched`` is asked for URLs of other hosts that may be listed all
    the same, because the robots.txt there names this sitemap
    (https://www.sitemaps.org/protocol.html#sitemaps_cross_submits).
    Memory is flat: entries go to the stage as they come.
    As a context manager it calls :meth:`abort` unless :meth:`finish` was reached.

        >>> from sitemap import Directory, Entry, SitemapWriter
        >>> with SitemapWriter(Directory("public"), "https://example.com/sitemap.xml") as writer:  # doctest: +SKIP
        ...     writer.add(Entry("https://example.com/"))
        ...     writer.finish().url
        'https://example.com/sitemap.xml'
    """

    def __init__(
        self,
        destination: Destination,
        location: str,
        gzip: bool = False,
        max_urls: int = limits.MAX_URLS,
        max_bytes: int = limits.MAX_BYTES,
        vouched: Callable[[str], bool] | None = None,
    ) -> None:
        self._vouched = vouched
        self.names = Names(location, gzip=gzip)
        self._limits = (max_urls, max_bytes)
        self._shard = Shard(max_urls, max_bytes)
        self._directory = self.names.directory
        self._last = ""
        self._urls = 0
        self._index_size = len(INDEX_HEAD) + len(INDEX_FOOT)
        self._files: list[FileFacts] = []
        self._over = False
        self._stage: Stage = destination.stage()
        self._body = _Body(self._stage.scratch())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.abort()

    def add(self, entry: Entry) -> None:
        """Write one entry. InvalidEntry, with nothing written, when no valid set at this location can hold it.

        That is also said of an entry whose ``loc`` is that of the entry before: sorted input thus has no duplicates.
        LimitExceeded when the index is full; DestinationError when the disk fails. Both end the writer.
        """
        if self._over:
            raise SitemapError("this writer is over: make a new one for another set")
        elsewhere = self._vouched is not None and self._vouched(entry.loc)
        fault = entry_fault(entry, "" if elsewhere else self._directory)
        if fault or entry.loc == self._last:
            raise InvalidEntry(entry.loc, fault or "it was just added")
        data = encode.encode_entry(entry)
        extensions = encode.extensions_of(entry)
        if not self._shard.fits(len(data), extensions):
            self._make_room(entry, len(data), extensions)
        self._shard.add(len(data), extensions, entry.lastmod)
        try:
            self._body.add(data)
        except OSError as error:
            self._fail(error)
        self._last = entry.loc
        self._urls += 1

    def finish(self) -> Published:
        """Publish the set. EmptySitemap when nothing was added, DestinationError when it cannot be stored.

        Whatever is raised, nothing was published.
        """
        if self._over:
            raise SitemapError("this writer is over: make a new one for another set")
        try:
            if not self._urls:
                raise EmptySitemap(
                    f"{self.names.location} would list nothing: the published set is left as it is"
                )
            self._close_shard(self.names.child(len(self._files) + 1) if self._files else self.names.single)
            if len(self._files) > 1:
                self._write_index()
            for facts in self._files:
                with self._stage.read(facts.name) as file:
                    verify(file, facts.name, (facts.size, facts.sha256), packed=facts.name.endswith(".gz"))
            self._stage.commit([facts.name for facts in self._files], self.names.ours)
        except OSError as error:
            self._fail(error)
        finally:
            self.abort()
        index = len(self._files) > 1
        return Published(self._files[-1].url, self._urls, index, tuple(self._files))

    def abort(self) -> None:
        """Forget everything that is not published. Harmless after :meth:`finish`, and twice."""
        if not self._over:
            self._over = True
            with contextlib.suppress(OSError):  # what waits in its buffer is not wanted any more
                self._body.file.close()
            self._stage.discard()

    def _make_room(self, entry: Entry, size: int, extensions: int) -> None:
        """Begin the next shard, unless the entry is too big for any."""
        if not Shard(*self._limits).fits(size, extensions):
            raise InvalidEntry(
                entry.loc, f"it takes {size:,} bytes alone, {self._limits[1]:,} are allowed in a file"
            )
        number = len(self._files) + 1
        child = Child(self.names.url(self.names.child(number)), self._shard.lastmod)
        self._index_size += len(encode.encode_child(child))
        # One more child will follow this one; both must find room in the index.
        if number >= limits.MAX_CHILDREN or self._index_size + 2 * len(child.loc) + 200 > limits.MAX_BYTES:
            self.abort()
            raise LimitExceeded(
                f"the index {self.names.location} is full with {number:,} sitemaps: split the set"
            )
        try:
            self._close_shard(self.names.child(number))
            self._body = _Body(self._stage.scratch())
        except (OSError, DestinationError) as error:
            self._fail(error)
        self._shard = Shard(*self._limits)

    def _close_shard(self, name: str) -> None:
        """Put head, body and foot of the shard being filled together in a file of the set."""
        shard, body = self._shard, self._body
        body.flush()
        body.file.seek(0)
        with Target(self._stage, name) as target:
            target.write(urlset_head(shard.extensions))
            while piece := body.file.read(_BUFFER):
                target.write(piece)
            target.write(URLSET_FOOT)
        body.file.close()
        self._files.append(target.facts(self.names.url(name), shard.entries, shard.lastmod))

    def _write_index(self) -> None:
        with Target(self._stage, self.names.index) as target:
            target.write(INDEX_HEAD)
            for facts in self._files:
                target.write(encode.encode_child(Child(facts.url, facts.lastmod)))
            target.write(INDEX_FOOT)
        lastmods = [(w3c.instant(facts.lastmod), facts.lastmod) for facts in self._files]
        newest = max(((moment, text) for moment, text in lastmods if moment), default=(None, ""))[1]
        self._files.append(target.facts(self.names.location, len(self._files), newest))

    def _fail(self, error: OSError | DestinationError) -> NoReturn:
        self.abort()
        if isinstance(error, DestinationError):
            raise error
        raise failure(f"{self.names.location} cannot be written", error) from error
