"""What a crawl saw of what its start leads to: the facts by which it is doubted whether an orphan is one."""

import sqlite3
from collections.abc import Container, Iterable
from typing import Final

import numpy as np

from crawler.audit.graph.graph import LinkGraph
from crawler.audit.graph.link_kind import STATES
from crawler.audit.orphans.certainty import Doubts, Seen
from crawler.audit.orphans.duplicates import is_bare
from crawler.model import Kind, State, Url
from crawler.parse.snapshot.snapshot import unfold
from crawler.publish.gate_facts import CUT, coverage
from crawler.state.database import storage
from crawler.url.normalize import origin
from crawler.url.scope import doors

_ROW: Final = "SELECT u.url, v.reason, v.kind FROM visit v JOIN url u ON u.id = v.id WHERE v.id = ?"
_TEXT: Final = "SELECT c.text FROM visit v JOIN content c ON c.id = v.content WHERE v.id = ?"
_IN_PART: Final = f"SELECT v.id, u.url FROM visit v JOIN url u ON u.id = v.id WHERE {CUT} ORDER BY u.url"  # noqa: S608
_OUTSIDE: Final = """SELECT v.id, u.url, v.reason FROM url u JOIN visit v ON v.id = u.id
  WHERE v.state = ? AND v.status IS NULL AND u.url >= ? AND u.url < ?"""
_TOLD: Final = frozenset(
    {
        State.ROBOTS,
        State.SERVER_ERROR,
        State.UNREACHABLE,
        State.BAD_ANSWER,
        State.PARSE_FAILED,
        State.CLIENT_ERROR,
        State.TRAP,
    }
)


def completing(  # noqa: PLR0913 - what was seen, from all sides
    db: sqlite3.Connection,
    graph: LinkGraph,
    copies: Container[int],
    start: Url,
    stopped: str,
    since: float,
    *,
    trust_blocked: bool,
) -> Doubts:
    """The facts about a run that started at ``since`` (Unix time). ``stopped`` as in :class:`Doubts`. StorageError.

    ``copies`` are ids of pages that are another spelling of one; they are no pages of their own.
    """
    seen = coverage(db, stopped, since)
    return Doubts(
        ends=_ends(db, graph),
        stopped=stopped,
        cut=_cut(db, graph),
        beside=_outside(db, graph, [origin(start)]),
        doors=_outside(db, graph, doors(start)),
        no_robots=tuple(home for home in seen.no_robots if home in _homes(db)),
        few=_few(db, graph, copies),
        trust_blocked=trust_blocked,
    )


def _homes(db: sqlite3.Connection) -> frozenset[str]:
    """The origins that pages of the site are on; those of pictures are asked for their robots.txt too."""
    with storage():
        rows = db.execute("SELECT DISTINCT origin FROM visit WHERE state != ?", (State.OUT_OF_SCOPE,))
        return frozenset(home for (home,) in rows)


def _ends(db: sqlite3.Connection, graph: LinkGraph) -> dict[tuple[State, int | None], Seen]:
    """How the URLs ended that the start leads to. What is outside of the scope is not the site."""
    nodes = graph.nodes
    touched = np.flatnonzero(graph.touched & (graph.invited | ~nodes.of(State.NOFOLLOW)))
    keys = nodes.state[touched].astype(np.int32) * 1_000 + nodes.status[touched]
    found: dict[tuple[State, int | None], Seen] = {}
    for key, first, count in zip(*np.unique(keys, return_index=True, return_counts=True), strict=True):
        state, status = STATES[int(key) // 1_000], int(key) % 1_000 or None
        if state in (State.OUT_OF_SCOPE, State.SITEMAP_FILE):
            continue
        with storage():
            url, reason, kind = db.execute(_ROW, (int(nodes.ids[touched[first]]),)).fetchone()
        if kind == Kind.PAGE:
            found[state, status] = Seen(int(count), url, reason if state in _TOLD else "")
    return found


def _cut(db: sqlite3.Connection, graph: LinkGraph) -> Seen | None:
    """The pages that the start leads to and of which only a part was read."""
    with storage():
        led = [row for row in db.execute(_IN_PART) if graph.touched[graph.nodes.node(row[0])]]
    return Seen(len(led), led[0][1]) if led else None


def _outside(db: sqlite3.Connection, graph: LinkGraph, origins: Iterable[str]) -> Seen | None:
    """The URLs at these origins that the start leads to, that are outside of the scope and were not read."""
    found = None
    for each in origins:
        with storage():
            rows = db.execute(_OUTSIDE, (State.OUT_OF_SCOPE, f"{each}/", f"{each}0")).fetchall()
        for number, url, reason in rows:
            node = graph.nodes.node(number)
            if graph.touched[node] and graph.target[node] < 0:
                found = Seen(found.count + 1, found.example, found.reason) if found else Seen(1, url, reason)
    return found


def _few(db: sqlite3.Connection, graph: LinkGraph, copies: Container[int]) -> int:
    """How many pages links lead to, where scripts perhaps make the links to the others, or 0.

    The start is such a page if it leads to no other, or says next to nothing itself and leads to less than half of all.
    """
    nodes = graph.nodes
    pages = nodes.of(State.INDEXABLE)
    read = pages | nodes.of(State.NOINDEX, State.CANONICAL_ELSEWHERE)
    others = graph.reached & read & (graph.home != graph.home[graph.start])
    led, known = int(np.count_nonzero(others)) + 1, sum(n not in copies for n in nodes.ids[pages].tolist())
    if not read[graph.start] or known <= 1:
        return 0
    return led if led == 1 or (2 * led < known and _is_bare(db, int(nodes.ids[graph.start]))) else 0


def _is_bare(db: sqlite3.Connection, number: int) -> bool:
    with storage():
        row = db.execute(_TEXT, (number,)).fetchone()
    markup = unfold(row[0]) if row else None
    return markup is not None and is_bare(markup)
