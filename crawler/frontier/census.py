"""How many URLs stand in each state, and which origins have some waiting."""

import sqlite3
from collections.abc import Iterable, Mapping

from crawler.model import State


class Census:
    """Counts that would cost a scan of the table each time."""

    def __init__(self, db: sqlite3.Connection) -> None:
        states = db.execute("SELECT state, count(*) FROM visit GROUP BY state")
        waiting = db.execute("SELECT origin, count(*) FROM visit WHERE state = 'pending' GROUP BY origin")
        self._counts = {State(state): count for state, count in states}
        self._waiting: dict[str, int] = dict(waiting)

    @property
    def counts(self) -> Mapping[State, int]:
        """URLs in each state that has any."""
        return {state: count for state, count in self._counts.items() if count}

    @property
    def waiting(self) -> Iterable[str]:
        """The origins with pending URLs, the first known first."""
        return self._waiting

    def move(self, home: str, before: State | None, after: State) -> None:
        """A URL of an origin changed its state; None: it is new."""
        if before is not None:
            self._step(home, before, -1)
        self._step(home, after, 1)

    def _step(self, home: str, state: State, step: int) -> None:
        self._counts[state] = self._counts.get(state, 0) + step
        if state is State.PENDING:
            self._waiting[home] = self._waiting.get(home, 0) + step
            if not self._waiting[home]:
                del self._waiting[home]
