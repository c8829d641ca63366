"""Takes the text of one log, reads its lines and counts them: here, or in a process that does nothing else."""

import gc
import os
import sys
from collections import deque
from typing import Final

import msgspec
from msgspec import Struct

from crawler.audit.sources.logs.bots import BotVerifier
from crawler.audit.sources.logs.claims import PackedCounts, RequestCounts
from crawler.audit.sources.logs.formats import LogReader, choose_reader
from crawler.parse.protocol import encode_message, read_message

MAX_SHOWN: Final = 160

"""Bytes of a line that are quoted."""


def quote_line(line: bytes) -> str:
    """The beginning of a line, quoted, with nothing in it that a terminal would obey."""
    cut = line[:MAX_SHOWN]
    return ascii(cut.decode("utf-8", "replace")) + ("…" if len(line) > MAX_SHOWN else "")


class CountJob(Struct, array_like=True, frozen=True):
    """Frames of text follow, and an empty one after the last. ``names`` are the bots that are known so far.

    ``format`` and ``sample`` tell the format of the log (see :func:`crawler.audit.sources.logs.formats.told`), if it is
    another one than before; else there is no sample.
    """

    names: list[str]
    format: str = ""
    sample: list[bytes] | None = None


class CountedLines(Struct, array_like=True, frozen=True):
    """What some of the text came to: its lines, those that could not be read, one of them, and the requests."""

    rows: int
    unread: int
    unread_example: bytes
    counted: PackedCounts


class LineCounter:
    """Counts the lines of one log, block after block. ``odd`` begins as one that could not be read does."""

    def __init__(self, reader: LogReader, verifier: BotVerifier | None = None) -> None:
        self.reader = reader
        self.counts = RequestCounts(has_agents=reader.has_agents)
        self.rows = self.unread = 0
        self.unread_example = b""
        self._verifier = verifier

    def add(self, text: bytes) -> None:
        """Count whole lines."""
        rows, others = self.reader.rows(text)
        others = [line for line in others if line and not line.isspace()]
        self.rows += len(rows) + len(others)
        self.unread += len(others)
        if others:
            self.unread_example = self.unread_example or others[0][: MAX_SHOWN + 1]
        self.counts.add(self._verifier.verify(rows) if self._verifier else rows)

    def add_counted(self, share: CountedLines) -> None:
        """Add what another process counted of the lines after those that were added so far."""
        self.rows += share.rows
        self.unread += share.unread
        self.unread_example = self.unread_example or share.unread_example
        self.counts.add_counted(share.counted)

    def count_texts(self, texts: deque[bytes], names: list[str]) -> CountedLines:
        """What some text comes to, which is used up. ``names`` are the bots that are known so far."""
        self.counts.begin(names)
        self.rows = self.unread = 0
        self.unread_example = b""
        while texts:
            self.add(texts.popleft())
        return CountedLines(self.rows, self.unread, self.unread_example, self.counts.counted())


_decode = msgspec.msgpack.Decoder(CountJob).decode


def main() -> None:
    """Serve until standard input ends."""
    gc.disable()  # rows are many, and no cycles among them
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    counter: LineCounter | None = None
    while packed := read_message(source):
        job = _decode(packed)
        if job.sample is not None and (reader := choose_reader(job.format, job.sample)):
            counter = LineCounter(reader)
        texts = deque[bytes]()
        while text := read_message(source):
            texts.append(text)
        if counter is None or text is None:
            return
        try:
            sink.write(encode_message(counter.count_texts(texts, job.names)))
            sink.flush()
        except BrokenPipeError:  # nobody is there to hear about it
            os._exit(0)


if __name__ == "__main__":
    main()
