"""The database of a fleet: connects to PostgreSQL, creates and migrates the schema, and checks its version."""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib import metadata, resources
from typing import Any, Final

import procrastinate
import psycopg
from procrastinate.exceptions import ConnectorException
from procrastinate.schema import migrations_path
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from crawler.errors import StorageError, UsageError

SCHEMA: Final = "siteatlas"
"""The PostgreSQL schema that holds the tables of a fleet, and those of Procrastinate."""
CONNECT_TIMEOUT: Final = 10.0  # seconds
# A network that was cut sends nothing, not even an end of the connection: it is noticed within this time, not within
# the 15 minutes of TCP. https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNECT-TCP-USER-TIMEOUT
_PATIENCE: Final = {"tcp_user_timeout": 10_000, "keepalives_idle": 10, "keepalives_interval": 3}
Connection = AsyncConnection[DictRow]

_OURS: Final = "siteatlas"
_QUEUE: Final = "procrastinate"


class FleetUnavailable(StorageError):
    """The database of the fleet cannot be reached, or ended the connection. A later attempt may succeed."""


class FleetDatabase:
    """An open database of a fleet. ``app`` is the Procrastinate app on the same pool of connections.

    Every method raises FleetUnavailable when PostgreSQL cannot be reached, and StorageError for what it refuses.
    """

    def __init__(self, pool: "AsyncConnectionPool[Connection]", app: procrastinate.App, place: str) -> None:
        self.app = app
        self.place = place
        self._pool = pool

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """A connection with an open transaction, which an exception rolls back. Rows are dictionaries."""
        with database_errors(self.place):
            async with self._pool.connection(CONNECT_TIMEOUT) as connection:
                yield connection

    async def rows(self, statement: str, **values: Any) -> list[dict[str, Any]]:
        """The rows of one statement, in a transaction of its own."""
        async with self.transaction() as connection:
            return await rows(connection, statement, **values)


async def rows(connection: Connection, statement: str, **values: Any) -> list[dict[str, Any]]:
    """The rows of one statement, none for one that returns nothing. ``values`` are its ``%(name)s``."""
    cursor = await connection.execute(statement.encode(), values)
    return await cursor.fetchall() if cursor.description else []


@contextmanager
def database_errors(place: str) -> Iterator[None]:
    """Turn errors of PostgreSQL into FleetUnavailable and StorageError. ``place`` names the database."""
    try:
        yield
    except (psycopg.OperationalError, PoolTimeout, ConnectorException) as error:
        raise FleetUnavailable(f"the database of the fleet ({place}) is not available: {_reason(error)}") from error
    except psycopg.Error as error:
        raise StorageError(f"the database of the fleet ({place}) refused a statement: {_reason(error)}") from error


@asynccontextmanager
async def open_fleet(url: str, *, connections: int = 4, checked: bool = True) -> AsyncIterator[FleetDatabase]:
    """Open the database of a fleet with at most so many ``connections``.

    ``url`` is a connection string of PostgreSQL: https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING.
    Unless ``checked`` is False, raises UsageError when the schema is missing or has another version than this program
    can use. Raises UsageError for a bad ``url``, FleetUnavailable.
    """
    place = database_name(url)
    # the parameters stay out of the text of errors: they may hold a password
    options: dict[str, Any] = {"options": f"-c search_path={SCHEMA}", "row_factory": dict_row}
    options |= {"application_name": "siteatlas", "connect_timeout": int(CONNECT_TIMEOUT)}
    options |= {name: value for name, value in _PATIENCE.items() if name not in conninfo_to_dict(url)}
    app = procrastinate.App(connector=procrastinate.PsycopgConnector())
    pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
        url,
        kwargs=options,
        min_size=1,
        max_size=connections,
        open=False,
        check=AsyncConnectionPool.check_connection,
        timeout=CONNECT_TIMEOUT,
    )
    try:
        with database_errors(place):
            # its error says why; that of the pool only that time is up
            await (await AsyncConnection.connect(url, **options)).close()
            await pool.open(wait=True, timeout=CONNECT_TIMEOUT)
            await app.open_async(pool)
        fleet = FleetDatabase(pool, app, place)
        if checked:
            await _check_version(fleet)
        yield fleet
    finally:
        await pool.close()


async def initialize(fleet: FleetDatabase) -> list[str]:
    """Create the schema of the fleet, or bring it up to date; returns what was done, nothing when it was up to date.

    Several processes may do so at once. Migrations only add, so that workers of the version before continue.
    """
    done = []
    async with fleet.transaction() as connection:
        await connection.execute("SELECT pg_advisory_xact_lock(hashtext('siteatlas fleet'))")
        await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}".encode())
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS migration (of text, name text, applied timestamptz DEFAULT now(), "
            "PRIMARY KEY (of, name))"
        )
        applied = {(row["of"], row["name"]) for row in await rows(connection, "SELECT of, name FROM migration")}
        _check_known(applied, fleet.place)
        if not any(of == _QUEUE for of, _ in applied):  # its schema is what its migrations add up to
            schema = fleet.app.schema_manager.get_schema()
            await connection.execute(schema)
            applied |= {(_QUEUE, name) for name in _queue_migrations()}
            await _record(connection, *((_QUEUE, name) for name in _queue_migrations()))
            done.append(f"queue of Procrastinate {metadata.version('procrastinate')}")
        for of, migrations in ((_QUEUE, _queue_migrations()), (_OURS, _migrations())):
            for name, statements in migrations.items():
                if (of, name) not in applied:
                    await connection.execute(statements.encode())
                    await _record(connection, (of, name))
                    done.append(f"{of}: {name}")
    return done


def database_name(url: str) -> str:
    """The host and name of a database, without its password. Raises UsageError for a bad connection string."""
    values: dict[str, Any] = {"dbname": "@"}
    with suppress(psycopg.ProgrammingError):  # its text repeats the address
        values = conninfo_to_dict(url)
    host = values.get("host") or "local socket"
    if "@" in f"{values.get('dbname')}{host}":  # a part of the password, which must not be shown
        raise UsageError(
            "the address of the database of the fleet is not a connection string of PostgreSQL. Write, for example, "
            "postgresql://siteatlas@db.example.com/fleet. In a password, write % as %25, / as %2F, @ as %40 and a "
            "space as %20"
        )
    return f"{values.get('dbname') or values.get('user') or 'default database'} on {host}"


async def _check_version(fleet: FleetDatabase) -> None:
    (found,) = await fleet.rows(f"SELECT to_regclass('{SCHEMA}.migration') IS NOT NULL AS is_there")
    if not found["is_there"]:
        raise UsageError(f"the database {fleet.place} has no fleet yet. Run siteatlas fleet init DATABASE once")
    applied = {(row["of"], row["name"]) for row in await fleet.rows("SELECT of, name FROM migration")}
    missing = {(_OURS, name) for name in _migrations()} - applied
    if missing:
        raise UsageError(
            f"the fleet in {fleet.place} was set up by an older version of siteatlas. Run siteatlas fleet init "
            "DATABASE with this version first. Workers of the older version may keep running"
        )
    _check_known(applied, fleet.place)


def _check_known(applied: set[tuple[str, str]], place: str) -> None:
    """Raise UsageError when a migration needs a newer program: its number is 1,000 or more over the last known one.

    Migrations in between only add what this version does not need: https://martinfowler.com/bliki/ParallelChange.html
    """
    known = max(map(_number, _migrations()))
    newest = max((_number(name) for of, name in applied if of == _OURS), default=0)
    if newest // 1000 > known // 1000:
        raise UsageError(f"the fleet in {place} needs a newer version of siteatlas. Upgrade this machine")


def _number(name: str) -> int:
    return int(re.match(r"\d+", name)[0])  # type: ignore[index]  # files of our own


def _migrations() -> dict[str, str]:
    """Our migrations by name, in their order."""
    files = sorted(resources.files("crawler.fleet").joinpath("migrations").iterdir(), key=lambda file: file.name)
    return {file.name: file.read_text("utf-8") for file in files if file.name.endswith(".sql")}


def _queue_migrations() -> dict[str, str]:
    """Those of Procrastinate: https://procrastinate.readthedocs.io/en/stable/howto/production/migrations.html"""
    return {file.name: file.read_text("utf-8") for file in sorted(migrations_path.glob("*.sql"))}


async def _record(connection: Connection, *migrations: tuple[str, str]) -> None:
    await connection.cursor().executemany("INSERT INTO migration (of, name) VALUES (%s, %s)", migrations)


def _reason(error: BaseException) -> str:
    """The first line of an error, that of its cause if it is only a wrapper."""
    cause = error.__cause__ if isinstance(error, ConnectorException) and error.__cause__ else error
    lines = str(cause).strip().splitlines()
    return lines[0].strip() if lines else type(cause).__name__
