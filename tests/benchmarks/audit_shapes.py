"""Measures what an audit costs for each finding while a site of one shape grows: CPU that doubles is linear.

Each shape is a way in which many findings share one thing: a page that all redirects lead to, a hub, an island, a page
in many spellings. The sites are made and served in memory; the whole command is measured, with its crawl and all
reports.

::

    python -m tests.benchmarks.audit_shapes [SHAPE ...] [-n 2000] [--doublings 2] [--json FILE]
"""

import argparse
import asyncio
import json
import multiprocessing
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from tests.benchmarks.measure import MIB, Cost, measure
from tests.benchmarks.tables import table

PATIENCE = 3_600  # seconds
HUB = 10_000  # links on one page
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"


@dataclass
class Made:
    """A site: its answers by path, the paths that its sitemap lists, and those that people asked for."""

    answers: dict[str, bytes] = field(default_factory=dict)
    listed: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def page(self, path: str, links: Iterable[str] = (), head: str = "", text: str = "") -> None:
        """Add a page, with content of its own unless the ``text`` is given."""
        anchors = "".join(f'<a href="{link}">{link}</a> ' for link in links)
        body = f"<!doctype html><title>{text or path}</title>{head}<p>{text or path} has a text of its own. {anchors}"
        self.answers[path] = _answer("200 OK", body.encode(), "Content-Type: text/html; charset=utf-8")

    def redirect(self, path: str, target: str) -> None:
        """Add a redirect."""
        self.answers[path] = _answer("301 Moved Permanently", b"", f"Location: {target}")

    def home(self, links: Iterable[str]) -> None:
        """Add the start page, and hubs of at most :data:`HUB` links that it leads to."""
        every = list(links)
        hubs = [every[start : start + HUB] for start in range(0, len(every), HUB)]
        self.page("/", [f"/hub{number}" for number in range(len(hubs))])
        for number, linked in enumerate(hubs):
            self.page(f"/hub{number}", linked)

    def finish(self, origin: str) -> None:
        """Add the sitemap."""
        head = b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        entries = "".join(f"<url><loc>{origin}{path}</loc></url>\n" for path in ["/", *self.listed])
        self.answers["/sitemap.xml"] = _answer(
            "200 OK", head + entries.encode() + b"</urlset>", "Content-Type: text/xml"
        )


def _answer(status: str, body: bytes, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


def _paths(count: int, name: str = "page") -> list[str]:
    return [f"/{name}/{number}" for number in range(count)]


def redirects(site: Made, count: int) -> None:
    """Listed URLs that redirect to one page."""
    site.home(["/one"])
    site.page("/one")
    site.listed = _paths(count)
    for path in site.listed:
        site.redirect(path, "/one")


def gone(site: Made, count: int) -> None:
    """Listed URLs that return 404."""
    site.home([])
    site.listed = _paths(count)


def dead(site: Made, count: int) -> None:
    """Linked and visited URLs that return 404."""
    site.home(_paths(count))
    site.asked = _paths(count)


def logs(site: Made, count: int) -> None:
    """Pages that only the log names."""
    site.home([])
    site.asked = _paths(count)
    for path in site.asked:
        site.page(path)


def orphans(site: Made, count: int) -> None:
    """Listed pages that nothing links, beside as many that are linked."""
    linked = _paths(count, "linked")
    site.home(linked)
    site.listed = _paths(count)
    for path in [*site.listed, *linked]:
        site.page(path)


def islands(site: Made, count: int) -> None:
    """Islands of ten listed pages that link to one another."""
    site.home([])
    site.listed = _paths(count)
    for number, path in enumerate(site.listed):
        first = number - number % 10
        site.page(path, (other for other in site.listed[first : first + 10] if other != path))


def chains(site: Made, count: int) -> None:
    """Linked redirects in chains of five, all to one page."""
    site.home(_paths(count))
    site.page("/one")
    for number, path in enumerate(_paths(count)):
        site.redirect(path, f"/page/{number + 1}" if number % 5 < 4 and number + 1 < count else "/one")


def hreflang(site: Made, count: int) -> None:
    """Pages in five languages, one of which does not name the others."""
    every = _paths(count)
    site.home(every)
    for number, path in enumerate(every):
        first = number - number % 5
        versions = zip(("en", "de", "fr", "it", "es"), every[first : first + 5], strict=False)
        names = (f'<link rel=alternate hreflang={code} href="{{origin}}{other}">' for code, other in versions)
        site.page(path, head="".join(names) if number % 5 else "")


def hub(site: Made, count: int) -> None:
    """Unlisted pages that only a hub links to."""
    site.home(_paths(count))
    for path in _paths(count):
        site.page(path, ["/"])


def duplicates(site: Made, count: int) -> None:
    """Pages that are listed in two spellings."""
    every = _paths(count // 2)
    site.home(every)
    site.listed = [*every, *(f"{path}/" for path in every)]
    for path in every:
        site.page(path)
        site.answers[f"{path}/"] = site.answers[path]


def canonicals(site: Made, count: int) -> None:
    """Listed pages that name one page as their canonical."""
    site.home([])
    site.page("/one")
    site.listed = _paths(count)
    for path in site.listed:
        site.page(path, head='<link rel=canonical href="{origin}/one">')


def spellings(site: Made, count: int) -> None:
    """Listed orphans, beside as many URLs in the log that are one page with other parameters."""
    site.home([])
    site.page("/one")
    site.listed = _paths(count // 2)
    site.asked = [f"/one?shown={number}" for number in range(count // 2)]
    for path in site.listed:
        site.page(path)
    for path in site.asked:
        site.answers[path] = site.answers["/one"]


def menu(site: Made, count: int) -> None:
    """A dead link and a redirect on every page, none of which is listed."""
    site.home(_paths(count))
    site.redirect("/moved", "/one")
    site.page("/one")
    for path in _paths(count):
        site.page(path, ["/", "/gone", "/moved"])


Shape = Callable[[Made, int], None]
SHAPES: dict[str, Shape] = {
    shape.__name__: shape
    for shape in (
        *(redirects, gone, dead, logs, orphans, islands, chains),
        *(hreflang, hub, duplicates, canonicals, spellings, menu),
    )
}


class _Server(asyncio.Protocol):
    """Answers GET requests from memory."""

    def __init__(self, site: Made) -> None:
        self._answers = site.answers
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *requests, self._rest = (self._rest + data).split(b"\r\n\r\n")
        for request in requests:
            path = request.split(b" ", 2)[1].decode()
            self._transport.write(self._answers.get(path) or _answer("404 Not Found", b"gone"))  # type: ignore[attr-defined]


def _serve(name: str, count: int, ready: Connection) -> None:
    async def run() -> None:
        site = Made()
        server = await asyncio.get_running_loop().create_server(lambda: _Server(site), "127.0.0.1", 0)
        origin = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        SHAPES[name](site, count)
        site.answers = {path: _filled(answer, origin) for path, answer in site.answers.items()}
        site.finish(origin)
        ready.send((origin, site.asked))
        await server.serve_forever()

    asyncio.run(run())


def _filled(answer: bytes, origin: str) -> bytes:
    """The answer with the origin, which is known only when the server runs."""
    head, _, body = answer.partition(b"\r\n\r\n")
    if b"{origin}" not in body:
        return answer
    status, kind, *_ = head.decode().split("\r\n")
    return _answer(status.partition(" ")[2], body.replace(b"{origin}", origin.encode()), kind)


@contextmanager
def served(name: str, count: int) -> Iterator[tuple[str, list[str]]]:
    """Serve a shape in a process of its own; yields its origin and the paths that people asked for."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(name, count, theirs), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        process.kill()
        process.join()


def log_line(number: int, path: str) -> str:
    """The line of a log in the combined format, of one of some hundred people."""
    when = f"{1 + number % 20:02}/Nov/2026:{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02} +0000"
    return f'192.0.2.{number % 250} - - [{when}] "GET {path} HTTP/1.1" 200 512 "-" "{BROWSER}"\n'


@dataclass(frozen=True)
class Sample:
    """What an audit of a site of one shape and size cost."""

    shape: str
    count: int
    findings: int
    cost: Cost

    @property
    def each(self) -> float:
        """CPU seconds for each thing that the shape has."""
        return self.cost.cpu / self.count


def sample(name: str, count: int) -> Sample:
    """Audit a site of a shape and size."""
    with tempfile.TemporaryDirectory() as name_of_folder, served(name, count) as (origin, asked):
        folder = Path(name_of_folder)
        command = [sys.executable, "-m", "crawler", "audit", f"{origin}/", "--rate", "0", "--fail-on", "never", "-o"]
        command += ["reports", "--state", "state", "--max-unlinked", str(count + 1), "-q"]
        if asked:
            lines = (log_line(number, path) for number, path in enumerate(path for path in asked for _ in range(6)))
            (folder / "access.log").write_text("".join(lines))
            command += ["--log", "access.log"]
        cost = measure(command, folder, PATIENCE)
        counts = json.loads((folder / "reports" / "audit.json").read_bytes())["counts"]
        return Sample(name, count, sum(row["certain"] + row["inconclusive"] for row in counts), cost)


def said(samples: list[Sample]) -> str:
    """A row for each shape and size, with how the CPU time grew since half of the size."""
    rows = []
    for before, each in zip([None, *samples], samples, strict=False):
        grown = before is not None and before.shape == each.shape
        rows.append(
            [
                each.shape,
                f"{each.count:,}",
                f"{each.findings:,}",
                f"{each.cost.cpu:.1f}",
                f"{each.each * 1000:.2f}",
                f"{each.cost.cpu / before.cost.cpu:.2f}" if before and grown else "",
                f"{each.cost.peak / MIB:.0f}",
            ]
        )
    return table(["shape", "n", "findings", "CPU s", "CPU ms/n", "÷ half of n", "peak RSS MiB"], rows)


def main() -> None:
    """Audit each shape in each size, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help=f"{', '.join(SHAPES)}; all by default")
    parser.add_argument("-n", type=int, default=2_000, help="the smallest size")
    parser.add_argument("--doublings", type=int, default=2)
    parser.add_argument("--json", type=Path, help="write the samples there")
    args = parser.parse_args()
    if unknown := set(args.shapes) - SHAPES.keys():
        parser.error(f"no shape is called {', '.join(sorted(unknown))}")
    samples = []
    for name in args.shapes or SHAPES:
        for step in range(args.doublings + 1):
            samples.append(sample(name, args.n << step))
            print(f"{name} {args.n << step}: {samples[-1].cost.cpu:.1f} s of CPU", file=sys.stderr)
    print(said(samples))
    if args.json:
        args.json.write_text(json.dumps([asdict(each) for each in samples], indent=1))


if __name__ == "__main__":
    main()
