"""Tells a channel what the audits of a site found: one message for each that has something new."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from crawler.audit.compare import history
from crawler.audit.summary import AuditSummary
from crawler.config.plan import AUDIT, CrawlPlan
from crawler.notify.channels.channel import MessageChannel
from crawler.notify.ledger import DeliveryCursor, SentMessage, audit_channel_key
from crawler.notify.ledger_status import DeliveryReport
from crawler.notify.messages import always_retry, build_notice
from crawler.notify.notice import Notice, Occasion, SendResult, SendStatus
from crawler.notify.retry import send_with_retry
from crawler.notify.session import NotifySession
from crawler.publish.changes import ChangeCounts
from crawler.units import w3c


def wants_audits(plan: CrawlPlan, channel: MessageChannel) -> bool:
    """Whether a channel is told of the audits of a site: only of one that is audited after its runs."""
    return plan.config.audit.every is not None and Occasion.FINDINGS in channel.occasions


def finished_audits_of(plan: CrawlPlan) -> list[AuditSummary]:
    """The audits of a site that came to their end, the oldest first. Raises StorageError, UsageError."""
    return history.finished_audits(plan.state / AUDIT)


class AuditNotifier:
    """Tells one channel of one site. ``ended`` are the audits that are :func:`known`."""

    def __init__(self, desk: NotifySession, channel: MessageChannel, ended: Sequence[AuditSummary]) -> None:
        self._session = desk
        self._channel = channel
        self._ended = ended

    def begin(self) -> DeliveryCursor:
        """The line of the channel. One that is new is told of no audit that is over; it begins with the next."""
        ledger, name = self._session.ledger, audit_channel_key(self._channel.key)
        last = self._ended[-1].number if self._ended else 0
        lines = ledger.cursors(name)
        is_here = bool(lines) and lines[0].told <= last  # else the state of the audits was begun anew
        return lines[0] if is_here else ledger.start(name, 0 if lines else last)

    async def send_pending(self) -> list[DeliveryReport]:
        """Everything that is outstanding, audit after audit, until there is no more or it is put off.

        What was refused before is sent once more if somebody asks for that.
        """
        told, line = await self._resend(), self.begin()
        for news in (each for each in self._ended if each.number > line.told):
            if not news.is_worth_sending:
                line = self._session.ledger.delivered(line, news.number)
                continue
            if line.due > self._session.clock():
                return [
                    *told,
                    self._report(
                        news, SendResult(reception=SendStatus.DEFERRED, message=line.said), line.due
                    ),
                ]
            answer = await self._send(news)
            told.append(self._report(news, answer, self._session.retry_time(answer)))
            sent = self._sent(news, answer)
            if answer.reception is SendStatus.DEFERRED:
                self._session.ledger.defer(line, answer.message, self._session.retry_time(answer), sent)
                break
            if answer.reception is SendStatus.REFUSED:
                line = self._session.ledger.refuse(replace(line, until=news.number), None, sent)
            else:
                line = self._session.ledger.delivered(line, news.number, sent)
        return told

    async def _resend(self) -> list[DeliveryReport]:
        """What was refused, once more, and what is remembered of it no more is dropped."""
        told, ledger = list[DeliveryReport](), self._session.ledger
        remembered = {news.number: news for news in self._ended}
        for refused in ledger.refused(audit_channel_key(self._channel.key)):
            news = remembered.get(refused.until)
            if news is None:
                ledger.drop_refused(refused)
            elif self._session.replay.refused:
                answer = await self._send(news)
                sent = self._sent(news, answer)
                if answer.reception is SendStatus.ACCEPTED:
                    ledger.drop_refused(refused, sent)
                else:
                    ledger.log_message(sent)
                told.append(self._report(news, answer, self._session.retry_time(answer)))
        return told

    async def _send(self, news: AuditSummary) -> SendResult:
        notice = self._notice(news)
        return await send_with_retry(
            partial(self._channel.send, notice), self._session.plan.config.notify, always_retry
        )

    def _notice(self, news: AuditSummary) -> Notice:
        doubt = f"; inconclusive: {news.why}" if news.verdict == "inconclusive" else ""
        report = self._session.plan.config.audit.report
        return build_notice(
            self._session,
            occasion=Occasion.FINDINGS,
            at=w3c(news.started),
            pages=news.pages,
            counts=ChangeCounts(),
            message=f"audit: {news.sentence}{doubt}",
            audit=news,
            report=str(Path(report).resolve()) if report else "",
        )

    def _sent(self, news: AuditSummary, answer: SendResult) -> SentMessage:
        return SentMessage(
            at=self._session.clock(),
            channel=self._channel.key,
            occasion=Occasion.FINDINGS,
            until=news.number,
            reception=answer.reception,
            said=answer.message,
        )

    def _report(self, news: AuditSummary, answer: SendResult, due: float) -> DeliveryReport:
        return DeliveryReport(
            channel=self._channel.key,
            occasion=Occasion.FINDINGS,
            reception=answer.reception,
            until=news.number,
            batches=int(answer.reception is SendStatus.ACCEPTED),
            said=answer.message,
            due=due,
        )
