"""The worker process of one scheduled run: reads a job on standard input, prints the result on standard output.

::

    python -m crawler.schedule.worker NAME     the name is for readers of the process list

When an audit follows the run, the worker prints two results: one before the audit, so that the run counts as done
whatever the audit does, and one after it. On SIGTERM, on SIGINT, and when its standard input closes, because the daemon
is gone, it saves its state and ends.
"""

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType
from typing import Final

import anyio
import msgspec
from msgspec.structs import replace

from crawler.config.config import Config
from crawler.config.plan import CrawlPlan, plan_crawl
from crawler.crawl.engine import FinishReason, Watch
from crawler.crawl.progress import ProgressLogger
from crawler.errors import NEXT_RUN, Incomplete, SiteatlasError, UsageError
from crawler.fetch.permits import OriginGrant, SharedOrigins, decode_line, encode_line, use_permits
from crawler.notify.delivery import SharedClaims, use_claims
from crawler.notify.ledger_status import NotifyResult, notify_status
from crawler.notify.notify import send_notifications
from crawler.notify.session import ReplayRequest
from crawler.publish.rollback import publish_previous
from crawler.publish.upload.upload import upload, why_not_uploaded
from crawler.run.options import RunOptions, loop_options
from crawler.run.regenerate import crawl_and_report
from crawler.run.report import Report, run_result, run_result_of_error
from crawler.schedule.process import SiteJob
from crawler.schedule.site_state import Attempt
from crawler.state.lock import RUN_LEASE, boot_time
from crawler.state.runs import Run, RunResult, RunStatus, RunStore
from crawler.state.schema import STATE_DB
from crawler.state.store import written_state
from crawler.units import count_text

log = logging.getLogger(__name__)

_INTERRUPTED: Final = "the state is saved, and the next run continues it"


def main() -> None:
    """Run the job, print the result, and exit with its code."""
    try:
        job = msgspec.json.decode(sys.stdin.buffer.readline(), type=SiteJob)
    except msgspec.DecodeError as error:
        sys.exit(f"siteatlas schedule starts this program, with a job on its standard input: {error}")
    if job.lease_until is not None:
        RUN_LEASE.renew(job.lease_until)
    NEXT_RUN.command = job.command
    listeners: list[Callable[[bytes], object]] = [RUN_LEASE.hear]
    if job.is_linked:
        shared, claims = SharedOrigins(_print_line, boot_time), SharedClaims(_print_line)
        use_permits(shared)
        use_claims(claims)
        listeners += [lambda line: shared.hear(decode_line(line, list[OriginGrant]) or []), claims.hear]
    threading.Thread(target=_follow_parent, args=(listeners, job.shutdown_timeout), daemon=True).start()
    logging.basicConfig(level=logging.INFO if job.is_verbose else logging.WARNING, format="%(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    logging.getLogger("crawler.crawl.visit").setLevel(logging.ERROR)  # its hints are for a keyboard
    result = _run_job(job)
    _print_line(result)
    # skip the interpreter's shutdown: threads of the HTTP client could abort it
    os._exit(result.exit_code)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """Turn SIGTERM into SIGINT: an event loop that is not crawling ends on it at its next wait."""
    signal.raise_signal(signal.SIGINT)


def _print_line(message: object) -> None:
    """Tell the parent something in one line, in one piece: another thread may do so too.

    Of several results the last one counts.
    """
    with suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), encode_line(message))


def _follow_parent(listeners: Sequence[Callable[[bytes], object]], shutdown_timeout: float) -> None:
    """Take what the parent process says. When it is gone, stop: in good order, or by force after the timeout."""
    for line in sys.stdin.buffer:
        for hear in listeners:
            hear(line)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(shutdown_timeout)
    if os.getpgrp() == os.getpid():  # its children too
        os.killpg(0, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def _run_job(job: SiteJob) -> RunResult:
    """Run the job; every ending becomes a result."""
    plan, last_run = None, None
    try:
        signal.signal(signal.SIGTERM, _interrupt)
        plan = plan_crawl(Config.model_validate(job.config))
        if job.task == "tell":
            return _notify(plan, job)
        if job.task == "rollback":
            return _roll_back(plan, job)
        last_run = _last_finished_run(plan)
        if job.last and job.last.status is RunStatus.FAILED and job.last.notify_pending:
            _notify(plan, job)  # the run may have been killed before it could
        options = RunOptions(quiet=True, unattended=True, should_serve=True, **job.options)
        watch = ProgressLogger().watch if job.is_verbose else _ignore_progress
        report = crawl_and_report(job.name, plan, options, watch)
        plan = plan_crawl(plan.config)  # the run may have found that the start URL has moved
        if report.ending == FinishReason.INTERRUPTED.value and _exceeds_time_limit(plan, job):
            _record_timeout(plan, report.run)
        _log_failures(report.announced)
        return _result_with_audit(plan, job, report, ProgressLogger().watch if job.is_verbose else _ignore_progress)
    except KeyboardInterrupt:
        return _cut_short(plan, last_run)
    except SiteatlasError as error:
        return replace(run_result_of_error(error), notify_pending=error.notify_pending or _is_notify_pending(plan))
    except Exception as error:
        log.exception("internal error")
        return RunResult(
            exit_code=1, status=RunStatus.FAILED, message=f"internal error: {type(error).__name__}: {error}"
        )
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):  # it is about to print its result
            signal.signal(number, signal.SIG_IGN)


def _result_with_audit(plan: CrawlPlan, job: SiteJob, report: Report, watch: Watch) -> RunResult:
    """The result of the run, after the audit or the watch of old URLs that follows it, if one is due."""
    done = run_result(report)
    if plan.config.audit.every is None:  # audits ask for old URLs themselves
        return _watched(plan, job, done) if report.published else done
    from crawler.audit.audit import ProgressWatchers  # noqa: PLC0415 - a run without an audit needs none of it
    from crawler.run.audit import CUT_SHORT, PUT_OFF, audit_after_run, should_audit  # noqa: PLC0415

    if not should_audit(plan, report):
        return done
    if not job.may_audit:
        return replace(done, message=f"{done.message}; {PUT_OFF}")
    _print_line(replace(done, message=f"{done.message}; {CUT_SHORT}"))
    followed = audit_after_run(job.name, plan, ProgressWatchers(watch, _ignore_progress))
    if followed is None:
        return done
    _log_failures(followed.announced)
    is_overlong = followed.is_interrupted and _exceeds_time_limit(plan, job)
    timeout = f" ({_timeout_message(plan)})" if is_overlong else ""
    return replace(
        done,
        message=f"{done.message}; {followed.sentence}{timeout}",
        notify_pending=done.notify_pending or followed.notify_pending,
    )


def _watched(plan: CrawlPlan, job: SiteJob, done: RunResult) -> RunResult:
    """The result of a run, with the old URLs of the site that are lost."""
    from crawler.run.watch import watch_old_urls  # noqa: PLC0415 - other tasks need none of it

    _print_line(done)
    if not (lost := watch_old_urls(job.name, plan)):
        return done
    log.warning("%s", lost)
    return replace(done, message=f"{done.message}; {lost}")


def _roll_back(plan: CrawlPlan, job: SiteJob) -> RunResult:
    """Publish an earlier set again, and upload it. The result of a wrong request is no fault of the site.

    Raises StorageError, StateInUse.
    """
    try:
        run = publish_previous(plan, job.options["rollback"])
    except UsageError as error:
        return RunResult(exit_code=error.exit_code, status=RunStatus.DONE, outcome="nothing", message=str(error))
    if plan.config.upload.to:
        anyio.run(upload, plan, run, log.warning, backend_options=loop_options())
    told = f"{run.refusal}: {count_text(run.listed, 'page')}"
    return RunResult(exit_code=0, status=RunStatus.DONE, run=run.number, outcome=run.outcome, message=told)


def _ignore_progress(_: object) -> None:
    """Drop the progress."""


def _exceeds_time_limit(plan: CrawlPlan, job: SiteJob) -> bool:
    return job.began is not None and time.time() - job.began >= plan.config.schedule.run_timeout


def _record_timeout(plan: CrawlPlan, number: int) -> None:
    """Store with a run that the schedule ended it for its time limit."""
    reason = _timeout_message(plan)
    try:
        with written_state(plan.state) as db:
            run = RunStore(db).get(number)
            texts = [text.replace(FinishReason.INTERRUPTED.value, reason) for text in (run.reason, run.refusal)]
            RunStore(db).write(replace(run, reason=texts[0], refusal=texts[1]))
    except SiteatlasError as error:
        log.warning("the reason why the run was ended could not be stored: %s", error)


def _timeout_message(plan: CrawlPlan) -> str:
    return f"it took longer than schedule.run_timeout, {plan.config.schedule.run_timeout:,g} s"


def _notify(plan: CrawlPlan, job: SiteJob) -> RunResult:
    """Send outstanding notifications, including the result of the last run. Raises SiteatlasError."""

    async def send() -> NotifyResult:
        if not plan.config.notify.enabled:
            return NotifyResult()
        again = ReplayRequest(notices=frozenset(job.wanted))
        return await send_notifications(plan, job.name, ended=_last_scheduled_result(plan, job.last), again=again)

    announced = anyio.run(send, backend_options=loop_options())
    return RunResult(
        exit_code=Incomplete.exit_code if announced.notify_pending else 0,
        status=RunStatus.DONE,
        outcome="postponed" if announced.notify_pending else "notified",
        message="; ".join(announced.sentences) or "nothing is left to send",
        notify_pending=announced.notify_pending,
    )


def _log_failures(announced: NotifyResult | None) -> None:
    for sentence in announced.sentences if announced else ():
        log.warning("%s", sentence)


def _last_scheduled_result(plan: CrawlPlan, last: Attempt | None) -> RunResult | None:
    """The result of the last scheduled run; None when a later successful run replaced it."""
    if last is None or last.status is None or last.exit_code is None:
        return None
    run = _last_finished_run(plan)
    if run and run.exit_code == 0 and run.number != last.run and run.started >= last.began:
        return None
    return RunResult(
        exit_code=last.exit_code, status=last.status, run=last.run, outcome=last.outcome, message=last.message
    )


def _cut_short(plan: CrawlPlan | None, before: Run | None) -> RunResult:
    """The result after an interrupt, with the last run before. One after the run itself only cuts what follows it."""
    run = _last_finished_run(plan) if plan else None
    if run is None or (before and run.number <= before.number) or run.exit_code is None:
        return RunResult(exit_code=Incomplete.exit_code, status=RunStatus.STOPPED, message=_INTERRUPTED)
    is_done = run.exit_code == 0
    if is_done and plan and why_not_uploaded(plan, run):
        message = "published here; interrupted during the upload, and the next run continues it"
        return RunResult(exit_code=Incomplete.exit_code, status=RunStatus.STOPPED, run=run.number, message=message)
    return RunResult(
        exit_code=run.exit_code,
        status=RunStatus.DONE if is_done else RunStatus.FAILED,
        run=run.number,
        outcome=run.result,
        message=run.refusal or f"{count_text(run.listed, 'page')} listed; interrupted before notifications were sent",
        notify_pending=True,
    )


def _last_finished_run(plan: CrawlPlan) -> Run | None:
    """The last run that has ended, from the state."""
    with suppress(SiteatlasError), STATE_DB.reading(plan.state) as db:
        return next((run for run in RunStore(db).last(2) if not run.is_open), None)
    return None


def _is_notify_pending(plan: CrawlPlan | None) -> bool:
    """Whether a notification is outstanding."""
    with suppress(SiteatlasError):
        return plan is not None and plan.config.notify.enabled and notify_status(plan.state, 0).is_notify_pending
    return False


if __name__ == "__main__":
    main()
