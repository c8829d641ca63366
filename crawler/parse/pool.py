"""The pool of parser processes: documents in, pages out. A document that kills its process costs itself only."""

import asyncio
import sys
import time
from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Self

import anyio
from anyio.abc import TaskGroup

from crawler.model import DocumentKind, FetchedDocument, Page
from crawler.parse.protocol import LENGTH_PREFIX, ParseJob, ParserOptions, decode_page, encode_message

PARSE_TIMEOUT = "parse.timeout"
PARSE_CRASH = "parse.crash"
_READ_SIZE = 1 << 18
_WRITE_SIZE = 1 << 18  # bytes handed to the pipe at once: what it cannot take at once is copied


class _PendingDocument:
    """One document on its way through a worker."""

    __slots__ = ("crashes", "job", "page")

    def __init__(self, job: ParseJob) -> None:
        self.job = job
        self.page: asyncio.Future[Page] = asyncio.get_running_loop().create_future()
        self.crashes = 0


class _ParserProcess:
    """One process after another, and the documents given to it in order. The first is the one being read.

    This is asyncio and not anyio, whose streams take a turn of the event loop and three objects for every document.
    """

    def __init__(self, hello: ParserOptions) -> None:
        self._options = encode_message(hello)
        self._tickets: deque[_PendingDocument] = deque()
        self._sent = 0  # how many of the tickets, from the first, the living process has got
        self._more = asyncio.Event()  # set when there are tickets that feeding has not looked at

    def __len__(self) -> int:
        return len(self._tickets)

    def take(self, ticket: _PendingDocument) -> None:
        """Queue a document."""
        self._tickets.append(ticket)
        self._more.set()

    async def serve(self, deadline: float) -> None:
        """Answer documents for ever; a process that hangs on one or dies of one is replaced.

        There is none before the first document: where nothing changed since an earlier run, there is nothing to read.
        """
        while True:
            await self._wait_for_document()
            # -P: a folder named crawler in the working directory must not be taken for ours
            command = (sys.executable, "-P", "-m", "crawler.parse.worker")
            pipe = asyncio.subprocess.PIPE
            process = await asyncio.create_subprocess_exec(
                *command, stdin=pipe, stdout=pipe, limit=_READ_SIZE
            )
            try:
                async with anyio.create_task_group() as life:
                    life.start_soon(self._feed, process)
                    self._fail_first(await self._collect(process, deadline))
                    life.cancel_scope.cancel()
            finally:
                _kill(process)
                with anyio.CancelScope(shield=True):
                    await process.wait()

    async def _wait_for_document(self) -> None:
        while not self._tickets:
            await self._more.wait()

    async def _feed(self, process: asyncio.subprocess.Process) -> None:
        """Write documents as they come; apart from collecting, for a pipe full both ways would stop both ends."""
        stdin = process.stdin
        assert stdin is not None  # noqa: S101 - started with pipes
        self._sent = 0
        try:
            stdin.write(self._options)
            while True:
                self._more.clear()
                while self._sent < len(self._tickets):
                    self._sent += 1
                    frame = memoryview(encode_message(self._tickets[self._sent - 1].job))
                    for start in range(0, len(frame), _WRITE_SIZE):
                        stdin.write(frame[start : start + _WRITE_SIZE])
                        await stdin.drain()
                await self._more.wait()
        except (OSError, RuntimeError):  # uvloop raises the latter
            return  # the process is gone; collecting finds out

    async def _collect(self, process: asyncio.subprocess.Process, deadline: float) -> str:
        """Take pages until a document kills the process or outlasts the deadline; says which."""
        stdout, loop = process.stdout, asyncio.get_running_loop()
        assert stdout is not None  # noqa: S101 - started with pipes
        while True:
            await self._wait_for_document()
            alarm = loop.call_later(deadline, _kill, process)
            try:
                (length,) = LENGTH_PREFIX.unpack(await stdout.readexactly(LENGTH_PREFIX.size))
                frame = await stdout.readexactly(length)
            except asyncio.IncompleteReadError:
                return PARSE_TIMEOUT if alarm.when() <= loop.time() else PARSE_CRASH
            finally:
                alarm.cancel()
            self._answer(decode_page(frame))

    def _answer(self, page: Page) -> None:
        ticket = self._tickets.popleft()
        self._sent -= 1
        if not ticket.page.done():  # who asked may have been cancelled
            ticket.page.set_result(page)

    def _fail_first(self, why: str) -> None:
        """The first document did it: next time by the linear scanner, and when that fails too, it is given up.

        Of a single crash it may be innocent, for a process can also be ended from outside: it is read once more.
        """
        if not self._tickets:
            return
        ticket = self._tickets[0]
        ticket.crashes += why == PARSE_CRASH
        if why == PARSE_CRASH and ticket.crashes == 1:
            return
        job = ticket.job
        if job.why_scan or job.document.kind is not DocumentKind.PAGE:
            self._answer(Page(is_html=False, faults=[f"could not be read ({why})"], fallback=why))
        else:
            ticket.job = ParseJob(job.document, job.now, why)


class ParsePool:
    """``processes`` workers. Use as an async context manager; :meth:`read` never raises for a document."""

    def __init__(self, processes: int, hello: ParserOptions) -> None:
        self._deadline = hello.deadline
        # a worker ends itself only when nobody is there to do it: well after the pool would have
        hello = ParserOptions(hello.options, hello.params, hello.deadline * 2 + 1, hello.memory)
        self._workers = [_ParserProcess(hello) for _ in range(processes)]
        self._tasks: TaskGroup | None = None

    async def __aenter__(self) -> Self:
        self._tasks = await anyio.create_task_group().__aenter__()
        for worker in self._workers:
            self._tasks.start_soon(worker.serve, self._deadline)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        assert self._tasks is not None  # noqa: S101 - entered before it is left
        self._tasks.cancel_scope.cancel()
        return await self._tasks.__aexit__(kind, error, trace)

    async def read(self, document: FetchedDocument) -> Page:
        """What a document says. ``Page.fallback`` tells when it could not be read by the real parser."""
        ticket = _PendingDocument(ParseJob(document, time.time()))
        min(self._workers, key=len).take(ticket)
        return await ticket.page


def _kill(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
