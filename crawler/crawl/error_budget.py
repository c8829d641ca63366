"""The error budget: the time that server errors may cost a run. Pure. Every time is an argument.

A transient failure costs the time before it (a time-out) and after it (the pause before the next request). These earn
time back, so that the crawl does not give up a site that only needs a slow pace:

- the time between two good answers, and ``SECONDS_PER_ANSWER`` for each good answer;
- a good answer of a page that failed before, for waiting helps: ``SECONDS_PER_ANSWER_AFTER_WAIT`` for each good answer
  since the last such page. So a rate limit may last for hours, but pages that always fail may not.
"""

from typing import Final

SECONDS_PER_ANSWER: Final = 1.0
SECONDS_PER_ANSWER_AFTER_WAIT: Final = 10.0


class ErrorBudget:
    """The budget of one run: ``longest`` seconds in all. Every ``now`` is of a monotonic clock.

    Public state: ``spent_seconds``, ``failures`` (failed requests), and ``last_error`` (the reason of the last request
    if it failed, or "").
    """

    def __init__(self, longest: float, now: float) -> None:
        self.spent_seconds = 0.0
        self.failures = 0
        self.last_error = ""
        self._longest = longest
        self._last = now
        self._good = 0

    def record_failure(self, now: float, reason: str, own: float) -> None:
        """Charge a transient failure. ``own``: seconds between two requests at our own pace, which cost nothing."""
        self.spent_seconds += max(0.0, now - self._last - own)
        self.failures += 1
        self._last, self.last_error = now, reason

    def record_success(self, now: float, own: float, *, had_failed: bool) -> None:
        """Earn time back for a good answer. ``had_failed``: the page had failed before."""
        passed = (max(0.0, now - self._last - own) if self.last_error else self._last - now) - SECONDS_PER_ANSWER
        self._good += 1
        if had_failed:
            passed -= SECONDS_PER_ANSWER_AFTER_WAIT * self._good
            self._good = 0
        self.spent_seconds = max(0.0, self.spent_seconds + passed)
        self._last, self.last_error = now, ""

    def is_spent(self, now: float, pause: float = 0.0) -> bool:
        """Whether the budget is spent, or would be after a pause of so many seconds."""
        if not pause:
            return self.spent_seconds >= self._longest
        return bool(self.last_error) and self.spent_seconds + now - self._last + pause > self._longest
