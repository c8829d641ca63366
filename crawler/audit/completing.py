"""What a crawl saw of what its start leads to: the facts by which it is doubted whether an orphan is one."""

import sqlite3
from collections import Counter
from typing import Final

import numpy as np

from crawler.frontier.batch import storage
from crawler.graph import STATES, LinkGraph
from crawler.memory.facts import coverage
from crawler.model import Kind, State
from crawler.orphans import Doubts, Seen

_ROW: Final = "SELECT u.url, v.reason, v.kind FROM visit v JOIN url u ON u.id = v.id WHERE v.id = ?"
_PENDING: Final = "SELECT count(*) FROM visit WHERE state = 'pending'"
_TOLD: Final = frozenset(
    {State.ROBOTS, State.SERVER_ERROR, State.UNREACHABLE, State.PARSE_FAILED, State.CLIENT_ERROR}
)


def completing(
    db: sqlite3.Connection, graph: LinkGraph, stopped: str, since: float, *, trust_blocked: bool
) -> Doubts:
    """The facts about a run that started at ``since`` (Unix time). ``stopped`` as in :class:`Doubts`. StorageError."""
    seen = coverage(db, stopped, since)
    cut = Seen(seen.cut, seen.example) if seen.cut else None
    return Doubts(
        ends=_ends(db, graph),
        stopped=stopped,
        cut=cut,
        no_robots=seen.no_robots,
        one_page=_is_one_page(graph),
        trust_blocked=trust_blocked,
    )


def _ends(db: sqlite3.Connection, graph: LinkGraph) -> dict[tuple[State, int | None], Seen]:
    """How the URLs ended that the start leads to. What is outside of the scope is not the site."""
    nodes = graph.nodes
    touched = np.flatnonzero(graph.touched)
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


def _is_one_page(graph: LinkGraph) -> bool:
    """Whether the start is a page and leads to none of the site's others, of which there are some."""
    states = Counter(STATES[code] for code in graph.nodes.state[graph.touched].tolist())
    others = sum(count for state, count in states.items() if state is not State.OUT_OF_SCOPE)
    known = int(np.count_nonzero(graph.nodes.of(State.INDEXABLE)))
    return others == 1 and states[State.INDEXABLE] == 1 and known > 1
