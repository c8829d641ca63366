"""The page, the metrics and the health of a fleet, from a real PostgreSQL."""

import re
import subprocess
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from postgres_server import PostgresServer
from prometheus_client.parser import text_string_to_metric_families
from psycopg import AsyncConnection
from run import command, environment

from crawler.config.sections import DaemonConfig
from crawler.fleet.database import FleetDatabase, initialize, open_fleet
from crawler.fleet.web import build_fleet_app
from crawler.schedule.web.snapshots import MAX_RUNS

pytestmark = pytest.mark.anyio

_SITES = """INSERT INTO site (name, config, origin, next_at, lease_until, worker, home, paused) VALUES
  ('calm', '{"site": {"url": "https://calm.example/shop/"}}', 'https://calm.example:443', now() + interval '1 h',
    NULL, NULL, 'w1', false),
  ('failing', '{}', 'https://failing', now() + interval '1 h', NULL, NULL, 'w1', false),
  ('late.<b>&?', '{}', 'https://late', now() - interval '1 h', NULL, NULL, NULL, false),
  ('running', '{}', 'https://running', NULL, now() + interval '1 h', 'w1', NULL, false),
  ('lost', '{}', 'https://lost', NULL, now() - interval '1 s', 'w2', NULL, false),
  ('paused', '{}', 'https://paused', NULL, NULL, NULL, NULL, true)"""
_ATTEMPTS = """INSERT INTO attempt (site, slot, because, turn, began, ended, fate, told, epoch, worker) VALUES
  ('calm', 0, 'due', 1, 1790000000, 1790000060, 'done', '', 1, 'w1'),
  ('failing', 0, 'due', 1, 1790000000, 1790000001, 'failed', 'the site <i>does</i> not respond', 1, 'w1'),
  ('failing', 0, 'retry', 2, 1790000000, 1790000001, 'failed', 'the site <i>does</i> not respond', 2, 'w1')"""
_WORKERS = """INSERT INTO worker (id, host, process, version, slots, seen) VALUES
  ('w1', 'one.example', 7, '1.0', 4, now()), ('w2', 'two.example', 8, '1.0', 2, now() - interval '1 h')"""


@asynccontextmanager
async def served(database: str, max_sites: int = 100) -> AsyncIterator[tuple[FleetDatabase, httpx.AsyncClient]]:
    async with open_fleet(database, checked=False) as fleet:
        await initialize(fleet)
        app = build_fleet_app(fleet, DaemonConfig(), max_sites)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            yield fleet, client


async def fill(fleet: FleetDatabase) -> None:
    for statement in (_SITES, _ATTEMPTS, _WORKERS):
        await fleet.rows(statement)


def listed(page: str) -> list[str]:
    """The sites of the first table of a page, as their links write the names."""
    return re.findall(r'href="\./sites/([^"]+)"', page.partition('id="workers"')[0])


def samples(text: str) -> dict[tuple[str, ...], float]:
    """The metrics: the values by name and labels."""
    found = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(sample.name, *sample.labels.values()): sample.value for sample in found}


@pytest.mark.thorough
async def test_ours_the_page_shows_what_needs_attention_and_the_workers(database: str) -> None:
    async with served(database) as (fleet, client):
        await fill(fleet)
        page = (await client.get("/")).text
        assert listed(page) == ["failing", "lost", "late.%3Cb%3E%26%3F"]
        assert "2 runs in a row failed: the site &lt;i&gt;does&lt;/i&gt; not respond" in page
        assert "<b>1 worker no longer responds.</b>" in page
        assert "one.example" in page
        assert listed((await client.get("/?state=paused")).text) == ["paused"]
        assert listed((await client.get("/?q=CALM+example")).text) == ["calm"]
        assert (await client.get("/?state=asleep")).status_code == 404


async def test_ours_the_page_says_only_of_a_table_that_is_cut_that_it_is(database: str) -> None:
    async with served(database, max_sites=3) as (fleet, client):
        await fill(fleet)
        assert "This table shows the first" not in (await client.get("/")).text  # exactly 3 need attention
        found = (await client.get("/?q=a")).text
        assert len(listed(found)) == 3
        assert "More than 3 sites" in found
        assert "This table shows the first 3 sites" in found
        paused = (await client.get("/?state=paused")).text
        assert '<p role="status">1 site, paused</p>' in paused


async def test_ours_the_page_and_the_metrics_show_notices_that_may_not_have_been_sent(database: str) -> None:
    async with served(database) as (fleet, client):
        await fill(fleet)
        await fleet.rows(
            "INSERT INTO delivery (site, notice, epoch, what) VALUES ('late.<b>&?', 'n', 1, 'hook: <i> after run 3')"
        )
        page = (await client.get("/")).text
        assert "<b>1 notification may not have been sent,</b>" in page
        assert "hook: &lt;i&gt; after run 3" in page
        assert samples((await client.get("/metrics")).text)["siteatlas_fleet_unsure_notifications",] == 1
        assert (await client.get("/healthz")).json()["unsure_notifications"] == 1


async def test_ours_a_search_for_what_no_database_stores_finds_nothing(database: str) -> None:
    async with served(database) as (fleet, client):
        await fill(fleet)
        assert (await client.get("/?q=%00")).status_code == 200
        assert listed((await client.get("/?q=ca%00lm")).text) == ["calm"]
        assert (await client.get("/?q=%ED%A0%80")).status_code == 200


async def test_ours_the_page_of_a_site_shows_its_runs(database: str) -> None:
    async with served(database) as (fleet, client):
        await fill(fleet)
        await fleet.rows("UPDATE site SET requested = '{\"accept_shrink\": true}', saved = now() - interval '3 d'")
        page = (await client.get("/sites/failing")).text
        assert "Asked for: <code>accept-shrink</code>" in page
        assert "3 days ago" in page
        assert ("Failing" in page, page.count("<tr>")) == (True, 3)
        assert (await client.get("/sites/late.%3Cb%3E%26%3F")).status_code == 200
        assert "The fleet has no site with this name." in (await client.get("/sites/none")).text


async def test_ours_the_page_of_a_site_links_to_older_runs_only_if_there_are_some(database: str) -> None:
    async with served(database) as (fleet, client):
        await fill(fleet)
        add = """INSERT INTO attempt (site, slot, because, turn, began, ended, fate, told, epoch, worker)
          SELECT 'calm', 0, 'due', n, 1790000000 + n, 1790000001 + n, 'done', '', n, 'w1'
          FROM generate_series(%(first)s::int, %(last)s::int) n"""
        await fleet.rows(add, first=2, last=MAX_RUNS)
        page = (await client.get("/sites/calm")).text
        assert (page.count("<tr>"), "before=" in page) == (1 + MAX_RUNS, False)
        await fleet.rows(add, first=MAX_RUNS + 1, last=MAX_RUNS + 1)
        page = (await client.get("/sites/calm")).text
        assert (page.count("<tr>"), "before=" in page) == (1 + MAX_RUNS, True)
        (before,) = re.findall(r"[?]before=[0-9]+", page)
        assert (await client.get(f"/sites/calm{before}")).text.count("<tr>") == 2


async def test_ours_metrics_count_sites_by_state_and_describe_workers(database: str) -> None:
    async with served(database) as (fleet, client):
        await fill(fleet)
        found = samples((await client.get("/metrics")).text)
        states = {key[1]: value for key, value in found.items() if key[0] == "siteatlas_fleet_sites"}
        assert states == {
            "running": 1, "lost": 1, "queued": 0, "late": 1, "failing": 1, "paused": 1, "retired": 0, "due": 1,
            "held": 0, "restricted": 0, "unsaved": 0,
        }  # fmt: skip
        assert found["siteatlas_sites",] == 6
        assert found["siteatlas_fleet_started_runs_total",] == 3
        assert found["siteatlas_fleet_worker_running_sites", "w1"] == 1
        assert found["siteatlas_fleet_worker_silent_seconds", "w2"] >= 3_600
        assert found["siteatlas_fleet_lateness_seconds",] >= 3_600
        assert found["siteatlas_site_consecutive_failures", "failing"] == 2


async def test_ours_the_work_for_a_page_does_not_grow_with_the_sites(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements = 0
    execute = AsyncConnection.execute

    async def counted(self: AsyncConnection, *values: object, **more: object) -> object:
        nonlocal statements
        statements += 1
        return await execute(self, *values, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(AsyncConnection, "execute", counted)
    work = []
    async with served(database, max_sites=20) as (fleet, client):
        for number in (10, 2_000):
            await fleet.rows(
                "INSERT INTO site (name, config, origin, next_at) SELECT 'site' || n, '{}', 'https://' || n, "
                "now() - interval '1 h' FROM generate_series(1, %(number)s) n ON CONFLICT DO NOTHING",
                number=number,
            )
            app = build_fleet_app(fleet, DaemonConfig(), 20)  # without what the other one remembers
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as other:
                before = statements
                page, metrics = (await other.get("/")).text, (await other.get("/metrics")).text
                work.append(statements - before)
        assert (page.count("<tr>"), "first 20 sites" in page) == (21, True)
        assert samples(metrics)["siteatlas_fleet_sites", "late"] == 2_000
        assert work[0] == work[1] <= 12
        assert (await client.get("/")).status_code == 200


async def test_ours_only_names_of_this_machine_see_the_fleet(database: str) -> None:
    async with served(database) as (_, client):
        assert (await client.get("/", headers={"host": "evil.example"})).status_code == 421
        assert (await client.post("/")).status_code == 405


async def test_ours_an_empty_fleet_says_what_to_start(database: str) -> None:
    async with served(database) as (_, client):
        assert "No worker is running." in (await client.get("/")).text
        health = (await client.get("/healthz")).json()
        assert (health["status"], health["sites"], health["workers"]) == ("ok", 0, 0)


@pytest.mark.thorough
async def test_ours_without_the_database_each_page_says_so_until_it_is_back(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawler.fleet.database.CONNECT_TIMEOUT", 0.3)
    async with served(postgres.new_database()) as (_, client):
        postgres.stop()
        try:
            for path in ("/", "/sites/calm", "/metrics"):
                answer = await client.get(path)
                assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
            health = await client.get("/healthz")
            assert (health.status_code, health.json()["status"]) == (503, "unhealthy")
            assert "is not available" in health.json()["why"]
        finally:
            postgres.start()
        for _ in range(100):
            if (await client.get("/healthz")).status_code == 200:
                break
        assert (await client.get("/")).status_code == 200


@pytest.fixture
def server(database: str, tmp_path: Path) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """The command, and the address that it reports."""
    subprocess.run(command("fleet", "init", database), env=environment(), check=True, stdout=subprocess.DEVNULL)
    words = ["fleet", "serve", "--database", database, "--listen", "127.0.0.1:0"]
    with subprocess.Popen(
        command(*words), env=environment(), cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr
        address = re.search(r"http://\S+", process.stderr.readline())
        assert address
        try:
            yield process, address[0]
        finally:
            process.kill()


@pytest.mark.thorough
def test_ours_the_command_serves_until_it_is_stopped(server: tuple["subprocess.Popen[str]", str]) -> None:
    process, address = server
    with urllib.request.urlopen(f"{address}metrics") as answer:
        assert samples(answer.read().decode())["siteatlas_fleet_workers",] == 0
    process.terminate()
    assert process.wait(30) == 0
