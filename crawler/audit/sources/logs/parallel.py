"""Counts the lines of logs in several processes; the results come in the order of the text."""

import fcntl
import subprocess
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import IO, Final

import msgspec

from crawler.audit.sources.logs.log import AccessLog, LogBlock
from crawler.audit.sources.logs.worker import CountedLines, CountJob
from crawler.errors import Incomplete
from crawler.parse.protocol import LENGTH_PREFIX, bare_environment, encode_message, read_message, worker_command

BLOCKS_BEFORE_WORKERS: Final = 16
"""Blocks that this process counts first: starting workers takes as long."""
BLOCKS_PER_JOB: Final = 6
"""Blocks of one job, which are all held in memory."""
SMALL_BLOCK: Final = 2**18
"""Bytes of a block that is not worth sending to a worker."""
_PIPE: Final = 2**20  # bytes of a pipe's buffer, where that can be set
_decode = msgspec.msgpack.Decoder(CountedLines).decode


def count_in_parallel(blocks: Iterator[LogBlock], processes: int) -> Generator[tuple[LogBlock, CountedLines | None]]:
    """Blocks in order, with the counts of a worker; None for blocks that the caller must count.

    The blocks of one job of a worker come as one, the last of them. A worker keeps the counts of several jobs, so the
    end of a log comes once for each worker. Raises Incomplete when a worker ends unexpectedly.
    Close the generator to end all workers.
    """
    yield from ((block, None) for block in (islice(blocks, BLOCKS_BEFORE_WORKERS) if processes > 1 else blocks))
    turns = _TurnQueue(processes)
    try:
        for block in blocks:
            yield from turns.take(block)
        yield from turns.remaining()
    finally:
        turns.end()


class _TurnQueue:
    """The queue of jobs and workers. A small block waits in the queue until the caller counts it."""

    def __init__(self, processes: int) -> None:
        self._limit = processes
        self._workers: list[_CountProcess] = []
        self._idle: deque[_CountProcess] = deque()
        self._waiting: deque[tuple[LogBlock, _CountProcess | None]] = deque()
        self._sent = 0  # blocks sent to the first idle worker

    def take(self, block: LogBlock) -> list[tuple[LogBlock, CountedLines | None]]:
        """Queue a block, and return the blocks that are done."""
        done = []
        if self._sent or len(block.text) >= SMALL_BLOCK:
            if not self._idle and len(self._workers) < self._limit:
                self._workers.append(_CountProcess())
                self._idle.append(self._workers[-1])
            while not self._idle:
                done.append(self._oldest())
            self._give(block)
        else:
            self._waiting.append((block, None))
        if not block.text:
            self._finish_log(block)
        while self._waiting and (self._waiting[0][1] is None or len(self._waiting) > 4 * self._limit):
            done.append(self._oldest())
        return done

    def remaining(self) -> Iterator[tuple[LogBlock, CountedLines | None]]:
        """The blocks that are still in the queue."""
        while self._waiting:
            yield self._oldest()

    def end(self) -> None:
        """End all workers."""
        for worker in self._workers:
            worker.end()

    def _give(self, block: LogBlock) -> None:
        """Give a block to the first idle worker, and start its job when the job is complete."""
        if block.text:
            self._idle[0].take(block)
            self._sent += 1
        if self._sent == BLOCKS_PER_JOB or not block.text:
            self._idle[0].count()  # start counting before the caller adds up the others, which takes a while
            self._waiting.append((block._replace(text=b""), self._idle.popleft()))
            self._sent = 0

    def _finish_log(self, end: LogBlock) -> None:
        """Request the counts of a log that the workers have kept."""
        for worker in self._workers:
            if worker.keeps_counts:
                worker.request_counts(end)
                self._waiting.append((end, worker))
        self._idle = deque(worker for worker in self._idle if not worker.unread)

    def _oldest(self) -> tuple[LogBlock, CountedLines | None]:
        block, worker = self._waiting.popleft()
        if worker is None:
            return block, None
        share = worker.share()
        if not worker.unread:  # else it waits until its next answer is read, and would take no text
            self._idle.append(worker)
        return block, share


class _CountProcess:
    """One worker process. It reads a whole job before it answers, so that no two writers block each other.

    ``unread`` are its answers to come. ``keeps_counts``: it may have counts that it has not returned.
    """

    def __init__(self) -> None:
        self.unread = 0
        self.keeps_counts = False
        self._process = subprocess.Popen(  # noqa: S603 - our own worker
            worker_command("crawler.audit.sources.logs.worker"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,  # Ctrl-C does not reach the worker
            env=bare_environment(),
        )
        assert self._process.stdin  # noqa: S101 - started with pipes
        assert self._process.stdout  # noqa: S101 - started with pipes
        self._to: IO[bytes] = self._process.stdin
        self._from: IO[bytes] = self._process.stdout
        self._log: AccessLog | None = None
        self._has_job = False  # the worker knows the format of the next text
        with suppress(OSError, AttributeError):
            fcntl.fcntl(self._to, fcntl.F_SETPIPE_SZ, _PIPE)

    def take(self, block: LogBlock) -> None:
        """Send a block of the current job. Raises Incomplete."""
        with self._living():
            if not self._has_job:
                self._begin(block)
                if block.head:
                    self._write(block.head)
            self._write(block.text)

    def count(self) -> None:
        """End the job, so that the worker counts it. Raises Incomplete."""
        with self._living():
            self._write(b"")
            self._to.flush()
        self._has_job = False
        self.keeps_counts = True
        self.unread += 1

    def request_counts(self, end: LogBlock) -> None:
        """Send a job without text, which returns all counts. Raises Incomplete."""
        with self._living():
            self._begin(end)
        self.count()

    def share(self) -> CountedLines:
        """The next answer. Raises Incomplete."""
        with self._living():
            share = _decode(read_message(self._from) or b"")
        self.unread -= 1
        self.keeps_counts = bool(self.unread) or share.counted is None
        return share

    def end(self) -> None:
        """Kill the worker."""
        self._process.kill()
        with suppress(OSError):
            self._to.close()
        self._from.close()
        self._process.wait()

    def _begin(self, block: LogBlock) -> None:
        log = block.log
        sample = None if log is self._log else log.sample
        self._to.write(encode_message(CountJob(log.names, block.turn, log.most, log.format, sample, log.own)))
        self._log, self._has_job = log, True

    def _write(self, text: bytes) -> None:
        self._to.write(LENGTH_PREFIX.pack(len(text)))
        self._to.write(text)

    @contextmanager
    def _living(self) -> Iterator[None]:
        try:
            yield
        except (OSError, msgspec.DecodeError):  # the answer is missing or cut off
            code = self._process.wait()
            how = f"was killed (signal {-code})" if code < 0 else f"ended with {code}"
            raise Incomplete(
                f"a process that read logs {how}. Run the same command again. If the error returns, add "
                "--set parse.processes=1"
            ) from None
