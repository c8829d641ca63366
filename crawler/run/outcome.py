"""Turns a report or an error into the RunResult that the schedule and the notifications read."""

from typing import Final

from crawler.crawl.engine import FinishReason
from crawler.errors import Incomplete, PublishRefused, SiteatlasError, StateInUse, UsageError
from crawler.model import State
from crawler.publish.changes import counts_text
from crawler.run.report import Report
from crawler.state.runs import PUBLISHING_OUTCOMES, RunResult, RunStatus
from crawler.units import count_text

_STATUS_BY_EXIT_CODE: Final = {StateInUse.exit_code: RunStatus.BUSY, UsageError.exit_code: RunStatus.BROKEN}
_LIMITS: Final = (FinishReason.MAX_PAGES.value, FinishReason.MAX_TIME.value)


def run_result(report: Report) -> RunResult:
    """Result of a run that has a report."""
    return RunResult(
        exit_code=report.exit_code,
        fate=_run_status(report),
        run=report.run,
        outcome=report.outcome,
        told=_sentence(report),
        untold=bool(report.announced and report.announced.untold),
    )


def run_result_of_error(error: SiteatlasError) -> RunResult:
    """Result of a run that failed without a report."""
    exit_code = error.exit_code
    outcome = "" if exit_code in _STATUS_BY_EXIT_CODE else "nothing"
    return RunResult(
        exit_code=exit_code,
        fate=_STATUS_BY_EXIT_CODE.get(exit_code, RunStatus.FAILED),
        outcome=outcome,
        told=str(error),
    )


def _run_status(report: Report) -> RunStatus:
    """Meaning of the run for the schedule. A refusal is retried when the site was in trouble."""
    if report.ending == FinishReason.INTERRUPTED.value:
        return RunStatus.STOPPED
    if report.exit_code == Incomplete.exit_code:
        return RunStatus.DONE if report.ending in _LIMITS else RunStatus.FAILED
    if report.exit_code == PublishRefused.exit_code:
        return RunStatus.FAILED if report.completeness == "degraded" else RunStatus.DONE
    # an internal error in one page does not fail the run; a failed upload is retried
    return RunStatus.DONE if report.exit_code == 0 or _has_internal_problem(report) else RunStatus.FAILED


def _has_internal_problem(report: Report) -> bool:
    """Whether the run published despite an internal error."""
    return report.exit_code == 1 and report.outcome in PUBLISHING_OUTCOMES


def _sentence(report: Report) -> str:
    if report.upload_error:
        return report.upload_error
    if report.exit_code and not _has_internal_problem(report):
        return report.refusal or report.because
    pages = count_text(report.listed, "page")
    return f"{_internal_problem(report)}{pages} listed: {counts_text(report.counts)}"


def _internal_problem(report: Report) -> str:
    """The internal errors, which the sentence names even when the rest is published."""
    failed = sum(group.count for group in report.left_out if group.state is State.INTERNAL_ERROR)
    return f"internal error with {count_text(failed, 'URL')}, left out; " if failed else ""
