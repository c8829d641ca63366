"""Draws trials, prints a table of their nights, and ends with 1 if something is wrong with one of them."""

import argparse
import os
import shlex
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # the warm process of the tests
if os.access("/dev/shm", os.W_OK):
    os.environ.setdefault("TMPDIR", "/dev/shm")

from .manual import manual_page
from .trial import PLANS, SIZES, TrialReport, examined, trial

ROW = "{:14} {:>4} {:9} {:58.58} {:34.34} {:>4} {:34.34} {}"
GOOD = ("first", "continued", "after", "quiet", "between")  # nights on which nothing is drawn


def main() -> int:
    words = argparse.ArgumentParser(prog="python -m tests.trials.nights", description=__doc__)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--trials", type=int, default=20, help="how many trials to draw from the seed (20)")
    words.add_argument("--first", type=int, default=0, help="the number of the first of them (0)")
    words.add_argument(
        "--trial", action="append", default=[], metavar="SEED:NUMBER[:PLAN]", help="live through this one"
    )
    words.add_argument("--plan", choices=PLANS, help="what happens in all of them; default: drawn too")
    words.add_argument("--sizes", default=",".join(map(str, SIZES)), help="pages of a site, drawn among these")
    words.add_argument(
        "--recheck", type=int, default=0, metavar="DAYS", help="runs ask for each page within so many days"
    )
    words.add_argument("--json", action="store_true", help="print one JSON object for each trial")
    words.add_argument("--all", action="store_true", help="show good nights in the table too")
    words.add_argument("--pages", action="store_true", help="name the pages that left or got a new date")
    words.add_argument("--said", action="store_true", help="show what the command said on each night")
    words.add_argument("--manual", type=Path, metavar="FILE", help="write the table as a page of the manual")
    given = words.parse_args()
    numbers = range(given.first, given.first + given.trials)
    plan = f":{given.plan}" if given.plan else ""
    names = given.trial or [f"{given.seed}:{n}{plan}" for n in numbers]
    sizes = [int(size) for size in given.sizes.split(",")]
    if not given.json:
        print(ROW.format("trial", "size", "plan", "disaster", "extent", "exit", "published", "verdict"))
    reports = []
    began = time.monotonic()
    with examined() as (process, server):
        for name in names:
            report = trial(name, process, server, sizes, given.recheck)
            reports.append(report)
            print(report.as_json() if given.json else table(report, given.all, given.said, given.pages), flush=True)
    if given.manual:
        command = f"python -m tests.trials.nights {shlex.join(sys.argv[1:])}"
        given.manual.write_text(manual_page(reports, frozenset(GOOD), command), encoding="utf-8")
    print(f"{summary(reports)} in {time.monotonic() - began:.0f} s", file=sys.stderr)
    return 1 if any(report.wrong for report in reports) else 0


def summary(reports: list[TrialReport]) -> str:
    nights = sum(night.what not in GOOD for report in reports for night in report.nights)
    wrong = [report.name for report in reports if report.wrong]
    weak = [report.name for report in reports if report.weak and not report.wrong]
    text = f"{len(reports)} trials, {nights} drawn nights: {len(wrong)} trials wrong, {len(weak)} weak"
    return text + (f"\nwrong: {' '.join(wrong)}" * bool(wrong)) + (f"\nweak: {' '.join(weak)}\n" * bool(weak))


def table(report: TrialReport, everything: bool = False, said: bool = False, pages: bool = False) -> str:
    """The nights of a trial that are of interest, or all of them."""
    rows = []
    for night in report.nights:
        is_drawn = night.what not in GOOD
        if everything or is_drawn or night.verdict:
            name = night.what if is_drawn else f"({night.what})"
            row = (
                report.name,
                report.size,
                report.plan,
                name,
                night.extent,
                night.exit,
                night.published,
                night.verdict,
            )
            rows.append(ROW.format(*row).rstrip())
            rows += [f"    {each}" for each in night.pages] if pages else []
            rows += [night.said] if said else []
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
