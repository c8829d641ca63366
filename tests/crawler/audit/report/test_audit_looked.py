"""What an audit says of what it did not look at: nothing is fine that nobody saw."""

import pytest

from crawler.audit.claim import Account, Source
from crawler.audit.not_checked import A_DOZEN, NO_SOURCE, NOT_SEEN, absent, unchecked, undecided, why_usual
from crawler.audit.rules import GROUPS, TOLD

SITEMAP = Account(source=Source.SITEMAP, name="sitemap.xml", rows=3, used=3, bytes=900)
LOG = Account(source=Source.LOG, name="access.log", rows=3, used=3)
SEARCH = Account(source=Source.SEARCH, name="Pages.csv", rows=3, used=3)
LIST = Account(source=Source.LIST, name="urls.txt", rows=3, used=3)
LOST = Account(source=Source.SITEMAP, name="lost.xml", complete=False, faults=["no answer"])


@pytest.mark.parametrize(
    ("inputs", "names"),
    [
        ([], {"orphans", "gone.visited", "gone.down", "gone.named", "health", "media", "lint"}),
        (
            [SITEMAP],
            {"orphan.log", "orphan.search", "orphan.list", "gone.visited", "gone.down", "gone.named"},
        ),
        ([LOG], {"orphan.sitemap", "orphan.search", "orphan.list", "gone.named", "health", "media", "lint"}),
        ([SITEMAP, LOG, SEARCH, LIST], set()),
        ([LOST, LOG, SEARCH, LIST], {"orphan.sitemap", "health", "media", "lint"}),
    ],
)
def test_ours_what_has_no_source_is_not_checked(inputs: list[Account], names: set[str]) -> None:
    told = unchecked(inputs, media=True)
    assert told.keys() == names
    assert all(told.values())
    assert told.keys() <= {group.name for group in GROUPS} | TOLD.keys()
    assert (told.get("orphans") == NO_SOURCE) is (not inputs)


def test_ours_media_that_are_not_asked_for_are_not_checked() -> None:
    assert unchecked([SITEMAP, LOG, SEARCH, LIST], media=False) == {"media": "--no-media"}
    assert unchecked([], media=False)["media"] == "--no-media"


def test_ours_what_there_is_none_of_is_not_fine_unless_it_may_be_there_unseen() -> None:
    assert absent({}, has_media=True, has_versions=True) == {}
    assert absent({}, has_media=False, has_versions=False).keys() == {"media", "hreflang"}
    assert absent({"media", "hreflang"}, has_media=False, has_versions=False) == {}


def test_ours_what_most_of_many_pages_have_is_no_fault_of_each() -> None:
    assert "252 of 271 pages have no more than 1" in why_usual(252, 271, 1)
    assert not why_usual(100, 200, 1)
    assert not why_usual(A_DOZEN, A_DOZEN, 1)
    assert why_usual(A_DOZEN + 1, 2 * A_DOZEN, 1)


def test_ours_what_was_cut_short_or_read_in_part_is_not_decided() -> None:
    whole = [SITEMAP, LOG]
    assert undecided(whole, is_doubtful=False, stopped="", unasked=0) == {}
    doubtful = undecided(whole, is_doubtful=True, stopped="", unasked=0)
    assert doubtful == {"orphans": NOT_SEEN, "weak": NOT_SEEN, "reach": NOT_SEEN}
    cut = undecided(whole, is_doubtful=False, stopped="it was interrupted", unasked=0)
    assert cut.keys() == {"dead", "health", "links", "hreflang", "media"}
    passed = undecided(whole, is_doubtful=True, stopped="", unasked=1_200)
    assert passed["orphans"] == NOT_SEEN
    assert "1,200 URLs" in passed["gone.visited"]
    part = undecided([LOST, LOG], is_doubtful=False, stopped="", unasked=0)
    assert part.keys() == {"health", "media", "lint", "orphan.sitemap"}
    assert "lost.xml" in part["lint"]
