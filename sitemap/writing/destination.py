"""Owns where a set of files goes and how it gets there as a whole. Knows nothing of what the files say.

A set is staged beside its target, made durable, and swapped file by file with the one that leads to the others last.
"""

import contextlib
import errno
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Final, Protocol

from sitemap.errors import DestinationError
from sitemap.writing.explain import explained, failure
from sitemap.writing.stage_lock import StageLock

STAGE_PREFIX: Final = ".siteatlas-stage-"
_ORDER: Final = "order"  # names the files to swap; its presence says that the set was complete
_NEW: Final = "new"
_OLD: Final = "old"
_MODE: Final = 0o644


class Stage(Protocol):
    """A set of files on its way. Nothing of it can be seen until :meth:`commit`, and nothing after :meth:`discard`."""

    def create(self, name: str) -> BinaryIO:
        """A new file of the set, to be written and closed. It is durable once closed by :meth:`commit`."""

    def scratch(self) -> BinaryIO:
        """A temporary file that may be written and read, and is no part of the set."""

    def read(self, name: str) -> BinaryIO:
        """A staged file, to be checked before the commit."""

    def published(self, name: str) -> BinaryIO | None:
        """What is published under this name now, to be read, or None when there is nothing."""

    def commit(self, names: Sequence[str], stale: re.Pattern[str]) -> None:
        """Publish the files in this order, the last leading to the others; then remove what else is ``stale``."""

    def discard(self) -> None:
        """Forget the set. Harmless when there is nothing to forget."""


class Destination(Protocol):
    """A place for sets of files. Every failure is a DestinationError, and leaves the published set as it was."""

    def check(self) -> None:
        """Prove that a set could be stored here."""

    def stage(self) -> Stage:
        """Begin a new set."""


class Directory:
    """A directory of the local file system, which is created when missing.

    New files get the mode (and where permitted the owner) of the file they replace, else 0644. A set whose swap was cut
    off by a crash is finished by the next :meth:`check` or :meth:`stage`; anything less is swept away.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def check(self) -> None:
        """Create the directory and prove that it can be written to. Call it before long work, not after."""
        stage = self.stage()
        try:
            with stage.create("probe") as file:
                file.write(b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise failure(f"the directory {self.path} cannot be written to", error) from error
        finally:
            stage.discard()

    def stage(self) -> "DirectoryStage":
        """Begin a new set, after finishing or sweeping what killed processes left."""
        with explained(f"the directory {self.path} cannot be used"):
            self.path.mkdir(parents=True, exist_ok=True)
            root = self.path.resolve()
            starting = StageLock(root)  # so that nobody sweeps a stage that is made, but not locked yet
            try:
                for left in sorted(root.glob(STAGE_PREFIX + "*")):
                    with contextlib.suppress(OSError, ValueError, re.error):  # not ours, or not to be mended
                        _settle_left(left)
                return DirectoryStage(root)
            finally:
                starting.release()


class DirectoryStage:
    """A set staged in a hidden directory inside its target, so that both are on one file system."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._path = target / (STAGE_PREFIX + secrets.token_hex(6))
        self._path.mkdir(mode=0o700)
        self._lock = StageLock(self._path)
        for part in (_NEW, _OLD):
            (self._path / part).mkdir(mode=0o700)

    def create(self, name: str) -> BinaryIO:
        """A new file of the set. Its name is one path segment, else DestinationError."""
        if name in {"", ".", ".."} or "/" in name or "\0" in name or name.startswith(STAGE_PREFIX):
            raise DestinationError(f"{name[:200]!r} cannot be the name of a file: use one plain path segment")
        with explained(f"{self._target / name} cannot be staged"):
            return (self._path / _NEW / name).open("xb")

    def scratch(self) -> BinaryIO:
        """A temporary file in the stage, opened for writing and reading."""
        with explained(f"a temporary file in {self._target} cannot be made"):
            return tempfile.TemporaryFile(dir=self._path)

    def read(self, name: str) -> BinaryIO:
        """A staged file, opened for reading."""
        with explained(f"the staged {self._target / name} cannot be read back"):
            return (self._path / _NEW / name).open("rb")

    def published(self, name: str) -> BinaryIO | None:
        """The file of this name in the target, opened for reading, or None when it is missing or is no plain file."""
        with explained(f"{self._target / name} cannot be read"):
            path = self._target / name
            return path.open("rb") if path.is_file() else None

    def commit(self, names: Sequence[str], stale: re.Pattern[str]) -> None:
        """Swap the set in. On any failure every file is put back as it was, and a DestinationError tells why."""
        with explained(f"the files in {self._target} cannot be replaced"):
            for name in names:
                self._prepare(name)
            _sync(self._path / _NEW)
            self._promise(names, stale)
            try:
                _swap(self._path, names)
                _sync(self._target)
            except OSError:
                with contextlib.suppress(OSError):
                    (self._path / _ORDER).unlink()
                _restore(self._path, names)
                raise
        # The new set is public. What remains is tidying, which must not turn success into failure.
        with contextlib.suppress(OSError):
            _remove_stale(self._target, names, stale)
        self.discard()

    def discard(self) -> None:
        """Remove the stage. What cannot be removed is swept by the next one."""
        shutil.rmtree(self._path, ignore_errors=True)
        self._lock.release()

    def _promise(self, names: Sequence[str], stale: re.Pattern[str]) -> None:
        """The point of no return: from here on a crash is followed by the rest of the swap."""
        draft = self._path / (_ORDER + ".draft")
        draft.write_text("\n".join((stale.pattern, *names)), "utf-8")
        _sync(draft)
        draft.replace(self._path / _ORDER)
        _sync(self._path)

    def _prepare(self, name: str) -> None:
        """Give a staged file its mode, make it durable, and keep what it will replace."""
        staged, target = self._path / _NEW / name, self._target / name
        mode = _MODE
        with contextlib.suppress(FileNotFoundError):
            before = target.stat()
            if target.is_dir():
                raise IsADirectoryError(errno.EISDIR, "it is a directory", str(target))
            mode = before.st_mode & 0o7777
            with contextlib.suppress(PermissionError):
                os.chown(staged, before.st_uid, before.st_gid)
            _keep(target, self._path / _OLD / name)
        staged.chmod(mode)
        _sync(staged)


def _swap(stage: Path, names: Sequence[str]) -> None:
    for name in names:
        staged = stage / _NEW / name
        if staged.exists():  # not when an earlier process died half-way through the same swap
            staged.replace(stage.parent / name)


def _restore(stage: Path, names: Sequence[str]) -> None:
    """Undo a swap: files that replaced others give way to them, files that are new go."""
    for name in names:
        if (stage / _NEW / name).exists():
            continue
        kept, target = stage / _OLD / name, stage.parent / name
        with contextlib.suppress(OSError):
            if kept.exists() or kept.is_symlink():
                kept.replace(target)
            else:
                target.unlink()


def _settle_left(stage: Path) -> None:
    """Finish the swap of a stage whose process died in it, or remove the stage. One that still lives is left alone."""
    lock = StageLock(stage, wait=False)
    if not lock.held:
        return
    try:
        order = stage / _ORDER
        if order.exists():
            stale, *names = order.read_text("utf-8").split("\n")
            if all(name == Path(name).name for name in names):
                _swap(stage, names)
                _sync(stage.parent)
                _remove_stale(stage.parent, names, re.compile(stale))
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        lock.release()


def _remove_stale(target: Path, names: Sequence[str], stale: re.Pattern[str]) -> None:
    kept = set(names)
    for entry in list(os.scandir(target)):
        if entry.name not in kept and stale.fullmatch(entry.name) and not entry.is_dir(follow_symlinks=False):
            Path(entry.path).unlink(missing_ok=True)


def _keep(file: Path, copy: Path) -> None:
    """A second name for a file that is about to be replaced, or a copy where the file system knows no links."""
    try:
        os.link(file, copy, follow_symlinks=False)
    except OSError:
        shutil.copy2(file, copy, follow_symlinks=False)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
