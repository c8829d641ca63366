"""Owns the moves that a published file is made of: made durable, compared, given a second name. Knows no sets."""

import contextlib
import hashlib
import os
import shutil
from pathlib import Path
from typing import Final

_PIECE: Final = 1024 * 1024  # bytes


def sync(path: Path) -> None:
    """Make a file's content, or the names in a directory, survive a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def same(one: Path, other: Path) -> bool:
    """Whether both are plain files of equal bytes. One that may not be read is like no other."""
    if not (one.is_file() and other.is_file()):
        return False
    with contextlib.suppress(PermissionError), one.open("rb") as first, other.open("rb") as second:
        if os.path.sameopenfile(first.fileno(), second.fileno()):
            return True
        if os.fstat(first.fileno()).st_size != os.fstat(second.fileno()).st_size:
            return False
        while (piece := first.read(_PIECE)) == second.read(_PIECE):
            if not piece:
                return True
    return False


def digest(file: Path) -> str:
    """The SHA-256 of a plain file, or "" when there is none."""
    if not file.is_file():
        return ""
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except FileNotFoundError:
        return ""


def second(file: Path, other: Path, draft: Path) -> None:
    """Give a file another name, or make a copy of it there where the file system knows no second names.

    A copy is made as ``draft`` and moved when it is whole. FileExistsError when something else is called so.
    """
    try:
        os.link(file, other, follow_symlinks=False)
    except FileExistsError:
        if not same(file, other):
            raise
    except OSError:
        shutil.copy2(file, draft, follow_symlinks=False)
        if not draft.is_symlink():
            own(draft, file.stat())
            sync(draft)
        draft.replace(other)


def own(file: Path, like: os.stat_result) -> None:
    """Give a file the owner, group and mode of another, as far as this user may."""
    try:
        os.chown(file, like.st_uid, like.st_gid)
    except PermissionError:
        with contextlib.suppress(PermissionError):
            os.chown(file, -1, like.st_gid)
    file.chmod(like.st_mode & 0o7777)
