"""Documents that hang or kill a parser process: what becomes of them, and of the others."""

import os
import signal

import anyio
import psutil
import pytest
from parser_pools import HANG, LOOPS, document, hello, targets

from crawler.parse.pool import PARSE_CRASH, PARSE_TIMEOUT, ParsePool

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", LOOPS)]


@pytest.mark.thorough
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
            await anyio.sleep(0.3)  # by now it is deep in the parser, which takes much longer
            for child in set(psutil.Process().children()) - before:
                os.kill(child.pid, signal.SIGSEGV)

    async with ParsePool(1, hello(30)) as pool:
        await pool.read(document("/first", b"warm"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(kill)
            page = await pool.read(document("/crash", HANG))
    assert page.fallback == PARSE_CRASH
    assert targets(page) == ["/found"]


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


async def test_ours_a_page_with_thousands_of_microdata_values_is_read_before_its_deadline() -> None:
    item = b"<div itemscope><meta itemprop=price content=5><link itemprop=url href=/p%d><b itemprop=dateModified>2</b>"
    async with ParsePool(1, hello(10)) as pool:
        page = await pool.read(document("/shop", b"".join(item % number + b"</div>" for number in range(4_000))))
    assert not page.fallback  # where elements were compared by their markup, it took a minute
