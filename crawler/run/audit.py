"""One audit as commands make it: checked, watched, made, and its reports written, whoever is told of it then."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from crawler.audit.audit import ProgressWatchers, audit
from crawler.audit.finding import AuditFindings, AuditReport
from crawler.audit.report.threshold import rules_failing
from crawler.audit.report.write import prepare_directory, write_reports
from crawler.config.config import Config
from crawler.config.plan import plan_audit
from crawler.run.event_loop import loop_options, tune_garbage_collector
from crawler.state.store import Resume

DEFAULT_FAILURES: Final = ("error",)  # what counts as a failed case of JUnit when --fail-on says nothing


@contextmanager
def open_audit(
    config: Config, watches: ProgressWatchers, begin: Resume
) -> Iterator[tuple[AuditReport, AuditFindings, list[Path]]]:
    """The audit that a configuration asks for, and its reports; the findings can be asked for while this lasts.

    SIGTERM ends it as SIGINT does, by KeyboardInterrupt; a crawl that is going on listens to both by itself, and its
    report says that it was cut short. Raises SiteatlasError.
    """
    rules_failing(config.audit.fail_on)
    plan = plan_audit(config)
    if config.audit.report:
        prepare_directory(Path(config.audit.report))  # before hours go into what is to be written there
    tune_garbage_collector()
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        written: list[Path] = []

        def write(report: AuditReport, findings: AuditFindings) -> None:
            written.extend(_write_reports(config, report, findings))

        with audit(plan, watches, begin=begin, loop=loop_options(), write=write) as (report, findings):
            yield report, findings, written
    finally:
        signal.signal(signal.SIGTERM, before)


def _write_reports(config: Config, report: AuditReport, findings: AuditFindings) -> list[Path]:
    if not config.audit.report:
        return []
    failures = config.audit.fail_on or DEFAULT_FAILURES
    return write_reports(report, findings, Path(config.audit.report), failures)
