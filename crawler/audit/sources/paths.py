"""Finds the files that somebody named by paths and globs."""

import glob
import re
from pathlib import Path
from typing import Final

from crawler.errors import UsageError

_rotated: Final = re.compile(r"^(.*?)[.-](\d{1,4})(\.(?:gz|zst|bz2|xz|log|txt))*$")


def find_files(given: str, flag: str) -> list[str]:
    """What a path names, a folder too, or else the files that match it as a glob; ``flag`` is what it was given with.

    Raises UsageError when there is nothing, or nothing that we may look at.
    """
    try:
        if Path(given).exists():
            return [given]
        found = [name for name in glob.glob(given, recursive=True) if Path(name).is_file()]  # noqa: PTH207 - with folders
    except (OSError, ValueError) as error:
        raise UsageError(
            f"cannot read {given}: {getattr(error, 'strerror', None) or error} ({flag})"
        ) from None
    if not found:
        raise UsageError(f"there is no file {given}; name files, folders or globs that match ({flag})")
    return found


def files_in(folder: str, flag: str) -> list[str]:
    """The files in a folder and in those below it, but for hidden ones. Raises UsageError."""
    try:
        next(Path(folder).iterdir(), None)  # which says so when we may not, as rglob does not
        found = sorted(each for each in Path(folder).rglob("*") if each.is_file())
    except OSError as error:
        raise UsageError(f"cannot read the folder {folder}: {error.strerror or error} ({flag})") from None
    return [str(each) for each in found if not each.name.startswith(".")]


def rotation_key(name: str) -> tuple[str, int, str]:
    """Sorts what was rotated: access.log.10 before access.log.2 before access.log; dates as they are."""
    found = _rotated.match(name)
    return (found[1], -int(found[2]), name) if found else (name, 0, name)
