"""Reads a Google service account from its key file, and gets access tokens for it.

https://developers.google.com/identity/protocols/oauth2/service-account#httprest
"""

import time
from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import parse_qs

import msgspec
from anyio import from_thread, to_thread
from typing_extensions import override

from crawler.config.secrets import reveal_secret
from crawler.errors import UsageError
from crawler.fetch.header_values import parse_http_date
from crawler.notify.channels.http import (
    HttpSender,
    NotifyResponse,
    display_origin,
    plain_line,
    quote_message,
    result_of,
)
from crawler.notify.notice import SendResult

if TYPE_CHECKING:  # an extra
    from google.auth.crypt import RSASigner

_SCOPE: Final = "https://www.googleapis.com/auth/webmasters"
_SKEW: Final = 120.0  # seconds; a larger difference of the clocks is reported


class ServiceAccount(msgspec.Struct, frozen=True, kw_only=True):
    """A service account. ``private_key`` is a PEM text, which is never shown."""

    client_email: str
    private_key: str
    token_uri: str = "https://oauth2.googleapis.com/token"  # noqa: S105 - an address
    private_key_id: str = ""

    @override
    def __repr__(self) -> str:
        return f"ServiceAccount({self.client_email!r}, …)"

    @classmethod
    def read(cls, setting: str) -> Self:
        """The account that search_console.account names: a path, ``file:PATH``, ``env:NAME``, or the JSON itself.

        Raises UsageError, which does not quote the content.
        """
        is_env, is_json = setting.startswith("env:"), setting.lstrip().startswith("{")
        text = reveal_secret(setting if is_env or is_json or setting.startswith("file:") else f"file:{setting}")
        if is_env and not text.lstrip().startswith("{"):  # as GOOGLE_APPLICATION_CREDENTIALS has it
            try:
                text = Path(text).read_text(encoding="utf-8")
            except (OSError, ValueError):
                text = ""  # what the variable holds may be a secret, so it is not shown
        try:
            return msgspec.json.decode(text, type=cls)
        except (msgspec.DecodeError, UnicodeError):
            raise UsageError(
                f"search_console.account: {'this' if is_json else setting} is not the JSON key file of a service "
                "account"
                " (with client_email and private_key); create one in the Google Cloud console"
            ) from None


class AccessTokens:
    """Access tokens of an account. Raises UsageError without the extra siteatlas[google], and for a bad key."""

    def __init__(self, http: HttpSender, account: ServiceAccount) -> None:
        try:
            from google.oauth2.service_account import Credentials  # noqa: PLC0415 - an extra, and slow to load

            signer = _signer(account.private_key, account.private_key_id)
        except ImportError:
            raise UsageError("Search Console needs another package: pip install 'siteatlas[google]'") from None
        try:
            self._origin = display_origin(account.token_uri)
        except ValueError as error:
            raise UsageError(f"search_console.account: its token_uri is {error}") from None
        if signer is None:
            raise UsageError(
                "search_console.account: the private_key of the service account is not an RSA key in PEM form; "
                "download the key file again"
            )
        self._http = http
        self._email = account.client_email
        self._credentials = Credentials(signer, account.client_email, account.token_uri, scopes=[_SCOPE])

    async def get(self) -> str | SendResult:
        """A valid token, or why there is none. Never raises for a failure at Google."""
        if not self._credentials.valid:
            try:
                await to_thread.run_sync(self._credentials.refresh, self._request)
            except _TokenRefused as error:
                return error.result
            except Exception:  # noqa: BLE001 - the fence: google-auth expects well-formed responses
                self.discard()
        token = self._credentials.token
        if isinstance(token, str) and token and token.isascii() and token.isprintable():
            return token
        return SendResult.deferred(f"Google's token server {self._origin} returned no token")

    def discard(self) -> None:
        """Forget a token that was rejected."""
        self._credentials.token = None

    def _request(self, url: str, method: str, body: bytes, headers: Mapping[str, str]) -> SimpleNamespace:
        """The transport of google-auth, called in a thread. google-auth retries the refusals that it sees."""
        response = from_thread.run(partial(self._http.send, method, url, headers=headers, body=body))
        if isinstance(response, NotifyResponse) and response.status == 200:
            return SimpleNamespace(status=response.status, headers=response.headers, data=response.body)
        if isinstance(response, NotifyResponse) and response.status in {400, 401, 403}:
            message = self._refused(response, body.decode(), time.time())
            raise _TokenRefused(SendResult.refused(message))
        raise _TokenRefused(result_of(response, f"Google's token server {self._origin}"))

    def _refused(self, response: NotifyResponse, request: str, now: float) -> str:
        """Why Google refuses the account: its key was deleted, it is disabled, or the clock is wrong."""
        values = read_object(response.body)
        reason = " ".join(str(values[name]) for name in ("error", "error_description") if name in values)
        detail = f" ({quote_message(reason, parse_qs(request)['assertion'])})" if reason else ""
        server_time = parse_http_date(response.headers.get("date", ""), now)
        offset = now - server_time if server_time is not None else 0.0
        hint = ""
        if abs(offset) > _SKEW:
            direction = "ahead" if offset > 0 else "behind"
            hint = f"; the clock of this machine is {abs(offset) / 60:,.0f} minutes {direction}: correct it"
        elif "jwt" in reason.lower():
            hint = "; the clock of this machine may be wrong, or the key was deleted"
        return f"Google does not accept the key of {plain_line(self._email)}{detail}{hint}"


class _TokenRefused(Exception):
    """There is no token; carries the result past google-auth."""

    def __init__(self, result: SendResult) -> None:
        super().__init__(result)
        self.result = result


def read_object(body: bytes) -> dict[str, Any]:
    """The JSON object in a response body, or an empty one."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


@lru_cache(maxsize=64)  # many sites share an account, and checking a key is slow
def _signer(pem: str, key_id: str) -> "RSASigner | None":
    """A signer for a key, None when it is no RSA key. Raises ImportError without the extra."""
    from google.auth.crypt import RSASigner  # noqa: PLC0415

    try:
        signer: RSASigner = RSASigner.from_string(pem, key_id or None)
        signer.sign(b"")  # fails for a key of another kind
    except Exception:  # noqa: BLE001 - OpenSSL raises its own errors, which may quote the key
        return None
    return signer
