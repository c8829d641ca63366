"""What a crawl did not see makes it doubtful whether an orphan is one, and each doubt says what helps."""

from typing import Any

import pytest
from msgspec import structs

from crawler.audit.finding import Certainty
from crawler.audit.orphans.certainty import (
    MAX_SCRIPTED,
    CrawlCoverage,
    EndedUrls,
    best_certainty,
    is_mostly_right,
    limits_of_crawl,
)
from crawler.config.config import Config
from crawler.crawl.assembly import render_remedy
from crawler.model import State
from crawler.render.document import NO_SANDBOX_REMEDY

PAGE = "https://www.example.com/hub"
SCRIPTED: dict[str, Any] = {"scripted": EndedUrls(2, PAGE, "/a.js for <nav>"), "render_remedy": "Do this"}


def ends(state: State, status: int | None = None, count: int = 1, reason: str = "") -> CrawlCoverage:
    return CrawlCoverage(
        end_states={(State.INDEXABLE, 200): EndedUrls(9, PAGE), (state, status): EndedUrls(count, PAGE, reason)}
    )


def failed(count: int, *, of: int, **more: Any) -> CrawlCoverage:
    answered = {(State.INDEXABLE, 200): EndedUrls(of, PAGE), (State.SERVER_ERROR, 500): EndedUrls(count, PAGE)}
    return CrawlCoverage(end_states=answered, **more)


def test_ours_a_crawl_that_saw_everything_leaves_no_doubt() -> None:
    seen = {
        (State.INDEXABLE, 200): EndedUrls(100, PAGE),
        (State.NOINDEX, 200): EndedUrls(3, PAGE),
        (State.REDIRECT, 301): EndedUrls(3, PAGE),
        (State.CLIENT_ERROR, 404): EndedUrls(3, PAGE),
        (State.CANONICAL_ELSEWHERE, 200): EndedUrls(3, PAGE),
        (State.WRONG_TYPE, 200): EndedUrls(3, PAGE),
        (State.BAD_ANSWER, 302): EndedUrls(1, PAGE),  # a redirect in a circle always is one
        (State.BAD_ANSWER, 204): EndedUrls(1, PAGE),
    }
    assert limits_of_crawl(CrawlCoverage(end_states=seen)) == []


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (
            ends(State.ROBOTS, reason="robots.txt line 2: Disallow: /p"),
            ("robots.txt line 2", "--set obey.robots=false", PAGE),
        ),
        (ends(State.SERVER_ERROR, 500, reason="answered 500"), ("1 URL failed", "answered 500", PAGE)),
        (ends(State.UNREACHABLE), ("failed (unreachable)", PAGE)),
        (ends(State.PARSE_FAILED, 200, 2), ("2 URLs failed (parse failed)",)),
        (ends(State.CLIENT_ERROR, 429), ("failed",)),
        (ends(State.CLIENT_ERROR, 403, 7), ("7 URLs refused the crawl", "--basic-auth")),
        (ends(State.BAD_ANSWER, 203, reason="answered 203"), ("1 URL failed", "answered 203")),
        (ends(State.TRAP, None, 2), ("2 URLs look like parts of a crawler trap", "scope.max_repeats")),
        (
            CrawlCoverage(end_states={}, out_of_scope=EndedUrls(2, PAGE)),
            ("outside the directory", PAGE, "--set audit.trust_blocked=true"),
        ),
        (CrawlCoverage(end_states={}, alias_urls=EndedUrls(2, PAGE)), ("another name", PAGE, "--max-unlinked")),
        (ends(State.TOO_DEEP, None, 4), ("4 URLs were further", "scope.max_depth")),
        (ends(State.EXCLUDED), ("--exclude",)),
        (ends(State.NOFOLLOW, None, 2), ("nofollow", "--max-unlinked")),
        (ends(State.PENDING, None, 5), ("5 URLs were not visited", "Run the same command again")),
        (
            CrawlCoverage(end_states={}, stopped="the limit of pages (--max-pages) was reached"),
            ("--max-pages", "Run the same"),
        ),
        (CrawlCoverage(end_states={}, cut=EndedUrls(1, PAGE)), ("in part only", "fetch.max_body")),
        (
            CrawlCoverage(end_states={}, no_robots=("https://a.example",)),
            ("robots.txt could not be fetched from https://a.example",),
        ),
        (CrawlCoverage(end_states={}, **SCRIPTED), ("JavaScript may add links to 2 pages", PAGE, "/a.js", "Do this")),
        (CrawlCoverage(end_states={}, linked_pages=1, **SCRIPTED), ("lead to only 1 page. Do this",)),
        (CrawlCoverage(end_states={}, scripted=EndedUrls(MAX_SCRIPTED, PAGE)), ("10 pages or more, such as",)),
    ],
)
def test_ours_whatever_was_not_read_is_a_doubt_with_a_remedy(seen: CrawlCoverage, words: tuple[str, ...]) -> None:
    (said,) = limits_of_crawl(seen)
    assert all(word in said for word in words), said


def test_ours_what_is_blocked_may_be_trusted_and_what_failed_may_not() -> None:
    states = [(State.ROBOTS, None), (State.CLIENT_ERROR, 401), (State.TRAP, None), (State.NOFOLLOW, None)]
    blocked = {each: EndedUrls(2, PAGE) for each in states}
    assert len(limits_of_crawl(CrawlCoverage(end_states=blocked, out_of_scope=EndedUrls(1, PAGE)))) == 5
    assert limits_of_crawl(CrawlCoverage(end_states=blocked, out_of_scope=EndedUrls(1, PAGE), trust_blocked=True)) == []
    assert limits_of_crawl(
        CrawlCoverage(end_states={(State.SERVER_ERROR, 503): EndedUrls(1, PAGE)}, trust_blocked=True)
    )


def test_ours_scripts_that_were_not_run_make_findings_likely_at_most() -> None:
    assert best_certainty(CrawlCoverage(end_states={}, **SCRIPTED)) is Certainty.LIKELY
    assert best_certainty(failed(1, of=99, **SCRIPTED)) is Certainty.LIKELY
    assert best_certainty(CrawlCoverage(end_states={}, linked_pages=3, **SCRIPTED)) is Certainty.INCONCLUSIVE
    assert best_certainty(CrawlCoverage(end_states={}, cut=EndedUrls(1, PAGE), **SCRIPTED)) is Certainty.INCONCLUSIVE


def test_ours_few_linked_pages_and_scripts_without_a_place_are_no_doubt() -> None:
    assert limits_of_crawl(CrawlCoverage(end_states={}, linked_pages=1, scripted=EndedUrls(0, ""))) == []


def test_ours_what_is_too_long_for_a_sitemap_and_was_read_is_no_doubt() -> None:
    long = EndedUrls(1, "https://www.example.com/" + "x" * 9_000)
    assert not limits_of_crawl(CrawlCoverage(end_states={(State.TOO_LONG, 200): long, (State.EXCLUDED, 200): long}))
    (doubt,) = limits_of_crawl(CrawlCoverage(end_states={(State.TOO_LONG, None): long}))
    assert doubt.startswith("1 URL was too long to be fetched")
    assert len(doubt) < 300


@pytest.mark.parametrize(
    ("seen", "certainty"),
    [
        (CrawlCoverage(end_states={(State.INDEXABLE, 200): EndedUrls(99, PAGE)}), "certain"),
        (structs.replace(ends(State.ROBOTS), unread=[9]), "inconclusive"),
        (failed(1, of=100, unread=range(0)), "likely"),
        (failed(50, of=100, unread=range(0)), "likely"),  # earlier visits know what they link to
        (failed(3, of=100, unread=range(3)), "likely"),
        (failed(4, of=100, unread=range(4)), "inconclusive"),
        (failed(4, of=100, unread=range(3)), "likely"),
        (
            structs.replace(
                failed(1, of=34, unread=[9]),
                end_states={(State.INDEXABLE, 200): EndedUrls(34, PAGE), (State.ROBOTS, None): EndedUrls(1, PAGE)},
            ),
            "likely",
        ),
        (failed(1, of=100, unread=range(0), no_robots=("https://a.example",)), "inconclusive"),
        (failed(1, of=100, unread=range(0), stopped="it was interrupted"), "inconclusive"),
    ],
)
def test_ours_failed_pages_alone_leave_findings_likely(seen: CrawlCoverage, certainty: str) -> None:
    assert best_certainty(seen) == certainty


@pytest.mark.parametrize(("mistaken", "findings", "right"), [(2, 100, True), (2.1, 100, False), (0.01, 0, True)])
def test_ours_likely_findings_are_nearly_all_right(mistaken: float, findings: int, right: bool) -> None:
    assert is_mostly_right(mistaken, findings) is right


def test_ours_root_reads_the_remedy_for_chromium_with_the_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert render_remedy(Config()) == NO_SANDBOX_REMEDY
