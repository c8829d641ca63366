"""Plays a history of edits, night by night, with the pure policy: what it asks for, and when it sees each edit.

A history is a JSON file, gzipped: ``pages`` are paths, ``commits`` are rows of a minute, the pages it touches, the
pages alive and whether it is a bulk edit, and ``events`` are rows of a commit, a kind (A added, M edited, D deleted, R
renamed), a page and, for R, the new page. Edits of bulk commits are left out; pages that come and go stay.

Each folder of at least eight pages has a listing page, which every run reads. So a run sees on the same night which
pages came and went.
"""

import gzip
import json
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from crawler.crawl.due import (
    DAY,
    MAX_SIGNALLED,
    MIN_PAGES,
    Cause,
    KnownPage,
    Trust,
    choose,
    groups_of,
    scattered,
    siblings,
)

MINUTES: Final = 1440
LISTED: Final = 8  # pages of a folder from which on it has a listing page
Night = tuple[list[int], list[int], list[int]]  # pages that came, went, and were edited


def load(path: Path) -> dict[str, Any]:
    """The history in a file."""
    history: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return history


def nights_of(history: dict[str, Any], *, with_bulk: bool = False) -> list[Night]:
    """What happens before each night, the first with the pages of the start."""
    nights: list[Night] = [([], [], []) for _ in range(history["days"] + 1)]
    for commit, kind, page, *new in history["events"]:
        minute, _, _, is_bulk = history["commits"][commit]
        came, went, edited = nights[min(minute // MINUTES + 1, history["days"]) if commit else 0]
        if kind == "A":
            came.append(page)
        elif kind == "D":
            went.append(page)
        elif kind == "R":
            went.append(page)
            came += new
        elif with_bulk or not is_bulk:
            edited.append(page)
    return nights


@dataclass
class Played:
    """What a policy did: requests against those of full runs, the delays of edits in days, and what is not seen yet."""

    site: str
    asked: int = 0
    full: int = 0
    whole_nights: int = 0
    nights: int = 0
    delays: list[int] = field(default_factory=list)
    open_for: int = 0
    pages: int = 0

    @property
    def share(self) -> float:
        """The share of the requests of full runs."""
        return self.asked / max(1, self.full)

    def within(self, days: int) -> float:
        """The share of the edits that were seen within so many days."""
        return sum(delay <= days for delay in self.delays) / max(1, len(self.delays))

    @property
    def longest(self) -> int:
        """The longest delay in days."""
        return max(self.delays, default=0)


class Player:
    """Plays one history. ``coverage`` is the share of the pages with a true date, 0 without a signal."""

    def __init__(self, history: dict[str, Any], days: int, coverage: float) -> None:
        self.paths = history["pages"]
        self.days = days
        draw = random.Random(history["site"])
        self.dated = {page for page in range(len(self.paths)) if draw.random() < coverage}
        self.asked: dict[int, float] = {}
        self.changed: dict[int, float] = {}
        self.unseen: dict[int, list[int]] = {}
        self.trust = Trust()
        self.result = Played(history["site"])

    def play(self, nights: list[Night]) -> Played:
        """Play all nights."""
        alive: set[int] = set()
        for night, (came, went, edited) in enumerate(nights):
            for page in edited:
                if page in alive:
                    self.unseen.setdefault(page, []).append(night)
            known = {page for page in alive if page in self.asked}
            alive |= set(came)
            gone = set(went) & alive
            alive -= gone
            hubs = self.hubs(alive)
            tonight = self.run(night, sorted(known & alive), alive)
            for page in gone:
                self.unseen.pop(page, None)
                self.asked.pop(page, None)
            if len(alive) >= MIN_PAGES:  # smaller sites are always asked for all
                self.result.nights += 1
                self.result.full += len(alive) + hubs + len(gone & known)
                self.result.asked += tonight + hubs + len(gone & known)
        self.result.pages = len(alive)
        self.result.open_for = max((len(nights) - 1 - days[0] for days in self.unseen.values()), default=0)
        return self.result

    def hubs(self, alive: set[int]) -> int:
        """The number of listing pages, with the start page."""
        folders: defaultdict[str, int] = defaultdict(int)
        for page in alive:
            folders[groups_of(self.paths[page])[0]] += 1
        return 1 + sum(count >= LISTED for count in folders.values())

    def run(self, night: int, known: list[int], alive: set[int]) -> int:
        """One run: the number of pages that it asks for."""
        now, new = night * DAY, alive.difference(known)
        signalled = {page for page in self.unseen if page in self.dated and self.asked.get(page, now) < now}
        if night < 2 or len(alive) < MIN_PAGES or len(signalled) > MAX_SIGNALLED * len(alive):
            return self.ask_all(night, alive)
        rows = (
            KnownPage(
                page, self.asked[page], self.changed.get(page, 0.0), Cause.SIGNALLED if page in signalled else None
            )
            for page in known
        )
        due = choose(rows, len(alive), now, DAY, self.days, self.trust)
        news = {page for page in due if self.ask(page, night)}
        rotated = [page for page, cause in due.items() if cause is Cause.ROTATION]
        missed = len(news.intersection(rotated))
        if self.trust.is_beyond_chance(len(rotated), missed):
            return self.ask_all(night, alive)
        for page in new:
            self.ask(page, night)
        self.trust = self.trust.after(len(news & signalled), missed, len(signalled - news), len(rotated), missed)
        return len(due) + len(new) + self.ask_siblings(night, known, due, news)

    def ask_siblings(self, night: int, known: list[int], due: dict[int, Cause], news: set[int]) -> int:
        """Ask for the pages beside those that changed: their number."""
        if self.trust.is_complete:
            news = {page for page in news if due[page] is not Cause.SIGNALLED}
        asked: dict[int, bool] = {}
        order = sorted(known, key=scattered)
        while True:
            others = ((page, self.paths[page]) for page in order if page not in due and page not in asked)
            now_due = siblings(
                (self.paths[page] for page in news), ((self.paths[page], has) for page, has in asked.items()), others
            )
            if not now_due:
                return len(asked)
            for page in now_due:
                asked[page] = self.ask(page, night)
            news = news | {page for page, has in asked.items() if has}

    def ask(self, page: int, night: int) -> bool:
        """Ask for a page: whether it changed since it was asked before."""
        days = self.unseen.pop(page, [])
        self.result.delays += [night - day for day in days]
        self.asked[page] = night * DAY
        if days:
            self.changed[page] = night * DAY
        return bool(days)

    def ask_all(self, night: int, alive: set[int]) -> int:
        """A run that asks for all pages."""
        self.result.whole_nights += len(alive) >= MIN_PAGES
        for page in alive:
            self.ask(page, night)
        return len(alive)


def play(path: Path, days: int, coverage: float, *, with_bulk: bool = False) -> Played:
    """Play the history in a file."""
    history = load(path)
    return Player(history, days, coverage).play(nights_of(history, with_bulk=with_bulk))


def play_all(directory: Path, days: int, coverage: float) -> Iterator[Played]:
    """Play all histories of a directory, without sites that are always asked for all."""
    for path in sorted(directory.glob("*.json.gz")):
        played = play(path, days, coverage)
        if played.nights:
            yield played
