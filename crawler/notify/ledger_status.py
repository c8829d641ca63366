"""The status of a site's notifications, for readers: ``siteatlas status`` and the web page."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from crawler.notify.ledger import (
    LEDGER_DB,
    DeliveryCursor,
    HealthNotice,
    Ledger,
    RefusedDelivery,
    SendRecord,
    SentMessage,
    SubmissionStatus,
    audit_channel_key,
)
from crawler.notify.notice import Occasion, SendStatus
from crawler.units import count_text


class ChannelStatus(Struct, frozen=True, kw_only=True):
    """One channel. ``until`` is the run up to whose end it was notified, ``last`` its last message.

    ``outstanding`` are sentences on what is still to be sent, ``refused`` on what was refused, and ``knows_trouble``
    says whether it was notified that runs fail. ``due`` is the Unix time until which it wants a pause, 0: none.
    ``reading`` is the status of the sitemap in Search Console, if this is its channel.
    """

    key: str
    until: int
    last: SentMessage | None = None
    outstanding: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    knows_trouble: bool = False
    due: float = 0.0
    reading: SubmissionStatus | None = None


class NotifyStatus(Struct, frozen=True, kw_only=True):
    """The notifications of a site: each channel configured last, and the messages, the newest first.

    ``totals`` counts all messages ever sent, by their result.
    """

    channels: tuple[ChannelStatus, ...] = ()
    log: tuple[SentMessage, ...] = ()
    totals: dict[str, int] = {}

    @property
    def is_notify_pending(self) -> bool:
        """Whether a notification is outstanding."""
        return any(channel.outstanding for channel in self.channels)

    @property
    def pending(self) -> tuple[str, ...]:
        """A sentence for each outstanding notification."""
        return tuple(
            f"{channel.key} has not received: {message}" for channel in self.channels for message in channel.outstanding
        )

    @property
    def refused(self) -> tuple[str, ...]:
        """A sentence for each message that a channel refused, and that waits for a person."""
        return tuple(f"{channel.key} refused {message}" for channel in self.channels for message in channel.refused)


def notify_status(directory: Path, log: int = 20) -> NotifyStatus:
    """Read the ledger in the state of a site, also while another process writes to it; ``log`` limits the messages.

    The status is empty when there is no ledger. Raises StorageError, UsageError.
    """
    if not LEDGER_DB.is_in(directory):
        return NotifyStatus()
    with LEDGER_DB.reading(directory) as db:
        db.execute("BEGIN")  # one consistent snapshot
        ledger = Ledger(db)
        channels = tuple(_channel_status(ledger, key) for key in ledger.channels())
        return NotifyStatus(channels=channels, log=tuple(ledger.log(log)), totals=ledger.totals())


def _channel_status(ledger: Ledger, key: str) -> ChannelStatus:
    cursors, health = ledger.cursors(key), ledger.health_notice(key)
    audits = ledger.cursors(audit_channel_key(key))
    return ChannelStatus(
        key=key,
        until=min((cursor.told for cursor in cursors), default=0),
        last=next(iter(ledger.log(1, key)), None),
        outstanding=(
            *_pending_texts(cursors),
            *(f"audit findings: {cursor.said}" for cursor in audits if cursor.said),
            *_pending_health(health),
        ),
        refused=refused_texts(ledger, key),
        knows_trouble=health.knows,
        due=max((cursor.due for cursor in cursors), default=0.0),
        reading=ledger.submission_status(key),
    )


def _pending_texts(cursors: Sequence[DeliveryCursor]) -> list[str]:
    return [
        f"changes{f' on {cursor.host}' if cursor.host else ''} "
        f"since {f'run {cursor.told}' if cursor.told else 'the first run'}"
        f"{f': {cursor.said}' if cursor.said else ''}"
        for cursor in cursors
        if cursor.until is not None or cursor.said
    ]


def _pending_health(health: HealthNotice) -> list[str]:
    if health.pending is None:
        return []
    text = "a failed run" if health.pending == "trouble" else "the first success after a failed run"
    return [f"{text}{f': {health.said}' if health.said else ''}"]


def refused_texts(ledger: Ledger, key: str) -> tuple[str, ...]:
    """What a channel refused, and waits for a person: each message in words."""
    audits = (f"audit findings: {refused.said}" for refused in ledger.refused(audit_channel_key(key)))
    return (*map(_refused_text, ledger.refused(key)), *audits)


def _refused_text(refused: RefusedDelivery) -> str:
    host = f" of {refused.host}" if refused.host else ""
    subject = "a message" if refused.upto is None else f"{count_text(refused.urls, 'URL')}{host}"
    first = f"from run {refused.after}" if refused.after else "from the first run"
    runs = f"{first} to run {refused.until}"
    return f"{subject}, {runs}: {refused.said}"


_SEARCH_CONSOLE: Final = "search console"  # the key of its channel
_RETRY_NOTE: Final = "the next run tries to send these messages again; siteatlas notify tries now"
_REFUSED_NOTE: Final = (
    "siteatlas does not send refused notifications again by itself; siteatlas notify --resend-refused does"
)
_STATUS_WORDS: Final = {SendStatus.DEFERRED: "postponed", SendStatus.REFUSED: "refused"}


class DeliveryReport(SendRecord, frozen=True, kw_only=True):
    """The result of one delivery to one channel in this process.

    ``urls`` counts the accepted URLs (or the changes in a message), ``refused`` the refused ones, ``batches`` the
    accepted messages. ``due`` is the Unix time until which the receiver wants a pause, 0: none. ``shown`` are the URLs,
    or the lines of a message, of a dry run. ``is_known``: it was outstanding before, for the same reason, and
    nothing of it was refused.
    """

    refused: int = 0
    batches: int = 0
    due: float = 0.0
    shown: tuple[str, ...] = ()
    is_known: bool = False

    def knowing(self, reasons: Collection[str]) -> "DeliveryReport":
        """The report, told whether it was outstanding before for one of ``reasons`` (:meth:`Ledger.reasons`)."""
        key = audit_channel_key(self.channel) if self.occasion is Occasion.FINDINGS else self.channel
        was_told = f"{key}: {self.said};".startswith(tuple(f"{reason};" for reason in reasons))  # or a pause follows
        return replace(self, is_known=was_told and self.reception is SendStatus.DEFERRED and not self.refused)

    @property
    def content(self) -> str:
        """The channel and what was sent over it. That of Search Console is the status from Google."""
        if self.occasion is not Occasion.CHANGES:
            return f"{self.channel}: {self.occasion.content}"
        if self.channel == _SEARCH_CONSOLE:
            return f"{self.channel}: the sitemap ({self.said})"
        return f"{self.channel}: {count_text(self.urls, 'change' if self.after else 'page')}"


def channels_by_reason(deliveries: Iterable[DeliveryReport]) -> Iterator[str]:
    """A sentence for each reason of deliveries that failed, with the channels."""
    reasons: dict[str, list[str]] = {}
    for delivery in deliveries:
        word = _STATUS_WORDS.get(delivery.reception, "refused")
        if delivery.occasion is Occasion.TEST:
            word = "failed"  # a test is not sent another time
        reasons.setdefault(f"{word}: {delivery.said}", []).append(delivery.channel)
    return (f"{', '.join(dict.fromkeys(channels))}: {reason}" for reason, channels in reasons.items())


class NotifyResult(Struct, frozen=True, kw_only=True):
    """The result of notifying all channels. ``notify_pending``: a notification is outstanding and may be sent later.

    ``channels`` are the keys of all configured channels, ``notes`` sentences for a person. ``reading`` is the last
    status of the sitemap in Search Console, None: unknown. ``exit_code`` is that of an error that prevented all
    notifications, 0: none.
    """

    deliveries: tuple[DeliveryReport, ...] = ()
    channels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    notify_pending: bool = False
    reading: SubmissionStatus | None = None
    exit_code: int = 0

    @property
    def sentences(self) -> tuple[str, ...]:
        """Every note, deferral and refusal, as sentences."""
        return (*self.notes, *channels_by_reason(self._failed))

    @property
    def news(self) -> tuple[str, ...]:
        """What a quiet run says: the sentences, without a delivery that was outstanding before for the same reason.

        The notes always: they may tell of changes that are lost.
        """
        failed = [delivery for delivery in self._failed if not delivery.is_known]
        return (*self.notes, *channels_by_reason(failed))

    @property
    def _failed(self) -> list[DeliveryReport]:
        return [sent for sent in self.deliveries if sent.reception in _STATUS_WORDS or sent.refused]

    def lines(self, *, is_tried_again: bool = True) -> list[str]:
        """The notifications, in lines; ``is_tried_again`` unless the user has to fix something else first."""
        accepted = (delivery for delivery in self.deliveries if delivery.reception is SendStatus.ACCEPTED)
        lines = [*(f"notified {delivery.content}" for delivery in accepted), *self.sentences]
        if self.notify_pending and is_tried_again:
            lines.append(_RETRY_NOTE)
        if any(delivery.refused for delivery in self.deliveries):
            lines.append(_REFUSED_NOTE)
        return lines

    def as_json(self) -> dict[str, Any]:
        """The result as JSON values."""
        built: dict[str, Any] = msgspec.to_builtins(self)
        return built
