"""Telling the world of one site: what is outstanding, channel after channel, while its state is held."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import Final

from crawler.config.plan import Plan
from crawler.errors import SiteatlasError, StorageError
from crawler.notify.audit_messages import FindingsTeller, known, wants_audits
from crawler.notify.configure import Channels, channels, check_channels, http
from crawler.notify.dry_run import rehearsed, shown
from crawler.notify.ledger import LEDGER, Ledger, Reading, of_audits
from crawler.notify.live_check import PublicSite
from crawler.notify.messages import MessageTeller, is_trouble
from crawler.notify.notice import Answer, Notice, Occasion, Reception
from crawler.notify.result import Announced, Delivered
from crawler.notify.retry import guarded
from crawler.notify.search_console_status import read_back
from crawler.notify.session import Again, Desk
from crawler.notify.url_batches import BatchTeller, authority
from crawler.publish.change_feed import Changes
from crawler.publish.changes import Counts
from crawler.publish.recent_feed import recent_address
from crawler.publish.upload.upload import why_not_uploaded
from crawler.state.migrations import STATE
from crawler.state.runs import Ended, Run, Runs
from crawler.state.store import held
from crawler.units import count, w3c

Clock = Callable[[], float]
_NOT_AGAIN: Final = Again()


async def announce(
    plan: Plan,
    name: str,
    *,
    ended: Ended | None = None,
    dry_run: bool = False,
    again: Again = _NOT_AGAIN,
    clock: Clock = time.time,
) -> Announced:
    """Tell everyone what they were not told yet; to be called when the files are live, whatever the run came to.

    ``name`` is that of the site. ``ended`` is how the run ended after which this is called, None when there was none:
    then only what is outstanding is told. A ``dry_run`` sends nothing and keeps nothing; what would be sent is in
    ``shown``. ``again`` is what a person asks to be told again.

    Never raises: what was published is out there whatever becomes of this. What could not be told is in the answer, be
    it for what others do, a state that is in use, a ledger that cannot be written, or a configuration that
    :func:`crawler.notify.check` refuses.
    """
    return await _guarded(plan, partial(_announce, plan, name, ended, dry_run, again, clock))


async def _guarded(plan: Plan, tell: Callable[[], Awaitable[Announced]]) -> Announced:
    """What ``tell`` answers, or why nobody was told."""
    try:
        return await tell()
    except SiteatlasError as error:
        return Announced(notes=(f"nobody was told: {error}",), untold=True, exit_code=error.exit_code)
    except OSError as error:
        said = f"cannot use {error.filename or plan.state}: {error.strerror or type(error).__name__}"
        return Announced(notes=(f"nobody was told: {said}",), untold=True, exit_code=StorageError.exit_code)


def register_channels(plan: Plan) -> None:
    """Begin who is new, before a run: should it die when it has just published, the next one tells what it changed.

    Raises UsageError as :func:`crawler.notify.check`; of all other troubles :func:`announce` tells.
    """
    everyone = check_channels(plan)
    if not everyone.keys:
        return
    with suppress(SiteatlasError), _desk(plan, "", time.time, dry_run=False) as desk:
        last, is_first_told = max(desk.runs, default=0), plan.config.indexnow.first_run
        new = {each.key: last for each in everyone.messages if Occasion.CHANGES in each.on}
        if last or is_first_told:
            new |= {each.key: 0 if is_first_told else last for each in everyone.batches}
        for key, told in new.items():
            if not desk.ledger.lines(key):
                desk.ledger.start(key, told)
        for teller in _of_findings(desk, everyone):
            teller.begin()


async def _announce(
    plan: Plan, name: str, ended: Ended | None, dry_run: bool, again: Again, clock: Clock
) -> Announced:
    async with _everyone(plan) as (everyone, site):
        if not everyone.keys and not LEDGER.is_in(plan.state):
            return Announced()
        if not STATE.is_in(plan.state) and (dry_run or ended is None or not is_trouble(ended)):
            note = "nothing is known of this site yet, and nobody is told"
            return Announced(channels=everyone.keys, notes=(note,))
        with _desk(plan, name, clock, dry_run=dry_run) as desk:
            desk.ended, desk.again = ended, again
            desk.ask_live = partial(_live, plan, site)
            desk.ledger.meet(everyone.keys)
            met = rehearsed(everyone) if dry_run else everyone
            _note_aside(desk, everyone)
            told = await (_rehearse(desk, met) if dry_run else _tell(desk, met))
            reading = await read_back(desk, met.console, told) if met.console else None
            desk.ledger.forget(Changes(desk.db).known()[0])
            return _answer(everyone, desk, told, reading)


async def announce_findings(plan: Plan, name: str, clock: Clock = time.time) -> Announced:
    """Tell what audits found to those who want to know and do not yet; to be called when one has come to its end.

    What it found is told like all else by :func:`announce` too, for whom it could not be told. Never raises, as that.
    """

    async def tell() -> Announced:
        async with _everyone(plan) as (everyone, _):
            with _desk(plan, name, clock, dry_run=False) as desk:
                desk.ledger.meet(everyone.keys)
                told = [each for teller in _of_findings(desk, everyone) for each in await teller.tell()]
                return _answer(everyone, desk, told, None)

    return await _guarded(plan, tell)


async def try_out(plan: Plan, name: str, only: str = "", clock: Clock = time.time) -> Announced:
    """Send a test message to the channels of people and programs of the site's own, and look at the key file.

    ``only`` is as in :class:`Again`. Search engines and hubs are sent nothing. Raises UsageError.
    """
    async with _everyone(plan) as (everyone, _):
        told, own = [], {each.key for each in everyone.own}
        for engine in (each for each in everyone.batches if each.key.startswith(only)):
            answer = await guarded(partial(engine.ready, authority(plan.seed)))
            told.append(_tried(engine.key, answer))
        for channel in (each for each in everyone.own if each.key.startswith(only)):
            notice = Notice(
                site=name,
                url=plan.seed,
                sitemap_url=plan.sitemap_url,
                feed_url=recent_address(plan),
                occasion=Occasion.TEST,
                at=w3c(clock()),
                counts=Counts(),
                told="this is a test: nothing happened",
            )
            told.append(_tried(channel.key, await guarded(partial(channel.send, notice))))
        untried = [
            each.key for each in everyone.messages if each.key not in own and each.key.startswith(only)
        ]
        return Announced(
            deliveries=tuple(told),
            channels=everyone.keys,
            notes=tuple(f"{key}: not tried: it takes no test message" for key in untried),
            untold=any(each.reception is Reception.LATER for each in told),
        )


def _tried(channel: str, answer: Answer) -> Delivered:
    return Delivered(channel=channel, occasion=Occasion.TEST, reception=answer.reception, said=answer.said)


async def _live(plan: Plan, site: PublicSite, run: Run) -> Answer:
    """Whether what a run published is where everybody sees it. Raises UsageError."""
    if missing := why_not_uploaded(plan, run):
        return Answer(reception=Reception.LATER, said=f"{missing}: a run puts them there, and tells then")
    if not plan.config.notify.check_live:
        return Answer(reception=Reception.ACCEPTED, said="taken for live (notify.check_live)")
    return await site.live(run)


@asynccontextmanager
async def _everyone(plan: Plan) -> AsyncIterator[tuple[Channels, PublicSite]]:
    """Who is told, and the site. Raises UsageError."""
    async with http(plan) as wire, PublicSite(plan) as site:
        yield channels(plan, wire, site.fetch), site


@contextmanager
def _desk(plan: Plan, name: str, clock: Clock, *, dry_run: bool) -> Iterator[Desk]:
    """The desk of a site, which is held meanwhile unless nothing is sent."""
    keep = plan.config.state.keep_runs
    if dry_run:
        with (
            STATE.reading(plan.state) as db,
            Ledger.opened(plan.state, keep, dry=True) as ledger,
        ):
            yield Desk(plan, name, db, ledger, clock)
        return
    with (
        held(plan.state, about={"url": plan.seed, "sitemap_url": plan.sitemap_url}),
        STATE.reading(plan.state) as db,
        Ledger.opened(plan.state, keep) as ledger,
    ):
        yield Desk(plan, name, db, ledger, clock)


async def _tell(desk: Desk, everyone: Channels) -> list[Delivered]:
    told: list[Delivered] = []
    only = desk.again.only
    for engine in (each for each in everyone.batches if each.key.startswith(only)):
        is_first_told = desk.plan.config.indexnow.first_run
        delivered = await BatchTeller(desk, engine, is_first_told=is_first_told).tell()
        told += delivered
    for channel in (each for each in everyone.messages if each.key.startswith(only)):
        told += await MessageTeller(desk, channel).tell()
    for teller in _of_findings(desk, everyone):
        told += await teller.tell()
    return told


def _of_findings(desk: Desk, everyone: Channels) -> list[FindingsTeller]:
    """Those who tell what audits found, of the channels that are meant."""
    wanting = [each for each in everyone.messages if wants_audits(desk.plan, each)]
    meant = [each for each in wanting if each.key.startswith(desk.again.only)]
    try:
        ended = known(desk.plan) if meant else []
    except SiteatlasError as error:
        desk.note(f"what audits found is not told: {error}")
        return []
    return [FindingsTeller(desk, each, ended) for each in meant]


async def _rehearse(desk: Desk, everyone: Channels) -> list[Delivered]:
    """What would be sent, and what would hold it back. The desk takes everything for live, and asks afterwards."""
    ask, desk.ask_live = desk.ask_live, None
    told = await _tell(desk, everyone)
    out_there = Runs(desk.db).published()
    if ask and out_there and any(each.occasion is Occasion.CHANGES for each in told):
        live = await ask(out_there)
        if live.reception is not Reception.ACCEPTED:
            desk.note(f"for now all of it would be put off: {live.said}")
    return shown(told, everyone)


def _note_aside(desk: Desk, everyone: Channels) -> None:
    """Say what was set aside to whoever asks by hand, and does not ask for just that."""
    if desk.ended is not None or desk.again.refused:
        return
    for key in (each for each in everyone.keys if each.startswith(desk.again.only)):
        for each in (*desk.ledger.refused(key), *desk.ledger.refused(of_audits(key))):
            is_audit = each.channel != key
            message = "what an audit found" if is_audit else f"a message about {count(each.urls, 'change')}"
            urls = count(each.urls, "URL")
            is_one = each.upto is None or each.urls == 1
            desk.note(
                f"{key}: {message if each.upto is None else urls} {'is' if is_one else 'are'} set aside"
                f" because {each.said}; --resend-refused sends {'it' if is_one else 'them'} again"
            )


def _answer(everyone: Channels, desk: Desk, told: Sequence[Delivered], reading: Reading | None) -> Announced:
    return Announced(
        deliveries=tuple(told),
        channels=everyone.keys,
        notes=tuple(desk.notes),
        untold=any(each.reception is Reception.LATER for each in told),
        reading=reading,
    )
