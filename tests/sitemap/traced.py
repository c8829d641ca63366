"""Owns processes that publish on command under strace, which kills them or fails their system calls as it is told."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

# What changes a disk, or makes a change durable, or is part of how publishers keep out of each other's way.
DURABLE = (
    "openat,write,fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat,rmdir,mkdir,mkdirat,"
    "chmod,fchmod,fchmodat,chown,fchown,fchownat,lchown,ftruncate,copy_file_range,sendfile,flock"
)

_TRACED = ",".join(f"?{name}" for name in DURABLE.split(","))  # not every machine has all of them


@dataclass
class Outcome:
    """How a call ended: ``said`` is "done", an error, or "" of a process that was killed."""

    status: int
    said: str
    calls: list[tuple[str, int, str]]  # name, count of that name, the whole line


class Traced:
    """Calls functions of :mod:`marked_sets` in processes of their own."""

    def __init__(self, server: "subprocess.Popen[bytes]", strace: str, work: Path) -> None:
        self._server = server
        self._strace = strace
        self._work = work

    def run(self, inject: Sequence[str], name: str, *args: object, **options: object) -> Outcome:
        """Call a function under strace. ``inject`` has what ``strace -e inject=`` takes."""
        log = self._work / "log"
        self._say(json.dumps([name, args, options], default=str) + "\n")
        pid = self._hear()
        command = [self._strace, "-y", "-p", pid, "-o", str(log), "-e", f"trace={_TRACED}"]
        command += [part for each in inject for part in ("-e", f"inject={each}")]
        tracer = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        with tracer:
            assert tracer.stderr is not None
            first = tracer.stderr.readline()
            self._say("!")
            if "attached" not in first:
                _missing(f"strace cannot attach to a process: {first}")
            said = ""
            while not (heard := self._hear()).startswith("ended "):
                said = heard
            tracer.wait(20)
        return Outcome(int(heard.removeprefix("ended ")), said, list(_calls(log)))

    def _say(self, line: str) -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(line.encode())
        self._server.stdin.flush()

    def _hear(self) -> str:
        assert self._server.stdout is not None
        heard = self._server.stdout.readline().decode()
        assert heard, "the process is gone"
        return heard.strip()


@contextmanager
def traced(work: Path) -> Iterator[Traced]:
    """Processes to be traced, with notes in ``work``. Skips the test when strace is missing."""
    strace = shutil.which("strace")
    if strace is None:
        _missing("strace is not installed")
    with subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("forker.py")), str(work / "first")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as server:
        try:
            yield Traced(server, strace, work)
        finally:
            server.kill()


def _missing(what: str) -> NoReturn:
    if os.environ.get("SITEATLAS_REQUIRE_ALL"):
        pytest.fail(f"{what}, and SITEATLAS_REQUIRE_ALL demands it")
    pytest.skip(what)


def _calls(log: Path) -> Iterator[tuple[str, int, str]]:
    counts: Counter[str] = Counter()
    for line in log.read_text().splitlines():
        if match := re.match(r"(\w+)\(", line):
            counts[match[1]] += 1
            yield match[1], counts[match[1]], line


def points(calls: list[tuple[str, int, str]]) -> list[tuple[str, int]]:
    """The calls that change something, to be injected at: files that are opened to be read are none."""
    return [(name, count) for name, count, line in calls if name != "openat" or "O_CREAT" in line]
