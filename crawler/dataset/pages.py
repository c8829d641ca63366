"""Makes rows of the tables from what a run knows of its pages, a batch of pages at a time, in any process."""

import sqlite3
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec
from msgspec import Struct

from crawler.audit.graph.places import CONTENT, Place, PlacedPage, find_places
from crawler.audit.page_findings import section_of
from crawler.crawl.frontier.storage import unpack_groups
from crawler.dataset.history import StatedFields
from crawler.dataset.schema import TABLES
from crawler.model import DISCOVERY_NAMES, DiscoveredBy, DocumentKind, Page, Request, State, Url
from crawler.parse.snapshot.details import Anchor, read_details
from crawler.parse.snapshot.snapshot import load_markup
from crawler.units import w3c
from crawler.url.normalize import InvalidUrl, join_url
from crawler.url.resolve import UrlResolver

ANCHORS: Final = DiscoveredBy.LINK | DiscoveredBy.NOFOLLOW
SHOWN: Final = ("description", "h1", "h1_count", "words", "robots")
"""Columns of ``pages`` that only the markup of a page has."""
_PAGE_COLUMNS: Final = ("id", *(column.name for column in TABLES["pages"]))
_PART: Final = 50  # pages whose rows are given at once
_NAMES: Final = "SELECT id, url FROM url WHERE id IN (SELECT value FROM json_each(?))"

Shown = tuple[str | int | None, ...]
_Groups = list[tuple[int, list[int]]]


class Visited(Struct, frozen=True, array_like=True):
    """One row of the state: what a run knows of a URL, with the content of its page."""

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
    text: bytes | None
    digest: bytes | None


class Batch(Struct, frozen=True, array_like=True):
    """Pages whose rows are made together. The pages ``before`` show, too, what the pages of a small batch repeat.

    ``boxes`` are the links of pages that not every read showed. ``kept`` is what the columns :data:`SHOWN` have of each
    page if the tables have the links of the batch already.
    """

    rows: list[Visited]
    before: list[Visited]
    boxes: dict[int, list[int]]
    kept: dict[int, Shown]


class Rows(Struct, array_like=True):
    """Rows by their table. Those of ``pages`` and ``link`` begin with the id of the page.

    ``linked`` has the id of a URL once for each other page with a followed link to it, ``chosen`` once for each page
    that has such a link in its content.
    """

    tables: dict[str, list[tuple[Any, ...]]]
    linked: list[int]
    chosen: list[int]


class _Placed(Struct, frozen=True):
    """A page with its links: target and number on the page of each."""

    shown: Shown
    page: PlacedPage
    links: list[tuple[int, int]]


_decode_page = msgspec.msgpack.Decoder(Page).decode


class PageReader:
    """Reads pages. ``external`` has a byte for each id of a URL: 1 if the crawl has no page of it."""

    def __init__(self, state: sqlite3.Connection, external: bytes) -> None:
        self._state = state
        self._external = external
        self._resolver = UrlResolver()

    def rows(self, batch: Batch) -> Iterator[Rows]:
        """The rows of a batch, in parts."""
        groups = {row.id: [*unpack_groups(row.links or b"")] for row in (*batch.before, *batch.rows)}
        placed: dict[int, _Placed] = {}
        places: dict[int, list[Place]] = {}
        if not batch.kept:
            placed = dict(self._placed([*batch.before, *batch.rows], groups))
            names = self._names(number for shown in batch.boxes.values() for number in shown)
            changing = {
                placed[number].page.url: {*map(names.get, shown)}
                for number, shown in batch.boxes.items()
                if number in placed
            }
            found = find_places([each.page for each in placed.values()], changing)  # type: ignore[arg-type]
            places = dict(zip(placed, found, strict=True))
        for at in range(0, len(batch.rows), _PART):
            part = Rows({}, [], [])
            for row in batch.rows[at : at + _PART]:
                if row.kind == DocumentKind.PAGE:
                    page, stands = placed.get(row.id), places.get(row.id, [])
                    self._put(part, row, groups[row.id], page, stands, batch.kept.get(row.id))
                else:
                    numbers = [number for _, ids in groups[row.id] for number in ids]
                    names = self._names(numbers)
                    entries = [(names[number], row.url, 0, None) for number in numbers if number in names]
                    part.tables.setdefault("sitemap_entries", []).extend(entries)
            yield part

    def _names(self, numbers: Iterable[int]) -> dict[int, str]:
        wanted = msgspec.json.encode({*numbers}).decode()
        return dict(self._state.execute(_NAMES, (wanted,)).fetchall()) if wanted != "[]" else {}

    def _placed(self, rows: list[Visited], groups: Mapping[int, _Groups]) -> Iterator[tuple[int, _Placed]]:
        pages = [row for row in rows if row.kind == DocumentKind.PAGE and row.text]
        targets = {row.id: {n for flags, ids in groups[row.id] if flags & ANCHORS for n in ids} for row in pages}
        names = self._names(number for numbers in targets.values() for number in numbers)
        for row in pages:
            details = read_details(load_markup(row.text or b""))
            # of a page that fails, the state may have forgotten where its earlier content leads
            known = {names[number]: number for number in targets[row.id] if number in names}
            base = row.url
            with suppress(InvalidUrl):
                base = join_url(row.url, details.base) if details.base else row.url
            self._resolver.begin()
            urls = self._resolver.resolve_all(base, [anchor.href.partition("#")[0] for anchor in details.anchors])
            found: list[tuple[int, Url, Anchor]] = [
                (position, url, anchor)
                for position, (url, anchor) in enumerate(zip(urls, details.anchors, strict=True), 1)
                if url in known and not anchor.href.startswith("#")
            ]
            at = [position - 1 for position, _, _ in found]
            texts = [(bisect_left(at, begin), bisect_left(at, end), text) for begin, end, text in details.texts]
            page = PlacedPage(row.url, [url for _, url, _ in found], [anchor for *_, anchor in found], texts)
            shown = tuple(getattr(details, name) for name in SHOWN)
            yield row.id, _Placed(shown, page, [(known[url], position) for position, url, _ in found])

    def _put(
        self, part: Rows, row: Visited, groups: _Groups, placed: _Placed | None, places: list[Place], kept: Shown | None
    ) -> None:
        page = _decode_page(row.page) if row.page else Page(is_html=False)
        flags_of = {number: flags for flags, ids in groups if flags & ANCHORS for number in ids}
        outside = sum(map(self._external.__getitem__, flags_of))
        inside = len(flags_of) - outside - (row.id in flags_of and not self._external[row.id])
        if not page.nofollow:
            part.linked += (n for n, flags in flags_of.items() if flags & DiscoveredBy.LINK and n != row.id)
        tables = part.tables
        if kept is None:
            links = tables.setdefault("link", [])
            for flags, ids in groups:
                kinds = [name for flag, name in DISCOVERY_NAMES.items() if flags & flag and not flag & ANCHORS]
                links += ((row.id, number, kind, 0, None, None, None, None) for number in ids for kind in kinds)
            if placed:
                chosen = set()
                for place, (target, position), anchor in zip(places, placed.links, placed.page.anchors, strict=True):
                    is_nofollow = page.nofollow or "nofollow" in anchor.rel.split()
                    links.append(
                        (row.id, target, "link", is_nofollow, anchor.text, anchor.rel or None, place, position)
                    )
                    flags_of.pop(target, None)
                    if place in CONTENT and not is_nofollow and target != row.id:
                        chosen.add(target)
                part.chosen += chosen
            for number, flags in flags_of.items():  # a menu of scripts, an encoding
                is_nofollow = page.nofollow or not flags & DiscoveredBy.LINK
                links.append((row.id, number, "link", is_nofollow, None, None, None, None))
        url = row.url
        for name, rows in (
            ("images", [(url, image) for image in page.images]),
            ("alternates", [(url, version.hreflang, version.href) for version in page.alternates]),
            ("videos", [(url, v.title, v.content_loc, v.player_loc, v.thumbnail_loc, v.duration) for v in page.videos]),
        ):
            if rows:
                tables.setdefault(name, []).extend(rows)
        shown = kept or (placed.shown if placed else (None,) * len(SHOWN))
        counts = (inside, outside) if page.is_html else (None, None)
        tables.setdefault("pages", []).append(_page_row(row, page, shown, counts))


def _page_row(row: Visited, page: Page, shown: Shown, counts: tuple[int | None, int | None]) -> tuple[Any, ...]:
    requests = Request.read(row.trail)
    last = next((request for request in reversed(requests) if request.answer != "304"), None)
    values = msgspec.structs.asdict(row) | StatedFields.of(page)._asdict() | dict(zip(SHOWN, shown, strict=True))
    values |= dict(zip(("outlinks", "external_outlinks"), counts, strict=True))
    values |= {
        "section": section_of(row.url),
        "indexable": row.state == State.INDEXABLE,
        "lastmod": row.lastmod or None,
        "lastmod_source": row.lastmod_source or None,
        "lastmod_evidence": row.evidence or None,
        "inlinks": 0,
        "content_inlinks": 0,
        "bytes": last.wire if last else None,
        "seconds": last.elapsed if last else None,
        "found": ", ".join(name for flag, name in DISCOVERY_NAMES.items() if row.found & flag) or None,
        "visited": w3c(row.seen_at) if row.seen_at else None,
        "requested": w3c(requests[-1].at) if requests else None,
        "rendered": page.rendered,
    }
    return tuple(map(values.get, _PAGE_COLUMNS))
