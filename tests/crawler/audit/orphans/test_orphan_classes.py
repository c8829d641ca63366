"""Which class a URL falls under, by what leads to it and who knows it."""

import pytest
from msgspec.structs import replace

from crawler.audit.claim import Source
from crawler.audit.graph.link_kind import Way
from crawler.audit.orphans.classes import NOBODY, Known, Standing, Thresholds, classes
from crawler.audit.orphans.duplicates import is_of_series
from crawler.audit.orphans.scanner_probes import is_probe
from crawler.model import State, Url

LIMITS = Thresholds(max_clicks=3, min_inlinks=1, min_visits=5)
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
        (Known(sources={Source.ANALYTICS}, views=1), True),
        (Known(sources={Source.ANALYTICS}, users=1), True),
        (Known(sources={Source.BACKLINKS}, domains=1), True),
        (Known(sources={Source.LOG}, bots=5, engines=5, dead=5), True),  # somebody links it
        (Known(sources={Source.LOG}, bots=4, engines=4, dead=4), False),
        (Known(sources={Source.LOG}, people=2, bots=3, engines=3, dead=5), True),
        (Known(sources={Source.LOG}, bots=12, engines=6, dead=12), False),
        (NOBODY, False),
    ],
)
def test_ours_a_dead_url_is_missed_when_it_was_there_or_people_come(known: Known, is_visited: bool) -> None:
    assert of(dead(404), known) == ({"gone.visited"} if is_visited else set())


@pytest.mark.parametrize(
    "source", [Source.SEARCH, Source.ANALYTICS, Source.BACKLINKS, Source.LIST, Source.CRAWL]
)
def test_ours_a_dead_url_that_somebody_names_is_told_also_if_nobody_comes(source: Source) -> None:
    assert of(dead(404), Known(sources={source})) == {"gone.named"}
    assert of(dead(410), Known(sources={source, Source.LOG}, people=1, dead=1)) == {"gone.named"}
    assert of(dead(404), Known(sources={source}, clicks=1)) == {"gone.visited"}


@pytest.mark.parametrize(
    "fails",
    [
        Standing(State.SERVER_ERROR, 500, 0, -1, 0),
        Standing(State.UNREACHABLE, None, 0, -1, 0),
        Standing(State.REDIRECT, 301, 0, -1, 0, is_circle=True),
    ],
)
def test_ours_what_fails_and_nothing_links_is_told_when_it_is_missed(fails: Standing) -> None:
    asked = Known(sources={Source.LOG}, people=1, ok=1)
    assert of(fails, asked) == of(fails, Known(sources={Source.SEARCH}, clicks=1)) == {"gone.down"}
    assert of(fails, Known(sources={Source.LOG}, bots=90, dead=90)) == of(fails) == set()
    assert of(replace(fails, is_probe=True), Known(sources={Source.LOG}, people=9, dead=9)) == set()
    assert of(replace(fails, ways=int(Way.FOLLOWED)), asked) == {"gone.failing"}


def test_ours_what_scanners_ask_for_is_missed_only_if_something_says_that_it_was_there() -> None:
    probe = Standing(State.CLIENT_ERROR, 404, 0, -1, 0, is_probe=True)
    asked = {"people": 50, "dead": 50}
    assert of(probe, Known(sources={Source.LOG}, **asked)) == set()
    assert of(probe, Known(sources={Source.LOG}, ok=1, **asked)) == {"gone.visited"}
    assert of(probe, Known(sources={Source.LOG, Source.LIST}, **asked)) == {"gone.visited"}
    linked = Standing(State.CLIENT_ERROR, 404, int(Way.FOLLOWED), 1, 1, is_probe=True)
    assert of(linked, Known(sources={Source.LOG}, **asked)) == {"gone.visited", "gone.linked"}


@pytest.mark.parametrize(
    "tail",
    [
        *(
            "wp-login.php",
            "blog/wp-login.php",
            "wp-trackback.php",
            "wp-cron.php?doing_wp_cron=1",
            "xmlrpc.php?rsd",
            ".env",
            "api/.env.local",
            ".git/config",
        ),
        *("vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php", "phpMyAdmin-5.1/index.php", "cgi-bin/luci"),
        *(
            "admin",
            "admin/",
            "actuator/health",
            "manager",
            "WP-ADMIN/setup-config.php",
            "//wp-includes/x.xml",
        ),
    ],
)
def test_ours_a_probe_is_told_by_its_path(tail: str) -> None:
    assert is_probe(Url(f"https://www.example.com/{tail}"))


@pytest.mark.parametrize(
    "tail",
    [
        *("", "admin/new-office/", "team/admin/", "blog/how-to-secure-wp-login.php.html", "environment/"),
        *(
            "?next=/wp-login.php",
            "git/",
            "cgi-bin-explained/",
            "old/recipes/",
            "actuators/",
            "en/login/",
            "login/",
            "telescope/",
            "owa-hotel/",
        ),
    ],
)
def test_ours_what_only_sounds_like_a_probe_is_none(tail: str) -> None:
    assert not is_probe(Url(f"https://www.example.com/{tail}"))


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


@pytest.mark.parametrize(
    "tail", ["page/2/", "blog/page-3.html", "?paged=4", "2026/05/news/comment-page-2/", "a/comments-page-3"]
)
def test_ours_a_further_page_of_a_list_is_told_by_its_url(tail: str) -> None:
    assert is_of_series(Url(f"https://www.example.com/{tail}"))


@pytest.mark.parametrize(
    "tail", ["2026/05/", "homepage-2/", "landing-page-2/", "the-page/2/", "page/", "?pages=2"]
)
def test_ours_other_numbers_are_no_series(tail: str) -> None:
    assert not is_of_series(Url(f"https://www.example.com/{tail}"))


def test_ours_sessions_views_and_users_are_the_same_visits() -> None:
    known = Known(people=1, bots=2, clicks=4, sessions=8, views=16, users=3, links=32, domains=5)
    assert known.visits == 1 + 2 + 4 + 16 + 32
