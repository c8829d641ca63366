"""Revalidation: conditional requests, what a 304 stands for, and what the state keeps of previous visits.

https://www.rfc-editor.org/rfc/rfc9110#section-13 , https://www.rfc-editor.org/rfc/rfc9111#section-4.3

:class:`EarlierCrawl` gives the answers of a finished crawl, which another crawl uses in place of requests. It reads the
state of that crawl, and never writes.
"""

import sqlite3
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from crawler.crawl.frontier.storage import parse_key, unpack_groups
from crawler.fetch.retry import FAILURES, is_failure
from crawler.lastmod.policy import credible_last_modified, schema_form
from crawler.model import (
    DiscoveredBy,
    DocumentKind,
    Failure,
    Page,
    PreviousVisit,
    Reply,
    Request,
    ResponseMetadata,
    State,
    Url,
    Verdict,
)
from crawler.parse.robots_meta import HEADER
from crawler.parse.snapshot.diff import compare
from crawler.state.database import storage_errors
from crawler.units import w3c


def conditional_headers(before: PreviousVisit | None) -> list[tuple[str, str]]:
    """The conditional headers of a request, which a server may answer with 304 (RFC 9110 13.1.2 and 13.1.3).

    None for a page with noindex, a redirect or another canonical in a header: a 304 need not say that the header is
    gone (RFC 9110 15.4.5).
    """
    if before is None or before.is_due or not before.validates:
        return []
    page = before.page
    if page and (page.by_header or page.noindex.startswith(HEADER) or HEADER in page.engine_noindex):
        return []
    stored = before.sighting
    headers = (("If-None-Match", stored.etag), ("If-Modified-Since", stored.last_modified))
    return [(name, value) for name, value in headers if value]


def request_record(answer: Reply | Failure, conditional: bool, now: float) -> Request:
    """The record of a request that was answered at ``now`` (Unix time)."""
    if isinstance(answer, Failure):
        return Request(now, answer.code, conditional, 0, answer.elapsed)
    return Request(answer.fetched_at, str(answer.status), conditional, answer.wire_bytes, answer.elapsed)


def merge_304(answer: Reply, before: PreviousVisit) -> Reply:
    """The reply that a 304 stands for: the stored one, updated with the headers of the 304 (RFC 9111 4.3.4)."""
    stored = before.sighting
    headers = (("content-type", stored.content_type), ("etag", stored.etag), ("last-modified", stored.last_modified))
    fresh = {name for name, _ in answer.headers}
    stale = [(name, value) for name, value in headers if value and name not in fresh]
    return replace(answer, status=200, headers=(*answer.headers, *stale))


def apply_304_headers(said: Page, page: Page) -> Page:
    """The stored page with what the headers of a 304 ``said`` (RFC 9111 3.2), which were read as a page without text.

    Only more restrictive statements come: see :func:`conditional_headers`.
    """
    return replace(
        page,
        noindex=page.noindex or said.noindex,
        nofollow=page.nofollow or said.nofollow,
        engine_noindex=page.engine_noindex or said.engine_noindex,
        canonicals=list(dict.fromkeys([*page.canonicals, *said.canonicals])),
        refresh=page.refresh or said.refresh,
        links=[*(dict(said.links) | dict(page.links)).items()],
    )


def response_metadata(answer: Reply, page: Page | None) -> ResponseMetadata:
    """The metadata of a good reply. A reply that was cut gets no validators: a 304 would not bring the missing part."""
    last_modified = answer.header("last-modified") or ""
    moment = credible_last_modified(last_modified, answer.header("date") or "", answer.fetched_at, answer.elapsed)
    return ResponseMetadata(
        answer.fetched_at,
        answer.header("content-type") or "",
        "" if answer.cut else answer.header("etag") or "",
        "" if answer.cut else last_modified,
        "" if moment is None else w3c(moment),
        schema_form(page.modified, answer.fetched_at + answer.elapsed) if page else "",
        page.modified_source if page else "",
    )


def content_to_store(answer: Reply, page: Page | None) -> Page | None:
    """The content to store: the page, or the fact that there is none if the server can answer 304 for it."""
    if answer.status != 200 or page is not None:
        return page
    return Page(is_html=False) if answer.header("etag") or answer.header("last-modified") else None


MAX_NAMES: Final = 200_000  # URLs in memory, about 200 bytes each
_SELECT_PREVIOUS: Final = """SELECT c.reading, c.id, c.digest, c.page, c.links, c.type, m.full_run,
  m.source_key, m.etag, m.last_modified, m.header_date, m.page_date, m.page_date_source, m.seen_at, m.failures
  FROM memory m JOIN content c ON c.id = m.content WHERE m.id = ?"""
_SELECT_TEXT: Final = "SELECT text FROM content WHERE id = ?"
_decode_page = msgspec.msgpack.Decoder(Page).decode


class LinkNames:
    """The URLs of packed links, in the state of one site: all of them at once if there are few. Raises StorageError."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._names: dict[int, Url] = {}
        with storage_errors():
            (last,) = db.execute("SELECT max(id) FROM url").fetchone()
            if last and last <= MAX_NAMES:
                self._names = dict(db.execute("SELECT id, url FROM url"))

    def links(self, packed: bytes) -> tuple[list[tuple[Url, int]], bool]:
        """The links with their URLs, and whether these are all: the state purges URLs that no run meets any more."""
        names, groups = self._names, [*unpack_groups(packed)]
        try:
            return [(names[number], flags) for flags, numbers in groups for number in numbers], True
        except KeyError:
            links = [(self._name(number), flags) for flags, numbers in groups for number in numbers]
        known = [(name, flags) for name, flags in links if name is not None]
        return known, len(known) == len(links)

    def _name(self, number: int) -> Url | None:
        if name := self._names.get(number):
            return name
        row = self._db.execute("SELECT url FROM url WHERE id = ?", (number,)).fetchone()
        if row is None:
            return None
        if len(self._names) >= MAX_NAMES:
            self._names.clear()
        self._names[number] = Url(row[0])
        return self._names[number]


class PreviousVisits:
    """The previous visits of URLs, for one run. Raises StorageError.

    ``reading`` is the key of the settings that pages are parsed with: of a page that was parsed with others, only the
    text is used, for comparison. ``source_key`` names the server: validators of another server are not used. After at
    most ``refetch_every`` runs (0: never) a body is fetched in full, in case a server answers 304 for everything.
    """

    def __init__(self, db: sqlite3.Connection, run: int, reading: str, source_key: str, refetch_every: int) -> None:
        self._db = db
        self._run = run
        self._reading = reading
        self._source_key = source_key
        self._refetch_every = refetch_every
        self._names = LinkNames(db)
        with storage_errors():
            query = "SELECT 1 FROM memory WHERE content IS NOT NULL LIMIT 1"
            self._is_empty = db.execute(query).fetchone() is None  # rows are added only at the end of a run

    def get(self, number: int, kind: DocumentKind) -> PreviousVisit | None:
        """The previous visit of the URL with this id, None without one. ``kind``: how the URL is parsed now.

        It is without the text, which is most of the state and which a 304 does not need.
        """
        if self._is_empty:
            return None
        with storage_errors():
            row = self._db.execute(_SELECT_PREVIOUS, (number,)).fetchone()
            if row is None:
                return None
            reading, content, digest, page, links, label, full_run, source_key, *metadata = row
            etag, last_modified, header_date, page_date, page_date_source, seen_at, failures = metadata
            sighting = ResponseMetadata(
                seen_at or 0.0, label, etag, last_modified, header_date, page_date, page_date_source
            )
            targets, is_whole = self._names.links(links)
            stored = _decode_page(page) if page else None
            rendered = stored is not None and stored.rendered
            if reading != parse_key(self._reading, kind) or not is_whole:
                return PreviousVisit(content, sighting, b"", b"", None, True, False, targets, failures, rendered)
            return PreviousVisit(
                content,
                sighting,
                digest,
                b"",
                replace(stored, links=targets) if stored else None,
                self._is_due(number, full_run),
                source_key == self._source_key and bool(etag or last_modified),
                targets,
                failures,
                rendered,
            )

    def with_text(self, visit: PreviousVisit) -> PreviousVisit:
        """The same visit with its text."""
        with storage_errors():
            row = self._db.execute(_SELECT_TEXT, (visit.content,)).fetchone()
        return replace(visit, text=row[0]) if row else visit

    def _is_due(self, number: int, full_run: int | None) -> bool:
        if not self._refetch_every or full_run is None:
            return False
        # after half to all of the runs, so that not all pages are due in the same run
        early = number % (self._refetch_every // 2 + 1)
        return self._run - full_run >= self._refetch_every - early


# Of a URL that only an earlier run led to, the crawl checked the status and did not follow the links.
_ANSWER: Final = f"""SELECT v.state, v.reason, v.target, v.status, v.trail, v.seen_at, c.type, v.etag, v.last_modified,
  v.header_date, v.page_date, v.page_date_source, c.reading, c.digest, c.text, c.page, c.links
  FROM url u JOIN visit v ON v.id = u.id LEFT JOIN content c ON c.id = v.content
  WHERE u.url = ? AND v.kind = {int(DocumentKind.PAGE)} AND v.status IS NOT NULL AND v.found !=
  {DiscoveredBy.PREVIOUS_RUN}"""  # noqa: S608
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Page).decode


class EarlierAnswer(Struct, frozen=True):
    """The answer and verdict of a URL in an earlier crawl. ``page`` is None when no body was read.

    ``content`` is the id of the previous visit's content when the page is the same.
    """

    verdict: Verdict
    status: int
    page: Page | None
    content: int | None
    sighting: ResponseMetadata | None
    request: Request | None


class EarlierCrawl:
    """The answers in ``db``, the state of a crawl of the same site with the same settings.

    The caller holds a read transaction on ``db``, so that a run that starts meanwhile changes nothing here.
    ``reading`` is the key of the settings that the pages must have been parsed with. Raises StorageError.
    """

    def __init__(self, db: sqlite3.Connection, reading: str) -> None:
        self._db = db
        self._reading = reading
        self._names = LinkNames(db)

    def answer(self, url: Url, previous: PreviousVisit | None, now: float) -> EarlierAnswer | None:
        """The answer of a page; None when the URL must be fetched.

        That is so when the earlier crawl did not fetch it, when it ended by a transient failure, and when the answer
        has expired at ``now`` (Unix time). ``previous`` is the previous visit in the present crawl's state: the page is
        compared with it, as a parser process compares a fetched page.
        """
        with storage_errors():
            row = self._db.execute(_ANSWER, (url,)).fetchone()
            if row is None:
                return None
            name, reason, target, status, trail, *metadata, reading, digest, text, packed, links = row
            state = State(name)
            if state in FAILURES or state is State.UNLINKED or is_failure(state, status):
                return None
            page = None
            if packed:
                targets, is_whole = self._names.links(links)
                page = replace(_decode(packed), links=targets, digest=digest, text=text)
                if not is_whole or reading != self._reading or (page.expires and page.expires < now):
                    return None
                if previous and previous.text and text:
                    page = replace(page, delta=_encode(compare(previous.text, text)))
        seen_at, content_type, *validators = metadata
        requests = Request.read(trail)
        is_same = previous and previous.page and page and page.digest == previous.digest != b""
        return EarlierAnswer(
            Verdict(state, reason, target),
            status,
            page,
            previous.content if previous and is_same else None,
            ResponseMetadata(seen_at, content_type or "", *validators) if seen_at else None,
            requests[-1] if requests else None,
        )
