"""Decides when a site is due: the slots of a cron expression or an interval, and the jitter of each. Pure.

All moments are Unix times. The moments of a schedule are its *slots*. A run *starts* up to its jitter later. The delay
is always the same for one site and slot, so that sites with the same expression do not all start at once.
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
_FIELD_NAMES: Final = {  # cronsim's name: the name in messages
    "minute": "minute",
    "hour": "hour",
    "day-of-month": "day of the month",
    "month": "month",
    "day-of-week": "day of the week",
}
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - local time


class ScheduleError(ValueError):
    """An invalid schedule; the text gives the reason."""


class Recurrence(Protocol):
    """An endless sequence of moments."""

    def next_after(self, moment: float) -> float:
        """The first moment after this one; infinity when there is none within 50 years."""
        ...

    def last_until(self, moment: float) -> float:
        """The last moment not after this one; minus infinity when there is none within 50 years."""
        ...

    def describe(self) -> str:
        """A description for people."""
        ...


@dataclass(frozen=True, slots=True)
class Schedule:
    """The slots of one site. ``jitter`` is in seconds; it never delays a run beyond the next slot."""

    site: str
    recurrence: Recurrence
    jitter: float = 0.0

    def next_slot(self, slot: float) -> float:
        """The first slot after a moment; infinity when there is none."""
        return self.recurrence.next_after(slot)

    def last_slot(self, now: float) -> float:
        """The last slot not after ``now``; minus infinity when there is none."""
        return self.recurrence.last_until(now)

    def start_time(self, slot: float) -> float:
        """When the run of a slot starts: at the slot or up to ``jitter`` later, but before the next slot."""
        if not self.jitter or not math.isfinite(slot):
            return slot
        max_delay = min(self.jitter, self.next_slot(slot) - slot)
        return slot + _fraction(f"{self.site} {slot!r}") * max_delay

    def due_slot(self, now: float) -> float:
        """The last slot whose run is due by ``now``; minus infinity when there is none."""
        slot = self.last_slot(now)
        return slot if self.start_time(slot) <= now else self.last_slot(math.nextafter(slot, -math.inf))

    def describe(self) -> str:
        """A description for people: ``30 3 * * * Europe/Berlin``, ``every 6 hours, up to 10 minutes later``."""
        later = f", up to {_duration_text(self.jitter)} later" if self.jitter else ""
        return self.recurrence.describe() + later


@dataclass(frozen=True, slots=True)
class Interval:
    """Every so many seconds since the Unix epoch, without drift. ``phase`` is the offset of a site in it."""

    every: float
    phase: float = 0.0

    @classmethod
    def of(cls, site: str, every: float) -> "Interval":
        """The interval of a site; its phase depends on the site's name alone."""
        return cls(every, float(int(_fraction(site) * every)))

    def next_after(self, moment: float) -> float:
        """The first moment after this one."""
        number = self._number(moment) + 1
        return self.phase + number * self.every

    def last_until(self, moment: float) -> float:
        """The last moment not after this one."""
        return self.phase + self._number(moment) * self.every

    def describe(self) -> str:
        """Such as ``every 6 hours``."""
        return f"every {_duration_text(self.every)}"

    def _number(self, moment: float) -> int:
        number = math.floor((moment - self.phase) / self.every)
        # the quotient is rounded, and may be one too high or too low
        while self.phase + number * self.every > moment:
            number -= 1
        while self.phase + (number + 1) * self.every <= moment:
            number += 1
        return number


@dataclass(frozen=True, slots=True)
class Cron:
    """The minutes that a cron expression of five fields names in a time zone. ``of`` checks an expression.

    Clock changes are handled as in Debian's cron (https://manpages.debian.org/cron). A job at a fixed time runs once
    that day: right after the change when its time is skipped, and at the first occurrence when its time comes twice.
    A job with a star in its minutes or hours follows the clock: it does not run at skipped times, and runs twice at
    repeated ones.

    cronsim gets local times without a zone, and this class applies the zone: with a zone, cronsim loses a slot after a
    change of half an hour.
    """

    expression: str
    zone: ZoneInfo

    @classmethod
    def of(cls, expression: str, zone: ZoneInfo) -> "Cron":
        """Check an expression. Raises ScheduleError."""
        try:
            if len(expression.split()) != 5:
                raise ScheduleError(
                    "a cron expression needs five fields: minute, hour, day of the month, month, day of the week"
                )
            next(CronSim(expression, datetime(2024, 1, 1)))  # noqa: DTZ001
        except CronSimError as error:
            raise ScheduleError(_fault(expression, str(error))) from None
        except StopIteration:
            raise ScheduleError("the expression names only days that no year has, such as 31 February") from None
        return cls(expression, zone)

    def next_after(self, moment: float) -> float:
        """The first moment after this one; infinity when there is none within 50 years."""
        try:
            return float(self._fixed_after(moment) if self._is_fixed else self._after_by_clock(moment))
        except StopIteration:
            return math.inf

    def last_until(self, moment: float) -> float:
        """The last moment not after this one; minus infinity when there is none within 50 years."""
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
        candidates = CronSim(self.expression, self._wall(math.floor(moment)))
        while (slot := self._once(next(candidates))) <= moment:
            pass
        return slot

    def _fixed_until(self, moment: float) -> int:
        last = math.floor(moment)
        # in a repeated hour, the first pass has already reached times that the clock shows only later
        wall = self._wall(last)
        repeated = _wall_at(last + self._offset_of(wall)) + timedelta(seconds=1)
        candidates = CronSim(self.expression, max(repeated, wall), reverse=True)
        while (slot := self._once(next(candidates))) > moment:
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
        """The first, or the last, second in (begin, end] whose UTC offset differs from the second before."""
        days = range(begin, end, _DAY)
        for day in days if first else reversed(days):
            low, high = day, min(day + _DAY, end)
            offset = self._offset(low)
            if self._offset(high) == offset:
                continue
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if self._offset(middle) == offset else (low, middle)
            return high
        return None

    def _once(self, wall: datetime) -> int:
        """When a clock first shows a local time, or skips it."""
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
    """A pseudo-random number in [0, 1), the same for the same text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest()) / 2**48


def _duration_text(seconds: float) -> str:
    size, unit = next(((size, unit) for size, unit in _TIME_UNITS if seconds % size == 0), (1, "second"))
    number = seconds / size
    return f"{number:,g} {unit}{'' if number == 1 else 's'}"


def _fault(expression: str, message: str) -> str:
    """Which field of a cron expression is wrong, from cronsim's "Bad minute" and the like."""
    name = message.removeprefix("Bad ")
    if name not in _FIELD_NAMES:
        return message
    fields = dict(zip(_FIELD_NAMES, expression.split(), strict=True))
    context = f' in the month "{fields["month"]}"' if name == "day-of-month" and fields["month"] != "*" else ""
    return f'its {_FIELD_NAMES[name]} cannot be "{fields[name]}"{context}'
