"""Reads one access log: its blocks of lines, the claims from them, and the report of the source."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from crawler.audit.source_record import IgnoreReason, SourceKind, SourceRecord, SourceReport
from crawler.audit.sources.logs.bots import MAX_ADDRESSES, BotAddresses, BotLedger, BotVerifier, DnsResolver
from crawler.audit.sources.logs.claims import MAX_TARGETS, AddressCounts, RequestCounts
from crawler.audit.sources.logs.fields import LogReader
from crawler.audit.sources.logs.files import BLOCK_SIZE, LogFile
from crawler.audit.sources.urls import SourceUrlParser
from crawler.units import count_text
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


class LogOptions(Struct, frozen=True, kw_only=True):
    """How logs are read.

    ``format`` is a name of :data:`crawler.audit.sources.logs.formats.NAMES`, nginx's log_format, Apache's LogFormat
    or a ``#Fields:`` line; "" detects it. ``verify`` verifies bots by DNS (``resolver``, or the system's). ``most``
    limits the different requests that are counted at a time, about 300 bytes each. ``addresses`` are those that
    operators of bots publish. ``keep_tokens`` keeps values of parameters that look like secrets.
    """

    format: str = ""
    verify: bool = False
    resolver: DnsResolver | None = None
    addresses: dict[str, BotAddresses] = {}
    most: int = MAX_TARGETS
    keep_tokens: bool = False

    @property
    def verifier(self) -> BotVerifier | None:
        """What verifies bots, if anything does."""
        if not (self.verify or self.addresses):
            return None
        return BotVerifier((self.resolver or DnsResolver()) if self.verify else None, published=self.addresses)


class AccessLog:
    """One log being read."""

    def __init__(
        self,
        file: LogFile,
        reader: LogReader,
        addresses: SourceUrlParser,
        options: LogOptions,
        successes: AddressCounts,
        bots: BotLedger,
    ) -> None:
        self.report = SourceReport(source=SourceKind.LOG, name=file.name, format=reader.name)
        self._file = file
        self._reader = reader
        self._verifier = options.verifier
        self._addresses = options.addresses
        self._bots = bots
        self._unread_example = b""
        self._counts = RequestCounts(
            addresses,
            self.report,
            (successes, bots),
            most=options.most,
            keep_tokens=options.keep_tokens,
            has_agents=reader.has_agents,
        )

    def claims(self, done: Callable[[int, int], None]) -> Iterator[SourceRecord]:
        """All claims; afterwards the report is complete. Calls ``done`` with the bytes read and the new lines."""
        try:
            for text in self._file.blocks():
                done(self._file.read, self._count(text))
                if self._counts.is_full:
                    yield from self._counts.take_rarest()
            done(self._file.read, 0)
            yield from self._counts.take_all()
        finally:
            if self._verifier:
                self._verifier.close()
            self._finish()

    def _count(self, text: bytes) -> int:
        """Count whole lines; returns their number."""
        rows, others = self._reader.rows(text)
        others = [line for line in others if line and not line.isspace()]
        if others:
            self._unread_example = self._unread_example or others[0][: MAX_SHOWN + 1]
        self._counts.add(self._verifier.verify(rows) if self._verifier else rows)
        self.report.rows += len(rows) + len(others)
        self.report.unread += len(others)
        return len(rows) + len(others)

    def _finish(self) -> None:
        report, file = self.report, self._file
        report.rows += file.too_long
        report.unread += file.too_long
        report.bytes = file.read
        report.format = self._reader.name
        self._bots.has_agents &= self._reader.has_agents or not report.used
        ours = self._counts.ours
        report.ignored = {IgnoreReason.METHOD: report.beside - ours, IgnoreReason.OWN: ours}
        report.faults += self._faults()
        report.notes += self._notes()
        report.complete = not report.faults

    def _faults(self) -> Iterator[str]:
        report, file, odd = self.report, self._file, self._unread_example
        if file.read_error:
            yield (f"{file.name} is damaged, so only its first {report.rows:,} lines were read ({file.read_error})")
        if report.unread * 2 > report.rows:
            example = f", for example of the form {line_form(odd)}" if odd else ""
            yield (
                f"{report.unread:,} of {report.rows:,} lines of {file.name} are not in the format"
                f" {report.format}{example}; give the right format (audit.log_format)"
            )
        if self._counts.hosts and not report.used:
            hosts = sorted(self._counts.hosts, key=self._counts.hosts.__getitem__, reverse=True)[:3]
            yield (
                f"every request in {file.name} is for another site "
                f"({', '.join(quote_line(host.encode()) for host in hosts)}). Give a log of the audited site"
            )

    def _notes(self) -> Iterator[str]:
        report, file, odd = self.report, self._file, self._unread_example
        if not report.rows and not file.read_error:
            yield f"{file.name} is empty"
        if 0 < report.unread * 2 <= report.rows and odd:
            yield f"{report.unread:,} lines could not be read, for example {quote_line(odd)}"
        if masked := self._counts.masked:
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
