"""Reads access logs: checks the files, chooses their formats, and yields a report and claims for each."""

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path

from crawler.audit.source_record import SourceProgress, SourceRecord, SourceReport
from crawler.audit.sources.logs.files import LogFile, find_logs, is_stream
from crawler.audit.sources.logs.formats import NAMES, LogReader, choose_reader
from crawler.audit.sources.logs.log import AccessLog, LogBlock, LogOptions
from crawler.audit.sources.logs.log_format import LogFormatError
from crawler.audit.sources.logs.parallel import count_in_parallel
from crawler.audit.sources.logs.worker import MAX_SHOWN, line_form, quote_line
from crawler.audit.sources.urls import SourceUrlParser
from crawler.errors import UsageError

_binary = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f]").search


def check_logs(paths: Sequence[str], options: LogOptions) -> list[str]:
    """The files to read, in order. Opens each and detects its format, but for standard input and pipes.

    Raises UsageError for a file that does not exist, cannot be read or has no known format.
    """
    files = find_logs(list(paths))
    for name in files:
        if not is_stream(name):
            with LogFile(name) as file:
                _open_reader(file, options.format)
    return files


def is_log(name: str) -> bool:
    """Whether a file is an access log in a known format."""
    try:
        with LogFile(name) as file:
            sample = file.sample()
            return bool(sample) and choose_reader("", sample) is not None
    except UsageError:
        return False


def read_logs(
    paths: Sequence[str], addresses: SourceUrlParser, options: LogOptions, progress: Callable[[SourceProgress], None]
) -> Generator[tuple[SourceReport, Iterator[SourceRecord]]]:
    """The report and the claims of each file, to consume in this order. A URL may have several claims.

    A report is complete after all of its claims. Raises UsageError as :func:`check_logs` does, and Incomplete when
    somebody kills a counting process. Close the generator if you do not exhaust it.
    """
    files = find_logs(list(paths))
    size = 0 if any(map(is_stream, files)) else sum(Path(name).stat().st_size for name in files)
    previous_bytes = lines = 0

    def done(read: int, more: int) -> None:
        nonlocal lines
        lines += more
        progress(SourceProgress(log.report.name, previous_bytes + read, size, lines))

    blocks = _blocks(files, addresses, options)
    with closing(count_in_parallel(blocks, 1 if options.verify else options.processes)) as parts:
        for log, log_parts in groupby(parts, key=lambda part: part[0].log):
            yield log.report, log.claims(log_parts, done)
            previous_bytes += log.read


def _blocks(files: Sequence[str], addresses: SourceUrlParser, options: LogOptions) -> Iterator[LogBlock]:
    for name in files:
        with LogFile(name) as file:
            yield from AccessLog(file, _open_reader(file, options.format), addresses, options).blocks()


def _open_reader(file: LogFile, format_text: str) -> LogReader:
    sample = file.sample()
    try:
        reader = choose_reader(format_text, sample)
        if reader and format_text and sample:
            if len(reader.rows(b"\n".join(sample))[1]) == len(sample):
                raise UsageError(f"the log {file.name} does not match --log-format; {_first_line(sample)}")
            reader = choose_reader(format_text, sample)  # a fresh one: the first lines are read again
    except LogFormatError as error:
        raise UsageError(f"--log-format {quote_line(format_text.encode())} does not fit {file.name}: {error}") from None
    if reader:
        return reader
    if b"\0" in sample[0] or _binary(sample[0][:MAX_SHOWN]):
        raise UsageError(f"the log {file.name} is neither text nor compressed as .gz, .zst, .bz2, .xz or .zip")
    raise UsageError(
        f"the format of the log {file.name} is unknown; {_first_line(sample)}; name the format"
        f" (--log-format: {', '.join(NAMES)}, or the value of nginx's log_format or Apache's LogFormat)"
    )


def _first_line(sample: Sequence[bytes]) -> str:
    return f"its first line has the form {line_form(sample[0])} (a for letters, 0 for digits)"
