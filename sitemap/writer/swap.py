"""Owns one begun publish: its journal, the switch between generations, and the way on or back from anywhere.

A journal called ``order`` is carried out, one called ``undo`` is taken back. Both can be done again from wherever a
kill or a loss of power stopped them: files that must not be done twice are moved out of the stage, so that the stage
itself tells how far it came.
"""

import contextlib
import stat
import time
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

import msgspec

from sitemap.writer.files import is_same_content, link_or_copy, sha256_of, sync_to_disk

REMOVAL_FILE: Final = ".siteatlas-waiting"


class _PendingRemoval(msgspec.Struct):
    since: float  # seconds of the epoch
    mtime: int  # nanoseconds; a file that was changed since is not ours any more


def remove_unlisted(
    target: Path, grace: float, leaving: Iterable[str] = (), listed: Collection[str] = ()
) -> None:
    """Note that some files leave, forget those that are listed again, and remove those whose ``grace`` is over.

    ``grace`` is in seconds. What is noted is in a hidden file in ``target``, which is there while something waits. It
    names exact files: what merely looks like one of ours is never touched. Older leavers go first. OSError.
    """
    before, listed = _load(target), frozenset(listed)
    now = time.time()
    after: dict[str, _PendingRemoval] = {}
    for name in [*before, *(name for name in leaving if name not in before)]:
        mtime = _mtime(target / name)
        leaver = before.get(name) or _PendingRemoval(now, mtime)
        if name in listed or mtime != leaver.mtime or not mtime:
            continue
        if now - leaver.since >= grace:
            (target / name).unlink(missing_ok=True)
        else:
            after[name] = _PendingRemoval(
                min(leaver.since, now), mtime
            )  # a clock that was set back starts anew
    if after != before:
        _store(target, after)


def _load(target: Path) -> dict[str, _PendingRemoval]:
    draft = target / (REMOVAL_FILE + ".draft")
    draft.unlink(missing_ok=True)
    try:
        found = msgspec.json.decode((target / REMOVAL_FILE).read_bytes(), type=dict[str, _PendingRemoval])
    except (FileNotFoundError, ValueError):
        return {}
    return {name: leaver for name, leaver in found.items() if name == Path(name).name}


def _store(target: Path, waiting: dict[str, _PendingRemoval]) -> None:
    file, draft = target / REMOVAL_FILE, target / (REMOVAL_FILE + ".draft")
    if waiting:
        draft.write_bytes(msgspec.json.encode(waiting))
        sync_to_disk(draft)
        draft.replace(file)
    else:
        file.unlink(missing_ok=True)
    sync_to_disk(target)


def _mtime(file: Path) -> int:
    """When a plain file was last written; 0 when there is none."""
    with contextlib.suppress(OSError):
        found = file.stat(follow_symlinks=False)
        return 0 if stat.S_ISDIR(found.st_mode) else found.st_mtime_ns
    return 0


NEW_DIRECTORY: Final = "new"

OLD_DIRECTORY: Final = "old"

_JOURNAL: Final = "order"

_UNDO: Final = "undo"

_DRAFT: Final = "draft"


class SwapJournal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a publish does, by names of files that are staged, public or both.

    ``first`` is the staged file that takes the place of the leading one and thereby switches generations: the interim
    index, the leading file itself, or "" when that does not change.
    """

    names: list[str]  # the whole set, the leading file last
    first: str
    fresh: list[str]  # what is put where nothing was
    interim: dict[str, str]  # children that change, and how they are called until they are in their places
    beside: list[str]  # files that are replaced without being listed
    leaving: list[str]  # files that are listed no more
    led: bool  # whether there was a leading file
    leads: list[
        str
    ] = []  # digests of the leading file as it was, is and will be; with another, the journal is outdated

    def __post_init__(self) -> None:
        every = [*self.names, *self.fresh, *self.interim, *self.interim.values(), *self.beside, *self.leaving]
        if not self.names or any(name != Path(name).name for name in (*every, *filter(None, [self.first]))):
            raise ValueError("it names files in other directories")


class Swap:
    """The publish of a stage. Its methods raise OSError, and leave the journal to the next start when they do."""

    def __init__(self, stage: Path, order: SwapJournal) -> None:
        self._stage = stage
        self._target = stage.parent
        self._order = order
        self._lead = order.names[-1]

    @staticmethod
    def has_journal(stage: Path) -> bool:
        """Whether a stage has a journal."""
        return (stage / _JOURNAL).exists() or (stage / _UNDO).exists()

    @classmethod
    def recover(cls, stage: Path) -> "Swap | None":
        """The publish that a killed process left, or None when it had not begun, or nothing can be made of it."""
        for name in (_UNDO, _JOURNAL):
            with contextlib.suppress(FileNotFoundError, ValueError):
                return cls(stage, msgspec.json.decode((stage / name).read_bytes(), type=SwapJournal))
        return None

    def begin(self, grace: float) -> None:
        """Make the new generation the public one. On any failure the old one stays, and everything is put back."""
        try:
            self._write_journal()
            self._switch()
        except BaseException:
            with contextlib.suppress(OSError):  # then the next start goes on from here
                self.undo(grace)
            raise

    def finish(self, settle: float, grace: float) -> None:
        """Put children that changed in their places, once nobody reads the old ones; then leave nothing to do."""
        changed = self._order.interim
        if changed:
            if any((self._stage / NEW_DIRECTORY / name).exists() for name in changed):
                time.sleep(settle)
            for name in changed:
                self._move(name, name)
            sync_to_disk(self._target)
            self._move(self._lead, self._lead)
            sync_to_disk(self._target)
        remove_unlisted(self._target, grace, [*self._order.leaving, *changed.values()], self._order.names)
        self._forget(_JOURNAL)

    def undo(self, grace: float) -> None:
        """Put back what was public. What a reader may have seen listed stays for its grace."""
        order, undo = self._stage / _JOURNAL, self._stage / _UNDO
        if not undo.exists():
            order.replace(undo)
        new, old = self._stage / NEW_DIRECTORY, self._stage / OLD_DIRECTORY
        switched = bool(self._order.first) and not (new / self._order.first).exists()
        for name in (*([self._lead] if switched and self._order.led else []), *self._order.beside):
            with contextlib.suppress(FileNotFoundError):
                (old / name).replace(self._target / name)
        if switched and not self._order.led:
            (self._target / self._lead).unlink(missing_ok=True)
        sync_to_disk(self._target)
        shown = [(name, name) for name in self._order.fresh] + list(self._order.interim.items())
        ours = [other for name, other in shown if is_same_content(new / name, self._target / other)]
        remove_unlisted(self._target, grace if switched else 0, ours)
        self._forget(_UNDO)

    def resume(self, settle: float, grace: float) -> None:
        """Go on where a killed process stopped."""
        if self._is_outdated():
            remove_unlisted(self._target, grace, self._order.interim.values())
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
        """Write the journal. From here on a kill is followed by the rest."""
        draft = self._stage / (_JOURNAL + ".draft")
        draft.write_bytes(msgspec.json.encode(self._order))
        for path in (draft, self._stage / NEW_DIRECTORY, self._stage / OLD_DIRECTORY):
            sync_to_disk(path)
        draft.replace(self._stage / _JOURNAL)
        sync_to_disk(self._stage)
        sync_to_disk(self._target)

    def _switch(self) -> None:
        for name in self._order.fresh:
            self._show(name, name)
        for name, other in self._order.interim.items():
            self._show(name, other)
        for name in self._order.beside:
            self._move(name, name)
        sync_to_disk(
            self._target
        )  # what is listed is there before it is listed, for those who cut the power too
        if self._order.first:
            self._move(self._order.first, self._lead)
            sync_to_disk(self._target)

    def _is_outdated(self) -> bool:
        """Whether somebody who could not see this stage has published since."""
        return sha256_of(self._target / self._lead) not in self._order.leads

    def _show(self, name: str, other: str) -> None:
        """Give a staged file a public name that nobody lists."""
        staged = self._stage / NEW_DIRECTORY / name
        if staged.exists():
            link_or_copy(staged, self._target / other, self._stage / _DRAFT)

    def _move(self, name: str, other: str) -> None:
        """Put a staged file in its place, unless that was done."""
        with contextlib.suppress(FileNotFoundError):
            (self._stage / NEW_DIRECTORY / name).replace(self._target / other)

    def _forget(self, journal: str) -> None:
        (self._stage / journal).unlink()
        sync_to_disk(self._stage)
