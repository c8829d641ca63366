"""The pool of parser processes: order, big documents, hangs, deaths, and what becomes of the document that did it."""

import os
import random
import signal
import sys
from collections.abc import Callable

import anyio
import psutil
import pytest

from crawler.model import DiscoveredBy, DocumentKind, FetchedDocument, Page, Url
from crawler.parse import pool as parse_pool
from crawler.parse.html.page import ReadOptions
from crawler.parse.pool import PARSE_CRASH, PARSE_TIMEOUT, ParsePool
from crawler.parse.protocol import ParserOptions, SharedBodies
from crawler.robots.rules import MAX_BYTES_IN_PLACE, Allowed, Blocked, RobotsAccess, parse_robots
from crawler.url.params import UrlParams

HANG = b"<div>" * 100_000 + b'<a href="/found">x</a>'

pytestmark = pytest.mark.anyio


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": request.param}


def hello(deadline: float = 10.0) -> ParserOptions:
    return ParserOptions(ReadOptions(), UrlParams(), deadline, 2**30)


def document(
    path: str, body: bytes, content_type: str = "text/html", kind: DocumentKind = DocumentKind.PAGE
) -> FetchedDocument:
    return FetchedDocument(Url(f"https://a.example{path}"), content_type, [], [], "", body, kind)


def targets(page: Page) -> list[str]:
    return [str(url).removeprefix("https://a.example") for url, _ in page.links]


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


async def test_ours_a_document_that_hangs_is_read_by_the_scanner_and_costs_no_other() -> None:
    others: list[str] = []

    async def read(number: int) -> None:
        others.extend(targets(await pool.read(document(f"/{number}", b'<a href="/%d">x</a>' % number))))

    async with ParsePool(1, hello(2.5)) as pool, anyio.create_task_group() as tasks:
        for number in range(3):
            tasks.start_soon(read, number)
        hung = await pool.read(document("/hang", HANG))
        for number in range(3, 6):
            tasks.start_soon(read, number)
    assert hung.fallback == PARSE_TIMEOUT
    assert targets(hung) == ["/found"]
    assert sorted(others) == [f"/{number}" for number in range(6)]


async def test_ours_a_document_that_kills_its_process_twice_is_read_by_the_scanner() -> None:
    before = set(psutil.Process().children())

    async def kill() -> None:
        for _ in range(2):
            await anyio.sleep(0.5)  # by now it is deep in the parser, which takes much longer
            for child in set(psutil.Process().children()) - before:
                os.kill(child.pid, signal.SIGSEGV)

    async with ParsePool(1, hello(30)) as pool:
        await pool.read(document("/first", b"warm"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(kill)
            page = await pool.read(document("/crash", HANG))
    assert page.fallback == PARSE_CRASH
    assert targets(page) == ["/found"]


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


async def test_ours_a_document_that_takes_long_keeps_no_other_waiting() -> None:
    read: list[str] = []
    async with ParsePool(2, hello(30)) as pool:
        await pool.read(document("/first", b"warm"))
        with anyio.move_on_after(10) as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(pool.read, document("/hang", HANG))
                await anyio.sleep(0.3)
                read += targets(await pool.read(document("/next", b'<a href="/found">x</a>')))
                tasks.cancel_scope.cancel()
    assert not scope.cancelled_caught
    assert read == ["/found"]


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


@pytest.mark.parametrize("seed", range(20))
def test_ours_bodies_in_shared_memory_stay_whole_until_they_are_dropped(seed: int) -> None:
    chosen = random.Random(seed)
    memory = SharedBodies.create(1_000)
    if memory is None:
        pytest.skip("this system has no files in memory")
    held: list[tuple[int, bytes]] = []
    refused = 0
    for _ in range(2_000):
        body = chosen.randbytes(chosen.choice((0, 1, 7, 90, 400, 1_000, 1_001)))
        start = memory.put(body)
        if start is None:
            refused += 1
        else:
            held.append((start, body))
        assert all(memory.read(start, len(body)) == body for start, body in held)
        while held and chosen.random() < 0.4:
            memory.drop_first()
            del held[0]
    memory.close()
    assert 0 < refused < 2_000


@pytest.mark.skipif(sys.platform != "linux", reason="files in memory are of Linux")
def test_ours_shared_memory_cannot_be_cut_under_the_pool() -> None:
    memory = SharedBodies.create()
    assert memory
    for size in (0, 2**30):
        with pytest.raises(PermissionError):
            os.ftruncate(memory.file, size)
    memory.close()


async def test_ours_a_process_that_writes_what_is_no_page_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import os, time; os.write(1, b'\\x05\\0\\0\\0hello'); time.sleep(60)"
    monkeypatch.setattr(parse_pool, "worker_command", lambda _: (sys.executable, "-c", program))
    with anyio.fail_after(50):
        async with ParsePool(1, hello(30)) as pool:
            page = await pool.read(document("/", b"<p>x", kind=DocumentKind.SITEMAP))
    assert page.fallback == PARSE_CRASH


ROBOTS_URL = Url("https://a.example/private/x")
LONG_ROBOTS = b"User-agent: *\nDisallow: /private/\n" + b"Disallow: /a\n" * 3_000


def robots_reader(change: str) -> Callable[[str], tuple[str, ...]]:
    """The command of a parser process whose ``parse_robots`` is another one."""
    program = (
        f"import os, sys, time\nimport crawler.robots.rules as rules\n{change}\n"
        "from crawler.parse.worker import _main\n_main(sys.argv[1:])"
    )
    return lambda _: (sys.executable, "-c", program)


async def test_ours_a_long_robots_txt_is_read_in_the_process_and_gives_the_same_rules() -> None:
    text = b"Sitemap: https://a.example/s.xml\nUser-agent: *\nCrawl-delay: soon\nDisallow: /*b$\nAllow: /b/index.html\n"
    body = text + b"".join(b"Disallow: /%d*x*%x\n" % (n, n) for n in range(3_000))
    async with ParsePool(1, hello()) as pool:
        rules = await pool.read_robots(body, 77.0)
    assert rules == parse_robots(body, "siteatlas", 77.0)
    assert isinstance(rules.can_fetch(Url("https://a.example/1/x/1")), Blocked)
    assert isinstance(rules.can_fetch(Url("https://a.example/a/b")), Blocked)
    assert isinstance(rules.can_fetch(Url("https://a.example/b/c")), Allowed)


async def test_ours_a_short_robots_txt_starts_no_process() -> None:
    before = set(psutil.Process().children())
    async with ParsePool(1, hello()) as pool:
        at_most = LONG_ROBOTS[:MAX_BYTES_IN_PLACE]
        assert isinstance((await pool.read_robots(at_most, 0.0)).can_fetch(ROBOTS_URL), Blocked)
        assert not set(psutil.Process().children()) - before
        assert isinstance((await pool.read_robots(at_most + b"#", 0.0)).can_fetch(ROBOTS_URL), Blocked)
        assert set(psutil.Process().children()) - before


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("rules.parse_robots = lambda *_: time.sleep(600)", "within parse.timeout"),
        ("rules.parse_robots = lambda *_: os.abort()", "crashes"),
        ("rules.parse_robots = lambda *_: bytearray(2**40)", "needs more than parse.memory"),
    ],
    ids=["hangs", "crashes", "memory"],
)
@pytest.mark.thorough
async def test_rfc9309_2_3_1_4_a_robots_txt_that_breaks_its_reader_allows_nothing_and_costs_no_other_document(
    monkeypatch: pytest.MonkeyPatch, change: str, reason: str
) -> None:
    monkeypatch.setattr(parse_pool, "worker_command", robots_reader(change))
    async with ParsePool(1, hello(3)) as pool:
        rules = await pool.read_robots(LONG_ROBOTS, 77.0)
        page = await pool.read(document("/next", b'<a href="/found">x</a>'))
    assert rules.access is RobotsAccess.NOTHING
    assert rules.reason.startswith("robots.txt cannot be read")
    assert reason in rules.reason
    assert targets(page) == ["/found"]
    assert page.fallback == ""


async def test_ours_rules_that_are_none_allow_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse_pool, "worker_command", robots_reader("rules.parse_robots = lambda *_: [1, 2]"))
    async with ParsePool(1, hello()) as pool:
        assert (await pool.read_robots(LONG_ROBOTS, 0.0)).access is RobotsAccess.NOTHING
