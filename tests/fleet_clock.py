"""A clock for the database of a fleet, which a test sets: a day takes seconds, and no test waits.

PostgreSQL looks in ``pg_catalog`` first unless the search path names it. Here it comes last, so ``now()`` of our schema
replaces that of PostgreSQL. The time is the value of a sequence: no transaction hides it, and setting it leaves no dead
row behind.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from crawler.fleet import database
from crawler.fleet.database import FleetDatabase, initialize, open_fleet

_CLOCK = """
CREATE SEQUENCE IF NOT EXISTS siteatlas.clock;
CREATE OR REPLACE FUNCTION siteatlas.now() RETURNS timestamptz LANGUAGE sql STABLE
AS 'SELECT to_timestamp(last_value / 64::float8) FROM siteatlas.clock';
ALTER TABLE siteatlas.procrastinate_events ALTER at SET DEFAULT siteatlas.now();
ALTER TABLE siteatlas.procrastinate_workers ALTER last_heartbeat SET DEFAULT siteatlas.now();
"""


class DatabaseClock:
    """The time of the database, a Unix time, for everybody who opened it with :func:`clocked_fleet`."""

    def __init__(self, fleet: FleetDatabase, now: float) -> None:
        self._fleet = fleet
        self.now = now

    async def set(self, now: float) -> None:
        """Set the clock, also back, to the nearest 64th of a second: such a time is the same here and there."""
        self.now = round(now * 64) / 64
        await self._fleet.rows("SELECT setval('siteatlas.clock', %(ticks)s)", ticks=round(now * 64))


@asynccontextmanager
async def clocked_fleet(
    url: str, now: float | None = None, *, connections: int = 4
) -> AsyncIterator[tuple[FleetDatabase, DatabaseClock]]:
    """Open a database whose clock shows ``now``, creating both; without ``now`` the clock is there already."""
    if now is not None:
        async with open_fleet(url, checked=False) as fleet:
            await initialize(fleet)
            await fleet.rows(_CLOCK)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "SCHEMA", "siteatlas,pg_catalog")
        async with open_fleet(url, checked=False, connections=connections) as fleet:
            clock = DatabaseClock(fleet, 0.0)
            if now is not None:
                await clock.set(now)
            yield fleet, clock
