"""What is said of a schedule: why a run begins, how it ended, and when, for people."""

import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from crawler.schedule.attempt import Attempt, Because
from crawler.state.runs import Fate
from crawler.units import clock

_WHY: Final = {
    Because.FIRST: "for the first time in this schedule",
    Because.DUE: "because it is due",
    Because.RESUMED: "to continue a run that was cut short",
    Because.TELL: "to send outstanding notifications",
}
_HOW: Final = {
    Fate.FAILED: "failed",
    Fate.BUSY: "busy",
    Fate.STOPPED: "stopped",
    Fate.BROKEN: "cannot be run",
}
_FEW: Final = 5  # names in a line


def moment(at: float) -> str:
    """A Unix time by the clock here: ``2026-11-21 03:00 CET``."""
    return f"{_here(at):%Y-%m-%d %H:%M %Z}"


def long_moment(at: float) -> str:
    """The same in a column that says elsewhere of which :func:`zones` it is: ``2026-11-21 03:00``."""
    return f"{_here(at):%Y-%m-%d %H:%M}"


def short_moment(at: float) -> str:
    """The same without the year: ``11-21 03:00``."""
    return f"{_here(at):%m-%d %H:%M}"


def zones(moments: Iterable[float]) -> str:
    """The zone of the clock here at these moments: ``CET``, or ``CEST/CET`` when it was set meanwhile."""
    return "/".join(dict.fromkeys(f"{_here(at):%Z}" for at in sorted(moments)))


def _here(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC).astimezone()


def ahead(at: float) -> str:
    """A moment that is to come, and how long that is: ``2026-11-21 03:00 CET (in 2 h 5 min)``."""
    left = span(at - time.time())
    return f"{moment(at)} (in {left})" if left else "now"


def span(seconds: float) -> str:
    """A time in two units at most, ``2 h 5 min``; "" for none."""
    minutes, seconds = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s")]
    first = next((place for place, (number, _) in enumerate(parts) if number), 3)
    return " ".join(f"{number} {unit}" for number, unit in parts[first : first + 2] if number)


def why(attempt: Attempt) -> str:
    """Why a run is begun."""
    if attempt.because is Because.MISSED:
        return f"because the run of {moment(attempt.slot)} was missed"
    if attempt.because is Because.RETRY:
        return f"again, because the last run failed (attempt {attempt.turn})"
    return _WHY[attempt.because]


def verdict(ended: Attempt) -> str:
    """How a run ended, in a word or two: ``published``, ``failed``."""
    if ended.fate is None:
        return "cut off"
    if ended.fate is Fate.DONE:
        return ended.outcome or "done"
    return _HOW[ended.fate]


def is_bad(ended: Attempt) -> bool:
    """Whether a person should know how it ended."""
    return ended.fate in (Fate.FAILED, Fate.BROKEN) or ended.untold


def how(ended: Attempt, next_at: float | None = None) -> str:
    """How an attempt ended, after how long, what there is to say of it, and when it is tried again."""
    is_telling = ended.because is Because.TELL
    after = max(0.0, (ended.ended or ended.began) - ended.began)
    told = f"{verdict(ended)} after {clock(after)}"
    if ended.told:
        told = ended.told if is_telling and ended.untold else f"{told}: {ended.told}"
    if ended.untold and not is_telling:
        told += "; its notifications are outstanding"
    is_again = is_bad(ended) or ended.fate is Fate.BUSY
    if is_again and next_at is not None:
        told += f"; next try in {span(next_at - time.time()) or '0 s'}"
    return told


def few(names: Sequence[str]) -> str:
    """Some names, and how many more there are."""
    more = f" and {len(names) - _FEW:,} more" if len(names) > _FEW else ""
    return f"{', '.join(names[:_FEW])}{more}"
