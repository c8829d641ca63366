"""The README and the manuals: their examples run, and their tables, keys, options and links are those there are."""

import doctest
import re
import tempfile
import tomllib
from pathlib import Path

import pytest
import typer.main
from scripted import Answer, links, scripted

from crawler import errors
from crawler.cli.app import app
from crawler.config.sites import split

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
MANUAL = ROOT / "crawler" / "README.md"
PAGES = pytest.mark.parametrize(
    "page", [README, MANUAL, ROOT / "sitemap" / "README.md"], ids=["README", "crawler", "sitemap"]
)


def blocks_of(page: Path, language: str) -> list[str]:
    found = re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return [str(each) for each in found]


def anchors(page: Path) -> set[str]:
    """What GitHub makes of the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@PAGES
def test_ours_the_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # examples leave what they made
    parser = doctest.DocTestParser()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    blocks = blocks_of(page, "pycon")
    assert blocks
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


@PAGES
def test_ours_the_links_between_the_pages_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?://)([^)#]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8"))
    assert targets
    for file, anchor in targets:
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), file
        assert not anchor or anchor in anchors(target), f"{file}#{anchor}"


@PAGES
def test_ours_the_configurations_in_the_pages_are_read(page: Path) -> None:
    for block in blocks_of(page, "toml"):
        split(tomllib.loads(block), page.name)


@pytest.mark.parametrize("page", [README, MANUAL], ids=["README", "crawler"])
def test_ours_the_options_in_the_pages_are_there(page: Path) -> None:
    whole = typer.main.get_command(app)
    parameters = [each for command in (whole, *vars(whole)["commands"].values()) for each in command.params]
    known = {name for each in parameters for name in (*each.opts, *each.secondary_opts)}
    text = re.sub(r"^\.venv/.*$|^python3 .*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", text))
    assert named
    assert named - known <= {"--help"}


def test_ours_the_program_in_the_manual_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    routes = {
        "/": links("/a"),
        "/a": "<title>A</title><p>a",
        "/b": "<title>B</title><p>b",
        "/sitemap.xml": Answer("{url}b\n"),
    }
    with scripted(routes) as site:
        (program,) = blocks_of(MANUAL, "python")
        exec(program.replace("https://www.example.com/", site.url), {})
        told = capsys.readouterr().out.splitlines()
        assert told[0] == f"published 3 ['{site.url}sitemap.xml']"
        assert told[1].startswith(f"{site.url}b listed in a sitemap")
