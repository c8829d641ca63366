"""Audits of one site after one another: what is new, mended, or stands since when, and what is not decided."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from audited import FAST, Command, in_process, page, pages, sitemap
from scripted import scripted


@pytest.fixture
def siteatlas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Command]:
    with in_process(tmp_path, monkeypatch, capsys) as command:
        yield command


@pytest.fixture
def audit(siteatlas: Command) -> Command:
    """The audit, at full speed and without a second try."""
    return lambda *words: siteatlas("audit", *words, *FAST)


LISTED = ("", "hub/", "hub/one", "hub/two", "plain", "lost")
TODAY = datetime.now(UTC).date().isoformat()


def told(name: str = "out") -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(Path(name, "audit.json").read_bytes())
    return whole


def path(url: str) -> str:
    return "/" + url.split("/", 3)[-1]


def new(whole: dict[str, Any]) -> set[tuple[str, str]]:
    return {(each["rule"], path(each["url"])) for each in whole["findings"] if each["is_new"]}


def trend(whole: dict[str, Any], rule: str) -> dict[str, int]:
    found = (each for each in whole["compared"]["trends"] if each["rule"] == rule)
    return {name: number for name, number in next(found, {}).items() if name != "rule"}


def test_ours_findings_appear_stay_and_vanish(audit: Command) -> None:
    with scripted(pages()) as site:
        audit(site.url, "-o", "out")
        first = told()
        assert first["compared"] is None
        assert not new(first)
        assert {each["since"] for each in first["findings"]} == {TODAY}
        site.routes["/sitemap.xml"] = sitemap(*LISTED, "later", "nowhere")
        site.routes["/later"] = page("/")
        audit(site.url, "-o", "out")
        second = told()
        assert new(second) == {("orphan.sitemap", "/later"), ("entry.gone", "/nowhere")}
        assert trend(second, "orphan.sitemap") == {"new": 1, "still": 1, "mended": 0, "undecided": 0}
        assert second["compared"]["started"] == first["started"]
        assert second["compared"]["uncompared"] == second["compared"]["earlier"] == {}

        site.routes["/"] = page("/hub/", "/plain", "/lost")  # linked at last
        audit(site.url, "-o", "out")
        third = told()
        assert new(third) == {("reach.few", "/lost")}
        assert trend(third, "orphan.sitemap") == {"new": 0, "still": 1, "mended": 1, "undecided": 0}
        assert trend(third, "entry.gone") == {"new": 0, "still": 1, "mended": 0, "undecided": 0}
