"""Messages that are signed by RFC 9421, and their verification."""

import base64
import json
from datetime import timedelta

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from http_message_signatures import HTTPMessageVerifier, HTTPSignatureKeyResolver, VerifyResult, algorithms

from crawler.fetch.signature import REQUEST_TAG

AGENT = "https://bot.example.com"


# https://www.rfc-editor.org/rfc/rfc9421#appendix-B.1.4
RFC_KEY = """-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF
-----END PRIVATE KEY-----"""


class Message:
    """A request as a server sees it, or a response that a client sees."""

    method = "GET"

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        self.url = url
        self.headers = headers


class Response(Message):
    status_code = 200

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        super().__init__(url, headers)
        self.request = Message(url, {})


def verified(message: Message, directory: str, tag: str = REQUEST_TAG) -> VerifyResult:
    keys = {key["kid"]: key["x"] for key in json.loads(directory)["keys"]}

    class Keys(HTTPSignatureKeyResolver):
        def resolve_public_key(self, key_id: str) -> Ed25519PublicKey:
            return Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(keys[key_id] + "="))

    verifier = HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=Keys())
    (result,) = verifier.verify(message, expect_tag=tag, max_age=timedelta(minutes=1))
    return result
