"""Channels that send nothing and record what would be sent, for a dry run of the whole notification."""

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from crawler.notify.configure import ConfiguredChannels
from crawler.notify.ledger_status import DeliveryReport
from crawler.notify.notice import BatchChannel, MessageChannel, Notice, Occasion, SendResult, SendStatus
from crawler.notify.retry import catch_all

_NOT_SENT = SendResult.accepted("not sent: this was a dry run")


class DryRunBatchChannel:
    """Replaces a batch channel. ``recorded`` are the URLs that it would send."""

    def __init__(self, channel: BatchChannel) -> None:
        self.key = channel.key
        self.size = channel.size
        self.accepts = channel.accepts
        self.recorded: list[str] = []
        self._check_ready = channel.check_ready
        self._hosts: dict[str, SendResult] = {}

    @property
    def host_note(self) -> str:
        """The state of the hosts that it would notify of, as the end of a sentence."""
        results = self._hosts.values()
        unready = [result.message for result in results if result.reception is not SendStatus.ACCEPTED]
        text = "; ".join(unready or [result.message for result in results])
        return f"; for now it would be postponed: {text}" if unready else f"; {text}"

    async def check_ready(self, host: str) -> SendResult:
        """Check the host, and report it as ready whatever the result. See :class:`BatchChannel`."""
        if host not in self._hosts:
            self._hosts[host] = await catch_all(partial(self._check_ready, host))
        return _NOT_SENT

    async def send(self, host: str, urls: Sequence[str]) -> SendResult:  # noqa: ARG002 - it is not sent
        """See :class:`BatchChannel`."""
        self.recorded += urls
        return _NOT_SENT


class DryRunMessageChannel:
    """Replaces a message channel. ``recorded`` are the changes that it would name, or a sentence."""

    host_note = ""

    def __init__(self, channel: MessageChannel) -> None:
        self.key = channel.key
        self.occasions: frozenset[Occasion] = channel.occasions
        self.recorded: list[str] = []

    async def send(self, notice: Notice) -> SendResult:
        """See :class:`MessageChannel`."""
        from crawler.notify.channels.message import notice_sentence  # noqa: PLC0415 - with what renders templates

        lines = [f"{change.kind} {change.url}" for change in notice.changes]
        self.recorded += lines or [notice.message or notice_sentence(notice)]
        return _NOT_SENT


def dry_run_channels(channels: ConfiguredChannels) -> ConfiguredChannels:
    """The same channels, which send nothing."""
    return ConfiguredChannels(
        tuple(DryRunBatchChannel(channel) for channel in channels.batch_channels),
        tuple(DryRunMessageChannel(channel) for channel in channels.message_channels),
    )


def dry_run_report(reports: Sequence[DeliveryReport], channels: ConfiguredChannels) -> list[DeliveryReport]:
    """The reports with "would send" for each accepted delivery; a channel's first one shows what it recorded."""
    dry_runs = {
        channel.key: channel
        for channel in (*channels.batch_channels, *channels.message_channels)
        if isinstance(channel, DryRunBatchChannel | DryRunMessageChannel)
    }
    results = []
    for report in reports:
        if report.reception is SendStatus.ACCEPTED and (dry_run := dry_runs.get(report.channel)):
            batches = f" (in {report.batches:,} batches)" if report.batches > 1 else ""
            text = f"a dry run sends nothing{batches}{dry_run.host_note}"
            recorded, dry_run.recorded = tuple(dry_run.recorded), []
            results.append(replace(report, reception=SendStatus.WOULD_SEND, said=text, shown=recorded))
        else:
            results.append(report)
    return results
