"""Reads access logs from their first byte to their last: files to accounts and claims."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from crawler.claim import Account, Claim, Source
from crawler.errors import UsageError
from crawler.evidence.addresses import Addresses
from crawler.evidence.logs.files import BLOCK, STDIN, File, named
from crawler.evidence.logs.formats import LOOKED_AT, NAMES, Reader, asked, detected
from crawler.evidence.logs.layout import NoFormat
from crawler.evidence.logs.tally import MOST, Tally
from crawler.evidence.logs.verify import ADDRESSES, Resolver, SystemResolver, Verifier

_SHOWN: Final = 160  # bytes of a line that are quoted
_binary = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f]").search


class LogOptions(Struct, frozen=True, kw_only=True):
    """How logs are read.

    ``format`` is a name of :data:`crawler.evidence.logs.formats.NAMES`, nginx's log_format, Apache's LogFormat or a
    ``#Fields:`` line; "" detects. ``verify`` asks DNS (``resolver``, or the system's) for the names of search engines.
    ``most`` are the different requests that are counted at a time, about 300 bytes each.
    """

    format: str = ""
    verify: bool = False
    resolver: Resolver | None = None
    most: int = MOST


class Progress(Struct, frozen=True):
    """How far the reading is: bytes as stored of all files, of how many (0: nobody knows), and lines so far."""

    name: str
    read: int
    size: int
    lines: int


def check_logs(paths: Sequence[str], options: LogOptions) -> list[str]:
    """The files that will be read, in order; each was opened and its format told, but for standard input.

    Raises UsageError for what does not exist, cannot be read or is in no format that is known.
    """
    files = named(list(paths))
    for name in files:
        if name != STDIN:
            with File(name) as file:
                _reader(file, options)
    return files


def is_log(name: str) -> bool:
    """Whether a file is an access log in a format that is known."""
    try:
        with File(name) as file:
            sample = [line for line in file.sample(LOOKED_AT) if line and not line.isspace()]
            return bool(sample) and detected(sample) is not None
    except UsageError:
        return False


def read_logs(
    paths: Sequence[str], addresses: Addresses, options: LogOptions, progress: Callable[[Progress], None]
) -> Iterator[tuple[Account, Iterator[Claim]]]:
    """Each file's account and claims, to be taken in this order. Claims for the same URL come several times.

    An account is complete when its claims were all taken. Raises UsageError as :func:`check_logs` does.
    """
    files = named(list(paths))
    done = _Done(0 if STDIN in files else sum(Path(name).stat().st_size for name in files), progress)
    for name in files:
        with File(name) as file:
            reading = _Reading(file, _reader(file, options), addresses, options)
            yield reading.account, reading.claims(done)
            done.before += file.read


class _Done:
    """Tells how far all of it is."""

    def __init__(self, size: int, progress: Callable[[Progress], None]) -> None:
        self._size = size
        self._progress = progress
        self._lines = 0
        self.before = 0

    def tell(self, file: File, lines: int) -> None:
        self._lines += lines
        self._progress(Progress(file.name, self.before + file.read, self._size, self._lines))


class _Reading:
    """One file being read."""

    def __init__(self, file: File, reader: Reader, addresses: Addresses, options: LogOptions) -> None:
        self.account = Account(source=Source.LOG, name=file.name, format=reader.name)
        self._file = file
        self._reader = reader
        self._tally = Tally(addresses, self.account, reader.has_agents, options.most)
        self._verifier = Verifier(options.resolver or SystemResolver()) if options.verify else None
        self._odd = b""

    def claims(self, done: _Done) -> Iterator[Claim]:
        """All claims; afterwards the account is complete."""
        try:
            for lines in self._file.blocks():
                self._count(lines)
                done.tell(self._file, len(lines))
                if self._tally.is_full:
                    yield from self._tally.rare()
            yield from self._tally.claims()
        finally:
            if self._verifier:
                self._verifier.close()
            self._conclude()

    def _count(self, lines: list[bytes]) -> None:
        rows, others = self._reader.rows(lines)
        others = [line for line in others if line and not line.isspace()]
        self.account.rows += len(rows) + len(others)
        self.account.unread += len(others)
        if others:
            self._odd = self._odd or others[0]
        self._tally.add(self._verifier.verified(rows) if self._verifier else rows)

    def _conclude(self) -> None:
        account, file = self.account, self._file
        account.rows += file.too_long
        account.unread += file.too_long
        account.bytes = file.read
        account.format = self._reader.name
        account.faults += self._faults()
        account.notes += self._notes()
        account.complete = not account.faults

    def _faults(self) -> Iterator[str]:
        account, file = self.account, self._file
        if file.torn:
            yield f"{file.name} is damaged and was read up to there ({file.torn}); {account.rows:,} lines were read"
        if account.unread * 2 > account.rows:
            seen = f", for example {shown(self._odd)}" if self._odd else ""
            yield (
                f"{account.unread:,} of {account.rows:,} lines of {file.name} are not in the format"
                f" {account.format}{seen}; name the right one (--log-format)"
            )
        if account.foreign and not account.used:
            hosts = sorted(self._tally.hosts, key=self._tally.hosts.__getitem__, reverse=True)[:3]
            yield (
                f"every request in {file.name} is for another site"
                f"{': ' + ', '.join(shown(host.encode()) for host in hosts) if hosts else ''}"
            )

    def _notes(self) -> Iterator[str]:
        account, file = self.account, self._file
        if not account.rows and not file.torn:
            yield f"{file.name} is empty"
        if 0 < account.unread * 2 <= account.rows and self._odd:
            yield f"{account.unread:,} lines could not be read, for example {shown(self._odd)}"
        if file.too_long:
            yield f"{file.too_long:,} lines are longer than {BLOCK:,} bytes"
        if file.is_cut and not file.torn:
            yield "the last line has no end: it is being written, or was cut"
        if account.used and not self._reader.has_agents:
            yield "the format does not name browsers: bots are counted as people"
        if self._tally.ours:
            yield f"{self._tally.ours:,} by Siteatlas itself, which is no evidence"
        if self._verifier and self._verifier.unasked:
            yield f"more than {ADDRESSES:,} addresses of bots: DNS was not asked for the rest, which stay unverified"


def _reader(file: File, options: LogOptions) -> Reader:
    sample = [line for line in file.sample(LOOKED_AT) if line and not line.isspace()]
    if options.format:
        return _as_asked(file, options.format, sample)
    reader = detected(sample)
    if reader:
        return reader
    if not sample:
        return asked("combined", sample)  # an empty file is in every format
    if b"\0" in sample[0] or _binary(sample[0][:_SHOWN]):
        raise UsageError(f"the log {file.name} is no text, nor packed as .gz, .zst, .bz2, .xz or .zip")
    raise UsageError(
        f"cannot tell in which format the log {file.name} is; it begins {shown(sample[0])}; name the format"
        f" (--log-format: {', '.join(NAMES)}, or nginx's log_format or Apache's LogFormat as it stands)"
    )


def _as_asked(file: File, text: str, sample: list[bytes]) -> Reader:
    try:
        reader = asked(text, sample)
        others = reader.rows(sample)[1]
        reader = asked(text, sample)  # the first lines come again, in their order
    except NoFormat as error:
        raise UsageError(
            f"--log-format {shown(text.encode())} does not do for {file.name}: {error}"
        ) from None
    if sample and len(others) == len(sample):
        raise UsageError(
            f"the log {file.name} is not in the format that was given (--log-format); it begins {shown(sample[0])}"
        )
    return reader


def shown(line: bytes) -> str:
    """The beginning of a line, quoted, with nothing in it that a terminal would obey."""
    cut = line[:_SHOWN]
    return ascii(cut.decode("utf-8", "replace")) + ("…" if len(line) > _SHOWN else "")
