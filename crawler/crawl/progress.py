"""Progress of a crawl: one line for a terminal, and log lines for runs without one."""

import logging
import time
from collections.abc import Callable
from copy import copy

from crawler.crawl.engine import Tally
from crawler.units import clock_text, count_text

log = logging.getLogger(__name__)
_LOG_SECONDS = 60.0  # between two lines


class ProgressLogger:
    """Logs the progress of a crawl about once a minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._then = clock()
        self._past = Tally()

    def watch(self, tally: Tally) -> None:
        """Log a line if one is due."""
        now = self._clock()
        if now - self._then < _LOG_SECONDS:
            return
        seconds = max(now - self._then, 1.0)
        past, self._past, self._then = self._past, copy(tally), now
        rate, growth = (tally.fetched - past.fetched) / seconds, (tally.known - past.known) / seconds
        log.info("%s", progress_line(tally, rate, growth))


def progress_line(tally: Tally, rate: float, growth: float) -> str:
    """One line. ``rate`` is requests per second, ``growth`` URLs discovered per second.

    It names the time left only when few URLs are still discovered: before that it would be a guess.
    """
    pending = tally.known - tally.done
    speed = (f", {rate:,.0f}/s" if rate >= 10 else f", {rate:.1f}/s") if rate > 0 else ""
    parts = [
        clock_text(tally.seconds),
        count_text(tally.listed, "page"),
        f"{count_text(tally.fetched, 'request')}{speed}",
        f"{pending:,} to fetch",
    ]
    if tally.rendered:
        parts.append(f"{tally.rendered:,} rendered")
    if tally.failed:
        parts.append(count_text(tally.failed, "error"))
    if tally.paused:
        parts.append(tally.paused)
    elif rate > 0 and growth < rate * 0.1 and pending:
        parts.append(f"{clock_text(pending / rate)} left")
    return " · ".join(parts)
