"""Assembles the commands of ``siteatlas``: each is declared in the module of its name, and imported when it is used."""

import importlib
import io
import sys
from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command
from typing_extensions import override

from crawler.cli.help import COMMANDS, EXIT_CODES, HelpfulCommand, epilog_of
from crawler.version import __version__

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter


class _Commands(MutableMapping[str, "Command"]):
    """The commands by name. Imports the module of a command when it is asked for: there are many options."""

    def __init__(self, commands: "dict[str, Command]") -> None:
        self._loaded = commands

    @override
    def __getitem__(self, name: str) -> "Command":
        if name not in self._loaded:
            self._loaded[name] = _load(name)
        return self._loaded[name]

    @override
    def __setitem__(self, name: str, command: "Command") -> None:
        self._loaded[name] = command

    @override
    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._loaded, *COMMANDS)))

    @override
    def __len__(self) -> int:
        return len({*self._loaded, *COMMANDS})


def _load(name: str) -> "Command":
    module = importlib.import_module(COMMANDS[name]["module"])
    declared = getattr(module, name)
    if isinstance(declared, typer.Typer):
        return get_command(declared)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name, cls=HelpfulCommand, epilog=epilog_of(name))(declared)
    return get_command(alone)


class _SiteatlasGroup(TyperGroup):
    def __init__(self, *, commands: "dict[str, Command]", **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Commands(commands)

    @override
    def list_commands(self, ctx: "Context") -> list[str]:
        return list(self.commands)

    @override
    def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the list of commands without the import of their modules."""
        rows = [
            (name, COMMANDS[name]["summary"] if name in COMMANDS else self.commands[name].get_short_help_str())
            for name in self.commands
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


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
