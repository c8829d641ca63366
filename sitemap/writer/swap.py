"""A publish in progress: its journal, the switch between generations, its completion or undo, and file removal.

A journal named ``order`` is completed, one named ``undo`` is reverted. Both can be repeated after a kill or a power
failure: each file that must not be processed twice is moved out of the stage, so that the stage shows the progress.
"""

import contextlib
import stat
import time
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

import msgspec

from sitemap.writer.files import is_planted, is_same_content, link_or_copy, replacement, sha256_of, sync_to_disk

REMOVAL_FILE: Final = ".siteatlas-waiting"


class _PendingRemoval(msgspec.Struct):
    since: float  # seconds of the epoch
    mtime: int  # nanoseconds; a file that changed since is no longer ours


def remove_unlisted(target: Path, grace: float, leaving: Iterable[str] = (), listed: Collection[str] = ()) -> None:
    """Schedule files for removal, drop those that are listed again, and remove those whose ``grace`` is over.

    ``grace`` is in seconds. A hidden file in ``target`` has the schedule and exists only while files wait. It names
    exact files, so that similar names of other tools are never touched. The oldest are removed first. OSError.
    """
    pending, listed = _load(target), frozenset(listed)
    now = time.time()
    remaining: dict[str, _PendingRemoval] = {}
    for name in [*pending, *(name for name in leaving if name not in pending)]:
        mtime = _mtime(target / name)
        removal = pending.get(name) or _PendingRemoval(now, mtime)
        if name in listed or mtime != removal.mtime or not mtime:
            continue
        if now - removal.since >= grace:
            (target / name).unlink(missing_ok=True)
        else:  # a clock that was set back restarts the grace time
            remaining[name] = _PendingRemoval(min(removal.since, now), mtime)
    if remaining != pending:
        _store(target, remaining)


def _load(target: Path) -> dict[str, _PendingRemoval]:
    file = target / REMOVAL_FILE
    try:
        pending = {} if is_planted(file) else msgspec.json.decode(file.read_bytes(), type=dict[str, _PendingRemoval])
    except (FileNotFoundError, ValueError):
        return {}
    return {name: removal for name, removal in pending.items() if name == Path(name).name}


def _store(target: Path, pending: dict[str, _PendingRemoval]) -> None:
    file = target / REMOVAL_FILE
    if pending:
        with replacement(file) as content:
            content.write(msgspec.json.encode(pending))
    else:
        file.unlink(missing_ok=True)
        sync_to_disk(target)


def _mtime(file: Path) -> int:
    """The modification time of a plain file in nanoseconds; 0 if there is none."""
    with contextlib.suppress(OSError):
        status = file.stat(follow_symlinks=False)
        return 0 if stat.S_ISDIR(status.st_mode) else status.st_mtime_ns
    return 0


NEW_DIRECTORY: Final = "new"
OLD_DIRECTORY: Final = "old"
_JOURNAL: Final = "order"
_UNDO: Final = "undo"
_DRAFT: Final = "draft"


class SwapJournal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The steps of a publish, by names of files that are staged, public or both.

    ``first`` is the staged file that replaces the leading file and so switches generations: the interim index, the
    leading file itself, or "" if that does not change.
    """

    names: list[str]  # the whole set, the leading file last
    first: str
    fresh: list[str]  # new files
    interim: dict[str, str]  # from each changed child to its interim name
    beside: list[str]  # unlisted files that are replaced
    leaving: list[str]  # files that leave the set
    led: bool  # whether there was a leading file
    leads: list[str] = []  # digests of the old, interim and new leading file; with another the journal is outdated

    def __post_init__(self) -> None:
        names = [*self.names, *self.fresh, *self.interim, *self.interim.values(), *self.beside, *self.leaving]
        if not self.names or any(name != Path(name).name for name in (*names, *filter(None, [self.first]))):
            raise ValueError("the journal names files in other directories")


class Swap:
    """The publish of a stage. If a method raises OSError, the journal stays for the next start."""

    def __init__(self, stage: Path, journal: SwapJournal) -> None:
        self._stage = stage
        self._target = stage.parent
        self._journal = journal
        self._lead = journal.names[-1]

    @staticmethod
    def has_journal(stage: Path) -> bool:
        """Whether a stage has a journal."""
        return (stage / _JOURNAL).exists() or (stage / _UNDO).exists()

    @classmethod
    def recover(cls, stage: Path) -> "Swap | None":
        """The publish that a killed process left, or None if there is no readable journal."""
        for name in (_UNDO, _JOURNAL):
            with contextlib.suppress(FileNotFoundError, ValueError):
                return cls(stage, msgspec.json.decode((stage / name).read_bytes(), type=SwapJournal))
        return None

    def begin(self, grace: float) -> None:
        """Switch to the new generation. On any failure the old one stays, and everything is undone."""
        try:
            self._write_journal()
            self._switch()
        except BaseException:
            with contextlib.suppress(OSError):  # the next start continues from here
                self.undo(grace)
            raise

    def finish(self, settle: float, grace: float) -> None:
        """Give changed children their own names after the settle time, and end the publish."""
        changed = self._journal.interim
        if changed:
            if any((self._stage / NEW_DIRECTORY / name).exists() for name in changed):
                time.sleep(settle)
            for name in changed:
                self._move(name, name)
            sync_to_disk(self._target)
            self._move(self._lead, self._lead)
            sync_to_disk(self._target)
        remove_unlisted(self._target, grace, [*self._journal.leaving, *changed.values()], self._journal.names)
        self._forget(_JOURNAL)

    def undo(self, grace: float) -> None:
        """Restore the old set. Files that a reader may have seen listed stay for the grace time."""
        journal, undo = self._stage / _JOURNAL, self._stage / _UNDO
        if not undo.exists():
            journal.replace(undo)
        new, old = self._stage / NEW_DIRECTORY, self._stage / OLD_DIRECTORY
        switched = bool(self._journal.first) and not (new / self._journal.first).exists()
        for name in (*([self._lead] if switched and self._journal.led else []), *self._journal.beside):
            with contextlib.suppress(FileNotFoundError):
                (old / name).replace(self._target / name)
        if switched and not self._journal.led:
            (self._target / self._lead).unlink(missing_ok=True)
        sync_to_disk(self._target)
        public_names = [(name, name) for name in self._journal.fresh] + list(self._journal.interim.items())
        ours = [other for name, other in public_names if is_same_content(new / name, self._target / other)]
        remove_unlisted(self._target, grace if switched else 0, ours)
        self._forget(_UNDO)

    def resume(self, settle: float, grace: float) -> None:
        """Continue where a killed process stopped."""
        if self._is_outdated():
            remove_unlisted(self._target, grace, self._journal.interim.values())
        elif (self._stage / _UNDO).exists():
            self.undo(grace)
        else:
            try:
                self._switch()
            except OSError:
                self.undo(grace)
            else:
                self.finish(settle, grace)

    def _write_journal(self) -> None:
        """Write the journal. After it, the next start completes the publish of a killed process."""
        draft = self._stage / (_JOURNAL + ".draft")
        draft.write_bytes(msgspec.json.encode(self._journal))
        for path in (draft, self._stage / NEW_DIRECTORY, self._stage / OLD_DIRECTORY):
            sync_to_disk(path)
        draft.replace(self._stage / _JOURNAL)
        sync_to_disk(self._stage)
        sync_to_disk(self._target)

    def _switch(self) -> None:
        for name in self._journal.fresh:
            self._show(name, name)
        for name, other in self._journal.interim.items():
            self._show(name, other)
        for name in self._journal.beside:
            self._move(name, name)
        sync_to_disk(self._target)  # so that files exist before they are listed, even after a power failure
        if self._journal.first:
            self._move(self._journal.first, self._lead)
            sync_to_disk(self._target)

    def _is_outdated(self) -> bool:
        """Whether a process that could not see this stage has published since."""
        return sha256_of(self._target / self._lead) not in self._journal.leads

    def _show(self, name: str, other: str) -> None:
        """Give a staged file a public, unlisted name."""
        staged = self._stage / NEW_DIRECTORY / name
        if staged.exists():
            link_or_copy(staged, self._target / other, self._stage / _DRAFT)

    def _move(self, name: str, other: str) -> None:
        """Move a staged file to its place, unless that is done."""
        with contextlib.suppress(FileNotFoundError):
            (self._stage / NEW_DIRECTORY / name).replace(self._target / other)

    def _forget(self, journal: str) -> None:
        (self._stage / journal).unlink()
        sync_to_disk(self._stage)
