"""Owns a set that is staged in a hidden directory inside its target, and what is left of such stages after a crash."""

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
from typing import BinaryIO, Final

import msgspec

from sitemap.errors import DestinationError
from sitemap.writing.explain import explained
from sitemap.writing.files import digest, own, same, second, sync
from sitemap.writing.naming import TOKEN, interim_name
from sitemap.writing.stage_lock import StageLock
from sitemap.writing.swap import NEW, OLD, Order, Swap
from sitemap.writing.waiting import sweep

HIDDEN: Final = ".siteatlas-"
STAGE_PREFIX: Final = HIDDEN + "stage-"
Interim = Callable[[str, Mapping[str, str]], object]


@dataclass(frozen=True, slots=True)
class Rules:
    """How files are published: the mode of new ones, and how long in seconds readers are waited for."""

    mode: int
    settle: float
    grace: float


def recover(target: Path, rules: Rules, but: Path | None = None) -> None:
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
                if swap := Swap.left(stage):
                    swap.resume(rules.settle, rules.grace)
                shutil.rmtree(stage, ignore_errors=True)


class DirectoryStage:
    """The stage of a :class:`sitemap.Directory`. It belongs to a living process as long as it is locked."""

    def __init__(self, target: Path, rules: Rules) -> None:
        self._target = target
        self._rules = rules
        self._path = target / (STAGE_PREFIX + secrets.token_hex(6))
        self._path.mkdir(mode=0o700)
        self._lock = StageLock(self._path)
        for part in (NEW, OLD):
            (self._path / part).mkdir(mode=0o700)

    def create(self, name: str) -> BinaryIO:
        """A new file of the set. Its name is one path segment, else DestinationError."""
        if name in {"", ".", ".."} or "/" in name or "\0" in name or name.startswith(HIDDEN):
            raise DestinationError(f"{name[:200]!r} cannot be the name of a file: use one plain path segment")
        with explained(f"{self._target / name} cannot be staged"):
            return (self._path / NEW / name).open("xb")

    def scratch(self) -> BinaryIO:
        """A temporary file in the stage, opened for writing and reading."""
        with explained(f"a temporary file in {self._target} cannot be made"):
            return tempfile.TemporaryFile(dir=self._path)

    def read(self, name: str) -> BinaryIO:
        """A staged file, opened for reading."""
        with explained(f"the staged {self._target / name} cannot be read back"):
            return (self._path / NEW / name).open("rb")

    def published(self, name: str) -> BinaryIO | None:
        """The file of this name in the target, opened for reading, or None when it is missing or is no plain file."""
        with explained(f"{self._target / name} cannot be read"):
            path = self._target / name
            return path.open("rb") if path.is_file() else None

    def commit(
        self,
        names: Sequence[str],
        stale: re.Pattern[str],
        beside: Sequence[str],
        interim: Interim,
    ) -> None:
        """Make the set public. On any failure the old one stays as it was, and a DestinationError tells why."""
        rules, every = self._rules, [*beside, *names]
        with explained(f"the files in {self._target} cannot be replaced"), StageLock(self._target):
            recover(self._target, rules, but=self._path)
            leaving = self._leaving(stale, every)
            changed = {name for name in every if self._differs(name)}
            if not changed:
                with contextlib.suppress(OSError):
                    sweep(self._target, rules.grace, leaving, every)
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
        if not Swap.begun(self._path):
            shutil.rmtree(self._path, ignore_errors=True)
        self._lock.release()

    def _differs(self, name: str) -> bool:
        target = self._target / name
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a directory", str(target))
        return not same(self._path / NEW / name, target)

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
    ) -> Order:
        *children, lead = names
        there = {name for name in changed if os.path.lexists(self._target / name)}
        moving = [name for name in children if name in there]
        others = dict(zip((*moving, lead), self._interim_names((*moving, lead)), strict=True))
        own_first = lead if lead in changed else ""
        return Order(
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

    def _prepared(self, order: Order) -> Order:
        """Give what will be public its mode and owner, make it durable, and keep what it takes the place of."""
        lead = order.names[-1]
        leads = [lead, order.first] if order.first else []
        for name in dict.fromkeys([*order.fresh, *order.interim, *order.beside, *leads]):
            self._prepare(name, self._target / (lead if name == order.first else name))
        for name in [*order.beside, *([lead] if order.first and order.led else [])]:
            second(self._target / name, self._path / OLD / name, self._path / OLD / ".draft")
        public = [self._target / lead, *(self._path / NEW / name for name in leads)]
        return msgspec.structs.replace(order, leads=[digest(file) for file in public])

    def _prepare(self, name: str, target: Path) -> None:
        staged = self._path / NEW / name
        try:
            own(staged, target.stat())
        except FileNotFoundError:
            staged.chmod(self._rules.mode)
        sync(staged)
