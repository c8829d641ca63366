"""What one command costs: seconds, processor time and memory of it and of all the processes it starts.

Knows nothing of crawling.
"""

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

EVERY = 0.05  # seconds between two looks at the memory
MIB = 2**20


class CommandFailed(RuntimeError):
    """A command did not end with 0; the message has its last words."""


@dataclass(frozen=True)
class Cost:
    """What a command took.

    ``wall`` is from its start to its end, interpreter and all, in seconds. ``cpu`` is user and system time of the
    process and of all its descendants that were waited for, ``elsewhere`` what the machine spent on everything else
    meanwhile (the server, first of all). ``peak`` is the highest sum of the resident memory of all processes, in
    bytes, with pages they share counted for each; ``largest`` the most that a single one had.
    """

    wall: float
    cpu: float
    elsewhere: float
    peak: int
    largest: int


class Sampler(threading.Thread):
    """Looks at the memory of a process tree until it is told to stop."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._root = psutil.Process(pid)
        self._ended = threading.Event()
        self.peak = 0
        self.largest = 0

    def run(self) -> None:
        while not self._ended.wait(EVERY):
            try:
                family = [self._root, *self._root.children(recursive=True)]
            except psutil.NoSuchProcess:
                return
            sizes = [_resident(process) for process in family]
            self.peak = max(self.peak, sum(sizes))
            self.largest = max(self.largest, *sizes)

    def stop(self) -> None:
        """Stop looking."""
        self._ended.set()
        self.join()


def measure(command: list[str], folder: Path, timeout: float) -> Cost:
    """Run a command in a folder to its end. Raises CommandFailed, also after so many seconds."""
    with tempfile.TemporaryFile() as errors:
        before = _busy()
        started = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=_environment(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,  # so that it can be ended with all that it started
        )
        sampler = Sampler(process.pid)
        alarm = threading.Timer(timeout, os.killpg, (process.pid, signal.SIGKILL))
        alarm.start()
        sampler.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        finally:
            wall = time.perf_counter() - started
            alarm.cancel()
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
            sampler.stop()
        if process.returncode:
            errors.seek(0)
            raise CommandFailed(_last_words(command, process.returncode, wall >= timeout, errors.read()))
        cpu = usage.ru_utime + usage.ru_stime
        return Cost(wall, cpu, max(0.0, _busy() - before - cpu), sampler.peak, sampler.largest)


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0


def _busy() -> float:
    """Seconds that all processors of the machine have worked."""
    times = psutil.cpu_times()
    return float(times.user + times.system + getattr(times, "irq", 0) + getattr(times, "softirq", 0))


def _environment(own: Mapping[str, str]) -> dict[str, str]:
    """The environment without the settings that a person may have given to siteatlas in it."""
    return {name: value for name, value in own.items() if not name.startswith("SITEATLAS_")}


def _last_words(command: list[str], code: int, late: bool, errors: bytes) -> str:
    why = "took too long" if late else f"ended with {code}"
    return f"{' '.join(command)}\n{why}: {errors.decode(errors='replace').strip()[-1000:] or 'it said nothing'}"
