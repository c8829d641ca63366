"""How a run ended, in the words that a schedule and those who are told understand: made from a report, or an error."""

from typing import Final

from crawler.crawl.engine import Ending
from crawler.errors import Incomplete, PublishRefused, SiteatlasError, StateInUse, UsageError
from crawler.model import State
from crawler.run.report import Report
from crawler.state.runs import PUBLISHING, Ended, Fate
from crawler.units import count

_FATES: Final = {StateInUse.exit_code: Fate.BUSY, UsageError.exit_code: Fate.BROKEN}
_LIMITS: Final = (Ending.MAX_PAGES.value, Ending.MAX_TIME.value)
_CHANGES: Final = ("added", "changed", "removed", "moved", "deindexed")


def ended(report: Report) -> Ended:
    """How a run ended that has a report."""
    return Ended(
        exit_code=report.exit_code,
        fate=_fate(report),
        run=report.run,
        outcome=report.outcome,
        told=_sentence(report),
        untold=bool(report.announced and report.announced.untold),
    )


def ended_by(error: SiteatlasError) -> Ended:
    """How a run ended that came to nothing."""
    code = error.exit_code
    outcome = "" if code in _FATES else "nothing"
    return Ended(exit_code=code, fate=_FATES.get(code, Fate.FAILED), outcome=outcome, told=str(error))


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
    """Whether it published although something in us failed."""
    return report.exit_code == 1 and report.outcome in PUBLISHING


def _sentence(report: Report) -> str:
    if report.upload_error:
        return report.upload_error
    if report.exit_code and not _is_odd(report):
        return report.refusal or report.because
    told = [f"{number:,} {kind}" for kind in _CHANGES if (number := getattr(report, kind))]
    pages = count(report.listed, "page")
    return f"{_odd(report)}{pages} listed: {', '.join(told) or 'nothing changed'}"


def _odd(report: Report) -> str:
    """What failed in us: it is worth a word also when the rest is published."""
    failed = sum(group.count for group in report.left_out if group.state is State.INTERNAL_ERROR)
    return f"internal error with {count(failed, 'URL')}, left out; " if failed else ""
