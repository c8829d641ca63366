"""Writes, reads and lints a set of sitemaps, each in a process of its own, and tells what that cost.

::

    python -m tests.benchmarks.sitemap [-n 1000000] [--rounds 3] [--no-peers] [--json FILE]
    python -m tests.benchmarks.sitemap write N OUTDIR [--one-by-one]
    python -m tests.benchmarks.sitemap read INDIR [--count]
    python -m tests.benchmarks.sitemap lint INDIR

Entries have a URL and a lastmod; sitemaps are packed and have an index. Without a command everything runs in turn,
beside ultimate-sitemap-parser and the npm package ``sitemap`` where they are installed, and ratios are those within a
round. What linting costs for other kinds of entries is told by ``tests.benchmarks.sitemap_lint``.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from tests.benchmarks.measure import MIB, Cost, measure
from tests.benchmarks.sitemap import ours, peers
from tests.benchmarks.tables import spread, table

ROOT = Path(__file__).parent.parent.parent.parent
OURS = "siteatlas"
TIMEOUT = 3_600.0  # seconds for one run


@dataclass(frozen=True)
class Run:
    """One run of one command: whose it is, and whether it writes, reads or lints."""

    who: str
    task: str
    round: int
    cost: Cost


def main() -> None:
    """Do one thing, or all of them."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.sitemap",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-n", "--entries", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-peers", action="store_true", help="run ours alone")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all single runs there too")
    commands = parser.add_subparsers(dest="command")
    write = commands.add_parser("write", help="write N entries into an empty folder")
    write.add_argument("count", type=int, metavar="N")
    write.add_argument("folder", type=Path, metavar="OUTDIR")
    write.add_argument("--one-by-one", action="store_true", help="as add() does, not extend()")
    read = commands.add_parser("read", help='read the *.xml.gz of a folder and print "URLS LASTMODS"')
    read.add_argument("folder", type=Path, metavar="INDIR")
    read.add_argument("--count", action="store_true", help="count the entries, and keep none")
    lint = commands.add_parser("lint", help="lint the *.xml.gz of a folder as one set")
    lint.add_argument("folder", type=Path, metavar="INDIR")
    options = parser.parse_args()
    if options.command == "write":
        ours.write(options.count, options.folder, one_by_one=options.one_by_one)
    elif options.command == "read":
        ours.read(options.folder, keep=not options.count)
    elif options.command == "lint":
        ours.judge(options.folder)
    else:
        runs = everything(options.entries, options.rounds, with_peers=not options.no_peers)
        print(report(runs, options.entries))
        if options.json:
            told = [asdict(run) for run in runs]
            options.json.write_text(json.dumps({"entries": options.entries, "runs": told}, indent=1))


def everything(count: int, rounds: int, *, with_peers: bool) -> list[Run]:
    """All commands, one after the other, as often as asked."""
    runs = []
    for number in range(1, rounds + 1):
        with tempfile.TemporaryDirectory() as name:
            folder, theirs = Path(name) / "ours", Path(name) / "theirs"
            folder.mkdir()
            theirs.mkdir()
            itself = [sys.executable, "-m", "tests.benchmarks.sitemap"]
            tasks = [
                (OURS, "write", [*itself, "write", str(count), str(folder)]),
                (OURS, "read", [*itself, "read", "--count", str(folder)]),
                (OURS, "lint", [*itself, "lint", str(folder)]),
            ]
            for who, task, command in tasks:
                runs.append(Run(who, task, number, measure(command, ROOT, TIMEOUT)))
            for who, task, command in peers.commands(count, folder, theirs) if with_peers else ():
                runs.append(Run(who, task, number, measure(command, ROOT, TIMEOUT)))
    return runs


def report(runs: list[Run], count: int) -> str:
    """A row for each task, with ours beside the peer's, as Markdown."""
    rows = []
    for who, task in dict.fromkeys((run.who, run.task) for run in runs):
        costs = [run.cost for run in runs if (run.who, run.task) == (who, task)]
        rows.append(
            [
                f"{task}, {who}",
                f"{count / median(cost.cpu for cost in costs):,.0f}",
                f"{count / median(cost.wall for cost in costs):,.0f}",
                spread(cost.cpu for cost in costs),
                f"{max(cost.peak for cost in costs) / MIB:.0f}",
                spread(
                    run.cost.cpu / _cpu(runs, run.round, task) for run in runs if (run.who, run.task) == (who, task)
                ),
            ]
        )
    head = [f"{count:,} entries", "entries/CPU s", "entries/s", "CPU s", "peak MiB", f"CPU ÷ {OURS}"]
    lint = spread(_cpu(runs, n, "read") / _cpu(runs, n, "lint") for n in sorted({run.round for run in runs}))
    return f"{table(head, rows)}\n\nlinting is {lint} times as fast as reading (CPU)"


def _cpu(runs: list[Run], number: int, task: str) -> float:
    """What ours took in a round."""
    return next(run.cost.cpu for run in runs if (run.who, run.task, run.round) == (OURS, task, number))


if __name__ == "__main__":
    main()
