"""One run of a site as the schedule knows it: when it was due, why it was begun, and how it ended."""

from enum import StrEnum

from msgspec import Struct

from crawler.state.runs import RunStatus


class Trigger(StrEnum):
    """Why a run was begun."""

    FIRST = "first"  # the site was never run
    DUE = "due"  # its time had come
    MISSED = "missed"  # its time had passed, and perhaps that of others before it, while it could not be run
    RETRY = "retry"  # the one before it failed
    RESUMED = "resumed"  # the one before it was cut short, with the daemon or by it
    NOTIFY = "tell"  # no run: others are told what they could not be told after the last one


class Attempt(Struct, frozen=True, kw_only=True):
    """One run of one site. Times are Unix times.

    ``slot`` is the moment that the timetable asks for, which several attempts have when some of them fail, and
    ``number`` counts all attempts of all sites. ``ended`` is None while it is going on, and for ever when the daemon
    died with it. ``run`` is its number in the state of the site, None when it came to none; ``outcome``, ``told`` are
    what the run says of itself: "published", "unchanged", "refused", … and a sentence. ``turn`` is 1 for the first
    run of a slot, and for the first time that others are told after it.
    """

    number: int
    site: str
    slot: float
    because: Trigger
    turn: int
    began: float
    ended: float | None = None
    fate: RunStatus | None = None
    exit_code: int | None = None
    run: int | None = None
    outcome: str = ""
    told: str = ""
    untold: bool = False
