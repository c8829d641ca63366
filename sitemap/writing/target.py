"""Owns one file of a set while it is written: packs it if its name says so, and takes down the facts."""

import hashlib
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from sitemap import gzip
from sitemap.writing.destination import Stage


@dataclass(frozen=True, slots=True)
class FileFacts:
    """One published file: where it is, and what it holds. ``size`` is uncompressed, ``sha256`` is of those bytes."""

    name: str
    url: str
    entries: int
    size: int
    stored: int  # bytes on disk
    lastmod: str  # the newest of its entries, or ""
    sha256: str
    group: str = ""  # whose entries it has, when there are groups
    shard: int = 0  # the number of the file in its group; 0 for what lists no pages


class Target:
    """A file of a set, opened for writing; packed with gzip when its name ends in ``.gz``."""

    def __init__(self, stage: Stage, name: str) -> None:
        self.name = name
        self._file = stage.create(name)
        self._packer = gzip.Packer(self._file) if name.endswith(".gz") else None
        self._digest = hashlib.sha256()
        self._size = 0
        self._stored = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._packer and kind is None:
                self._packer.close()
            self._stored = self._file.tell()
        finally:
            self._file.close()

    def write(self, data: bytes) -> None:
        """Write some content."""
        self._digest.update(data)
        self._size += len(data)
        (self._packer or self._file).write(data)

    def facts(self, url: str, entries: int, lastmod: str, group: str = "", shard: int = 0) -> FileFacts:
        """What the file is and holds; known once it is closed."""
        return FileFacts(
            self.name, url, entries, self._size, self._stored, lastmod, self._digest.hexdigest(), group, shard
        )
