"""Regenerates one site: crawl, upload, notifications.

::

    check | crawl ─files are live─▶ upload ─uploaded─▶ notify

A failed upload or notification does not undo the crawl: the report names it, and the next run continues it.
"""

import dataclasses
import logging
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import anyio
from msgspec.structs import replace

from crawler.config.fetcher import build_fetcher
from crawler.config.plan import CrawlPlan
from crawler.config.start import StartMoved, remember_move
from crawler.crawl.engine import FinishReason, Watch
from crawler.errors import Incomplete, PublishRefused, SiteatlasError, StateInUse, StorageError, UsageError
from crawler.plugins import PluginKind, load_plugins
from crawler.run.crawl import NO_CHOICES, RunChoices, crawl, record_fault
from crawler.run.options import RunOptions, loop_options, read_changed, tune_garbage_collector
from crawler.run.report import Report, run_result, run_result_of_error
from crawler.state.database import is_there
from crawler.state.runs import MAX_LOST, RunResult, RunStatus, RunStore
from crawler.state.schema import LEDGER_FILE, STATE_DB
from crawler.state.store import Resume, lost_tries, written_state

if TYPE_CHECKING:
    from crawler.notify.ledger_status import NotifyResult
    from crawler.notify.live_check import LiveResult

# What uploads and notifies takes a tenth of a second to load, so it is loaded only where it is configured.

log = logging.getLogger(__name__)
_MILDER_EXIT_CODES: Final = frozenset({0, PublishRefused.exit_code})  # than that of an upload that failed


async def regenerate_site(plan: CrawlPlan, name: str, watch: Watch, choices: RunChoices = NO_CHOICES) -> Report:
    """Crawl, publish, upload and send notifications. ``name`` is the name of the site in messages.

    Raises SiteatlasError when nothing could be done, after recording it and notifying of it; UsageError before the
    first request when a secret is missing, or a channel or the upload target is misconfigured.
    """
    try:
        try:
            check_services(plan, dry_run=choices.dry_run)
        except UsageError as error:
            if not choices.dry_run:
                record_fault(plan, error)
                raise
            choices = replace(choices, fault=error)
        report = await crawl(plan, watch, choices)
    except StartMoved as moved:
        followed = plan.moved_to(moved.target)
        report = await regenerate_site(followed, name, watch, choices)
        if not choices.dry_run:
            remember_move(plan.config, plan.seed, followed.seed)
        return report
    except SiteatlasError as error:
        if not choices.dry_run and not isinstance(error, StateInUse):  # the process that uses it reports
            announced = await _announce(plan, name, run_result_of_error(error))
            error.notify_pending = bool(announced and announced.notify_pending)
            _log(announced, error)
        raise
    if choices.dry_run or report.ending == FinishReason.INTERRUPTED.value:
        return report
    live = None
    if report.published:
        report = await _upload(plan, report)
        if choices.should_serve and not (plan.config.upload.to or plan.source):
            report, live = await _check_served(plan, report)
    return replace(report, announced=await _announce(plan, name, run_result(report), live))


async def _check_served(plan: CrawlPlan, report: Report) -> tuple[Report, "LiveResult | None"]:
    """Whether the site serves what a run wrote; records it if it serves something else. None if that is not asked.

    While the site does not tell, what the run before found still counts.
    """
    if not plan.config.notify.check_live:
        return report, None
    from crawler.notify.live_check import NOT_SERVED, LiveSite  # noqa: PLC0415
    from crawler.notify.notice import SendStatus  # noqa: PLC0415

    async with LiveSite(plan) as site:
        live = await site.check_live(report.published[0])
    with STATE_DB.reading(plan.state) as db:
        before = "".join(run.reason for run in RunStore(db).last(1, before=report.run))
    if not (live.fault or live.reception is SendStatus.ACCEPTED) and NOT_SERVED in before:
        live = replace(live, fault=before[before.index(NOT_SERVED) :])
    if live.fault:
        _record_trouble(plan, report.run, live.fault)
    news = [live.fault] if live.fault not in before else []
    return replace(report, unserved=live.fault, news=report.news + news), live


def check_services(plan: CrawlPlan, *, dry_run: bool = False) -> None:
    """Check what a run needs besides its configuration, before the first request: secrets, files, programs, packages.

    Raises UsageError.
    """
    build_fetcher(plan.config, plan.named_origins, source=plan.source)
    for kind in PluginKind:
        load_plugins(plan.config, kind)
    if plan.config.upload.to:
        from crawler.publish.upload.upload import check_upload  # noqa: PLC0415

        check_upload(plan)
    if plan.config.audit.every is not None:
        from crawler.audit.accepted import read_acceptances  # noqa: PLC0415 - a run without an audit needs none of it
        from crawler.audit.verdict import rules_failing  # noqa: PLC0415

        rules_failing(plan.config.audit.fail_on)
        read_acceptances(plan.config.audit.accepted)
        if plan.config.audit.rules:
            from crawler.dataset.rules import own_rules  # noqa: PLC0415

            own_rules(plan.config)
    if plan.config.channels:
        from crawler.notify.configure import check_channels  # noqa: PLC0415
        from crawler.notify.notify import register_channels  # noqa: PLC0415

        (check_channels if dry_run else register_channels)(plan)


async def _upload(plan: CrawlPlan, report: Report) -> Report:
    if not plan.config.upload.to:
        return report
    from crawler.publish.upload.upload import upload  # noqa: PLC0415

    try:
        with STATE_DB.reading(plan.state) as db:
            run = RunStore(db).get(report.run)
        return replace(report, uploaded=await upload(plan, run, log.warning))
    except SiteatlasError as error:
        code = report.exit_code if report.exit_code not in _MILDER_EXIT_CODES else error.exit_code
        _record_trouble(plan, report.run, str(error), code)
        return replace(report, upload_error=str(error), exit_code=code)


def _record_trouble(plan: CrawlPlan, number: int, reason: str, code: int | None = None) -> None:
    """Store with a run what failed after it, and its new exit code if there is one."""
    try:
        with written_state(plan.state) as db:
            run = RunStore(db).get(number)
            reasons = f"{run.reason}; {reason}" if run.reason else reason
            RunStore(db).write(replace(run, exit_code=run.exit_code if code is None else code, reason=reasons))
    except SiteatlasError as error:
        log.warning("what failed after run %d could not be recorded with it: %s", number, error)


async def _announce(
    plan: CrawlPlan, name: str, result: RunResult, live: "LiveResult | None" = None
) -> "NotifyResult | None":
    """Send notifications. Channels that were removed from the configuration are still in the ledger.

    A state that cannot be written is told each time. If the ledger beside it can, it remembers that for the all-clear.
    """
    if not plan.config.notify.enabled or not (plan.config.channels or _has_ledger(plan)):
        return None
    from crawler.notify.notify import keep_health, send_notifications  # noqa: PLC0415

    announced = await send_notifications(plan, name, ended=result, live=live)
    if announced.exit_code == result.exit_code == StorageError.exit_code:
        with suppress(OSError), TemporaryDirectory(prefix="siteatlas-") as directory:  # the disk may be full
            makeshift = dataclasses.replace(plan, state=Path(directory))
            announced = await send_notifications(makeshift, name, ended=result, is_forgotten=True)
            keep_health(plan, makeshift)
    return announced


def _has_ledger(plan: CrawlPlan) -> bool:
    with suppress(StorageError):  # this account may not look there
        return is_there(plan.state / LEDGER_FILE)
    return False


def _log(announced: "NotifyResult | None", error: SiteatlasError) -> None:
    for sentence in announced.news if announced else ():
        if str(error) not in sentence:  # report a common cause once
            log.warning("%s", sentence)


def crawl_and_report(name: str, plan: CrawlPlan, options: RunOptions, watch: Watch) -> Report:
    """Regenerate one site in its own event loop. ``watch`` gets the progress; messages call the site ``name``.

    Raises SiteatlasError.
    """
    choices = RunChoices(
        begin=resume_mode(options),
        dry_run=options.dry_run,
        accept_shrink=options.accept_shrink,
        replace_foreign=options.replace,
        all_left_out=options.verbose,
        changed=read_changed(options.changed),
        should_serve=options.should_serve,
    )
    tune_garbage_collector()
    if not (options.unattended or options.dry_run) and (lost := lost_tries(plan.state)) >= MAX_LOST:
        message = f"{lost} runs in a row were killed, possibly out of memory. The log of the system says why"
        result = RunResult(exit_code=Incomplete.exit_code, status=RunStatus.FAILED, outcome="nothing", message=message)
        anyio.run(_announce, plan, name, result, backend_options=loop_options())
    report = anyio.run(regenerate_site, plan, name, watch, choices, backend_options=loop_options())
    told = [report.unserved] if options.unattended else []  # in the outcome that a schedule logs
    for note in report.news if options.quiet or options.as_json else ():  # others see the summary
        if note not in told:
            log.warning("%s", note)
    return report


def resume_mode(options: RunOptions) -> Resume:
    """Whether to resume, restart or forget an earlier run."""
    if options.fresh or options.restart:
        return Resume.FRESH if options.fresh else Resume.NEVER
    return Resume.IF_SAME_SETTINGS if options.unattended else Resume.ALWAYS
