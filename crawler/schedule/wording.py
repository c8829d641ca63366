"""Texts about a schedule for people: why a run starts, how it ended, and when."""

import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from crawler.schedule.site_state import Attempt, Trigger
from crawler.state.runs import RunStatus
from crawler.units import clock_text

_TRIGGER_TEXTS: Final = {
    Trigger.FIRST: "for the first time in this schedule",
    Trigger.DUE: "because it is due",
    Trigger.RESUMED: "to continue a run that was cut short",
    Trigger.ASKED: "because somebody asked for it",
    Trigger.NOTIFY: "to send outstanding notifications",
}
_STATUS_TEXTS: Final = {
    RunStatus.FAILED: "failed",
    RunStatus.BUSY: "busy",
    RunStatus.STOPPED: "stopped",
    RunStatus.BROKEN: "cannot be run",
}
_MAX_NAMES: Final = 5  # names in a line


def local_time(at: float) -> str:
    """A Unix time in the local zone: ``2026-11-21 03:00 CET``."""
    return f"{_in_local_zone(at):%Y-%m-%d %H:%M %Z}"


def long_local_time(at: float) -> str:
    """The same without the zone, for a column whose head names it (:func:`zones`): ``2026-11-21 03:00``."""
    return f"{_in_local_zone(at):%Y-%m-%d %H:%M}"


def short_local_time(at: float) -> str:
    """The same without year and zone: ``11-21 03:00``."""
    return f"{_in_local_zone(at):%m-%d %H:%M}"


def zones(moments: Iterable[float]) -> str:
    """The local zone at these moments: ``CET``, or ``CEST/CET`` when the clock changed in between."""
    return "/".join(dict.fromkeys(f"{_in_local_zone(at):%Z}" for at in sorted(moments)))


def _in_local_zone(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC).astimezone()


def time_ahead(at: float) -> str:
    """A future moment, and how far off it is: ``2026-11-21 03:00 CET (in 2 h 5 min)``."""
    left = duration_text(at - time.time())
    return f"{local_time(at)} (in {left})" if left else "now"


def duration_text(seconds: float) -> str:
    """A duration in two units at most, ``2 h 5 min``; "" for none."""
    minutes, seconds = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s")]
    first = next((place for place, (number, _) in enumerate(parts) if number), 3)
    return " ".join(f"{number} {unit}" for number, unit in parts[first : first + 2] if number)


def trigger_text(attempt: Attempt) -> str:
    """Why a run starts."""
    if attempt.because is Trigger.MISSED:
        return f"because the run of {local_time(attempt.slot)} was missed"
    if attempt.because is Trigger.RETRY:
        return f"again, because the last run failed (attempt {attempt.turn})"
    return _TRIGGER_TEXTS[attempt.because]


def status_text(ended: Attempt) -> str:
    """How a run ended, in a word or two: ``published``, ``failed``."""
    if ended.fate is None:
        return "cut off"
    if ended.fate is RunStatus.DONE:
        return ended.outcome or "done"
    return _STATUS_TEXTS[ended.fate]


def needs_attention(ended: Attempt) -> bool:
    """Whether a person should look at the result."""
    return ended.fate in (RunStatus.FAILED, RunStatus.BROKEN) or ended.untold


def attempt_text(ended: Attempt, next_at: float | None = None) -> str:
    """How an attempt ended, after how long, its message, and when the next try is."""
    is_notify_only = ended.because is Trigger.NOTIFY
    seconds = max(0.0, (ended.ended or ended.began) - ended.began)
    text = f"{status_text(ended)} after {clock_text(seconds)}"
    if ended.told:
        text = ended.told if is_notify_only and ended.untold else f"{text}: {ended.told}"
    if ended.untold and not is_notify_only:
        text += "; its notifications are outstanding"
    is_retried = needs_attention(ended) or ended.fate is RunStatus.BUSY
    if is_retried and next_at is not None:
        text += f"; next try in {duration_text(next_at - time.time()) or '0 s'}"
    return text


def some_names(names: Sequence[str]) -> str:
    """The first names, and the number of the others."""
    more = f" and {len(names) - _MAX_NAMES:,} more" if len(names) > _MAX_NAMES else ""
    return f"{', '.join(names[:_MAX_NAMES])}{more}"
