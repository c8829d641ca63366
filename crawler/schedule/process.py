"""Runs a site in a process of its own: starts it, hears what it says, stops it, and knows how it ended."""

import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any, Final, Literal, Protocol

import anyio
import anyio.to_thread
import msgspec
from anyio.abc import Process
from msgspec import Struct
from msgspec.structs import replace

from crawler.audit.compare import history
from crawler.config.plan import AUDIT
from crawler.schedule.site import ScheduledSite
from crawler.schedule.site_state import Attempt, Trigger
from crawler.state.runs import RunResult, RunStatus


class SiteJob(Struct, frozen=True, kw_only=True):
    """One errand for one site, as one line of JSON. The pipe stays open: when it ends, so does whoever reads it.

    ``config`` is the configuration of the site in values that JSON knows, with secrets by their names. To "tell" is
    only to announce what is outstanding; ``last`` is then the last run, which may not have been able to tell itself.
    ``began`` is when the attempt did, a Unix time; ``shutdown_timeout`` is in seconds, from the end of the pipe.
    ``may_audit``: the audit that is due may follow; else it is left to the next run.
    """

    name: str
    task: Literal["run", "tell"]
    config: dict[str, Any]
    last: Attempt | None = None
    began: float | None = None
    shutdown_timeout: float = 60.0
    is_verbose: bool = False
    may_audit: bool = True


log = logging.getLogger(__name__)


# -P: a folder named crawler in the working directory must not be taken for ours
_COMMAND: Final = (sys.executable, "-P", "-m", "crawler.schedule.worker")

# the service manager talks with the daemon only
_OWN_VARIABLES: Final = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")

_MAX_OUTPUT: Final = 1 << 16  # bytes of what a process says on its standard output

_LONGEST_LINE: Final = 4_000  # bytes of a line of its log

_READ_SIZE: Final = 1 << 16  # bytes that are read at once

# seconds that the pipes of a process which has ended are read on: what a hook has left running may hold them for ever
_DRAIN_TIMEOUT: Final = 2.0


class ProcessRunner:
    """Runs each site in a process that no other depends on. ``say`` is told each line of a run's log, and whose it is.

    ``last`` answers the last run of a site, which may not have been able to tell others of itself, and ``is_late``
    whether sites wait for others to be done. While they do, an audit follows a run only where it leaves another place
    to them, for it may take long, and what is published must not wait for it; or where there is one place only.
    """

    def __init__(
        self,
        say: Callable[[str, str], None],
        last: Callable[[str], Attempt | None] = lambda _: None,
        is_late: Callable[[], bool] = lambda: False,
        *,
        is_verbose: bool = False,
    ) -> None:
        self._say = say
        self._last = last
        self._is_late = is_late
        self._audits: set[int] = set()  # the attempts that have an audit to make, and may
        self._is_verbose = is_verbose

    async def run(self, site: ScheduledSite, attempt: Attempt, stop: anyio.Event) -> RunResult:
        """Run a site to its end; when ``stop`` is set, or this is cancelled, the process is ended. Never raises."""
        config = site.config
        is_telling = attempt.because is Trigger.NOTIFY
        may_audit = not is_telling and await self._may_audit(site, attempt)
        order = SiteJob(
            name=site.name,
            task="tell" if is_telling else "run",
            config=config.model_dump(mode="json"),
            last=self._last(site.name) if is_telling else None,
            began=attempt.began,
            shutdown_timeout=config.daemon.shutdown_timeout,
            is_verbose=self._is_verbose,
            may_audit=may_audit,
        )
        try:
            return await self._run(order, config.daemon.shutdown_timeout, stop)
        finally:
            self._audits.discard(attempt.number)

    async def _may_audit(self, site: ScheduledSite, attempt: Attempt) -> bool:
        """Whether the audit that is due, if one is, may follow the run."""
        every, directory = site.config.audit.every, site.state / AUDIT
        if every is None or not await anyio.to_thread.run_sync(
            history.is_audit_due, directory, every, attempt.began
        ):
            return True
        places = max(1, site.config.daemon.max_parallel_runs - 1)
        if len(self._audits) >= places and self._is_late():
            return False
        self._audits.add(attempt.number)
        return True

    async def _run(self, order: SiteJob, shutdown_timeout: float, stop: anyio.Event) -> RunResult:
        with _Pipe() as out, _Pipe() as err:
            try:
                process = await anyio.open_process(
                    [*_COMMAND, order.name],
                    stdout=out.writing,
                    stderr=err.writing,
                    env={name: value for name, value in os.environ.items() if name not in _OWN_VARIABLES},
                    start_new_session=True,
                )
            except OSError as error:
                told = f"no process could be started: {error.strerror or error}"
                return RunResult(exit_code=1, fate=RunStatus.FAILED, told=told, untold=True)
            watched = _RunningProcess(process, order.name, self._say)
            try:
                return await watched.end(order, out, err, stop, shutdown_timeout)
            finally:
                _kill(process)
                with anyio.CancelScope(shield=True):
                    await process.aclose()


class _Pipe:
    """A pipe from a process to us while entered. Nothing waits for its end, for another process may have it too."""

    def __enter__(self) -> "_Pipe":
        self._reading, self.writing = os.pipe()
        os.set_blocking(self._reading, False)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._reading)
        self.close_writer()

    def close_writer(self) -> None:
        """Who writes to it has been started."""
        if self.writing >= 0:
            os.close(self.writing)
            self.writing = -1

    async def pieces(self) -> AsyncIterator[bytes]:
        """What is said, until nobody is there any more who could."""
        while True:
            await anyio.wait_readable(self._reading)
            if not (piece := os.read(self._reading, _READ_SIZE)):
                return
            yield piece


class _RunningProcess:
    """One process on its way to its end."""

    def __init__(self, process: Process, name: str, say: Callable[[str, str], None]) -> None:
        self._process = process
        self._name = name
        self._say = say
        self._said = b""
        self._last_line = ""
        self._is_stopped = False
        self._is_killed = False

    async def end(
        self, order: SiteJob, out: _Pipe, err: _Pipe, stop: anyio.Event, shutdown_timeout: float
    ) -> RunResult:
        process = self._process
        assert process.stdin is not None  # noqa: S101 - started with a pipe
        out.close_writer()
        err.close_writer()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._stop, stop, shutdown_timeout)
            async with anyio.create_task_group() as pipes:
                pipes.start_soon(self._read_results, out)
                pipes.start_soon(self._log, err)
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await process.stdin.send(msgspec.json.encode(order) + b"\n")
                code = await process.wait()
                pipes.cancel_scope.deadline = anyio.current_time() + _DRAIN_TIMEOUT
            tasks.cancel_scope.cancel()
        if code < 0:
            _kill_group(process)
        return self._result_of(code, shutdown_timeout)

    async def _stop(self, stop: anyio.Event, shutdown_timeout: float) -> None:
        await stop.wait()
        self._is_stopped = True
        with suppress(ProcessLookupError):
            self._process.terminate()
        await anyio.sleep(shutdown_timeout)
        self._is_killed = True
        _kill(self._process)

    async def _read_results(self, out: _Pipe) -> None:
        async for piece in out.pieces():
            self._said = (self._said + piece)[-_MAX_OUTPUT:]

    async def _log(self, err: _Pipe) -> None:
        rest = b""
        async for piece in err.pieces():
            *lines, rest = (rest + piece).split(b"\n")
            rest = rest[:_LONGEST_LINE]
            for line in lines:
                self._report_line(line)
        self._report_line(rest)

    def _report_line(self, line: bytes) -> None:
        if text := line[:_LONGEST_LINE].decode("utf-8", "replace").rstrip():
            self._last_line = text
            self._say(self._name, text)

    def _result_of(self, code: int, shutdown_timeout: float) -> RunResult:
        ended = _last_result(self._said)
        if ended is None:
            return self._without_report(code, shutdown_timeout)
        if ended.fate is RunStatus.STOPPED and not self._is_stopped:  # it is to be gone on with
            return replace(
                ended, fate=RunStatus.FAILED, told=f"somebody else ended it; {ended.told}", untold=True
            )
        return ended

    def _without_report(self, code: int, shutdown_timeout: float) -> RunResult:
        if self._is_killed:
            told = f"it did not stop within {shutdown_timeout:g} s and was killed; the next run goes on"
            return RunResult(exit_code=code, fate=RunStatus.STOPPED, told=told)
        if self._is_stopped:
            told = "the state is saved, and the next run continues"
            return RunResult(exit_code=code, fate=RunStatus.STOPPED, told=told)
        if code < 0:
            told = f"its process was ended by {_signal(code)}"
        else:
            told = f"its process ended with exit code {code} and without a report"
            told += f": {self._last_line}" if self._last_line else ""
        return RunResult(exit_code=code, fate=RunStatus.FAILED, told=told, untold=True)


def _last_result(said: bytes) -> RunResult | None:
    """How it ended by the last whole report; a process that was killed may have begun another one."""
    for line in reversed(said.splitlines()):
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            return msgspec.json.decode(line, type=RunResult)
    return None


def _signal(code: int) -> str:
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"{name} (is there too little memory?)" if name == "SIGKILL" else name


def _kill(process: Process) -> None:
    if process.returncode is None:
        _kill_group(process)


def _kill_group(process: Process) -> None:
    """End the process and those that it has started: they are a group, which bears its number."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


class SiteRunner(Protocol):
    """Runs sites, each in a process of its own."""

    async def run(self, site: ScheduledSite, attempt: Attempt, stop: anyio.Event) -> RunResult:
        """Run one attempt to its end and say how it ended; of ``Because.TELL`` only tell.

        When ``stop`` is set, because the daemon stops or the run takes too long, ask the run to save what it knows and
        to end, and end it by force when it has not within ``Daemon.shutdown_timeout``. Its fate is then STOPPED, unless
        it came to its end before. Never raises for what the run does. When it is cancelled the run is killed.
        """
        ...
