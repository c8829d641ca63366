"""Sends a channel its messages: of changes, of failing and recovered runs, and of each audit with something new."""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from crawler.audit.compare import history
from crawler.audit.summary import AuditSummary
from crawler.config.plan import AUDIT, CrawlPlan
from crawler.config.secrets import plain_line
from crawler.model import State
from crawler.notify.delivery import claim_key, is_always_worth, send_with_retry
from crawler.notify.ledger import DeliveryCursor, HealthNotice, RefusedDelivery, SentMessage, audit_channel_key
from crawler.notify.ledger_status import DeliveryReport
from crawler.notify.notice import Effect, MessageChannel, Notice, Occasion, SendResult, SendStatus, notice_sentence
from crawler.notify.session import NotifySession, subject_of
from crawler.publish.changes import ChangeSample
from crawler.publish.gate import STILL_HELD
from crawler.publish.write import lost_files
from crawler.state.runs import PARTIAL, PUBLISHING_OUTCOMES, UNSERVED, RunResult, RunStatus
from crawler.units import w3c

NEUTRAL_EXIT_CODES: Final = frozenset({0, 4, 6})
"""Exit codes that are no failure by themselves: done, cut short, state in use."""
_FAILURES: Final = frozenset({RunStatus.FAILED, RunStatus.BROKEN})
_STATES: Final = rf"(?<!answered [1-5][0-9][0-9], )\b(?:{'|'.join(map(re.escape, State))})\b"  # not words for a status
_causes: Final = re.compile(rf"answered [1-5][0-9][0-9]|firewall|{_STATES}").findall
_varies: Final = re.compile("[0-9/]").search  # figures, URLs and paths, which differ each night


class MessageNotifier:
    """Notifies one message channel of one site."""

    def __init__(self, session: NotifySession, channel: MessageChannel) -> None:
        self._session = session
        self._channel = channel

    async def begin(self) -> None:
        """Fix what is to be sent before any channel sends: a repeated run then sends the same, not more."""
        session, last_run = self._session, self._session.last_run()
        if Occasion.TROUBLE in self._channel.occasions:
            self._take_health()
        if Occasion.CHANGES not in self._channel.occasions:
            return
        for cursor in session.cursors(self._channel.key, all_of_first=True):
            is_new = cursor.until is None and cursor.told < last_run and cursor.due <= session.clock()
            if is_new and (await session.check_live()).reception is SendStatus.ACCEPTED:
                session.ledger.begin_delivery(cursor, last_run)

    async def send_pending(self) -> list[DeliveryReport]:
        """Send every outstanding message, after :meth:`begin`."""
        reports = [await self._notify_health()] if Occasion.TROUBLE in self._channel.occasions else []
        if Occasion.CHANGES in self._channel.occasions:
            reports += await self._notify_changes()
        return [report for report in reports if report is not None]

    # ---------------------------------------------------------------- changes

    async def _notify_changes(self) -> list[DeliveryReport]:
        session, reports = self._session, list[DeliveryReport]()
        last_run = session.last_run()
        for start in session.cursors(self._channel.key, all_of_first=True):
            cursor: DeliveryCursor | None = start
            while cursor is not None and cursor.told < last_run:
                if deferred := session.deferred(cursor):
                    return [*reports, deferred]
                cursor, report = await self._deliver(cursor, last_run)
                reports += [report] if report else []
        for refused in session.ledger.refused(self._channel.key) if session.replay.is_of_refused else ():
            notice = self._changes(refused.after, refused.until)
            if session.replay.wants(_claim_key(self._channel, notice)):
                reports.append(await self._resend(refused, notice))
        return reports

    async def _deliver(
        self, cursor: DeliveryCursor, last_run: int
    ) -> tuple[DeliveryCursor | None, DeliveryReport | None]:
        """Send one message; returns the cursor when there may be another one."""
        session, until = self._session, cursor.until or last_run
        notice = self._changes(cursor.told, until)
        if not notice.counts.total:
            return session.ledger.delivered(cursor, until), None
        result, sent = await session.check_live(), None
        if result.reception is SendStatus.ACCEPTED:
            cursor = cursor if cursor.until else session.ledger.begin_delivery(cursor, until)
            result = await send_message(session, self._channel, notice)
            sent = session.sent_message(result, urls=notice.counts.total, **subject_of(cursor))
        report = self._report(cursor, result, until, notice.counts.total)
        return _settle(session, cursor, until, result, sent), report

    async def _resend(self, refused: RefusedDelivery, notice: Notice) -> DeliveryReport:
        """Send a refused message once more."""
        cursor = refused.cursor
        result = await send_message(self._session, self._channel, notice)
        sent = self._session.sent_message(result, urls=notice.counts.total, **subject_of(cursor))
        self._session.ledger.resent(refused, sent)
        return self._report(cursor, result, refused.until, notice.counts.total)

    def _changes(self, after: int, until: int) -> Notice:
        session = self._session
        sample = ChangeSample(session.changes(after, until), session.plan.config.notify.max_urls)
        shown = tuple(change for change in sample if after)  # counts all; a whole set is no news
        run = session.record(until)
        return session.build_notice(
            occasion=Occasion.CHANGES,
            after=after,
            until=until,
            at=session.started_at(until),
            pages=run.listed if run else 0,
            counts=sample.counts,
            changes=shown,
        )

    def _report(self, cursor: DeliveryCursor, result: SendResult, until: int, changes: int) -> DeliveryReport:
        subject = subject_of(cursor, cursor.host) | {"until": until}
        urls = changes if result.reception is SendStatus.ACCEPTED else 0
        refused = changes if result.reception is SendStatus.REFUSED else 0
        return self._session.delivery_report(result, urls=urls, refused=refused, **subject)

    # ---------------------------------------------------------------- trouble

    def _take_health(self) -> None:
        """Store what the channel is to be told of the run that just ended."""
        session, run_result = self._session, self._session.run_result
        previous = session.ledger.health_notice(self._channel.key)
        health = next_health_notice(previous, run_result, session.clock()) if run_result else previous
        if health.pending is Occasion.RECOVERY and Occasion.RECOVERY not in self._channel.occasions:
            health = replace(health, knows=False, pending=None)
        if health != previous:
            session.ledger.store_health_notice(health)

    async def _notify_health(self) -> DeliveryReport | None:
        session, health = self._session, self._session.ledger.health_notice(self._channel.key)
        if health.pending is None:
            return None
        subject = {"channel": health.channel, "occasion": health.pending, "until": health.run}
        if health.due > session.clock():
            return session.delivery_report(SendResult.deferred(health.said), due=health.due, **subject)
        result = await send_message(session, self._channel, self._trouble(health))
        sent = session.sent_message(result, **subject)
        if result.reception is SendStatus.DEFERRED:
            session.ledger.store_health_notice(
                replace(health, said=result.message, due=session.retry_time(result)), sent
            )
        else:  # do not resend a refused message after every failed run
            knows = health.pending is Occasion.TROUBLE
            told = "\n".join(("", *sorted(health.causes | causes_of(health.message)))) if knows else ""
            session.ledger.store_health_notice(HealthNotice(channel=health.channel, knows=knows, told=told), sent)
        return session.delivery_report(result, due=health.due or session.retry_time(result), **subject)

    def _trouble(self, health: HealthNotice) -> Notice:
        session, run = self._session, self._session.record(health.run)
        newest = session.record(max(session.runs, default=0))  # which knows what is published, whatever its result
        has_published = run is not None and run.outcome in (*PUBLISHING_OUTCOMES, PARTIAL)
        effect = Effect.HELD if run and run.has_held else Effect.PUBLISHED if has_published else Effect.KEPT
        if not health.exit_code:
            effect = Effect.UNSERVED
        elif effect is Effect.KEPT and lost_files(session.plan).missing:
            effect = Effect.GONE
        return session.build_notice(
            effect=Effect.UNKNOWN if session.is_forgotten else effect,
            occasion=health.pending or Occasion.TROUBLE,
            until=health.run,
            at=w3c(health.at),
            pages=newest.listed if newest else 0,
            exit_code=health.exit_code,
            message=health.message,
        )


def _settle(
    session: NotifySession, cursor: DeliveryCursor, until: int, result: SendResult, sent: SentMessage | None
) -> DeliveryCursor | None:
    """Store the result of a message about everything up to ``until``; the cursor if there may be another message."""
    if result.reception is SendStatus.DEFERRED:
        session.ledger.defer(cursor, result.message, session.retry_time(result), sent)
        return None
    if result.reception is SendStatus.REFUSED and sent:
        return session.ledger.refuse(replace(cursor, until=until), None, sent)
    return session.ledger.delivered(cursor, until, sent)


def run_failed(result: RunResult) -> bool:
    """Whether a run failed, or its sitemap is not where the site serves files."""
    is_failed = result.exit_code not in NEUTRAL_EXIT_CODES or result.status in _FAILURES
    return is_failed or result.outcome == UNSERVED


def causes_of(message: str) -> frozenset[str]:
    """What a run that failed names as the reasons: statuses, states and firewalls.

    Else the words of its first sentence, which are the same for one page and for several, and for each number of runs.
    What an earlier run held, and still holds, is no news: links of the held pages led to it.
    """
    news, held, _ = message.partition(STILL_HELD)
    if held:
        news = news.rpartition("; ")[0]  # without the number of pages
        if not news:
            return frozenset()
    if causes := frozenset(_causes(news)):
        return causes
    first = news.partition(". ")[0].split()
    words = " ".join(word.rstrip(".,;:").removesuffix("s") for word in first if not _varies(word))
    return frozenset({words})


def next_health_notice(health: HealthNotice, result: RunResult, now: float) -> HealthNotice:
    """What a channel is to be notified of after a run that ended at ``now`` (Unix time): news only.

    Trouble is news when the channel knows of none, or not of this cause.
    """
    told = "\n".join((plain_line(result.message), *sorted(health.causes)))
    facts = {"run": result.run or 0, "exit_code": result.exit_code, "told": told, "at": now}
    if run_failed(result):
        if not (health.knows and causes_of(result.message) <= health.causes):
            return health if health.pending is Occasion.TROUBLE else replace(health, pending=Occasion.TROUBLE, **facts)
        return replace(health, pending=None) if health.pending is Occasion.RECOVERY else health
    if result.exit_code:
        return health
    if not health.knows:  # unknown trouble is over
        return HealthNotice(channel=health.channel)
    return health if health.pending is Occasion.RECOVERY else replace(health, pending=Occasion.RECOVERY, **facts)


async def send_message(session: NotifySession, channel: MessageChannel, notice: Notice) -> SendResult:
    """Send a message for people or programs, with every configured retry."""
    if session.dry_run:
        lines = [f"{change.kind} {change.url}" for change in notice.changes]
        return session.dry_run.record(channel.key, lines or [notice_sentence(notice)])
    content = f"audit {notice.audit.number}" if notice.audit else f"run {notice.after}, up to run {notice.until}"
    what = f"{channel.key}: {notice.occasion.value} after {content}"
    changes = "" if notice.occasion in (Occasion.TROUBLE, Occasion.RECOVERY) else content
    section, key = session.plan.config.notify, _claim_key(channel, notice)
    return await send_with_retry(partial(channel.send, notice), section, is_always_worth, key, what, changes)


def _claim_key(channel: MessageChannel, notice: Notice) -> str:
    """The same for the notice of a repeated run or audit, whose times differ; "" for another one."""
    if notice.audit:
        return claim_key(channel.key, notice.occasion.value, notice.audit.number, notice.message)
    changes = [(change.url, change.kind) for change in notice.changes]
    timeless = replace(notice, at="", changes=(), audit=None)
    return claim_key(channel.key, timeless, changes) if notice.until else ""


def wants_audits(plan: CrawlPlan, channel: MessageChannel) -> bool:
    """Whether a channel gets the audits of a site, which must be audited after its runs."""
    return plan.config.audit.every is not None and Occasion.FINDINGS in channel.occasions


def finished_audits_of(plan: CrawlPlan) -> list[AuditSummary]:
    """The finished audits of a site, the oldest first. Raises StorageError, UsageError."""
    return history.finished_audits(plan.state / AUDIT)


class AuditNotifier:
    """Notifies one channel of the finished audits of one site."""

    def __init__(self, session: NotifySession, channel: MessageChannel, audits: Sequence[AuditSummary]) -> None:
        self._session = session
        self._channel = channel
        self._audits = audits

    def begin(self) -> DeliveryCursor:
        """The channel's cursor. A new channel gets no finished audit; it begins with the next."""
        ledger, key = self._session.ledger, audit_channel_key(self._channel.key)
        last = self._audits[-1].number if self._audits else 0
        cursors = ledger.cursors(key)
        is_valid = bool(cursors) and cursors[0].told <= last  # else the state of the audits was recreated
        return cursors[0] if is_valid else ledger.start(key, 0 if cursors else last)

    async def send_pending(self) -> list[DeliveryReport]:
        """Send every outstanding audit until one is deferred.

        A refused message is sent once more if the replay request says so.
        """
        reports, cursor = await self._resend(), self.begin()
        for audit in [audit for audit in self._audits if audit.number > cursor.told]:
            if not audit.is_worth_sending:
                cursor = self._session.ledger.delivered(cursor, audit.number)
                continue
            subject = self._subject(audit)
            if cursor.due > self._session.clock():
                deferred = SendResult.deferred(cursor.said)
                return [*reports, self._session.delivery_report(deferred, due=cursor.due, **subject)]
            result = await send_message(self._session, self._channel, self._notice(audit))
            reports.append(self._session.delivery_report(result, **subject))
            sent = self._session.sent_message(result, **subject)
            settled = _settle(self._session, cursor, audit.number, result, sent)
            if settled is None:
                break
            cursor = settled
        return reports

    async def _resend(self) -> list[DeliveryReport]:
        """Send refused messages once more, and drop those whose audit is forgotten."""
        reports, ledger = list[DeliveryReport](), self._session.ledger
        remembered = {audit.number: audit for audit in self._audits}
        for refused in ledger.refused(audit_channel_key(self._channel.key)):
            audit = remembered.get(refused.until)
            if audit is None:
                ledger.drop_refused(refused)
            elif self._session.replay.wants(_claim_key(self._channel, notice := self._notice(audit))):
                result = await send_message(self._session, self._channel, notice)
                ledger.resent(refused, self._session.sent_message(result, **self._subject(audit)))
                reports.append(self._session.delivery_report(result, **self._subject(audit)))
        return reports

    def _subject(self, audit: AuditSummary) -> dict[str, Any]:
        return {"channel": self._channel.key, "occasion": Occasion.FINDINGS, "until": audit.number}

    def _notice(self, audit: AuditSummary) -> Notice:
        doubt = f"; inconclusive: {audit.why}" if audit.verdict == "inconclusive" else ""
        report = self._session.plan.config.audit.report
        return self._session.build_notice(
            occasion=Occasion.FINDINGS,
            at=w3c(audit.started),
            pages=audit.pages,
            message=f"audit: {audit.sentence}{doubt}",
            audit=audit,
            report=str(Path(report).resolve()) if report else "",
        )
