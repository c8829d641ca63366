"""Reads access logs: checks the files, chooses their formats, and yields a report and claims for each."""

import re
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Final

from crawler.audit.source_record import SourceKind, SourceProgress, SourceRecord, SourceReport
from crawler.audit.sources.logs.bots import BotLedger
from crawler.audit.sources.logs.claims import AddressCounts
from crawler.audit.sources.logs.fields import LogReader
from crawler.audit.sources.logs.files import LogFile, LogRefused, find_copies, find_logs, is_stream
from crawler.audit.sources.logs.formats import NAMES, choose_reader
from crawler.audit.sources.logs.log import MAX_SHOWN, AccessLog, LogOptions, line_form, quote_line
from crawler.audit.sources.logs.text_formats import LogFormatError
from crawler.audit.sources.urls import SourceUrlParser
from crawler.errors import UsageError
from crawler.units import count_text

_MAX_REFUSED: Final = 20  # files in a message
_binary = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f]").search


def check_logs(paths: Sequence[str], options: LogOptions) -> list[str]:
    """The files to read, in order. Opens each and detects its format, but for standard input and pipes.

    Raises UsageError for a file that does not exist, and for a folder without logs; LogRefused for a file that cannot
    be read or has no known format. A folder may have such files.
    """
    return _choose_logs(paths, options)[0]


def _choose_logs(paths: Sequence[str], options: LogOptions) -> tuple[list[str], list[SourceReport]]:
    """The files to read, the oldest first; and a report on each folder that has other files."""
    files: list[str] = []
    refused: defaultdict[str, list[LogRefused]] = defaultdict(list)
    for name, folder in find_logs(paths).items():
        try:
            if not is_stream(name):
                with LogFile(name) as file:
                    _open_reader(file, options.format)
            files.append(name)
        except LogRefused as error:
            if not folder:
                raise
            refused[folder].append(error)
    for folder, errors in refused.items():
        if not any(Path(name).is_relative_to(folder) for name in files):
            raise UsageError(
                f"the folder {folder} contains no logs: {_some_refused(folder, errors)}. Give files with --log"
            )
    return files, [_folder_report(folder, errors) for folder, errors in refused.items()]


def _copy_report(copy: str, name: str) -> SourceReport:
    note = f"not read, because {name} contains all of its lines: each request counts once"
    return SourceReport(source=SourceKind.LOG, name=copy, bytes=Path(copy).stat().st_size, notes=[note])


def _folder_report(folder: str, errors: Sequence[LogRefused]) -> SourceReport:
    """The report on the files of a folder that are not read."""
    damaged = [error for error in errors if error.is_damaged]
    others = [error for error in errors if not error.is_damaged]
    report = SourceReport(source=SourceKind.LOG, name=folder, complete=not damaged)
    for sentences, group in ((report.faults, damaged), (report.notes, others)):
        if group:
            was = "was" if len(group) == 1 else "were"
            sentences.append(f"{count_text(len(group), 'file')} {was} not read: {_some_refused(folder, group)}")
    return report


def _some_refused(folder: str, errors: Sequence[LogRefused]) -> str:
    shown = [f"{Path(error.name).relative_to(folder)} ({error.why})" for error in errors[:_MAX_REFUSED]]
    more = len(errors) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def is_log(name: str) -> bool:
    """Whether a file is an access log in a known format."""
    try:
        with LogFile(name) as file:
            sample = file.sample()
            return bool(sample) and choose_reader("", sample) is not None
    except UsageError:
        return False


def read_logs(
    paths: Sequence[str],
    addresses: SourceUrlParser,
    options: LogOptions,
    progress: Callable[[SourceProgress], None],
    successes: AddressCounts | None = None,
    ledger: BotLedger | None = None,
) -> Generator[tuple[SourceReport, Iterator[SourceRecord]]]:
    """The report and the claims of each file, to consume in this order. A URL may have several claims.

    ``successes`` gets the successful requests by address, ``ledger`` the requests of bots. A report is complete after
    all of its claims. Raises UsageError as :func:`check_logs` does. Close the generator if you do not exhaust it.
    """
    files, others = _choose_logs(paths, options)
    copies = find_copies(files)
    others += [_copy_report(copy, name) for copy, name in copies.items()]
    files = [name for name in files if name not in copies]
    size = 0 if any(map(is_stream, files)) else sum(Path(name).stat().st_size for name in files)
    previous_bytes = lines = 0

    def done(read: int, more: int) -> None:
        nonlocal lines
        lines += more
        progress(SourceProgress(log.report.name, previous_bytes + read, size, lines))

    successes = AddressCounts() if successes is None else successes
    ledger = BotLedger() if ledger is None else ledger
    for name in files:
        with LogFile(name) as file:
            log = AccessLog(file, _open_reader(file, options.format), addresses, options, successes, ledger)
            yield log.report, log.claims(done)
            previous_bytes += file.read
    for report in others:
        yield report, iter(())


def _open_reader(file: LogFile, format_text: str) -> LogReader:
    sample = file.sample()
    try:
        reader = choose_reader(format_text, sample)
        if reader and format_text and sample:
            if len(reader.rows(b"\n".join(sample))[1]) == len(sample):
                message = f"the log {file.name} does not match audit.log_format ({_first_line(sample)})"
                raise LogRefused(message, file.name, "does not match audit.log_format")
            reader = choose_reader(format_text, sample)  # a fresh one: the first lines are read again
    except LogFormatError as error:
        message = f"audit.log_format {quote_line(format_text.encode())} does not fit {file.name}: {error}"
        raise LogRefused(message, file.name, f"does not fit audit.log_format: {error}") from None
    if reader:
        return reader
    if b"\0" in sample[0] or _binary(sample[0][:MAX_SHOWN]):
        why = "neither text nor compressed as .gz, .zst, .bz2, .xz or .zip"
        raise LogRefused(f"the log {file.name} is {why}", file.name, why)
    raise LogRefused(
        f"the format of the log {file.name} is unknown ({_first_line(sample)}). Give the format with audit.log_format, "
        f"as one of the names {', '.join(NAMES)}, or as the value of log_format (nginx) or LogFormat (Apache)",
        file.name,
        "unknown format",
    )


def _first_line(sample: Sequence[bytes]) -> str:
    return f"its first line has the form {line_form(sample[0])} (a for letters, 0 for digits)"
