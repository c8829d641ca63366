"""The audit that follows a run: whether there is to be one, how it is made and told to others, what became of it."""

import logging
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import anyio
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from crawler.audit.audit import Watches
from crawler.audit.base_crawl import begin_settings
from crawler.audit.compare import history
from crawler.audit.finding import AuditReport
from crawler.audit.summary import AuditNews
from crawler.config.deprecated import KEYS
from crawler.config.plan import AUDIT, Plan, plan_audit
from crawler.crawl.engine import Ending
from crawler.errors import Incomplete, SiteatlasError, StateInUse
from crawler.notify.notify import announce_findings
from crawler.notify.result import Announced
from crawler.run.audit import audited
from crawler.run.event_loop import loop_options
from crawler.run.outcome import ended
from crawler.run.report import Report
from crawler.state.runs import Fate
from crawler.state.store import Begin, Store, held

log = logging.getLogger(__name__)

CUT_SHORT: Final = "the audit after it was cut short; the next run continues it"
PUT_OFF: Final = "its audit is left to the next run, because other sites wait for their runs"
_UNTOLD: Final = "the findings of the audit after it are in the report, but no notification was sent"
_NO_REPORT: Final = "the audit after it made no report; the next run tries again"


class Followed(Struct, frozen=True, kw_only=True):
    """What became of the audit after a run. It says nothing of the run, which was done before it.

    ``news`` is what it found, None when it did not come to its end; ``error`` is then a sentence that says why.
    ``is_interrupted``: somebody wanted it, or the telling of it, to end. ``report`` is the directory of its reports, ""
    for none.
    """

    news: AuditNews | None = None
    error: str = ""
    is_interrupted: bool = False
    report: str = ""
    announced: Announced | None = None

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


def is_due(ready: Plan, report: Report) -> bool:
    """Whether an audit is to follow a run: one that is done, of a site whose last audit began long enough ago.

    One that is to be tried again, since it was stopped or the site was in trouble, is followed by none.
    """
    every = ready.config.audit.every
    if every is None or report.outcome == "dry" or ended(report).fate is not Fate.DONE:
        return False
    return history.is_due(ready.state / AUDIT, every, time.time())


def follow(name: str, ready: Plan, watches: Watches) -> Followed | None:
    """Audit the site that was run, and tell others what is new; None when another process works on it.

    The site is held meanwhile, so that no other run of it is begun. Never raises for what becomes of the audit.
    """
    try:
        with held(ready.state):
            followed = _audit(ready, watches)
    except StateInUse as error:
        log.info("%s: not audited: %s", name, error)
        return None
    except SiteatlasError as error:
        return Followed(error=f"{_NO_REPORT}: {error}")
    except KeyboardInterrupt:
        return Followed(is_interrupted=True, error=CUT_SHORT)
    if followed.news is None:
        return followed
    try:
        announced = anyio.run(announce_findings, ready, name, backend_options=loop_options())
    except KeyboardInterrupt:  # the next run tells
        return replace(followed, is_interrupted=True)
    return replace(followed, announced=announced)


def _audit(ready: Plan, watches: Watches) -> Followed:
    """Raises StateInUse, KeyboardInterrupt."""
    directory = plan_audit(ready.config).state
    try:
        with audited(ready.config, watches, Begin.GO_ON_IF_ALIKE) as (report, _, _):
            is_over = report.exit_code != Incomplete.exit_code
        if is_over:
            return _over(directory, report, ready.config.audit.report)
        cut = history.standing(directory).newest
        why = cut.because if cut else ""
        return Followed(error=f"{CUT_SHORT}: {why}", is_interrupted=Ending.INTERRUPTED.value in why)
    except StateInUse:
        raise
    except SiteatlasError as error:
        return _failed(ready, error)
    except Exception as error:
        log.exception("internal error in the audit")
        return _failed(ready, SiteatlasError(f"internal error: {type(error).__name__}: {error}"))


def _over(directory: Path, report: AuditReport, reports: str) -> Followed:
    """What there is to say of an audit whose reports are written: nothing of others is said in its place."""
    with suppress(SiteatlasError):
        known = history.standing(directory)
        if known.last and known.is_over:
            return Followed(news=known.last, report=reports)
    return Followed(error=f"{_UNTOLD}: {report.why_uncompared}", report=reports)


def _failed(ready: Plan, error: SiteatlasError) -> Followed:
    """What to say of an audit that made no report. It is kept for those who look; the next run tries again."""
    _remember(ready, error)
    return Followed(error=f"{_NO_REPORT}: {error}")


def _remember(ready: Plan, error: SiteatlasError) -> None:
    plan = plan_audit(ready.config)
    with suppress(SiteatlasError):
        if history.standing(plan.state).trouble == str(error):  # it has said so itself
            return
    with (
        suppress(SiteatlasError),
        Store(
            plan.state, begin_settings(plan), begin=Begin.GO_ON_IF_ALIKE, about=plan.about, renamed=KEYS
        ) as store,
    ):
        store.give_up(error, time.time())
