"""Keeps copies of the last published sets in a private directory, so that one of them can be published again."""

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from sitemap.errors import DestinationError, SitemapError
from sitemap.writer.destination import Destination, Directory
from sitemap.writer.files import StageLock, explain_errors, make_directory, replacement, sha256_of, sync_to_disk
from sitemap.writer.staged import FileFacts, FileKind, Published, commit_set, verify

_OBJECTS: Final = "objects"
_PIECE: Final = 1024 * 1024  # bytes


class _Generation(msgspec.Struct, frozen=True):
    """One generation. ``digests`` maps the public name of each file to the SHA-256 of its bytes on disk."""

    published: Published
    digests: dict[str, str]


class Generations:
    """The last sets published at one location: at most ``last``, each with a number that the caller chooses.

    A file of several generations is stored once, as a copy, so that changes to the public file do not affect it. A kill
    loses at most the generation that is being kept. The directory is created if missing; it must not be in the public
    one. SitemapError if ``last`` is below 1.
    """

    def __init__(self, directory: str | os.PathLike[str], last: int = 2) -> None:
        if last < 1:
            raise SitemapError(f"the number of generations to keep is {last}: it must be at least 1")
        self._root = Path(directory)
        self._objects = self._root / _OBJECTS
        self._last = last

    def numbers(self) -> list[int]:
        """The numbers of the kept generations, ascending."""
        return sorted(int(path.stem) for path in self._root.glob("*.json") if path.stem.isdecimal())

    def published(self, number: int) -> Published:
        """The facts of a generation when it was published. DestinationError if it is not kept."""
        return self._load(number).published

    def keep(self, published: Published, destination: Directory, number: int) -> None:
        """Copy the published set, and remove the generations with the lowest numbers beyond the last.

        A kept generation of the same number is replaced. DestinationError if a file differs from the published one, or
        the copy cannot be stored; kept generations stay. SitemapError for a number below 0, and for a directory in the
        public one.
        """
        if number < 0 or self._root.resolve().is_relative_to(destination.path.resolve()):
            raise SitemapError(
                f"generation {number} cannot be kept in {self._root}. The number must be at least 0, and the directory "
                "must not be inside the published one"
            )
        with self.unchanging():
            files = (*published.beside, *published.files)
            kept = _Generation(published, {facts.name: self._store(destination.path, facts) for facts in files})
            self._write(self._root / f"{number}.json", msgspec.json.encode(kept))
            with contextlib.suppress(OSError):
                self._forget()

    def restore(self, number: int, destination: Destination) -> Published:
        """Publish a generation again, as a whole; returns its facts.

        Files of the other kept generations leave the set. DestinationError if it is not kept, a copy is damaged, or the
        set cannot be stored; after any error nothing is published.
        """
        with self.unchanging():
            kept = self._load(number)
            others = {name for other in self.numbers() for name in self._readable(other) if name not in kept.digests}
            stale = re.compile("|".join(map(re.escape, sorted(others))) or "(?!)")
            files = [(facts, FileKind.ANY) for facts in (*kept.published.beside, *kept.published.files)]
            stage = destination.stage()
            try:
                for facts, _ in files:
                    with stage.create(facts.name) as file:
                        self._copy(kept.digests[facts.name], file, f"{facts.name} of generation {number}")
                commit_set(stage, files, stale)
            finally:
                stage.discard()
        return kept.published

    @contextlib.contextmanager
    def unchanging(self) -> Iterator[None]:
        """While this is entered, no process keeps or removes a generation here. DestinationError if it cannot be."""
        with explain_errors(f"the generations in {self._root} cannot be used"):
            make_directory(self._root, 0o700)
            make_directory(self._objects, 0o700)
            with StageLock(self._root.resolve()):
                yield

    def _load(self, number: int) -> _Generation:
        try:
            return msgspec.json.decode((self._root / f"{number}.json").read_bytes(), type=_Generation)
        except FileNotFoundError as error:
            kept = ", ".join(map(str, self.numbers())) or "none"
            raise DestinationError(
                f"generation {number} does not exist in {self._root}. Choose one of {kept}"
            ) from error
        except (OSError, ValueError) as error:
            raise DestinationError(f"generation {number} in {self._root} cannot be read: {error}") from error

    def _readable(self, number: int) -> dict[str, str]:
        try:
            return self._load(number).digests
        except DestinationError:  # it cannot be restored either
            return {}

    def _store(self, public: Path, facts: FileFacts) -> str:
        """Copy a public file, and return its digest."""
        path = public / facts.name
        with explain_errors(f"{path} cannot be kept"), path.open("rb") as file:
            try:
                verify(file, facts, FileKind.ANY)
            except DestinationError as error:
                raise DestinationError(f"{path} has changed since it was published, so no copy is kept") from error
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            if sha256_of(self._objects / digest) != digest:  # replaces a damaged copy, too
                file.seek(0)
                self._write(self._objects / digest, iter(lambda: file.read(_PIECE), b""))
        return digest

    def _copy(self, digest: str, file: BinaryIO, name: str) -> None:
        actual = hashlib.sha256()
        with contextlib.suppress(FileNotFoundError), (self._objects / digest).open("rb") as content:
            while piece := content.read(_PIECE):
                actual.update(piece)
                file.write(piece)
        if actual.hexdigest() != digest:
            raise DestinationError(
                f"the copy of {name} is damaged, so nothing was published. Restore another generation"
            )

    def _write(self, file: Path, pieces: Iterator[bytes] | bytes) -> None:
        """Write a file completely and durably before it gets its name."""
        with replacement(file, 0o600) as content:
            content.writelines([pieces] if isinstance(pieces, bytes) else pieces)

    def _forget(self) -> None:
        """Remove generations beyond the last, and then files without a generation."""
        numbers = self.numbers()
        for number in numbers[: -self._last]:
            (self._root / f"{number}.json").unlink()
        sync_to_disk(self._root)
        needed = {digest for number in self.numbers() for digest in self._readable(number).values()}
        for file in self._objects.iterdir():
            if file.name not in needed:
                file.unlink()
