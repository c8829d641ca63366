"""Reads what pages show: where their links stand, titles, texts, files and JSON-LD.

Most of it is what the parser found in each page. Only the places of links and the texts need the markup: the snapshots
of a sample of the pages. None of it costs a request. A hash of its URL decides whether a page is in a sample: then
neither the order in which pages are found nor other pages that come and go change what is said of a page.
"""

import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from heapq import nsmallest
from html import unescape
from operator import attrgetter
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from crawler.audit.evidence.visits import url_of
from crawler.audit.finding import AuditFinding, Referrer
from crawler.audit.graph.changing_links import load_boxes
from crawler.audit.graph.graph import LinkGraph
from crawler.audit.graph.places import BOXES, CONTENT, Place, PlacedPage, find_places
from crawler.audit.orphans.duplicates import is_paginated
from crawler.model import DocumentKind, State, Url, unpack_page
from crawler.parse.html.scripts import is_file
from crawler.parse.snapshot.blocks import stable_hash
from crawler.parse.snapshot.details import read_details
from crawler.parse.snapshot.snapshot import load_markup
from crawler.state.database import storage_errors
from crawler.units import count_text
from crawler.url.normalize import InvalidUrl, join_url
from crawler.url.resolve import UrlResolver

MAX_REFERRERS: Final = 10
MANY: Final = 3
"""Texts of a page, or parts of it that links name, from which on there are many of them."""
SAMPLE: Final = 60
"""Pages whose markup is read for what the pages of a site repeat."""
_MORE: Final = 500
"""Further pages whose markup is searched for links that stand elsewhere."""
_FEW: Final = 20  # pages that link to a page, up to which all of them are read for the places of these links
_NEAREST: Final = 3
"""Pages nearest to the start that are read for the places of links to a page to which more than ``_FEW`` link."""
_UNPLACED: Final = "it is not known where on their pages the links stand"
_LONG: Final = 500_000  # characters of markup that are not worth their time: a link on such a page is not decided
_IS_PAGE: Final = f"v.state = '{State.INDEXABLE}' AND v.kind = {DocumentKind.PAGE:d} AND length(c.text) > 0"
_FROM: Final = "FROM visit v JOIN url u ON u.id = v.id JOIN content c ON c.id = v.content"
_PAGES: Final = f"SELECT v.id, u.url {_FROM} WHERE {_IS_PAGE}"
_ROWS: Final = f"SELECT v.id, u.url, c.page {_FROM} WHERE {_IS_PAGE} ORDER BY u.url"
_MARKUP: Final = f"SELECT u.url, c.text {_FROM} WHERE v.id = ?"
_URLS: Final = "SELECT v.id, u.url FROM visit v JOIN url u ON u.id = v.id"
_LISTED: Final = f"SELECT u.url, v.id {_FROM} WHERE {_IS_PAGE} AND u.url IN (SELECT value FROM json_each(?))"  # noqa: S608 - our own
_NEW: Final = "SELECT v.id FROM visit v LEFT JOIN memory m ON m.id = v.id WHERE m.id IS NULL"
_styles = re.compile(
    r"<link\b(?=[^<>]*?\brel\s*+=\s*+[\"']?stylesheet\b)[^<>]*?\shref\s*+=\s*+[\"']?([^\s\"'>]++)", re.IGNORECASE
).findall


class ShownPage(Struct):
    """One page of the sample: its id, the targets of its links, and its style sheets."""

    number: int
    placed: PlacedPage
    styles: list[Url]


class ParsedPage(Struct):
    """One page: its id, its URL, and what the parser found in it, as in ``Page``."""

    number: int
    url: str
    title: str
    bad_data: int
    data_fault: str
    canonicals: list[Url]
    canonical_faults: list[str]
    images: list[str]
    scripts: list[str]
    parts: bytes
    named_parts: bytes


_PARSED: Final = attrgetter(*ParsedPage.__struct_fields__[2:])


class ShownPages:
    """At most ``limit`` indexable pages of a state. ``is_whole``: these are all. ``pages`` is the sample of them.

    Raises StorageError.
    """

    def __init__(self, db: sqlite3.Connection, limit: int) -> None:
        self._db = db
        self._resolver = UrlResolver()
        with storage_errors():
            urls = dict(db.execute(_PAGES).fetchall())
        self.numbers = _sample(urls, urls, limit)
        self.is_whole = len(self.numbers) == len(urls)
        self.total = len(urls)
        self.pages = [self._read(number) for number in self.numbers[:SAMPLE]]

    @cached_property
    def parsed(self) -> list[ParsedPage]:
        """What the parser found in the pages. They are read from the state once."""
        chosen = set(self.numbers)
        with storage_errors():
            return [
                ParsedPage(number, url, *_PARSED(unpack_page(packed)))
                for number, url, packed in self._db.execute(_ROWS)
                if number in chosen
            ]

    def markup(self, number: int) -> tuple[str, str]:
        """The URL of a page and its markup."""
        with storage_errors():
            url, text = self._db.execute(_MARKUP, (number,)).fetchone()
        return url, load_markup(text)

    def has_base(self, url: str) -> bool:
        """Whether a page has a ``base``, against which its scripts, as they are stored, were not resolved."""
        number = next(page.number for page in self.parsed if page.url == url)
        return bool(read_details(self.markup(number)[1]).base)

    def _read(self, number: int) -> ShownPage:
        url, markup = self.markup(number)
        details = read_details(markup)
        base = url
        with suppress(InvalidUrl):
            base = join_url(url, details.base) if details.base else url
        self._resolver.begin()
        targets = self._resolver.resolve_all(base, [anchor.href.partition("#")[0] for anchor in details.anchors])
        placed = PlacedPage(url, [target or "" for target in targets], details.anchors, details.texts)
        styles = self._resolver.resolve_all(base, _styles(markup))
        return ShownPage(number, placed, [style for style in styles if style])

    @cached_property
    def places(self) -> list[list[Place]]:
        """The place of each link of each page of the sample."""
        return self._find_places(self.pages)

    def _find_places(self, pages: list[ShownPage]) -> list[list[Place]]:
        placed = {page.number: page.placed for page in pages}
        changing = {}
        for number, shown in load_boxes(self._db).links().items():
            if number in placed:
                changing[placed[number].url] = {url_of(self._db, target) for target in shown}
        targets = msgspec.json.encode(sorted({target for page in pages for target in page.placed.targets})).decode()
        with storage_errors():
            listed = {url for url, _ in self._db.execute(_LISTED, (targets,))}
        return find_places([*placed.values()], changing, listed)

    def with_place(self, found: AuditFinding) -> AuditFinding:
        """A finding about the target of links, with where these were seen: one in a template needs one correction."""
        places = ", ".join(sorted(self._places_by_target.get(found.url, ())))
        told = f"links seen in: {places}" if places else _UNPLACED
        return msgspec.structs.replace(found, sentence=f"{found.sentence}; {told}")

    def look_for(self, findings: Iterable[AuditFinding]) -> None:
        """Read pages that link to the URLs of findings, if the sample does not, and the places of these links."""
        unplaced = [found for found in findings if not self._places_by_target.get(found.url)]
        linking = msgspec.json.encode(sorted({by.url for found in unplaced for by in found.referrers})).decode()
        with storage_errors():
            ids = dict(self._db.execute(_LISTED, (linking,)).fetchall())
        sources = {found.url: {ids[by.url] for by in found.referrers if by.url in ids} for found in unplaced}
        self._read_linking(sources, sources, {number: url for url, number in ids.items()})

    def resources(self) -> Iterator[tuple[str, str, str]]:
        """What the pages load: kind, URL and page. Style sheets belong to templates, so those of the sample are all."""
        for shown in self.pages:
            yield from (("style sheet", style, shown.placed.url) for style in shown.styles)
        for page in self.parsed:
            yield from (("picture", image, page.url) for image in page.images)
            scripts = [unescape(script) for script in page.scripts if is_file(script)]
            yield from (("script", url, page.url) for url in self._resolver.resolve_all(page.url, scripts) if url)

    def facts(self, copies: Container[int]) -> Iterator[AuditFinding]:
        """What is wrong in the pages: titles, canonicals, texts, JSON-LD. ``copies`` are reported elsewhere."""
        by_title: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for page in self.parsed:
            title = page.title.strip()
            if page.bad_data:
                told = f"{count_text(page.bad_data, 'block', 'blocks')} of JSON-LD cannot be parsed"
                yield finding("page.data", page.url, ": ".join(filter(None, (told, page.data_fault))), [])
            if page.canonical_faults and not page.canonicals:
                yield finding("page.canonical", page.url, page.canonical_faults[0], [])
            if not title:
                yield finding("page.title", page.url, "the page has no title", [])
            elif page.number not in copies:
                by_title[title].append((page.number, len(page.parts)))
        groups = [pages for pages in by_title.values() if len(pages) > 1]
        same = [*self._same_texts(groups, copies)]
        known = {*same}
        titles = []
        for pages in groups:  # the later pages of a list may have the title of the first
            urls = [url_of(self._db, number) for number, _ in pages]
            titles.append(tuple([url for url in urls if not is_paginated(Url(url))] or urls))
        for rule, found in (("page.copy", same), ("page.same_title", [urls for urls in titles if urls not in known])):
            what = "main text" if rule == "page.copy" else "title"
            for first, *others in sorted(group for group in found if len(group) > 1):
                named = f"such as {others[0]}" if len(others) > 1 else others[0]
                told = f"{count_text(len(others), 'other page has', 'other pages have')} the same {what}: {named}"
                alike = finding(rule, first, told, [], [f"{url} has it, too" for url in others[:MAX_REFERRERS]])
                yield replace(alike, rests_on=others)

    def _same_texts(self, groups: list[list[tuple[int, int]]], copies: Container[int]) -> Iterator[tuple[str, ...]]:
        """The pages of the sample that have the same text; also those of its size that have the same title.

        ``groups`` are pages with the same title, each with the length of its parts, which copies have in common.
        """
        sample = {page.number: page for page in self.pages}
        common = Counter(text for page in sample.values() for text in {text for *_, text in page.placed.texts})
        alike: list[int] = []
        for group in sorted(groups, key=len):
            lengths = Counter(length for _, length in group)
            alike += [number for number, length in group if lengths[length] > 1 and number not in sample]
        others = [self._read(number) for number in alike[:SAMPLE]]
        by_text: dict[frozenset[int], list[str]] = defaultdict(list)
        for page in (*self.pages, *others):
            own = frozenset(text for *_, text in page.placed.texts if 2 * common[text] <= len(sample))
            if len(own) >= MANY and page.number not in copies:
                by_text[own].append(page.placed.url)
        for pages in by_text.values():
            if len(pages) > 1:
                yield tuple(sorted(pages))

    def box_findings(self, graph: LinkGraph, *, is_first: bool) -> Iterator[AuditFinding]:
        """The pages that nobody chose to link to. ``is_first``: no earlier audit says which pages are new."""
        in_changing = {target for targets in load_boxes(self._db).links().values() for target in targets}
        with storage_errors():
            new = set() if is_first else {number for (number,) in self._db.execute(_NEW)}
            urls = dict(self._db.execute(_URLS).fetchall())

        def places(node: int) -> dict[Place, set[int]]:
            number = graph.nodes.ids[node]
            return self._places_by_target.get(urls[number], {Place.CHANGING: set()} if number in in_changing else {})

        def is_boxed(node: int) -> bool:
            is_new = graph.nodes.ids[node] in new and CONTENT.isdisjoint(places(node))
            return is_new or (places(node).keys() <= BOXES and bool(places(node)))

        states = enumerate(graph.nodes.state)
        linked = (node for node, state in states if state is State.INDEXABLE and graph.inlinks[node])
        boxed = {urls[graph.nodes.ids[node]]: node for node in linked if node != graph.start and is_boxed(node)}
        sources = {url: {graph.nodes.ids[source] for source in graph.followed[node]} for url, node in boxed.items()}
        left = self._read_linking(sources, {url: _nearest(graph, node, urls) for url, node in boxed.items()}, urls)
        slots = {url: set[int]().union(*places(node).values()) for url, node in boxed.items() if is_boxed(node)}
        left |= self._linked_elsewhere(slots, sources, urls)
        for url, node in boxed.items():
            number, found, pages = graph.nodes.ids[node], places(node), count_text(graph.inlinks[node], "page")
            seen = [] if self.total <= _MORE else [f"at most {_MORE:,} of the pages that link to it were read for this"]
            if url in left or not found or not is_boxed(node):
                continue
            if not found.keys() <= BOXES:
                yield finding("place.new", url, "the page is new, and no text and no list links to it", [], seen)
            elif number in in_changing or found.keys() <= {Place.CHANGING}:  # it stands still
                yield finding("place.changing", url, f"only boxes that change link to it, on {pages}", [], seen)
            else:
                where = " and ".join(sorted(found))
                yield finding("place.box", url, f"only a {where} of the template links to it, on {pages}", [], seen)

    def _read_linking(
        self, sources: Mapping[str, set[int]], nearest: Mapping[str, set[int]], urls: Mapping[int, str]
    ) -> set[str]:
        """Read the pages that link to URLs where these are few, else those ``nearest`` to the start: lists stand there.

        Returns the URLs that stay undecided.
        """
        read = {page.number for page in self.pages}
        asked = {url: (of if len(of) <= _FEW else nearest[url]) - read for url, of in sources.items()}
        linking = Counter(number for of in asked.values() for number in of)
        chosen = sorted(linking, key=lambda number: (-linking[number], urls[number]))[: 2 * _FEW]
        chosen = [number for number in chosen if len(self.markup(number)[1]) <= _LONG]
        if chosen:
            more = [self._read(number) for number in chosen]
            self._add_places(more, self._find_places([*self.pages, *more])[len(self.pages) :])
        unread = linking.keys() - {*chosen}
        return {url for url, of in asked.items() if not unread.isdisjoint(of)}

    @cached_property
    def _places_by_target(self) -> dict[str, dict[Place, set[int]]]:
        """By target, the places of the links to it, each with their slots."""
        self._found: dict[str, dict[Place, set[int]]] = defaultdict(lambda: defaultdict(set))
        self._add_places(self.pages, self.places)
        return self._found

    def _add_places(self, pages: list[ShownPage], places: list[list[Place]]) -> None:
        for page, of_page in zip(pages, places, strict=True):
            for target, anchor, place in zip(page.placed.targets, page.placed.anchors, of_page, strict=True):
                part = anchor.href.partition("#")[2].partition(":~:")[0]
                if part:
                    self._found[f"{target}#{part}"][place].add(anchor.slot)
                if target != page.placed.url and "nofollow" not in anchor.rel.split():
                    self._found[target][place].add(anchor.slot)

    def _linked_elsewhere(
        self, boxes: Mapping[str, set[int]], sources: Mapping[str, set[int]], urls: Mapping[int, str]
    ) -> set[str]:
        """The URLs that a page outside the sample links to at other slots than those of ``boxes``.

        Only pages that name a URL more often than a page of the sample does are parsed.
        """
        names = {url: url.rstrip("/").rpartition("/")[2] for url in boxes}
        usual = {
            url: max(
                (sum(names[url] in anchor.href for anchor in page.placed.anchors) for page in self.pages), default=0
            )
            for url in boxes
        }
        known = {page.number for page in self.pages}
        found: set[str] = set()
        for number in _sample(set[int]().union(*(sources[url] for url in boxes)) - known, urls, _MORE):
            linked = [url for url in boxes if url not in found and number in sources[url]]
            _, markup = self.markup(number) if linked else ("", "")
            more = {url for url in linked if markup.count(names[url]) > usual[url]}
            if len(markup) > _LONG:
                found |= more
            elif more:
                placed = self._read(number).placed
                links = zip(placed.targets, placed.anchors, strict=True)
                found |= {url for url, anchor in links if url in more and anchor.slot not in boxes[url]}
        return found


def _nearest(graph: LinkGraph, node: int, urls: Mapping[int, str]) -> set[int]:
    """The ids of the pages that link to a node and are the fewest clicks from the start."""
    ids, depth = graph.nodes.ids, graph.depth
    sources = nsmallest(_NEAREST, graph.followed[node], lambda at: (depth[at] < 0, depth[at], urls[ids[at]]))
    return {ids[source] for source in sources}


def _sample(numbers: Iterable[int], urls: Mapping[int, str], limit: int) -> list[int]:
    return nsmallest(limit, numbers, lambda number: stable_hash(urls[number].encode()))


def finding(rule: str, url: str, sentence: str, sources: list[str], evidence: list[str] | None = None) -> AuditFinding:
    """A finding with the pages that link to its URL."""
    if sources:
        some = sources[0] if len(sources) == 1 else f"{count_text(len(sources), 'page')}, such as {sources[0]}"
        sentence = f"{sentence}; linked from {some}"
    referrers = [Referrer(source, "link") for source in sources[:MAX_REFERRERS]]
    return AuditFinding(
        rule=rule, url=url, sentence=sentence, referrers=referrers, rests_on=sources, evidence=evidence or []
    )
