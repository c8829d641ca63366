"""Audits that read the reports of Google."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from audited import FAST, Command, in_process, page, pages
from doubles_console import EMAIL, failure
from doubles_google import PERIOD, Google
from doubles_listener import Reply, listening
from scripted import Site, scripted


@pytest.fixture
def google() -> Iterator[Google]:
    with listening() as listener:
        double = Google(listener.url)
        listener.answer = double.answer
        yield double


@pytest.fixture
def audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    with in_process(tmp_path, monkeypatch, capsys) as command:
        yield lambda *words: command("audit", *words, *FAST, "-o", "out")


def test_ours_an_audit_finds_what_only_google_knows(
    audit: Command, google: Google, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SITEATLAS_KEY", google.account())
    with scripted(pages(analysed=page("/"))) as site:
        google.owners.add((site.url, EMAIL))
        google.clicks = {f"{site.url}asked": (12, 340), f"{site.url}hub/": (5, 50)}
        google.views = {("127.0.0.1", "/analysed"): (70, 60, 50)}
        words = _settings(google, site)
        monkeypatch.setattr(Google, "_report", _any_period(Google._report))
        ran = audit(site.url, *words)
        assert ran.code == 0, ran.err
        told = json.loads(Path("out", "audit.json").read_bytes())
        orphans = {each["url"].rpartition("/")[2]: each for each in told["findings"] if each["rule"] == "orphan.search"}
        assert orphans.keys() == {"asked", "analysed"}
        assert (orphans["asked"]["clicks"], orphans["asked"]["impressions"]) == (12, 340)
        assert orphans["analysed"]["sessions"] == 60
        inputs = {each["format"]: each for each in told["inputs"]}
        assert inputs["Search Console API"]["used"] == 2
        assert inputs["Google Analytics API"]["name"] == "Google Analytics 123456"
        assert audit(site.url, *words).code == 0
        assert len(google.asked) == 2, "both were stored"
        google.next = [failure(403, "no", "forbidden")]
        ran = audit(site.url, *words, "--set=audit.google_days=30")
        assert (ran.code, len(ran.err.splitlines())) == (2, 1)
        assert f"add {EMAIL} as a user of the property" in ran.err


def _settings(google: Google, site: Site) -> tuple[str, ...]:
    Path("site.toml").write_text(f'[search_console]\nendpoint = "{google.endpoint}"\n')
    return (
        *("--config", "site.toml", "--search-console", site.url, "--ga4", "123456"),
        *("--set=audit.google_credentials=env:SITEATLAS_KEY", f"--set=audit.ga4_endpoint={google.url}/v1beta"),
    )


def _any_period(answer: Callable[[Google, dict[str, Any]], Reply]) -> Callable[[Google, dict[str, Any]], Reply]:
    return lambda google, asked: answer(google, {**asked, "dateRanges": [PERIOD]})
