"""What others were told of a site, for whoever only looks: ``siteatlas status``, the web page."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

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
