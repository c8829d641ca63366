"""A machine without the extra of a fleet: nothing imports its packages, and the commands of a fleet name the remedy."""

import re
import tomllib
from pathlib import Path

import pytest
from run import FAST, siteatlas
from scripted import Answer, links, scripted

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[1]


@pytest.fixture
def without_extra(tmp_path: Path) -> Path:
    """A folder of modules in place of the packages of the extra: they note each import in ``log``, and refuse it."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    names = {re.split(r"[\[<>=~!; ]", need)[0].replace("-", "_") for need in extras["fleet"]} | {"psycopg_pool"}
    assert names >= {"procrastinate", "psycopg"}
    folder = tmp_path / "refused"
    folder.mkdir()
    for name in names:
        text = f"open({str(tmp_path / 'log')!r}, 'a').write('{name}\\n')\n"
        (folder / f"{name}.py").write_text(f"{text}raise ModuleNotFoundError('no module', name='{name}')\n")
    return folder


def test_ours_a_machine_without_the_extra_imports_none_of_it(tmp_path: Path, without_extra: Path) -> None:
    path = str(without_extra)
    with scripted({"/": Answer(links("/a")), "/a": Answer("<p>a</p>")}) as site:
        ran = siteatlas(tmp_path, "crawl", site.url, "-o", "public", *FAST, PYTHONPATH=path)
        assert ran.code == 0, ran.err
        (tmp_path / "site.toml").write_text(f'site = {{url = "{site.url}"}}\noutput = {{directory = "public"}}\n')
        for words in (["run", *FAST], ["audit", *FAST], ["status"], ["notify"]):
            ran = siteatlas(tmp_path, words[0], "--config", "site.toml", *words[1:], PYTHONPATH=path)
            assert "Error" not in ran.err, (words, ran.err)
    for words in (["--help"], ["fleet", "--help"], ["fleet", "worker", "--help"], ["schedule", "--help"]):
        assert siteatlas(tmp_path, *words, PYTHONPATH=path).code == 0
    assert not (tmp_path / "log").exists()
    ran = siteatlas(tmp_path, "fleet", "status", "--database", "postgresql://nowhere/fleet", PYTHONPATH=path)
    assert ran.code == 2
    assert ran.err.endswith("-m pip install 'procrastinate<4,>=3.10' 'psycopg[binary]>=3.2'\n")
    assert len(ran.err.splitlines()) == 1
    assert (tmp_path / "log").exists(), "else this test could not fail"
