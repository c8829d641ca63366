"""The findings that the crawl noted on pages, each as ``rule: sentence``.

The rules ``render.*`` tell what scripts change on a page (``crawler/render/renderer.py``); ``google.size`` tells what
Googlebot does not read of a page (``crawler/parse/html/page.py``).
https://developers.google.com/search/docs/crawling-indexing/javascript/javascript-seo-basics
"""

import sqlite3
from collections.abc import Iterator
from typing import Final

import msgspec

from crawler.audit.finding import AuditFinding
from crawler.audit.rules import RULES
from crawler.model import Page
from crawler.state.database import storage_errors

_PAGES: Final = """SELECT u.url, v.state, v.status, c.page FROM site.visit v JOIN site.url u ON u.id = v.id
  JOIN site.content c ON c.id = v.content
  WHERE instr(c.page, CAST('render.' AS BLOB)) OR instr(c.page, CAST('google.size' AS BLOB)) ORDER BY v.id"""
_decode = msgspec.msgpack.Decoder(Page).decode


class NotedPages:
    """The pages with notes in the state attached as ``site``.

    Once they are judged, ``differ_rendered`` says whether scripts change any of them.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.differ_rendered = False

    def judge(self) -> Iterator[AuditFinding]:
        """The findings, one for each note. Raises StorageError."""
        with storage_errors():
            for url, state, status, packed in self._db.execute(_PAGES):
                page = _decode(packed)
                for note in page.notes:
                    rule, _, sentence = note.partition(": ")
                    if rule in RULES:  # another version may know others
                        self.differ_rendered |= rule.startswith("render.")
                        yield AuditFinding(
                            rule=rule, url=url, sentence=sentence, title=page.title, state=state, status=status
                        )
