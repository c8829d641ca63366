"""The benchmark: our crawl beside its peers over the same real pages. Starts the commands and prints the tables."""

import argparse
import gzip
import html
import json
import os
import platform
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median

import pytest

from tests.benchmarks import commands, trees
from tests.benchmarks.commands import Command, Unavailable
from tests.benchmarks.measure import CommandFailed, measure
from tests.benchmarks.stages import Bench, Stage
from tests.benchmarks.tables import Run, comparison, ratios, stage_table
from tests.nginx import Server, nginx

ABOUT = """\
Crawls a real tree of pages, served by a private nginx on the loopback address, and tells what that cost: pages a
second, processor time by stage, and memory of all processes; beside Scrapy and beside the floor, in the same run.

    siteatlas  siteatlas crawl URL -o DIR --state DIR --fresh --rate 0 -c 32 -q: images, videos, alternates, lastmod,
               durable state, robots.txt, everything on
    scrapy     CrawlSpider and LinkExtractor, tuned: no delay, no log, optional middlewares off, links seen before
               dropped before Scrapy resolves them; collects pages and Last-Modified, writes a sitemap at the end
    floor      the same fetches and parses by the libraries that siteatlas uses, in one process, and nothing else
"""
NOTES = """\
The rounds go over all commands in turn (A B C, A B C). Ratios are taken within a round; printed are the median and,
in parentheses, the least and the most. Absolute numbers say something about one machine on one day: compare ratios.
The tree is read once before, so that it lies in memory. Wall time is from start to exit, processor time that of the
whole process tree, peak RSS the highest sum over the process tree (a look every 50 ms, shared pages counted for each
process) and the most that a single process had, both over all rounds. "Elsewhere" is what the rest of the machine
worked meanwhile: the server, and whoever disturbs.

nginx must be installed, and siteatlas with its extra "test". Scrapy is installed with pip into a virtual environment
of its own below .bench/, once; if that cannot be done, it is left out, and a line says so. Delete .bench/ to get a
newer one.

examples:
  python -m tests.benchmarks.crawl
  python -m tests.benchmarks.crawl --tree build/html --rounds 5 --peers floor --json result.json
"""


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark. Exit code 1 when a command failed, 2 when there is nothing to crawl or no server."""
    options = _options().parse_args(words)
    try:
        with tempfile.TemporaryDirectory(prefix="siteatlas-bench-") as folder:
            _benchmark(options, Path(folder))
    except (trees.NoTree, CommandFailed) as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, trees.NoTree) else 1
    except pytest.skip.Exception as error:  # how tests hear of a missing nginx
        print(error, file=sys.stderr)
        return 2
    return 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m tests.benchmarks.crawl",
        description=ABOUT,
        epilog=NOTES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    tree = "a folder of HTML with an index.html (default: the largest known documentation of a Debian package, such as"
    add("--tree", type=Path, metavar="DIR", help=f"{tree} openjdk-17-doc; else that of this Python, made on the spot)")
    add("--rounds", type=_positive, default=3, metavar="N", help="how often each command runs (default: 3)")
    peers = f"beside whom, of {','.join(commands.PEERS)}, in this order; '' for nobody (default: all)"
    add("--peers", type=_peers, default=commands.PEERS, metavar="NAMES", help=peers)
    add("-c", "--concurrency", type=_positive, default=32, metavar="N", help="requests at a time (default: 32)")
    add("--processes", type=int, default=0, metavar="N", help="our parser processes (default: what siteatlas takes)")
    sample = "pages in memory for the stages, evenly taken; 0 takes all (default: 2000)"
    add("--sample", type=int, default=2000, metavar="N", help=sample)
    add("--timeout", type=float, default=1800.0, metavar="SECONDS", help="for one run (default: 1800)")
    add("--json", type=Path, metavar="FILE", help="write all single runs and the stages there too")
    return parser


def _benchmark(options: argparse.Namespace, folder: Path) -> None:
    tree = trees.given(options.tree or trees.installed() or trees.make(_new(folder / "tree")))
    everyone = [commands.ours(options.concurrency, options.processes)]
    for name in options.peers:
        try:
            everyone.append(commands.peer(name, options.concurrency))
        except Unavailable as error:
            print(f"without {name}: {error}", file=sys.stderr)
    with nginx(tree.folder) as server:
        runs = [
            _run(command, number, server, _new(folder / f"{number}-{place}"), options.timeout)
            for number in range(1, options.rounds + 1)
            for place, command in enumerate(everyone)
        ]
        bench = Bench(server.url, _new(folder / "stages"), list(runs[0].pages), options.concurrency, options.processes)
        stages = bench.run(options.sample, rounds=3)
    stages.append(_start(everyone[0], folder, len(runs[0].pages), options.timeout))
    print(_report(tree, options, runs, stages))
    if options.json:
        found = {"tree": str(tree.folder), "files": tree.files, "bytes": tree.bytes, "machine": _machine()}
        found |= {"runs": [run.as_json() for run in runs], "stages": [asdict(stage) for stage in stages]}
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _run(command: Command, number: int, server: Server, folder: Path, timeout: float) -> Run:
    print(f"round {number}: {command.name}", file=sys.stderr)
    before = len(server.requests())
    cost = measure(command.line(server.url, folder), folder, timeout)
    pages = _listed(folder / "out" if (folder / "out").is_dir() else folder)
    if not pages:
        raise CommandFailed(f"{command.name} found no pages at {server.url}")
    return Run(command.name, number, cost, len(server.requests()) - before, pages)


def _start(command: Command, folder: Path, pages: int, timeout: float) -> Stage:
    """What a crawl takes that has next to nothing to crawl, as part of the cost of each page of the real one."""
    few = _new(folder / "few")
    links = "".join(f'<a href="{number}.html">{number}</a>' for number in range(16))  # some for each process
    for name in ("index", *range(16)):
        (few / f"{name}.html").write_text(f"<!doctype html><title>{name}</title>{links}", encoding="utf-8")
    with nginx(few) as server:
        cpu = [measure(command.line(server.url, _new(folder / f"few-{n}")), folder, timeout).cpu for n in range(3)]
    return Stage(
        "start", "a whole crawl of 17 tiny pages, spread over the pages of the real one", 1000 * min(cpu) / pages
    )


def _report(tree: trees.Tree, options: argparse.Namespace, runs: list[Run], stages: list[Stage]) -> str:
    ours = [run.cost.cpu for run in runs if run.command == commands.OURS]
    real = 1000 * median(ours) / len(runs[0].pages)
    size = f"{tree.files:,} HTML files of {tree.bytes / tree.files / 1024:.0f} KiB in {tree.folder}"
    parts = [
        f"{size}; {options.concurrency} requests at a time; rounds: {options.rounds}; {_machine()}.",
        comparison(runs),
        ratios(runs),
        stage_table(stages, real),
    ]
    return "\n\n".join(part for part in parts if part)


def _machine() -> str:
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{os.cpu_count()} processors, {platform.system()} {platform.machine()}, {python}"


def _listed(folder: Path) -> tuple[str, ...]:
    """The page URLs of the sitemaps in a folder, sorted."""
    locs: list[str] = []
    for path in folder.glob("*.xml*"):
        body = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        if b"<sitemapindex" not in body:
            locs += re.findall(r"<loc>\s*(.*?)\s*</loc>", body.decode())
    return tuple(sorted(html.unescape(loc) for loc in locs))


def _new(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def _peers(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if unknown := [name for name in names if name not in commands.PEERS]:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)} is not known; known: {', '.join(commands.PEERS)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
