"""A crawl of a hostile site, and what can be seen of it afterwards: states, memory, time. Knows no product code."""

import contextlib
import re
import sqlite3
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

import warm
from hostile import HostileServer, Step, answer
from run import FAST, environment, listed, published

# Everything that may be waited for or kept in memory, small enough for a test. The time of the first document is also
# that of the process that reads it to start, which a busy machine takes a second for.
LIMITS = (
    *("--timeout", "3", "--set=fetch.read_timeout=1", "--set=fetch.connect_timeout=1", "--set=parse.timeout=5"),
    *(
        "--set=fetch.max_body=200K",
        "--set=fetch.max_download=1M",
        "--set=fetch.retries=1",
        "--set=output.max_failed=1",
        "-v",
    ),
)
CANARIES = ("/canary-1", "/canary-2", "/canary-3")
MOST_MEMORY = 350 * 2**20  # bytes of the largest process
HTML = "Content-Type: text/html; charset=utf-8"
XML = "Content-Type: application/xml"
TEXT = "Content-Type: text/plain"


@dataclass
class Crawled:
    """How a crawl of a hostile site went. ``ends`` has the state and the reason of every URL that became known."""

    code: int
    out: str
    err: str
    seconds: float
    memory: int
    listed: list[str]
    ends: dict[str, tuple[str, str]] = field(default_factory=dict)

    def state(self, path: str) -> str:
        """The state of a path of the site, or of an absolute URL; "" when it never became known."""
        return self.ends.get(path, ("", ""))[0]


def html(body: str = "", head: str = "") -> bytes:
    """A page."""
    return f"<!doctype html><html><head><title>t</title>{head}</head><body>{body}</body></html>".encode()


def anchors(hrefs: Iterable[str]) -> str:
    """A link to each, attribute values written as they are."""
    return "\n".join(f'<a href="{href}">x</a>' for href in hrefs)


def page(body: str = "", *headers: str, head: str = "") -> Step:
    """An answer that is a page."""
    return answer(html(body, head), HTML, *headers)


def furnish(server: HostileServer, hrefs: Iterable[str], before: str = "") -> None:
    """A start page that links to the hostile URLs first and to three innocent pages last."""
    server.route("/", page(before + anchors([*hrefs, *CANARIES])))
    for path in CANARIES:
        server.route(path, page())


def crawl_hostile(folder: Path, url: str, *words: str, limit: float = 40.0) -> Crawled:
    """Crawl to the end, which comes within ``limit`` seconds."""
    started = time.monotonic()
    line = ("crawl", url, "-o", "out", *FAST, *LIMITS, *words)
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        process = warm.begin(folder, line, environment(), out.fileno(), err.fileno())
        timer = threading.Timer(limit, process.kill)
        timer.start()
        memory = 0
        while (code := process.poll()) is None:
            memory = max(memory, *map(peak_memory, _family(process.pid)))
            time.sleep(0.02)
        timer.cancel()
    seconds = time.monotonic() - started
    told, errors = ((folder / name).read_text(errors="replace") for name in ("stdout", "stderr"))
    home = re.match(r"https?://[^/]+", url)
    assert home
    return Crawled(
        code,
        told,
        errors,
        seconds,
        memory,
        [loc.removeprefix(home[0]) for loc in listed(folder)],
        {each.removeprefix(home[0]): (state, reason) for each, state, reason in _known(folder)},
    )


def _family(pid: int) -> list[int]:
    """A process and its children, where the system tells (Linux)."""
    with contextlib.suppress(OSError):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [pid, *map(int, children)]
    return [pid]


def peak_memory(pid: int) -> int:
    """The most memory a process has had so far, in bytes; 0 when nobody knows. (Resource usage would count what
    the test process itself had when it forked.)"""
    with contextlib.suppress(OSError):
        found = re.search(r"VmHWM:\s*(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        return int(found[1]) * 1024 if found else 0
    return 0


def _known(folder: Path) -> list[tuple[str, str, str]]:
    rows: list[tuple[str, str, str]] = []
    for path in (folder / ".siteatlas").glob("*/state.db"):
        db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        rows += db.execute("SELECT url, state, reason FROM visit JOIN url USING (id)")
        db.close()
    return rows


def check(folder: Path, ran: Crawled, code: int = 0, canaries: Iterable[str] = CANARIES) -> None:
    """What holds however hostile a site is."""
    assert ran.code == code, (ran.code, ran.out[-800:], ran.err[-800:])
    assert "Traceback" not in ran.err, ran.err[-2000:]
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", ran.out + ran.err)
    assert {*canaries} <= {*ran.listed}, ran.out[:2000]
    open_ends = {url: end for url, end in ran.ends.items() if end[0] in ("pending", "internal error")}
    assert code == 4 or not open_ends, open_ends
    assert all(url.isascii() and url.isprintable() and " " not in url for url in ran.ends)
    assert ran.memory < MOST_MEMORY, f"{ran.memory:,} bytes"
    for name, body in published(folder).items():
        expat.ParserCreate().Parse(body, True)
        assert name.startswith("sitemap")
