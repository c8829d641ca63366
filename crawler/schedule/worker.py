"""The process of one run of a schedule: an order in on standard input, how it ended out on standard output.

::

    python -m crawler.schedule.worker NAME     the name is for those who look at the list of processes

When a run is followed by an audit that is told twice: before, so that the run is done whatever becomes of the audit,
and after it. It ends, and saves what it knows, on SIGTERM, on SIGINT, and when its standard input ends: then who
started it is gone.
"""

import logging
import os
import signal
import sys
import threading
import time
from contextlib import closing, suppress
from types import FrameType
from typing import Final

import anyio
import msgspec
from msgspec.structs import replace

from crawler.config.config import Config
from crawler.config.plan import CrawlPlan, plan_crawl
from crawler.crawl.engine import RunEnd, Watch
from crawler.crawl.progress import ProgressLogger
from crawler.errors import Incomplete, SiteatlasError
from crawler.notify.ledger_status import NotifyResult, NotifyStatus, notify_status
from crawler.notify.notify import send_notifications
from crawler.publish.upload.upload import why_not_uploaded
from crawler.run.event_loop import loop_options
from crawler.run.options import RunOptions
from crawler.run.outcome import run_result, run_result_of_error
from crawler.run.regenerate import crawl_and_report
from crawler.run.report import Report
from crawler.schedule.process import SiteJob
from crawler.schedule.site_state import Attempt
from crawler.state.migrations import STATE_DB
from crawler.state.runs import Run, RunResult, RunsPage, RunStatus
from crawler.state.store import lock_state
from crawler.units import count_text

log = logging.getLogger(__name__)

_INTERRUPTED: Final = "the state is saved, and the next run continues"


def main() -> None:
    """Do what is ordered, tell how it ended, and leave with its exit code."""
    try:
        order = msgspec.json.decode(sys.stdin.buffer.readline(), type=SiteJob)
    except msgspec.DecodeError as error:
        sys.exit(f"siteatlas schedule starts this, with an order on its standard input: {error}")
    threading.Thread(target=_exit_with_parent, args=(order.shutdown_timeout,), daemon=True).start()
    logging.basicConfig(level=logging.INFO if order.is_verbose else logging.WARNING, format="%(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    logging.getLogger("crawler.crawl.visit").setLevel(logging.ERROR)  # who stops it here is not at a keyboard
    result = _run_job(order)
    _print_result(result)
    # the threads of the HTTP client may be holding Python when it is taken down, and would abort the process
    os._exit(result.exit_code)


def _print_result(result: RunResult) -> None:
    """Tell how it ended, as far as that is known now: the last that is said is what counts."""
    with suppress(BrokenPipeError):
        sys.stdout.buffer.write(msgspec.json.encode(result) + b"\n")
        sys.stdout.buffer.flush()


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """SIGTERM is SIGINT here: an event loop that is not crawling ends on it as soon as it waits for something."""
    signal.raise_signal(signal.SIGINT)


def _exit_with_parent(shutdown_timeout: float) -> None:
    """End with who started it: in good order, or by force when that takes longer than it would have been given."""
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(shutdown_timeout)
    if os.getpgrp() == os.getpid():  # what it has started goes too
        os.killpg(0, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def _run_job(order: SiteJob) -> RunResult:
    """Whatever happens becomes how it ended."""
    ready, before = None, 0
    try:
        signal.signal(signal.SIGTERM, _interrupt)
        ready = plan_crawl(Config.model_validate(order.config))
        if order.task == "tell":
            return _notify(ready, order)
        before, known = _number(_last_finished_run(ready)), _notify_status(ready)
        wishes = RunOptions(quiet=True, unattended=True)
        watch = ProgressLogger().watch if order.is_verbose else _ignore_progress
        report = crawl_and_report(order.name, ready, wishes, watch)
        if report.ending == RunEnd.INTERRUPTED.value and _exceeds_time_limit(ready, order):
            _record_timeout(ready, report.run)
        _log_news(report.announced, known)
        return _result_with_audit(
            ready, order, report, ProgressLogger().watch if order.is_verbose else _ignore_progress
        )
    except KeyboardInterrupt:
        return _cut_short(ready, before)
    except SiteatlasError as error:
        return replace(run_result_of_error(error), untold=error.notify_pending or _is_notify_pending(ready))
    except Exception as error:
        log.exception("internal error")
        return RunResult(
            exit_code=1, fate=RunStatus.FAILED, told=f"internal error: {type(error).__name__}: {error}"
        )
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):  # it has ended, and is about to tell how
            signal.signal(number, signal.SIG_IGN)


def _result_with_audit(ready: CrawlPlan, order: SiteJob, report: Report, watch: Watch) -> RunResult:
    """How the run ended, told when the audit after it has ended too, if one is due; the run was done before that."""
    done = run_result(report)
    if ready.config.audit.every is None:
        return done
    from crawler.audit.audit import ProgressWatchers  # noqa: PLC0415 - with numpy, and all that an audit needs
    from crawler.run.audit import CUT_SHORT, PUT_OFF, audit_after_run, should_audit  # noqa: PLC0415

    if not should_audit(ready, report):
        return done
    if not order.may_audit:
        return replace(done, told=f"{done.told}; {PUT_OFF}")
    known = _notify_status(ready)
    _print_result(replace(done, told=f"{done.told}; {CUT_SHORT}"))
    followed = audit_after_run(order.name, ready, ProgressWatchers(watch, _ignore_progress))
    if followed is None:
        return done
    _log_news(followed.announced, known)
    is_overlong = followed.is_interrupted and _exceeds_time_limit(ready, order)
    why = f" ({_timeout_message(ready)})" if is_overlong else ""
    return replace(done, told=f"{done.told}; {followed.sentence}{why}", untold=done.untold or followed.untold)


def _ignore_progress(_: object) -> None:
    """Nobody wants to know how far it is."""


def _exceeds_time_limit(ready: CrawlPlan, order: SiteJob) -> bool:
    return order.began is not None and time.time() - order.began >= ready.config.schedule.run_timeout


def _record_timeout(ready: CrawlPlan, number: int) -> None:
    """Keep with a run why it was ended: who started it had waited long enough."""
    why = _timeout_message(ready)
    try:
        with lock_state(ready.state), closing(STATE_DB.open(ready.state / STATE_DB.file)) as db:
            run = RunsPage(db).get(number)
            told = [text.replace(RunEnd.INTERRUPTED.value, why) for text in (run.because, run.refusal)]
            RunsPage(db).write(replace(run, because=told[0], refusal=told[1]))
    except SiteatlasError as error:
        log.warning("the reason why the run was ended could not be stored: %s", error)


def _timeout_message(ready: CrawlPlan) -> str:
    return f"it took longer than schedule.run_timeout, {ready.config.schedule.run_timeout:,g} s"


def _notify(ready: CrawlPlan, order: SiteJob) -> RunResult:
    """Tell others what is outstanding, and how the last run ended if it could not. Raises SiteatlasError."""

    async def tell() -> NotifyResult:
        is_wanted = ready.config.notify.enabled
        return (
            await send_notifications(ready, order.name, ended=_last_scheduled_result(ready, order.last))
            if is_wanted
            else NotifyResult()
        )

    known = _notify_status(ready)
    announced = anyio.run(tell, backend_options=loop_options())
    return RunResult(
        exit_code=Incomplete.exit_code if announced.untold else 0,
        fate=RunStatus.DONE,
        outcome="put off" if announced.untold else "told",
        told=_notify_message(announced, known) or "nothing is left to send",
        untold=announced.untold,
    )


def _notify_message(announced: NotifyResult, known: NotifyStatus) -> str:
    news = announced.new_since(known)
    told = [*news.notes, *(f"could not notify {each}" for each in news.sentences[len(news.notes) :])]
    left = dict.fromkeys(each.channel for each in announced.deliveries if each not in news.deliveries)
    return "; ".join((*told, *(f"could not notify {channel}, as before" for channel in left)))


def _notify_status(ready: CrawlPlan) -> NotifyStatus:
    """What others were told until now, as the ledger says."""
    with suppress(SiteatlasError):
        return notify_status(ready.state, 0)
    return NotifyStatus()


def _log_news(announced: NotifyResult | None, known: NotifyStatus) -> None:
    """Say who could not be told once, and not after each run for as long as that is so."""
    for sentence in announced.new_since(known).sentences if announced else ():
        log.warning("%s", sentence)


def _last_scheduled_result(ready: CrawlPlan, last: Attempt | None) -> RunResult | None:
    """How the last run of the schedule ended; None when somebody has run the site since, and all was well."""
    if last is None or last.fate is None or last.exit_code is None:
        return None
    run = _last_finished_run(ready)
    if run and run.exit_code == 0 and run.number != last.run and run.started >= last.began:
        return None
    return RunResult(
        exit_code=last.exit_code, fate=last.fate, run=last.run, outcome=last.outcome, told=last.told
    )


def _cut_short(ready: CrawlPlan | None, before: int) -> RunResult:
    """An interrupt that was too late for the run itself has cut short what comes after it only."""
    run = _last_finished_run(ready) if ready else None
    if run is None or run.number <= before or run.exit_code is None:
        return RunResult(exit_code=Incomplete.exit_code, fate=RunStatus.STOPPED, told=_INTERRUPTED)
    is_done = run.exit_code == 0
    if is_done and ready and why_not_uploaded(ready, run):
        told = "published here; interrupted during the upload, and the next run continues it"
        return RunResult(exit_code=Incomplete.exit_code, fate=RunStatus.STOPPED, run=run.number, told=told)
    return RunResult(
        exit_code=run.exit_code,
        fate=RunStatus.DONE if is_done else RunStatus.FAILED,
        run=run.number,
        outcome=run.outcome,
        told=run.refusal
        or f"{count_text(run.listed, 'page')} listed; interrupted before notifications were sent",
        untold=True,
    )


def _last_finished_run(ready: CrawlPlan) -> Run | None:
    """The last run that has ended, as the state tells."""
    with suppress(SiteatlasError), STATE_DB.reading(ready.state) as db:
        return next((run for run in RunsPage(db).last(2) if not run.is_open), None)
    return None


def _is_notify_pending(ready: CrawlPlan | None) -> bool:
    """Whether others could not be told of something for now."""
    with suppress(SiteatlasError):
        return (
            ready is not None
            and ready.config.notify.enabled
            and notify_status(ready.state, 0).is_notify_pending
        )
    return False


def _number(run: Run | None) -> int:
    return run.number if run else 0


if __name__ == "__main__":
    main()
