"""Draws trials, prints what each missed and reported falsely, then the tables; ends with 1 if anything was wrong."""

import argparse
import sys
from collections import Counter
from pathlib import Path

from tests.trials.nights.server import serving

from .judge import TrialReport
from .trial import trial


def main() -> int:
    words = argparse.ArgumentParser(prog="python -m tests.trials.audit", description=__doc__)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--trials", type=int, default=20, help="how many trials to draw from the seed (20)")
    words.add_argument("--first", type=int, default=0, help="the number of the first of them (0)")
    words.add_argument("--trial", action="append", default=[], metavar="SEED:NUMBER[:PERCENT]", help="run this one")
    words.add_argument("--pages", type=int, default=0, help="pages of each site; default: drawn, 20 to 2,000")
    words.add_argument("--failing", type=float, default=0, metavar="PERCENT", help="so many of the pages fail")
    words.add_argument("--keep", type=Path, help="folder for the files of the last trial")
    words.add_argument("--json", action="store_true", help="print one JSON object for each trial")
    given = words.parse_args()
    tail = f":{given.failing:g}" if given.failing else ""
    numbers = range(given.first, given.first + given.trials)
    reports = []
    with serving() as server:
        for name in given.trial or [f"{given.seed}:{number}{tail}" for number in numbers]:
            if given.keep:
                given.keep.mkdir(parents=True, exist_ok=True)
            report = trial(name, server, given.pages, given.keep)
            reports.append(report)
            if given.json:
                print(report.as_json(), flush=True)
                continue
            print(f"{name}: {report.size} pages, exit {report.exit}, {report.seconds:.0f} s, {len(report.wrong)} wrong")
            print("".join(f"    {line}\n" for line in report.wrong), end="", flush=True)
    print(tables(reports), file=sys.stderr if given.json else sys.stdout)
    return 1 if any(report.wrong for report in reports) else 0


def tables(reports: list[TrialReport]) -> str:
    planted, found, reported, false = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    said, wrongly = Counter[str](), Counter[str]()
    for report in reports:
        planted += report.planted
        found += report.found
        reported += report.reported
        said += report.conclusive
        false += Counter(each.rule for each in report.false)
        wrongly += Counter(each.certainty for each in report.false)
    lines = [f"{'planted':>7} {'found':>7} {'recall':>7}  class"]
    lines += [
        f"{planted[name]:7} {found[name]:7} {found[name] / planted[name]:7.3f}  {name}" for name in sorted(planted)
    ]
    for head, whole, bad in (("rule", reported, false), ("certainty", said, wrongly)):
        lines += ["", f"{'said':>7} {'false':>7} {'precision':>9}  {head}"]
        lines += [f"{whole[name]:7} {bad[name]:7} {1 - bad[name] / whole[name]:9.3f}  {name}" for name in sorted(whole)]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
