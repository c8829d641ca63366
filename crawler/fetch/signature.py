"""Signs requests, so that firewalls can tell who sends them (Web Bot Auth), with the extra sign.

A request has an Ed25519 signature of its host (RFC 9421, HTTP Message Signatures) and names the origin that publishes
the public key, its *signature agent*. The draft of the working group:
https://datatracker.ietf.org/doc/html/draft-ietf-webbotauth-httpsig-protocol-00; that of the key directory:
https://datatracker.ietf.org/doc/html/draft-meunier-webbotauth-httpsig-directory-00.
"""

import base64
import contextlib
import hashlib
import json
import re
import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from crawler.fetch.identity import Header
from crawler.url.normalize import InvalidUrl, normalize_url, origin_of

if TYPE_CHECKING:  # the extra
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

DIRECTORY_PATH: Final = "/.well-known/http-message-signatures-directory"
DIRECTORY_TYPE: Final = "application/http-message-signatures-directory+json"
REQUEST_TAG: Final = "web-bot-auth"
DIRECTORY_TAG: Final = "http-message-signatures-directory"
REQUEST_AGE: Final = timedelta(minutes=5)
"""A signature is valid for so long, so that nobody else can use it for long."""
_LABEL: Final = "siteatlas"
_NONCE: Final = 48  # bytes
_is_origin = re.compile(r"https://[^/?#@\\\s]+", re.IGNORECASE).fullmatch


class _Message:
    """A request as the library reads it; as a response, it also has a status and its request."""

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        self.method = "GET"
        self.url = url
        self.headers = headers


class _Response(_Message):
    def __init__(self, url: str, headers: dict[str, str]) -> None:
        super().__init__(url, headers)
        self.status_code = 200
        self.request = _Message(url, {})


class RequestSigner:
    """Signs requests with a private key (PEM, PKCS 8) in the name of an ``agent``, an https origin.

    ``clock`` gives Unix time. Raises ValueError for a key that is no Ed25519 private key, or an agent that is no https
    origin; ModuleNotFoundError without the extra.
    """

    def __init__(self, pem: str, agent: str, clock: Callable[[], float]) -> None:
        from http_message_signatures import HTTPMessageSigner, HTTPSignatureKeyResolver, algorithms  # noqa: PLC0415

        self._private_key = private_key = _load(pem)

        class Keys(HTTPSignatureKeyResolver):
            def resolve_private_key(self, key_id: str) -> "Ed25519PrivateKey":  # noqa: ARG002 - there is one
                return private_key

        self.agent = _origin(agent)
        self._clock = clock
        self._signer = HTTPMessageSigner(signature_algorithm=algorithms.ED25519, key_resolver=Keys())
        self.key_id = _thumbprint(self._public_jwk())

    def headers_for(self, origin: str) -> tuple[Header, ...]:
        """The header fields that sign one request to an origin, the host of which is that of the Host header."""
        headers = {"Signature-Agent": f'{_LABEL}="{self.agent}"'}
        components = ("@authority", f'"signature-agent";key="{_LABEL}"')
        self._sign(_Message(f"{origin}/", headers), REQUEST_TAG, REQUEST_AGE, components)
        return tuple(headers.items())

    def directory(self) -> str:
        """The key directory: the document that the agent publishes at :data:`DIRECTORY_PATH`, a JWK set (RFC 7517)."""
        key = {**self._public_jwk(), "kid": self.key_id, "use": "sig", "alg": "EdDSA"}
        return json.dumps({"keys": [key]}, indent=2) + "\n"

    def directory_headers(self, age: timedelta) -> tuple[Header, ...]:
        """The header fields with which the agent publishes the directory for so long: a proof of the private key."""
        headers: dict[str, str] = {}
        self._sign(_Response(f"{self.agent}/", headers), DIRECTORY_TAG, age, ('"@authority";req',))
        return (("Content-Type", DIRECTORY_TYPE), *headers.items())

    def _sign(self, message: _Message, tag: str, age: timedelta, components: tuple[str, ...]) -> None:
        now = datetime.fromtimestamp(self._clock(), UTC)
        self._signer.sign(
            message,
            key_id=self.key_id,
            created=now,
            expires=now + age,
            nonce=base64.b64encode(secrets.token_bytes(_NONCE)).decode(),
            label=_LABEL,
            tag=tag,
            covered_component_ids=components,
        )

    def _public_jwk(self) -> dict[str, str]:
        """The public key, by https://www.rfc-editor.org/rfc/rfc8037#section-2."""
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat  # noqa: PLC0415

        raw = self._private_key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        return {"kty": "OKP", "crv": "Ed25519", "x": _base64url(raw)}


def new_key() -> str:
    """A new private key, as PEM. Raises ModuleNotFoundError without the extra."""
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

    kind, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return Ed25519PrivateKey.generate().private_bytes(serialization.Encoding.PEM, kind, plain).decode()


def _origin(agent: str) -> str:
    """An agent in the canonical form of its URL, in which a server sees its host."""
    with contextlib.suppress(InvalidUrl):
        if _is_origin(agent):
            return origin_of(normalize_url(f"{agent}/"))
    raise ValueError("the signature agent must be an https origin, as in https://bot.example.com")


def _load(pem: str) -> "Ed25519PrivateKey":
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    with contextlib.suppress(ValueError, TypeError, UnsupportedAlgorithm):
        if isinstance(key := load_pem_private_key(pem.encode(), None), Ed25519PrivateKey):
            return key
    raise ValueError(
        "the signing key is not an Ed25519 private key in PEM without a password. siteatlas init "
        "--signing-key FILE creates such a key"
    )


def _thumbprint(jwk: dict[str, str]) -> str:
    """https://www.rfc-editor.org/rfc/rfc7638#section-3, by which the directory and the requests name the key."""
    return _base64url(hashlib.sha256(json.dumps(jwk, sort_keys=True, separators=(",", ":")).encode()).digest())


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
