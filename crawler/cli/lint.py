"""``siteatlas lint``: its options, its output and its exit code."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Any

from rich.console import Console

import sitemap
from crawler.audit.report.layout import fitted
from crawler.audit.verdict import rules_named, split_names
from crawler.cli.errors import CommandErrors
from crawler.cli.options import REQUEST_KEYS, Form, site_config, with_flags
from crawler.errors import FindingsFound
from crawler.version import __version__
from sitemap import RULES, Severity


class FailOn(StrEnum):
    """The lowest severity of a failure."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    NEVER = "never"


@with_flags(*REQUEST_KEYS)
def lint(  # noqa: PLR0913 - the command line is wide
    sources: list[str] | None = None,
    url: str = "",
    form: Form = Form.TEXT,
    fail_on: FailOn = FailOn.ERROR,
    ignore: list[str] | None = None,
    only: list[str] | None = None,
    rules: bool = False,
    follow: bool = True,
    max_findings: int = 20,
    cross_submits: bool | None = None,
    config: Path | None = None,
    quiet: bool = False,
    verbose: bool = False,
    **flags: Any,
) -> None:
    """Check sitemaps against the sitemap protocol and the rules of search engines.

    For an index, lint also reads the sitemaps that the index lists. It requests their URLs. If the index is a local
    file, lint reads the files in the same directory instead.
    """
    with CommandErrors(verbose) as errors:
        rule_ids = frozenset(_rules_named(only) if only else RULES).difference(_rules_named(ignore))
        if rules:
            sys.stdout.write(fitted(sitemap.rules_text(RULES.values()).splitlines()))
            return
        from crawler.cli import lint_check  # noqa: PLC0415 - not needed to show help

        of_file = sitemap.ReadLimits(max_findings=max_findings)
        limits = sitemap.TreeLimits(read=of_file) if follow else sitemap.TreeLimits(max_depth=0, read=of_file)
        settings = site_config(config, flags, remedy="Give a configuration of one site")
        task = lint_check.LintTask(sources or [], url, limits, settings, cross_submits)
        print_line = (lambda _: None) if quiet else errors.print_line
        report = lint_check.lint_sources(task, rule_ids, print_line)
        threshold = None if fail_on is FailOn.NEVER else Severity(fail_on)
        failing = bool(threshold and report.at_least(threshold))
        errors.exit_code = FindingsFound.exit_code if failing else 0
        if not quiet or form is not Form.TEXT:
            sys.stdout.write(_print_report(report, form, threshold, sources=verbose))
            sys.stdout.flush()
        if failing and quiet:
            raise FindingsFound(f"there are findings of severity {threshold} or worse")


def _print_report(report: "sitemap.LintReport", form: Form, threshold: Severity | None, *, sources: bool) -> str:
    if form is Form.JSON:
        return sitemap.as_json(report)
    if form is Form.SARIF:
        return sitemap.as_sarif(report, __version__)
    if form is Form.JUNIT:
        return sitemap.as_junit(report, threshold)
    terminal = Console()
    colour = terminal.color_system is not None and not terminal.no_color
    return fitted(sitemap.as_text(report, threshold, colour=colour, sources=sources).splitlines())


def _rules_named(texts: list[str] | None) -> set[str]:
    """The rules in comma-separated texts: each an id, or a family such as ``lastmod`` or ``lastmod.*``.

    Raises UsageError.
    """
    remedy = "siteatlas lint --rules lists all rules"
    return {rule for name in split_names(texts) for rule in rules_named(name, RULES, remedy=remedy)}
