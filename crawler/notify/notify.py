"""Telling the world of one site: what is outstanding, channel after channel, while its state is held."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import Final

from crawler.config.plan import CrawlPlan
from crawler.errors import SiteatlasError, StorageError
from crawler.notify.audit_messages import AuditNotifier, finished_audits_of, wants_audits
from crawler.notify.configure import ConfiguredChannels, build_channels, build_http, check_channels
from crawler.notify.dry_run import dry_run_channels, dry_run_report
from crawler.notify.ledger import LEDGER_DB, Ledger, SubmissionStatus, audit_channel_key
from crawler.notify.ledger_status import DeliveryReport, NotifyResult
from crawler.notify.live_check import LiveSite
from crawler.notify.messages import MessageNotifier, run_failed
from crawler.notify.notice import Notice, Occasion, SendResult, SendStatus
from crawler.notify.retry import catch_all
from crawler.notify.search_console_status import read_submission_status
from crawler.notify.session import NotifySession, ReplayRequest
from crawler.notify.url_batches import BatchNotifier, authority
from crawler.publish.change_feed import ChangeFeed
from crawler.publish.changes import ChangeCounts
from crawler.publish.recent_feed import recent_feed_url
from crawler.publish.upload.upload import why_not_uploaded
from crawler.state.migrations import STATE_DB
from crawler.state.runs import Run, RunResult, RunsPage
from crawler.state.store import lock_state
from crawler.units import count_text, w3c

Clock = Callable[[], float]
_NO_REPLAY: Final = ReplayRequest()


async def send_notifications(
    plan: CrawlPlan,
    name: str,
    *,
    ended: RunResult | None = None,
    dry_run: bool = False,
    again: ReplayRequest = _NO_REPLAY,
    clock: Clock = time.time,
) -> NotifyResult:
    """Tell everyone what they were not told yet; to be called when the files are live, whatever the run came to.

    ``name`` is that of the site. ``ended`` is how the run ended after which this is called, None when there was none:
    then only what is outstanding is told. A ``dry_run`` sends nothing and keeps nothing; what would be sent is in
    ``shown``. ``again`` is what a person asks to be told again.

    Never raises: what was published is out there whatever becomes of this. What could not be told is in the answer, be
    it for what others do, a state that is in use, a ledger that cannot be written, or a configuration that
    :func:`crawler.notify.check` refuses.
    """
    return await _result_or_error(plan, partial(_notify_while_held, plan, name, ended, dry_run, again, clock))


async def _result_or_error(plan: CrawlPlan, tell: Callable[[], Awaitable[NotifyResult]]) -> NotifyResult:
    """What ``tell`` answers, or why nobody was told."""
    try:
        return await tell()
    except SiteatlasError as error:
        return NotifyResult(notes=(f"nobody was told: {error}",), untold=True, exit_code=error.exit_code)
    except OSError as error:
        said = f"cannot use {error.filename or plan.state}: {error.strerror or type(error).__name__}"
        return NotifyResult(
            notes=(f"nobody was told: {said}",), untold=True, exit_code=StorageError.exit_code
        )


def register_channels(plan: CrawlPlan) -> None:
    """Begin who is new, before a run: should it die when it has just published, the next one tells what it changed.

    Raises UsageError as :func:`crawler.notify.check`; of all other troubles :func:`announce` tells.
    """
    everyone = check_channels(plan)
    if not everyone.keys:
        return
    with suppress(SiteatlasError), _open_session(plan, "", time.time, dry_run=False) as desk:
        last, is_first_told = max(desk.runs, default=0), plan.config.indexnow.first_run
        new = {each.key: last for each in everyone.message_channels if Occasion.CHANGES in each.occasions}
        if last or is_first_told:
            new |= {each.key: 0 if is_first_told else last for each in everyone.batch_channels}
        for key, told in new.items():
            if not desk.ledger.cursors(key):
                desk.ledger.start(key, told)
        for teller in _audit_channels(desk, everyone):
            teller.begin()


async def _notify_while_held(
    plan: CrawlPlan, name: str, ended: RunResult | None, dry_run: bool, again: ReplayRequest, clock: Clock
) -> NotifyResult:
    async with _channels_and_site(plan) as (everyone, site):
        if not everyone.keys and not LEDGER_DB.is_in(plan.state):
            return NotifyResult()
        if not STATE_DB.is_in(plan.state) and (dry_run or ended is None or not run_failed(ended)):
            note = "nothing is known of this site yet, and nobody is told"
            return NotifyResult(channels=everyone.keys, notes=(note,))
        with _open_session(plan, name, clock, dry_run=dry_run) as desk:
            desk.run_result, desk.replay = ended, again
            desk.ask_live = partial(_check_live, plan, site)
            desk.ledger.set_channels(everyone.keys)
            met = dry_run_channels(everyone) if dry_run else everyone
            _note_refused(desk, everyone)
            told = await (_dry_run(desk, met) if dry_run else _notify_channels(desk, met))
            reading = (
                await read_submission_status(desk, met.search_console, told) if met.search_console else None
            )
            desk.ledger.forget(ChangeFeed(desk.db).run_range()[0])
            return _build_result(everyone, desk, told, reading)


async def send_audit_notifications(plan: CrawlPlan, name: str, clock: Clock = time.time) -> NotifyResult:
    """Tell what audits found to those who want to know and do not yet; to be called when one has come to its end.

    What it found is told like all else by :func:`announce` too, for whom it could not be told. Never raises, as that.
    """

    async def tell() -> NotifyResult:
        async with _channels_and_site(plan) as (everyone, _):
            with _open_session(plan, name, clock, dry_run=False) as desk:
                desk.ledger.set_channels(everyone.keys)
                told = [
                    each for teller in _audit_channels(desk, everyone) for each in await teller.send_pending()
                ]
                return _build_result(everyone, desk, told, None)

    return await _result_or_error(plan, tell)


async def send_test_messages(
    plan: CrawlPlan, name: str, only: str = "", clock: Clock = time.time
) -> NotifyResult:
    """Send a test message to the channels of people and programs of the site's own, and look at the key file.

    ``only`` is as in :class:`Again`. Search engines and hubs are sent nothing. Raises UsageError.
    """
    async with _channels_and_site(plan) as (everyone, _):
        told, own = [], {each.key for each in everyone.operator_channels}
        for engine in (each for each in everyone.batch_channels if each.key.startswith(only)):
            answer = await catch_all(partial(engine.check_ready, authority(plan.seed)))
            told.append(_test_report(engine.key, answer))
        for channel in (each for each in everyone.operator_channels if each.key.startswith(only)):
            notice = Notice(
                site=name,
                url=plan.seed,
                sitemap_url=plan.sitemap_url,
                feed_url=recent_feed_url(plan),
                occasion=Occasion.TEST,
                at=w3c(clock()),
                counts=ChangeCounts(),
                message="this is a test: nothing happened",
            )
            told.append(_test_report(channel.key, await catch_all(partial(channel.send, notice))))
        untried = [
            each.key
            for each in everyone.message_channels
            if each.key not in own and each.key.startswith(only)
        ]
        return NotifyResult(
            deliveries=tuple(told),
            channels=everyone.keys,
            notes=tuple(f"{key}: not tried: it takes no test message" for key in untried),
            untold=any(each.reception is SendStatus.DEFERRED for each in told),
        )


def _test_report(channel: str, answer: SendResult) -> DeliveryReport:
    return DeliveryReport(
        channel=channel, occasion=Occasion.TEST, reception=answer.reception, said=answer.message
    )


async def _check_live(plan: CrawlPlan, site: LiveSite, run: Run) -> SendResult:
    """Whether what a run published is where everybody sees it. Raises UsageError."""
    if missing := why_not_uploaded(plan, run):
        return SendResult(
            reception=SendStatus.DEFERRED, message=f"{missing}: a run puts them there, and tells then"
        )
    if not plan.config.notify.check_live:
        return SendResult(reception=SendStatus.ACCEPTED, message="taken for live (notify.check_live)")
    return await site.check_live(run)


@asynccontextmanager
async def _channels_and_site(plan: CrawlPlan) -> AsyncIterator[tuple[ConfiguredChannels, LiveSite]]:
    """Who is told, and the site. Raises UsageError."""
    async with build_http(plan) as wire, LiveSite(plan) as site:
        yield build_channels(plan, wire, site.fetch), site


@contextmanager
def _open_session(plan: CrawlPlan, name: str, clock: Clock, *, dry_run: bool) -> Iterator[NotifySession]:
    """The desk of a site, which is held meanwhile unless nothing is sent."""
    keep = plan.config.state.keep_runs
    if dry_run:
        with (
            STATE_DB.reading(plan.state) as db,
            Ledger.opened(plan.state, keep, dry=True) as ledger,
        ):
            yield NotifySession(plan, name, db, ledger, clock)
        return
    with (
        lock_state(plan.state, about={"url": plan.seed, "sitemap_url": plan.sitemap_url}),
        STATE_DB.reading(plan.state) as db,
        Ledger.opened(plan.state, keep) as ledger,
    ):
        yield NotifySession(plan, name, db, ledger, clock)


async def _notify_channels(desk: NotifySession, everyone: ConfiguredChannels) -> list[DeliveryReport]:
    told: list[DeliveryReport] = []
    only = desk.replay.only
    for engine in (each for each in everyone.batch_channels if each.key.startswith(only)):
        is_first_told = desk.plan.config.indexnow.first_run
        delivered = await BatchNotifier(desk, engine, is_first_told=is_first_told).send_pending()
        told += delivered
    for channel in (each for each in everyone.message_channels if each.key.startswith(only)):
        told += await MessageNotifier(desk, channel).send_pending()
    for teller in _audit_channels(desk, everyone):
        told += await teller.send_pending()
    return told


def _audit_channels(desk: NotifySession, everyone: ConfiguredChannels) -> list[AuditNotifier]:
    """Those who tell what audits found, of the channels that are meant."""
    wanting = [each for each in everyone.message_channels if wants_audits(desk.plan, each)]
    meant = [each for each in wanting if each.key.startswith(desk.replay.only)]
    try:
        ended = finished_audits_of(desk.plan) if meant else []
    except SiteatlasError as error:
        desk.note(f"what audits found is not told: {error}")
        return []
    return [AuditNotifier(desk, each, ended) for each in meant]


async def _dry_run(desk: NotifySession, everyone: ConfiguredChannels) -> list[DeliveryReport]:
    """What would be sent, and what would hold it back. The desk takes everything for live, and asks afterwards."""
    ask, desk.ask_live = desk.ask_live, None
    told = await _notify_channels(desk, everyone)
    out_there = RunsPage(desk.db).published()
    if ask and out_there and any(each.occasion is Occasion.CHANGES for each in told):
        live = await ask(out_there)
        if live.reception is not SendStatus.ACCEPTED:
            desk.note(f"for now all of it would be put off: {live.message}")
    return dry_run_report(told, everyone)


def _note_refused(desk: NotifySession, everyone: ConfiguredChannels) -> None:
    """Say what was set aside to whoever asks by hand, and does not ask for just that."""
    if desk.run_result is not None or desk.replay.refused:
        return
    for key in (each for each in everyone.keys if each.startswith(desk.replay.only)):
        for each in (*desk.ledger.refused(key), *desk.ledger.refused(audit_channel_key(key))):
            is_audit = each.channel != key
            message = (
                "what an audit found" if is_audit else f"a message about {count_text(each.urls, 'change')}"
            )
            urls = count_text(each.urls, "URL")
            is_one = each.upto is None or each.urls == 1
            desk.note(
                f"{key}: {message if each.upto is None else urls} {'is' if is_one else 'are'} set aside"
                f" because {each.said}; --resend-refused sends {'it' if is_one else 'them'} again"
            )


def _build_result(
    everyone: ConfiguredChannels,
    desk: NotifySession,
    told: Sequence[DeliveryReport],
    reading: SubmissionStatus | None,
) -> NotifyResult:
    return NotifyResult(
        deliveries=tuple(told),
        channels=everyone.keys,
        notes=tuple(desk.notes),
        untold=any(each.reception is SendStatus.DEFERRED for each in told),
        reading=reading,
    )
