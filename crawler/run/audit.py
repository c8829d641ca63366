"""One audit as commands make it: checked, watched, made, and its reports written, whoever is told of it then."""

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
from crawler.audit.report.threshold import rules_failing
from crawler.audit.report.write import prepare_directory, write_reports
from crawler.audit.summary import AuditSummary
from crawler.config.config import Config
from crawler.config.deprecated import KEYS
from crawler.config.plan import AUDIT, CrawlPlan, plan_audit
from crawler.crawl.engine import RunEnd
from crawler.errors import Incomplete, SiteatlasError, StateInUse
from crawler.notify.ledger_status import NotifyResult
from crawler.notify.notify import send_audit_notifications
from crawler.run.event_loop import loop_options, tune_garbage_collector
from crawler.run.outcome import run_result
from crawler.run.report import Report
from crawler.state.runs import RunStatus
from crawler.state.store import Resume, Store, lock_state

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


log = logging.getLogger(__name__)


CUT_SHORT: Final = "the audit after it was cut short; the next run continues it"

PUT_OFF: Final = "its audit is left to the next run, because other sites wait for their runs"

_NOTIFY_PENDING: Final = "the findings of the audit after it are in the report, but no notification was sent"

_REPORT_FAILED: Final = "the audit after it made no report; the next run tries again"


class FollowUpAudit(Struct, frozen=True, kw_only=True):
    """What became of the audit after a run. It says nothing of the run, which was done before it.

    ``news`` is what it found, None when it did not come to its end; ``error`` is then a sentence that says why.
    ``is_interrupted``: somebody wanted it, or the telling of it, to end. ``report`` is the directory of its reports, ""
    for none.
    """

    news: AuditSummary | None = None
    error: str = ""
    is_interrupted: bool = False
    report: str = ""
    announced: NotifyResult | None = None

    @property
    def sentence(self) -> str:
        """What there is to say of it, without a full stop."""
        return f"audit: {self.news.sentence}" if self.news else self.error

    @property
    def untold(self) -> bool:
        """Whether others could not be told of it for now."""
        return bool(self.announced and self.announced.untold)

    def as_json(self) -> dict[str, Any]:
        """The same in values that JSON knows."""
        built: dict[str, Any] = msgspec.to_builtins(self)
        return {**built, "news": self.news.as_values() if self.news else None}


def should_audit(ready: CrawlPlan, report: Report) -> bool:
    """Whether an audit is to follow a run: one that is done, of a site whose last audit began long enough ago.

    One that is to be tried again, since it was stopped or the site was in trouble, is followed by none.
    """
    every = ready.config.audit.every
    if every is None or report.outcome == "dry" or run_result(report).fate is not RunStatus.DONE:
        return False
    return history.is_audit_due(ready.state / AUDIT, every, time.time())


def audit_after_run(name: str, ready: CrawlPlan, watches: ProgressWatchers) -> FollowUpAudit | None:
    """Audit the site that was run, and tell others what is new; None when another process works on it.

    The site is held meanwhile, so that no other run of it is begun. Never raises for what becomes of the audit.
    """
    try:
        with lock_state(ready.state):
            followed = _run_audit(ready, watches)
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
        announced = anyio.run(send_audit_notifications, ready, name, backend_options=loop_options())
    except KeyboardInterrupt:  # the next run tells
        return replace(followed, is_interrupted=True)
    return replace(followed, announced=announced)


def _run_audit(ready: CrawlPlan, watches: ProgressWatchers) -> FollowUpAudit:
    """Raises StateInUse, KeyboardInterrupt."""
    directory = plan_audit(ready.config).state
    try:
        with open_audit(ready.config, watches, Resume.IF_SAME_SETTINGS) as (report, _, _):
            is_over = report.exit_code != Incomplete.exit_code
        if is_over:
            return _finished(directory, report, ready.config.audit.report)
        cut = history.audit_status(directory).newest
        why = cut.because if cut else ""
        return FollowUpAudit(error=f"{CUT_SHORT}: {why}", is_interrupted=RunEnd.INTERRUPTED.value in why)
    except StateInUse:
        raise
    except SiteatlasError as error:
        return _failed_audit(ready, error)
    except Exception as error:
        log.exception("internal error in the audit")
        return _failed_audit(ready, SiteatlasError(f"internal error: {type(error).__name__}: {error}"))


def _finished(directory: Path, report: AuditReport, reports: str) -> FollowUpAudit:
    """What there is to say of an audit whose reports are written: nothing of others is said in its place."""
    with suppress(SiteatlasError):
        known = history.audit_status(directory)
        if known.last and known.is_finished:
            return FollowUpAudit(news=known.last, report=reports)
    return FollowUpAudit(error=f"{_NOTIFY_PENDING}: {report.why_uncompared}", report=reports)


def _failed_audit(ready: CrawlPlan, error: SiteatlasError) -> FollowUpAudit:
    """What to say of an audit that made no report. It is kept for those who look; the next run tries again."""
    _record_failure(ready, error)
    return FollowUpAudit(error=f"{_REPORT_FAILED}: {error}")


def _record_failure(ready: CrawlPlan, error: SiteatlasError) -> None:
    plan = plan_audit(ready.config)
    with suppress(SiteatlasError):
        if history.audit_status(plan.state).trouble == str(error):  # it has said so itself
            return
    with (
        suppress(SiteatlasError),
        Store(
            plan.state, begin_settings(plan), begin=Resume.IF_SAME_SETTINGS, about=plan.about, renamed=KEYS
        ) as store,
    ):
        store.record_failure(error, time.time())
