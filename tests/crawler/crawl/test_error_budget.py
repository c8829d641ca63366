from collections.abc import Callable
from copy import copy

import pytest

from crawler.crawl.error_budget import ErrorBudget
from crawler.fetch.retry import RetryPolicy
from crawler.fetch.throttle import OriginThrottle, ThrottleOptions
from crawler.model import Reply, Url

LONGEST = 900.0
URL = Url("https://h.test/")
Serve = Callable[[int, float, int], tuple[int, int | None, float]]
"""The status, Retry-After and seconds that a page answers with at a time, having been asked so often before."""


class Night:
    """A run over so many pages on a clock of its own: one lane, one request after the other, three retries."""

    def __init__(self, pages: int, serve: Serve, *, delay: float = 0.0) -> None:
        self.now = 0.0
        self.good = self.failed = 0
        self.is_given_up = False
        lane, trouble = OriginThrottle(ThrottleOptions(1, 10.0, delay)), ErrorBudget(LONGEST, 0.0)
        waiting = [(0.0, page, 0) for page in range(pages)]
        while waiting and not self.is_given_up:
            due, page, before = min(waiting, key=lambda each: (each[0] > self.now, each[1]))
            if pause := max(lane.seconds_until_start(self.now), due - self.now):
                self.is_given_up = trouble.is_spent(self.now, pause)
                self.now += pause
                continue
            waiting.remove((due, page, before))
            lane.start(self.now)
            status, wait, elapsed = serve(page, self.now, before)
            self.now += elapsed
            headers = (("retry-after", str(wait)),) if wait is not None else ()
            lane.finish(self.now, Reply(URL, status, headers, b"", self.now, elapsed))
            if status == 200:
                self.good += 1
                trouble.record_success(self.now, lane.delay, had_failed=before > 0)
                continue
            trouble.record_failure(self.now, f"answered {status}", lane.delay)
            self.is_given_up = trouble.is_spent(self.now)
            if before < 3:
                waiting.append((self.now + (wait or RetryPolicy().pause(before, str(page))), page, before + 1))
            else:
                self.failed += 1


def broken(status: int, wait: int | None = None, every: int = 2, elapsed: float = 0.01) -> Serve:
    """Some pages fail whenever they are asked for; the others are well."""
    return lambda page, now, before: (200, None, elapsed) if page % every else (status, wait, elapsed)


class Limiter:
    """Refuses whoever asks more than ``quota`` times in ``window`` seconds."""

    def __init__(self, quota: int, window: float, status: int, tells: bool) -> None:
        self.quota, self.window, self.status, self.tells = quota, window, status, tells
        self._began, self._used = -1e9, 0

    def __call__(self, page: int, now: float, before: int) -> tuple[int, int | None, float]:
        if now - self._began >= self.window:
            self._began, self._used = now, 0
        self._used += 1
        if self._used <= self.quota:
            return 200, None, 0.05
        left = int(self._began + self.window - now) + 1
        return self.status, left if self.tells else None, 0.05


@pytest.mark.thorough
@pytest.mark.parametrize(
    "serve", [broken(503), broken(500), broken(503, 60), broken(429, 20), broken(504, None, 2, 30.0)]
)
def test_ours_pages_that_fail_whenever_they_are_asked_for_are_given_up_within_minutes(serve: Serve) -> None:
    night = Night(1_200, serve)
    assert night.is_given_up
    assert 300 < night.now < 2 * LONGEST


@pytest.mark.parametrize(
    "limiter",
    [
        Limiter(60, 60, 429, tells=True),
        Limiter(300, 600, 429, tells=True),
        Limiter(1, 1, 429, tells=True),
        Limiter(1, 5, 429, tells=True),
        Limiter(1, 1, 503, tells=False),
        Limiter(1, 5, 503, tells=False),
    ],
)
def test_ours_a_site_that_limits_the_rate_is_crawled_to_its_end(limiter: Limiter) -> None:
    night = Night(500, copy(limiter))  # one that has counted nothing yet
    assert not night.is_given_up
    assert night.good > 300  # without Retry-After some are asked for too often


@pytest.mark.parametrize(("outage", "wait"), [(60, None), (400, None), (600, 120), (800, 800)])
def test_ours_a_burst_is_waited_out(outage: float, wait: int | None) -> None:
    def serve(page: int, now: float, before: int) -> tuple[int, int | None, float]:
        return (503, wait, 0.01) if 10 < now < 10 + outage else (200, None, 0.01)

    night = Night(600, serve)
    assert not night.is_given_up
    assert night.good + night.failed == 600
    assert night.failed < 4


@pytest.mark.parametrize(("elapsed", "delay", "every"), [(0.01, 0.0, 100), (10.0, 0.0, 50), (0.1, 60.0, 5)])
def test_ours_a_slow_site_with_some_broken_pages_is_crawled_to_its_end(
    elapsed: float, delay: float, every: int
) -> None:
    night = Night(500, broken(500, None, every, elapsed), delay=delay)
    assert not night.is_given_up
    assert night.failed == 500 // every
