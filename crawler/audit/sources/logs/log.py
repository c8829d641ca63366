"""Reads one access log: its blocks of lines, the claims from them, and the report of the source."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from msgspec import Struct

from crawler.audit.source_record import IgnoreReason, SourceKind, SourceRecord, SourceReport
from crawler.audit.sources.logs.bots import MAX_ADDRESSES, BotAddresses, BotLedger, BotVerifier, DnsResolver
from crawler.audit.sources.logs.claims import MAX_TARGETS, AddressCounts, LogClaimBuilder, OwnTargets
from crawler.audit.sources.logs.fields import LogReader
from crawler.audit.sources.logs.files import BLOCK_SIZE, LogFile
from crawler.audit.sources.logs.text_formats import W3cLogReader
from crawler.audit.sources.logs.worker import CountedLines, LineCounter, line_form, quote_line
from crawler.audit.sources.urls import SourceUrlParser
from crawler.units import count_text


class LogOptions(Struct, frozen=True, kw_only=True):
    """How logs are read.

    ``format`` is a name of :data:`crawler.audit.sources.logs.formats.NAMES`, nginx's log_format, Apache's LogFormat
    or a ``#Fields:`` line; "" detects it. ``verify`` verifies bots by DNS (``resolver``, or the system's). ``most``
    limits the different requests that are counted at a time, about 300 bytes each. So many ``processes`` count the
    lines of long logs; if bots are verified, it is one. ``addresses`` are those that operators of bots publish.
    ``keep_tokens`` keeps values of parameters that look like secrets.
    """

    format: str = ""
    verify: bool = False
    resolver: DnsResolver | None = None
    addresses: dict[str, BotAddresses] = {}
    most: int = MAX_TARGETS
    processes: int = 1
    keep_tokens: bool = False

    @property
    def verifier(self) -> BotVerifier | None:
        """What verifies bots, if anything does."""
        if not (self.verify or self.addresses):
            return None
        return BotVerifier((self.resolver or DnsResolver()) if self.verify else None, published=self.addresses)


_TABLES: Final = 4  # a process that counts holds so much less than the process that adds all counts up


class LogBlock(NamedTuple):
    """A block of lines of a log, b"" at its end.

    ``turn`` is its place in the log. ``head`` is the header line that another process needs to parse the lines.
    ``read`` are the bytes of the file up to their end.
    """

    log: "AccessLog"
    turn: int
    text: bytes
    head: bytes
    read: int


class AccessLog:
    """One log being read. Another process can read it too, by its ``format`` option and its first lines, ``sample``.

    Such a process holds at most about ``most`` targets.
    """

    def __init__(
        self,
        file: LogFile,
        reader: LogReader,
        addresses: SourceUrlParser,
        options: LogOptions,
        successes: AddressCounts,
        bots: BotLedger,
    ) -> None:
        self.format = options.format
        self.most = options.most // _TABLES
        self.sample = file.sample()
        self.report = SourceReport(source=SourceKind.LOG, name=file.name, format=reader.name)
        self._file = file
        self._reader = reader
        self._verifier = options.verifier
        self._addresses = options.addresses
        self.own = OwnTargets(*addresses.own_paths())
        self._bots = bots
        self._counter = LineCounter(reader, self.own, self._verifier, successes, bots)
        self._tally = LogClaimBuilder(
            addresses, self.report, self._counter.counts, options.most, keep_tokens=options.keep_tokens
        )

    @property
    def names(self) -> list[str]:
        """The bots that are known so far."""
        return self._counter.counts.names

    @property
    def read(self) -> int:
        """The bytes of the file that were read."""
        return self._file.read

    def blocks(self) -> Iterator[LogBlock]:
        """All blocks of lines, and the end."""
        head = b""
        turn = 0
        for turn, text in enumerate(self._file.blocks(), start=1):
            yield LogBlock(self, turn, text, head, self.read)
            if isinstance(self._reader, W3cLogReader):
                head = self._reader.header_at_end(text) or head
        yield LogBlock(self, turn + 1, b"", b"", self.read)

    def claims(
        self, parts: Iterable[tuple[LogBlock, CountedLines | None]], done: Callable[[int, int], None]
    ) -> Iterator[SourceRecord]:
        """All claims; afterwards the report is complete.

        ``parts`` are its blocks in order, some with the counts of another process. Calls ``done`` with the bytes read
        so far and the number of new lines.
        """
        counter = self._counter
        try:
            for block, share in parts:
                previous_rows = counter.rows
                if share:
                    counter.add_counted(share)
                else:
                    counter.add(block.text, block.turn)
                done(block.read, counter.rows - previous_rows)
                if self._tally.is_full:
                    yield from self._tally.take_rarest()
            yield from self._tally.take_all()
        finally:
            if self._verifier:
                self._verifier.close()
            self._counter.counts.finish()
            self._finish()

    def _finish(self) -> None:
        report, file = self.report, self._file
        report.rows = self._counter.rows + file.too_long
        report.unread = self._counter.unread + file.too_long
        report.bytes = file.read
        report.format = self._reader.name
        self._bots.has_agents &= self._reader.has_agents or not report.used
        ours = self._counter.counts.ours
        report.ignored = {IgnoreReason.METHOD: report.beside - ours, IgnoreReason.OWN: ours}
        report.faults += self._faults()
        report.notes += self._notes()
        report.complete = not report.faults

    def _faults(self) -> Iterator[str]:
        report, file, odd = self.report, self._file, self._counter.unread_example
        if file.read_error:
            yield (f"{file.name} is damaged, so only its first {report.rows:,} lines were read ({file.read_error})")
        if report.unread * 2 > report.rows:
            example = f", for example of the form {line_form(odd)}" if odd else ""
            yield (
                f"{report.unread:,} of {report.rows:,} lines of {file.name} are not in the format"
                f" {report.format}{example}; give the right format (audit.log_format)"
            )
        if self._tally.hosts and not report.used:
            hosts = sorted(self._tally.hosts, key=self._tally.hosts.__getitem__, reverse=True)[:3]
            yield (
                f"every request in {file.name} is for another site "
                f"({', '.join(quote_line(host.encode()) for host in hosts)}). Give a log of the audited site"
            )

    def _notes(self) -> Iterator[str]:
        report, file, odd = self.report, self._file, self._counter.unread_example
        if not report.rows and not file.read_error:
            yield f"{file.name} is empty"
        if 0 < report.unread * 2 <= report.rows and odd:
            yield f"{report.unread:,} lines could not be read, for example {quote_line(odd)}"
        if masked := self._tally.masked:
            yield (
                f"{count_text(masked, 'request')} had values that look like secrets, so *** replaces these values, and "
                f"the audit does not request such URLs (--set audit.keep_tokens=true keeps the values)"
            )
        if file.too_long:
            yield f"{file.too_long:,} lines are longer than {BLOCK_SIZE:,} bytes"
        if file.is_cut and not file.read_error:
            yield "the last line is incomplete: it is being written, or was cut off"
        if report.used and not self._reader.has_agents:
            yield "the format has no user agents, so bots are counted as people"
        if methods := report.ignored[IgnoreReason.METHOD]:
            yield f"ignored: {methods:,} with a method other than GET and HEAD, or without a URL"
        if ours := report.ignored[IgnoreReason.OWN]:
            yield f"{ours:,} by Siteatlas itself, which do not count"
        yield from (
            f"{name} is verified by the addresses that its operator published{known.day and f' on {known.day}'}"
            for name, known in self._addresses.items()
        )
        if self._verifier and not self._verifier.is_whole:
            yield (
                f"some addresses of bots are not checked, because DNS gave no answer, or they are more than "
                f"{MAX_ADDRESSES:,}: their requests count as those of the bots that they name"
            )
