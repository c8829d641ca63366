"""Sums up the claims of all sources for each page, and states them in words."""

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

import msgspec

from crawler.audit.orphans.classes import SourceStats
from crawler.audit.source_record import COUNT_NAMES, EXPORT_NAMES, REQUEST_NAMES, SourceKind, SourceReport, file_name
from crawler.audit.sources.google.inspection import InspectionCandidate
from crawler.model import State, Url, unpack_page
from crawler.state.database import storage_errors

MAX_EVIDENCE: Final = 20  # sources and spellings of a page in a finding

# A client that is redirected requests the target too, and only that request counts for the target. If no log has that
# request, the redirected ones show that the target is missed, unless it is a page.
_IS_OWN: Final = "(u.url = c.url OR c.ok + c.dead > 0 OR c.moved = 0)"
_IS_LOST: Final = f"(NOT {_IS_OWN} AND v.state != '{State.INDEXABLE}')"
_REQUESTS: Final = ", ".join(f"max(sum(c.{n} * {_IS_OWN}), sum(c.{n} * {_IS_LOST}))" for n in REQUEST_NAMES)
_OTHER_SUMS: Final = ", ".join(f"sum(c.{name})" for name in COUNT_NAMES[len(REQUEST_NAMES) :])
_DAYS: Final = "min(nullif(c.first, '')), max(c.last)"
_PAGE_SUMS: Final = f"""SELECT h.id, i.source, {_DAYS}, {_REQUESTS}, {_OTHER_SUMS}, min(i.doubtful)
FROM home h JOIN claim c ON c.url = h.url JOIN input i ON i.id = c.input JOIN site.url u ON u.id = h.id
  JOIN site.visit v ON v.id = h.id"""  # noqa: S608
_BY_PAGE: Final = f"{_PAGE_SUMS} GROUP BY h.id, i.source ORDER BY h.id"
_OF_PAGE: Final = f"{_PAGE_SUMS} WHERE h.id = ? GROUP BY i.source"
_PAGE_OF_URL: Final = "SELECT h.id FROM home h JOIN site.url u ON u.id = h.id AND u.url = h.url WHERE h.url = ?"
_SUMS: Final = ", ".join(f"sum(c.{name})" for name in COUNT_NAMES)
_OF_URL: Final = f"""SELECT 0, i.source, {_DAYS}, {_SUMS}, min(i.doubtful)
FROM claim c JOIN input i ON i.id = c.input WHERE c.url = ? GROUP BY i.source"""  # noqa: S608
_EXPORTED: Final = ", ".join(f"c.{name}" for name in EXPORT_NAMES)
_CLAIMS: Final = f"""SELECT c.url, i.id, i.source, i.account, c.first, c.last, c.people, c.bots, c.status, {_EXPORTED},
  c.lastmod, c.agents
FROM home h JOIN claim c ON c.url = h.url JOIN input i ON i.id = c.input WHERE h.id = ? ORDER BY i.id, c.url LIMIT ?"""  # noqa: S608 - columns
_ADDRESSES: Final = """SELECT count(DISTINCT w.visitor >> 32) FROM home h JOIN visitor w ON w.url = h.url
  WHERE h.id = ? AND w.errors > 0"""
_INDEXABLE: Final = f"""SELECT u.url, v.id IN (SELECT page FROM entry WHERE page IS NOT NULL),
    u.url IN (SELECT url FROM finding WHERE rule GLOB 'orphan.*'), coalesce(s.impressions, 0), v.status, c.page
  FROM site.visit v JOIN site.url u ON u.id = v.id LEFT JOIN site.content c ON c.id = v.content
  LEFT JOIN (SELECT h.id, sum(c.impressions) AS impressions FROM home h JOIN claim c ON c.url = h.url
    GROUP BY h.id) s ON s.id = v.id
  WHERE v.state = '{State.INDEXABLE}' ORDER BY u.url"""  # noqa: S608 - our own
_SOURCE_WORDS: Final = {SourceKind.SEARCH.value: "search console"}  # where the name says too little
_decode_report = msgspec.msgpack.Decoder(SourceReport).decode


class UrlEvidence:
    """Reads the claims by the page that they belong to. Every method raises StorageError when the disk fails."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def by_page(self) -> Iterator[tuple[int, SourceStats]]:
        """The claims about each URL of the site that has any, by ascending ids."""
        with storage_errors():
            for number, rows in groupby(self._db.execute(_BY_PAGE), itemgetter(0)):
                yield number, _sum_sources(rows)

    def of_url(self, url: str) -> SourceStats:
        """The claims about a URL: for a page those about all its spellings, for a redirect only its own."""
        with storage_errors():
            page = self._db.execute(_PAGE_OF_URL, (url,)).fetchone()
            query, values = (_OF_PAGE, page) if page else (_OF_URL, (url,))
            return _sum_sources(self._db.execute(query, values))

    def addresses(self, number: int) -> int:
        """From how many addresses people got errors for a URL; at most about 64 of each log are known."""
        with storage_errors():
            (count,) = self._db.execute(_ADDRESSES, (number,)).fetchone()
        return int(count)

    def sentences(self, number: int, url: Url) -> tuple[list[str], list[str]]:
        """The evidence for a URL: a sentence for each source and spelling; and the other spellings."""
        with storage_errors():
            rows = self._db.execute(_CLAIMS, (number, MAX_EVIDENCE)).fetchall()
            spellings = list(dict.fromkeys(row[0] for row in rows if row[0] != url))
            return [_source_sentence(url, row, self._place(row)) for row in rows], spellings

    def _place(self, row: tuple[Any, ...]) -> str:
        """The source of a claim. For a sitemap entry this is its own file, which an index may have led to."""
        spelled, number, source, account, *_ = row
        entry = None
        if source == SourceKind.SITEMAP:
            sql = "SELECT file, line FROM entry WHERE url = ? AND input = ? LIMIT 1"
            entry = self._db.execute(sql, (spelled, number)).fetchone()
        return f"{file_name(entry[0])}:{entry[1]}" if entry else file_name(_decode_report(account).name)


def inspection_candidates(db: sqlite3.Connection) -> Iterator[InspectionCandidate]:
    """The indexable pages of an audit in order of URL, once its orphans and sitemap entries are stored.

    Raises StorageError.
    """
    with storage_errors():
        for url, is_listed, is_orphan, impressions, status, packed in db.execute(_INDEXABLE):
            title = unpack_page(packed).title if packed else ""
            yield InspectionCandidate(Url(url), bool(is_listed), bool(is_orphan), impressions, status, title)


def _sum_sources(rows: Iterable[tuple[Any, ...]]) -> SourceStats:
    """The sums of all sources. A log knows the days of visits; exports state the period that they cover."""
    known: SourceStats | None = None
    for _, name, first, last, *numbers, doubtful in rows:
        source = SourceKind(name)
        if known is None:  # most URLs have one source
            counts = dict(zip(COUNT_NAMES, numbers, strict=True))
            known = SourceStats(sources={source}, first=first or "", last=last, **counts)
        else:
            for column, number in zip(COUNT_NAMES, numbers, strict=True):
                setattr(known, column, getattr(known, column) + number)
            if source is SourceKind.LOG:
                known.first, known.last = first or "", last
            elif SourceKind.LOG not in known.sources:
                known.first = min(filter(None, (known.first, first)), default="")
                known.last = max(known.last, last)
            known.sources.add(source)
        if doubtful:
            known.doubtful.add(source)
    return known or SourceStats()


def _source_sentence(url: Url, row: tuple[Any, ...], place: str) -> str:
    spelled, _, source, account, first, last, *numbers, lastmod, agents = row
    people, bots, status, *counts = numbers
    parts = []
    if people or bots:
        parts.append(f"{people:,} requests by people and {bots:,} by bots{_agents_text(agents)}")
    if status:
        parts.append(f"last status {status}")
    for count, noun in zip(counts, EXPORT_NAMES, strict=True):
        if count:
            parts.append(f"{count:,} {noun if count > 1 else noun[:-1]}")
    if about := _decode_report(account).about:
        parts.append(f'"{about}"')
    if lastmod:
        parts.append(f"lastmod {lastmod}")
    if first or last:
        parts.append(f"on {last}" if first in ("", last) else f"from {first} to {last}")
    as_spelled = f" as {spelled}" if spelled != url else ""
    return f"{_SOURCE_WORDS.get(source, source)} {place}{as_spelled}{': ' if parts else ''}{', '.join(parts)}"


def _agents_text(packed: str) -> str:
    agents: dict[str, int] = msgspec.json.decode(packed)
    top = sorted(agents.items(), key=lambda item: (-item[1], item[0]))[:3]
    return f" ({', '.join(f'{name} {count:,}' for name, count in top)})" if top else ""
