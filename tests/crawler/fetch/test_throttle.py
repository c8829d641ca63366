import heapq
from collections.abc import Callable
from email.utils import formatdate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.fetch.throttle import OriginThrottle, Throttle, ThrottleOptions
from crawler.model import Failure, Reply, Url
from crawler.url.normalize import origin_of

NOW = 1_800_000_000.0
URL = Url("https://h.test/")
REFUSED = Failure("net.refused", "h.test refused the connection", True, 0.01)
BROKEN = Failure("net.reset", "h.test closed the connection without a response", True, 0.01)


def reply(status: int = 200, elapsed: float = 0.05, wait: str = "", at: float = NOW) -> Reply:
    headers = (("retry-after", wait),) if wait else ()
    return Reply(URL, status, headers, b"", at, elapsed)


def answered(status: int, wait: str = "") -> Callable[[float, int], Reply]:
    return lambda now, out: reply(status, 0.05, wait, now)


class Simulation:
    """Drives a lane as a crawl does, on a clock of its own, and writes down every start."""

    def __init__(self, lane: OriginThrottle, serve: Callable[[float, int], Reply | Failure]) -> None:
        self.lane, self.serve, self.now = lane, serve, NOW
        self.starts: list[float] = []
        self.most = 0
        self._out: list[tuple[float, int, Reply | Failure]] = []

    def run(self, requests: int, until: float = 1e9) -> None:
        for number in range(requests * 2_000):
            if len(self.starts) >= requests or self.now >= NOW + until:
                break
            wait = self.lane.seconds_until_start(self.now)
            if wait <= 0:
                self.lane.start(self.now)
                self.starts.append(self.now)
                self.most = max(self.most, len(self._out) + 1)
                answer = self.serve(self.now, len(self._out) + 1)
                heapq.heappush(self._out, (self.now + answer.elapsed, number, answer))
                continue
            wake = self.now + wait
            if self._out and self._out[0][0] <= wake:
                self.now, _, answer = heapq.heappop(self._out)
                self.lane.finish(self.now, answer)
            else:
                self.now = wake
        while self._out:
            self.now, _, answer = heapq.heappop(self._out)
            self.lane.finish(self.now, answer)

    @property
    def gaps(self) -> list[float]:
        return [later - earlier for earlier, later in zip(self.starts, self.starts[1:], strict=False)]


@settings(max_examples=40)
@given(
    st.integers(1, 8),
    st.sampled_from([0.0, 0.5, 10.0]),
    st.sampled_from([0.0, 0.3]),
    st.lists(st.tuples(st.sampled_from([200, 404, 500, 503, 429]), st.floats(0.001, 2.0)), min_size=1, max_size=20),
)
def test_ours_never_too_many_and_never_too_close(
    concurrency: int, rate: float, delay: float, answers: list[tuple[int, float]]
) -> None:
    turns = iter(answers * 100)

    def serve(now: float, out: int) -> Reply:
        status, elapsed = next(turns)
        return reply(status, elapsed, at=now)

    run = Simulation(OriginThrottle(ThrottleOptions(concurrency, rate, delay)), serve)
    run.run(60)
    assert run.most <= concurrency
    gap = max(1 / rate if rate else 0.0, delay)
    assert all(between >= gap - 1e-6 for between in run.gaps)
    assert run.lane.in_flight == 0


def test_ours_the_rate_is_reached_when_nothing_is_wrong() -> None:
    run = Simulation(OriginThrottle(ThrottleOptions(4, 10.0)), answered(200))
    run.run(200)
    assert run.starts[-1] - run.starts[0] == pytest.approx(19.9, abs=0.1)


def test_ours_full_speed_has_no_ceiling_and_does_not_look_at_latency() -> None:
    run = Simulation(
        OriginThrottle(ThrottleOptions(32, 0)), lambda now, out: reply(200, 0.001 * len(run.starts), at=now)
    )
    run.run(500)
    assert run.most == 32
    assert run.lane.allowed == 32
    assert run.gaps[:31] == [0.0] * 31


def test_rfc9309_crawl_delay_is_one_at_a_time_and_so_far_apart() -> None:
    lane = OriginThrottle(ThrottleOptions(8, 0))
    lane.set_crawl_delay(5.0, 0.0)
    run = Simulation(lane, lambda now, out: reply(200, 7.0 if len(run.starts) == 3 else 0.1, at=now))
    run.run(6)
    assert run.most == 1
    assert run.gaps == pytest.approx([5.0, 5.0, 7.0, 5.0, 5.0], abs=0.02)
    lane.set_crawl_delay(0.0, 0.0)
    assert lane.allowed == 1


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("rate", [0.0, 10.0])
def test_rfc9110_retry_after_is_obeyed_at_any_speed(status: int, rate: float) -> None:
    lane = OriginThrottle(ThrottleOptions(4, rate))
    lane.start(NOW)
    lane.finish(NOW + 1, reply(status, 1.0, "30"))
    assert lane.seconds_until_start(NOW + 1) == 30.0
    assert lane.seconds_until_start(NOW + 31) == 0.0
    assert lane.allowed == 2
    lane.start(NOW + 31)
    lane.finish(NOW + 32, reply(status, 1.0, formatdate(NOW + 7_232, usegmt=True)))
    assert lane.paused_until == lane.asked_until == NOW + 7_232


def test_ours_without_retry_after_the_pause_doubles_up_to_300_seconds_and_a_success_ends_it() -> None:
    lane = OriginThrottle(ThrottleOptions(8, 0))
    now, pauses = NOW, []
    for _ in range(11):
        lane.start(now)
        lane.finish(now + 0.1, reply(429, 0.1))
        pauses.append(lane.paused_until - now - 0.1)
        assert lane.is_stuck == (len(pauses) > 2)
        now = lane.paused_until
    assert pauses == pytest.approx([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300], abs=0.01)
    assert lane.allowed == 1
    lane.start(now)
    lane.finish(now + 0.1, reply())
    lane.start(now + 1)
    lane.finish(now + 1.1, reply(429, 0.1))
    assert lane.paused_until - now - 1.1 == pytest.approx(1.0, abs=0.01)
    assert not lane.asked_until
    assert not lane.is_stuck


def test_ours_refusals_of_requests_that_were_out_already_count_once() -> None:
    lane = OriginThrottle(ThrottleOptions(8, 0))
    for _ in range(8):
        lane.start(NOW)
    for number in range(8):
        lane.finish(NOW + 1 + number / 100, reply(429, 1.0 + number / 100))
    assert lane.allowed == 4
    assert lane.paused_until == NOW + 2


@pytest.mark.parametrize("wait", ["0", "Wed, 21 Oct 2015 07:28:00 GMT", "soon", "-5"])
def test_ours_a_retry_after_of_nothing_is_a_pause_all_the_same(wait: str) -> None:
    lane = OriginThrottle(ThrottleOptions(4, 0))
    lane.start(NOW)
    lane.finish(NOW + 0.1, reply(429, 0.1, wait))
    assert lane.seconds_until_start(NOW + 0.1) == pytest.approx(1.0)


def test_ours_a_lane_slows_when_latency_rises_and_recovers() -> None:
    """A server that answers in 50 ms, then needs a second for a while, then is itself again."""

    def serve(now: float, out: int) -> Reply:
        return reply(200, 1.0 if 30 <= now - NOW < 90 else 0.05, at=now)

    run = Simulation(OriginThrottle(ThrottleOptions(4, 10.0)), serve)
    run.run(5_000, until=150)
    in_time = [
        sum(1 for start in run.starts if low <= start - NOW < high) / (high - low)
        for low, high in ((0, 30), (40, 90), (130, 150))
    ]
    assert in_time[0] > 9.5
    assert in_time[1] < 2.5  # four at a time would be four a second
    assert in_time[2] > 9.5


@pytest.mark.parametrize("latency", [0.2, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("quick", [1, 2, 4])
def test_ours_a_cached_start_page_does_not_make_the_other_pages_slow(latency: float, quick: int) -> None:
    def serve(now: float, out: int) -> Reply:
        return reply(200, 0.001 if len(run.starts) <= quick else latency, at=now)

    run = Simulation(OriginThrottle(ThrottleOptions(4, 10.0)), serve)
    run.run(200)
    least = max(199 / 10, (200 - quick - 1) // 4 * latency)
    assert run.starts[-1] - run.starts[0] < 1.05 * least


def test_ours_noise_does_not_slow_a_lane() -> None:
    spread = [0.02, 0.04, 0.03, 0.09, 0.05, 0.11, 0.02, 0.06]
    run = Simulation(
        OriginThrottle(ThrottleOptions(4, 10.0)), lambda now, out: reply(200, spread[len(run.starts) % 8], at=now)
    )
    run.run(400)
    assert run.lane.allowed == 4
    assert max(run.gaps) < 0.2


def test_ours_server_errors_slow_a_lane() -> None:
    run = Simulation(OriginThrottle(ThrottleOptions(4, 10.0)), answered(500))
    run.run(60)
    assert run.lane.allowed == 1
    assert run.gaps[-1] > 0.2


def test_ours_five_failures_to_connect_open_the_circuit_and_one_request_tries() -> None:
    lane = OriginThrottle(ThrottleOptions(8, 0))
    for _ in range(8):
        lane.start(NOW)
    for _ in range(8):
        lane.finish(NOW + 0.01, REFUSED)
    assert lane.seconds_until_start(NOW + 0.01) == pytest.approx(2.0)
    assert lane.allowed == 1
    assert not lane.down
    lane.start(NOW + 3)
    lane.finish(NOW + 3.01, reply(200, 0.01))
    assert lane.seconds_until_start(NOW + 3.01) == 0.0
    assert lane.allowed == 8


def test_ours_an_unreachable_origin_is_probed_at_growing_pauses_of_a_minute_at_most() -> None:
    run = Simulation(OriginThrottle(ThrottleOptions(4, 0)), lambda now, out: REFUSED)
    run.lane.start(NOW - 1)
    run.lane.finish(NOW - 0.9, reply(200, 0.1))
    run.run(20)
    assert run.lane.is_unreachable
    assert not run.lane.down
    assert [round(gap) for gap in run.gaps if gap > 1][:8] == [2, 4, 8, 16, 32, 60, 60, 60]
    later = run.lane.paused_until + 1
    run.lane.start(later)
    run.lane.finish(later + 0.1, reply(200, 0.1))
    assert not run.lane.is_unreachable


@pytest.mark.parametrize("code", ["net.refused", "net.dns_nxdomain", "net.dns_temporary", "net.unreachable"])
def test_ours_an_origin_that_was_never_reached_is_down_within_a_minute(code: str) -> None:
    run = Simulation(OriginThrottle(ThrottleOptions(4, 10)), lambda now, out: Failure(code, "not reached", True, 0.1))
    while not run.lane.down and len(run.starts) < 100:
        run.run(len(run.starts) + 1)
    assert 20 < run.now - NOW < 60


@pytest.mark.parametrize("is_broken", [lambda page: page % 2, lambda page: page > 20])
def test_ours_pages_that_fail_again_and_again_do_not_slow_the_others(is_broken: Callable[[int], int]) -> None:
    lane, now = OriginThrottle(ThrottleOptions(1, 10)), NOW
    waits = []
    for number, page in enumerate([*range(40), *filter(is_broken, list(range(40)) * 3)]):
        wait = lane.seconds_until_start(now)
        waits.append(wait)
        now += wait
        lane.start(now)
        now += 0.01
        lane.finish(now, reply(500 if is_broken(page) else 200, 0.01, at=now), had_failed=number >= 40)
    assert sum(waits[40:]) < 0.25 * len(waits[40:])
    assert lane.errors_in_a_row < 20


def test_ours_an_origin_that_breaks_every_connection_is_down_after_growing_pauses() -> None:
    run = Simulation(OriginThrottle(ThrottleOptions(4, 0)), lambda now, out: BROKEN)
    run.run(8 + 3)
    assert not run.lane.down
    run.run(len(run.starts) + 1)
    assert run.lane.down
    assert not run.lane.is_unreachable
    assert [round(gap) for gap in run.gaps if gap > 1] == [2, 4, 8, 16]
    later = run.lane.paused_until + 1
    run.lane.start(later)
    run.lane.finish(later + 0.1, Failure("body.incomplete", "cut", True, 0.1))
    assert not run.lane.down


@pytest.mark.parametrize(("wait", "news"), [("", 10), ("1", 300), ("600", 8)])
def test_ours_an_origin_that_refuses_everything_is_down_after_some_minutes(wait: str, news: int) -> None:
    run = Simulation(OriginThrottle(ThrottleOptions(1, 0)), answered(503, wait))
    while not run.lane.down and len(run.starts) < 1_000:
        run.run(len(run.starts) + 1)
    assert news - 20 <= len(run.starts) <= news
    assert run.now - NOW >= 300
    run.serve = answered(200)
    run.run(len(run.starts) + 1)
    assert not run.lane.down


def ask(throttle: Throttle, now: float, status: int, *, had_failed: bool = False, is_page: bool = True) -> float:
    """Send one request at this time, and return the seconds until the next one."""
    throttle.start(URL, now)
    throttle.finish(URL, now, reply(status, 0.01, at=now), had_failed=had_failed, is_page=is_page)
    return throttle.seconds_until_ready(origin_of(URL), now)


def test_ours_a_site_that_returns_server_errors_only_is_asked_rarely_and_given_up() -> None:
    throttle, now, asked = Throttle(ThrottleOptions(1, 0), 0, lambda: NOW), NOW, 0
    ask(throttle, now, 200, is_page=False)  # its sitemap is a file, which a broken site still serves
    while not throttle.are_all_down():
        asked += 1
        now += 0.01 + ask(throttle, now + 0.01, 500, had_failed=asked % 5 == 0)
    assert 20 < asked < 40
    assert 20 < now - NOW < 70
    ask(throttle, now, 200)
    assert not throttle.are_all_down()


def test_ours_server_errors_make_nobody_wait_after_one_page_was_well() -> None:
    throttle = Throttle(ThrottleOptions(1, 0), 0, lambda: NOW)
    assert not any(ask(throttle, NOW + number, 500 if number else 404) for number in range(100))


def test_ours_failures_that_are_no_failures_to_connect_open_nothing() -> None:
    lane = OriginThrottle(ThrottleOptions(4, 0))
    for code in ("policy.private_address", "body.bomb", "time.total_deadline", "http.bad_response", "internal.error"):
        for _ in range(6):
            lane.start(NOW)
            lane.finish(NOW, Failure(code, "x", False))
    assert lane.seconds_until_start(NOW) == 0.0


def test_ours_a_request_that_was_not_sent_gives_its_place_back() -> None:
    lane = OriginThrottle(ThrottleOptions(1, 0))
    lane.start(NOW)
    assert 0 < lane.seconds_until_start(NOW) < 1
    lane.finish(NOW, None)
    assert lane.seconds_until_start(NOW) == 0.0
