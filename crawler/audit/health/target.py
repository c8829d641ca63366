"""What an answer says of the target of a link: whether it is there, dead, or refuses programs that ask. Pure.

Only what no visitor can reach is dead: 404 and 410 (https://www.rfc-editor.org/rfc/rfc9110#section-15.5.5), a name that
does not exist, an expired certificate. A login, a ban of robots, a limit of requests and a challenge refuse the
question, whatever the page is. Servers of which we do not know the authority, and failures that pass, say nothing.
"""

from enum import StrEnum
from http import HTTPStatus
from typing import Final

from msgspec import Struct

from crawler.fetch.challenge import detect_challenge
from crawler.fetch.errors import FailureCode
from crawler.model import Failure, Reply

_DEAD_FAILURES: Final = frozenset({FailureCode.DNS_NXDOMAIN, FailureCode.TLS_EXPIRED})
_REFUSED: Final = frozenset({401, 403, 405, 407, 429, 451, 999})
_DEAD: Final = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})


class TargetState(StrEnum):
    """What is known of a target."""

    OK = "ok"
    DEAD = "dead"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class Seen(Struct, array_like=True):
    """The last answer of a target, at a Unix time. ``dead_since``: the first of the dead ones in a row."""

    at: float
    state: TargetState
    why: str = ""
    dead_since: float = 0.0

    @property
    def is_dead_twice(self) -> bool:
        """Whether it was dead in two audits: it stays dead."""
        return self.state is TargetState.DEAD and self.at > self.dead_since


def judge_target(answer: Reply | Failure) -> tuple[TargetState, str]:
    """What the last answer after all redirects says, and its words."""
    if isinstance(answer, Failure):
        is_dead = answer.code in _DEAD_FAILURES
        return (TargetState.DEAD if is_dead else TargetState.UNKNOWN), answer.message
    if answer.status in _REFUSED or detect_challenge(answer):
        return TargetState.REFUSED, f"it answered {answer.status}"
    if answer.status in _DEAD:
        return TargetState.DEAD, f"it answered {answer.status}"
    return (TargetState.OK if answer.status < HTTPStatus.MULTIPLE_CHOICES else TargetState.UNKNOWN), ""


def seen_again(before: Seen | None, answer: Reply | Failure, now: float) -> Seen:
    """What is known after one more answer."""
    state, why = judge_target(answer)
    since = now
    if before and before.state is TargetState.DEAD:
        since = before.dead_since
    return Seen(now, state, why, since if state is TargetState.DEAD else 0.0)
