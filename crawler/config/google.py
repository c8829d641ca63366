"""Google service accounts: the key file, access tokens, and the errors of Google's APIs.

https://developers.google.com/identity/protocols/oauth2/service-account#httprest
"""

from collections.abc import Callable, Coroutine, Mapping
from functools import lru_cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import parse_qs, urlsplit

import msgspec
from anyio import from_thread, to_thread
from typing_extensions import override

from crawler.config.secrets import plain_line, quote_message, reveal_secret
from crawler.errors import UsageError
from crawler.fetch.header_values import parse_http_date
from crawler.packages import missing_packages

if TYPE_CHECKING:  # an extra
    from google.auth.crypt import RSASigner

QUOTA_REASONS: Final = frozenset(
    {
        "rateLimitExceeded",
        "userRateLimitExceeded",
        "quotaExceeded",
        "dailyLimitExceeded",
        "dailyLimitExceededUnreg",
        "userRateLimitExceededUnreg",
        "variableTermLimitExceeded",
        "RATE_LIMIT_EXCEEDED",
        "RESOURCE_EXHAUSTED",
    }
)
"""The reasons of a 403 that passes."""
DISABLED_REASONS: Final = frozenset({"accessNotConfigured", "SERVICE_DISABLED"})
"""The reasons of a 403 for an API that the project of the account has not enabled."""
_REFUSING: Final = frozenset({400, 401, 403})
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

    @property
    def email(self) -> str:
        """The address of the account, as one line."""
        return quote_message(self.client_email)

    @classmethod
    def read(cls, setting: str, name: str = "search_console.account") -> Self:
        """The account that a setting names: a path, ``file:PATH``, ``env:NAME``, or the JSON itself.

        ``name`` is that of the setting. Raises UsageError, which does not quote the content.
        """
        is_env, is_json = setting.startswith("env:"), setting.lstrip().startswith("{")
        text = reveal_secret(setting if is_env or is_json or setting.startswith("file:") else f"file:{setting}")
        if is_env and not text.lstrip().startswith("{"):  # as GOOGLE_APPLICATION_CREDENTIALS has it
            try:
                text = Path(text).read_text(encoding="utf-8-sig")
            except (OSError, ValueError):
                text = ""  # what the variable holds may be a secret, so it is not shown
        try:
            return msgspec.json.decode(text, type=cls)
        except (msgspec.DecodeError, UnicodeError):
            raise UsageError(
                f"{name}: {'the given text' if is_json else setting} is not the JSON key file of a service account "
                "(with client_email and private_key). Create a key file in the Google Cloud console"
            ) from None


class TokenResponse(msgspec.Struct, frozen=True):
    """A response of the token server. ``status`` is 0 if there is none. ``headers`` have names in lower case."""

    status: int = 0
    headers: Mapping[str, str] = {}
    body: bytes = b""


SendTokenRequest = Callable[[str, str, Mapping[str, str], bytes], Coroutine[Any, Any, TokenResponse]]
"""Sends a request: method, URL, headers and body. It never raises."""


class TokenRefused(Exception):
    """Google refuses the account. The message is a sentence without secrets, with the remedy if it is known."""


class TokenUnavailable(Exception):
    """There is no token now: the last response was no success, or had no token in it."""


class AccessTokens:
    """Access tokens of an account for a scope. ``name`` is that of the setting that names the account.

    Raises UsageError without the extra google, and for a bad key.
    """

    def __init__(self, account: ServiceAccount, scope: str, name: str = "search_console.account") -> None:
        try:
            from google.oauth2.service_account import Credentials  # noqa: PLC0415 - an extra, and slow to load

            signer = _signer(account.private_key, account.private_key_id)
        except ImportError:
            raise missing_packages(name, "google") from None
        self.server = f"Google's token server {_origin(account.token_uri, name)}"
        if signer is None:
            raise UsageError(
                f"{name}: the private_key of the service account is not an RSA key in PEM form. Download the key "
                "file again"
            )
        self._email = account.client_email
        self._credentials = Credentials(signer, account.client_email, account.token_uri, scopes=[scope])

    async def get(self, send: SendTokenRequest, now: Callable[[], float]) -> str:
        """A valid token. ``now`` gives Unix time. Raises TokenRefused, TokenUnavailable."""
        if not self._credentials.valid:
            request = partial(self._request, send, now)
            try:
                await to_thread.run_sync(self._credentials.refresh, request)
            except (TokenRefused, TokenUnavailable):
                raise
            except Exception:  # noqa: BLE001 - the fence: google-auth expects well-formed responses
                self.discard()
        token = self._credentials.token
        if isinstance(token, str) and token and token.isascii() and token.isprintable():
            return token
        raise TokenUnavailable(f"{self.server} returned no token")

    def discard(self) -> None:
        """Forget a token that was rejected."""
        self._credentials.token = None

    def _request(
        self,
        send: SendTokenRequest,
        now: Callable[[], float],
        url: str,
        method: str,
        body: bytes,
        headers: Mapping[str, str],
    ) -> SimpleNamespace:
        """The transport of google-auth, called in a thread. google-auth retries the refusals that it sees."""
        response = from_thread.run(send, method, url, headers, body)
        if response.status == 200:
            return SimpleNamespace(status=response.status, headers=response.headers, data=response.body)
        if response.status in _REFUSING:
            raise TokenRefused(self._refused(response, body.decode(), now()))
        raise TokenUnavailable

    def _refused(self, response: TokenResponse, request: str, now: float) -> str:
        """Why Google refuses the account: its key was deleted, it is disabled, or the clock is wrong."""
        values = read_object(response.body)
        reason = " ".join(str(values[name]) for name in ("error", "error_description") if name in values)
        detail = f" ({quote_message(reason, parse_qs(request)['assertion'])})" if reason else ""
        server_time = parse_http_date(response.headers.get("date", ""), now)
        offset = now - server_time if server_time is not None else 0.0
        hint = ""
        if abs(offset) > _SKEW:
            direction = "ahead" if offset > 0 else "behind"
            hint = f". The clock of this machine is {abs(offset) / 60:,.0f} minutes {direction}: correct the clock"
        elif "jwt" in reason.lower():
            hint = ". The clock of this machine may be wrong, or the key was deleted"
        return f"Google does not accept the key of {plain_line(self._email)}{detail}{hint}"


def read_object(body: bytes) -> dict[str, Any]:
    """The JSON object in a response body, or an empty one."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def error_reasons(body: bytes) -> tuple[frozenset[str], str]:
    """The reason codes of an error, in both of Google's forms, and its message.

    https://developers.google.com/webmaster-tools/v1/errors, https://google.aip.dev/193
    """
    error = read_object(body).get("error")
    if not isinstance(error, dict):
        return frozenset(), ""
    parts = [part for name in ("errors", "details") for part in _list(error.get(name)) if isinstance(part, dict)]
    reasons = frozenset(str(part.get("reason", "")) for part in parts) | {str(error.get("status", ""))}
    message = error.get("message")
    return reasons, message if isinstance(message, str) else ""


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _origin(url: str, name: str) -> str:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise UsageError(f"{name}: the token_uri in the key file is not a URL. Download the key file again") from None
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError(f"{name}: the token_uri in the key file is not an http(s) URL. Download the key file again")
    return f"{parts.scheme}://{host}" + (f":{port}" if port else "")


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
