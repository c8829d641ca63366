"""One PostgreSQL for the tests of a process, and a database for each test."""

from collections.abc import AsyncIterator, Iterator
from urllib.parse import urlsplit

import anyio
import pytest
from fleet_clock import DatabaseClock, clocked_fleet
from fleet_sites import START
from postgres_server import PostgresServer, postgres_server

from crawler.fleet.database import FleetDatabase, initialize, open_fleet


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def empty_database(postgres: PostgresServer) -> str:
    """The URL of an empty database."""
    return postgres.new_database()


@pytest.fixture(scope="session")
def new_fleet(postgres: PostgresServer) -> str:
    """The name of the database of a new fleet, to be copied: its tables take longer to make."""
    url = postgres.new_database()

    async def make() -> None:
        async with open_fleet(url, checked=False) as fleet:
            await initialize(fleet)

    anyio.run(make)
    return urlsplit(url).path[1:]


@pytest.fixture(scope="session")
def new_clocked_fleet(postgres: PostgresServer) -> str:
    """The same, with a clock that shows START."""
    url = postgres.new_database()

    async def make() -> None:
        async with clocked_fleet(url, START):
            pass

    anyio.run(make)
    return urlsplit(url).path[1:]


@pytest.fixture
def database(postgres: PostgresServer, new_fleet: str) -> str:
    """The URL of the database of a new fleet."""
    return postgres.new_database(new_fleet)


@pytest.fixture
async def clocked(
    postgres: PostgresServer, new_clocked_fleet: str
) -> AsyncIterator[tuple[FleetDatabase, DatabaseClock]]:
    """A fleet, and the clock of its database."""
    async with clocked_fleet(postgres.new_database(new_clocked_fleet), connections=8) as (fleet, clock):
        await clock.set(START)
        yield fleet, clock
