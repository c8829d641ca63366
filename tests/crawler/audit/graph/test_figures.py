"""The figures of pages in few bytes are those of the whole link graph."""

import random

import pytest

from crawler.audit.graph.figures import page_figures
from crawler.audit.graph.graph import LinkGraph
from crawler.audit.graph.links import Edges, Nodes
from crawler.model import DiscoveredBy, State

STATES = [State.INDEXABLE] * 8 + [State.REDIRECT, State.CANONICAL_ELSEWHERE, State.NOINDEX, State.OUT_OF_SCOPE]
FLAGS = [DiscoveredBy.LINK] * 6 + [
    DiscoveredBy.NOFOLLOW,
    DiscoveredBy.FRAME,
    DiscoveredBy.CANONICAL,
    DiscoveredBy.ALTERNATE,
    DiscoveredBy.LINK | DiscoveredBy.SCRIPT,
]


@pytest.mark.parametrize("seed", range(20))
def test_ours_few_bytes_give_the_figures_of_the_whole_graph(seed: int) -> None:
    dice = random.Random(seed)
    count = 60
    states = [dice.choice(STATES) for _ in range(count)]
    targets = [dice.randrange(-1, count) for _ in range(count)]
    nodes = Nodes([*range(count)], states, [dice.choice([200, 301, 0]) for _ in states], targets)
    links = [(dice.randrange(count), dice.randrange(count), dice.choice(FLAGS)) for _ in range(150)]
    edges = Edges.of(count, links)
    graph = LinkGraph(nodes, edges, 0)
    figures = page_figures(nodes, enumerate(edges.of_page), 0)
    assert [*figures.depth] == graph.depth
    assert figures.weight == pytest.approx(graph.weight)
