"""Finds the hubs of orphans; what that needs to know of all pages is read when the first orphan turns up."""

import sqlite3
from functools import cached_property
from typing import Final

import msgspec

from crawler.finding import Hub
from crawler.frontier.batch import storage
from crawler.graph import Hubs, LinkGraph
from crawler.model import Page, State

_PAGES: Final = """SELECT v.id, u.url, c.page FROM visit v JOIN url u ON u.id = v.id
  LEFT JOIN content c ON c.id = v.content WHERE v.state = ?"""
_page = msgspec.msgpack.Decoder(Page).decode


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
        urls, titles = [""] * len(self._graph.nodes), [""] * len(self._graph.nodes)
        with storage():
            for number, url, packed in self._db.execute(_PAGES, (State.INDEXABLE,)):
                node = self._graph.nodes.node(number)
                urls[node], titles[node] = url, _page(packed).title if packed else ""
        return Hubs(self._graph, urls, titles)
