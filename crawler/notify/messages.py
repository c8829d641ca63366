"""Tells a channel one message for all that changed, and one when runs fail, and when they are well again."""

from functools import partial
from typing import Any, Final

from msgspec.structs import replace

from crawler.notify.channels.channel import MessageChannel
from crawler.notify.ledger import DeliveryCursor, HealthNotice, RefusedDelivery, SentMessage
from crawler.notify.ledger_status import DeliveryReport
from crawler.notify.notice import Notice, Occasion, SendResult, SendStatus
from crawler.notify.retry import send_with_retry
from crawler.notify.session import NotifySession
from crawler.publish.changes import ChangeCounts, ChangeSample
from crawler.publish.recent_feed import recent_feed_url
from crawler.state.runs import RunResult, RunStatus
from crawler.units import w3c

_NEUTRAL_EXIT_CODES: Final = frozenset({0, 4, 6})
"""The exit codes that are no trouble by themselves: done, cut short, another at work."""
_FAILURES: Final = frozenset({RunStatus.FAILED, RunStatus.BROKEN})


class MessageNotifier:
    """Tells one channel of one site."""

    def __init__(self, desk: NotifySession, channel: MessageChannel) -> None:
        self._session = desk
        self._channel = channel

    async def send_pending(self) -> list[DeliveryReport]:
        """Everything that is outstanding."""
        told = [await self._notify_health()] if Occasion.TROUBLE in self._channel.occasions else []
        if Occasion.CHANGES in self._channel.occasions:
            told += await self._notify_changes()
        return [each for each in told if each is not None]

    # ---------------------------------------------------------------- changes

    async def _notify_changes(self) -> list[DeliveryReport]:
        desk, told = self._session, list[DeliveryReport]()
        last = desk.last_run()
        for line in desk.cursors(self._channel.key, all_of_first=True):
            at: DeliveryCursor | None = line
            while at is not None and at.told < last:
                if waiting := desk.deferred(at):
                    return [*told, waiting]
                at, delivered = await self._deliver(at, last)
                told += [delivered] if delivered else []
        if desk.replay.refused:
            for refused in desk.ledger.refused(self._channel.key):
                told.append(await self._resend(refused))
        return told

    async def _deliver(
        self, line: DeliveryCursor, last: int
    ) -> tuple[DeliveryCursor | None, DeliveryReport | None]:
        """One message, and the line when there may be another one."""
        desk, until = self._session, line.until or last
        notice = self._changes(line.told, until)
        if not notice.counts.total:
            return desk.ledger.delivered(line, until), None
        answer = await desk.check_live()
        if answer.reception is SendStatus.ACCEPTED:
            line = line if line.until else desk.ledger.begin_delivery(line, until)
            answer = await self._send(notice)
            sent = desk.sent_message(line, answer, notice.counts.total)
        else:
            sent = None
        told = self._report(line, answer, until, notice.counts.total)
        if answer.reception is SendStatus.DEFERRED:
            desk.ledger.defer(line, answer.message, desk.retry_time(answer), sent)
            return None, told
        if answer.reception is SendStatus.REFUSED and sent:
            return desk.ledger.refuse(line, None, sent), told
        return desk.ledger.delivered(line, until, sent), told

    async def _resend(self, refused: RefusedDelivery) -> DeliveryReport:
        """A message that was refused, once more."""
        line = DeliveryCursor(id=0, channel=refused.channel, told=refused.after, until=refused.until)
        notice = self._changes(refused.after, refused.until)
        answer = await self._send(notice)
        sent = self._session.sent_message(line, answer, notice.counts.total)
        if answer.reception is SendStatus.ACCEPTED:
            self._session.ledger.drop_refused(refused, sent)
        else:
            self._session.ledger.log_message(sent)
        return self._report(line, answer, refused.until, notice.counts.total)

    def _changes(self, after: int, until: int) -> Notice:
        desk = self._session
        few = ChangeSample(desk.changes(after, until), desk.plan.config.notify.max_urls)
        shown = tuple(change for change in few if after)  # all are counted; a whole set is no news
        run = desk.record(until)
        return build_notice(
            desk,
            occasion=Occasion.CHANGES,
            after=after,
            until=until,
            at=desk.started_at(until),
            pages=run.listed if run else 0,
            counts=few.counts,
            changes=shown,
        )

    def _report(self, line: DeliveryCursor, answer: SendResult, until: int, changes: int) -> DeliveryReport:
        is_accepted = answer.reception is SendStatus.ACCEPTED
        return self._session.delivery_report(
            line,
            answer.reception,
            until=until,
            urls=changes if is_accepted else 0,
            refused=changes if answer.reception is SendStatus.REFUSED else 0,
            batches=int(is_accepted),
            said=answer.message,
            due=self._session.retry_time(answer),
        )

    # ---------------------------------------------------------------- trouble

    async def _notify_health(self) -> DeliveryReport | None:
        desk, ended = self._session, self._session.run_result
        before = desk.ledger.health_notice(self._channel.key)
        mood = next_health_notice(before, ended, desk.clock()) if ended else before
        if mood.pending is Occasion.RECOVERY and Occasion.RECOVERY not in self._channel.occasions:
            mood = replace(mood, knows=False, pending=None)
        if mood != before:
            desk.ledger.store_health_notice(mood)
        if mood.pending is None:
            return None
        if mood.due > desk.clock():
            return self._health_report(mood, SendResult(reception=SendStatus.DEFERRED, message=mood.said))
        answer = await self._send(self._trouble(mood))
        sent = self._sent(mood, answer)
        if answer.reception is SendStatus.DEFERRED:
            desk.ledger.store_health_notice(
                replace(mood, said=answer.message, due=desk.retry_time(answer)), sent
            )
        else:  # what is refused for good is not sent with every run that fails
            knows = mood.pending is Occasion.TROUBLE
            desk.ledger.store_health_notice(HealthNotice(channel=mood.channel, knows=knows), sent)
        return self._health_report(mood, answer)

    def _trouble(self, mood: HealthNotice) -> Notice:
        return build_notice(
            self._session,
            occasion=mood.pending or Occasion.TROUBLE,
            until=mood.run,
            at=w3c(mood.at),
            pages=self._listed(),
            counts=ChangeCounts(),
            exit_code=mood.exit_code,
            message=mood.told,
        )

    def _listed(self) -> int:
        """The pages that are published, whatever the last run came to."""
        run = self._session.record(max(self._session.runs, default=0))
        return run.listed if run else 0

    def _sent(self, mood: HealthNotice, answer: SendResult) -> SentMessage:
        return SentMessage(
            at=self._session.clock(),
            channel=mood.channel,
            occasion=mood.pending or Occasion.TROUBLE,
            until=mood.run,
            reception=answer.reception,
            said=answer.message,
        )

    def _health_report(self, mood: HealthNotice, answer: SendResult) -> DeliveryReport:
        return DeliveryReport(
            channel=mood.channel,
            occasion=mood.pending or Occasion.TROUBLE,
            reception=answer.reception,
            until=mood.run,
            batches=int(answer.reception is SendStatus.ACCEPTED),
            said=answer.message,
            due=mood.due or self._session.retry_time(answer),
        )

    async def _send(self, notice: Notice) -> SendResult:
        return await send_with_retry(
            partial(self._channel.send, notice), self._session.plan.config.notify, always_retry
        )


def run_failed(ended: RunResult) -> bool:
    """Whether a run that ended so has failed."""
    return ended.exit_code not in _NEUTRAL_EXIT_CODES or ended.fate in _FAILURES


def next_health_notice(mood: HealthNotice, ended: RunResult, now: float) -> HealthNotice:
    """What a channel is to be told when a run has ended at ``now`` (Unix time): nothing more than it does not know."""
    has_failed = run_failed(ended)
    is_well = ended.exit_code == 0 and not has_failed
    about = {"run": ended.run or 0, "exit_code": ended.exit_code, "told": ended.told, "at": now}
    if has_failed and not mood.knows:
        if mood.pending is None:
            return replace(mood, pending=Occasion.TROUBLE, **about)
    elif has_failed or (is_well and not mood.knows):
        return HealthNotice(
            channel=mood.channel, knows=mood.knows
        )  # it was never told, or was never told that it is over
    elif is_well and mood.pending is None:
        return replace(mood, pending=Occasion.RECOVERY, **about)
    return mood


def build_notice(desk: NotifySession, **fields: Any) -> Notice:
    """A notice of a site."""
    return Notice(
        site=desk.name,
        url=desk.plan.seed,
        sitemap_url=desk.sitemap_url,
        feed_url=recent_feed_url(desk.plan),
        **fields,
    )


async def always_retry() -> bool:
    """A message for people and programs is worth every try that is configured."""
    return True
