"""Publishes a set of files as a whole, in a directory. Independent of their content.

Guarantees at every moment, even after a kill or a power failure:

* The published set is one whole generation. A single rename of the leading file (the only file of a small set, or the
  index) switches readers from the old generation to the new one.
* A listed file exists, is complete, and belongs to the generation of its index. Changed children are first listed
  under interim names (``sitemap-3.5f2a9c1b.xml``). They get their own names ``settle`` seconds after the rename, so
  that a reader with the old index still finds the old children.
* Unchanged files are not touched. If nothing changes, nothing is written.
* Interim files, and files that left the set, stay for ``grace`` seconds; a later start or publish removes them.
* Files are plain files, each with the mode and (where permitted) the owner of the file that it replaces.
* Before a public file changes, a journal in the hidden stage states the steps. The next start completes them. An error
  before the switch restores everything; an error after it leaves the whole new generation under interim names, and the
  next start finishes it.
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
    create_file,
    destination_error,
    explain_errors,
    is_planted,
    is_same_content,
    link_or_copy,
    make_directory,
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
    """How files are published: the mode of new files, and the ``settle`` and ``grace`` times in seconds."""

    mode: int
    settle: float
    grace: float


def recover_stages(target: Path, rules: PublishOptions, own: Path | None = None) -> None:
    """Finish the publishes of killed processes, and remove their stages. The caller holds the target's lock.

    OSError if a publish can neither be finished nor undone.
    """
    for stage in sorted(target.glob(STAGE_PREFIX + "*")):
        try:
            lock = StageLock(stage, wait=False)
        except OSError:  # not a stage, or one of another user
            continue
        with lock:
            if lock.held and stage != own and not is_planted(stage):
                if swap := Swap.recover(stage):
                    swap.resume(rules.settle, rules.grace)
                shutil.rmtree(stage, ignore_errors=True)


Guard = Callable[[], None]
"""Called right before a set becomes public; what it raises stops that."""


def _allow() -> None:
    """Let every set become public."""


class DirectoryStage:
    """The stage of a :class:`sitemap.Directory`. It belongs to a live process while it is locked."""

    def __init__(self, target: Path, rules: PublishOptions, guard: Guard) -> None:
        self._target = target
        self._rules = rules
        self._guard = guard
        self._path = target / (STAGE_PREFIX + secrets.token_hex(6))
        make_directory(self._path, 0o700)
        self._lock = StageLock(self._path)
        for part in (NEW_DIRECTORY, OLD_DIRECTORY):
            make_directory(self._path / part, 0o700)

    def create(self, name: str) -> BinaryIO:
        """Create a file of the set. DestinationError if the name is not one plain path segment."""
        if name in {"", ".", ".."} or "/" in name or "\0" in name or name.startswith(HIDDEN_PREFIX):
            raise DestinationError(
                f"{name[:200]!r} cannot be the name of a file. Give a plain name without a directory"
            )
        with explain_errors(f"{self._target / name} cannot be written"):
            return create_file(self._path / NEW_DIRECTORY / name, 0o600)

    def scratch(self) -> BinaryIO:
        """A temporary file in the stage, opened for writing and reading."""
        with explain_errors(f"a temporary file in {self._target} cannot be created"):
            return tempfile.TemporaryFile(dir=self._path)

    def read(self, name: str) -> BinaryIO:
        """A staged file, opened for reading."""
        with explain_errors(f"the new {self._target / name} cannot be read back"):
            return (self._path / NEW_DIRECTORY / name).open("rb")

    def published(self, name: str) -> BinaryIO | None:
        """The file of this name in the target, opened for reading, or None if there is no such plain file."""
        with explain_errors(f"{self._target / name} cannot be read"):
            path = self._target / name
            return path.open("rb") if path.is_file() else None

    def commit(
        self, names: Sequence[str], stale: re.Pattern[str], beside: Sequence[str], interim: WriteInterim
    ) -> None:
        """Publish the set. On any failure the old set stays unchanged, and a DestinationError gives the reason."""
        rules, all_names = self._rules, [*beside, *names]
        with explain_errors(f"the files in {self._target} cannot be replaced"), StageLock(self._target):
            recover_stages(self._target, rules, own=self._path)
            leaving = self._leaving(stale, all_names)
            changed = {name for name in all_names if self._differs(name)}
            if not changed:
                with contextlib.suppress(OSError):
                    remove_unlisted(self._target, rules.grace, leaving, all_names)
                return
            journal = self._journal(names, beside, changed, leaving)
            if journal.interim:
                interim(journal.first, journal.interim)
            swap = Swap(self._path, self._prepared(journal))
            self._guard()
            swap.begin(rules.grace)
            # The new set is public. A failure from here on is not reported: the next start repeats the rest.
            with contextlib.suppress(OSError):
                swap.finish(rules.settle, rules.grace)

    def discard(self) -> None:
        """Remove the stage, unless it has a publish to finish. A later start removes what cannot be removed now."""
        if not Swap.has_journal(self._path):
            shutil.rmtree(self._path, ignore_errors=True)
        self._lock.release()

    def _differs(self, name: str) -> bool:
        target = self._target / name
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a directory", str(target))
        return not is_same_content(self._path / NEW_DIRECTORY / name, target)

    def _leaving(self, stale: re.Pattern[str], names: Sequence[str]) -> list[str]:
        """The files that leave the set, another leading file before the files that it lists."""
        stale_names = {
            entry.name
            for entry in os.scandir(self._target)
            if stale.fullmatch(entry.name) and not entry.is_dir(follow_symlinks=False)
        }
        plain = names[-1].removesuffix(".gz")
        return sorted(stale_names.difference(names), key=lambda name: (name.removesuffix(".gz") != plain, name))

    def _journal(
        self, names: Sequence[str], beside: Sequence[str], changed: Collection[str], leaving: list[str]
    ) -> SwapJournal:
        *children, lead = names
        existing = {name for name in changed if os.path.lexists(self._target / name)}
        replaced = [name for name in children if name in existing]
        interim = dict(zip((*replaced, lead), self._interim_names((*replaced, lead)), strict=True))
        own_first = lead if lead in changed else ""
        return SwapJournal(
            names=[*beside, *names],
            first=interim.pop(lead) if replaced else own_first,
            fresh=[name for name in (*beside, *children) if name in changed and name not in existing],
            interim=interim if replaced else {},
            beside=[name for name in beside if name in existing],
            leaving=leaving,
            led=os.path.lexists(self._target / lead),
        )

    def _interim_names(self, names: Sequence[str]) -> list[str]:
        """Unused interim names."""
        while True:
            token = secrets.token_hex(TOKEN // 2)
            interim = [interim_name(name, token) for name in names]
            if not any(os.path.lexists(self._target / name) for name in interim):
                return interim

    def _prepared(self, journal: SwapJournal) -> SwapJournal:
        """Set mode and owner of the files to publish, make them durable, and keep the files that they replace."""
        lead = journal.names[-1]
        leads = [lead, journal.first] if journal.first else []
        for name in dict.fromkeys([*journal.fresh, *journal.interim, *journal.beside, *leads]):
            self._prepare(name, self._target / (lead if name == journal.first else name))
        for name in [*journal.beside, *([lead] if journal.first and journal.led else [])]:
            link_or_copy(self._target / name, self._path / OLD_DIRECTORY / name, self._path / OLD_DIRECTORY / ".draft")
        public = [self._target / lead, *(self._path / NEW_DIRECTORY / name for name in leads)]
        return msgspec.structs.replace(journal, leads=[sha256_of(file) for file in public])

    def _prepare(self, name: str, target: Path) -> None:
        staged = self._path / NEW_DIRECTORY / name
        try:
            copy_ownership(staged, target.stat())
        except FileNotFoundError:
            staged.chmod(self._rules.mode)
        sync_to_disk(staged)


class Stage(Protocol):
    """A staged set of files. It is invisible before :meth:`commit` and gone after :meth:`discard`."""

    def create(self, name: str) -> BinaryIO:
        """Create a file of the set, which the caller writes and closes. :meth:`commit` makes it durable."""

    def scratch(self) -> BinaryIO:
        """A temporary file for writing and reading, outside the set."""

    def read(self, name: str) -> BinaryIO:
        """A staged file, to be checked before the commit."""

    def published(self, name: str) -> BinaryIO | None:
        """The published file of this name, opened for reading, or None if there is none."""

    def commit(
        self, names: Sequence[str], stale: re.Pattern[str], beside: Sequence[str], interim: WriteInterim
    ) -> None:
        """Publish the staged files: ``names``, the last of which lists the others, and the unlisted ``beside``.

        All other files whose names match ``stale`` leave the set. ``interim(name, others)`` is called if needed: it
        creates another leading file ``name`` that lists the children in ``others`` by their interim names.
        """

    def discard(self) -> None:
        """Discard the set. Does nothing if there is none."""


class Destination(Protocol):
    """A place for sets of files. Every failure is a DestinationError and leaves the published set unchanged."""

    def check(self) -> None:
        """Check that a set can be stored here."""

    def stage(self) -> Stage:
        """Begin a new set."""


class Directory:
    """A directory of the local file system, created if missing.

    New files get the ``mode``, regardless of the umask; a file that replaces another gets its mode and owner.
    ``settle`` and ``grace`` are seconds. ``guard`` is called right before a set becomes public, and may raise. The next
    :meth:`check` or :meth:`stage` finishes a publish that a crash interrupted, and removes a set that is not published
    yet. SitemapError for an invalid mode or time.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        mode: int = 0o644,
        settle: float = 1.0,
        grace: float = 3600.0,
        guard: Guard = _allow,
    ) -> None:
        if not (0 <= mode <= 0o777 and mode & 0o400):
            raise SitemapError(f"the mode {mode:#o} does not let the owner read the file. Use 0o644")
        if not (0 <= settle < float("inf") and 0 <= grace < float("inf")):
            raise SitemapError(f"settle ({settle}) and grace ({grace}) must be at least 0 seconds")
        self.path = Path(path)
        self._rules = PublishOptions(mode, settle, grace)
        self._guard = guard

    def check(self) -> None:
        """Create the directory and check that it is writable. Call it before long work, not after."""
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
        """Begin a new set, after finishing or removing the sets of killed processes."""
        with explain_errors(f"the directory {self.path} cannot be used"):
            make_directory(self.path)
            root = self.path.resolve()
            with StageLock(root):  # so that no other process removes a new stage before it is locked
                recover_stages(root, self._rules)
                with contextlib.suppress(OSError):
                    remove_unlisted(root, self._rules.grace)
                return DirectoryStage(root, self._rules, self._guard)


def place_of(destination: Destination, location: str) -> str:
    """Where a set is written, for messages: the directory, or the public URL of a set that is written elsewhere."""
    return f"the sitemap in {destination.path}" if isinstance(destination, Directory) else location
