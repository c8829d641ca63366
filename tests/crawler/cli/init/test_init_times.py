"""When a scheduler runs a site: the same moments in the words of cron and of systemd."""

import os
import re
import subprocess
from datetime import UTC, datetime

import pytest
from cronsim import CronSim
from tools import tool

from crawler.cli.init.kit import TimerSchedule, random_delay, systemd_calendar, timer_schedule
from crawler.config.sections import ScheduleConfig
from crawler.errors import UsageError

URL = "https://example.com/"
BASE = datetime(2026, 1, 30, 11, 7, tzinfo=UTC)


@pytest.mark.needs_tools
@pytest.mark.parametrize(
    "cron",
    [
        *("17 3 * * *", "* * * * *", "*/15 * * * *", "5 */6 * * *", "0 0 1 * *", "30 4 * * 1-5", "0 9 * * sun"),
        *("0 9 * * 7", "0 9 * * 0-6", "0 12 1,15 * 5", "0 12 */2 * 5", "1 2 L * *", "1 2 L,15 * *", "0 5 29 2 *"),
        *("59 23 31 */3 *", "0 1 1-7 jan-mar *", "0 6 13 * fri"),
    ],
)
def test_systemd_time_finds_the_moments_that_cron_means(cron: str) -> None:
    count = 20
    expressions = systemd_calendar(TimerSchedule(cron, "UTC"))
    since = f"--base-time={BASE:%Y-%m-%d %H:%M:%S} UTC"
    ran = subprocess.run(
        [tool("systemd-analyze"), "calendar", f"--iterations={count}", since, *expressions],
        env={**os.environ, "TZ": "UTC", "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=True,
    )
    told = re.findall(r"\w{3} (\d{4}-\d\d-\d\d \d\d:\d\d):00 UTC$", ran.stdout, re.MULTILINE)
    sim = CronSim(cron, BASE)
    assert sorted(set(told))[:count] == [f"{next(sim):%Y-%m-%d %H:%M}" for _ in range(count)]


def test_systemd_time_is_told_the_zone() -> None:
    assert systemd_calendar(TimerSchedule("30 3 * * *", "Europe/Berlin")) == ["*-*-* 03:30:00 Europe/Berlin"]
    assert systemd_calendar(TimerSchedule("30 3 * * *")) == ["*-*-* 03:30:00"]


def test_ours_what_systemd_has_no_words_for_is_refused() -> None:
    for cron in ("0 9 * * 5#2", "0 9 * * 5L"):
        with pytest.raises(UsageError, match="--systemd-daemon"):
            systemd_calendar(TimerSchedule(cron))


def test_ours_without_a_schedule_it_is_daily_at_a_minute_of_the_sites_own() -> None:
    found = timer_schedule([ScheduleConfig()], URL)
    assert found == timer_schedule([], URL)
    minute, hour, *rest = found.cron.split()
    assert 0 <= int(minute) < 60
    assert 1 <= int(hour) <= 5
    assert rest == ["*", "*", "*"]
    assert len({timer_schedule([], f"https://example{n}.com/").cron for n in range(40)}) > 30


def test_ours_a_schedule_is_taken_as_it_is() -> None:
    berlin = ScheduleConfig(cron="30 3 * * 1", timezone="Europe/Berlin")
    assert timer_schedule([berlin, berlin], URL) == TimerSchedule("30 3 * * 1", "Europe/Berlin")
    assert timer_schedule([ScheduleConfig(cron="30 3 * * 1", timezone="local")], URL).zone == ""
    other = timer_schedule([berlin, ScheduleConfig(cron="0 1 * * *")], URL)
    assert other.cron == timer_schedule([], URL).cron
    assert "only siteatlas schedule supports" in other.note


@pytest.mark.parametrize(
    ("every", "runs_a_week", "exact"),
    [
        *((300, 2016, True), (420, 1680, False), (3600, 168, True), (5400, 168, False), (21600, 28, True)),
        *((18000, 42, False), (86400, 7, True), (172800, 7, False), (604800, 1, True), (30, 10080, False)),
    ],
)
def test_ours_an_interval_is_the_longest_that_cron_can_say(every: int, runs_a_week: int, exact: bool) -> None:
    found = timer_schedule([ScheduleConfig(every=every)], URL)
    sim = CronSim(found.cron, datetime(2026, 1, 4, tzinfo=UTC))
    end = datetime(2026, 1, 11, tzinfo=UTC)
    assert sum(1 for _ in iter(lambda: next(sim) <= end, False)) == runs_a_week
    assert bool(found.note) != exact


@pytest.mark.parametrize(
    ("cron", "seconds"), [("* * * * *", 30), ("*/5 * * * *", 150), ("17 3 * * 1", 600), ("0,5 8 * * *", 150)]
)
def test_ours_a_random_delay_is_short_beside_the_interval_of_the_timer(cron: str, seconds: float) -> None:
    assert random_delay(TimerSchedule(cron)) == seconds
