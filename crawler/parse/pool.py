"""Runs the pool of parser processes: takes documents and returns pages.

A document on which its process hangs or crashes affects no other document.
"""

import asyncio
import logging
import time
from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Self

import anyio
from anyio.abc import TaskGroup
from msgspec.structs import replace

from crawler.model import DocumentKind, FetchedDocument, Page
from crawler.parse.protocol import (
    LENGTH_PREFIX,
    ParseJob,
    ParserOptions,
    bare_environment,
    decode_page,
    encode_message,
    worker_command,
)

log = logging.getLogger(__name__)
PARSE_TIMEOUT = "parse.timeout"
PARSE_CRASH = "parse.crash"
_READ_SIZE = 1 << 18
_WRITE_SIZE = 1 << 18  # bytes written at once: asyncio copies what the pipe cannot take


class _PendingDocument:
    """A document that waits for a parser process or is in one."""

    __slots__ = ("crashes", "job", "page")

    def __init__(self, job: ParseJob) -> None:
        self.job = job
        self.page: asyncio.Future[Page] = asyncio.get_running_loop().create_future()
        self.crashes = 0


class _ParserProcess:
    """Keeps one parser process alive, with a queue of documents. The process reads the first of the queue.

    It uses asyncio, because anyio's streams cost a turn of the event loop and three objects for every document.
    """

    def __init__(self, options: ParserOptions) -> None:
        self._options = encode_message(options)
        self._queue: deque[_PendingDocument] = deque()
        self._sent = 0  # documents of the queue, from the first, that the current process has
        self._added = asyncio.Event()  # set when the queue has documents that _feed has not seen

    def __len__(self) -> int:
        return len(self._queue)

    def put(self, pending: _PendingDocument) -> None:
        """Queue a document."""
        self._queue.append(pending)
        self._added.set()

    async def serve(self, deadline: float) -> None:
        """Read documents until cancelled. Replaces a process that hangs or crashes.

        The first process starts with the first document: a run in which no page changed needs none.
        """
        while True:
            await self._wait_for_document()
            command = worker_command("crawler.parse.worker")
            pipe = asyncio.subprocess.PIPE
            process = await asyncio.create_subprocess_exec(
                *command, stdin=pipe, stdout=pipe, limit=_READ_SIZE, env=bare_environment()
            )
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._feed, process)
                    self._fail_first(await self._collect(process, deadline))
                    tasks.cancel_scope.cancel()
            finally:
                _kill(process)
                with anyio.CancelScope(shield=True):
                    await process.wait()

    async def _wait_for_document(self) -> None:
        while not self._queue:
            await self._added.wait()

    async def _feed(self, process: asyncio.subprocess.Process) -> None:
        """Write documents as they come. It runs beside _collect: with both pipes full, both ends would stop."""
        stdin = process.stdin
        assert stdin is not None  # noqa: S101 - started with pipes
        self._sent = 0
        try:
            stdin.write(self._options)
            while True:
                self._added.clear()
                while self._sent < len(self._queue):
                    self._sent += 1
                    frame = memoryview(encode_message(self._queue[self._sent - 1].job))
                    for start in range(0, len(frame), _WRITE_SIZE):
                        stdin.write(frame[start : start + _WRITE_SIZE])
                        await stdin.drain()
                await self._added.wait()
        except (OSError, RuntimeError):  # uvloop raises the latter
            return  # the process has ended; _collect notices

    async def _collect(self, process: asyncio.subprocess.Process, deadline: float) -> str:
        """Read pages until the process ends, by a crash or at the deadline of a document; return which."""
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
        pending = self._queue.popleft()
        self._sent -= 1
        if not pending.page.done():  # the caller may have been cancelled
            pending.page.set_result(page)

    def _fail_first(self, reason: str) -> None:
        """Blame the first document: the linear scanner reads it next, and if that fails too, it is a parse failure.

        After its first crash it is read again as before, because something else may have ended the process.
        """
        if not self._queue:
            return
        pending = self._queue[0]
        pending.crashes += reason == PARSE_CRASH
        if reason == PARSE_CRASH and pending.crashes == 1:
            return
        job = pending.job
        if job.why_scan or job.document.kind is not DocumentKind.PAGE:
            self._answer(Page(is_html=False, faults=[f"could not be read ({reason})"], fallback=reason))
        else:
            pending.job = ParseJob(job.document, job.now, reason)


class ParsePool:
    """Reads documents in ``processes`` parser processes. Use it as an async context manager."""

    def __init__(self, processes: int, options: ParserOptions) -> None:
        if log.isEnabledFor(logging.INFO):
            from crawler.parse.sandbox import missing_protection  # noqa: PLC0415 - ctypes takes 5 ms

            if gap := missing_protection():
                log.info(gap)
        self._deadline = options.deadline
        # a worker ends itself well after the pool would have killed it
        options = replace(options, deadline=options.deadline * 2 + 1)
        self._workers = [_ParserProcess(options) for _ in range(processes)]
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
        """The page of a document. Never raises; ``Page.fallback`` is why the HTML5 parser could not read it, or ""."""
        pending = _PendingDocument(ParseJob(document, time.time()))
        min(self._workers, key=len).put(pending)
        return await pending.page


def _kill(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
