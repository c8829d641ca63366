"""WebSub: notifies a hub that the feed of recent changes is new, so that it fetches the feed for its subscribers.

https://www.w3.org/TR/websub/ section 6 leaves the request to publisher and hub. All public hubs accept a form with
``hub.mode=publish`` and the URL of the feed, called ``hub.url`` by most and ``hub.topic`` by some.
"""

import hashlib
from typing import Final
from urllib.parse import urlencode

from crawler.errors import UsageError
from crawler.notify.channels.http import HttpSender, display_origin, result_of
from crawler.notify.notice import Notice, Occasion, SendResult

_HEADERS: Final = {"Content-Type": "application/x-www-form-urlencoded"}


class WebSubChannel:
    """One hub. Implements :class:`crawler.notify.notice.MessageChannel`.

    ``feed_url`` is the published feed. Raises UsageError when it is "", and for an invalid hub URL.
    """

    def __init__(self, http: HttpSender, hub: str, feed_url: str) -> None:
        if not feed_url:
            raise UsageError("a WebSub hub needs a feed, but no feed is published. Set output.recent (--recent atom)")
        try:
            self._what = f"the hub {display_origin(hub)}"
            self.key = f"websub {display_origin(hub)} {hashlib.sha256(hub.encode()).hexdigest()[:8]}"
        except ValueError as error:
            raise UsageError(f"the hub {hub!r} of websub.hubs is {error}") from None
        self.occasions = frozenset({Occasion.CHANGES})
        self._http = http
        self._hub = hub
        self._feed_url = feed_url

    async def send(self, notice: Notice) -> SendResult:  # noqa: ARG002 - the hub fetches the feed itself
        """See :class:`crawler.notify.notice.MessageChannel`."""
        form = urlencode({"hub.mode": "publish", "hub.url": self._feed_url, "hub.topic": self._feed_url})
        return result_of(await self._http.send("POST", self._hub, headers=_HEADERS, body=form.encode()), self._what)
