"""Owns a process that publishes on command under strace, which kills it or fails its system calls as it is told."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

# What changes a disk, or makes a change durable, or is part of how publishers keep out of each other's way.
DURABLE = (
    "openat,write,fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat,rmdir,mkdir,mkdirat,"
    "chmod,fchmod,fchmodat,chown,fchown,fchownat,lchown,ftruncate,copy_file_range,sendfile,flock"
)

_TRACED = ",".join(f"?{name}" for name in DURABLE.split(","))  # not every machine has all of them

# Forked for each publish, so that nothing is imported under the eyes of strace, and its system calls begin with the
# publish. prctl lets a tracer that is no ancestor in, where the kernel (Yama) wants to be asked.
_SERVER = """
import ctypes, os, sys
sys.path.insert(0, sys.argv[1])
from generations import publish
libc = ctypes.CDLL(None)
publish(sys.argv[2], "new", grace=0)  # what is imported late is imported now
while command := os.read(0, 4096).decode():
    folder, generation, gzip, grace = command.split("\\n")[0].split("\\t")
    pid = os.fork()
    if pid == 0:
        libc.prctl(0x59616D61, ctypes.c_ulong(-1 % 2**64), 0, 0, 0)
        os.write(1, f"{os.getpid()}\\n".encode())
        os.read(0, 1)
        try:
            publish(folder, generation, gzip=bool(gzip), grace=float(grace))
            said = "published"
        except BaseException as error:
            said = f"{type(error).__name__}: {error}".replace("\\n", " ")
        os.write(1, f"{said}\\n".encode())
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    os.write(1, f"ended {os.waitstatus_to_exitcode(status)}\\n".encode())
"""


@dataclass
class Outcome:
    """How a traced publish ended: ``said`` is "published", an error, or "" of a process that was killed."""

    status: int
    said: str
    calls: list[tuple[str, int, str]]  # name, count of that name, the whole line


class Publisher:
    """Publishes generations in processes of their own."""

    def __init__(self, server: "subprocess.Popen[bytes]", strace: str, work: Path) -> None:
        self._server = server
        self._strace = strace
        self._work = work

    def publish(self, folder: Path, generation: str, inject: str = "", *, gzip: bool = False) -> Outcome:
        """Publish under strace. ``inject`` is as ``strace -e inject=`` takes it."""
        log = self._work / "log"
        self._say(f"{folder}\t{generation}\t{'gzip' if gzip else ''}\t3600\n")
        pid = self._hear()
        command = [self._strace, "-p", pid, "-o", str(log), "-e", f"trace={_TRACED}"]
        if inject:
            command += ["-e", f"inject={inject}"]
        tracer = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        with tracer:
            assert tracer.stderr is not None
            first = tracer.stderr.readline()
            assert "attached" in first, f"strace: {first}"
            self._say("!")
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
        assert heard, "the publisher is gone"
        return heard.strip()


@contextmanager
def publisher(work: Path) -> Iterator[Publisher]:
    """A publisher that keeps its notes in ``work``. Skips the test when strace is missing."""
    strace = shutil.which("strace")
    if strace is None:
        if os.environ.get("SITEATLAS_REQUIRE_ALL"):
            pytest.fail("strace is not installed, and SITEATLAS_REQUIRE_ALL demands it")
        pytest.skip("strace is not installed")
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(Path(__file__).parent), str(work / "warm")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as server:
        try:
            yield Publisher(server, strace, work)
        finally:
            server.kill()


def _calls(log: Path) -> Iterator[tuple[str, int, str]]:
    counts: Counter[str] = Counter()
    for line in log.read_text().splitlines():
        if match := re.match(r"(\w+)\(", line):
            counts[match[1]] += 1
            yield match[1], counts[match[1]], line


def points(calls: list[tuple[str, int, str]]) -> list[tuple[str, int]]:
    """The calls that change something, to be injected at: files that are opened to be read are none."""
    return [(name, count) for name, count, line in calls if name != "openat" or "O_CREAT" in line]
