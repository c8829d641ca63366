"""The schema of a fleet in a real PostgreSQL."""

from contextlib import nullcontext

import anyio
import pytest
from postgres_server import PostgresServer

from crawler.errors import UsageError
from crawler.fleet.database import FleetUnavailable, initialize, open_fleet

pytestmark = pytest.mark.anyio


async def test_ours_init_creates_the_schema_once(empty_database: str) -> None:
    async with open_fleet(empty_database, checked=False) as fleet:
        done = await initialize(fleet)
        assert done[-1] == "siteatlas: 07_trust.sql"
        assert await initialize(fleet) == []
    async with open_fleet(empty_database) as fleet:
        assert await fleet.rows("SELECT * FROM site") == []
        assert await fleet.app.check_connection_async()


@pytest.mark.parametrize(("own", "expected"), [("", "10000"), ("&tcp_user_timeout=4000", "4000")])
async def test_ours_a_cut_network_is_noticed_within_seconds_unless_the_address_says_otherwise(
    database: str, own: str, expected: str
) -> None:
    async with open_fleet(database + own, checked=False) as fleet, fleet.transaction() as connection:
        assert connection.info.get_parameters()["tcp_user_timeout"] == expected


async def test_ours_two_may_init_at_once(empty_database: str) -> None:
    done: list[list[str]] = []

    async def init() -> None:
        async with open_fleet(empty_database, checked=False) as fleet:
            done.append(await initialize(fleet))

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(init)
    assert sorted(map(bool, done)) == [False, False, False, True]


async def test_ours_a_database_without_a_fleet_says_what_to_do(empty_database: str) -> None:
    with pytest.raises(UsageError, match="Run siteatlas fleet init DATABASE once"):
        async with open_fleet(empty_database):
            pass


async def test_ours_a_fleet_of_an_older_version_says_what_to_do(database: str) -> None:
    async with open_fleet(database, checked=False) as fleet:
        await initialize(fleet)
        await fleet.rows("DELETE FROM migration WHERE of = 'siteatlas'")
    with pytest.raises(UsageError, match=r"set up by an older version of siteatlas\. Run siteatlas fleet init"):
        async with open_fleet(database):
            pass


@pytest.mark.parametrize(("newest", "is_known"), [("03_more.sql", True), ("1000_other.sql", False)])
async def test_ours_a_newer_schema_is_used_while_it_only_adds(database: str, newest: str, is_known: bool) -> None:
    async with open_fleet(database, checked=False) as fleet:
        await initialize(fleet)
        await fleet.rows("INSERT INTO migration (of, name) VALUES ('siteatlas', %(name)s)", name=newest)
    expected = nullcontext() if is_known else pytest.raises(UsageError, match="needs a newer version")
    with expected:
        async with open_fleet(database):
            pass


@pytest.mark.parametrize("password", ["secret", "/secret", "%secret", "@secret", "se cret", "sec@ret/", "0/@secret"])
async def test_ours_a_bad_address_names_the_remedy(password: str) -> None:
    scheme = "mysql" if password == "secret" else "postgresql"
    with pytest.raises(UsageError, match="not a connection string of PostgreSQL") as raised:
        async with open_fleet(f"{scheme}://user:{password}@host/db"):
            pass
    assert "cret" not in str(raised.value)
    assert "write % as %25, / as %2F, @ as %40" in str(raised.value)


async def test_ours_a_database_that_is_away_is_named_without_its_password(postgres: PostgresServer) -> None:
    url = f"postgresql://siteatlas:secret@/nothing?host={postgres.folder}"
    with pytest.raises(FleetUnavailable, match=r"nothing on .* is not available: .*does not exist") as raised:
        async with open_fleet(url):
            pass
    assert "secret" not in str(raised.value)


@pytest.mark.thorough
async def test_ours_an_open_fleet_survives_a_restart_of_the_database(
    postgres: PostgresServer, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawler.fleet.database.CONNECT_TIMEOUT", 2.0)
    async with open_fleet(database, checked=False) as fleet:
        await initialize(fleet)
        postgres.restart()
        assert await fleet.rows("SELECT 1 AS one") == [{"one": 1}]
        postgres.stop()
        try:
            with pytest.raises(FleetUnavailable):
                with anyio.fail_after(30):
                    await fleet.rows("SELECT 1 AS one")
        finally:
            postgres.start()
        assert await fleet.rows("SELECT 1 AS one") == [{"one": 1}]
