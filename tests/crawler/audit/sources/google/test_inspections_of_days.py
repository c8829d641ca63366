"""How many pages are inspected in a day, and what the next audit knows of them."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from doubles_console import failure
from doubles_inspector import Inspector, found
from scripted import Site


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


@pytest.mark.thorough
def test_ours_a_limit_that_retries_reach_names_its_option(
    google: Inspector, audit: Callable[..., dict[str, Any]]
) -> None:
    google.next = [failure(503, "Try again.", "backendError")]
    report = audit("--set=audit.inspect_urls=3", "--set=fetch.retries=2")
    assert len(google.inspected) == 2
    (note,) = [note for note in report["notes"] if "not inspected" in note]
    assert note.startswith("1 page was not inspected: the limit of 3 requests per day is reached")
    assert note.endswith("raise audit.inspect_urls")


@pytest.mark.thorough
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
