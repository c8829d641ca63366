"""Measures what it costs to keep URLs in their shards: CPU time of each pass, as a ratio to plain writing in its round.

What else the machine does changes single rounds, so the median of the ratios is told.

::

    python -m tests.benchmarks.sitemap_shards [-n 300000] [--rounds 5] [--max-urls 50000]
"""

import argparse
import tempfile
from collections.abc import Iterable
from functools import partial
from itertools import groupby
from pathlib import Path

from sitemap import Assignment, Directory, Entry, SitemapWriter, WriterOptions
from tests.benchmarks.sitemap.ours import LOCATION, entries
from tests.benchmarks.sitemap_lint import cpu
from tests.benchmarks.tables import spread

PLAIN = "plain writing"


def write(folder: Path, options: WriterOptions, shards: Iterable[tuple[int, Iterable[Entry]]]) -> None:
    """Publish entries that come shard by shard; in shard 0, the writer fills files by itself."""
    with SitemapWriter(Directory(folder), LOCATION, options) as writer:
        for number, some in shards:
            writer.extend(some, shard=number)
        writer.finish()


def place(options: WriterOptions, some: list[Entry]) -> list[int]:
    """The shards of entries that were never seen."""
    assignment = Assignment(LOCATION, options)
    return [assignment.place(entry)[1] for entry in some]


def keep(options: WriterOptions, some: list[Entry], numbers: list[int]) -> None:
    """All entries stay where they are."""
    assignment = Assignment(LOCATION, options)
    kept = sum(assignment.keep(entry, "", number) for entry, number in zip(some, numbers, strict=True))
    assert kept == len(some)
    assert not assignment.repack()


def costs(some: list[Entry], options: WriterOptions) -> dict[str, float]:
    """Seconds of CPU time of one round, by what was done."""
    numbers = place(options, some)
    pairs = groupby(zip(numbers, some, strict=True), key=lambda pair: pair[0])
    shards = ((number, (entry for _, entry in pair)) for number, pair in pairs)
    with tempfile.TemporaryDirectory() as name:
        tasks = {
            PLAIN: partial(write, Path(name) / "plain", options, [(0, some)]),
            "place, all are new": partial(place, options, some),
            "keep, none is new": partial(keep, options, some, numbers),
            "write by shard": partial(write, Path(name) / "stable", options, shards),
            "write again, nothing changed": partial(write, Path(name) / "plain", options, [(0, some)]),
        }
        return {task: cpu(work) for task, work in tasks.items()}


def main() -> None:
    """Run all passes in turn, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--entries", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--max-urls", type=int, default=50_000, help="entries in a file")
    asked = parser.parse_args()
    some = list(entries(asked.entries))
    options = WriterOptions(gzip=True, max_urls=asked.max_urls)
    rounds = [costs(some, options) for _ in range(asked.rounds)]
    for task in rounds[0]:
        each = spread(1e6 * one[task] / asked.entries for one in rounds)
        ratio = spread(one[task] / one[PLAIN] for one in rounds)
        print(f"{task:28} {each} \N{MICRO SIGN}s an entry, {ratio} of {PLAIN}")


if __name__ == "__main__":
    main()
