"""Lives through trials of a fleet, and ends with 1 if something is wrong with one of them."""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from postgres_server import postgres_server

from .trial import trial


def main() -> int:
    words = argparse.ArgumentParser(prog="python -m tests.trials.fleet", description=__doc__)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--trials", type=int, default=1, help="how many trials, with this seed and those after it (1)")
    words.add_argument("--faults", type=int, default=20, help="faults in one trial (20)")
    words.add_argument("--workers", type=int, default=3)
    words.add_argument("--sites", type=int, default=4)
    words.add_argument("--keep", action="store_true", help="keep the folders, with the logs of the workers")
    given = words.parse_args()
    is_wrong = False
    for seed in range(given.seed, given.seed + given.trials):
        folder = Path(tempfile.mkdtemp(prefix=f"fleet-{seed}-"))
        with postgres_server() as postgres:
            postgres.stop()
            postgres.start("-c", "synchronous_commit=on")
            report = trial(seed, folder, postgres, given.faults, given.workers, given.sites)
        lines = [*report.events, *report.facts, *(f"WRONG: {each}" for each in report.wrong)]
        print(f"seed {seed}:", *lines, *([f"logs: {folder}"] if given.keep or report.wrong else []), sep="\n  ")
        sys.stdout.flush()
        is_wrong |= bool(report.wrong)
    return int(is_wrong)


sys.exit(main())
