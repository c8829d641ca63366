"""Runs a site in its own process: starts it, reads its log and its result, and stops it."""

import logging
import math
import os
import shlex
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

import anyio
import anyio.to_thread
from anyio.abc import Process
from msgspec import Struct
from msgspec.structs import replace

from crawler.audit.compare import history
from crawler.config.plan import AUDIT
from crawler.fetch.permits import decode_line, encode_line
from crawler.schedule.site import ScheduledSite
from crawler.schedule.site_state import Attempt, Trigger
from crawler.state.runs import RunResult, RunStatus


class SiteJob(Struct, frozen=True, kw_only=True):
    """One job for one site, sent as one line of JSON. The pipe stays open: when it closes, the worker stops.

    ``config`` is the configuration of the site in JSON values, with secrets by their names. The task "tell" only sends
    outstanding notifications. ``last`` is the last run, which may not have been able to notify. ``began`` is the
    start of the attempt as a Unix time; ``shutdown_timeout`` is in seconds, from the close of the pipe. ``may_audit``:
    a due audit may follow; otherwise it is left to the next run. ``is_linked``: the run asks its parent before it
    sends requests to an origin, and before it sends a notice. ``lease_until`` is the deadline of its lease, see
    ``crawler/state/lock.py``. ``options`` are those of :class:`RunOptions` that are not the default, or for the task
    "rollback" the ``run`` whose set is published again. ``command`` takes options for the next run, see
    ``crawler/errors.py``. ``wanted`` are the keys of the notices that a person wants to be sent again.
    """

    name: str
    task: Literal["run", "tell", "rollback"]
    config: dict[str, Any]
    last: Attempt | None = None
    began: float | None = None
    shutdown_timeout: float = 60.0
    is_verbose: bool = False
    may_audit: bool = True
    is_linked: bool = False
    lease_until: float | None = None
    options: dict[str, Any] = {}
    command: str = ""
    wanted: list[str] = []


class RunLink(Protocol):
    """What the process of a run and its parent tell each other, besides the job and the results."""

    deadline: float
    """Of the lease at the start, see ``crawler/state/lock.py``; infinity for none."""
    options: Mapping[str, Any]
    """What the run is to do besides its configuration, see :class:`SiteJob`; with ``rollback``, that is the task."""
    wanted: Sequence[str]
    """The keys of the notices that a person wants to be sent again."""

    def hear(self, line: bytes) -> None:
        """Take a line of its standard output."""

    async def talk(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        """Called once it runs, and cancelled when it has ended; ``send`` writes lines to its standard input."""


log = logging.getLogger(__name__)


# -P: do not import a folder named crawler in the working directory
_COMMAND: Final = (sys.executable, "-P", "-m", "crawler.schedule.worker")
# only the daemon talks to the service manager
_OWN_VARIABLES: Final = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")
_MAX_OUTPUT: Final = 1 << 16  # bytes kept of the standard output
_MAX_LINE: Final = 4_000  # bytes of a log line
_READ_SIZE: Final = 1 << 16  # bytes per read
# seconds to read on after the process has ended: a child that a hook left running may hold the pipes open for ever
_DRAIN_TIMEOUT: Final = 2.0


@dataclass
class ProcessRunner:
    """Runs each site in its own process. ``say`` gets each line of a run's log with the name of the site.

    ``command`` and the name of a site are the command with which a person gives its next run an option.
    ``last`` returns the last run of a site, which may not have been able to notify; ``is_late`` says whether other
    sites wait for a free slot. While they do, an audit follows a run only when it leaves another slot free, because an
    audit may take long and must not delay publishing; or when there is only one slot.
    """

    say: Callable[[str, str], None]
    last: Callable[[str], Attempt | None] = lambda _: None
    is_late: Callable[[], bool] = lambda: False
    is_verbose: bool = field(default=False, kw_only=True)
    command: str = field(default="", kw_only=True)
    _audits: set[int] = field(default_factory=set, init=False)  # the attempts that may be followed by an audit

    async def run(
        self, site: ScheduledSite, attempt: Attempt, stop: anyio.Event, link: RunLink | None = None
    ) -> RunResult:
        """Run a site to its end. When ``stop`` is set, or on cancellation, the process is ended. Never raises.

        With a ``link`` the run asks over it for the origins that it sends requests to, and for its notices.
        """
        config = site.config
        is_notify_only = attempt.trigger is Trigger.NOTIFY
        may_audit = not is_notify_only and await self._may_audit(site, attempt)
        job = SiteJob(
            name=site.name,
            task="tell" if is_notify_only else "rollback" if link and "rollback" in link.options else "run",
            config=config.model_dump(mode="json"),
            last=self.last(site.name),
            began=attempt.began,
            shutdown_timeout=config.daemon.shutdown_timeout,
            is_verbose=self.is_verbose,
            may_audit=may_audit,
            is_linked=link is not None,
            lease_until=link.deadline if link and math.isfinite(link.deadline) else None,
            options=dict(link.options) if link else {},
            command=self.command and f"{self.command} {shlex.quote(site.name)}",
            wanted=list(link.wanted) if link else [],
        )
        try:
            return await self._run(job, stop, link)
        finally:
            self._audits.discard(attempt.number)

    async def _may_audit(self, site: ScheduledSite, attempt: Attempt) -> bool:
        """Whether an audit, if one is due, may follow the run."""
        every, directory = site.config.audit.every, site.state / AUDIT
        if every is None or not await anyio.to_thread.run_sync(history.is_audit_due, directory, every, attempt.began):
            return True
        max_audits = max(1, site.config.daemon.max_parallel_runs - 1)
        if len(self._audits) >= max_audits and self.is_late():
            return False
        self._audits.add(attempt.number)
        return True

    async def _run(self, job: SiteJob, stop: anyio.Event, link: RunLink | None) -> RunResult:
        with _Pipe() as output, _Pipe() as log_pipe:
            try:
                process = await anyio.open_process(
                    [*_COMMAND, job.name],
                    stdout=output.writing,
                    stderr=log_pipe.writing,
                    env={name: value for name, value in os.environ.items() if name not in _OWN_VARIABLES},
                    start_new_session=True,
                )
            except OSError as error:
                message = f"the process could not be started: {error.strerror or error}"
                return RunResult(exit_code=1, status=RunStatus.FAILED, message=message, notify_pending=True)
            running = _RunningProcess(process, job, self.say, link)
            try:
                return await running.end(output, log_pipe, stop)
            finally:
                _kill(process)
                with anyio.CancelScope(shield=True):
                    await process.aclose()


class _Pipe:
    """A pipe from a process to this one while entered. Another process may hold it, so nothing waits for its end."""

    def __enter__(self) -> "_Pipe":
        self._reading, self.writing = os.pipe()
        os.set_blocking(self._reading, False)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._reading)
        self.close_writer()

    def close_writer(self) -> None:
        """Close this process's copy of the write end, once the other process has it."""
        if self.writing >= 0:
            os.close(self.writing)
            self.writing = -1

    async def pieces(self) -> AsyncIterator[bytes]:
        """The output in pieces, until nobody holds the write end."""
        while True:
            await anyio.wait_readable(self._reading)
            if not (piece := os.read(self._reading, _READ_SIZE)):
                return
            yield piece


class _RunningProcess:
    """One process, from its start to its end."""

    def __init__(self, process: Process, job: SiteJob, say: Callable[[str, str], None], link: RunLink | None) -> None:
        self._process = process
        self._job = job
        self._link = link
        self._say = say
        self._result: RunResult | None = None  # the last complete one
        self._last_line = ""
        self._is_stopped = False
        self._is_killed = False

    async def end(self, output: _Pipe, log_pipe: _Pipe, stop: anyio.Event) -> RunResult:
        process = self._process
        output.close_writer()
        log_pipe.close_writer()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._stop, stop)
            async with anyio.create_task_group() as pipes:
                pipes.start_soon(self._read_results, output)
                pipes.start_soon(self._log, log_pipe)
                await self._send(encode_line(self._job))
                if self._link:
                    tasks.start_soon(self._link.talk, self._send)
                exit_code = await process.wait()
                pipes.cancel_scope.deadline = anyio.current_time() + _DRAIN_TIMEOUT
            tasks.cancel_scope.cancel()
        if exit_code < 0:
            _kill_group(process)
        return self._result_of(exit_code)

    async def _send(self, line: bytes) -> None:
        """Send a line to the process; one that has just ended needs none."""
        assert self._process.stdin is not None  # noqa: S101 - started with a pipe
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._process.stdin.send(line)

    async def _stop(self, stop: anyio.Event) -> None:
        await stop.wait()
        self._is_stopped = True
        with suppress(ProcessLookupError):
            self._process.terminate()
        await anyio.sleep(self._job.shutdown_timeout)
        self._is_killed = True
        _kill(self._process)

    async def _read_results(self, output: _Pipe) -> None:
        rest = b""
        async for piece in output.pieces():
            *lines, rest = (rest + piece)[-_MAX_OUTPUT:].split(b"\n")
            for line in lines:
                if self._link:
                    self._link.hear(line)
                self._result = decode_line(line, RunResult) or self._result
        self._result = decode_line(rest, RunResult) or self._result

    async def _log(self, log_pipe: _Pipe) -> None:
        rest = b""
        async for piece in log_pipe.pieces():
            *lines, rest = (rest + piece).split(b"\n")
            rest = rest[:_MAX_LINE]
            for line in lines:
                self._report_line(line)
        self._report_line(rest)

    def _report_line(self, line: bytes) -> None:
        if text := line[:_MAX_LINE].decode("utf-8", "replace").rstrip():
            self._last_line = text
            self._say(self._job.name, text)

    def _result_of(self, code: int) -> RunResult:
        result = self._result
        if result is None:
            return self._without_report(code)
        if result.status is RunStatus.STOPPED and not self._is_stopped:  # retry it
            message = f"another program stopped it; {result.message}"
            return replace(result, status=RunStatus.FAILED, message=message, notify_pending=True)
        return result

    def _without_report(self, code: int) -> RunResult:
        if self._is_killed:
            timeout = f"{self._job.shutdown_timeout:g} s"
            message = f"it did not stop within {timeout} and was killed; the next run continues it"
            return RunResult(exit_code=code, status=RunStatus.STOPPED, message=message)
        if self._is_stopped:
            message = "the state is saved, and the next run continues it"
            return RunResult(exit_code=code, status=RunStatus.STOPPED, message=message)
        if code < 0:
            message = f"its process was stopped by {_signal(code)}"
        else:
            message = f"its process ended with exit code {code} and without a report"
            message += f": {self._last_line}" if self._last_line else ""
        return RunResult(exit_code=code, status=RunStatus.FAILED, message=message, notify_pending=True)


def _signal(code: int) -> str:
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"{name} (possibly out of memory)" if name == "SIGKILL" else name


def _kill(process: Process) -> None:
    if process.returncode is None:
        _kill_group(process)


def _kill_group(process: Process) -> None:
    """Kill the process group: the process and every process that it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


class SiteRunner(Protocol):
    """Runs sites, each in its own process."""

    async def run(self, site: ScheduledSite, attempt: Attempt, stop: anyio.Event) -> RunResult:
        """Run one attempt to its end and return its result; for ``Trigger.NOTIFY`` only send notifications.

        ``stop`` is set when the daemon stops or the run takes too long. The run is then asked to save its state and
        end, and killed after ``DaemonConfig.shutdown_timeout``. Its status is then STOPPED, unless it finished before.
        Never raises for a run that fails. A cancelled run is killed.
        """
        ...
