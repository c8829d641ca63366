"""The benchmark of runs that ask only for what is due: a made state of a million pages, one hundredth asked.

::

    python -m tests.benchmarks.recheck [--pages 1000000] [--days 100] [--changed 20] [--runs 2]

A site of one section is crawled twice. Then its state gets as many copies of the section as make ``--pages`` pages.
Each run asks for the start page, the page of each section, and what the rotation brings. Of these, ``--changed`` in
10,000 have changed. ``--keep DIR`` leaves the state there, and goes on with it the next time.
"""

import argparse
import asyncio
import re
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random

from crawler.crawl.due import DAY
from crawler.crawl.frontier.storage import pack_links, unpack_links
from crawler.model import DiscoveredBy
from tests.benchmarks.measure import MIB, Cost, measure
from tests.madesite import prose

SECTION = 1_000  # pages of a section, the page that lists them included
FIRST = "s00000"  # as long as the name of any other section
CONFIG = """
site = {{url = "{url}"}}
output = {{directory = "out", swap_delay = 0}}
pace = {{rate = 0, concurrency = 32}}
fetch = {{recheck_within = {days}}}
state = {{directory = "state", max_size = "1024G"}}
render = {{mode = "never"}}
notify = {{check_live = false}}
"""
_TIMES = ("run", "started"), ("run", "ended"), ("asked", "at"), ("memory", "seen_at"), ("visit", "seen_at")


class MadeSite(asyncio.Protocol):
    """One connection to the site. A page that has not changed is always 304; ``changed`` are in 10,000 pages."""

    changed = 0

    def data_received(self, data: bytes) -> None:
        for head in data.split(b"\r\n\r\n")[:-1]:
            self.transport.write(self.answer(head.split(b" ", 2)[1].decode(), b"if-none-match" in head.lower()))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self.transport = transport

    def answer(self, path: str, is_known: bool) -> bytes:
        """The response for a path."""
        is_changed = Random(path).randrange(10_000) < self.changed
        if is_known and not is_changed:
            return b"HTTP/1.1 304 Not Modified\r\n\r\n"
        body = page(path, is_changed) if re.fullmatch(r"/(s\d{5}/(p\d{3})?)?", path) else b""
        status = b"200 OK" if body else b"404 Not Found"
        head = b'HTTP/1.1 %s\r\nETag: "1"\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n'
        return head % (status, len(body)) + body


def page(path: str, is_changed: bool) -> bytes:
    """The markup of a page: the start page and that of a section list others."""
    names = [f"/{FIRST}/"] if path == "/" else [f"{path}p{n:03}" for n in range(1, SECTION)] if path[-1] == "/" else []
    listed = "".join(f"<li><a href={name}>{name}</a>" for name in names)
    own = "".join(f"<p>{prose(Random(f'{path[7:]} {n}'), 40)}</p>" for n in range(5 + is_changed))
    return f"<!doctype html><title>Page {path}</title><a href=/>Home</a><ul>{listed}</ul>{own}".encode()


@contextmanager
def serving(port: int = 0) -> Iterator[str]:
    """Serve the site; answers its URL."""
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(loop.create_server(MadeSite, "127.0.0.1", port))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()


def multiply(db: sqlite3.Connection, copies: int, days: int) -> None:
    """Copy the first section and what is known of it; each page was asked at another time within the bound."""
    numbers = [number for (number,) in db.execute("SELECT id FROM url WHERE url GLOB ?", (f"*/{FIRST}/*",))]
    step = max(*numbers, *db.execute("SELECT max(id) FROM content").fetchone()) + 1
    section = frozenset(numbers)

    def renamed(value: str | bytes | None, copy: int) -> str | bytes | None:
        name = f"s{copy:05}"
        if isinstance(value, bytes):
            return value.replace(FIRST.encode(), name.encode())
        return value and value.replace(FIRST, name)

    def relinked(packed: bytes, copy: int) -> bytes:
        return pack_links((n + copy * step if n in section else n, flags) for n, flags in unpack_links(packed))

    def moved(number: int | None, copy: int) -> int | None:
        return number + copy * step if number in section else number

    db.create_function("renamed", 2, renamed)
    db.create_function("relinked", 2, relinked)
    db.create_function("moved", 2, moved)
    changes = {"source": "moved({}, :n)", "content": "{} + :n * :step", "url": "renamed({}, :n)"}
    changes |= {"links": "relinked({}, :n)", "page": "renamed({}, :n)", "digest": "randomblob(length({}))"}
    contents = f"SELECT content FROM visit WHERE id IN ({', '.join(map(str, numbers))})"
    for table in ("url", "content", "visit", "memory", "published", "asked"):
        columns = [name for _, name, *_ in db.execute(f"PRAGMA table_info({table})")]
        values = [changes.get(name, "{}").format(name) for name in columns if name != "id"]
        of = contents if table == "content" else ", ".join(map(str, numbers))
        put = f"INSERT INTO {table} SELECT id + :n * :step, {', '.join(values)} FROM {table} WHERE id IN ({of})"
        db.executemany(put, ({"n": copy, "step": step} for copy in range(1, copies)))
    ((listing,),) = db.execute("SELECT id FROM url WHERE url GLOB ?", (f"*/{FIRST}/",)).fetchall()
    start = f"SELECT content FROM visit WHERE found & {DiscoveredBy.SEED}"
    ((content, links),) = db.execute(f"SELECT id, links FROM content WHERE id IN ({start})").fetchall()
    flags = dict(unpack_links(links))[listing]
    more = pack_links([*unpack_links(links), *((listing + copy * step, flags) for copy in range(1, copies))])
    db.execute("UPDATE content SET links = ? WHERE id = ?", (more, content))
    db.execute("UPDATE published SET shard = 0, file = ''")
    db.execute("UPDATE asked SET at = at - ? * (id * 2654435761 % ?)", (DAY, days - 1))


def made_state(folder: Path, pages: int, days: int) -> None:
    """Make the state in a folder that has the configuration."""
    for _ in range(2):
        run(folder)
        age(folder)
    with closing(sqlite3.connect(next(folder.glob("state/**/state.db")))) as db, db:
        multiply(db, pages // SECTION, days)


def age(folder: Path) -> None:
    """A day goes by."""
    with closing(sqlite3.connect(next(folder.glob("state/**/state.db")))) as db, db:
        for table, column in _TIMES:
            db.execute(f"UPDATE {table} SET {column} = {column} - {DAY}")


def run(folder: Path) -> Cost:
    """One run of the program."""
    command = [sys.executable, "-P", "-m", "crawler", "run", "--config", "site.toml", "-q"]
    return measure(command, folder, 3_600)


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        "python -m tests.benchmarks.recheck", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--days", type=int, default=100, help="recheck_within, with one run a day (default: 100)")
    parser.add_argument("--changed", type=int, default=20, help="of 10,000 pages (default: 20)")
    parser.add_argument("--runs", type=int, default=2, help="runs that are measured; the first makes the files anew")
    parser.add_argument("--keep", type=Path, help="a directory for the state")
    options = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        configuration = folder / "site.toml"
        is_made = configuration.exists()
        port = int(re.findall(r"127.0.0.1:(\d+)", configuration.read_text())[0]) if is_made else 0
        with serving(port) as url:
            if not is_made:
                began = time.perf_counter()
                folder.mkdir(exist_ok=True)
                configuration.write_text(CONFIG.format(url=url, days=options.days))
                made_state(folder, options.pages, options.days)
                print(f"made {options.pages:,} pages in {time.perf_counter() - began:.0f} s", flush=True)
            measured(folder, options.changed, options.runs)
    return 0


def measured(folder: Path, changed: int, runs: int) -> None:
    """Run, a day apart, and print the cost of each run."""
    MadeSite.changed = changed
    for _ in range(runs):
        cost = run(folder)
        with closing(sqlite3.connect(next(folder.glob("state/**/state.db")))) as db:
            because, fetched = db.execute("SELECT because, fetched FROM run ORDER BY number DESC").fetchone()
        spent = f"{cost.wall:.1f} s, {cost.cpu:.1f} s of CPU, {cost.peak / MIB:.0f} MiB"
        print(f"{spent}: {because} ({fetched:,} requests)", flush=True)
        age(folder)


if __name__ == "__main__":
    raise SystemExit(main())
