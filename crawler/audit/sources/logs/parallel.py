"""Has several processes count the lines of logs: text goes out in turn, and what it came to comes back in order."""

import fcntl
import subprocess
import sys
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import IO, Final

import msgspec

from crawler.audit.sources.logs.log import AccessLog, LogBlock
from crawler.audit.sources.logs.worker import CountedLines, CountJob
from crawler.errors import Incomplete
from crawler.parse.protocol import LENGTH_PREFIX, encode_message, read_message

BLOCKS_BEFORE_WORKERS: Final = 16
"""Blocks that are counted here before there are other processes: starting them takes as long."""
BLOCKS_PER_JOB: Final = 6
"""Blocks that a process gets at a time. The more, the fewer things come back several times; all are held in memory."""
SMALL_BLOCK: Final = 2**18
"""Bytes of a block that is not worth the handing on."""
_PIPE: Final = 2**20  # bytes that a pipe may hold, where that can be said
_decode = msgspec.msgpack.Decoder(CountedLines).decode


def count_in_parallel(
    blocks: Iterator[LogBlock], processes: int
) -> Generator[tuple[LogBlock, CountedLines | None]]:
    """Blocks in their order, with what they came to; None where nobody counted the lines yet.

    Of those that were counted elsewhere some of one log come together, as the last of them. Raises Incomplete when a
    process ends that should not. Close it to end them all.
    """
    yield from (
        (block, None) for block in (islice(blocks, BLOCKS_BEFORE_WORKERS) if processes > 1 else blocks)
    )
    turns = _TurnQueue(processes)
    try:
        for block in blocks:
            yield from turns.take(block)
        yield from turns.remaining()
    finally:
        turns.end()


class _TurnQueue:
    """Whose turn it is. What is too small to be handed on waits until it is its turn to be counted here."""

    def __init__(self, processes: int) -> None:
        self._most = processes
        self._workers: list[_CountProcess] = []
        self._idle: deque[_CountProcess] = deque()
        self._waiting: deque[tuple[LogBlock, _CountProcess | None]] = deque()
        self._given = 0  # blocks, to the first of those that are idle

    def take(self, block: LogBlock) -> list[tuple[LogBlock, CountedLines | None]]:
        """See that it is counted; what is counted by now."""
        done = []
        if self._given or len(block.text) >= SMALL_BLOCK:
            if not self._idle and len(self._workers) < self._most:
                self._workers.append(_CountProcess())
                self._idle.append(self._workers[-1])
            while not self._idle:
                done.append(self._oldest())
            self._give(block)
        else:
            self._waiting.append((block, None))
        while self._waiting and (self._waiting[0][1] is None or len(self._waiting) > 4 * self._most):
            done.append(self._oldest())
        return done

    def remaining(self) -> Iterator[tuple[LogBlock, CountedLines | None]]:
        """What was not counted yet."""
        while self._waiting:
            yield self._oldest()

    def end(self) -> None:
        """Leave no process behind."""
        for worker in self._workers:
            worker.end()

    def _give(self, block: LogBlock) -> None:
        if block.text:
            self._idle[0].take(block)
            self._given += 1
        if self._given == BLOCKS_PER_JOB or not block.text:
            self._idle[0].count()  # before the others are added up, which takes a while
            self._waiting.append((block._replace(text=b""), self._idle.popleft()))
            self._given = 0

    def _oldest(self) -> tuple[LogBlock, CountedLines | None]:
        block, worker = self._waiting.popleft()
        if worker is None:
            return block, None
        share = worker.share()
        self._idle.append(worker)
        return block, share


class _CountProcess:
    """One process. It takes all of a job before it answers, so that never both of us wait for the other to read."""

    def __init__(self) -> None:
        # -P: a folder named crawler in the working directory must not be taken for ours. In a group of its own it does
        # not hear Ctrl-C, which is for us.
        self._process = subprocess.Popen(
            (sys.executable, "-P", "-m", "crawler.audit.sources.logs.worker"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,
        )
        assert self._process.stdin  # noqa: S101 - started with pipes
        assert self._process.stdout  # noqa: S101 - started with pipes
        self._to: IO[bytes] = self._process.stdin
        self._from: IO[bytes] = self._process.stdout
        self._log: AccessLog | None = None
        self._is_told = False  # what the next text is
        with suppress(OSError, AttributeError):
            fcntl.fcntl(self._to, fcntl.F_SETPIPE_SZ, _PIPE)

    def take(self, block: LogBlock) -> None:
        """Give it more to count. Raises Incomplete."""
        with self._living():
            if not self._is_told:
                log = block.log
                sample = None if log is self._log else log.sample
                self._to.write(encode_message(CountJob(log.names, log.format, sample)))
                self._log, self._is_told = log, True
                if block.head:
                    self._write(block.head)
            self._write(block.text)

    def count(self) -> None:
        """Have it count what it was given. Raises Incomplete."""
        with self._living():
            self._write(b"")
            self._to.flush()
        self._is_told = False

    def share(self) -> CountedLines:
        """What that came to. Raises Incomplete."""
        with self._living():
            return _decode(read_message(self._from) or b"")

    def end(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        with suppress(OSError):
            self._to.close()
        self._from.close()
        self._process.wait()

    def _write(self, text: bytes) -> None:
        self._to.write(LENGTH_PREFIX.pack(len(text)))
        self._to.write(text)

    @contextmanager
    def _living(self) -> Iterator[None]:
        try:
            yield
        except (OSError, msgspec.DecodeError):  # an answer that is cut off, or there is none
            code = self._process.wait()
            how = f"was killed (signal {-code})" if code < 0 else f"ended with {code}"
            raise Incomplete(
                f"a process that read logs {how}: run the same command again, with --processes 1 if it happens again"
            ) from None
