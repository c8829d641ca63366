"""Crawls whose requests are signed, and settings of signatures that cannot be used."""

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from audited import FAST
from scripted import Answer, scripted
from signatures import AGENT, RFC_KEY, Message, verified

from crawler.cli import app

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
