"""The pool of parser processes: order, big documents, hangs, deaths, and what becomes of the document that did it."""

import os
import signal
import sys

import anyio
import psutil
import pytest
from parser_pools import LOOPS, document, hello, targets

from crawler.model import DiscoveredBy, DocumentKind, Page
from crawler.parse import pool as parse_pool
from crawler.parse.pool import PARSE_CRASH, ParsePool

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", LOOPS)]


async def test_ours_every_document_gets_its_own_page() -> None:
    pages: dict[int, Page] = {}

    async def read(number: int) -> None:
        body = f'<a href="/{number}">x</a>'.encode() + b" " * (number % 7) * 10_000
        pages[number] = await pool.read(document(f"/p{number}", body))

    async with ParsePool(2, hello()) as pool, anyio.create_task_group() as tasks:
        for number in range(200):
            tasks.start_soon(read, number)
    assert {number: targets(page) for number, page in pages.items()} == {n: [f"/{n}"] for n in range(200)}


async def test_ours_pages_larger_than_any_pipe_go_both_ways_at_once() -> None:
    body = b"".join(b'<a href="/a-rather-long-path/%d">x</a>' % n for n in range(15_000))
    counts: list[int] = []

    async def read(number: int) -> None:
        counts.append(len((await pool.read(document(f"/{number}", body))).links))

    async with ParsePool(1, hello()) as pool:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for number in range(8):
                    tasks.start_soon(read, number)
    assert counts == [15_000] * 8


async def test_ours_a_process_that_was_ended_from_outside_costs_no_document() -> None:
    before = set(psutil.Process().children())
    async with ParsePool(1, hello()) as pool:
        await pool.read(document("/first", b"warm"))
        for child in set(psutil.Process().children()) - before:
            os.kill(child.pid, signal.SIGKILL)
        page = await pool.read(document("/next", b'<a href="/found">x</a>'))
    assert page.fallback == ""
    assert targets(page) == ["/found"]


async def test_ours_no_process_starts_before_the_others_are_busy_and_none_outlives_the_pool() -> None:
    before = set(psutil.Process().children())

    def started() -> int:
        return len(set(psutil.Process().children()) - before)

    async def read(count: int) -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(count):
                tasks.start_soon(pool.read, document(f"/{number}", b"x"))

    async with ParsePool(3, hello()) as pool:
        assert started() == 0
        await read(20)
        assert started() == 1  # none has started yet that could be busy
        await read(3)
        assert started() == 1
        await read(12)
        assert started() == 2
        await read(20)
        assert started() == 3
        await read(60)
        assert started() == 3
    assert not started()


async def test_ours_an_error_of_the_caller_leaves_the_pool_as_it_is() -> None:
    async def fail() -> None:
        async with ParsePool(2, hello()) as pool:
            await pool.read(document("/", b"x"))
            raise LookupError("of the caller")

    with pytest.raises(LookupError, match="of the caller"):
        await fail()


async def test_ours_sitemaps_and_feeds_are_read_too() -> None:
    urlset = (
        b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        b"<url><loc>https://a.example/x?utm_source=y</loc></url><url><loc>mailto:nobody</loc></url></urlset>"
    )
    index = (
        b'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        b"<sitemap><loc>https://a.example/one.xml</loc></sitemap></sitemapindex>"
    )
    rss = b'<rss version="2.0"><channel><item><link>https://a.example/news</link></item></channel></rss>'
    async with ParsePool(1, hello()) as pool:
        page = await pool.read(document("/s.xml", urlset, "text/plain", DocumentKind.SITEMAP))
        assert page.links == [("https://a.example/x", DiscoveredBy.SITEMAP)]
        assert len(page.faults) == 1
        page = await pool.read(document("/i.xml", index, "", DocumentKind.SITEMAP))
        assert page.sitemaps == ["https://a.example/one.xml"]
        page = await pool.read(document("/feed", rss, "application/rss+xml"))
        assert page.links == [("https://a.example/news", DiscoveredBy.FEED)]
        assert not page.is_html
        page = await pool.read(document("/linked.xml", urlset, "application/xml"))
        assert page.links == [("https://a.example/x", DiscoveredBy.SITEMAP)]  # and a sitemap that a page links to


async def test_ours_a_process_that_writes_what_is_no_page_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import os, time; os.write(1, b'\\x05\\0\\0\\0hello'); time.sleep(60)"
    monkeypatch.setattr(parse_pool, "worker_command", lambda _: (sys.executable, "-c", program))
    with anyio.fail_after(50):
        async with ParsePool(1, hello(30)) as pool:
            page = await pool.read(document("/", b"<p>x", kind=DocumentKind.SITEMAP))
    assert page.fallback == PARSE_CRASH
