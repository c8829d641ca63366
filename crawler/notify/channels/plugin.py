"""The channel of a plug-in: hands it the message of a webhook, in another thread."""

from collections.abc import Iterable

import anyio

from crawler.notify.channels.message import notice_document
from crawler.notify.notice import Notice, Occasion, SendResult
from crawler.plugins import Plugin, PluginError


class PluginChannel:
    """A plug-in that takes messages, for at most ``timeout`` seconds each.

    Implements :class:`crawler.notify.notice.MessageChannel`.
    """

    def __init__(self, plugin: Plugin, on: Iterable[Occasion], timeout: float) -> None:
        self.key = f"plugin {plugin.name}"
        self.occasions = frozenset(on)
        self._plugin = plugin
        self._timeout = timeout

    async def send(self, notice: Notice) -> SendResult:
        """See :class:`crawler.notify.notice.MessageChannel`. An exception of the plug-in defers the message."""
        message = notice_document(notice, self.key)

        def deliver() -> None:
            with self._plugin.guarded() as channel:
                channel.send(message)

        try:
            with anyio.fail_after(self._timeout):
                await anyio.to_thread.run_sync(deliver, abandon_on_cancel=True)
        except PluginError as error:
            return SendResult.deferred(str(error))
        except TimeoutError:
            return SendResult.deferred(f"{self.key} took more than {self._timeout:g} seconds")
        return SendResult.accepted(f"{self.key} took the message")
