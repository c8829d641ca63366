"""Classifies every URL of the site once, by the links that lead to it and the sources that know it.

::

    graph, evidence | orphans.classes | sentences, referrers, link suggestions | AuditFinding

:class:`NotedPages` reads the findings that the crawl noted on pages, each as ``rule: sentence``. The rules ``render.*``
tell what scripts change on a page (``crawler/render/renderer.py``); ``google.size`` tells what Googlebot does not read
of a page (``crawler/parse/html/page.py``).
https://developers.google.com/search/docs/crawling-indexing/javascript/javascript-seo-basics
"""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache, partial
from pathlib import Path
from random import Random
from typing import Final

import msgspec

from crawler.audit.evidence.by_url import UrlEvidence
from crawler.audit.evidence.visits import url_of
from crawler.audit.finding import MAX_KEPT, MORE_URLS, THROUGH, AuditFinding, Certainty, Referrer
from crawler.audit.graph.graph import LinkGraph
from crawler.audit.graph.links import LinkKind
from crawler.audit.graph.load import LinkSuggester, node_names
from crawler.audit.graph.unread_pages import MistakenFindings, UnreadPages
from crawler.audit.orphans.certainty import is_mostly_right
from crawler.audit.orphans.classes import (
    CLASSIFIED_STATES,
    NO_SOURCES,
    SourceStats,
    Thresholds,
    UrlFacts,
    is_gone,
    is_machine_only,
    is_scanner_probe,
    orphan_classes,
)
from crawler.audit.orphans.duplicates import is_paginated
from crawler.audit.rules import ORPHAN_FAMILIES, RULES, needs_complete, rests_on_links, rests_on_visits
from crawler.audit.source_record import SourceKind
from crawler.model import State, Url, unpack_page
from crawler.state.database import storage_errors
from crawler.units import count_text
from crawler.url.normalize import section_of

_STATS: Final = ("first", "last", "people", "bots", "clicks", "impressions", "sessions", "views", "users", "domains")
_ANY_STATUS: Final = 0xFFFF  # all flags of DiscoveredBy
MAX_REFERRERS: Final = 10  # of a finding
_MAX_CACHED: Final = 20_000  # URLs in memory: many findings rest on the same pages
_GONE_STATUS: Final = 410  # https://www.rfc-editor.org/rfc/rfc9110#section-15.5.11
_SENTENCES: Final = {
    "orphan.sitemap": "listed in a sitemap, but no page of the site links to it",
    "orphan.search": "in search or analytics data, but not linked and not in a sitemap",
    "orphan.log": "in the access logs, but not linked and not in a sitemap",
    "orphan.list": "in a list, in backlinks or in another crawl, but not linked and not in a sitemap",
    "orphan.island": "linked only by pages that the start URL does not lead to",
    "weak.redirect": "linked only through URLs that redirect to it",
    "weak.canonical": "known only as a canonical, or from links on pages that have another page as canonical",
    "weak.noindex": "linked only from pages with noindex",
    "weak.nofollow": "linked only by nofollow links",
    "weak.head": "referenced only by hreflang, next/prev, AMP or a feed",
    "render.orphan": "linked only by links that scripts create",
    "listed.missing": "linked, but not in a sitemap",
    "listed.series": "a later page of a list: linked, but not in a sitemap",
}
_PAGE: Final = "SELECT u.url, v.state, v.status, v.lastmod, v.reason, c.page FROM url u JOIN visit v ON v.id = u.id"


class PageFindings:
    """Makes the findings about links. ``copies`` maps ids of duplicate pages to those of their originals.

    ``runs`` is the directory of the state of the site's runs.
    ``best`` is the certainty of findings that no failed page is likely to disprove, ``unread`` are the failed pages
    that may do so. ``has_sitemap``: a sitemap lists pages of the site; ``is_listing_whole``: every sitemap was read to
    its end, and every listed URL fetched.
    """

    def __init__(  # noqa: PLR0913 - four sides of evidence
        self,
        db: sqlite3.Connection,
        graph: LinkGraph,
        runs: Path,
        by_url: UrlEvidence,
        limits: Thresholds,
        *,
        copies: dict[int, int],
        best: Certainty,
        unread: Sequence[int],
        copies_of_listed: set[int],
        has_sitemap: bool,
        is_listing_whole: bool,
    ) -> None:
        self._db = db
        self._url_of = lru_cache(_MAX_CACHED)(partial(url_of, db))
        self._graph = graph
        self._evidence = by_url
        self._limits = limits
        self.copies = copies
        self._best = best
        draw = Random(len(unread)).choice  # noqa: S311 - the same draws in each audit
        self._unread = UnreadPages(graph, unread, node_names(db).urls, draw) if unread else None
        self._found = Counter[str]()  # findings by the kind of mistake; only with unread pages
        self.copies_of_listed = copies_of_listed
        self._has_sitemap = has_sitemap
        self._is_listing_whole = is_listing_whole
        self._suggester = LinkSuggester(db, graph, runs)
        self.orphans_by_section: Counter[str] = Counter()  # includes weakly linked pages
        self.unlisted_by_section: Counter[str] = Counter()
        self.listed = 0  # indexable pages in a sitemap
        self.documents: list[int] = []  # ids of PDFs and other documents that sources know, and no page links to
        self.for_machines: list[int] = []  # ids of unlinked pages that bots alone requested, none of a search engine

    def findings(self) -> Iterator[tuple[float, AuditFinding]]:
        """All of them, each with its rank. Raises StorageError."""
        if self._unread:
            self._found.update(_mistake(rule) for *_, rules in self._classified() for rule in rules)
        for node, number, facts, stats, rules in self._classified():
            self.listed += facts.state is State.INDEXABLE and SourceKind.SITEMAP in stats.sources
            if facts.state is State.INDEXABLE and not (facts.ways or facts.is_start) and is_machine_only(stats):
                self.for_machines.append(number)
            if rules:
                yield from self._findings_of(node, number, facts, stats, rules)

    @property
    def certainty(self) -> Certainty:
        """The certainty that a page without a finding has links, and of most findings that it has none."""
        return self._certainty("orphan", -1)

    def _classified(self) -> Iterator[tuple[int, int, UrlFacts, SourceStats, list[str]]]:
        """Node, id, facts and claims of every URL that may have findings, with the rules that apply to it."""
        graph = self._graph
        by_page = self._evidence.by_page()
        next_number, next_stats = next(by_page, (-1, NO_SOURCES))
        for node, (page, state) in enumerate(zip(graph.nodes.ids, graph.nodes.state, strict=True)):
            while -1 < next_number < page:
                next_number, next_stats = next(by_page, (-1, NO_SOURCES))
            stats = next_stats if next_number == page else NO_SOURCES
            if state is State.WRONG_TYPE and stats.sources and not graph.visitor_link_kinds(node):
                self.documents.append(page)
            is_meant = state in CLASSIFIED_STATES and (state is State.SOFT_404 or page not in self.copies)
            if is_meant and not self._is_forgotten(node, stats):
                facts = self._url_facts(node, state)
                rules = list(orphan_classes(facts, stats, self._limits))
                if not self._has_sitemap or page in self.copies_of_listed:
                    rules = [rule for rule in rules if _rule_family(rule) != "listed"]
                yield node, page, facts, stats, rules

    def with_links(self, finding: AuditFinding) -> AuditFinding:
        """The finding with the links to its URL, if the crawl knows the URL. Raises StorageError."""
        return self._linked(finding, self._node_of(finding.url))

    def _node_of(self, url: str) -> int:
        """The node of a URL, -1 if the crawl does not know it."""
        with storage_errors():
            row = self._db.execute("SELECT id FROM url WHERE url = ?", (url,)).fetchone()
        return self._graph.nodes.node(row[0]) if row else -1

    def _linked(self, finding: AuditFinding, node: int) -> AuditFinding:
        if node < 0:
            return finding
        depth = self._graph.depth[node]
        return msgspec.structs.replace(
            finding,
            depth=depth if depth >= 0 else None,
            inlinks=self._graph.all_inlinks(node),
            weight=round(self._graph.weight[node], 3),
            referrers=finding.referrers or self._referrers(node),
            rests_on=finding.rests_on or self._linking_urls(finding.rule, node),
        )

    def _linking_urls(self, rule: str, node: int) -> list[str]:
        """The URLs that lead to a node, if a rule rests on them."""
        if not rests_on_links(rule):
            return []
        linking, spellings = self._graph.leading(node)
        if len(linking) + len(spellings) > MAX_KEPT:
            return [MORE_URLS]
        return [*map(self._url, sorted(linking)), *(f"{THROUGH}{self._url(other)}" for other in spellings)]

    def with_hubs(self, finding: AuditFinding) -> AuditFinding:
        """The same, with pages that should link to it, and as certain as findings about links are."""
        node = self._node_of(finding.url)
        certainty = self._certainty(finding.rule, node)
        return msgspec.structs.replace(
            self._linked(finding, node),
            hubs=self._suggester.suggestions(node, None),
            certainty=certainty,
            is_certain=certainty is Certainty.CERTAIN,
        )

    def with_referrers(self, finding: AuditFinding) -> AuditFinding:
        """The same, with a sentence that says which pages link to it. Raises StorageError."""
        linked = self.with_links(finding)
        return msgspec.structs.replace(linked, sentence=f"{linked.sentence}{_linked_by(linked)}")

    def _is_forgotten(self, node: int, stats: SourceStats) -> bool:
        """Whether no link and no source names a URL any more: a source was dropped before this audit resumed."""
        graph = self._graph
        is_named = stats.sources or graph.ways[node] or node == graph.start
        return not is_named and not len(graph.linking(node, _ANY_STATUS))

    def _url_facts(self, node: int, state: State) -> UrlFacts:
        graph = self._graph
        status = int(graph.nodes.status[node]) or None
        return UrlFacts(
            state=state,
            status=status,
            # a canonical that names a dead page brings no visitor there
            ways=int(graph.ways[node]) if state is State.INDEXABLE else graph.visitor_link_kinds(node),
            depth=int(graph.depth[node]),
            inlinks=int(graph.inlinks[node]),
            is_start=node == graph.start,
            is_probe=state is not State.INDEXABLE and is_scanner_probe(self._url(node)),
            is_open=bool(graph.visitor_reachable[node]),
            is_drawn=bool(graph.drawn[node]),
            # without a status, another name of the site was not fetched
            is_redirect_loop=status is not None and graph.is_endless(node),
        )

    def _findings_of(
        self, node: int, number: int, facts: UrlFacts, stats: SourceStats, rule_ids: list[str]
    ) -> Iterator[tuple[float, AuditFinding]]:
        entrance = self._graph.entrance.get(node, -1)
        wants_hub = entrance in (node, -1) and any(_rule_family(rule) in ORPHAN_FAMILIES for rule in rule_ids)
        base = self._finding(node, number, facts, stats, wants_hub=wants_hub)
        if entrance >= 0:
            base = msgspec.structs.replace(base, entrance=self._url(entrance))
        # the pages of a list link to one another, so one that lacks such links is none, whatever its name
        is_later = is_paginated(Url(base.url)) and not (
            facts.is_drawn or any(_rule_family(rule) in ORPHAN_FAMILIES for rule in rule_ids)
        )
        for rule_id in rule_ids:
            rule = "listed.series" if rule_id == "listed.missing" and is_later else rule_id
            if _rule_family(rule) in ORPHAN_FAMILIES:
                self.orphans_by_section[section_of(base.url)] += 1
            elif rule == "listed.missing":
                self.unlisted_by_section[section_of(base.url)] += 1
            is_doubtful = rests_on_visits(rule) and stats.is_doubtful and not facts.ways
            certainty = Certainty.INCONCLUSIVE if is_doubtful else self._certainty(rule, node)
            finding = msgspec.structs.replace(
                base,
                rule=rule,
                rests_on=self._linking_urls(rule, node),
                sentence=self._sentence(rule, facts, stats, base),
                is_certain=certainty is Certainty.CERTAIN,
                certainty=certainty,
                hubs=base.hubs if _rule_family(rule) in ORPHAN_FAMILIES else [],
            )
            yield _rank(rule, facts, stats, base), finding

    def _certainty(self, rule: str, node: int) -> Certainty:
        """The certainty of a finding about a node; -1: of no node in particular."""
        if _rule_family(rule) == "listed":
            return Certainty.CERTAIN if self._is_listing_whole else Certainty.INCONCLUSIVE
        if not needs_complete(rule):
            return Certainty.CERTAIN
        if self._unread is None or self._best is not Certainty.LIKELY:
            return self._best
        mistake = _mistake(rule)
        is_likely = is_mostly_right(getattr(self._mistaken, mistake), self._found[mistake])
        if node >= 0 and self._unread.may_link_to(node):
            is_likely = False
        return Certainty.LIKELY if is_likely else Certainty.INCONCLUSIVE

    @cached_property
    def _mistaken(self) -> MistakenFindings:
        assert self._unread is not None  # noqa: S101 - nothing is mistaken without unread pages
        return self._unread.mistaken(self._limits.min_inlinks, self._limits.max_clicks)

    def _finding(self, node: int, number: int, facts: UrlFacts, stats: SourceStats, *, wants_hub: bool) -> AuditFinding:
        """A finding without its rule."""
        with storage_errors():
            row = self._db.execute(f"{_PAGE} LEFT JOIN content c ON c.id = v.content WHERE u.id = ?", (number,))
            url, state, status, lastmod, reason, packed = row.fetchone()
        page = unpack_page(packed) if packed else None
        evidence, spellings = self._evidence.sentences(number, url) if stats.sources else ([], [])
        addresses = self._evidence.addresses(number) if stats.people and facts.state is not State.INDEXABLE else 0
        if addresses:
            evidence.append(f"people got errors from {count_text(addresses, 'address', 'addresses')}")
        island = int(self._graph.island[node]) if not self._graph.touched[node] else -1
        finding = AuditFinding(
            rule="",
            url=url,
            sentence=f"{reason}, and from there in a loop" if facts.is_redirect_loop else reason,
            title=page.title if page else "",
            state=state,
            status=status,
            lastmod=lastmod,
            spellings=spellings,
            hubs=self._suggester.suggestions(node, page) if wants_hub else [],
            targets=self._suggester.redirect_targets(node) if is_gone(facts.state, facts.status) else [],
            evidence=evidence,
            addresses=addresses,
            group=f"island {island}" if island >= 0 else "",
        )
        return with_visits(self._linked(finding, node), stats)

    def _referrers(self, node: int) -> list[Referrer]:
        referrers = []
        for lead in self._graph.referrers(node, MAX_REFERRERS):
            how = lead.way.word
            if lead.via >= 0:
                how = f"{how}, through {self._url(lead.via)}"
            referrers.append(Referrer(self._url(lead.node), how))
        return referrers

    def _url(self, node: int) -> Url:
        return self._url_of(self._graph.nodes.ids[node])

    def _sentence(self, rule: str, facts: UrlFacts, stats: SourceStats, base: AuditFinding) -> str:
        match rule:
            case "reach.deep":
                return f"more than {self._limits.max_clicks} clicks from the start URL (audit.max_clicks)"
            case "reach.few":
                return (
                    f"{count_text(facts.inlinks, 'indexable page')} {'links' if facts.inlinks == 1 else 'link'} to it"
                )
            case "gone.soft":
                return f"{base.sentence}{_linked_by(base)}"
            case "gone.visited":
                history = "it answered before, but now it" if stats.ok else "somebody requests it, but it"
                comment = ", which is right for a page that is gone permanently" if facts.status == _GONE_STATUS else ""
                return f"{history} {base.sentence}{comment}"
            case "lost.visited" | "lost.published":
                parts = {"people": stats.people, "bots": stats.bots}
                asked = " and ".join(f"{count:,} requests by {who}" for who, count in parts.items() if count)
                once = f" (as {', '.join(base.spellings)})" if base.spellings else ""
                return f"it was published once{once}, and now it {base.sentence}{asked and f'; {asked}'}"
            case "gone.named":
                return f"it is known from {' and '.join(base.known)} data, but it {base.sentence}"
            case "gone.down":
                return f"{base.sentence}; {'it answered before' if stats.ok else 'somebody requests it'}"
            case "gone.linked" if SourceKind.REGISTER in stats.sources:
                lost = "lost.visited" if stats.visits else "lost.published"
                return f"{base.sentence}{_linked_by(base)}; it was published once ({lost})"
            case "gone.linked" | "gone.failing":
                return f"{base.sentence}{_linked_by(base)}"
        return _SENTENCES[rule]


def with_visits(finding: AuditFinding, stats: SourceStats) -> AuditFinding:
    """The finding with what the sources know of its URL."""
    return msgspec.structs.replace(
        finding,
        known=sorted({*finding.known, *(source.value for source in stats.sources)}),
        **{name: getattr(stats, name) for name in _STATS},
        backlinks=stats.links,
    )


def _mistake(rule: str) -> str:
    """The field of MistakenFindings that counts the wrong findings of a rule."""
    return {"reach.few": "few", "reach.deep": "deep"}.get(rule, "unlinked" if needs_complete(rule) else "")


def _rule_family(rule: str) -> str:
    return rule.partition(".")[0]


def _linked_by(base: AuditFinding) -> str:
    """How many pages link to it, as far as the crawl knows, with one example."""
    if not base.referrers:
        return ""
    pages, best = max(base.inlinks, len(base.referrers)), base.referrers[0]
    first = f"{best.url}, to which no links lead from the start" if best.how == LinkKind.UNREACHED.word else best.url
    least = "at least " if base.inlinks < pages == MAX_REFERRERS else ""
    return f"; linked from {f'{least}{pages:,} pages, such as ' if pages > 1 else ''}{first}"


def _rank(rule: str, facts: UrlFacts, stats: SourceStats, base: AuditFinding) -> float:
    if rule == "reach.deep":
        return float(facts.depth)
    if rule == "reach.few" or _rule_family(rule) == "listed":
        return base.weight
    rank = stats.visits + stats.impressions / 100 + len(base.referrers) / 1000
    # a page that once answered ranks before a URL that may never have existed, whatever the requests
    return rank + 1e12 if rule == "gone.visited" and stats.ok else rank


_PAGES: Final = """SELECT u.url, v.state, v.status, c.page FROM site.visit v JOIN site.url u ON u.id = v.id
  JOIN site.content c ON c.id = v.content
  WHERE instr(c.page, CAST('render.' AS BLOB)) OR instr(c.page, CAST('google.size' AS BLOB)) ORDER BY v.id"""


class NotedPages:
    """The pages with notes in the state attached as ``site``.

    Once they are judged, ``differ_rendered`` says whether scripts change any of them.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.differ_rendered = False

    def judge(self) -> Iterator[AuditFinding]:
        """The findings, one for each note. Raises StorageError."""
        with storage_errors():
            for url, state, status, packed in self._db.execute(_PAGES):
                page = unpack_page(packed)
                for note in page.notes:
                    rule, _, sentence = note.partition(": ")
                    if rule in RULES:  # another version may know others
                        self.differ_rendered |= rule.startswith("render.")
                        yield AuditFinding(
                            rule=rule, url=url, sentence=sentence, title=page.title, state=state, status=status
                        )
