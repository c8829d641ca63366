"""The state of one site while its channels are notified: the runs, their changes, and whether they are live."""

import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from crawler.config.plan import CrawlPlan
from crawler.errors import UsageError
from crawler.model import Url
from crawler.notify.delivery import catch_all
from crawler.notify.ledger import DeliveryCursor, Ledger, SentMessage
from crawler.notify.ledger_status import DeliveryReport
from crawler.notify.notice import BatchChannel, Notice, Occasion, SendResult, SendStatus
from crawler.publish.change_feed import ChangeFeed
from crawler.publish.changes import Change
from crawler.publish.recent_feed import recent_feed_url
from crawler.state.runs import ROLLED_BACK, Run, RunResult, RunStore
from crawler.state.schema import STATE_DB
from crawler.units import w3c


class ReplayRequest(Struct, frozen=True, kw_only=True):
    """What a person wants sent again. ``since``: all changes after this run, 0: from the first; ``refused``: refused
    deliveries; ``notices``: of these, those with such a :func:`crawler.notify.delivery.claim_key`.

    ``refresh_status``: read the Search Console status now. ``only`` is the prefix of the keys of the channels to
    notify, "" for all.
    """

    since: int | None = None
    refused: bool = False
    notices: frozenset[str] = frozenset()
    refresh_status: bool = False
    only: str = ""

    @property
    def is_of_refused(self) -> bool:
        """Whether a refused delivery may be wanted."""
        return self.refused or bool(self.notices)

    def wants(self, notice: str) -> bool:
        """Whether a refused delivery with this key is to be sent again."""
        return self.refused or notice in self.notices

    def check(self, plan: CrawlPlan) -> None:
        """Raises UsageError for a run that the site does not have; StorageError for an unusable state."""
        if not self.since or not STATE_DB.is_in(plan.state):
            return
        with STATE_DB.reading(plan.state) as db:
            last_run = max((run.number for run in RunStore(db).last(1)), default=0)
        if self.since > last_run:
            raise UsageError(f"run {self.since} (--since) does not exist. The last run is run {last_run}")


_NO_REPLAY: Final = ReplayRequest()
_NOT_SENT: Final = SendResult.accepted("not sent: this was a dry run")


class DryRun:
    """What a dry run would send: the URLs, or the lines of messages, of each channel."""

    def __init__(self) -> None:
        self._recorded: dict[str, list[tuple[str, ...]]] = {}  # one for each message
        self._hosts: dict[str, dict[str, SendResult]] = {}

    def record(self, channel: str, lines: Iterable[str]) -> SendResult:
        """Record what would be sent, instead of sending it."""
        self._recorded.setdefault(channel, []).append(tuple(lines))
        return _NOT_SENT

    async def check_host(self, channel: BatchChannel, host: str) -> SendResult:
        """Check a host, and report it as ready whatever the result."""
        hosts = self._hosts.setdefault(channel.key, {})
        if host not in hosts:
            hosts[host] = await catch_all(partial(channel.check_ready, host))
        return _NOT_SENT

    def reports(self, reports: Iterable[DeliveryReport]) -> list[DeliveryReport]:
        """The reports with "would send" for each accepted delivery, which shows what was recorded of it."""
        return [self._would_send(report) if report.reception is SendStatus.ACCEPTED else report for report in reports]

    def _would_send(self, report: DeliveryReport) -> DeliveryReport:
        batches = f" (in {report.batches:,} batches)" if report.batches > 1 else ""
        results = self._hosts.get(report.channel, {}).values()
        unready = [result.message for result in results if result.reception is not SendStatus.ACCEPTED]
        hosts = f"; {'; '.join(result.message for result in results)}" if results else ""
        if unready:
            hosts = f"; for now it would be postponed: {'; '.join(unready)}"
        recorded = self._recorded.get(report.channel, [])
        shown, recorded[: report.batches] = tuple(chain.from_iterable(recorded[: report.batches])), ()
        said = f"a dry run sends nothing{batches}{hosts}"
        return replace(report, reception=SendStatus.WOULD_SEND, said=said, shown=shown)


_IS_LIVE: Final = SendResult.accepted("")


@dataclass(slots=True)
class NotifySession:
    """One site while its channels are notified. ``db`` is its state, locked by this process; ``clock`` gives Unix time.

    ``run_result`` is the result of the run that just ended, None when there was none. ``ask_live`` checks whether the
    files of a run are live; None: they count as live. ``live`` is what it said last. ``is_forgotten``: the state is a
    makeshift for one that cannot be written. ``known`` says why notifications were outstanding at the start.
    """

    plan: CrawlPlan
    name: str
    db: sqlite3.Connection
    ledger: Ledger
    clock: Callable[[], float]
    run_result: RunResult | None = None
    replay: ReplayRequest = _NO_REPLAY
    ask_live: Callable[[Run], Awaitable[SendResult]] | None = None
    notes: list[str] = field(default_factory=list)
    dry_run: DryRun | None = None
    is_forgotten: bool = False
    live: SendResult | None = None
    known: frozenset[str] = frozenset()

    @property
    def runs(self) -> list[int]:
        """The runs whose changes are stored, the first one first."""
        return ChangeFeed(self.db).publishing()

    @property
    def sitemap_url(self) -> Url:
        """The URL of the published sitemap."""
        published = RunStore(self.db).published()
        return Url(published.sitemap_url) if published else self.plan.sitemap_url

    def last_run(self) -> int:
        """The run up to whose end changes are to be sent; 0 for none.

        After a rollback there is nothing to send: the set was published before, and later changes are not live.
        """
        last = max(self.runs, default=0)
        published = RunStore(self.db).published()
        if published is None or published.outcome != ROLLED_BACK or published.number < last:
            return last
        self.note("a rollback published an earlier sitemap, so changes are sent after the next run has published")
        return 0

    def changes(self, after: int, until: int) -> Iterator[Change]:
        """The changes from the end of one run to the end of another, sorted by URL."""
        return ChangeFeed(self.db).between(after, until)

    def record(self, number: int) -> Run | None:
        """The record of a run, None when it is no longer stored."""
        try:
            return RunStore(self.db).get(number)
        except UsageError:
            return None

    def build_notice(self, **fields: Any) -> Notice:
        """Build a notice of the site."""
        return notice_of(self.plan, self.name, sitemap_url=self.sitemap_url, **fields)

    def started_at(self, number: int) -> str:
        """The start of a run as a W3C datetime; the current time when it is no longer stored."""
        run = self.record(number)
        return w3c(run.started if run else self.clock())

    async def check_live(self) -> SendResult:
        """Whether the last published set is live; checked once."""
        if self.live is None:
            published = RunStore(self.db).published()
            self.live = await self.ask_live(published) if self.ask_live and published else _IS_LIVE
        return self.live

    def cursors(self, channel: str, *, all_of_first: bool, all_there_is: bool = False) -> list[DeliveryCursor]:
        """The cursors of a channel. A new one starts with the run that just ended, and gets nothing older.

        ``all_of_first``: it gets the pages of a site's first run too, ``all_there_is`` those of all earlier runs.
        """
        cursors, runs = self.ledger.cursors(channel), self.runs
        if self.replay.since is not None and runs:
            return [self.ledger.start(channel, self.replay.since)]
        _, newest = ChangeFeed(self.db).run_range()
        if cursors and all(cursor.told <= newest and (cursor.until or 0) <= newest for cursor in cursors):
            self._note_forgotten(cursors)
            return cursors
        if cursors:
            self.note("the state of the site is new, so earlier notifications no longer count")
        if not runs:
            return []
        start = 0 if all_there_is else self._start(runs, all_of_first=all_of_first)
        return [self.ledger.start(channel, start)]

    def _start(self, runs: list[int], *, all_of_first: bool) -> int:
        current = self.run_result.run if self.run_result and self.run_result.run in runs else None
        if current is None:
            return runs[-1]
        earlier = [run for run in runs if run < current]
        if earlier:
            return earlier[-1]
        record = self.record(current)
        if record is None or record.added != record.listed:  # not the first run of the site
            return current - 1
        return 0 if all_of_first else current

    def _note_forgotten(self, cursors: list[DeliveryCursor]) -> None:
        first, _ = ChangeFeed(self.db).run_range()
        last_sent = min(cursor.told for cursor in cursors)
        if last_sent < first - 1:
            self.note(
                f"the runs {last_sent + 1} to {first - 1} are no longer stored (state.keep_runs), so their changes "
                f"are not sent"
            )

    def note(self, text: str) -> None:
        """Keep a note for a person, once."""
        if text not in self.notes:
            self.notes.append(text)

    def sent_message(self, result: SendResult, **subject: Any) -> SentMessage:
        """The log entry of a message. ``subject`` are the fields that say what it was about, and to whom."""
        return SentMessage(at=self.clock(), reception=result.reception, said=result.message, **subject)

    def retry_time(self, result: SendResult) -> float:
        """The Unix time until which the receiver wants a pause, 0: none."""
        return self.clock() + result.wait if result.wait else 0.0

    def deferred(self, cursor: DeliveryCursor) -> DeliveryReport | None:
        """The report of a cursor whose pause is not over; None when it is."""
        if cursor.due <= self.clock():
            return None
        until = datetime.fromtimestamp(cursor.due, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        result = SendResult.deferred(f"{cursor.said}; the receiver requested a pause until {until}")
        return self.delivery_report(result, due=cursor.due, **subject_of(cursor, cursor.host))

    def delivery_report(self, result: SendResult, **subject: Any) -> DeliveryReport:
        """The report of a delivery whose last message had this result. ``subject`` as in :meth:`sent_message`."""
        fields = {"batches": int(result.reception is SendStatus.ACCEPTED), "due": self.retry_time(result), **subject}
        return DeliveryReport(reception=result.reception, said=result.message, **fields)


def notice_of(plan: CrawlPlan, name: str, **fields: Any) -> Notice:
    """Build a notice of a site that may have no state."""
    values = {"sitemap_url": plan.sitemap_url, "feed_url": recent_feed_url(plan), **fields}
    return Notice(site=name, url=plan.seed, **values)


def subject_of(cursor: DeliveryCursor, host: str = "") -> dict[str, Any]:
    """What a delivery of changes is about, for its log entries and its report."""
    runs = {"after": cursor.told, "until": cursor.until or 0}
    return {"channel": cursor.channel, "occasion": Occasion.CHANGES, "host": host, **runs}
