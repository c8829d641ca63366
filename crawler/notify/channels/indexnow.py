"""IndexNow: tells search engines the URLs that changed, in batches of one host, once its key file is there."""

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from msgspec.structs import replace

from crawler.config.sections import IndexNowConfig as Section
from crawler.errors import UsageError
from crawler.model import Failure, Reply, Url
from crawler.notify.channels.http import HttpSender, NotifyResponse, display_origin, quote_message, result_of
from crawler.notify.notice import SendResult, SendStatus
from crawler.url.normalize import InvalidUrl, normalize_url

_KEY: Final = re.compile(r"[A-Za-z0-9-]{8,128}", re.ASCII).fullmatch
_NAME: Final = "IndexNow"
_HEADERS: Final = {"Content-Type": "application/json; charset=utf-8"}
_REFUSED: Final = {
    400: "400, that the message is not as it should be",
    422: "422, that URLs are not of this host or the key is not as it should be",
}
_TOO_MANY: Final = 429

FetchUrl = Callable[[Url], Awaitable[Reply | Failure]]
"""Asks the public site for a document, once; no redirect is followed."""


class IndexNowChannel:
    """The channel of https://www.indexnow.org/documentation. Every URL in a batch is of the host of its key file.

    ``fetch`` asks for the key file, ``secret`` is the key in it, and ``scheme`` that of the site. With the ``key_url``
    of its section only URLs below its directory are taken. Raises UsageError for a key or a place that cannot be.
    """

    key: Final = "indexnow"

    def __init__(self, http: HttpSender, fetch: FetchUrl, secret: str, section: Section, scheme: str) -> None:
        if not _KEY(secret):
            raise UsageError(
                "the key of IndexNow is not as it should be (it is not shown): 8 to 128 letters, digits and dashes"
            )
        try:
            display_origin(section.endpoint)
        except ValueError as error:
            raise UsageError(f"indexnow.endpoint is {error}") from None
        self._http = http
        self._fetch = fetch
        self._secret = secret
        is_named = section.key.startswith(("env:", "file:"))
        self._named = f"the key that {section.key} holds" if is_named else "the key in indexnow.key"
        self._key_url = _canonical(section.key_url)
        self._endpoint = section.endpoint
        self._size = section.batch
        self._scheme = scheme
        self._ready: dict[str, SendResult] = {}

    @property
    def size(self) -> int:
        """URLs in one batch at most."""
        return self._size

    def accepts(self, url: str) -> bool:
        """Whether a URL lies below the directory of the key file, by either scheme (the location rule)."""
        directory = self._key_url.partition("?")[0].rpartition("/")[0]
        return url.partition("://")[2].startswith(f"{directory.partition('://')[2]}/" if directory else "")

    async def check_ready(self, host: str) -> SendResult:
        """Whether the key file of a host is there and holds the key; asked once, until the key is refused."""
        if host not in self._ready:
            self._ready[host] = await self._checked(host)
        return self._ready[host]

    async def send(self, host: str, urls: Sequence[str]) -> SendResult:
        """Send one batch, once. A key that is refused makes the host not ready."""
        message: dict[str, object] = {"host": host, "key": self._secret}
        if self._key_url:
            message["keyLocation"] = self._key_url
        message["urlList"] = list(urls)
        body = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
        sent = await self._http.send("POST", self._endpoint, headers=_HEADERS, body=body)
        if isinstance(sent, NotifyResponse):
            sent = replace(sent, secrets=(*sent.secrets, self._secret))
            if answer := self._documented(sent, host, len(urls)):
                return answer
        answer = result_of(sent, _NAME)
        # what is said of the way to it, and not of the batch, is no reason to set the batch aside
        return (
            replace(answer, reception=SendStatus.DEFERRED)
            if answer.reception is SendStatus.REFUSED
            else answer
        )

    def _documented(self, sent: NotifyResponse, host: str, count: int) -> SendResult | None:
        """What the statuses of the documentation mean; None for all others."""
        said = f": {sent.text}" if sent.text else ""
        took = f"{_NAME} took {count:,} URL{'s' * (count != 1)} of {host}"
        if sent.status in (200, 202) and _is_page(sent):
            told = f"{_NAME} answered {sent.status} with a page, as no such service does: check --indexnow-endpoint"
            return SendResult(reception=SendStatus.DEFERRED, message=told)
        if sent.status == 200:
            return SendResult(reception=SendStatus.ACCEPTED, message=took)
        if sent.status == 202:
            return SendResult(
                reception=SendStatus.ACCEPTED, message=f"{took}, and has still to check the key"
            )
        if reason := _REFUSED.get(sent.status):
            return SendResult(reception=SendStatus.REFUSED, message=f"{_NAME} answered {reason}{said}")
        if sent.status == 403:
            told = f"{_NAME} answered 403, that the key of {host} is not valid{said}; {self._remedy(host)}"
            self._ready[host] = SendResult(reception=SendStatus.DEFERRED, message=told)
            return self._ready[host]
        if sent.status == _TOO_MANY:
            return SendResult(
                reception=SendStatus.DEFERRED,
                message=f"{_NAME} answered 429, too many requests{said}",
                wait=sent.wait,
            )
        return None

    async def _checked(self, host: str) -> SendResult:
        try:
            place = normalize_url(self._place(host))
        except InvalidUrl as error:
            return self._not_ready(f"the key file of {host} has no address: {error}", host)
        reply = await self._fetch(place)
        if isinstance(reply, Failure):
            return self._not_ready(f"the key file of {host} cannot be had: {reply.message}", host)
        if reply.status != 200:
            return self._not_ready(f"the key file of {host} is not there: it answered {reply.status}", host)
        if reply.cut or reply.body.decode("utf-8-sig", "replace").strip() != self._secret:
            return self._not_ready(f"the key file of {host} does not hold the key and nothing else", host)
        return SendResult(reception=SendStatus.ACCEPTED, message=f"the key file of {host} is there and right")

    def _not_ready(self, why: str, host: str) -> SendResult:
        return SendResult(
            reception=SendStatus.DEFERRED,
            message=f"{quote_message(why, (self._secret,))}; {self._remedy(host)}",
        )

    def _remedy(self, host: str) -> str:
        """What to do, without the key."""
        place = self._place(host).replace(self._secret, "KEY")
        return f"put a text file at {place} whose whole content is KEY, where KEY stands for {self._named}"

    def _place(self, host: str) -> str:
        return self._key_url or f"{self._scheme}://{host}/{self._secret}.txt"


def _canonical(key_url: str) -> str:
    try:
        return normalize_url(key_url) if key_url else ""
    except InvalidUrl as error:
        raise UsageError(f"--indexnow-key-url cannot be used: {error}") from None


def _is_page(sent: NotifyResponse) -> bool:
    return sent.body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"<"
