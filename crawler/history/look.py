"""Reading the history of a schedule: for whoever only looks, and for the daemon itself."""

import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from crawler.attempt import Attempt, Because
from crawler.history.schema import HISTORY, LOCK, WHAT
from crawler.state.database import is_kept, storage
from crawler.state.lock import holder
from crawler.state.runs import Fate

COLUMNS: Final = Attempt.__struct_fields__
_SELECT: Final = f"SELECT {', '.join(COLUMNS)} FROM attempt"  # noqa: S608 - names of our own


class Look:
    """The history in a directory, opened for reading while entered; there may be none yet.

    Raises UsageError on entering for one that a newer version wrote; every method raises StorageError.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._db: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        path = self.directory / HISTORY.file
        self._db = HISTORY.look(path) if is_kept(path) else None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def holder(self) -> str:
        """The daemon that keeps this history, by its process id or as "unknown"; "" when there is none."""
        return holder(self.directory, LOCK)

    def handled(self, site: str) -> float | None:
        """Up to when (Unix time) the slots of a site are handled; None for a site that was never seen."""
        rows = self._rows("SELECT handled FROM site WHERE name = ?", site)
        return float(rows[0][0]) if rows else None

    def attempts(self, site: str, limit: int) -> list[Attempt]:
        """The last attempts of a site, the newest first; the one that is going on is one of them."""
        return [
            _attempt(row)
            for row in self._rows(f"{_SELECT} WHERE site = ? ORDER BY number DESC LIMIT ?", site, limit)
        ]

    def since_done(self, site: str) -> list[Attempt]:
        """The attempts of a site from its last run that was done, the oldest first: what its standing follows from."""
        last = "SELECT max(number) FROM attempt WHERE site = ?1 AND fate = ?2 AND because <> ?3"
        return [
            _attempt(row)
            for row in self._rows(
                f"{_SELECT} WHERE site = ?1 AND number >= coalesce(({last}), 0) ORDER BY number",
                site,
                Fate.DONE,
                Because.TELL,
            )
        ]

    def _rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        if self._db is None:
            return []
        with storage(WHAT):
            return self._db.execute(statement, values).fetchall()


def _attempt(row: tuple[Any, ...]) -> Attempt:
    found = dict(zip(COLUMNS, row, strict=True))
    found["because"] = Because(found["because"])
    found["fate"] = None if found["fate"] is None else Fate(found["fate"])
    found["untold"] = bool(found["untold"])
    return Attempt(**found)
