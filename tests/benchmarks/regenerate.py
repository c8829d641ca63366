"""The benchmark of second runs: one run of a site, then one of the same site unchanged. Prints what the second costs.

::

    python -m tests.benchmarks.regenerate [--pages 2000 | --tree DIR] [--rounds 3] [-c 32]

A first run reads everything; a second one should cost headers only. Both are taken in one round, one after the other,
and told is the ratio within the round: of processor time (of all processes) and of bytes on the wire (answers with
their heads, as nginx counts them). Without --tree, a site is made whose pages are like those of real sites: 25 KiB,
forty links, and markup around the text. nginx must be installed, and siteatlas with its extra "test".
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import msgspec
import pytest

from tests.benchmarks import trees
from tests.benchmarks.measure import MIB, CommandFailed, Cost, measure
from tests.benchmarks.tables import spread, table
from tests.madesite import prose
from tests.nginx import Server, nginx

LINKS = 40  # on each made page
PARAGRAPHS = 120


@dataclass(frozen=True)
class Visit:
    """One run: what it cost, how many answers it got, and their bytes with their heads."""

    cost: Cost
    answers: int
    sent: int


@dataclass(frozen=True)
class Round:
    """A first run and the one after it."""

    first: Visit
    second: Visit

    @property
    def cpu(self) -> float:
        """Processor time of the second run, as a part of the first one's."""
        return self.second.cost.cpu / self.first.cost.cpu

    @property
    def bytes(self) -> float:
        """Bytes on the wire, likewise."""
        return self.second.sent / self.first.sent


def make(folder: Path, pages: int) -> Path:
    """Write a site of so many pages: each links to the next, so that all are found, and to others."""
    rng = random.Random(1)
    texts = [f'<p class="text"><span>{prose(rng, 20)}</span></p>' for _ in range(PARAGRAPHS * 4)]
    for number in range(pages):
        others = [(number + 1) % pages, *(rng.randrange(pages) for _ in range(LINKS - 1))]
        links = "".join(f'<li><a href="{_name(each)}">{prose(rng, 3)}</a></li>' for each in others)
        body = "\n".join(rng.sample(texts, PARAGRAPHS))
        (folder / _name(number)).write_text(
            f"<!doctype html><html lang=en><title>{_word(number)}</title>"
            f"<nav><ul>{links}</ul></nav><main>{body}</main>",
            encoding="utf-8",
        )
    return folder


def _word(number: int) -> str:
    """A word of its own for each page: one that tells nothing which others do not would be taken for a trap."""
    return "".join(chr(ord("a") + int(figure)) for figure in str(number)) + "ly"


def _name(number: int) -> str:
    return f"page{number}.html" if number else "index.html"


def visit(server: Server, folder: Path, options: argparse.Namespace) -> Visit:
    """One run of the command. The state is in the folder. Raises CommandFailed."""
    words = ["-o", str(folder / "out"), "--state", str(folder / "state"), "-q", "--rate", "0"]
    command = [sys.executable, "-P", "-m", "crawler", "crawl", server.url, *words, "-c", str(options.concurrency)]
    before = len(server.sent())
    cost = measure(command, folder, options.timeout)
    sent = server.sent()[before:]
    return Visit(cost, len(sent), sum(sent))


def rounds(root: Path, work: Path, options: argparse.Namespace) -> list[Round]:
    """All rounds, each with a state of its own."""
    found = []
    with nginx(root) as server:
        for number in range(options.rounds):
            folder = work / f"round{number}"
            folder.mkdir()
            found.append(Round(visit(server, folder, options), visit(server, folder, options)))
    return found


def told(found: list[Round]) -> str:
    """What was measured, as Markdown."""
    head = ["run", "CPU s", "wall s", "CPU ms/answer", "answers", "MB on the wire", "peak RSS MiB"]
    rows = []
    for name, some in (("first", [one.first for one in found]), ("second", [one.second for one in found])):
        each = [
            spread(visit.cost.cpu for visit in some),
            spread(visit.cost.wall for visit in some),
            f"{median(1000 * visit.cost.cpu / visit.answers for visit in some):.2f}",
            f"{median(visit.answers for visit in some):,.0f}",
            f"{median(visit.sent for visit in some) / 1e6:,.2f}",
            f"{max(visit.cost.peak for visit in some) / MIB:.0f}",
        ]
        rows.append([name, *each])
    cpu, sent = spread(100 * one.cpu for one in found), spread(100 * one.bytes for one in found)
    return f"{table(head, rows)}\n\nThe second run took {cpu} % of the first one's CPU time and {sent} % of its bytes."


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark. Exit code 1 when a run failed, 2 when there is nothing to crawl or no server."""
    options = _options().parse_args(words)
    try:
        with tempfile.TemporaryDirectory(prefix="siteatlas-bench-") as name:
            work = Path(name)
            made = work / "made"
            made.mkdir()
            root = trees.given(options.tree).folder if options.tree else make(made, options.pages)
            found = rounds(root, work, options)
    except (trees.NoTree, CommandFailed) as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, trees.NoTree) else 1
    except pytest.skip.Exception as error:  # how tests hear of a missing nginx
        print(error, file=sys.stderr)
        return 2
    print(told(found))
    if options.json:
        said = [{**asdict(one), "cpu": one.cpu, "bytes": one.bytes} for one in found]
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(said)) + b"\n")
    return 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m tests.benchmarks.regenerate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--pages", type=int, default=2000, metavar="N", help="of the made site (default: 2000)")
    add("--tree", type=Path, metavar="DIR", help="a folder of HTML with an index.html, in place of it")
    add("--rounds", type=int, default=3, metavar="N", help="how often both runs are made (default: 3)")
    add("-c", "--concurrency", type=int, default=32, metavar="N", help="requests at a time (default: 32)")
    add("--timeout", type=float, default=1800.0, metavar="SECONDS", help="for one run (default: 1800)")
    add("--json", type=Path, metavar="FILE", help="write all runs there too")
    return parser


if __name__ == "__main__":
    sys.exit(main())
