"""The tables of a large crawl: how long they take to make, to make again after a few edits, and to export.

    python -m tests.benchmarks.dataset --pages 100000 --links 20

makes a state, and prints the seconds and the peak memory of each step, of all its processes together.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path

import msgspec
import psutil

from crawler.crawl.frontier.storage import pack_links
from crawler.dataset.build import open_dataset
from crawler.dataset.schema import TABLES
from crawler.dataset.write import DataFormat, write_dataset
from crawler.model import DiscoveredBy, Page, State
from crawler.parse.snapshot.snapshot import take_snapshot
from crawler.state.schema import STATE_DB


def make(folder: Path, pages: int, links: int) -> None:
    """A finished run of pages that link to others at random."""
    dice = random.Random(1)
    encode = msgspec.msgpack.Encoder().encode
    content = "INSERT INTO content (id, run, reading, digest, type, links, page, text) VALUES (?, 1, '', ?, ?, ?, ?, ?)"
    visit = "INSERT INTO visit (id, origin, kind, state, found, depth, status, trail, content, seen_at) VALUES"
    with closing(STATE_DB.open(folder / STATE_DB.file, is_durable=False)) as db:
        db.execute("BEGIN")
        db.execute("INSERT INTO run (number, started, ended, version, completeness) VALUES (1, 0, 1, '0', 'complete')")
        for number in range(1, pages + 1):
            url = f"https://www.example.com/{number % 97}/page-{number}.html"
            targets = sorted({dice.randrange(1, pages + 1) for _ in range(links)})
            items = (f'<li><a href="/{n % 97}/page-{n}.html">Page {n} of the list</a></li>' for n in targets)
            markup = f"<title>{number}</title><body><h1>{number}</h1><ul>{''.join(items)}</ul></body>"
            packed = pack_links((target, DiscoveredBy.LINK) for target in targets)
            page = encode(Page(title=f"Page {number}")), take_snapshot(markup.encode())
            trail = "1.000 get 200 2000 0.010\n"
            db.execute("INSERT INTO url VALUES (?, ?)", (number, url))
            found = DiscoveredBy.SEED if number == 1 else DiscoveredBy.LINK
            db.execute(f"{visit} (?, '', 0, ?, ?, 3, 200, ?, ?, 1)", (number, State.INDEXABLE, found, trail, number))
            db.execute(content, (number, number.to_bytes(16, "big"), "text/html", packed, *page))
        db.execute("COMMIT")


def edit(folder: Path) -> None:
    """Another run, in which the first and the last hundred pages have new content."""
    with closing(STATE_DB.open(folder / STATE_DB.file, is_durable=False)) as db:
        db.execute("BEGIN")
        columns = "run, reading, type, links, page, text"
        rows = db.execute("SELECT id FROM visit WHERE id <= 100 OR id > (SELECT max(id) FROM visit) - 100").fetchall()
        for (number,) in rows:
            content = db.execute(
                f"INSERT INTO content (digest, {columns}) SELECT x'00', {columns} FROM content WHERE id = ?", (number,)
            ).lastrowid
            db.execute("UPDATE visit SET content = ? WHERE id = ?", (content, number))
        db.execute(
            "INSERT INTO run (number, started, ended, version, completeness) "
            "SELECT max(number) + 1, max(ended) + 1, max(ended) + 2, '0', 'complete' FROM run"
        )
        db.execute("COMMIT")


def step(name: str, folder: Path, pages: int, links: int) -> None:
    """One step, in this process."""
    begun, cpu = time.perf_counter(), time.process_time()
    if name == "make":
        make(folder, pages, links)
    elif name == "edit":
        edit(folder)
    else:
        with closing(open_dataset(folder)) as db:
            if name in {"sqlite", "parquet"}:
                target = folder / ("x.sqlite" if name == "sqlite" else "parquet")
                write_dataset(db, target, DataFormat(name), list(TABLES))
    of_others = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = time.process_time() - cpu + of_others.ru_utime + of_others.ru_stime
    sys.stdout.write(json.dumps({"step": name, "seconds": time.perf_counter() - begun, "cpu": cpu}))


def watched(command: list[str]) -> tuple[bytes, int]:
    """What a command prints, and the most bytes that its processes had, of shared memory each its part."""
    peak = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE) as running:
        while running.poll() is None:
            with suppress(psutil.Error):
                first = psutil.Process(running.pid)
                peak = max(peak, sum(each.memory_full_info().pss for each in [first, *first.children(recursive=True)]))
            time.sleep(0.2)
        assert running.stdout
        assert running.returncode == 0
        return running.stdout.read(), peak


def main() -> None:
    """Run all steps, each in a process of its own."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--links", type=int, default=20)
    parser.add_argument("--step", default="")
    parser.add_argument("--folder", type=Path)
    choice = parser.parse_args()
    if choice.step:
        return step(choice.step, choice.folder, choice.pages, choice.links)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("make", "first", "sqlite", "parquet", "edit", "again"):
            words = ["--step", name, "--folder", folder, "--pages", str(choice.pages), "--links", str(choice.links)]
            said, peak = watched([sys.executable, "-m", "tests.benchmarks.dataset", *words])
            values = json.loads(said) | {"mib": peak / 2**20}
            sys.stdout.write("{step:8} {seconds:8.1f} s {cpu:8.1f} s of CPU {mib:6.0f} MiB\n".format_map(values))
            sys.stdout.flush()
    return None


if __name__ == "__main__":
    main()
