"""IndexNow: sends search engines the changed URLs, in batches of one host, once its key file is there."""

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from msgspec.structs import replace

from crawler.config.secrets import quote_message
from crawler.config.sections import IndexNowConfig
from crawler.errors import UsageError
from crawler.model import Failure, Reply, Url
from crawler.notify.channels.http import HttpSender, NotifyResponse, display_origin, result_of
from crawler.notify.notice import SendResult, SendStatus
from crawler.url.normalize import InvalidUrl, normalize_url

_KEY: Final = re.compile(r"[A-Za-z0-9-]{8,128}", re.ASCII).fullmatch
_NAME: Final = "IndexNow"
_HEADERS: Final = {"Content-Type": "application/json; charset=utf-8"}
_REFUSED: Final = {400: "400: the message is malformed", 422: "422: URLs are not of this host, or the key is malformed"}
_TOO_MANY: Final = 429

FetchUrl = Callable[[Url], Awaitable[Reply | Failure]]
"""Fetches a document of the public site once, without following redirects."""


class IndexNowChannel:
    """The channel of https://www.indexnow.org/documentation. All URLs of a batch share the host of its key file.

    ``fetch`` gets the key file, ``secret`` is the key in it, and ``scheme`` that of the site. With a ``key_url`` in the
    section, only URLs below its directory are accepted. Raises UsageError for an invalid key or key URL.
    """

    key: Final = "indexnow"

    def __init__(self, http: HttpSender, fetch: FetchUrl, secret: str, section: IndexNowConfig, scheme: str) -> None:
        if not _KEY(secret):
            raise UsageError(
                "the IndexNow key is invalid (the key is not shown). Set a key of 8 to 128 letters, digits and dashes"
            )
        try:
            display_origin(section.endpoint)
        except ValueError as error:
            raise UsageError(f"indexnow.endpoint is {error}") from None
        self._http = http
        self._fetch = fetch
        self._secret = secret
        self._source = section.key if section.key.startswith(("env:", "file:")) else ""
        self._key_url = _canonical(section.key_url)
        self._endpoint = section.endpoint
        self.size = section.batch
        self._scheme = scheme
        self._ready: dict[str, SendResult] = {}

    def accepts(self, url: str) -> bool:
        """Whether a URL lies below the directory of the key file, in either scheme (the location rule)."""
        directory = self._key_url.partition("?")[0].rpartition("/")[0]
        return url.partition("://")[2].startswith(f"{directory.partition('://')[2]}/" if directory else "")

    async def check_ready(self, host: str) -> SendResult:
        """Whether the key file of a host holds the key; fetched once, until the key is refused."""
        if host not in self._ready:
            self._ready[host] = await self._check_key_file(host)
        return self._ready[host]

    async def send(self, host: str, urls: Sequence[str]) -> SendResult:
        """Send one batch once. A refused key makes the host not ready."""
        message: dict[str, object] = {"host": host, "key": self._secret}
        if self._key_url:
            message["keyLocation"] = self._key_url
        message["urlList"] = list(urls)
        body = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
        response = await self._http.send("POST", self._endpoint, headers=_HEADERS, body=body)
        if isinstance(response, NotifyResponse):
            response = replace(response, secrets=(*response.secrets, self._secret))
            if result := self._documented(response, host, len(urls)):
                return result
        result = result_of(response, _NAME)
        # a refusal without a documented status is about the request's path, not about the batch
        return replace(result, reception=SendStatus.DEFERRED) if result.reception is SendStatus.REFUSED else result

    def _documented(self, response: NotifyResponse, host: str, count: int) -> SendResult | None:
        """The result of a documented status; None for all others."""
        detail = f": {response.text}" if response.text else ""
        accepted = f"{_NAME} accepted {count:,} URL{'s' * (count != 1)} of {host}"
        if response.status in (200, 202) and _is_page(response):
            text = (
                f"{_NAME} answered {response.status} with a web page, so it is not an IndexNow service: check "
                f"endpoint in [indexnow]"
            )
            return SendResult.deferred(text)
        if response.status == 200:
            return SendResult.accepted(accepted)
        if response.status == 202:
            return SendResult.accepted(f"{accepted}, but has not checked the key yet")
        if reason := _REFUSED.get(response.status):
            return SendResult.refused(f"{_NAME} answered {reason}{detail}")
        if response.status == 403:
            text = (  # the file was fetched before
                f"{_NAME} answered 403, the key of {host} is not valid{detail}. The key file is correct, "
                "as seen from here: check that no firewall or bot protection keeps search engines from it"
            )
            self._ready[host] = SendResult.deferred(text)
            return self._ready[host]
        if response.status == _TOO_MANY:
            return SendResult.deferred(f"{_NAME} answered 429, too many requests{detail}", wait=response.wait)
        return None

    async def _check_key_file(self, host: str) -> SendResult:
        try:
            key_url = normalize_url(self._key_file_url(host))
        except InvalidUrl as error:
            return self._not_ready(f"the key file of {host} has no address: {error}", host)
        reply = await self._fetch(key_url)
        if isinstance(reply, Failure):
            return self._not_ready(f"the key file of {host} cannot be fetched: {reply.message}", host)
        if reply.status != 200:
            return self._not_ready(f"the key file of {host} does not exist: the server answered {reply.status}", host)
        if reply.cut or reply.body.decode("utf-8-sig", "replace").strip() != self._secret:
            return self._not_ready(f"the key file of {host} must contain the key and nothing else", host)
        return SendResult.accepted(f"the key file of {host} exists and is correct (the key alone is checked)")

    def _not_ready(self, reason: str, host: str) -> SendResult:
        return SendResult.deferred(f"{quote_message(reason, (self._secret,))}; {self._remedy(host)}")

    def _remedy(self, host: str) -> str:
        """How to publish the key file; without the key if the configuration keeps it elsewhere."""
        key = "KEY" if self._source else self._secret
        meaning = f", where KEY stands for the key that {self._source} holds" if self._source else ""
        url = self._key_file_url(host).replace(self._secret, key)
        lost = "If it was there before, a deploy may have deleted it"
        return f"put a text file at {url} whose whole content is {key}{meaning}. {lost}"

    def _key_file_url(self, host: str) -> str:
        return self._key_url or f"{self._scheme}://{host}/{self._secret}.txt"


def _canonical(key_url: str) -> str:
    try:
        return normalize_url(key_url) if key_url else ""
    except InvalidUrl as error:
        raise UsageError(f"key_url in [indexnow] cannot be used: {error}") from None


def _is_page(response: NotifyResponse) -> bool:
    return response.body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"<"
