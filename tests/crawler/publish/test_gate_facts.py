"""What is counted in the tables for the gate and for the verdict of completeness."""

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from crawler.crawl.indexability import IndexabilityJudge
from crawler.model import Page, Reply, State, Url, Verdict
from crawler.parse.snapshot.snapshot import take_snapshot
from crawler.publish import gate_facts as reading
from crawler.publish.completeness import Coverage
from crawler.publish.gate import AlikePages, GateFacts, GateLimits, LostPages, Refusal, StartUrlStatus, judge, kind_of
from crawler.publish.gate_facts import read_coverage
from crawler.publish.store import AcceptAfter, record_losses
from crawler.state.schema import STATE_DB
from crawler.url.scope import Scope

HOME = Url("https://a.example/")
DAY = 86_400.0
LOST = (kind_of(State.NOINDEX, 200), kind_of(State.CANONICAL_ELSEWHERE, 200))


def gate_facts(db: sqlite3.Connection, start: Url, now: float = 0.0, limit: float = 0.2) -> GateFacts:
    return reading.gate_facts(db, start, limit, AcceptAfter(3, now))


class Tables:
    """The tables that a run leaves, filled by hand."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self._contents: dict[bytes, int] = {}

    def url(self, path: str) -> int:
        self.db.execute("INSERT OR IGNORE INTO url (url) VALUES (?)", (f"{HOME}{path}",))
        return int(self.db.execute("SELECT id FROM url WHERE url = ?", (f"{HOME}{path}",)).fetchone()[0])

    def content(self, digest: str, markup: str = "") -> int:
        filler = self.db.execute(
            "INSERT INTO content (run, reading, digest, type, links, text) VALUES (1, '', ?, '', x'', ?)",
            (digest.encode(), take_snapshot(markup.encode()) if markup else b""),
        )
        return int(filler.lastrowid or 0)

    def visit(
        self, path: str, state: State, status: int | None = 200, target: str | None = None, reason: str = ""
    ) -> None:
        self.db.execute(
            "INSERT INTO visit (id, origin, kind, state, found, depth, status, target, reason)"
            " VALUES (?, 'https://a.example', 0, ?, 2, 1, ?, ?, ?)",
            (self.url(path), state.value, status, target, reason),
        )

    def saw(self, path: str, content: int, state: State = State.INDEXABLE) -> None:
        self.visit(path, state)
        self.db.execute("UPDATE visit SET content = ? WHERE id = ?", (content, self.url(path)))

    def put(self, table: str, path: str, content: int, kept: int = 0) -> None:
        self.db.execute(
            f"INSERT INTO {table} (id, content, lastmod, lastmod_source, kept) VALUES (?, ?, '', '', ?)",
            (self.url(path), content, kept),
        )


@pytest.fixture
def tables(tmp_path: Path) -> Iterator[Tables]:
    db = STATE_DB.open(tmp_path / "state.db")
    yield Tables(db)
    db.close()


def test_ours_an_empty_state_has_empty_facts(tables: Tables) -> None:
    assert gate_facts(tables.db, HOME) == GateFacts(
        start=StartUrlStatus(HOME), published=0, listed=0, failed=0, visited=0
    )
    assert read_coverage(tables.db, "", 0) == Coverage()


def test_ours_pages_whose_robots_txt_is_not_there_have_failed_and_the_reason_is_named(tables: Tables) -> None:
    for number in range(6):
        tables.visit(
            f"{number}", State.ROBOTS, None, reason="robots.txt answered 429" if number else "robots.txt line 2"
        )
        tables.put("published", f"{number}", tables.content("page"))
    found = gate_facts(tables.db, HOME)
    assert (found.failed, found.failure) == (5, (f"{HOME}1", "robots.txt answered 429"))


def test_ours_pages_that_leave_are_counted_by_the_way_they_do(tables: Tables) -> None:
    page = tables.content("page")
    ways: list[tuple[str, State, int | None, str | None, str]] = [
        ("", State.INDEXABLE, 200, None, ""),
        ("gone1", State.CLIENT_ERROR, 404, None, "answered 404"),
        ("gone2", State.CLIENT_ERROR, 404, None, "answered 404 too"),
        ("shut", State.CLIENT_ERROR, 403, None, "answered 403"),
        *((f"wall{n}", State.REDIRECT, 302, f"{HOME}login?next={n}", "302") for n in range(5)),
        *((f"moved{n}", State.REDIRECT, 301, f"{HOME}all", "301") for n in range(7)),
        ("for now 1", State.REDIRECT, 302, f"{HOME}x", "302"),
        ("for now 2", State.REDIRECT, 302, f"{HOME}y", "302"),
        ("down", State.SERVER_ERROR, 503, None, "503"),
        ("sitemap.xml", State.SITEMAP_FILE, 503, None, "answered 503"),
    ]
    for path, state, status, target, reason in ways:
        tables.visit(path, state, status, target, reason)
        if state is not State.SITEMAP_FILE:
            tables.put("published", path, page)
    tables.put("published", "never met", page)
    tables.put("listing", "", page)
    tables.put("listing", "down", page, kept=1)
    tables.put("listing", "new", page)
    found = gate_facts(tables.db, HOME)
    assert (found.published, found.listed, found.failed, found.visited) == (20, 3, 1, 2)
    assert found.start == StartUrlStatus(HOME, Verdict(State.INDEXABLE), 200, was_published=True, is_listed=True)
    assert found.alike is None

    def way(state: State, status: int | None, count: int, path: str, reason: str = "", target: str = "") -> LostPages:
        return LostPages(
            state=state, status=status, count=count, url=Url(f"{HOME}{path}"), reason=reason, target=target
        )

    assert sorted(found.gone, key=lambda gone: gone.url) == [
        way(State.REDIRECT, 302, 2, "for now 1", "302"),
        way(State.CLIENT_ERROR, 404, 2, "gone1", "answered 404"),
        way(State.REDIRECT, 301, 7, "moved0", "301", f"{HOME}all"),
        way(State.UNLINKED, None, 1, "never met"),
        way(State.CLIENT_ERROR, 403, 1, "shut", "answered 403"),
        way(State.REDIRECT, 302, 5, "wall0", "302", f"{HOME}login"),
    ]


def prose(n: int) -> str:
    words = random.Random(n)
    return " ".join(f"word{words.randrange(10_000)}" for _ in range(60))


def test_ours_pages_that_lost_their_own_text_are_counted_and_redesigned_ones_are_not(tables: Tables) -> None:
    for n in range(20):
        frame = f"<title>Page {n}</title><nav>home</nav><main>{{}}</main><footer>us</footer>"
        now = (
            frame.format("<p>Please log in to read this page")
            if n < 6
            else f"<h1>New</h1><div>{prose(n)} at last</div>"
        )
        was, is_ = tables.content(f"was {n}", frame.format(prose(n))), tables.content(f"is {n}", now)
        tables.put("published", f"p{n}", was)
        tables.put("listing", f"p{n}", is_)
        tables.saw(f"p{n}", is_)
    assert gate_facts(tables.db, HOME).alike == AlikePages(6, Url(f"{HOME}p0"))
    assert gate_facts(tables.db, Url(f"{HOME}p3")).alike == AlikePages(6, Url(f"{HOME}p0"), has_start=True)
    assert gate_facts(tables.db, HOME, limit=0.9).alike is None
    tables.db.execute("UPDATE published SET kept = 2 WHERE id = ?", (tables.url("p4"),))
    tables.db.execute("INSERT INTO held VALUES (?, 'noindex 200 ', 0, 1)", (tables.url("p4"),))
    assert gate_facts(tables.db, HOME, limit=0.9).alike is None  # held for another cause, and there again
    tables.db.execute("UPDATE held SET cause = 'indexable 200 '")
    found = gate_facts(tables.db, HOME, limit=0.9).alike
    assert found is not None
    assert (found.count, found.held) == (6, 1)


@pytest.mark.parametrize("hit", [5, 9, 20])
def test_ours_pages_that_gain_the_same_text_with_their_own_address_in_it_are_counted(tables: Tables, hit: int) -> None:
    for n in range(20):
        path, page = f"boats/of-{n}.html", f"<title>Page {n}</title><h1>Page {n}</h1><p>{prose(n)}</p>"
        error = f"<p>Warning: the query failed for '/{path}' in db.php" if n < hit else f"<p>{prose(100 + n)}"
        was, is_ = tables.content(f"was {n}", page), tables.content(f"is {n}", f"{page}{error}")
        tables.put("published", path, was)
        tables.put("listing", path, is_)
        tables.saw(path, is_)
    tables.db.execute("UPDATE visit SET changed = 1, evidence = '+ Warning'")
    assert gate_facts(tables.db, HOME).alike is None  # no date moves
    tables.db.execute("UPDATE listing SET lastmod = '2026-01-02'")
    start = Url(f"{HOME}boats/of-0.html")
    found = AlikePages(hit, start, gained="+ Warning")  # the text of the start page itself is still there
    assert gate_facts(tables.db, start).alike == (found if hit > 6 else None)


def test_ours_a_refused_run_records_only_the_losses_that_are_in_doubt(tables: Tables) -> None:
    page = tables.content("page")
    for path, state in (("one", State.REDIRECT), ("many", State.UNLINKED)):
        tables.put("published", path, page)
        tables.visit(path, state)
    record_losses(tables.db, 0.0, [State.UNLINKED])
    assert {lost.state: lost.are_held for lost in gate_facts(tables.db, HOME).gone} == {
        State.REDIRECT: False,
        State.UNLINKED: True,
    }


def test_ours_variants_that_say_what_the_lost_pages_say_are_lost_with_them(tables: Tables) -> None:
    for n in range(20):
        page = f"<title>Page {n}</title><h1>Page {n} of the shop</h1>{{}}"
        text = prose(0) if n < 4 else prose(n)  # variants of a product share its description
        gone = f"<p>Sorry, this page does not exist or has been moved. Reference {n}a{n} of {prose(n)[:16]}"
        was, is_ = tables.content(f"was {n}", page.format(text)), tables.content(f"is {n}", gone)
        tables.put("published", f"p{n}", was)
        tables.put("listing", f"p{n}", is_)
        tables.saw(f"p{n}", is_)
    assert gate_facts(tables.db, HOME).alike == AlikePages(20, Url(f"{HOME}p0"))


def test_ours_pages_that_moved_each_to_a_new_url_are_not_lost(tables: Tables) -> None:
    for n in range(9):
        was = tables.content(f"was {n}", f"<p>{prose(n)}</p>")
        tables.put("published", f"old{n}", was)
        tables.visit(f"old{n}", State.REDIRECT, 301, f"{HOME}new{n}", "301")
        tables.put("listing", f"new{n}", tables.content(f"is {n}", f"<nav>new</nav><p>{prose(n)}</p>"))
    assert gate_facts(tables.db, HOME).gone == ()
    tables.db.execute(
        "UPDATE content SET text = ? WHERE CAST(digest AS TEXT) LIKE 'is%'", (take_snapshot(b"<p>Log in here, please"),)
    )
    assert [lost.count for lost in gate_facts(tables.db, HOME).gone] == [9]


def test_ours_an_explicit_cause_is_believed_when_it_stood_long_enough(tables: Tables) -> None:
    page = tables.content("page")
    for n in range(6):
        tables.put("published", f"p{n}", page)
        tables.visit(f"p{n}", State.NOINDEX if n else State.CANONICAL_ELSEWHERE, 200, None if n else HOME)
    for night in (0.0, 1.0, 2.0):
        lost = {group.state: group for group in gate_facts(tables.db, HOME, night * DAY).gone}
        assert (lost[State.NOINDEX].count, lost[State.NOINDEX].runs) == (5, night + 1)
        assert lost[State.NOINDEX].are_held == (night > 0)
        record_losses(tables.db, night * DAY, LOST)
    tables.db.execute("UPDATE visit SET state = 'client error', status = 404 WHERE id = ?", (tables.url("p1"),))
    lost = {group.state: group for group in gate_facts(tables.db, HOME, 3 * DAY).gone}
    assert {state: (group.count, group.runs) for state, group in lost.items()} == {
        State.CANONICAL_ELSEWHERE: (1, 4),  # which may have another reason: a person must accept it
        State.CLIENT_ERROR: (1, 1),  # not the same as before
    }


def test_ours_a_run_a_week_believes_a_cause_in_its_third_run(tables: Tables) -> None:
    page = tables.content("page")
    for n in range(6):
        tables.put("published", f"p{n}", page)
        tables.visit(f"p{n}", State.NOINDEX)
    for week in range(3):
        after = AcceptAfter(7, week * 7 * DAY)
        assert bool(reading.gate_facts(tables.db, HOME, 0.2, after).gone) == (week < 2)
        record_losses(tables.db, week * 7 * DAY, LOST)


def test_ours_pages_without_a_link_that_all_show_a_login_are_told_as_that(tables: Tables) -> None:
    for n in range(20):
        tables.put("published", f"p{n}", tables.content(f"b{n}", f"<p>{prose(n)}</p>"))
        tables.saw(f"p{n}", tables.content(f"n{n}", f"<p>{prose(n)} and more</p>"), State.UNLINKED)
    assert not gate_facts(tables.db, HOME).are_bare
    tables.db.execute(
        "UPDATE content SET text = ? WHERE CAST(digest AS TEXT) LIKE 'n%'", (take_snapshot(b"<p>Log in here, please"),)
    )
    facts = gate_facts(tables.db, HOME)
    assert facts.are_bare
    told = judge(replace(facts, listed=1), GateLimits())
    assert isinstance(told, Refusal)
    assert told.sentence.startswith("most of the 20 published pages no longer show their main text")
    assert "as with a login" in told.sentence


def test_ours_pages_that_say_something_else_are_accepted_when_they_did_so_long_enough(tables: Tables) -> None:
    """A site in another language, night after night: the gate holds its pages, but not for ever."""
    for n in range(20):
        before, now = tables.content(f"b{n}", f"<p>{prose(n)}</p>"), tables.content(f"n{n}", f"<p>{prose(n + 90)}</p>")
        tables.put("published", f"p{n}", before)
        tables.put("listing", f"p{n}", now)
        tables.saw(f"p{n}", now)
    tables.db.execute("CREATE TEMP TABLE turned AS SELECT id FROM published")
    for night in range(4):
        found = gate_facts(tables.db, HOME, night * DAY).alike
        assert (found is None) == (night == 3)
        if found:
            assert (found.count, found.is_turned, found.runs) == (20, True, night + 1)
        tables.db.execute("UPDATE listing SET kept = 2")
        record_losses(tables.db, night * DAY)
        tables.db.execute("UPDATE listing SET kept = 0")


def test_ours_a_page_that_failed_keeps_its_streak_and_one_that_was_found_ends_it(tables: Tables) -> None:
    page = tables.content("page")
    for path in ("failed", "found"):
        tables.put("published", path, page)
        tables.visit(path, State.NOINDEX)
    record_losses(tables.db, 0.0, LOST)
    tables.put("listing", "failed", page, kept=1)
    tables.put("listing", "found", page)
    record_losses(tables.db, DAY)
    assert tables.db.execute("SELECT u.url, h.runs FROM held h JOIN url u ON u.id = h.id").fetchall() == [
        (f"{HOME}failed", 1)
    ]


def test_ours_a_start_url_that_leads_to_a_listed_page_stands_as_listed(tables: Tables) -> None:
    tables.visit("", State.REDIRECT, 301, f"{HOME}en/", "301")
    page = tables.content("page")
    tables.put("published", "", page)
    assert gate_facts(tables.db, HOME).start.is_listed is False
    tables.put("listing", "en/", page)
    start = gate_facts(tables.db, HOME).start
    assert (start.was_published, start.is_listed) == (True, True)
    assert start.verdict == Verdict(State.REDIRECT, "301", Url(f"{HOME}en/"))


def test_ours_what_a_run_did_not_see_is_counted(tables: Tables) -> None:
    reply = Reply(HOME, 200, (("content-type", "text/html"),), b"", 0, 0, cut="cut after 10 bytes")
    cut = IndexabilityJudge(Scope(Url(f"{HOME}sitemap.xml"))).verdict(
        reply, Page(faults=["links cut at 5 (parse.max_links)"])
    )
    assert cut.state is State.INDEXABLE
    tables.visit("cut", cut.state, reason=cut.reason)
    tables.visit("more", State.INDEXABLE, reason="links cut at 5 (parse.max_links)")
    tables.visit("odd", State.INDEXABLE, reason="the page refreshes itself")
    tables.visit("list.xml", State.SITEMAP_FILE, reason="reading stopped after 1,000,000 entries")
    tables.visit("deep", State.TOO_DEEP, None)
    tables.visit("later", State.PENDING, None)
    tables.visit("a", State.SERVER_ERROR, 500)
    tables.visit("b", State.CLIENT_ERROR, 429)
    tables.visit("c", State.CLIENT_ERROR, 404)
    answers = [("https://a.example", 90, 200), ("https://b.example", 200, 503), ("https://c.example", 200, None)]
    for origin, at, status in [*answers, ("https://old.example", 90, 503), ("https://d.example", 200, 404)]:
        tables.db.execute(
            "INSERT INTO robots (origin, fetched_at, status, body, said) VALUES (?, ?, ?, x'', '')",
            (origin, at, status),
        )
    assert read_coverage(tables.db, "it was interrupted", since=100) == Coverage(
        stopped="it was interrupted",
        pending=1,
        too_deep=1,
        cut=3,
        example=Url(f"{HOME}cut"),
        failed={State.CLIENT_ERROR: 1, State.SERVER_ERROR: 1},
        no_robots=("https://b.example", "https://c.example"),
    )
