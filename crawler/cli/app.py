"""The commands: they turn what was typed into a configuration, run, and tell how it went."""

import io
import json
import sys
from typing import Annotated, Any

import typer

from crawler.cli.audit import EPILOG as AUDIT_EPILOG
from crawler.cli.audit import audit
from crawler.cli.diff import EPILOG as DIFF_EPILOG
from crawler.cli.diff import diff
from crawler.cli.helping import RAW, Command
from crawler.cli.init import EPILOG as INIT_EPILOG
from crawler.cli.init import init
from crawler.cli.lint import EPILOG as LINT_EPILOG
from crawler.cli.lint import lint
from crawler.cli.notify import EPILOG as NOTIFY_EPILOG
from crawler.cli.notify import notify
from crawler.cli.options import CRAWLING, settings, with_flags
from crawler.cli.robots import EPILOG as ROBOTS_EPILOG
from crawler.cli.robots import robots
from crawler.cli.rollback import rollback
from crawler.cli.run import run as run_command
from crawler.cli.schedule import EPILOG as SCHEDULE_EPILOG
from crawler.cli.schedule import schedule
from crawler.cli.status import status
from crawler.cli.told import Told
from crawler.cli.why import EPILOG as WHY_EPILOG
from crawler.cli.why import why
from crawler.run.options import AcceptShrink, AsJson, DryRun, Fresh, Quiet, Restart, Settings, Verbose, Wishes
from crawler.version import __version__

EXIT_CODES = (
    "Exit codes: 0 done, 1 internal error, 2 usage or configuration, 3 publish refused, 4 incomplete (run again to go "
    "on), 5 nothing crawlable, 6 state in use by another process, 7 storage error, 10 findings."
)
EPILOG = f"""{RAW}Examples:
  siteatlas crawl https://www.example.com/ -o public
  siteatlas crawl https://www.example.com/ -o public --exclude '/docs/old/*'
  siteatlas crawl https://www.example.com/ -o public --group section --gzip
  siteatlas crawl http://localhost:8000/ -o public -c 32 --rate 0 --dry-run -v

{EXIT_CODES}"""

app = typer.Typer(
    name="siteatlas",
    help="Crawl a website and write its sitemap.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def run() -> int:
    """Run the command line; answers the exit code. No traceback reaches a person unless -v asks for it."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal that knows no ellipsis must not end a crawl
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="siteatlas")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    return 0


@app.callback(invoke_without_command=True)
def siteatlas(
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    """Crawl a website and write its sitemap."""
    if version:
        typer.echo(f"siteatlas {__version__}")
        raise typer.Exit


@app.command(cls=Command, epilog=EPILOG)
@with_flags(*CRAWLING)
def crawl(  # noqa: PLR0913 - the command line is wide
    url: Annotated[
        str | None, typer.Argument(metavar="URL", help="The URL to start from.", show_default=False)
    ] = None,
    config: Settings = None,
    fresh: Fresh = False,
    restart: Restart = False,
    dry_run: DryRun = False,
    accept_shrink: AcceptShrink = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    **flags: Any,
) -> None:
    """Crawl a website from URL and publish its sitemap in a directory.

    The sitemap covers the directory of URL (https://example.com/docs/ covers /docs/ and below), as the sitemap
    protocol demands. A crawl that was cut short is resumed by the same command.
    """
    with Told(verbose, "interrupted; what is known is saved, the same command goes on") as told:
        chosen = settings(
            config, flags, url, remedy=f"siteatlas run --config {config} takes them all, with --site NAME one"
        )
        from crawler.config.plan import plan  # noqa: PLC0415
        from crawler.run.regenerate import crawl_site  # noqa: PLC0415 - the crawler is not needed to show help
        from crawler.url.normalize import host  # noqa: PLC0415

        wishes = Wishes(
            fresh=fresh,
            restart=restart,
            dry_run=dry_run,
            accept_shrink=accept_shrink,
            as_json=as_json,
            quiet=quiet,
            verbose=verbose,
        )
        ready = plan(chosen)
        report = crawl_site(host(ready.seed), ready, told.console, wishes)
        told.exit_code = report.exit_code
        if as_json:
            json.dump(report.as_json(), sys.stdout, indent=2)
            sys.stdout.write("\n")
        else:
            from crawler.cli.summary import show  # noqa: PLC0415

            show(report, told.say, quiet=quiet)
        sys.stdout.flush()


app.command(cls=Command, epilog=INIT_EPILOG)(init)
app.command("run", cls=Command, epilog=f"{RAW}{EXIT_CODES}")(run_command)
app.command(cls=Command, epilog=SCHEDULE_EPILOG)(schedule)
app.command(cls=Command)(status)
app.command(cls=Command, epilog=AUDIT_EPILOG)(audit)
app.command(cls=Command, epilog=LINT_EPILOG)(lint)
app.command(cls=Command, epilog=WHY_EPILOG)(why)
app.command(cls=Command, epilog=DIFF_EPILOG)(diff)
app.command(cls=Command, epilog=NOTIFY_EPILOG)(notify)
app.command(cls=Command, epilog=ROBOTS_EPILOG)(robots)
app.command(cls=Command)(rollback)
