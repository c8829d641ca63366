"""Entries of sitemaps against what visits say of their URLs, and their dates against what is known of changes."""

from datetime import UTC, datetime

import pytest

from crawler.audit.health.entries import (
    ListedMedia,
    MediaRole,
    PublishedEntry,
    check_duplicate_spellings,
    check_entry,
    check_media_url,
)
from crawler.audit.health.lastmod import PageDates, check_lastmod
from crawler.audit.health.visit import VisitedUrl
from crawler.audit.rules import RULES
from crawler.model import Failure, Reply, State, Url

PAGE = "https://example.com/a"


def entry(lastmod: str = "", loc: str = PAGE, **more: object) -> PublishedEntry:
    return PublishedEntry(loc=loc, url=PAGE, file="sitemap.xml", line=4, lastmod=lastmod, **more)  # type: ignore[arg-type]


def visited(state: str, status: int | None = 200, reason: str = "", target: str = "", **more: object) -> VisitedUrl:
    return VisitedUrl(url=PAGE, state=state, status=status, reason=reason, target=target, **more)  # type: ignore[arg-type]


FINE = VisitedUrl(url="https://example.com/b", state=State.INDEXABLE, status=200)
GONE = VisitedUrl(url="https://example.com/c", state=State.CLIENT_ERROR, status=404, reason="answered 404, not found")


@pytest.mark.parametrize(
    ("seen", "rule", "sentence"),
    [
        (visited(State.CLIENT_ERROR, 404, "answered 404, not found"), "entry.gone", "the URL answered 404, not found"),
        (visited(State.CLIENT_ERROR, 410, "answered 410, gone"), "entry.gone", "the URL answered 410, gone"),
        (visited(State.CLIENT_ERROR, 408, "answered 408"), "entry.failed", "the URL answered 408"),
        (visited(State.CLIENT_ERROR, 401, "answered 401, it asks for a login"), "entry.refused",
         "the URL refuses the crawl: answered 401, it asks for a login"),
        (visited(State.CLIENT_ERROR, 403, "answered 403, forbidden"), "entry.refused",
         "the URL refuses the crawl: answered 403, forbidden"),
        (visited(State.REDIRECT, 302, "302 to /x", "https://example.com/x", end=FINE, is_endless=True), "entry.failed",
         "the URL redirects (302) to https://example.com/x, and from there in a loop, so it never reaches a page"),
        (visited(State.SERVER_ERROR, 500, "answered 500, internal error"), "entry.failed",
         "the URL answered 500, internal error"),
        (visited(State.UNREACHABLE, None, "too slow"), "entry.failed", "too slow"),
        (visited(State.BAD_ANSWER, 302, "answered 302; it redirects to itself"), "entry.failed",
         "the URL answered 302; it redirects to itself"),
        (visited(State.REDIRECT, 301, "301 to /b", FINE.url, end=FINE), "entry.redirect",
         "the URL redirects (301) to https://example.com/b"),
        (visited(State.REDIRECT, 302, "302 to /x", "https://example.com/x", end=FINE), "entry.redirect",
         "the URL redirects (302) to https://example.com/x, and finally to https://example.com/b"),
        (visited(State.REDIRECT, 301, "301 to /c", GONE.url, end=GONE), "entry.redirect",
         "the URL redirects (301) to https://example.com/c, which answered 404, not found"),
        (visited(State.REDIRECT, 200, "refreshes to https://example.com/b", FINE.url, end=FINE), "entry.redirect",
         "the URL refreshes to https://example.com/b"),
        (visited(State.NOINDEX, 200, 'meta robots "noindex"'), "entry.noindex",
         'the page has noindex: meta robots "noindex"'),
        (visited(State.ROBOTS, None, "robots.txt line 2: Disallow: /a"), "entry.blocked",
         "robots.txt does not allow crawlers to fetch it: robots.txt line 2: Disallow: /a"),
        (visited(State.NOINDEX, 200, 'only for bingbot: X-Robots-Tag "bingbot: none"'), "entry.noindex_engine",
         'the page has noindex: only for bingbot: X-Robots-Tag "bingbot: none"'),
        (visited(State.CANONICAL_ELSEWHERE, 200, "canonical is /b", FINE.url, end=FINE), "entry.canonical",
         "the page names https://example.com/b as its canonical"),
        (visited(State.WRONG_TYPE, 200, "image/png is not HTML"), "entry.type",
         "the URL is a file, not a page: image/png is not HTML"),
        (visited(State.WRONG_TYPE, 200, "application/json is not HTML"), "entry.type",
         "the URL is a file, not a page: application/json is not HTML"),
    ],
)  # fmt: skip
def test_google_only_canonical_pages_that_answer_belong_in_a_sitemap(
    seen: VisitedUrl, rule: str, sentence: str
) -> None:
    found = check_entry(entry("2026-01-01"), seen)
    assert found is not None
    assert (found.rule, found.sentence) == (rule, sentence)
    assert found.rule in RULES
    assert (found.url, found.file, found.line, found.lastmod) == (PAGE, "sitemap.xml", 4, "2026-01-01")
    assert ("list https://example.com/b instead" in found.evidence) is (seen.end is FINE and not seen.is_endless)
    assert ("it does not lead to a page: remove it from the sitemap" in found.evidence) is (seen.end is GONE)


@pytest.mark.parametrize(
    "seen",
    [
        VisitedUrl(url=PAGE),
        visited(State.INDEXABLE),
        visited(State.CLIENT_ERROR, 429, "answered 429, too many requests"),
        visited(State.WRONG_TYPE, 200, "application/pdf is not HTML"),
        visited(State.OUT_OF_SCOPE, 200),
        visited(State.NOFOLLOW, None),
        visited(State.TRAP, None),
        visited(State.ROBOTS, None, "robots.txt could not be had: nothing is allowed"),
        visited(State.PARSE_FAILED, 200, "parse.crash"),
        visited(State.INTERNAL_ERROR, None, "oh"),
        visited(
            State.UNREACHABLE,
            None,
            "10.0.0.1 is at a private address, which this crawl must not access; allow this host and port",
        ),
        visited(State.BAD_ANSWER, 200, "the body that example.com announced is too large"),
    ],
)
def test_ours_what_is_not_known_is_not_held_against_an_entry(seen: VisitedUrl) -> None:
    assert check_entry(entry(), seen) is None


def test_google_spellings_of_one_page_are_listed_once() -> None:
    page = VisitedUrl(url=PAGE, state=State.INDEXABLE, status=200)
    locs = [PAGE, "https://example.com/%61", "https://EXAMPLE.com/a", PAGE + "?utm_source=x", "https://example.com/a/"]
    found = check_duplicate_spellings(page, [entry(loc=loc) for loc in locs])
    assert found is not None
    assert found.url == PAGE
    assert found.spellings == [PAGE + "?utm_source=x", "https://example.com/a/"]
    assert found.sentence.startswith("3 entries lead to the same page")


def test_ours_what_lint_calls_a_duplicate_is_not_told_twice() -> None:
    page = VisitedUrl(url=PAGE, state=State.INDEXABLE, status=200)
    assert check_duplicate_spellings(page, [entry(), entry(loc="HTTPS://example.com:443/%61")]) is None


def at(text: str) -> float:
    return datetime.fromisoformat(f"{text}T12:00:00+00:00").replace(tzinfo=UTC).timestamp()


NOW = at("2026-06-15")


@pytest.mark.parametrize(
    ("lastmod", "known", "rule"),
    [
        # what the page and its server say
        ("2026-03-10", {"page_date": "2026-03-01"}, "late"),
        ("2026-03-10", {"page_date": "2026-03-01", "header_date": "2026-03-02T10:00:00+00:00"}, "late"),
        ("2026-03-10", {"header_date": "2026-03-02T10:00:00+00:00"}, "late"),
        ("2026-03-10T08:00:00Z", {"page_date": "2026-03-01T08:00:00+00:00"}, "late"),
        ("2026-03", {"page_date": "2026-01-30"}, "late"),
        ("2026", {"page_date": "2025-06-01"}, "late"),
        ("2026-03-01", {"page_date": "2026-03-10"}, "early"),
        ("2026-03-01T08:00:00+02:00", {"page_date": "2026-03-10T08:00:00+00:00"}, "early"),
        # one of them supports it
        ("2026-03-10", {"page_date": "2026-03-01", "header_date": "2026-03-10T10:00:00+00:00"}, ""),
        ("2026-03-10", {"page_date": "2026-03-10"}, ""),
        # a day either way, and what a precision leaves open
        ("2026-03-10", {"page_date": "2026-03-09"}, ""),
        ("2026-03-10", {"page_date": "2026-03-11"}, ""),
        ("2026-03-12", {"page_date": "2026-03-09"}, ""),
        ("2026-03-13", {"page_date": "2026-03-09"}, "late"),
        ("2026-03-10T08:00:00Z", {"page_date": "2026-03-09T09:00:00+00:00"}, ""),
        ("2026-03-10T08:00:00Z", {"page_date": "2026-03-11T07:00:00+00:00"}, ""),
        ("2026-03", {"page_date": "2026-03-31"}, ""),
        ("2026", {"page_date": "2026-06-01"}, ""),
        ("2026-03-10T23:00:00+14:00", {"page_date": "2026-03-09"}, ""),
        # a file that was copied later says nothing of its content
        ("2026-03-01", {"header_date": "2026-05-10T08:00:00+00:00"}, ""),
        # a page that dates itself with every answer
        ("2026-03-01", {"page_date": "2026-06-15"}, ""),
        ("2026-03-01", {"page_date": "2026-06-15T11:59:58+00:00"}, ""),
        # what earlier audits saw
        ("2026-06-10", {"same_since": at("2026-06-01")}, "late"),
        ("2026-06-02", {"same_since": at("2026-06-01")}, ""),
        ("2026-05-30", {"same_since": at("2026-06-01")}, ""),
        ("2026-06-15", {"same_since": at("2026-06-01")}, ""),
        ("2026-06", {"same_since": at("2026-05-01")}, ""),
        ("2026-05-01", {"seen_before": at("2026-06-01")}, "early"),
        ("2026-05-01", {"changed": "2026-06-01"}, "early"),
        ("2026-06-01", {"changed": "2026-06-01"}, ""),
        ("2026-06-10", {"seen_before": at("2026-06-01"), "page_date": "2026-03-01"}, ""),
        ("2026-06-01", {"changed": "2026-06-01", "page_date": "2026-03-01"}, ""),
        # it stood still since before the date that it states
        ("2026-03-01", {"page_date": "2026-06-10", "same_since": at("2026-06-01")}, ""),
        # no date, the future, nothing known
        ("yesterday", {"page_date": "2026-03-01"}, ""),
        ("", {"page_date": "2026-03-01"}, ""),
        ("2031-01-01", {"page_date": "2026-03-01"}, ""),
        ("9999-12-31", {"page_date": "2026-03-01"}, ""),
        ("0001-01-01", {"page_date": "2026-03-01"}, "early"),
        ("2026-03-10", {}, ""),
    ],
)  # fmt: skip
def test_google_lastmod_is_the_date_of_the_last_change(lastmod: str, known: dict[str, object], rule: str) -> None:
    observed = PageDates(seen_at=NOW, page_date_source="JSON-LD dateModified", **known)  # type: ignore[arg-type]
    found = check_lastmod(entry(lastmod), observed)
    assert (found.rule if found else "") == (f"entry.lastmod_{rule}" if rule else "")


def test_ours_a_date_that_lies_is_told_with_what_contradicts_it() -> None:
    observed = PageDates(
        seen_at=NOW,
        page_date="2026-03-01",
        page_date_source="JSON-LD dateModified",
        header_date="2026-03-02T10:00:00+00:00",
    )
    found = check_lastmod(entry("2026-05-01"), observed)
    assert found is not None
    assert found.sentence == (
        "lastmod 2026-05-01 is later than every known change: the page states 2026-03-01 (JSON-LD dateModified); "
        "Last-Modified states 2026-03-02T10:00:00+00:00"
    )


def reply(status: int, label: str) -> Reply:
    return Reply(Url(PAGE), status, (("content-type", label),), b"x", NOW, 0.1)


@pytest.mark.parametrize(
    ("role", "answer", "said"),
    [
        (MediaRole.IMAGE, reply(404, "text/html"), "the image cannot be fetched: it answered 404"),
        (MediaRole.VIDEO, reply(500, ""), "the video cannot be fetched: it answered 500"),
        (MediaRole.IMAGE, reply(200, "text/html; charset=utf-8"),
         "the image cannot be fetched: it returned a web page (text/html)"),
        (MediaRole.IMAGE, Failure("net.refused", "no", True), "the image cannot be fetched: no"),
        (
            MediaRole.IMAGE,
            reply(302, ""),
            "the image cannot be fetched: its redirects (status 302) form a loop",
        ),
        (MediaRole.IMAGE, reply(206, "image/png"), ""),
        (MediaRole.IMAGE, reply(200, ""), ""),
        (MediaRole.PLAYER, reply(200, "text/html"), ""),
        (MediaRole.PLAYER, reply(404, "text/html"), "the player cannot be fetched: it answered 404"),
        (MediaRole.THUMBNAIL, reply(429, ""), ""),
        (MediaRole.THUMBNAIL, reply(503, ""), ""),
        (MediaRole.IMAGE, Failure("body.bomb", "no", False), ""),
        (MediaRole.IMAGE, Failure("policy.private_address", "no", False), ""),
    ],
)  # fmt: skip
def test_google_what_is_listed_beside_a_page_can_be_had(role: MediaRole, answer: Reply | Failure, said: str) -> None:
    medium = ListedMedia(url=PAGE + ".png", role=role, page=PAGE, file="sitemap.xml", line=3)
    found = check_media_url(medium, answer)
    assert (found.sentence if found else "") == said
    if found:
        assert found.rule == ("media.image" if role is MediaRole.IMAGE else "media.video")


def test_ours_moments_of_one_minute_are_told_by_their_seconds() -> None:
    observed = PageDates(seen_at=NOW + 7, seen_before=NOW, page_date_source="")
    found = check_lastmod(entry("2020-01-01"), observed)
    assert found
    then, _, now = found.evidence[0].removeprefix("the page had different content on ").partition(" and on ")
    assert (len(then), then != now) == (len("2026-11-21 10:00:00 UTC"), True)
