"""What keeps pages from being inspected is a note."""

from collections.abc import Callable
from typing import Any

import pytest
from doubles_console import EMAIL, failure
from doubles_inspector import Inspector
from doubles_listener import Reply
from scripted import Site


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (failure(429, "Quota exceeded for quota metric.", "rateLimitExceeded"), "URL Inspection answered 429"),
        pytest.param(
            failure(403, "You do not own this site.", "forbidden"),
            "URL Inspection answered 403",
            marks=pytest.mark.thorough,
        ),
        pytest.param(Reply(200, b"<html>"), "cannot be read", marks=pytest.mark.thorough),
    ],
)
def test_ours_a_failure_of_the_api_is_a_note(
    google: Inspector, audit: Callable[..., dict[str, Any]], reply: Reply, said: str
) -> None:
    google.next = [reply] * 9
    report = audit("--set=audit.inspect_urls=5")
    assert any(note.startswith("5 pages were not inspected: ") and said in note for note in report["notes"])


def test_ours_a_property_without_a_listed_page_is_a_note(
    google: Inspector, site: Site, audit: Callable[..., dict[str, Any]]
) -> None:
    google.property_id = "sc-domain:example.org"
    google.owners = {("sc-domain:example.org", EMAIL)}
    report = audit("--set=audit.inspect_urls=5", "--search-console", "sc-domain:example.org")
    assert google.inspected == []
    assert any("no listed page belongs to the property sc-domain:example.org" in note for note in report["notes"])
