"""Reads the pages of a crawl in other processes, which takes most of the time of a large data set."""

import gc
import logging
import os
import signal
import sqlite3
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import msgspec

from crawler.dataset.pages import Batch, PageReader, Rows
from crawler.dataset.schema import DATASET, put
from crawler.errors import SiteatlasError
from crawler.parse.protocol import bare_environment, encode_message, read_message, worker_command
from crawler.state.schema import STATE_DB

LEAST: Final = 500
"""Pages from which on processes are started: to start one takes as long as to read that many."""
log = logging.getLogger(__name__)
_KEPT: Final = 4  # pages whose links the tables have take the time of one whose links are read
_MOST_PROCESSES: Final = 4

_decode_start = msgspec.msgpack.Decoder(tuple[str, bytes]).decode  # the file of the state, and which URLs are external
_decode_batch = msgspec.msgpack.Decoder(tuple[str, Batch]).decode  # the file for its rows


class PageReaders:
    """Processes that read while this one writes. They end when this is closed, or this process ends.

    ``here`` reads in this process: few pages, and those of a process that was killed. The others write the rows of each
    batch into a data set of its own in ``folder``: this process copies them in less time than it decodes messages.
    """

    def __init__(self, here: PageReader, state: Path, external: bytes, folder: Path) -> None:
        self._here = here
        self._folder = folder
        self._start = encode_message((str(state), external))
        self._processes: list[subprocess.Popen[bytes]] = []
        self._pages = 0

    def rows(self, batches: Iterable[Batch]) -> Iterator[Rows | Path]:
        """The rows of all batches, in their order, or the data set that has those of a batch."""
        begun: deque[Iterator[Rows | Path]] = deque()
        for number, batch in enumerate(batches):
            self._pages += len(batch.rows) // (_KEPT if batch.kept else 1)
            if self._pages >= LEAST and not self._processes:
                self._start_processes()
            if len(begun) >= max(1, len(self._processes)):
                yield from begun.popleft()
            begun.append(self._begin(number, batch))
        while begun:
            yield from begun.popleft()

    def _start_processes(self) -> None:
        log.info("Reading the pages of the run, which takes a while. Later commands use the result.")
        for _ in range(min(_MOST_PROCESSES, os.cpu_count() or 1)):
            process = subprocess.Popen(  # noqa: S603 - ours
                worker_command(__name__), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=bare_environment()
            )
            self._processes.append(process)
            _send(process, self._start)

    def _begin(self, number: int, batch: Batch) -> Iterator[Rows | Path]:
        if not self._processes:
            return self._here.rows(batch)
        process = self._processes[number % len(self._processes)]
        part = self._folder / f"{number}.db"
        _send(process, encode_message((str(part), batch)))
        return self._answers(process, part, batch)

    def _answers(self, process: subprocess.Popen[bytes], part: Path, batch: Batch) -> Iterator[Rows | Path]:
        if process.stdout and process.stdout.read(1):
            yield part
            part.unlink()
        else:
            yield from self._here.rows(batch)  # it was killed

    def close(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.kill()
            with suppress(OSError), process:
                pass
        self._processes.clear()


def _send(process: subprocess.Popen[bytes], message: bytearray) -> None:
    with suppress(OSError):  # of one that was killed, this process reads the pages itself
        if process.stdin:
            process.stdin.write(message)
            process.stdin.flush()


def main() -> None:
    """Read what comes on standard input, until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    gc.disable()  # a page makes thousands of objects and no cycles
    file, external = _decode_start(read_message(sys.stdin.buffer) or b"")
    # on a full disk, the process that asks reads the pages itself, and tells of it
    with suppress(sqlite3.Error, SiteatlasError), closing(STATE_DB.open_read_only(Path(file))) as state:
        reader = PageReader(state, external)
        while message := read_message(sys.stdin.buffer):
            part, batch = _decode_batch(message)
            with closing(DATASET.create(Path(part))) as db:
                db.execute("BEGIN")
                for rows in reader.rows(batch):
                    for table, found in rows.items():
                        put(db, table, found)
                db.execute("COMMIT")
            sys.stdout.buffer.write(b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
