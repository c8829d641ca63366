"""Draws trials, prints what was wrong in each, then a table; ends with 1 if anything was wrong."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # the tests import what runs the command by its name

from .trial import tables, trial


def main() -> int:
    words = argparse.ArgumentParser(prog="python -m tests.trials.dynamic", description=__doc__)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--trials", type=int, default=20, help="how many trials to draw from the seed (20)")
    words.add_argument("--trial", action="append", default=[], metavar="SEED:NUMBER", help="run this one")
    words.add_argument("--browser", action="store_true", help="let the audit render pages in Chromium")
    words.add_argument("--keep", type=Path, help="folder for the files of the last trial")
    given = words.parse_args()
    reports = []
    for name in given.trial or [f"{given.seed}:{number}" for number in range(given.trials)]:
        if given.keep:
            given.keep.mkdir(parents=True, exist_ok=True)
        report = trial(name, is_rendered=given.browser, keep=given.keep)
        reports.append(report)
        print(report.told(), flush=True)
    print(tables(reports))
    return 1 if any(report.wrong for report in reports) else 0


if __name__ == "__main__":
    sys.exit(main())
