"""Small graphs for tests, and what a link graph means, written down plainly with sets and dicts."""

from collections.abc import Iterable

from crawler.audit.graph.graph import LinkGraph
from crawler.audit.graph.links import PAGE_STATES, Edges, LinkKind, Nodes
from crawler.model import DiscoveredBy, State

Link = tuple[int, int, int]
CLICKED = DiscoveredBy.LINK | DiscoveredBy.FRAME
HEADS = DiscoveredBy.ALTERNATE | DiscoveredBy.PAGINATION | DiscoveredBy.AMP | DiscoveredBy.FEED
EVIDENCE = CLICKED | HEADS | DiscoveredBy.NOFOLLOW | DiscoveredBy.CANONICAL | DiscoveredBy.REFRESH
MOVES = (State.REDIRECT, State.CANONICAL_ELSEWHERE)


def graph(states: Iterable[State], links: Iterable[Link], targets: dict[int, int] | None = None) -> LinkGraph:
    """The graph of these pages, the first of which is the start."""
    named = list(states)
    target = [-1] * len(named)
    for source, to in (targets or {}).items():
        target[source] = to
    statuses = [200 if state in PAGE_STATES else 0 for state in named]
    nodes = Nodes(range(10, 10 + len(named)), named, statuses, target)
    return LinkGraph(nodes, Edges.of(len(named), links), 0)


class Plainly:
    """The same without arrays, slowly: the meaning of each word, from the words of the rules."""

    def __init__(self, states: list[State], links: list[Link], targets: dict[int, int]) -> None:
        self.states = states
        merged: dict[tuple[int, int], int] = {}
        for source, to, found in links:
            merged[source, to] = merged.get((source, to), 0) | found
        self.links = merged
        self.targets = {node: to for node, to in targets.items() if states[node] in MOVES}
        self.homes = [self.chain(node)[-1] for node in range(len(states))]
        self.start = self.moved(0)
        self.depth = self.clicks()
        self.touched = self.touch()

    def chain(self, node: int) -> list[int]:
        """The way that redirects and canonicals lead; only the node itself when it ends nowhere."""
        passed = [node]
        while passed[-1] in self.targets:
            further = self.targets[passed[-1]]
            if further in passed:
                return [node]
            passed.append(further)
        return passed

    def moved(self, node: int) -> int:
        passed = [node]
        while self.states[passed[-1]] is State.REDIRECT and passed[-1] in self.targets:
            if self.targets[passed[-1]] in passed:
                break
            passed.append(self.targets[passed[-1]])
        return passed[-1]

    def clicks(self) -> dict[int, int]:
        depth = {0: 0}
        waiting = [0]
        while waiting:
            node = waiting.pop()
            steps = [(to, 0 if found & DiscoveredBy.REFRESH else 1) for (source, to), found in self.links.items()
                     if source == node and found & (CLICKED | DiscoveredBy.REFRESH)]  # fmt: skip
            if self.states[node] is State.REDIRECT and node in self.targets:
                steps.append((self.targets[node], 0))
            for to, cost in steps:
                if depth[node] + cost < depth.get(to, 1_000_000):
                    depth[to] = depth[node] + cost
                    waiting.append(to)
        return depth

    def touch(self) -> set[int]:
        seen = {0}
        waiting = [0]
        while waiting:
            node = waiting.pop()
            found = [to for (source, to), flags in self.links.items() if source == node and flags & EVIDENCE]
            found += [self.targets[node]] if node in self.targets else []
            waiting += [to for to in found if to not in seen]
            seen.update(found)
        return seen

    def ways(self, node: int) -> set[LinkKind]:
        found: set[LinkKind] = set()
        for alias in range(len(self.states)):
            if alias != node and (self.homes[alias] != node or alias == node):
                continue
            through = self.chain(alias)[:-1] if alias != node else []
            direct = self.direct(alias)
            if not through:
                found |= direct
                continue
            if LinkKind.UNREACHED in direct:
                found.add(LinkKind.UNREACHED)
            if direct - {LinkKind.UNREACHED} or alias == 0:
                copies = any(self.states[each] is State.CANONICAL_ELSEWHERE for each in through)
                found.add(LinkKind.CANONICAL if copies else LinkKind.REDIRECT)
        return found

    def direct(self, node: int) -> set[LinkKind]:
        found: set[LinkKind] = set()
        for (source, to), flags in self.links.items():
            if to == node and self.homes[source] != self.homes[node]:
                found |= self.kinds(source, flags)
        return found

    def kinds(self, source: int, flags: int) -> set[LinkKind]:
        if source not in self.touched:
            return {LinkKind.UNREACHED} if flags & CLICKED else set()
        found: set[LinkKind] = set()
        state = self.states[source]
        if flags & CLICKED:
            moves = {State.REDIRECT: LinkKind.REDIRECT, State.CANONICAL_ELSEWHERE: LinkKind.VARIANT}
            found.add(LinkKind.FOLLOWED if state in PAGE_STATES else moves.get(state, LinkKind.NOINDEX))
        elif flags & DiscoveredBy.NOFOLLOW:
            found.add(LinkKind.NOFOLLOW)
        if flags & DiscoveredBy.CANONICAL:
            found.add(LinkKind.CANONICAL)
        if flags & DiscoveredBy.REFRESH:
            found.add(LinkKind.REDIRECT)
        if flags & HEADS:
            found.add(LinkKind.HEAD)
        return found

    def inlinks(self, node: int) -> int:
        return sum(
            to == node and self.homes[source] != self.homes[to] and LinkKind.FOLLOWED in self.kinds(source, flags)
            for (source, to), flags in self.links.items()
        )
