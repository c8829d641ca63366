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
    workers: list[_CountProcess] = []
    idle, waiting = deque[_CountProcess](), deque[tuple[LogBlock, _CountProcess | None]]()

    def oldest() -> tuple[LogBlock, CountedLines | None]:
        block, worker = waiting.popleft()
        if worker is None:
            return block, None
        idle.append(worker)
        return block, worker.share()

    sent = 0  # blocks sent to the first idle worker
    try:
        for block in blocks:
            if not (sent or len(block.text) >= SMALL_BLOCK):
                waiting.append((block, None))
            else:
                idle.extend(_started(workers, 0 if idle else processes))
                while not idle:
                    yield oldest()
                sent = idle[0].take(block, sent)
                if not sent:  # it counts now, before the caller adds up the others, which takes a while
                    waiting.append((block._replace(text=b""), idle.popleft()))
            while waiting and (waiting[0][1] is None or not block.text or len(waiting) > 4 * processes):
                yield oldest()
            if not block.text:
                yield from _kept_counts(block, workers)
    finally:
        for worker in workers:
            worker.end()


def _started(workers: list["_CountProcess"], most: int) -> list["_CountProcess"]:
    """Another worker, as long as there are fewer than ``most``."""
    new = [_CountProcess()] if len(workers) < most else []
    workers += new
    return new


def _kept_counts(end: LogBlock, workers: list["_CountProcess"]) -> Iterator[tuple[LogBlock, CountedLines]]:
    """The counts of a log that the workers have kept."""
    due = [worker for worker in workers if worker.keeps_counts]
    for worker in due:
        worker.count(end)
    for worker in due:
        yield end, worker.share()


class _CountProcess:
    """One worker process. It reads a whole job before it answers, so that no two writers block each other.

    ``keeps_counts``: it may have counts that it has not returned.
    """

    def __init__(self) -> None:
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
        with suppress(OSError, AttributeError):
            fcntl.fcntl(self._to, fcntl.F_SETPIPE_SZ, _PIPE)

    def take(self, block: LogBlock, sent: int) -> int:
        """Send the next block of a job that has ``sent`` ones; returns their number, 0: it counts them. Incomplete."""
        with self._living():
            if not sent:
                self._begin(block)
                if block.head:
                    self._write(block.head)
            if block.text:
                self._write(block.text)
            if block.text and sent + 1 < BLOCKS_PER_JOB:
                return sent + 1
            self._write(b"")
            self._to.flush()
        return 0

    def count(self, end: LogBlock) -> None:
        """Request all counts of a log, by a job without text. Raises Incomplete."""
        self.take(end._replace(text=b"", head=b""), 0)

    def share(self) -> CountedLines:
        """The next answer. Raises Incomplete."""
        with self._living():
            share = _decode(read_message(self._from) or b"")
        self.keeps_counts = share.counted is None
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
        self._log = log

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
