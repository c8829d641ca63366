"""Channels that send nothing and keep what would be sent: the rest of telling is done as if they had."""

from collections.abc import Sequence

from msgspec.structs import replace

from crawler.notify.channels.channel import BatchChannel, MessageChannel
from crawler.notify.configure import ConfiguredChannels
from crawler.notify.ledger_status import DeliveryReport
from crawler.notify.notice import Notice, Occasion, SendResult, SendStatus
from crawler.notify.retry import catch_all

_NOT_SENT = SendResult(reception=SendStatus.ACCEPTED, message="not sent: this was a dry run")


class DryRunBatchChannel:
    """Stands for a channel that takes batches. ``kept`` are the URLs that it would be sent."""

    def __init__(self, channel: BatchChannel) -> None:
        self.key = channel.key
        self.size = channel.size
        self.accepts = channel.accepts
        self.recorded: list[str] = []
        self._ready = channel.check_ready
        self._hosts: dict[str, SendResult] = {}

    @property
    def host_note(self) -> str:
        """What was found out about the hosts that it would be told of, as the end of a sentence."""
        unready = [each.message for each in self._hosts.values() if each.reception is not SendStatus.ACCEPTED]
        said = "; ".join(unready or [each.message for each in self._hosts.values()])
        return f"; for now it would be put off: {said}" if unready else f"; {said}"

    async def check_ready(self, host: str) -> SendResult:
        """Looks, and counts as ready whatever it finds. See :class:`crawler.notify.channels.channel.BatchChannel`."""
        if host not in self._hosts:

            async def look() -> SendResult:
                return await self._ready(host)

            self._hosts[host] = await catch_all(look)
        return _NOT_SENT

    async def send(self, host: str, urls: Sequence[str]) -> SendResult:  # noqa: ARG002 - it is not sent
        """See :class:`crawler.notify.channels.channel.BatchChannel`."""
        self.recorded += urls
        return _NOT_SENT


class DryRunMessageChannel:
    """Stands for a channel that takes messages. ``kept`` are the URLs that they would name, or a sentence."""

    host_note = ""

    def __init__(self, channel: MessageChannel) -> None:
        self.key = channel.key
        self.occasions: frozenset[Occasion] = channel.occasions
        self.recorded: list[str] = []

    async def send(self, notice: Notice) -> SendResult:
        """See :class:`crawler.notify.channels.channel.Channel`."""
        from crawler.notify.channels.message import notice_sentence  # noqa: PLC0415 - with what renders templates

        named = [f"{change.kind} {change.url}" for change in notice.changes]
        self.recorded += named or [notice.message or notice_sentence(notice)]
        return _NOT_SENT


def dry_run_channels(everyone: ConfiguredChannels) -> ConfiguredChannels:
    """The same who are told nothing."""
    return ConfiguredChannels(
        tuple(DryRunBatchChannel(each) for each in everyone.batch_channels),
        tuple(DryRunMessageChannel(each) for each in everyone.message_channels),
    )


def dry_run_report(told: Sequence[DeliveryReport], everyone: ConfiguredChannels) -> list[DeliveryReport]:
    """What those who were rehearsed took, said as what would be sent; what they kept stands in the first of each."""
    stands = {
        each.key: each
        for each in (*everyone.batch_channels, *everyone.message_channels)
        if isinstance(each, DryRunBatchChannel | DryRunMessageChannel)
    }
    made = []
    for each in told:
        if each.reception is SendStatus.ACCEPTED and (stand := stands.get(each.channel)):
            batches = f" (in {each.batches:,} batches)" if each.batches > 1 else ""
            said = f"a dry run sends nothing{batches}{stand.host_note}"
            kept, stand.recorded = tuple(stand.recorded), []
            made.append(replace(each, reception=SendStatus.WOULD_SEND, said=said, shown=kept))
        else:
            made.append(each)
    return made
