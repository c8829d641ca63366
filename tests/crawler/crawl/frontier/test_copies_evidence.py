"""What counts as evidence of copies, what takes it back, and which of the pages that were read stay listed.

Pages are read one after the other, so that each rule decides at its own page.
"""

import re
import sqlite3
from hashlib import blake2b
from pathlib import Path

import pytest
from endless_sites import HOME, Crawl, Site, anchors, end_run, visit
from frontiers import INDEXABLE, always
from test_frontier_counts import NAMES, below_ids

from crawler.crawl.frontier.copies import EVIDENCE, SAMPLE
from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.model import DiscoveredBy, DiscoveredUrl, DocumentKind, Lease, Outcome, Page, State, Url, Verdict
from crawler.parse.snapshot.snapshot import take_snapshot

FORM = "/s/{sid}/{name}"


def crawl(site: Site, folder: Path, most: int = 1_000, patience: int = 250) -> Crawl:
    return visit(site, folder, width=1, most=most, patience=patience)


A = "<h1>A</h1>" + anchors(["bax/"])


@pytest.mark.parametrize("at", [3, 12, EVIDENCE])
def test_ours_a_page_unlike_all_others_begins_the_row_of_equal_bytes_again(tmp_path: Path, at: int) -> None:
    def site(path: str) -> str:
        if path == "/":
            return "<h1>Home</h1>" + anchors(["/a/"])
        return f"<h1>News</h1>{A}" if path.count("bax") == at else A

    found = crawl(site, tmp_path)
    news = "/a/" + "bax/" * at
    assert found.listed == {"/", "/a/", news, f"{news}bax/"}
    # the start page, the first page, its copies, the news; a copy that the news leads to; a new row; a sample
    assert len(found.read) == 1 + 1 + (at - 1) + 1 + 1 + EVIDENCE + SAMPLE


def test_ours_leaves_that_are_equal_to_the_byte_are_no_news(tmp_path: Path) -> None:
    """So the sample of a tree is not doubled for them."""

    def site(path: str) -> str:
        if path == "/":
            return "<h1>Home</h1>" + anchors(["/a/"])
        return "<p>A leaf." if path.endswith("/leaf/") else "<h1>A</h1>" + anchors(["bax/", "leaf/"])

    found = crawl(site, tmp_path)
    assert found.listed == {"/", "/a/", "/a/leaf/"}
    assert len(found.read) == 1 + 1 + 2 + EVIDENCE + SAMPLE  # the first leaf begins the row again


@pytest.mark.parametrize(
    ("lists", "more"), [(["/list"], {"/list", "/list-x/", "/list-y/"}), (["/l1/", "/l2/"], {"/l1/", "/l2/"})]
)
def test_ours_copies_found_on_a_page_without_copies_stay(tmp_path: Path, lists: list[str], more: set[str]) -> None:
    """Of those that pages with copies lead to, none stays but the nearest."""

    def site(path: str) -> str:
        if path == "/":
            return "<h1>Home</h1>" + anchors(["/a/", *lists])
        if path in lists:
            return "<h1>List</h1>" + anchors(["list-x/", "list-y/"])
        return A

    found = crawl(site, tmp_path)
    assert found.notes
    assert found.listed == {"/", "/a/", *more}


def with_a_change(names: int, read: int) -> Site:
    """Copies without end, of which the first page shows other words when it is read for the n-th time, once."""
    whole, seen = below_ids(FORM, NAMES[:names]), [0]

    def site(path: str) -> str | None:
        page = whole(path)
        if path.endswith(NAMES[0]):
            seen[0] += 1
            return f"<p>Sold out today.{page}" if seen[0] == read else page
        return page

    return site


def test_ours_copies_of_a_page_that_shows_other_words_count_no_longer(tmp_path: Path) -> None:
    """The page itself stays."""
    left_out = []
    for most in (5 + 5 * 5, 1 + 5 + 5 * 5):
        folder = tmp_path / str(most)
        folder.mkdir()
        traps = crawl(with_a_change(5, 3), folder, most=most).traps
        left_out.append({path.rpartition("/")[2] for path in traps})
    assert left_out == [set(), {*NAMES[1:5]}]


def test_ours_copies_that_an_earlier_run_listed_stay_listed(tmp_path: Path) -> None:
    first = crawl(below_ids(FORM, NAMES[:1]), tmp_path, most=10, patience=0)
    end_run(tmp_path)
    second = crawl(below_ids(FORM, NAMES[:1], more=" And the news."), tmp_path)
    assert second.notes
    assert first.listed <= second.listed
    assert len(first.listed) == 10


def test_ours_a_url_of_the_sample_waits_without_a_reason(tmp_path: Path) -> None:
    found = crawl(below_ids(FORM, NAMES[:3]), tmp_path, most=1 + 3 + EVIDENCE + 1)
    waiting = [path for path, state in found.ends.items() if state is State.PENDING]
    assert len(waiting) == SAMPLE - 1
    assert {found.reasons[path] for path in waiting} == {""}


def test_sitemaps_org_a_page_of_copies_is_visited_if_a_sitemap_names_it_though_the_sitemap_is_read_last(
    db: sqlite3.Connection,
) -> None:
    def lease_of() -> Lease:
        lease = frontier.next(0.0, always)
        assert isinstance(lease, Lease)
        return lease

    site = below_ids(FORM, NAMES[:1])
    frontier = SqliteFrontier(db, lambda find: None, patience=250)
    frontier.admit([DiscoveredUrl(Url(f"{HOME}/"), DiscoveredBy.SEED, 0)])
    while not frontier.counts().get(State.TRAP):
        lease = lease_of()
        body = (site(lease.url.removeprefix(HOME)) or "").encode()
        links = [(Url(HOME + href), int(DiscoveredBy.LINK)) for href in re.findall('href="([^"]*)"', body.decode())]
        page = Page(text=take_snapshot(body), digest=blake2b(body, digest_size=16).digest())
        frontier.settle(Outcome(lease, INDEXABLE, 200, links, page=page))
    sitemap = DiscoveredUrl(Url(f"{HOME}/sitemap.xml"), DiscoveredBy.SITEMAP, 0, kind=DocumentKind.SITEMAP)
    frontier.admit([sitemap])
    lease, named = lease_of(), Url(f"{HOME}/s/named/{NAMES[0]}")
    find = DiscoveredUrl(named, DiscoveredBy.SITEMAP, 1, lease.id)
    frontier.settle(Outcome(lease, Verdict(State.SITEMAP_FILE), 200, finds=(find,)))
    assert frontier.verdict_of(named) == Verdict(State.PENDING)
    assert lease_of().url == named
