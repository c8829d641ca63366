"""The rules ``render.*``: what scripts change on a page, as far as it matters for search engines.

The crawl writes down the differences between the page as sent and as rendered (``crawler/render/renderer.py``), each as
``rule: sentence``. Google's advice:
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
  JOIN site.content c ON c.id = v.content WHERE instr(c.page, x'72656e6465722e') > 0 ORDER BY v.id"""  # "render."
_decode = msgspec.msgpack.Decoder(Page).decode


class RenderedPages:
    """Rendered pages that differ from what was sent, in the state attached as ``site``.

    ``are_any`` says whether any differs, once they are judged.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.are_any = False

    def judge(self) -> Iterator[AuditFinding]:
        """The findings, one for each difference. Raises StorageError."""
        with storage_errors():
            for url, state, status, packed in self._db.execute(_PAGES):
                page = _decode(packed)
                for note in page.render_notes:
                    rule, _, sentence = note.partition(": ")
                    if rule in RULES:  # another version may know others
                        self.are_any = True
                        yield AuditFinding(
                            rule=rule, url=url, sentence=sentence, title=page.title, state=state, status=status
                        )
