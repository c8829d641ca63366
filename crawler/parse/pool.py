"""Runs the pool of parser processes: takes documents and returns pages.

A document on which its process hangs or crashes affects no other document.
"""

import asyncio
import logging
import socket
import subprocess
import time
from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Self, cast

import anyio
import msgspec
from anyio.abc import TaskGroup
from msgspec.structs import replace
from typing_extensions import override

from crawler.model import DocumentKind, FetchedDocument, Page, Url
from crawler.parse.protocol import (
    BODY_MEMORY,
    LENGTH_PREFIX,
    ParseJob,
    ParserOptions,
    SharedBodies,
    bare_environment,
    decode_page,
    encode_message,
    worker_command,
)
from crawler.robots.rules import MAX_BYTES_IN_PLACE, Robots, disallow_all, parse_robots

log = logging.getLogger(__name__)
PARSE_TIMEOUT = "parse.timeout"
PARSE_CRASH = "parse.crash"
_decode_robots = msgspec.msgpack.Decoder(Robots).decode
START_SECONDS = 60.0  # for a process to start, on a machine with other work
_WRITE_SIZE = 1 << 18  # bytes written at once
# A process with so many documents, or that long with one, is busy: the next document starts another process.
_BUSY_DOCUMENTS = 4
_BUSY_SECONDS = 0.1
_UNREADABLE_ROBOTS = {
    PARSE_TIMEOUT: "robots.txt cannot be read within parse.timeout",
    PARSE_CRASH: "robots.txt cannot be read: its parser process crashes, or needs more than parse.memory",
}


class _PendingDocument:
    """A document that waits for a parser process or is in one. ``is_shared``: its body is in the shared memory."""

    __slots__ = ("crashes", "is_shared", "job", "page")

    def __init__(self, job: ParseJob) -> None:
        self.job = job
        self.page: asyncio.Future[Page] = asyncio.get_running_loop().create_future()
        self.crashes = 0
        self.is_shared = False


class _ParserProcess(asyncio.Protocol):
    """Keeps one parser process alive, with a queue of documents. The process reads the first of the queue.

    It is a protocol, because streams cost turns of the event loop and tasks for every document. The standard library
    starts the process: uvloop runs Python in the forked process when that inherits a file, as it does here.
    """

    def __init__(self, options: ParserOptions, deadline: float) -> None:
        self._options = encode_message(options)
        self._deadline = deadline
        self._queue: deque[_PendingDocument] = deque()
        self._sent = 0  # documents of the queue, from the first, that the current process has
        self._added = asyncio.Event()  # set when a document is queued while no process runs
        self._memory: SharedBodies | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: asyncio.Transport | None = None  # both ways, to the current process
        self._ended = asyncio.Event()  # set when the pipe has ended
        self._unsent: deque[memoryview] = deque()  # of a large document
        self._is_full = False  # the pipe takes no more for now
        self._received = bytearray()
        self._first_since = 0.0  # when the first document of the queue became the first, on the clock of the loop
        self._alarm: asyncio.TimerHandle | None = None
        self._has_started = self._is_late = False

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def is_running(self) -> bool:
        """Whether a process runs, or is about to start."""
        return self._pipe is not None or bool(self._queue)

    @property
    def is_busy(self) -> bool:
        """Whether its documents wait so long that the start of another process pays off."""
        if not self._queue or not self._has_started:
            return False
        waited = asyncio.get_running_loop().time() - self._first_since
        return len(self._queue) >= _BUSY_DOCUMENTS or waited > _BUSY_SECONDS

    def put(self, pending: _PendingDocument) -> None:
        """Queue a document."""
        if not self._queue:
            self._first_since = asyncio.get_running_loop().time()
        self._queue.append(pending)
        if self._pipe is None:
            self._added.set()
        else:
            self._send()

    async def serve(self) -> None:
        """Read documents until cancelled. Replaces a process that hangs or crashes.

        The first process starts with the first document: a run in which no page changed needs none.
        """
        try:
            while True:
                while not self._queue:
                    self._added.clear()
                    await self._added.wait()
                self._fail_first(await self._run_process())
        finally:
            if self._memory:
                self._memory.close()

    async def _run_process(self) -> str:
        """Run one process until it ends, by a crash or at the deadline of a document; return which."""
        loop = asyncio.get_running_loop()
        self._reset()
        self._memory = self._memory or SharedBodies.create()
        own, other = socket.socketpair()
        own.setblocking(False)
        with other:
            process = self._process = _start(other, self._memory)
        try:
            self._first_since = loop.time()
            self._check_deadline()
            await loop.create_unix_connection(lambda: self, sock=own)
            await self._ended.wait()
        finally:
            if self._alarm:
                self._alarm.cancel()
            self._kill()
            if self._pipe:
                self._pipe.abort()
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(process.wait)
        return PARSE_TIMEOUT if self._is_late else PARSE_CRASH

    def _reset(self) -> None:
        self._sent = 0
        self._is_full = self._has_started = self._is_late = False
        self._ended.clear()
        self._unsent.clear()
        self._received.clear()
        for pending in self._queue:
            pending.is_shared = False
        if self._memory:
            self._memory.clear()

    def _check_deadline(self) -> None:
        """End the process if its document is late. One timer serves many documents: it is late itself, and looks."""
        loop = asyncio.get_running_loop()
        limit = self._deadline if self._has_started else max(self._deadline, START_SECONDS)
        left = limit - (loop.time() - self._first_since if self._queue else 0.0)
        if left > 0:
            self._alarm = loop.call_later(left, self._check_deadline)
        else:
            self._is_late = self._has_started
            self._kill()

    def _kill(self) -> None:
        if self._process:
            self._process.kill()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._pipe = cast("asyncio.Transport", transport)  # that of uvloop is no subclass
        self._pipe.write(self._options)
        self._send()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._pipe = None
        self._ended.set()

    @override
    def pause_writing(self) -> None:
        self._is_full = True

    @override
    def resume_writing(self) -> None:
        self._is_full = False
        self._send()

    def _send(self) -> None:
        """Write documents while the pipe takes them. Large ones in pieces: the loop copies what the pipe leaves."""
        while self._pipe and not self._is_full:
            if self._unsent:
                self._pipe.write(self._unsent.popleft())
            elif self._sent < len(self._queue):
                frame = memoryview(encode_message(self._job(self._queue[self._sent])))
                self._sent += 1
                if len(frame) <= _WRITE_SIZE:
                    self._pipe.write(frame)
                else:
                    self._unsent.extend(frame[at : at + _WRITE_SIZE] for at in range(0, len(frame), _WRITE_SIZE))
            else:
                return

    def _job(self, pending: _PendingDocument) -> ParseJob:
        """The message of a document, with its body in the shared memory if it has room."""
        job, document = pending.job, pending.job.document
        start = self._memory.put(document.body) if self._memory else None
        if start is None:
            return job
        pending.is_shared = True
        return replace(job, document=replace(document, body=b""), start=start, size=len(document.body))

    @override
    def data_received(self, data: bytes) -> None:
        received = self._received
        received += data
        at = 0
        while len(received) >= (begin := at + LENGTH_PREFIX.size):
            (length,) = LENGTH_PREFIX.unpack_from(received, at)
            if len(received) < begin + length:
                break
            at = begin + length
            try:
                page = decode_page(received[begin:at])
            except msgspec.DecodeError:
                page = None
            if page is None or (self._has_started and not self._sent):  # no parser of ours writes that
                return self._kill()
            if self._has_started:
                self._answer(page)
            else:
                self._start_clock()
        del received[:at]
        return None

    def _start_clock(self) -> None:
        """The process has started: only now its time with the first document begins."""
        self._has_started = True
        self._first_since = asyncio.get_running_loop().time()
        if self._alarm:
            self._alarm.cancel()
        self._check_deadline()

    def _answer(self, page: Page) -> None:
        pending = self._queue.popleft()
        self._sent -= 1
        self._first_since = asyncio.get_running_loop().time()
        if pending.is_shared and self._memory:
            self._memory.drop_first()
        if not pending.page.done():  # the caller may have been cancelled
            pending.page.set_result(page)

    def _fail_first(self, reason: str) -> None:
        """Blame the first document: it is read flat next, and if that fails too, it is a parse failure.

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


def _start(pipe: socket.socket, memory: SharedBodies | None) -> subprocess.Popen[bytes]:
    """Start a parser process whose standard input and output are a pipe."""
    words: tuple[str, str] = ("-1", "0")
    files: tuple[int, ...] = ()
    if memory:
        words, files = (str(memory.file), str(BODY_MEMORY)), (memory.file,)
    command = (*worker_command("crawler.parse.worker"), *words)
    end = pipe.fileno()
    return subprocess.Popen(command, stdin=end, stdout=end, env=bare_environment(), pass_fds=files)  # noqa: S603 - ours


class ParsePool:
    """Reads documents in ``processes`` parser processes. Use it as an async context manager."""

    def __init__(self, processes: int, options: ParserOptions) -> None:
        if log.isEnabledFor(logging.INFO):
            from crawler.parse.sandbox import missing_protection  # noqa: PLC0415 - ctypes takes 5 ms

            if gap := missing_protection():
                log.info(gap)
        limit = options.deadline
        # a worker ends itself well after the pool would have killed it
        options = replace(options, deadline=options.deadline * 2 + 1)
        self._workers = [_ParserProcess(options, limit) for _ in range(processes)]
        self._token = options.options.token
        self._tasks: TaskGroup | None = None

    async def __aenter__(self) -> Self:
        self._tasks = await anyio.create_task_group().__aenter__()
        for worker in self._workers:
            self._tasks.start_soon(worker.serve)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        assert self._tasks is not None  # noqa: S101 - entered before it is left
        self._tasks.cancel_scope.cancel()
        try:
            return await self._tasks.__aexit__(kind, error, trace)
        except BaseExceptionGroup as group:
            if group.exceptions != (error,):
                raise
            return None  # no process failed: the caller's own error goes on as it is, not in a group

    async def read(self, document: FetchedDocument) -> Page:
        """The page of a document. Never raises; ``Page.fallback`` is why the HTML5 parser could not read it, or ""."""
        return await self._read(ParseJob(document, time.time()))

    async def read_robots(self, body: bytes, at: float) -> Robots:
        """The rules of a robots.txt of this Unix time. Never raises; one that cannot be read allows nothing.

        A short one is read here at once.
        """
        if len(body) <= MAX_BYTES_IN_PLACE:
            return parse_robots(body, self._token, at)
        document = FetchedDocument(Url(""), "", [], [], "", body, DocumentKind.ROBOTS)
        page = await self._read(ParseJob(document, at))
        with suppress(msgspec.DecodeError):
            return _decode_robots(page.robots)
        return disallow_all(_UNREADABLE_ROBOTS.get(page.fallback, "robots.txt cannot be read"), at)

    async def _read(self, job: ParseJob) -> Page:
        pending = _PendingDocument(job)
        self._process_for_next().put(pending)
        return await pending.page

    def _process_for_next(self) -> _ParserProcess:
        """The process with the fewest documents; another one when all that run are busy.

        The start of a process takes as long as parsing a hundred pages, so one reads a small or slow site alone.
        """
        running = [worker for worker in self._workers if worker.is_running]
        if len(running) < len(self._workers) and all(worker.is_busy for worker in running):
            return next(worker for worker in self._workers if not worker.is_running)
        return min(running, key=len)
