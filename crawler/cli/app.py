"""Assembles the commands of ``siteatlas``: each is declared in the module of its name, and imported when it is used."""

import importlib
import io
import sys
from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperGroup
from typer.main import get_command
from typing_extensions import override

from crawler.cli.help import EXIT_CODES, HelpfulCommand
from crawler.version import __version__

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter

_MODULES: Final = {
    "crawl": ("crawler.cli.crawl", "Crawl a website from URL and publish its sitemap in a directory."),
    "init": ("crawler.cli.init.init", "Write a configuration file, and files for schedulers such as systemd."),
    "config": ("crawler.cli.config", "Print every key of the configuration with its default and its meaning."),
    "manual": ("crawler.cli.manual", "Print a page of the manual as Markdown."),
    "run": ("crawler.cli.run", "Regenerate the sitemaps of the sites in a configuration."),
    "schedule": (
        "crawler.cli.schedule",
        "Run the sites of a configuration file when they are due, until you stop the daemon.",
    ),
    "status": (
        "crawler.cli.status",
        "Show the published sitemap of each site, the last runs, and whether a run is active.",
    ),
    "audit": ("crawler.cli.audit", "Find orphan pages, which are pages that no page of the site links to."),
    "lint": (
        "crawler.cli.lint",
        "Check sitemaps against the sitemap protocol and the rules of search engines, or list their content.",
    ),
    "why": ("crawler.cli.why.why", "Explain for each URL why the sitemap lists it or does not list it."),
    "diff": ("crawler.cli.diff", "Show what changed in the sitemap between two runs, and why."),
    "query": (
        "crawler.cli.query",
        "Ask the last finished run of a site by SQL: its pages, links, redirects and changes.",
    ),
    "export": ("crawler.cli.export", "Write the pages, links, redirects and changes of a site as tables."),
    "compare": (
        "crawler.cli.compare",
        "Show what differs between two crawls: pages, and each field of each page, grouped by cause.",
    ),
    "urls": ("crawler.cli.urls", "Keep every URL that a site ever published, and find those that are lost."),
    "move": ("crawler.cli.move", "Map the pages of an old site to those of the new one, and check maps of redirects."),
    "explore": ("crawler.cli.explore", "Show the pages and links of the last run of each site in a browser."),
    "mcp": ("crawler.cli.mcp", "Let an AI assistant ask the last run of each site, by the Model Context Protocol."),
    "notify": ("crawler.cli.notify", "Send the notifications that earlier runs could not send."),
    "robots": ("crawler.cli.robots", "Check that search engines find the published sitemap."),
    "rollback": ("crawler.cli.rollback", "Publish the previous sitemap of a site again, and upload it."),
    "fleet": ("crawler.cli.fleet", "Run many sites on many machines."),
}
"""The module of each command, which has a function or a Typer of the same name; and its first sentence for the list."""


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
        return iter(dict.fromkeys((*self._loaded, *_MODULES)))

    @override
    def __len__(self) -> int:
        return len({*self._loaded, *_MODULES})


def _load(name: str) -> "Command":
    module = importlib.import_module(_MODULES[name][0])
    declared = getattr(module, name)
    if isinstance(declared, typer.Typer):
        return get_command(declared)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name, cls=HelpfulCommand, epilog=getattr(module, "EPILOG", None))(declared)
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
            (name, _MODULES[name][1] if name in _MODULES else self.commands[name].get_short_help_str())
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
