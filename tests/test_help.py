"""How the command explains itself: its list of commands, and what shells complete."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from run import siteatlas
from scripted import Answer, links, scripted

COMMANDS = (
    *("crawl", "init", "run", "schedule", "status", "audit", "lint", "why", "diff", "notify", "robots", "rollback"),
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


@pytest.mark.parametrize("columns", ["80", "120"])
@pytest.mark.parametrize("command", COMMANDS)
def test_ours_help_fits_a_terminal_and_shows_no_types_of_python(tmp_path: Path, command: str, columns: str) -> None:
    text = siteatlas(tmp_path, command, "--help", COLUMNS=columns).out
    assert [line for line in text.splitlines() if len(line) > 80 or re.search(r"\w-$", line)] == []
    assert re.findall(r"<\w+>|<list|Optional|\bNone\b|x>=|TEXT\]", text) == []
    assert re.findall(r"(?m)^  -.* (?:TEXT|INTEGER|FLOAT|BOOLEAN|FILENAME|PATH)\b", text) == []


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
