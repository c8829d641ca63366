"""What is recalled of a URL: the page with its links, if it was read as it would be now and nothing is missing."""

import sqlite3
from pathlib import Path

from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.crawl.revalidation import PreviousVisits
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
    State,
    Url,
    Verdict,
)
from crawler.publish import store
from crawler.state.schema import STATE_DB

HOME, OTHER = Url("https://example.com/"), Url("https://elsewhere.example/")


def visited(path: Path) -> sqlite3.Connection:
    """The state after a run that read one page, which links to another site."""
    db = STATE_DB.open(path)
    scope = Verdict(State.OUT_OF_SCOPE, "elsewhere")
    frontier = SqliteFrontier(db, lambda find: scope if find.url == OTHER else None, run=1, reading="r")
    frontier.admit([DiscoveredUrl(HOME, DiscoveredBy.SEED, 0)])
    while not isinstance(lease := frontier.next(1.0, lambda _home, _now: 0.0), Done):
        assert isinstance(lease, Lease)
        page = Page(links=[(OTHER, DiscoveredBy.LINK)], title="home", digest=b"d", text=b"t")
        seen, request = ResponseMetadata(1.0, etag='"1"'), Request(1.0, "200", False, 1, 0.1)
        verdict = Verdict(State.INDEXABLE)
        frontier.settle(Outcome(lease, verdict, 200, page.links, page=page, sighting=seen, request=request))
    frontier.commit()
    store.store_visits(db, 1, "server")
    return db


def test_ours_a_page_is_recalled_with_its_links_if_it_was_read_alike(tmp_path: Path) -> None:
    db = visited(tmp_path / "state.db")
    (number,) = db.execute("SELECT id FROM url WHERE url = ?", (HOME,)).fetchone()
    visits = PreviousVisits(db, 2, "r", "server", 0)
    again = visits.get(number, DocumentKind.PAGE)
    assert again
    assert again.page == Page(links=[(OTHER, DiscoveredBy.LINK)], title="home")
    assert (again.digest, again.validates, again.is_due) == (b"d", True, False)
    assert (again.text, visits.with_text(again).text) == (b"", b"t")
    for reading, kind in (("other settings", DocumentKind.PAGE), ("r", DocumentKind.SITEMAP)):
        otherwise = PreviousVisits(db, 2, reading, "server", 0).get(number, kind)
        assert otherwise
        assert (otherwise.page, otherwise.digest, otherwise.validates) == (None, b"", False)
        assert visits.with_text(otherwise).text == b"t"
    moved = PreviousVisits(db, 2, "r", "another server", 0).get(number, DocumentKind.PAGE)
    assert moved
    assert (moved.page, moved.validates) == (again.page, False)
    db.close()


def test_ours_a_page_with_a_link_that_was_forgotten_is_read_again(tmp_path: Path) -> None:
    db = visited(tmp_path / "state.db")
    (number,) = db.execute("SELECT id FROM url WHERE url = ?", (HOME,)).fetchone()
    db.execute("DELETE FROM url WHERE url = ?", (OTHER,))
    again = PreviousVisits(db, 2, "r", "server", 0).get(number, DocumentKind.PAGE)
    assert again
    assert (again.page, again.digest, again.validates) == (None, b"", False)
    db.close()
