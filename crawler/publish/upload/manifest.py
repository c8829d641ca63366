"""Owns what is remembered of uploads: which files are there because of us, and since when some of them are not needed.

It is a file beside the state of the site, and written before anything is sent: a killed process may leave files there
that nobody lists, but none that nobody knows of.
"""

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from crawler.errors import StorageError
from crawler.publish.upload.files import FileDigests
from crawler.publish.upload.target import LocalFile, RemoteFile

_MANIFEST_FILE: Final = "record.json"
_MAX_FORMER: Final = 8  # uploads in a row that were killed while a file was replaced, and are all remembered


class UploadedFile(Struct, frozen=True):
    """A file that we put there, or were about to: then it is not ``sure``, and ``mark`` the one it would have got.

    ``former`` is then what may still be there instead, of ours: what was to be replaced. ``manner`` is how it is kept
    besides its bytes. ``left`` is when the set there had no need of it any more, Unix time, or None.
    """

    sha256: str
    size: int
    manner: str
    mark: str
    sure: bool = False
    former: tuple[RemoteFile, ...] = ()
    left: float | None = None

    def matches(self, there: RemoteFile | None) -> bool:
        """Whether it is what is there. What looks just like what was to be replaced may be that."""
        return there == RemoteFile(self.size, self.mark) and there not in self.former

    def is_ours(self, there: RemoteFile | None) -> bool:
        """Whether what is there was put there by us, and nobody else has touched it."""
        return there in (RemoteFile(self.size, self.mark), *self.former)


class _ManifestData(Struct):
    here: dict[str, FileDigests] = {}
    there: dict[str, dict[str, UploadedFile]] = {}


class UploadManifest:
    """What is remembered of one place. ``folder`` is private to the uploads of a site. Raises StorageError."""

    def __init__(self, folder: Path, place: str) -> None:
        self._file = folder / _MANIFEST_FILE
        try:
            self._book = msgspec.json.decode(self._file.read_bytes(), type=_ManifestData)
        except (FileNotFoundError, ValueError):  # then everything is looked at, and nothing removed
            self._book = _ManifestData()
        except OSError as error:
            raise self._refused(error) from None
        self._sent = self._book.there.setdefault(place, {})
        self._kept = self._encoded()

    @property
    def local_digests(self) -> Mapping[str, FileDigests]:
        """The digests of the local files as they were last."""
        return self._book.here

    def set_local_digests(self, digests: dict[str, FileDigests]) -> None:
        """Remember the digests of the local files."""
        self._book.here = digests

    def get(self, name: str) -> UploadedFile | None:
        """What was put there under a name."""
        return self._sent.get(name)

    def names(self) -> list[str]:
        """All that was put there, or was to be."""
        return list(self._sent)

    def pending(self) -> list[str]:
        """What a process was about to put there when it died."""
        return [name for name, sent in self._sent.items() if not sent.sure]

    def add_pending(self, pieces: Iterable[tuple[LocalFile, str, str]]) -> None:
        """Remember, durably, that these are going to be put there: each with its manner and the mark it will get."""
        for piece, manner, mark in pieces:
            sent = self.get(piece.name)
            former = (*sent.former, RemoteFile(sent.size, sent.mark))[-_MAX_FORMER:] if sent else ()
            self._sent[piece.name] = UploadedFile(piece.sha256, piece.size, manner, mark, former=former)
        self.save()

    def confirm(self, piece: LocalFile, manner: str, there: RemoteFile) -> None:
        """This is there, and part of the set."""
        self._sent[piece.name] = UploadedFile(piece.sha256, there.size, manner, there.mark, sure=True)

    def mark_unlisted(self, listed: Collection[str], now: float) -> None:
        """The set there is whole without what is not ``listed``, which may be removed some time after ``now``."""
        for name, sent in self._sent.items():
            since = now if sent.left is None else min(sent.left, now)  # a clock that was set back starts anew
            self._sent[name] = replace(sent, left=None if name in listed else since)

    def unlisted_before(self, before: float) -> list[tuple[str, UploadedFile]]:
        """What has not been needed since then or earlier."""
        return [each for each in self._sent.items() if each[1].left is not None and each[1].left <= before]

    def forget(self, name: str) -> None:
        """It is not there any more, or not ours."""
        self._sent.pop(name, None)

    def save(self) -> None:
        """Make it durable, if it has changed."""
        encoded = self._encoded()
        if encoded == self._kept:
            return
        draft = self._file.with_suffix(".draft")
        try:
            with draft.open("wb") as file:
                file.write(encoded)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self._file)
            folder = os.open(self._file.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise self._refused(error) from None
        self._kept = encoded

    def _encoded(self) -> bytes:
        return msgspec.json.encode(self._book, order="deterministic")

    def _refused(self, error: OSError) -> StorageError:
        return StorageError(
            f"{self._file}, in which uploads are recorded, cannot be used: {error.strerror}; the files are in the "
            "directory, and the next run uploads them"
        )
