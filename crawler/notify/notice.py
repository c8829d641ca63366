"""Values of a notification: the occasion, the notice, the result of sending it, and what every channel implements.

A batch channel takes changed URLs in batches, a message channel takes messages.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol, Self, runtime_checkable

from msgspec import Struct, field

from crawler.audit.summary import AuditSummary
from crawler.config.secrets import plain_line
from crawler.model import Url
from crawler.publish.changes import Change, ChangeCounts, counts_text


class Occasion(StrEnum):
    """Why a notice is sent."""

    CHANGES = "changes"
    TROUBLE = "trouble"  # runs fail; sent once until recovery
    RECOVERY = "recovery"  # the first good run after trouble that was sent
    FINDINGS = "findings"  # an audit has new or resolved findings
    TEST = "test"  # a person tests whether messages arrive

    @property
    def content(self) -> str:
        """What its messages report: "runs fail"."""
        return _CONTENTS.get(self, self.value)


_CONTENTS = {
    Occasion.TROUBLE: "runs fail",
    Occasion.RECOVERY: "runs succeed again",
    Occasion.FINDINGS: "the result of an audit",
}


class Effect(StrEnum):
    """What a run left of the sitemap."""

    PUBLISHED = "published"
    HELD = "held"  # published, but the gate holds some pages
    UNSERVED = "unserved"  # published, but the site serves something else
    KEPT = "kept"  # nothing was published
    GONE = "gone"  # the same, and somebody deleted the earlier sitemap
    UNKNOWN = "unknown"  # the state, which knows what is published and what was sent, cannot be used
    NONE = "none"  # there was no run


class Notice(Struct, frozen=True, kw_only=True):
    """One message to one channel.

    ``changes`` are those from the end of run ``after`` to the end of run ``until``, the first of each kind only;
    ``counts`` count all of them. The first notice of a site (``after`` is 0) has counts alone, because a whole set is
    no news. For trouble and recovery ``until`` is the run (0: none), ``exit_code`` that of ``siteatlas run``,
    ``message`` its sentence, and ``effect`` what it left of the sitemap. For findings ``audit`` is the audit, and
    ``report`` the directory of its report, "" for none. ``feed_url`` is the feed of recent changes, "" for none.
    ``at`` is a W3C datetime in UTC.
    """

    site: str
    url: Url
    sitemap_url: Url
    feed_url: str = ""
    occasion: Occasion
    after: int = 0
    until: int = 0
    at: str
    pages: int = 0
    counts: ChangeCounts = field(default_factory=ChangeCounts)
    changes: tuple[Change, ...] = ()
    exit_code: int = 0
    message: str = ""
    effect: Effect = Effect.PUBLISHED
    audit: AuditSummary | None = None
    report: str = ""


def notice_sentence(notice: Notice) -> str:
    """The notice in one sentence without its full stop."""
    if notice.occasion is not Occasion.CHANGES:
        return plain_line(notice.message).rstrip(".")
    listed = f"{notice.pages:,} {'page is' if notice.pages == 1 else 'pages are'} listed"
    if not notice.after:
        return f"the whole sitemap is new: {listed}"
    since = f"since run {notice.after}: " if notice.until > notice.after + 1 else ""
    return f"{since}{counts_text(notice.counts)}; {listed} now"


class SendStatus(StrEnum):
    """The outcome of sending a message."""

    ACCEPTED = "accepted"
    DEFERRED = "later"  # the receiver is busy or failing: send the same later
    REFUSED = "refused"  # sending the same again would be refused; a person must act
    WOULD_SEND = "would send"  # not sent in a dry run


class SendResult(Struct, frozen=True, kw_only=True):
    """The response to a message. ``message`` is a sentence without secrets; ``wait`` the seconds to wait, if any."""

    reception: SendStatus
    message: str
    wait: float = 0.0

    @classmethod
    def accepted(cls, message: str) -> Self:
        """The receiver took the message."""
        return cls(reception=SendStatus.ACCEPTED, message=message)

    @classmethod
    def deferred(cls, message: str, wait: float = 0.0) -> Self:
        """The same message is to be sent later."""
        return cls(reception=SendStatus.DEFERRED, message=message, wait=wait)

    @classmethod
    def refused(cls, message: str) -> Self:
        """The receiver refused the message."""
        return cls(reception=SendStatus.REFUSED, message=message)


@runtime_checkable
class MessageChannel(Protocol):
    """Takes one message for each notice. ``key`` names it in the ledger, never changes, and holds no secret."""

    @property
    def key(self) -> str:
        """Its name in the ledger."""

    @property
    def occasions(self) -> frozenset[Occasion]:
        """The occasions on which it wants a message."""

    async def send(self, notice: Notice) -> SendResult:
        """Send the message once. Never raises for a failing receiver."""


@runtime_checkable
class BatchChannel(Protocol):
    """Takes the changed URLs in batches, each of one host and in a stable order."""

    @property
    def key(self) -> str:
        """Its name in the ledger."""

    @property
    def size(self) -> int:
        """The maximum number of URLs in a batch."""

    async def check_ready(self, host: str) -> SendResult:
        """Whether it accepts URLs of a host (IndexNow: the key file is there).

        Called before each batch, and again after a deferral: a host that is not ready is deferred alone.
        """

    def accepts(self, url: str) -> bool:
        """Whether a URL may be sent at all, decided without a request."""

    async def send(self, host: str, urls: Sequence[str]) -> SendResult:
        """Send one batch once. Never raises for a failing receiver."""
