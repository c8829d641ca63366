"""The worker of a fleet: takes sites from the queue, keeps their leases, and ends in good order.

::

    dispatch ─▶ queue of Procrastinate ─▶ take the lease | run | snapshot | record, release

Every worker with a free place searches for due sites now and then; no two find the same site. A worker that cannot
reach the database keeps running what it has as long as its leases last, and waits.
"""

import asyncio
import logging
import os
import random
import secrets
import signal
import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

import anyio
from procrastinate import JobContext
from procrastinate.exceptions import ConnectorException

from crawler.config.secrets import mask_password, reveal_secret
from crawler.config.sections import FleetConfig
from crawler.errors import StorageError, UsageError
from crawler.fleet.database import FleetDatabase
from crawler.fleet.deliveries import forget_deliveries
from crawler.fleet.dispatch import CLOCK_SECONDS, IS_ALIVE, RUN_QUEUE, RUN_TASK, dispatch, home_queue
from crawler.fleet.leases import renew_leases, take_lease
from crawler.fleet.origins import OriginBroker, forget_origins
from crawler.fleet.site_run import LeasedRun, SiteWorker, lease_deadline
from crawler.fleet.state_store import DirectoryStore, SnapshotStore, StateStore
from crawler.packages import missing_packages
from crawler.publish.upload.target import parse_s3_address
from crawler.state.lock import boot_time, hold_lock
from crawler.version import __version__
from sitemap import make_directory, replacement

log = logging.getLogger(__name__)
WORKER_LOCK: Final = "worker.lock"
_NAME_FILE: Final = "worker"
_STORE: Final = "fleet.state_store"
_RETRY_SECONDS: Final = 2.0  # until the database is tried again
_UPKEEP_QUEUE: Final = "upkeep"
_FORGET_TIMES: Final = "*/10 * * * *"  # when all origins are read: with a million of them, that takes 0.2 s
_SIGN: Final = """INSERT INTO worker (id, host, process, version, slots, token, clock)
  VALUES (%(id)s, %(host)s, %(process)s, %(version)s, %(slots)s, %(token)s,
    %(time)s - extract(epoch FROM clock_timestamp())::float8)
  ON CONFLICT (id) DO UPDATE SET host = excluded.host, process = excluded.process, version = excluded.version,
    slots = excluded.slots, token = excluded.token, clock = excluded.clock, seen = now(),
    started = CASE WHEN %(is_first)s THEN now() ELSE worker.started END,
    draining = worker.draining AND NOT %(is_first)s
  WHERE worker.token = excluded.token OR %(is_first)s
  RETURNING draining, clock"""
_RENAME: Final = """UPDATE site SET home = CASE home WHEN %(old)s THEN %(new)s ELSE home END,
  worker = CASE WHEN name = ANY(%(names)s) THEN %(new)s ELSE worker END
  WHERE home = %(old)s OR name = ANY(%(names)s)"""
_FORGET_GONE: Final = f"""DELETE FROM worker WHERE (id = ANY(%(names)s) OR host = ANY(%(names)s))
  AND NOT {IS_ALIVE} RETURNING id"""  # noqa: S608 - our own constant
# one that alone has the newest state of a site may only be restarting
_GONE: Final = """DELETE FROM worker AS w WHERE id = %(id)s
  AND NOT EXISTS (SELECT 1 FROM site WHERE home = w.id AND unsaved IS NOT NULL)"""
_FORGET: Final = "DELETE FROM worker WHERE seen < now() - interval '1 day'"
_DRAIN: Final = "UPDATE worker SET draining = true WHERE id = ANY(%(ids)s) OR host = ANY(%(ids)s) RETURNING id"


def worker_name(root: Path) -> str:
    """The name of the worker with this state directory, the same after a restart. Raises OSError."""
    make_directory(root, 0o700)
    with suppress(FileNotFoundError):
        return (root / _NAME_FILE).read_text(encoding="utf-8").strip()
    return new_name(root)


def new_name(root: Path) -> str:
    """Give a new name to the worker with this state directory. Raises OSError."""
    name = f"{socket.gethostname()}-{secrets.token_hex(4)}"
    with replacement(root / _NAME_FILE, 0o600) as file:
        file.write(f"{name}\n".encode())
    return name


def connect_store(settings: FleetConfig, retries: int = 3) -> StateStore:
    """The state store of a fleet; ``retries`` are those of one request. Nothing is sent yet. Raises UsageError."""
    scheme, _, rest = settings.state_store.partition("://")
    if scheme == "file" and rest.startswith("/"):
        return DirectoryStore(Path(rest))
    if scheme != "s3":
        shapes = "file:///mnt/shared/siteatlas or s3://bucket/prefix"
        raise UsageError(f"{_STORE} must be like {shapes}, not {mask_password(settings.state_store)!r}")
    address = parse_s3_address(rest, _STORE)
    try:
        from crawler.fleet.bucket_store import BucketStore  # noqa: PLC0415 - an extra, and slow to load
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("boto3", "botocore"):
            raise
        raise missing_packages(f"{_STORE} = {address.display_name}", "s3") from None
    return BucketStore(address, settings, retries=retries)


def snapshot_store(settings: FleetConfig) -> SnapshotStore | None:
    """The store of snapshots, None without one. Raises UsageError."""
    if not settings.state_store:
        return None
    return SnapshotStore(connect_store(settings), settings.snapshots, is_optional=settings.publish_without_store)


async def drain_workers(fleet: FleetDatabase, names: list[str]) -> list[str]:
    """Let workers, by name or host, take no more sites and end; returns their names."""
    return sorted(row["id"] for row in await fleet.rows(_DRAIN, ids=names))


async def forget_workers(fleet: FleetDatabase, names: list[str]) -> list[str]:
    """Forget workers, by name or host, that no longer respond; returns their names."""
    return sorted(row["id"] for row in await fleet.rows(_FORGET_GONE, names=names))


class FleetWorker:
    """A worker with its state below ``root``, which it holds alone while it runs."""

    def __init__(self, fleet: FleetDatabase, settings: FleetConfig, root: Path, *, is_verbose: bool = False) -> None:
        self.name = worker_name(root)
        self._fleet = fleet
        self._settings = settings
        self._root = root
        self._broker = OriginBroker(fleet, by_address=settings.by_address)
        self._sites = SiteWorker(fleet, self.name, root, snapshot_store(settings), self._broker, settings, is_verbose)
        self._runs: dict[str, LeasedRun] = {}
        self._token = secrets.token_hex(8)  # of this process: a copy of the directory has the same name
        self._ended: set[int | None] = set()  # jobs
        self._has_wrong_clock = False
        self._working: asyncio.Task[None] | None = None
        self._is_stopping = False
        self._is_signalled = False
        self._is_away = False

    async def run(self) -> None:
        """Work until a signal or a drain; then let the runs save their states. Raises StateInUse, StorageError."""
        descriptor = hold_lock(self._root, WORKER_LOCK)
        try:
            await self._sign(is_first=True)
            async with anyio.create_task_group() as tasks:
                for number in (signal.SIGINT, signal.SIGTERM):
                    asyncio.get_running_loop().add_signal_handler(number, self._stop)
                for service in (self._broker.serve, self._keep_leases, self._search):
                    tasks.start_soon(service)
                slots = self._settings.sites_at_once
                log.info("siteatlas %s: worker %s runs %d sites at once", __version__, self.name, slots)
                await self._work()
                tasks.cancel_scope.cancel()
            with suppress(StorageError):
                await self._fleet.rows(_GONE, id=self.name)
            log.info("stopped")
        finally:
            os.close(descriptor)

    async def _sign(self, *, is_first: bool = False) -> bool:
        """Give a sign of life; whether the worker is to drain. If a younger process has its name, it gets a new one.

        The database compares the clocks: runs would publish dates by a clock that is wrong.
        """
        begun = time.time()
        mine = {"id": self.name, "token": self._token, "time": begun, "process": os.getpid()}
        mine |= {"host": socket.gethostname(), "version": __version__, "slots": self._settings.sites_at_once}
        if found := await self._fleet.rows(_SIGN, **mine, is_first=is_first):
            was_wrong, clock = self._has_wrong_clock, found[0]["clock"]
            took = time.time() - begun  # the database may have compared at any moment of it
            self._has_wrong_clock = abs(clock) > CLOCK_SECONDS + took
            if self._has_wrong_clock and not was_wrong:
                text = f"{abs(clock):.0f} s {'ahead of' if clock > 0 else 'behind'} that of the database"
                log.error("the clock of this machine is %s: takes no sites until it is right", text)
                self._take_no_more(stops=True)
            return bool(found[0]["draining"])
        old, self.name = self.name, new_name(self._root)
        self._sites.name = self.name
        await self._fleet.rows(_RENAME, old=old, new=self.name, names=list(self._runs))
        log.warning("another worker has a copy of the state directory of %s; this one is now %s", old, self.name)
        self._take_no_more(stops=False)
        return await self._sign(is_first=True)

    async def _work(self) -> None:
        """Take jobs until the stop; returns when the runs have ended."""
        app = self._fleet.app
        app.task(name=RUN_TASK, queue=RUN_QUEUE, pass_context=True)(self._run_site)
        app.periodic(cron=_FORGET_TIMES)(app.task(name="forget", queue=_UPKEEP_QUEUE)(self._forget))
        while not self._is_stopping:
            if not self._has_wrong_clock:
                self._working = asyncio.create_task(self._take_jobs())
                (ended,) = await asyncio.gather(self._working, return_exceptions=True)
                if isinstance(ended, Exception):
                    self._mark_away(ended)
            if not self._is_stopping:
                await anyio.sleep(_RETRY_SECONDS)

    def _take_no_more(self, *, stops: bool) -> None:
        """Take no more jobs, at least for now, and wait for those that are here. ``stops``: their runs save and end."""
        if self._working and not self._working.cancelling():  # a second one would not wait
            self._working.cancel()
        for run in self._runs.values() if stops else ():
            run.stop.set()

    async def _take_jobs(self) -> None:
        await self._fleet.app.run_worker_async(
            queues=[home_queue(self.name), RUN_QUEUE, _UPKEEP_QUEUE],
            name=self.name,
            concurrency=self._settings.sites_at_once,
            install_signal_handlers=False,
            delete_jobs="always",
            fetch_job_polling_interval=self._settings.dispatch_interval,
            update_heartbeat_interval=self._settings.lease / 4,
            stalled_worker_timeout=self._settings.lease,
        )

    async def _run_site(self, context: JobContext, name: str) -> None:
        """The task of Procrastinate: look at a site, and run it if it is due."""
        seconds, asked_at, job = self._settings.lease, boot_time(), context.job.id
        with ExitStack() as after:
            after.callback(self._ended.add, job)
            if self._is_stopping or name in self._runs:
                return
            if (lease := await take_lease(self._fleet, name, self.name, job, seconds)) is None:
                return
            run = self._runs[name] = LeasedRun(lease, lease_deadline(asked_at, seconds))
            after.callback(self._runs.pop, name)
            timeout = asyncio.get_running_loop().call_later(lease.config.schedule.run_timeout, run.stop.set)
            after.callback(timeout.cancel)
            log.info("%s: starts (epoch %d, %s)", name, lease.epoch, lease.attempt.trigger.value)
            if result := await self._sites.run(run):
                log.info("%s: %s", name, result.message or result.outcome or result.status.value)

    async def _search(self) -> None:
        """Queue the sites that are due, now and then."""
        settings = self._settings
        while not self._is_stopping:
            ended, lease = set(self._ended), settings.lease
            limit = settings.queue_limit if len(self._runs) < settings.sites_at_once else 0
            try:
                if limit or ended:
                    await dispatch(self._fleet, limit, by_address=settings.by_address, lease=lease, ended=ended)
                    self._ended -= ended
                    self._mark_away(None)
            except (StorageError, ConnectorException) as error:
                self._mark_away(error)
            await anyio.sleep(settings.dispatch_interval * random.uniform(0.8, 1.2))  # noqa: S311 - no secret

    async def _forget(self, timestamp: int) -> None:  # noqa: ARG002 - the slot of the schedule
        """The periodic task of Procrastinate, which one worker of the fleet does: forget what is over."""
        await forget_origins(self._fleet)
        await forget_deliveries(self._fleet)
        await self._fleet.rows(_FORGET)

    async def _keep_leases(self) -> None:
        """Renew the leases of all runs, and end those whose lease is over."""
        seconds = self._settings.lease
        while True:
            asked_at, runs = boot_time(), dict(self._runs)
            held: set[str] | None = None
            try:
                held = await renew_leases(self._fleet, {name: run.lease.epoch for name, run in runs.items()}, seconds)
                if await self._sign() and not self._is_stopping:
                    self._drain()
            except StorageError as error:
                self._mark_away(error)
            for name, run in runs.items():
                if held is not None and name in held:
                    run.renew(lease_deadline(asked_at, seconds))
                elif held is not None or boot_time() >= run.deadline:
                    run.lose()
            await anyio.sleep(seconds / 4)

    def _mark_away(self, error: Exception | None) -> None:
        """Log once that the database is away, and once that it is back."""
        if (error is not None) != self._is_away:
            self._is_away = error is not None
            log.log(logging.WARNING if error else logging.INFO, "%s", error or "the database of the fleet is back")

    def _drain(self) -> None:
        self._is_stopping = True
        log.info("draining: takes no more sites, and ends when %d runs have ended", len(self._runs))
        self._take_no_more(stops=False)

    def _stop(self) -> None:
        """Let the runs save their states, and end; at the second signal, end at once."""
        if self._is_signalled:
            log.warning("stopped at once; other workers continue the runs")
            os._exit(1)
        self._is_signalled = self._is_stopping = True
        log.info("stopping: %d runs save their states; send the signal again to stop at once", len(self._runs))
        self._take_no_more(stops=True)


def database_url(settings: FleetConfig) -> str:
    """The connection string of the database. Raises UsageError for a missing setting."""
    if not settings.database:
        raise UsageError(
            "no database of a fleet is given. Add --database URL, or set database in [fleet] (env:NAME and "
            "file:PATH keep a password out of the configuration)"
        )
    return reveal_secret(settings.database)
