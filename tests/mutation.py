"""How many of some small faults in the rules the tests beside the rules notice.

    pip install -e '.[mutation]'
    python -m tests.mutation [--seed 1] [--faults 60] [--processes 2]

mutmut puts the faults into copies of the functions of `[tool.mutmut]` in pyproject.toml, under `mutants/`, and runs the
tests that enter a faulty function. The draw takes a module and then one of its faults, so that long modules weigh no
more than short ones. The command prints the faults that no test noticed, as differences, and their share.
"""

import argparse
import json
import random
import subprocess
import sys
from pathlib import Path

MUTMUT = (sys.executable, "-m", "mutmut")
FEW_FAULTS = "crawler.url.scope.xǁUrlPatternǁmatches*"  # testing these makes those of all modules


def mutmut(*words: str) -> str:
    """Run mutmut at the root of the source and return its output."""
    root = Path(__file__).parent.parent
    ran = subprocess.run([*MUTMUT, *words], cwd=root, capture_output=True, text=True, check=False)
    if ran.returncode:  # its progress, a line per step, would hide what it says
        said = [line for line in (ran.stdout + ran.stderr).splitlines() if not line[:1].startswith(tuple("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"))]
        sys.exit(
            "\n".join([*said[-40:], "mutmut failed: the tests of [tool.mutmut] must pass before faults are tried"])
        )
    return ran.stdout


def faults_by_module() -> dict[str, list[str]]:
    """The names of all faults, by module, in a stable order."""
    modules = {}
    for record in sorted(Path(__file__).parent.parent.glob("mutants/**/*.py.meta")):
        if names := sorted(json.loads(record.read_text(encoding="utf-8"))["exit_code_by_key"]):
            modules[str(record)] = names
    return modules


def draw(modules: dict[str, list[str]], count: int, chance: random.Random) -> list[str]:
    """Different faults, each of a module drawn at random."""
    left = {module: chance.sample(names, len(names)) for module, names in modules.items()}
    drawn: list[str] = []
    while len(drawn) < count and left:
        module = chance.choice(sorted(left))
        drawn.append(left[module].pop())
        left = {module: names for module, names in left.items() if names}
    return drawn


def main() -> int:
    """Draw faults and test them; the exit code is 1 if tests notice fewer than 95 %."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=60)
    parser.add_argument("--processes", type=int, default=2)
    wanted = parser.parse_args()
    limit = ("--max-children", str(wanted.processes))
    mutmut("run", *limit, FEW_FAULTS)
    drawn = draw(faults_by_module(), wanted.faults, random.Random(wanted.seed))
    mutmut("run", *limit, *drawn)
    lines = (line.strip().rpartition(": ") for line in mutmut("results", "--all", "true").splitlines())
    outcome = {name: status for name, _, status in lines}
    unnoticed = [name for name in drawn if outcome[name] in ("survived", "no tests")]
    for name in unnoticed:
        print(mutmut("show", name))
    share = 1 - len(unnoticed) / len(drawn)
    print(f"seed {wanted.seed}: tests noticed {len(drawn) - len(unnoticed)} of {len(drawn)} faults ({share:.0%})")
    return int(share < 0.95)


if __name__ == "__main__":
    sys.exit(main())
