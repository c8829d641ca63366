"""Which class a URL falls under, by what leads to it and who knows it."""

import pytest

from crawler.claim import Source
from crawler.graph import Way
from crawler.model import State
from crawler.orphans import NOBODY, Known, Standing, Thresholds, classes

LIMITS = Thresholds(max_clicks=3, few_inlinks=1, min_visits=5)
LISTED = Known(sources={Source.SITEMAP})


def page(ways: int = 0, depth: int = -1, inlinks: int = 0, *, is_start: bool = False) -> Standing:
    return Standing(State.INDEXABLE, 200, ways, depth, inlinks, is_start)


def dead(status: int, ways: int = 0) -> Standing:
    return Standing(State.CLIENT_ERROR, status, ways, -1, 0)


def of(standing: Standing, known: Known = NOBODY) -> set[str]:
    return set(classes(standing, known, LIMITS))


@pytest.mark.parametrize(
    ("known", "rule"),
    [
        ({Source.SITEMAP}, "orphan.sitemap"),
        ({Source.SITEMAP, Source.LOG, Source.SEARCH}, "orphan.sitemap"),
        ({Source.SEARCH}, "orphan.search"),
        ({Source.ANALYTICS, Source.LOG}, "orphan.search"),
        ({Source.LOG}, "orphan.log"),
        ({Source.LOG, Source.LIST}, "orphan.log"),
        ({Source.BACKLINKS}, "orphan.list"),
        ({Source.CRAWL}, "orphan.list"),
        (set(), "orphan.island"),
    ],
)
def test_ours_an_orphan_is_of_the_class_of_who_knows_it(known: set[Source], rule: str) -> None:
    assert of(page(), Known(sources=known)) == {rule}


@pytest.mark.parametrize(
    ("ways", "rule"),
    [
        (Way.REDIRECT | Way.CANONICAL | Way.NOFOLLOW, "weak.redirect"),
        (Way.CANONICAL | Way.NOINDEX, "weak.canonical"),
        (Way.NOINDEX | Way.NOFOLLOW, "weak.noindex"),
        (Way.NOFOLLOW | Way.HEAD | Way.UNREACHED, "weak.nofollow"),
        (Way.HEAD | Way.UNREACHED, "weak.head"),
        (Way.UNREACHED, "orphan.island"),
    ],
)
def test_ours_the_best_of_the_weak_ways_names_the_class(ways: Way, rule: str) -> None:
    assert of(page(int(ways)), LISTED) == {rule}


def test_ours_one_link_that_counts_makes_a_page_no_orphan() -> None:
    assert of(page(int(Way.FOLLOWED | Way.NOFOLLOW), depth=2, inlinks=2), LISTED) == set()


def test_ours_a_page_at_the_limit_of_clicks_is_not_deep_and_one_beyond_it_is() -> None:
    assert of(page(Way.FOLLOWED, depth=3, inlinks=2), LISTED) == set()
    assert of(page(Way.FOLLOWED, depth=4, inlinks=2), LISTED) == {"reach.deep"}


def test_ours_few_inlinks_are_as_many_as_the_limit_says() -> None:
    assert of(page(Way.FOLLOWED, depth=1, inlinks=1), LISTED) == {"reach.few"}


def test_ours_the_start_needs_no_links_and_wants_to_be_listed() -> None:
    assert of(page(depth=0, is_start=True), LISTED) == set()
    assert of(page(depth=0, is_start=True)) == {"listed.missing"}


def test_ours_a_linked_page_in_no_sitemap_is_missing_there_and_an_orphan_is_not() -> None:
    assert "listed.missing" in of(page(Way.FOLLOWED, depth=1, inlinks=5))
    assert "listed.missing" in of(page(Way.NOFOLLOW))
    assert "listed.missing" not in of(page(Way.UNREACHED), Known(sources={Source.LOG}))


@pytest.mark.parametrize(
    ("known", "is_visited"),
    [
        (Known(sources={Source.LOG}, people=1, ok=1), True),
        (Known(sources={Source.LOG}, bots=1, ok=1), True),
        (Known(sources={Source.LOG}, bots=9, people=2, moved=11), False),  # guesses, moved to https like all
        (Known(sources={Source.LOG}, people=4, bots=90, dead=94), False),  # scanners guess
        (Known(sources={Source.LOG}, people=5, dead=5), True),
        (
            Known(sources={Source.LOG}, people=8, bots=16, dead=24),
            False,
        ),  # scanners that call themselves browsers
        (Known(sources={Source.SEARCH}, impressions=1), True),
        (Known(sources={Source.BACKLINKS}, links=1), True),
        (Known(sources={Source.LIST}), False),
        (NOBODY, False),
    ],
)
def test_ours_a_dead_url_is_missed_when_it_was_there_or_people_come(known: Known, is_visited: bool) -> None:
    assert of(dead(404), known) == ({"gone.visited"} if is_visited else set())


@pytest.mark.parametrize("status", [404, 410])
def test_ours_a_dead_url_that_pages_link_is_told(status: int) -> None:
    assert of(dead(status, Way.FOLLOWED)) == {"gone.linked"}
    assert of(dead(status, Way.HEAD)) == set()


@pytest.mark.parametrize("status", [400, 401, 403, 405, 429, 451])
def test_rfc9110_what_refuses_us_is_not_gone(status: int) -> None:
    assert of(dead(status, Way.FOLLOWED), Known(sources={Source.SEARCH}, clicks=9)) == set()


@pytest.mark.parametrize(
    "state", [State.NOINDEX, State.REDIRECT, State.CANONICAL_ELSEWHERE, State.SERVER_ERROR]
)
def test_ours_what_is_no_page_is_no_orphan(state: State) -> None:
    assert of(Standing(state, 200, 0, -1, 0), LISTED) == set()
