"""When a site is due: the moments of a cron expression or of an interval, and the delay of each by its jitter. Pure.

All moments are Unix times. The moments of one timetable are its *slots*; a run of a slot *begins* a little later, by a
delay that is always the same for one site and slot, so that sites with the same expression do not begin all at once.
"""

import hashlib
import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

_DAY: Final = 86_400
_TIME_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
_FIELD_NAMES: Final = {  # as cronsim calls them, and people
    "minute": "minute",
    "hour": "hour",
    "day-of-month": "day of the month",
    "month": "month",
    "day-of-week": "day of the week",
}
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - of clocks on walls


class ScheduleError(ValueError):
    """What was asked cannot be a timetable; the text says why."""


class Recurrence(Protocol):
    """Moments without end."""

    def next_after(self, moment: float) -> float:
        """The first that is later; infinity when there is none for 50 years."""
        ...

    def last_until(self, moment: float) -> float:
        """The last that is not later; minus infinity when there is none for 50 years."""
        ...

    def describe(self) -> str:
        """What they are, for people."""
        ...


@dataclass(frozen=True, slots=True)
class Schedule:
    """The slots of one site. ``jitter`` is in seconds; no run is put off to the next slot by it, however long it is."""

    site: str
    recurrence: Recurrence
    jitter: float = 0.0

    def next_slot(self, slot: float) -> float:
        """The first slot after a moment; infinity when there is none."""
        return self.recurrence.next_after(slot)

    def last_slot(self, now: float) -> float:
        """The last slot that is not later than ``now``; minus infinity when there is none."""
        return self.recurrence.last_until(now)

    def start_time(self, slot: float) -> float:
        """When the run of a slot begins: at the slot, or up to ``jitter`` later, but before the next slot."""
        if not self.jitter or not math.isfinite(slot):
            return slot
        longest = min(self.jitter, self.next_slot(slot) - slot)
        return slot + _fraction(f"{self.site} {slot!r}") * longest

    def due_slot(self, now: float) -> float:
        """The last slot whose run should have begun by ``now``; minus infinity when there is none."""
        slot = self.last_slot(now)
        return slot if self.start_time(slot) <= now else self.last_slot(math.nextafter(slot, -math.inf))

    def describe(self) -> str:
        """What it is, for people: ``30 3 * * * Europe/Berlin``, ``every 6 hours, up to 10 minutes later``."""
        later = f", up to {_duration_text(self.jitter)} later" if self.jitter else ""
        return self.recurrence.describe() + later


@dataclass(frozen=True, slots=True)
class Interval:
    """Every so many seconds since the Unix epoch, and never later by and by. ``phase`` is where in it a site is."""

    every: float
    phase: float = 0.0

    @classmethod
    def of(cls, site: str, every: float) -> "Interval":
        """That of a site, which has always the same place in the interval, and others another."""
        return cls(every, float(int(_fraction(site) * every)))

    def next_after(self, moment: float) -> float:
        """The first that is later."""
        number = self._number(moment) + 1
        return self.phase + number * self.every

    def last_until(self, moment: float) -> float:
        """The last that is not later."""
        return self.phase + self._number(moment) * self.every

    def describe(self) -> str:
        """Such as ``every 6 hours``."""
        return f"every {_duration_text(self.every)}"

    def _number(self, moment: float) -> int:
        number = math.floor((moment - self.phase) / self.every)
        # a quotient is rounded, and may be just on the wrong side
        while self.phase + number * self.every > moment:
            number -= 1
        while self.phase + (number + 1) * self.every <= moment:
            number += 1
        return number


@dataclass(frozen=True, slots=True)
class Cron:
    """The minutes that a cron expression of five fields names in a time zone. ``of`` makes one that was checked.

    On the days when clocks change it does as Debian's cron (https://manpages.debian.org/cron). What is at a fixed time
    runs once that day: right after the change when its time was left out, and the first time when its time comes twice.
    What has a star in its minutes or hours goes by the clock: it does not run at times that do not come, and twice at
    those that come twice.

    cronsim is asked for times on a wall without a time zone, and the zone is looked at here: with a zone it loses a
    slot after a change of half an hour.
    """

    expression: str
    zone: ZoneInfo

    @classmethod
    def of(cls, expression: str, zone: ZoneInfo) -> "Cron":
        """Check an expression. Raises TimetableError."""
        try:
            if len(expression.split()) != 5:
                raise ScheduleError(
                    "it wants five fields: minute, hour, day of the month, month, day of the week"
                )
            next(CronSim(expression, datetime(2024, 1, 1)))  # noqa: DTZ001
        except CronSimError as error:
            raise ScheduleError(_fault(expression, str(error))) from None
        except StopIteration:
            raise ScheduleError("it names a day that no year has") from None
        return cls(expression, zone)

    def next_after(self, moment: float) -> float:
        """The first that is later; infinity when there is none for 50 years."""
        try:
            return float(self._fixed_after(moment) if self._is_fixed else self._after_by_clock(moment))
        except StopIteration:
            return math.inf

    def last_until(self, moment: float) -> float:
        """The last that is not later; minus infinity when there is none for 50 years."""
        try:
            return float(self._fixed_until(moment) if self._is_fixed else self._until_by_clock(moment))
        except StopIteration:
            return -math.inf

    def describe(self) -> str:
        """The expression and the zone."""
        return f"{' '.join(self.expression.split())} {self.zone.key or 'local time'}"

    @property
    def _is_fixed(self) -> bool:
        return not any(field.startswith("*") for field in self.expression.split()[:2])

    def _fixed_after(self, moment: float) -> int:
        sought = CronSim(self.expression, self._wall(math.floor(moment)))
        while (slot := self._once(next(sought))) <= moment:
            pass
        return slot

    def _fixed_until(self, moment: float) -> int:
        last = math.floor(moment)
        # in an hour that comes again, what the clock shows only later has been already
        wall = self._wall(last)
        shown = _wall_at(last + self._offset_of(wall)) + timedelta(seconds=1)
        sought = CronSim(self.expression, max(shown, wall), reverse=True)
        while (slot := self._once(next(sought))) > moment:
            pass
        return slot

    def _after_by_clock(self, moment: float) -> int:
        begin = math.floor(moment)
        offset = self._offset(begin)
        wall = _wall_at(begin + offset)
        while True:
            slot = _seconds(next(CronSim(self.expression, wall))) - offset
            change = self._change(begin, slot, first=True)
            if change is None:
                return slot
            begin, offset = change, self._offset(change)
            wall = _wall_at(change + offset - 1)

    def _until_by_clock(self, moment: float) -> int:
        end = math.floor(moment)
        while True:
            offset = self._offset(end)
            wall = _wall_at(end + offset + 1)
            slot = _seconds(next(CronSim(self.expression, wall, reverse=True))) - offset
            change = self._change(slot, end, first=False)
            if change is None:
                return slot
            end = change - 1

    def _change(self, begin: int, end: int, *, first: bool) -> int | None:
        """The first, or the last, second in (begin, end] that has another offset than the one before it."""
        days = range(begin, end, _DAY)
        for day in days if first else reversed(days):
            low, high = day, min(day + _DAY, end)
            before = self._offset(low)
            if self._offset(high) == before:
                continue
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if self._offset(middle) == before else (low, middle)
            return high
        return None

    def _once(self, wall: datetime) -> int:
        """When a clock shows a time first, or is set past it."""
        while True:
            moment = _seconds(wall) - self._offset_of(wall)
            if self._wall(moment) == wall:
                return moment
            wall += timedelta(minutes=1)

    def _offset(self, moment: int) -> int:
        return _whole_seconds(datetime.fromtimestamp(moment, self.zone).utcoffset())

    def _offset_of(self, wall: datetime) -> int:
        return _whole_seconds(wall.replace(tzinfo=self.zone, fold=0).utcoffset())

    def _wall(self, moment: int) -> datetime:
        return datetime.fromtimestamp(moment, self.zone).replace(tzinfo=None, fold=0)


def _wall_at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)


def _seconds(wall: datetime) -> int:
    return _whole_seconds(wall - _EPOCH)


def _whole_seconds(span: timedelta | None) -> int:
    return 0 if span is None else span.days * _DAY + span.seconds


def _fraction(text: str) -> float:
    """A number from 0 up to 1 that looks like chance and is always the same for one text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest()) / 2**48


def _duration_text(seconds: float) -> str:
    size, unit = next(((size, unit) for size, unit in _TIME_UNITS if seconds % size == 0), (1, "second"))
    number = seconds / size
    return f"{number:,g} {unit}{'' if number == 1 else 's'}"


def _fault(expression: str, said: str) -> str:
    """Which field of a cron expression is wrong, for "Bad minute" and the like of cronsim."""
    name = said.removeprefix("Bad ")
    if name not in _FIELD_NAMES:
        return said
    fields = dict(zip(_FIELD_NAMES, expression.split(), strict=True))
    also = f' in the month "{fields["month"]}"' if name == "day-of-month" and fields["month"] != "*" else ""
    return f'its {_FIELD_NAMES[name]} cannot be "{fields[name]}"{also}'
