"""How often one message is tried in a row, and how long between two tries."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from crawler.config.notify import Notify
from crawler.notify.notice import Answer, Reception

T = TypeVar("T")
_log = logging.getLogger(__name__)


async def persist(
    send: Callable[[], Awaitable[Answer]], section: Notify, is_worth: Callable[[], Awaitable[bool]]
) -> Answer:
    """The answer to a message, tried again while that may help and the other side does not ask for too long a pause.

    ``is_worth`` is asked before each further try. What is LATER at the end is for another process to send.
    """
    answer = await guarded(send)
    for number in range(section.attempts - 1):
        is_over = answer.reception is not Reception.LATER or answer.wait > section.longest_wait
        if is_over or not await is_worth():
            break
        await anyio.sleep(answer.wait or section.pause * 2**number)
        answer = await guarded(send)
    return answer


async def guarded(send: Callable[[], Awaitable[T]]) -> T | Answer:
    """The answer, also when what sends is broken: telling never ends a run. What it raises may hold a secret."""
    try:
        return await send()
    except Exception as error:  # noqa: BLE001 - the fence
        _log.warning("telling others failed by an internal error: %s", type(error).__name__)
        return Answer(
            reception=Reception.LATER, said=f"it could not be sent: internal error ({type(error).__name__})"
        )
