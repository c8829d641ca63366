"""Holds the dates that moved in each night against the edits that somebody made.

Pure.
"""

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

FIRST = 2  # the night from which dates are judged: a night later, two visits can be compared for the second time


@dataclass(frozen=True)
class Wrong:
    """A date that moved without an edit, or an edit whose date did not move."""

    night: int
    path: str
    edit: str  # "" if nobody edited the page
    shown: tuple[str, ...] = ()  # how the page differs from the night before


@dataclass
class Judge:
    """Counts. An edit is found if the date moves in its night, or until a later one where the site hides it."""

    right: int = 0
    found: Counter[str] = field(default_factory=Counter)  # the edits that are right, by what they are
    silent: int = 0  # pages in nights in which their date must stay
    open: int = 0  # dates that moved and may
    false: list[Wrong] = field(default_factory=list)
    missed: list[Wrong] = field(default_factory=list)
    _waiting: dict[str, list[tuple[int, int, str, tuple[str, ...]]]] = field(default_factory=dict)

    def night(
        self,
        night: int,
        listed: Set[str],
        moved: Set[str],
        edits: Mapping[str, tuple[int, str]],
        may: Set[str] = frozenset(),
        shown: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        """Judge a night. ``edits`` are the last night in which they may be found, and what was done."""
        shown = shown or {}
        for path, (until, what) in edits.items():
            if path in listed and night >= FIRST:
                self._waiting.setdefault(path, []).append((night, until, what, shown.get(path, ())))
        if night < FIRST:
            return
        for path in sorted(listed):
            if path in self._waiting:
                if path in moved:
                    found = self._waiting.pop(path)
                    self.right += len(found)
                    self.found.update(what.partition(":")[0] for _, _, what, _ in found)
                else:
                    self._late(path, night)
            elif path in may or path in edits:
                self.open += path in moved
            else:
                self.silent += 1
                if path in moved:
                    self.false.append(Wrong(night, path, "", shown.get(path, ())))

    def _late(self, path: str, night: int) -> None:
        """Give up the edits whose time is over."""
        late = [each for each in self._waiting[path] if each[1] <= night]
        self.missed += [Wrong(since, path, what, how) for since, _, what, how in late]
        self._waiting[path] = [each for each in self._waiting[path] if each not in late]
        if not self._waiting[path]:
            del self._waiting[path]

    def end(self, night: int) -> None:
        """Judge what still waits after the last night: what had one night more is left out."""
        for path, waiting in self._waiting.items():
            self.missed += [Wrong(since, path, what, how) for since, until, what, how in waiting if until <= night]
        self._waiting.clear()
