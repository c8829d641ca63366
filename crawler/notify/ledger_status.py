"""What others were told of a site, for whoever only looks: ``siteatlas status``, the web page."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from crawler.notify.ledger import LEDGER, Ledger, Line, Mood, Reading, Refused, Sent, of_audits
from crawler.units import count


class ChannelTold(Struct, frozen=True, kw_only=True):
    """One of those who are told. ``until`` is the run up to whose end it was told all, ``last`` its last message.

    ``outstanding`` are sentences that say what could not be told for now, ``refused`` what was refused for good, and
    ``knows_trouble`` whether it was told that runs fail. ``due`` is the Unix time that it asked to wait for, 0: none.
    ``reading`` is what it said of the sitemap, if it ever did: Search Console does.
    """

    key: str
    until: int
    last: Sent | None = None
    outstanding: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    knows_trouble: bool = False
    due: float = 0.0
    reading: Reading | None = None


class Told(Struct, frozen=True, kw_only=True):
    """What others were told of a site: each channel that was configured last, and the messages, the newest first."""

    channels: tuple[ChannelTold, ...] = ()
    log: tuple[Sent, ...] = ()

    @property
    def is_outstanding(self) -> bool:
        """Whether something could not be told for now."""
        return any(channel.outstanding for channel in self.channels)


def told(directory: Path, log: int = 20) -> Told:
    """Look at the ledger in the state of a site, also while another process writes to it; ``log`` messages at most.

    Nothing was told when there is none. Raises StorageError, UsageError.
    """
    if not LEDGER.is_in(directory):
        return Told()
    with LEDGER.reading(directory) as db:
        db.execute("BEGIN")  # everything from one moment
        ledger = Ledger(db)
        channels = tuple(_channel(ledger, key) for key in ledger.channels())
        return Told(channels=channels, log=tuple(ledger.log(log)))


def _channel(ledger: Ledger, key: str) -> ChannelTold:
    lines, mood = ledger.lines(key), ledger.mood(key)
    return ChannelTold(
        key=key,
        until=min((line.told for line in lines), default=0),
        last=next(iter(ledger.log(1, key)), None),
        outstanding=(*_outstanding(lines), *_of_audits(ledger.lines(of_audits(key))), *_of_mood(mood)),
        refused=(
            *map(_refused, ledger.refused(key)),
            *(f"what an audit found: {each.said}" for each in ledger.refused(of_audits(key))),
        ),
        knows_trouble=mood.knows,
        due=max((line.due for line in lines), default=0.0),
        reading=ledger.reading(key),
    )


def _outstanding(lines: Sequence[Line]) -> list[str]:
    return [
        f"what changed{f' on {line.host}' if line.host else ''} {_since(line.told)}"
        f"{f': {line.said}' if line.said else ''}"
        for line in lines
        if line.until is not None or line.said
    ]


def _since(run: int) -> str:
    return f"since run {run}" if run else "from the first run on"


def _of_audits(lines: Sequence[Line]) -> list[str]:
    return [f"what an audit found: {line.said}" for line in lines if line.said]


def _of_mood(mood: Mood) -> list[str]:
    if mood.pending is None:
        return []
    what = "that runs fail" if mood.pending == "trouble" else "that runs are well again"
    return [f"{what}{f': {mood.said}' if mood.said else ''}"]


def _refused(refused: Refused) -> str:
    where = f" of {refused.host}" if refused.host else ""
    what = "a message" if refused.upto is None else f"{count(refused.urls, 'URL')}{where}"
    begun = f"from run {refused.after}" if refused.after else "from the first run"
    runs = f"{begun} to run {refused.until}"
    return f"{what}, {runs}: {refused.said}"
