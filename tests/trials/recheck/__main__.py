"""``python -m tests.trials.recheck DIRECTORY`` plays the histories in a directory with the pure policy."""

import sys
from pathlib import Path

from tests.trials.recheck.policy import play_all

for days, coverage in ((30, 1.0), (30, 0.9), (14, 0.0)):
    print(f"recheck_within = {days}, {coverage:.0%} of the pages dated")
    print("site          pages  asked same night  7 days longest  open whole")
    for played in play_all(Path(sys.argv[1]), days, coverage):
        print(
            f"{played.site:12} {played.pages:6,} {played.share:6.1%} {played.within(0):10.1%} {played.within(7):7.1%}"
            f" {played.longest:7} {played.open_for:5} {played.whole_nights:5}"
        )
