"""The answers of a finished crawl, which another crawl uses in place of requests. Reads its state, never writes."""

import sqlite3
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from crawler.crawl.revalidation import LinkNames
from crawler.fetch.retry import FAILURES, is_failure
from crawler.model import (
    DiscoveredBy,
    DocumentKind,
    Page,
    PreviousVisit,
    Request,
    ResponseMetadata,
    State,
    Url,
    Verdict,
)
from crawler.parse.snapshot.diff import compare
from crawler.state.database import storage_errors

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
