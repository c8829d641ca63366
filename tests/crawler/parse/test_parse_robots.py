"""A robots.txt that is read in a parser process: the same rules, and what breaks its reader."""

import sys
from collections.abc import Callable

import psutil
import pytest
from parser_pools import LOOPS, document, hello, targets

from crawler.model import Url
from crawler.parse import pool as parse_pool
from crawler.parse.pool import ParsePool
from crawler.robots.rules import MAX_BYTES_IN_PLACE, Allowed, Blocked, RobotsAccess, parse_robots

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", LOOPS)]


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
