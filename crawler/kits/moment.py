"""When a site is run, in the words of each scheduler: cron's five fields, and the calendar of systemd."""

import hashlib
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim
from msgspec import Struct

from crawler.config.schedule import Schedule
from crawler.errors import UsageError
from crawler.schedule.cron import Cron, TimetableError

_DAYS: Final = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_IN_AN_HOUR: Final = (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30)  # minutes, and below hours, that divide it evenly
_IN_A_DAY: Final = (1, 2, 3, 4, 6, 8, 12)
_EVERY: Final = {"minutes": range(60), "hours": range(24), "days": range(1, 32), "months": range(1, 13)}


class Moment(Struct, frozen=True):
    """A cron expression and its time zone, "" for the machine's own. ``note`` says what it does not hold."""

    cron: str
    zone: str = ""
    note: str = ""


def moment(schedules: Iterable[Schedule], url: str) -> Moment:
    """When a scheduler runs sites that it runs all at once: as they are configured, if that is the same for all.

    Without a schedule it is once a day, early in the morning, at a minute that follows from ``url``, so that not all
    sites of the world are crawled at the same time. Raises UsageError for an expression that is none.
    """
    found = {(each.cron, each.every, each.timezone) for each in schedules if each.is_timed}
    if len(found) > 1:
        told = (
            "the sites have schedules of their own, which only siteatlas schedule follows: here all run daily"
        )
        return Moment(_daily(url), note=told)
    for cron, every, timezone in found:
        zone = "" if timezone == "local" else timezone
        if not cron:
            return _interval(every or _DAY, url)
        _checked(cron)
        return Moment(cron, zone)
    return Moment(_daily(url))


def calendar(when: Moment) -> list[str]:
    """The expressions of systemd.time(7) for a moment, all of which are to be given: cron's days are "or".

    Raises UsageError for what systemd has no words for.
    """
    sim = _checked(when.cron)
    if any(isinstance(day, tuple) for day in sim.weekdays):
        raise UsageError(
            f'the cron expression "{when.cron}" names the nth weekday of a month, for which systemd has no words: use '
            f"--systemd-daemon"
        )
    weekdays = sorted({day % 7 for day in sim.weekdays if isinstance(day, int)})
    names = "" if len(weekdays) == 7 else ",".join(_DAYS[day] for day in weekdays) + " "
    time = f"{_field(sim.hours, 'hours')}:{_field(sim.minutes, 'minutes')}:00{when.zone and ' '}{when.zone}"
    months = _field(sim.months, "months")
    fixed = sorted(day for day in sim.days if day > 0)
    dates = [f"*-{months}-{_field(fixed, 'days')}"] if fixed else []
    if sim.LAST in sim.days:
        dates.append(f"*-{months}~01")
    if names and dates != [f"*-{months}-*"] and not sim.day_and:
        return [f"{date} {time}" for date in dates] + [f"{names}*-{months}-* {time}"]
    return [f"{names}{date} {time}" for date in dates]


def _checked(cron: str) -> CronSim:
    try:
        Cron.of(cron, ZoneInfo("UTC"))
    except TimetableError as error:
        raise UsageError(f'schedule.cron "{cron}" cannot be used: {error}') from None
    return CronSim(cron, datetime(2026, 1, 1, tzinfo=UTC))


def _field(values: Iterable[int], name: str) -> str:
    wanted = sorted(values)
    return "*" if wanted == list(_EVERY[name]) else ",".join(f"{value:02}" for value in wanted)


def _daily(url: str) -> str:
    minute, hour = _spread(url)
    return f"{minute} {hour} * * *"


def _interval(seconds: float, url: str) -> Moment:
    """The longest time between runs that cron can say and that is not longer than this one."""
    minute, hour = _spread(url)
    if seconds >= 7 * _DAY:
        said, cron = 7 * _DAY, f"{minute} {hour} * * {minute % 7}"
    elif seconds >= _DAY:
        said, cron = _DAY, f"{minute} {hour} * * *"
    elif seconds >= _HOUR:
        each = max(n for n in _IN_A_DAY if n * _HOUR <= seconds)
        said, cron = each * _HOUR, f"{minute} */{each} * * *" if each > 1 else f"{minute} * * * *"
    else:
        each = max((n for n in _IN_AN_HOUR if n * _MINUTE <= seconds), default=1)
        said, cron = each * _MINUTE, f"*/{each} * * * *" if each > 1 else "* * * * *"
    told = f"cron cannot say every {seconds:g} seconds; this is every {said}" if said != seconds else ""
    return Moment(cron, note=told)


def _spread(url: str) -> tuple[int, int]:
    """A minute, and an hour from 1 to 5, which are always the same for one URL."""
    number = int.from_bytes(hashlib.blake2b(url.encode(), digest_size=4).digest())
    return number % 60, 1 + number // 60 % 5
