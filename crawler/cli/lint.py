"""``siteatlas lint``: what is checked or listed, how it is told, and which exit code it has."""

import sys
from typing import Any

from rich.console import Console

import sitemap
from crawler.audit.report.threshold import listed, named
from crawler.cli.errors import Told
from crawler.cli.help import RAW
from crawler.cli.lint_options import (
    Address,
    Bytes,
    CrossSubmits,
    Depth,
    Entries,
    FailOn,
    Files,
    Findings,
    Follow,
    Form,
    Ignored,
    Listed,
    Only,
    Shape,
    Sources,
    Table,
    Threshold,
    Verbose,
)
from crawler.cli.options import Quiet, Settings, settings, with_flags
from crawler.errors import FindingsFound, UsageError
from crawler.units import size
from crawler.version import __version__
from sitemap import RULES, Severity

EPILOG = f"""{RAW}Examples:
  siteatlas lint sitemap.xml --url https://www.example.com/sitemap.xml
  siteatlas lint https://www.example.com/
  siteatlas lint public --fail-on warning --ignore lastmod,hint
  siteatlas lint https://www.example.com/ --list urls --format json

Exit codes: 0 no finding of the severity of --fail-on, 1 internal error, 2 usage, or no such file, 5 the URL cannot be
fetched, 10 findings of that severity, or (with --list) files that cannot be read.
"""
REQUESTS = (
    "scope.hosts",
    "pace.rate",
    "pace.delay",
    "fetch.resolve",
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
    max_findings: Findings = 20,
    cross_submits: CrossSubmits = None,
    config: Settings = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    **flags: Any,
) -> None:
    """Check sitemaps against the protocol, or list what is in them.

    With an index, lint also reads the sitemaps that it lists: by their URLs, or for a FILE, the files beside it.
    """
    with Told(verbose) as told:
        chosen = _rules(only, ignore)
        if rules:
            sys.stdout.write(sitemap.rules_text(RULES.values()))
            return
        from crawler.cli import lint_check as checking  # noqa: PLC0415 - not needed to show help

        limits = checking.limits(
            max_depth if follow else 0, max_files, _bytes(max_bytes), max_entries, max_findings
        )
        asked = settings(config, flags, remedy="give it a file with one site")
        task = checking.Task(sources or [], url, limits, asked, cross_submits)
        say = _silent if quiet else told.say
        if listing is not None:
            if form not in (Form.TEXT, Form.JSON):
                raise UsageError(f"--list has the formats text and json, not {form}")
            checking.show(task, listing, sys.stdout.write, say, as_json=form is Form.JSON)
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
            raise FindingsFound(f"found findings of severity {threshold} or worse")


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
    return frozenset(_named(only) if only else RULES).difference(_named(ignore))


def _named(texts: list[str] | None) -> set[str]:
    """The rules that texts name, with commas between: each an id or a family, ``lastmod`` or ``lastmod.*``."""
    remedy = "siteatlas lint --rules lists them all"
    return {rule for name in listed(texts) for rule in named(name, RULES, remedy=remedy)}
