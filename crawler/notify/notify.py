"""Sends the outstanding notifications of one site, channel by channel, while its state is locked.

Search Console is also asked, now and then, what it made of the sitemap; the ledger keeps the answer.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec.structs import replace

from crawler.config.plan import CrawlPlan
from crawler.errors import SiteatlasError, StorageError, UsageError
from crawler.model import Url
from crawler.notify.configure import ConfiguredChannels, build_channels, build_http, check_channels
from crawler.notify.delivery import catch_all, is_always_worth, send_with_retry
from crawler.notify.ledger import LEDGER_DB, Ledger, SubmissionStatus
from crawler.notify.ledger_status import DeliveryReport, NotifyResult, refused_texts
from crawler.notify.live_check import LiveSite
from crawler.notify.messages import (
    AuditNotifier,
    MessageNotifier,
    finished_audits_of,
    run_failed,
    send_message,
    wants_audits,
)
from crawler.notify.notice import BatchChannel, Effect, MessageChannel, Occasion, SendResult, SendStatus
from crawler.notify.session import DryRun, NotifySession, ReplayRequest, notice_of
from crawler.notify.url_batches import BatchNotifier, authority
from crawler.publish.change_feed import ChangeFeed
from crawler.publish.upload.upload import why_not_uploaded
from crawler.publish.write import copies
from crawler.state.runs import Run, RunResult, RunStore
from crawler.state.schema import STATE_DB
from crawler.state.store import lock_state
from crawler.units import count_text, w3c

C = TypeVar("C", BatchChannel, MessageChannel)
Clock = Callable[[], float]
_NO_REPLAY: Final = ReplayRequest()


async def send_notifications(  # noqa: PLR0913 - by name
    plan: CrawlPlan,
    name: str,
    *,
    ended: RunResult | None = None,
    live: SendResult | None = None,
    dry_run: bool = False,
    again: ReplayRequest = _NO_REPLAY,
    clock: Clock = time.time,
    is_forgotten: bool = False,
) -> NotifyResult:
    """Send every outstanding notification; to be called when the files are live, whatever the result of the run.

    ``name`` is that of the site. ``ended`` is the result of the run that just ended, None when there was none: then
    only outstanding notifications are sent. ``live`` says whether the site serves its files, None: that is to be
    checked. A ``dry_run`` sends and stores nothing; ``shown`` lists what would be sent.
    ``again`` is what a person wants to be sent again. ``is_forgotten``: the state of ``plan`` is a makeshift.

    Never raises, because the sitemap is already published. The result names what could not be sent, be it for a failing
    receiver, a state in use, a ledger that cannot be written, or a configuration that
    :func:`crawler.notify.configure.check_channels` refuses.
    """

    is_faulty = ended is not None and ended.exit_code == UsageError.exit_code

    async def send() -> NotifyResult:
        async with _channels_and_site(plan, is_faulty=is_faulty) as (channels, site):
            if not channels.keys and not LEDGER_DB.is_in(plan.state):
                return NotifyResult()
            if not STATE_DB.is_in(plan.state) and (dry_run or ended is None or not run_failed(ended)):
                note = "this site has no run yet, so nothing is sent"
                return NotifyResult(channels=channels.keys, notes=(note,))
            with _open_session(plan, name, clock, dry_run=dry_run) as session:
                session.run_result, session.replay, session.is_forgotten = ended, again, is_forgotten
                session.ask_live, session.live = partial(_check_live, session, site), live
                if not is_faulty:
                    session.ledger.set_channels(channels.keys)
                _note_refused(session, channels)
                if dry_run:
                    session.dry_run = DryRun()
                reports = await (_dry_run if dry_run else _notify_channels)(session, channels)
                console = None if dry_run else channels.search_console
                status = await read_submission_status(session, console, reports)
                session.ledger.forget(ChangeFeed(session.db).run_range()[0])
                return _build_result(channels, reports, session.notes, status, session.known)

    return await _result_or_error(plan, send)


async def _result_or_error(plan: CrawlPlan, send: Callable[[], Awaitable[NotifyResult]]) -> NotifyResult:
    """The result of ``send``, or the error that prevented every notification."""
    try:
        return await send()
    except SiteatlasError as error:
        reason, exit_code = str(error), error.exit_code
    except OSError as error:
        reason = f"cannot use {error.filename or plan.state}: {error.strerror or type(error).__name__}"
        exit_code = StorageError.exit_code
    return NotifyResult(notes=(f"no notification was sent: {reason}",), notify_pending=True, exit_code=exit_code)


def keep_health(plan: CrawlPlan, makeshift: CrawlPlan) -> None:
    """Keep what a makeshift state knows of trouble, if the ledger of the site can be written: for the all-clear."""
    if LEDGER_DB.is_in(makeshift.state):
        with suppress(SiteatlasError), Ledger.opened(plan.state, plan.config.state.keep_runs) as ledger:
            ledger.take_health(makeshift.state)


def register_channels(plan: CrawlPlan) -> None:
    """Start the cursors of new channels before a run. If it dies right after publishing, the next run sends its
    changes.

    Raises UsageError as :func:`crawler.notify.configure.check_channels`; :func:`send_notifications` reports all other
    errors.
    """
    channels = check_channels(plan)
    if not channels.keys:
        return
    with suppress(SiteatlasError), _open_session(plan, "", time.time, dry_run=False) as session:
        last_run, is_first_run_sent = max(session.runs, default=0), plan.config.indexnow.first_run
        new = [channel for channel in channels.keys if not session.ledger.cursors(channel)]
        for channel in channels.message_channels:
            if channel.key in new and Occasion.CHANGES in channel.occasions:
                session.ledger.start(channel.key, last_run)
        for engine in channels.batch_channels if last_run or is_first_run_sent else ():
            if engine.key in new:
                session.ledger.start(engine.key, 0 if is_first_run_sent else last_run)
        for notifier in _audit_channels(session, channels):
            notifier.begin()


async def send_audit_notifications(
    plan: CrawlPlan, name: str, clock: Clock = time.time, *, losses: str = ""
) -> NotifyResult:
    """Send the findings of finished audits to the channels that want them; to be called when an audit has finished.

    Where no audits follow runs, ``losses`` says which URLs are lost. :func:`send_notifications` sends what is still
    outstanding of audits. Never raises, for the same reason.
    """

    async def send() -> NotifyResult:
        async with _channels_and_site(plan) as (channels, _):
            with _open_session(plan, name, clock, dry_run=False) as session:
                session.ledger.set_channels(channels.keys)
                reports = [
                    report
                    for notifier in _audit_channels(session, channels)
                    for report in await notifier.send_pending()
                ]
                for channel in channels.message_channels if losses else ():
                    if Occasion.FINDINGS in channel.occasions:
                        notice = session.build_notice(occasion=Occasion.FINDINGS, at=w3c(clock()), message=losses)
                        result = await send_message(session, channel, notice)
                        reports.append(session.delivery_report(result, channel=channel.key, occasion=Occasion.FINDINGS))
                return _build_result(channels, reports, session.notes, known=session.known)

    return await _result_or_error(plan, send)


async def send_test_messages(plan: CrawlPlan, name: str, only: str = "", clock: Clock = time.time) -> NotifyResult:
    """Send a test message to the channels that people choose the occasions of, and check the IndexNow key file.

    ``only`` is as in :class:`ReplayRequest`. Search engines get nothing. Raises UsageError.
    """
    async with _channels_and_site(plan) as (channels, _):
        reports = []
        for engine in _selected(channels.batch_channels, only):
            result = await catch_all(partial(engine.check_ready, authority(plan.seed)))
            reports.append(_test_report(engine.key, result))
        notes, message = [], "this is a test message: no event occurred"
        notice = notice_of(plan, name, occasion=Occasion.TEST, at=w3c(clock()), message=message, effect=Effect.NONE)
        for channel in _selected(channels.message_channels, only):
            if Occasion.TEST not in channel.occasions:
                notes.append(f"{channel.key}: not tested: this channel has no test message")
                continue
            reports.append(_test_report(channel.key, await catch_all(partial(channel.send, notice))))
        return _build_result(channels, reports, notes)


async def send_of_configuration(
    plan: CrawlPlan, name: str, occasion: Occasion, message: str, told: set[tuple[str, str]], *, is_one: bool
) -> list[str]:
    """Send the channels of a site what became of a changed configuration; returns what could not be sent.

    ``is_one``: the configuration has this site alone, and ``name`` is its name. Else ``name`` is that of the file, and
    the message is about no site.
    ``told`` are the channels that know it already, by another site: the key and its section. Raises UsageError.
    """
    failed, section = list[str](), plan.config.notify
    async with _channels_and_site(plan) as (channels, _):
        facts = {"at": w3c(time.time()), "message": message, "effect": Effect.NONE}
        code = UsageError.exit_code if occasion is Occasion.TROUBLE else 0
        notice = notice_of(plan, name, occasion=occasion, exit_code=code, **facts)
        if not is_one:
            notice = replace(notice, url=Url(""), sitemap_url=Url(""), feed_url="")
        for channel in channels.message_channels if section.enabled else ():
            own = plan.config.all_channels.get(channel.key.partition(" ")[0], plan.config.plugins)
            receiver = channel.key, own.model_dump_json()
            if occasion in channel.occasions and receiver not in told:
                result = await send_with_retry(partial(channel.send, notice), section, is_always_worth)
                if result.reception is SendStatus.ACCEPTED:
                    told.add(receiver)
                else:
                    failed.append(f"{channel.key}: {result.message}")
    return failed


def _selected(channels: Iterable[C], only: str) -> list[C]:
    """The channels whose keys start with ``only``."""
    return [channel for channel in channels if channel.key.startswith(only)]


def _test_report(channel: str, result: SendResult) -> DeliveryReport:
    return DeliveryReport(channel=channel, occasion=Occasion.TEST, reception=result.reception, said=result.message)


async def _check_live(session: NotifySession, site: LiveSite, run: Run) -> SendResult:
    """Whether the files that a run published are live on the public site. Raises UsageError.

    With a source, the site may have the pages later than the run. If pages changed after the newest set with a copy,
    the sitemap does not show whether the site has them.
    """
    plan = session.plan
    if reason := why_not_uploaded(plan, run):
        return SendResult.deferred(f"{reason}: the next run uploads the files and then sends notifications")
    if not plan.config.notify.check_live:
        return SendResult.accepted("assumed to be live (notify.check_live)")
    changed, known = RunStore(session.db).changed(), copies(plan).numbers()
    if session.run_result and plan.source and changed and changed.number > max(known, default=0):
        what = "pages changed, but the sitemap did not, so it cannot show whether the public site has these pages"
        return SendResult.deferred(f"{what}. After the deploy, siteatlas notify sends the changes")
    return await site.check_live(run.files[0])


@asynccontextmanager
async def _channels_and_site(
    plan: CrawlPlan, *, is_faulty: bool = False
) -> AsyncIterator[tuple[ConfiguredChannels, LiveSite]]:
    """The configured channels and the public site; of a configuration with a fault those that work without it.

    Raises UsageError.
    """
    async with build_http(plan.config) as http, LiveSite(plan, is_faulty=is_faulty) as site:
        yield build_channels(plan, http, site.fetch, may_lack=is_faulty), site


@contextmanager
def _open_session(plan: CrawlPlan, name: str, clock: Clock, *, dry_run: bool) -> Iterator[NotifySession]:
    """Open the session of a site, and lock its state unless this is a dry run."""
    about = {"url": plan.seed, "sitemap_url": plan.sitemap_url}
    with (
        nullcontext() if dry_run else lock_state(plan.state, about=about),
        STATE_DB.reading(plan.state) as db,
        Ledger.opened(plan.state, plan.config.state.keep_runs, dry=dry_run) as ledger,
    ):
        yield NotifySession(plan, name, db, ledger, clock, known=ledger.reasons())


async def _notify_channels(session: NotifySession, channels: ConfiguredChannels) -> list[DeliveryReport]:
    reports: list[DeliveryReport] = []
    only, is_first_told = session.replay.only, session.plan.config.indexnow.first_run
    notifiers = [MessageNotifier(session, channel) for channel in _selected(channels.message_channels, only)]
    for notifier in notifiers:
        await notifier.begin()
    for engine in _selected(channels.batch_channels, only):
        reports += await BatchNotifier(session, engine, is_first_told=is_first_told).send_pending()
    for notifier in notifiers:
        reports += await notifier.send_pending()
    for audit_notifier in _audit_channels(session, channels):
        reports += await audit_notifier.send_pending()
    return reports


def _audit_channels(session: NotifySession, channels: ConfiguredChannels) -> list[AuditNotifier]:
    """The notifiers of audits, for the selected channels that want them."""
    selected = _selected(channels.message_channels, session.replay.only)
    interested = [channel for channel in selected if wants_audits(session.plan, channel)]
    try:
        audits = finished_audits_of(session.plan) if interested else []
    except SiteatlasError as error:
        session.note(f"audit findings are not sent: {error}")
        return []
    return [AuditNotifier(session, channel, audits) for channel in interested]


async def _dry_run(session: NotifySession, channels: ConfiguredChannels) -> list[DeliveryReport]:
    """What would be sent, and what would defer it. The session takes the files for live, and checks afterwards."""
    check_live, session.ask_live = session.ask_live, None
    reports = await _notify_channels(session, channels)
    published = RunStore(session.db).published()
    if check_live and published and any(report.occasion is Occasion.CHANGES for report in reports):
        result = await check_live(published)
        if result.reception is not SendStatus.ACCEPTED:
            session.note(f"at the moment, Siteatlas would postpone all messages: {result.message}")
    return session.dry_run.reports(reports) if session.dry_run else reports


def _note_refused(session: NotifySession, channels: ConfiguredChannels) -> None:
    """Note the refused deliveries for a person, unless the replay request resends them."""
    if session.run_result is not None or session.replay.refused:
        return
    for key in (key for key in channels.keys if key.startswith(session.replay.only)):
        for text in refused_texts(session.ledger, key):
            session.note(f"{key}: the receiver refused {text}; --resend-refused sends it again")


def _build_result(
    channels: ConfiguredChannels,
    reports: Sequence[DeliveryReport],
    notes: Sequence[str],
    status: SubmissionStatus | None = None,
    known: Collection[str] = (),
) -> NotifyResult:
    return NotifyResult(
        deliveries=tuple(report.knowing(known) for report in reports),
        channels=channels.keys,
        notes=tuple(notes),
        notify_pending=any(report.reception is SendStatus.DEFERRED for report in reports),
        reading=status,
    )


if TYPE_CHECKING:  # with what signs its requests
    from crawler.notify.channels.search_console import SearchConsoleChannel


async def read_submission_status(
    session: NotifySession, channel: "SearchConsoleChannel | None", reports: Sequence[DeliveryReport]
) -> SubmissionStatus | None:
    """The last known status, None: unknown. ``reports`` are this process's deliveries so far.

    A status that came with a submission is stored; otherwise it is read when a check is due, or a person wants one. A
    failed check is only a note: the next run checks again.
    """
    if channel is None:
        return None
    previous = session.ledger.submission_status(channel.key)
    if not channel.key.startswith(session.replay.only):
        return previous
    status = channel.last_status
    if status is None and _is_status_check_due(session, channel.key, previous, reports):
        result = await catch_all(channel.read_status)
        if isinstance(result, SendResult):
            session.note(f"{channel.key}: the status of the sitemap at Google is unknown: {result.message}")
        else:
            status = result
    if status is None:
        return previous
    current = replace(status, at=session.clock())
    session.ledger.store_submission_status(current)
    if current.errors > (previous_errors := previous.errors if previous else 0):
        before = f" (before: {previous_errors:,})" if previous_errors else ""
        session.note(
            f"{channel.key}: Google found {count_text(current.errors, 'error')} in the sitemap{before}; see Sitemaps "
            "in Search Console"
        )
    return current


def _is_status_check_due(
    session: NotifySession, key: str, previous: SubmissionStatus | None, reports: Sequence[DeliveryReport]
) -> bool:
    """Whether a check is due. A channel with a delivery in this process waits until the next run."""
    if session.replay.refresh_status:
        return True
    interval = session.plan.config.search_console.check_interval
    is_old = previous is None or not 0 <= session.clock() - previous.at < interval
    return is_old and not any(report.channel == key for report in reports)
