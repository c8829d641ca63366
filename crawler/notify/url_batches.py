"""Tells a channel the URLs that changed: host by host, in byte order, a batch kept in the ledger once it is taken."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile

from crawler.notify.channels.channel import BatchChannel
from crawler.notify.ledger import DeliveryCursor, RefusedDelivery
from crawler.notify.ledger_status import DeliveryReport
from crawler.notify.notice import SendResult, SendStatus
from crawler.notify.retry import catch_all, send_with_retry
from crawler.notify.session import NotifySession
from crawler.publish.changes import Change


def authority(url: str) -> str:
    """The host of a URL, with its port when that is not the usual one."""
    return url[url.index("://") + 3 : url.index("/", 8)]


@dataclass(slots=True)
class _BatchCounts:
    """What was taken of a delivery, and what refused."""

    urls: int = 0
    batches: int = 0
    refused: int = 0
    said: str = ""

    def with_result(self, answer: SendResult) -> "_BatchCounts":
        """The same, which ended with an answer."""
        self.said = answer.message
        return self

    def count(self, answer: SendResult, urls: int) -> None:
        """Count a batch that was taken or refused."""
        if answer.reception is SendStatus.ACCEPTED:
            self.urls, self.batches = self.urls + urls, self.batches + 1
        else:
            self.refused += urls
        if answer.reception is not SendStatus.ACCEPTED or not self.refused:
            self.said = answer.message


class BatchNotifier:
    """Tells one channel of one site."""

    def __init__(self, desk: NotifySession, channel: BatchChannel, *, is_first_told: bool) -> None:
        self._session = desk
        self._channel = channel
        self._is_first_told = is_first_told
        self._refused_only: set[str] = set()  # hosts that are put off; "": those without a line of their own
        self._offered: set[str] = set()
        self._is_over = False
        self._left_out = 0

    async def send_pending(self) -> list[DeliveryReport]:
        """Everything that is outstanding, delivery after delivery, until there is no more or nobody takes it."""
        desk, told = self._session, []
        last = desk.last_run()
        desk.cursors(self._channel.key, all_of_first=False, all_there_is=self._is_first_told)
        if waiting := self._deferred_reports(last):
            return [waiting]
        while not self._is_over and (line := self._next(last)):
            told += await self._deliver(line, last)
        if desk.replay.refused:
            for refused in desk.ledger.refused(self._channel.key):
                told += [] if self._is_over else await self._resend(refused)
        if self._left_out:
            desk.note(f"{self._left_out:,} URLs lie outside of the key file's directory: they are not sent")
        return told

    def _deferred_reports(self, last: int) -> DeliveryReport | None:
        """What there is to say when it asked to wait, of whichever host it was told then; None when it did not."""
        lines = (line for line in self._session.ledger.cursors(self._channel.key) if line.told < last)
        return next(filter(None, map(self._session.deferred, lines)), None)

    def _next(self, last: int) -> DeliveryCursor | None:
        lines = self._session.ledger.cursors(self._channel.key)
        return next(
            (line for line in lines if line.told < last and line.host not in self._refused_only), None
        )

    async def _deliver(self, line: DeliveryCursor, last: int) -> list[DeliveryReport]:
        """One delivery, of all hosts that have no line of their own, or of the one that has this."""
        desk, score, others = self._session, _BatchCounts(), list[DeliveryReport]()
        until, was_begun = line.until or last, line.until is not None
        own = {each.host for each in desk.ledger.cursors(line.channel)} - {line.host}
        for host, urls in self._batches(desk.changes(line.told, until), line, own):
            line, answer = await self._send_if_live(line, until, host, urls)
            if answer.reception is not SendStatus.DEFERRED:
                score.count(answer, len(urls))
            elif line.host or self._is_over:
                self._refused_only.add(line.host)
                desk.ledger.defer(line, answer.message, desk.retry_time(answer))
                told = self._report(
                    line, SendStatus.DEFERRED, score.with_result(answer), until, due=desk.retry_time(answer)
                )
                return [told, *others]
            else:
                self._refused_only.add(host)
                own.add(host)
                desk.ledger.split(line, host, answer.message, begun=was_begun or host in self._offered)
                others.append(
                    self._report(line, SendStatus.DEFERRED, _BatchCounts(said=answer.message), until, host)
                )
        desk.ledger.delivered(line, until)
        if not (score.batches or score.refused):
            return others
        reception = SendStatus.REFUSED if score.refused else SendStatus.ACCEPTED
        return [self._report(line, reception, score, until), *others]

    async def _send_if_live(
        self, line: DeliveryCursor, until: int, host: str, urls: Sequence[str]
    ) -> tuple[DeliveryCursor, SendResult]:
        """One batch, if what it tells of is live and the host is ready; the line as it is then.

        What is put off for another reason than its host is put off for all hosts.
        """
        answer = await self._may_send(host)
        if answer.reception is not SendStatus.ACCEPTED:
            return line, answer
        line = line if line.until else self._session.ledger.begin_delivery(line, until)
        self._offered.add(host)
        answer = await self._send(host, urls)
        if answer.reception is SendStatus.DEFERRED:
            self._is_over = await self._is_ready(host)
        return self._record_batch(line, host, urls, answer), answer

    async def _may_send(self, host: str) -> SendResult:
        """Whether there is anything live to tell of, and the host is ready."""
        answer = await self._session.check_live()
        if answer.reception is not SendStatus.ACCEPTED:
            self._is_over = True
            return answer
        return await catch_all(partial(self._channel.check_ready, host))

    async def _send(self, host: str, urls: Sequence[str]) -> SendResult:
        return await send_with_retry(
            partial(self._channel.send, host, urls),
            self._session.plan.config.notify,
            partial(self._is_ready, host),
        )

    async def _is_ready(self, host: str) -> bool:
        return (await catch_all(partial(self._channel.check_ready, host))).reception is SendStatus.ACCEPTED

    def _record_batch(
        self, line: DeliveryCursor, host: str, urls: Sequence[str], answer: SendResult
    ) -> DeliveryCursor:
        """One commit. Until it is made, a crash sends the batch again."""
        sent = self._session.sent_message(line, answer, len(urls), host)
        if answer.reception is SendStatus.ACCEPTED:
            return self._session.ledger.batch_sent(line, urls[-1], sent)
        if answer.reception is SendStatus.REFUSED:
            return self._session.ledger.refuse(line, urls[-1], sent)
        self._session.ledger.log_message(sent)
        return line

    def _batches(
        self, changes: Iterable[Change], line: DeliveryCursor, own: set[str]
    ) -> Iterator[tuple[str, list[str]]]:
        """What is still to be sent of a line, in batches of one origin, in byte order of the URLs."""
        at, host, batch = "", "", list[str]()
        for change in changes:
            url = change.url
            if url <= line.position:
                continue
            origin = url[: url.index("/", 8)]
            if batch and (origin != at or len(batch) == self._channel.size):
                yield host, batch
                batch = []
            at, host = origin, authority(url)
            if (host != line.host) if line.host else (host in own):
                continue
            if self._channel.accepts(url):
                batch.append(url)
            else:
                self._left_out += 1
        if batch:
            yield host, batch

    async def _resend(self, refused: RefusedDelivery) -> list[DeliveryReport]:
        """What was refused, once more; what is taken of it is forgotten."""
        desk, score, answer = self._session, _BatchCounts(), None
        line = DeliveryCursor(
            id=0,
            channel=refused.channel,
            host=refused.host,
            told=refused.after,
            until=refused.until,
            position=refused.position,
        )
        upto = refused.upto or ""
        changes = takewhile(lambda change: change.url <= upto, desk.changes(refused.after, refused.until))
        for host, urls in self._batches(changes, line, set()):
            answer = await self._may_send(host)
            if answer.reception is not SendStatus.ACCEPTED:
                break
            answer = await self._send(host, urls)
            sent = desk.sent_message(line, answer, len(urls), host)
            if answer.reception is not SendStatus.ACCEPTED:
                desk.ledger.log_message(sent)
                break
            score.count(answer, len(urls))
            desk.ledger.refused_sent(refused, urls[-1], sent)
        else:
            desk.ledger.drop_refused(refused)
        if answer is None:
            return []
        return [self._report(line, answer.reception, score.with_result(answer), refused.until)]

    def _report(
        self,
        line: DeliveryCursor,
        reception: SendStatus,
        score: _BatchCounts,
        until: int,
        host: str = "",
        due: float = 0.0,
    ) -> DeliveryReport:
        said = score.said
        if reception is not SendStatus.ACCEPTED and score.urls:
            some = f", and {score.refused:,} refused" if score.refused else ""
            said = f"{score.urls:,} URL{' was' if score.urls == 1 else 's were'} taken before{some}: {said}"
        elif score.batches > 1:
            said = f"{score.urls:,} URLs were taken in {score.batches:,} batches; of the last: {said}"
        return self._session.delivery_report(
            line,
            reception,
            until=until,
            host=host or line.host,
            urls=score.urls,
            refused=score.refused,
            batches=score.batches,
            said=said,
            due=due,
        )
