"""What an audit says of what it did not look at: nothing is fine that nobody saw."""

import pytest

from crawler.audit.rules import REPORTED_RULES, RULE_GROUPS
from crawler.audit.source_record import SourceKind, SourceReport
from crawler.audit.verdict import (
    CRAWL_INCOMPLETE,
    MAX_ALWAYS_REPORTED,
    NO_SOURCE_GIVEN,
    inconclusive,
    not_checked,
    nothing_to_check,
    why_inlinks_not_reported,
)

SITEMAP = SourceReport(source=SourceKind.SITEMAP, name="sitemap.xml", rows=3, used=3, bytes=900)
LOG = SourceReport(source=SourceKind.LOG, name="access.log", rows=3, used=3)
SEARCH = SourceReport(source=SourceKind.SEARCH, name="Pages.csv", rows=3, used=3)
LIST = SourceReport(source=SourceKind.LIST, name="urls.txt", rows=3, used=3)
LOST = SourceReport(source=SourceKind.SITEMAP, name="lost.xml", complete=False, faults=["no answer"])


@pytest.mark.parametrize(
    ("inputs", "names"),
    [
        ([], {"orphans", "bots.uncrawled", "gone.visited", "gone.down", "gone.named", "health", "media", "lint"}),
        (
            [SITEMAP],
            {"bots.uncrawled", "orphan.log", "orphan.search", "orphan.list", "gone.visited", "gone.down", "gone.named"},
        ),
        ([LOG], {"orphan.sitemap", "orphan.search", "orphan.list", "gone.named", "health", "media", "lint"}),
        ([SITEMAP, LOG, SEARCH, LIST], set()),
        ([LOST, LOG, SEARCH, LIST], {"orphan.sitemap", "health", "media", "lint"}),
    ],
)
def test_ours_what_has_no_source_is_not_checked(inputs: list[SourceReport], names: set[str]) -> None:
    told = not_checked(inputs, media=True)
    assert told.keys() == names
    assert all(told.values())
    assert told.keys() <= {group.name for group in RULE_GROUPS} | REPORTED_RULES.keys()
    assert (told.get("orphans") == NO_SOURCE_GIVEN) is (not inputs)


def test_ours_media_that_are_not_asked_for_are_not_checked() -> None:
    assert not_checked([SITEMAP, LOG, SEARCH, LIST], media=False) == {"media": "audit.media=false"}
    assert not_checked([], media=False)["media"] == "audit.media=false"


def test_ours_what_there_is_none_of_is_not_fine_unless_it_may_be_there_unseen() -> None:
    assert nothing_to_check({}, has_media=True, has_versions=True, unrendered="") == {}
    assert nothing_to_check({}, has_media=False, has_versions=False, unrendered="no browser").keys() == {
        *("media", "hreflang", "render")
    }
    assert nothing_to_check({"media", "hreflang"}, has_media=False, has_versions=False, unrendered="") == {}


def test_ours_what_most_of_many_pages_have_is_no_fault_of_each() -> None:
    assert "252 of 271 pages have at most 1" in why_inlinks_not_reported(252, 271, 1)
    assert not why_inlinks_not_reported(100, 200, 1)
    assert not why_inlinks_not_reported(MAX_ALWAYS_REPORTED, MAX_ALWAYS_REPORTED, 1)
    assert why_inlinks_not_reported(MAX_ALWAYS_REPORTED + 1, 2 * MAX_ALWAYS_REPORTED, 1)


def test_ours_what_was_cut_short_or_read_in_part_is_not_decided() -> None:
    whole = [SITEMAP, LOG]
    assert inconclusive(whole, is_doubtful=False, stopped="", unasked=0) == {}
    doubtful = inconclusive(whole, is_doubtful=True, stopped="", unasked=0)
    assert doubtful == {"orphans": CRAWL_INCOMPLETE, "weak": CRAWL_INCOMPLETE, "reach": CRAWL_INCOMPLETE}
    cut = inconclusive(whole, is_doubtful=False, stopped="it was interrupted", unasked=0)
    assert cut.keys() == {"dead", "health", "links", "hreflang", "targets", "pages", "media"}
    passed = inconclusive(whole, is_doubtful=True, stopped="", unasked=1_200)
    assert passed["orphans"] == CRAWL_INCOMPLETE
    assert "1,200 URLs" in passed["gone.visited"]
    part = inconclusive([LOST, LOG], is_doubtful=False, stopped="", unasked=0)
    assert part.keys() == {"health", "media", "lint", "orphan.sitemap"}
    assert "lost.xml" in part["lint"]
