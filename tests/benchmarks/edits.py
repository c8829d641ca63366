"""The benchmark of runs with edits: a first run, one unchanged, then with 1, 10, 100 and all pages edited.

::

    python -m tests.benchmarks.edits [--pages 2000 | --tree DIR] [-c 32]

Each edit is a sentence of its own in one paragraph of a page. What is told is processor time (of all processes), and
how much more each edited page took than an unchanged run, as a part of what it took in the first run. Without --tree,
the site of ``tests.benchmarks.regenerate`` is made. nginx must be installed, and siteatlas with its extra "test".
"""

import argparse
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.benchmarks import trees
from tests.benchmarks.measure import CommandFailed
from tests.benchmarks.regenerate import make, visit
from tests.benchmarks.tables import table
from tests.nginx import nginx

COUNTS = (1, 10, 100, sys.maxsize)
_paragraph = re.compile(r"<p\b[^>]*>(?:<span>)?").finditer


def edit(root: Path, count: int, rng: random.Random) -> int:
    """Write a sentence of its own into so many pages; how many that were."""
    pages = [page for page in sorted(root.rglob("*.html")) if "<p" in page.read_text("utf-8", "replace")]
    chosen = rng.sample(pages, min(count, len(pages)))
    for page in chosen:
        text = page.read_text("utf-8", "replace")
        at = rng.choice([each.end() for each in _paragraph(text)] or [len(text)])
        page.write_text(f"{text[:at]}Edit {rng.random()} of word{rng.randrange(10**9)} is here. {text[at:]}", "utf-8")
    return len(chosen)


def run(root: Path, folder: Path, options: argparse.Namespace) -> str:
    """All runs, one after the other, as Markdown. Raises CommandFailed."""
    rng = random.Random(1)
    with nginx(root) as server:
        first, unchanged = (visit(server, folder, options) for _ in range(2))
        each = first.cost.cpu / first.answers
        rows = [["first", "", f"{first.cost.cpu:.2f}", ""], ["unchanged", "0", f"{unchanged.cost.cpu:.2f}", ""]]
        for count in COUNTS:
            time.sleep(1.1)  # the server tells the time of a file in seconds
            edited = edit(root, count, rng)
            cost = visit(server, folder, options).cost.cpu
            more = (cost - unchanged.cost.cpu) / edited / each
            rows.append(["edited", f"{edited:,}", f"{cost:.2f}", f"{more:.2f}"])
    return table(["run", "edited pages", "CPU s", "more for each edited page, first run = 1"], rows)


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark. Exit code 1 when a run failed, 2 when there is nothing to crawl or no server."""
    parser = argparse.ArgumentParser("python -m tests.benchmarks.edits", description=__doc__)
    parser.add_argument("--pages", type=int, default=2_000, help="of the site that is made")
    parser.add_argument("--tree", type=Path, help="a folder with HTML to copy and crawl instead")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one run")
    parser.add_argument("-c", "--concurrency", type=int, default=32)
    options = parser.parse_args(words)
    try:
        with tempfile.TemporaryDirectory(prefix="siteatlas-bench-") as name:
            root = Path(name) / "site"
            if options.tree:
                shutil.copytree(trees.given(options.tree).folder, root)
            else:
                root.mkdir()
                make(root, options.pages)
            print(run(root, Path(name), options))
    except (trees.NoTree, CommandFailed) as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, trees.NoTree) else 1
    except pytest.skip.Exception as error:  # how tests hear of a missing nginx
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
