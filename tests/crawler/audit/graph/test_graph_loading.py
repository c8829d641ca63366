"""Loading the link graph from a state that a frontier made, and unpacking the links of many pages at once."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.audit.graph.links import LinkKind
from crawler.audit.graph.load import load_graph, node_names
from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.crawl.frontier.storage import pack_links, unpack_groups, unpack_links
from crawler.model import DiscoveredBy, DiscoveredUrl, DocumentKind, Lease, Outcome, Page, State, Url, Verdict
from crawler.state.schema import STATE_DB

HOME = "https://example.com/"
ANSWERS: dict[str, tuple[State, str, list[tuple[str, int]]]] = {
    "/": (
        State.INDEXABLE,
        "",
        [("/a", DiscoveredBy.LINK), ("/old", DiscoveredBy.LINK), ("/feed", DiscoveredBy.ALTERNATE)],
    ),
    "/a": (State.INDEXABLE, "", [("/", DiscoveredBy.LINK), ("/hidden", DiscoveredBy.NOFOLLOW)]),
    "/old": (State.REDIRECT, "/new", []),
    "/new": (State.INDEXABLE, "", [("/copy", DiscoveredBy.LINK)]),
    "/copy": (State.CANONICAL_ELSEWHERE, "/deep", [("/deep", DiscoveredBy.CANONICAL)]),
    "/deep": (State.INDEXABLE, "", []),
    "/feed": (State.WRONG_TYPE, "", [("/post", DiscoveredBy.FEED)]),
    "/post": (State.INDEXABLE, "", []),
    "/hidden": (State.INDEXABLE, "", []),
    "/sitemap.xml": (State.SITEMAP_FILE, "", [("/listed", DiscoveredBy.SITEMAP)]),
    "/listed": (State.INDEXABLE, "", [("/too", DiscoveredBy.LINK)]),
    "/too": (State.INDEXABLE, "", []),
}


def url(path: str) -> Url:
    return Url(f"https://example.com{path}")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(STATE_DB.open(tmp_path / STATE_DB.file)) as opened:
        yield opened


def test_ours_the_graph_is_what_the_frontier_kept(db: sqlite3.Connection) -> None:
    frontier = SqliteFrontier(db, lambda _: None)
    frontier.admit(
        [
            DiscoveredUrl(url("/"), DiscoveredBy.SEED, 0),
            DiscoveredUrl(url("/sitemap.xml"), DiscoveredBy.SITEMAP, 1, kind=DocumentKind.SITEMAP),
        ]
    )
    while isinstance(lease := frontier.next(0.0, lambda _, __: 0.0), Lease):
        state, target, links = ANSWERS[lease.url.removeprefix(HOME[:-1])]
        moved = url(target) if target else None
        step = (
            (DiscoveredUrl(moved, DiscoveredBy.REDIRECT, lease.depth, lease.id),)
            if moved and state is State.REDIRECT
            else ()
        )
        named = [(url(path), flags) for path, flags in links]
        frontier.settle(
            Outcome(lease, Verdict(state, "", moved), 200, links=named, finds=step, page=page_of(lease.url))
        )
    frontier.commit()
    graph = load_graph(db)
    assert graph is not None
    numbers = dict(db.execute("SELECT url, id FROM url"))
    node = {path: graph.nodes.node(numbers[url(path)]) for path in ANSWERS}
    assert graph.start == node["/"]
    assert {path: graph.nodes.state[place] for path, place in node.items()} == {
        path: answer[0] for path, answer in ANSWERS.items()
    }
    assert {path: LinkKind(int(graph.ways[place])) for path, place in node.items()} == {
        "/": LinkKind.FOLLOWED,
        "/a": LinkKind.FOLLOWED,
        "/old": LinkKind.FOLLOWED,
        "/new": LinkKind.REDIRECT,
        "/copy": LinkKind.FOLLOWED,
        "/deep": LinkKind.CANONICAL,
        "/feed": LinkKind.HEAD,
        "/post": LinkKind.HEAD,
        "/hidden": LinkKind.NOFOLLOW,
        "/sitemap.xml": LinkKind(0),
        "/listed": LinkKind(0),
        "/too": LinkKind.UNREACHED,
    }
    assert [int(graph.depth[node[path]]) for path in ("/", "/new", "/copy", "/deep")] == [0, 1, 2, -1]
    assert graph.island[node["/listed"]] == graph.island[node["/too"]] == 0
    moved = load_graph(db, url("/listed"))
    assert moved is not None
    assert moved.depth[node["/too"]] == 1
    assert load_graph(db, url("/never")) is None
    called = node_names(db)
    assert [called.urls[place] for place in node.values()] == [url(path) for path in node]
    assert called.titles == [url.upper() for url in called.urls]


def page_of(of: Url) -> Page:
    """A page with much before its title and after it, or little."""
    if of == url("/deep"):
        return Page(title=of.upper(), canonicals=[of], breadcrumb=[url("/"), url("/a")], expires=1.5, images=["x"])
    return Page(title=of.upper())


def test_ours_a_state_without_a_visit_has_no_graph(db: sqlite3.Connection) -> None:
    assert load_graph(db) is None


LINKS = st.lists(st.tuples(st.integers(0, 40) | st.integers(1, 2**40), st.integers(1, 8191)), max_size=30)


@given(LINKS)
def test_ours_links_are_unpacked_as_they_were_packed(links: list[tuple[int, int]]) -> None:
    groups = {flags: sorted({number for number, each in links if each == flags}) for _, flags in links}
    packed = pack_links(links)
    assert list(unpack_groups(packed)) == sorted(groups.items())
    assert unpack_links(packed) == [(number, flags) for flags in sorted(groups) for number in groups[flags]]


def test_ours_a_link_to_a_url_that_was_never_visited_is_left_out(db: sqlite3.Connection) -> None:
    for number in (2, 5):
        db.execute("INSERT INTO url VALUES (?, ?)", (number, url(f"/{number}")))
        row = (number, "", b"", "text/html", pack_links([(1, 1), (5, 1), (2**40, 1), (3, 2)]), b"", b"", b"")
        db.execute("INSERT INTO content VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?)", row)
        visit = (number, "", DocumentKind.PAGE, State.INDEXABLE, DiscoveredBy.SEED, number)
        columns = "(id, origin, kind, state, found, depth, status, content)"
        db.execute(f"INSERT INTO visit {columns} VALUES (?, ?, ?, ?, ?, 0, 200, ?)", visit)
    graph = load_graph(db)
    assert graph is not None
    assert graph.edges.of_page == [((1, (1,)),), ((1, (1,)),)]
    assert len(graph.edges) == 2
