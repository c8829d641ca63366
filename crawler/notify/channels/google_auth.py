"""A service account of Google: read from its key file, and exchanged for an access token that is used while it holds.

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
from crawler.fetch import http_date
from crawler.notify.channels.http import (
    HttpSender,
    NotifyResponse,
    display_origin,
    plain_line,
    quote_message,
    result_of,
)
from crawler.notify.notice import SendResult, SendStatus

if TYPE_CHECKING:  # an extra
    from google.auth.crypt import RSASigner

_SCOPE: Final = "https://www.googleapis.com/auth/webmasters"
_SKEW: Final = 120.0  # seconds between two clocks that are worth a word


class ServiceAccount(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks. ``private_key`` is a PEM text, which is never shown."""

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

        Raises UsageError, which tells nothing of what is in them.
        """
        is_env, is_it = setting.startswith("env:"), setting.lstrip().startswith("{")
        text = reveal_secret(setting if is_env or is_it or setting.startswith("file:") else f"file:{setting}")
        if is_env and not text.lstrip().startswith("{"):  # as GOOGLE_APPLICATION_CREDENTIALS has it
            try:
                text = Path(text).read_text(encoding="utf-8")
            except (OSError, ValueError):
                text = ""  # what the variable holds may be a secret, so it is not shown
        try:
            return msgspec.json.decode(text, type=cls)
        except (msgspec.DecodeError, UnicodeError):
            raise UsageError(
                f"search_console.account: {'it' if is_it else setting} is not the JSON key file of a service account"
                " (with client_email and private_key); create one in the Google Cloud console"
            ) from None


class AccessTokens:
    """Access tokens of an account. Raises UsageError without the extra siteatlas[google], and for a bad key."""

    def __init__(self, http: HttpSender, account: ServiceAccount) -> None:
        try:
            from google.oauth2.service_account import Credentials  # noqa: PLC0415 - an extra, and slow to load

            signer = _signer(account.private_key, account.private_key_id)
        except ImportError:
            raise UsageError(
                "Search Console wants another package: pip install 'siteatlas[google]'"
            ) from None
        try:
            self._origin = display_origin(account.token_uri)
        except ValueError as error:
            raise UsageError(f"search_console.account: its token_uri is {error}") from None
        if signer is None:
            raise UsageError(
                "search_console.account: the private_key of the service account is no RSA key in PEM form;"
                " download the key file again"
            )
        self._http = http
        self._email = account.client_email
        self._credentials = Credentials(signer, account.client_email, account.token_uri, scopes=[_SCOPE])

    async def get(self) -> str | SendResult:
        """A token that holds for some minutes, or why there is none. Never raises for what Google does."""
        if not self._credentials.valid:
            try:
                await to_thread.run_sync(self._credentials.refresh, self._request)
            except _NotGiven as error:
                return error.answer
            except Exception:  # noqa: BLE001 - the fence: google-auth takes what it reads for well-formed
                self.discard()
        token = self._credentials.token
        if isinstance(token, str) and token and token.isascii() and token.isprintable():
            return token
        return SendResult(
            reception=SendStatus.DEFERRED,
            message=f"Google's token server {self._origin} answered without a token",
        )

    def discard(self) -> None:
        """Forget the token: it is taken no more."""
        self._credentials.token = None

    def _request(self, url: str, method: str, body: bytes, headers: Mapping[str, str]) -> SimpleNamespace:
        """The transport of google-auth, called in a thread. It retries by itself what it gets to see as refused."""
        sent = from_thread.run(partial(self._http.send, method, url, headers=headers, body=body))
        if isinstance(sent, NotifyResponse) and sent.status == 200:
            return SimpleNamespace(status=sent.status, headers=sent.headers, data=sent.body)
        if isinstance(sent, NotifyResponse) and sent.status in {400, 401, 403}:
            said = self._refused(sent, body.decode(), time.time())
            raise _NotGiven(SendResult(reception=SendStatus.REFUSED, message=said))
        raise _NotGiven(result_of(sent, f"Google's token server {self._origin}"))

    def _refused(self, sent: NotifyResponse, asked: str, now: float) -> str:
        """The account is not taken: its key was deleted, it is disabled, or our clock is wrong."""
        given = read_object(sent.body)
        why = " ".join(str(given[name]) for name in ("error", "error_description") if name in given)
        told = f" ({quote_message(why, parse_qs(asked)['assertion'])})" if why else ""
        theirs = http_date.parse_http_date(sent.headers.get("date", ""), now)
        off = now - theirs if theirs is not None else 0.0
        clock = ""
        if abs(off) > _SKEW:
            way = "ahead" if off > 0 else "behind"
            clock = f"; the clock of this machine is {abs(off) / 60:,.0f} minutes {way}: set it"
        elif "jwt" in why.lower():
            clock = "; the clock of this machine may be wrong, or the key was deleted"
        return f"Google does not take the key of {plain_line(self._email)}{told}{clock}"


class _NotGiven(Exception):
    """There is no token, for a reason that google-auth need not know."""

    def __init__(self, answer: SendResult) -> None:
        super().__init__(answer)
        self.answer = answer


def read_object(body: bytes) -> dict[str, Any]:
    """The JSON object in an answer, or an empty one for anything else."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


@lru_cache(maxsize=64)  # a thousand sites have the same account, and a key is checked for long
def _signer(pem: str, key_id: str) -> "RSASigner | None":
    """What signs with a key, None for what is no RSA key. Raises ImportError without the extra."""
    from google.auth.crypt import RSASigner  # noqa: PLC0415

    try:
        signer: RSASigner = RSASigner.from_string(pem, key_id or None)
        signer.sign(b"")  # with a key of another kind it cannot
    except Exception:  # noqa: BLE001 - OpenSSL has a say in it too, and any of them may quote the key
        return None
    return signer
