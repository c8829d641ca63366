"""What a frontier keeps of a URL, whose turn it is, and what more evidence changes."""

import sqlite3

import pytest
from frontiers import INDEXABLE, admission, always, url

from crawler.crawl.frontier import cache
from crawler.crawl.frontier.sqlite import IDLE_SECONDS, READ_AHEAD, SqliteFrontier
from crawler.crawl.frontier.storage import unpack_links
from crawler.model import (
    DiscoveredBy,
    DiscoveredUrl,
    DocumentKind,
    Done,
    Lease,
    Outcome,
    Page,
    Request,
    ResponseMetadata,
    Retry,
    State,
    UrlRecord,
    Verdict,
    Wait,
)

SITEMAP_FILE = Verdict(State.SITEMAP_FILE, "a sitemap")


def seeds(*numbers: int, depth: int = 0) -> list[DiscoveredUrl]:
    return [DiscoveredUrl(url(number), DiscoveredBy.SEED, depth) for number in numbers]


def sitemap(number: int = 1) -> DiscoveredUrl:
    return DiscoveredUrl(url(number), DiscoveredBy.SITEMAP, 0, None, DocumentKind.SITEMAP)


def lease_of(frontier: SqliteFrontier, now: float = 0.0, *, far: bool = False) -> Lease:
    lease = frontier.next(now, always, far=far)
    assert isinstance(lease, Lease)
    return lease


def known(frontier: SqliteFrontier) -> dict[State, int]:
    return {state: count for state, count in frontier.counts().items() if count}


def test_ours_a_settled_url_has_all_that_its_answer_said(db: sqlite3.Connection, frontier: SqliteFrontier) -> None:
    frontier.admit(seeds(1))
    sighting = ResponseMetadata(70.5, "text/html", '"e"', "Sun, 06 Nov 1994", "1994-11-06", "1994-11-05", "JSON-LD")
    verdict = Verdict(State.CANONICAL_ELSEWHERE, "canonical is another", url(9))
    request = Request(70.0, "200", False, 100, 0.25)
    outcome = Outcome(lease_of(frontier), verdict, 200, page=Page(digest=b"d"), sighting=sighting, request=request)
    frontier.settle(outcome)
    row = db.execute(
        "SELECT state, reason, status, target, attempts, etag, last_modified, header_date, page_date,"
        " page_date_source, seen_at, whole, c.digest, c.type, c.run, c.reading FROM visit v"
        " JOIN content c ON c.id = v.content"
    ).fetchone()
    assert row == (
        *("canonical elsewhere", "canonical is another", 200, url(9), 1),
        *('"e"', "Sun, 06 Nov 1994", "1994-11-06", "1994-11-05", "JSON-LD", 70.5, 1, b"d", "text/html", 1, ""),
    )
    assert frontier.verdict_of(url(1)) == verdict
    assert frontier.verdict_of(url(2)) is None


def test_ours_content_has_the_settings_that_it_was_parsed_with_and_sitemaps_have_others(db: sqlite3.Connection) -> None:
    frontier = SqliteFrontier(db, admission, run=3, reading="r")
    frontier.admit([*seeds(1), sitemap(2)])
    for _ in range(2):
        lease = lease_of(frontier)
        frontier.settle(Outcome(lease, INDEXABLE, 200, page=Page(digest=b"d")))
    rows = db.execute("SELECT v.kind, c.reading, c.run FROM visit v JOIN content c ON c.id = v.content ORDER BY v.id")
    assert rows.fetchall() == [(int(DocumentKind.PAGE), "r", 3), (int(DocumentKind.SITEMAP), "r sitemap", 3)]


@pytest.mark.parametrize(("room", "expected"), [(3, (0, 0, 3)), (2, (0, 3, 3))])
def test_ours_a_new_url_costs_a_query_only_in_a_resumed_run_and_when_there_is_no_room_for_all_urls(
    db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch, room: int, expected: tuple[int, ...]
) -> None:
    """The runs are a first one, a second one, and the second one resumed."""
    monkeypatch.setattr(cache, "MAX_CACHED", room)
    asked: list[str] = []
    counts, ids = [], []
    for run in (1, 2, 2):
        frontier = SqliteFrontier(db, admission, run=run)
        asked.clear()
        db.set_trace_callback(asked.append)
        frontier.admit(seeds(1, 2, 3))
        db.set_trace_callback(None)
        counts.append(sum("SELECT u.id" in statement for statement in asked))
        frontier.commit()
        ids.append(db.execute("SELECT id FROM visit ORDER BY id").fetchall())
        if run == 1:
            db.execute("DELETE FROM visit")
    assert tuple(counts) == expected
    assert ids == [[(1,), (2,), (3,)]] * 3


def test_ours_a_postponed_url_of_an_earlier_run_is_judged_again_at_the_next_link(db: sqlite3.Connection) -> None:
    asked: list[DiscoveredUrl] = []

    def postpones(find: DiscoveredUrl) -> Verdict | None:
        asked.append(find)
        return Verdict(State.TRAP, "trap.template: many")

    SqliteFrontier(db, admission).admit(seeds(1))
    db.execute("COMMIT")
    db.execute("DELETE FROM visit")
    frontier = SqliteFrontier(db, postpones, run=2)
    for _ in range(2):
        frontier.admit(seeds(1))
    assert len(asked) == 2
    assert known(frontier) == {State.TRAP: 1}


def test_rfc9110_15_4_5_an_answer_without_content_of_its_own_is_not_whole_and_keeps_the_stored_content(
    db: sqlite3.Connection, frontier: SqliteFrontier
) -> None:
    frontier.admit(seeds(1, 2))
    frontier.settle(Outcome(lease_of(frontier), INDEXABLE, 200, page=Page(digest=b"d")))
    (stored,) = db.execute("SELECT id FROM content").fetchone()
    again = Request(70.0, "304", True, 10, 0.25)
    frontier.settle(Outcome(lease_of(frontier), INDEXABLE, 304, content=stored, request=again))
    rows = db.execute("SELECT content, whole, seen_at, etag, last_modified FROM visit ORDER BY id").fetchall()
    assert rows == [(stored, 0, None, "", ""), (stored, 0, None, "", "")]  # nothing says when the first was fetched


def test_ours_records_have_what_led_to_the_url_how_deep_it_is_and_why_it_has_its_state(
    frontier: SqliteFrontier,
) -> None:
    frontier.admit(
        [DiscoveredUrl(url(2), DiscoveredBy.NOFOLLOW, 2), DiscoveredUrl(url(1), DiscoveredBy.NOFOLLOW, 1), *seeds(3)]
    )
    why = "linked by nofollow only"
    assert list(frontier.records(State.NOFOLLOW)) == [
        UrlRecord(url(1), State.NOFOLLOW, why, DiscoveredBy.NOFOLLOW, 1, None),
        UrlRecord(url(2), State.NOFOLLOW, why, DiscoveredBy.NOFOLLOW, 2, None),
    ]
    assert list(frontier.records(State.TRAP)) == []


def test_ours_a_sitemap_that_proves_to_be_a_linked_page_is_fetched_as_a_page(
    db: sqlite3.Connection, frontier: SqliteFrontier
) -> None:
    frontier.admit([sitemap()])
    lease = lease_of(frontier)
    assert lease.kind is DocumentKind.SITEMAP
    frontier.retry(Retry(lease, 50.0, "answered 503"))
    frontier.admit([DiscoveredUrl(url(1), DiscoveredBy.LINK, 2)])
    again = lease_of(frontier)  # at once, and as if it had never failed
    assert (again.kind, again.attempts) == (DocumentKind.PAGE, 0)
    assert again.found == DiscoveredBy.SITEMAP | DiscoveredBy.LINK
    frontier.settle(Outcome(again, INDEXABLE))
    assert known(frontier) == {State.INDEXABLE: 1}
    assert db.execute("SELECT depth, kind FROM visit").fetchall() == [(0, int(DocumentKind.PAGE))]


def test_ours_a_sitemap_that_was_read_is_read_again_as_the_page_that_links_treat_it_as(
    frontier: SqliteFrontier,
) -> None:
    frontier.admit([sitemap()])
    frontier.settle(Outcome(lease_of(frontier), SITEMAP_FILE, 200))
    assert known(frontier) == {State.SITEMAP_FILE: 1}
    frontier.admit([DiscoveredUrl(url(1), DiscoveredBy.LINK, 1)])
    assert known(frontier) == {State.PENDING: 1}
    again = lease_of(frontier)
    assert (again.kind, again.attempts) == (DocumentKind.PAGE, 0)
    frontier.settle(Outcome(again, INDEXABLE))
    assert known(frontier) == {State.INDEXABLE: 1}
    frontier.admit([sitemap()])
    assert known(frontier) == {State.INDEXABLE: 1}  # a page is never taken for a sitemap again


def test_ours_a_sitemap_whose_turn_is_next_is_fetched_as_a_page_when_a_page_leads_to_it(
    frontier: SqliteFrontier,
) -> None:
    frontier.admit([sitemap(1), sitemap(2)])
    assert lease_of(frontier).kind is DocumentKind.SITEMAP
    frontier.admit([DiscoveredUrl(url(2), DiscoveredBy.LINK, 1)])
    following = lease_of(frontier)
    assert (following.url, following.kind) == (url(2), DocumentKind.PAGE)


def test_ours_a_sitemap_that_a_page_leads_to_before_any_turn_is_fetched_as_a_page(frontier: SqliteFrontier) -> None:
    frontier.admit([sitemap(), DiscoveredUrl(url(1), DiscoveredBy.LINK, 1)])
    assert lease_of(frontier).kind is DocumentKind.PAGE


def test_ours_a_sitemap_that_a_page_leads_to_while_it_is_out_has_its_second_turn(frontier: SqliteFrontier) -> None:
    frontier.admit([sitemap(), sitemap(2)])
    first, second = lease_of(frontier), lease_of(frontier)
    frontier.admit([DiscoveredUrl(first.url, DiscoveredBy.LINK, 1)])
    for lease in (first, second):
        frontier.settle(Outcome(lease, SITEMAP_FILE, 200))
    assert known(frontier) == {State.PENDING: 1, State.SITEMAP_FILE: 1}
    again = lease_of(frontier)
    assert (again.url, again.kind, again.attempts) == (first.url, DocumentKind.PAGE, 0)


def test_ours_the_nearest_url_comes_first_and_of_the_same_depth_the_one_that_was_found_first(
    frontier: SqliteFrontier,
) -> None:
    found = [(4, 2), (1, 1), (3, 1), (2, 0)]
    frontier.admit([DiscoveredUrl(url(number), DiscoveredBy.LINK, depth) for number, depth in found])
    assert [lease_of(frontier).url for _ in range(2)] == [url(2), url(1)]
    frontier.admit([DiscoveredUrl(url(9), DiscoveredBy.LINK, 0)])  # nearer than what was read ahead
    assert [lease_of(frontier).url for _ in range(3)] == [url(9), url(3), url(4)]


def test_ours_a_url_that_comes_nearer_overtakes_those_that_were_read_ahead(frontier: SqliteFrontier) -> None:
    found = [(1, 1), (2, 2), (3, 3), (4, 9)]
    frontier.admit([DiscoveredUrl(url(number), DiscoveredBy.LINK, depth) for number, depth in found])
    assert lease_of(frontier).url == url(1)
    frontier.admit([DiscoveredUrl(url(4), DiscoveredBy.LINK, 1)])  # it was too deep
    assert [lease_of(frontier).url for _ in range(3)] == [url(4), url(2), url(3)]


def test_ours_more_urls_than_are_read_ahead_have_one_turn_each_in_order(frontier: SqliteFrontier) -> None:
    count = 2 * READ_AHEAD + 10
    frontier.admit([DiscoveredUrl(url(number), DiscoveredBy.LINK, number % 3) for number in range(count)])
    expected = sorted(range(count), key=lambda number: (number % 3, number))
    assert [lease_of(frontier).url for _ in range(count)] == [url(number) for number in expected]
    assert frontier.next(0.0, always) == Wait(IDLE_SECONDS)


def test_ours_a_failed_url_waits_for_its_time_and_the_crawl_until_the_first_of_all_origins(
    db: sqlite3.Connection, frontier: SqliteFrontier
) -> None:
    frontier.admit([*seeds(1, 2), DiscoveredUrl(url(1, "b"), DiscoveredBy.SEED, 0)])
    due = {url(1): 30.0, url(2): 20.0, url(1, "b"): 25.0}
    for lease in [lease_of(frontier) for _ in due]:
        frontier.retry(Retry(lease, due[lease.url], "answered 503", Request(1.0, "503", False, 9, 0.5)))
    assert frontier.next(5.0, always) == Wait(15.0)
    assert frontier.next(20.0, lambda origin, _: 7.0 if origin == "https://a.example" else 0.0) == Wait(5.0)
    assert db.execute("SELECT attempts, due, reason FROM visit ORDER BY id").fetchone() == (1, 30.0, "answered 503")
    assert [lease_of(frontier, now).url for now in (20.0, 25.0, 30.0)] == [url(2), url(1, "b"), url(1)]
    assert frontier.next(30.0, always) == Wait(IDLE_SECONDS)


def test_ours_only_the_holder_of_a_lease_may_ask_for_another_turn(frontier: SqliteFrontier) -> None:
    frontier.admit(seeds(1))
    lease = lease_of(frontier)
    frontier.settle(Outcome(lease, INDEXABLE))
    frontier.retry(Retry(lease, 0.0, "answered 503"))
    assert frontier.next(0.0, always) == Done()
    assert frontier.verdict_of(url(1)) == INDEXABLE


def test_ours_far_leases_take_the_last_that_was_read_ahead(frontier: SqliteFrontier) -> None:
    frontier.admit([DiscoveredUrl(url(number), DiscoveredBy.LINK, 1) for number in range(5)])
    turns = [lease_of(frontier, far=far).url for far in (True, False, True)]
    assert turns == [url(4), url(0), url(3)]


def test_ours_urls_that_were_in_flight_at_three_crashes_come_last_and_alone(db: sqlite3.Connection) -> None:
    """Nothing says which of two URLs ended the process, so each has a turn without the other."""
    for crash in range(3):
        frontier = SqliteFrontier(db, admission)
        assert frontier.crash_suspects() == []
        if not crash:
            frontier.admit(seeds(1, 2, 3, 4))
        assert [lease_of(frontier).url for _ in range(2)] == [url(1), url(2)]
        frontier.commit()
    frontier = SqliteFrontier(db, admission)
    assert frontier.crash_suspects() == [url(1), url(2)]
    near, later = lease_of(frontier), lease_of(frontier)
    assert (near.url, later.url) == (url(3), url(4))
    assert isinstance(frontier.next(0.0, always), Wait)
    frontier.settle(Outcome(near, INDEXABLE))
    assert isinstance(frontier.next(0.0, always), Wait)
    frontier.settle(Outcome(later, INDEXABLE))
    alone = lease_of(frontier)
    assert alone.url == url(1)
    assert isinstance(frontier.next(0.0, always), Wait)
    frontier.settle(Outcome(alone, INDEXABLE))
    assert frontier.crash_suspects() == [url(2)]
    frontier.settle(Outcome(lease_of(frontier), INDEXABLE))
    assert frontier.next(0.0, always) == Done()
    frontier.commit()
    assert SqliteFrontier(db, admission).crash_suspects() == []


def test_ours_a_url_in_flight_at_five_crashes_is_given_up(db: sqlite3.Connection) -> None:
    """In the next run one more crash is enough; once it is fetched, all is forgotten."""
    SqliteFrontier(db, admission).admit(seeds(1, 2))
    for crash in range(5):
        frontier = SqliteFrontier(db, admission)
        if crash == 3:
            frontier.settle(Outcome(lease_of(frontier), INDEXABLE))
        assert lease_of(frontier).url == url(1)
        frontier.commit()
    frontier = SqliteFrontier(db, admission)
    assert frontier.crash_suspects() == []
    assert frontier.next(0.0, always) == Done()
    given_up = frontier.verdict_of(url(1))
    assert given_up
    assert (given_up.state, "died 5 times in a row" in given_up.reason) == (State.INTERNAL_ERROR, True)
    frontier.commit()
    for is_calm in (False, True):
        db.execute("DELETE FROM visit")  # the next run
        frontier = SqliteFrontier(db, admission)
        frontier.admit(seeds(1))
        assert frontier.crash_suspects() == [url(1)]
        lease = lease_of(frontier)
        if is_calm:
            frontier.settle(Outcome(lease, INDEXABLE))
        frontier.commit()
        frontier = SqliteFrontier(db, admission)
        assert frontier.next(0.0, always) == Done()
        frontier.commit()
    assert SqliteFrontier(db, admission).crash_suspects() == []


def test_ours_a_process_that_ends_in_order_leaves_no_suspect(db: sqlite3.Connection) -> None:
    for _ in range(4):
        frontier = SqliteFrontier(db, admission)
        frontier.admit(seeds(1))
        assert lease_of(frontier).url == url(1)
        frontier.land()
    assert SqliteFrontier(db, admission).crash_suspects() == []


def test_ours_hops_end_where_another_way_leads_too(frontier: SqliteFrontier) -> None:
    frontier.admit(seeds(0))
    first = lease_of(frontier)
    frontier.settle(Outcome(first, INDEXABLE, finds=(DiscoveredUrl(url(1), DiscoveredBy.REDIRECT, 0, first.id),)))
    second = lease_of(frontier)
    assert frontier.hops(second) == 1
    frontier.admit([DiscoveredUrl(url(1), DiscoveredBy.LINK, 3)])
    assert frontier.hops(second) == 0
    frontier.admit([DiscoveredUrl(url(5), DiscoveredBy.REDIRECT, 0)])  # by a redirect of the start URL, of no page
    assert frontier.hops(lease_of(frontier)) == 0


def test_ours_the_origins_of_a_run_are_those_of_its_pages_that_were_admitted_and_are_no_seeds(
    db: sqlite3.Connection,
) -> None:
    def admits(find: DiscoveredUrl) -> Verdict | None:
        host = find.url[8:].partition(".")[0]
        states = {"far": State.OUT_OF_SCOPE, "long": State.TOO_LONG, "deep": State.TOO_DEEP}
        return Verdict(states[host]) if host in states else None

    frontier = SqliteFrontier(db, admits)
    links = [DiscoveredUrl(url(1, host), DiscoveredBy.LINK, 1) for host in ("b", "far", "long", "deep", "b")]
    frontier.admit([*seeds(1), *links, DiscoveredUrl(url(1, "map"), DiscoveredBy.LINK, 0, None, DocumentKind.SITEMAP)])
    assert sorted(frontier.found_origins()) == ["https://b.example", "https://deep.example"]


def test_ours_requeued_urls_have_their_attempts_and_nothing_of_the_answer(
    db: sqlite3.Connection, frontier: SqliteFrontier
) -> None:
    frontier.admit(seeds(1, 2))
    frontier.retry(Retry(lease_of(frontier), 0.0, "answered 503"))
    other, again = lease_of(frontier), lease_of(frontier)  # the failed one has its turn behind what was read ahead
    assert (again.url, again.attempts) == (url(1), 1)
    frontier.settle(Outcome(again, Verdict(State.NOINDEX, "noindex"), 200))
    frontier.requeue([again, other])
    assert known(frontier) == {State.PENDING: 2}
    rows = db.execute("SELECT state, reason, status, attempts, due FROM visit ORDER BY id").fetchall()
    assert rows == [("pending", "", None, 1, 0), ("pending", "", None, 0, 0)]


def test_ours_a_requeued_url_overtakes_deeper_ones_that_were_read_ahead(frontier: SqliteFrontier) -> None:
    found = [(1, 0), (2, 2), (3, 2)]
    frontier.admit([DiscoveredUrl(url(number), DiscoveredBy.LINK, depth) for number, depth in found])
    first = lease_of(frontier)
    frontier.settle(Outcome(first, INDEXABLE))
    assert lease_of(frontier).url == url(2)
    frontier.requeue([first])
    assert [lease_of(frontier).url for _ in range(2)] == [url(1), url(3)]


def test_ours_the_links_of_stored_content_are_those_of_the_page_and_what_else_it_leads_to(
    db: sqlite3.Connection, frontier: SqliteFrontier
) -> None:
    frontier.admit(seeds(1))
    lease = lease_of(frontier)
    canonical = DiscoveredUrl(url(3), DiscoveredBy.CANONICAL, 0, lease.id)
    listed = DiscoveredUrl(url(4), DiscoveredBy.SITEMAP, 0, lease.id, DocumentKind.SITEMAP)
    links = [(url(2), int(DiscoveredBy.LINK))]
    frontier.settle(Outcome(lease, INDEXABLE, 200, links, (canonical, listed), page=Page(digest=b"d")))
    (packed,) = db.execute("SELECT links FROM content").fetchone()
    numbers = dict(db.execute("SELECT id, url FROM url"))
    assert [(numbers[number], found) for number, found in unpack_links(packed)] == [
        (url(2), DiscoveredBy.LINK),
        (url(3), DiscoveredBy.CANONICAL),
    ]


def test_ours_a_turn_without_a_request_leaves_no_line_in_the_trail(
    db: sqlite3.Connection, frontier: SqliteFrontier
) -> None:
    """A page that robots.txt blocks is settled without one; a retry may follow from another request."""
    frontier.admit(seeds(1))
    frontier.retry(Retry(lease_of(frontier), 0.0, "robots.txt is unreachable"))
    frontier.settle(Outcome(lease_of(frontier), Verdict(State.ROBOTS, "robots.txt line 1: Disallow: /")))
    assert db.execute("SELECT trail, whole FROM visit").fetchone() == ("", 0)


def test_ours_counts_are_read_again_when_others_have_changed_the_states(
    db: sqlite3.Connection, frontier: SqliteFrontier
) -> None:
    frontier.admit(seeds(1, 2))
    for _ in range(2):
        frontier.settle(Outcome(lease_of(frontier), INDEXABLE))
    frontier.commit()
    db.execute("UPDATE visit SET state = 'soft 404' WHERE id = 1")
    assert known(frontier) == {State.INDEXABLE: 2}
    frontier.reread()
    assert known(frontier) == {State.INDEXABLE: 1, State.SOFT_404: 1}


def test_ours_a_change_that_fails_is_forgotten_and_can_be_made_again(db: sqlite3.Connection) -> None:
    is_broken = True

    def admits(find: DiscoveredUrl) -> Verdict | None:
        if is_broken and find.url == url(3):
            raise RuntimeError("no")
        return None

    frontier = SqliteFrontier(db, admits)
    frontier.admit(seeds(1))
    frontier.commit()
    with pytest.raises(RuntimeError):
        frontier.admit(seeds(2, 3))
    assert known(frontier) == {State.PENDING: 1}
    is_broken = False
    frontier.admit(seeds(2, 3))
    assert [lease_of(frontier).url for _ in range(3)] == [url(1), url(2), url(3)]


def test_ours_a_change_that_fails_makes_urls_pending_that_no_commit_has_settled(db: sqlite3.Connection) -> None:
    def admits(find: DiscoveredUrl) -> Verdict | None:
        if find.url == url(4):
            raise RuntimeError("no")
        return None

    frontier = SqliteFrontier(db, admits)
    frontier.admit(seeds(1, 2, 3))
    frontier.settle(Outcome(lease_of(frontier), INDEXABLE, status=200))
    frontier.commit()
    settled, out = lease_of(frontier), lease_of(frontier)
    frontier.settle(Outcome(settled, INDEXABLE, status=200))
    with pytest.raises(RuntimeError):
        frontier.settle(Outcome(out, INDEXABLE, status=200, links=[(url(4), DiscoveredBy.LINK)]))
    assert known(frontier) == {State.INDEXABLE: 1, State.PENDING: 2}
    assert lease_of(frontier).url == settled.url  # the other one is still out
    frontier.settle(Outcome(out, INDEXABLE, status=200))
    assert known(frontier) == {State.INDEXABLE: 2, State.PENDING: 1}


def test_ours_every_link_to_a_postponed_url_is_evidence_until_it_is_visited(db: sqlite3.Connection) -> None:
    asked: list[DiscoveredUrl] = []

    def admits(find: DiscoveredUrl) -> Verdict | None:
        asked.append(find)
        return Verdict(State.TRAP, f"deep {find.depth}") if find.depth > 1 else None

    def record() -> UrlRecord:
        (found,) = frontier.records(State.TRAP)
        return found

    frontier = SqliteFrontier(db, admits)
    frontier.admit(seeds(0, 8, 9))
    sources = [lease_of(frontier).id for _ in range(3)]
    link, nofollow = DiscoveredBy.LINK, DiscoveredBy.NOFOLLOW
    frontier.admit([DiscoveredUrl(url(1), nofollow, 4, sources[0])])
    assert record() == UrlRecord(url(1), State.TRAP, "deep 4", nofollow, 4, None)
    frontier.admit([DiscoveredUrl(url(1), nofollow, 6, sources[1])])  # tells nothing new, and counts all the same
    assert record().depth == 4
    frontier.admit([DiscoveredUrl(url(1), link, 3, sources[1])])
    assert record() == UrlRecord(url(1), State.TRAP, "deep 3", nofollow | link, 3, None)
    assert [find.source for find in asked if find.url == url(1)] == [*sources[:2], sources[1]]
    assert asked[-1] == DiscoveredUrl(url(1), nofollow | link, 3, sources[1])
    frontier.admit([DiscoveredUrl(url(1), nofollow, 1, sources[2])])
    assert known(frontier) == {State.PENDING: 4}
    lease = lease_of(frontier)
    assert (lease.url, lease.found, lease.depth) == (url(1), nofollow | link, 1)
    assert db.execute("SELECT source, reason FROM visit WHERE id = ?", (lease.id,)).fetchone() == (sources[2], "")


def test_ours_a_refusal_that_is_revised_keeps_the_page_that_led_to_it_first(
    db: sqlite3.Connection, frontier: SqliteFrontier
) -> None:
    frontier.admit(seeds(0, 9))
    first, second = lease_of(frontier).id, lease_of(frontier).id
    frontier.admit([DiscoveredUrl(url(1), DiscoveredBy.LINK, 6, first)])
    frontier.admit([DiscoveredUrl(url(1), DiscoveredBy.LINK, 5, second)])
    assert [record.reason for record in frontier.records(State.TOO_DEEP)] == ["deeper than 3"]
    frontier.admit([DiscoveredUrl(url(1), DiscoveredBy.LINK, 2, second)])
    number = lease_of(frontier).id
    assert db.execute("SELECT source, reason FROM visit WHERE id = ?", (number,)).fetchone() == (first, "")


def test_ours_a_url_that_is_no_nearer_than_those_read_ahead_costs_no_query(
    db: sqlite3.Connection, frontier: SqliteFrontier
) -> None:
    frontier.admit([DiscoveredUrl(url(number), DiscoveredBy.LINK, 1) for number in (1, 2)])
    lease_of(frontier)
    asked: list[str] = []
    db.set_trace_callback(asked.append)
    frontier.admit([DiscoveredUrl(url(3), DiscoveredBy.LINK, 1)])
    assert lease_of(frontier).url == url(2)
    assert not any(statement.startswith("SELECT v.id, u.url") for statement in asked)
    db.set_trace_callback(None)
    assert lease_of(frontier).url == url(3)
