"""Running the command as a person does: a process of its own, in a folder of its own."""

import gzip
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

FAST = ("--rate", "0", "-c", "8", "--processes", "1")


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
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SITEATLAS_")}
    return {**kept, "COLUMNS": "200", **extra}


def siteatlas(folder: Path, *words: str, timeout: float = 60, **extra: str) -> Ran:
    """Run siteatlas in a folder to its end."""
    done = subprocess.run(
        command(*words),
        cwd=folder,
        env=environment(**extra),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Ran(done.returncode, done.stdout, done.stderr)


def crawl(folder: Path, url: str, *words: str, **extra: str) -> Ran:
    """Crawl at full speed into ``out`` in the folder."""
    return siteatlas(folder, "crawl", url, "-o", "out", *FAST, *words, **extra)


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
