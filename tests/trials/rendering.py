"""Long trials of rendering: thousands of pages in the browser with level memory, and kills at random times.

``memory`` crawls a site whose pages scripts draw, and writes the memory of our processes and of the browser over time
as CSV and as a picture. ``kills`` crawls such a site again and again, and each time kills one process with SIGKILL:
ours, a parser, the driver, the browser or one of its children. Then no process may be left, and the crawl, resumed if
it was killed itself, must publish exactly the pages of the site.

::

    python -m tests.trials.rendering memory [--pages 5000] [--out FOLDER]
    python -m tests.trials.rendering kills [--kills 200] [--seed 1] [--victims driver renderer]
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil

from sitemap import read

MIB = 2**20
TURN = 1.0  # seconds between two looks at the memory
PATIENCE = 7_200.0
LINKS = 40  # of a page
LETTERS = "abcdefghiklmnoprstuw"
VICTIMS = ("ours", "ours", "parser", "driver", "browser", "renderer", "renderer", "zygote", "gpu-process")
DATA = "/data"
APP = b"""
fetch("/data" + location.pathname).then((response) => response.json()).then((page) => {
  document.title = page.title;
  document.querySelector("main").innerHTML =
    page.text + page.links.map((path) => `<a href="${path}">${path}</a> `).join("");
});
"""
SHELL = b'<!doctype html><title>Loading</title><main></main><script src="/app.js"></script>'


def path_of(number: int) -> str:
    """The path of a page; page 0 is the start."""
    return f"/page/{number}" if number else "/"


class Drawn:
    """A site of so many pages: each links to the next ones, and has its own text."""

    def __init__(self, pages: int) -> None:
        self.pages = pages
        self.url = ""

    def answer(self, path: str) -> tuple[bytes, str] | None:
        """The body and the type of a path, None for 404."""
        if path == "/app.js":
            return APP, "text/javascript"
        is_data, path = path.startswith(DATA), path.removeprefix(DATA)
        number = self._number(path)
        if number is None:
            return None
        if not is_data:
            return SHELL, "text/html; charset=utf-8"
        words = random.Random(number)
        # words of its own, or the pages would be an endless space of equal ones
        text = "".join(f"<p>{' '.join(''.join(words.choices(LETTERS, k=6)) for _ in range(60))}" for _ in range(20))
        first = number * LINKS + 1
        links = [path_of(other) for other in range(first, min(first + LINKS, self.pages))]
        return json.dumps({"title": f"Page {number}", "text": text, "links": links}).encode(), "application/json"

    def _number(self, path: str) -> int | None:
        last = path.rpartition("/")[2]
        number = int(last) if path.startswith("/page/") and last.isdigit() else 0 if path == "/" else -1
        return number if 0 <= number < self.pages else None

    def missing(self, folder: Path) -> set[str]:
        """The pages that the published sitemap lacks, or has without being pages."""
        listed = {entry.loc for entry in read(folder / "out" / "sitemap.xml")}
        return listed ^ {f"{self.url}{path_of(number)[1:]}" for number in range(self.pages)}


@contextmanager
def served(pages: int) -> Iterator[Drawn]:
    """Serve such a site on the loopback address."""
    site = Drawn(pages)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body, kind = site.answer(self.path) or (b"not here", "text/plain")
            self.send_response(404 if kind == "text/plain" else 200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site.url = f"http://127.0.0.1:{server.server_address[1]}/"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield site
        server.shutdown()


class Family:
    """A running crawl that renders every page, and all processes that it has had."""

    def __init__(self, site: Drawn, folder: Path) -> None:
        sandbox = ["--set=render.sandbox=false"] if os.geteuid() == 0 else []
        limits = ["--rate", "0", "-c", "8", "--set=parse.processes=1", "--set=output.swap_delay=0"]
        words = ["crawl", site.url, "-v", "-o", "out", *limits, "--render", "always", *sandbox]
        environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
        with (folder / "log").open("ab") as log:
            self.popen = subprocess.Popen(
                [sys.executable, "-m", "crawler", *words], cwd=folder, stdout=log, stderr=log, env=environment
            )
        self._root = psutil.Process(self.popen.pid)
        self._seen: set[psutil.Process] = {self._root}

    def look(self) -> list[psutil.Process]:
        """The processes that run now, and remember them: a process whose parent is gone is found by this alone."""
        for process in [*self._seen]:
            with suppress(psutil.Error):
                self._seen.update(process.children(recursive=True))
        self._seen = {process for process in self._seen if process.is_running() and process.status() != "zombie"}
        return [*self._seen]

    def wait(self, seconds: float) -> int:
        """Look all the time until the crawl ends; its exit code. Raises TimeoutExpired."""
        deadline = time.monotonic() + seconds
        while self.popen.poll() is None:
            with suppress(psutil.Error):
                self.look()
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("siteatlas", seconds)
            time.sleep(0.05)
        return self.popen.returncode

    def left_over(self) -> str:
        """The processes that are still there ten seconds after the end."""
        for _ in range(50):
            with suppress(psutil.Error):
                if not (left := self.look()):
                    return ""
            time.sleep(0.2)
        return f"left over: {[(each.pid, kind_of(each)) for each in left]}"


def kind_of(process: psutil.Process) -> str:
    """What a process is: ours, a parser, the driver, the browser, or a child of the browser by its type."""
    words = process.cmdline() or [""]  # of one that ends now
    line = " ".join(words)
    if "crawler.parse.worker" in line:
        return "parser"
    if "-m crawler crawl" in line:
        return "ours"
    if "--type=" in line:
        return next(word for word in line.split() if word.startswith("--type=")).removeprefix("--type=")
    return "driver" if "node" in words[0].rpartition("/")[2] else "browser"


def memory(pages: int, out: Path) -> bool:
    """Render so many pages; the memory over time is written to ``memory.csv`` and ``memory.svg``."""
    out.mkdir(parents=True, exist_ok=True)
    samples: list[tuple[float, float, float]] = []  # seconds, MiB of ours, MiB of the browser and its driver
    with tempfile.TemporaryDirectory() as name, served(pages) as site:
        folder, began = Path(name), time.monotonic()
        family = Family(site, folder)
        while family.popen.poll() is None and time.monotonic() - began < PATIENCE:
            time.sleep(TURN)
            sums: Counter[bool] = Counter()
            for process in family.look():
                with suppress(psutil.Error):
                    sums[kind_of(process) in {"ours", "parser"}] += process.memory_full_info().pss
            samples.append((time.monotonic() - began, sums[True] / MIB, sums[False] / MIB))
        print((folder / "log").read_text())
        is_right = family.wait(1) == 0 and not site.missing(folder)
    rows = [f"{seconds:.0f},{ours:.1f},{browser:.1f}\n" for seconds, ours, browser in samples]
    (out / "memory.csv").write_text("".join(["seconds,ours_mib,browser_mib\n", *rows]))
    (out / "memory.svg").write_text(plot(samples))
    for share in (0.1, 0.25, 0.5, 0.75, 0.95):
        at = samples[int(share * (len(samples) - 1))]
        print(f"at {share:.0%} of the time, {at[0]:.0f} s: ours {at[1]:.0f} MiB, browser {at[2]:.0f} MiB")
    rate = pages / samples[-1][0]
    print(f"{pages:,} pages, {rate:.1f} a second; exactly the pages of the site: {is_right}; {out / 'memory.svg'}")
    return is_right


def plot(samples: list[tuple[float, float, float]]) -> str:
    """Both curves over time."""
    width, height = 800, 300
    last, most = samples[-1][0], max(max(row[1:]) for row in samples)
    lines = []
    for column, colour in ((1, "#06c"), (2, "#c60")):
        points = " ".join(f"{row[0] / last * width:.1f},{height - row[column] / most * height:.1f}" for row in samples)
        lines.append(f'<polyline fill="none" stroke="{colour}" points="{points}"/>')
    title = f"<text x='5' y='15'>ours (blue) and browser (orange), 0 to {most:.0f} MiB, {last:.0f} s</text>"
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">{"".join(lines)}{title}</svg>\n'


def kills(count: int, seed: int, victims: Sequence[str]) -> bool:
    """Kill one process in each of so many crawls; print what went wrong."""
    chance, faults, killed = random.Random(seed), 0, Counter[str]()
    for number in range(count):
        with tempfile.TemporaryDirectory() as name, served(chance.randint(10, 40)) as site:
            fault, victim = _one_kill(chance.choice(victims), chance, site, Path(name))
            killed[victim] += 1
            if fault:
                faults += 1
                print(f"kill {number} of {victim}: {fault}", flush=True)
    print(f"seed {seed}: {count} kills ({dict(killed.most_common())}), {faults} with a fault")
    return not faults


def _one_kill(wanted: str, chance: random.Random, site: Drawn, folder: Path) -> tuple[str, str]:
    """What went wrong, or "", and what was killed."""
    family = Family(site, folder)
    victim = "nothing"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not _has(family, wanted):
        time.sleep(0.05)
    time.sleep(chance.uniform(0.0, 2.0))
    with suppress(psutil.Error, IndexError):
        chance.choice([each for each in family.look() if kind_of(each) == wanted]).kill()
        victim = wanted
    try:
        code = family.wait(120)
    except subprocess.TimeoutExpired:
        family.popen.kill()
        return f"the crawl does not end, log: {(folder / 'log').read_text()[-3000:]}", victim
    if fault := family.left_over():
        return fault, victim
    if victim == "ours" or code == 4:
        family = Family(site, folder)
        code = family.wait(120)
    wrong = site.missing(folder) if (folder / "out" / "sitemap.xml").exists() else {"no sitemap"}
    if code or wrong:
        return f"exit code {code}, wrong: {sorted(wrong)[:3]}, log: {(folder / 'log').read_text()[-3000:]}", victim
    return family.left_over(), victim


def _has(family: Family, wanted: str) -> bool:
    """Whether a process of a kind runs by now, or the crawl is over."""
    with suppress(psutil.Error):
        return family.popen.poll() is not None or any(kind_of(each) == wanted for each in family.look())
    return False


def main() -> None:
    """Run one of the two trials."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    level = commands.add_parser("memory", help="render many pages, and watch the memory")
    level.add_argument("--pages", type=int, default=5_000)
    level.add_argument("--out", type=Path, default=Path("build/rendering"))
    ends = commands.add_parser("kills", help="kill processes at random times")
    ends.add_argument("--kills", type=int, default=200)
    ends.add_argument("--seed", type=int, default=1)
    ends.add_argument("--victims", nargs="+", choices=[*dict.fromkeys(VICTIMS)], default=VICTIMS)
    options = parser.parse_args()
    is_right = (
        memory(options.pages, options.out)
        if options.command == "memory"
        else kills(options.kills, options.seed, options.victims)
    )
    sys.exit(not is_right)


if __name__ == "__main__":
    main()
