"""How long pages have been lost for the same cause: an explicit one is believed when it has stood long enough.

The table ``held`` has a row for each published page that the last judged run lost: the cause, and since when. A page
that is found again, or is lost for another cause, begins anew. A page that only failed keeps its row.
"""

import sqlite3
from typing import Final

from msgspec import Struct

from crawler.model import State
from crawler.publish.gate import EXPLICIT
from crawler.state.database import storage_errors

_DAY: Final = 86_400.0
_JITTER: Final = 3_600.0  # seconds by which a nightly run may begin earlier than the night before

CAUSE_SQL: Final = (
    f"(coalesce(v.state, '{State.UNLINKED}') || ' ' || coalesce(v.status, '') || ' ' || coalesce(v.target, ''))"
)
"""The cause for which a page, with the alias ``v`` of its visit, is lost."""

LOST_SQL: Final = """published p JOIN url u ON u.id = p.id LEFT JOIN visit v ON v.id = p.id
  LEFT JOIN listing l ON l.id = p.id"""
"""The published pages; those where ``coalesce(l.kept, 2) = 2`` are lost."""

_EXPLICIT_SQL: Final = " OR ".join(
    f"(v.state = '{state.value}' AND v.status = {status})" for state, status in sorted(EXPLICIT)
)
_SELECT_ACCEPTED: Final = f"""SELECT p.id FROM {LOST_SQL} JOIN held h ON h.id = p.id AND h.cause = {CAUSE_SQL}
  WHERE l.id IS NULL AND ({_EXPLICIT_SQL}) AND h.runs + 1 >= :after AND :now - h.since >= :after * {_DAY} - {_JITTER}"""  # noqa: S608

_RECORD: Final = (
    f"""DELETE FROM held WHERE id NOT IN (SELECT id FROM published) OR id IN (SELECT p.id FROM {LOST_SQL}
  JOIN held h ON h.id = p.id WHERE l.kept = 0 OR (coalesce(l.kept, 2) = 2 AND h.cause != {CAUSE_SQL}))""",  # noqa: S608
    f"""INSERT INTO held (id, cause, since, runs)
  SELECT p.id, {CAUSE_SQL}, :now, 1 FROM {LOST_SQL} WHERE coalesce(l.kept, 2) = 2
  ON CONFLICT (id) DO UPDATE SET runs = held.runs + 1""",  # noqa: S608
)


class AcceptAfter(Struct, frozen=True):
    """When an explicit cause is believed: after ``runs`` in a row and as many days (0: never). ``now``: Unix time."""

    runs: int
    now: float


def accepted(db: sqlite3.Connection, after: AcceptAfter) -> list[tuple[int]]:
    """The ids of the lost pages whose explicit cause has stood long enough. Raises StorageError."""
    if not after.runs:
        return []
    with storage_errors():
        return db.execute(_SELECT_ACCEPTED, {"after": after.runs, "now": after.now}).fetchall()


def record_losses(db: sqlite3.Connection, now: float) -> None:
    """Record what a run that started ``now`` (Unix time) would lose, from the tables ``listing`` and ``published``.

    To be called once in a judged run, before the listing becomes the published set. Part of the caller's transaction.
    Raises StorageError.
    """
    with storage_errors():
        for statement in _RECORD:
            db.execute(statement, {"now": now})
