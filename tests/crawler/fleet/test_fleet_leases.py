"""Leases of sites in a real PostgreSQL whose clock the test sets: what is due, who has it, and who may record."""

import anyio
import pytest
from fleet_clock import DatabaseClock, clocked_fleet
from fleet_sites import DONE, HOURLY, LEASE, START, next_at, site
from msgspec.structs import replace
from psycopg import AsyncConnection

from crawler.config.config import Config
from crawler.config.plan import plan_crawl
from crawler.fleet.database import FleetDatabase
from crawler.fleet.dispatch import dispatch
from crawler.fleet.leases import OTHERS_SECONDS, SiteLease, end_lease, renew_leases, store_snapshot, take_lease
from crawler.fleet.registry import FleetSite, apply_sites, fleet_site, pause_sites, resume_sites, run_sites_now
from crawler.schedule.site_state import Trigger
from crawler.state.lock import LeaseLost
from crawler.state.runs import RunStatus

pytestmark = pytest.mark.anyio


async def test_ours_one_of_many_workers_gets_a_site(clocked: tuple[FleetDatabase, DatabaseClock]) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site("a")])
    await clock.set(START + 3_601)
    taken: list[SiteLease | None] = []

    async def take(worker: str) -> None:
        taken.append(await take_lease(fleet, "a", worker, None, LEASE))

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(take, f"w{number}")
    assert [lease.epoch for lease in taken if lease] == [1]
    assert await fleet.rows("SELECT count(*) AS attempts FROM attempt") == [{"attempts": 1}]


async def test_ours_who_lost_a_lease_records_nothing(clocked: tuple[FleetDatabase, DatabaseClock]) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site("a")])
    await clock.set(START + 3_601)
    old = await take_lease(fleet, "a", "old", None, LEASE)
    assert old
    assert await take_lease(fleet, "a", "new", None, LEASE) is None
    await clock.set(clock.now + LEASE)
    with pytest.raises(LeaseLost):  # though nobody took it
        await end_lease(fleet, old, DONE)
    new = await take_lease(fleet, "a", "new", None, LEASE)
    assert new
    assert (new.epoch, new.attempt.trigger, new.attempt.try_number) == (
        old.epoch + 1,
        "resumed",
        old.attempt.try_number + 1,
    )
    with pytest.raises(LeaseLost):
        await end_lease(fleet, old, DONE)
    with pytest.raises(LeaseLost):
        await store_snapshot(fleet, old, "old", 1, ["key"], {})
    await end_lease(fleet, new, DONE)
    attempts = await fleet.rows("SELECT worker, fate FROM attempt ORDER BY number")
    assert attempts == [{"worker": "old", "fate": None}, {"worker": "new", "fate": "done"}]
    assert (await fleet.rows("SELECT generation, home FROM site")) == [{"generation": 0, "home": None}]


async def test_ours_a_paused_site_runs_once_when_it_is_resumed(clocked: tuple[FleetDatabase, DatabaseClock]) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site("a")])
    assert await pause_sites(fleet, ["a", "other"]) == ["a"]
    await clock.set(START + 5 * 3_600)
    assert await dispatch(fleet, 10) == 0
    assert await take_lease(fleet, "a", "w", None, LEASE) is None
    assert await resume_sites(fleet, ["a"]) == ["a"]
    assert await dispatch(fleet, 10) == 1
    lease = await take_lease(fleet, "a", "w", None, LEASE)
    assert lease
    assert lease.attempt.trigger == "missed"
    await end_lease(fleet, lease, DONE)
    assert await take_lease(fleet, "a", "w", None, LEASE) is None


async def test_ours_a_worker_renews_only_the_leases_that_its_process_has(
    clocked: tuple[FleetDatabase, DatabaseClock],
) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site("a"), site("b")])
    await clock.set(START + 3_601)
    for name in ("a", "b"):
        assert await take_lease(fleet, name, "w", None, LEASE)
    await clock.set(clock.now + LEASE - 1)
    assert await renew_leases(fleet, {"a": 1, "b": 2}, LEASE) == {"a"}  # "b" was taken by the process before
    assert await renew_leases(fleet, {}, LEASE) == set()
    await clock.set(clock.now + 2)
    assert [await take_lease(fleet, name, "w", None, LEASE) is not None for name in ("a", "b")] == [False, True]


async def test_ours_a_worker_leaves_a_site_that_a_newer_version_configured_to_others(
    clocked: tuple[FleetDatabase, DatabaseClock],
) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site("a"), site("b")])
    await clock.set(START + 3_601)
    newer = """UPDATE site SET config = config || '{"later": {"key": 1}}' WHERE name = %(name)s"""
    await fleet.rows(newer, name="a")
    assert await dispatch(fleet, 10) == 2
    assert await take_lease(fleet, "a", "old", None, LEASE) is None
    assert await next_at(fleet, "a") == clock.now + OTHERS_SECONDS
    lease = await take_lease(fleet, "b", "old", None, LEASE)
    assert lease
    await fleet.rows(newer, name="b")  # while it runs: its result is recorded
    assert await end_lease(fleet, lease, DONE)


async def test_ours_a_run_asked_for_is_made_once_also_during_a_run_and_while_paused(
    clocked: tuple[FleetDatabase, DatabaseClock],
) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site("a")])

    async def triggers() -> list[str]:
        found = []
        while lease := await take_lease(fleet, "a", "w", None, LEASE):
            found.append(lease.attempt.trigger.value)
            await end_lease(fleet, lease, DONE)
        return found

    await run_sites_now(fleet, ["a"])
    assert await triggers() == [Trigger.ASKED]
    await clock.set(START + 3_601)
    await run_sites_now(fleet, ["a"])
    assert await triggers() == [Trigger.MISSED]  # a due run is what was asked for
    await run_sites_now(fleet, ["a"])
    lease = await take_lease(fleet, "a", "w", None, LEASE)
    assert lease
    await run_sites_now(fleet, ["a"])
    assert await end_lease(fleet, lease, DONE) == clock.now
    assert await triggers() == [Trigger.ASKED]
    await pause_sites(fleet, ["a"])
    await clock.set(clock.now + 10_000)
    await run_sites_now(fleet, ["a"])
    assert await triggers() == [Trigger.ASKED]


async def test_ours_what_a_person_asks_for_is_done_once_by_the_run_whose_state_is_kept(
    clocked: tuple[FleetDatabase, DatabaseClock],
) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site("a")])

    async def taken() -> SiteLease:
        lease = await take_lease(fleet, "a", "w", None, LEASE)
        assert lease
        return lease

    await run_sites_now(fleet, ["a"], {"accept_shrink": True})
    assert (await taken()).asked == {"accept_shrink": True}
    await clock.set(clock.now + LEASE + 1)  # the worker died
    lease = await taken()
    assert lease.asked == {"accept_shrink": True}
    await run_sites_now(fleet, ["a"], {"rollback": None})
    await store_snapshot(fleet, lease, "w", 1, ["key"], {})  # it has what was accepted
    await clock.set(clock.now + LEASE + 1)
    lease = await taken()
    assert lease.asked == {"rollback": None}
    await run_sites_now(fleet, ["a"])
    await end_lease(fleet, lease, replace(DONE, status=RunStatus.FAILED), {"rollback": None})
    lease = await taken()
    assert lease.asked == {"rollback": None}, "it was not done yet"
    await end_lease(fleet, lease, replace(DONE, notify_pending=True), {})
    await run_sites_now(fleet, ["a"])
    lease = await taken()
    assert lease.asked == {}
    await end_lease(fleet, lease, DONE, {})


async def test_ours_a_site_under_a_new_name_is_the_same_site_and_one_with_another_url_is_not(
    clocked: tuple[FleetDatabase, DatabaseClock],
) -> None:
    fleet, clock = clocked

    def of(name: str, host: str) -> FleetSite:
        config = {"site": {"url": f"https://{host}/"}, "output": {"directory": "out"}, "schedule": {"every": 3_600.0}}
        return fleet_site(name, plan_crawl(Config.model_validate(config)))

    await apply_sites(fleet, [of("a", "one"), of("b", "two")])
    await run_sites_now(fleet, ["a"])
    lease = await take_lease(fleet, "a", "w", None, LEASE)
    assert lease
    await store_snapshot(fleet, lease, "w", 7, ["a/key", "a/older"], {})
    await fleet.rows("INSERT INTO delivery (site, notice, epoch) VALUES ('a', 'notice', 1)")
    done = await apply_sites(fleet, [of("new", "one"), of("b", "two")])
    assert (done.renamed, done.added, done.changed, done.retired) == ({"new": "a"}, [], [], [])
    with pytest.raises(LeaseLost):
        await end_lease(fleet, lease, DONE)
    assert await take_lease(fleet, "new", "w", None, LEASE) is None, "until the run of before is over"
    await clock.set(clock.now + LEASE + 1)
    lease = await take_lease(fleet, "new", "w", None, LEASE)
    assert lease
    assert (lease.generation, lease.snapshots, lease.epoch) == (7, ["a/key", "a/older"], 2)
    assert [row["site"] for row in await fleet.rows("SELECT site FROM attempt UNION SELECT site FROM delivery")] == [
        "new"
    ]
    await end_lease(fleet, lease, DONE)
    assert (await apply_sites(fleet, [of("b", "two")])).retired == ["new"]
    done = await apply_sites(fleet, [of("b", "three"), of("again", "one")])
    assert (done.renamed, done.changed) == ({"again": "new"}, ["b"])
    await fleet.rows("UPDATE site SET snapshot = 'b/key', output = '/out' WHERE name = 'b'")
    await apply_sites(fleet, [of("b", "four"), of("again", "one")])
    (row,) = await fleet.rows("SELECT snapshot, output FROM site WHERE name = 'b'")
    assert row == {"snapshot": "", "output": ""}, "the state is that of another site"


async def test_ours_columns_that_a_newer_version_adds_do_not_disturb_a_worker(database: str) -> None:
    async with clocked_fleet(database, START, connections=1) as (fleet, clock):  # so each statement gets prepared
        await apply_sites(fleet, [site("shop")])

        async def work() -> None:
            await clock.set(clock.now + 3_600.0)
            await dispatch(fleet, 10)
            lease = await take_lease(fleet, "shop", "w", None, LEASE)
            assert lease
            assert await renew_leases(fleet, {"shop": lease.epoch}, LEASE) == {"shop"}
            await store_snapshot(fleet, lease, "w", lease.generation + 1, ["key"], {})
            assert await end_lease(fleet, lease, DONE)
            await fleet.rows("DELETE FROM procrastinate_jobs")
            await run_sites_now(fleet, ["shop"])
            await apply_sites(fleet, [site("shop")])

        for _ in range(8):
            await work()
        async with await AsyncConnection.connect(database, autocommit=True) as other:
            for table in ("site", "attempt", "worker", "origin", "delivery", "fleet"):
                await other.execute(f"ALTER TABLE siteatlas.{table} ADD COLUMN more text DEFAULT 'x'".encode())
        await work()


async def test_ours_a_changed_configuration_does_not_put_off_a_notice_that_is_to_be_sent_again(
    clocked: tuple[FleetDatabase, DatabaseClock],
) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site("a")])
    await fleet.rows(
        "INSERT INTO delivery (site, notice, epoch, what, claimed, again) "
        "VALUES ('a', 'n', 1, 'hook', now() - interval '1 s', now())"
    )
    await apply_sites(fleet, [site("a", HOURLY.model_copy(update={"every": 7_200.0}))])
    assert await next_at(fleet, "a") == clock.now
