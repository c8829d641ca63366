"""``siteatlas lint``: what is checked or listed, how it is told, and which exit code it has."""

import sys
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import sitemap
from crawler.cli.options import settings, with_flags
from crawler.cli.told import Told
from crawler.errors import FindingsFound, UsageError
from crawler.quantities import size
from crawler.version import __version__
from sitemap import RULES, Severity

EPILOG = (
    "Exit codes: 0 no finding at or over --fail-on, 1 internal error, 2 usage, or no such file, 5 the URL cannot be "
    "fetched, 10 findings at or over --fail-on."
)
REQUESTS = (
    "pace.rate",
    "pace.delay",
    "fetch.user_agent",
    "fetch.headers",
    "fetch.basic_auth",
    "fetch.cookies",
    "fetch.proxy",
    "fetch.transport",
    "fetch.http2",
    "fetch.ca_file",
    "fetch.timeout",
    "fetch.connect_timeout",
    "fetch.read_timeout",
    "fetch.retries",
)


class Form(StrEnum):
    """In which form the report is told."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"


class FailOn(StrEnum):
    """From which severity on findings are a failure."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    NEVER = "never"


class Listing(StrEnum):
    """What is listed instead of judged."""

    TREE = "tree"
    URLS = "urls"
    COUNTS = "counts"


Sources = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE|URL|-...",
        help="Sitemaps, indexes or feeds; a folder means the sitemap.xml or sitemap_index.xml in it, - the standard "
        "input.",
        show_default=False,
    ),
]
Address = Annotated[
    str,
    typer.Option(
        "--url",
        metavar="URL",
        help="The public address of a FILE, for the location rule; with a slash at its end, the directory of several.",
        show_default=False,
    ),
]
Shape = Annotated[Form, typer.Option("--format", help="How the report is told.")]
Threshold = Annotated[
    FailOn, typer.Option("--fail-on", help="Findings of this severity or worse end with exit code 10.")
]
Ignored = Annotated[
    list[str] | None, typer.Option("--ignore", metavar="RULE", help="Leave out the findings of this rule.")
]
Only = Annotated[
    list[str] | None, typer.Option("--only", metavar="RULE", help="Tell the findings of this rule only.")
]
Table = Annotated[bool, typer.Option("--rules", help="Print the table of rules and leave.")]
Listed = Annotated[
    Listing | None,
    typer.Option("--list", help="List what is there instead: the files, every URL, or how much of what."),
]
Follow = Annotated[bool, typer.Option("--follow/--no-follow", help="Read the sitemaps that an index lists.")]
Depth = Annotated[int, typer.Option("--max-depth", min=1, metavar="N", help="Levels below the first file.")]
Files = Annotated[int, typer.Option("--max-files", min=1, metavar="N", help="Files read in all.")]
Bytes = Annotated[str, typer.Option("--max-bytes", metavar="SIZE", help="Bytes read of one file, unpacked.")]
Entries = Annotated[int, typer.Option("--max-entries", min=1, metavar="N", help="Entries read of one file.")]
CrossSubmits = Annotated[
    bool | None,
    typer.Option(
        "--cross-submits/--no-cross-submits",
        help="Ask the robots.txt of other hosts whether it names the sitemap that lists their URLs. On for a URL.",
        show_default=False,
    ),
]
Settings = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="A TOML file of settings.", envvar="SITEATLAS_CONFIG"),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show nothing but errors.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Say what each rule demands, and where that is written.")
]


@with_flags(*REQUESTS)
def lint(  # noqa: PLR0913 - the command line is wide
    sources: Sources = None,
    url: Address = "",
    form: Shape = Form.TEXT,
    fail_on: Threshold = FailOn.ERROR,
    ignore: Ignored = None,
    only: Only = None,
    rules: Table = False,
    listing: Listed = None,
    follow: Follow = True,
    max_depth: Depth = 3,
    max_files: Files = 100_000,
    max_bytes: Bytes = "64M",
    max_entries: Entries = 1_000_000,
    cross_submits: CrossSubmits = None,
    config: Settings = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    **flags: Any,
) -> None:
    """Check sitemaps against the protocol, or list what is in them.

    An index is read with the sitemaps it lists: by URL one after the other, or, for a FILE, the files beside it.
    """
    with Told(verbose) as told:
        chosen = _rules(only, ignore)
        if rules:
            sys.stdout.write(_table())
            return
        from crawler.cli import checking  # noqa: PLC0415 - not needed to show help

        limits = checking.limits(max_depth if follow else 0, max_files, _bytes(max_bytes), max_entries)
        task = checking.Task(sources or [], url, limits, settings(config, flags), cross_submits)
        say = _silent if quiet else told.say
        if listing is not None:
            checking.show(task, listing, sys.stdout.write, say)
            sys.stdout.flush()
            return
        report = checking.check(task, chosen, say)
        threshold = None if fail_on is FailOn.NEVER else Severity(fail_on)
        failing = bool(threshold and report.at_least(threshold))
        told.exit_code = FindingsFound.exit_code if failing else 0
        if not quiet or form is not Form.TEXT:
            sys.stdout.write(_report(report, form, threshold, sources=verbose))
            sys.stdout.flush()
        if failing and quiet:
            raise FindingsFound(f"there are findings at or over {threshold}")


def _report(report: "sitemap.LintReport", form: Form, threshold: Severity | None, *, sources: bool) -> str:
    if form is Form.JSON:
        return sitemap.as_json(report)
    if form is Form.SARIF:
        return sitemap.as_sarif(report, __version__)
    if form is Form.JUNIT:
        return sitemap.as_junit(report, threshold)
    terminal = Console()
    colour = terminal.color_system is not None and not terminal.no_color
    return sitemap.as_text(report, threshold, colour=colour, sources=sources)


def _silent(line: str) -> None:
    """Say nothing."""


def _bytes(text: str) -> int:
    try:
        return size(text)
    except ValueError as error:
        raise UsageError(f"--max-bytes: {error}") from None


def _rules(only: list[str] | None, ignore: list[str] | None) -> frozenset[str]:
    """The ids of the rules whose findings are told. Raises UsageError."""
    for name in (*(only or ()), *(ignore or ())):
        if name not in RULES:
            near = get_close_matches(name, RULES, n=1, cutoff=0.4)
            hint = f'did you mean "{near[0]}"?' if near else "siteatlas lint --rules names them all"
            raise UsageError(f"there is no rule {name!r}: {hint}")
    return frozenset(only or RULES).difference(ignore or ())


def _table() -> str:
    """The rules, each in three lines: its severity and id, what it demands, where that is written."""
    return "".join(
        f"{rule.severity:8}{rule.id}\n        {rule.sentence}\n        {rule.source}\n"
        for rule in RULES.values()
    )
