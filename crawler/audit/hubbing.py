"""Finds the hubs of orphans; what that needs to know of all pages is read when the first orphan turns up."""

import sqlite3
from functools import cached_property

from crawler.finding import Hub
from crawler.graph.graph import LinkGraph
from crawler.graph.hubs import Hubs
from crawler.memory.link_graph import names
from crawler.model import Page


class Hubbing:
    """The hubs of one site, whose state is ``db``."""

    def __init__(self, db: sqlite3.Connection, graph: LinkGraph) -> None:
        self._db = db
        self._graph = graph

    def of(self, node: int, page: Page | None) -> list[Hub]:
        """The pages that should link to a page, the best first. Raises StorageError."""
        return self._hubs.hubs(node, page.breadcrumb if page else ())

    @cached_property
    def _hubs(self) -> Hubs:
        named = names(self._db)
        return Hubs(self._graph, named.urls, named.titles)
