"""What became of telling: for each channel what was sent, what could not be, and a sentence."""

from typing import Any, Final, Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from crawler.notify.ledger import SubmissionStatus
from crawler.notify.ledger_status import NotifyStatus
from crawler.notify.notice import Occasion, SendStatus

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
