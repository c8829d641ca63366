"""Runs ``siteatlas audit`` with the live displays, and prints its result."""

import sys
from urllib.parse import urlsplit

from crawler.audit.finding import AuditFindings, RuleCount
from crawler.audit.report.machine_readable import as_junit, write_json, write_sarif
from crawler.audit.report.text import write_text
from crawler.audit.verdict import failing_counts, inconclusive_counts, why_not_new
from crawler.cli.errors import CommandErrors
from crawler.cli.options import Form
from crawler.cli.progress import AuditProgressDisplays
from crawler.config.config import Config
from crawler.errors import FindingsFound, Incomplete, worst_exit_code
from crawler.run.audit import DEFAULT_FAILURES, open_audit
from crawler.run.options import RunOptions
from crawler.run.regenerate import resume_mode
from sitemap import safe


def run_audit(config: Config, options: RunOptions, form: Form, errors: CommandErrors) -> None:
    """Audit, print and write reports; ``errors`` gets the exit code. Raises SiteatlasError."""
    host = urlsplit(config.site.url).netloc or config.site.url.partition("/")[0]
    displays = AuditProgressDisplays(errors.terminal, host, enabled=not options.quiet)
    with displays as watches, open_audit(config, watches, resume_mode(options)) as (report, findings, written):
        displays.finish()
        names = config.audit.fail_on
        failed, inconclusive = failing_counts(report, names), inconclusive_counts(report, names)
        # before printing, because the reader of a pipe may leave; exit code 0 would mean that there are no findings
        doubtful = Incomplete.exit_code if inconclusive else 0
        errors.exit_code = worst_exit_code((report.exit_code, FindingsFound.exit_code if failed else 0, doubtful))
        match form:
            case Form.JSON:
                write_json(report, findings, sys.stdout.buffer)
            case Form.SARIF:
                write_sarif(report, findings, sys.stdout.buffer)
            case Form.JUNIT:
                sys.stdout.write(as_junit(report, findings, names or DEFAULT_FAILURES))
            case _ if not options.quiet:
                write_text(report, findings, sys.stdout, verbose=options.verbose, written=written)
        sys.stdout.flush()
        for sentence in why_not_new(report, names):
            errors.print_line(sentence)
        if failed:
            failures = ", ".join(_named_failure(count, findings) for count in failed)
            errors.print_line(f"findings that --fail-on names: {failures}")
        if options.quiet:
            wrong = report.doubts if inconclusive or report.exit_code else []
            for sentence in (*wrong, *(fault for count in report.inputs for fault in count.faults)):
                errors.print_line(sentence)


def _named_failure(count: RuleCount, findings: AuditFindings) -> str:
    """A rule that makes an audit fail, with its first finding that is not inconclusive; new ones come first."""
    first = next((finding for finding in findings(count.rule) if not finding.is_open), None)
    if first is None:
        return count.rule
    more = f" and {count.certain - first.times:,} more" if count.certain > first.times else ""
    return f"{count.rule} ({safe(first.url or first.file)}{more})"
