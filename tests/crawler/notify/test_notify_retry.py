"""How often a message is tried, and how long between, on a virtual clock."""

import anyio
import pytest
import trio
from trio.testing import MockClock

from crawler.config.sections import NotifyConfig
from crawler.notify.delivery import catch_all, send_with_retry
from crawler.notify.notice import SendResult, SendStatus

LATER, ACCEPTED, REFUSED = SendStatus.DEFERRED, SendStatus.ACCEPTED, SendStatus.REFUSED


def played(
    *answers: tuple[SendStatus, float], is_worth: bool = True, **settings: object
) -> tuple[SendResult, list[float]]:
    """The last answer, and the seconds at which each message was sent."""
    at: list[float] = []
    left = iter(answers)

    async def send() -> SendResult:
        at.append(anyio.current_time() - began)
        reception, wait = next(left)
        return SendResult(reception=reception, message="", wait=wait)

    async def worth() -> bool:
        return is_worth

    async def run() -> SendResult:
        nonlocal began
        began = anyio.current_time()
        return await send_with_retry(send, NotifyConfig.model_validate(settings), worth)

    began = 0.0
    return trio.run(run, clock=MockClock(autojump_threshold=0)), [round(each, 3) for each in at]


def test_ours_pauses_double_and_end_after_so_many_attempts() -> None:
    answer, at = played(*[(LATER, 0.0)] * 9, attempts=5, retry_delay=2)
    assert (answer.reception, at) == (LATER, [0, 2, 6, 14, 30])


def test_rfc9110_retry_after_is_waited_for() -> None:
    assert played((LATER, 45.0), (LATER, 3.0), (ACCEPTED, 0.0))[1] == [0, 45, 48]


def test_ours_who_asks_for_too_long_is_not_waited_for() -> None:
    answer, at = played((LATER, 61.0), max_retry_after="1m")
    assert (answer.wait, at) == (61.0, [0])


@pytest.mark.parametrize("reception", [ACCEPTED, REFUSED])
def test_ours_what_is_decided_is_not_sent_again(reception: SendStatus) -> None:
    assert played((reception, 0.0))[1] == [0]


def test_ours_what_is_not_worth_it_is_not_sent_again() -> None:
    assert played((LATER, 0.0), is_worth=False)[1] == [0]


def test_ours_a_pause_can_be_cancelled() -> None:
    async def send() -> SendResult:
        return SendResult(reception=LATER, message="", wait=50.0)

    async def run() -> float:
        began = anyio.current_time()
        with anyio.move_on_after(7):
            await send_with_retry(send, NotifyConfig(), _yes)
        return anyio.current_time() - began

    assert trio.run(run, clock=MockClock(autojump_threshold=0)) == pytest.approx(7)


@pytest.mark.parametrize("error", [ValueError("https://user:SECRET@example.com"), RuntimeError(), OSError(28, "x")])
def test_ours_what_breaks_is_told_without_what_it_says(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    async def send() -> SendResult:
        raise error

    answer = anyio.run(lambda: catch_all(send))
    assert answer.reception is LATER
    assert type(error).__name__ in answer.message
    assert "SECRET" not in answer.message + caplog.text


async def _yes() -> bool:
    return True
