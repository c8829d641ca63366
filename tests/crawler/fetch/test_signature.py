"""Signed requests, checked by the verifier of RFC 9421 with the keys of the published directory."""

import base64
import json
import stat
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from audited import FAST
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from http_message_signatures import (
    HTTPMessageVerifier,
    HTTPSignatureKeyResolver,
    InvalidSignature,
    VerifyResult,
    algorithms,
)
from scripted import Answer, scripted

from crawler.cli import app
from crawler.fetch.signature import DIRECTORY_TAG, REQUEST_AGE, REQUEST_TAG, RequestSigner, new_key

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


Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["siteatlas", *words])
        code = app.run_command_line()
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_ours_a_crawl_signs_every_request(command: Command, tmp_path: Path) -> None:
    code, out, err = command("init", "--signing-key", "key.pem", "--signature-agent", f"{AGENT}/")
    assert code == 0, err
    assert stat.S_IMODE((tmp_path / "key.pem").stat().st_mode) == 0o600
    head, _, directory = out.partition("\n\n")
    assert head.startswith("Content-Type: application/http-message-signatures-directory+json\n")
    assert "created key.pem" in err
    before = (tmp_path / "key.pem").read_bytes()
    assert command("init", "--signing-key", "key.pem", "--signature-agent", f"{AGENT}")[0] == 0
    assert (tmp_path / "key.pem").read_bytes() == before
    pages: dict[str, Any] = {"/": "<a href=/a>a</a>", "/a": Answer(status=302, headers={"Location": "/b"}), "/b": "b"}
    with scripted(pages) as site:
        flags = ("--set=fetch.signing_key=key.pem", f"--set=fetch.signature_agent={AGENT}")
        assert command("crawl", site.url, "-o", "out", *FAST, *flags)[0] == 0
        assert {"/robots.txt", "/", "/a", "/b"} <= {path for _, path, _ in site.log}
        nonces = set()
        for _, path, headers in site.log:
            sent = {name: headers[name] for name in ("signature", "signature-input", "signature-agent")}
            nonces.add(verified(Message(f"{site.url.rstrip('/')}{path}", sent), directory).nonce)
        assert len(nonces) == len(site.log)
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != "key.pem")
    assert b"PRIVATE KEY" not in stored


@pytest.mark.parametrize("agent", ["http://a.example", "https://a b"])
def test_ours_no_key_is_created_for_an_agent_that_cannot_be(command: Command, tmp_path: Path, agent: str) -> None:
    code, out, err = command("init", "--signing-key", "key.pem", "--signature-agent", f"{agent}")
    assert (code, out) == (2, "")
    assert "https origin" in err
    assert not (tmp_path / "key.pem").exists()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--set=fetch.signing_key=key.pem",), "work only together"),
        ((f"--set=fetch.signature_agent={AGENT}",), "work only together"),
        (("--set=fetch.signing_key=none.pem", f"--set=fetch.signature_agent={AGENT}"), "none.pem"),
        (("--set=fetch.signing_key=bad.pem", f"--set=fetch.signature_agent={AGENT}"), "not an Ed25519 private key"),
        (("--set=fetch.signing_key=key.pem", "--set=fetch.signature_agent=bot.example.com"), "https origin"),
    ],
)
def test_ours_bad_settings_of_signatures_are_one_line(
    command: Command, tmp_path: Path, flags: tuple[str, ...], said: str
) -> None:
    (tmp_path / "key.pem").write_text(RFC_KEY)
    (tmp_path / "bad.pem").write_text("hush hush")
    code, _, err = command("crawl", "http://127.0.0.1:9/", "-o", "out", *flags)
    assert code == 2
    assert said in err
    assert "hush" not in err
    assert len(err.strip().splitlines()) == 1
