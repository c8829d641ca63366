"""A frontier of its own for each test, in a new database."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from frontiers import admission

from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.state.schema import STATE_DB


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = STATE_DB.open(tmp_path / "state.db")
    yield connection
    connection.close()


@pytest.fixture
def frontier(db: sqlite3.Connection) -> SqliteFrontier:
    return SqliteFrontier(db, admission)
