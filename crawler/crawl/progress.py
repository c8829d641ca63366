"""The progress of a crawl as one line, and its log for runs without a terminal."""

import logging
import time
from collections.abc import Callable
from copy import copy

from crawler.crawl.engine import Tally
from crawler.units import clock_text

log = logging.getLogger(__name__)

_MINUTE = 60.0  # seconds between two lines of a log


class ProgressLogger:
    """Logs how far a crawl is, for those who are at no terminal: about once a minute, and the first time it waits."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._then = clock()
        self._past = Tally()
        self._waited = False

    def watch(self, tally: Tally) -> None:
        """Log it, if it is time."""
        now = self._clock()
        is_first_wait = bool(tally.paused) and not self._waited
        if now - self._then < _MINUTE and not is_first_wait:
            return
        self._waited = self._waited or is_first_wait
        seconds = max(now - self._then, 1.0)
        past, self._past, self._then = self._past, copy(tally), now
        rate, growth = (tally.done - past.done) / seconds, (tally.known - past.known) / seconds
        log.info("%s", progress_line(tally, rate, growth))


def progress_line(tally: Tally, rate: float, growth: float) -> str:
    """One line. ``rate`` is URLs done a second, ``growth`` URLs found a second.

    The time left is told only once finding has all but ended: before that, it would be a guess.
    """
    parts = [f"{tally.done:,} of {tally.known:,} found"]
    if rate > 0:
        parts.append(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s")
    if tally.failed:
        parts.append(f"{tally.failed:,} errors")
    if tally.paused:
        parts.append(tally.paused)
    elif rate > 0 and growth < rate * 0.1 and tally.done < tally.known:
        parts.append(f"{clock_text((tally.known - tally.done) / rate)} left")
    return " · ".join(parts)
