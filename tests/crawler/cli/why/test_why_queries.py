"""The stories in a state that a frontier made: every state a URL can end in, the way to it, and what is kept of it."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawler.cli.why.explain import UNDATED, Explanation, explain
from crawler.cli.why.rules import CrawlRules
from crawler.cli.why.story import UrlStories
from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.model import (
    DiscoveredBy,
    DiscoveredUrl,
    DocumentKind,
    Lease,
    Outcome,
    Page,
    Request,
    ResponseMetadata,
    Retry,
    State,
    Url,
    Verdict,
)
from crawler.publish.states import STATE_WORDS
from crawler.robots.rules import parse_robots
from crawler.state.runs import RunStore
from crawler.state.schema import STATE_DB
from crawler.url.scope import Scope

HOME = Url("https://example.com/")
NOW = 1_767_225_600.0  # 2026-01-01
RULES = parse_robots(b"User-agent: *\nDisallow: /no\n", "Siteatlas/1.0", NOW)
POLICY = CrawlRules(Scope(Url("https://example.com/sitemap.xml")), HOME, RULES, NOW)


def url(path: str) -> Url:
    return Url(f"https://example.com{path}")


class Made:
    """A run of one site, settled by hand."""

    def __init__(self, directory: Path) -> None:
        self.db = STATE_DB.open(directory / STATE_DB.file)
        self.path = directory / STATE_DB.file
        self.run = RunStore(self.db).begin(NOW, "test")
        self.frontier = SqliteFrontier(self.db, lambda _: None, run=1)
        self.frontier.admit([DiscoveredUrl(HOME, DiscoveredBy.SEED, 0)])
        self.frontier.commit()

    def lease(self) -> Lease:
        lease = self.frontier.next(NOW, lambda _, __: 0.0)
        assert isinstance(lease, Lease)
        return lease

    def settle(
        self,
        state: State = State.INDEXABLE,
        reason: str = "",
        target: Url | None = None,
        found: tuple[tuple[str, int], ...] = (),
        page: Page | None = None,
    ) -> None:
        """End the next URL, which leads to others."""
        lease = self.lease()
        pairs = [(url(path), flags) for path, flags in found]
        finds = (
            (DiscoveredUrl(target, DiscoveredBy.REDIRECT, lease.depth, lease.id),)
            if state is State.REDIRECT and target
            else ()
        )
        self.frontier.settle(
            Outcome(
                lease,
                Verdict(state, reason, target),
                200 if page else None,
                links=pairs,
                finds=finds,
                page=page or (Page(links=pairs) if pairs else None),
                sighting=ResponseMetadata(NOW, "text/html") if page else None,
                request=Request(NOW + 5, "200", False, 1234, 0.25),
            )
        )
        self.frontier.commit()

    def tell(self, path: str) -> Explanation:
        with contextlib.closing(STATE_DB.open_read_only(self.path)) as db:
            return explain(path, UrlStories(db).story(url(path)), POLICY, [])

    def told(self, path: str, topic: str) -> list[str]:
        return next((each.lines for each in self.tell(path).topics if each.name == topic), [])


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Made]:
    making = Made(tmp_path)
    yield making
    making.db.close()


def test_ours_every_state_has_its_meaning_in_words() -> None:
    assert set(STATE_WORDS) == set(State)


@pytest.mark.parametrize("state", [state for state in State if state is not State.PENDING])
def test_ours_every_state_is_told_with_its_reason(made: Made, state: State) -> None:
    made.settle(state, "this is why")
    told = made.tell("/")
    assert told.topics[0].lines == [f"{state.value} (this is why)", STATE_WORDS[state].meaning]
    assert told.as_json()["state"] == state.value
    if state is State.INDEXABLE:
        assert told.summary.startswith("is not listed: it belongs in the sitemap")
    else:
        assert told.summary == f"is not listed: {state.value} (this is why)"


def test_ours_what_waits_for_another_try_says_when_and_what_was_answered(made: Made) -> None:
    lease = made.lease()
    made.frontier.retry(Retry(lease, NOW + 90, "answered 503", Request(NOW, "503", True, 2345, 0.5)))
    made.frontier.commit()
    assert made.tell("/").summary == "is not listed: pending (answered 503)"
    assert made.told("/", "state")[2] == "the next attempt is not before 2026-01-01 00:01:30Z"
    assert made.told("/", "requests") == ["2026-01-01 00:00:00Z  conditional  503  2,345 bytes in 0.500 s"]
    assert made.told("/", "found") == ["by start URL; 0 clicks from the start"]


def test_ours_the_way_is_that_of_the_first_finders_with_the_kind_of_each_link(made: Made) -> None:
    made.settle(found=(("/a", DiscoveredBy.LINK), ("/b", DiscoveredBy.LINK)))
    made.settle(found=(("/c", DiscoveredBy.ALTERNATE), ("/", DiscoveredBy.LINK)))
    made.settle(State.REDIRECT, "301", url("/c"))
    made.settle(found=(("/d", DiscoveredBy.FRAME | DiscoveredBy.NOFOLLOW),))
    assert made.told("/d", "found") == [
        "by frame, nofollow link; 2 clicks from the start",
        "https://example.com/  (start URL)",
        "> https://example.com/a  (link)",
        "> https://example.com/c  (alternate)",
        "> https://example.com/d  (frame, nofollow link)",
    ]
    assert made.told("/c", "found")[0] == "by redirect, alternate; 1 click from the start"


def test_ours_a_long_way_is_shown_with_its_ends(made: Made) -> None:
    made.settle(found=(("/1", DiscoveredBy.LINK),))
    for number in range(1, 30):
        made.settle(found=((f"/{number + 1}", DiscoveredBy.PAGINATION),))
    told = made.told("/30", "found")
    assert told[0] == "by pagination; 30 clicks from the start"
    assert len(told) == 14
    assert told[3:6] == [
        "> https://example.com/2  (pagination)",
        "… 19 steps …",
        "> https://example.com/22  (pagination)",
    ]
    assert len(made.tell("/30").as_json()["facts"]["steps"]) == 31


def test_ours_redirects_are_followed_to_their_end_also_in_a_circle(made: Made) -> None:
    made.settle(State.REDIRECT, "301 to /a", url("/a"))
    made.settle(State.REDIRECT, "302 to /b", url("/b"))
    made.settle(State.REDIRECT, "302 to /a", url("/a"))
    assert made.told("/", "leads_to") == [
        "> https://example.com/a  redirect (302 to /b)",
        "> https://example.com/b  redirect (302 to /a)",
    ]
    assert made.told("/a", "leads_to") == ["> https://example.com/b  redirect (302 to /a)"]


def test_ours_what_a_page_states_is_told_although_it_counts_as_nothing(made: Made) -> None:
    page = Page(
        canonicals=[url("/a"), url("/b")],
        canonical_faults=["the canonical in the body counts as none"],
        title="Boats",
        faults=["links cut at 20,000"],
        fallback="parse.timeout",
    )
    made.settle(page=page)
    assert made.told("/", "canonical") == [
        (
            "the page has 2 canonicals that contradict one another, so none of them counts: https://example.com/a, "
            "https://example.com/b"
        ),
        "the canonical in the body counts as none",
    ]
    assert made.told("/", "page") == [
        '"Boats", text/html',
        "read in run 1 (2026-01-01 00:00:00Z)",
        "read without most of its elements: parse.timeout",
        "links cut at 20,000",
    ]


def _remember(db: sqlite3.Connection, path: str, state: State, **columns: object) -> None:
    db.execute("INSERT INTO url (url) VALUES (?)", (url(path),))
    (number,) = db.execute("SELECT id FROM url WHERE url = ?", (url(path),)).fetchone()
    row = {"id": number, "state": state, "reason": "", "first_run": 1, "last_run": 1, **columns}
    marks = ", ".join("?" * len(row))
    db.execute(f"INSERT INTO memory ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))


def test_ours_a_url_of_an_earlier_run_is_told_from_memory(made: Made) -> None:
    _remember(made.db, "/old", State.NOINDEX, reason="meta", status=200, seen_at=NOW - 9)
    told = made.tell("/old")
    assert told.summary == "is not listed: it was last found in run 1 (2026-01-01 00:00:00Z) as noindex (meta)"
    assert made.told("/old", "found") == ["not in the last run"]
    assert made.told("/old", "requests") == ["none", "the last successful response was at 2025-12-31 23:59:51Z"]


def test_ours_a_url_of_which_only_the_name_is_kept_is_known_all_the_same(made: Made) -> None:
    made.db.execute("INSERT INTO url (url) VALUES ('https://example.com/name')")
    assert made.tell("/name").summary == "is not listed: it was found by an earlier run"


@pytest.mark.parametrize(
    ("stated", "fault"),
    [
        ("yesterday", "it is not an HTTP date"),
        ("Thu, 01 Jan 1970 00:00:00 GMT", "it is before 1995"),
        ("Thu, 01 Jan 2026 00:00:00 GMT", "it is the time of the response"),
        ("Fri, 01 Jan 2027 00:00:00 GMT", "it is in the future"),
    ],
)
def test_ours_a_last_modified_that_is_not_believed_says_why(made: Made, stated: str, fault: str) -> None:
    _remember(made.db, "/x", State.INDEXABLE, last_modified=stated, seen_at=NOW)
    assert made.told("/x", "lastmod") == [UNDATED, f'Last-Modified "{stated}" is not credible: {fault}']


def test_ours_a_header_that_the_whole_site_is_not_believed_for_is_told_as_that(made: Made) -> None:
    stated = "Tue, 01 Sep 2020 10:00:00 GMT"
    dated = {"last_modified": stated, "header_date": "2020-09-01T10:00:00+00:00", "seen_at": NOW}
    _remember(made.db, "/x", State.INDEXABLE, **dated, lastmod="2026-01-01", lastmod_source="dateModified")
    made.db.execute("INSERT INTO about VALUES ('last_modified_distrusted', 'it moves on its own')")
    lines = made.told("/x", "lastmod")
    assert lines[-1] == f'Last-Modified "{stated}" was not used: it moves on its own'


def test_ours_the_kind_of_a_sitemap_is_told(made: Made) -> None:
    made.frontier.admit([DiscoveredUrl(url("/sitemap.xml"), DiscoveredBy.SITEMAP, 0, kind=DocumentKind.SITEMAP)])
    made.settle()
    made.settle(State.SITEMAP_FILE, "answered 404")
    assert made.tell("/sitemap.xml").summary == "is not listed: it is a sitemap (answered 404)"
