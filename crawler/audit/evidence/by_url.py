"""Sums up the claims of all sources for each page, and states them in words."""

import sqlite3
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from crawler.audit.orphans.classes import SourceStats
from crawler.audit.source_record import SourceKind, SourceReport
from crawler.model import State, Url
from crawler.state.database import storage_errors

MAX_EVIDENCE: Final = 20  # sources and spellings of a page in a finding

# A browser that is redirected to a page requests that page too, and only that request counts as a visit.
_COUNTS_FOR_PAGE: Final = f"(u.url = c.url OR c.ok + c.dead > 0 OR c.moved = 0 OR v.state != '{State.INDEXABLE}')"
_SUMS: Final = f"""SELECT h.id, i.source, min(nullif(c.first, '')), max(c.last), sum(c.people * {_COUNTS_FOR_PAGE}),
  sum(c.bots * {_COUNTS_FOR_PAGE}), sum(c.engines * {_COUNTS_FOR_PAGE}), sum(c.scanners * {_COUNTS_FOR_PAGE}),
  sum(c.ok), sum(c.moved), sum(c.dead),
  sum(c.clicks),
  sum(c.impressions), sum(c.sessions), sum(c.views), sum(c.users), sum(c.links), sum(c.domains), min(i.doubtful)
FROM home h JOIN claim c ON c.url = h.url JOIN input i ON i.id = c.input JOIN site.url u ON u.id = h.id
  JOIN site.visit v ON v.id = h.id"""  # noqa: S608
_COUNT_NAMES: Final = ("clicks", "impressions", "sessions", "views", "users", "links", "domains")
_SUMMED_COLUMNS: Final = ("people", "bots", "engines", "scanners", "ok", "moved", "dead", *_COUNT_NAMES)
_BY_PAGE: Final = f"{_SUMS} GROUP BY h.id, i.source ORDER BY h.id"
_BY_URL: Final = f"{_SUMS} WHERE h.id = (SELECT id FROM home WHERE url = ?) GROUP BY i.source"  # noqa: S608
_CLAIMS: Final = """SELECT c.url, i.source, i.account, c.first, c.last, c.people, c.bots, c.status, c.clicks,
  c.impressions, c.sessions, c.views, c.users, c.links, c.domains, c.lastmod, c.agents
FROM home h JOIN claim c ON c.url = h.url JOIN input i ON i.id = c.input WHERE h.id = ? ORDER BY i.id, c.url LIMIT ?"""
_ADDRESSES: Final = """SELECT count(DISTINCT w.visitor >> 32) FROM home h JOIN visitor w ON w.url = h.url
  WHERE h.id = ?"""
_decode_report = msgspec.msgpack.Decoder(SourceReport).decode


class UrlEvidence:
    """Reads the claims by the page that they belong to. Every method raises StorageError when the disk fails."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def by_page(self) -> Iterator[tuple[int, SourceStats]]:
        """The claims about each URL of the site that has any, by ascending ids."""
        with storage_errors():
            current, known = -1, SourceStats()
            for number, source, first, last, *numbers, doubtful in self._db.execute(_BY_PAGE):
                if number != current:
                    if current >= 0:
                        yield current, known
                    current, known = number, SourceStats()
                known = _add_source(known, SourceKind(source), first or "", last, numbers, doubtful)
            if current >= 0:
                yield current, known

    def of_url(self, url: str) -> SourceStats:
        """The claims about the page that a claimed URL belongs to."""
        known = SourceStats()
        with storage_errors():
            for _, source, first, last, *numbers, doubtful in self._db.execute(_BY_URL, (url,)):
                known = _add_source(known, SourceKind(source), first or "", last, numbers, doubtful)
        return known

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
        spelled, source, account, *_ = row
        entry = None
        if source == SourceKind.SITEMAP:
            entry = self._db.execute("SELECT file, line FROM entry WHERE url = ? LIMIT 1", (spelled,)).fetchone()
        return f"{entry[0]}:{entry[1]}" if entry else _decode_report(account).name


def _add_source(
    known: SourceStats, source: SourceKind, first: str, last: str, numbers: list[int], doubtful: int
) -> SourceStats:
    if source is SourceKind.LOG:  # a log knows the days of visits; exports state the period that they cover
        known = msgspec.structs.replace(known, first="", last="")
    elif SourceKind.LOG in known.sources:
        first = last = ""
    return SourceStats(
        sources=known.sources | {source},
        doubtful=known.doubtful | ({source} if doubtful else set()),
        first=min(filter(None, (known.first, first)), default=""),
        last=max(known.last, last),
        **{name: getattr(known, name) + count for name, count in zip(_SUMMED_COLUMNS, numbers, strict=True)},
    )


def _source_sentence(url: Url, row: tuple[Any, ...], place: str) -> str:
    spelled, source, account, first, last, *numbers, lastmod, agents = row
    people, bots, status, *counts = numbers
    parts = []
    if people or bots:
        parts.append(f"{people:,} requests by people and {bots:,} by bots{_agents_text(agents)}")
    if status:
        parts.append(f"last status {status}")
    for count, noun in zip(counts, _COUNT_NAMES, strict=True):
        if count:
            parts.append(f"{count:,} {noun if count > 1 else noun[:-1]}")
    if about := _decode_report(account).about:
        parts.append(f'"{about}"')
    if lastmod:
        parts.append(f"lastmod {lastmod}")
    if first or last:
        parts.append(f"on {last}" if first in ("", last) else f"from {first} to {last}")
    as_spelled = f" as {spelled}" if spelled != url else ""
    return f"{_SOURCE_WORDS[SourceKind(source)]} {place}{as_spelled}{': ' if parts else ''}{', '.join(parts)}"


def _agents_text(packed: str) -> str:
    agents: dict[str, int] = msgspec.json.decode(packed)
    top = sorted(agents.items(), key=lambda item: (-item[1], item[0]))[:3]
    return f" ({', '.join(f'{name} {count:,}' for name, count in top)})" if top else ""


_SOURCE_WORDS: Final = {
    SourceKind.SITEMAP: "sitemap",
    SourceKind.SEARCH: "search console",
    SourceKind.ANALYTICS: "analytics",
    SourceKind.LOG: "log",
    SourceKind.BACKLINKS: "backlinks",
    SourceKind.LIST: "list",
    SourceKind.CRAWL: "crawl",
}
