"""Owns copies of the last published sets, in a private directory, so that one of them can be published again."""

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
from sitemap.writer.files import StageLock, explain_errors, sha256_of, sync_to_disk
from sitemap.writer.publish import Published, commit_set
from sitemap.writer.target import FileFacts, FileKind, verify

_OBJECTS: Final = "objects"
_DRAFT: Final = ".draft"
_PIECE: Final = 1024 * 1024  # bytes


class _Generation(msgspec.Struct, frozen=True):
    """One generation. ``digests`` has the SHA-256 of each file as it is on disk, by its public name."""

    published: Published
    digests: dict[str, str]


class Generations:
    """The last sets that were published at one location: at most ``last`` of them, each with a number of the caller's.

    A file that is in several generations is kept once, as a copy: nothing that happens to the public one can harm it.
    A kill at any moment loses at most the generation that was just being kept. The directory is created when missing;
    it must not be in the public one. SitemapError when ``last`` is below 1.
    """

    def __init__(self, directory: str | os.PathLike[str], last: int = 2) -> None:
        if last < 1:
            raise SitemapError(f"{last} generations cannot be kept: keep at least 1")
        self._root = Path(directory)
        self._objects = self._root / _OBJECTS
        self._last = last

    def numbers(self) -> list[int]:
        """The numbers of the generations that are kept, ascending."""
        return sorted(int(path.stem) for path in self._root.glob("*.json") if path.stem.isdecimal())

    def published(self, number: int) -> Published:
        """What was told of a generation when it was published. DestinationError when it is not kept."""
        return self._kept(number).published

    def keep(self, published: Published, destination: Directory, number: int) -> None:
        """Copy what is published now, and forget the generations with the lowest numbers beyond the last.

        A number that is kept already is replaced. DestinationError when a file is not the published one any more, or
        the copy cannot be stored; what was kept before stays. SitemapError for a number below 0, and for a directory
        in the public one.
        """
        if number < 0 or self._root.resolve().is_relative_to(destination.path.resolve()):
            raise SitemapError(
                f"generation {number} cannot be kept in {self._root}: use a number from 0 on, and a directory that "
                "is not public"
            )
        with self._locked():
            files = (*published.beside, *published.files)
            kept = _Generation(
                published, {facts.name: self._store(destination.path, facts) for facts in files}
            )
            self._write(self._root / f"{number}.json", msgspec.json.encode(kept))
            with contextlib.suppress(OSError):
                self._forget()

    def restore(self, number: int, destination: Destination) -> Published:
        """Publish a generation again, in the way of every publish; answers what was told of it then.

        Files of the other generations that are kept leave. DestinationError when it is not kept, when a copy is not
        what it was, or when the set cannot be stored; whatever is raised, nothing was published.
        """
        with self._locked():
            kept = self._kept(number)
            others = {
                name for other in self.numbers() for name in self._readable(other) if name not in kept.digests
            }
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
    def _locked(self) -> Iterator[None]:
        with explain_errors(f"the generations in {self._root} cannot be used"):
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._objects.mkdir(mode=0o700, exist_ok=True)
            with StageLock(self._root.resolve()):
                yield

    def _kept(self, number: int) -> _Generation:
        try:
            return msgspec.json.decode((self._root / f"{number}.json").read_bytes(), type=_Generation)
        except FileNotFoundError as error:
            there = ", ".join(map(str, self.numbers())) or "none"
            raise DestinationError(
                f"generation {number} is not kept in {self._root}: {there} can be had"
            ) from error
        except (OSError, ValueError) as error:
            raise DestinationError(f"generation {number} in {self._root} cannot be read: {error}") from error

    def _readable(self, number: int) -> dict[str, str]:
        try:
            return self._kept(number).digests
        except DestinationError:  # nobody can restore it either
            return {}

    def _store(self, public: Path, facts: FileFacts) -> str:
        """Keep the content of a public file, and answer its digest."""
        path = public / facts.name
        with explain_errors(f"{path} cannot be kept"), path.open("rb") as file:
            try:
                verify(file, facts, FileKind.ANY)
            except DestinationError as error:
                raise DestinationError(f"{path} is not what was published: it is not kept") from error
            file.seek(0)
            found = hashlib.file_digest(file, "sha256").hexdigest()
            if sha256_of(self._objects / found) != found:  # a copy that was damaged is made anew
                file.seek(0)
                self._write(self._objects / found, iter(lambda: file.read(_PIECE), b""))
        return found

    def _copy(self, wanted: str, file: BinaryIO, what: str) -> None:
        found = hashlib.sha256()
        with contextlib.suppress(FileNotFoundError), (self._objects / wanted).open("rb") as content:
            while piece := content.read(_PIECE):
                found.update(piece)
                file.write(piece)
        if found.hexdigest() != wanted:
            raise DestinationError(
                f"the copy of {what} is damaged: restore another one; nothing was published"
            )

    def _write(self, file: Path, pieces: Iterator[bytes] | bytes) -> None:
        """Make a file whole and durable before it has its name."""
        draft = file.with_name(_DRAFT)
        with draft.open("wb") as content:
            content.writelines([pieces] if isinstance(pieces, bytes) else pieces)
        sync_to_disk(draft)
        draft.replace(file)
        sync_to_disk(file.parent)

    def _forget(self) -> None:
        """Remove generations beyond the last, and then the files that no generation has."""
        numbers = self.numbers()
        for number in numbers[: -self._last]:
            (self._root / f"{number}.json").unlink()
        sync_to_disk(self._root)
        needed = {each for number in self.numbers() for each in self._readable(number).values()}
        for file in self._objects.iterdir():
            if file.name not in needed:
                file.unlink()
