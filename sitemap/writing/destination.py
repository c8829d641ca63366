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
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Protocol

from sitemap.errors import SitemapError
from sitemap.writing.directory_stage import DirectoryStage, Interim, Rules, recover
from sitemap.writing.explain import explained, failure
from sitemap.writing.stage_lock import StageLock
from sitemap.writing.waiting import sweep


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
        self, names: Sequence[str], stale: re.Pattern[str], beside: Sequence[str], interim: Interim
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
        self._rules = Rules(mode, settle, grace)

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

    def stage(self) -> DirectoryStage:
        """Begin a new set, after finishing or sweeping what killed processes left."""
        with explained(f"the directory {self.path} cannot be used"):
            self.path.mkdir(parents=True, exist_ok=True)
            root = self.path.resolve()
            with StageLock(root):  # so that nobody sweeps a stage that is made, but not locked yet
                recover(root, self._rules)
                with contextlib.suppress(OSError):
                    sweep(root, self._rules.grace)
                return DirectoryStage(root, self._rules)
