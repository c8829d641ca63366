"""Reads the pages of one side of a move: from a state, a folder of built pages, or a list of URLs."""

import os
import re
from collections.abc import Collection, Iterable
from math import inf
from pathlib import Path
from typing import Final
from urllib.parse import quote

import msgspec

from crawler.config.plan import AUDIT
from crawler.errors import UsageError
from crawler.fetch.folder_transport import FolderTransport, file_type
from crawler.fetch.header_values import is_html_type
from crawler.model import FetchedDocument, Page, State, Url
from crawler.moves.check import Place
from crawler.moves.formats import encoded
from crawler.moves.matcher import Inventory, MovePage, words
from crawler.moves.register import left_rows, rows
from crawler.parse.html.page import ReadOptions, read_page
from crawler.parse.snapshot.details import read_headline, read_text
from crawler.parse.snapshot.snapshot import load_markup, take_snapshot
from crawler.state.runs import RunStore
from crawler.state.schema import STATE_DB
from crawler.url.normalize import InvalidUrl, normalize_url, origin_of, path_and_query
from crawler.url.resolve import UrlResolver

_ERROR_PAGES: Final = frozenset({"404.html", "50x.html"})
named_urls = re.compile(r"^[ \t]*+((?:/|https?://)[^\s,]*+)", re.MULTILINE).findall
"""The URLs and paths of a plain list, one a line."""
_index_name = re.compile(r"/index\.html$").sub
_decode_page = msgspec.msgpack.Decoder(Page).decode
_FOLDER: Final = "https://folder.invalid"  # the origin of pages whose origin nobody said
_LIVING: Final = frozenset({State.REDIRECT, State.NOINDEX, State.CANONICAL_ELSEWHERE})
_PAGES: Final = """SELECT u.url, p.id OR (m.state = :indexable AND NOT EXISTS (SELECT 1 FROM published)),
  m.state, m.reason, c.page, c.text FROM memory m JOIN url u ON u.id = m.id LEFT JOIN published p ON p.id = m.id
  LEFT JOIN content c ON c.id = m.content"""


def place_of(url: str) -> str:
    """The path and the query of a URL or a path, in one spelling. Raises UsageError."""
    if url.startswith("/") and not url.startswith("//"):
        path, mark, query = url.partition("#")[0].partition("?")
        return encoded(path) + mark + query
    try:
        return path_and_query(normalize_url(url))
    except InvalidUrl as error:
        raise UsageError(f"{url} is not a URL: {error}") from None


def place_on(*origins: str) -> Place:
    """Gives the place of URLs of these origins and of paths, other URLs as they are."""

    def place(url: str) -> str:
        is_other = "://" in url and not f"{url}/".startswith(tuple(f"{origin}/" for origin in origins))
        return url if is_other else place_of(url)

    return place


def fault_of(page: Page, url: str, place: Place = str) -> str:
    """Why search engines do not list a page, "" if they may. ``place`` gives what is compared of its canonical."""
    if page.noindex or page.refresh:
        return page.noindex or "it redirects by a refresh"
    canonical = place(page.canonicals[0]) if page.canonicals else ""
    return f"its canonical is {canonical}" if canonical and canonical != place(url) else ""


def read_state(site: Path, run: int | None = None, *, former: bool = False) -> Inventory:
    """The pages that the state of a site lists; with ``former`` those that it ever listed, or listed after a ``run``.

    With ``former``, also the pages that only its audit found: nothing links to them, but people may visit them.

    Raises UsageError, StorageError.
    """
    pages: dict[str, MovePage] = {}
    faults: dict[str, str] = {}
    living: set[str] = set()
    for directory in (site, site / AUDIT) if former and STATE_DB.is_in(site / AUDIT) else (site,):
        with STATE_DB.reading(directory) as db:
            for url, is_listed, state, reason, *kept in db.execute(_PAGES, {"indexable": State.INDEXABLE}):
                place = place_of(url)
                if url in pages or place in faults:
                    continue
                if is_listed:
                    pages[url] = _page(url, *kept)
                else:
                    faults[place] = reason or state.replace("_", " ")
                    living |= {url} if state in _LIVING else set()
    if former:
        pages |= {url: _page(url, *kept) for url, *kept in left_rows(site, "url, page, text") if url not in pages}
    if run:
        with STATE_DB.reading(site) as db:
            at = RunStore(db).get(run).started
            absent = {row.url for row in rows(db) if not row.first <= at < (row.last or inf)}
            pages = {url: page for url, page in pages.items() if url not in absent}
    origin = origin_of(Url(next(iter(pages)))) if pages else ""
    return Inventory(origin, [*pages.values()], faults, len(living - pages.keys()))


def _page(url: str, page: bytes | None, text: bytes | None) -> MovePage:
    return move_page(place_of(url), _decode_page(page).title if page else "", text or b"")


def move_page(place: str, title: str, snapshot: bytes) -> MovePage:
    """A page as the matcher compares it. Words that all pages have, such as those of menus, need no care here."""
    markup = load_markup(snapshot)
    return MovePage.of(place, f"{title} {read_headline(markup).h1}", words(read_text(markup).lower()))


def read_folder(folder: Path, origin: str = "", known: Collection[str] = ()) -> Inventory:
    """The pages of a folder build, as :class:`FolderTransport` answers. Pages that redirect by a refresh are none.

    ``a/index.html`` is at ``/a/`` and at ``/a/index.html``, ``a.html`` also at ``/a``: its canonical decides, or which
    of both is ``known``. Raises UsageError without a page.
    """
    found = Inventory(origin, [])
    root = folder.resolve()
    files = FolderTransport(root, f"{_FOLDER}/")
    for place in sorted(root.rglob("*")):
        kind = file_type(place)
        if is_html_type(kind) is False or place.name in _ERROR_PAGES or not place.is_file():
            continue
        file = place_of("/" + quote(os.fsencode(place.relative_to(root))))
        paths = (_index_name("/", file), file, file.removesuffix(".html"))
        spellings = {path for path in paths if files.file_of(path.encode()) == place}
        body = place.read_bytes()
        document = FetchedDocument(Url((origin or _FOLDER) + file), kind, [], [], "", body)
        page = read_page(document, ReadOptions(images=False, videos=False, dates=False), UrlResolver(), 0.0)
        if not spellings or not page.is_html:
            continue
        for path in spellings & {*map(place_of, page.canonicals)} or spellings.intersection(known) or paths[:1]:
            if fault := fault_of(page, path, place_of):
                found.faults[path] = fault
            else:
                found.pages.append(move_page(path, page.title, take_snapshot(body)))
    found.others = len(found.faults)
    if not found.pages and not found.faults:
        raise UsageError(f"the folder {folder} has no pages. Give the folder that the generator of the site writes")
    return found


def read_urls(urls: Iterable[str]) -> Inventory:
    """URLs alone, such as those of a sitemap: only their paths can be compared."""
    found = [*dict.fromkeys(urls)]
    if not found:
        raise UsageError("the list has no URLs")
    origin = origin_of(Url(found[0])) if "://" in found[0] else ""
    return Inventory(origin, [MovePage.of(path) for path in dict.fromkeys(map(place_of, found))])
