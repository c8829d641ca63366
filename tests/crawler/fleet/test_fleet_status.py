"""The status of a fleet: counts of sites, and the sites in one state."""

from pathlib import Path

import pytest
from run import siteatlas

from crawler.cli.fleet_run import status_text
from crawler.fleet.database import initialize, open_fleet
from crawler.fleet.dispatch import RUN_TASK
from crawler.fleet.status import STATES, find_sites, fleet_status, site_runs

pytestmark = pytest.mark.anyio

_SITES = """INSERT INTO site (name, config, origin, next_at, queued, lease_until, paused, retired) VALUES
  ('calm', '{}', 'https://calm', now() + interval '1 h', NULL, NULL, false, NULL),
  ('mended', '{}', 'https://mended', now() + interval '1 h', NULL, NULL, false, NULL),
  ('failing', '{}', 'https://failing', now() + interval '1 h', NULL, NULL, false, NULL),
  ('late', '{}', 'https://late', now() - interval '1 h', now(), NULL, false, NULL),
  ('running', '{}', 'https://running', NULL, NULL, now() + interval '1 h', false, NULL),
  ('lost', '{}', 'https://lost', NULL, NULL, now() - interval '1 s', false, NULL),
  ('held', '{}', 'https://held', now() + interval '1 h', NULL, NULL, false, NULL),
  ('restricted', '{}', 'https://restrict', now() + interval '1 h', NULL, NULL, false, NULL),
  ('unsaved', '{}', 'https://unsaved', now() + interval '1 h', NULL, NULL, false, NULL),
  ('paused', '{}', 'https://paused', NULL, NULL, NULL, true, NULL),
  ('retired', '{}', 'https://retired', NULL, NULL, NULL, false, now())"""
_MARKS = """UPDATE site SET held = name = 'held', left_out = CASE name WHEN 'restricted' THEN 'x' ELSE '' END,
  unsaved = CASE name WHEN 'unsaved' THEN now() END,
  home = 'w7', saved = now() - interval '2 d', generation = 4, requested = '{"accept_shrink": true}'"""
_ATTEMPTS = """INSERT INTO attempt (site, slot, because, turn, began, ended, fate, epoch, worker)
  SELECT site, 0, because, 1, 0, ended, fate, 1, 'w' FROM (VALUES
  ('mended', 'due', 1, 'failed'), ('mended', 'retry', 2, 'done'),
  ('failing', 'due', 1, 'done'), ('failing', 'due', 2, 'failed'), ('failing', 'retry', 3, 'broken'),
  ('failing', 'tell', 4, 'done'), ('failing', 'retry', NULL, NULL), ('retired', 'due', 1, 'failed')
  ) AS a (site, because, ended, fate)"""


async def test_ours_the_status_counts_and_shows_the_sites_of_each_state(database: str) -> None:
    async with open_fleet(database, checked=False) as fleet:
        await initialize(fleet)
        await fleet.rows(_SITES)
        await fleet.rows(_ATTEMPTS)
        await fleet.rows(_MARKS)
        await fleet.app.configure_task(RUN_TASK).defer_async(name="late")
        status = await fleet_status(fleet)
        assert (status.sites, status.counts) == (10, dict.fromkeys(STATES, 1))
        assert status.shown == []
        for state in STATES:
            shown = [site.name for site in (await fleet_status(fleet, only=state)).shown]
            assert shown == [{"queued": "late"}.get(state, state)]
        assert [site.name for site in await find_sites(fleet, only="attention")] == [
            *("failing", "lost", "late"),
            *("held", "restricted", "unsaved"),
        ]
        assert [site.name for site in await find_sites(fleet, words="HTTPS ed")] == [
            *("mended", "restricted", "unsaved", "paused", "retired")
        ]
        told = status_text(await fleet_status(fleet, ["unsaved"]))
        assert "unsaved (https://unsaved): unsaved (no snapshot: the newest state is only on w7); next run 20" in told
        assert (
            "; asked for: --accept-shrink; its newest state is on w7; its newest snapshot is generation 4, 2 d old"
            in told
        )
        assert [site.failures for site in await find_sites(fleet, ["failing", "mended"])] == [2, 0]
        assert "interrupted" in status_text(status)
        await fleet.rows(
            "UPDATE site SET lease_until = now() + interval '1 h', attempt = (SELECT max(number) FROM attempt "
            "WHERE site = 'failing') WHERE name = 'failing'"
        )
        assert "running for" in status_text(await fleet_status(fleet))
        newest, *older = await site_runs(fleet, "failing", 10)
        assert newest.ended is None
        assert await site_runs(fleet, "failing", 2, newest.number) == older[:2]
        named = await fleet_status(fleet, ["calm"], only="failing", limit=1)
        assert [site.name for site in named.shown] == ["calm", "failing"]
        assert {attempt.site for attempt in named.last} == {"failing"}


async def test_ours_the_status_names_notices_that_may_not_have_been_sent(database: str) -> None:
    async with open_fleet(database, checked=False) as fleet:
        await initialize(fleet)
        await fleet.rows(_SITES)
        await fleet.rows("UPDATE site SET epoch = 2")
        await fleet.rows(
            "INSERT INTO delivery (site, notice, epoch, delivered, what, claimed) VALUES "
            "('calm', 'sent', 1, now(), 'sent', now()), ('running', 'on its way', 2, NULL, 'on its way', now()), "
            "('running', 'of its last run', 1, NULL, 'webhook: changes after run 3', now() - interval '2 h'), "
            "('lost', 'died', 2, NULL, 'email: trouble', now() - interval '1 h'), "
            "('calm', 'by an old version', 2, NULL, '', now() - interval '3 h')"
        )
        status = await fleet_status(fleet)
        named = [(notice.site, notice.what) for notice in status.unsure]
        assert named == [("lost", "email: trouble"), ("running", "webhook: changes after run 3"), ("calm", "")]
        assert status.unsure_notifications == 3
        told = status_text(status)
        assert "3 notifications of the last week may not have been sent" in told
        assert "webhook: changes after run 3" in told
        assert "siteatlas fleet resend ID" in told
        assert "unknown" in told
        await fleet.rows("DELETE FROM delivery WHERE epoch = 1 OR site <> 'running'")
        assert "may not have been sent" not in status_text(await fleet_status(fleet))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (["run-now", "a", "b", "--accept-shrink"], "--accept-shrink applies to one site. Give the name of one site"),
        (["run-now", "a", "--fresh", "--restart"], "Use only one of the two options"),
        (["pause", "a", "--fresh"], "--fresh"),
    ],
)
def test_ours_what_one_run_cannot_do_is_refused_before_it_is_asked_for(
    tmp_path: Path, words: list[str], refusal: str
) -> None:
    ran = siteatlas(tmp_path, "fleet", *words, "--database", "postgresql://nowhere.invalid/fleet")
    assert ran.code == 2
    assert refusal in ran.err
