"""Running the command as a person does: a process of its own, in a folder of its own."""

import contextlib
import gzip
import io
import os
import pty
import re
import subprocess
import sys
import tempfile
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import warm

FAST = ("--rate", "0", "-c", "8", "--set=parse.processes=1")
AT_ONCE = (*FAST, "--set=output.swap_delay=0", "--set=fetch.retries=0")
NIGHTLY = (*AT_ONCE, "--set=output.grace_period=0", "--state", "state", "-o", "out")
"""The options of one night of many, without waiting: the state and the published files have folders of their own."""


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str


def command(*words: str) -> list[str]:
    """The command line of siteatlas in this interpreter."""
    return [sys.executable, "-m", "crawler", *words]


def environment(**extra: str) -> dict[str, str]:
    """That of a pipe: without a width, so that no line is wrapped."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SITEATLAS_", "COLUMNS"))}
    return {**kept, **extra}


def siteatlas(folder: Path, *words: str, timeout: float = 60, anew: bool = False, **extra: str) -> Ran:
    """Run siteatlas in a folder to its end: ``anew`` in an interpreter of its own, else in one that is warm.

    What only a new interpreter looks at in its environment makes one.
    """
    begin = _anew if anew or any(name.startswith(("LC_", "PYTHON")) for name in extra) else warm.begin
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = begin(folder, words, environment(**extra), out.fileno(), err.fileno())
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        said, errors = (_text(stream) for stream in (out, err))
    assert "Traceback" not in errors, errors
    return Ran(code, said, errors)


def _anew(
    folder: Path, words: Sequence[str], environment: Mapping[str, str], out: int, err: int
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command(*words), cwd=folder, env=environment, stdout=out, stderr=err)


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return io.TextIOWrapper(io.BytesIO(stream.read()), encoding="utf-8").read()


def crawl(folder: Path, url: str, *words: str, anew: bool = False, **extra: str) -> Ran:
    """Crawl at full speed into ``out`` in the folder."""
    return siteatlas(folder, "crawl", url, "-o", "out", "--set=output.swap_delay=0", *FAST, *words, anew=anew, **extra)


def published(folder: Path) -> dict[str, bytes]:
    """The files that were published, by name, unpacked."""
    out = folder / "out"
    if not out.is_dir():
        return {}
    return {
        path.name: gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for path in sorted(out.iterdir())
    }


def listed(folder: Path) -> list[str]:
    """The page URLs of the published set, in order."""
    locs: list[str] = []
    for name, body in published(folder).items():
        if name != "sitemap.xml" or b"<sitemapindex" not in body:
            locs += re.findall(r"<url>\s*<loc>(.*?)</loc>", body.decode())
    return [loc.replace("&amp;", "&") for loc in locs]


def on_terminal(folder: Path, columns: int, *words: str, timeout: float = 60) -> str:
    """What a command writes to its standard output when that is a terminal of this width, without colours."""
    reading, writing = pty.openpty()
    termios.tcsetwinsize(writing, (50, columns))
    with tempfile.TemporaryFile() as errors, os.fdopen(reading, "rb", buffering=0) as screen:
        process = warm.begin(folder, words, environment(NO_COLOR="1", TERM="xterm"), writing, errors.fileno())
        os.close(writing)
        shown = b""
        with contextlib.suppress(OSError):  # the end of a terminal that nobody writes to is an error on Linux
            while part := screen.read(1 << 16):
                shown += part
        process.wait(timeout)
        assert "Traceback" not in _text(errors), _text(errors)
    return shown.decode().replace("\r\n", "\n")
