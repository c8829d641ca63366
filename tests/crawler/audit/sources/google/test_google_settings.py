"""Settings of the reports of Google that cannot be used."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from audited import FAST, Command, in_process


@pytest.fixture
def audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    with in_process(tmp_path, monkeypatch, capsys) as command:
        yield lambda *words: command("audit", *words, *FAST, "-o", "out")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--search-console", "sc-domain:example.com"), "with audit.google_credentials"),
        (
            ("--search-console", "https://www.example.com", "--set=audit.google_credentials=key.json"),
            "with a slash at its end",
        ),
        (("--ga4", "G-ABC123", "--set=audit.google_credentials=key.json"), "but the id of a data stream"),
        (("--ga4", "1", "--set=audit.google_credentials=missing.json"), "missing.json"),
        (
            ("--ga4", "1", "--set=audit.google_credentials=key.json"),
            "audit.google_credentials: key.json is not the JSON key file",
        ),
        (("--ga4", "1", "--set=audit.google_credentials=env:NO_KEY"), "NO_KEY"),
        (
            ("--ga4", "1", "--set=audit.google_credentials=key.json", "--set=audit.ga4_endpoint=x"),
            "audit.ga4_endpoint 'x'",
        ),
        (("--ga4", "1", "--set=audit.google_days=0"), "audit.google_days"),
    ],
)
def test_ours_bad_settings_are_one_line_before_the_first_request(
    audit: Command, words: tuple[str, ...], said: str
) -> None:
    Path("key.json").write_text("{}")
    ran = audit("http://127.0.0.1:2/", *words)
    assert (ran.code, ran.out) == (2, ""), ran.err
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1
