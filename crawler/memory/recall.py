"""What an earlier run read of a URL, so that an answer "not modified" is as good as the page itself."""

import sqlite3
from typing import Final

import msgspec
from msgspec.structs import replace

from crawler.frontier.links import unpack
from crawler.model import Kind, Page, Remembered, Sighting, Url
from crawler.revisit import reading_of
from crawler.state.database import storage

NAMES: Final = 200_000  # URLs whose names are kept in memory, about 200 bytes each

_RECALL: Final = """SELECT c.reading, c.id, c.digest, c.text, c.page, c.links, c.type, m.full_run,
  m.source_key, m.etag, m.last_modified, m.header_date, m.page_date, m.page_date_source, m.seen_at
  FROM memory m JOIN content c ON c.id = m.content WHERE m.id = ?"""
_decode = msgspec.msgpack.Decoder(Page).decode


class Recall:
    """Answers for one run.

    ``reading`` is the key of the settings that pages are read with: of what was read with others only the text is
    recalled, to be compared. ``source_key`` names the server that is asked: validators of another are not used. A body
    is due to be read whole again after at most ``full_every`` runs (0: never), so that a server that answers "not
    modified" for everything is found out.

    Raises StorageError.
    """

    def __init__(
        self, db: sqlite3.Connection, run: int, reading: str, source_key: str, full_every: int
    ) -> None:
        self._db = db
        self._run = run
        self._reading = reading
        self._source_key = source_key
        self._full_every = full_every
        self._names: dict[int, Url] = {}
        with storage():
            some = "SELECT 1 FROM memory WHERE content IS NOT NULL LIMIT 1"
            self._is_empty = db.execute(some).fetchone() is None  # nothing is added before the run has ended

    def recall(self, number: int, kind: Kind) -> Remembered | None:
        """What is remembered of the URL with this id, which is to be read as this kind now, or None."""
        if self._is_empty:
            return None
        with storage():
            row = self._db.execute(_RECALL, (number,)).fetchone()
            if row is None:
                return None
            reading, content, digest, text, page, links, label, full_run, source_key, *seen = row
            etag, last_modified, header_date, page_date, page_date_source, seen_at = seen
            sighting = Sighting(
                seen_at or 0.0, label, etag, last_modified, header_date, page_date, page_date_source
            )
            targets, is_whole = self._links(links)
            if reading != reading_of(self._reading, kind) or not is_whole:
                return Remembered(content, sighting, b"", text, None, True, False, targets)
            return Remembered(
                content,
                sighting,
                digest,
                text,
                replace(_decode(page), links=targets) if page else None,
                self._is_due(number, full_run),
                source_key == self._source_key and bool(etag or last_modified),
                targets,
            )

    def _is_due(self, number: int, full_run: int | None) -> bool:
        if not self._full_every or full_run is None:
            return False
        # between half of the runs and all of them, so that not all pages are due in the same run
        early = number % (self._full_every // 2 + 1)
        return self._run - full_run >= self._full_every - early

    def _links(self, packed: bytes) -> tuple[list[tuple[Url, int]], bool]:
        """The links by name, and whether these are all: what nobody met for long is forgotten."""
        names = self._names
        links = []
        is_whole = True
        for number, flags in unpack(packed):
            name = names.get(number) or self._name(number)
            if name is None:
                is_whole = False
            else:
                links.append((name, flags))
        return links, is_whole

    def _name(self, number: int) -> Url | None:
        row = self._db.execute("SELECT url FROM url WHERE id = ?", (number,)).fetchone()
        if row is None:
            return None
        if len(self._names) >= NAMES:
            self._names.clear()
        self._names[number] = Url(row[0])
        return self._names[number]
