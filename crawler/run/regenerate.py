"""One regeneration of a site: the crawl, then the files elsewhere, then those who want to know of it.

::

    check | crawl ─files are live─▶ upload ─they are live elsewhere─▶ announce

What comes after the crawl cannot undo it: what could not be uploaded or told is in the report, and the next run goes on
with it.
"""

import logging
from contextlib import closing

import anyio
from msgspec.structs import replace

from crawler.config.plan import CrawlPlan
from crawler.crawl.engine import RunEnd, Watch
from crawler.errors import SiteatlasError, StateInUse
from crawler.notify.ledger_status import NotifyResult
from crawler.notify.notify import register_channels, send_notifications
from crawler.publish.upload.upload import check_upload, upload
from crawler.run.crawl import crawl
from crawler.run.event_loop import loop_options, tune_garbage_collector
from crawler.run.options import RunOptions
from crawler.run.outcome import run_result, run_result_of_error
from crawler.run.report import Report
from crawler.state.migrations import STATE_DB
from crawler.state.runs import RunResult, RunsPage
from crawler.state.store import Resume, lock_state

log = logging.getLogger(__name__)


async def regenerate_site(  # noqa: PLR0913 - the choices of a person, each with a default
    plan: CrawlPlan,
    name: str,
    watch: Watch,
    *,
    begin: Resume = Resume.ALWAYS,
    dry_run: bool = False,
    accept_shrink: bool = False,
    all_left_out: bool = False,
) -> Report:
    """Crawl, publish here and elsewhere, and tell. ``name`` is what the site is called in what is told.

    Raises a SiteatlasError when nothing could be done, which was told by then; UsageError before the first request
    when somebody who is configured could not be told, or a place elsewhere not be reached, as things are.
    """
    if not dry_run:
        check_upload(plan)
        register_channels(plan)
    try:
        report = await crawl(
            plan,
            watch,
            begin=begin,
            dry_run=dry_run,
            accept_shrink=accept_shrink,
            all_left_out=all_left_out,
        )
    except SiteatlasError as error:
        if not dry_run and not isinstance(error, StateInUse):  # who uses it tells what becomes of it
            announced = await _announce(plan, name, run_result_of_error(error))
            error.notify_pending = bool(announced and announced.untold)
            _log(announced, error)
        raise
    if dry_run or report.ending == RunEnd.INTERRUPTED.value:
        return report
    if report.published:
        report = await _upload(plan, report)
    return replace(report, announced=await _announce(plan, name, run_result(report)))


async def _upload(plan: CrawlPlan, report: Report) -> Report:
    if not plan.config.upload.to:
        return report
    try:
        with STATE_DB.reading(plan.state) as db:
            run = RunsPage(db).get(report.run)
        return replace(report, uploaded=await upload(plan, run, log.warning))
    except SiteatlasError as error:
        code = report.exit_code or error.exit_code
        _record(plan, report.run, str(error), code)
        return replace(report, upload_error=str(error), exit_code=code)


def _record(plan: CrawlPlan, number: int, why: str, code: int) -> None:
    """Keep with the run that its files are not elsewhere: whoever looks later finds the exit code that it had."""
    try:
        with lock_state(plan.state), closing(STATE_DB.open(plan.state / STATE_DB.file)) as db:
            run = RunsPage(db).get(number)
            because = f"{run.because}; {why}" if run.because else why
            RunsPage(db).write(replace(run, exit_code=code, because=because))
    except SiteatlasError as error:
        log.warning("that the upload failed could not be kept with run %d: %s", number, error)


async def _announce(plan: CrawlPlan, name: str, how: RunResult) -> NotifyResult | None:
    return await send_notifications(plan, name, ended=how) if plan.config.notify.enabled else None


def _log(announced: NotifyResult | None, error: SiteatlasError) -> None:
    for sentence in announced.sentences if announced else ():
        if str(error) not in sentence:  # what stood in the way of both is told once
            log.warning("%s", sentence)


def crawl_and_report(name: str, plan: CrawlPlan, wishes: RunOptions, watch: Watch) -> Report:
    """Regenerate one site under an event loop of its own; ``watch`` is called with the progress.

    ``name`` is what the site is called in messages. Raises SiteatlasError.
    """

    async def run() -> Report:
        return await regenerate_site(
            plan,
            name,
            watch,
            begin=resume_mode(wishes),
            dry_run=wishes.dry_run,
            accept_shrink=wishes.accept_shrink,
            all_left_out=wishes.verbose,
        )

    tune_garbage_collector()
    return anyio.run(run, backend_options=loop_options())


def resume_mode(wishes: RunOptions) -> Resume:
    """What becomes of an earlier run."""
    if wishes.fresh or wishes.restart:
        return Resume.FRESH if wishes.fresh else Resume.NEVER
    return Resume.IF_SAME_SETTINGS if wishes.unattended else Resume.ALWAYS
