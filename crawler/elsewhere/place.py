"""What all places elsewhere have in common: single files are looked for, put there and removed, and nothing else."""

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Protocol, Self

from msgspec import Struct

from crawler.fetch.media_type import content_type


class NotTaken(Exception):
    """It could not be done. The text is a sentence without secrets; ``again`` says that another try may help."""

    def __init__(self, sentence: str, *, again: bool = False) -> None:
        super().__init__(sentence)
        self.again = again


class Piece(Struct, frozen=True, kw_only=True):
    """A published file as it lies in the local directory. Digests are in hexadecimal, ``mtime`` in nanoseconds."""

    name: str
    path: Path
    size: int
    inode: int
    mtime: int
    sha256: str
    md5: str

    @property
    def content_type(self) -> str:
        """What it is served as."""
        return content_type(self.name)

    def open(self) -> BinaryIO:
        """Its bytes. A publisher replaces files and never writes into them, so what was opened stays the same.

        Raises NotTaken when the file is not the one that was looked at any more.
        """
        try:
            file = self.path.open("rb")
        except OSError as error:
            raise NotTaken(f"{self.path} cannot be read: {error.strerror}") from None
        found = os.fstat(file.fileno())
        if (found.st_ino, found.st_mtime_ns, found.st_size) == (self.inode, self.mtime, self.size):
            return file
        file.close()
        raise NotTaken(f"{self.path} was published anew in the meantime")


class There(Struct, frozen=True):
    """What lies there under a name: its size, and the ``mark`` that it has as long as nobody changes it."""

    size: int
    mark: str


class Elsewhere(Protocol):
    """A place for files, to be entered before it is used. All names are plain names of files.

    Each method asks once, and raises NotTaken with what the other side did or could not do.
    """

    @property
    def shown(self) -> str:
        """What the place is called, without secrets; another name is another place."""

    async def __aenter__(self) -> Self:
        """Nothing is sent yet."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of what is held."""

    def mark(self, piece: Piece) -> str:
        """The mark that the file will have there, if nothing out of the common is done to it."""

    def manner(self, piece: Piece) -> str:
        """How the file is kept there, besides its bytes: what must be put again when it changes."""

    async def look(self, names: Collection[str]) -> dict[str, There]:
        """What is there, of these names."""

    async def holds(self, piece: Piece) -> There | None:
        """What is there under the name of the file, when that can be proved to be this file, in this manner."""

    async def put(self, piece: Piece) -> There:
        """Put the file there, whole or not at all: nobody sees a part of it, nor nothing in between."""

    async def remove(self, name: str) -> None:
        """Remove what is there under a name. Harmless when there is nothing."""

    async def tidy(self, names: Sequence[str]) -> None:
        """Remove what a killed process may have left while it was putting these there."""
