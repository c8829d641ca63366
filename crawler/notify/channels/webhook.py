"""The webhook: posts a message as JSON to a URL of the operator, signed when there is a secret."""

import hashlib
import hmac
from collections.abc import Iterable
from typing import Final

from crawler.errors import UsageError
from crawler.notify.channels.http import HttpSender, display_origin, result_of
from crawler.notify.channels.message import delivery_id, notice_json
from crawler.notify.notice import Notice, Occasion, SendResult

_JSON: Final = "application/json; charset=utf-8"


class WebhookChannel:
    """One URL. Implements :class:`crawler.notify.notice.MessageChannel`.

    Headers: ``X-Siteatlas-Event`` is the occasion, ``X-Siteatlas-Delivery`` is the same id whenever the same message is
    sent, and ``X-Siteatlas-Signature`` is ``sha256=`` and the HMAC-SHA256 of the body by ``secret`` in hexadecimal
    digits, when there is one. Raises UsageError for an invalid URL, which it does not show.
    """

    def __init__(self, http: HttpSender, url: str, on: Iterable[Occasion], secret: str = "") -> None:
        try:
            origin = display_origin(url)
        except ValueError as error:
            raise UsageError(
                f"an entry of webhook.urls is {error}. The entry is not shown, because it may be secret"
            ) from None
        self.key = f"webhook {origin} {hashlib.sha256(url.encode()).hexdigest()[:8]}"
        self.occasions = frozenset(on)
        self._what = f"the webhook at {origin}"
        self._http = http
        self._url = url
        self._secret = secret.encode()

    async def send(self, notice: Notice) -> SendResult:
        """See :class:`crawler.notify.notice.MessageChannel`."""
        body = notice_json(notice, self.key)
        headers = {
            "Content-Type": _JSON,
            "X-Siteatlas-Event": notice.occasion.value,
            "X-Siteatlas-Delivery": delivery_id(notice, self.key),
        }
        if self._secret:
            headers["X-Siteatlas-Signature"] = f"sha256={hmac.new(self._secret, body, 'sha256').hexdigest()}"
        return result_of(await self._http.send("POST", self._url, headers=headers, body=body), self._what)
