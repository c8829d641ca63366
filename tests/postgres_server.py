"""A private PostgreSQL on a socket of its own, which can be stopped, killed, restarted and suspended."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg
import pytest

_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "log_min_messages": "fatal",
}
_numbers = count(1)


class PostgresServer:
    """``folder`` holds its data and its socket; the user ``siteatlas`` is let in without a password."""

    def __init__(self, binaries: Path, folder: Path, user: str | None) -> None:
        self.folder = folder
        self._binaries = binaries
        self._user = user
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://siteatlas@/{database}?host={self.folder}"

    def create(self) -> None:
        self._run("initdb", "-D", self.data, "-U", "siteatlas", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        lines = [f"{name} = '{value}'" for name, value in _SETTINGS.items()]
        conf = Path(self.data, "postgresql.conf")
        conf.write_text("\n".join([conf.read_text(), *lines, f"unix_socket_directories = '{self.folder}'", ""]))

    def start(self, *options: str) -> None:
        command = [str(self._binaries / "postgres"), "-D", self.data, *options]
        self._process = subprocess.Popen(command, user=self._user, cwd=self.folder, start_new_session=True)
        for _ in range(600):
            if self._process.poll() is not None:
                raise RuntimeError("PostgreSQL ended at once")
            if self._ready():
                return
            time.sleep(0.05)
        raise RuntimeError("PostgreSQL does not answer")

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        """End it: SIGINT ends the sessions, SIGQUIT is a crash."""
        if self._process is None:
            return
        self._process.send_signal(number)
        self._process.wait(30)
        self._process = None

    def restart(self, number: signal.Signals = signal.SIGINT) -> None:
        self.stop(number)
        self.start()

    def new_database(self, template: str = "template1") -> str:
        """The URL of a new database, which is empty, or a copy of a ``template`` that nobody uses now."""
        name = f"fleet{next(_numbers)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())
        return self.url(name)

    @property
    def data(self) -> str:
        return str(self.folder / "data")

    def _ready(self) -> bool:
        command = [str(self._binaries / "pg_isready"), "-q", "-h", str(self.folder), "-U", "siteatlas"]
        return subprocess.run(command, check=False).returncode == 0

    def _run(self, name: str, *words: str) -> None:
        command = [str(self._binaries / name), *words]
        subprocess.run(command, check=True, user=self._user, cwd=self.folder, stdout=subprocess.DEVNULL)


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """Run one. Skips the test when PostgreSQL is not installed."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    found = str(installed[-1]) if installed else shutil.which("postgres")
    if found is None:
        if os.environ.get("SITEATLAS_REQUIRE_ALL"):
            pytest.fail("PostgreSQL is not installed, and SITEATLAS_REQUIRE_ALL demands it")
        pytest.skip("PostgreSQL is not installed")
    user = "postgres" if os.geteuid() == 0 else None  # it refuses to run as root
    folder = Path(tempfile.mkdtemp(prefix="pg-"))  # a short path: a socket's name has at most 107 bytes
    if user:
        os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
    server = PostgresServer(Path(found).resolve().parent, folder, user)
    try:
        server.create()
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
