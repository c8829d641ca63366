"""How the command explains itself: its list of commands, and what shells complete."""

import ast
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main
from run import siteatlas
from scripted import Answer, links, scripted
from typer.testing import CliRunner

from crawler.cli.app import app

COMMANDS = (
    *(
        "config",
        "compare",
        "crawl",
        "init",
        "run",
        "schedule",
        "status",
        "audit",
        "lint",
        "why",
        "notify",
        "robots",
        "rollback",
    ),
)
NARROW = {"COLUMNS": "80"}
ROOT = Path(__file__).parent.parent
OF_OTHER_PROGRAMS = {
    *("--pdeathsig", "--host-resolver-rules", "--from-literal", "--now", "--system", "--shell"),
    *("--name-status", "--unshallow"),
}


def test_ours_the_list_of_commands_tells_each_in_a_whole_sentence(tmp_path: Path) -> None:
    told = " ".join(siteatlas(tmp_path, "--help").out.split())
    assert "to which no page of the site links, " in told
    assert "..." not in told.partition("Commands:")[2]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("crwal", "crawl"),
        ("report", "audit"),
        ("orphans", "audit"),
        ("diff", "compare"),
        ("update", "run"),
        ("runs", "run"),
    ],
)
def test_ours_an_unknown_command_is_looked_for_in_what_commands_do(tmp_path: Path, typed: str, meant: str) -> None:
    ended = siteatlas(tmp_path, typed)
    assert ended.code == 2
    assert f'no command "{typed}". ' in ended.err
    assert meant in ended.err.rpartition(f'"{typed}"')[2]


@pytest.mark.parametrize("typed", ["xyz", "help", "of", "the", "sitemap"])
def test_ours_a_word_of_many_commands_or_of_none_gets_the_list_of_commands(tmp_path: Path, typed: str) -> None:
    said = siteatlas(tmp_path, typed).err.splitlines()[-1]
    assert said == f'Error: siteatlas has no command "{typed}". siteatlas -h lists the commands'


def test_ours_a_shell_completes_commands_and_options(tmp_path: Path) -> None:
    def completed(typed: str) -> list[str]:
        about = {"COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
        return siteatlas(tmp_path, anew=True, _SITEATLAS_COMPLETE="complete_bash", **about).out.split()

    assert completed("siteatlas ro") == ["robots", "rollback"]
    assert completed("siteatlas audit --ba") == ["--basic-auth", "--backlinks"]


@pytest.mark.parametrize("command", COMMANDS)
def test_ours_an_example_in_a_narrow_help_is_the_same_command_for_a_shell(tmp_path: Path, command: str) -> None:
    wide, narrow = (siteatlas(tmp_path, command, "--help", COLUMNS=columns).out for columns in ("80", "60"))
    assert [line for line in narrow.splitlines() if len(line) > 60 and " " in line.strip()] == []
    examples = [
        [shlex.split(line) for line in text.replace("\\\n", "").splitlines() if line.startswith("    siteatlas ")]
        for text in (wide, narrow)
    ]
    assert examples[0] == examples[1]


@pytest.mark.parametrize("columns", ["80", "120"])
@pytest.mark.parametrize("command", COMMANDS)
def test_ours_help_fits_a_terminal_and_shows_no_types_of_python(tmp_path: Path, command: str, columns: str) -> None:
    text = siteatlas(tmp_path, command, "--help", COLUMNS=columns).out
    assert [line for line in text.splitlines() if len(line) > 80 or re.search(r"\w-$", line)] == []
    assert re.findall(r"<\w+>|<list|Optional|\bNone\b|x>=|TEXT\]", text) == []
    assert re.findall(r"(?m)^  -.* (?:TEXT|INTEGER|FLOAT|BOOLEAN|FILENAME|PATH)\b", text) == []


@pytest.mark.parametrize(("command", "most"), [("crawl", 45), ("run", 45), ("audit", 40), ("lint", 40)])
def test_ours_all_options_of_a_command_are_on_two_screens(tmp_path: Path, command: str, most: int) -> None:
    lines = siteatlas(tmp_path, command, "--help", **NARROW).out.splitlines()
    remedy = "--set reaches every key: give a flag to what people type, in place of another one, or shorten sentences"
    assert len(lines) <= 100, remedy
    shown = [line for line in lines if line.startswith("  -")]
    assert len(shown) <= most, remedy
    options = vars(typer.main.get_command(app))["commands"][command].params
    assert len(shown) == 1 + sum(option.param_type_name == "option" for option in options)  # with --help


@pytest.mark.parametrize(
    ("words", "instead"),
    [
        (["--retries", "3"], "--set fetch.retries=3"),
        (["--max-urls-per-file=9"], "--set output.max_urls=9"),
        (["--no-check-live"], "--set notify.check_live=false"),
        (["--respect-canonical"], "--set obey.canonical=true"),
        (["--ignore-nofollow"], "--set obey.nofollow=false"),
        (["--hook", "sh", "--hook", "-c"], """--set 'hook.command=["sh", "-c"]'"""),
        (["--smtp-login", "me:hunter2"], "--set email.login=VALUE"),
    ],
)
def test_ours_an_option_that_went_is_read_as_the_setting_in_its_place(
    tmp_path: Path, words: list[str], instead: str
) -> None:
    ran = siteatlas(tmp_path, "crawl", "-o", "out", *words)
    assert (ran.code, ran.out) == (2, "")
    option = words[0].partition("=")[0]
    note, _, answer = ran.err.partition("\n")
    assert note == f"siteatlas: {option} is an older form of {instead}"
    assert "URL" in answer
    assert "is not an option" not in answer
    assert "hunter2" not in ran.err


def test_ours_an_option_that_is_nearly_right_is_read_as_the_option_of_the_command(tmp_path: Path) -> None:
    ran = siteatlas(tmp_path, "audit", "--logs", "access.log")
    assert ran.code == 2
    assert ran.err.startswith("siteatlas: --logs is an older form of --log\n")


def test_ours_an_old_command_line_sets_what_it_set(tmp_path: Path) -> None:
    words = ["http://127.0.0.1:9/", "--retries", "3", "-o", "out", "--retries=x", "--no-check-live"]
    ran = siteatlas(tmp_path, "crawl", *words)
    assert (ran.code, ran.out) == (2, "")
    assert "retries" in ran.err.splitlines()[-1]
    assert "x" in ran.err.splitlines()[-1]


def test_ours_messages_name_only_options_that_exist() -> None:
    commands = list(vars(typer.main.get_command(app))["commands"].values())
    commands += [inner for command in commands for inner in vars(command).get("commands", {}).values()]
    known = {
        name for command in commands for option in command.params for name in (*option.opts, *option.secondary_opts)
    }
    known |= {"--help", "--version", "--install-completion", "--show-completion"}
    for path in (path for root in ("crawler", "sitemap") for path in (ROOT / root).rglob("*.py")):
        texts = [
            node.value
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
        ]
        named = {name for text in texts for name in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+(?=[ ,.)=;:'\"`]|$)", text)}
        assert named - known - OF_OTHER_PROGRAMS == set(), path


def test_ours_help_shows_the_arguments_as_they_are_typed(tmp_path: Path) -> None:
    usages = [siteatlas(tmp_path, command, "--help").out.splitlines()[0] for command in ("why", "compare", "lint")]
    assert usages == [
        "Usage: siteatlas why [OPTIONS] URL...",
        "Usage: siteatlas compare [OPTIONS] [URL] [BEFORE [AFTER]]",
        "Usage: siteatlas lint [OPTIONS] [FILE|URL|-]...",
    ]


def test_ours_what_a_command_says_breaks_at_blanks_only(tmp_path: Path) -> None:
    def long(text: str) -> Iterator[str]:
        """The lines that are too long although they could be broken."""
        lines = (line for line in text.splitlines() if len(line) > 80)
        return (line for line in lines if " " in line.strip() and not line.startswith("  siteatlas "))

    page = "a-page-with-a-name-that-fills-most-of-the-line-of-a-terminal-and-then-some"
    with scripted({"/": Answer(links(f"/{page}", "/gone")), f"/{page}": Answer("<p>a")}) as site:
        made = siteatlas(tmp_path, "init", site.url, "-o", "public", **NARROW)
        file = ("--config", "siteatlas.toml")
        texts = [
            made.out,
            *(siteatlas(tmp_path, *words, **NARROW).out for words in (
                ("run", *file, "--rate", "0"), ("query", "SELECT url FROM pages"), ("robots", *file),
                 ("run", *file, "--max-pages", "1"),
                ("crawl", site.url, "-o", "there", "--state", "other", "--rate", "0"),
            )),
        ]  # fmt: skip
    assert all(texts)
    assert [line for text in texts for line in long(text)] == []
    assert f"{site.url}{page}" in texts[2]


def test_ours_the_list_of_commands_has_the_first_sentence_of_each() -> None:
    group = typer.main.get_command(app)
    shown = " ".join(CliRunner(env={"COLUMNS": "300"}).invoke(app, ["--help"], prog_name="siteatlas").output.split())
    commands = vars(group)["commands"]
    assert len(commands) > 10
    for name, command in commands.items():
        assert f"{name} {command.get_short_help_str(300)}" in shown


@pytest.mark.parametrize(
    ("words", "needed", "others"),
    [
        (["--help"], "crawler.cli.app", {"crawler.cli.crawl", "crawler.config.config", "pydantic"}),
        (["crawl", "--help"], "crawler.cli.crawl", {"crawler.cli.audit", "crawler.cli.fleet", "crawler.crawl.engine"}),
    ],
)
def test_ours_a_command_imports_no_module_of_another(words: list[str], needed: str, others: set[str]) -> None:
    code = f"""
import sys
from crawler.cli.app import app
app({words}, standalone_mode=False)
print(*sys.modules, file=sys.stderr)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = set(ran.stderr.split())
    assert needed in imported
    assert not others & imported


def test_ours_the_reference_of_keys_is_a_file_a_section_or_what_a_word_finds(tmp_path: Path) -> None:
    assert siteatlas(tmp_path, "config").out == (ROOT / "config.example.toml").read_text(encoding="utf-8")
    section, found, nothing = (siteatlas(tmp_path, "config", word) for word in ("pace", "time-out", "nonsense"))
    assert re.findall(r"(?m)^\[(\w+)\]$", section.out) == ["pace"]
    assert {"fetch", "render"} < set(re.findall(r"(?m)^\[(\w+)\]$", found.out))
    assert (nothing.code, nothing.out) == (2, "")
    assert nothing.err == (
        "siteatlas: no key has 'nonsense' in its name or its meaning. siteatlas config prints all keys\n"
    )


def test_ours_the_program_prints_the_pages_of_its_manual(tmp_path: Path) -> None:
    assert siteatlas(tmp_path, "manual").out == (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    hugo = siteatlas(tmp_path, "manual", "docs/setups/hugo.md")
    assert hugo.out == (ROOT / "docs" / "setups" / "hugo.md").read_text(encoding="utf-8")
    assert siteatlas(tmp_path, "manual", "hugo").out == hugo.out
    unknown = siteatlas(tmp_path, "manual", "../README")
    assert (unknown.code, unknown.out) == (2, "")
    assert "siteatlas manual lists the pages" in unknown.err
