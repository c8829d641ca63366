"""The robots.txt that are kept: what holds when one cannot be had, and what is told of them later."""

import contextlib
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from scripted import Answer, Route, Site, scripted

from crawler.fetch.address_policy import AddressPolicy
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.identity import Identity
from crawler.fetch.limits import FetchLimits, TransportOptions
from crawler.fetch.retry import RetryPolicy
from crawler.fetch.transports import HttpxTransports
from crawler.model import Url
from crawler.robots.cache import RobotsCache, RobotsStore
from crawler.robots.rules import Allowed, Blocked, Robots, RobotsAccess, allow_all, disallow_all, parse_robots
from crawler.state.schema import STATE_DB

US = "Siteatlas/1.0"
TEXT = {"Content-Type": "text/plain"}
RULES = Answer("User-agent: *\nDisallow: /a\nAllow: /a/b\n", headers=TEXT)
DAY = 86_400


async def read(body: bytes, at: float) -> Robots:
    return parse_robots(body, US, at)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(STATE_DB.open(tmp_path / "state.db")) as opened:
        yield opened


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crawler.robots.cache.MAX_RETRIES", RetryPolicy())


@contextlib.asynccontextmanager
async def fetching(site: Site) -> AsyncIterator[Fetcher]:
    limits = FetchLimits()
    policy = AddressPolicy.for_seeds([site.url.rstrip("/")], [])
    async with Fetcher(HttpxTransports(TransportOptions(), limits), Identity(US), policy, limits) as fetcher:
        yield fetcher


async def run(site: Site, db: sqlite3.Connection, *, obey: bool = True) -> Robots:
    """What a run holds to be allowed: each has a rulebook of its own, and the state is the same."""
    async with fetching(site) as fetcher:
        return await RobotsCache(fetcher, read, obey=obey, kept=RobotsStore(db)).get(site.url.rstrip("/"))


def site_with(robots: Route) -> contextlib.AbstractContextManager[Site]:
    return scripted({"/robots.txt": robots})


@pytest.mark.anyio
async def test_rfc9309_2_3_1_4_the_copy_of_an_earlier_run_holds_while_robots_is_unreachable(
    db: sqlite3.Connection,
) -> None:
    with site_with(RULES) as site:
        home = site.url.rstrip("/")
        assert (await run(site, db)).access is RobotsAccess.RULES
        site.routes["/robots.txt"] = Answer("", 503)
        again = await run(site, db)
        assert isinstance(again.can_fetch(Url(f"{site.url}a")), Blocked)
        assert isinstance(again.can_fetch(Url(f"{site.url}c")), Allowed)
        assert site.paths == ["/robots.txt"] * 2  # the copy spares no question
        kept = RobotsStore(db).get(home)
        assert kept is not None
        assert (kept.status, kept.meaning) == (503, "robots.txt answered 503")
        assert kept.copy_at is not None
        assert kept.copy_at < kept.fetched_at
        assert kept.current(kept.last_readable(US)).access is RobotsAccess.RULES


@pytest.mark.anyio
async def test_rfc9309_2_4_a_copy_is_not_used_for_longer_than_a_day(db: sqlite3.Connection) -> None:
    with site_with(RULES) as site:
        await run(site, db)
        db.execute("UPDATE robots SET fetched_at = fetched_at - ?, copy_at = copy_at - ?", (DAY, DAY))
        site.routes["/robots.txt"] = Answer("", 503)
        assert (await run(site, db)).access is RobotsAccess.NOTHING
        kept = RobotsStore(db).get(site.url.rstrip("/"))
        assert kept is not None
        assert kept.current(kept.last_readable(US)).access is RobotsAccess.NOTHING


@pytest.mark.anyio
async def test_rfc9309_2_3_1_4_without_any_answer_the_copy_holds_too(db: sqlite3.Connection) -> None:
    with site_with(RULES) as site:
        home = site.url.rstrip("/")
        await run(site, db)
    again = await run(site, db)  # the server is gone
    assert again.access is RobotsAccess.RULES
    kept = RobotsStore(db).get(home)
    assert kept is not None
    assert kept.status is None
    assert kept.meaning.startswith("robots.txt cannot be fetched: ")


@pytest.mark.anyio
async def test_rfc9309_2_3_1_3_a_robots_file_that_is_gone_ends_the_copy(db: sqlite3.Connection) -> None:
    with site_with(RULES) as site:
        store, home = RobotsStore(db), site.url.rstrip("/")
        await run(site, db)
        site.routes["/robots.txt"] = Answer("", 404)
        assert (await run(site, db)).access is RobotsAccess.EVERYTHING
        kept = store.get(home)
        assert kept is not None
        assert (kept.status, kept.copy_at, kept.body) == (404, None, b"")
        assert kept.current(kept.last_readable(US)).access is RobotsAccess.EVERYTHING
        site.routes["/robots.txt"] = Answer("", 500)
        assert (await run(site, db)).access is RobotsAccess.NOTHING


@pytest.mark.anyio
async def test_rfc9309_2_2_2_an_empty_robots_file_is_a_copy_like_any_other(db: sqlite3.Connection) -> None:
    with site_with(Answer("", headers=TEXT)) as site:
        await run(site, db)
        site.routes["/robots.txt"] = Answer("", 503)
        assert isinstance((await run(site, db)).can_fetch(Url(f"{site.url}a")), Allowed)


@pytest.mark.anyio
async def test_ours_who_ignores_robots_keeps_what_it_says_and_uses_no_copy(db: sqlite3.Connection) -> None:
    with site_with(RULES) as site:
        ignored = await run(site, db, obey=False)
        assert ignored.access is RobotsAccess.EVERYTHING
        assert ignored.expires == pytest.approx((await run(site, db)).expires, abs=60)  # it is read again as often
        kept = RobotsStore(db).get(site.url.rstrip("/"))
        assert kept is not None
        assert isinstance(kept.current(kept.last_readable(US)).can_fetch(Url(f"{site.url}a")), Blocked)
        site.routes["/robots.txt"] = Answer("", 503)
        assert (await run(site, db, obey=False)).access is RobotsAccess.EVERYTHING


@pytest.mark.anyio
@pytest.mark.parametrize("obey", [True, False])
async def test_ours_rules_that_memory_forgot_are_read_from_the_state(
    db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch, obey: bool
) -> None:
    monkeypatch.setattr("crawler.robots.cache.MAX_WEIGHT", 1)
    with site_with(RULES) as site, site_with(Answer("", 404)) as other:
        policy = AddressPolicy.for_seeds([site.url.rstrip("/"), other.url.rstrip("/")], [])
        async with Fetcher(HttpxTransports(TransportOptions(), FetchLimits()), Identity(US), policy) as fetcher:
            cache = RobotsCache(fetcher, read, obey=obey, kept=RobotsStore(db))
            for _ in range(3):
                for each in (site, other):
                    robots = await cache.get(each.url.rstrip("/"))
                    is_blocked = isinstance(robots.can_fetch(Url(f"{each.url}a")), Blocked)
                    assert is_blocked is (obey and each is site)
                    assert cache.cached(each.url.rstrip("/"), time.time()) is robots
        assert (site.paths, other.paths) == (["/robots.txt"], ["/robots.txt"])


@pytest.mark.anyio
async def test_ours_a_rulebook_without_a_store_goes_on_without(db: sqlite3.Connection) -> None:
    with site_with(RULES) as site:
        async with fetching(site) as fetcher:
            assert (await RobotsCache(fetcher, read).get(site.url.rstrip("/"))).access is RobotsAccess.RULES
    assert RobotsStore(db).get("http://127.0.0.1") is None


@pytest.mark.anyio
async def test_ours_what_is_kept_is_part_of_the_running_transaction(db: sqlite3.Connection) -> None:
    with site_with(RULES) as site:
        db.execute("BEGIN IMMEDIATE")
        before = time.time()
        await run(site, db)
        kept = RobotsStore(db).get(site.url.rstrip("/"))
        assert kept is not None
        assert before <= kept.fetched_at <= time.time()
        db.execute("ROLLBACK")
        assert RobotsStore(db).get(site.url.rstrip("/")) is None


@pytest.mark.anyio
async def test_rfc9309_2_3_1_4_a_text_that_breaks_its_reader_is_asked_for_once_and_the_earlier_copy_holds(
    db: sqlite3.Connection,
) -> None:
    async def fragile(body: bytes, at: float) -> Robots:
        return disallow_all("its reader broke", at) if b"breaks" in body else await read(body, at)

    with site_with(RULES) as site:
        await run(site, db)
        site.routes["/robots.txt"] = Answer("User-agent: *\nAllow: /a\n# breaks it", headers=TEXT)
        async with fetching(site) as fetcher:
            robots = await RobotsCache(fetcher, fragile, kept=RobotsStore(db)).get(site.url.rstrip("/"))
        assert isinstance(robots.can_fetch(Url(f"{site.url}a")), Blocked)
        assert isinstance(robots.can_fetch(Url(f"{site.url}c")), Allowed)
        assert site.paths == ["/robots.txt"] * 2  # it is not fetched and read again and again
        kept = RobotsStore(db).get(site.url.rstrip("/"))
        assert kept is not None
        assert (kept.status, kept.meaning, kept.body) == (200, "its reader broke", RULES.body.encode())


def test_ours_rules_that_allow_or_disallow_everything_say_why() -> None:
    allowed, disallowed = allow_all("it is ignored", 0.0), disallow_all("it answered 500", 0.0)
    assert (allowed.access, allowed.reason) == (RobotsAccess.EVERYTHING, "it is ignored")
    assert (disallowed.access, disallowed.reason) == (RobotsAccess.NOTHING, "it answered 500")
