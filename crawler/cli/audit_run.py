"""Runs an audit that a person asks for, with the live displays, and tells it."""

import sys
from pathlib import Path

from crawler.audit.finding import AuditFindings, AuditReport, RuleCount
from crawler.audit.report.json import write_json
from crawler.audit.report.junit import as_junit
from crawler.audit.report.sarif import write_sarif
from crawler.audit.report.text import write_text
from crawler.audit.report.threshold import failing_counts, inconclusive_counts, why_not_new
from crawler.cli.errors import CommandErrors
from crawler.cli.options import Form
from crawler.cli.progress import AuditProgressDisplays
from crawler.config.config import Config
from crawler.errors import FindingsFound, Incomplete, worst_exit_code
from crawler.run.audit import DEFAULT_FAILURES, open_audit
from crawler.run.options import RunOptions
from crawler.run.regenerate import resume_mode
from sitemap import safe


def run_audit(config: Config, wishes: RunOptions, form: Form, told: CommandErrors) -> None:
    """Audit, tell and write; ``told`` gets the exit code. Raises SiteatlasError."""
    displays = AuditProgressDisplays(told.console, enabled=not wishes.quiet)
    with displays as watches, open_audit(config, watches, resume_mode(wishes)) as (report, findings, written):
        displays.finish()
        _print_result(config, report, findings, wishes, form, told, written)


def _print_result(  # noqa: PLR0913 - what is told, and how
    config: Config,
    report: AuditReport,
    findings: AuditFindings,
    wishes: RunOptions,
    form: Form,
    told: CommandErrors,
    written: list[Path],
) -> None:
    names = config.audit.fail_on
    failed = failing_counts(report, names)
    open_ = inconclusive_counts(report, names)
    told.exit_code = worst_exit_code(  # also if nobody reads what is told
        (
            report.exit_code,
            FindingsFound.exit_code if failed else 0,
            Incomplete.exit_code if open_ else 0,  # a green light would say that there are none
        )
    )
    match form:
        case Form.JSON:
            write_json(report, findings, sys.stdout.buffer)
        case Form.SARIF:
            write_sarif(report, findings, sys.stdout.buffer)
        case Form.JUNIT:
            sys.stdout.write(as_junit(report, findings, names or DEFAULT_FAILURES))
        case _ if not wishes.quiet:
            write_text(report, findings, sys.stdout, verbose=wishes.verbose, written=written)
    sys.stdout.flush()
    for sentence in why_not_new(report, names):
        told.print_line(sentence)
    if failed:
        some = ", ".join(_named_failure(each, findings) for each in failed)
        told.print_line(f"found what --fail-on names: {some}")
    if wishes.quiet:
        wrong = report.doubts if open_ or report.exit_code else []
        for sentence in (*wrong, *(fault for each in report.inputs for fault in each.faults)):
            told.print_line(sentence)


def _named_failure(failed: RuleCount, findings: AuditFindings) -> str:
    """A rule that makes an audit fail, with the first URL that does, which is a new one if any is."""
    first = next((each for each in findings(failed.rule) if each.is_certain), None)
    if first is None:
        return failed.rule
    more = f" and {failed.certain - first.times:,} more" if failed.certain > first.times else ""
    return f"{failed.rule} ({safe(first.url or first.file)}{more})"
