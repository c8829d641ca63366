"""Which pages should link to an orphan: by its path, its breadcrumb, its title, and by who links to its kin."""

from collections.abc import Container, Iterable, Sequence
from math import prod
from typing import Final

import numpy as np
from numpy.typing import NDArray

from crawler.audit.finding import LinkSuggestion
from crawler.audit.graph.arrays import Int32Array
from crawler.audit.graph.graph import LinkGraph
from crawler.audit.graph.link_kind import LinkKind
from crawler.audit.graph.similarity import PathSiblings, TitleIndex, index_urls_above, url_shape
from crawler.model import DiscoveredBy, State

MAX_SUGGESTIONS: Final = 3
_MAX_REFERRERS: Final = 300  # referrers of one sibling that are asked, those nearest to the start first
_MAX_COMPARED: Final = 32  # pages with words in common that are compared
_MIN_SCORE: Final = 0.1  # score of what is worth a word
_BREADCRUMB_SCORES: Final = (0.9, 0.5, 0.3)  # by the distance from the page
_INDEX_SCORES: Final = (0.75, 0.4, 0.25)
_ROOT_SCORE: Final = 0.2  # what being the index of everything says
_PEER_SCORE: Final = 0.5  # of the score of what is of the orphan's own kind, rather than above it
_MAX_NAMED_WORDS: Final = 3  # that are named

Reasons = dict[int, dict[str, float]]


class LinkSuggestions:
    """The pages that can carry a link, indexed once; each question then takes about a millisecond.

    ``urls`` and ``titles`` are by node, and may be empty for what is no page. ``orphans`` are never suggested, and
    neither is what is not indexable or is not itself linked by links that count.
    """

    def __init__(
        self, graph: LinkGraph, urls: Sequence[str], titles: Sequence[str], orphans: Iterable[int] = ()
    ) -> None:
        self._graph = graph
        self._urls = urls
        self._titles = titles
        fit = (
            graph.nodes.in_states(State.INDEXABLE)
            & graph.reached
            & ((graph.ways & np.uint8(LinkKind.FOLLOWED)) != 0)
        )
        fit[graph.start] = graph.pages[graph.start]
        fit[[*orphans]] = False
        self._fit = fit
        pages: list[int] = np.flatnonzero(fit).tolist()
        self._by_url = {urls[node]: node for node in pages}
        self._siblings = PathSiblings((node, urls[node]) for node in pages)
        self._words = TitleIndex((node, urls[node], titles[node]) for node in pages)
        self._outlinks = np.diff(graph.edges.start)

    def suggest(self, orphan: int, breadcrumb: Sequence[str] = ()) -> list[LinkSuggestion]:
        """The best pages to link to an orphan, three at most, with reasons. ``breadcrumb`` is what the orphan names."""
        reasons: Reasons = {}
        self._by_breadcrumb(breadcrumb, reasons)
        self._by_path(orphan, reasons)
        self._by_title(orphan, reasons)
        scores = self._scores(orphan, reasons)
        ranked = sorted(scores, key=lambda node: (-scores[node], -self._graph.weight[node], node))
        return [
            LinkSuggestion(self._urls[node], _reasons_text(reasons[node]), round(scores[node], 3))
            for node in ranked[:MAX_SUGGESTIONS]
            if scores[node] >= _MIN_SCORE
        ]

    def _scores(self, orphan: int, reasons: Reasons) -> dict[int, float]:
        """The scores of the best of those that can carry a link and do not do so already."""
        edges = self._graph.edges
        linked = set(edges.to[edges.start[orphan] : edges.start[orphan + 1]].tolist())
        closed = self._already_linking(orphan)
        scores: dict[int, float] = {}
        for node, said in reasons.items():
            if node in closed or not self._fit[node]:
                continue
            if node in linked and self._graph.inlinks[node] * 4 < len(self._by_url):
                said["it links there itself"] = 0.2
            scores[node] = 1 - prod(1 - each for each in said.values())
        own = url_shape(self._urls[orphan])
        best = sorted(scores, key=scores.__getitem__, reverse=True)[: 8 * MAX_SUGGESTIONS]
        return {
            node: scores[node] * (_PEER_SCORE if url_shape(self._urls[node]) == own else 1.0) for node in best
        }

    def _already_linking(self, orphan: int) -> Container[int]:
        """What links to it already, in any of its spellings, and the page itself."""
        return {
            orphan,
            *self._graph.linking(orphan, DiscoveredBy.LINK | DiscoveredBy.FRAME | DiscoveredBy.NOFOLLOW),
        }

    def _by_breadcrumb(self, breadcrumb: Sequence[str], reasons: Reasons) -> None:
        nodes = [self._by_url[url] for url in reversed(breadcrumb) if url in self._by_url]
        for step, (node, score) in enumerate(zip(nodes, _BREADCRUMB_SCORES, strict=False)):
            _add_reason(
                reasons,
                node,
                "its breadcrumb names it" if not step else "its breadcrumb names it further up",
                score,
            )

    def _by_path(self, orphan: int, reasons: Reasons) -> None:
        url = self._urls[orphan]
        for step, names in enumerate(index_urls_above(url)):
            node = next((self._by_url[name] for name in names if name in self._by_url), None)
            if node is not None:
                score = (
                    _ROOT_SCORE
                    if node == self._graph.start
                    else _INDEX_SCORES[min(step, len(_INDEX_SCORES) - 1)]
                )
                _add_reason(
                    reasons,
                    node,
                    "index of its directory" if not step else "index of a directory above it",
                    score,
                )
        siblings = self._not_in_menu(self._siblings.siblings(url, orphan))
        near = 1 / (1 + 0.25 * np.arange(len(siblings)))
        self._vote(siblings, near, "{} of its {} nearest siblings", reasons)

    def _by_title(self, orphan: int, reasons: Reasons) -> None:
        said = self._words.rare_words(self._urls[orphan], self._titles[orphan])
        found = self._words.pages_sharing(said)
        found.pop(orphan, None)
        best = sorted(found, key=lambda node: (-found[node], node))[:_MAX_COMPARED]
        ranked = [
            (*self._words.similarity(said, self._urls[node], self._titles[node]), node) for node in best
        ]
        for score, shared, node in ranked:
            if score:
                told = ", ".join(f"'{word}'" for word in shared[:_MAX_NAMED_WORDS])
                _add_reason(reasons, node, f"title shares {told}", 0.6 * score)
        for word, nodes in self._words.subjects(said):
            pages = self._not_in_menu(node for node in nodes if node != orphan)
            self._vote(pages, np.ones(len(pages)), f"{{}} of {{}} pages on '{word}'", reasons)

    def _not_in_menu(self, nodes: Iterable[int]) -> list[int]:
        """Those that not half of the site links to: to link to the others is what every page does."""
        return [node for node in nodes if self._graph.inlinks[node] * 2 < len(self._by_url)]

    def _vote(self, kin: Sequence[int], weights: NDArray[np.float64], told: str, reasons: Reasons) -> None:
        """Who links to the kin of an orphan: most of them, and not to all the site besides."""
        if len(kin) < 2:
            return
        parts = [self._graph.following_pages(node, _MAX_REFERRERS) for node in kin]
        sources: Int32Array = np.concatenate(parts)
        voices = np.repeat(weights / weights.sum(), [len(part) for part in parts])
        fit = self._fit[sources]
        nodes, places = np.unique(sources[fit], return_inverse=True)
        share = np.bincount(places, voices[fit])
        count = np.bincount(places)
        focus = np.sqrt(np.minimum(1.0, 3 * count / np.maximum(self._outlinks[nodes], 1)))
        score = 0.8 * share * (0.3 + 0.7 * focus) * len(kin) / (len(kin) + 1)
        for place in np.argsort(-score, kind="stable")[: 4 * MAX_SUGGESTIONS]:
            if count[place] > 1:
                said = f"links to {told.format(int(count[place]), len(kin))}"
                _add_reason(reasons, int(nodes[place]), said, float(score[place]))


def _add_reason(reasons: Reasons, node: int, reason: str, score: float) -> None:
    said = reasons.setdefault(node, {})
    said[reason] = max(score, said.get(reason, 0.0))


def _reasons_text(said: dict[str, float]) -> str:
    return "; ".join(sorted(said, key=said.__getitem__, reverse=True))
