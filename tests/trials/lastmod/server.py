"""Serves pages with their edits and noises on the loopback address: small and fast, in a thread of its own."""

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus

from tests.trials.lastmod.noises import Moment, Noise
from tests.trials.lastmod.page import Page, fill


class Site:
    """The pages, what varies on them, and what the last visit of each run was shown."""

    def __init__(self, pages: Mapping[str, Page]) -> None:
        self.pages = dict(pages)
        self.noises: list[Noise] = []
        self.run = 0
        self.requests = 0
        self.origin = ""
        self.seen: dict[str, str] = {}  # by path, in the run that is going on
        self._visits: Counter[str] = Counter()

    def answer(self, path: str) -> tuple[HTTPStatus, bytes, str]:
        """Status, body and media type of a request."""
        if path == "/robots.txt":
            return HTTPStatus.OK, b"User-agent: *\nAllow: /\n", "text/plain"
        if (page := self.pages.get(path)) is None:
            return HTTPStatus.NOT_FOUND, b"<title>Not found</title>", "text/html"
        self.requests += 1
        self._visits[path] += 1
        body = self.shown(page, Moment(self.run, self.requests, self._visits[path]))
        self.seen[path] = body
        return HTTPStatus.OK, body.encode(), "text/html; charset=utf-8"

    def shown(self, page: Page, now: Moment) -> str:
        noises = {noise.number: noise for noise in self.noises}
        body = fill(
            page.source,
            lambda number: noises[number].show(page.path, now),
            lambda number, items: noises[number].order(page.path, now, items),
        )
        return body.replace("http://trial.example", self.origin)


@contextmanager
def serving(site: Site) -> Iterator[str]:
    """Serve a site; its origin."""
    ready = threading.Event()
    loop = asyncio.new_event_loop()
    port: Sequence[int] = []
    stop = asyncio.Event()

    async def serve() -> None:
        server = await asyncio.start_server(lambda reader, writer: _talk(site, reader, writer), "127.0.0.1", 0)
        nonlocal port
        port = server.sockets[0].getsockname()[1:]
        ready.set()
        await stop.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    ready.wait(10)
    site.origin = f"http://127.0.0.1:{port[0]}"
    try:
        yield site.origin
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        if not thread.is_alive():
            loop.close()


async def _talk(site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            method, path, _ = head.split(" ", 2)
            status, body, media = site.answer(path)
            lines = [
                f"HTTP/1.1 {status.value} {status.phrase}",
                f"Content-Type: {media}",
                f"Content-Length: {len(body)}",
                "Cache-Control: no-cache",
            ]
            writer.write("\r\n".join([*lines, "", ""]).encode() + (b"" if method == "HEAD" else body))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()
