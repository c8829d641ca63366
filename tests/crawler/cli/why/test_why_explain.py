"""What is said of URLs that were never met: other spellings of them, and what the rules would do."""

import pytest

from crawler.cli.why.rules import CrawlRules, predict, robots_topic
from crawler.cli.why.suggestions import nearest_urls, other_spellings
from crawler.model import Url
from crawler.robots.rules import allow_all, disallow_all, parse_robots
from crawler.url.scope import CrawlBounds, Scope

HOME = Url("https://example.com/docs/")
SCOPE = Scope(Url("https://example.com/docs/sitemap.xml"), exclude=("*/old/*",), bounds=CrawlBounds(max_depth=3))
ROBOTS = parse_robots(b"User-agent: *\nDisallow: /docs/no\n", "Siteatlas/1.0", 0.0)


@pytest.mark.parametrize(
    ("url", "other", "how"),
    [
        ("https://example.com/a", "https://example.com/a/", "with a slash at the end"),
        ("https://example.com/a", "http://example.com/a", "with http"),
        ("http://www.example.com/a", "http://example.com/a", "without www"),
        ("https://example.com/a/index.php?x=1", "https://example.com/a/?x=1", "without index.php"),
        ("https://example.com/a/", "https://example.com/a/index.html", "with index.html"),
        ("https://example.com/a).", "https://example.com/a)", "without the punctuation at the end"),
        ("https://example.com/a%2Cb", "https://example.com/a,b", "with other characters escaped"),
        ("https://example.com/a,b", "https://example.com/a%2Cb", "with other characters escaped"),
        ("http://example.com/a", "https://www.example.com/a", "with https, with www"),
    ],
)
def test_ours_other_spellings_are_named_by_what_differs(url: str, other: str, how: str) -> None:
    found = other_spellings(Url(url))
    assert found[Url(other)] == how
    assert url not in found


def test_ours_spellings_stay_few_and_the_nearest_come_first() -> None:
    found = other_spellings(Url("http://www.example.com/a/b/c.html?d=e&f=g"))
    assert len(found) < 100
    hows = list(found.values())
    assert "," not in hows[0]
    assert hows == sorted(hows, key=lambda how: how.count(", "))


def test_ours_the_same_spelling_wins_over_another_case_and_both_over_a_likeness() -> None:
    url = Url("https://example.com/A")
    known = [Url("https://example.com/a/"), Url("https://example.com/a"), Url("https://example.com/A/")]
    assert nearest_urls(url, other_spellings(url), known, [Url("https://example.com/AB")]) == [
        ("https://example.com/a", "with different upper and lower case"),
        ("https://example.com/A/", "with a slash at the end"),
        ("https://example.com/a/", "with a slash at the end, with different upper and lower case"),
    ]
    alike = [Url("https://example.com/boats"), Url("https://example.com/other")]
    assert nearest_urls(Url("https://example.com/baots"), {}, [], alike) == [(alike[0], "similar spelling")]


@pytest.mark.parametrize(
    ("url", "state"),
    [
        ("https://example.com/docs/", None),
        ("https://example.com/docs/a", None),
        ("https://example.com/docs/no", "blocked by robots.txt"),
        ("https://example.com/docs/old/a", "excluded"),
        ("https://example.com/other", "out of scope"),
        (f"https://example.com/docs/{'x' * 2100}", "too long"),
        (f"https://example.com/docs/{'x' * 9000}", "too long"),
    ],
)
def test_ours_the_rules_of_the_crawl_say_what_would_become_of_a_url(url: str, state: str | None) -> None:
    told = predict(Url(url), CrawlRules(SCOPE, HOME, ROBOTS))
    assert told.values["state"] == state
    assert told.values["asked_for"] == (state is None or len(url) in range(2048, 8192))


def test_ours_robots_counts_as_far_as_it_is_known_and_obeyed() -> None:
    url = Url("https://example.com/docs/no")
    assert predict(url, CrawlRules(SCOPE, HOME, ROBOTS, obey_robots=False)).values["state"] is None
    assert predict(url, CrawlRules(SCOPE, HOME)).lines[0] == "a run would fetch it, unless robots.txt forbids that"
    lost = CrawlRules(SCOPE, HOME, disallow_all("robots.txt answered 503", 0.0))
    assert predict(url, lost).lines == ["its state would be: blocked by robots.txt (robots.txt answered 503)"]


def test_rfc9309_2_3_1_4_a_copy_that_holds_is_told_with_what_was_answered_since() -> None:
    policy = CrawlRules(SCOPE, HOME, ROBOTS, 60.0, "robots.txt answered 503", is_robots_copy=True)
    assert robots_topic(Url("https://example.com/docs/no"), policy).lines == [
        "blocked: robots.txt line 2: Disallow: /docs/no",
        "as of 1970-01-01 00:01:00Z: robots.txt answered 503; the previous copy still applies",
    ]
    lost = CrawlRules(SCOPE, HOME, disallow_all("robots.txt answered 503", 0.0), 60.0, "robots.txt answered 503")
    assert robots_topic(HOME, lost).lines == ["blocked: robots.txt answered 503", "as of 1970-01-01 00:01:00Z"]
    none = CrawlRules(SCOPE, HOME, allow_all("robots.txt answered 404: everything is allowed", 0.0), obey_robots=False)
    assert robots_topic(HOME, none).lines == [
        "allowed: robots.txt answered 404: everything is allowed",
        "as of 1970-01-01 00:00:00Z",
        "the configuration ignores robots.txt",
    ]
