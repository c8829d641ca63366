"""One leased run of a site: its state is brought here, a process runs the site, and its new state goes to the store.

Whatever happens, the run is recorded under the epoch of its lease, or not at all.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
from msgspec.structs import replace

from crawler.config.config import Config
from crawler.config.plan import CrawlPlan, plan_crawl
from crawler.config.sections import FleetConfig
from crawler.errors import DamagedFile, SiteatlasError, StateInUse, StorageError
from crawler.fleet.database import FleetDatabase, FleetUnavailable
from crawler.fleet.deliveries import RunDeliveries
from crawler.fleet.leases import SiteLease, end_lease, store_output, store_snapshot
from crawler.fleet.origins import OriginBroker, RunOrigins
from crawler.fleet.recovery import check_store
from crawler.fleet.snapshot import LocalMark, StoreFault, is_damaged, local_mark, mark_damaged, mark_local
from crawler.fleet.state_store import SnapshotLost, SnapshotStore
from crawler.fleet.trust import permitted_config
from crawler.publish.write import existing_sitemap
from crawler.schedule.process import ProcessRunner
from crawler.schedule.site import scheduled_site
from crawler.state.lock import LeaseLost, boot_time, lease_line
from crawler.state.runs import RunResult, RunStatus
from crawler.state.schema import STATE_DB

log = logging.getLogger(__name__)
MARGIN: Final = 2.0
"""Seconds before the end of a lease at which its run publishes and sends nothing more; at most a tenth of the lease."""
_RETRY_SECONDS: Final = 1.0


def lease_deadline(asked_at: float, seconds: float) -> float:
    """Until when a run may act that got a lease of so many ``seconds``, asked for at ``asked_at`` (boot time)."""
    return asked_at + seconds - min(MARGIN, seconds / 10)


class LeasedRun:
    """A run while it is under way; a ``RunLink`` of its process. ``stop`` asks it to save its state and end."""

    def __init__(self, lease: SiteLease, deadline: float) -> None:
        self.lease = lease
        self.deadline = deadline
        self.stop = anyio.Event()
        self.is_lost = False
        self.has_begun = False
        self.asked = lease.asked  # that the state does not have yet
        self.options: Mapping[str, Any] = {}
        self.wanted: Sequence[str] = lease.wanted
        self.store_fault = ""  # why the run does without the state store
        self.left_out: str | None = None  # what the worker does not allow
        self.unsaved = ""  # why the newest state is on this machine only
        self.origins: RunOrigins
        self.deliveries: RunDeliveries
        self._lines = asyncio.Queue[bytes]()
        self.tell = self._lines.put_nowait  # sends a line to the process; one that has just ended needs none

    def renew(self, deadline: float) -> None:
        """Take a new deadline of the lease."""
        self.deadline = deadline
        self.tell(lease_line(deadline))

    def lose(self) -> None:
        """The lease is over: end the run."""
        self.is_lost = True
        self.stop.set()

    def hear(self, line: bytes) -> None:
        """Take a line of the run's standard output."""
        self.origins.hear(line)
        self.deliveries.hear(line)

    async def talk(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        """Send the process of the run its deadlines and origins, and the answers about its notices."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.deliveries.talk, send)
            while True:
                await send(await self._lines.get())


@dataclass
class SiteWorker:
    """Runs leased sites on this machine, with their states below ``root``. ``name`` is that of the worker.

    Without ``snapshots``, states stay on this machine. ``settings`` say what sites may do on it.
    """

    fleet: FleetDatabase
    name: str
    root: Path
    snapshots: SnapshotStore | None
    broker: OriginBroker
    settings: FleetConfig
    is_verbose: bool = False

    async def run(self, run: LeasedRun) -> RunResult | None:
        """Run a site to its end, and record that; None when the lease got lost, so that nothing is recorded."""
        lease = run.lease
        try:
            state = lease.config.state.model_copy(update={"directory": str(self.root)})
            config = lease.config.model_copy(update={"state": state})
            result = await self._run(run, config)
            if not run.is_lost:
                await self._save(run, config, run.asked)
                return await self._end(run, result)
        except LeaseLost as error:
            log.warning("%s", error)
        except Exception as error:  # the other runs and the worker continue
            log.exception("the run of %s failed", lease.site)
            message = f"internal error: {type(error).__name__}: {error}"
            return await self._end(run, RunResult(exit_code=1, status=RunStatus.FAILED, message=message))
        log.warning("%s: the lease is over, so the run does not count; another worker takes the site", lease.site)
        return None

    async def _run(self, run: LeasedRun, config: Config) -> RunResult:
        """The result of the run; a fault of the configuration or of the state is a result too."""
        lease = run.lease
        try:
            config, run.left_out = permitted_config(config, self.settings)
            plan = await self._bring_state(run, config)
            run.options = {"replace": await self._owns_output(run, plan), **run.asked}
            if not (lease.snapshots or self._is_next(lease) or "fresh" in run.asked):
                run.options["restart"] = True  # another worker may have published since the crawl that is here
            site = scheduled_site(lease.site, plan)
            if lease.snapshots and self.snapshots:
                mark_local(plan.state, LocalMark(lease.snapshots[0], has_begun=True))
        except StateInUse as error:
            return RunResult(exit_code=error.exit_code, status=RunStatus.BUSY, message=str(error))
        except SiteatlasError as error:
            fate = RunStatus.FAILED if isinstance(error, StorageError) else RunStatus.BROKEN
            return RunResult(exit_code=error.exit_code, status=fate, message=str(error), notify_pending=True)
        run.has_begun = True
        command = "siteatlas fleet run-now"
        warn = partial(log.warning, "%s: %s")  # the log of a run holds warnings only
        runner = ProcessRunner(warn, lambda _: lease.last, is_verbose=self.is_verbose, command=command)
        store = partial(self._save_before_notices, run, config)
        run.deliveries = RunDeliveries(self.fleet, lease.site, lease.epoch, store)
        async with self.broker.run(lease.site, lease.epoch, run.tell) as run.origins:
            result = await runner.run(site, lease.attempt, run.stop, run)
        await self._insist(run, run.deliveries.finish)
        if not lease.is_notify_only and result.status is not RunStatus.BUSY:  # else it has not begun
            run.asked = {} if result.status is RunStatus.DONE else _later(run.asked)
        return result

    async def _bring_state(self, run: LeasedRun, config: Config) -> CrawlPlan:
        """The plan of the site, with its newest state on this machine. Raises SiteatlasError."""
        lease, plan, snapshots = run.lease, plan_crawl(config), self.snapshots
        if snapshots is None:
            return plan
        try:
            await self._insist(run, lambda: check_store(self.fleet, snapshots, lease))
        except StoreFault as error:
            if not (snapshots.is_optional or lease.is_notify_only):
                raise
            run.store_fault = str(error)
        mark = local_mark(plan.state)
        # a run that lost its lease may have left the first part of a crawl, before another worker published
        is_newest = mark.key in lease.snapshots[:1] and (self._is_next(lease) or not mark.has_begun)
        is_newest |= lease.is_unsaved and STATE_DB.is_in(plan.state)
        if not lease.snapshots or (is_newest and not is_damaged(plan.state)):
            return plan
        if run.store_fault:
            raise StorageError(run.store_fault)
        try:
            return await snapshots.restore(lease.site, config, lease.snapshots)
        except SnapshotLost as error:
            if not lease.asked.get("fresh"):
                raise
            log.warning("%s: begins anew: %s", lease.site, error)
            mark_damaged(plan.state)
            return plan

    def _is_next(self, lease: SiteLease) -> bool:
        """Whether no other worker has run the site since this one did."""
        return lease.last_worker in ("", self.name)

    async def _owns_output(self, run: LeasedRun, plan: CrawlPlan) -> bool:
        """Whether files in the output directory are the site's own, though its state may not know them.

        A worker may die after it published for the first time, and before it stored a snapshot. So the database knows,
        before that run, that the directory had no sitemap of somebody else. Raises LeaseLost.
        """
        lease, place = run.lease, str(plan.output.resolve())
        if lease.output == place:
            return True
        if existing_sitemap(plan):
            return False
        await self._insist(run, lambda: store_output(self.fleet, lease, place))
        return True

    async def _save_before_notices(self, run: LeasedRun, config: Config) -> bool:
        """Take a snapshot of what was published, while the process of the run waits; whether it may tell of that."""
        try:
            is_saved = await self._save(run, config, run.asked if run.lease.is_notify_only else {})
        except LeaseLost as error:
            log.warning("%s", error)
            run.lose()
            return False
        return is_saved or self.snapshots is None or self.snapshots.is_optional

    async def _save(self, run: LeasedRun, config: Config, asked: dict[str, Any]) -> bool:
        """Take and record a snapshot of the state, with what is ``asked`` that it does not have; whether that was done.

        A failure leaves the snapshot before it. A run that did not begin may have left an older state here. Raises
        LeaseLost.
        """
        lease = run.lease
        plan = plan_crawl(config)  # the first run of a site may have followed its start URL
        if self.snapshots is None or not run.has_begun or not STATE_DB.is_in(plan.state):
            return False
        run.unsaved = ""
        try:
            if run.store_fault:
                raise StorageError(run.store_fault)  # noqa: TRY301 - known since the state was brought
            snapshot = await self.snapshots.save(lease.site, plan, lease.generation + 1, lease.epoch)
        except StorageError as error:
            if not isinstance(error, DamagedFile):  # else the snapshot before it is the newest state
                run.unsaved = f"no snapshot of its state could be stored: {error}"
            log.warning("%s: %s", lease.site, run.unsaved or error)
            return False
        run.asked = asked
        keys = [snapshot.key, *lease.snapshots][: self.snapshots.keep]
        await self._insist(run, lambda: store_snapshot(self.fleet, lease, self.name, snapshot.generation, keys, asked))
        run.lease = replace(lease, generation=snapshot.generation, snapshots=keys)
        mark_local(plan.state, LocalMark(snapshot.key))
        await self.snapshots.prune(snapshot)
        return True

    async def _end(self, run: LeasedRun, result: RunResult) -> RunResult | None:
        """Record the result. A run whose state no other machine could continue is no success."""
        if run.is_lost:
            return None
        if run.unsaved:
            result = replace(result, message=f"{result.message}; {run.unsaved}")
            may_publish = run.lease.is_notify_only or (self.snapshots and self.snapshots.is_optional)
            if result.status is RunStatus.DONE and not may_publish:
                result = replace(result, status=RunStatus.FAILED, exit_code=StorageError.exit_code)
                run.asked = _later(run.lease.asked)
        home = self.name if run.unsaved else None if run.has_begun else ""
        await self._insist(run, lambda: end_lease(self.fleet, run.lease, result, run.asked, home, run.left_out))
        return result

    async def _insist(self, run: LeasedRun, record: Callable[[], Awaitable[object]]) -> None:
        """Record something, as often as the lease allows while the database is away. Raises LeaseLost."""
        while True:
            try:
                await record()
            except FleetUnavailable as error:
                if boot_time() >= run.deadline:
                    raise LeaseLost(f"the end of the run of {run.lease.site} could not be recorded: {error}") from error
                await anyio.sleep(_RETRY_SECONDS)
            else:
                return


def _later(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What a run that did not end well leaves to the next one: what is not done when a run begins."""
    return {key: value for key, value in asked.items() if key not in ("fresh", "restart")}
