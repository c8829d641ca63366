"""Channels that send nothing and keep what would be sent: the rest of telling is done as if they had."""

from collections.abc import Sequence

from msgspec.structs import replace

from crawler.notify.channels.channel import BatchChannel, Channel
from crawler.notify.configure import Channels
from crawler.notify.notice import Answer, Notice, Occasion, Reception
from crawler.notify.result import Delivered
from crawler.notify.retry import guarded

_TAKEN = Answer(reception=Reception.ACCEPTED, said="not sent: this was a dry run")


class BatchRehearsal:
    """Stands for a channel that takes batches. ``kept`` are the URLs that it would be sent."""

    def __init__(self, channel: BatchChannel) -> None:
        self.key = channel.key
        self.size = channel.size
        self.takes = channel.takes
        self.kept: list[str] = []
        self._ready = channel.ready
        self._hosts: dict[str, Answer] = {}

    @property
    def found(self) -> str:
        """What was found out about the hosts that it would be told of, as the end of a sentence."""
        unready = [each.said for each in self._hosts.values() if each.reception is not Reception.ACCEPTED]
        said = "; ".join(unready or [each.said for each in self._hosts.values()])
        return f"; for now it would be put off: {said}" if unready else f"; {said}"

    async def ready(self, host: str) -> Answer:
        """Looks, and counts as ready whatever it finds. See :class:`crawler.notify.channels.channel.BatchChannel`."""
        if host not in self._hosts:

            async def look() -> Answer:
                return await self._ready(host)

            self._hosts[host] = await guarded(look)
        return _TAKEN

    async def send(self, host: str, urls: Sequence[str]) -> Answer:  # noqa: ARG002 - it is not sent
        """See :class:`crawler.notify.channels.channel.BatchChannel`."""
        self.kept += urls
        return _TAKEN


class MessageRehearsal:
    """Stands for a channel that takes messages. ``kept`` are the URLs that they would name, or a sentence."""

    found = ""

    def __init__(self, channel: Channel) -> None:
        self.key = channel.key
        self.on: frozenset[Occasion] = channel.on
        self.kept: list[str] = []

    async def send(self, notice: Notice) -> Answer:
        """See :class:`crawler.notify.channels.channel.Channel`."""
        from crawler.notify.channels.message import sentence  # noqa: PLC0415 - with what renders templates

        named = [f"{change.kind} {change.url}" for change in notice.changes]
        self.kept += named or [notice.told or sentence(notice)]
        return _TAKEN


def rehearsed(everyone: Channels) -> Channels:
    """The same who are told nothing."""
    return Channels(
        tuple(BatchRehearsal(each) for each in everyone.batches),
        tuple(MessageRehearsal(each) for each in everyone.messages),
    )


def shown(told: Sequence[Delivered], everyone: Channels) -> list[Delivered]:
    """What those who were rehearsed took, said as what would be sent; what they kept stands in the first of each."""
    stands = {
        each.key: each
        for each in (*everyone.batches, *everyone.messages)
        if isinstance(each, BatchRehearsal | MessageRehearsal)
    }
    made = []
    for each in told:
        if each.reception is Reception.ACCEPTED and (stand := stands.get(each.channel)):
            batches = f" (in {each.batches:,} batches)" if each.batches > 1 else ""
            said = f"a dry run sends nothing{batches}{stand.found}"
            kept, stand.kept = tuple(stand.kept), []
            made.append(replace(each, reception=Reception.WOULD_SEND, said=said, shown=kept))
        else:
            made.append(each)
    return made
