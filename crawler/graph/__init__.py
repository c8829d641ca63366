"""The link graph as arrays. Pure. Imports numpy: import this only where a graph is made."""

from crawler.graph.arrays import Edges, Nodes
from crawler.graph.graph import Lead, LinkGraph
from crawler.graph.hubs import Hubs
from crawler.graph.way import CODES, PAGES, STATES, Way

__all__ = ["CODES", "PAGES", "STATES", "Edges", "Hubs", "Lead", "LinkGraph", "Nodes", "Way"]
