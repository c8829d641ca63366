"""Reads the details of many pages in other processes, which takes most of the time of a large data set."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import msgspec
from isal import isal_zlib

from crawler.parse.protocol import bare_environment, encode_message, read_message, worker_command
from crawler.parse.snapshot.details import read_details
from crawler.parse.snapshot.snapshot import load_markup

LEAST: Final = 500
"""Pages of one batch from which on processes are started: to start one takes as long as to read that many."""
_MOST_PROCESSES: Final = 4
_encode = msgspec.msgpack.Encoder().encode


class _Parts(msgspec.Struct, frozen=True, array_like=True):
    """Snapshots, or what is read of them."""

    parts: list[bytes]


_decode_parts = msgspec.msgpack.Decoder(_Parts).decode


def pack_details(snapshot: bytes) -> bytes:
    """The details of a page from its snapshot, compressed."""
    packed: bytes = isal_zlib.compress(_encode(read_details(load_markup(snapshot))), 1)
    return packed


class DetailReaders:
    """Processes that read while this one does something else. They end when this is closed, or this process ends."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []
        self._given: list[Sequence[bytes]] = []

    def begin(self, snapshots: Sequence[bytes]) -> None:
        """Begin to read a batch. Few are read in :meth:`packed`, without another process."""
        count = min(_MOST_PROCESSES, os.cpu_count() or 1) if len(snapshots) >= LEAST or self._processes else 0
        while len(self._processes) < count:
            self._processes.append(
                subprocess.Popen(  # noqa: S603 - ours
                    worker_command(__name__), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=bare_environment()
                )
            )
        size = -(-len(snapshots) // max(1, count))
        self._given = [snapshots[at : at + size] for at in range(0, len(snapshots), max(1, size))]
        for process, given in zip(self._processes, self._given, strict=False):
            with suppress(OSError):  # of one that was killed, this process reads the pages itself
                if process.stdin:
                    process.stdin.write(encode_message(_Parts([*given])))
                    process.stdin.flush()

    def packed(self) -> list[bytes]:
        """What :func:`pack_details` gives for each page of the batch, in its order."""
        found: list[bytes] = []
        for place, given in enumerate(self._given):
            answer = None
            if place < len(self._processes) and (source := self._processes[place].stdout):
                answer = read_message(source)
            found += _decode_parts(answer).parts if answer else map(pack_details, given)
        self._given = []
        return found

    def close(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.kill()
            with suppress(OSError), process:
                pass
        self._processes.clear()


def main() -> None:
    """Read what comes on standard input, until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    while message := read_message(sys.stdin.buffer):
        sys.stdout.buffer.write(encode_message(_Parts([pack_details(part) for part in _decode_parts(message).parts])))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
