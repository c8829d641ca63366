"""The process of one run of a schedule: an order in on standard input, how it ended out on standard output.

::

    python -m crawler.cli.worker NAME     the name is for those who look at the list of processes

It ends, and saves what it knows, on SIGTERM, on SIGINT, and when its standard input ends: then who started it is gone.
"""

import logging
import os
import signal
import sys
import threading
from contextlib import closing, suppress
from pathlib import Path
from types import FrameType
from typing import Final

import msgspec
from rich.console import Console

from crawler.attempt import Ended, Fate
from crawler.cli.crawl import crawl_site
from crawler.cli.wishes import Wishes
from crawler.cli.words import count
from crawler.config import Config
from crawler.engine import Ending
from crawler.errors import Incomplete, PublishRefused, SettingsChanged, SiteatlasError, StateInUse, UsageError
from crawler.memory.runs import PUBLISHING, Run, Runs
from crawler.plan import Plan, plan
from crawler.report import Report
from crawler.scheduling.order import Order
from crawler.state.schema import FILE, look

log = logging.getLogger(__name__)

_FATES: Final = {StateInUse.exit_code: Fate.BUSY, UsageError.exit_code: Fate.BROKEN}
_LIMITS: Final = (Ending.MAX_PAGES.value, Ending.MAX_TIME.value)
_INTERRUPTED: Final = "interrupted; what is known is saved, and the next run goes on"


def main() -> None:
    """Do what is ordered, tell how it ended, and leave with its exit code."""
    signal.signal(signal.SIGTERM, _interrupt)
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=Order)
    threading.Thread(target=_live_with_parent, daemon=True).start()
    logging.basicConfig(level=logging.INFO if order.is_verbose else logging.WARNING, format="%(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    ended = _obey(order)
    with suppress(BrokenPipeError):
        sys.stdout.buffer.write(msgspec.json.encode(ended) + b"\n")
        sys.stdout.buffer.flush()
    # the threads of the HTTP client may be holding Python when it is taken down, and would abort the process
    os._exit(ended.exit_code)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """SIGTERM is SIGINT here: an event loop that is not crawling ends on it as soon as it waits for something."""
    signal.raise_signal(signal.SIGINT)


def _live_with_parent() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


def _obey(order: Order) -> Ended:
    """Whatever happens becomes how it ended."""
    ready, before = None, 0
    try:
        ready = plan(Config.model_validate(order.config))
        if order.task == "tell":
            return _tell(ready, order.ended)
        before = _number(_last_over(ready))
        return _ended(_crawl(ready))
    except KeyboardInterrupt:
        return _cut_short(ready, before)
    except SiteatlasError as error:
        code = error.exit_code
        outcome = "" if code in _FATES else "nothing"
        return Ended(exit_code=code, fate=_FATES.get(code, Fate.FAILED), outcome=outcome, told=str(error))
    except Exception as error:
        log.exception("internal error")
        return Ended(exit_code=1, fate=Fate.FAILED, told=f"internal error: {type(error).__name__}: {error}")


def _crawl(ready: Plan) -> Report:
    """One run. An unfinished one that was begun with other settings is dropped: nobody is there to be asked."""
    console = Console(stderr=True)
    try:
        return crawl_site(ready, console, Wishes(quiet=True))
    except SettingsChanged as error:
        log.warning("the run that was cut short is dropped, and begun anew: %s", error)
        return crawl_site(ready, console, Wishes(quiet=True, restart=True))


def _tell(ready: Plan, ended: Ended | None) -> Ended:  # noqa: ARG001 - until there is something to tell with
    """Announce what is outstanding, and ``ended`` if there is one. Raises SiteatlasError."""
    return Ended(exit_code=0, fate=Fate.DONE, outcome="told", told="nothing is left to be told")


def _ended(report: Report) -> Ended:
    return Ended(
        exit_code=report.exit_code,
        fate=_fate(report),
        run=report.run,
        outcome=report.outcome,
        told=_sentence(report),
    )


def _fate(report: Report) -> Fate:
    """What the run means for the schedule. A refusal is worth another try when the site was in trouble."""
    if report.ending == Ending.INTERRUPTED.value:
        return Fate.STOPPED
    if report.exit_code == Incomplete.exit_code:
        return Fate.DONE if report.ending in _LIMITS else Fate.FAILED
    if report.exit_code == PublishRefused.exit_code:
        return Fate.FAILED if report.completeness == "degraded" else Fate.DONE
    # a page that we could not read does not undo the rest; another place that could not be written is tried again
    return Fate.DONE if report.exit_code == 0 or _is_odd(report) else Fate.FAILED


def _is_odd(report: Report) -> bool:
    return report.exit_code == 1 and report.outcome in PUBLISHING


def _sentence(report: Report) -> str:
    if report.exit_code and not _is_odd(report):
        return report.refusal or report.because
    kinds = ("added", "changed", "removed", "moved", "deindexed")
    told = [f"{number:,} {kind}" for kind in kinds if (number := getattr(report, kind))]
    return f"{count(report.listed, 'page')} listed: {', '.join(told) or 'nothing changed'}"


def _cut_short(ready: Plan | None, before: int) -> Ended:
    """An interrupt that was too late for the run itself has cut short what comes after it only."""
    run = _last_over(ready) if ready else None
    if run is None or run.number <= before or run.exit_code is None:
        return Ended(exit_code=Incomplete.exit_code, fate=Fate.STOPPED, told=_INTERRUPTED)
    is_done = run.exit_code == 0
    return Ended(
        exit_code=run.exit_code,
        fate=Fate.DONE if is_done else Fate.FAILED,
        run=run.number,
        outcome=run.outcome,
        told=run.refusal or f"{count(run.listed, 'page')} listed; interrupted before others were told",
        untold=True,
    )


def _last_over(ready: Plan) -> Run | None:
    """The last run that has ended, as the state tells."""
    path = _state_file(ready)
    with suppress(SiteatlasError), closing(look(path)) as db:
        return next((run for run in Runs(db).last(2) if not run.is_open), None)
    return None


def _state_file(ready: Plan) -> Path:
    return ready.state / FILE


def _number(run: Run | None) -> int:
    return run.number if run else 0


if __name__ == "__main__":
    main()
