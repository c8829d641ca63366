"""The condition of a site in a word and a sentence, and whether a person should look at it."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from msgspec import Struct

from crawler.schedule.site_state import Attempt
from crawler.schedule.status import SiteStatus
from crawler.schedule.web.snapshots import SiteSnapshot
from crawler.state.runs import PUBLISHING_OUTCOMES, Run, RunStatus
from crawler.units import count_text

CHART_WIDTH, CHART_HEIGHT = 100.0, 24.0  # of the viewBox of a trend; the page stretches it
_MARGIN: Final = 2.0  # above and below the line, so that nothing of its stroke is cut off


class Tone(StrEnum):
    """How urgent a condition is, the most urgent first; also the name of its CSS class."""

    ERROR = "error"
    WARNING = "warning"
    RUNNING = "running"
    GOOD = "good"
    QUIET = "quiet"


URGENT: Final = (Tone.ERROR, Tone.WARNING)


class Condition(Struct, frozen=True):
    """A word for the state of a site, and the reason: "" or a sentence, which may quote what strangers wrote."""

    tone: Tone
    word: str
    reason: str = ""

    @property
    def sentence(self) -> str:
        """The word and the reason."""
        return f"{self.word}: {self.reason}" if self.reason else self.word


def condition(site: SiteStatus, snapshot: SiteSnapshot) -> Condition:
    """The most urgent condition of a site."""
    ended = snapshot.last_ended
    if failed := failure(site.last, site.failures):
        return failed
    if snapshot.error:
        return Condition(Tone.ERROR, "unreadable", snapshot.error)
    if ended is not None and ended.has_held:
        return Condition(Tone.WARNING, "held", ended.refusal)
    if ended is not None and ended.exit_code and ended.outcome in PUBLISHING_OUTCOMES:
        return Condition(Tone.WARNING, "not uploaded", ended.because)
    if ended is not None and ended.refusal and ended.exit_code:
        word = "refused" if ended.has_figures else "failed"
        return Condition(Tone.WARNING, word, ended.refusal)
    if pending := notify_pending(site, snapshot):
        return Condition(Tone.WARNING, "not notified", pending)
    if snapshot.refused:
        others = len(snapshot.refused) - 1
        more = f" (and {count_text(others, 'other refusal')})" if others else ""
        return Condition(Tone.WARNING, "message refused", f"{snapshot.refused[0]}{more}")
    if snapshot.audit.errors:
        found = count_text(snapshot.audit.errors, "error")
        return Condition(Tone.WARNING, "audit errors", f"the last audit found {found} on the site")
    return _quiet_badge(site, snapshot)


def failure(last: Attempt | None, failures: int) -> Condition | None:
    """The condition of a site whose ``last`` attempt failed, after so many ``failures`` in a row; else None."""
    if last is not None and last.fate is RunStatus.BROKEN:
        return Condition(Tone.ERROR, "action needed", last.told)
    if not failures:
        return None
    reason = f": {last.told}" if last and last.told else ""
    runs = "the last run" if failures == 1 else f"{count_text(failures, 'run')} in a row"
    return Condition(Tone.ERROR, "failing", f"{runs} failed{reason}")


def notify_pending(site: SiteStatus, snapshot: SiteSnapshot) -> str:
    """Which notification is not delivered yet, or "".

    The ledger knows; without a ledger, the last run that the schedule started.
    """
    if snapshot.notifications is not None:
        return next(iter(snapshot.notifications.pending), "")
    if site.last is None or not site.last.untold:
        return ""
    return "notifications of the last changes are not delivered yet; the daemon tries again"


def _quiet_badge(site: SiteStatus, snapshot: SiteSnapshot) -> Condition:
    """The condition of a site that is not in trouble."""
    standing, ended = snapshot.standing, snapshot.last_ended
    if site.running_since is not None or (standing and standing.holder):
        reason = "" if site.running_since is not None else "started by another process"
        return Condition(Tone.RUNNING, "running", reason)
    if standing and standing.unfinished:
        return Condition(Tone.QUIET, "interrupted", standing.unfinished.because or "the next run resumes it")
    if ended is None:
        return Condition(Tone.QUIET, "not run yet")
    return Condition(Tone.GOOD, "healthy", ended.refusal or (ended.because if ended.exit_code else ""))


def trend_points(runs: Iterable[Run]) -> str:
    """The points of a line through the pages that these runs listed, newest run first; "" for less than two."""
    listed = [run.listed for run in runs if run.listed and run.ended is not None][::-1]
    if len(listed) < 2:
        return ""
    low, high = min(listed), max(listed)
    step, scale = CHART_WIDTH / (len(listed) - 1), CHART_HEIGHT - 2 * _MARGIN
    heights = [(number - low) / (high - low) if high > low else 0.5 for number in listed]
    return " ".join(
        f"{index * step:.1f},{CHART_HEIGHT - _MARGIN - height * scale:.1f}" for index, height in enumerate(heights)
    )
