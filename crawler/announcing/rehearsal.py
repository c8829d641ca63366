"""Channels that send nothing and keep what would be sent: the rest of telling is done as if they had."""

from collections.abc import Sequence

from crawler.notice import Answer, Notice, Occasion, Reception
from crawler.notify.channel import BatchChannel, Channel

_TAKEN = Answer(reception=Reception.ACCEPTED, said="not sent: this was a dry run")


class BatchRehearsal:
    """Stands for a channel that takes batches. ``kept`` are the URLs that it would be sent."""

    def __init__(self, channel: BatchChannel) -> None:
        self.key = channel.key
        self.size = channel.size
        self.takes = channel.takes
        self.kept: list[str] = []

    async def ready(self, host: str) -> Answer:  # noqa: ARG002 - nobody is asked
        """See :class:`crawler.notify.channel.BatchChannel`."""
        return _TAKEN

    async def send(self, host: str, urls: Sequence[str]) -> Answer:  # noqa: ARG002
        """See :class:`crawler.notify.channel.BatchChannel`."""
        self.kept += urls
        return _TAKEN


class MessageRehearsal:
    """Stands for a channel that takes messages. ``kept`` are the URLs that the messages would name, and what became."""

    def __init__(self, channel: Channel) -> None:
        self.key = channel.key
        self.on: frozenset[Occasion] = channel.on
        self.kept: list[str] = []

    async def send(self, notice: Notice) -> Answer:
        """See :class:`crawler.notify.channel.Channel`."""
        self.kept += [f"{change.kind} {change.url}" for change in notice.changes] or [notice.told]
        return _TAKEN
