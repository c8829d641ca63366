"""WebSub: tells a hub that the feed of recent changes has something new, so that it fetches it for its subscribers.

https://www.w3.org/TR/websub/ section 6 leaves to publisher and hub how this is done; what all public hubs take is a
form with ``hub.mode=publish`` and the URL of the feed, called ``hub.url`` by most and ``hub.topic`` by some.
"""

import hashlib
from typing import Final
from urllib.parse import urlencode

from crawler.errors import UsageError
from crawler.notify.channels.http import HttpSender, display_origin, result_of
from crawler.notify.notice import Notice, Occasion, SendResult

_ABSOLUTE_FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}


class WebSubChannel:
    """One hub. Implements :class:`crawler.notify.channels.channel.Channel`.

    ``feed_url`` is the published feed, "" when there is none. Raises UsageError then, and for a hub that is no URL.
    """

    def __init__(self, http: HttpSender, hub: str, feed_url: str) -> None:
        if not feed_url:
            raise UsageError(
                "a WebSub hub is told of a feed, and none is published: set output.recent (--recent atom)"
            )
        try:
            self._what = f"the hub {display_origin(hub)}"
            self.key = f"websub {display_origin(hub)} {hashlib.sha256(hub.encode()).hexdigest()[:8]}"
        except ValueError as error:
            raise UsageError(f"the hub {hub!r} of websub.hubs is {error}") from None
        self.occasions = frozenset({Occasion.CHANGES})
        self._http = http
        self._hub = hub
        self._feed_url = feed_url

    async def send(self, notice: Notice) -> SendResult:  # noqa: ARG002 - the feed itself tells what changed
        """See :class:`crawler.notify.channels.channel.Channel`."""
        form = urlencode({"hub.mode": "publish", "hub.url": self._feed_url, "hub.topic": self._feed_url})
        return result_of(
            await self._http.send("POST", self._hub, headers=_ABSOLUTE_FORM, body=form.encode()), self._what
        )
