"""Reads some pages of an audit again to find boxes whose links change, and keeps what the boxes showed in the state."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import cycle, islice, zip_longest
from typing import Final

import msgspec

from crawler.audit.graph.boxes import Boxes, PageReads
from crawler.audit.graph.links import CLICK_FLAGS
from crawler.audit.graph.similarity import url_shape
from crawler.crawl.frontier.storage import unpack_groups
from crawler.crawl.second_reads import SecondReads
from crawler.model import State, Url
from crawler.state.database import storage_errors, transaction

SAMPLES: Final = 2  # pages of a shape that are read again, to see whether they have a box
MOST: Final = 5
"""Times as many pages are read again if that shows what the boxes lead to."""
MAX_UNSEEN: Final = 0.005
"""Pages that boxes are expected to show and that no read showed, up to which an orphan is certain."""
_IN_A_ROUND: Final = 10
_LESSON: Final = "boxes"  # name in the table lesson
_LINKED: Final = f"""SELECT v.id, u.url FROM visit v JOIN url u ON u.id = v.id
  WHERE v.state = '{State.INDEXABLE}' AND v.found & {CLICK_FLAGS} ORDER BY v.depth, v.id"""  # noqa: S608 - constants
_HAS_UNLINKED: Final = f"""SELECT EXISTS (SELECT 1 FROM visit
  WHERE state = '{State.INDEXABLE}' AND NOT found & {CLICK_FLAGS} AND depth > 0)"""  # noqa: S608 - constants
_DIFFERENT: Final = """SELECT v.id, u.url, c.links, p.links FROM visit v JOIN url u ON u.id = v.id
  JOIN memory m ON m.id = v.id JOIN content c ON c.id = v.content JOIN content p ON p.id = m.content
  WHERE c.links != p.links"""
_READ: Final = """SELECT u.url, c.links FROM visit v JOIN url u ON u.id = v.id JOIN content c ON c.id = v.content
  WHERE v.id = ?"""


class BoxReads:
    """Chooses the pages of an audit that are read again, ``limit`` of them, and learns from the reads.

    ``is_reused``: the first read of a page is that of an earlier run, so two more show what changes at each request.
    """

    def __init__(self, db: sqlite3.Connection, limit: int, *, is_reused: bool) -> None:
        self._db = db
        self._limit = limit
        self._is_reused = is_reused
        self._again: SecondReads | None = None

    def rounds(self, again: SecondReads) -> Iterator[list[int]]:
        """The ids of the pages, in rounds; none if each page has a link. Raises StorageError.

        First a few pages of each shape of URL, then the pages of the shapes whose links change, until no more pages
        are expected in their boxes, or :data:`MOST` times as many were read.
        """
        self._again = again
        with storage_errors():
            if not self._limit or not self._db.execute(_HAS_UNLINKED).fetchone()[0]:
                return
            by_shape: dict[str, list[int]] = {}
            for number, url in self._db.execute(_LINKED):
                by_shape.setdefault(_shape(url), []).append(number)
        groups = sorted(by_shape.values(), key=len, reverse=True)
        samples = zip_longest(*(group[:SAMPLES] for group in groups))
        times = 2 if self._is_reused else 1
        first = [*islice((number for each in samples for number in each if number), self._limit // times)]
        yield from [first] * times
        left = MOST * self._limit - len(first) * times
        sizes = {shape: len(group) for shape, group in by_shape.items()}
        changed = {page.shape for page in self._reads().values() if len(set(page.reads)) > 1}
        pages = cycle(number for shape in changed for number in by_shape[shape][SAMPLES:] + by_shape[shape][:SAMPLES])
        while left > 0 and changed and self._learned(0.0).unseen(sizes) > MAX_UNSEEN:
            chosen = dict.fromkeys(islice(pages, min(left, _IN_A_ROUND)))
            yield [*chosen]
            left -= len(chosen)

    def learn(self, run: int, now: float) -> None:
        """Store what the reads of this audit show of boxes, once for its ``run``. Raises StorageError.

        ``now`` is Unix time. An audit that is resumed does not count a swap of links again.
        """
        if load_boxes(self._db).run == run:
            return
        boxes = self._learned(now)
        boxes.run = run
        with transaction(self._db):
            self._db.execute("INSERT OR REPLACE INTO lesson VALUES (?, ?)", (_LESSON, msgspec.msgpack.encode(boxes)))

    def _learned(self, now: float) -> Boxes:
        boxes = load_boxes(self._db)
        boxes.learn(self._reads().values(), now)
        return boxes

    def _reads(self) -> dict[int, PageReads]:
        """The pages that were read again, and those whose links differ from those of the earlier audit."""
        with storage_errors():
            reads = {
                number: PageReads(number, _shape(url), _ids(before), [_ids(links)])
                for number, url, links, before in self._db.execute(_DIFFERENT)
            }
            for number, found in (self._again.links if self._again else {}).items():
                url, links = self._db.execute(_READ, (number,)).fetchone()
                first = _ids(links)
                more = [first if urls is None else _known(self._db, urls) for urls in found]
                earlier = reads[number].earlier if number in reads else None
                is_old = self._is_reused and len(more) > 1
                reads[number] = PageReads(number, _shape(url), earlier, more if is_old else [first, *more])
        return reads


def load_boxes(db: sqlite3.Connection) -> Boxes:
    """The boxes that this audit and earlier ones saw. Raises StorageError."""
    with storage_errors():
        row = db.execute("SELECT value FROM lesson WHERE name = ?", (_LESSON,)).fetchone()
    return msgspec.msgpack.decode(row[0], type=Boxes) if row else Boxes()


def unseen_in_boxes(db: sqlite3.Connection) -> float:
    """How many pages boxes are expected to show that no read has shown. Raises StorageError."""
    with storage_errors():
        shapes = Counter(_shape(url) for _, url in db.execute(_LINKED))
    unseen = load_boxes(db).unseen(shapes)
    return unseen if unseen > MAX_UNSEEN else 0.0


def _shape(url: str) -> str:
    return " ".join(url_shape(Url(url)))


def _ids(links: bytes) -> frozenset[int]:
    return frozenset(number for flags, ids in unpack_groups(links) if flags & CLICK_FLAGS for number in ids)


def _known(db: sqlite3.Connection, urls: Iterable[Url]) -> frozenset[int]:
    rows = (db.execute("SELECT id FROM url WHERE url = ?", (url,)).fetchone() for url in urls)
    return frozenset(row[0] for row in rows if row)
