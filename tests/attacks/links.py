"""Pages of few bytes whose links are of many: a long base, and thousands of short references to it."""

import gzip
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple

from hostile import HostileServer, answer
from hostile_crawl import peak_memory
from run import FAST

PAGES: Final = 6
STATE_BYTES_OF_PAGE: Final = 25 * 2**20
RSS_BYTES: Final = 500 * 2**20


class Cost(NamedTuple):
    """What a crawl cost: bytes of its state, the most memory of its main process, CPU seconds; and how it ended."""

    state: int
    rss: int
    cpu: float
    code: int
    error: str


def crawl(folder: Path, url: str, *words: str) -> Cost:
    """Crawl in a process of its own, whose memory is measured."""
    patience = ("--set=fetch.retries=0", "--set=parse.timeout=60")  # other processes may keep the machine busy
    command = [sys.executable, "-m", "crawler", "crawl", url, "-o", "out", *FAST, *patience, *words]
    with (
        (folder / "errors").open("w") as errors,
        subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=errors) as process,
    ):
        memory = 0
        while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
            memory = max(memory, peak_memory(process.pid))
            time.sleep(0.02)
        process.returncode = os.waitstatus_to_exitcode(ended[1])
    state = sum(path.stat().st_size for path in (folder / ".siteatlas").rglob("*") if path.is_file())
    error = (folder / "errors").read_text()[:200]
    return Cost(state, memory, ended[2].ru_utime + ended[2].ru_stime, process.returncode, error)


def page(rng: random.Random, number: int, pages: int, length: int, references: int) -> bytes:
    """One page; its own links to the others are complete."""
    kinds = (
        '<link rel=alternate hreflang=en-{:03} href="a{}">',
        '<a href="b{1}">x</a>',
        '<a href="?c={1}">x</a>',
        '<img src="d{1}.jpg">',
        '<iframe src="e{1}"></iframe>',
    )
    kind = rng.choice(kinds)
    body = "".join(kind.format(n % 1000, f"{number}-{n}") for n in range(references))
    others = "".join(f'<a href="http://{{host}}/{n}">{n}</a>' for n in range(pages))
    return f"<!doctype html><base href='/{'y' * length}/'><title>{number}</title>{others}{body}".encode()


def attack(seed: int, pages: int = PAGES) -> str | None:
    """Crawl a site of such pages."""
    rng = random.Random(seed)
    length, references = rng.choice((100, 1_900, 8_000, 60_000)), rng.choice((1_000, 20_000))
    with HostileServer() as server, tempfile.TemporaryDirectory() as folder:
        host = server.origin().partition("://")[2].encode()
        for number in range(pages):
            body = gzip.compress(page(rng, number, pages, length, references).replace(b"{host}", host))
            script = answer(body, "Content-Type: text/html", "Content-Encoding: gzip")
            server.route(f"/{number}", script)
            if number == 0:
                server.route("/", script)
        cost = crawl(Path(folder), server.url(), "--max-pages", str(3 * pages))
    shown = f"a base of {length:,} characters, {references:,} references"
    if cost.code not in (0, 3, 4):
        return f"{shown}: exit code {cost.code}: {cost.error}"
    if cost.state > pages * STATE_BYTES_OF_PAGE:
        return f"{shown}: {cost.state / 2**20:.0f} MiB of state"
    return f"{shown}: {cost.rss / 2**20:.0f} MiB of memory" if cost.rss > RSS_BYTES else None


def small_attack(seed: int) -> str | None:
    return attack(seed, 2)
