"""The command: trials of one seed after another, tables, and the seeds that failed."""

import argparse
import json
import os
import random
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.forked import forked
from tests.trials.lastmod import report
from tests.trials.lastmod.sites import SIZES, SYSTEMS, Missing, pages
from tests.trials.lastmod.trial import Draw, Result, run

ABOUT = """\
Random trials of lastmod: pages of a real system, noises drawn at random, and seven regenerations with six edits each.
Prints precision (dates that moved and should) and recall (edits whose date moved) from the second regeneration on.
"""
NOTES = """\
Trial number n of --seed S is --seed S+n --trials 1 with the same options. What is not given is drawn from the seed.
Pages of 20 are kept beside this file; others are rendered once into the cache, which takes Hugo and npm, or
WordPress, PHP and MariaDB, or django-oscar.
"""


def main(words: Sequence[str] | None = None) -> int:
    """Exit code 0 if every date was right, 10 if not, 2 if a system is missing."""
    parser = argparse.ArgumentParser(
        "python -m tests.trials.lastmod",
        description=ABOUT,
        epilog=NOTES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--pages", type=int, choices=SIZES)
    parser.add_argument("--system", choices=SYSTEMS)
    parser.add_argument("--noises", type=int, choices=(0, 1, 5))
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "siteatlas-trials",
    )
    parser.add_argument(
        "--failed", type=Path, help="file to append the trials that were not right to, with what the pages showed"
    )
    parser.add_argument("--in-process", action="store_true", help="judge the pages without a crawl around them")
    parser.add_argument("--json", action="store_true", help="print all of it as JSON")
    options = parser.parse_args(words)
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as work, ExitStack() as stack:
        crawler = None if options.in_process else stack.enter_context(forked(Path(work)))
        for drawn in (_draw(options, n) for n in range(options.seed, options.seed + options.trials)):
            try:
                site = pages(drawn.system, drawn.pages, options.cache)
            except Missing as error:
                print(f"{drawn.system}: {error}", file=sys.stderr)
                return 2
            result = run(drawn, site, crawler)
            results.append(result)
            said = "right" if result.is_right else f"{len(result.false)} false, {len(result.missed)} missed"
            print(f"{drawn}: {said}: {'; '.join(result.noises)}", file=sys.stderr)
            if options.failed and not result.is_right:
                with options.failed.open("a") as file:
                    file.write(report.failures(result) + "\n\n")
    print(json.dumps(report.as_json(results), indent=1) if options.json else report.table(results))
    return 0 if all(each.is_right for each in results) else 10


def _draw(options: argparse.Namespace, seed: int) -> Draw:
    rng = random.Random(seed)
    system, size, noises = rng.choice(SYSTEMS), rng.choice((20, 150, 150, 300)), rng.choice((1, 1, 1, 5))
    return Draw(
        seed, options.system or system, options.pages or size, noises if options.noises is None else options.noises
    )


if __name__ == "__main__":
    sys.exit(main())
