"""Counts the lines of one log, in this process or in a worker process, which has a sandbox."""

import gc
import os
import re
import sys
from collections import deque
from typing import Final

import msgspec
from msgspec import Struct

from crawler.audit.sources.logs.bots import BotLedger, BotVerifier
from crawler.audit.sources.logs.claims import AddressCounts, OwnTargets, PackedCounts, RequestCounts
from crawler.audit.sources.logs.fields import LogReader
from crawler.audit.sources.logs.formats import choose_reader
from crawler.parse.protocol import encode_message, read_message
from crawler.parse.sandbox import lock_down
from crawler.url.secrets import mask_private

MAX_SHOWN: Final = 160
"""Bytes of a line in a message."""


def quote_line(line: bytes) -> str:
    """The beginning of a line, quoted and without control characters and secrets."""
    cut = mask_private(line[:MAX_SHOWN].decode("utf-8", "replace"))
    return ascii(cut) + ("…" if len(line) > MAX_SHOWN else "")


def line_form(line: bytes) -> str:
    """The form of the beginning of a line: letters as ``a``, digits as ``0``, so that the message shows no content.

    A file that is no log may be any file: another account may have put a link to a secret in its place.
    """
    masked = re.sub(r"[^\W\d]+", "a", re.sub(r"\d+", "0", line[:MAX_SHOWN].decode("utf-8", "replace")))
    return ascii(masked) + ("…" if len(line) > MAX_SHOWN else "")


class CountJob(Struct, array_like=True, frozen=True):
    """A job for a worker. Frames of text follow, then an empty one. ``names`` are the bots known so far.

    The worker keeps its counts until it has ``most`` targets or many addresses, or a job has no text: most targets come
    again. ``turn`` is the place of the text in the log. ``format`` and ``sample`` determine the format (see
    :func:`crawler.audit.sources.logs.formats.choose_reader`). The sample is None when the log is the same as in the
    previous job. ``own`` are the targets of the site.
    """

    names: list[str]
    turn: int = 0
    most: int = 0
    format: str = ""
    sample: list[bytes] | None = None
    own: OwnTargets = OwnTargets()


class CountedLines(Struct, array_like=True, frozen=True):
    """The counts of some text: its lines, and the unreadable ones with an example.

    ``counted`` are the requests of all text since it was last not None.
    """

    rows: int
    unread: int
    unread_example: bytes
    counted: PackedCounts | None


class LineCounter:
    """Counts the lines of one log, block by block. ``unread_example`` is the beginning of an unreadable line."""

    def __init__(
        self,
        reader: LogReader,
        own: OwnTargets,
        verifier: BotVerifier | None = None,
        successes: AddressCounts | None = None,
        bots: BotLedger | None = None,
    ) -> None:
        self.reader = reader
        self.counts = RequestCounts(has_agents=reader.has_agents, own=own, successes=successes, bots=bots)
        self.rows = self.unread = 0
        self.unread_example = b""
        self._verifier = verifier

    def add(self, text: bytes, turn: int) -> None:
        """Count whole lines. ``turn`` is their place in the log."""
        self.counts.turn = turn
        rows, others = self.reader.rows(text)
        others = [line for line in others if line and not line.isspace()]
        self.rows += len(rows) + len(others)
        self.unread += len(others)
        if others:
            self.unread_example = self.unread_example or others[0][: MAX_SHOWN + 1]
        self.counts.add(self._verifier.verify(rows) if self._verifier else rows)

    def add_counted(self, share: CountedLines) -> None:
        """Add the counts of another process."""
        self.rows += share.rows
        self.unread += share.unread
        self.unread_example = self.unread_example or share.unread_example
        if share.counted:
            self.counts.add_counted(share.counted)

    def count_texts(self, texts: deque[bytes], job: CountJob) -> CountedLines:
        """Count and empty the ``texts`` of a job."""
        if not self.counts.targets:
            self.counts.begin(job.names)
        self.rows = self.unread = 0
        self.unread_example = b""
        is_end = not texts
        while texts:
            self.add(texts.popleft(), job.turn)
        is_due = is_end or len(self.counts.targets) >= job.most or self.counts.has_many_addresses
        return CountedLines(self.rows, self.unread, self.unread_example, self.counts.take() if is_due else None)


_decode = msgspec.msgpack.Decoder(CountJob).decode


def main() -> None:
    """Serve until standard input ends."""
    gc.disable()  # there are many rows, and no cycles
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    lock_down()
    counter: LineCounter | None = None
    while packed := read_message(source):
        job = _decode(packed)
        if job.sample is not None and (reader := choose_reader(job.format, job.sample)):
            counter = LineCounter(reader, job.own)
        texts = deque[bytes]()
        while text := read_message(source):
            texts.append(text)
        if counter is None or text is None:
            return
        try:
            sink.write(encode_message(counter.count_texts(texts, job)))
            sink.flush()
        except BrokenPipeError:  # the parent process has ended
            os._exit(0)


if __name__ == "__main__":
    main()
