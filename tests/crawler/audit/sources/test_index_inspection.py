"""The index status of pages by URL Inspection, against a double of Google that follows its documentation.

https://developers.google.com/webmaster-tools/v1/urlInspection.index/UrlInspectionResult
"""

import json
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from audited import FAST, Command, in_process, page
from doubles_console import EMAIL, Console, failure
from doubles_listener import Heard, Reply, listening
from scripted import Site, scripted

from crawler.audit.sources.google.inspection import (
    IndexStatus,
    InspectionCandidate,
    choose_candidates,
    judge_candidates,
)
from crawler.model import Url

SITE = "https://www.example.com"
TODAY = date(2026, 11, 23)


@dataclass
class Inspector(Console):
    """The double: what Google knows of each URL, and the URLs that were inspected."""

    url: str
    known: dict[str, dict[str, str]] = field(default_factory=dict)
    inspected: list[str] = field(default_factory=list)
    impressions: dict[str, int] = field(default_factory=dict)
    property_id: str = ""

    def __post_init__(self) -> None:
        Console.__init__(self, self.url)
        self.scopes = {"https://www.googleapis.com/auth/webmasters.readonly"}

    def answer(self, heard: Heard) -> Reply:
        if heard.path == "/token":
            return super().answer(heard)
        if heard.headers["authorization"].removeprefix("Bearer ") not in self.valid:
            return failure(401, "Request had invalid authentication credentials.", "authError")
        asked = json.loads(heard.body)
        if heard.path.endswith("/searchAnalytics/query"):
            assert heard.path == f"/webmasters/v3/sites/{quote(self.property_id, safe='')}/searchAnalytics/query"
            rows = [{"keys": [url], "clicks": 1, "impressions": count} for url, count in self.impressions.items()]
            return Reply(200, json.dumps({"rows": rows}).encode())
        assert (heard.method, heard.path) == ("POST", "/v1/urlInspection/index:inspect")
        assert asked.keys() == {"inspectionUrl", "siteUrl", "languageCode"}
        assert asked["siteUrl"] == self.property_id
        if self.next:
            return self.next.pop(0)
        url = asked["inspectionUrl"]
        self.inspected.append(url)
        status = self.known.get(url, {"verdict": "PASS", "coverageState": "Submitted and indexed"})
        result = {
            "inspectionResultLink": "https://search.google.com/search-console/inspect?x",
            "indexStatusResult": {"robotsTxtState": "ALLOWED", "indexingState": "INDEXING_ALLOWED", **status},
            "mobileUsabilityResult": {"verdict": "VERDICT_UNSPECIFIED"},
        }
        return Reply(200, json.dumps({"inspectionResult": result}).encode())


@pytest.fixture
def google() -> Iterator[Inspector]:
    with listening() as listener:
        double = Inspector(listener.url)
        listener.answer = double.answer
        yield double


@pytest.fixture
def site(google: Inspector) -> Iterator[Site]:
    with scripted(
        {"/": page("/a", "/b"), "/a": page("/"), "/b": page("/"), "/lost": page("/"), "/old": page("/")}
    ) as own:
        listed = "".join(f"<url><loc>{own.url}{path}</loc></url>" for path in ("", "a", "b", "old"))
        own.routes["/sitemap.xml"] = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</urlset>'
        google.property_id = own.url
        google.owners = {(own.url, EMAIL)}
        google.impressions = {f"{own.url}lost": 9, f"{own.url}a": 5}
        yield own


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    with in_process(tmp_path, monkeypatch, capsys) as run:
        yield run


@pytest.fixture
def audit(google: Inspector, site: Site, tmp_path: Path, command: Command) -> Callable[..., dict[str, Any]]:
    (tmp_path / "account.json").write_text(google.account())
    (tmp_path / "site.toml").write_text(
        f'[site]\nurl = "{site.url}"\n[search_console]\nendpoint = "{google.endpoint}"\n'
        f'[audit]\nsearch_console = "{site.url}"\ngoogle_credentials = "account.json"\n'
        f'inspection_endpoint = "{google.url}/v1"\n'
    )

    def audited(*words: str) -> dict[str, Any]:
        ran = command("audit", "--config", "site.toml", "--format", "json", *FAST, *words)
        assert ran.code in (0, 10), ran.err
        report: dict[str, Any] = json.loads(ran.out)
        return report

    return audited


def found(report: dict[str, Any], rule: str) -> list[dict[str, Any]]:
    return [finding for finding in report["findings"] if finding["rule"] == rule]


def test_google_listed_pages_that_are_not_indexed_are_findings(
    google: Inspector, site: Site, audit: Callable[..., dict[str, Any]]
) -> None:
    google.known = {
        f"{site.url}b": {
            "verdict": "NEUTRAL",
            "coverageState": "Crawled - currently not indexed",
            "lastCrawlTime": "2026-11-01T05:06:07Z",
        },
        f"{site.url}a": {"verdict": "PASS", "coverageState": "Indexed", "googleCanonical": f"{site.url}a"},
        f"{site.url}lost": {
            "verdict": "NEUTRAL",
            "coverageState": "Duplicate, Google chose different canonical than user",
            "googleCanonical": f"{site.url}a",
            "userCanonical": f"{site.url}lost",
        },
    }
    report = audit("--set=audit.inspect_urls=10")
    assert sorted(google.inspected) == [f"{site.url}{path}" for path in ("", "a", "b", "lost", "old")]
    assert google.inspected[0] == f"{site.url}lost"  # an orphan that searchers see
    (unindexed,) = found(report, "google.unindexed")
    assert unindexed["url"] == f"{site.url}b"
    assert "Crawled - currently not indexed" in unindexed["sentence"]
    assert "last crawled the page on 2026-11-01" in unindexed["evidence"][0]
    (canonical,) = found(report, "google.canonical")
    assert (canonical["url"], canonical["impressions"]) == (f"{site.url}lost", 9)
    assert f"{site.url}a" in canonical["sentence"]


def test_ours_a_day_has_so_many_inspections_and_the_next_audit_knows_the_results(
    google: Inspector, site: Site, audit: Callable[..., dict[str, Any]]
) -> None:
    google.known = {f"{site.url}lost": {"verdict": "PASS", "googleCanonical": f"{site.url}b"}}
    report = audit("--set=audit.inspect_urls=2")
    assert len(google.inspected) == 2
    assert any("the index status of 1 of 4 listed pages is known" in note for note in report["notes"])
    report = audit("--set=audit.inspect_urls=2")
    assert len(google.inspected) == 2
    assert [finding["url"] for finding in found(report, "google.canonical")] == [f"{site.url}lost"]
    audit("--set=audit.inspect_urls=5")
    assert len(google.inspected) == len(set(google.inspected)) == 5


def test_ours_without_the_option_nothing_is_inspected_and_the_report_says_so(
    google: Inspector, audit: Callable[..., dict[str, Any]]
) -> None:
    report = audit()
    assert google.inspected == []
    assert report["unchecked"]["google.unindexed"] == "audit.inspect_urls is 0"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (failure(429, "Quota exceeded for quota metric.", "rateLimitExceeded"), "URL Inspection answered 429"),
        (failure(403, "You do not own this site.", "forbidden"), "URL Inspection answered 403"),
        (Reply(200, b"<html>"), "cannot be read"),
    ],
)
def test_ours_a_failure_of_the_api_is_a_note(
    google: Inspector, audit: Callable[..., dict[str, Any]], reply: Reply, said: str
) -> None:
    google.next = [reply] * 9
    report = audit("--set=audit.inspect_urls=5")
    assert any(note.startswith("5 pages were not inspected: ") and said in note for note in report["notes"])


def test_ours_a_limit_that_retries_reach_names_its_option(
    google: Inspector, audit: Callable[..., dict[str, Any]]
) -> None:
    google.next = [failure(503, "Try again.", "backendError")]
    report = audit("--set=audit.inspect_urls=3", "--set=fetch.retries=2")
    assert len(google.inspected) == 2
    (note,) = [note for note in report["notes"] if "not inspected" in note]
    assert note.startswith("1 page was not inspected: the limit of 3 requests per day is reached")
    assert note.endswith("raise audit.inspect_urls")


def test_ours_a_property_without_a_listed_page_is_a_note(
    google: Inspector, site: Site, audit: Callable[..., dict[str, Any]]
) -> None:
    google.property_id = "sc-domain:example.org"
    google.owners = {("sc-domain:example.org", EMAIL)}
    report = audit("--set=audit.inspect_urls=5", "--search-console", "sc-domain:example.org")
    assert google.inspected == []
    assert any("no listed page belongs to the property sc-domain:example.org" in note for note in report["notes"])


@pytest.mark.parametrize(
    ("canonical", "is_other"),
    [
        ("https://www.example.com/caf%C3%A9", False),
        ("https://www.example.com/caf\u00e9", False),
        ("https://WWW.example.com:443/caf%c3%a9", False),
        ("https://example.com/caf%C3%A9", True),
        ("https://www.example.com/caf%C3%A9?id=1", True),
        ("not a URL", True),
    ],
)
def test_rfc3986_6_2_another_spelling_of_a_url_is_no_other_canonical(canonical: str, is_other: bool) -> None:
    page = InspectionCandidate(Url(f"{SITE}/caf%C3%A9"), is_listed=True, is_orphan=False, impressions=0)
    status = IndexStatus(verdict="PASS", google_canonical=canonical, day=TODAY.isoformat())
    assert len(list(judge_candidates([page], {page.url: status}))) == is_other


def test_ours_a_page_that_is_indexed_later_is_resolved(
    google: Inspector, site: Site, audit: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    google.known = {f"{site.url}b": {"verdict": "NEUTRAL", "coverageState": "Discovered - currently not indexed"}}
    assert len(found(audit("--set=audit.inspect_urls=9"), "google.unindexed")) == 1
    google.known = {}
    (stored,) = tmp_path.rglob("google.db")
    with closing(sqlite3.connect(stored)) as db, db:  # a week passes
        db.execute("UPDATE inspection SET day = date(day, '-8 days')")
        db.execute("DELETE FROM request")
    report = audit("--set=audit.inspect_urls=9")
    assert google.inspected.count(f"{site.url}b") == 2
    assert google.inspected.count(f"{site.url}a") == 1
    assert found(report, "google.unindexed") == []
    (resolved,) = [each for each in report["mended"] if each["rule"] == "google.unindexed"]
    assert resolved["now"] == "Google has indexed it under its own URL"


def test_ours_the_option_needs_a_property(command: Command) -> None:
    ran = command("audit", "http://127.0.0.1:9/", "--set=audit.inspect_urls=5")
    assert ran.code == 2
    assert "--search-console" in ran.err


def test_ours_the_order_of_inspections_is_that_of_importance_and_age() -> None:
    rng = random.Random(20261123)
    for _ in range(200):
        pages = [
            InspectionCandidate(
                Url(f"{SITE}/{number}"), rng.random() < 0.6, rng.random() < 0.3, rng.choice((0, 0, 3, 50))
            )
            for number in range(rng.randrange(30))
        ]
        known = {
            each.url: IndexStatus(
                verdict=rng.choice(("PASS", "NEUTRAL", "FAIL")),
                day=(TODAY - timedelta(days=rng.randrange(60))).isoformat(),
            )
            for each in pages
            if rng.random() < 0.5
        }
        count = rng.randrange(10)
        chosen = choose_candidates(iter(pages), known, TODAY, count)
        wanted = [each for each in pages if each.is_listed or each.is_orphan]
        due = [each for each in wanted if each.url not in known or known[each.url].is_due(TODAY)]
        assert len(chosen) == min(count, len(due))
        assert set(chosen) <= set(due)
        urgent = [each for each in due if each.is_orphan and each.impressions]
        assert set(chosen[: len(urgent)]) <= set(urgent) or len(chosen) <= len(urgent)
        for finding in judge_candidates(iter(pages), known):
            assert not known[Url(finding.url)].is_indexed
