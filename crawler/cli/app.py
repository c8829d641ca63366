"""Assembles the commands of ``siteatlas``: each is declared in the module of its name."""

import io
import sys
from typing import Annotated

import typer
from typer.core import TyperGroup

from crawler.cli import audit, crawl, diff, lint, notify, robots, rollback, run, schedule, status
from crawler.cli.errors import CommandErrors
from crawler.cli.fleet import fleet
from crawler.cli.help import EXIT_CODES, HelpfulCommand
from crawler.cli.init import init
from crawler.cli.why import why
from crawler.errors import UsageError
from crawler.version import __version__

app = typer.Typer(
    name="siteatlas",
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


@app.command("help", cls=HelpfulCommand)
def show_help(
    ctx: typer.Context,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="COMMAND [GROUP]",
            help="Name of a command, such as crawl. GROUP is a group of its options, such as scope.",
            show_default=False,
        ),
    ],
) -> None:
    """Show all options of a command, or those of one group."""
    with CommandErrors(verbose=False):
        rest = list(words)
        found, path = ctx.find_root().command, ctx.find_root()
        while rest and isinstance(found, TyperGroup) and (inner := found.get_command(path, rest[0])):
            found, path = inner, typer.Context(inner, parent=path, info_name=rest.pop(0))
        if isinstance(found, HelpfulCommand):
            found.show_help(path, found.find_group(path, " ".join(rest)))
        if rest:
            raise UsageError(f"siteatlas has no command {' '.join(words)!r}. siteatlas --help lists the commands")
        typer.echo(found.get_help(path))


for command, epilog in (
    (crawl.crawl, crawl.EPILOG),
    (init.init, init.EPILOG),
    (run.run, EXIT_CODES),
    (schedule.schedule, schedule.EPILOG),
    (status.status, None),
    (audit.audit, audit.EPILOG),
    (lint.lint, lint.EPILOG),
    (why.why, why.EPILOG),
    (diff.diff, diff.EPILOG),
    (notify.notify, notify.EPILOG),
    (robots.robots, robots.EPILOG),
    (rollback.rollback, None),
):
    app.command(cls=HelpfulCommand, epilog=epilog)(command)
app.add_typer(fleet, name="fleet")
