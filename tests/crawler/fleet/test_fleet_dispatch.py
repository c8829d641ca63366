"""Jobs of due sites in the queue, in a real PostgreSQL whose clock the test sets: which wait, where, and for whom."""

from datetime import UTC, datetime

import pytest
from fleet_clock import DatabaseClock
from fleet_sites import DONE, LEASE, START, site
from procrastinate.jobs import Status

from crawler.fleet.database import FleetDatabase
from crawler.fleet.dispatch import dispatch
from crawler.fleet.leases import end_lease, take_lease
from crawler.fleet.registry import FleetSite, apply_sites, pause_sites, resume_sites
from crawler.fleet.status import fleet_status

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("is_taken", [False, True])
async def test_ours_a_worker_that_dies_leaves_neither_site_nor_origin_behind(
    clocked: tuple[FleetDatabase, DatabaseClock], *, is_taken: bool
) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site("a")])
    await clock.set(START + 3_601)
    jobs = fleet.app.job_manager

    async def shown() -> tuple[int, int, int, int, int]:
        status = await fleet_status(fleet)
        return status.counts["queued"], status.jobs, status.counts["running"], status.counts["lost"], status.due

    for turn in (1, 2):
        is_lost = int(is_taken and turn > 1)
        assert await shown() == (0, 0, 0, is_lost, 1 - is_lost)
        assert await dispatch(fleet, 10) == 1
        assert await shown() == (1, 1, 0, is_lost, 1 - is_lost)
        worker = await jobs.register_worker()
        job = await jobs.fetch_job(None, worker)
        assert job
        assert job.task_kwargs == {"name": "a"}
        if is_taken:
            lease = await take_lease(fleet, "a", "w", job.id, LEASE)
            assert lease
            assert lease.attempt.try_number == turn
            assert await shown() == (0, 0, 1, 0, 0)
        assert await dispatch(fleet, 10) == 0
        await clock.set(clock.now + LEASE + 1)
    assert await dispatch(fleet, 10) == 1


async def add_worker(fleet: FleetDatabase, clock: DatabaseClock, slots: int) -> None:
    """The worker ``w1``, which has just given a sign of life."""
    statement = (
        "INSERT INTO worker (id, host, process, version, slots, seen) VALUES ('w1', 'h', 1, '1', %(slots)s, %(seen)s)"
    )
    await fleet.rows(statement, slots=slots, seen=datetime.fromtimestamp(clock.now, UTC))


async def test_ours_a_job_that_the_worker_with_the_newest_state_leaves_goes_to_any_worker(
    clocked: tuple[FleetDatabase, DatabaseClock],
) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site(name) for name in "abcd"])
    await fleet.rows("UPDATE site SET home = 'w1'")
    await clock.set(START + 3_601)
    await add_worker(fleet, clock, slots=2)

    async def queues() -> list[str]:
        return sorted(job.queue for job in await fleet.app.job_manager.list_jobs_async())

    assert await dispatch(fleet, 10) == 4
    assert await queues() == ["sites", "sites", "sites:w1", "sites:w1"], "it has two places"
    await clock.set(clock.now + 9)
    assert await dispatch(fleet, 10) == 0
    await clock.set(clock.now + 2)
    assert await dispatch(fleet, 10) == 2
    assert await queues() == ["sites"] * 4
    await fleet.rows("DELETE FROM procrastinate_jobs")
    await fleet.rows("UPDATE site SET unsaved = now()")
    for _ in range(2):
        assert await dispatch(fleet, 10) == 3
        assert await queues() == ["sites:w1"] * 3, "it alone has the newest state: one waits for a place"
        await clock.set(clock.now + 11)
    await fleet.rows("DELETE FROM worker")
    assert await dispatch(fleet, 10) == 4
    assert await queues() == ["sites"] * 4


async def test_ours_a_site_that_waits_for_its_busy_worker_lets_others_of_its_origin_go_first(
    clocked: tuple[FleetDatabase, DatabaseClock],
) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site(name) for name in "ab"])
    await fleet.rows("UPDATE site SET origin = 'http://o'")
    await fleet.rows(
        "UPDATE site SET home = 'w1', unsaved = now(), next_at = next_at - interval '1 s' WHERE name = 'a'"
    )
    await clock.set(START + 3_601)
    await add_worker(fleet, clock, slots=0)
    for queue, name in (("sites:w1", "a"), ("sites", "b")):
        assert await dispatch(fleet, 10) == 1
        (job,) = await fleet.app.job_manager.list_jobs_async()
        assert (job.queue, job.task_kwargs["name"]) == (queue, name)
        await clock.set(clock.now + 11)


async def test_ours_a_site_that_only_one_worker_can_run_gets_the_next_place_of_this_worker(
    clocked: tuple[FleetDatabase, DatabaseClock],
) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site(name) for name in "abc"])
    await fleet.rows(
        "UPDATE site SET home = 'w1', unsaved = now(), next_at = next_at + interval '1 s' WHERE name <> 'a'"
    )
    await clock.set(START + 3_602)
    await add_worker(fleet, clock, slots=0)
    assert await dispatch(fleet, 1) == 1
    assert await dispatch(fleet, 10) == 1, "the other one that only w1 can run is left where it is"
    jobs = fleet.app.job_manager
    job = await jobs.fetch_job(["sites:w1", "sites"], await jobs.register_worker())
    assert job
    assert job.task_kwargs["name"] in ("b", "c")


async def test_ours_a_job_that_ended_though_the_queue_does_not_know_leaves_its_origin(
    clocked: tuple[FleetDatabase, DatabaseClock],
) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site("a")])
    await clock.set(START + 3_601)
    assert await dispatch(fleet, 10) == 1
    job = await fleet.app.job_manager.fetch_job(None, await fleet.app.job_manager.register_worker())
    assert job
    assert await dispatch(fleet, 10) == 0
    assert await dispatch(fleet, 10, ended={job.id, 0}) == 1


async def test_ours_a_job_that_ended_before_its_site_was_taken_is_queued_again(
    clocked: tuple[FleetDatabase, DatabaseClock],
) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site("a")])
    await clock.set(START + 3_601)
    assert await dispatch(fleet, 10) == 1
    assert await dispatch(fleet, 10) == 0
    await fleet.rows("DELETE FROM procrastinate_jobs")
    assert await dispatch(fleet, 10) == 1


async def test_ours_one_job_of_a_site_waits_though_its_origin_changed(
    clocked: tuple[FleetDatabase, DatabaseClock],
) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site("a"), site("b")])
    await clock.set(START + 3_601)
    assert await dispatch(fleet, 10) == 2
    await pause_sites(fleet, ["a"])
    moved = site("moved")
    await apply_sites(fleet, [FleetSite("a", moved.config, moved.origin), site("b"), site("c")])
    await resume_sites(fleet, ["a"])
    await clock.set(clock.now + 3_601)
    assert await dispatch(fleet, 10) == 1  # "c"; the job of "a" waits already


async def test_ours_one_job_of_an_origin_waits_and_leaves_room_for_others(
    clocked: tuple[FleetDatabase, DatabaseClock],
) -> None:
    fleet, clock = clocked
    shared = [FleetSite(f"shop{number}", site("shop").config, site("shop").origin) for number in range(30)]
    await apply_sites(fleet, [*shared, site("z")])
    await clock.set(START + 3_601)
    ran: list[str] = []
    for _ in range(31):
        assert await dispatch(fleet, 10) <= 2
        job = await fleet.app.job_manager.fetch_job(None, await fleet.app.job_manager.register_worker())
        assert job
        lease = await take_lease(fleet, job.task_kwargs["name"], "w", job.id, LEASE)
        assert lease
        await end_lease(fleet, lease, DONE)
        await fleet.app.job_manager.finish_job_by_id_async(job.id, Status.SUCCEEDED, delete_job=True)
        ran.append(lease.site)
    assert sorted(ran) == sorted(["z", *(each.name for each in shared)])  # each once: none starves


async def test_ours_one_job_of_an_address_waits_when_addresses_count(
    clocked: tuple[FleetDatabase, DatabaseClock],
) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site("a"), site("b"), site("c"), site("new")])
    await fleet.rows("UPDATE site SET address = '192.0.2.1' WHERE name IN ('a', 'b')")
    await fleet.rows("UPDATE site SET address = '192.0.2.2' WHERE name = 'c'")
    await clock.set(START + 3_601)
    assert await dispatch(fleet, 10, by_address=True) == 3
    assert await dispatch(fleet, 10, by_address=True) == 0
    queued = {job.task_kwargs["name"] for job in await fleet.app.job_manager.list_jobs_async()}
    (left,) = [{"name": name} for name in ("a", "b", "c", "new") if name not in queued]
    moved = FleetSite(left["name"], site("moved").config, site("moved").origin)
    await apply_sites(fleet, [moved, *(site(name) for name in {"a", "b"} - {moved.name})])
    assert await dispatch(fleet, 10, by_address=True) == 1  # whose address is not known yet
