"""Owns commands that run in forks of one process which has imported them, for that takes longer than most of them do.

    python warm.py DESCRIPTOR

takes orders as JSON from a socket, one a line, each with the descriptors of its streams and of where to tell how it
went. A command gets its own process, folder, environment and streams as if started anew; what only a new interpreter
does (reading PYTHON…, choosing a hash seed, importing in the order of that command) is for those who start one.
"""

import atexit
import functools
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

IMPORTED = (
    "crawler.cli.app",
    "crawler.cli.lint_check",
    "crawler.cli.crawl",
    "crawler.schedule.daemon",
    "crawler.cli.run_sites",
    "crawler.cli.why.lookup",
    "crawler.cli.summary",
    "crawler.fetch.httpx_transport",
    "crawler.config.plan",
    "crawler.audit.audit",
    "crawler.cli.audit_run",
    "crawler.run.audit",
    "crawler.cli.status_collect",
    "anyio._backends._asyncio",
    "anyio.streams.tls",
    "isal.igzip",
    "uvloop",
)


class Command:
    """A command that was begun. Read the streams that it was given when it has ended."""

    def __init__(self, answers: int) -> None:
        self._answers = os.fdopen(answers, "rb", buffering=0)
        self.pid = self._heard()
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None as long as there is none."""
        return self._within(0)

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, when it has ended."""
        if (code := self._within(timeout)) is None:
            raise subprocess.TimeoutExpired(f"the command of process {self.pid}", timeout or 0)
        return code

    def _within(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self._answers], [], [], seconds)[0]:
            self.returncode = self._heard()
            self._answers.close()
        return self.returncode

    def _heard(self) -> int:
        line = self._answers.readline()
        assert line, "the warm process, or who watched the command, is gone"
        return int(line)

    def kill(self) -> None:
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


def begin(folder: Path, words: Sequence[str], environment: Mapping[str, str], out: int, err: int) -> Command:
    """Run ``siteatlas`` with these words. ``out`` and ``err`` are the descriptors of its streams."""
    mask = os.umask(0)
    os.umask(mask)
    order = {"folder": str(folder.resolve()), "words": [*words], "environment": dict(environment), "umask": mask}
    reading, writing = os.pipe()
    try:
        with _one_by_one:
            _send(_server(), json.dumps(order).encode() + b"\n", [out, err, writing])
    finally:
        os.close(writing)
    return Command(reading)


_one_by_one = threading.Lock()


@functools.cache
def _server() -> socket.socket:
    """The socket of the process that waits for orders, which ends with this one."""
    ours, theirs = socket.socketpair()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SITEATLAS_")}
    with theirs:
        process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            env={**kept, "OPENBLAS_NUM_THREADS": "1"},  # who has threads should not fork
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )

    def end() -> None:
        ours.close()
        process.wait(10)

    atexit.register(end)
    return ours


def _send(server: socket.socket, data: bytes, descriptors: list[int]) -> None:
    sent = socket.send_fds(server, [data], descriptors)
    server.sendall(data[sent:])


# ---------------------------------------------------------------- in the other process


def prepare() -> None:
    """Do once what each command would do first: import its modules, and read its options from the annotations."""
    for module in IMPORTED:
        with suppress(Exception):  # the command will say what is wrong with it
            importlib.import_module(module)
    with suppress(Exception):
        import typer.main

        from crawler.cli.app import app

        declared, read = typer.main.get_command(app), typer.main.get_command
        dict(vars(declared)["commands"])  # imports the modules of all commands
        typer.main.get_command = lambda given: declared if given is app else read(given)
    gc.collect()
    gc.freeze()


def compile_templates() -> None:
    """Do once what takes longest of a short report."""
    with suppress(Exception):
        from crawler.audit.report.html import template

        templates = template().environment
        for name in templates.list_templates("html"):
            templates.get_template(name)


def serve(orders: socket.socket) -> None:
    compile_templates()
    prepare()
    while True:
        data, descriptors, _, _ = socket.recv_fds(orders, 1 << 16, 3)
        if not data:
            return
        while not data.endswith(b"\n"):
            data += orders.recv(1 << 16)
        with suppress(ChildProcessError):  # who watched and is done
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if os.fork() == 0:
            orders.close()
            watch(json.loads(data), *descriptors)
        for each in descriptors:
            os.close(each)


def watch(order: dict[str, Any], out: int, err: int, answers: int) -> NoReturn:
    """Run one command, and tell its number and then how it ended."""
    pid = os.fork()
    if pid == 0:
        os.close(answers)
        obey(order, out, err)
    os.write(answers, b"%d\n" % pid)
    os.close(out)
    os.close(err)
    os.write(answers, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    os._exit(0)


def obey(order: dict[str, Any], out: int, err: int) -> NoReturn:
    """What ``python -m crawler`` does."""
    try:
        for given, stream in ((out, 1), (err, 2)):
            os.dup2(given, stream)
            os.close(given)
        if os.isatty(1):  # the stream of this process was opened on a file
            sys.stdout = sys.__stdout__ = os.fdopen(1, "w", encoding="utf-8")
        os.chdir(order["folder"])
        os.environ.clear()
        os.environ.update(order["environment"])
        os.umask(order["umask"])
        time.tzset()
        sys.path[0] = order["folder"]
        sys.argv = ["", *order["words"]]
        runpy.run_module("crawler", run_name="__main__", alter_sys=True)
    except BaseException:  # noqa: BLE001 - as an interpreter does
        traceback.print_exc()
    finally:
        os._exit(1)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
