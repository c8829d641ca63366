"""Assembles the commands of ``siteatlas``: each is declared in the module of its name."""

import io
import sys
from typing import Annotated

import typer

from crawler.cli.audit import EPILOG as AUDIT_EPILOG
from crawler.cli.audit import audit
from crawler.cli.crawl import CRAWL_EPILOG, crawl
from crawler.cli.diff import EPILOG as DIFF_EPILOG
from crawler.cli.diff import diff
from crawler.cli.help import EXIT_CODES, HelpfulCommand
from crawler.cli.init.init import EPILOG as INIT_EPILOG
from crawler.cli.init.init import init
from crawler.cli.lint import EPILOG as LINT_EPILOG
from crawler.cli.lint import lint
from crawler.cli.notify import EPILOG as NOTIFY_EPILOG
from crawler.cli.notify import notify
from crawler.cli.robots import EPILOG as ROBOTS_EPILOG
from crawler.cli.robots import robots
from crawler.cli.rollback import rollback
from crawler.cli.run import run as run_command
from crawler.cli.schedule import EPILOG as SCHEDULE_EPILOG
from crawler.cli.schedule import schedule
from crawler.cli.status import status
from crawler.cli.why.why import EPILOG as WHY_EPILOG
from crawler.cli.why.why import why
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


app.command(cls=HelpfulCommand, epilog=CRAWL_EPILOG)(crawl)
app.command(cls=HelpfulCommand, epilog=INIT_EPILOG)(init)
app.command("run", cls=HelpfulCommand, epilog=EXIT_CODES)(run_command)
app.command(cls=HelpfulCommand, epilog=SCHEDULE_EPILOG)(schedule)
app.command(cls=HelpfulCommand)(status)
app.command(cls=HelpfulCommand, epilog=AUDIT_EPILOG)(audit)
app.command(cls=HelpfulCommand, epilog=LINT_EPILOG)(lint)
app.command(cls=HelpfulCommand, epilog=WHY_EPILOG)(why)
app.command(cls=HelpfulCommand, epilog=DIFF_EPILOG)(diff)
app.command(cls=HelpfulCommand, epilog=NOTIFY_EPILOG)(notify)
app.command(cls=HelpfulCommand, epilog=ROBOTS_EPILOG)(robots)
app.command(cls=HelpfulCommand)(rollback)
