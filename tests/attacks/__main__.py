"""``python -m tests.attacks [FAMILY …] [--minutes M] [--seed S]``: attack with random seeds, one family after another.

Exit code 1 if an attack broke something. ``--seed S --minutes 0`` repeats one attack.
"""

import argparse
import random
import sys
import time

from . import families, load


def main() -> int:
    """Run the families in turns until the time is over; print what broke, each with its seed."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    parser.add_argument("family", nargs="*", help=f"one of: {', '.join(families())} (default: all)")
    parser.add_argument("--minutes", type=float, default=1.0, help="minutes in all (default: 1)")
    parser.add_argument("--seed", type=int, help="the first seed; the others follow it (default: random)")
    options = parser.parse_args()
    names = options.family or families()
    seed = random.SystemRandom().randrange(10**9) if options.seed is None else options.seed
    ends = time.monotonic() + options.minutes * 60
    attacks = {name: load(name) for name in names}
    tried, broken = dict.fromkeys(names, 0), 0
    while True:
        for name, attack in attacks.items():
            finding = attack(seed)
            tried[name] += 1
            if finding:
                broken += 1
                print(f"{name} --seed {seed}: {finding}", flush=True)
        seed += 1
        if time.monotonic() >= ends:
            break
    print(", ".join(f"{name}: {count:,} attacks" for name, count in tried.items()) + f"; {broken:,} broke something")
    return 1 if broken else 0


sys.exit(main())
