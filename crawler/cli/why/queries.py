"""Reads the story of one URL from the state, and finds known URLs with a similar spelling."""

import sqlite3
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import msgspec

from crawler.cli.why.story import (
    ChangeFeedEntry,
    DiscoveryStep,
    LastVisit,
    LinkFacts,
    RedirectHop,
    ReferringPage,
    SitemapPosition,
    UrlHistory,
    UrlStory,
)
from crawler.crawl.frontier.storage import unpack_links
from crawler.lastmod.store import ObservationStore
from crawler.model import DiscoveredBy, DocumentKind, Page, Request, State, Url
from crawler.state.database import storage_errors
from crawler.state.runs import RunStore

if TYPE_CHECKING:
    from crawler.audit.graph.graph import LinkGraph

MAX_STEPS: Final = 1_000  # from the start to a URL
MAX_HOPS: Final = 20
MAX_REFERRERS: Final = 100
MAX_NEIGHBOURS: Final = 5_000  # URLs of a directory to compare

_SELECT_VISIT: Final = """SELECT v.state, v.reason, v.found, v.depth, v.kind, v.due, v.status, v.target, v.trail,
  v.last_modified, v.header_date, v.page_date, v.page_date_source, v.seen_at, v.changed, v.evidence, v.lastmod,
  v.lastmod_source, v.discounted, v.content FROM visit v WHERE v.id = ?"""
_SELECT_HISTORY: Final = """SELECT state, reason, first_run, last_run, changed_run, full_run, failures, status, target,
  last_modified, header_date, page_date, page_date_source, seen_at, lastmod, lastmod_source, evidence, content
  FROM memory WHERE id = ?"""
_SELECT_POSITION: Final = "SELECT file, grp, coalesce(shard, 0), lastmod, lastmod_source, kept FROM {} WHERE id = ?"
_SELECT_PARENT: Final = """SELECT v.source, v.found, u.url, s.target, c.links FROM visit v JOIN url u ON u.id = v.id
  LEFT JOIN visit s ON s.id = v.source LEFT JOIN content c ON c.id = s.content WHERE v.id = ?"""
_SELECT_HOP: Final = """SELECT coalesce(v.state, m.state), coalesce(v.reason, m.reason, ''), coalesce(v.target,
m.target),
    EXISTS (SELECT 1 FROM published p WHERE p.id = u.id)
  FROM url u LEFT JOIN visit v ON v.id = u.id LEFT JOIN memory m ON m.id = u.id WHERE u.url = ?"""
# CROSS: run by run, each by the key of the feed, instead of a scan of all feeds
_SELECT_CHANGES: Final = """SELECT r.number, r.started, c.kind, c.target, c.lastmod, c.before, c.reason
  FROM run r CROSS JOIN change c ON c.run = r.number AND c.url = ? ORDER BY r.number"""
_SELECT_RANGE: Final = "SELECT url FROM url WHERE url >= ? AND url < ? LIMIT ?"
_decode = msgspec.msgpack.Decoder(Page).decode


class UrlStories:
    """The stories in the state of one site. Every method raises StorageError."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def about(self) -> dict[str, str]:
        """The metadata of the state: its site and the settings of its runs."""
        with storage_errors():
            return dict(self._db.execute("SELECT key, value FROM about"))

    def knows(self, url: Url) -> bool:
        """Whether a run has found a URL."""
        return self._row("SELECT 1 FROM url WHERE url = ?", url) is not None

    def story(self, url: Url) -> UrlStory:
        """Everything about a URL, in one snapshot, also while a run is writing."""
        with storage_errors():
            self._db.execute("BEGIN")
            try:
                return self._story(url)
            finally:
                self._db.execute("COMMIT")

    def link_facts(self, url: Url) -> LinkFacts | None:
        """The links to a URL; None when the last run did not find it. The first call loads all links."""
        row = self._row("SELECT v.id FROM visit v JOIN url u USING (id) WHERE u.url = ?", url)
        graph = self._graph if row else None
        node = graph.nodes.node(row[0]) if graph else -1
        if graph is None or node < 0:
            return None
        clicks = int(graph.depth[node])
        referrers = [
            ReferringPage(
                self._url(graph, lead.node), lead.way.word, self._url(graph, lead.via) if lead.via >= 0 else ""
            )
            for lead in graph.referrers(node, MAX_REFERRERS)
        ]
        weight = float(graph.weight[node])
        return LinkFacts(int(graph.inlinks[node]), None if clicks < 0 else clicks, weight, referrers)

    @cached_property
    def _graph(self) -> "LinkGraph | None":
        from crawler.audit.graph.load import load_graph  # noqa: PLC0415 - arrays are only needed for this

        return load_graph(self._db)

    def _url(self, graph: "LinkGraph", node: int) -> Url:
        url: Url = self._row("SELECT url FROM url WHERE id = ?", int(graph.nodes.ids[node]))[0]
        return url

    def spelled(self, urls: Sequence[Url]) -> list[Url]:
        """The known URLs that equal one of these, ignoring case."""
        marks = ", ".join("?" * len(urls))
        with storage_errors():
            rows = self._db.execute(f"SELECT url FROM url WHERE url COLLATE NOCASE IN ({marks})", urls)  # noqa: S608
            return [Url(url) for (url,) in rows]

    def neighbours(self, url: Url) -> list[Url]:
        """Some known URLs in the same directory."""
        directory = url[: url.partition("?")[0].rindex("/") + 1]
        with storage_errors():
            rows = self._db.execute(_SELECT_RANGE, (directory, f"{directory}\x7f", MAX_NEIGHBOURS))
            return [Url(neighbour) for (neighbour,) in rows]

    def _story(self, url: Url) -> UrlStory:
        url_row = self._row("SELECT id FROM url WHERE url = ?", url)
        number = url_row[0] if url_row else -1
        visit, visit_content = self._last_visit(number)
        history, history_content = self._history(number)
        content = self._row(
            "SELECT page, type, run FROM content WHERE id = ?",
            history_content if visit_content is None else visit_content,
        )
        packed, page_type, page_run = content or (None, "", None)
        steps = list(self._steps_to(number)) if visit else []
        steps.reverse()
        target = visit.target if visit else history.target if history else None
        run = next(iter(RunStore(self._db).last(1)), None)
        is_part = run is not None and run.ended is None and run.outcome == "partial"
        dates = ObservationStore(self._db, 0)
        return UrlStory(
            url=url,
            is_known=url_row is not None,
            run=run,
            last_visit=visit,
            history=history,
            page=_decode(packed) if packed else None,
            page_type=page_type,
            page_run=page_run,
            steps=steps,
            hops=list(self._hops(target, url)),
            position=self._position("listing" if is_part else "published", number),
            planned=self._position("listing", number),
            changes=[ChangeFeedEntry(*row) for row in self._db.execute(_SELECT_CHANGES, (url,))],
            starts=dict(self._db.execute("SELECT number, started FROM run")),
            distrust=dates.distrust,
            builds=dates.builds,
        )

    def _last_visit(self, number: int) -> tuple[LastVisit | None, int | None]:
        """The visit of the last run, and the id of its content."""
        row = self._row(_SELECT_VISIT, number)
        if row is None:
            return None, None
        *fields, content = row
        values = dict(zip(LastVisit.__struct_fields__, fields, strict=True))
        values |= {"state": State(values["state"]), "kind": DocumentKind(values["kind"])}
        return LastVisit(**values | {"requests": Request.read(values["requests"])}), content

    def _history(self, number: int) -> tuple[UrlHistory | None, int | None]:
        row = self._row(_SELECT_HISTORY, number)
        if row is None:
            return None, None
        state, *fields, content = row
        return UrlHistory(
            state=State(state), **dict(zip(UrlHistory.__struct_fields__[1:], fields, strict=True))
        ), content

    def _position(self, table: str, number: int) -> SitemapPosition | None:
        row = self._row(_SELECT_POSITION.format(table), number)
        if row is None:
            return None
        file, group, shard, lastmod, source, kept = row
        return SitemapPosition(file, group, shard, lastmod, source, kept == 1, kept == 2)

    def _steps_to(self, number: int) -> Iterator[DiscoveryStep]:
        """The steps by which runs found a URL, from the URL back to the start."""
        visited: set[int] = set()
        current: int | None = number
        while current is not None and current not in visited and len(visited) < MAX_STEPS:
            visited.add(current)
            row = self._row(_SELECT_PARENT, current)
            if row is None:
                return
            source, found, url, target, links = row
            if source is None:  # other links to the start are no part of the path
                found = found & (DiscoveredBy.SEED | DiscoveredBy.PREVIOUS_RUN) or found
            elif target == url:
                found = DiscoveredBy.REDIRECT
            yield DiscoveryStep(url, _link_flags(current, links) or found)
            current = source

    def _hops(self, target: Url | None, url: Url) -> Iterator[RedirectHop]:
        visited = {url}
        while target and target not in visited and len(visited) <= MAX_HOPS:
            visited.add(target)
            state, reason, next_target, listed = self._row(_SELECT_HOP, target) or (None, "", None, 0)
            yield RedirectHop(target, State(state) if state else None, reason, bool(listed))
            target = next_target

    def _row(self, query: str, *values: object) -> Any:
        with storage_errors():
            return self._db.execute(query, values).fetchone()


def _link_flags(number: int, packed: bytes | None) -> int:
    """The flags of a page's links to a URL, 0 if there are none."""
    found = 0
    for target, flags in unpack_links(packed) if packed else ():
        if target == number:
            found |= flags
    return found
