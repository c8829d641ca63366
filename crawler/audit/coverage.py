"""Measures how much a crawl saw of what its start leads to: the facts that make orphans certain or not."""

import sqlite3
from collections import Counter
from collections.abc import Container, Iterable
from itertools import compress
from typing import Final

from crawler.audit.graph.changing_links import load_boxes, unseen_in_boxes
from crawler.audit.graph.graph import LinkGraph
from crawler.audit.orphans.certainty import MAX_SCRIPTED, CrawlCoverage, EndedUrls, add_ended, is_closed
from crawler.audit.orphans.duplicates import is_bare
from crawler.config.plan import CrawlPlan
from crawler.crawl.assembly import render_remedy
from crawler.crawl.frontier.storage import unpack_groups
from crawler.model import DiscoveredBy, DocumentKind, State, unpack_page
from crawler.parse.html.scripts import UNRUN, WRITER, empty_places
from crawler.parse.snapshot.snapshot import MAX_SNAPSHOT, unpack_snapshot
from crawler.publish.gate_facts import IS_TRUNCATED, read_coverage
from crawler.state.database import storage_errors
from crawler.url.normalize import origin_of
from crawler.url.scope import alias_origins

_ROW: Final = "SELECT u.url, v.reason, v.kind FROM visit v JOIN url u ON u.id = v.id WHERE v.id = ?"
_TEXT: Final = "SELECT c.text FROM visit v JOIN content c ON c.id = v.content WHERE v.id = ?"
_READ_IN_PART: Final = f"SELECT v.id, u.url FROM visit v JOIN url u ON u.id = v.id WHERE {IS_TRUNCATED} ORDER BY u.url"  # noqa: S608
_OUT_OF_SCOPE: Final = """SELECT v.id, u.url, v.reason FROM url u JOIN visit v ON v.id = u.id
  WHERE v.state = ? AND v.status IS NULL AND u.url >= ? AND u.url < ?"""
_PAGES: Final = "SELECT v.id, u.url FROM visit v JOIN url u ON u.id = v.id WHERE v.state = 'indexable'"
_UNRUN: Final = """SELECT v.id, u.url, c.page, c.links FROM visit v JOIN url u ON u.id = v.id
  JOIN content c ON c.id = v.content WHERE instr(c.page, CAST('unrun: ' AS BLOB)) ORDER BY u.url"""
_ANCHORS: Final = int(DiscoveredBy.LINK | DiscoveredBy.NOFOLLOW)
_STATES_WITH_EXAMPLE: Final = frozenset(
    {
        State.ROBOTS,
        State.SERVER_ERROR,
        State.CHALLENGED,
        State.UNREACHABLE,
        State.BAD_ANSWER,
        State.PARSE_FAILED,
        State.CLIENT_ERROR,
        State.TRAP,
    }
)


def crawl_coverage(
    db: sqlite3.Connection, graph: LinkGraph, copies: Container[int], plan: CrawlPlan, stopped: str, since: float
) -> CrawlCoverage:
    """The facts about a run that began at ``since`` (Unix time). ``stopped`` as in CrawlCoverage. Raises StorageError.

    ``copies`` are ids of pages that are another spelling of one; they do not count as pages.
    """
    audit, start = plan.config.audit, plan.seed
    coverage = read_coverage(db, stopped, since)
    unread, failed = _unread(graph, trust_blocked=audit.trust_blocked, trust_failed=audit.trust_failed)
    return CrawlCoverage(
        end_states=_end_states(db, graph),
        stopped=stopped,
        cut=_truncated(db, graph),
        out_of_scope=_out_of_scope(db, graph, [origin_of(start)]),
        alias_urls=_out_of_scope(db, graph, alias_origins(start)),
        no_robots=tuple(origin for origin in coverage.no_robots if origin in _page_origins(db)),
        linked_pages=_linked_page_count(db, graph, copies),
        unseen_in_boxes=unseen_in_boxes(db),
        swapping=_swapping(db),
        trust_blocked=audit.trust_blocked,
        unread=unread,
        failed=failed,
        scripted=_scripted(db, graph),
        render_remedy=render_remedy(plan.config),
    )


def _unread(graph: LinkGraph, *, trust_blocked: bool, trust_failed: int) -> tuple[list[int], int]:
    """The nodes of pages that the start leads to and that may link to anything, unless the user vouches for them.

    These failed, and no earlier visit read them; or robots.txt or a login closes them. The number is that of all failed
    pages if some of the nodes failed, else 0.
    """
    nodes, remembered = graph.nodes, {*graph.nodes.remembered}
    failed = [node for node, is_unread in enumerate(nodes.unread) if is_unread and graph.touched[node]]
    keys = enumerate(zip(nodes.state, nodes.status, strict=True))
    closed = [node for node, key in keys if is_closed(*key) and graph.touched[node] and not trust_blocked]
    unknown = [node for node in failed if node not in remembered and len(failed) > trust_failed]
    return closed + unknown, len(failed) if unknown else 0


def _swapping(db: sqlite3.Connection) -> EndedUrls | None:
    """The pages whose links were swapped since an earlier audit."""
    with storage_errors():
        pages = dict(db.execute(_PAGES))
    swapping = [number for number in load_boxes(db).swapping() if number in pages]
    return EndedUrls(len(swapping), pages[swapping[0]]) if swapping else None


def _page_origins(db: sqlite3.Connection) -> frozenset[str]:
    """The origins of the site's pages. The audit fetches the robots.txt of hosts with images too."""
    with storage_errors():
        rows = db.execute("SELECT DISTINCT origin FROM visit WHERE state != ?", (State.OUT_OF_SCOPE,))
        return frozenset(origin for (origin,) in rows)


def _end_states(db: sqlite3.Connection, graph: LinkGraph) -> dict[tuple[State, int | None], EndedUrls]:
    """How the URLs in scope that the start leads to ended."""
    nodes = graph.nodes
    counts: Counter[tuple[State, int]] = Counter()
    firsts: dict[tuple[State, int], int] = {}
    for node, key in enumerate(zip(nodes.state, nodes.status, strict=True)):
        if graph.touched[node] and (graph.crawlable[node] or key[0] is not State.NOFOLLOW):
            counts[key] += 1
            firsts.setdefault(key, node)
    order = {state: place for place, state in enumerate(State)}
    ended: dict[tuple[State, int | None], EndedUrls] = {}
    for state, answered in sorted(counts, key=lambda key: (order[key[0]], key[1])):
        status, first, count = answered or None, firsts[state, answered], counts[state, answered]
        if state in (State.OUT_OF_SCOPE, State.SITEMAP_FILE):
            continue
        with storage_errors():
            url, reason, kind = db.execute(_ROW, (nodes.ids[first],)).fetchone()
        if kind == DocumentKind.PAGE:
            ended[state, status] = EndedUrls(count, url, reason if state in _STATES_WITH_EXAMPLE else "")
    return ended


def _truncated(db: sqlite3.Connection, graph: LinkGraph) -> EndedUrls | None:
    """The pages that the start leads to and whose body was truncated."""
    with storage_errors():
        rows = [row for row in db.execute(_READ_IN_PART) if graph.touched[graph.nodes.node(row[0])]]
    return EndedUrls(len(rows), rows[0][1]) if rows else None


def _out_of_scope(db: sqlite3.Connection, graph: LinkGraph, origins: Iterable[str]) -> EndedUrls | None:
    """The URLs at these origins that the start leads to, and that are out of scope and were not fetched."""
    ended = None
    for origin in origins:
        with storage_errors():
            rows = db.execute(_OUT_OF_SCOPE, (State.OUT_OF_SCOPE, f"{origin}/", f"{origin}0")).fetchall()
        for number, url, reason in rows:
            node = graph.nodes.node(number)
            if graph.touched[node] and graph.target[node] < 0:
                ended = add_ended(ended, EndedUrls(1, url, reason))
    return ended


def _scripted(db: sqlite3.Connection, graph: LinkGraph) -> EndedUrls | None:
    """The pages that the start leads to, that no browser read, and that a script of the site may add links to.

    None if there is nothing that a browser should have read. The search ends with the first ``MAX_SCRIPTED`` pages.
    """
    ended = None
    with storage_errors():
        for number, url, packed, links in db.execute(_UNRUN):
            page, node = unpack_page(packed), graph.nodes.node(number)
            notes = [note.removeprefix(UNRUN) for note in page.notes if note.startswith(UNRUN)]
            # no search engine runs the scripts of a page with noindex, nor do we
            is_closed = page.refresh or (page.noindex and graph.home[node] != graph.home[graph.start])
            if not notes or is_closed or not graph.touched[node]:
                continue
            ended = ended or EndedUrls(0, "")
            has_links = any(flags & _ANCHORS for flags, _ in unpack_groups(links or b""))
            place = "" if notes[0] == WRITER else _place(_markup(db, number), has_links=has_links)
            if place is not None:
                ended = add_ended(ended, EndedUrls(1, url, " for ".join(filter(None, (notes[0], place)))))
            if ended.count == MAX_SCRIPTED:
                break
    return ended


def _place(markup: bytes, *, has_links: bool) -> str | None:
    """What scripts may fill in a page: its first empty place; without links and with next to no text, all of it."""
    if places := empty_places(markup):
        return places[0]
    if len(markup) >= MAX_SNAPSHOT:
        return "what follows its first megabyte"
    return None if has_links or not _is_bare(markup) else "the whole page"


def _is_bare(markup: bytes) -> bool:
    return is_bare(markup.decode("utf-8", "replace"))


def _linked_page_count(db: sqlite3.Connection, graph: LinkGraph, copies: Container[int]) -> int:
    """How many pages links lead to if scripts may make the links to the others, else 0.

    Scripts may do so if the start links no page, or has next to no text and leads to less than half of all pages.
    """
    nodes = graph.nodes
    read = nodes.in_states(State.INDEXABLE, State.NOINDEX, State.CANONICAL_ELSEWHERE)
    start = graph.home[graph.start]
    led = 1 + sum(read[node] and depth >= 0 and graph.home[node] != start for node, depth in enumerate(graph.depth))
    known = sum(number not in copies for number in compress(nodes.ids, nodes.in_states(State.INDEXABLE)))
    if not read[graph.start] or known <= 1:
        return 0
    return led if led == 1 or (2 * led < known and _is_bare(_markup(db, nodes.ids[graph.start]))) else 0


def _markup(db: sqlite3.Connection, number: int) -> bytes:
    """The reduced markup of a page, of which its snapshot has at most ``MAX_SNAPSHOT`` bytes."""
    with storage_errors():
        row = db.execute(_TEXT, (number,)).fetchone()
    return (row and unpack_snapshot(row[0])) or b""
