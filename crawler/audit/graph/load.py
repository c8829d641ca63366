"""Loads the link graph of a site from its state: the pages of the last run, or of the run in progress."""

import sqlite3
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import chain, compress
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from crawler.audit.finding import LinkSuggestion
from crawler.audit.graph.changing_links import load_boxes
from crawler.audit.graph.figures import PageFigures, page_figures
from crawler.audit.graph.graph import LinkGraph
from crawler.audit.graph.links import PAGE_STATES, Edges, LinkGroup, Nodes
from crawler.audit.graph.suggestions import LinkSuggestions
from crawler.audit.orphans.classes import is_gone
from crawler.crawl.frontier.storage import unpack_groups
from crawler.model import DiscoveredBy, DocumentKind, Page, State, Url
from crawler.moves.inventory import move_page
from crawler.moves.matcher import Grade, Match, MovePage, match_pages, words
from crawler.moves.patterns import spelling
from crawler.moves.register import left_rows
from crawler.state.database import storage_errors
from crawler.url.normalize import origin_of
from crawler.url.scope import alias_origins

_NODES: Final = "SELECT id, state, coalesce(status, 0) FROM visit ORDER BY id"
_TARGETS: Final = """SELECT v.id, u.id FROM visit v JOIN url u ON u.url = v.target
  WHERE v.target IS NOT NULL ORDER BY v.id"""
_LINKS: Final = """SELECT v.id, c.links FROM visit v JOIN content c ON c.id = v.content
  WHERE v.kind = ? AND v.state != ? AND c.links != x'' ORDER BY v.id"""  # those of an unlinked page do not count
_EARLIER_LINKS: Final = """SELECT v.id, c.links FROM visit v JOIN memory m ON m.id = v.id
  JOIN content c ON c.id = m.content WHERE v.id = ? AND v.kind = ? AND v.content IS NULL"""
_NAMES: Final = """SELECT u.url, c.page FROM visit v JOIN url u ON u.id = v.id
  LEFT JOIN content c ON c.id = v.content ORDER BY v.id"""
_LAST_PAGE: Final = "SELECT c.page, c.text FROM memory m JOIN content c ON c.id = m.content WHERE m.id = ?"
_NOW_PAGE: Final = "SELECT c.page, c.text FROM visit v JOIN content c ON c.id = v.content WHERE v.id = ?"
_MAX_READ: Final = 20_000  # pages whose texts are compared: 20 kB of memory each; of more, the titles and the paths
_BEHIND_ALIASES: Final = f"""SELECT v.id, p.id FROM url u JOIN visit v ON v.id = u.id AND v.state =
'{State.OUT_OF_SCOPE}'
  AND v.status IS NULL JOIN url o ON o.url = :own || substr(u.url, length(:alias) + 1) JOIN visit p ON p.id = o.id
  WHERE u.url >= :alias AND u.url < :end"""  # noqa: S608

_FIND_URL: Final = "SELECT v.id, u.url FROM visit v JOIN url u USING (id) WHERE u.url = ?"
_START: Final = "SELECT v.id, u.url FROM visit v JOIN url u USING (id) WHERE v.found & ? ORDER BY v.id LIMIT 1"


_Named = msgspec.defstruct(  # decodes the title and skips all other fields
    "_Named",
    [
        (name, str if name == "title" else msgspec.Raw, default)
        for name, default in zip(Page.__struct_fields__, Page.__struct_defaults__, strict=True)
    ],
    array_like=True,
    frozen=True,
)

_named = msgspec.msgpack.Decoder(_Named).decode


class NodeNames(NamedTuple):
    """By node: the URLs, and the titles ("" without a page)."""

    urls: list[Url]
    titles: list[str]


def node_names(db: sqlite3.Connection) -> NodeNames:
    """The URLs and titles of all nodes; some hundred bytes a page. Raises StorageError."""
    urls: list[Url] = []
    titles: list[str] = []
    with storage_errors():
        for url, packed in db.execute(_NAMES):
            page: Any = _named(packed) if packed else None
            urls.append(url)
            titles.append(page.title if page else "")
    return NodeNames(urls, titles)


def load_graph(db: sqlite3.Connection, start: Url | None = None) -> LinkGraph | None:
    """The graph of the visited pages, or None when the start was not visited. ``start`` is by default that of the run.

    Takes about a second and 20 MB for a million links. Raises StorageError.
    """
    with storage_errors(), _snapshot(db):
        nodes, first, earlier = _start_nodes(db, start)
        if first < 0:
            return None
        edges = Edges([()] * len(nodes))
        for node, groups in _groups(db, nodes, earlier):
            edges.of_page[node] = groups
    return LinkGraph(nodes, edges, first)


def load_figures(db: sqlite3.Connection) -> tuple[Sequence[int], PageFigures] | None:
    """The ids of the visited pages with their figures, or None when the start was not visited. Raises StorageError."""
    with storage_errors(), _snapshot(db):
        nodes, first, earlier = _start_nodes(db, None)
        return None if first < 0 else (nodes.ids, page_figures(nodes, _groups(db, nodes, earlier), first))


def _start_nodes(db: sqlite3.Connection, start: Url | None) -> tuple[Nodes, int, list[tuple[int, bytes]]]:
    """The nodes, that of the start or -1, and the earlier links of the pages that failed."""
    query, key = (_START, DiscoveredBy.SEED) if start is None else (_FIND_URL, start)
    row = db.execute(query, (key,)).fetchone()
    nodes = _nodes(db)
    if not row:
        return nodes, -1, []
    _link_aliases(db, nodes, row[1])
    earlier = _earlier_links(db, nodes)
    remembered = [nodes.node(number) for number, _ in earlier]
    return replace(nodes, remembered=remembered), nodes.node(row[0]), earlier


@contextmanager
def _snapshot(db: sqlite3.Connection) -> Iterator[None]:
    """Give all queries the same view of the database while a run writes to it."""
    if db.in_transaction:
        yield
        return
    db.execute("BEGIN")
    try:
        yield
    finally:
        db.execute("ROLLBACK")


def _nodes(db: sqlite3.Connection) -> Nodes:
    ids, states, statuses = array("q"), [], array("h")
    of_text = {state.value: state for state in State}  # to ask the enum takes ten times as long
    for number, state, status in db.execute(_NODES):
        ids.append(number)
        states.append(of_text[state])
        statuses.append(status)
    nodes = Nodes(ids, states, statuses, [-1] * len(ids))
    for number, target in db.execute(_TARGETS):
        nodes.target[nodes.node(number)] = nodes.node(target)
    return nodes


def _link_aliases(db: sqlite3.Connection, nodes: Nodes, start: Url) -> None:
    """Treat the other names of the site as redirects: the crawl does not request them."""
    for origin in alias_origins(start):
        names = {"own": f"{origin_of(start)}/", "alias": f"{origin}/", "end": f"{origin}0"}
        for number, target in db.execute(_BEHIND_ALIASES, names):
            node = nodes.node(number)
            nodes.state[node], nodes.target[node] = State.REDIRECT, nodes.node(target)


def _earlier_links(db: sqlite3.Connection, nodes: Nodes) -> list[tuple[int, bytes]]:
    """The ids of the failed pages that an earlier visit read, and the links that they had, by ascending ids."""
    failed = compress(nodes.ids, nodes.unread)
    rows = (db.execute(_EARLIER_LINKS, (number, DocumentKind.PAGE)).fetchone() for number in failed)
    return [row for row in rows if row]


def _groups(
    db: sqlite3.Connection, nodes: Nodes, earlier: Iterable[tuple[int, bytes]] = ()
) -> Iterator[tuple[int, tuple[LinkGroup, ...]]]:
    """The links of each node, with those that boxes of pages showed at other reads."""
    # the node of each id: a list is as fast as can be, and all links share its numbers
    node_of = [-1] * (nodes.ids[-1] + 1)
    for node, number in enumerate(nodes.ids):
        node_of[number] = node
    boxes = load_boxes(db).links()
    rows: Iterator[tuple[int, bytes]] = db.execute(_LINKS, (DocumentKind.PAGE, State.UNLINKED))
    for number, packed in chain(rows, earlier):
        node = node_of[number]
        groups = tuple((flags, targets) for flags, ids in unpack_groups(packed) if (targets := _known(ids, node_of)))
        if number in boxes and nodes.state[node] in PAGE_STATES:
            linked = {target for _, targets in groups for target in targets}
            more = tuple(target for target in map(nodes.node, boxes[number]) if target >= 0 and target not in linked)
            groups += ((int(DiscoveredBy.LINK), more),)
        yield node, groups


def _known(ids: list[int], node_of: list[int]) -> tuple[int, ...]:
    """The nodes of ascending ids, without those that have none."""
    if ids and ids[-1] >= len(node_of):
        ids = ids[: bisect_left(ids, len(node_of))]
    nodes = tuple(map(node_of.__getitem__, ids))
    return tuple(node for node in nodes if node >= 0) if -1 in nodes else nodes


def share_a_word(*paths: str) -> bool:
    """Whether two paths have more in common than a number, an extension or the name of an index."""
    one, other = ({word for part in spelling(path) for word in words(part) if not word.isdecimal()} for path in paths)
    return not one.isdisjoint(other)


class LinkSuggester:
    """Suggests links and redirects for one site, whose state is ``db``; loads the names of pages when first used.

    ``runs`` is the directory of the state of its runs, whose register has the pages that left the sitemap.
    """

    def __init__(self, db: sqlite3.Connection, graph: LinkGraph, runs: Path) -> None:
        self._db = db
        self._graph = graph
        self._runs = runs

    def suggestions(self, node: int, page: Page | None) -> list[LinkSuggestion]:
        """The pages that should link to a page, the best first. Raises StorageError."""
        return self._finder.suggest(node, page.breadcrumb if page else ())

    def redirect_targets(self, node: int) -> list[LinkSuggestion]:
        """The page that takes the place of a dead URL, at most one. Raises StorageError."""
        match = self._moves.get(self._place(node))
        if match is None or match.grade not in (Grade.SURE, Grade.LIKELY):
            return []  # siteatlas move map shows what a person may look at
        url = self._origin + match.new if match.new.startswith("/") else match.new
        return [LinkSuggestion(url, match.reason, match.probability)]

    @cached_property
    def _origin(self) -> str:
        return origin_of(self._names.urls[self._graph.start])

    def _place(self, node: int) -> str:
        """The path with the query of a URL of the site, the whole URL of another host."""
        return self._names.urls[node].removeprefix(self._origin)

    @cached_property
    def _moves(self) -> dict[str, Match]:
        """Where the dead URLs went, by the pages that they were at an earlier visit, if they were pages then."""
        nodes = self._graph.nodes
        answers = zip(nodes.state, nodes.status, strict=True)
        dead = [node for node, (state, status) in enumerate(answers) if is_gone(state, status)]
        live = [*compress(range(len(nodes)), nodes.in_states(State.INDEXABLE))]
        with storage_errors():
            urls = {self._names.urls[node] for node in dead}
            left = {url: kept for url, *kept in left_rows(self._runs, "url, page, text") if url in urls}
            old = [self._page(_LAST_PAGE, node, left) for node in dead]
            query = _NOW_PAGE if len(live) <= _MAX_READ and any(page.text for page in old) else ""
            known = {page.path for page in old if page.text or page.name}
            # if all that is known of the old pages are their paths, the new ones need no more
            new = [self._page(query, node) if known else MovePage.of(self._place(node)) for node in live]
        found = match_pages(old, new)
        return {match.old: match for match in found if match.old in known or share_a_word(match.old, match.new)}

    def _page(self, query: str, node: int, left: Mapping[str, Any] = {}) -> MovePage:
        row = self._db.execute(query, (self._graph.nodes.ids[node],)).fetchone() if query else None
        row = row or left.get(self._names.urls[node])
        page: Any = _named(row[0]) if row and row[0] else None
        title = page.title if page else self._names.titles[node]
        return move_page(self._place(node), title, (row and row[1]) or b"")

    @cached_property
    def _names(self) -> NodeNames:
        return node_names(self._db)

    @cached_property
    def _finder(self) -> LinkSuggestions:
        return LinkSuggestions(self._graph, self._names.urls, self._names.titles)
