"""The blocks of commands in the README and the manual: they run as written, in an empty folder, against a made site.

A proxy leads all host names to the made site, and the directories of a server (``/srv/www``) lie in the folder. A block
after ``<!-- not run: REASON -->`` is parsed only.
"""

import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer

import pytest
import trustme
from example_site.__main__ import WWW
from run import environment

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES += sorted((ROOT / "docs/setups").glob("*.md"))
REASONS = {
    "an account of Google",
    "a browser",
    "a checkout",
    "a container engine",
    "a database",
    "a package index",
    "a receiver",
    "a server of yours",
    "a repository of Git",
    "root",
}
BLOCK = re.compile(r"^(?: *<!-- not run: it needs ([^\n]*) -->\n)? *```sh\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
SERVER_DIRECTORIES = ("/srv/www", "/var/log/nginx", "/etc/siteatlas", "/var/lib/siteatlas")
HOSTS = ("www.example.com", "example.com", "docs.example.com", "staging.example.com", "blog.example.com")
SITES = """
[state]
directory = "states"
[fetch]
recheck_within = 14
[indexnow]
key = "0123456789abcdef"
[fleet]
database = "env:FLEET_DATABASE"
state_store = "s3://bucket/states"
[sites.shop.site]
url = "https://www.example.com/"
[sites.shop.output]
directory = "published/shop"
[sites.blog.site]
url = "https://blog.example.com/"
[sites.blog.output]
directory = "published/blog"
[sites.blog.schedule]
every = "1d"
"""
RUNS = "siteatlas run --config sites.toml && siteatlas crawl https://www.example.com/ -o public"
"""What a page takes for granted that has these names of commands: two runs, between which the site changes."""
KEPT = "siteatlas export -o live.sqlite; cp live.sqlite staging.sqlite; cp public/sitemap.xml old-sitemap.xml"
AFTER_RUNS = ("changes.md", "data.md", "lint.md", "listing.md", "moves.md", "notify.md", "regenerate.md")
WRAPPER = """#!/bin/bash
# Ends what serves for ever; a finding (exit code 10) is no mistake of the manual.
case $* in *'--source http'*) ;; *--source*) unset SITEATLAS_FETCH_PROXY ;; esac  # a folder needs no proxy
case $1 in schedule | explore | mcp) limit='timeout --preserve-status -s INT 6' ;; esac
$limit {python} -m crawler "$@"
code=$?
[ $code = 10 ] || exit $code
"""


@dataclass(frozen=True)
class Block:
    """Commands of a page; ``needs`` is why they cannot run here, ""."""

    page: Path
    line: int
    needs: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        yield Block(page, text.count("\n", 0, found.start()) + 1, found[1] or "", found[2])


ALL = [block for page in PAGES for block in blocks(page)]


@pytest.mark.parametrize("block", ALL, ids=str)
def test_ours_a_shell_can_read_each_block_of_commands(block: Block) -> None:
    read = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True, check=False)
    assert (read.returncode, read.stderr) == (0, "")
    assert not block.needs or block.needs in REASONS


@pytest.mark.thorough
@pytest.mark.parametrize("page", sorted({b.page for b in ALL if not b.needs}), ids=lambda page: page.name)
def test_ours_the_commands_of_a_page_run_as_written(page: Path, tmp_path: Path) -> None:
    fill(tmp_path)
    with made_web(tmp_path) as variables:
        if page.name in AFTER_RUNS:
            run(RUNS, tmp_path, variables)
            next((tmp_path / "www").glob("*.html")).unlink()
            run(f"{RUNS} && {KEPT}", tmp_path, variables)
        for block in blocks(page):
            if not block.needs:
                run(block.text, tmp_path, variables)


def run(commands: str, folder: Path, variables: dict[str, str]) -> None:
    for directory in SERVER_DIRECTORIES:
        commands = commands.replace(directory, f"{folder}{directory}")
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=folder / "work", env=environment(**variables), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, f"{commands}\n{ran.stdout}\n{ran.stderr}"


def fill(folder: Path) -> None:
    """The site, the directories of a server, and the working directory of a user with what the pages name."""
    shutil.copytree(WWW, folder / "www")
    for directory in ("/work", "/srv/www/shop", *SERVER_DIRECTORIES):
        (folder / directory[1:]).mkdir(parents=True, exist_ok=True)
    for directory in ("work", "etc/siteatlas"):
        (folder / directory / "sites.toml").write_text(SITES)
    shutil.copytree(WWW, folder / "work/build")
    (folder / "work/build/shop").rename(folder / "work/build/store")
    (folder / "work/build/_redirects").write_text("/about.html /guide/ 301\n")
    (folder / "work/changed.txt").write_text("/about.html\n")
    (folder / "work/gptbot.json").write_text('{"prefixes": [{"ipv4Prefix": "192.0.2.0/24"}]}')
    (folder / "work/urls.txt").write_text("https://www.example.com/jobs/captain.html\n")
    (folder / "work/Pages.csv").write_text("Top pages,Clicks,Impressions\nhttps://www.example.com/,3,40\n")
    log = '192.0.2.1 - - [01/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "Mozilla/5.0 Firefox/140.0"\n'
    for place in ("var/log/nginx", "work"):
        (folder / place / "access.log").write_text(log)


@contextmanager
def made_web(folder: Path) -> Iterator[dict[str, str]]:
    """The example site as every host; the variables that lead the program there."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    tls = authority.issue_cert(*HOSTS)
    (folder / "bin").mkdir()
    wrapper = folder / "bin/siteatlas"
    wrapper.write_text(WRAPPER.format(python=shlex.quote(sys.executable)))
    wrapper.chmod(0o755)
    site = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder / "www")))
    context = _server_context(tls)
    site.socket = context.wrap_socket(site.socket, server_side=True)
    proxy = _Proxy(site.server_address[1])
    for server in (site, proxy):
        threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield {
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "SITEATLAS_FETCH_PROXY": f"http://127.0.0.1:{proxy.server_address[1]}",
            "SITEATLAS_FETCH_CA_FILE": str(folder / "ca.pem"),
            "SITEATLAS_PACE_RATE": "0",
            "STAGING": "me:secret",
        }
    finally:
        for server in (site, proxy):
            server.shutdown()
            server.server_close()


class _Quiet(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass


def _server_context(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


class _Proxy(ThreadingTCPServer):
    """A proxy (RFC 9110 section 9.3.6) that leads every CONNECT to one port of this machine."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        self.port = port
        super().__init__(("127.0.0.1", 0), _Tunnel)


class _Tunnel(StreamRequestHandler):
    server: _Proxy

    def handle(self) -> None:
        if not self.rfile.readline().startswith(b"CONNECT "):
            return
        while self.rfile.readline().strip():
            pass
        with closing(socket.create_connection(("127.0.0.1", self.server.port))) as site:
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            back = threading.Thread(target=_copy, args=(site, self.connection))
            back.start()
            _copy(self.connection, site)
            back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
