"""What is said of a schedule: why a run begins, how it ended, and when, for people."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from crawler.attempt import Attempt, Because, Ended, Fate
from crawler.cli.words import clock

_WHY: Final = {
    Because.FIRST: "for the first time",
    Because.DUE: "as it is due",
    Because.RESUMED: "to go on with what was cut short",
    Because.TELL: "to tell what could not be told",
}
_HOW: Final = {
    Fate.FAILED: "failed",
    Fate.BUSY: "busy",
    Fate.STOPPED: "stopped",
    Fate.BROKEN: "cannot be run",
}
_FEW: Final = 5  # names in a line


def moment(at: float) -> str:
    """A Unix time by the clock here: ``2026-11-21 03:00``."""
    return datetime.fromtimestamp(at, UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def short_moment(at: float) -> str:
    """The same without the year: ``11-21 03:00``."""
    return moment(at)[5:]


def ahead(at: float) -> str:
    """A moment that is to come, and how long that is: ``2026-11-21 03:00 (in 2 h 5 min)``."""
    minutes, seconds = divmod(max(0, round(at - time.time())), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s")]
    first = next((place for place, (number, _) in enumerate(parts) if number), 3)
    left = " ".join(f"{number} {unit}" for number, unit in parts[first : first + 2] if number)
    return f"{moment(at)} (in {left})" if left else "now"


def why(attempt: Attempt) -> str:
    """Why a run is begun."""
    if attempt.because is Because.MISSED:
        return f"as it was missed at {moment(attempt.slot)}"
    if attempt.because is Because.RETRY:
        return f"again, as the last run failed (try {attempt.turn})"
    return _WHY[attempt.because]


def verdict(ended: Ended | Attempt) -> str:
    """How a run ended, in a word or two: ``published``, ``failed``."""
    if ended.fate is None:
        return "cut off"
    if ended.fate is Fate.DONE:
        return ended.outcome or "done"
    return _HOW[ended.fate]


def how(ended: Ended, seconds: float) -> str:
    """How a run ended, after how long, and what there is to say of it."""
    told = f"{verdict(ended)} after {clock(seconds)}"
    if ended.told:
        told += f": {ended.told}"
    return f"{told}; others could not be told of it yet" if ended.untold else told


def few(names: Sequence[str]) -> str:
    """Some names, and how many more there are."""
    more = f" and {len(names) - _FEW:,} more" if len(names) > _FEW else ""
    return f"{', '.join(names[:_FEW])}{more}"
