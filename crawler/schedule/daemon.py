"""The daemon behind ``siteatlas schedule``: the schedule, its history, what it answers, and who sends it signals."""

import hashlib
import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import TaskGroup, TaskStatus
from msgspec.structs import replace

from crawler.errors import SiteatlasError
from crawler.schedule.history import History
from crawler.schedule.process import ProcessRunner
from crawler.schedule.scheduler import Scheduler
from crawler.schedule.site import LoadedConfig, config_changes
from crawler.schedule.site_state import Attempt
from crawler.schedule.status import ScheduleStatus
from crawler.schedule.web.app import build_app
from crawler.schedule.web.server import UNIX_PREFIX, serve_on
from crawler.schedule.words import (
    attempt_text,
    local_time,
    needs_attention,
    some_names,
    time_ahead,
    trigger_text,
)
from crawler.units import count_text
from crawler.version import __version__


class ConfigWatcher:
    """A file that is looked at now and then, at its content: that is small.

    Its times and numbers tell less. Configuration maps of Kubernetes are links that come to mean another file, editors
    rename a new file over the old one, and others write in place, so that half of it is there for a moment: a new
    content counts when two looks in a row have seen the same.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._taken = self._seen = self._content()

    def mark_read(self) -> None:
        """What is in the file now is no change any more. To be called before it is read."""
        self._taken = self._seen = self._content()

    def has_changed(self) -> bool:
        """Whether it has another content than the one that was taken, and had that the last time too.

        A file that cannot be read for so long is gone, which is a change too.
        """
        before, self._seen = self._seen, self._content()
        return self._seen == before and self._seen != self._taken

    def _content(self) -> bytes:
        try:
            return hashlib.blake2b(self._path.read_bytes()).digest()
        except OSError:
            return b""


_TIMEOUT: Final = 1.0  # seconds


class SystemdNotifier:
    """Whoever has started the daemon, as its ``environment`` tells. Never raises: nobody may be there any more."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        name = environment.get("NOTIFY_SOCKET", "")
        # an @ stands for the zero byte of a name that is in no file system
        self._address = f"\0{name[1:]}" if name.startswith("@") else name
        self._watched = _watchdog_seconds(environment)
        self._status = ""

    def ready(self, status: str) -> None:
        """All is set up, or is again what the configuration says."""
        self._status = status
        self._tell("READY=1", f"STATUS={status}")

    def reloading(self) -> None:
        """The configuration is about to be read again; :meth:`ready` says that it was."""
        self._tell("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def status(self, text: str) -> None:
        """What is going on, in one line; told when it is news."""
        if text != self._status:
            self._status = text
            self._tell(f"STATUS={text}")

    def stopping(self) -> None:
        """It ends, after the runs have saved what they know."""
        self._tell("STOPPING=1")

    async def send_watchdog(self) -> None:
        """Say that the event loop turns, twice in each of the times after which the manager would take it for dead."""
        while self._watched:
            self._tell("WATCHDOG=1")
            await anyio.sleep(self._watched / 2)

    def _tell(self, *lines: str) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out:
                out.settimeout(_TIMEOUT)  # its queue is short, and what is not heard now is never heard
                out.sendto("\n".join(lines).encode(), self._address)
        except OSError:
            return


def _watchdog_seconds(environment: Mapping[str, str]) -> float:
    """Seconds after which a daemon that says nothing is ended; 0 when nobody looks, or at another process."""
    if environment.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return 0.0
    try:
        return int(environment.get("WATCHDOG_USEC", "0")) / 1_000_000
    except ValueError:
        return 0.0


log = logging.getLogger(__name__)


class _DaemonProcess:
    """Its parts, and what it knows of itself."""

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
        runner = ProcessRunner(_log_line, self._last, self._is_late, is_verbose=is_verbose)
        self._scheduler = Scheduler(loaded.sites, history, runner, loaded.settings)
        self._manager = SystemdNotifier()
        self._read_at = time.time()
        self._error = ""

    async def run(self) -> None:
        """From the first look at the schedule to the end of the last run."""
        self._stop, self._closed, self._reading = anyio.Event(), anyio.Event(), anyio.Lock()
        async with anyio.create_task_group() as tasks:
            await tasks.start(self._handle_signals, tasks)
            tasks.start_soon(self._manager.send_watchdog)
            tasks.start_soon(self._watch)
            async with anyio.create_task_group() as faces:
                faces.start_soon(self._serve)
                self._log_start()
                await self._scheduler.run(self._stop, self._on_attempt)
                self._closed.set()
            log.info("stopped")
            tasks.cancel_scope.cancel()

    def status(self) -> ScheduleStatus:
        """How all stands now."""
        board = self._scheduler.status()
        return replace(board, config=str(self._file), config_read=self._read_at, config_error=self._error)

    def _log_start(self) -> None:
        where = f"; {_address(self._listener)}" if self._listener else ""
        log.info("siteatlas %s schedules %s%s", __version__, self._sites(), where)
        self._manager.ready(self._sites())
        self._log_next_runs()

    def _log_next_runs(self, name: str = "") -> None:
        """When the runs of a site, or of all, begin next: for those who want to know more."""
        for site in self._scheduler.status().sites if self._is_verbose else ():
            if site.next_at is not None and name in ("", site.name):
                log.info("%s: %s; next run %s", site.name, site.schedule, time_ahead(site.next_at))

    def _on_attempt(self, attempt: Attempt, next_at: float | None) -> None:
        """Say which run begins, why, and how it ended."""
        if attempt.fate is None:
            log.info("%s: starts, %s", attempt.site, trigger_text(attempt))
            return
        level = logging.WARNING if needs_attention(attempt) else logging.INFO
        log.log(level, "%s: %s", attempt.site, attempt_text(attempt, next_at))
        self._log_next_runs(attempt.site)

    def _summary(self) -> str:
        """How all stands, in a line for the service manager."""
        sites = self._scheduler.status().sites
        running = [site.name for site in sites if site.running_since is not None]
        failing = [site.name for site in sites if site.failures]
        told = [
            f"{what} {some_names(names)}"
            for what, names in (("running", running), ("failing", failing))
            if names
        ]
        return "; ".join([self._sites(), *told])

    def _sites(self) -> str:
        sites = self._loaded.sites
        without = sum(site.schedule is None for site in sites)
        told = count_text(len(sites) - without, "site")
        return f"{told} ({without:,} more without a schedule)" if without else told

    async def _handle_signals(self, tasks: TaskGroup, *, task_status: TaskStatus[None]) -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
            task_status.started()
            async for number in signals:
                if number == signal.SIGHUP:
                    tasks.start_soon(self._reload)
                elif self._stop.is_set():
                    log.warning("stopped at once; the next start continues the runs")
                    tasks.cancel_scope.cancel()
                else:
                    self._end()

    def _end(self) -> None:
        self._stop.set()
        self._manager.stopping()
        running = sum(site.running_since is not None for site in self._scheduler.status().sites)
        if running:
            within = self._loaded.settings.shutdown_timeout
            log.info(
                "stopping: %s may save state for %g s; send the signal again to stop at once",
                count_text(running, "run"),
                within,
            )

    async def _watch(self) -> None:
        while True:
            await anyio.sleep(self._loaded.settings.reload_interval)
            if await anyio.to_thread.run_sync(self._watched.has_changed):
                await self._reload()
            self._manager.status(self._summary())

    async def _reload(self) -> None:
        """Take the configuration as it is now, or tell what is wrong with it and go on with the one before."""
        async with self._reading:
            self._manager.reloading()
            try:
                await anyio.to_thread.run_sync(self._watched.mark_read)
                self._apply_config(await anyio.to_thread.run_sync(self._read))
            except SiteatlasError as error:
                self._error = str(error)
                since = local_time(self._read_at)
                log.error(  # noqa: TRY400 - the sentence is all there is to tell
                    "the configuration has an error, so that of %s stays in use: %s", since, error
                )
            self._manager.ready(self._sites())

    def _apply_config(self, loaded: LoadedConfig) -> None:
        """Go on with another configuration. Raises StorageError, and goes on with the one before."""
        self._scheduler.replace(loaded.sites, loaded.settings)
        before, self._loaded = self._loaded, loaded
        self._error, self._read_at = "", time.time()
        told = "; ".join(config_changes(before, loaded)) or "nothing changed"
        log.info("the configuration was reloaded: %s", told)
        self._log_next_runs()

    async def _serve(self) -> None:
        if self._listener is None:
            return
        settings = self._loaded.settings
        answers = build_app(self.status, lambda: self._loaded.settings, lambda: self._scheduler.trouble)
        try:
            await serve_on(self._listener, answers, settings, self._closed)
        except Exception:  # what is looked at is not worth the runs
            log.exception("the web page is off until the next start")

    def _last(self, name: str) -> Attempt | None:
        return self._scheduler.last_attempt(name)

    def _is_late(self) -> bool:
        return self._scheduler.is_overdue()


def _log_line(name: str, line: str) -> None:
    """A line of a run's own log: what is worth a warning there is worth one here."""
    log.warning("%s: %s", name, line)


def _address(listener: socket.socket | None) -> str:
    found = listener.getsockname() if listener else ""
    if not isinstance(found, tuple):
        return f"{UNIX_PREFIX}{found}"
    host, port, *_ = found
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
