"""Looks at every URL of the site once: what leads to it, who knows it, which classes it falls under.

::

    graph, knowledge | orphans.classes | evidence, referrers, hubs | AuditFinding
"""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from typing import Final

import msgspec

from crawler.audit.claim import SourceKind
from crawler.audit.evidence.by_url import UrlEvidence
from crawler.audit.finding import AuditFinding, Referrer
from crawler.audit.graph.graph import LinkGraph
from crawler.audit.graph.link_kind import STATES
from crawler.audit.graph.load import LinkSuggester
from crawler.audit.orphans.classes import (
    CLASSIFIED_STATES,
    NO_SOURCES,
    SourceStats,
    Thresholds,
    UrlFacts,
    orphan_classes,
)
from crawler.audit.orphans.duplicates import is_paginated
from crawler.audit.orphans.scanner_probes import is_scanner_probe
from crawler.audit.rules import needs_complete
from crawler.model import Page, State, Url
from crawler.state.database import storage_errors
from crawler.units import count_text

_ANY_STATUS: Final = 0xFFFF  # all flags of Found
MAX_REFERRERS: Final = 10  # that are told of a finding
_GONE_STATUS: Final = 410  # https://www.rfc-editor.org/rfc/rfc9110#section-15.5.11
_ORPHAN_FAMILIES: Final = frozenset({"orphan", "weak"})  # families of pages that want a hub
_SENTENCES: Final = {
    "orphan.sitemap": "listed in a sitemap, and no page of the site links to it",
    "orphan.search": "known to search or analytics, linked nowhere and in no sitemap",
    "orphan.log": "requested, linked nowhere and in no sitemap",
    "orphan.list": "named elsewhere, linked nowhere and in no sitemap",
    "orphan.island": "linked only by pages that the start does not lead to",
    "weak.redirect": "linked only through URLs that redirect to it",
    "weak.canonical": "known only by canonicals, or by links on pages that name another as canonical",
    "weak.noindex": "linked only from pages that say noindex",
    "weak.nofollow": "linked only by links that say nofollow",
    "weak.head": "named only by hreflang, next/prev, AMP or a feed",
    "listed.missing": "linked, and in none of the sitemaps",
    "listed.series": "a further page of a list, linked, and in none of the sitemaps",
}
_PAGE: Final = (
    "SELECT u.url, v.state, v.status, v.lastmod, v.reason, c.page FROM url u JOIN visit v ON v.id = u.id"
)
_page = msgspec.msgpack.Decoder(Page).decode


class PageFindings:
    """Makes the findings about what leads where. ``copies`` are ids of pages that are another one, and that one's.

    ``doubtful``: something was not seen, so that what ``needs_complete`` is inconclusive. ``has_sitemap``: a sitemap
    lists pages of the site; ``is_listing_whole``: every sitemap could be read to its end, and what it lists asked for.
    """

    def __init__(  # noqa: PLR0913 - what is known, from four sides
        self,
        db: sqlite3.Connection,
        graph: LinkGraph,
        knowledge: UrlEvidence,
        limits: Thresholds,
        *,
        copies: dict[int, int],
        doubtful: bool,
        has_sitemap: bool,
        is_listing_whole: bool,
    ) -> None:
        self._db = db
        self._graph = graph
        self._evidence = knowledge
        self._limits = limits
        self.copies = copies
        self._doubtful = doubtful
        self._has_sitemap = has_sitemap
        self._is_listing_whole = is_listing_whole
        self._suggester = LinkSuggester(db, graph)
        self.orphans_by_section: Counter[str] = Counter()  # orphans, weakly linked ones too, by their section
        self.unlisted_by_section: Counter[str] = Counter()
        self.listed = 0  # indexable pages in a sitemap

    def findings(self) -> Iterator[tuple[float, AuditFinding]]:
        """All of them, each with its rank. Raises StorageError."""
        graph = self._graph
        ids, states = graph.nodes.ids.tolist(), graph.nodes.state.tolist()
        known = self._evidence.by_page()
        number, claims = next(known, (-1, NO_SOURCES))
        for node, each in enumerate(ids):
            while -1 < number < each:
                number, claims = next(known, (-1, NO_SOURCES))
            now = claims if number == each else NO_SOURCES
            state = STATES[states[node]]
            is_meant = state in CLASSIFIED_STATES and each not in self.copies
            if is_meant and not self._is_forgotten(node, now):
                yield from self._findings_of(node, each, self._url_facts(node, state), now)

    def with_links(self, finding: AuditFinding) -> AuditFinding:
        """A finding of others with what the links of the site say of its URL, if they know it. Raises StorageError."""
        with storage_errors():
            row = self._db.execute("SELECT id FROM url WHERE url = ?", (finding.url,)).fetchone()
        node = self._graph.nodes.node(row[0]) if row else -1
        if node < 0:
            return finding
        depth = int(self._graph.depth[node])
        return msgspec.structs.replace(
            finding,
            depth=depth if depth >= 0 else None,
            inlinks=int(self._graph.inlinks[node]),
            weight=round(float(self._graph.weight[node]), 3),
            referrers=finding.referrers or self._referrers(node),
        )

    def with_referrers(self, finding: AuditFinding) -> AuditFinding:
        """The same, and its sentence says which pages link to it. Raises StorageError."""
        placed = self.with_links(finding)
        return msgspec.structs.replace(placed, sentence=f"{placed.sentence}{_linked_by(placed)}")

    def _is_forgotten(self, node: int, known: SourceStats) -> bool:
        """Whether nothing speaks of a URL: the source that did was given before this run was gone on with."""
        graph = self._graph
        is_spoken_of = known.sources or graph.ways[node] or node == graph.start
        return not is_spoken_of and not len(graph.linking(node, _ANY_STATUS))

    def _url_facts(self, node: int, state: State) -> UrlFacts:
        graph = self._graph
        status = int(graph.nodes.status[node]) or None
        return UrlFacts(
            state=state,
            status=status,
            # who names a dead page as canonical leads nobody there
            ways=int(graph.ways[node]) if state is State.INDEXABLE else graph.visitor_link_kinds(node),
            depth=int(graph.depth[node]),
            inlinks=int(graph.inlinks[node]),
            is_start=node == graph.start,
            is_probe=state is not State.INDEXABLE and is_scanner_probe(self._url(node)),
            is_open=bool(graph.visitor_reachable[node]),
            is_redirect_loop=status is not None
            and graph.is_endless(node),  # another name of the site was not asked for
        )

    def _findings_of(
        self, node: int, number: int, standing: UrlFacts, known: SourceStats
    ) -> Iterator[tuple[float, AuditFinding]]:
        is_page = standing.state is State.INDEXABLE
        self.listed += is_page and SourceKind.SITEMAP in known.sources
        found = [rule for rule in orphan_classes(standing, known, self._limits) if self._can_tell(rule)]
        if not found:
            return
        wants_hub = any(_rule_family(rule) in _ORPHAN_FAMILIES for rule in found)
        base = self._finding(node, number, standing, known, wants_hub=wants_hub)
        for each in found:
            rule = "listed.series" if each == "listed.missing" and is_paginated(Url(base.url)) else each
            if _rule_family(rule) in _ORPHAN_FAMILIES:
                self.orphans_by_section[section_of(base.url)] += 1
            elif rule == "listed.missing":
                self.unlisted_by_section[section_of(base.url)] += 1
            told = msgspec.structs.replace(
                base,
                rule=rule,
                sentence=self._sentence(rule, standing, known, base),
                is_certain=self._is_certain(rule),
                hubs=base.hubs if _rule_family(rule) in _ORPHAN_FAMILIES else [],
            )
            yield _rank(rule, standing, known, base), told

    def _can_tell(self, rule: str) -> bool:
        return self._has_sitemap or _rule_family(rule) != "listed"

    def _is_certain(self, rule: str) -> bool:
        if _rule_family(rule) == "listed":
            return self._is_listing_whole
        return not (self._doubtful and needs_complete(rule))

    def _finding(
        self, node: int, number: int, standing: UrlFacts, known: SourceStats, *, wants_hub: bool
    ) -> AuditFinding:
        """A finding without its rule."""
        with storage_errors():
            row = self._db.execute(
                f"{_PAGE} LEFT JOIN content c ON c.id = v.content WHERE u.id = ?", (number,)
            )
            url, state, status, lastmod, reason, packed = row.fetchone()
        page = _page(packed) if packed else None
        evidence, spellings = self._evidence.sentences(number, url) if known.sources else ([], [])
        island = int(self._graph.island[node]) if not self._graph.touched[node] else -1
        found = AuditFinding(
            rule="",
            url=url,
            sentence=reason,
            title=page.title if page else "",
            state=state,
            status=status,
            lastmod=lastmod,
            depth=standing.depth if standing.depth >= 0 else None,
            inlinks=standing.inlinks,
            weight=round(float(self._graph.weight[node]), 3),
            spellings=spellings,
            referrers=self._referrers(node),
            hubs=self._suggester.suggestions(node, page) if wants_hub else [],
            evidence=evidence,
            group=f"island {island}" if island >= 0 else "",
        )
        return with_visits(found, known)

    def _referrers(self, node: int) -> list[Referrer]:
        found = []
        for lead in self._graph.referrers(node, MAX_REFERRERS):
            how = lead.way.word
            if lead.via >= 0:
                how = f"{how} by way of {self._url(lead.via)}"
            found.append(Referrer(self._url(lead.node), how))
        return found

    def _url(self, node: int) -> Url:
        with storage_errors():
            row = self._db.execute("SELECT url FROM url WHERE id = ?", (int(self._graph.nodes.ids[node]),))
            return Url(row.fetchone()[0])

    def _sentence(self, rule: str, standing: UrlFacts, known: SourceStats, base: AuditFinding) -> str:
        match rule:
            case "reach.deep":
                return f"more than {self._limits.max_clicks} clicks away (--max-clicks)"
            case "reach.few":
                return f"{count_text(standing.inlinks, 'page')} {'links' if standing.inlinks == 1 else 'link'} to it"
            case "gone.visited":
                before = "it answered before" if known.ok else "somebody asks for it"
                meant = ", as it should when it is gone for good" if standing.status == _GONE_STATUS else ""
                return f"{before}, and today it {base.sentence}{meant}"
            case "gone.named":
                return f"it is known from {' and '.join(base.known)}, and today it {base.sentence}"
            case "gone.down":
                return f"{base.sentence}; {'it answered before' if known.ok else 'somebody asks for it'}"
            case "gone.linked" | "gone.failing":
                return f"{base.sentence}{_linked_by(base)}"
        return _SENTENCES[rule]


def with_visits(finding: AuditFinding, known: SourceStats) -> AuditFinding:
    """A finding with what the sources know of its URL."""
    return msgspec.structs.replace(
        finding,
        known=sorted({*finding.known, *(source.value for source in known.sources)}),
        first=known.first,
        last=known.last,
        people=known.people,
        bots=known.bots,
        clicks=known.clicks,
        impressions=known.impressions,
        sessions=known.sessions,
        views=known.views,
        users=known.users,
        backlinks=known.links,
        domains=known.domains,
    )


def section_of(url: str) -> str:
    """The part of a site that a URL is in: its first directory."""
    path = url.partition("?")[0].split("/", 3)[3]
    first, slash, _ = path.partition("/")
    return f"/{first}/" if slash else "/"


def _rule_family(rule: str) -> str:
    return rule.partition(".")[0]


def _linked_by(base: AuditFinding) -> str:
    """By how many pages, as far as that is known, and one of them."""
    if not base.referrers:
        return ""
    pages, first = max(base.inlinks, len(base.referrers)), base.referrers[0].url
    return (
        f"; linked from {first}"
        if pages == 1
        else f"; linked from {count_text(pages, 'page')}, such as {first}"
    )


def _rank(rule: str, standing: UrlFacts, known: SourceStats, base: AuditFinding) -> float:
    if rule == "reach.deep":
        return float(standing.depth)
    if rule == "reach.few" or _rule_family(rule) == "listed":
        return base.weight
    rank = known.visits + known.impressions / 100 + len(base.referrers) / 1000
    # what was there comes before what perhaps never was, however often that is asked for
    return rank + 1e12 if rule == "gone.visited" and known.ok else rank
