"""A month of 200 sites: clocks change and are set, the computer sleeps, daemons die, runs fail and hang."""

import math
import random
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import cron_oracle
import pytest
from schedule_judge import Judge
from simulated_month import DAY, HOUR, World

from crawler.config.config import Config
from crawler.config.plan import plan_crawl
from crawler.schedule.site import ScheduledSite, scheduled_site
from crawler.schedule.site_state import Trigger

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC")
NIGHTLY = (
    "30 2 * * *",
    "0 2 * * SUN",
    "45 1 * * MON,THU",
    "15 1 */3 * *",
    "30 1,2 * * 0",
    "59 23 * * FRI",
    "5 0 1 * *",
)
OFTEN = ("*/30 2 * * *", "0 2,14 * * *", "20 */2 */7 * *", "0 3 * * *", "0 */4 * * *", "15 1 * * *")
EVERY = ("1d", "7d", "12h", "90h", "31h")
SPRING, AUTUMN = datetime(2026, 3, 7, tzinfo=UTC), datetime(2026, 10, 3, tzinfo=UTC)


def asked(number: int) -> dict[str, object]:
    """The schedule of one of the sites."""
    schedule: dict[str, object] = {
        "jitter": ("0s", "10m", "1h")[number % 3],
        "run_on_start": number % 2 == 0,
        "run_timeout": "3h",
        "retries": number % 4,
    }
    if number % 5 == 4:
        return {**schedule, "every": EVERY[number // 5 % len(EVERY)]}
    cron = OFTEN[number // 9 % len(OFTEN)] if number % 9 == 3 else NIGHTLY[number // 3 % len(NIGHTLY)]
    return {**schedule, "cron": cron, "timezone": ZONES[number // 2 % len(ZONES)]}


def sites(number: int, folder: Path) -> list[ScheduledSite]:
    found = []
    for each in range(number):
        url = {"url": f"https://www.example.org/{each}/"}
        state, output = {"directory": str(folder)}, {"directory": str(folder / "out" / str(each))}
        config = Config.model_validate({"site": url, "state": state, "output": output, "schedule": asked(each)})
        found.append(scheduled_site(f"site-{each}", plan_crawl(config)))
    return found


def due(site: ScheduledSite, begin: float, end: float) -> list[float]:
    """What was due, by another way than ours; the place of a site in its interval is the one thing that is asked."""
    section = site.config.schedule
    if section.cron:
        return [float(slot) for slot in cron_oracle.slots(section.cron, ZoneInfo(section.timezone), begin, end)]
    assert section.every is not None
    assert site.schedule is not None
    phase = site.schedule.next_slot(0.0) % section.every
    first = math.ceil((begin - phase) / section.every)
    return [phase + number * section.every for number in range(first, int((end - phase) // section.every) + 1)]


def world(begin: datetime, days: float, look: float, folder: Path, seed: int) -> World:
    chance = random.Random(seed)
    sleeps = [(chance.uniform(0, days * DAY), chance.uniform(600, 9 * HOUR)) for _ in range(4)]
    steps = []
    for size in (40.0, 20 * 60.0, HOUR, 3 * HOUR, 7 * HOUR):  # forward, and back again; and the other way round
        for sign in (1, -1):
            when = chance.uniform(0, days * DAY - 12 * HOUR)
            steps += [(when, sign * size), (when + chance.uniform(60, 12 * HOUR), -sign * size)]
    crashes = sorted((chance.uniform(0, days * DAY), chance.expovariate(1 / HOUR)) for _ in range(int(days * 2 / 3)))
    return World(sites(200, folder), begin.timestamp(), days, 6, look, [*sleeps, *steps], crashes, "site-5", seed)


def live(begin: datetime, days: float, look: float, folder: Path, seed: int, *, is_durable: bool) -> Judge:
    month = world(begin, days, look, folder, seed)
    month.live(folder, is_durable=is_durable)
    begin_at, end_at = month.base + 1, month.base + month.end + 2 * DAY
    wanted = {site.name: [*due(site, begin_at, end_at), math.inf] for site in month.sites}
    judge = Judge(month, wanted)
    judge.judge()
    return judge


@pytest.mark.thorough
def test_ours_a_month_in_which_clocks_go_forward(tmp_path: Path) -> None:
    """200 sites from the change of America to that of Lord Howe, with that of Europe in between."""
    judge = live(SPRING, 31, 600.0, tmp_path, 1, is_durable=False)
    assert judge.counts["slots"] > 3_000
    assert judge.counts["left out"] > 20
    assert all(judge.counts[because] > 50 for because in {*Trigger} - {Trigger.ASKED})  # a person asks in a fleet only
    assert judge.counts["overlong"] > 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize("begin", [SPRING, AUTUMN])
def test_ours_a_month_with_all_that_can_happen(begin: datetime, seed: int, tmp_path: Path) -> None:
    live(begin, 31, 30.0, tmp_path, seed, is_durable=True)
