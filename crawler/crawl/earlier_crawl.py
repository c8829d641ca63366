"""The answers of a crawl that is over, so that another one need not ask again. Reads its state, and never writes."""

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
    StatusBadge,
    Url,
)
from crawler.parse.snapshot.diff import compare
from crawler.state.database import storage_errors

# A URL that only an earlier run led to was asked for its status alone: its links were not followed.
_ANSWER: Final = f"""SELECT v.state, v.reason, v.target, v.status, v.trail, v.seen_at, c.type, v.etag, v.last_modified,
  v.header_date, v.page_date, v.page_date_source, c.reading, c.digest, c.text, c.page, c.links
  FROM url u JOIN visit v ON v.id = u.id LEFT JOIN content c ON c.id = v.content
  WHERE u.url = ? AND v.kind = {int(DocumentKind.PAGE)} AND v.status IS NOT NULL AND v.found !=
  {DiscoveredBy.PREVIOUS_RUN}"""  # noqa: S608
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Page).decode


class EarlierAnswer(Struct, frozen=True):
    """What a URL answered in an earlier crawl, and the verdict on it. ``page`` is None when no body was read."""

    verdict: StatusBadge
    status: int
    page: Page | None
    sighting: ResponseMetadata | None
    request: Request | None


class EarlierCrawl:
    """The answers in ``db``, the state of a crawl of the same site with the same settings.

    The caller holds a read transaction on ``db``, so that a run that begins meanwhile changes nothing here.
    ``reading`` is the key of the settings that pages must have been read with. Raises StorageError.
    """

    def __init__(self, db: sqlite3.Connection, reading: str) -> None:
        self._db = db
        self._reading = reading
        self._names = LinkNames(db)

    def answer(self, url: Url, before: PreviousVisit | None, now: float) -> EarlierAnswer | None:
        """The answer of a page; None when the URL must be asked for.

        That is so when the earlier crawl did not ask for it, when it failed for a reason that may pass, and when the
        answer no longer holds ``now`` (Unix time). ``before`` is what the present crawl remembers of the URL: the page
        is compared with it, as a parser process compares a page that is fetched.
        """
        with storage_errors():
            row = self._db.execute(_ANSWER, (url,)).fetchone()
            if row is None:
                return None
            name, reason, target, status, trail, *seen, reading, digest, text, packed, links = row
            state = State(name)
            if state in FAILURES or state is State.UNLINKED or is_failure(state, status):
                return None
            page = None
            if packed:
                targets, is_whole = self._names.links(links)
                page = replace(_decode(packed), links=targets, digest=digest, text=text)
                if not is_whole or reading != self._reading or (page.expires and page.expires < now):
                    return None
                if before and before.text and text:
                    page = replace(page, delta=_encode(compare(before.text, text)))
        seen_at, content_type, *validators = seen
        requests = Request.read(trail)
        return EarlierAnswer(
            StatusBadge(state, reason, target),
            status,
            page,
            ResponseMetadata(seen_at, content_type or "", *validators) if seen_at else None,
            requests[-1] if requests else None,
        )
