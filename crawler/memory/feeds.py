"""The change feeds as files beside the state: JSON Lines, one file for each run that published."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from crawler.change import Change
from crawler.errors import StorageError
from crawler.memory.changes import Changes

DIRECTORY: Final = "changes"
_name = re.compile(r"(\d{6,})\.(jsonl|draft)").fullmatch


def feed_file(state: Path, run: int) -> Path:
    """Where the feed of a run is, below the directory of the site's state."""
    return state / DIRECTORY / f"{run:06}.jsonl"


def write_feeds(changes: Changes, state: Path) -> None:
    """Write the file of every run that has a feed and no file, and remove those of runs that are forgotten.

    A line is the JSON of one :class:`crawler.change.Change`; lines are sorted by URL. A file is there as a whole or
    not at all. To be called when the run is closed, outside of its transaction; what a crash prevented is made good
    by the next call. Raises StorageError.
    """
    known = set(changes.publishing())
    folder = state / DIRECTORY
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        for path in list(folder.iterdir()):
            found = _name(path.name)
            if found and (found[2] == "draft" or int(found[1]) not in known):
                path.unlink(missing_ok=True)
        for run in sorted(known):
            path = feed_file(state, run)
            if not path.exists():
                _write(path, changes.of(run))
    except OSError as error:
        raise StorageError(
            f"the change feed cannot be written to {folder}: {error.strerror}; what is published is not affected, "
            "and the next run writes the feed"
        ) from error


def _write(path: Path, changes: Iterable[Change]) -> None:
    """All lines under the final name, durably, or nothing under it."""
    encoder = msgspec.json.Encoder()
    draft = path.with_suffix(".draft")
    with draft.open("wb") as file:
        for change in changes:
            file.write(encoder.encode(change) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
