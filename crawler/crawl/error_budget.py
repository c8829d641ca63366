"""The time that a run loses to a server in trouble, and when it is enough. Pure; every time is an argument.

Lost is the time before a try that failed for now (it timed out) and after it (we waited before the next request). What
is regained, so that no site is given up that only wants to be asked slowly:

- time in which one good answer followed another, and ``FRESH`` seconds for each good answer;
- as soon as a page that had failed is answered: waiting helps. Then ``WORTH`` seconds for each good answer since the
  last such page. So a rate limit may go on for hours, while pages that fail whenever they are asked for may not.
"""

from typing import Final

SECONDS_PER_ANSWER: Final = 1.0  # seconds of waiting that any page is worth
SECONDS_PER_ANSWER_AFTER_WAIT: Final = 10.0  # seconds of waiting that a page is worth when waiting has helped


class ErrorBudget:
    """Counts for one run, from ``now`` on, on a clock that never goes back. ``longest``: seconds it may lose in all.

    Public state: ``lost`` (seconds so far) and ``why`` (what the last try that failed said, or "").
    """

    def __init__(self, longest: float, now: float) -> None:
        self.spent_seconds = 0.0
        self.last_error = ""
        self._longest = longest
        self._last = now
        self._good = 0

    def record_failure(self, now: float, why: str, own: float) -> None:
        """A try failed for now. ``own``: seconds between two requests that are our own pace, and no loss."""
        self.spent_seconds += max(0.0, now - self._last - own)
        self._last, self.last_error = now, why

    def record_success(self, now: float, own: float, *, had_failed: bool) -> None:
        """A page was answered, after earlier tries in vain or at once."""
        passed = (
            max(0.0, now - self._last - own) if self.last_error else self._last - now
        ) - SECONDS_PER_ANSWER
        self._good += 1
        if had_failed:
            passed -= SECONDS_PER_ANSWER_AFTER_WAIT * self._good
            self._good = 0
        self.spent_seconds = max(0.0, self.spent_seconds + passed)
        self._last, self.last_error = now, ""

    def is_spent(self, now: float, pause: float = 0.0) -> bool:
        """Whether all is lost that may be, or would be by a pause of so many seconds that follows."""
        if not pause:
            return self.spent_seconds >= self._longest
        return bool(self.last_error) and self.spent_seconds + now - self._last + pause > self._longest
