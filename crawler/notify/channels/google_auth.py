"""A service account of Google: read from its key file, and exchanged for an access token that is used while it holds.

https://developers.google.com/identity/protocols/oauth2/service-account#httprest
"""

import time
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import urlencode

import msgspec
from typing_extensions import override

from crawler.config.secrets import reveal
from crawler.errors import UsageError
from crawler.fetch import http_date
from crawler.notify.channels.http import Http, Sent, judged, one_line, origin_of, quoted
from crawler.notify.notice import Answer, Reception

if TYPE_CHECKING:  # an extra
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

_GRANT: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_SCOPE: Final = "https://www.googleapis.com/auth/webmasters"
_HOUR: Final = 3600  # seconds: the longest that is allowed
_EARLY: Final = 60.0  # seconds before a token ends in which it is not used any more
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
        text = reveal(setting if is_env or is_it or setting.startswith("file:") else f"file:{setting}")
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


class Tokens:
    """Access tokens of an account. Raises UsageError without the extra siteatlas[google], and for a bad key."""

    def __init__(self, http: Http, account: ServiceAccount) -> None:
        try:
            import jwt  # noqa: PLC0415 - an extra, and slow to load

            key = _key(account.private_key)
        except ImportError:
            raise UsageError(
                "Search Console wants another package: pip install 'siteatlas[google]'"
            ) from None
        try:
            self._origin = origin_of(account.token_uri)
        except ValueError as error:
            raise UsageError(f"search_console.account: its token_uri is {error}") from None
        self._jwt = jwt
        self._http = http
        self._account = account
        self._token = ""
        self._until = 0.0
        if key is None:
            raise UsageError(
                "search_console.account: the private_key of the service account is no RSA key in PEM form;"
                " download the key file again"
            )
        self._key = key

    async def take(self) -> str | Answer:
        """A token that holds for a minute at least, or why there is none. Never raises for what Google does."""
        if time.time() < self._until - _EARLY:
            return self._token
        now = time.time()
        assertion = self._assertion(int(now))
        sent = await self._http.send(
            "POST",
            self._account.token_uri,
            headers={"Content-Type": "application/x-www-form-urlencoded"},
            body=urlencode({"grant_type": _GRANT, "assertion": assertion}).encode(),
        )
        if isinstance(sent, Sent) and sent.status == 200:
            return self._kept(sent, now)
        if isinstance(sent, Sent) and sent.status in {400, 401, 403}:
            return Answer(reception=Reception.REFUSED, said=self._refused(sent, assertion, now))
        return judged(sent, f"Google's token server {self._origin}")

    def drop(self) -> None:
        """Forget the token: it is taken no more."""
        self._until = 0.0

    def _kept(self, sent: Sent, now: float) -> str | Answer:
        given = read_object(sent.body)
        token, seconds = given.get("access_token"), given.get("expires_in", _HOUR)
        if not isinstance(token, str) or not token.isascii() or not token.isprintable() or not token:
            return Answer(
                reception=Reception.LATER,
                said=f"Google's token server {self._origin} answered without a token",
            )
        self._token = token
        self._until = now + min(float(_HOUR), seconds if isinstance(seconds, int | float) else 0.0)
        return token

    def _refused(self, sent: Sent, assertion: str, now: float) -> str:
        """The account is not taken: its key was deleted, it is disabled, or our clock is wrong."""
        given = read_object(sent.body)
        why = " ".join(str(given[name]) for name in ("error", "error_description") if name in given)
        told = f" ({quoted(why, (assertion,))})" if why else ""
        theirs = http_date.read(sent.headers.get("date", ""), now)
        off = now - theirs if theirs is not None else 0.0
        clock = ""
        if abs(off) > _SKEW:
            way = "ahead" if off > 0 else "behind"
            clock = f"; the clock of this machine is {abs(off) / 60:,.0f} minutes {way}: set it"
        elif "jwt" in why.lower():
            clock = "; the clock of this machine may be wrong, or the key was deleted"
        return f"Google does not take the key of {one_line(self._account.client_email)}{told}{clock}"

    def _assertion(self, now: int) -> str:
        claims = {
            "iss": self._account.client_email,
            "scope": _SCOPE,
            "aud": self._account.token_uri,
            "iat": now,
            "exp": now + _HOUR,
        }
        key_id = {"kid": self._account.private_key_id} if self._account.private_key_id else None
        return self._jwt.encode(claims, self._key, algorithm="RS256", headers=key_id)


def read_object(body: bytes) -> dict[str, Any]:
    """The JSON object in an answer, or an empty one for anything else."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


@lru_cache(maxsize=64)  # a thousand sites have the same account, and a key is checked for long
def _key(pem: str) -> "RSAPrivateKey | None":
    """The key, None for what is none. Raises ImportError without the extra."""
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    try:
        key = load_pem_private_key(pem.encode(), None)
    except Exception:  # noqa: BLE001 - OpenSSL has a say in it too, and any of them may quote the key
        return None
    return key if isinstance(key, RSAPrivateKey) else None
