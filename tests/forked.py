"""Owns commands that run in forks of one warm process, by a clock of their own, and die at the moment they are told.

    python forked.py

reads orders as JSON from its standard input, one a line, and tells how each ended.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

DAY_ONE, DAY = 1_767_225_600.0, 86_400.0  # 2026-01-01
PR_SET_PTRACER = 0x59616D61  # lets a tracer in that is no ancestor, where the kernel (Yama) wants to be asked
TRACED = (
    "openat,write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat,rmdir,mkdir,mkdirat,"
    "chmod,fchmod,fchmodat,ftruncate,copy_file_range,sendfile"
)


@dataclass
class Ended:
    """How a command ended: ``status`` is negative for a signal; ``marks`` tells at which call a function began."""

    status: int
    said: str
    calls: int = 0
    marks: dict[str, int] = field(default_factory=dict)

    @property
    def was_killed(self) -> bool:
        return self.status == -signal.SIGKILL


class Forked:
    """Runs commands. The clock of each stands at a second of the day that it is given."""

    def __init__(self, server: "subprocess.Popen[bytes]", work: Path) -> None:
        self._server = server
        self._work = work

    def run(self, folder: Path, day: float, *words: str, kill_at: int = -1, marks: tuple[str, ...] = ()) -> Ended:
        """Run siteatlas in a folder. ``kill_at`` is the number of the function call before which it dies.

        ``marks`` are functions, as ``file.py:Class.function``; with them all calls are counted.
        """
        self._order(folder, day, words, kill_at=kill_at, marks=marks)
        return self._ended()

    def traced(self, folder: Path, day: float, *words: str, inject: str = "") -> tuple[Ended, list[str]]:
        """Run siteatlas, under strace from the moment when its visiting has ended. Answers its system calls too."""
        log = self._work / "strace"
        self._order(folder, day, words, waits=True)
        heard = self._hear()
        assert "pid" in heard, heard
        command = ["strace", "-y", "-p", str(heard["pid"]), "-o", str(log), "-e", f"trace={_all(TRACED)}"]
        command += ["-e", f"inject={inject}"] if inject else []
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
            assert tracer.stderr is not None
            first = tracer.stderr.readline()
            self._say(b"!")
            assert "attached" in first, first
            ended = self._ended()
            tracer.wait(20)
        return ended, log.read_text().splitlines()

    def _order(self, folder: Path, day: float, words: tuple[str, ...], **more: Any) -> None:
        order = {"folder": str(folder), "day": day, "words": words, "said": str(self._work / "said"), **more}
        self._say(json.dumps(order).encode() + b"\n")

    def _ended(self) -> Ended:
        heard = self._hear()
        said = (self._work / "said").read_text()
        assert "Traceback" not in said, said
        return Ended(heard["status"], said, heard.get("calls", 0), heard.get("marks", {}))

    def _say(self, data: bytes) -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(data)
        self._server.stdin.flush()

    def _hear(self) -> dict[str, Any]:
        assert self._server.stdout is not None
        heard: dict[str, Any] = json.loads(self._server.stdout.readline())
        return heard


@contextmanager
def forked(work: Path) -> Iterator[Forked]:
    """A process whose forks run commands; ``work`` is for what they say."""
    with subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        try:
            yield Forked(server, work)
        finally:
            server.kill()


def _all(names: str) -> str:
    return ",".join(f"?{name}" for name in names.split(","))  # not every machine has all of them


# ---------------------------------------------------------------- in the other process


def tell(fd: int, **what: Any) -> None:
    os.write(fd, json.dumps(what).encode() + b"\n")


class Countdown:
    """Counts the calls of functions, and ends the process before one of them."""

    def __init__(self, kill_at: int, marks: list[str]) -> None:
        self.calls = 0
        self.marks: dict[str, int] = {}
        self._kill_at = kill_at
        self._files = {mark.partition(":")[2]: mark.partition(":")[0] for mark in marks}

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event not in ("call", "c_call"):
            return
        self.calls += 1
        if self.calls == self._kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if event == "call" and (name := frame.f_code.co_qualname) in self._files:
            mark = f"{self._files[name]}:{name}"
            if frame.f_code.co_filename.endswith(f"/{self._files[name]}"):
                self.marks.setdefault(mark, self.calls)


def obey(order: dict[str, Any], answers: int) -> NoReturn:
    """Run one command, tell of it and end."""
    import ctypes
    import functools
    import time

    import crawler.run.regenerate
    from crawler.cli import app
    from crawler.run.crawl import crawl
    from crawler.run.finish import RunFinisher

    os.chdir(order["folder"])
    said = os.open(order["said"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 1)
    os.dup2(said, 2)
    began = time.monotonic()

    def clock() -> float:
        return DAY_ONE + DAY * order["day"] + (time.monotonic() - began) / 1000

    crawler.run.regenerate.crawl = functools.partial(crawl, clock=clock)  # type: ignore[attr-defined]
    if order.get("waits"):
        ctypes.CDLL(None).prctl(PR_SET_PTRACER, ctypes.c_ulong(2**64 - 1), 0, 0, 0)
        conclude = RunFinisher.finish

        def waiting(*args: Any, **named: Any) -> Any:
            tell(answers, pid=os.getpid())
            os.read(0, 1)
            return conclude(*args, **named)

        RunFinisher.finish = waiting  # type: ignore[method-assign]
    sys.argv = ["siteatlas", *order["words"]]
    counted = Countdown(order.get("kill_at", -1), order.get("marks", []))
    if order.get("marks") or order.get("kill_at", -1) >= 0:
        sys.setprofile(counted)
    status = app.run_command_line()
    sys.setprofile(None)
    sys.stdout.flush()
    tell(answers, calls=counted.calls, marks=counted.marks)
    os._exit(status)


def serve() -> None:
    from warm import prepare

    sys.path[0] = str(Path(__file__).parents[1])
    prepare()
    while line := sys.stdin.buffer.raw.readline():  # type: ignore[attr-defined]
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            obey(json.loads(line), writing)
        os.close(writing)
        told: dict[str, Any] = {}
        with open(reading) as answers:  # noqa: PTH123 - a descriptor
            for answer in answers:
                if "pid" in (heard := json.loads(answer)):
                    tell(1, **heard)
                told |= heard
        tell(1, **{**told, "status": os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])})


if __name__ == "__main__":
    serve()
