"""What cron means, found by looking at every minute of a clock on the wall: slow, and nothing of ours is in it."""

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)
_NAMES = {name: number for number, name in enumerate(["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"])}

Shown = dict[tuple[int, int], list[tuple[int, datetime]]]


def slots(expression: str, zone: ZoneInfo, begin: float, end: float) -> list[int]:
    """The moments from ``begin`` up to ``end`` at which Debian's cron runs a line.

    A line with a star at the begin of its minutes or hours runs whenever the clock shows its time. Another runs when
    its time is shown for the first time, or when the clock is set past it.
    """
    fields = expression.split()
    minutes, hours, days, months = (
        _numbers(field, low, high) for field, low, high in zip(fields[:4], (0, 0, 1, 1), (59, 23, 31, 12), strict=True)
    )
    weekdays = {number % 7 for number in _numbers(fields[4], 0, 7)}
    is_both = fields[2].startswith("*") or fields[4].startswith("*")
    by_clock, at_first = _shown(zone, int(begin) // 86_400 - 2, int(end) // 86_400 + 1)
    shown = by_clock if fields[0].startswith("*") or fields[1].startswith("*") else at_first
    found = set()
    for hour in hours:
        for minute in minutes:
            for moment, wall in shown[hour, minute]:
                is_day, is_weekday = wall.day in days, wall.isoweekday() % 7 in weekdays
                fits = is_day and is_weekday if is_both else is_day or is_weekday
                if fits and wall.month in months and begin <= moment < end:
                    found.add(moment)
    return sorted(found)


def _numbers(field: str, low: int, high: int) -> set[int]:
    found: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, last = ("*", "", "") if span == "*" else span.partition("-")
        begin = low if first == "*" else _NAMES.get(first) or int(_NAMES.get(first, first))
        end = high if first == "*" else begin if not last else _NAMES.get(last) or int(last)
        found.update(range(begin, end + 1, int(step or 1)))
    return found


@cache
def _shown(zone: ZoneInfo, first_day: int, last_day: int) -> tuple[Shown, Shown]:
    """By hour and minute: when the clock shows which time, and when it shows it first or is set past it."""
    by_clock: Shown = defaultdict(list)
    at_first: Shown = defaultdict(list)
    newest: datetime | None = None
    for moment in range(first_day * 86_400, last_day * 86_400, 60):
        wall = datetime.fromtimestamp(moment, UTC).astimezone(zone).replace(tzinfo=None, fold=0)
        by_clock[wall.hour, wall.minute].append((moment, wall))
        newest = newest or wall - MINUTE
        while newest < wall:
            newest += MINUTE
            at_first[newest.hour, newest.minute].append((moment, newest))
    return by_clock, at_first
