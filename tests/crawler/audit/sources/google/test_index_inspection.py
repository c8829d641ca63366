"""The index status of pages by URL Inspection, against a double of Google that follows its documentation."""

import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from audited import Command
from doubles_inspector import SITE, TODAY, Inspector, found
from scripted import Site

from crawler.audit.sources.google.inspection import (
    IndexStatus,
    InspectionCandidate,
    choose_candidates,
    judge_candidates,
)
from crawler.model import Url


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


def test_ours_without_the_option_nothing_is_inspected_and_the_report_says_so(
    google: Inspector, audit: Callable[..., dict[str, Any]]
) -> None:
    report = audit()
    assert google.inspected == []
    assert report["unchecked"]["google.unindexed"] == "audit.inspect_urls is 0"


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
