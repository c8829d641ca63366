"""Assembles the commands of ``siteatlas``: each is declared in the module of its name, and imported when it is used."""

import importlib
import io
import sys
from collections import UserDict
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer
from typer.core import TyperGroup
from typer.main import get_command
from typing_extensions import override

from crawler.cli.help import COMMANDS, EXIT_CODES, HelpfulCommand, epilog_of
from crawler.errors import did_you_mean
from crawler.version import __version__

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter

_MOST_NAMED: Final = 4  # commands that are named in place of an unknown one: a word of more tells none of them apart
_LEAST_LETTERS: Final = 3  # of a word that says what a command does: shorter ones, such as "of", begin others


class _Commands(UserDict[str, "Command | None"]):
    """The commands by name. Imports the module of a command when it is asked for: there are many options."""

    @override
    def __getitem__(self, name: str) -> "Command":
        return _load(name)


class _SiteatlasGroup(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = cast("dict[str, Command]", _Commands(dict.fromkeys(COMMANDS)))

    @override
    def list_commands(self, ctx: "Context") -> list[str]:
        return list(COMMANDS)

    @override
    def resolve_command(self, ctx: "Context", args: list[str]) -> "tuple[str | None, Command | None, list[str]]":
        """Find a command. In place of an unknown one, name those that do what it says, or else are spelled alike."""
        name = args[0] if args else ""
        if name and name not in COMMANDS and not name.startswith("-"):
            word = name.lower().removesuffix("s")
            doing = [each for each in COMMANDS if each.startswith(word)]
            doing = doing or [each for each, does in COMMANDS.items() if f" {word}" in f" {does['summary'].lower()}"]
            hint = "siteatlas -h lists the commands"
            if not doing or len(word) < _LEAST_LETTERS:
                hint = did_you_mean(name, COMMANDS, hint, most=2, alike=0.6)
            elif len(doing) <= _MOST_NAMED:
                named = " or ".join(f'"{each}"' for each in doing)
                hint = f"Did you mean {named}?"
            ctx.fail(f'siteatlas has no command "{name}". {hint}')
        return super().resolve_command(ctx, args)

    @override
    def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the list of commands without the import of their modules."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command["summary"]) for name, command in COMMANDS.items()])


@cache
def _load(name: str) -> "Command":
    module = importlib.import_module(COMMANDS[name]["module"])
    declared = getattr(module, name)
    if isinstance(declared, typer.Typer):
        return get_command(declared)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name, cls=HelpfulCommand, epilog=epilog_of(name))(declared)
    return get_command(alone)


app = typer.Typer(
    name="siteatlas",
    cls=_SiteatlasGroup,
    help="Crawl a website and write its sitemap.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def run_command_line() -> int:
    """Run the command line; returns the exit code. Prints no traceback without -v."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal without an ellipsis must not end a crawl
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="siteatlas")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    return 0


@app.callback(invoke_without_command=True)
def siteatlas(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    """Crawl a website and write its sitemap."""
    if version:
        typer.echo(f"siteatlas {__version__}")
        raise typer.Exit
