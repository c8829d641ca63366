"""Reads what pages show: where their links stand, the parts of pages that these lead to, titles, texts and JSON-LD.

The markup is that of the snapshots in the state, so it costs no request. On a large site, a sample of the pages is
read: for what boxes link to, the other pages are read as well, as far as needed.
"""

import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Final
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from crawler.audit.finding import AuditFinding, Referrer
from crawler.audit.graph.changing_links import load_boxes
from crawler.audit.graph.graph import LinkGraph
from crawler.audit.graph.places import BOXES, CONTENT, Place, PlacedPage, find_places
from crawler.audit.orphans.duplicates import is_paginated
from crawler.model import DocumentKind, Page, State, Url
from crawler.parse.html.jsonld import read_block
from crawler.parse.snapshot.details import Details, read_details
from crawler.parse.snapshot.snapshot import load_markup
from crawler.state.database import storage_errors
from crawler.units import count_text
from crawler.url.normalize import InvalidUrl, join_url
from crawler.url.resolve import UrlResolver

MAX_REFERRERS: Final = 10
_PAGES: Final = f"""SELECT v.id, u.url, c.page, c.text FROM visit v JOIN url u ON u.id = v.id
  JOIN content c ON c.id = v.content
  WHERE v.state = '{State.INDEXABLE}' AND v.kind = {DocumentKind.PAGE:d} AND c.text != x''"""  # noqa: S608 - constants
_NUMBERS: Final = f"SELECT id FROM ({_PAGES}) ORDER BY id"  # noqa: S608 - our own
_URLS: Final = "SELECT v.id, u.url FROM visit v JOIN url u ON u.id = v.id"
_NEW: Final = "SELECT v.id FROM visit v LEFT JOIN memory m ON m.id = v.id WHERE m.id IS NULL"
_MANY: Final = 3
"""Parts that links name, from which on a script makes them, if the page has none."""
_decode = msgspec.msgpack.Decoder(Page).decode
_ids = re.compile(
    r"<[a-zA-Z][^<>]*?\sid\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'>]++))|<a\b[^<>]*?\sname\s*+=\s*+"
    r"(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'>]++))",
    re.IGNORECASE,
).findall
_data = re.compile(r"<script\b[^>]{0,200}ld\+json[^>]*+>(?:(.*?)</script|.*+)", re.DOTALL | re.IGNORECASE).findall
_styles = re.compile(
    r"<link\b(?=[^<>]*?\brel\s*+=\s*+[\"']?stylesheet\b)[^<>]*?\shref\s*+=\s*+[\"']?([^\s\"'>]++)", re.IGNORECASE
).findall


class ShownPage(Struct):
    """One page: its id, what the parser found, its details, the ids of its parts, and the targets of its links."""

    number: int
    page: Page
    details: Details
    ids: set[str]
    placed: PlacedPage
    styles: list[Url]
    bad_data: int


class ShownPages:
    """At most ``limit`` indexable pages of a state, evenly over the order in which they were found.

    ``is_whole``: these are all. Raises StorageError.
    """

    def __init__(self, db: sqlite3.Connection, limit: int) -> None:
        self._db = db
        self._resolver = UrlResolver()
        with storage_errors():
            numbers = [number for (number,) in db.execute(_NUMBERS)]
        step = max(1, -(-len(numbers) // max(1, limit)))
        self.is_whole = step == 1
        self.total = len(numbers)
        self.pages = [self._read(number) for number in numbers[::step]] if limit else []
        self._by_url = {page.placed.url: page for page in self.pages}

    def _read(self, number: int) -> ShownPage:
        with storage_errors():
            _, url, packed, text = self._db.execute(f"{_PAGES} AND v.id = ?", (number,)).fetchone()
        markup = load_markup(text)
        details = read_details(markup)
        base = url
        with suppress(InvalidUrl):
            base = join_url(url, details.base) if details.base else url
        self._resolver.begin()
        targets = self._resolver.resolve_all(base, [anchor.href.partition("#")[0] for anchor in details.anchors])
        placed = PlacedPage(url, [target or "" for target in targets], details.anchors, details.texts)
        bad = sum(read_block(block) is None for block in _data(markup) if block.strip())
        styles = [style for style in self._resolver.resolve_all(base, _styles(markup)) if style]
        ids = {part for found in _ids(markup) for part in found if part}
        return ShownPage(number, _decode(packed), details, ids, placed, styles, bad)

    @cached_property
    def places(self) -> list[list[Place]]:
        """The place of each link of each page."""
        pages = {page.number: page.placed for page in self.pages}
        changing = {}
        for number, shown in load_boxes(self._db).links().items():
            if number in pages:
                changing[pages[number].url] = {self._url(target) for target in shown}
        return find_places([*pages.values()], changing)

    def with_place(self, found: AuditFinding) -> AuditFinding:
        """A finding about the target of links, with where these stand: one in a template needs one correction."""
        places = self._places_by_target.get(found.url.partition("#")[0], {})
        evidence = [*found.evidence, f"the links stand in: {', '.join(sorted(places))}"] if places else found.evidence
        return msgspec.structs.replace(found, evidence=evidence)

    def _url(self, number: int) -> str:
        with storage_errors():
            return str(self._db.execute("SELECT url FROM url WHERE id = ?", (number,)).fetchone()[0])

    def resources(self) -> Iterator[tuple[str, str, str]]:
        """The pictures, style sheets and scripts that the pages load: kind, URL and page."""
        for page in self.pages:
            scripts = self._resolver.resolve_all(page.placed.url, page.page.scripts)
            for kind, urls in (("picture", page.page.images), ("style sheet", page.styles), ("script", scripts)):
                yield from ((kind, url, page.placed.url) for url in urls if url)

    def fragments(self) -> Iterator[AuditFinding]:
        """The links to parts of pages that do not exist.

        https://html.spec.whatwg.org/#find-a-potential-indicated-element : the id, or the name of a link, as written or
        percent-decoded; "" and "top" are the top. A text directive is no part of it
        (https://wicg.github.io/scroll-to-text-fragment/).
        """
        linked: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for page in self.pages:
            for target, anchor in zip(page.placed.targets, page.placed.anchors, strict=True):
                fragment = anchor.href.partition("#")[2].partition(":~:")[0]
                if target and fragment.lower() not in {"", "top"} and fragment[0] not in "/!":  # a route of a script
                    linked[target][fragment].append(page.placed.url)
        for target, fragments in linked.items():
            if (shown := self._by_url.get(target)) is None:
                continue
            missing = {each for each in fragments if not shown.ids & {each, unquote(each), f"user-content-{each}"}}
            if len(missing) >= _MANY and len(missing) == len(fragments):
                continue
            for fragment in sorted(missing):
                sources = [*dict.fromkeys(fragments[fragment])]
                yield finding("target.fragment", f"{target}#{fragment}", "the page has no such part", sources)

    def facts(self, copies: Mapping[int, int]) -> Iterator[AuditFinding]:
        """What is wrong in the pages: titles, the same text twice, JSON-LD. ``copies`` are reported elsewhere."""
        by_text: dict[frozenset[int], list[str]] = defaultdict(list)
        by_title: dict[str, list[str]] = defaultdict(list)
        common = Counter(text for page in self.pages for text in {text for *_, text in page.placed.texts})
        for page in self.pages:
            url, title = page.placed.url, page.page.title.strip()
            if page.bad_data:
                told = f"{count_text(page.bad_data, 'block', 'blocks')} of JSON-LD cannot be parsed"
                yield finding("page.data", url, told, [])
            if not title:
                yield finding("page.title", url, "the page has no title", [])
            elif page.number not in copies:
                by_title[title].append(url)
            own = frozenset(text for *_, text in page.placed.texts if 2 * common[text] <= len(self.pages))
            if len(own) >= _MANY and page.number not in copies:
                by_text[own].append(url)
        for title, urls in by_title.items():  # the later pages of a list may have the title of the first
            by_title[title] = [url for url in urls if not is_paginated(Url(url))] or urls
        same = {tuple(urls) for urls in by_text.values() if len(urls) > 1}
        for rule, groups in (("page.copy", same), ("page.same_title", {tuple(u) for u in by_title.values()} - same)):
            what = "main text" if rule == "page.copy" else "title"
            for first, *others in sorted(group for group in groups if len(group) > 1):
                told = f"{count_text(len(others), 'other page has', 'other pages have')} the same {what}: {others[0]}"
                yield finding(rule, first, told, [], [f"{url} has it, too" for url in others[:MAX_REFERRERS]])

    def box_findings(self, graph: LinkGraph, *, is_first: bool) -> Iterator[AuditFinding]:
        """The pages that nobody chose to link to. ``is_first``: no earlier audit says which pages are new."""
        places = self._places_by_target
        in_changing = {target for targets in load_boxes(self._db).links().values() for target in targets}
        with storage_errors():
            new = set() if is_first or not self.is_whole else {number for (number,) in self._db.execute(_NEW)}
            urls = dict(self._db.execute(_URLS).fetchall())
        in_boxes: dict[str, int] = {}
        for node, number in enumerate(graph.nodes.ids):
            if graph.nodes.state[node] is not State.INDEXABLE or not graph.inlinks[node] or node == graph.start:
                continue
            url = urls[number]
            found = places.get(url, {Place.CHANGING: set()} if number in in_changing else {})
            if found and found.keys() <= BOXES:
                in_boxes[url] = node
            elif number in new and CONTENT.isdisjoint(found):
                yield finding("place.new", url, "the page is new, and no text and no list links to it", [])
        slots = {url: set[int]().union(*places.get(url, {}).values()) for url in in_boxes}
        for url in in_boxes.keys() - self._linked_elsewhere(slots):
            found, pages = places.get(url, {}), count_text(graph.inlinks[in_boxes[url]], "page")
            number = graph.nodes.ids[in_boxes[url]]
            if number in in_changing or found.keys() <= {Place.CHANGING}:  # it stands still
                yield finding("place.changing", url, f"only boxes that change link to it, on {pages}", [])
            else:
                where = " and ".join(sorted(found))
                yield finding("place.box", url, f"only a {where} of the template links to it, on {pages}", [])

    @cached_property
    def _places_by_target(self) -> dict[str, dict[Place, set[int]]]:
        """By target, the places of the links to it, each with their slots."""
        found: dict[str, dict[Place, set[int]]] = defaultdict(lambda: defaultdict(set))
        for page, places in zip(self.pages, self.places, strict=True):
            for target, anchor, place in zip(page.placed.targets, page.placed.anchors, places, strict=True):
                if target != page.placed.url and "nofollow" not in anchor.rel.split():
                    found[target][place].add(anchor.slot)
        return found

    def _linked_elsewhere(self, boxes: Mapping[str, set[int]]) -> set[str]:
        """The URLs that a page outside the sample links to at other slots than those of ``boxes``.

        Only pages that name a URL more often than a page of the sample does are parsed.
        """
        if self.is_whole or not boxes:
            return set()
        names = {url: url.rstrip("/").rpartition("/")[2] for url in boxes}
        usual = {
            url: max(sum(names[url] in anchor.href for anchor in page.placed.anchors) for page in self.pages)
            for url in boxes
        }
        known = {page.number for page in self.pages}
        found: set[str] = set()
        with storage_errors():
            for number, text in self._db.execute(f"SELECT id, text FROM ({_PAGES})"):  # noqa: S608 - our own
                markup = load_markup(text) if number not in known else ""
                more = {url for url, name in names.items() if url not in found and markup.count(name) > usual[url]}
                if more:
                    placed = self._read(number).placed
                    links = zip(placed.targets, placed.anchors, strict=True)
                    found |= {url for url, anchor in links if url in more and anchor.slot not in boxes[url]}
        return found


def finding(rule: str, url: str, sentence: str, sources: list[str], evidence: list[str] | None = None) -> AuditFinding:
    """A finding with the pages that link to its URL."""
    if sources:
        some = sources[0] if len(sources) == 1 else f"{count_text(len(sources), 'page')}, such as {sources[0]}"
        sentence = f"{sentence}; linked from {some}"
    referrers = [Referrer(source, "link") for source in sources[:MAX_REFERRERS]]
    return AuditFinding(rule=rule, url=url, sentence=sentence, referrers=referrers, evidence=evidence or [])
