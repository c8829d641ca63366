"""The commands: they turn what was typed into a configuration, run, and tell how it went."""

import io
import json
import logging
import os
import sys
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.logging import RichHandler

from crawler.cli.options import flag_of, overlay, with_flags
from crawler.config import Config, build, read
from crawler.errors import Incomplete, SiteatlasError
from crawler.version import __version__

EPILOG = (
    "Exit codes: 0 done, 1 internal error, 2 usage or configuration, 3 publish refused, 4 incomplete (run again to go "
    "on), 5 nothing crawlable, 6 state in use by another process, 7 storage error."
)

app = typer.Typer(
    name="siteatlas",
    help="Crawl a website and write its sitemap.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def run() -> int:
    """Run the command line; answers the exit code. No traceback reaches a person unless -v asks for it."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal that knows no ellipsis must not end a crawl
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app()
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


@app.command(epilog=EPILOG)
@with_flags
def crawl(  # noqa: PLR0913 - the command line is wide
    url: Annotated[
        str | None, typer.Argument(metavar="URL", help="The URL to start from.", show_default=False)
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="A TOML file of settings.", envvar="SITEATLAS_CONFIG"),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Forget an unfinished crawl and begin anew.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Crawl, and publish nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show nothing but errors.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Name every URL left out; log more.")
    ] = False,
    **flags: Any,
) -> None:
    """Crawl a website from URL and publish its sitemap in a directory.

    The sitemap covers the directory of URL (https://example.com/docs/ covers /docs/ and below), as the sitemap
    protocol demands. A crawl that was cut short is resumed by the same command.
    """
    with _Told(verbose) as told:
        settings = _settings(config, url, flags)
        from crawler.cli.crawl import crawl_site  # noqa: PLC0415 - the crawler is not needed to show help

        report = crawl_site(
            settings, told.console, fresh=fresh, dry_run=dry_run, quiet=quiet, verbose=verbose
        )
        told.exit_code = report.exit_code
        if as_json:
            json.dump(report.as_json(), sys.stdout, indent=2)
            sys.stdout.write("\n")
        elif not quiet:
            from crawler.cli.summary import lines  # noqa: PLC0415

            sys.stdout.write("\n".join(lines(report)) + "\n")
        elif report.refusal and report.exit_code:
            told.say(report.refusal)
        sys.stdout.flush()


def _settings(file: Path | None, url: str | None, flags: dict[str, Any]) -> Config:
    tables = read(file) if file else {}
    site = tables.get("site", {})
    if url is not None and isinstance(site, dict):
        tables = {**tables, "site": {**site, "url": url}}
    return build(overlay(tables, flags), str(file) if file else "", flag_of)


class _Told:
    """Errors told in one line, and the exit code of whatever happened."""

    def __init__(self, verbose: bool) -> None:
        self.console = Console(stderr=True, highlight=False)
        self.exit_code = 0
        self._verbose = verbose

    def __enter__(self) -> "_Told":
        logging.basicConfig(
            level=logging.INFO if self._verbose else logging.WARNING,
            format="%(message)s",
            handlers=[RichHandler(console=self.console, show_path=False, show_time=False, markup=False)],
            force=True,
        )
        logging.getLogger("httpx").setLevel(logging.WARNING)
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            if self.exit_code:
                raise typer.Exit(self.exit_code)
            return
        if isinstance(error, BrokenPipeError):  # `siteatlas … | head`: whoever read us has had enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(self.exit_code) from error
        if isinstance(error, SiteatlasError):
            self.say(str(error))
            raise typer.Exit(error.exit_code) from error
        if isinstance(error, KeyboardInterrupt):
            self.say("interrupted; what is known is saved, the same command goes on")
            raise typer.Exit(Incomplete.exit_code) from error
        if isinstance(error, Exception) and not isinstance(error, typer.Exit):
            if self._verbose:
                self.console.print_exception()
            version = metadata.version("siteatlas")
            self.say(
                f"internal error in siteatlas {version}: {type(error).__name__}: {error} (-v shows where)"
            )
            raise typer.Exit(1) from error

    def say(self, text: str) -> None:
        """One line on standard error."""
        self.console.print(f"siteatlas: {text}", markup=False, soft_wrap=True)
