"""The README: its examples run, and its tables are those of the code."""

import doctest
import re
import tempfile
from pathlib import Path

import pytest

from crawler import errors

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"


@pytest.mark.parametrize("page", [README, ROOT / "sitemap" / "README.md"], ids=["README", "sitemap"])
def test_ours_the_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # examples leave what they made
    parser = doctest.DocTestParser()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    blocks = re.findall(r"```pycon\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 2
    names: dict[str, object] = {}  # an example may go on where the one before ended
    for number, block in enumerate(blocks):
        told: list[str] = []
        example = parser.get_doctest(block, names, f"block {number}", str(page), 0)
        runner.run(example, out=told.append, clear_globs=False)
        names |= example.globs
        assert runner.failures == 0, "".join(told)


def test_ours_the_exit_codes_of_the_readme_are_those_of_the_code() -> None:
    told = set(map(int, re.findall(r"^\| (\d+) \|", README.read_text(encoding="utf-8"), re.MULTILINE)))
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert told == {0, *(kind.exit_code for kind in kinds)}
