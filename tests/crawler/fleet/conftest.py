"""One PostgreSQL for the tests of a process, and an empty database for each test."""

from collections.abc import Iterator

import pytest
from postgres_server import PostgresServer, postgres_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def database(postgres: PostgresServer) -> str:
    """The URL of an empty database."""
    return postgres.new_database()
