"""Runs the tests of the faults in ``tests/faults.md``: ``python -m tests.faults [ID…]``; an id may have wildcards."""

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

FOLDER = Path(__file__).parent
_NAME = re.compile(r"`(\[[^`]+|[\w/]+\.py[^`]*)`")
HOSTILE = "test_hostile_sites.py::test_ours_a_hostile_answer_costs_itself_only"


@dataclass(frozen=True)
class Fault:
    """One line of the table. ``tests`` are names below ``tests/``; without any, ``reason`` says why."""

    id: str
    text: str
    tests: tuple[str, ...]
    reason: str


def faults() -> Iterator[Fault]:
    """The lines of the table, in order."""
    for line in (FOLDER / "faults.md").read_text(encoding="utf-8").splitlines():
        if found := re.fullmatch(r"\| ([A-Z]\d+(?:-[A-Z]\d+)?) \| (.+?) \| (.+) \|", line):
            tests = [HOSTILE + name if name.startswith("[") else name for name in _NAME.findall(found[3])]
            yield Fault(found[1], found[2], tuple(tests), _NAME.sub("", found[3]).strip(" ,"))


def main(patterns: Sequence[str]) -> int:
    """Run the tests of the faults whose ids fit a pattern, all without one; return pytest's exit code."""
    import pytest

    chosen = [fault for fault in faults() if not patterns or any(fnmatchcase(fault.id, text) for text in patterns)]
    if not chosen:
        print(f"no fault of tests/faults.md is called {' or '.join(patterns)}", file=sys.stderr)
        return 2
    for fault in chosen:
        if not fault.tests:
            print(f"{fault.id} has no test: {fault.reason}")
    tests = {re.sub(r"\[.*\*\]$", "", name) for fault in chosen for name in fault.tests}
    if not tests:
        return 0  # pytest would run all tests
    return pytest.main(["-m", "slow or not slow", *(str(FOLDER / name) for name in sorted(tests))])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
