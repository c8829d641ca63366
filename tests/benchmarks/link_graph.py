"""What the link graph costs: loading, weighing and asking it, of a state that is made for this or of a real one.

    python -m tests.benchmarks.link_graph [--pages 200000] [--links 50] [--orphans 2000] [STATE.db]

Run it alone: the peak is that of the process.
"""

import argparse
import random
import resource
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from crawler.audit.graph.load import load_graph, node_names
from crawler.audit.graph.suggestions import LinkSuggestions
from crawler.crawl.frontier.storage import pack_links
from crawler.model import DiscoveredBy, Page
from crawler.state.schema import STATE_TABLES

T = TypeVar("T")
MENU = 10  # pages that all pages link to


def make(path: Path, pages: int, links: int) -> None:
    """A site of sections: a menu, a tree that leads to every page, and links at random, half of them near by."""
    rng = random.Random(1)
    with sqlite3.connect(path) as db:
        db.executescript(STATE_TABLES)
        for number in range(1, pages + 1):
            section = number % 200
            url = "https://example.com/" + (f"s{section}/item-{number}.html" if number > 1 else "")
            targets = {*range(1, MENU + 1), *(min(pages, 2 * number + more) for more in (0, 1))}
            while len(targets) < min(links, pages):
                near = number + rng.randrange(-100, 100) if rng.random() < 0.5 else rng.randrange(pages)
                targets.add(1 + near % pages)
            page = msgspec.msgpack.encode(Page(title=f"Item {number} of {section} {rng.randrange(5000):x}"))
            db.execute("INSERT INTO url VALUES (?, ?)", (number, url))
            db.execute(
                "INSERT INTO content VALUES (?, 1, '', x'', 'text/html', ?, ?, ?, x'')",
                (number, pack_links((target, DiscoveredBy.LINK) for target in targets), page, b"t" * 500),
            )
            db.execute(
                "INSERT INTO visit (id, origin, kind, state, found, depth, status, content)"
                " VALUES (?, 'https://example.com', 0, 'indexable', ?, 0, 200, ?)",
                (number, DiscoveredBy.SEED if number == 1 else DiscoveredBy.LINK, number),
            )


def step(name: str, call: Callable[[], T]) -> T:
    """Make a step, and print what it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    took = time.process_time() - cpu
    print(f"{name:<24} {time.perf_counter() - wall:7.2f} s wall {took:7.2f} s CPU {peak:6.0f} MiB peak so far")
    return result


def main() -> None:
    """Make a state unless one is named, and go through it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("state", nargs="?", type=Path)
    parser.add_argument("--pages", type=int, default=200_000)
    parser.add_argument("--links", type=int, default=50)
    parser.add_argument("--orphans", type=int, default=2_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = asked.state or Path(folder) / "state.db"
        if not asked.state:
            make(path, asked.pages, asked.links)
        with sqlite3.connect(path) as db:
            step("nothing yet", lambda: None)
            graph = step("load", lambda: load_graph(db))
            assert graph is not None
            print(f"  {len(graph.nodes):,} URLs, {len(graph.edges):,} links, {sum(graph.pages):,} pages")
            step("weight", lambda: graph.weight)
            step("islands", lambda: graph.island)
            step("referrers of the start", lambda: graph.referrers(graph.start, 100))
            called = step("names", lambda: node_names(db))
            pages = [node for node, is_page in enumerate(graph.pages) if is_page]
            orphans = random.Random(1).sample(pages, min(asked.orphans, len(pages)))
            hubs = step("hubs, index", lambda: LinkSuggestions(graph, called.urls, called.titles))
            step(f"hubs of {len(orphans):,}", lambda: [hubs.suggest(node) for node in orphans])


if __name__ == "__main__":
    main()
