"""Makes rows of the tables from what a run knows of its pages, a batch of pages at a time, in any process."""

import sqlite3
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache, cached_property, lru_cache, partial
from itertools import compress, count, product, repeat
from operator import attrgetter
from typing import Any, Final

import msgspec
from msgspec import Struct

from crawler.audit.graph.places import Place, PlacedPage, find_places
from crawler.crawl.frontier.storage import unpack_groups
from crawler.dataset.history import StatedFields
from crawler.dataset.schema import TABLES
from crawler.model import DISCOVERY_NAMES, DiscoveredBy, DocumentKind, Page, Request, State, Url
from crawler.parse.snapshot.details import read_details
from crawler.parse.snapshot.snapshot import load_markup
from crawler.units import w3c
from crawler.url.normalize import InvalidUrl, join_url, origin_of, section_of
from crawler.url.resolve import UrlResolver

_LINK: Final = int(DiscoveredBy.LINK)  # a number: those of enums take twenty times as long
_ANCHORS: Final = _LINK | int(DiscoveredBy.NOFOLLOW)
SHOWN: Final = ("description", "h1", "h1_count", "words", "robots")
"""Columns of ``pages`` that only the markup of a page has."""
_shown: Final = attrgetter(*SHOWN)
_PAGE_COLUMNS: Final = ("id", *(column.name for column in TABLES["pages"]))
_PART: Final = 50  # pages whose rows are given at once
_NAMES: Final = "SELECT id, url FROM url WHERE id IN (SELECT value FROM json_each(?))"

_NO_ANCHOR: Final = (None, None, None)  # text, rel and position
LINK_TYPES: Final = dict(zip(product(DISCOVERY_NAMES.values(), (False, True), (None, *Place)), count()))
"""The numbers of the kinds of links, with whether they must not be followed, and their place."""
_PLACED_TYPES: Final = [{place: LINK_TYPES["link", nofollow, place] for place in Place} for nofollow in (False, True)]
Rows = dict[str, list[tuple[Any, ...]]]
"""Rows by their table. Those of ``pages`` and ``typed_link`` begin with the id of the page."""
Shown = tuple[str | int | None, ...]


class Visited(Struct, array_like=True):
    """One row of the state: what a run knows of a URL, with the content of its page. Only pages that are read have a
    ``text``.
    """

    id: int
    url: Url
    kind: int
    state: str
    reason: str
    status: int | None
    target: str | None
    content: int | None
    lastmod: str
    lastmod_source: str
    evidence: str
    depth: int | None
    trail: str
    found: int
    source: str | None
    first_run: int | None
    changed_run: int | None
    failures: int | None
    seen_at: float | None
    listed: int
    content_type: str | None
    links: bytes | None
    page: bytes | None
    digest: bytes | None
    text: bytes | None = None


class Batch(Struct, frozen=True, array_like=True):
    """Pages whose rows are made together. The pages ``before`` show, too, what the pages of a small batch repeat.

    ``boxes`` are the links of pages that not every read showed. ``kept`` is what the columns :data:`SHOWN` have of each
    page if the tables have the links of the batch already.
    """

    rows: list[Visited]
    before: list[Visited]
    boxes: dict[int, list[int]]
    kept: dict[int, Shown]


class _Placed(Struct, frozen=True):
    """A page with its links: the target of each, and its number on the page."""

    shown: Shown
    page: PlacedPage
    targets: list[int]
    positions: list[int]
    groups: list[tuple[int, list[int]]]


_decode_page = msgspec.msgpack.Decoder(Page).decode


class PageReader:
    """Reads pages. ``external`` has a byte for each id of a URL: 1 if the crawl has no page of it."""

    def __init__(self, state: sqlite3.Connection, external: bytes) -> None:
        self._state = state
        self._external = external
        self._resolver = UrlResolver()

    def rows(self, batch: Batch) -> Iterator[Rows]:
        """The rows of a batch, in parts."""
        read = [row for row in (*batch.before, *batch.rows) if row.kind == DocumentKind.PAGE and row.text]
        placed = {row.id: self._placed(row) for row in read}
        names = self._names(number for shown in batch.boxes.values() for number in shown)
        changing = {
            placed[number].page.url: {names[target] for target in shown if target in names}
            for number, shown in batch.boxes.items()
            if number in placed
        }
        found = find_places([each.page for each in placed.values()], changing)
        places = dict(zip(placed, found, strict=True))
        for at in range(0, len(batch.rows), _PART):
            part: Rows = {}
            for row in batch.rows[at : at + _PART]:
                if row.kind == DocumentKind.PAGE:
                    self._put(part, row, placed.get(row.id), places.get(row.id, []), batch.kept.get(row.id))
                else:
                    listed = self._names(n for _, ids in unpack_groups(row.links or b"") for n in ids)
                    part.setdefault("sitemap_entries", []).extend((url, row.url, 0, None) for url in listed.values())
            yield part

    def _names(self, numbers: Iterable[int]) -> dict[int, str]:
        wanted = msgspec.json.encode({*numbers}).decode()
        return dict(self._state.execute(_NAMES, (wanted,)).fetchall()) if wanted != "[]" else {}

    @cached_property
    def _hashes(self) -> "array[int]":
        """The hash of each URL by its id: a look-up in the state takes as long as to read three links."""
        hashes = array("q", bytes(8 * len(self._external)))
        for number, url in self._state.execute("SELECT id, url FROM url WHERE id < ?", (len(hashes),)):
            hashes[number] = hash(url)
        return hashes

    def _placed(self, row: Visited) -> _Placed:
        """A page with those of its anchors that the state knows as links."""
        details = read_details(load_markup(row.text or b""))
        hash_of = self._hashes.__getitem__
        groups = [*unpack_groups(row.links or b"")]
        ids = [number for flags, numbers in groups if flags & _ANCHORS for number in numbers]
        known = dict(zip(map(hash_of, ids), ids, strict=True))
        base = row.url
        with suppress(InvalidUrl):
            base = join_url(row.url, details.base) if details.base else row.url
        # most references are the path of a URL that the state knows: to resolve them takes five times as long
        hrefs = [anchor.href for anchor in details.anchors]
        origin = origin_of(base)
        urls = [f"{origin}{href}" if "/0" <= href < "0" or "/" <= href < "//" else href for href in hrefs]
        numbers = [*map(known.get, map(hash, urls))]
        if None in numbers:
            others = [at for at, number in enumerate(numbers) if number is None and hrefs[at][:1] != "#"]
            self._resolver.begin()
            resolved = self._resolver.resolve_all(base, [hrefs[at].partition("#")[0] for at in others])
            for at, url in zip(others, resolved, strict=True):
                urls[at], numbers[at] = url or "", known.get(hash(url))
        positions = [*compress(count(1), numbers)]
        before = partial(bisect_right, positions)  # the links up to an anchor
        texts = [(before(begin), before(end), slot, text) for begin, end, slot, text in details.texts]
        page = PlacedPage(row.url, [*compress(urls, numbers)], [*compress(details.anchors, numbers)], texts)
        return _Placed(_shown(details), page, [*filter(None, numbers)], positions, groups)

    def _put(self, part: Rows, row: Visited, placed: _Placed | None, places: list[Place], kept: Shown | None) -> None:
        page = _decode_page(row.page) if row.page else Page(is_html=False)
        groups = placed.groups if placed else [*unpack_groups(row.links or b"")]
        flags_of = {number: flags for flags, ids in groups if flags & _ANCHORS for number in ids}
        outside = sum(map(self._external.__getitem__, flags_of))
        inside = len(flags_of) - outside - (row.id in flags_of and not self._external[row.id])
        if kept is None:
            links = part.setdefault("typed_link", [])
            for kind, numbers in ((kind, ids) for flags, ids in groups for kind in _kinds(flags)):
                links += ((row.id, number, LINK_TYPES[kind, False, None], *_NO_ANCHOR) for number in numbers)
            if placed:
                types, nofollow = _PLACED_TYPES[page.nofollow], _PLACED_TYPES[True]
                texts = [anchor.text for anchor in placed.page.anchors]
                rels = [anchor.rel or None for anchor in placed.page.anchors]
                kinds = [
                    (nofollow if rel and "nofollow" in rel.split() else types)[place]
                    for rel, place in zip(rels, places, strict=True)
                ]
                links += zip(repeat(row.id), placed.targets, kinds, texts, rels, placed.positions)
            # a menu of scripts, an encoding
            others = flags_of.keys() - (placed.targets if placed else ())
            for number in filter(others.__contains__, flags_of) if others else ():
                is_nofollow = page.nofollow or not flags_of[number] & _LINK
                links.append((row.id, number, LINK_TYPES["link", is_nofollow, None], *_NO_ANCHOR))
        url = row.url
        for name, rows in (
            ("images", [(url, image) for image in page.images]),
            ("alternates", [(url, version.hreflang, version.href) for version in page.alternates]),
            ("videos", [(url, v.title, v.content_loc, v.player_loc, v.thumbnail_loc, v.duration) for v in page.videos]),
        ):
            if rows:
                part.setdefault(name, []).extend(rows)
        shown = kept or (placed.shown if placed else (None,) * len(SHOWN))
        counts = (inside, outside) if page.is_html else (None, None)
        part.setdefault("pages", []).append(_page_row(row, page, shown, counts))


@cache
def _kinds(flags: int) -> tuple[str, ...]:
    return tuple(name for flag, name in DISCOVERY_NAMES.items() if flags & flag and not flag & _ANCHORS)


@cache  # flags of enums take as long as all else of a row
def _found_names(found: int) -> str:
    return ", ".join(name for flag, name in DISCOVERY_NAMES.items() if found & flag)


_time = lru_cache(w3c)  # a crawl reads many pages in one second


def _page_row(row: Visited, page: Page, shown: Shown, counts: tuple[int | None, int | None]) -> tuple[Any, ...]:
    requests = Request.read(row.trail)
    last = next((request for request in reversed(requests) if request.answer != "304"), None)
    values = {
        **msgspec.structs.asdict(row),
        **StatedFields.of(page)._asdict(),
        **dict(zip(SHOWN, shown, strict=True)),
        "outlinks": counts[0],
        "external_outlinks": counts[1],
        "section": section_of(row.url),
        "indexable": int(row.state == State.INDEXABLE),
        "lastmod": row.lastmod or None,
        "lastmod_source": row.lastmod_source or None,
        "lastmod_evidence": row.evidence or None,
        "inlinks": 0,
        "content_inlinks": 0,
        "bytes": last.wire if last else None,
        "seconds": last.elapsed if last else None,
        "found": _found_names(row.found) or None,
        "visited": _time(int(row.seen_at)) if row.seen_at else None,
        "requested": _time(int(requests[-1].at)) if requests else None,
        "rendered": page.rendered,
    }
    return tuple(map(values.get, _PAGE_COLUMNS))
