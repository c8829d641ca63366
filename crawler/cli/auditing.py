"""Runs an audit with the live displays, tells it, and writes its reports."""

import signal
import sys
from pathlib import Path
from typing import Final

from crawler.audit.audit import Watches, audit
from crawler.cli.audit_form import Form
from crawler.cli.crawl import beginning, collect_seldom, loop_options
from crawler.cli.progress import Display
from crawler.cli.reading import ReadingDisplay
from crawler.cli.told import Told
from crawler.cli.wishes import Wishes
from crawler.config import Config
from crawler.engine import Tally
from crawler.errors import FindingsFound, Incomplete, worst
from crawler.finding import AuditReport, Findings
from crawler.plan import plan_audit
from crawler.reports.as_json import write_json
from crawler.reports.junit import as_junit
from crawler.reports.rules_told import TOLD
from crawler.reports.sarif import write_sarif
from crawler.reports.text import write_text
from crawler.reports.threshold import failing, rules_failing, undecided
from crawler.reports.writing import prepare, write_reports

DEFAULT_FAILURES: Final = ("error",)  # what counts as a failed case of JUnit when --fail-on says nothing


def run(config: Config, wishes: Wishes, form: Form, told: Told) -> None:
    """Audit, tell and write; ``told`` gets the exit code. Raises SiteatlasError."""
    rules_failing(config.audit.fail_on)
    plan = plan_audit(config)
    if config.audit.report:
        prepare(Path(config.audit.report))  # before hours go into what is to be written there
    reading = ReadingDisplay(told.console, enabled=not wishes.quiet)
    crawling = Display(told.console, enabled=not wishes.quiet)

    def watch(tally: Tally) -> None:
        reading.finish()
        crawling.start()
        crawling.watch(tally)

    def part(name: str) -> None:
        reading.finish()
        crawling.start()
        crawling.part(name)

    collect_seldom()
    watches = Watches(watch, reading.watch, part)
    # SIGTERM ends it as SIGINT does, also while it reads and writes; the crawl listens to both by itself
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with audit(plan, watches, begin=beginning(wishes), loop=loop_options()) as (report, findings):
            written = _written(config, report, findings)
            crawling.finish()
            _tell(config, report, findings, wishes, form, told, written)
    finally:
        reading.finish()
        crawling.finish()
        signal.signal(signal.SIGTERM, before)


def table() -> str:
    """The rules, each in a few lines: its severity and id, what it means, what helps, where that is written."""
    return "".join(
        f"{rule.severity:8}{rule.id}\n        {rule.title}: {rule.sentence}\n        {rule.remedy}\n"
        f"{f'        {rule.source}{chr(10)}' if rule.source else ''}"
        for rule in TOLD.values()
    )


def _written(config: Config, report: AuditReport, findings: Findings) -> list[Path]:
    if not config.audit.report:
        return []
    failures = config.audit.fail_on or DEFAULT_FAILURES
    return write_reports(report, findings, Path(config.audit.report), failures)


def _tell(  # noqa: PLR0913 - what is told, and how
    config: Config,
    report: AuditReport,
    findings: Findings,
    wishes: Wishes,
    form: Form,
    told: Told,
    written: list[Path],
) -> None:
    names = config.audit.fail_on
    failed = failing(report, names)
    open_ = undecided(report, names)
    told.exit_code = worst(  # also if nobody reads what is told
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
    if failed:
        told.say(f"there are findings that --fail-on names: {', '.join(each.rule for each in failed)}")
    if wishes.quiet:
        wrong = report.doubts if open_ or report.exit_code else []
        for sentence in (*wrong, *(fault for each in report.inputs for fault in each.faults)):
            told.say(sentence)
