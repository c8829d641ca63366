"""Timetables: cron as Debian's on days when clocks change, intervals that keep their place, delays without chance."""

import math
import time
from bisect import bisect_right
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import cron_oracle
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crawler.config.config import Config
from crawler.config.cron import Cron, Interval, Schedule
from crawler.config.plan import plan_crawl
from crawler.errors import UsageError
from crawler.schedule.site import scheduled_site

DAY = 86_400.0
BERLIN, NEW_YORK, LORD_HOWE, KOLKATA = map(
    ZoneInfo, ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata")
)


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def shown(expression: str, zone: ZoneInfo, begin: str, number: int) -> list[str]:
    cron, moment, found = Cron.of(expression, zone), at(begin), []
    for _ in range(number):
        moment = cron.next_after(moment)
        found.append(datetime.fromtimestamp(moment, zone).strftime("%d %H:%M %z"))
    return found


def test_debian_cron_runs_what_was_left_out_right_after_the_change() -> None:
    night = "2026-03-28T12:00+01:00"
    assert shown("30 2 * * *", BERLIN, night, 2) == ["29 03:00 +0200", "30 02:30 +0200"]
    assert shown("0,30 2 * * *", BERLIN, night, 2) == ["29 03:00 +0200", "30 02:00 +0200"]
    assert shown("30 2,3 * * *", BERLIN, night, 3) == ["29 03:00 +0200", "29 03:30 +0200", "30 02:30 +0200"]
    assert shown("15 2 * * *", LORD_HOWE, "2026-10-03T12:00+10:30", 2) == ["04 02:30 +1100", "05 02:15 +1100"]


def test_debian_cron_runs_what_comes_twice_once() -> None:
    night = "2026-10-24T12:00+02:00"
    assert shown("30 2 * * *", BERLIN, night, 2) == ["25 02:30 +0200", "26 02:30 +0100"]
    assert shown("0-30/10 2 * * *", BERLIN, night, 5)[3:] == ["25 02:30 +0200", "26 02:00 +0100"]
    assert shown("45 1 * * *", LORD_HOWE, "2026-04-04T12:00+11:00", 2) == ["05 01:45 +1100", "06 01:45 +1030"]


def test_debian_cron_goes_by_the_clock_where_there_is_a_star() -> None:
    spring, autumn = "2026-03-29T00:30+01:00", "2026-10-25T01:30+02:00"
    assert shown("0 */2 * * *", BERLIN, spring, 2) == ["29 04:00 +0200", "29 06:00 +0200"]
    assert shown("0 */2 * * *", BERLIN, autumn, 3) == ["25 02:00 +0200", "25 02:00 +0100", "25 04:00 +0100"]
    assert shown("0 */2 * * *", LORD_HOWE, "2026-04-05T00:30+11:00", 2) == ["05 02:00 +1030", "05 04:00 +1030"]
    assert shown("*/45 1 * * *", LORD_HOWE, "2026-04-05T00:30+11:00", 3) == [
        "05 01:00 +1100",
        "05 01:45 +1100",
        "05 01:45 +1030",
    ]


_MINUTES = st.sampled_from(["0", "30", "15,45", "*/30", "*/7", "10-40/15", "59"])
_HOURS = st.sampled_from(["*", "*/2", "1", "2", "3", "1-3", "0,2,23", "*/5"])
_DAYS = st.sampled_from(["*", "29,4,25,1,8", "*/2"])
_WEEKDAYS = st.sampled_from(["*", "0", "1-5", "SUN,WED"])
_CHANGES = ["2026-03-08", "2026-03-29", "2026-04-05", "2026-10-04", "2026-10-25", "2026-11-01"]


_ASKED = st.tuples(
    st.tuples(_MINUTES, _HOURS, _DAYS, st.just("*"), _WEEKDAYS).map(" ".join),
    st.sampled_from([BERLIN, NEW_YORK, LORD_HOWE, KOLKATA]),
    st.sampled_from(_CHANGES),
    st.floats(-DAY, DAY),
)
Asked = tuple[str, ZoneInfo, str, float]


@settings(max_examples=25)
@given(_ASKED)
@example(("0 */2 * * *", LORD_HOWE, "2026-04-05", 0.0))
def test_debian_cron_is_what_looking_at_every_minute_finds(asked: Asked) -> None:
    look_at_every_minute(*asked)


@pytest.mark.slow
@settings(max_examples=2_000)
@given(_ASKED)
def test_debian_cron_is_what_looking_at_every_minute_finds_often(asked: Asked) -> None:
    look_at_every_minute(*asked)


def look_at_every_minute(expression: str, zone: ZoneInfo, change: str, shift: float) -> None:
    middle = at(f"{change}T00:00+00:00")
    wanted = cron_oracle.slots(expression, zone, middle - 2 * DAY, middle + 2 * DAY)
    cron, moment, found = Cron.of(expression, zone), middle - 2 * DAY - 1, []
    while (moment := cron.next_after(moment)) < middle + 2 * DAY:
        found.append(moment)
    assert found == wanted
    for moment in (middle + shift, *found[::7]):
        number = bisect_right(wanted, moment)
        assert not number or cron.last_until(moment) == wanted[number - 1]
        assert number == len(wanted) or cron.next_after(moment) == wanted[number]


def test_ours_cron_of_rare_days() -> None:
    leap = Cron.of("0 0 29 2 *", BERLIN)
    assert leap.next_after(at("2026-01-01T00:00+00:00")) == at("2028-02-29T00:00+01:00")
    assert leap.last_until(at("2026-01-01T00:00+00:00")) == at("2024-02-29T00:00+01:00")


@pytest.mark.parametrize(
    ("schedule", "said"),
    [
        ({"cron": "30 3 * *"}, "needs five fields"),
        ({"cron": "0 30 3 * * *"}, "needs five fields"),
        ({"cron": "61 3 * * *"}, 'cannot be used: its minute cannot be "61". For example, "30 3'),
        ({"cron": "0 0 31 2 *"}, 'its day of the month cannot be "31" in the month "2"'),
        ({"cron": "0 3 * * mon-"}, 'its day of the week cannot be "mon-"'),
        ({"cron": "* * */20 * 1L"}, "only days that no year has"),
        ({"cron": "@daily"}, "needs five fields"),
        ({"cron": "0 3 * * *", "timezone": "Europe/Berln"}, 'Did you mean "Europe/Berlin"'),
        ({"cron": "0 3 * * *", "timezone": "Paris"}, 'Did you mean "Europe/Paris"'),
        ({"cron": "0 3 * * *", "timezone": "../etc/passwd"}, "is not a known time zone"),
        ({"cron": "0 3 * * *", "timezone": "Europe"}, "is not a known time zone"),
        ({"cron": "0 3 * * *", "every": "1d"}, "Choose one of them"),
    ],
)
def test_ours_a_schedule_that_cannot_be_kept_is_refused_in_one_sentence(
    schedule: dict[str, str], said: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        scheduled_site("shop", plan_crawl(configured(schedule, tmp_path)))
    assert '"shop"' in str(caught.value)
    assert "\n" not in str(caught.value)


def configured(schedule: dict[str, str], folder: Path) -> Config:
    return Config.model_validate(
        {
            "site": {"url": "https://shop.example/"},
            "output": {"directory": str(folder / "out"), "recent": "atom"},
            "state": {"directory": str(folder / "state")},
            "schedule": schedule,
        }
    )


def test_ours_a_site_of_a_schedule_has_its_places_and_its_words(tmp_path: Path) -> None:
    site = scheduled_site(
        "shop", plan_crawl(configured({"cron": "30  3 * * *", "timezone": "Europe/Berlin"}, tmp_path))
    )
    assert site.schedule is not None
    assert site.schedule.describe() == "30 3 * * * Europe/Berlin"
    assert site.recent == "sitemap-recent.atom"
    assert site == scheduled_site("shop", plan_crawl(site.config))
    assert scheduled_site("shop", plan_crawl(configured({}, tmp_path))).schedule is None
    every = scheduled_site("shop", plan_crawl(configured({"every": "6h", "jitter": "90s"}, tmp_path))).schedule
    assert every is not None
    assert every.describe() == "every 6 hours, up to 90 seconds later"


def test_ours_local_is_the_time_zone_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from crawler.config.schedule import _local_zone

    def words(zone: str) -> str:
        monkeypatch.setenv("TZ", zone)
        _local_zone.cache_clear()
        table = scheduled_site(
            "a", plan_crawl(configured({"cron": "0 3 * * *", "timezone": "local"}, tmp_path))
        ).schedule
        assert table is not None
        return table.describe()

    try:
        assert words(":Asia/Kolkata") == "0 3 * * * Asia/Kolkata"
        assert words("")  # whatever this machine has
        with pytest.raises(UsageError, match="TZ is"):
            words("CET-1CEST")
    finally:
        _local_zone.cache_clear()


@settings(max_examples=50)
@given(st.floats(0.5, 1e7), st.floats(0, 3e9), st.text(max_size=5))
def test_ours_an_interval_has_its_place_and_keeps_it(every: float, now: float, site: str) -> None:
    times = Interval.of(site, every)
    last, first = times.last_until(now), times.next_after(now)
    assert last <= now < first
    assert first - last == pytest.approx(every, rel=1e-6)
    assert times.next_after(last) == first
    assert times.last_until(first) == first
    number = round((first - times.phase) / every)
    assert first == times.phase + number * every  # no sum of many, which would drift


def test_ours_sites_are_spread_over_an_interval() -> None:
    quarters = [int(Interval.of(f"site {number}", 3600).phase // 900) for number in range(200)]
    assert all(30 < quarters.count(quarter) < 70 for quarter in range(4))


@settings(max_examples=40)
@given(st.floats(0, 2e5), st.floats(1e9, 2e9), st.sampled_from(["7 * * * *", "0 3 * * *", "0 3,4 * * *"]))
def test_ours_a_delay_is_always_the_same_and_ends_before_the_next_slot(
    jitter: float, now: float, expression: str
) -> None:
    table = Schedule("shop", Cron.of(expression, BERLIN), jitter)
    slot = table.last_slot(now)
    begins, following = table.start_time(slot), table.next_slot(slot)
    assert begins == Schedule("shop", Cron.of(expression, BERLIN), jitter).start_time(slot)
    assert slot <= begins <= min(slot + jitter, following)
    assert begins < following <= table.start_time(following)
    due = table.due_slot(now)
    assert table.start_time(due) <= now < table.start_time(table.next_slot(due))


def test_ours_delays_differ_by_site_and_by_slot() -> None:
    slots = [Cron.of("0 3 * * *", BERLIN).next_after(day * DAY) for day in range(20_000, 20_050)]
    delays = {Schedule(site, Cron("0 3 * * *", BERLIN), 600).start_time(slot) - slot for site in "ab" for slot in slots}
    assert len(delays) == 100
    assert max(delays) - min(delays) > 500


def test_ours_what_never_comes_has_no_moments() -> None:
    table = Schedule("a", Cron("* * */20 * 1L", BERLIN), 60)
    assert table.next_slot(time.time()) == math.inf
    assert table.due_slot(time.time()) == -math.inf


def test_ours_slots_only_grow() -> None:
    cron, begin = Cron.of("*/20 */3 * * *", LORD_HOWE), datetime(2026, 4, 4, tzinfo=UTC).timestamp()
    found = [cron.last_until(begin + second) for second in range(0, int(2 * DAY), 613)]
    assert all(before <= after for before, after in pairwise(found))
