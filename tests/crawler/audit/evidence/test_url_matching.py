"""Claims add up on disk, and come to the pages that they mean."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawler.audit.claim import Account, Claim, Source
from crawler.audit.evidence import schema
from crawler.audit.evidence.by_url import Knowledge
from crawler.audit.evidence.store import Claims, Found
from crawler.audit.evidence.url_matching import Homes
from crawler.audit.finding import AuditFinding, Count
from crawler.audit.sources.urls import Addresses, Stray
from crawler.model import State, Url
from crawler.state.migrations import STATE
from crawler.url.normalize import DEFAULT

SITE = "https://www.example.com"


class Desk:
    """A state with visits, and the tables of an audit beside it."""

    def __init__(self, folder: Path) -> None:
        self.state = STATE.connect(folder / STATE.file)
        self.db = schema.create(folder / schema.FILE, folder / STATE.file)
        self.claims = Claims(self.db)
        self.homes = Homes(self.db)

    def visit(self, path: str, state: State = State.INDEXABLE, status: int = 200, target: str = "") -> int:
        url = f"{SITE}{path}"
        number = self.state.execute("INSERT INTO url (url) VALUES (?)", (url,)).lastrowid
        assert number is not None
        self.state.execute(
            "INSERT INTO visit (id, origin, kind, state, found, depth, status, target) VALUES (?, ?, 0, ?, 2, 1, ?, ?)",
            (number, SITE, state, status, f"{SITE}{target}" if target else None),
        )
        return number

    def claim(self, source: Source, *claims: Claim, name: str = "source") -> int:
        account = Account(source=source, name=name)
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
    number = desk.claims.begin(Account(source=Source.LOG, name="log"))
    some = [
        Claim(
            url=page,
            first="2026-03-02",
            last="2026-03-04",
            people=2,
            ok=2,
            status=200,
            agents={"Googlebot": 1},
        ),
        Claim(
            url=page,
            first="2026-03-01",
            last="2026-03-09",
            bots=3,
            dead=3,
            status=404,
            agents={"Googlebot": 2, "b": 1},
        ),
        Claim(url=page, first="2026-03-05", last="2026-03-05", people=1, moved=1, status=301),
        Claim(url=page),
    ]
    for claim in some:
        desk.claims.put(number, [claim])
    row = desk.db.execute(
        "SELECT first, last, people, bots, ok, moved, dead, status, agents FROM claim"
    ).fetchall()
    assert row == [("2026-03-01", "2026-03-09", 3, 3, 2, 1, 3, 404, '{"Googlebot":3,"b":1}')]


def test_ours_the_account_of_a_source_is_kept_as_it_ended(desk: Desk) -> None:
    account = Account(source=Source.LIST, name="list.txt")
    number = desk.claims.begin(account)
    desk.claims.put(number, [Claim(url=url("/a")), Claim(url=url("/b")), Claim(url=url("/a"))])
    account.rows, account.used = 4, 3
    desk.claims.end(number, account)
    (kept,) = desk.claims.accounts()
    assert (kept.name, kept.rows, kept.used, kept.urls) == ("list.txt", 4, 3, 2)


def test_ours_a_source_may_have_any_name_that_a_file_can_have(desk: Desk) -> None:
    desk.claim(Source.LOG, Claim(url=url("/a")), name=os.fsdecode(b"caf\xe9.log"))
    assert desk.claims.accounts()[0].name == "caf\\xe9.log"


def test_ours_a_claim_comes_to_the_page_by_its_url_spelling_redirect_or_canonical(desk: Desk) -> None:
    boats = desk.visit("/boats/")
    desk.visit("/old", State.REDIRECT, 301, "/copy")
    desk.visit("/copy", State.CANONICAL_ELSEWHERE, 200, "/boats/")
    gone = desk.visit("/gone", State.CLIENT_ERROR, 404)
    away = desk.visit("/away", State.REDIRECT, 301, "/not-visited")
    paths = ["/boats/", "/Boats", "/boats/index.html", "/old", "/copy", "/gone", "/away", "/never-met"]
    desk.claim(Source.LIST, *(Claim(url=url(path)) for path in paths))
    desk.homes.settle()
    assert [desk.home(path) for path in paths] == [boats] * 5 + [gone, away, None]


def test_ours_a_spelling_of_two_pages_comes_to_neither(desk: Desk) -> None:
    desk.visit("/Boats")
    desk.visit("/boats/")
    desk.claim(Source.LIST, Claim(url=url("/BOATS")))
    desk.homes.settle()
    assert desk.home("/BOATS") is None


def test_ours_redirects_in_a_circle_end(desk: Desk) -> None:
    desk.visit("/a", State.REDIRECT, 301, "/b")
    desk.visit("/b", State.REDIRECT, 301, "/a")
    desk.claim(Source.LIST, Claim(url=url("/a")))
    desk.homes.settle()
    assert desk.home("/a") is not None


def test_ours_strangers_are_what_was_not_visited_or_is_linked_by_nofollow_only(desk: Desk) -> None:
    desk.visit("/seen")
    desk.visit("/login", State.NOFOLLOW)
    desk.visit("/terms", State.NOFOLLOW)
    desk.claim(
        Source.LOG, Claim(url=url("/seen"), people=1, ok=1), Claim(url=url("/new"), people=2, bots=1, ok=3)
    )
    desk.claim(Source.SITEMAP, Claim(url=url("/new")), Claim(url=url("/login")))
    found = {each.url: each for each in desk.homes.strangers()}
    assert set(found) == {url("/new"), url("/login"), url("/terms")}
    assert found[url("/new")].sources == {Source.LOG, Source.SITEMAP}
    assert (found[url("/new")].people, found[url("/new")].requests, found[url("/new")].ok) == (2, 3, 3)
    assert found[url("/login")].is_linked
    assert found[url("/terms")].sources == frozenset()


def test_ours_what_is_known_of_a_page_is_told_of_all_its_spellings(desk: Desk) -> None:
    page = desk.visit("/a")
    desk.claim(
        Source.LOG, Claim(url=url("/a"), first="2026-02-02", last="2026-02-03", people=1, ok=1), name="x.log"
    )
    desk.claim(
        Source.LOG, Claim(url=url("/A/"), first="2026-01-01", last="2026-01-01", bots=2, ok=2), name="y.log"
    )
    desk.claim(Source.SEARCH, Claim(url=url("/a"), clicks=3, impressions=40), name="Pages.csv")
    desk.homes.settle()
    ((number, known),) = Knowledge(desk.db).pages()
    assert number == page
    assert known.sources == {Source.LOG, Source.SEARCH}
    assert (known.first, known.last) == ("2026-01-01", "2026-02-03")
    assert (known.people, known.bots, known.ok, known.clicks, known.impressions) == (1, 2, 3, 3, 40)
    evidence, spellings = Knowledge(desk.db).told(page, url("/a"))
    assert spellings == [url("/A/")]
    assert evidence[0] == "log x.log: 1 requests by people and 0 by bots, from 2026-02-02 to 2026-02-03"
    assert f"as {url('/A/')}: 0 requests by people and 2 by bots, on 2026-01-01" in evidence[1]


def test_ours_findings_come_back_by_rank_and_are_counted(desk: Desk) -> None:
    found = Found(desk.db)
    found.put(
        (rank, AuditFinding(rule="orphan.log", url=f"{SITE}/{rank}", sentence="", is_certain=rank > 1))
        for rank in (1, 3, 2)
    )
    assert [each.url[-1] for each in found("orphan.log")] == ["3", "2", "1"]
    assert found.counts() == [Count("orphan.log", 2, 1)]
    assert list(found("orphan.list")) == []


def test_ours_another_audit_begins_with_empty_tables(tmp_path: Path) -> None:
    STATE.connect(tmp_path / STATE.file).close()
    first = schema.create(tmp_path / schema.FILE, tmp_path / STATE.file)
    Claims(first).begin(Account(source=Source.LOG, name="log"))
    first.close()
    second = schema.create(tmp_path / schema.FILE, tmp_path / STATE.file)
    assert Claims(second).accounts() == []
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
    assert Addresses(url("/"), DEFAULT, lambda each: each.startswith(f"{SITE}/")).url(text) == url(meant)


@pytest.mark.parametrize(
    ("text", "stray"),
    [
        ("https://other.example/a", Stray.FOREIGN),
        ("https://www.example.com:8443/a", Stray.FOREIGN),
        ("/style.css?v=3", Stray.BESIDE),
        ("/IMG.JPG", Stray.BESIDE),
        ("a/b", Stray.UNREAD),
        ("", Stray.UNREAD),
        ("javascript:alert(1)", Stray.UNREAD),
        ("https://", Stray.UNREAD),
    ],
)
def test_ours_what_is_no_page_of_the_site_is_told_apart(text: str, stray: Stray) -> None:
    assert Addresses(url("/"), DEFAULT, lambda each: each.startswith(f"{SITE}/")).url(text) is stray


def test_ours_the_days_are_those_of_the_log_whatever_time_exports_are_about(desk: Desk) -> None:
    desk.visit("/a")
    page, days = url("/a"), {"first": "2025-01-01", "last": "2025-01-02"}
    desk.claim(Source.ANALYTICS, Claim(url=page, first="2024-01-01", last="2025-12-01"))
    desk.claim(Source.LOG, Claim(url=page, people=1, ok=1, **days))
    desk.claim(Source.SEARCH, Claim(url=page, first="2024-01-01", last="2025-12-31"))
    desk.homes.settle()
    known = Knowledge(desk.db).of(page)
    assert (known.first, known.last) == ("2025-01-01", "2025-01-02")


def test_ours_visits_of_a_log_that_tells_no_status_count_in_every_spelling(desk: Desk) -> None:
    desk.visit("/a")
    desk.claim(Source.LOG, Claim(url=url("/A"), people=3))
    desk.homes.settle()
    assert Knowledge(desk.db).of(url("/A")).people == 3
