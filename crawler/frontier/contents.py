"""What a frontier keeps of what was read: a row of its own, for later runs may come to it again."""

import sqlite3
from typing import Final

import msgspec
from msgspec.structs import replace

from crawler.frontier.links import pack
from crawler.model import Outcome, Page
from crawler.revisit import reading_of

_READ: Final = """INSERT INTO content (run, reading, digest, type, links, page, text, delta)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
_encode = msgspec.msgpack.Encoder().encode


class Contents:
    """What a run reads. ``reading`` is the key of the settings that pages are read with."""

    def __init__(self, db: sqlite3.Connection, run: int, reading: str) -> None:
        self._db = db
        self._run = run
        self._reading = reading

    def keep(self, outcome: Outcome, page: Page, targets: list[tuple[int, int]]) -> int | None:
        """Keep what was read, with the ids and flags of its links; answers its id."""
        kind = outcome.sighting.content_type if outcome.sighting else ""
        said = replace(page, links=[], digest=b"", text=b"", delta=b"")
        row = (
            self._run,
            reading_of(self._reading, outcome.lease.kind),
            page.digest,
            kind,
            pack(targets),
            _encode(said),
            page.text,
            page.delta,
        )
        return self._db.execute(_READ, row).lastrowid
