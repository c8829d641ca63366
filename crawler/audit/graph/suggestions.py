"""Suggests pages to link to an orphan. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import nsmallest
from itertools import chain, islice
from math import prod, sqrt
from typing import Final

from crawler.audit.finding import LinkSuggestion
from crawler.audit.graph.graph import LinkGraph
from crawler.audit.graph.links import CLICK_FLAGS, LinkKind
from crawler.audit.graph.similarity import PathSiblings, TitleIndex, index_urls_above, url_shape
from crawler.model import DiscoveredBy, State

MAX_SUGGESTIONS: Final = 3
_MAX_REFERRERS: Final = 300  # referrers of one similar page that count
_MAX_COMPARED: Final = 32  # pages with words in common that are compared
_MIN_SCORE: Final = 0.1  # of a page that is suggested
_BREADCRUMB_SCORES: Final = (0.9, 0.5, 0.3)  # by the distance from the page
_INDEX_SCORES: Final = (0.75, 0.4, 0.25)
_ROOT_SCORE: Final = 0.2  # of the start as the index above a page
_PEER_SCORE: Final = 0.5  # factor for a page of the orphan's own kind, which is not above it
_LIST_SCORE: Final = 0.25  # factor for a page of a kind that links to it already: lists that others fill, such as tags
_MAX_NAMED_WORDS: Final = 3  # shared words in a reason

Reasons = dict[int, dict[str, float]]


class LinkSuggestions:
    """Indexes the pages that can carry a link; a suggestion then takes about a millisecond.

    ``urls`` and ``titles`` are by node; a node that is no page may have none. Only indexable pages that followed
    links from the start lead to are suggested.
    """

    def __init__(self, graph: LinkGraph, urls: Sequence[str], titles: Sequence[str]) -> None:
        self._graph = graph
        self._urls = urls
        self._titles = titles
        fit = bytearray(
            state is State.INDEXABLE and depth >= 0 and way & LinkKind.FOLLOWED != 0
            for state, depth, way in zip(graph.nodes.state, graph.depth, graph.ways, strict=True)
        )
        fit[graph.start] = graph.pages[graph.start]
        self._fit = fit
        pages = [node for node, is_fit in enumerate(fit) if is_fit]
        self._by_url = {urls[node]: node for node in pages}
        self._siblings = PathSiblings((node, urls[node]) for node in pages)
        self._outlinks = [*map(graph.edges.out_degree, range(len(graph.nodes)))]
        self._words = TitleIndex((node, urls[node], titles[node]) for node in pages)

    def suggest(self, orphan: int, breadcrumb: Sequence[str] = ()) -> list[LinkSuggestion]:
        """The best pages to link to an orphan, at most three. ``breadcrumb`` are the URLs that the orphan names."""
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
        """The scores of the best pages that can carry a link and do not link to the orphan yet."""
        linked = {target for targets in self._graph.edges.targets(orphan, CLICK_FLAGS) for target in targets}
        closed = self._already_linking(orphan)
        scores: dict[int, float] = {}
        for node, node_reasons in reasons.items():
            if node in closed or not self._fit[node]:
                continue
            if node in linked and self._graph.inlinks[node] * 4 < len(self._by_url):
                node_reasons["the orphan page links to this page"] = 0.2
            scores[node] = 1 - prod(1 - score for score in node_reasons.values())
        own = url_shape(self._urls[orphan])
        lists = {url_shape(self._urls[node]) for node in islice(closed, _MAX_REFERRERS)} - {own}
        factors = dict.fromkeys(lists, _LIST_SCORE) or {own: _PEER_SCORE}
        above = {*chain.from_iterable(index_urls_above(self._urls[orphan]))}
        best = sorted(scores, key=scores.__getitem__, reverse=True)[: 8 * MAX_SUGGESTIONS]
        urls = {node: self._urls[node] for node in best}
        return {
            node: scores[node] * (1.0 if url in above else factors.get(url_shape(url), 1.0))
            for node, url in urls.items()
        }

    def _already_linking(self, orphan: int) -> set[int]:
        """The pages that link to the orphan already, in any of its spellings, and the orphan itself."""
        return {orphan, *self._graph.linking(orphan, DiscoveredBy.LINK | DiscoveredBy.FRAME | DiscoveredBy.NOFOLLOW)}

    def _by_breadcrumb(self, breadcrumb: Sequence[str], reasons: Reasons) -> None:
        nodes = [self._by_url[url] for url in reversed(breadcrumb) if url in self._by_url]
        for step, (node, score) in enumerate(zip(nodes, _BREADCRUMB_SCORES, strict=False)):
            reason = "it is a higher level of the breadcrumb" if step else "it is in the breadcrumb of the orphan page"
            _add_reason(reasons, node, reason, score)

    def _by_path(self, orphan: int, reasons: Reasons) -> None:
        url = self._urls[orphan]
        for step, names in enumerate(index_urls_above(url)):
            node = next((self._by_url[name] for name in names if name in self._by_url), None)
            if node is not None:
                score = _INDEX_SCORES[min(step, len(_INDEX_SCORES) - 1)]
                reason = "index of a directory above it" if step else "index of its directory"
                _add_reason(reasons, node, reason, _ROOT_SCORE if node == self._graph.start else score)
        siblings = self._not_in_menu(self._siblings.siblings(url, orphan))
        weights = [1 / (1 + 0.25 * place) for place in range(len(siblings))]
        self._vote(siblings, weights, "{} of its {} nearest siblings", reasons)

    def _by_title(self, orphan: int, reasons: Reasons) -> None:
        words = self._words.rare_words(self._urls[orphan], self._titles[orphan])
        sharing = self._words.pages_sharing(words)
        sharing.pop(orphan, None)
        for node in sorted(sharing, key=lambda node: (-sharing[node], node))[:_MAX_COMPARED]:
            score, shared = self._words.similarity(words, self._urls[node], self._titles[node])
            if score:
                examples = ", ".join(f"'{word}'" for word in shared[:_MAX_NAMED_WORDS])
                _add_reason(reasons, node, f"title shares {examples}", 0.6 * score)
        for word, nodes in self._words.subjects(words):
            pages = self._not_in_menu(node for node in nodes if node != orphan)
            self._vote(pages, [1.0] * len(pages), f"{{}} of {{}} pages on '{word}'", reasons)

    def _not_in_menu(self, nodes: Iterable[int]) -> list[int]:
        """The nodes that less than half of the site links to: links to the others are navigation."""
        return [node for node in nodes if self._graph.inlinks[node] * 2 < len(self._by_url)]

    def _vote(self, pages: Sequence[int], weights: Sequence[float], text: str, reasons: Reasons) -> None:
        """Score the pages that link to most of the similar ``pages``, and not to all of the site."""
        if len(pages) < 2:
            return
        parts = [self._graph.followed[node][:_MAX_REFERRERS] for node in pages]
        count = Counter(chain.from_iterable(parts))
        share = {node: 0.0 for node, links in count.items() if links > 1 and self._fit[node]}
        voters = share.keys()
        for part, weight in zip(parts, weights, strict=True):
            for node in voters & part:
                share[node] += weight
        every = 0.8 * len(pages) / (len(pages) + 1) / sum(weights)
        score = {node: every * votes * self._focus(node, count[node]) for node, votes in share.items()}
        for node in nsmallest(4 * MAX_SUGGESTIONS, score, key=lambda node: (-score[node], node)):
            _add_reason(reasons, node, f"links to {text.format(count[node], len(pages))}", score[node])

    def _focus(self, node: int, links: int) -> float:
        """A factor for a page with so many links to the similar pages: less for one that links to all of the site."""
        return sqrt(min(1.0, 3 * links / max(self._outlinks[node], 1)))


def _add_reason(reasons: Reasons, node: int, reason: str, score: float) -> None:
    scores = reasons.setdefault(node, {})
    scores[reason] = max(score, scores.get(reason, 0.0))


def _reasons_text(scores: dict[str, float]) -> str:
    return "; ".join(sorted(scores, key=scores.__getitem__, reverse=True))
