"""A schedule that is kept for a test: the real daemon in a process of its own, and what it says."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import warm
from run import environment, siteatlas

LONG = 60.0  # seconds that anything may take before it is taken for hanging


def wait_for(condition: Callable[[], object]) -> None:
    """Look again and again until it holds."""
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def write(folder: Path, schedule: str = 'every = "1h"', more: str = "", **sites: str) -> None:
    """A configuration of these sites, by name and start URL, in one step as editors do. Nothing listens by default."""
    tables = [
        f'[sites.{name}]\nsite = {{url = "{url}"}}\noutput = {{directory = "out/{name}"}}'
        for name, url in sites.items()
    ]
    shared = (
        '[state]\ndirectory = "state"\n[output]\nswap_delay = 0\n[pace]\nrate = 0\nconcurrency = 8\n'
        "[parse]\nprocesses = 1\n[fetch]\nretries = 0\n"
        f"[schedule]\n{schedule}\n"
    )
    daemon = "" if "[daemon]" in more else '[daemon]\nlisten = ""\nreload_interval = 0.05\n'
    daemon += "" if "[notify]" in more else "[notify]\ncheck_live = false\n"
    new = folder / "new.toml"
    new.write_text("\n".join((shared, daemon, more, *tables)), encoding="utf-8")
    new.rename(folder / "sites.toml")


@dataclass
class Kept:
    """The daemon: ``log`` is where its standard error goes."""

    folder: Path
    process: warm.Command
    log: Path

    @property
    def text(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def said(self, text: str, times: int = 1) -> None:
        """Wait until it has said something so often."""
        end = time.monotonic() + LONG
        while self.text.count(text) < times:
            assert self.process.poll() is None, f"it has ended: {self.text}"
            assert time.monotonic() < end, f"it did not say {text!r}: {self.text}"
            time.sleep(0.01)

    def send(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal; answers how it ended."""
        self.send(number)
        code = self.process.wait(LONG)
        assert "Traceback" not in self.text, self.text
        return code


@contextmanager
def kept(folder: Path, *words: str, **extra: str) -> Iterator[Kept]:
    """The schedule of ``sites.toml`` in a folder; what is still running in the end is killed."""
    log = folder / f"log{len(list(folder.glob('log*')))}"
    with log.open("wb") as out:
        begun = ("schedule", "--config", "sites.toml", *words)
        process = warm.begin(folder, begun, environment(**extra), out.fileno(), out.fileno())
    daemon = Kept(folder, process, log)
    try:
        yield daemon
    finally:
        process.kill()
        process.wait(LONG)


def status(folder: Path, *words: str) -> dict[str, Any]:
    """What ``siteatlas status --json`` tells."""
    ran = siteatlas(folder, "status", "--config", "sites.toml", "--json", *words)
    assert ran.code == 0, ran.err
    told: dict[str, Any] = json.loads(ran.out)
    return told
