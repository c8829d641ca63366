"""One access log from its first line to its last: blocks of lines, and an account and claims of what is in them."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from msgspec import Struct

from crawler.audit.claim import SourceKind, SourceRecord, SourceReport
from crawler.audit.sources.logs.bots import MAX_ADDRESSES, BotVerifier, DnsResolver, SystemDnsResolver
from crawler.audit.sources.logs.claims import MAX_TARGETS, LogClaimBuilder
from crawler.audit.sources.logs.files import BLOCK_SIZE, LogFile
from crawler.audit.sources.logs.formats import LogReader
from crawler.audit.sources.logs.w3c_format import W3cLogReader
from crawler.audit.sources.logs.worker import CountedLines, LineCounter, quote_line
from crawler.audit.sources.urls import SourceUrlParser


class LogOptions(Struct, frozen=True, kw_only=True):
    """How logs are read.

    ``format`` is a name of :data:`crawler.audit.sources.logs.formats.NAMES`, nginx's log_format, Apache's LogFormat
    or a
    ``#Fields:`` line; "" detects. ``verify`` asks DNS (``resolver``, or the system's) for the names of search engines.
    ``most`` are the different requests that are counted at a time, about 300 bytes each. ``processes`` count the lines
    of long logs; whoever is verified is counted by one.
    """

    format: str = ""
    verify: bool = False
    resolver: DnsResolver | None = None
    most: int = MAX_TARGETS
    processes: int = 1


class LogBlock(NamedTuple):
    """Some lines of a log, b"" at its end.

    ``head`` is a line that must come before them for others to understand them, ``read`` how many bytes of the file
    were read with them.
    """

    log: "AccessLog"
    text: bytes
    head: bytes
    read: int


class AccessLog:
    """One log being read. By ``format``, as it was given, and ``sample``, its first lines, others can read it too."""

    def __init__(
        self, file: LogFile, reader: LogReader, addresses: SourceUrlParser, options: LogOptions
    ) -> None:
        self.format = options.format
        self.sample = file.sample()
        self.report = SourceReport(source=SourceKind.LOG, name=file.name, format=reader.name)
        self._file = file
        self._reader = reader
        self._verifier = BotVerifier(options.resolver or SystemDnsResolver()) if options.verify else None
        self._counter = LineCounter(reader, self._verifier)
        self._tally = LogClaimBuilder(addresses, self.report, self._counter.counts, options.most)

    @property
    def names(self) -> list[str]:
        """The bots that are known so far."""
        return self._counter.counts.names

    @property
    def read(self) -> int:
        """Bytes of the file that were read."""
        return self._file.read

    def blocks(self) -> Iterator[LogBlock]:
        """All of its lines, and its end."""
        head = b""
        for text in self._file.blocks():
            yield LogBlock(self, text, head, self.read)
            if isinstance(self._reader, W3cLogReader):
                head = self._reader.header_at_end(text) or head
        yield LogBlock(self, b"", b"", self.read)

    def claims(
        self, parts: Iterable[tuple[LogBlock, CountedLines | None]], done: Callable[[int, int], None]
    ) -> Iterator[SourceRecord]:
        """All claims; afterwards the account is complete.

        ``parts`` are its blocks in their order, some with what others counted in them; ``done`` is told the bytes read
        so far, and the lines that are new.
        """
        counter = self._counter
        try:
            for block, share in parts:
                before = counter.rows
                if share:
                    counter.add_counted(share)
                else:
                    counter.add(block.text)
                done(block.read, counter.rows - before)
                if self._tally.is_full:
                    yield from self._tally.take_rarest()
            yield from self._tally.take_all()
        finally:
            if self._verifier:
                self._verifier.close()
            self._finish()

    def _finish(self) -> None:
        account, file = self.report, self._file
        account.rows = self._counter.rows + file.too_long
        account.unread = self._counter.unread + file.too_long
        account.bytes = file.read
        account.format = self._reader.name
        account.faults += self._faults()
        account.notes += self._notes()
        account.complete = not account.faults

    def _faults(self) -> Iterator[str]:
        account, file, odd = self.report, self._file, self._counter.unread_example
        if file.read_error:
            yield (
                f"{file.name} is damaged and was read up to there ({file.read_error}); {account.rows:,} lines "
                "were read"
            )
        if account.unread * 2 > account.rows:
            seen = f", for example {quote_line(odd)}" if odd else ""
            yield (
                f"{account.unread:,} of {account.rows:,} lines of {file.name} are not in the format"
                f" {account.format}{seen}; name the right one (--log-format)"
            )
        if account.foreign and not account.used:
            hosts = sorted(self._tally.hosts, key=self._tally.hosts.__getitem__, reverse=True)[:3]
            yield (
                f"every request in {file.name} is for another site"
                f"{': ' + ', '.join(quote_line(host.encode()) for host in hosts) if hosts else ''}"
            )

    def _notes(self) -> Iterator[str]:
        account, file, odd = self.report, self._file, self._counter.unread_example
        if not account.rows and not file.read_error:
            yield f"{file.name} is empty"
        if 0 < account.unread * 2 <= account.rows and odd:
            yield f"{account.unread:,} lines could not be read, for example {quote_line(odd)}"
        if file.too_long:
            yield f"{file.too_long:,} lines are longer than {BLOCK_SIZE:,} bytes"
        if file.is_cut and not file.read_error:
            yield "the last line has no end: it is being written, or was cut"
        if account.used and not self._reader.has_agents:
            yield "the format does not name browsers: bots are counted as people"
        ours, files = self._counter.counts.ours, self._tally.files
        if aside := ", ".join(
            f"{number:,} {what}"
            for number, what in (
                (files, "of files that are no pages, such as images, style sheets and robots.txt"),
                (account.beside - files - ours, "by other methods than GET and HEAD, or of no URL"),
            )
            if number
        ):
            yield f"left aside: {aside}"
        if ours:
            yield f"{ours:,} by Siteatlas itself, which is no evidence"
        if self._verifier and self._verifier.unasked:
            yield (
                f"more than {MAX_ADDRESSES:,} addresses of bots: DNS was not asked for the rest, which stay "
                "unverified"
            )
