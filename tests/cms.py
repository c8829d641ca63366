"""What a content management system of Debian's packages needs to run for a test: PHP, MariaDB, nginx, and visitors."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from nginx import nginx
from run import FAST, siteatlas

HERE = Path(__file__).parent
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
_FPM = """
[global]
error_log = {run}/php.log
[www]
{user}
listen = {run}/php.sock
pm = static
pm.max_children = 4
clear_env = no
catch_workers_output = yes
"""
_FASTCGI = "include /etc/nginx/fastcgi_params; fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;"


@dataclass(frozen=True)
class Asked:
    """One visit: what is asked for, as whom and how often."""

    path: str
    agent: str
    times: int = 1
    method: str = "GET"
    host: str = ""  # the site's own


@dataclass
class Cms:
    """A running system: where it answers, under which name, and where its access log is."""

    folder: Path
    port: int
    host: str
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def log(self) -> Path:
        return self.folder / "access.log"

    def url(self, path: str) -> str:
        return f"{self.origin}{path}"

    def resolving(self) -> list[str]:
        """The options that lead siteatlas to it, by both names."""
        names = (self.host, self.host.removeprefix("www."))
        return [word for name in names for word in ("--resolve", f"{name}:{self.port}:127.0.0.1")]

    def php(self, *words: str | Path, given: str = "") -> str:
        """Run a script of PHP to its end, ``given`` its input; what it printed."""
        told = {**os.environ, **self.environment, "CMS_HOST": f"{self.host}:{self.port}"}
        return ran(["php", *map(str, words)], told, given)

    def visit(self, visits: Sequence[Asked]) -> None:
        """Ask for everything, four at a time."""
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(self._ask, visits))

    def _ask(self, visit: Asked) -> None:
        for _ in range(visit.times):
            connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
            headers = {"Host": f"{visit.host or self.host}:{self.port}", "User-Agent": visit.agent}
            body = b"x=1" if visit.method == "POST" else None
            connection.request(visit.method, visit.path, body, headers)
            connection.getresponse().read()
            connection.close()


def ran(words: Sequence[str], environment: Mapping[str, str], given: str = "") -> str:
    """What a program printed that did what it was to do."""
    run = subprocess.run(words, env=environment, input=given, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, f"{words}: {run.stdout[-2000:]}{run.stderr[-2000:]}"
    return run.stdout


LONG = 600  # seconds a command may take on a busy machine


def classes(report: dict[str, Any]) -> dict[str, list[str]]:
    """The paths that were told, by rule."""
    found: dict[str, list[str]] = {}
    for each in report["findings"]:
        parts = urlsplit(each["url"])
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        found.setdefault(each["rule"], []).append(path)
    return {rule: sorted(paths) for rule, paths in sorted(found.items())}


def audit(cms: Cms, folder: Path, start: str, *words: str) -> dict[str, Any]:
    """Audit a site from a path of it."""
    fast = (*FAST, "--set=audit.max_clicks=99", "-o", "report", "-q")
    ran = siteatlas(folder, "audit", cms.url(start), *cms.resolving(), *fast, *words, timeout=LONG)
    assert ran.code == 0, ran.err
    report: dict[str, Any] = json.loads((folder / "report" / "audit.json").read_bytes())
    return report


def needs(*paths: str) -> None:
    """Skip the test unless all of these are installed."""
    for missing in (each for each in paths if not (Path(each).exists() or shutil.which(each, path=_PATH))):
        if os.environ.get("SITEATLAS_REQUIRE_ALL"):
            pytest.fail(f"{missing} is not installed, and SITEATLAS_REQUIRE_ALL demands it")
        pytest.skip(f"{missing} is not installed")


@contextmanager
def serving(root: Path, host: str, rules: str, **environment: str) -> Iterator[Cms]:
    """A folder of PHP behind nginx. ``rules`` go into the server block; ``environment`` is what PHP is told.

    The site is made when it answers, for only then its port is known.
    """
    fpm = next(iter(sorted(Path("/usr/sbin").glob("php-fpm*"))), None)
    needs("/usr/sbin/php-fpm" if fpm is None else str(fpm), "nginx")
    with tempfile.TemporaryDirectory(prefix="siteatlas-cms-") as name, ExitStack() as stack:
        folder = Path(name)
        user = "user = root\ngroup = root" if os.geteuid() == 0 else ""
        (folder / "fpm.conf").write_text(_FPM.format(run=folder, user=user))
        words = [str(fpm), "--nodaemonize", "--fpm-config", str(folder / "fpm.conf")]
        words += ["--allow-to-run-as-root"] * (os.geteuid() == 0)
        stack.enter_context(_running(words, folder / "php.sock", environment))
        php = f"{_FASTCGI} fastcgi_pass unix:{folder}/php.sock; fastcgi_param HTTP_HOST $http_host;"
        extra = f"access_log {folder}/access.log combined; index index.php; {rules.replace('PHP;', php)}"
        server = stack.enter_context(nginx(root, extra))
        yield Cms(folder, int(server.url.rstrip("/").rpartition(":")[2]), host, environment)


@contextmanager
def mariadb() -> Iterator[Path]:
    """A database of its own in a folder of its own; its socket."""
    needs("mariadbd", "mariadb-install-db")
    with tempfile.TemporaryDirectory(prefix="siteatlas-db-") as name:
        folder, socket = Path(name), Path(name) / "db.sock"
        user = ["--user=root"] * (os.geteuid() == 0)
        made = ["mariadb-install-db", "--no-defaults", f"--datadir={folder}/data", "--skip-test-db"]
        ran([*made, *user, "--auth-root-authentication-method=normal"], os.environ)
        words = [shutil.which("mariadbd", path=_PATH) or "", "--no-defaults", f"--datadir={folder}/data"]
        words += [*user, f"--socket={socket}", "--skip-networking", f"--pid-file={folder}/db.pid"]
        with _running([*words, "--innodb-flush-log-at-trx-commit=0"], socket, {}):
            yield socket


@contextmanager
def _running(words: list[str], socket: Path, environment: dict[str, str]) -> Iterator[None]:
    with (socket.parent / f"{socket.stem}.out").open("wb") as out:
        process = subprocess.Popen(words, stdout=out, stderr=out, env={**os.environ, **environment})
        try:
            for _ in range(600):
                if socket.exists() or process.poll() is not None:
                    break
                time.sleep(0.05)
            assert socket.exists(), Path(out.name).read_text()
            yield
        finally:
            process.terminate()
            process.wait(30)
