"""Finds the hubs of orphans."""

import sqlite3

from crawler.finding import Hub
from crawler.graph import LinkGraph
from crawler.model import Page, Url


class Hubbing:
    def __init__(self, db: sqlite3.Connection, graph: LinkGraph) -> None:
        pass

    def of(self, node: int, url: Url, page: Page | None) -> list[Hub]:
        return []
