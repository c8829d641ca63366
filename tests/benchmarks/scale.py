"""The benchmark of scale: sites of a few thousand to millions of pages, served by nginx from its configuration alone.

::

    python -m tests.benchmarks.scale [--levels 3,4,5] [--json FILE] [--rounds 2]

A site of level n is a tree: every page links to ten pages below it, down to n clicks from the start. Level 4 has
11,111 pages, level 6 has 1,111,111. Each page also has a menu of forty links, a title and a text of its own,
a Last-Modified, an ETag, and 12 KB of markup that all pages share. nginx writes the pages from the letters of their
URLs: a site takes no disk, and each of its pages is always the same.

Told are, for the first crawl and for a run of the unchanged site: pages a second, processor time a page, the memory of
all processes; then bytes of the state a page, without the markup that is kept for comparison and of that, and the time
that opening the state takes. Ratios between the levels say whether the cost of a page grows with the site.
"""

import argparse
import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

import msgspec
import pytest

from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.state.store import Resume, Store
from tests.benchmarks.measure import MIB, CommandFailed, Cost, measure
from tests.benchmarks.tables import table
from tests.madesite import prose
from tests.nginx import nginx

LETTERS = "abcdefghij"
_CHUNK = 3_500  # characters of one value in the configuration, which nginx limits to 4,096
_STATE = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
# The kept markup makes the rows of this table so large that one fills most of a page of the file: what is unused there
# is its cost too.
_MARKUP = """SELECT (SELECT coalesce(sum(length(text)), 0) FROM content)
  + (SELECT coalesce(sum(unused), 0) FROM dbstat WHERE name = 'content')"""


@dataclass(frozen=True)
class Level:
    """What a site of one level took; bytes of the state, and seconds that opening it takes."""

    level: int
    pages: int
    first: Cost
    second: Cost
    state: int
    markup: int
    opening: float

    def row(self) -> list[str]:
        """The cells of the table."""
        bare = (self.state - self.markup) / self.pages
        return [
            f"{self.pages:,}",
            *self._speed(self.first),
            *self._speed(self.second),
            f"{max(self.first.peak, self.second.peak) / MIB:.0f}",
            f"{bare:,.0f} + {self.markup / self.pages:,.0f}",
            f"{self.opening:.2f}",
        ]

    def _speed(self, cost: Cost) -> tuple[str, str]:
        return f"{self.pages / cost.wall:,.0f}", f"{1000 * cost.cpu / self.pages:.2f}"


def site(level: int) -> str:
    """The server block of nginx for a site of this level."""
    rng = Random(level)
    words = [f"<p>{prose(rng, 60)}</p>" for _ in range(32)]
    shared = "".join(words)
    chunks = [shared[start : start + _CHUNK] for start in range(0, len(shared), _CHUNK)]
    menu = "".join(f"<li><a href=/{first}{second}>{prose(rng, 2)}</a>" for first in LETTERS[:4] for second in LETTERS)
    below = "".join(f"<li><a href=/${{n}}{letter}>Part {letter} of $n</a>" for letter in LETTERS)
    sets = "".join(f"set $t{number} '{chunk}'; " for number, chunk in enumerate(chunks))
    text = "".join(f"$t{number}" for number in range(len(chunks)))
    head = "<!doctype html><html lang=en><title>Page $n</title><nav><ul>$menu</ul></nav><h1>The page $n</h1>"
    headers = (
        "default_type text/html; add_header Last-Modified 'Tue, 03 Nov 2026 10:00:00 GMT'; "
        "add_header ETag '\"$n.\"'; if ($http_if_none_match) { return 304; } "
    )
    return (
        f"access_log off; set $menu '{menu}'; {sets}"
        f"location ~ '^/(?<n>[a-j]{{0,{level - 1}}})$' {{ {headers} return 200 \"{head}<ul>{below}</ul>{text}\"; }} "
        f"location ~ '^/(?<n>[a-j]{{{level}}})$' {{ {headers} return 200 \"{head}{text}\"; }} "
        "location / { return 404; }"
    )


def pages_of(level: int) -> int:
    """The number of pages of a site of this level."""
    return sum(10**depth for depth in range(level + 1))


def run_level(level: int, rounds: int, timeout: float) -> Level:
    """Crawl a site and regenerate it; the best of the rounds by processor time. Raises CommandFailed."""
    found = [_round(level, timeout) for _ in range(rounds)]
    return min(found, key=lambda each: each.first.cpu)


def _round(level: int, timeout: float) -> Level:
    with tempfile.TemporaryDirectory(prefix="siteatlas-scale-") as name, nginx(Path(name), site(level)) as server:
        folder = Path(name)
        command = [sys.executable, "-P", "-m", "crawler", "crawl", server.url, "-o", str(folder / "out"), "-q"]
        command += ["--state", str(folder / "state"), "--rate", "0", "-c", "32", "--render", "never"]
        command += ["--set=state.max_size=1024G"]
        first, second = (measure(command, folder, timeout) for _ in range(2))
        with_state = next((folder / "state").glob("*/state.db"))
        with sqlite3.connect(with_state) as db:
            (listed,) = db.execute("SELECT count(*) FROM memory WHERE state = 'indexable'").fetchone()
            (size,), (markup,) = db.execute(_STATE).fetchone(), db.execute(_MARKUP).fetchone()
        db.close()
        if listed != pages_of(level):
            raise CommandFailed(f"{listed:,} pages of {pages_of(level):,} are listed")
        return Level(level, listed, first, second, size, markup, _opening(with_state.parent))


def _opening(state: Path) -> float:
    """Seconds that opening a state and its frontier takes."""
    started = time.perf_counter()
    with Store(state, {}, begin=Resume.ALWAYS) as store:
        SqliteFrontier(store.db, lambda _find: None, run=store.run.number)
    return time.perf_counter() - started


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark. Exit code 1 when a crawl failed, 2 without nginx."""
    parser = argparse.ArgumentParser(
        "python -m tests.benchmarks.scale", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--levels", default="3,4", help="levels of the sites, with commas (default: 3,4)")
    parser.add_argument("--rounds", type=int, default=1, help="how often each site is crawled (default: 1)")
    parser.add_argument("--timeout", type=float, default=7200.0, help="seconds for one run (default: 7200)")
    parser.add_argument("--json", type=Path, help="write all figures there too")
    options = parser.parse_args(words)
    levels = []
    try:
        for level in map(int, options.levels.split(",")):
            levels.append(run_level(level, options.rounds, options.timeout))
            print(f"level {level}: {levels[-1].first.wall:.1f} s, {levels[-1].second.wall:.1f} s", file=sys.stderr)
    except CommandFailed as error:
        print(error, file=sys.stderr)
        return 1
    except pytest.skip.Exception as error:  # how tests hear of a missing nginx
        print(error, file=sys.stderr)
        return 2
    head = ["pages", "first run: pages/s", "CPU ms/page", "second run: pages/s", "CPU ms/page", "peak RSS MiB"]
    head += ["state bytes/page + markup", "opening s"]
    print(table(head, [level.row() for level in levels]))
    if options.json:
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode([asdict(level) for level in levels])))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
