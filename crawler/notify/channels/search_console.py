"""Google Search Console: submits the sitemap when it changed, and reads its status.

https://developers.google.com/webmaster-tools/v1/sitemaps,
https://developers.google.com/webmaster-tools/v1/errors
"""

import time
from collections.abc import Mapping
from typing import Annotated, Final
from urllib.parse import quote

import msgspec
from msgspec import Meta, Struct

from crawler.config.google import (
    DISABLED_REASONS,
    QUOTA_REASONS,
    AccessTokens,
    ServiceAccount,
    TokenRefused,
    TokenResponse,
    TokenUnavailable,
    error_reasons,
)
from crawler.config.secrets import quote_message
from crawler.errors import UsageError
from crawler.notify.channels.http import HttpSender, NoResponse, NotifyResponse, display_origin, result_of
from crawler.notify.ledger import SubmissionStatus
from crawler.notify.notice import Notice, Occasion, SendResult, SendStatus
from crawler.units import count_text

_SCOPE: Final = "https://www.googleapis.com/auth/webmasters"
_NAME: Final = "Search Console"
_Number = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""An int64, in JSON a string: https://developers.google.com/discovery/v1/type-format"""


class SitemapContent(Struct, frozen=True):
    """How many URLs of a type (``web``, ``image``, ``video`` …) Google counts in the sitemap."""

    type: str = ""
    submitted: _Number = 0


class _SitemapAnswer(Struct, frozen=True, rename="camel"):
    """A sitemap at Google. Times are RFC 3339, "" for never; numbers are of the last reading."""

    last_submitted: str = ""
    last_downloaded: str = ""
    is_pending: bool = False
    errors: _Number = 0
    warnings: _Number = 0
    contents: tuple[SitemapContent, ...] = ()

    def status(self, channel: str) -> SubmissionStatus:
        """The status, with texts of Google in one line each."""
        return SubmissionStatus(
            channel=channel,
            at=time.time(),
            submitted=quote_message(self.last_submitted),
            downloaded=quote_message(self.last_downloaded),
            pending=self.is_pending,
            errors=self.errors,
            warnings=self.warnings,
            sentence=self._sentence() if self.last_downloaded else "Google has not read the sitemap yet",
        )

    def _sentence(self) -> str:
        problems = f"{count_text(self.errors, 'error')}, {count_text(self.warnings, 'warning')}"
        counts = [f"{content.submitted:,} {quote_message(content.type)}" for content in self.contents]
        content_text = f" and {', '.join(counts)} in it" if counts else ""
        pending_text = "; Google will read it again" if self.is_pending else ""
        day = quote_message(self.last_downloaded)[:10]
        return quote_message(f"Google last read the sitemap on {day}, with {problems}{content_text}{pending_text}")


class SearchConsoleChannel:
    """Submits one sitemap to one property. Implements :class:`crawler.notify.notice.MessageChannel`.

    ``site`` is the property: a URL that ends with a slash, or ``sc-domain:example.com``; "" is the origin of the
    sitemap. Raises UsageError for an unusable account, property or endpoint.
    """

    key: Final = "search console"
    last_status: SubmissionStatus | None = None
    """The last status that was read in this process."""

    def __init__(
        self, http: HttpSender, account: ServiceAccount, sitemap_url: str, endpoint: str, site: str = ""
    ) -> None:
        self.occasions = frozenset({Occasion.CHANGES})
        self._http = http
        self._tokens = AccessTokens(account, _SCOPE)
        self._email = account.email
        self._site = site or f"{display_origin(sitemap_url)}/"
        if not self._site.startswith("sc-domain:") and not self._site.endswith("/"):
            raise UsageError(
                f"search_console.property {self._site!r} must be a URL with a slash at its end, or "
                f"sc-domain:example.com"
            )
        try:
            display_origin(endpoint)
        except ValueError as error:
            raise UsageError(f"search_console.endpoint is {error}") from None
        path = f"/sites/{quote(self._site, safe='')}/sitemaps/{quote(sitemap_url, safe='')}"
        self._url = endpoint.rstrip("/") + path

    async def send(self, notice: Notice) -> SendResult:  # noqa: ARG002 - Google reads the sitemap itself
        """See :class:`crawler.notify.notice.MessageChannel`."""
        response = await self._request("PUT")
        if isinstance(response, SendResult):
            return response
        status = await self.read_status()
        detail = f"its status is unknown: {status.message}" if isinstance(status, SendResult) else status.sentence
        return SendResult.accepted(f"submitted to {_NAME}; {detail}")

    async def read_status(self) -> SubmissionStatus | SendResult:
        """The status of the sitemap, without submitting it, or why it is unknown."""
        response = await self._request("GET")
        if isinstance(response, SendResult):
            return response
        try:
            answer = msgspec.json.decode(response.body, type=_SitemapAnswer, strict=False)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return SendResult.deferred(f"{_NAME} answered, but the response cannot be read")
        self.last_status = answer.status(self.key)
        return self.last_status

    async def _request(self, method: str) -> NotifyResponse | SendResult:
        """A successful response, or the result of another. An expired token is replaced once."""
        for is_last in (False, True):
            token = await self._token()
            if isinstance(token, SendResult):
                return token
            headers = {"Authorization": f"Bearer {token}"}
            response = await self._http.send(method, self._url, headers=headers)
            if isinstance(response, NotifyResponse) and 200 <= response.status < 300:
                return response
            if is_last or isinstance(response, NoResponse) or response.status != 401:
                break
            self._tokens.discard()
        return self._refusal(method, response)

    async def _token(self) -> str | SendResult:
        """A valid token, or why there is none. Never raises for a failure at Google."""
        responses: list[NotifyResponse | NoResponse] = []

        async def send(method: str, url: str, headers: Mapping[str, str], body: bytes) -> TokenResponse:
            response = await self._http.send(method, url, headers=headers, body=body)
            responses.append(response)
            if isinstance(response, NoResponse):
                return TokenResponse()
            return TokenResponse(response.status, response.headers, response.body)

        try:
            return await self._tokens.get(send, time.time)
        except TokenRefused as error:
            return SendResult.refused(str(error))
        except TokenUnavailable as error:
            if str(error):
                return SendResult.deferred(str(error))
            return result_of(responses[-1], self._tokens.server)

    def _refusal(self, method: str, response: NotifyResponse | NoResponse) -> SendResult:
        result = result_of(response, _NAME)
        if isinstance(response, NoResponse) or result.reception is not SendStatus.REFUSED:
            return result
        reasons, message = error_reasons(response.body)
        detail = f": {quote_message(message, response.secrets)}" if message else ""
        if response.status == 403 and reasons & QUOTA_REASONS:
            return SendResult.deferred(f"{_NAME} accepts no more requests for now{detail}", wait=response.wait)
        remedy = self._remedy(method, response.status, reasons)
        if not remedy:
            return result
        return SendResult.refused(f"{_NAME} answered {response.status}{detail}; {remedy}")

    def _remedy(self, method: str, status: int, reasons: frozenset[str]) -> str:
        match status:
            case 401:
                return (
                    f"it does not accept the token of {self._email}:"
                    " check the clock of this machine, and that the key was not deleted"
                )
            case 403 if reasons & DISABLED_REASONS:
                return "enable the Google Search Console API in the Google Cloud project of the service account"
            case 403:
                return (
                    f"the service account {self._email} is not an owner of the property {self._site}: add it in "
                    f"Search Console under Settings, Users and permissions"
                )
            case 404 if method == "GET":
                return (
                    f"the property {self._site} does not list this sitemap: after a submission, wait a moment; "
                    f'otherwise submit it with siteatlas notify --since 0 --only "{self.key}"'
                )
            case 404:
                return (
                    f"the property {self._site} may not exist: set search_console.property,"
                    " for a domain property as sc-domain:example.com"
                )
        return ""
