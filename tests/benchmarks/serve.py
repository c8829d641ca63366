"""What a request of a published file and a date of a page cost in a web program, as a ratio to reading the file alone.

python -m tests.benchmarks.serve
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from crawler import AsgiFiles, ObservedDates, WsgiFiles
from crawler.state.schema import STATE_DB


def microseconds(work: Callable[[], object], rounds: int) -> float:
    """The time of one call, the least of five passes."""
    passes = []
    for _ in range(5):
        begun = time.perf_counter()
        for _ in range(rounds):
            work()
        passes.append((time.perf_counter() - begun) / rounds)
    return 1e6 * min(passes)


def fill(state: Path, pages: int) -> None:
    """A state with pages and their dates."""
    with closing(STATE_DB.open(state / STATE_DB.file)) as db, db:
        db.executemany(
            "INSERT INTO url VALUES (?, ?)", ((n, f"https://www.example.com/page/{n}") for n in range(pages))
        )
        dated = ((n, "indexable", "", "2026-11-21T08:15:00Z", 1, 1) for n in range(pages))
        db.executemany(
            "INSERT INTO memory (id, state, reason, lastmod, first_run, last_run) VALUES (?, ?, ?, ?, ?, ?)", dated
        )


def asgi_time(app: AsgiFiles, headers: list[tuple[bytes, bytes]], rounds: int) -> float:
    """The time of a request, without a server."""
    scope = {"type": "http", "method": "GET", "path": "/sitemap.xml", "headers": headers}

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(_: dict[str, Any]) -> None:
        pass

    async def passes() -> float:
        begun = time.perf_counter()
        for _ in range(rounds):
            await app(scope, receive, send)
        return 1e6 * (time.perf_counter() - begun) / rounds

    return asyncio.run(passes())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", "--rounds", type=int, default=5_000)
    parser.add_argument("--pages", type=int, default=100_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "sitemap.xml")
        file.write_bytes(b"<url/>" * 3_000)
        fill(Path(folder), given.pages)
        wsgi, dates, sent = WsgiFiles(folder), ObservedDates(folder), {"tag": ""}

        def start(_: str, headers: list[tuple[str, str]]) -> None:
            sent["tag"] = dict(headers)["etag"]

        def get(**more: str) -> None:
            body = wsgi({"REQUEST_METHOD": "GET", "PATH_INFO": "/sitemap.xml", **more}, start)
            for _ in body:
                pass
            getattr(body, "close", lambda: None)()

        floor = microseconds(file.read_bytes, given.rounds)
        measured = {"WSGI, whole": microseconds(get, given.rounds)}
        known = sent["tag"]
        measured["WSGI, 304"] = microseconds(lambda: get(HTTP_IF_NONE_MATCH=known), given.rounds)
        measured["ASGI, whole"] = asgi_time(AsgiFiles(folder), [], given.rounds)
        measured["ASGI, 304"] = asgi_time(AsgiFiles(folder), [(b"if-none-match", known.encode())], given.rounds)
        urls = iter(range(10**9))
        url = "https://www.example.com/page/{}"
        measured["lastmod"] = microseconds(
            lambda: dates.lastmod(url.format(next(urls) * 7919 % given.pages)), given.rounds
        )
    print(f"{'read the file':<14}{floor:8.1f} µs   1.0")
    for name, cost in measured.items():
        print(f"{name:<14}{cost:8.1f} µs {cost / floor:5.1f}")


if __name__ == "__main__":
    main()
