"""What all channels of one site are told from: the runs, their changes, and whether those are live."""

import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct

from crawler.config.plan import CrawlPlan
from crawler.errors import UsageError
from crawler.model import Url
from crawler.notify.ledger import DeliveryCursor, Ledger, SentMessage
from crawler.notify.ledger_status import DeliveryReport
from crawler.notify.notice import Occasion, SendResult, SendStatus
from crawler.publish.change_feed import ChangeFeed
from crawler.publish.changes import Change
from crawler.state.migrations import STATE_DB
from crawler.state.runs import ROLLED_BACK, Run, RunResult, RunsPage
from crawler.units import w3c


class ReplayRequest(Struct, frozen=True, kw_only=True):
    """``since``: everything after the end of this run, 0: of the first; ``refused``: what was refused and set aside.

    ``look``: read what Google says of the sitemap, however lately that was done. ``only`` is how the keys of those
    begin that are told anything at all, "" for everyone.
    """

    since: int | None = None
    refused: bool = False
    refresh_status: bool = False
    only: str = ""

    def check(self, plan: CrawlPlan) -> None:
        """Raises UsageError for a run that a site does not have yet; StorageError for a state that cannot be used."""
        if not self.since or not STATE_DB.is_in(plan.state):
            return
        with STATE_DB.reading(plan.state) as db:
            last = max((run.number for run in RunsPage(db).last(1)), default=0)
        if self.since > last:
            raise UsageError(f"--since {self.since}: there is no such run, the last one is run {last}")


_NO_REPLAY: Final = ReplayRequest()

_IS_LIVE: Final = SendResult(reception=SendStatus.ACCEPTED, message="")


@dataclass(slots=True)
class NotifySession:
    """One site while others are told of it. ``db`` is its state, held by this process; ``clock`` gives Unix time.

    ``ended`` is how the run ended after which others are told, None when there was none. ``ask_live`` asks whether the
    files of a run are live; None: they are taken for it.
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
    _live: SendResult | None = None

    @property
    def runs(self) -> list[int]:
        """The runs whose changes are known, the first one first."""
        return ChangeFeed(self.db).publishing()

    @property
    def sitemap_url(self) -> Url:
        """Where the sitemap is that is published."""
        there = RunsPage(self.db).published()
        return Url(there.sitemap_url) if there else self.plan.sitemap_url

    def last_run(self) -> int:
        """The run up to whose end there is something to tell; 0 when there is none.

        What was published before, and is again, is no news, and what changed after it is not out there.
        """
        last = max(self.runs, default=0)
        out_there = RunsPage(self.db).published()
        if out_there is None or out_there.outcome != ROLLED_BACK or out_there.number < last:
            return last
        self.note("an earlier set is published again: what changed is told when the next run has published")
        return 0

    def changes(self, after: int, until: int) -> Iterator[Change]:
        """What changed from the end of one run to the end of another, sorted by URL."""
        return ChangeFeed(self.db).between(after, until)

    def record(self, number: int) -> Run | None:
        """The record of a run, if it is not forgotten."""
        try:
            return RunsPage(self.db).get(number)
        except UsageError:
            return None

    def started_at(self, number: int) -> str:
        """When a run began, as a W3C datetime; now, when that is forgotten."""
        run = self.record(number)
        return w3c(run.started if run else self.clock())

    async def check_live(self) -> SendResult:
        """Whether what was published last is live; asked once."""
        if self._live is None:
            published = RunsPage(self.db).published()
            self._live = await self.ask_live(published) if self.ask_live and published else _IS_LIVE
        return self._live

    def cursors(
        self, channel: str, *, all_of_first: bool, all_there_is: bool = False
    ) -> list[DeliveryCursor]:
        """The lines of a channel. One that is new begins with the run that just ended, and is told nothing older.

        ``all_of_first``: it is told the pages of a site's first run too, ``all_there_is`` those of all runs before it.
        """
        lines, runs = self.ledger.cursors(channel), self.runs
        if self.replay.since is not None and runs:
            return [self.ledger.start(channel, self.replay.since)]
        _, newest = ChangeFeed(self.db).run_range()
        if lines and all(line.told <= newest and (line.until or 0) <= newest for line in lines):
            self._note_forgotten(lines)
            return lines
        if lines:
            self.note("the state of the site was begun anew, and so is what others are told of it")
        if not runs:
            return []
        told = 0 if all_there_is else self._start(runs, all_of_first=all_of_first)
        return [self.ledger.start(channel, told)]

    def _start(self, runs: list[int], *, all_of_first: bool) -> int:
        now = self.run_result.run if self.run_result and self.run_result.run in runs else None
        if now is None:
            return runs[-1]
        earlier = [run for run in runs if run < now]
        if earlier:
            return earlier[-1]
        record = self.record(now)
        is_first = record is not None and record.added == record.listed
        if not is_first:
            return now - 1
        return 0 if all_of_first else now

    def _note_forgotten(self, lines: list[DeliveryCursor]) -> None:
        first, _ = ChangeFeed(self.db).run_range()
        told = min(line.told for line in lines)
        if told < first - 1:
            self.note(
                f"the runs {told + 1} to {first - 1} are forgotten (state.keep_runs): what changed in them is not told"
            )

    def note(self, said: str) -> None:
        """Keep a sentence for a person, once."""
        if said not in self.notes:
            self.notes.append(said)

    def sent_message(
        self, line: DeliveryCursor, answer: SendResult, urls: int, host: str = ""
    ) -> SentMessage:
        """A row of the log for a message of a delivery."""
        return SentMessage(
            at=self.clock(),
            channel=line.channel,
            occasion=Occasion.CHANGES,
            host=host,
            after=line.told,
            until=line.until or 0,
            urls=urls,
            reception=answer.reception,
            said=answer.message,
        )

    def retry_time(self, answer: SendResult) -> float:
        """The Unix time until when the other side asks to wait, 0: it does not."""
        return self.clock() + answer.wait if answer.wait else 0.0

    def deferred(self, line: DeliveryCursor) -> DeliveryReport | None:
        """What there is to say of a line whose time has not come; None when it has."""
        if line.due <= self.clock():
            return None
        until = datetime.fromtimestamp(line.due, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return self.delivery_report(
            line, SendStatus.DEFERRED, said=f"{line.said}; asked to wait until {until}", due=line.due
        )

    def delivery_report(self, line: DeliveryCursor, reception: SendStatus, **fields: Any) -> DeliveryReport:
        """What became of a delivery."""
        told = {"until": line.until or 0, "host": line.host, **fields}
        return DeliveryReport(
            channel=line.channel, occasion=Occasion.CHANGES, reception=reception, after=line.told, **told
        )
