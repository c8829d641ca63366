"""Which answers are fetched again, and when."""

import math
from email.utils import formatdate

import pytest

from crawler.fetch.retry import FAILURES, RetryPolicy, is_failure, is_transient, parse_retry_after, retry_pause
from crawler.model import Failure, Reply, State, Url

NOW = 1_800_000_000.0
URL = Url("https://h.test/")


def reply(status: int, wait: str = "") -> Reply:
    return Reply(URL, status, (("retry-after", wait),) if wait else (), b"", NOW, 0.05)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("999999999", 999_999_999.0),
        (formatdate(NOW + 60, usegmt=True), 60.0),
        ("Friday, 15-Jan-27 08:01:00 GMT", 60.0),
        ("Fri Jan 15 08:01:00 2027", 60.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        *[
            (bad, None)
            for bad in ("", "-5", "+5", "5.5", "1e9", "nan", "inf", "0x10", "1_000", "120, 120", "٣", "soon")
        ],
        *[(bad, None) for bad in ("X5", "5X", "\x0b5", "5\xa0")],
        *[("9" * 5_000, None), ("\uff11\uff12", None), ("Wed, 21 Oct 99999 07:28:00 GMT", None)],
        *[("Wed, 32 Dec 2026 07:28:00 GMT", None), ("Wed, 21 Oct 2026 07:28:00 +9999", None)],
        (None, None),
    ],
)
def test_rfc9110_10_2_3_retry_after(value: str | None, seconds: float | None) -> None:
    assert parse_retry_after(value, NOW) == seconds


def test_ours_retries_are_spread_and_repeatable() -> None:
    delays = {RetryPolicy().pause(2, f"https://h.test/{number}") for number in range(200)}
    assert len(delays) > 150
    assert 3.0 <= min(delays) < 3.3
    assert 4.7 < max(delays) <= 5.0
    assert RetryPolicy().pause(2, "a") == RetryPolicy().pause(2, "a")
    assert 225 <= RetryPolicy().pause(10**6, "\ud800") <= 375


def test_ours_a_retry_policy_counts_doubles_and_does_as_it_is_asked_within_bounds() -> None:
    policy = RetryPolicy(4, first=2.0, longest=10.0, longest_asked=60.0)
    assert [policy.delay(attempt) for attempt in range(5)] == [2.0, 4.0, 8.0, 10.0, None]
    assert [policy.delay(0, "key", asked) for asked in (0.0, 60.0, 61.0)] == [0.0, 60.0, None]
    assert RetryPolicy().delay(0) is None
    assert RetryPolicy(1, longest_asked=0.5).delay(0) == 1.0
    assert policy.delay(1, "key") == policy.pause(1, "key")


def test_ours_pauses_double_to_five_minutes() -> None:
    assert [RetryPolicy().pause(attempt) for attempt in range(10)] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]
    assert RetryPolicy().pause(10**6) == 300


def test_ours_two_failures_of_one_url_are_spread_differently() -> None:
    shares = {RetryPolicy().pause(attempt, "https://h.test/") / 2**attempt for attempt in range(8)}
    assert len(shares) == 8


POLICY = RetryPolicy(3, first=2.0, longest=10.0, longest_asked=60.0)


@pytest.mark.parametrize("status", [200, 301, 404, 410, 501, 505])
def test_ours_an_answer_that_stays_the_same_is_not_fetched_again(status: int) -> None:
    assert retry_pause(reply(status, "5"), POLICY, 0, "", NOW) is None


def test_ours_a_failure_is_fetched_again_if_it_may_pass() -> None:
    passing, lasting = Failure("net.reset", "x", True), Failure("body.bomb", "x", False)
    assert [retry_pause(passing, POLICY, attempt, "", NOW) for attempt in range(4)] == [2.0, 4.0, 8.0, None]
    assert retry_pause(passing, POLICY, 0, URL, NOW) == POLICY.pause(0, URL) != POLICY.pause(0, "another")
    assert retry_pause(lasting, POLICY, 0, "", NOW) is None


@pytest.mark.parametrize("status", [429, 503])
def test_rfc9110_10_2_3_who_asks_to_wait_may_ask_for_any_pause(status: int) -> None:
    assert retry_pause(reply(status), POLICY, 1, "", NOW) == 4.0
    assert retry_pause(reply(status, "5"), POLICY, 1, "", NOW) == 5.0
    assert retry_pause(reply(status, "999999"), POLICY, 2, "", NOW) == 999_999.0
    assert retry_pause(reply(status, formatdate(NOW + 70, usegmt=True)), POLICY, 0, "", NOW) == 70.0
    assert retry_pause(reply(status, "5"), POLICY, 3, "", NOW) is None


@pytest.mark.parametrize("status", [408, 500, 502, 504])
def test_ours_one_page_may_not_hold_up_the_crawl(status: int) -> None:
    assert retry_pause(reply(status, "60"), POLICY, 0, "", NOW) == 60.0
    assert retry_pause(reply(status, "61"), POLICY, 0, "", NOW) is None
    assert retry_pause(reply(status, "61"), RetryPolicy(1), 0, "", NOW) == 61.0
    assert RetryPolicy().longest_asked == math.inf


PASSING = {408, 425, 429, 500, 502, 503, 504, 507, 509, 520, 521, 522, 523, 524, 525, 526, 527, 529, 530}
"""RFC 9110 15, RFC 6585 4, RFC 8470 5.2, and those of proxies before a site: its server may answer the next time."""


def test_rfc9110_15_a_status_is_transient_if_the_same_request_may_be_answered_later() -> None:
    assert {status for status in range(100, 1_000) if is_transient(status)} == PASSING
    assert {status for status in range(100, 1_000) if is_transient(reply(status))} == PASSING
    assert is_transient(Failure("net.reset", "x", True))
    assert not is_transient(Failure("body.bomb", "x", False))


def test_ours_a_url_failed_if_its_state_says_so_or_a_transient_status_hid_what_it_is() -> None:
    failed = {State.SERVER_ERROR, State.CHALLENGED, State.UNREACHABLE, State.PARSE_FAILED, State.INTERNAL_ERROR}
    for state in State:
        for status in (None, 200, 301, 404, 410, 429, 503):
            hides = status in PASSING and state in {State.CLIENT_ERROR, State.SITEMAP_FILE}
            assert is_failure(state, status) is (state in failed or hides), (state, status)
    assert {*failed, State.BAD_ANSWER} == FAILURES


def test_ours_answers_of_many_urls_that_failed_together_are_asked_for_at_different_times() -> None:
    pauses = {retry_pause(reply(503), POLICY, 0, f"https://h.test/{number}", NOW) for number in range(20)}
    assert len(pauses) == 20
    assert retry_pause(reply(503), POLICY, 0, URL, NOW) == POLICY.pause(0, URL)
    assert retry_pause(reply(500), POLICY, 1, URL, NOW) == POLICY.pause(1, URL)
