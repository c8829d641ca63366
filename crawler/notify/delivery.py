"""Delivers one message: of several processes only the first to claim it sends it, and retries it with growing delays.

A run of a fleet may be repeated by another worker, from the state before it. Its notifications are then the same, and
PostgreSQL knows which of them were claimed. The process of the run asks its parent over its standard output.
"""

import hashlib
import logging
import math
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Final, Literal, TypeVar

import anyio
import msgspec
from msgspec import Struct

from crawler.config.sections import NotifyConfig
from crawler.fetch.paced_fetcher import Retries
from crawler.fetch.permits import decode_line
from crawler.fetch.retry import RetryPolicy
from crawler.notify.notice import SendResult, SendStatus
from crawler.state.lock import RUN_LEASE, LeaseLost

_POLL: Final = 0.05  # seconds


class ClaimMessage(Struct, frozen=True):
    """What a run tells: it wants to send a notice, has sent it, or could not send it.

    ``what`` tells a person what the notice is about, and ``changes`` after which run or audit its news begin. It is ""
    for news that do not follow from the state of the site, such as a run that failed.
    """

    notice: str
    claim: Literal["ask", "sent", "unsent"]
    what: str = ""
    changes: str = ""


class ClaimResult(StrEnum):
    """Whether a run may send a notice, and if not, why."""

    GRANTED = "granted"
    SENT = "sent"  # another worker sent it
    UNSURE = "unsure"  # another worker failed while it sent it: only a person may have it sent again
    LATER = "later"  # the state that it follows from is not stored: a repeated run could find other changes


class ClaimAnswer(Struct, frozen=True):
    """The answer to a run that wants to send a notice."""

    notice: str
    result: ClaimResult


def claim_key(channel: str, *content: object) -> str:
    """The name of a notice to a channel: the same for the same content."""
    return hashlib.blake2b(msgspec.json.encode((channel, content)), digest_size=16).hexdigest()


class SharedClaims:
    """The claims of a run in a fleet. ``send`` takes messages; :meth:`hear` takes answers, in another thread."""

    def __init__(self, send: Callable[[ClaimMessage], None]) -> None:
        self._send = send
        self._answers: dict[str, ClaimResult] = {}

    async def claim(self, notice: str, what: str = "", changes: str = "") -> ClaimResult:
        """Claim a notice before it is sent, see :class:`ClaimMessage`: ask the parent, and wait for its answer.

        Raises LeaseLost when the lease ends before.
        """
        self._answers.pop(notice, None)
        self._send(ClaimMessage(notice, "ask", what, changes))
        while (answer := self._answers.get(notice)) is None:
            RUN_LEASE.check()
            await anyio.sleep(_POLL)
        return answer

    def end(self, notice: str, *, is_sent: bool) -> None:
        """Tell the parent that a claimed notice was sent, or could not be sent, so that its claim ends."""
        self._send(ClaimMessage(notice, "sent" if is_sent else "unsent"))

    def hear(self, line: bytes) -> bool:
        """Take a line of the standard input; False when it is about something else."""
        if answer := decode_line(line, ClaimAnswer):
            self._answers[answer.notice] = answer.result
        return answer is not None


_claims: list[SharedClaims] = []  # of the run in this process; none if no other process can double it


def use_claims(*claims: SharedClaims) -> None:
    """Make these the claims of the run in this process; without any, each notice is granted."""
    _claims[:] = claims


T = TypeVar("T")
_log = logging.getLogger(__name__)
_NOT_SENT: Final = {
    ClaimResult.SENT: SendResult.accepted("another worker of the fleet sent it"),
    ClaimResult.UNSURE: SendResult.refused(
        "it may have been sent: a worker of the fleet failed while it sent it (siteatlas fleet status)"
    ),
    ClaimResult.LATER: SendResult.deferred(
        "no snapshot of the state could be stored in the state store of the fleet, so that a later run sends it"
    ),
}


async def is_always_worth() -> bool:
    """A message for people is worth each further try."""
    return True


async def send_with_retry(
    send: Callable[[], Awaitable[SendResult]],
    section: NotifyConfig,
    is_worth: Callable[[], Awaitable[bool]],
    notice: str = "",
    what: str = "",
    changes: str = "",
) -> SendResult:
    """Send a message, and retry it while it is deferred, unless the receiver's requested delay is too long.

    ``is_worth`` decides before each further try. A message still DEFERRED at the end is left to a later process. One
    with a ``notice`` (its :func:`claim_key`) that another worker of a fleet sent, or may have sent, is not sent.
    ``what`` and ``changes`` are as in :class:`ClaimMessage`.
    """
    claims = _claims[0] if notice and _claims else None
    try:
        if claims and (claim := await claims.claim(notice, what, changes)) is not ClaimResult.GRANTED:
            return _NOT_SENT[claim]
        retries = Retries(RetryPolicy(section.attempts - 1, section.retry_delay, math.inf, section.max_retry_after))
        async for _ in retries:
            result = await catch_all(send)
            if result.reception is not SendStatus.DEFERRED or not await is_worth():
                break
            retries.asked = result.wait or None
    except LeaseLost:  # before it was sent: the next run sends it
        if claims:
            claims.end(notice, is_sent=False)
        raise
    if claims:
        claims.end(notice, is_sent=result.reception is SendStatus.ACCEPTED)
    return result


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
