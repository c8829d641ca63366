"""Retries one message within a run, with growing delays."""

import logging
import math
from collections.abc import Awaitable, Callable
from typing import TypeVar

from crawler.config.sections import NotifyConfig
from crawler.fetch.paced_fetcher import Retries
from crawler.fetch.retry import RetryPolicy
from crawler.notify.claims import run_claims
from crawler.notify.notice import SendResult, SendStatus
from crawler.state.lease import RUN_LEASE, LeaseLost

T = TypeVar("T")
_log = logging.getLogger(__name__)


async def send_with_retry(
    send: Callable[[], Awaitable[SendResult]],
    section: NotifyConfig,
    is_worth: Callable[[], Awaitable[bool]],
    notice: str = "",
    what: str = "",
) -> SendResult:
    """Send a message, and retry it while it is deferred, unless the receiver's requested delay is too long.

    ``is_worth`` decides before each further try. A message still DEFERRED at the end is left to a later process. One
    with a ``notice`` (its :func:`crawler.notify.claims.claim_key`) that another worker of a fleet sent is not sent.
    ``what`` tells an operator what it is about.
    """
    try:
        if notice and not await run_claims().may_send(notice, what):
            return SendResult.accepted("another worker of the fleet sent it")
        retries = Retries(RetryPolicy(section.attempts - 1, section.retry_delay, math.inf, section.max_retry_after))
        async for _ in retries:
            result = await catch_all(send)
            if result.reception is not SendStatus.DEFERRED or not await is_worth():
                break
            retries.asked = result.wait or None
    except LeaseLost:  # before it was sent: the next run sends it
        _end_claim(notice, is_sent=False)
        raise
    _end_claim(notice, is_sent=result.reception is SendStatus.ACCEPTED)
    return result


def _end_claim(notice: str, *, is_sent: bool) -> None:
    if notice:
        run_claims().end(notice, is_sent=is_sent)


async def catch_all(send: Callable[[], Awaitable[T]]) -> T | SendResult:
    """Send, and turn an exception into DEFERRED: a notification never ends a run. The exception may hold a secret.

    Raises LeaseLost when another worker may be running the site.
    """
    RUN_LEASE.check()
    try:
        return await send()
    except Exception as error:  # noqa: BLE001 - the fence
        _log.warning("a notification failed with an internal error: %s", type(error).__name__)
        return SendResult.deferred(f"it could not be sent: internal error ({type(error).__name__})")
