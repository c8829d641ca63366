"""How the command explains itself: its list of commands, and what shells complete."""

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
from crawler.cli.help import COMMON_OPTIONS
from crawler.cli.options import CRAWL_KEYS, FILE_ONLY_KEYS, FLAGS

COMMANDS = (
    *(
        "help",
        "crawl",
        "init",
        "run",
        "schedule",
        "status",
        "audit",
        "lint",
        "why",
        "diff",
        "notify",
        "robots",
        "rollback",
    ),
)
NARROW = {"COLUMNS": "80"}


def test_ours_the_list_of_commands_tells_each_in_a_whole_sentence(tmp_path: Path) -> None:
    told = " ".join(siteatlas(tmp_path, "--help").out.split())
    assert "no page of the site links to. " in told
    assert "..." not in told.partition("Commands:")[2]


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
    text = siteatlas(tmp_path, command, "--help-all", COLUMNS=columns).out
    assert [line for line in text.splitlines() if len(line) > 80 or re.search(r"\w-$", line)] == []
    assert re.findall(r"<\w+>|<list|Optional|\bNone\b|x>=|TEXT\]", text) == []
    assert re.findall(r"(?m)^  -.* (?:TEXT|INTEGER|FLOAT|BOOLEAN|FILENAME|PATH)\b", text) == []


@pytest.mark.parametrize(
    "command", ["crawl", "run", "audit", "schedule", "notify", "robots", "rollback", "fleet worker"]
)
def test_ours_short_help_fits_two_screens_and_leads_to_the_rest(tmp_path: Path, command: str) -> None:
    short = siteatlas(tmp_path, *command.split(), "--help", **NARROW).out
    assert len(short.splitlines()) <= 95
    assert max(map(len, short.splitlines())) <= 80
    assert "--help-all" in short
    groups = re.findall(r"([A-Z][A-Za-z ]+) \((\d+)\)", " ".join(short.split()).partition("one group:")[2])
    assert groups
    for group, count in groups:
        text = siteatlas(tmp_path, "help", *command.split(), group.strip().lower(), **NARROW).out
        assert len(re.findall(r"(?m)^  -", text)) == int(count), group


def test_ours_all_flags_are_in_the_full_help(tmp_path: Path) -> None:
    text = siteatlas(tmp_path, "crawl", "--help-all").out
    flags = [flag for flag in FLAGS if flag.key in CRAWL_KEYS]
    shown = {flag.key for flag in flags if re.search(rf"{flag.long}\b(?!-)", text)}
    assert {flag.key for flag in flags} - shown == set(FILE_ONLY_KEYS)
    assert {"upload.to", "notify.enabled"} <= shown
    assert {flag.long for flag in FLAGS} >= COMMON_OPTIONS


def test_ours_flags_of_notifications_still_work_in_a_crawl_with_one_line_of_warning(tmp_path: Path) -> None:
    with scripted({"/": Answer(links())}) as site:
        hook = ("--no-check-live", "--hook", "sh", "--hook", "-c", "--hook", "cat > message.json")
        ran = siteatlas(tmp_path, "crawl", site.url, "-o", "out", "--rate", "0", *hook)
    assert ran.code == 0, ran.err
    assert (tmp_path / "message.json").exists()
    place = "is deprecated in this command: set {} of the configuration file"
    assert [line for line in ran.err.splitlines() if "deprecated" in line] == [
        f"siteatlas: --no-check-live {place.format('check_live in [notify]')}",
        f"siteatlas: --hook {place.format('command in [hook]')}",
    ]


def test_ours_help_on_what_does_not_exist_says_what_does(tmp_path: Path) -> None:
    group, command = siteatlas(tmp_path, "help", "crawl", "nothing"), siteatlas(tmp_path, "help", "nothing")
    assert (group.code, command.code) == (2, 2)
    assert "Robots rules" in group.err
    assert "siteatlas --help" in command.err


def test_ours_help_shows_the_arguments_as_they_are_typed(tmp_path: Path) -> None:
    usages = [siteatlas(tmp_path, command, "--help").out.splitlines()[0] for command in ("why", "diff", "lint")]
    assert usages == [
        "Usage: siteatlas why [OPTIONS] URL...",
        "Usage: siteatlas diff [OPTIONS] [URL] [FROM [TO]]",
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
                ("run", *file, "--rate", "0"), ("diff",), ("robots", *file), ("run", *file, "--max-pages", "1"),
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
