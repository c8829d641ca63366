"""Servers that stall and drip, and requests that are cancelled, over every transport."""

import anyio
import psutil
import pytest
from fetching import IDENTITY, LIMITS, OK, PAGE, all_closed, code, failed, policy, reply
from hostile import HostileServer, answer, chunked, drip, send, sleep

from crawler.fetch.fetcher import Fetcher
from crawler.model import Url

pytestmark = pytest.mark.anyio


async def test_ours_no_answer_is_first_byte(hurried: Fetcher, server: HostileServer) -> None:
    server.route("/", sleep(3))
    got = await failed(hurried, server.url())
    assert got.code == "time.first_byte"
    assert got.elapsed > 0.38
    await all_closed(server)


async def test_ours_head_byte_by_byte_is_first_byte(hurried: Fetcher, server: HostileServer) -> None:
    server.route("/", drip(OK + b"Content-Length: 1\r\n\r\nx", 0.1))
    assert await code(hurried, server.url()) == "time.first_byte"


async def test_ours_stalled_body_is_idle(hurried: Fetcher, server: HostileServer) -> None:
    server.route("/", send(OK + b"Content-Length: 100\r\n\r\n" + b"x" * 99), sleep(3))
    got = await failed(hurried, server.url())
    assert (got.code, got.transient) == ("time.idle", True)
    assert got.elapsed > 0.3
    await all_closed(server)


async def test_ours_dripping_body_is_too_slow(hurried: Fetcher, server: HostileServer) -> None:
    server.route("/", send(OK + b"\r\n"), drip(b"x" * 100, 0.05))
    assert await code(hurried, server.url()) == "time.too_slow"


async def test_ours_endless_body_within_the_rate_ends_at_the_total_deadline(
    hurried: Fetcher, server: HostileServer
) -> None:
    server.route("/", send(OK + b"\r\n"), *[step for _ in range(100) for step in (send(b"x" * 500), sleep(0.05))])
    got = await failed(hurried, server.url())
    assert got.code == "time.total_deadline"
    assert got.elapsed > 0.85


async def test_ours_slow_host_does_not_hold_up_another(case: tuple[type, str], server: HostileServer) -> None:
    server.route("*", sleep(60))
    ended: list[object] = []
    with HostileServer() as healthy:
        healthy.route("/", answer(PAGE))
        async with (
            Fetcher(case[0](limits=LIMITS), IDENTITY, policy(server, healthy), LIMITS) as fetcher,
            anyio.create_task_group() as group,
        ):

            async def wait() -> None:
                ended.append(await fetcher.fetch(Url(server.url("/slow"))))

            for _ in range(8):
                group.start_soon(wait)
            for _ in range(50):
                assert (await reply(fetcher, healthy.url())).body == PAGE
            assert ended == []
            group.cancel_scope.cancel()


async def test_ours_cancelling_leaks_nothing(hurried: Fetcher, server: HostileServer) -> None:
    server.route("/head", sleep(9))
    server.route("/body", send(OK + b"Content-Length: 90\r\n\r\nx"), sleep(9))
    server.route("/chunk", chunked(b"x" * 5000, last=False), sleep(9))
    server.route("/", answer(PAGE))
    await reply(hurried, server.url())
    for turn in range(60):
        with anyio.move_on_after(0.001 * (turn % 12)):
            async with anyio.create_task_group() as group:
                for path in ("/head", "/body", "/chunk", "/"):
                    group.start_soon(hurried.fetch, Url(server.url(path)))
    await all_closed(server, most=4)
    ours = [entry for entry in psutil.Process().net_connections() if entry.raddr and entry.raddr.port == server.port]
    assert len(ours) <= 4
    assert (await reply(hurried, server.url())).body == PAGE
