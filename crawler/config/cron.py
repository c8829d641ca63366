"""Decides when a site is due: the slots of a cron expression or an interval, and the jitter of each. Pure.

All moments are Unix times. The moments of a schedule are its *slots*. A run *starts* up to its jitter later. The delay
is always the same for one site and slot, so that sites with the same expression do not all start at once.
"""

import hashlib
import math
from bisect import bisect_left
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

_TIME_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
_FIELD_NAMES: Final = {  # cronsim's name: the name in messages
    "minute": "minute",
    "hour": "hour",
    "day-of-month": "day of the month",
    "month": "month",
    "day-of-week": "day of the week",
}
_DAY: Final = 86_400.0
_REPEATED: Final = timedelta(hours=2)  # a clock that is set back shows no longer time twice


class ScheduleError(ValueError):
    """An invalid schedule; the text gives the reason."""


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
        return f"every {exact_duration(self.every)}"

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

    cronsim gets local times without a zone, because with a zone it loses a slot after a change of half an hour.
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
        found = math.inf
        for wall in CronSim(self.expression, self._wall(moment) - _REPEATED):
            moments = self._moments(wall)
            if moments and moments[0] > found:
                break
            found = min([found, *(each for each in moments if each > moment)])
        return found

    def last_until(self, moment: float) -> float:
        """The last moment not after this one; minus infinity when there is none within 50 years."""
        found = -math.inf
        for wall in CronSim(self.expression, self._wall(moment) + _REPEATED, reverse=True):
            moments = self._moments(wall)
            if moments and moments[-1] < found:
                break
            found = max([found, *(each for each in moments if each <= moment)])
        return found

    def describe(self) -> str:
        """The expression and the zone."""
        return f"{' '.join(self.expression.split())} {self.zone.key or 'local time'}"

    def _moments(self, wall: datetime) -> list[float]:
        """When a job runs whose time is a local one: whenever a clock shows it, or once, also if a clock skips it."""
        both = [wall.replace(tzinfo=self.zone, fold=fold).timestamp() for fold in (0, 1)]
        shown = [moment for moment in both if self._wall(moment) == wall]
        if any(field.startswith("*") for field in self.expression.split()[:2]):
            return shown
        return shown[:1] or [self._change(*sorted(both))]

    def _change(self, before: float, after: float) -> float:
        """The moment between these two at which the clock is set."""
        offset = datetime.fromtimestamp(before, self.zone).utcoffset()
        seconds = range(int(before), int(after))
        return seconds[0] + bisect_left(
            seconds, True, key=lambda moment: datetime.fromtimestamp(moment, self.zone).utcoffset() != offset
        )

    def _wall(self, moment: float) -> datetime:
        return datetime.fromtimestamp(math.floor(moment), self.zone).replace(tzinfo=None, fold=0)


Recurrence = Cron | Interval
"""An endless sequence of moments: each gives the next one after a moment, and the last one not after it."""


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

    def covered_until(self, handled: float, ended: float) -> float:
        """Up to when a run that ended covers the slots: also the next if within half an interval, at most a day."""
        slot = self.next_slot(ended)
        is_soon = slot - ended < min(_DAY, (self.next_slot(slot) - slot) / 2)
        return slot if is_soon else max(handled, self.last_slot(ended))

    def due_slot(self, now: float) -> float:
        """The last slot whose run is due by ``now``; minus infinity when there is none."""
        slot = self.last_slot(now)
        return slot if self.start_time(slot) <= now else self.last_slot(math.nextafter(slot, -math.inf))

    def describe(self) -> str:
        """A description for people: ``30 3 * * * Europe/Berlin``, ``every 6 hours, up to 10 minutes later``."""
        later = f", up to {exact_duration(self.jitter)} later" if self.jitter else ""
        return self.recurrence.describe() + later


def _fraction(text: str) -> float:
    """A pseudo-random number in [0, 1), the same for the same text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest()) / 2**48


def exact_duration(seconds: float) -> str:
    """A duration for people, in the largest unit that divides it: ``45 minutes``, ``90 seconds``."""
    size, unit = next(((size, unit) for size, unit in _TIME_UNITS if seconds % size == 0), (1, "second"))
    number = seconds / size
    return f"{number:,.15g} {unit}{'' if number == 1 else 's'}"


def _fault(expression: str, message: str) -> str:
    """Which field of a cron expression is wrong, from cronsim's "Bad minute" and the like."""
    name = message.removeprefix("Bad ")
    if name not in _FIELD_NAMES:
        return message
    fields = dict(zip(_FIELD_NAMES, expression.split(), strict=True))
    context = f' in the month "{fields["month"]}"' if name == "day-of-month" and fields["month"] != "*" else ""
    return f'its {_FIELD_NAMES[name]} cannot be "{fields[name]}"{context}'
