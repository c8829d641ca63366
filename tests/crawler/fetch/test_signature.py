"""Signed requests, checked by the verifier of RFC 9421 with the keys of the published directory."""

import base64
import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from http_message_signatures import InvalidSignature
from signatures import AGENT, RFC_KEY, Message, Response, verified

from crawler.fetch.signature import DIRECTORY_TAG, REQUEST_AGE, RequestSigner, new_key


def signer(clock: Callable[[], float] | None = None) -> RequestSigner:
    import time

    return RequestSigner(RFC_KEY, AGENT, clock or time.time)


def test_rfc8037_a_3_the_key_is_named_by_its_thumbprint() -> None:
    key = json.loads(signer().directory())["keys"][0]
    assert key["x"] == "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"
    assert key["kid"] == "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"
    assert (key["kty"], key["crv"]) == ("OKP", "Ed25519")
    assert "d" not in key


def test_webbotauth_a_request_is_signed_for_its_host_by_its_agent() -> None:
    one = signer()
    headers = dict(one.headers_for("https://Example.com:443"))
    result = verified(Message("https://example.com/page", headers), one.directory())
    assert list(result.covered_components) == [
        '"@authority"',
        '"signature-agent";key="siteatlas"',
        '"@signature-params"',
    ]
    assert result.covered_components['"@authority"'] == "example.com"
    assert result.covered_components['"signature-agent";key="siteatlas"'] == f'"{AGENT}"'
    assert result.parameters["expires"] - result.parameters["created"] == REQUEST_AGE.total_seconds()
    assert result.parameters["keyid"] == one.key_id
    assert len(base64.b64decode(str(result.nonce))) >= 32


def test_webbotauth_a_signature_serves_no_other_host_agent_or_time() -> None:
    one = signer()
    headers = dict(one.headers_for("https://example.com"))
    old = dict(signer(lambda: 1_700_000_000.0).headers_for("https://example.com"))
    for url, changed in (
        ("https://other.example/", headers),
        ("https://example.com:8443/", headers),
        ("https://example.com/", {**headers, "Signature-Agent": 'siteatlas="https://evil.example"'}),
        ("https://example.com/", old),
    ):
        with pytest.raises(InvalidSignature):
            verified(Message(url, changed), one.directory())
    again = dict(one.headers_for("https://example.com"))
    assert again["Signature"] != headers["Signature"]


def test_webbotauth_the_directory_proves_the_private_key() -> None:
    one = signer()
    headers = dict(one.directory_headers(timedelta(days=1)))
    assert headers.pop("Content-Type") == "application/http-message-signatures-directory+json"
    message = Response(f"{AGENT}/.well-known/http-message-signatures-directory", headers)
    result = verified(message, one.directory(), DIRECTORY_TAG)
    assert result.covered_components['"@authority";req'] == "bot.example.com"


@pytest.mark.parametrize(
    "agent",
    [
        *("", "http://a.example", "https://", "https://a.example/x", "https://a.example?x", "https://a.example#x"),
        *("https://u:p@a.example", "https://a b", 'https://a"b', "https://a\r\nX: b", "https://a.example:x"),
    ],
)
def test_ours_an_agent_is_an_https_origin(agent: str) -> None:
    with pytest.raises(ValueError, match="https origin"):
        RequestSigner(new_key(), agent, lambda: 0.0)


@pytest.mark.parametrize(
    ("agent", "canonical"),
    [
        ("https://BOT.example.com", AGENT),
        ("https://bot.example.com:443", AGENT),
        ("https://bot.example.com:8443", f"{AGENT}:8443"),
        ("https://\u00e4.example", "https://xn--4ca.example"),
    ],
)
def test_rfc9421_2_2_3_an_agent_is_written_as_its_server_is_addressed(agent: str, canonical: str) -> None:
    signer = RequestSigner(new_key(), agent, lambda: 0.0)
    assert signer.agent == canonical
    assert dict(signer.headers_for(AGENT))["Signature-Agent"] == f'siteatlas="{canonical}"'
    assert signer.directory_headers(REQUEST_AGE)


@pytest.mark.parametrize("pem", ["", "secret words", RFC_KEY[:80]])
def test_ours_a_key_that_cannot_sign_is_not_quoted(pem: str) -> None:
    with pytest.raises(ValueError, match="Ed25519") as error:
        RequestSigner(pem, AGENT, lambda: 0.0)
    assert "secret words" not in str(error.value)
