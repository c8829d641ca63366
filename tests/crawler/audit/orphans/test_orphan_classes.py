"""Which class a URL falls under, by what leads to it and who knows it."""

import pytest
from msgspec.structs import replace

from crawler.audit.graph.links import LinkKind
from crawler.audit.orphans.classes import (
    NO_SOURCES,
    SourceStats,
    Thresholds,
    UrlFacts,
    is_scanner_probe,
    orphan_classes,
)
from crawler.audit.orphans.duplicates import is_paginated
from crawler.audit.rules import needs_complete
from crawler.audit.source_record import SourceKind
from crawler.model import State, Url

LIMITS = Thresholds(max_clicks=3, min_inlinks=1, min_visits=5)
LISTED = SourceStats(sources={SourceKind.SITEMAP})


def page(ways: int = 0, depth: int = -1, inlinks: int = 0, *, is_start: bool = False) -> UrlFacts:
    return UrlFacts(State.INDEXABLE, 200, ways, depth, inlinks, is_start)


def dead(status: int, ways: int = 0) -> UrlFacts:
    return UrlFacts(State.CLIENT_ERROR, status, ways, -1, 0)


def of(standing: UrlFacts, known: SourceStats = NO_SOURCES) -> set[str]:
    return set(orphan_classes(standing, known, LIMITS))


@pytest.mark.parametrize(
    ("known", "rule"),
    [
        ({SourceKind.SITEMAP}, "orphan.sitemap"),
        ({SourceKind.SITEMAP, SourceKind.LOG, SourceKind.SEARCH}, "orphan.sitemap"),
        ({SourceKind.SEARCH}, "orphan.search"),
        ({SourceKind.ANALYTICS, SourceKind.LOG}, "orphan.search"),
        ({SourceKind.LOG}, "orphan.log"),
        ({SourceKind.LOG, SourceKind.LIST}, "orphan.log"),
        ({SourceKind.BACKLINKS}, "orphan.list"),
        ({SourceKind.CRAWL}, "orphan.list"),
        (set(), "orphan.island"),
    ],
)
def test_ours_an_orphan_is_of_the_class_of_who_knows_it(known: set[SourceKind], rule: str) -> None:
    assert of(page(), SourceStats(sources=known, people=1)) == {rule}


@pytest.mark.parametrize("bots", [0, 200])
def test_ours_a_page_that_only_machines_request_is_no_orphan(bots: int) -> None:
    assert of(page(), SourceStats(sources={SourceKind.LOG}, bots=bots, ok=200)) == set()
    assert of(page(), SourceStats(sources={SourceKind.LOG}, bots=bots + 1, engines=1)) == {"orphan.log"}
    assert of(page(LinkKind.NOFOLLOW), SourceStats(sources={SourceKind.LOG}, bots=bots)) >= {"weak.nofollow"}


@pytest.mark.parametrize(
    ("ways", "rule"),
    [
        (LinkKind.REDIRECT | LinkKind.CANONICAL | LinkKind.NOFOLLOW, "weak.redirect"),
        (LinkKind.CANONICAL | LinkKind.NOINDEX, "weak.canonical"),
        (LinkKind.NOINDEX | LinkKind.NOFOLLOW, "weak.noindex"),
        (LinkKind.NOFOLLOW | LinkKind.HEAD | LinkKind.UNREACHED, "weak.nofollow"),
        (LinkKind.HEAD | LinkKind.UNREACHED, "weak.head"),
        (LinkKind.UNREACHED, "orphan.island"),
    ],
)
def test_ours_the_best_of_the_weak_ways_names_the_class(ways: LinkKind, rule: str) -> None:
    assert of(page(int(ways)), LISTED) == {rule}


def test_ours_one_link_that_counts_makes_a_page_no_orphan() -> None:
    assert of(page(int(LinkKind.FOLLOWED | LinkKind.NOFOLLOW), depth=2, inlinks=2), LISTED) == set()


def test_ours_a_page_at_the_limit_of_clicks_is_not_deep_and_one_beyond_it_is() -> None:
    assert of(page(LinkKind.FOLLOWED, depth=3, inlinks=2), LISTED) == set()
    assert of(page(LinkKind.FOLLOWED, depth=4, inlinks=2), LISTED) == {"reach.deep"}


def test_ours_few_inlinks_are_as_many_as_the_limit_says() -> None:
    assert of(page(LinkKind.FOLLOWED, depth=1, inlinks=1), LISTED) == {"reach.few"}


def test_ours_the_start_needs_no_links_and_wants_to_be_listed() -> None:
    assert of(page(depth=0, is_start=True), LISTED) == set()
    assert of(page(depth=0, is_start=True)) == {"listed.missing"}


def test_ours_a_linked_page_in_no_sitemap_is_missing_there_and_an_orphan_is_not() -> None:
    assert "listed.missing" in of(page(LinkKind.FOLLOWED, depth=1, inlinks=5))
    assert "listed.missing" in of(page(LinkKind.NOFOLLOW))
    assert "listed.missing" not in of(page(LinkKind.UNREACHED), SourceStats(sources={SourceKind.LOG}))


@pytest.mark.parametrize(
    ("known", "is_visited"),
    [
        (SourceStats(sources={SourceKind.LOG}, people=1, ok=1), True),
        (SourceStats(sources={SourceKind.LOG}, bots=1, ok=1), True),
        (SourceStats(sources={SourceKind.LOG}, bots=9, people=2, moved=11), False),  # guesses, moved to https like all
        (SourceStats(sources={SourceKind.LOG}, people=4, bots=90, dead=94), False),  # scanners guess
        (SourceStats(sources={SourceKind.LOG}, people=5, dead=5), True),
        (
            SourceStats(sources={SourceKind.LOG}, people=8, bots=16, dead=24),
            False,
        ),  # scanners that call themselves browsers
        (SourceStats(sources={SourceKind.SEARCH}, impressions=1), True),
        (SourceStats(sources={SourceKind.BACKLINKS}, links=1), True),
        (SourceStats(sources={SourceKind.ANALYTICS}, views=1), True),
        (SourceStats(sources={SourceKind.ANALYTICS}, users=1), True),
        (SourceStats(sources={SourceKind.BACKLINKS}, domains=1), True),
        (SourceStats(sources={SourceKind.LOG}, bots=5, engines=5, dead=5), True),  # somebody links it
        (SourceStats(sources={SourceKind.LOG}, bots=4, engines=4, dead=4), False),
        (SourceStats(sources={SourceKind.LOG}, people=2, bots=3, engines=3, dead=5), True),
        (SourceStats(sources={SourceKind.LOG}, bots=12, engines=6, dead=12), False),
        (NO_SOURCES, False),
    ],
)
def test_ours_a_dead_url_is_missed_when_it_was_there_or_people_come(known: SourceStats, is_visited: bool) -> None:
    assert of(dead(404), known) == ({"gone.visited"} if is_visited else set())


def test_ours_a_soft_404_that_only_logs_name_needs_as_many_requests_as_a_dead_url() -> None:
    missing = UrlFacts(State.SOFT_404, 200, 0, -1, 0)
    mistyped = SourceStats(sources={SourceKind.LOG}, people=4, bots=2, ok=6)
    missed = SourceStats(sources={SourceKind.LOG}, people=5, bots=2, ok=7)
    guessed = SourceStats(sources={SourceKind.LOG}, people=5, bots=9, ok=14)
    assert [of(missing, known) for known in (mistyped, missed, guessed)] == [set(), {"gone.soft"}, set()]
    assert of(replace(missing, is_probe=True), missed) == set()
    assert of(missing, SourceStats(sources={SourceKind.LOG, SourceKind.SITEMAP}, people=1)) == {"gone.soft"}
    assert of(replace(missing, ways=int(LinkKind.FOLLOWED)), mistyped) == {"gone.soft"}


@pytest.mark.parametrize(
    "source", [SourceKind.SEARCH, SourceKind.ANALYTICS, SourceKind.BACKLINKS, SourceKind.LIST, SourceKind.CRAWL]
)
def test_ours_a_dead_url_that_somebody_names_is_told_also_if_nobody_comes(source: SourceKind) -> None:
    assert of(dead(404), SourceStats(sources={source})) == {"gone.named"}
    assert of(dead(410), SourceStats(sources={source, SourceKind.LOG}, people=1, dead=1)) == {"gone.named"}
    assert of(dead(404), SourceStats(sources={source}, clicks=1)) == {"gone.visited"}


@pytest.mark.parametrize(
    "fails",
    [
        UrlFacts(State.SERVER_ERROR, 500, 0, -1, 0),
        UrlFacts(State.UNREACHABLE, None, 0, -1, 0),
        UrlFacts(State.REDIRECT, 301, 0, -1, 0, is_redirect_loop=True),
    ],
)
def test_ours_what_fails_and_nothing_links_is_told_when_it_is_missed(fails: UrlFacts) -> None:
    asked = SourceStats(sources={SourceKind.LOG}, people=1, ok=1)
    assert of(fails, asked) == of(fails, SourceStats(sources={SourceKind.SEARCH}, clicks=1)) == {"gone.down"}
    assert of(fails, SourceStats(sources={SourceKind.LOG}, bots=90, dead=90)) == of(fails) == set()
    assert of(replace(fails, is_probe=True), SourceStats(sources={SourceKind.LOG}, people=9, dead=9)) == set()
    assert of(replace(fails, ways=int(LinkKind.FOLLOWED)), asked) == {"gone.failing"}


def test_ours_what_scanners_ask_for_is_missed_only_if_something_says_that_it_was_there() -> None:
    probe = UrlFacts(State.CLIENT_ERROR, 404, 0, -1, 0, is_probe=True)
    asked = {"people": 50, "dead": 50}
    assert of(probe, SourceStats(sources={SourceKind.LOG}, **asked)) == set()
    assert of(probe, SourceStats(sources={SourceKind.LOG}, ok=1, **asked)) == {"gone.visited"}
    assert of(probe, SourceStats(sources={SourceKind.LOG, SourceKind.LIST}, **asked)) == {"gone.visited"}
    linked = UrlFacts(State.CLIENT_ERROR, 404, int(LinkKind.FOLLOWED), 1, 1, is_probe=True)
    assert of(linked, SourceStats(sources={SourceKind.LOG}, **asked)) == {"gone.visited", "gone.linked"}


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
        *("admin", "admin/", "actuator/health", "manager", "WP-ADMIN/setup-config.php", "//wp-includes/x.xml"),
    ],
)
def test_ours_a_probe_is_told_by_its_path(tail: str) -> None:
    assert is_scanner_probe(Url(f"https://www.example.com/{tail}"))


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
    assert not is_scanner_probe(Url(f"https://www.example.com/{tail}"))


@pytest.mark.parametrize("status", [404, 410])
def test_ours_a_dead_url_that_pages_link_is_told(status: int) -> None:
    for way in (LinkKind.FOLLOWED, LinkKind.UNREACHED):  # an orphan has visitors, too
        assert of(dead(status, way)) == {"gone.linked"}
    assert of(dead(status, LinkKind.HEAD)) == set()


@pytest.mark.parametrize("status", [400, 401, 403, 405, 429, 451])
def test_rfc9110_what_refuses_us_is_not_gone(status: int) -> None:
    assert of(dead(status, LinkKind.FOLLOWED), SourceStats(sources={SourceKind.SEARCH}, clicks=9)) == set()


@pytest.mark.parametrize("state", [State.NOINDEX, State.REDIRECT, State.CANONICAL_ELSEWHERE, State.SERVER_ERROR])
def test_ours_what_is_no_page_is_no_orphan(state: State) -> None:
    assert of(UrlFacts(state, 200, 0, -1, 0), LISTED) == set()


@pytest.mark.parametrize(
    "tail", ["page/2/", "blog/page-3.html", "?paged=4", "2026/05/news/comment-page-2/", "a/comments-page-3"]
)
def test_ours_a_further_page_of_a_list_is_told_by_its_url(tail: str) -> None:
    assert is_paginated(Url(f"https://www.example.com/{tail}"))


@pytest.mark.parametrize("tail", ["2026/05/", "homepage-2/", "landing-page-2/", "the-page/2/", "page/", "?pages=2"])
def test_ours_other_numbers_are_no_series(tail: str) -> None:
    assert not is_paginated(Url(f"https://www.example.com/{tail}"))


def test_ours_sessions_views_and_users_are_the_same_visits() -> None:
    known = SourceStats(people=1, bots=2, clicks=4, sessions=8, views=16, users=3, links=32, domains=5)
    assert known.visits == 1 + 2 + 4 + 16 + 32


def test_ours_a_page_that_only_scripts_link_is_an_orphan_without_them() -> None:
    drawn = UrlFacts(State.INDEXABLE, 200, LinkKind.FOLLOWED, 2, 5, is_drawn=True)
    assert of(drawn, LISTED) == {"render.orphan"}
    assert needs_complete("render.orphan")
    assert not needs_complete("render.links")
