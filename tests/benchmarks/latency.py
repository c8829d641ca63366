"""The benchmark of slow servers: how close a crawl comes to the least time that its pace and the server allow.

::

    python -m tests.benchmarks.latency [--pages 120] [--latencies 50,200,1000]

A server on the loopback address answers every request after a fixed time. With R requests a second and C at the same
time allowed, N requests take at least max((N - 1) / R, floor((N - 1) / C) * latency) seconds from the first to the last
one, if all their URLs are known. So the start page links to all pages. The server measures, so the start of the
interpreter and the writing of the sitemap do not count. Told is the time of the crawl over the least time.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.measure import CommandFailed, measure
from tests.benchmarks.tables import table

PACES = ((4, 10.0), (4, 0.0), (16, 0.0))  # requests at the same time, requests a second (0: no limit)


class SlowServer:
    """Answers requests for pages after ``latency`` seconds, and notes their times in ``arrivals``."""

    def __init__(self, pages: int, latency: float) -> None:
        links = "".join(f'<a href="/page-{number}.html">{number}</a>' for number in range(pages))
        self._body = f"<!doctype html><title>All</title>{links}".encode()
        self._latency = latency
        self.arrivals: list[float] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ")[1]
                if path.startswith(b"/page-"):
                    self.arrivals.append(asyncio.get_running_loop().time())
                    status, body = b"200 OK", b"<!doctype html><title>" + path + b"</title><p>" + path
                    await asyncio.sleep(self._latency)
                else:
                    status, body = (b"200 OK", self._body) if path == b"/" else (b"404 Not Found", b"")
                fields = b"content-type: text/html\r\ncontent-length: %d\r\n\r\n" % len(body)
                writer.write(b"HTTP/1.1 " + status + b"\r\n" + fields + body)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def crawl_time(pages: int, latency: float, concurrency: int, rate: float) -> float:
    """Seconds from the first request for a page to the last one. Raises CommandFailed."""
    slow = SlowServer(pages, latency)
    async with await asyncio.start_server(slow.serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with tempfile.TemporaryDirectory(prefix="siteatlas-latency-") as name:
            folder = Path(name)
            command = [sys.executable, "-P", "-m", "crawler", "crawl", f"http://127.0.0.1:{port}/", "-q", "-o", "out"]
            command += ["--state", "state", "-c", str(concurrency), "--rate", str(rate), "--render", "never"]
            await asyncio.to_thread(measure, command, folder, 600.0)
    if len(slow.arrivals) != pages:
        raise CommandFailed(f"{len(slow.arrivals)} requests for {pages} pages")
    return slow.arrivals[-1] - slow.arrivals[0]


def least_time(pages: int, latency: float, concurrency: int, rate: float) -> float:
    """The least seconds from the first to the last request for a page."""
    by_latency = ((pages - 1) // concurrency) * latency
    return max(by_latency, (pages - 1) / rate if rate else 0.0)


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark. Exit code 1 when a crawl failed."""
    parser = argparse.ArgumentParser(
        "python -m tests.benchmarks.latency", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=120, help="pages of the site (default: 120)")
    parser.add_argument("--latencies", default="50,200,1000", help="milliseconds, with commas (default: 50,200,1000)")
    options = parser.parse_args(words)
    rows = []
    try:
        for latency in (int(text) / 1000 for text in options.latencies.split(",")):
            for concurrency, rate in PACES:
                least = least_time(options.pages, latency, concurrency, rate)
                took = asyncio.run(crawl_time(options.pages, latency, concurrency, rate))
                pace = f"{rate:g}/s" if rate else "no limit"
                rows.append([f"{latency * 1000:.0f} ms", str(concurrency), pace, f"{least:.2f}", f"{took:.2f}"])
                rows[-1].append(f"{took / least:.3f}")
    except CommandFailed as error:
        print(error, file=sys.stderr)
        return 1
    print(table(["latency", "-c", "--rate", "least s", "took s", "took / least"], rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
