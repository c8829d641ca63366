"""The README: its examples run, and its tables are those of the code."""

import doctest
import re
from pathlib import Path

from crawler import errors

README = Path(__file__).parent.parent / "README.md"


def test_ours_the_examples_of_the_readme_run() -> None:
    parser = doctest.DocTestParser()
    runner = doctest.DocTestRunner()
    blocks = re.findall(r"```pycon\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 2
    for number, block in enumerate(blocks):
        told: list[str] = []
        runner.run(parser.get_doctest(block, {}, f"block {number}", str(README), 0), out=told.append)
        assert runner.failures == 0, "".join(told)


def test_ours_the_exit_codes_of_the_readme_are_those_of_the_code() -> None:
    told = set(map(int, re.findall(r"^\| (\d+) \|", README.read_text(encoding="utf-8"), re.MULTILINE)))
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert told == {0, *(kind.exit_code for kind in kinds)}
