"""A private nginx on the loopback address, for tests and benchmarks that want a real server."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_CONF = """
worker_processes 1;
daemon off;
pid {run}/nginx.pid;
error_log {run}/error.log;
{user}
events {{ worker_connections 1024; }}
http {{
  include {types};
  default_type application/octet-stream;
  sendfile on; tcp_nopush on; keepalive_requests 1000000;
  client_body_temp_path {run}/t1; proxy_temp_path {run}/t2; fastcgi_temp_path {run}/t3;
  uwsgi_temp_path {run}/t4; scgi_temp_path {run}/t5;
  log_format plain '$request_uri $status $server_protocol $bytes_sent';
  access_log {run}/access.log plain;
  {http}
  server {{ listen 127.0.0.1:{port}; root {root}; index index.html; {extra} }}
}}
"""


class Server:
    """A running nginx: its URL, and what it was asked for."""

    def __init__(self, url: str, run: Path) -> None:
        self.url = url
        self._run = run

    def protocols(self) -> set[str]:
        """The versions of HTTP spoken so far."""
        return {line.split(" ")[2] for line in (self._run / "access.log").read_text().splitlines()}

    def requests(self) -> list[str]:
        """The paths asked for so far, in order."""
        return [line.split(" ")[0] for line in (self._run / "access.log").read_text().splitlines()]

    def sent(self) -> list[int]:
        """The bytes of each answer so far, its head included, in order."""
        return [int(line.split(" ")[3]) for line in (self._run / "access.log").read_text().splitlines()]


@contextmanager
def nginx(root: Path, extra: str = "", http: str = "") -> Iterator[Server]:
    """Serve a folder. ``extra`` goes into the server block, ``http`` above it. Skips the test when nginx is missing."""
    binary = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if binary is None:
        if os.environ.get("SITEATLAS_REQUIRE_ALL"):
            pytest.fail("nginx is not installed, and SITEATLAS_REQUIRE_ALL demands it")
        pytest.skip("nginx is not installed")
    with tempfile.TemporaryDirectory(prefix="siteatlas-nginx-") as folder:
        run = Path(folder)
        process, port = _started(binary, run, root, extra, http)
        try:
            yield Server(f"http://127.0.0.1:{port}/", run)
        finally:
            process.terminate()
            process.wait(10)


def _started(binary: str, run: Path, root: Path, extra: str, http: str) -> tuple["subprocess.Popen[bytes]", int]:
    """A process that answers, and its port: another one when somebody took the first before nginx could."""
    user = "user root;" if os.geteuid() == 0 else ""
    types = "/etc/nginx/mime.types"
    for _ in range(3):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        conf = _CONF.format(run=run, user=user, types=types, port=port, root=root, extra=extra, http=http)
        (run / "nginx.conf").write_text(conf)
        process = subprocess.Popen([binary, "-c", str(run / "nginx.conf"), "-e", str(run / "error.log")])
        if _answers(process, run):
            return process, port
        process.kill()
        process.wait(10)
    raise RuntimeError(f"nginx does not answer: {(run / 'error.log').read_text()}")


def _answers(process: "subprocess.Popen[bytes]", run: Path) -> bool:
    """Whether it listens, which it does when it has written its number: on the port itself another may answer."""
    for _ in range(500):
        if (run / "nginx.pid").exists():
            return True
        if process.poll() is not None:
            return False
        time.sleep(0.01)
    return False
