"""A Google on the loopback address: the token server, which checks signatures, and the API of Search Console."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from urllib.parse import parse_qs, unquote

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from doubles_listener import Heard, Reply, listening

EMAIL = "atlas@project.iam.gserviceaccount.com"
SCOPE = "https://www.googleapis.com/auth/webmasters"
AUDIENCE = "https://oauth2.googleapis.com/token"
"""What is "always" in the claims: https://developers.google.com/identity/protocols/oauth2/service-account"""


@cache
def private_key() -> str:
    """The key of the account, as PEM."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    kind = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, kind, serialization.NoEncryption()).decode()


@cache
def _public_key() -> rsa.RSAPublicKey:
    key = serialization.load_pem_private_key(private_key().encode(), None)
    assert isinstance(key, rsa.RSAPrivateKey)
    return key.public_key()


class Console:
    """The state of the double. ``sitemaps`` are what GET answers, by property and sitemap URL.

    One that was submitted and is none of these waits to be read; one that was not is unknown.

    ``next`` are replies that are given to the next requests of the API instead, ``token_reply`` one to all requests for
    a token. Tokens hold ``holds`` seconds.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.owners = {("https://www.example.com/", EMAIL), ("sc-domain:example.com", EMAIL)}
        self.sitemaps: dict[tuple[str, str], dict[str, object]] = {}
        self.submitted: list[tuple[str, str]] = []
        self.tokens: list[str] = []
        self.valid: set[str] = set()
        self.holds: object = 3600
        self.scopes = {SCOPE}
        self.next: list[Reply] = []
        self.token_reply: Reply | None = None
        self.heard: list[Heard] = []

    @property
    def endpoint(self) -> str:
        """Where the API is."""
        return f"{self.url}/webmasters/v3"

    def account(self, **changes: object) -> str:
        """The key file."""
        fields = {
            "type": "service_account",
            "client_email": EMAIL,
            "private_key": private_key(),
            "private_key_id": "key-1",
            "token_uri": f"{self.url}/token",
        }
        return json.dumps({**fields, **changes})

    def answer(self, heard: Heard) -> Reply:
        """One answer."""
        self.heard.append(heard)
        if heard.path == "/token":
            return self.token_reply or self._token(heard)
        if self.next:
            return self.next.pop(0)
        token = heard.headers.get("authorization", "").removeprefix("Bearer ")
        if token not in self.valid:
            return failure(401, "Request had invalid authentication credentials.", "authError")
        start, sites, site, sitemaps, feed = heard.path.rsplit("/", 4)
        assert (start, sites, sitemaps) == ("/webmasters/v3", "sites", "sitemaps")
        place = unquote(site), unquote(feed)
        if (place[0], EMAIL) not in self.owners:
            return failure(403, f"User does not have sufficient permission for site '{place[0]}'.", "forbidden")
        if heard.method == "PUT":
            assert heard.headers["content-length"] == "0"  # without it Google answers 411
            self.submitted.append(place)
            return Reply(204)
        known = self.sitemaps.get(place)
        if known is None and place not in self.submitted:
            return failure(404, f"'{place[1]}' is not a submitted sitemap.", "notFound")
        return Reply(200, json.dumps(known or {"path": place[1], "isPending": True}).encode())

    def _token(self, heard: Heard) -> Reply:
        form = parse_qs(heard.body.decode())
        assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
        (assertion,) = form["assertion"]
        try:
            claims = jwt.decode(assertion, _public_key(), ["RS256"], audience=AUDIENCE)
        except jwt.InvalidTokenError as error:
            said = {"error": "invalid_grant", "error_description": f"Invalid JWT: {error}: {assertion}"}
            return Reply(400, json.dumps(said).encode(), {"Content-Type": "application/json"})
        assert claims["iss"] == EMAIL
        assert claims["scope"] in self.scopes
        assert claims["exp"] - claims["iat"] == 3600
        assert abs(claims["iat"] - time.time()) < 60
        assert jwt.get_unverified_header(assertion)["kid"] == "key-1"
        token = f"ya29.token-{len(self.tokens)}-{'x' * 40}"
        self.tokens.append(token)
        self.valid.add(token)
        return Reply(
            200, json.dumps({"access_token": token, "expires_in": self.holds, "token_type": "Bearer"}).encode()
        )


def failure(status: int, message: str, reason: str, headers: Mapping[str, str] | None = None) -> Reply:
    """An error in the form that the Search Console API uses."""
    error = {"code": status, "message": message, "errors": [{"domain": "global", "reason": reason}]}
    return Reply(status, json.dumps({"error": error}).encode(), {"Content-Type": "application/json", **(headers or {})})


@contextmanager
def console() -> Iterator[Callable[[], Console]]:
    """A Google while it is entered: each call gives it a new memory."""

    def fresh() -> Console:
        double = Console(listener.url)
        listener.answer = double.answer
        return double

    with listening() as listener:
        yield fresh
