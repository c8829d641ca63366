"""The floor of a crawl: the same fetches and the same parses by the same libraries in one process, and nothing else.

No robots.txt, no scope but the root, no canonical form, no retries, no time-outs, no state, no metadata but
Last-Modified, no processes. It is a bar to measure against, no crawler. It knows nothing of the project.

::

    floor.py URL DIRECTORY CONCURRENCY
"""

import asyncio
import gc
import sys
from pathlib import Path
from xml.sax.saxutils import escape

import ada_url
import uvloop
from pyreqwest.client import Client, ClientBuilder
from selectolax.lexbor import LexborHTMLParser


class Floor:
    """One crawl from a root. ``pages`` holds the URLs of the HTML pages, with their Last-Modified or ""."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._seen = {root}
        self._raw: dict[str, set[str]] = {}  # of each folder the hrefs that were resolved before
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self.pages: dict[str, str] = {}

    async def run(self, concurrency: int) -> None:
        """Crawl with so many requests at a time until the queue is empty."""
        self._queue.put_nowait(self._root)
        builder = ClientBuilder().no_proxy().follow_redirects(False).gzip(False).brotli(False).zstd(False)
        async with builder.pool_max_idle_per_host(concurrency).build() as client:
            workers = [asyncio.create_task(self._work(client)) for _ in range(concurrency)]
            everything = asyncio.create_task(self._queue.join())
            await asyncio.wait([everything, *workers], return_when=asyncio.FIRST_COMPLETED)
            for worker in workers:
                if worker.done():
                    worker.result()  # a worker ends by an error only
                worker.cancel()

    async def _work(self, client: Client) -> None:
        while True:
            url = await self._queue.get()
            response = await client.get(url).build().send()
            body = bytes(await response.bytes())
            if response.status == 200 and (response.get_header("content-type") or "").startswith("text/html"):
                self.pages[url] = response.get_header("last-modified") or ""
                self._read(url, body)
            elif location := response.get_header("location"):
                self._find(ada_url.join_url(url, location))
            self._queue.task_done()

    def _read(self, url: str, body: bytes) -> None:
        raw = self._raw.setdefault(url[: url.rindex("/")], set())
        for node in LexborHTMLParser(body).css("a[href],area[href]"):
            href = (node.attributes["href"] or "").partition("#")[0].strip()
            if href and href not in raw:
                raw.add(href)
                try:
                    self._find(ada_url.join_url(url, href))
                except ValueError:
                    continue

    def _find(self, url: str) -> None:
        url = url.partition("#")[0]
        if url not in self._seen and url.startswith(self._root):
            self._seen.add(url)
            self._queue.put_nowait(url)


def write(pages: dict[str, str], folder: Path) -> None:
    """A sitemap without limits."""
    lines = [
        f"<url><loc>{escape(url)}</loc><lastmod>{escape(modified)}</lastmod></url>"
        for url, modified in sorted(pages.items())
    ]
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    (folder / "sitemap.xml").write_text("\n".join([head, *lines, "</urlset>\n"]), encoding="utf-8")


def main(root: str, folder: str, concurrency: str) -> None:
    """Crawl and write."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    floor = Floor(root)
    uvloop.run(floor.run(int(concurrency)))
    write(floor.pages, Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
