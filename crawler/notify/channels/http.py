"""The HTTP sender of the channels: one message, one response, within a time limit, and no secret in any text."""

import base64
import time
from collections.abc import Mapping
from http.client import responses
from pathlib import Path
from typing import Final, Self
from urllib.parse import unquote

import httpx
from msgspec import Struct

from crawler.config.fetcher import build_service_fetcher
from crawler.config.secrets import quote_message, secrets_of
from crawler.fetch.errors import FailureCode, failure
from crawler.fetch.limits import BodyLimits, FetchLimits, TransportOptions
from crawler.fetch.retry import is_transient, parse_retry_after
from crawler.model import Failure, Url
from crawler.notify.notice import SendResult, SendStatus

_BODY: Final = BodyLimits(wire=64 * 1024, decoded=64 * 1024, refuse=2**62, is_optional=True)
PUBLIC_HEADERS: Final = ("content-type", "x-siteatlas-")
"""How the names of headers begin whose values may be quoted when a receiver repeats them."""


class NotifyResponse(Struct, frozen=True, kw_only=True):
    """A response. ``headers`` have names in lower case; ``body`` is what arrived in time, at most 64 KiB.

    ``wait`` is Retry-After in seconds, 0 for none. ``secrets`` must be hidden when the response is quoted.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    wait: float = 0.0
    secrets: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """A plain-text or JSON body on one line; "" for anything else, such as an HTML page."""
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        text = self.body.decode("utf-8", "replace").strip()
        is_text = kind in {"", "text/plain"} or kind.endswith("json")
        if not is_text or text.startswith("<") or "\0" in text:
            return ""
        return quote_message(text, self.secrets)


class NoResponse(Struct, frozen=True, kw_only=True):
    """No response; the message may have arrived. ``message`` is a sentence that names the origin."""

    message: str


class HttpSender:
    """Sends messages while it is entered, with the fetcher of a crawl. Raises UsageError for a bad user agent.

    ``timeout`` limits one message and its response, in seconds. It follows no redirects, keeps no cookies, and ignores
    the proxies of the environment. Each message has its own connection: after a failure on a reused one, nobody knows
    whether the message arrived. ``ca_file`` is a PEM bundle trusted besides the system's authorities; ``proxy`` a URL
    as in :class:`crawler.fetch.limits.TransportOptions`, "" for none.
    """

    def __init__(self, user_agent: str, timeout: float = 30.0, ca_file: Path | None = None, proxy: str = "") -> None:
        self._timeout = timeout
        self._hidden = _secrets_of_proxy(proxy)
        limits = FetchLimits(connect=timeout, first_byte=timeout, idle=timeout, total=timeout, body=_BODY)
        options = TransportOptions(proxy=proxy, ca_file=ca_file, idle=0)
        self._fetcher = build_service_fetcher(user_agent, options, limits)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._fetcher.aclose()

    async def send(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> NotifyResponse | NoResponse:
        """Send one request, once. Never raises, except for cancellation.

        A user name and a password in the URL become an Authorization header, unless ``headers`` has one (RFC 9110
        section 4.2.4 forbids sending them in the URL). A response whose head arrived counts, even when its body never
        ends.
        """
        all_headers = dict(headers or {})
        try:
            parsed = httpx.URL(url)
            origin = display_origin(url)
            if parsed.userinfo:
                all_headers.setdefault("Authorization", _basic(parsed.userinfo))
        except (httpx.InvalidURL, ValueError):
            return NoResponse(message="a URL of this message cannot be sent; check its spelling")
        target = Url(origin + parsed.raw_path.decode("ascii"))
        response = await self._fetcher.fetch(target, headers=all_headers.items(), method=method, content=body)
        if isinstance(response, Failure):
            return NoResponse(message=self._reason(response, origin))
        return NotifyResponse(
            status=response.status,
            headers=dict(response.headers),
            body=response.body,
            wait=parse_retry_after(response.header("retry-after"), time.time()) or 0.0,
            secrets=(*secrets_of(url), *_secrets_of_headers(all_headers), *self._hidden),
        )

    def _reason(self, failed: Failure, origin: str) -> str:
        """The reason of a failure. Only certificate errors keep their details: others may quote the request."""
        code = FailureCode(failed.code)
        if code.startswith("tls."):
            return failed.message
        if code.startswith("time."):
            return f"{origin} did not respond within {self._timeout:g} seconds"
        if code is FailureCode.INTERNAL:
            return f"the message for {origin} could not be sent"
        is_of_name = code in {FailureCode.DNS_NXDOMAIN, FailureCode.DNS_TEMPORARY}
        return failure(code, httpx.URL(origin).host if is_of_name else origin).message


def display_origin(url: str) -> str:
    """The part of a URL that may be shown: ``https://example.com:8443``. Raises ValueError for no http(s) URL."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        raise ValueError("not a URL") from None
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise ValueError("not an http(s) URL")
    host = parsed.raw_host.decode("ascii")
    host = f"[{host}]" if ":" in host else host
    return f"{parsed.scheme}://{host}" + (f":{parsed.port}" if parsed.port else "")


def result_of(response: NotifyResponse | NoResponse, server: str) -> SendResult:
    """The result that a response's status alone means. ``server`` names it, the subject of the sentence.

    2xx is accepted; 408, 425, 429, 5xx and no response are deferred (RFC 9110 sections 15.5.9, 15.6, RFC 8470, RFC 6585
    section 4); anything else needs a person, also a redirect.
    """
    if isinstance(response, NoResponse):
        return SendResult.deferred(f"{server} cannot be reached: {response.message}")
    status = response.status
    if 200 <= status < 300:
        return SendResult.accepted(f"{server} accepted it ({status})")
    if 300 <= status < 400:
        target = _redirect_text(response.headers.get("location", ""))
        return SendResult.refused(
            f"{server} answered {status}, a redirect{target}: siteatlas does not follow it, so configure the target URL"
        )
    phrase = f", {responses[status].lower()}" if status in responses else ""
    message = f"{server} answered {status}{phrase}" + (f": {response.text}" if response.text else "")
    is_deferred = is_transient(status) or 500 <= status < 600
    return SendResult(
        reception=SendStatus.DEFERRED if is_deferred else SendStatus.REFUSED,
        message=message,
        wait=response.wait if is_deferred else 0.0,
    )


def _basic(userinfo: bytes) -> str:
    name, _, password = userinfo.decode("ascii").partition(":")
    return f"Basic {base64.b64encode(f'{unquote(name)}:{unquote(password)}'.encode()).decode()}"


def _secrets_of_headers(headers: Mapping[str, str]) -> list[str]:
    """The last word of each header: what authorizes is in a header of any name, as in "Bearer TOKEN"."""
    return [value.rpartition(" ")[2] for name, value in headers.items() if not name.lower().startswith(PUBLIC_HEADERS)]


def _secrets_of_proxy(proxy: str) -> tuple[str, ...]:
    """The secrets that a proxy gets, and may repeat."""
    try:
        userinfo = httpx.URL(proxy).userinfo
    except httpx.InvalidURL:
        return ()
    return (*secrets_of(proxy), _basic(userinfo).partition(" ")[2]) if userinfo else ()


def _redirect_text(location: str) -> str:
    try:
        return f" to {display_origin(location)}"
    except ValueError:
        return ""
