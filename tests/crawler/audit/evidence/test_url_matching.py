"""Claims add up on disk, and come to the pages that they mean."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawler.audit.evidence.by_url import UrlEvidence
from crawler.audit.evidence.review import ClaimReview
from crawler.audit.evidence.store import AUDIT_FILE, ClaimStore, FindingStore, create_audit_file
from crawler.audit.evidence.url_matching import UrlMatcher
from crawler.audit.finding import AuditFinding, RuleCount
from crawler.audit.source_record import SourceKind, SourceRecord, SourceReport
from crawler.audit.sources.urls import RejectReason, SourceUrlParser
from crawler.model import State, Url
from crawler.state.schema import STATE_DB
from crawler.url.normalize import DEFAULT_PARAMS

SITE = "https://www.example.com"


class Desk:
    """A state with visits, and the tables of an audit beside it."""

    def __init__(self, folder: Path) -> None:
        self.state = STATE_DB.open(folder / STATE_DB.file)
        self.db = create_audit_file(folder / AUDIT_FILE, folder / STATE_DB.file)
        self.claims = ClaimStore(self.db)
        self.homes = UrlMatcher(self.db)

    def visit(self, path: str, state: State = State.INDEXABLE, status: int = 200, target: str = "") -> int:
        url = f"{SITE}{path}"
        number = self.state.execute("INSERT INTO url (url) VALUES (?)", (url,)).lastrowid
        assert number is not None
        self.state.execute(
            "INSERT INTO visit (id, origin, kind, state, found, depth, status, target) VALUES (?, ?, 0, ?, 2, 1, ?, ?)",
            (number, SITE, state, status, f"{SITE}{target}" if target else None),
        )
        return number

    def claim(self, source: SourceKind, *claims: SourceRecord, name: str = "source") -> int:
        account = SourceReport(source=source, name=name)
        number = self.claims.begin(account)
        self.claims.put(number, claims)
        self.claims.end(number, account)
        return number

    def home(self, path: str) -> int | None:
        row = self.db.execute("SELECT id FROM home WHERE url = ?", (f"{SITE}{path}",)).fetchone()
        return int(row[0]) if row else None


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.db.close()
    made.state.close()


def url(path: str) -> Url:
    return Url(f"{SITE}{path}")


def test_ours_claims_of_one_source_for_one_url_add_up_whatever_their_order(desk: Desk) -> None:
    page = url("/a")
    number = desk.claims.begin(SourceReport(source=SourceKind.LOG, name="log"))
    some = [
        SourceRecord(
            url=page, first="2026-03-02", last="2026-03-04", people=2, ok=2, status=200, agents={"Googlebot": 1}
        ),
        SourceRecord(
            url=page, first="2026-03-01", last="2026-03-09", bots=3, dead=3, status=404, agents={"Googlebot": 2, "b": 1}
        ),
        SourceRecord(url=page, first="2026-03-05", last="2026-03-05", people=1, moved=1, status=301),
        SourceRecord(url=page),
    ]
    for claim in some:
        desk.claims.put(number, [claim])
    row = desk.db.execute("SELECT first, last, people, bots, ok, moved, dead, status, agents FROM claim").fetchall()
    assert row == [("2026-03-01", "2026-03-09", 3, 3, 2, 1, 3, 404, '{"Googlebot":3,"b":1}')]


def test_ours_the_account_of_a_source_is_kept_as_it_ended(desk: Desk) -> None:
    account = SourceReport(source=SourceKind.LIST, name="list.txt")
    number = desk.claims.begin(account)
    desk.claims.put(number, [SourceRecord(url=url("/a")), SourceRecord(url=url("/b")), SourceRecord(url=url("/a"))])
    account.rows, account.used = 4, 3
    desk.claims.end(number, account)
    ClaimReview(desk.db).finish_reports()
    (kept,) = desk.claims.reports()
    assert (kept.name, kept.rows, kept.used, kept.urls) == ("list.txt", 4, 3, 2)


def test_ours_a_source_may_have_any_name_that_a_file_can_have(desk: Desk) -> None:
    desk.claim(SourceKind.LOG, SourceRecord(url=url("/a")), name=os.fsdecode(b"caf\xe9.log"))
    assert desk.claims.reports()[0].name == "caf\\xe9.log"


def test_ours_a_claim_comes_to_the_page_by_its_url_spelling_redirect_or_canonical(desk: Desk) -> None:
    boats = desk.visit("/boats/")
    desk.visit("/old", State.REDIRECT, 301, "/copy")
    desk.visit("/copy", State.CANONICAL_ELSEWHERE, 200, "/boats/")
    gone = desk.visit("/gone", State.CLIENT_ERROR, 404)
    away = desk.visit("/away", State.REDIRECT, 301, "/not-visited")
    paths = ["/boats/", "/Boats", "/boats/index.html", "/old", "/copy", "/gone", "/away", "/never-met"]
    desk.claim(SourceKind.LIST, *(SourceRecord(url=url(path)) for path in paths))
    desk.homes.match_all()
    assert [desk.home(path) for path in paths] == [boats] * 5 + [gone, away, None]


def test_ours_a_spelling_of_two_pages_comes_to_neither(desk: Desk) -> None:
    desk.visit("/Boats")
    desk.visit("/boats/")
    desk.claim(SourceKind.LIST, SourceRecord(url=url("/BOATS")))
    desk.homes.match_all()
    assert desk.home("/BOATS") is None


def test_ours_redirects_in_a_circle_end(desk: Desk) -> None:
    desk.visit("/a", State.REDIRECT, 301, "/b")
    desk.visit("/b", State.REDIRECT, 301, "/a")
    desk.claim(SourceKind.LIST, SourceRecord(url=url("/a")))
    desk.homes.match_all()
    assert desk.home("/a") is not None


def test_ours_strangers_are_what_was_not_visited_or_is_linked_by_nofollow_only(desk: Desk) -> None:
    desk.visit("/seen")
    desk.visit("/login", State.NOFOLLOW)
    desk.visit("/terms", State.NOFOLLOW)
    desk.claim(
        SourceKind.LOG,
        SourceRecord(url=url("/seen"), people=1, ok=1),
        SourceRecord(url=url("/new"), people=2, bots=1, ok=3),
    )
    desk.claim(SourceKind.SITEMAP, SourceRecord(url=url("/new")), SourceRecord(url=url("/login")))
    found = {each.url: each for each in desk.homes.uncrawled_urls()}
    assert set(found) == {url("/new"), url("/login"), url("/terms")}
    assert found[url("/new")].sources == {SourceKind.LOG, SourceKind.SITEMAP}
    assert (found[url("/new")].people, found[url("/new")].requests, found[url("/new")].ok) == (2, 3, 3)
    assert found[url("/login")].is_linked
    assert found[url("/terms")].sources == frozenset()


def test_ours_what_is_known_of_a_page_is_told_of_all_its_spellings(desk: Desk) -> None:
    page = desk.visit("/a")
    desk.claim(
        SourceKind.LOG, SourceRecord(url=url("/a"), first="2026-02-02", last="2026-02-03", people=1, ok=1), name="x.log"
    )
    desk.claim(
        SourceKind.LOG, SourceRecord(url=url("/A/"), first="2026-01-01", last="2026-01-01", bots=2, ok=2), name="y.log"
    )
    desk.claim(SourceKind.SEARCH, SourceRecord(url=url("/a"), clicks=3, impressions=40), name="Pages.csv")
    desk.homes.match_all()
    ((number, known),) = UrlEvidence(desk.db).by_page()
    assert number == page
    assert known.sources == {SourceKind.LOG, SourceKind.SEARCH}
    assert (known.first, known.last) == ("2026-01-01", "2026-02-03")
    assert (known.people, known.bots, known.ok, known.clicks, known.impressions) == (1, 2, 3, 3, 40)
    evidence, spellings = UrlEvidence(desk.db).sentences(page, url("/a"))
    assert spellings == [url("/A/")]
    assert evidence[0] == "log x.log: 1 requests by people and 0 by bots, from 2026-02-02 to 2026-02-03"
    assert f"as {url('/A/')}: 0 requests by people and 2 by bots, on 2026-01-01" in evidence[1]


def test_ours_findings_come_back_by_rank_and_are_counted(desk: Desk) -> None:
    found = FindingStore(desk.db)
    found.put(
        (rank, AuditFinding(rule="orphan.log", url=f"{SITE}/{rank}", sentence="", is_certain=rank > 1))
        for rank in (1, 3, 2)
    )
    assert [each.url[-1] for each in found("orphan.log")] == ["3", "2", "1"]
    assert found.counts() == [RuleCount("orphan.log", 2, 1)]
    assert list(found("orphan.list")) == []


def test_ours_another_audit_begins_with_empty_tables(tmp_path: Path) -> None:
    STATE_DB.open(tmp_path / STATE_DB.file).close()
    first = create_audit_file(tmp_path / AUDIT_FILE, tmp_path / STATE_DB.file)
    ClaimStore(first).begin(SourceReport(source=SourceKind.LOG, name="log"))
    first.close()
    second = create_audit_file(tmp_path / AUDIT_FILE, tmp_path / STATE_DB.file)
    assert ClaimStore(second).reports() == []
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        second.execute("DELETE FROM site.url")
    second.close()


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("/a?utm_source=x", "/a"),
        ("/%7Ejoe/%41", "/~joe/A"),
        ("//a", "//a"),
        ("http://example.com/a", "/a"),
        ("HTTPS://WWW.EXAMPLE.COM/a#top", "/a"),
        ("https://example.com.:443/a", "/a"),
        (" /a ", "/a"),
    ],
)
def test_ours_sources_name_the_site_in_many_ways(text: str, meant: str) -> None:
    assert SourceUrlParser(url("/"), DEFAULT_PARAMS, lambda each: each.startswith(f"{SITE}/")).parse(text) == url(meant)


@pytest.mark.parametrize(
    ("text", "stray"),
    [
        ("https://other.example/a", RejectReason.FOREIGN),
        ("https://www.example.com:8443/a", RejectReason.FOREIGN),
        ("a/b", RejectReason.UNREAD),
        ("", RejectReason.UNREAD),
        ("javascript:alert(1)", RejectReason.UNREAD),
        ("https://", RejectReason.UNREAD),
    ],
)
def test_ours_what_is_no_page_of_the_site_is_told_apart(text: str, stray: RejectReason) -> None:
    assert SourceUrlParser(url("/"), DEFAULT_PARAMS, lambda each: each.startswith(f"{SITE}/")).parse(text) is stray


def test_ours_the_days_are_those_of_the_log_whatever_time_exports_are_about(desk: Desk) -> None:
    desk.visit("/a")
    page, days = url("/a"), {"first": "2025-01-01", "last": "2025-01-02"}
    desk.claim(SourceKind.ANALYTICS, SourceRecord(url=page, first="2024-01-01", last="2025-12-01"))
    desk.claim(SourceKind.LOG, SourceRecord(url=page, people=1, ok=1, **days))
    desk.claim(SourceKind.SEARCH, SourceRecord(url=page, first="2024-01-01", last="2025-12-31"))
    desk.homes.match_all()
    known = UrlEvidence(desk.db).of_url(page)
    assert (known.first, known.last) == ("2025-01-01", "2025-01-02")


def test_ours_visits_of_a_log_that_tells_no_status_count_in_every_spelling(desk: Desk) -> None:
    desk.visit("/a")
    desk.claim(SourceKind.LOG, SourceRecord(url=url("/A"), people=3))
    desk.homes.match_all()
    assert UrlEvidence(desk.db).of_url(url("/A")).people == 3


def test_ours_a_redirect_has_the_visits_of_its_own_url_and_none_of_its_target(desk: Desk) -> None:
    page = desk.visit("/new")
    desk.visit("/old", State.REDIRECT, 301, "/new")
    desk.visit("/unvisited", State.REDIRECT, 301, "/new")
    desk.claim(SourceKind.SITEMAP, SourceRecord(url=url("/unvisited")))
    desk.claim(
        SourceKind.LOG,
        SourceRecord(url=url("/new"), people=40, ok=40),
        SourceRecord(url=url("/old"), people=7, moved=7),
    )
    desk.claim(SourceKind.SEARCH, SourceRecord(url=url("/new"), clicks=9, impressions=13_688))
    desk.homes.match_all()
    evidence = UrlEvidence(desk.db)
    unvisited = evidence.of_url(url("/unvisited"))
    assert (unvisited.sources, unvisited.visits, unvisited.impressions) == ({SourceKind.SITEMAP}, 0, 0)
    old, new = evidence.of_url(url("/old")), dict(evidence.by_page())[page]
    assert (old.people, old.moved, old.clicks) == (7, 7, 0)
    assert (new.people, new.clicks, new.impressions) == (40, 9, 13_688)


@pytest.mark.parametrize(("own", "missed"), [(40, 40), (0, 40), (55, 55)])
def test_ours_a_visit_through_a_redirect_to_a_dead_page_counts_once(desk: Desk, own: int, missed: int) -> None:
    dead = desk.visit("/dead", State.CLIENT_ERROR, 404)
    desk.visit("/old", State.REDIRECT, 301, "/dead")
    desk.claim(
        SourceKind.LOG,
        SourceRecord(url=url("/old"), people=40, moved=40),
        *([SourceRecord(url=url("/dead"), people=own, dead=own)] if own else []),
    )
    desk.homes.match_all()
    assert dict(UrlEvidence(desk.db).by_page())[dead].people == missed


def test_ours_the_visits_of_a_redirect_take_no_longer_when_many_lead_to_its_target(desk: Desk) -> None:
    desk.visit("/new")
    for number in range(200):
        desk.visit(f"/old/{number}", State.REDIRECT, 301, "/new")
    desk.claim(SourceKind.LOG, *(SourceRecord(url=url(f"/old/{number}"), people=1, moved=1) for number in range(200)))
    desk.homes.match_all()
    evidence, steps = UrlEvidence(desk.db), [0]

    def step() -> None:
        steps[0] += 1

    desk.db.set_progress_handler(step, 1)
    assert evidence.of_url(url("/old/7")).people == 1
    desk.db.set_progress_handler(None, 1)
    assert steps[0] < 1_000  # instructions of SQLite; a look at every claim of the target takes many more


def test_ours_urls_with_extra_parameters_are_known_by_one_query_for_each_path(desk: Desk) -> None:
    desk.visit("/a")
    desk.visit("/gone", State.CLIENT_ERROR)
    desk.state.commit()
    asked: list[str] = []
    desk.db.set_trace_callback(asked.append)
    found = [desk.homes.has_extra_params(url(f"/{name}?q={n}")) for name in ("a", "b", "gone") for n in range(50)]
    assert found == [True] * 50 + [False] * 100
    assert len(asked) == 3
    assert not desk.homes.has_extra_params(url("/a"))
    desk.visit("/gone-not")
    desk.state.commit()
    assert desk.homes.has_extra_params(url("/gone-not?x"))


def test_ours_what_a_round_found_is_known_in_the_next_one(desk: Desk) -> None:
    assert not desk.homes.has_extra_params(url("/late?x"))
    desk.visit("/late")
    desk.state.commit()
    desk.homes.learn_spellings()
    assert desk.homes.has_extra_params(url("/late?x"))
