"""Owns where a set of files goes and how it gets there as a whole. Knows nothing of what the files say.

What holds at every instant, whatever is killed and wherever the power fails:

* The published set is one whole generation. Readers go from the old one to the new one by a single rename of the
  leading file: the only one of a small set, or the index.
* A listed file is there, is complete, and is of the generation that its index is of. Children that change are listed
  under interim names first (``sitemap-3.5f2a9c1b.xml``), and get their own names back when nobody lists these any
  more: ``settle`` seconds after the rename, so that a reader who holds the old index still finds the old children.
* Files whose bytes do not change are not touched; where nothing changes, nothing is written.
* Interim files, and files that left the set, stay for ``grace`` seconds and go at the next start or publish after that.
* Files are plain files, each with the mode and (where permitted) the owner of the one it replaces.
* Before anything public is touched, a journal in the hidden stage says what will be done. The next start carries that
  out. An error before the switch puts everything back; one after it leaves a whole new generation under interim names,
  for the next start to finish.
"""

import contextlib
import errno
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Protocol

import msgspec

from sitemap.errors import DestinationError, SitemapError
from sitemap.writer.files import (
    StageLock,
    copy_ownership,
    destination_error,
    explain_errors,
    is_same_content,
    link_or_copy,
    sha256_of,
    sync_to_disk,
)
from sitemap.writer.names import TOKEN, interim_name
from sitemap.writer.swap import NEW_DIRECTORY, OLD_DIRECTORY, Swap, SwapJournal, remove_unlisted

HIDDEN_PREFIX: Final = ".siteatlas-"

STAGE_PREFIX: Final = HIDDEN_PREFIX + "stage-"

WriteInterim = Callable[[str, Mapping[str, str]], object]


@dataclass(frozen=True, slots=True)
class PublishOptions:
    """How files are published: the mode of new ones, and how long in seconds readers are waited for."""

    mode: int
    settle: float
    grace: float


def recover_stages(target: Path, rules: PublishOptions, but: Path | None = None) -> None:
    """Finish what killed processes began to publish, and remove their stages. To be called under the target's lock.

    OSError when a publish can neither be finished nor be put back.
    """
    for stage in sorted(target.glob(STAGE_PREFIX + "*")):
        try:
            lock = StageLock(stage, wait=False)
        except OSError:  # no stage, or another user's
            continue
        with lock:
            if lock.held and stage != but:
                if swap := Swap.recover(stage):
                    swap.resume(rules.settle, rules.grace)
                shutil.rmtree(stage, ignore_errors=True)


class DirectoryStage:
    """The stage of a :class:`sitemap.Directory`. It belongs to a living process as long as it is locked."""

    def __init__(self, target: Path, rules: PublishOptions) -> None:
        self._target = target
        self._rules = rules
        self._path = target / (STAGE_PREFIX + secrets.token_hex(6))
        self._path.mkdir(mode=0o700)
        self._lock = StageLock(self._path)
        for part in (NEW_DIRECTORY, OLD_DIRECTORY):
            (self._path / part).mkdir(mode=0o700)

    def create(self, name: str) -> BinaryIO:
        """A new file of the set. Its name is one path segment, else DestinationError."""
        if name in {"", ".", ".."} or "/" in name or "\0" in name or name.startswith(HIDDEN_PREFIX):
            raise DestinationError(f"{name[:200]!r} cannot be the name of a file: use one plain path segment")
        with explain_errors(f"{self._target / name} cannot be staged"):
            return (self._path / NEW_DIRECTORY / name).open("xb")

    def scratch(self) -> BinaryIO:
        """A temporary file in the stage, opened for writing and reading."""
        with explain_errors(f"a temporary file in {self._target} cannot be made"):
            return tempfile.TemporaryFile(dir=self._path)

    def read(self, name: str) -> BinaryIO:
        """A staged file, opened for reading."""
        with explain_errors(f"the staged {self._target / name} cannot be read back"):
            return (self._path / NEW_DIRECTORY / name).open("rb")

    def published(self, name: str) -> BinaryIO | None:
        """The file of this name in the target, opened for reading, or None when it is missing or is no plain file."""
        with explain_errors(f"{self._target / name} cannot be read"):
            path = self._target / name
            return path.open("rb") if path.is_file() else None

    def commit(
        self,
        names: Sequence[str],
        stale: re.Pattern[str],
        beside: Sequence[str],
        interim: WriteInterim,
    ) -> None:
        """Make the set public. On any failure the old one stays as it was, and a DestinationError tells why."""
        rules, every = self._rules, [*beside, *names]
        with explain_errors(f"the files in {self._target} cannot be replaced"), StageLock(self._target):
            recover_stages(self._target, rules, but=self._path)
            leaving = self._leaving(stale, every)
            changed = {name for name in every if self._differs(name)}
            if not changed:
                with contextlib.suppress(OSError):
                    remove_unlisted(self._target, rules.grace, leaving, every)
                return
            order = self._order(names, beside, changed, leaving)
            if order.interim:
                interim(order.first, order.interim)
            swap = Swap(self._path, self._prepared(order))
            swap.begin(rules.grace)
            # The new set is public. What remains must not turn success into failure: the next start does it again.
            with contextlib.suppress(OSError):
                swap.finish(rules.settle, rules.grace)

    def discard(self) -> None:
        """Remove the stage, unless a publish has to be finished from it. What cannot be removed is swept later."""
        if not Swap.has_journal(self._path):
            shutil.rmtree(self._path, ignore_errors=True)
        self._lock.release()

    def _differs(self, name: str) -> bool:
        target = self._target / name
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a directory", str(target))
        return not is_same_content(self._path / NEW_DIRECTORY / name, target)

    def _leaving(self, stale: re.Pattern[str], every: Sequence[str]) -> list[str]:
        """What is to leave; another leading file before the files that it leads to."""
        found = {
            entry.name
            for entry in os.scandir(self._target)
            if stale.fullmatch(entry.name) and not entry.is_dir(follow_symlinks=False)
        }
        plain = every[-1].removesuffix(".gz")
        return sorted(found.difference(every), key=lambda name: (name.removesuffix(".gz") != plain, name))

    def _order(
        self, names: Sequence[str], beside: Sequence[str], changed: Collection[str], leaving: list[str]
    ) -> SwapJournal:
        *children, lead = names
        there = {name for name in changed if os.path.lexists(self._target / name)}
        moving = [name for name in children if name in there]
        others = dict(zip((*moving, lead), self._interim_names((*moving, lead)), strict=True))
        own_first = lead if lead in changed else ""
        return SwapJournal(
            names=[*beside, *names],
            first=others.pop(lead) if moving else own_first,
            fresh=[name for name in (*beside, *children) if name in changed and name not in there],
            interim=others if moving else {},
            beside=[name for name in beside if name in there],
            leaving=leaving,
            led=os.path.lexists(self._target / lead),
        )

    def _interim_names(self, names: Sequence[str]) -> list[str]:
        """Names for a moment, none of which anybody has."""
        while True:
            token = secrets.token_hex(TOKEN // 2)
            others = [interim_name(name, token) for name in names]
            if not any(os.path.lexists(self._target / other) for other in others):
                return others

    def _prepared(self, order: SwapJournal) -> SwapJournal:
        """Give what will be public its mode and owner, make it durable, and keep what it takes the place of."""
        lead = order.names[-1]
        leads = [lead, order.first] if order.first else []
        for name in dict.fromkeys([*order.fresh, *order.interim, *order.beside, *leads]):
            self._prepare(name, self._target / (lead if name == order.first else name))
        for name in [*order.beside, *([lead] if order.first and order.led else [])]:
            link_or_copy(
                self._target / name, self._path / OLD_DIRECTORY / name, self._path / OLD_DIRECTORY / ".draft"
            )
        public = [self._target / lead, *(self._path / NEW_DIRECTORY / name for name in leads)]
        return msgspec.structs.replace(order, leads=[sha256_of(file) for file in public])

    def _prepare(self, name: str, target: Path) -> None:
        staged = self._path / NEW_DIRECTORY / name
        try:
            copy_ownership(staged, target.stat())
        except FileNotFoundError:
            staged.chmod(self._rules.mode)
        sync_to_disk(staged)


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

    def commit(
        self, names: Sequence[str], stale: re.Pattern[str], beside: Sequence[str], interim: WriteInterim
    ) -> None:
        """Publish the staged files: ``names``, of which the last leads to the others, and what is ``beside``, unlisted.

        Everything else whose name is ``stale`` leaves. ``interim(name, others)`` is called when it is wanted: it
        creates another leading file of that name, which lists the children in ``others`` by their names there.
        """

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

    Files get the ``mode`` (whatever the umask is) unless they replace others, whose mode and owner they then get.
    ``settle`` and ``grace`` are seconds. A publish that was cut off by a crash is finished by the next :meth:`check` or
    :meth:`stage`; a set that was not published yet is swept away. SitemapError for a mode or a time that cannot be.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        mode: int = 0o644,
        settle: float = 1.0,
        grace: float = 3600.0,
    ) -> None:
        if not (0 <= mode <= 0o777 and mode & 0o400):
            raise SitemapError(f"the mode {mode:#o} is none for a file that its owner can read: use 0o644")
        if not (0 <= settle < float("inf") and 0 <= grace < float("inf")):
            raise SitemapError(f"settle is {settle}, grace {grace}: both are seconds, from 0 on")
        self.path = Path(path)
        self._rules = PublishOptions(mode, settle, grace)

    def check(self) -> None:
        """Create the directory and prove that it can be written to. Call it before long work, not after."""
        stage = self.stage()
        try:
            with stage.create("probe") as file:
                file.write(b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise destination_error(f"the directory {self.path} cannot be written to", error) from error
        finally:
            stage.discard()

    def stage(self) -> DirectoryStage:
        """Begin a new set, after finishing or sweeping what killed processes left."""
        with explain_errors(f"the directory {self.path} cannot be used"):
            self.path.mkdir(parents=True, exist_ok=True)
            root = self.path.resolve()
            with StageLock(root):  # so that nobody sweeps a stage that is made, but not locked yet
                recover_stages(root, self._rules)
                with contextlib.suppress(OSError):
                    remove_unlisted(root, self._rules.grace)
                return DirectoryStage(root, self._rules)
