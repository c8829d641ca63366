"""Sends a channel the findings of a site's audits: one message for each audit that has something new."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from crawler.audit.compare import history
from crawler.audit.summary import AuditSummary
from crawler.config.plan import AUDIT, CrawlPlan
from crawler.notify.channels.channel import MessageChannel
from crawler.notify.ledger import DeliveryCursor, audit_channel_key
from crawler.notify.ledger_status import DeliveryReport
from crawler.notify.messages import build_notice, send_message
from crawler.notify.notice import Notice, Occasion, SendResult, SendStatus
from crawler.notify.session import NotifySession
from crawler.publish.changes import ChangeCounts
from crawler.units import w3c


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
            if result.reception is SendStatus.DEFERRED:
                self._session.ledger.defer(cursor, result.message, self._session.retry_time(result), sent)
                break
            if result.reception is SendStatus.REFUSED:
                cursor = self._session.ledger.refuse(replace(cursor, until=audit.number), None, sent)
            else:
                cursor = self._session.ledger.delivered(cursor, audit.number, sent)
        return reports

    async def _resend(self) -> list[DeliveryReport]:
        """Send refused messages once more, and drop those whose audit is forgotten."""
        reports, ledger = list[DeliveryReport](), self._session.ledger
        remembered = {audit.number: audit for audit in self._audits}
        for refused in ledger.refused(audit_channel_key(self._channel.key)):
            audit = remembered.get(refused.until)
            if audit is None:
                ledger.drop_refused(refused)
            elif self._session.replay.refused:
                result = await send_message(self._session, self._channel, self._notice(audit))
                ledger.resent(refused, self._session.sent_message(result, **self._subject(audit)))
                reports.append(self._session.delivery_report(result, **self._subject(audit)))
        return reports

    def _subject(self, audit: AuditSummary) -> dict[str, Any]:
        return {"channel": self._channel.key, "occasion": Occasion.FINDINGS, "until": audit.number}

    def _notice(self, audit: AuditSummary) -> Notice:
        doubt = f"; inconclusive: {audit.why}" if audit.verdict == "inconclusive" else ""
        report = self._session.plan.config.audit.report
        return build_notice(
            self._session,
            occasion=Occasion.FINDINGS,
            at=w3c(audit.started),
            pages=audit.pages,
            counts=ChangeCounts(),
            message=f"audit: {audit.sentence}{doubt}",
            audit=audit,
            report=str(Path(report).resolve()) if report else "",
        )
