"""The sandbox of parser processes: what a process that an attacker has taken over cannot do, and what still works."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
import webencodings
from webencodings.labels import LABELS

from crawler.model import DocumentKind, FetchedDocument, Page, Url
from crawler.parse.html.page import ReadOptions
from crawler.parse.pool import ParsePool
from crawler.parse.protocol import LENGTH_PREFIX, ParseJob, ParserOptions, bare_environment, decode_page, encode_message
from crawler.parse.sandbox import missing_protection
from crawler.url.params import UrlParams

OPTIONS = ParserOptions(ReadOptions(), UrlParams(), 10.0, 2**30)
SECRET = "hunter2-in-the-environment"
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="Landlock and capabilities are of Linux")
WITH_LANDLOCK = pytest.mark.skipif(bool(missing_protection()), reason="this kernel has no Landlock")

# A parser that an attacker has taken over: the real program, with an attack in place of the reading of a document.
TAKEN_OVER = """
import json, os, resource, socket, subprocess, sys
from pathlib import Path
import crawler.parse.worker as worker
from crawler.model import Page
from crawler.parse import sandbox

folder = Path(sys.argv[1])

def connect(family, kind, address):
    with socket.socket(family, kind) as client:
        client.connect(address)

def become_root():
    os.setgroups([])
    os.setuid(12345)

ATTACKS = {
    "write": lambda: open(folder / "new", "w"),
    "overwrite": lambda: open(folder / "there", "w"),
    "read": lambda: open("/etc/passwd").read(),
    "list": lambda: os.listdir("/"),
    "environment of the parent": lambda: open(f"/proc/{os.getppid()}/environ").read(),
    "tcp": lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", int(sys.argv[2]))),
    "udp": lambda: connect(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 53)),
    "unix": lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, str(folder / "socket")),
    "pipe": os.pipe,
    "more files": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)),
    "run": lambda: subprocess.run(["/bin/true"], check=True),
    "exec": lambda: os.execv("/bin/true", ["true"]),
    "remove": lambda: os.unlink(folder / "there"),
    "rename": lambda: os.rename(folder / "there", folder / "away"),
    "truncate": lambda: os.truncate(folder / "there", 0),
    "link": lambda: os.symlink("/etc/passwd", folder / "link"),
    "directory": lambda: os.mkdir(folder / "made"),
    "signal": lambda: os.kill(os.getppid(), 0),
    "become root": become_root,
}

def attack(*_):
    outcomes = {}
    for name, attempt in ATTACKS.items():
        try:
            attempt()
            outcomes[name] = "done"
        except (OSError, ValueError) as error:
            outcomes[name] = type(error).__name__
    outcomes["environment"] = dict(os.environ)
    return Page(is_html=False, faults=[json.dumps(outcomes)])

if sys.argv[3] == "old kernel":
    sandbox._landlock_version = lambda: 0
    del ATTACKS["exec"]  # the other program could not open its libraries, and would end this one
worker._read = attack
worker.main()
"""
EVERYWHERE = {"write", "overwrite", "read", "list", "environment of the parent", "tcp", "udp", "unix", "pipe"}
ON_LINUX_TOO = {"more files", "become root"}


def document(body: bytes, content_type: str = "text/html", kind: DocumentKind = DocumentKind.PAGE) -> FetchedDocument:
    return FetchedDocument(Url("https://a.example/p"), content_type, [], [], "", body, kind)


def pages(program: list[str], documents: list[FetchedDocument], why_scan: str = "") -> list[Page]:
    """What a parser process makes of documents."""
    frames = [encode_message(OPTIONS), *(encode_message(ParseJob(each, 0.0, why_scan)) for each in documents)]
    ran = subprocess.run(
        [sys.executable, "-P", *program],
        input=b"".join(frames),
        env=bare_environment({**os.environ, "TOKEN": SECRET}),
        stdout=subprocess.PIPE,
        check=True,
        timeout=60,
    )
    left, found = ran.stdout, []
    while left:
        (length,) = LENGTH_PREFIX.unpack(left[: LENGTH_PREFIX.size])
        found.append(decode_page(left[LENGTH_PREFIX.size : LENGTH_PREFIX.size + length]))
        left = left[LENGTH_PREFIX.size + length :]
    return found


def linux_status(process: int) -> dict[str, str]:
    return dict(line.split(":\t") for line in Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines())


@contextmanager
def listener() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("attacked")
    found = attacked(folder)
    assert [path.name for path in folder.iterdir()] == ["there"] or missing_protection()
    return found


def attacked(folder: Path, kernel: str = "this kernel") -> dict[str, object]:
    """How each attack of a parser process ended."""
    (folder / "there").write_text("content")
    with listener() as port:
        (page,) = pages(["-c", TAKEN_OVER, str(folder), str(port), kernel], [document(b"<p>x")])
    return dict(json.loads(page.faults[0]))


def test_ours_a_parser_process_opens_no_file_and_no_socket(outcomes: dict[str, object]) -> None:
    assert {name for name in EVERYWHERE if outcomes[name] == "done"} == set()


def test_ours_a_parser_process_has_no_secret_in_its_environment(outcomes: dict[str, object]) -> None:
    assert SECRET not in json.dumps(outcomes)
    assert set(outcomes["environment"]) <= {"PYTHONHOME", "PYTHONPATH", "LD_LIBRARY_PATH", "LC_CTYPE"}  # type: ignore[call-overload]


@ON_LINUX
def test_ours_a_kernel_without_landlock_keeps_the_rest_of_the_sandbox(tmp_path: Path) -> None:
    found = attacked(tmp_path, "old kernel")
    assert {name for name in EVERYWHERE | ON_LINUX_TOO if found[name] == "done"} == set()


@ON_LINUX
def test_ours_a_parser_process_of_root_has_no_privileges(outcomes: dict[str, object]) -> None:
    assert {name for name in ON_LINUX_TOO if outcomes[name] == "done"} == set()


@WITH_LANDLOCK
def test_ours_a_parser_process_changes_nothing_by_name(outcomes: dict[str, object]) -> None:
    attacks = set(outcomes) - EVERYWHERE - ON_LINUX_TOO - {"environment", "signal"}
    assert len(attacks) == 7
    assert {name for name in attacks if outcomes[name] == "done"} == set()


@pytest.mark.anyio
async def test_ours_the_processes_of_the_pool_are_in_the_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", SECRET)
    async with ParsePool(1, OPTIONS) as pool:
        await pool.read(document(b"<p>x"))
        (process,) = (
            child for child in psutil.Process().children() if "crawler.parse.worker" in " ".join(child.cmdline())
        )
        assert SECRET not in str(process.environ())
        if sys.platform == "linux":
            assert process.rlimit(psutil.RLIMIT_NOFILE) == (0, 0)
            status = linux_status(process.pid)
            assert status["NoNewPrivs"] == "1"
            assert {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {0}


def test_ours_every_kind_of_document_is_read_in_the_sandbox() -> None:
    """Modules for rare documents are imported after the process has lost its files."""
    sitemap = (
        b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
        b'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">'
        b"<url><loc>https://a.example/1</loc><lastmod>2026-01-01</lastmod><image:image>"
        b"<image:loc>https://a.example/1.png</image:loc></image:image></url></urlset>"
    )
    readable = {
        "sitemap": (document(sitemap, "text/xml", DocumentKind.SITEMAP)),
        "broken sitemap": document(sitemap.replace(b"</lastmod>", b" & </lastmod>"), "", DocumentKind.SITEMAP),
        "index": document(
            b"<sitemapindex><sitemap><loc>https://a.example/s.xml</loc></sitemap></sitemapindex>",
            "application/xml",
            DocumentKind.SITEMAP,
        ),
        "rss": document(
            b'<rss version="2.0"><channel><item><link>https://a.example/2</link></item></channel></rss>', "text/xml"
        ),
        "atom": document(
            b'<feed xmlns="http://www.w3.org/2005/Atom"><entry><link href="https://a.example/3"/>'
            b"<updated>2026-01-01T00:00:00Z</updated></entry></feed>",
            "application/atom+xml",
        ),
        "text": document(b"https://a.example/4\nhttps://a.example/5\n", "text/plain", DocumentKind.SITEMAP),
        "references": document(b"<p>&nbsp;&hellip;&CounterClockwiseContourIntegral; <a href='/&amp;x'>"),
    }
    found = pages(["-m", "crawler.parse.worker"], list(readable.values()))
    assert [bool(page.links or page.sitemaps) for page in found] == [True] * len(readable)
    rules = "User-agent: *\nDisallow: /\u00fc*x\nSitemap: https://a.example/s.xml\n"
    robots = [document(rules.encode(codec), kind=DocumentKind.ROBOTS) for codec in ("utf-8", "utf-8-sig", "utf-16")]
    assert all(b"/%C3%BC*x" in page.robots for page in pages(["-m", "crawler.parse.worker"], robots))
    (scanned,) = pages(["-m", "crawler.parse.worker"], [document(b"<a href=/x>")], why_scan="parse.timeout")
    assert [str(url) for url, _ in scanned.links] == ["https://a.example/x"]


def test_whatwg_every_encoding_is_decoded_in_the_sandbox() -> None:
    names = sorted(set(LABELS.values()) - {"replacement", "x-user-defined"})
    bodies = [
        document(webencodings.encode("<title>hello</title><a href=/x>x</a>", name), f"text/html; charset={name}")
        for name in [*names]
    ]
    found = pages(
        ["-m", "crawler.parse.worker"], [*bodies, document(b"<a href=/x>\x80", "text/html;charset=x-user-defined")]
    )
    assert [len(page.links) for page in found] == [1] * (len(names) + 1)
