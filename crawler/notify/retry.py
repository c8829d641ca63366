"""How often one message is tried in a row, and how long between two tries."""

import logging
import math
from collections.abc import Awaitable, Callable
from typing import TypeVar

from crawler.config.sections import NotifyConfig
from crawler.fetch.retry import RetryPolicy
from crawler.fetch.retry_loop import Retries
from crawler.notify.notice import SendResult, SendStatus

T = TypeVar("T")
_log = logging.getLogger(__name__)


async def send_with_retry(
    send: Callable[[], Awaitable[SendResult]], section: NotifyConfig, is_worth: Callable[[], Awaitable[bool]]
) -> SendResult:
    """The answer to a message, tried again while that may help and the other side does not ask for too long a pause.

    ``is_worth`` is asked before each further try. What is LATER at the end is for another process to send.
    """
    tries = Retries(RetryPolicy(section.attempts - 1, section.retry_delay, math.inf, section.max_retry_after))
    async for _ in tries:
        answer = await catch_all(send)
        if answer.reception is not SendStatus.DEFERRED or not await is_worth():
            break
        tries.asked = answer.wait or None
    return answer


async def catch_all(send: Callable[[], Awaitable[T]]) -> T | SendResult:
    """The answer, also when what sends is broken: telling never ends a run. What it raises may hold a secret."""
    try:
        return await send()
    except Exception as error:  # noqa: BLE001 - the fence
        _log.warning("telling others failed by an internal error: %s", type(error).__name__)
        return SendResult(
            reception=SendStatus.DEFERRED,
            message=f"it could not be sent: internal error ({type(error).__name__})",
        )
