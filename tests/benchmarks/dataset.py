"""The tables of a large crawl: how long they take to make, to make again after a few edits, and to export.

    python -m tests.benchmarks.dataset --pages 100000 --links 20

makes a state, and prints the seconds and the peak memory of each step, each in a process of its own.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import msgspec

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
            db.execute(f"{visit} (?, '', 0, ?, 2, 3, 200, ?, ?, 1)", (number, State.INDEXABLE, trail, number))
            db.execute(content, (number, number.to_bytes(16, "big"), "text/html", packed, *page))
        db.execute("COMMIT")


def edit(folder: Path) -> None:
    """Another run, in which one page of a thousand has new content."""
    with closing(STATE_DB.open(folder / STATE_DB.file, is_durable=False)) as db:
        db.execute("BEGIN")
        columns = "run, reading, digest, type, links, page, text"
        rows = db.execute("SELECT id FROM visit WHERE id % 1000 = 0").fetchall()
        for (number,) in rows:
            content = db.execute(
                f"INSERT INTO content ({columns}) SELECT {columns} FROM content WHERE id = ?", (number,)
            ).lastrowid
            db.execute("UPDATE visit SET content = ? WHERE id = ?", (content, number))
        db.execute("INSERT INTO run (number, started, ended, version, completeness) VALUES (2, 2, 3, '0', 'complete')")
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
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    took = {"step": name, "seconds": time.perf_counter() - begun, "cpu": time.process_time() - cpu, "mib": peak / 1024}
    sys.stdout.write(json.dumps(took))


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
            ran = subprocess.run(
                [sys.executable, "-m", "tests.benchmarks.dataset", *words], check=True, capture_output=True, text=True
            )
            values = json.loads(ran.stdout)
            sys.stdout.write("{step:8} {seconds:8.1f} s {cpu:8.1f} s of CPU {mib:6.0f} MiB\n".format_map(values))
            sys.stdout.flush()
    return None


if __name__ == "__main__":
    main()
