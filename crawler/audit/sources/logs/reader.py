"""Reads access logs: files to accounts and claims."""

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path

from msgspec import Struct

from crawler.audit.claim import Account, Claim
from crawler.audit.sources.logs.files import File, is_stream, named
from crawler.audit.sources.logs.formats import NAMES, Reader, told
from crawler.audit.sources.logs.log import Block, Log, LogOptions
from crawler.audit.sources.logs.log_format import NoFormat
from crawler.audit.sources.logs.parallel import shared
from crawler.audit.sources.logs.worker import SHOWN, shown
from crawler.audit.sources.urls import Addresses
from crawler.errors import UsageError

_binary = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f]").search


class Progress(Struct, frozen=True):
    """How far the reading is: bytes as stored of all files, of how many (0: nobody knows), and lines so far."""

    name: str
    read: int
    size: int
    lines: int


def check_logs(paths: Sequence[str], options: LogOptions) -> list[str]:
    """The files that will be read, in order; each was opened and its format told, but for standard input and pipes.

    Raises UsageError for what does not exist, cannot be read or is in no format that is known.
    """
    files = named(list(paths))
    for name in files:
        if not is_stream(name):
            with File(name) as file:
                _reader(file, options.format)
    return files


def is_log(name: str) -> bool:
    """Whether a file is an access log in a format that is known."""
    try:
        with File(name) as file:
            sample = file.sample()
            return bool(sample) and told("", sample) is not None
    except UsageError:
        return False


def read_logs(
    paths: Sequence[str], addresses: Addresses, options: LogOptions, progress: Callable[[Progress], None]
) -> Generator[tuple[Account, Iterator[Claim]]]:
    """Each file's account and claims, to be taken in this order. Claims for the same URL come several times.

    An account is complete when its claims were all taken. Raises UsageError as :func:`check_logs` does, and Incomplete
    when a process that counts is ended by somebody else. Close it when you leave off.
    """
    files = named(list(paths))
    size = 0 if any(map(is_stream, files)) else sum(Path(name).stat().st_size for name in files)
    before = lines = 0

    def done(read: int, more: int) -> None:
        nonlocal lines
        lines += more
        progress(Progress(log.account.name, before + read, size, lines))

    blocks = _blocks(files, addresses, options)
    with closing(shared(blocks, 1 if options.verify else options.processes)) as parts:
        for log, of_it in groupby(parts, key=lambda part: part[0].log):
            yield log.account, log.claims(of_it, done)
            before += log.read


def _blocks(files: Sequence[str], addresses: Addresses, options: LogOptions) -> Iterator[Block]:
    for name in files:
        with File(name) as file:
            yield from Log(file, _reader(file, options.format), addresses, options).blocks()


def _reader(file: File, wanted: str) -> Reader:
    sample = file.sample()
    try:
        reader = told(wanted, sample)
        if reader and wanted and sample:
            if len(reader.rows(b"\n".join(sample))[1]) == len(sample):
                raise UsageError(
                    f"the log {file.name} is not in the format that was given (--log-format); it begins"
                    f" {shown(sample[0])}"
                )
            reader = told(wanted, sample)  # the first lines come again, in their order
    except NoFormat as error:
        raise UsageError(
            f"--log-format {shown(wanted.encode())} does not do for {file.name}: {error}"
        ) from None
    if reader:
        return reader
    if b"\0" in sample[0] or _binary(sample[0][:SHOWN]):
        raise UsageError(f"the log {file.name} is no text, nor packed as .gz, .zst, .bz2, .xz or .zip")
    raise UsageError(
        f"cannot tell in which format the log {file.name} is; it begins {shown(sample[0])}; name the format"
        f" (--log-format: {', '.join(NAMES)}, or nginx's log_format or Apache's LogFormat as it stands)"
    )
