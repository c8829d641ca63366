"""Copies without end: pages that repeat what was read before, under URLs that are new on every page.

Three kinds of evidence, all of pages that were read:

- *Equal but for one segment* of the path, such as a session id: the same text and pictures, and the same links if that
  segment is left open in them. Segments that only count, such as the days of a calendar, are left to the templates
  (:mod:`crawler.crawl.frontier.url_templates`).
- *Equal with fresh links* (:mod:`crawler.crawl.frontier.fresh_links`): ids anywhere in the URL, new on every page.
- *Equal to the byte*, found on a page that is equal to another one: relative links such as ``next/`` lead deeper and
  deeper.

A space of copies is endless when ``EVIDENCE`` such pages in a row brought nothing but more URLs of the same kind. Then
its other URLs are postponed. At the end, ``SAMPLE`` of them are visited after all: if something new is below them,
twice as many follow. So a page is left out only when the pages beside it and a sample of the rest are copies.

Each rule was switched off on 500 drawn sites (``tests/endless_draws.py``, ``test_frontier_copies.py``; 100 of each of
five kinds). With all of them, no site loses a page, and 7 need more requests than allowed (about 50 for a space).
Without a rule:

====================================================  ======================================
rule                                                  what breaks without it
====================================================  ======================================
equal to the byte                                     46 need more requests
equal but for one segment                             16
equal with fresh links                                220; 18 lose a page
... variants, which share half of their words (0.5)   28; 2
... own ids and figures do not count in a text        40; 5
... one page of a new mask is awaited                 9; 17
... the menu that leads to pages (nothing in a URL)   8; 4
... a new decision in a space that is endless         21
====================================================  ======================================

That links have no id of their page, and that ids which only count are left to templates, breaks no drawn site; without
these rules, the versions of a document and the days of a calendar would count as copies.
"""

import re
import sqlite3
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from itertools import islice
from typing import Final

from msgspec import Struct, field

from crawler.crawl.frontier.cache import Recent, StateCounts
from crawler.crawl.frontier.fresh_links import COPY_PREFIX, Content, FreshLinks
from crawler.crawl.frontier.storage import unpack_links
from crawler.model import DiscoveredBy, DiscoveredUrl, DocumentKind, Lease, Outcome, Page, State, Url, Verdict
from crawler.parse.snapshot.snapshot import load_markup
from crawler.url.normalize import origin_of

EVIDENCE: Final = 20  # copies in a row
SAMPLE: Final = 10  # URLs that are visited in the end to see whether something new is below them
_LEADING: Final = 3  # so many copies must lead to new URLs, and so many values of a segment be seen
_MAX_SEGMENTS: Final = 8
_UNREAD: Final = -1
_EQUAL_BYTES: Final = f"{COPY_PREFIX}pages that are equal to the byte lead to more and more copies of themselves"

_tag = re.compile(r"<(?!img\b)[^>]*+>?", re.IGNORECASE).sub
_segment = re.compile("[^/?]+")
_count = re.compile(r"(?<![0-9])[0-9]{1,7}(?![0-9])").sub
_OK: Final = 200
_DIGEST: Final = "SELECT c.digest FROM visit v JOIN content c ON c.id = v.content WHERE v.id = ?"
_CONTENT: Final = "SELECT text, links, digest FROM content WHERE id = ?"
_CONTENT_OF: Final = "SELECT c.text, c.links FROM visit v JOIN content c ON c.id = v.content WHERE v.id = ?"
_TEXT_OF: Final = "SELECT c.text FROM visit v JOIN content c ON c.id = v.content WHERE v.id = ?"
_URL: Final = "SELECT url FROM url WHERE id = ?"
_NEW: Final = "SELECT v.id, v.state FROM url u JOIN visit v ON v.id = u.id WHERE u.url = ?"
_STATE: Final = "SELECT state FROM visit WHERE id = ?"
_WAITING: Final = f"""SELECT v.id, u.url, v.state, c.digest, v.source FROM visit v JOIN url u ON u.id = v.id
  JOIN visit s ON s.id = v.source LEFT JOIN content c ON c.id = s.content WHERE v.attempts = 0 AND v.status IS NULL
  AND (v.state = '{State.PENDING}' OR v.state = '{State.TRAP}' AND v.reason NOT LIKE '{COPY_PREFIX}%')
  AND v.kind = {int(DocumentKind.PAGE)} AND v.found & {int(DiscoveredBy.SITEMAP)} = 0
  ORDER BY v.depth, v.id"""  # noqa: S608
_POSTPONED: Final = f"""SELECT v.reason, u.url, v.id FROM visit v JOIN url u ON u.id = v.id
  WHERE v.state = '{State.TRAP}' AND v.status IS NULL AND v.reason LIKE '{COPY_PREFIX}%' ORDER BY v.depth, u.url"""  # noqa: S608
_SET_STATE: Final = "UPDATE visit SET state = ?, reason = ? WHERE id = ?"
_IS_REMEMBERED: Final = f"""SELECT 1 FROM url u JOIN memory m ON m.id = u.id
  WHERE u.url = ? AND m.state != '{State.TRAP}'"""  # noqa: S608
_HAS_TRAPS: Final = f"SELECT 1 FROM memory WHERE state = '{State.TRAP}' LIMIT 1"  # noqa: S608


class _Space(Struct):
    """Pages that may be copies without end. ``reason`` is why a URL of the space is left out."""

    reason: str
    pattern: str = ""
    copies: int = 0  # in a row
    leading: set[int] = field(default_factory=set)  # ids of copies that led to new URLs, a few
    forms: set[str] | None = None  # of the open segment in new URLs, a few; None: equal to the byte
    members: dict[str, list[tuple[int, Url, int]]] = {}  # depth, URL and id of equal pages, by open URL or digest
    is_endless: bool = False

    def decide(self, evidence: int) -> bool:
        """Whether the space is found to be endless now, after so many copies in a row."""
        has_forms = self.forms is None or len(self.forms) >= _LEADING
        was_endless = self.is_endless
        self.is_endless = was_endless or (self.copies >= evidence and len(self.leading) >= _LEADING and has_forms)
        return self.is_endless and not was_endless


class _Read(Struct):
    """The first page of a URL with an open segment; its ``signature`` is ``_UNREAD`` while it waits to be read."""

    url: Url
    depth: int = 0
    id: int = 0
    signature: int = _UNREAD
    title: str | None = None
    text_digest: bytes = b""  # of its text and pictures, when it was compared
    copies: int = 0
    differs: bool = False


class _Sample(Struct):
    """How many postponed URLs of a reason are visited in the end, how many are left, and how much was new before."""

    size: int
    news: int
    left: int = SAMPLE


class CopyDetector:
    """Finds spaces of copies. Every method is part of the caller's transaction. ``out`` holds the leases
    that are out; ``patience`` is the limit of the trap detector."""

    def __init__(
        self, db: sqlite3.Connection, state_counts: StateCounts, out: Mapping[int, Lease], patience: int
    ) -> None:
        self._evidence = min(EVIDENCE, max(_LEADING, patience // 3))
        self._db = db
        self._state_counts = state_counts
        self._out = out
        self.notes: dict[str, str] = {}  # by reason
        self._seen: Recent[bytes, _Read] = Recent()
        self._digests: Recent[int, bytes] = Recent()  # by the id of a page that was read
        self._reads: Recent[str, _Read] = Recent()
        self._spaces: Recent[str, _Space] = Recent()  # by pattern
        self._byte_spaces: Recent[bytes, _Space] = Recent()  # by the digest of the pages that lead to them
        self._fresh = FreshLinks(self._load, self._evidence)
        self._samples: dict[str, _Sample] = {}
        self._sampled: set[int] = set()  # ids of URLs that are visited in the end, whatever is found to be endless then
        # The unchanged pages of a site without traps are no copies, and comparing them would take long in every run.
        self._had_traps = db.execute(_HAS_TRAPS).fetchone() is not None
        self._news = 0
        self._lease, self._url = 0, Url("")  # the page that is read now ...
        self._content: _Content | None = None
        self._new: list[Url] = []  # ... the URLs that it leads to first ...
        self._copy_of: list[_Space] = []  # ... and the spaces in which it is a copy

    def read(self, outcome: Outcome) -> bool:
        """Compare a page with those before it. Returns whether pending URLs were postponed."""
        lease = outcome.lease
        self._lease, self._url, self._copy_of = lease.id, lease.url, []
        self._content, self._new = None, []
        if outcome.status != _OK or lease.kind is not DocumentKind.PAGE:
            return False
        if outcome.page is None and not self._had_traps:
            return False
        self._content = content = _content(self._db, outcome)
        if content is None:
            return False
        touched = [*self._compare_bytes(lease, content), *self._compare_segments(lease, content)]
        decided = [space.decide(self._evidence) for space in touched]
        return any(decided) and self._postpone_pending()

    def finish(self, lease: Lease) -> bool:
        """Compare a page again, when its new URLs are known. Returns whether pending URLs were postponed."""
        content = self._content
        if content is None:
            return False
        space = self._fresh.read(lease, Content(content.markup, content.links, content.title), self._new)
        self._news += not (self._copy_of or space or self._repeats_bytes(content))
        if space and self._fresh.decide(space, lease.url, lease.source):
            return self._postpone_pending()
        return self._postpone_new(lease.id)

    def _postpone_new(self, page: int) -> bool:
        """Postpone the new URLs of a page that belong to endless spaces of fresh links."""
        moved = False
        for url in self._new:
            if (space := self._fresh.space_of(url, page)) and not self._is_remembered(url):
                number, state = self._db.execute(_NEW, (url,)).fetchone()
                if state == State.PENDING:
                    self._move(number, url, State.PENDING, State.TRAP, space.reason)
                    moved = True
        return moved

    def refusal(self, find: DiscoveredUrl) -> Verdict | None:
        """Why a new URL is postponed; None when it is visited."""
        if find.source != self._lease or find.found & DiscoveredBy.SITEMAP or find.kind is not DocumentKind.PAGE:
            return None
        self._record_new(find.url)
        by_bytes = [space for space in self._copy_of if space.is_endless and space.forms is None]
        space = by_bytes[0] if by_bytes else self._space_of(find.url)
        if space is None or self._is_remembered(find.url):
            return None
        return Verdict(State.TRAP, space.reason)

    def decides_later(self, find: DiscoveredUrl) -> bool:
        """Whether :meth:`finish` decides about a new URL."""
        return find.source == self._lease and self._fresh.is_fresh(find.url, find.source)

    def _record_new(self, url: Url) -> None:
        """Note that the page that is read now leads to a new URL."""
        self._new.append(url)
        self._fresh.learn(self._lease, url)
        for space in self._copy_of:
            if space.forms is not None:
                form = _form(url, space.pattern)
                if not form or form == _form(self._url, space.pattern):
                    continue
                if len(space.forms) < _LEADING:
                    space.forms.add(form)
            if len(space.leading) < _LEADING:
                space.leading.add(self._lease)

    def review(self) -> bool:
        """Visit a sample of what is postponed, and more while that brings news. Returns whether some are visited."""
        waiting: dict[str, list[tuple[int, Url]]] = {}
        for reason, url, number in self._db.execute(_POSTPONED):
            waiting.setdefault(reason, []).append((number, url))
        admitted = False
        for reason, urls in waiting.items():
            sample = self._samples.setdefault(reason, _Sample(SAMPLE, self._news))
            if not sample.left and self._news > sample.news:
                sample.size, sample.news = 2 * sample.size, self._news
                sample.left = sample.size
            if not sample.left:
                self._drop_copies(reason)
                self.notes[reason] = _note(reason, urls[0][1], len(urls))
                continue
            step = max(1, len(urls) // sample.left)
            for number, url in urls[::step][: sample.left]:
                self._move(number, url, State.TRAP, State.PENDING, "")
                self._sampled.add(number)
                sample.left -= 1
            admitted = True
        return admitted

    def _drop_copies(self, reason: str) -> None:
        """Leave out the copies that were read too; of each page the least deep one stays."""
        equal: dict[str, set[tuple[int, Url, int]]] = {}
        for groups in self._members(reason):
            for page, members in groups.items():
                equal.setdefault(page, set()).update(members)
            groups.clear()
        for page, found in equal.items():
            kept, *others = sorted(found)
            if reason == _EQUAL_BYTES and (first := self._seen.get(bytes.fromhex(page))):
                first.depth, first.url, first.id = kept  # what is read from now on is compared with the page that stays
            for _, url, number in others:
                (state,) = self._db.execute(_STATE, (number,)).fetchone()
                if state == State.INDEXABLE and not self._is_remembered(url):
                    self._move(number, url, State.INDEXABLE, State.TRAP, reason)

    def _members(self, reason: str) -> Iterator[dict[str, list[tuple[int, Url, int]]]]:
        """The equal pages of each space with this reason."""
        for space in self._spaces.values():
            if space.reason == reason and space.is_endless:
                yield space.members
        for digest, space in self._byte_spaces.items():
            if space.reason == reason and (space.is_endless or self._is_of_copies(digest)):
                yield space.members
        for fresh in self._fresh.spaces.values():
            if fresh.reason == reason:
                yield from fresh.equal_pages()

    def _is_of_copies(self, digest: bytes) -> bool:
        """Whether other pages are equal to the page with this digest."""
        first = self._seen.get(digest)
        return first is not None and first.copies > 0

    def _compare_bytes(self, lease: Lease, content: "_Content") -> Iterator[_Space]:
        self._digests.keep(lease.id, content.digest)
        first = self._seen.use(content.digest)
        if first is None:
            first = self._seen.keep(content.digest, _Read(lease.url, lease.depth, lease.id))
            if not self._byte_spaces:
                return
        parent = self._digest_of(lease.source)
        space = self._byte_spaces.use(parent)
        if first.id == lease.id:
            if space:
                space.copies = 0
            return
        first.copies += 1
        if space is None and parent:
            space = self._byte_spaces.keep(parent, _Space(_EQUAL_BYTES))
        if own := self._byte_spaces.use(content.digest):
            self._copy_of.append(own)
        if space:
            space.copies += 1
            members = space.members.setdefault(content.digest.hex(), [(first.depth, first.url, first.id)])
            members.append((lease.depth, lease.url, lease.id))
            yield space

    def _digest_of(self, page: int | None) -> bytes:
        """The digest of a page that was read; b"" for another URL."""
        if page is None:
            return b""
        if (digest := self._digests.get(page)) is None:
            row = self._db.execute(_DIGEST, (page,)).fetchone()
            digest = row[0] if row else b""
        return digest

    def _repeats_bytes(self, content: "_Content") -> bool:
        """Whether another page with these bytes was read before."""
        first = self._seen.get(content.digest)
        return first is not None and first.id != self._lease

    def _compare_segments(self, lease: Lease, content: "_Content") -> Iterator[_Space]:
        for open_url, pattern in _open_urls(lease.url):
            first = self._reads.use(open_url)
            if first is None or first.signature == _UNREAD:
                read = _Read(lease.url, lease.depth, lease.id, content.signature, content.title)
                self._reads.keep(open_url, read)
                continue
            space = self._spaces.use(pattern)
            if self._is_equal(first, content, pattern):
                if space is None:
                    reason = f"{COPY_PREFIX}pages under {pattern} are equal but for this segment of their URLs"
                    space = self._spaces.keep(pattern, _Space(reason, pattern, forms=set()))
                if first.differs:
                    continue
                first.copies += 1
                space.copies += 1
                members = space.members.setdefault(open_url, [(first.depth, first.url, first.id)])
                members.append((lease.depth, lease.url, lease.id))
                self._copy_of.append(space)
                yield space
            elif not first.differs:
                first.differs = True
                if space:
                    space.copies -= first.copies
                    space.members.pop(open_url, None)

    def _is_equal(self, first: _Read, content: "_Content", pattern: str) -> bool:
        if first.signature != content.signature:
            return False
        if first.title != content.title and first.title is not None and content.title is not None:
            return False  # the title is part of the text
        row = self._db.execute(_CONTENT_OF, (first.id,)).fetchone()
        if row is None:
            return False
        first.text_digest = first.text_digest or _text_digest(row[0])
        if first.text_digest != content.text_digest():
            return False
        links = self._urls(row[1])
        return {_opened(url, pattern) for url in links} == {_opened(url, pattern) for url in content.links}

    def _load(self, number: int) -> str | None:
        """Text and pictures of a page that was read."""
        row = self._db.execute(_TEXT_OF, (number,)).fetchone()
        return _markup(row[0]) if row else None

    def _urls(self, links: bytes) -> Iterator[Url]:
        for number, _ in unpack_links(links):
            yield self._db.execute(_URL, (number,)).fetchone()[0]

    def _space_of(self, url: Url) -> _Space | None:
        """The endless space of equal pages that a URL belongs to, unless it is the first of these pages."""
        if not self._spaces:  # as on most sites
            return None
        for open_url, pattern in _open_urls(url):
            space, first = self._spaces.get(pattern), self._reads.get(open_url)
            if space and space.is_endless:
                if first is None:
                    first = self._reads.keep(open_url, _Read(url))
                if first.signature == _UNREAD and first.url == url:
                    continue
                if not first.differs:
                    return space
        return None

    def _postpone_pending(self) -> bool:
        moved = False
        for number, url, state, digest, source in self._db.execute(_WAITING).fetchall():
            by_bytes = self._byte_spaces.get(digest) if digest else None
            is_of_copies = by_bytes and by_bytes.is_endless
            space = by_bytes if is_of_copies else self._space_of(url) or self._fresh.space_of(url, source)
            is_wanted = number in self._out or number in self._sampled
            if space and not is_wanted and not self._is_remembered(url):
                self._move(number, url, State(state), State.TRAP, space.reason)
                moved = True
        return moved

    def _move(self, number: int, url: Url, before: State, after: State, reason: str) -> None:
        self._db.execute(_SET_STATE, (after, reason, number))
        self._state_counts.move(origin_of(url), before, after)

    def _is_remembered(self, url: Url) -> bool:
        return self._db.execute(_IS_REMEMBERED, (url,)).fetchone() is not None


class _Content:
    """What a page is compared by."""

    def __init__(self, text: bytes, links: list[Url], digest: bytes, title: str | None = None) -> None:
        self.title = title  # None for a page that was read in an earlier run
        self.links = links
        self.digest = digest
        self.signature = len(links)
        self._text = text
        self._text_digest = b""

    def text_digest(self) -> bytes:
        """A digest of the text and the pictures, computed once."""
        self._text_digest = self._text_digest or _text_digest(self._text)
        return self._text_digest

    def markup(self) -> str:
        """The text and the pictures."""
        return _markup(self._text)


def _content(db: sqlite3.Connection, outcome: Outcome) -> _Content | None:
    page: Page | None = outcome.page
    links = [url for url, _ in outcome.links]
    if page is not None:
        return _Content(page.text, links, page.digest, page.title) if page.text else None
    row = db.execute(_CONTENT, (outcome.content,)).fetchone()
    return _Content(row[0], links, row[2]) if row and row[0] else None


def _markup(text: bytes) -> str:
    """The text and the pictures of a snapshot."""
    return _tag(" ", load_markup(text))


def _text_digest(text: bytes) -> bytes:
    return blake2b(_markup(text).encode("utf-8", "replace"), digest_size=16).digest()


def _open_urls(url: str) -> Iterator[tuple[str, str]]:
    """The URL with each segment of its path open in turn, and the part of it that ends with that segment."""
    path = url.partition("?")[0]
    for segment in islice(_segment.finditer(path, path.index("/", 8)), _MAX_SEGMENTS):
        pattern = f"{url[: segment.start()]}*"
        yield pattern + url[segment.end() :], pattern


def _open_segment(url: str, pattern: str) -> re.Match[str] | None:
    """The segment that a pattern leaves open; None for a URL without it."""
    above = pattern[:-1]
    return _segment.match(url, len(above)) if url.startswith(above) else None


def _form(url: str, pattern: str) -> str:
    """The segment that a pattern leaves open, with figures that may count as ``#``; "" for another URL."""
    segment = _open_segment(url, pattern)
    return _count("#", segment[0]) if segment else ""


def _opened(url: str, pattern: str) -> str:
    """A link with the segment open that a pattern leaves open."""
    segment = _open_segment(url, pattern)
    return f"{pattern}{url[segment.end() :]}" if segment else url


def _note(reason: str, url: Url, count: int) -> str:
    """The note on one space of copies."""
    return (
        f"{reason.removeprefix(COPY_PREFIX)}. This is an infinite URL space, so {count:,} of its URLs "
        f"{'was' if count == 1 else 'were'} left out, such as {url}. --set scope.trap_limit=0 crawls all of them"
    )
