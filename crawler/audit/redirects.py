"""Finds links that lead to redirects, and canonicals that lead to no page: the rules ``link`` and ``canonical``.

::

    graph: candidates | evidence.visits: redirect trails | health.redirects | AuditFinding
"""

import sqlite3
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from crawler.audit.evidence.visits import VisitLookup, url_of
from crawler.audit.finding import AuditFinding
from crawler.audit.graph.graph import LinkGraph
from crawler.audit.graph.links import VISITOR_KINDS
from crawler.audit.health.visit import check_canonical, check_redirect
from crawler.audit.source_record import SourceKind
from crawler.model import State
from crawler.state.database import storage_errors

_SOURCES_OF_URL: Final = "SELECT i.source FROM claim c JOIN input i ON i.id = c.input WHERE c.url = ?"


class RedirectFindings:
    """Checks the redirects and the canonicals of a crawled site. ``db`` is the database of the audit."""

    def __init__(self, db: sqlite3.Connection, graph: LinkGraph, visits: VisitLookup) -> None:
        self._db = db
        self._graph = graph
        self._visits = visits

    def redirects(self) -> Iterator[AuditFinding]:
        """About redirects that pages link or sitemaps list. Raises StorageError.

        Only redirects that answered count: for another name of the site the graph merely assumes one.
        """
        graph = self._graph
        for node, target in enumerate(graph.moved):
            if target < 0 or not graph.nodes.status[node]:
                continue
            if not graph.ways[node] & VISITOR_KINDS and graph.moved[target] < 0:
                continue
            url = url_of(self._db, graph.nodes.ids[node])
            sources = self._sources(url)
            if not graph.visitor_link_kinds(node) & VISITOR_KINDS and SourceKind.SITEMAP not in sources:
                continue
            trail = self._visits.redirect_trail(url)
            if found := check_redirect(trail):
                yield replace(found, known=sorted(sources))

    def canonicals(self) -> Iterator[AuditFinding]:
        """About pages that links or sources name, and that name another page as canonical. Raises StorageError."""
        graph, nodes = self._graph, self._graph.nodes
        for node, (state, target) in enumerate(zip(nodes.state, nodes.target, strict=True)):
            if state is not State.CANONICAL_ELSEWHERE or target < 0:
                continue
            if nodes.state[target] is State.INDEXABLE:  # most are: skip their look-up
                continue
            url = url_of(self._db, graph.nodes.ids[node])
            if not graph.ways[node] and node != graph.start and not self._sources(url):
                continue
            trail = self._visits.redirect_trail(url)
            if found := check_canonical(trail):
                yield found

    def _sources(self, url: str) -> set[str]:
        """The kinds of sources that name a URL."""
        with storage_errors():
            return {source for (source,) in self._db.execute(_SOURCES_OF_URL, (url,))}
