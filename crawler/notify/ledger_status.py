"""What others were told of a site, for whoever only looks: ``siteatlas status``, the web page."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from crawler.notify.ledger import (
    LEDGER_DB,
    DeliveryCursor,
    HealthNotice,
    Ledger,
    RefusedDelivery,
    SentMessage,
    SubmissionStatus,
    audit_channel_key,
)
from crawler.notify.notice import Occasion, SendStatus
from crawler.units import count_text


class ChannelStatus(Struct, frozen=True, kw_only=True):
    """One of those who are told. ``until`` is the run up to whose end it was told all, ``last`` its last message.

    ``outstanding`` are sentences that say what could not be told for now, ``refused`` what was refused for good, and
    ``knows_trouble`` whether it was told that runs fail. ``due`` is the Unix time that it asked to wait for, 0: none.
    ``reading`` is what it said of the sitemap, if it ever did: Search Console does.
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
    """What others were told of a site: each channel that was configured last, and the messages, the newest first."""

    channels: tuple[ChannelStatus, ...] = ()
    log: tuple[SentMessage, ...] = ()

    @property
    def is_notify_pending(self) -> bool:
        """Whether something could not be told for now."""
        return any(channel.outstanding for channel in self.channels)


def notify_status(directory: Path, log: int = 20) -> NotifyStatus:
    """Look at the ledger in the state of a site, also while another process writes to it; ``log`` messages at most.

    Nothing was told when there is none. Raises StorageError, UsageError.
    """
    if not LEDGER_DB.is_in(directory):
        return NotifyStatus()
    with LEDGER_DB.reading(directory) as db:
        db.execute("BEGIN")  # everything from one moment
        ledger = Ledger(db)
        channels = tuple(_channel_status(ledger, key) for key in ledger.channels())
        return NotifyStatus(channels=channels, log=tuple(ledger.log(log)))


def _channel_status(ledger: Ledger, key: str) -> ChannelStatus:
    lines, mood = ledger.cursors(key), ledger.health_notice(key)
    return ChannelStatus(
        key=key,
        until=min((line.told for line in lines), default=0),
        last=next(iter(ledger.log(1, key)), None),
        outstanding=(
            *_pending_texts(lines),
            *_pending_audits(ledger.cursors(audit_channel_key(key))),
            *_pending_health(mood),
        ),
        refused=(
            *map(_refused_text, ledger.refused(key)),
            *(f"what an audit found: {each.said}" for each in ledger.refused(audit_channel_key(key))),
        ),
        knows_trouble=mood.knows,
        due=max((line.due for line in lines), default=0.0),
        reading=ledger.submission_status(key),
    )


def _pending_texts(lines: Sequence[DeliveryCursor]) -> list[str]:
    return [
        f"what changed{f' on {line.host}' if line.host else ''} {_since_text(line.told)}"
        f"{f': {line.said}' if line.said else ''}"
        for line in lines
        if line.until is not None or line.said
    ]


def _since_text(run: int) -> str:
    return f"since run {run}" if run else "from the first run on"


def _pending_audits(lines: Sequence[DeliveryCursor]) -> list[str]:
    return [f"what an audit found: {line.said}" for line in lines if line.said]


def _pending_health(mood: HealthNotice) -> list[str]:
    if mood.pending is None:
        return []
    what = "that runs fail" if mood.pending == "trouble" else "that runs are well again"
    return [f"{what}{f': {mood.said}' if mood.said else ''}"]


def _refused_text(refused: RefusedDelivery) -> str:
    where = f" of {refused.host}" if refused.host else ""
    what = "a message" if refused.upto is None else f"{count_text(refused.urls, 'URL')}{where}"
    begun = f"from run {refused.after}" if refused.after else "from the first run"
    runs = f"{begun} to run {refused.until}"
    return f"{what}, {runs}: {refused.said}"


_STATUS_WORDS: Final = {SendStatus.DEFERRED: "put off", SendStatus.REFUSED: "refused"}


class DeliveryReport(Struct, frozen=True, kw_only=True):
    """What became of one delivery to one channel in this process.

    ``urls`` is how many URLs were taken (or how many changes a message told of), ``refused`` how many were refused,
    ``batches`` how many messages were taken. ``said`` is a sentence without secrets. ``due`` is the Unix time that the
    other side asked to wait for, 0: none. ``shown`` are URLs, or the lines of a message, of a dry run.
    """

    channel: str
    occasion: Occasion
    reception: SendStatus
    host: str = ""
    after: int = 0
    until: int = 0
    urls: int = 0
    refused: int = 0
    batches: int = 0
    said: str = ""
    due: float = 0.0
    shown: tuple[str, ...] = ()


class NotifyResult(Struct, frozen=True, kw_only=True):
    """What was told, and to whom. ``untold``: something could not be told for now, and another time it may be.

    ``channels`` are the keys of all that are configured, ``notes`` sentences for a person. ``reading`` is what
    Google said last of the sitemap, None: nothing, or nobody asks it. ``exit_code`` is that of the error for which
    nobody was told anything, 0: there was none.
    """

    deliveries: tuple[DeliveryReport, ...] = ()
    channels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    untold: bool = False
    reading: SubmissionStatus | None = None
    exit_code: int = 0

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a person should know: everything that was not simply taken."""
        untaken = [each for each in self.deliveries if each.reception in _STATUS_WORDS or each.refused]
        reasons: dict[str, list[str]] = {}
        for each in untaken:
            said = f"{_STATUS_WORDS.get(each.reception, 'refused')}: {each.said}"
            reasons.setdefault(said, []).append(each.channel)
        told = (f"{', '.join(dict.fromkeys(channels))}: {said}" for said, channels in reasons.items())
        return (*self.notes, *told)

    def new_since(self, known: NotifyStatus) -> Self:
        """The same without what was put off before too, for the reason that the ledger knew then."""
        reasons = {
            channel.key: tuple(filter(None, (told.partition(": ")[2] for told in channel.outstanding)))
            for channel in known.channels
        }

        def is_known(each: DeliveryReport) -> bool:
            return each.reception is SendStatus.DEFERRED and each.said.startswith(
                reasons.get(each.channel, ())
            )

        return replace(self, deliveries=tuple(each for each in self.deliveries if not is_known(each)))

    def as_json(self) -> dict[str, Any]:
        """The same in values that JSON knows."""
        built: dict[str, Any] = msgspec.to_builtins(self)
        return built
