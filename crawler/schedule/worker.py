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
from crawler.config.plan import Plan, plan
from crawler.crawl.engine import Ending, Watch
from crawler.crawl.progress import Logged
from crawler.errors import Incomplete, SiteatlasError
from crawler.notify.ledger_status import Told, told
from crawler.notify.notify import announce
from crawler.notify.result import Announced
from crawler.publish.upload.upload import why_not_uploaded
from crawler.run.event_loop import loop_options
from crawler.run.options import Wishes
from crawler.run.outcome import ended, ended_by
from crawler.run.regenerate import crawl_site
from crawler.run.report import Report
from crawler.schedule.attempt import Attempt
from crawler.schedule.process import Order
from crawler.state.migrations import STATE
from crawler.state.runs import Ended, Fate, Run, Runs
from crawler.state.store import held
from crawler.units import count

log = logging.getLogger(__name__)

_INTERRUPTED: Final = "the state is saved, and the next run continues"


def main() -> None:
    """Do what is ordered, tell how it ended, and leave with its exit code."""
    try:
        order = msgspec.json.decode(sys.stdin.buffer.readline(), type=Order)
    except msgspec.DecodeError as error:
        sys.exit(f"siteatlas schedule starts this, with an order on its standard input: {error}")
    threading.Thread(target=_live_with_parent, args=(order.shutdown_timeout,), daemon=True).start()
    logging.basicConfig(level=logging.INFO if order.is_verbose else logging.WARNING, format="%(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    logging.getLogger("crawler.crawl.visit").setLevel(logging.ERROR)  # who stops it here is not at a keyboard
    result = _obey(order)
    _say(result)
    # the threads of the HTTP client may be holding Python when it is taken down, and would abort the process
    os._exit(result.exit_code)


def _say(result: Ended) -> None:
    """Tell how it ended, as far as that is known now: the last that is said is what counts."""
    with suppress(BrokenPipeError):
        sys.stdout.buffer.write(msgspec.json.encode(result) + b"\n")
        sys.stdout.buffer.flush()


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """SIGTERM is SIGINT here: an event loop that is not crawling ends on it as soon as it waits for something."""
    signal.raise_signal(signal.SIGINT)


def _live_with_parent(shutdown_timeout: float) -> None:
    """End with who started it: in good order, or by force when that takes longer than it would have been given."""
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(shutdown_timeout)
    if os.getpgrp() == os.getpid():  # what it has started goes too
        os.killpg(0, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def _obey(order: Order) -> Ended:
    """Whatever happens becomes how it ended."""
    ready, before = None, 0
    try:
        signal.signal(signal.SIGTERM, _interrupt)
        ready = plan(Config.model_validate(order.config))
        if order.task == "tell":
            return _tell(ready, order)
        before, known = _number(_last_over(ready)), _known(ready)
        wishes = Wishes(quiet=True, unattended=True)
        watch = Logged().watch if order.is_verbose else _unwatched
        report = crawl_site(order.name, ready, wishes, watch)
        if report.ending == Ending.INTERRUPTED.value and _is_overlong(ready, order):
            _record_overlong(ready, report.run)
        _log_news(report.announced, known)
        return _followed(ready, order, report, Logged().watch if order.is_verbose else _unwatched)
    except KeyboardInterrupt:
        return _cut_short(ready, before)
    except SiteatlasError as error:
        return replace(ended_by(error), untold=error.untold or _is_outstanding(ready))
    except Exception as error:
        log.exception("internal error")
        return Ended(exit_code=1, fate=Fate.FAILED, told=f"internal error: {type(error).__name__}: {error}")
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):  # it has ended, and is about to tell how
            signal.signal(number, signal.SIG_IGN)


def _followed(ready: Plan, order: Order, report: Report, watch: Watch) -> Ended:
    """How the run ended, told when the audit after it has ended too, if one is due; the run was done before that."""
    done = ended(report)
    if ready.config.audit.every is None:
        return done
    from crawler.audit.audit import Watches  # noqa: PLC0415 - with numpy, and all that an audit needs
    from crawler.run.follow_up_audit import CUT_SHORT, PUT_OFF, follow, is_due  # noqa: PLC0415

    if not is_due(ready, report):
        return done
    if not order.may_audit:
        return replace(done, told=f"{done.told}; {PUT_OFF}")
    known = _known(ready)
    _say(replace(done, told=f"{done.told}; {CUT_SHORT}"))
    followed = follow(order.name, ready, Watches(watch, _unwatched))
    if followed is None:
        return done
    _log_news(followed.announced, known)
    is_overlong = followed.is_interrupted and _is_overlong(ready, order)
    why = f" ({_overlong(ready)})" if is_overlong else ""
    return replace(done, told=f"{done.told}; {followed.sentence}{why}", untold=done.untold or followed.untold)


def _unwatched(_: object) -> None:
    """Nobody wants to know how far it is."""


def _is_overlong(ready: Plan, order: Order) -> bool:
    return order.began is not None and time.time() - order.began >= ready.config.schedule.run_timeout


def _record_overlong(ready: Plan, number: int) -> None:
    """Keep with a run why it was ended: who started it had waited long enough."""
    why = _overlong(ready)
    try:
        with held(ready.state), closing(STATE.connect(ready.state / STATE.file)) as db:
            run = Runs(db).get(number)
            told = [text.replace(Ending.INTERRUPTED.value, why) for text in (run.because, run.refusal)]
            Runs(db).write(replace(run, because=told[0], refusal=told[1]))
    except SiteatlasError as error:
        log.warning("the reason why the run was ended could not be stored: %s", error)


def _overlong(ready: Plan) -> str:
    return f"it took longer than schedule.run_timeout, {ready.config.schedule.run_timeout:,g} s"


def _tell(ready: Plan, order: Order) -> Ended:
    """Tell others what is outstanding, and how the last run ended if it could not. Raises SiteatlasError."""

    async def tell() -> Announced:
        is_wanted = ready.config.notify.enabled
        return await announce(ready, order.name, ended=_end(ready, order.last)) if is_wanted else Announced()

    known = _known(ready)
    announced = anyio.run(tell, backend_options=loop_options())
    return Ended(
        exit_code=Incomplete.exit_code if announced.untold else 0,
        fate=Fate.DONE,
        outcome="put off" if announced.untold else "told",
        told=_said(announced, known) or "nothing is left to send",
        untold=announced.untold,
    )


def _said(announced: Announced, known: Told) -> str:
    news = announced.news(known)
    told = [*news.notes, *(f"could not notify {each}" for each in news.sentences[len(news.notes) :])]
    left = dict.fromkeys(each.channel for each in announced.deliveries if each not in news.deliveries)
    return "; ".join((*told, *(f"could not notify {channel}, as before" for channel in left)))


def _known(ready: Plan) -> Told:
    """What others were told until now, as the ledger says."""
    with suppress(SiteatlasError):
        return told(ready.state, 0)
    return Told()


def _log_news(announced: Announced | None, known: Told) -> None:
    """Say who could not be told once, and not after each run for as long as that is so."""
    for sentence in announced.news(known).sentences if announced else ():
        log.warning("%s", sentence)


def _end(ready: Plan, last: Attempt | None) -> Ended | None:
    """How the last run of the schedule ended; None when somebody has run the site since, and all was well."""
    if last is None or last.fate is None or last.exit_code is None:
        return None
    run = _last_over(ready)
    if run and run.exit_code == 0 and run.number != last.run and run.started >= last.began:
        return None
    return Ended(exit_code=last.exit_code, fate=last.fate, run=last.run, outcome=last.outcome, told=last.told)


def _cut_short(ready: Plan | None, before: int) -> Ended:
    """An interrupt that was too late for the run itself has cut short what comes after it only."""
    run = _last_over(ready) if ready else None
    if run is None or run.number <= before or run.exit_code is None:
        return Ended(exit_code=Incomplete.exit_code, fate=Fate.STOPPED, told=_INTERRUPTED)
    is_done = run.exit_code == 0
    if is_done and ready and why_not_uploaded(ready, run):
        told = "published here; interrupted during the upload, and the next run continues it"
        return Ended(exit_code=Incomplete.exit_code, fate=Fate.STOPPED, run=run.number, told=told)
    return Ended(
        exit_code=run.exit_code,
        fate=Fate.DONE if is_done else Fate.FAILED,
        run=run.number,
        outcome=run.outcome,
        told=run.refusal or f"{count(run.listed, 'page')} listed; interrupted before notifications were sent",
        untold=True,
    )


def _last_over(ready: Plan) -> Run | None:
    """The last run that has ended, as the state tells."""
    with suppress(SiteatlasError), STATE.reading(ready.state) as db:
        return next((run for run in Runs(db).last(2) if not run.is_open), None)
    return None


def _is_outstanding(ready: Plan | None) -> bool:
    """Whether others could not be told of something for now."""
    with suppress(SiteatlasError):
        return ready is not None and ready.config.notify.enabled and told(ready.state, 0).is_outstanding
    return False


def _number(run: Run | None) -> int:
    return run.number if run else 0


if __name__ == "__main__":
    main()
