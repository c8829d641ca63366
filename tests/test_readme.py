"""The README and the manual: their examples run, and their tables, keys, options and links are those of the code."""

import doctest
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from urllib.parse import unquote

import pytest
import typer.main
from scripted import Answer, links, scripted
from selectolax.lexbor import LexborHTMLParser

from crawler import errors
from crawler.audit.rules import RULES
from crawler.cli.app import app
from crawler.config.config import Config
from crawler.config.load import split_sites
from crawler.crawl.indexability import indexability_table
from crawler.model import State

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
MANUAL = ROOT / "docs"
CONTENTS = MANUAL / "README.md"
ALL = [README, *sorted(MANUAL.glob("*.md")), *sorted(MANUAL.glob("setups/*.md"))]
WITH_EXAMPLES = [README, *(MANUAL / f"python-sitemap-{name}.md" for name in ("write", "read", "lint"))]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


PAGES = pytest.mark.parametrize("page", ALL, ids=name_of)


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks_of(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text_of(page), re.DOTALL)


def rows_of(page: Path, heading: str) -> list[list[str]]:
    """The cells of the table below a heading, without its head."""
    section = text_of(page).partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    assert rows
    return rows[2:]


def anchors(page: Path) -> set[str]:
    """What GitHub makes of the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", text_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def targets_of(page: Path) -> list[tuple[str, str]]:
    """The files and anchors that a page links to."""
    return re.findall(r"\]\((?!https?://)([^)#]*)(?:#([^)]*))?\)", text_of(page))


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_ours_no_example_goes_without_a_test() -> None:
    assert {page for page in ALL if ">>>" in text_of(page)} == set(WITH_EXAMPLES)


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=name_of)
def test_ours_the_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # examples do not clean up
    parser = doctest.DocTestParser()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    blocks = blocks_of(page, "pycon")
    assert blocks
    names: dict[str, object] = {}  # an example may build on the one before
    for number, block in enumerate(blocks):
        output: list[str] = []
        example = parser.get_doctest(block, names, f"block {number}", str(page), 0)
        runner.run(example, out=output.append, clear_globs=False)
        names |= example.globs
        assert runner.failures == 0, "".join(output)


@PAGES
def test_ours_the_links_between_the_pages_lead_somewhere(page: Path) -> None:
    targets = targets_of(page)
    assert targets
    for file, anchor in targets:
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), file
        assert not anchor or anchor in anchors(target), f"{file}#{anchor}"


def test_ours_the_table_of_contents_names_every_page_of_the_manual() -> None:
    linked = {(MANUAL / file).resolve() for file, _ in targets_of(CONTENTS)}
    assert {page for page in ALL if page not in (README, CONTENTS)} <= linked
    assert len(text_of(README).splitlines()) < 200


@PAGES
def test_ours_the_configurations_in_the_pages_are_read(page: Path) -> None:
    for block in blocks_of(page, "toml"):
        split_sites(tomllib.loads(block), page.name)


def test_ours_the_options_in_the_pages_are_there() -> None:
    group = typer.main.get_command(app)
    commands = [group, *vars(group)["commands"].values()]
    commands += [command for each in commands[1:] for command in vars(each).get("commands", {}).values()]
    options = [option for command in commands for option in command.params]
    known = {name for option in options for name in (*option.opts, *option.secondary_opts)}
    for page in ALL:
        text = re.sub(r"^(\.venv/|python3? |podman |shiv ).*$", "", text_of(page), flags=re.MULTILINE)
        named = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", text))
        assert named - known <= {"--help", "--delete", "--skip-build"}, page  # the last two are of rsync and Docusaurus


def test_ours_the_exit_codes_of_the_manual_are_those_of_the_code() -> None:
    codes = set(map(int, re.findall(r"^\| (\d+) \|", text_of(MANUAL / "exit-codes.md"), re.MULTILINE)))
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert codes == {0, *(kind.exit_code for kind in kinds)}


def test_ours_the_rules_and_states_of_the_manual_are_those_of_the_code() -> None:
    page = MANUAL / "listing.md"
    assert f"{indexability_table()}\n" in blocks_of(page, "text")
    states = [name for cell, _ in rows_of(page, "The states") for name in quoted(cell)]
    assert sorted(states) == sorted(state.value for state in set(State) - {State.PENDING})
    groups = rows_of(MANUAL / "audit.md", "What an audit finds")
    families = {family for _, cell, _ in groups for family in quoted(cell)}
    assert families == {rule.family for rule in RULES.values()}


def test_ours_the_sections_of_the_manual_are_those_of_the_configuration() -> None:
    rows = rows_of(MANUAL / "configuration.md", "Sections")
    sections = [name for cell, *_ in rows for name in quoted(cell)]
    wanted = sorted(f"[{name}]" for name in (*Config.model_fields, "sites"))
    assert set(sections) ^ set(wanted) == set(), "the table of docs/configuration.md lacks it, or has it for nothing"
    assert len(sections) == len(wanted)


def test_ours_the_page_of_notifications_names_every_channel() -> None:
    receivers = re.findall(r"(?m)^\| `\[(\w+)\]` \|.*\|.*\|$", text_of(MANUAL / "notify.md"))
    channels = list(Config().all_channels)
    assert set(receivers) ^ set(channels) == set(), "the first table of docs/notify.md lacks it, or has it for nothing"
    assert receivers == channels, "the first table of docs/notify.md has the order of the sections"
    examples = "".join(block for page in ("notify.md", "messages.md") for block in blocks_of(MANUAL / page, "toml"))
    assert [name for name in channels if f"[{name}]" not in examples] == [], "docs/notify.md shows how to set it"


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
        (program,) = blocks_of(MANUAL / "python-crawler.md", "python")
        exec(program.replace("https://www.example.com/", site.url), {})
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == f"published 3 ['{site.url}sitemap.xml']"
        assert lines[1].startswith(f"{site.url}b listed in a sitemap")


@pytest.mark.slow
def test_ours_the_manual_becomes_html_and_man_pages_without_warnings(tmp_path: Path) -> None:
    for builder in ("html", "man"):
        words = (sys.executable, "-m", "sphinx", "-W", "-n", "-q", "-c", "docs", "-b", builder, ".", tmp_path / builder)
        built = subprocess.run(words, check=False, cwd=ROOT, capture_output=True, text=True, timeout=300)
        assert (built.returncode, built.stderr) == (0, "")
    written = {path: LexborHTMLParser(text_of(path)) for path in (tmp_path / "html").rglob("*.html")}
    identifiers = {path: {node.id for node in page.css("[id]")} for path, page in written.items()}
    hrefs = {(path, node.attributes["href"] or "") for path, page in written.items() for node in page.css("a[href]")}
    inner = [(path, *href.partition("#")[::2]) for path, href in hrefs if not re.match(r"[a-z]+:", href)]
    assert len(inner) > 1000
    for path, file, anchor in inner:
        target = (path.parent / unquote(file)).resolve() if file else path
        assert target.is_file(), f"{path}: {file}"
        assert not anchor or anchor in identifiers[target], f"{path}: {file}#{anchor}"
    assert (tmp_path / "html" / "docs" / "README.html") in written
    group = vars(typer.main.get_command(app))["commands"]
    pages = {path.stem: text_of(path) for path in (tmp_path / "man").glob("*.1")}
    assert {"siteatlas", *(f"siteatlas-{name}" for name in group)} <= pages.keys()
    assert r"\-\-max\-pages" in pages["siteatlas-crawl"]
    assert not any("%<>" in text for text in pages.values())
