"""A site whose sets are published in a directory and then elsewhere; and uploads in forks of one warm process.

python uploads.py reads orders as JSON from its standard input, one a line, and tells how each upload ended.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import msgspec

from crawler.config.load import build_config
from crawler.config.plan import CrawlPlan, plan_crawl
from crawler.publish.upload.upload import UploadResult, upload
from crawler.publish.write import build_destination, build_writer
from crawler.state.runs import PublishedFile, Run
from sitemap import Child, Entry, SitemapParser

HOME = "https://shop.example/"
LEAD = "sitemap.xml"


class Site:
    """A site on disk. Each :meth:`publish` writes a set of real sitemaps with a page in two files at most."""

    def __init__(self, folder: Path, upload: Mapping[str, object], **output: object) -> None:
        self.folder, self.upload, self.output = folder, dict(upload), output
        self.run: Run | None = None
        self.now = 1_800_000_000.0
        self.slept: list[float] = []
        self.said: list[str] = []

    @property
    def plan(self) -> CrawlPlan:
        tables = {
            "site": {"url": HOME},
            "output": {"directory": str(self.folder / "public"), "max_urls": 2, "swap_delay": 0, **self.output},
            "state": {"directory": str(self.folder / "state")},
            "upload": self.upload,
        }
        return plan_crawl(build_config(tables))

    def publish(self, *pages: str, lastmod: str = "") -> Run:
        """Publish pages by their paths, each with the same date, and make it the last run."""
        ready = self.plan
        former = [file.name for file in self.run.files] if self.run else ()
        with build_writer(ready, build_destination(ready)) as target:
            target.extend(Entry(HOME + page, lastmod=lastmod) for page in pages)
            published = target.finish(former)
        number = self.run.number + 1 if self.run else 1
        files = [PublishedFile(file.name, file.url, file.entries, file.stored) for file in published.files]
        self.run = Run(number=number, started=0, version="test", outcome="published", files=files[::-1])
        return self.run

    def send(self, **settings: object) -> UploadResult:
        """Upload what was published last."""
        self.upload |= settings
        assert self.run is not None
        work = partial(upload, self.plan, self.run, self.said.append, clock=lambda: self.now, sleep=self._sleep)
        return anyio.run(work)

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def local(self) -> dict[str, bytes]:
        """The files that are published, by name."""
        assert self.run is not None
        beside = [name for name in ("sitemap.css", "sitemap.xsl") if (self.folder / "public" / name).exists()]
        names = [file.name for file in self.run.files] + beside
        return {name: (self.folder / "public" / name).read_bytes() for name in names}

    def order(self) -> dict[str, Any]:
        """What a fork is told to upload it."""
        return {
            "folder": str(self.folder),
            "upload": self.upload,
            "output": self.output,
            "run": msgspec.to_builtins(self.run),
        }


def listed(index: bytes) -> list[str]:
    """The names of the files that an index lists; none when it lists pages."""
    parser = SitemapParser(HOME + LEAD)
    items = (*parser.feed(index), *parser.close())
    return [item.loc.removeprefix(HOME) for item in items if isinstance(item, Child)]


def broken(files: Mapping[str, bytes], generations: Sequence[Mapping[str, bytes]]) -> str:
    """What is wrong with the files that a reader finds at one moment; "" when they are whole.

    The leading file is that of a generation, and each that it names is there, as it is in one of them.
    """
    if (lead := files.get(LEAD)) is None:
        return ""
    if lead not in [generation[LEAD] for generation in generations]:
        return f"{LEAD} is of no generation"
    for name in listed(lead):
        if name not in files:
            return f"{name} is listed and not there"
        if files[name] not in [generation.get(name) for generation in generations]:
            return f"{name} is of no generation, or not whole"
    return ""


class Forks:
    """Uploads in forks, which may be killed. ``begun`` is told the process id of each."""

    def __init__(self, server: "subprocess.Popen[bytes]") -> None:
        self._server = server

    def send(self, site: Site, begun: Callable[[int], None] = lambda pid: None) -> int:
        """How the process ended: 0, or a negative number for a signal."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(site.order()).encode() + b"\n")
        self._server.stdin.flush()
        begun(int(self._server.stdout.readline()))
        return int(self._server.stdout.readline())


@contextmanager
def forks() -> Iterator[Forks]:
    command = [sys.executable, __file__]
    root = str(Path(__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": root}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as server:
        try:
            yield Forks(server)
        finally:
            server.kill()


def _obey(order: dict[str, Any]) -> None:
    site = Site(Path(order["folder"]), order["upload"], **order["output"])
    site.run = msgspec.convert(order["run"], Run)
    anyio.run(upload, site.plan, site.run)


def _serve() -> None:
    import asyncssh
    import boto3

    assert asyncssh
    boto3.client("s3", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
    for line in iter(sys.stdin.buffer.raw.readline, b""):  # type: ignore[attr-defined]
        pid = os.fork()
        if pid == 0:
            _obey(json.loads(line))
            os._exit(0)
        os.write(1, f"{pid}\n".encode())
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.write(1, f"{status}\n".encode())


if __name__ == "__main__":
    _serve()
