"""How a site stands in a word and a sentence, and whether a person should look at it first."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from msgspec import Struct

from crawler.schedule.status import SiteBoard
from crawler.schedule.web.snapshots import Look
from crawler.state.runs import PUBLISHING, Fate, Run
from crawler.units import count

WIDTH, HEIGHT = 100.0, 24.0  # of the picture of a trend, which is stretched to what there is
_EDGE: Final = 2.0  # of it, so that the line is not cut


class Tone(StrEnum):
    """How urgent it is, the most urgent first."""

    ERROR = "error"
    WARNING = "warning"
    RUNNING = "running"
    GOOD = "good"
    QUIET = "quiet"


TROUBLE: Final = (Tone.ERROR, Tone.WARNING)


class Verdict(Struct, frozen=True):
    """A word for the site, and why; the sentence may be "" and may hold what strangers wrote."""

    tone: Tone
    word: str
    sentence: str = ""


def verdict(site: SiteBoard, look: Look) -> Verdict:
    """What a person is told of a site first."""
    last, ended = site.last, look.ended
    if last is not None and last.fate is Fate.BROKEN:
        return Verdict(Tone.ERROR, "needs you", last.told)
    if site.failures:
        told = f": {last.told}" if last and last.told else ""
        times = "the last run" if site.failures == 1 else f"{count(site.failures, 'run')} in a row"
        return Verdict(Tone.ERROR, "failing", f"{times} failed{told}")
    if look.error:
        return Verdict(Tone.ERROR, "unreadable", look.error)
    if ended is not None and ended.exit_code and ended.outcome in PUBLISHING:
        return Verdict(Tone.WARNING, "not uploaded", ended.because)
    if ended is not None and ended.refusal and ended.exit_code:
        word = "refused" if ended.has_figures else "failed"
        return Verdict(Tone.WARNING, word, ended.refusal)
    if said := untold(site, look):
        return Verdict(Tone.WARNING, "not told yet", said)
    return _calm(site, look)


def untold(site: SiteBoard, look: Look) -> str:
    """What others could not be told yet, as the ledger says, or without one the last run that the schedule began."""
    if look.untold is not None:
        return look.untold
    is_untold = site.last is not None and site.last.untold
    return "others could not be told of the last changes yet; it is tried again" if is_untold else ""


def _calm(site: SiteBoard, look: Look) -> Verdict:
    """The same when nothing is wrong."""
    standing = look.standing
    if site.running_since is not None or (standing and standing.holder):
        by_hand = "" if site.running_since is not None else "by another process than this one"
        return Verdict(Tone.RUNNING, "running", by_hand)
    if standing and standing.unfinished:
        return Verdict(Tone.QUIET, "cut short", standing.unfinished.because or "the next run goes on with it")
    if look.ended is None:
        return Verdict(Tone.QUIET, "not run yet")
    said = look.ended.refusal or (look.ended.because if look.ended.exit_code else "")
    return Verdict(Tone.GOOD, "well", said)


def trend(runs: Iterable[Run]) -> str:
    """The points of a line through the pages that each of these runs listed, newest first; "" for less than two."""
    listed = [run.listed for run in runs if run.listed and run.ended is not None][::-1]
    if len(listed) < 2:
        return ""
    low, high = min(listed), max(listed)
    step, scale = WIDTH / (len(listed) - 1), HEIGHT - 2 * _EDGE
    heights = [(number - low) / (high - low) if high > low else 0.5 for number in listed]
    return " ".join(
        f"{place * step:.1f},{HEIGHT - _EDGE - height * scale:.1f}" for place, height in enumerate(heights)
    )
