"""Runs one audit for the commands and after a run: checks the settings, writes the reports, sends notifications."""

import logging
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import anyio
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from crawler.audit.audit import ProgressWatchers, audit
from crawler.audit.base_crawl import begin_settings
from crawler.audit.compare import history
from crawler.audit.finding import AuditFindings, AuditReport
from crawler.audit.report.write import prepare_directory, write_reports
from crawler.audit.summary import AuditSummary
from crawler.audit.verdict import rules_failing
from crawler.config.config import Config
from crawler.config.plan import AUDIT, CrawlPlan, plan_audit
from crawler.crawl.engine import FinishReason
from crawler.dataset.history import record
from crawler.dataset.rules import own_rules
from crawler.errors import Incomplete, SiteatlasError, StateInUse
from crawler.notify.ledger_status import NotifyResult
from crawler.notify.notify import send_audit_notifications
from crawler.run.options import loop_options, tune_garbage_collector
from crawler.run.report import Report, run_result
from crawler.state.runs import RunStatus
from crawler.state.store import Resume, Store, lock_state

log = logging.getLogger(__name__)

CUT_SHORT: Final = "the audit after the run was cut short; the next run continues the audit"
PUT_OFF: Final = "the audit is postponed to the next run, because other sites wait for their runs"
_NOTIFY_PENDING: Final = "the findings of the audit are in the report, but no notification was sent"
_REPORT_FAILED: Final = "the audit after the run wrote no report; the next run tries again"
DEFAULT_FAILURES: Final = ("error",)  # severities that fail a JUnit case without --fail-on


@contextmanager
def open_audit(
    config: Config, watches: ProgressWatchers, begin: Resume
) -> Iterator[tuple[AuditReport, AuditFindings, list[Path]]]:
    """Run the audit of a configuration and write its reports. The findings are readable while the context lasts.

    SIGTERM ends it as SIGINT does, by KeyboardInterrupt. A running crawl handles both signals itself; the report then
    says that the crawl was cut short. Raises SiteatlasError.
    """
    own = own_rules(config)
    rules_failing(config.audit.fail_on)
    plan = plan_audit(config)
    if config.audit.report:
        prepare_directory(Path(config.audit.report))  # fail now, not after hours of crawling
    tune_garbage_collector()
    previous_handler = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        written: list[Path] = []

        def write(report: AuditReport, findings: AuditFindings) -> None:
            if config.audit.report:
                failures = config.audit.fail_on or DEFAULT_FAILURES
                written.extend(write_reports(report, findings, Path(config.audit.report), failures))

        with audit(plan, watches, begin=begin, loop=loop_options(), write=write, own=own, record=record) as (
            report,
            findings,
        ):
            yield report, findings, written
    finally:
        signal.signal(signal.SIGTERM, previous_handler)


class FollowUpAudit(Struct, frozen=True, kw_only=True):
    """Outcome of the audit that follows a run. The run itself was done before.

    ``news`` is the summary, None when the audit did not finish; ``error`` then says why. ``is_interrupted``: a signal
    ended the audit or its notifications. ``report`` is the directory of its reports, "" for none.
    """

    news: AuditSummary | None = None
    error: str = ""
    is_interrupted: bool = False
    report: str = ""
    announced: NotifyResult | None = None

    @property
    def sentence(self) -> str:
        """The outcome in one sentence, without a full stop."""
        return f"audit: {self.news.sentence}" if self.news else self.error

    @property
    def notify_pending(self) -> bool:
        """Whether a notification is still outstanding."""
        return bool(self.announced and self.announced.notify_pending)

    def as_json(self) -> dict[str, Any]:
        """The outcome as JSON values."""
        built: dict[str, Any] = msgspec.to_builtins(self)
        return {**built, "news": self.news.as_values() if self.news else None}


def should_audit(plan: CrawlPlan, report: Report) -> bool:
    """Whether an audit follows the run: the run is done, and the last audit is at least ``audit.every`` old.

    A run that will be retried, because it was stopped or the site was in trouble, has no audit; nor has one that the
    gate refused, since the findings would be about a login page, for example.
    """
    every = plan.config.audit.every
    if every is None or report.outcome in {"dry", "refused"} or run_result(report).status is not RunStatus.DONE:
        return False
    return history.is_audit_due(plan.state / AUDIT, every, time.time())


def audit_after_run(name: str, plan: CrawlPlan, watches: ProgressWatchers) -> FollowUpAudit | None:
    """Audit the site and send what is new; None when another process holds the site.

    Holds the site's lock meanwhile, so that no other run begins. Never raises for an audit that fails.
    """
    try:
        with lock_state(plan.state):
            followed = _run_audit(plan, watches)
    except StateInUse as error:
        log.info("%s: not audited: %s", name, error)
        return None
    except SiteatlasError as error:
        return FollowUpAudit(error=f"{_REPORT_FAILED}: {error}")
    except KeyboardInterrupt:
        return FollowUpAudit(is_interrupted=True, error=CUT_SHORT)
    if followed.news is None:
        return followed
    try:
        announced = anyio.run(send_audit_notifications, plan, name, backend_options=loop_options())
    except KeyboardInterrupt:  # the next run sends the notification
        return replace(followed, is_interrupted=True)
    return replace(followed, announced=announced)


def _run_audit(plan: CrawlPlan, watches: ProgressWatchers) -> FollowUpAudit:
    """Raises StateInUse, KeyboardInterrupt."""
    directory = plan_audit(plan.config).state
    try:
        with open_audit(plan.config, watches, Resume.IF_SAME_SETTINGS) as (report, _, _):
            is_finished = report.exit_code != Incomplete.exit_code
        if is_finished:
            return _finished(directory, report, plan.config.audit.report)
        unfinished = history.audit_status(directory).newest
        reason = unfinished.reason if unfinished else ""
        return FollowUpAudit(error=f"{CUT_SHORT}: {reason}", is_interrupted=FinishReason.INTERRUPTED.value in reason)
    except StateInUse:
        raise
    except SiteatlasError as error:
        return _failed_audit(plan, error)
    except Exception as error:
        log.exception("internal error in the audit")
        return _failed_audit(plan, SiteatlasError(f"internal error: {type(error).__name__}: {error}"))


def _finished(directory: Path, report: AuditReport, reports: str) -> FollowUpAudit:
    """Outcome of an audit whose reports are written, without another audit's summary in its place."""
    with suppress(SiteatlasError):
        status = history.audit_status(directory)
        if status.last and status.is_finished:
            return FollowUpAudit(news=status.last, report=reports)
    return FollowUpAudit(error=f"{_NOTIFY_PENDING}: {report.why_uncompared}", report=reports)


def _failed_audit(plan: CrawlPlan, error: SiteatlasError) -> FollowUpAudit:
    """Outcome of an audit without a report. The failure is stored; the next run tries again."""
    _record_failure(plan, error)
    return FollowUpAudit(error=f"{_REPORT_FAILED}: {error}")


def _record_failure(crawl_plan: CrawlPlan, error: SiteatlasError) -> None:
    plan = plan_audit(crawl_plan.config)
    with suppress(SiteatlasError):
        if history.audit_status(plan.state).trouble == str(error):  # the audit recorded it itself
            return
    with (
        suppress(SiteatlasError),
        Store(plan.state, begin_settings(plan), begin=Resume.IF_SAME_SETTINGS, about=plan.about) as store,
    ):
        store.record_failure(error, time.time())
