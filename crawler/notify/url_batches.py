"""Sends a channel the changed URLs: host by host, in byte order, each accepted batch recorded in the ledger."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any

from crawler.notify.delivery import catch_all, claim_key, send_with_retry
from crawler.notify.ledger import DeliveryCursor, RefusedDelivery
from crawler.notify.ledger_status import DeliveryReport
from crawler.notify.notice import BatchChannel, SendResult, SendStatus
from crawler.notify.session import NotifySession, subject_of
from crawler.publish.changes import ONLY_DATE, Change
from crawler.units import count_text


def authority(url: str) -> str:
    """The host of a URL, with its port unless it is the default."""
    return url[url.index("://") + 3 : url.index("/", 8)]


@dataclass(slots=True)
class _BatchCounts:
    """The accepted and refused URLs of a delivery."""

    urls: int = 0
    batches: int = 0
    refused: int = 0
    message: str = ""

    def with_result(self, result: SendResult) -> "_BatchCounts":
        """Set the message of the last result."""
        self.message = result.message
        return self

    def count(self, result: SendResult, urls: int) -> None:
        """Count a batch that was accepted or refused."""
        if result.reception is SendStatus.ACCEPTED:
            self.urls, self.batches = self.urls + urls, self.batches + 1
        else:
            self.refused += urls
        if result.reception is not SendStatus.ACCEPTED or not self.refused:
            self.message = result.message

    def report(self, reception: SendStatus, cursor: DeliveryCursor, until: int, **more: Any) -> DeliveryReport:
        """The report of a delivery to the end of run ``until``, with ``more`` fields."""
        message = self.message
        if reception is not SendStatus.ACCEPTED and self.urls:
            refused = f", and {self.refused:,} refused" if self.refused else ""
            urls = f"{self.urls:,} URL{' was' if self.urls == 1 else 's were'}"
            message = f"{urls} accepted before that{refused}: {message}"
        elif self.batches > 1:
            message = f"{self.urls:,} URLs were accepted in {self.batches:,} batches; the last batch: {message}"
        subject = subject_of(cursor, cursor.host) | {"until": until, **more}
        counts: dict[str, Any] = {"urls": self.urls, "refused": self.refused, "batches": self.batches}
        return DeliveryReport(reception=reception, said=message, **counts, **subject)


class BatchNotifier:
    """Notifies one batch channel of one site."""

    def __init__(self, session: NotifySession, channel: BatchChannel, *, is_first_told: bool) -> None:
        self._session = session
        self._channel = channel
        self._is_first_told = is_first_told
        self._deferred_hosts: set[str] = set()  # "": those without a cursor of their own
        self._sent_hosts: set[str] = set()
        self._is_stopped = False
        self._left_out = 0

    async def send_pending(self) -> list[DeliveryReport]:
        """Send every outstanding delivery, until none is left or the channel defers."""
        session, reports = self._session, []
        last_run = session.last_run()
        is_new = not session.ledger.cursors(self._channel.key)
        cursors = session.cursors(self._channel.key, all_of_first=False, all_there_is=self._is_first_told)
        if is_new and cursors and not self._is_first_told:
            ready = await self._may_send(authority(session.plan.seed))
            fault = "" if ready.reception is SendStatus.ACCEPTED else f". It is not ready: {ready.message}"
            note = "changes are sent from now on, but not the pages so far (indexnow.first_run)"
            session.note(f"{self._channel.key}: {note}{fault}")
        # a pause that any host asked for holds for all
        if report := next(filter(None, map(session.deferred, self._pending(last_run))), None):
            return [report]
        while not self._is_stopped and (cursor := self._next(last_run)):
            reports += await self._deliver(cursor, last_run)
        for refused in session.ledger.refused(self._channel.key) if session.replay.is_of_refused else ():
            reports += [] if self._is_stopped else await self._resend(refused)
        if self._left_out:
            session.note(f"{self._left_out:,} URLs are outside the directory of the key file and are not sent")
        return reports

    def _pending(self, last: int) -> list[DeliveryCursor]:
        return [cursor for cursor in self._session.ledger.cursors(self._channel.key) if cursor.told < last]

    def _next(self, last: int) -> DeliveryCursor | None:
        return next((cursor for cursor in self._pending(last) if cursor.host not in self._deferred_hosts), None)

    async def _deliver(self, cursor: DeliveryCursor, last_run: int) -> list[DeliveryReport]:
        """One delivery, to all hosts without a cursor of their own, or to the one with this cursor."""
        session, counts, reports = self._session, _BatchCounts(), list[DeliveryReport]()
        until, has_begun = cursor.until or last_run, cursor.until is not None
        separate_hosts = {other.host for other in session.ledger.cursors(cursor.channel)} - {cursor.host}
        for host, urls in self._batches(session.changes(cursor.told, until), cursor, separate_hosts):
            cursor, result = await self._send_if_live(cursor, until, host, urls)
            if result.reception is not SendStatus.DEFERRED:
                counts.count(result, len(urls))
            elif cursor.host or self._is_stopped:
                self._deferred_hosts.add(cursor.host)
                due = session.retry_time(result)
                session.ledger.defer(cursor, result.message, due)
                return [counts.with_result(result).report(SendStatus.DEFERRED, cursor, until, due=due), *reports]
            else:
                self._deferred_hosts.add(host)
                separate_hosts.add(host)
                session.ledger.split(cursor, host, result.message, begun=has_begun or host in self._sent_hosts)
                of_host = _BatchCounts(message=result.message)
                reports.append(of_host.report(SendStatus.DEFERRED, cursor, until, host=host))
        session.ledger.delivered(cursor, until)
        if not (counts.batches or counts.refused):
            return reports
        reception = SendStatus.REFUSED if counts.refused else SendStatus.ACCEPTED
        return [counts.report(reception, cursor, until), *reports]

    async def _send_if_live(
        self, cursor: DeliveryCursor, until: int, host: str, urls: Sequence[str]
    ) -> tuple[DeliveryCursor, SendResult]:
        """Send one batch if its changes are live and the host is ready; returns the updated cursor.

        A deferral for another reason than the host holds for all hosts.
        """
        result = await self._may_send(host)
        if result.reception is not SendStatus.ACCEPTED:
            return cursor, result
        cursor = cursor if cursor.until else self._session.ledger.begin_delivery(cursor, until)
        self._sent_hosts.add(host)
        result = await self._send(cursor, until, host, urls)
        if result.reception is SendStatus.DEFERRED:
            self._is_stopped = await self._is_ready(host)
        return self._record_batch(cursor, host, urls, result), result

    async def _may_send(self, host: str) -> SendResult:
        """Whether the changes are live, and the host is ready."""
        result = await self._session.check_live()
        if result.reception is not SendStatus.ACCEPTED:
            self._is_stopped = True
            return result
        if dry_run := self._session.dry_run:
            return await dry_run.check_host(self._channel, host)
        return await catch_all(partial(self._channel.check_ready, host))

    async def _send(self, cursor: DeliveryCursor, until: int, host: str, urls: Sequence[str]) -> SendResult:
        if dry_run := self._session.dry_run:
            return dry_run.record(self._channel.key, urls)
        changes = f"run {cursor.told}"
        what = f"{self._channel.key}: {count_text(len(urls), 'URL')} of {host}, changes after {changes}"
        section, is_worth = self._session.plan.config.notify, partial(self._is_ready, host)
        notice = self._claim_key(cursor, until, host, urls)
        send = partial(self._channel.send, host, urls)
        return await send_with_retry(send, section, is_worth, notice, what, changes)

    def _claim_key(self, cursor: DeliveryCursor, until: int, host: str, urls: Sequence[str]) -> str:
        return claim_key(self._channel.key, cursor.told, until, host, urls)

    async def _is_ready(self, host: str) -> bool:
        return (await catch_all(partial(self._channel.check_ready, host))).reception is SendStatus.ACCEPTED

    def _record_batch(
        self, cursor: DeliveryCursor, host: str, urls: Sequence[str], result: SendResult
    ) -> DeliveryCursor:
        """Record a batch in one commit. After a crash before it, the batch is sent again."""
        sent = self._session.sent_message(result, urls=len(urls), **subject_of(cursor, host))
        if result.reception is SendStatus.ACCEPTED:
            return self._session.ledger.batch_sent(cursor, urls[-1], sent)
        if result.reception is SendStatus.REFUSED:
            return self._session.ledger.refuse(cursor, urls[-1], sent)
        self._session.ledger.log_message(sent)
        return cursor

    def _batches(
        self, changes: Iterable[Change], cursor: DeliveryCursor, separate_hosts: set[str]
    ) -> Iterator[tuple[str, list[str]]]:
        """The batches still to be sent for a cursor, each of one origin, in byte order of the URLs."""
        current, host, batch = "", "", list[str]()
        for change in changes:
            url = change.url
            if url <= cursor.position or change.reason == ONLY_DATE:
                continue
            origin = url[: url.index("/", 8)]
            if batch and (origin != current or len(batch) == self._channel.size):
                yield host, batch
                batch = []
            current, host = origin, authority(url)
            if (host != cursor.host) if cursor.host else (host in separate_hosts):
                continue
            if self._channel.accepts(url):
                batch.append(url)
            else:
                self._left_out += 1
        if batch:
            yield host, batch

    async def _resend(self, refused: RefusedDelivery) -> list[DeliveryReport]:
        """Send a refused delivery once more, if it is wanted; its accepted part is dropped."""
        session, counts, cursor, result = self._session, _BatchCounts(), refused.cursor, None
        upto = refused.upto or ""
        changes = takewhile(lambda change: change.url <= upto, session.changes(refused.after, refused.until))
        batches = list(self._batches(changes, cursor, set()))
        keys = (self._claim_key(cursor, refused.until, host, urls) for host, urls in batches)
        if batches and not any(map(session.replay.wants, keys)):
            return []
        for host, urls in batches:
            result = await self._may_send(host)
            if result.reception is not SendStatus.ACCEPTED:
                break
            result = await self._send(cursor, refused.until, host, urls)
            sent = session.sent_message(result, urls=len(urls), **subject_of(cursor, host))
            if result.reception is not SendStatus.ACCEPTED:
                session.ledger.log_message(sent)
                break
            counts.count(result, len(urls))
            session.ledger.refused_sent(refused, urls[-1], sent)
        else:
            session.ledger.drop_refused(refused)
        if result is None:
            return []
        return [counts.with_result(result).report(result.reception, cursor, refused.until)]
