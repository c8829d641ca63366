"""The daemon of ``siteatlas schedule``: runs the scheduler, serves the web page, handles signals and reloads."""

import hashlib
import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import TaskGroup, TaskStatus
from msgspec.structs import replace

from crawler.config.plan import plan_crawl
from crawler.errors import NEXT_RUN, SiteatlasError
from crawler.notify.notice import Occasion
from crawler.schedule.history import DaemonNote, History
from crawler.schedule.process import ProcessRunner
from crawler.schedule.scheduler import Scheduler
from crawler.schedule.site import LoadedConfig, ScheduledSite, config_changes
from crawler.schedule.site_state import Attempt
from crawler.schedule.status import ScheduleStatus, attempt_text, local_time, needs_attention, time_ahead, trigger_text
from crawler.schedule.web.app import build_app
from crawler.schedule.web.server import address_text, serve_on
from crawler.units import count_text
from crawler.version import __version__


class ConfigWatcher:
    """Detects a changed configuration file by its content.

    Modification times and inode numbers are not reliable: Kubernetes swaps links, editors rename a new file over the
    old one, and others write in place, so that half a file is there for a moment. A new content counts when two checks
    in a row see the same.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._loaded_digest = self._last_digest = self._digest()

    def mark_read(self) -> None:
        """Take the current content as unchanged. To be called before the file is read."""
        self._loaded_digest = self._last_digest = self._digest()

    def has_changed(self) -> bool:
        """Whether the content differs from the one that was read, and did so at the last check too.

        A file that stays unreadable counts as changed: it is gone.
        """
        previous, self._last_digest = self._last_digest, self._digest()
        return self._last_digest == previous and self._last_digest != self._loaded_digest

    def _digest(self) -> bytes:
        try:
            return hashlib.blake2b(self._path.read_bytes()).digest()
        except OSError:
            return b""


_NOTIFY_TIMEOUT: Final = 1.0  # seconds


class SystemdNotifier:
    """Notifies systemd of the daemon's status, if ``environment`` names its socket. Never raises."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        name = environment.get("NOTIFY_SOCKET", "")
        # an @ stands for the zero byte of a name that is in no file system
        self._address = f"\0{name[1:]}" if name.startswith("@") else name
        self._watchdog_interval = _watchdog_seconds(environment)

    def ready(self, status: str) -> None:
        """The daemon is set up, or has reloaded the configuration."""
        self._send("READY=1", f"STATUS={status}")

    def reloading(self) -> None:
        """The daemon starts to reload the configuration; :meth:`ready` follows."""
        self._send("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self) -> None:
        """The daemon stops, after the runs have saved their state."""
        self._send("STOPPING=1")

    async def send_watchdog(self) -> None:
        """Send a keep-alive twice per watchdog interval, while the event loop turns."""
        while self._watchdog_interval:
            self._send("WATCHDOG=1")
            await anyio.sleep(self._watchdog_interval / 2)

    def _send(self, *lines: str) -> None:
        if not self._address:
            return
        kind = socket.SOCK_DGRAM | socket.SOCK_CLOEXEC
        with suppress(OSError), socket.socket(socket.AF_UNIX, kind) as out:
            out.settimeout(_NOTIFY_TIMEOUT)  # do not hold up the daemon for a full queue
            out.sendto("\n".join(lines).encode(), self._address)


def _watchdog_seconds(environment: Mapping[str, str]) -> float:
    """The watchdog interval in seconds; 0 when there is none, or it is for another process."""
    if environment.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return 0.0
    try:
        return int(environment.get("WATCHDOG_USEC", "0")) / 1_000_000
    except ValueError:
        return 0.0


log = logging.getLogger(__name__)


class DaemonProcess:
    """The running daemon: scheduler, web page, signals, reloads."""

    def __init__(  # noqa: PLR0913 - what was opened before the event loop began
        self,
        file: Path,
        loaded: LoadedConfig,
        read: Callable[[], LoadedConfig],
        watched: ConfigWatcher,
        history: History,
        listener: socket.socket | None,
        *,
        is_verbose: bool,
    ) -> None:
        self._file = file
        self._loaded = loaded
        self._read = read
        self._watched = watched
        self._history = history
        self._listener = listener
        self._is_verbose = is_verbose
        warn = partial(log.warning, "%s: %s")  # the log of a run holds warnings only
        command, NEXT_RUN.command = NEXT_RUN.of(file, "--site"), NEXT_RUN.of(file)
        runner = ProcessRunner(warn, self._last, self._is_late, is_verbose=is_verbose, command=command)
        self._scheduler = Scheduler(loaded.sites, history, runner, loaded.settings)
        self._manager = SystemdNotifier()
        self._read_at = time.time()
        self._error = ""

    def _store_note(self) -> None:
        names = tuple(site.name for site in self._loaded.sites)
        self._history.store_note(DaemonNote(self._error, names))

    async def run(self) -> None:
        """Run from the first slot to the end of the last run."""
        self._store_note()
        self._stop, self._closed, self._reading = anyio.Event(), anyio.Event(), anyio.Lock()
        self._telling, self._is_trouble_told = anyio.Lock(), False
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            await tasks.start(self._handle_signals, tasks)
            tasks.start_soon(self._manager.send_watchdog)
            tasks.start_soon(self._watch)
            async with anyio.create_task_group() as services:
                services.start_soon(self._serve)
                self._log_start()
                await self._scheduler.run(self._stop, self._on_attempt)
                self._closed.set()
            log.info("stopped")
            tasks.cancel_scope.cancel()

    def status(self) -> ScheduleStatus:
        """The status of all sites and of the daemon."""
        status = self._scheduler.status()
        return replace(status, config=str(self._file), config_read=self._read_at, config_error=self._error)

    def _log_start(self) -> None:
        address = f"; {address_text(self._listener)}" if self._listener else ""
        log.info("siteatlas %s schedules %s%s", __version__, self._sites(), address)
        self._manager.ready(self._sites())
        self._log_next_runs()

    def _log_next_runs(self, name: str = "") -> None:
        """With --verbose, log when the next run of a site, or of each site, starts."""
        for site in self._scheduler.status().sites if self._is_verbose else ():
            if site.next_at is not None and name in ("", site.name):
                log.info("%s: %s; next run %s", site.name, site.schedule, time_ahead(site.next_at))

    def _on_attempt(self, attempt: Attempt, next_at: float | None) -> None:
        """Log which run starts, why, and how it ended."""
        if attempt.status is None:
            log.info("%s: starts, %s", attempt.site, trigger_text(attempt))
            return
        level = logging.WARNING if needs_attention(attempt) else logging.INFO
        log.log(level, "%s: %s", attempt.site, attempt_text(attempt, next_at))
        self._log_next_runs(attempt.site)

    def _sites(self) -> str:
        sites = self._loaded.sites
        unscheduled = sum(site.schedule is None for site in sites)
        text = count_text(len(sites) - unscheduled, "site")
        return f"{text} ({unscheduled:,} more without a schedule)" if unscheduled else text

    async def _handle_signals(self, tasks: TaskGroup, *, task_status: TaskStatus[None]) -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
            task_status.started()
            async for number in signals:
                if number == signal.SIGHUP:
                    tasks.start_soon(self._reload)
                elif self._stop.is_set():
                    log.warning("stopped immediately; the next start continues the runs")
                    tasks.cancel_scope.cancel()
                else:
                    self._end()

    def _end(self) -> None:
        self._stop.set()
        self._manager.stopping()
        running = sum(site.running_since is not None for site in self._scheduler.status().sites)
        if running:
            timeout = self._loaded.settings.shutdown_timeout
            log.info(
                "stopping: %s may save state for %g s; send the signal again to stop immediately",
                count_text(running, "run"),
                timeout,
            )

    async def _watch(self) -> None:
        while True:
            await anyio.sleep(self._loaded.settings.reload_interval)
            self._history.check()
            if await anyio.to_thread.run_sync(self._watched.has_changed):
                await self._reload()

    async def _reload(self) -> None:
        """Load the configuration again; on an error, log it and keep the one before."""
        async with self._reading:
            self._manager.reloading()
            try:
                await anyio.to_thread.run_sync(self._watched.mark_read)
                self._apply_config(await anyio.to_thread.run_sync(self._read))
            except SiteatlasError as error:
                since = local_time(self._read_at)
                text = f"the configuration has an error, so the configuration of {since} stays in use: {error}"
                log.error("%s", text)  # noqa: TRY400 - the message says it all
                if not self._error:
                    self._tasks.start_soon(self._tell, Occasion.TROUBLE, text, self._loaded.sites)
                self._error = str(error)
                self._store_note()
            self._manager.ready(self._sites())

    def _apply_config(self, loaded: LoadedConfig) -> None:
        """Switch to another configuration. Raises StorageError, and keeps the one before."""
        self._scheduler.replace(loaded.sites, loaded.settings)
        previous, self._loaded = self._loaded, loaded
        changes = "; ".join(config_changes(previous, loaded)) or "nothing changed"
        log.info("the configuration was reloaded: %s", changes)
        if self._error:
            text = f"the configuration was reloaded: {changes}"
            self._tasks.start_soon(self._tell, Occasion.RECOVERY, text, previous.sites)
        self._error, self._read_at = "", time.time()
        self._store_note()
        self._log_next_runs()

    async def _tell(self, occasion: Occasion, message: str, sites: Sequence[ScheduledSite]) -> None:
        """Send the channels of these sites what became of a changed configuration, each of them once and in order."""
        from crawler.notify.notify import send_of_configuration  # noqa: PLC0415 - most daemons never need it

        told = set[tuple[str, str]]()
        async with self._telling:
            is_trouble = occasion is Occasion.TROUBLE
            if is_trouble != bool(self._error) or is_trouble == self._is_trouble_told:
                return  # it is over, or never was told
            self._is_trouble_told = is_trouble
            is_one = len(sites) == 1
            name = sites[0].name if is_one else self._file.name  # the fault may be in what all share
            for site in sites:
                try:
                    plan = plan_crawl(site.config)
                    for fault in await send_of_configuration(plan, name, occasion, message, told, is_one=is_one):
                        log.warning("could not notify %s", fault)
                except (SiteatlasError, OSError) as error:  # a site whose own secret is missing
                    log.warning("%s: could not notify: %s", site.name, error)
                except Exception:  # it must not stop the runs
                    log.exception("%s: could not notify", site.name)

    async def _serve(self) -> None:
        if self._listener is None:
            return
        settings = self._loaded.settings
        app = build_app(self.status, lambda: self._loaded.settings, lambda: self._scheduler.trouble)
        try:
            await serve_on(self._listener, app, settings, self._closed)
        except Exception:  # a broken web page must not stop the runs
            log.exception("the web page is off until the next start")

    def _last(self, name: str) -> Attempt | None:
        return self._scheduler.last_attempt(name)

    def _is_late(self) -> bool:
        return self._scheduler.is_overdue()
