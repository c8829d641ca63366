"""Reads the story of one URL from the state: its last visit, its history, its place in the sitemap, and their words."""

import sqlite3
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from crawler.crawl.frontier.storage import unpack_links
from crawler.lastmod.store import ObservationStore
from crawler.model import DISCOVERY_NAMES, DiscoveredBy, DocumentKind, Page, Request, State, Url
from crawler.state.database import storage_errors
from crawler.state.runs import PARTIAL, Run, RunStore
from crawler.units import count_text
from sitemap import BuildTime

if TYPE_CHECKING:
    from crawler.audit.graph.graph import LinkGraph

MAX_STEPS: Final = 1_000  # from the start to a URL
MAX_HOPS: Final = 20
MAX_REFERRERS: Final = 100
MAX_NEIGHBOURS: Final = 5_000  # URLs of a directory to compare


class UrlRecord(Struct, frozen=True, kw_only=True):
    """What a table keeps about a URL: ``visit`` of the last run, ``memory`` of all runs. The names are the columns."""

    state: State
    reason: str
    status: int | None
    target: Url | None
    last_modified: str
    header_date: str
    page_date: str
    page_date_source: str
    seen_at: float | None
    evidence: str
    lastmod: str
    lastmod_source: str
    content: int | None
    found: int = 0  # flags of DiscoveredBy
    depth: int = 0
    kind: DocumentKind = DocumentKind.PAGE
    due: float = 0.0  # Unix time
    requests: list[Request] = []
    changed: int | None = None
    discounted: str = ""
    first_run: int = 0
    last_run: int = 0
    changed_run: int | None = None
    full_run: int | None = None
    failures: int = 0


class PageFacts(Struct, frozen=True, kw_only=True):
    """What was read of a page, in which run. The names are those of :class:`crawler.model.Page`, but ``type``."""

    run: int | None
    type: str
    title: str
    language: str
    is_html: bool
    fallback: str
    faults: list[str]
    canonicals: list[Url]
    canonical_faults: list[str]
    noindex: str
    engine_noindex: str
    nofollow: bool


class SitemapPosition(Struct, frozen=True):
    """A place in the sitemap. ``is_kept``: the page failed temporarily, and stays listed.

    ``is_held``: the gate holds it.
    """

    file: str
    group: str
    shard: int
    lastmod: str
    lastmod_source: str
    is_kept: bool
    is_held: bool = False


class DiscoveryStep(Struct, frozen=True):
    """A URL on the path from the start, and how it was found on this path."""

    url: Url
    by: list[str]


class RedirectHop(Struct, frozen=True):
    """The target of a redirect or a canonical. ``state`` None: no run has found it."""

    url: Url
    state: State | None
    reason: str
    is_listed: bool


class ChangeFeedEntry(Struct, frozen=True):
    """An entry of the change feed. ``at`` is the start of the run in Unix time, None when its record was deleted."""

    run: int
    at: float | None
    kind: str
    target: str
    lastmod: str
    before: str
    reason: str


class ReferringPage(Struct, frozen=True):
    """A page that leads to a URL, how, and via which redirect or copy, or ""."""

    url: Url
    how: str
    via: str = ""


class LinkFacts(Struct, frozen=True):
    """A URL in the link graph. ``inlinks`` counts other pages with links to it that may be followed.

    ``clicks`` is None if no path leads there. ``weight`` is 1.0 for the average page. ``referrers`` are
    some of the pages, the best first.
    """

    inlinks: int
    clicks: int | None
    weight: float
    referrers: list[ReferringPage] = []


class StoryTopic(Struct, frozen=True):
    """One part of the story, in lines of text. ``values`` are facts for programs that the story does not have."""

    name: str
    lines: list[str]
    values: Any = None


class UrlStory(Struct, frozen=True, kw_only=True):
    """Everything about one URL. ``is_known``: a run has found it; None or empty means unknown. Times are Unix times."""

    url: Url
    is_known: bool = False
    run: Run | None = None  # that of the last visit
    last_visit: UrlRecord | None = None
    history: UrlRecord | None = None  # over all runs
    page: PageFacts | None = None  # its last parsed content, of any run
    steps: list[DiscoveryStep] = []  # from the start to this URL; the last thousand of a longer path
    hops: list[RedirectHop] = []  # its redirect targets, in order
    position: SitemapPosition | None = None  # in the published sitemap
    planned: SitemapPosition | None = None  # in the sitemap of the unfinished run
    changes: list[ChangeFeedEntry] = []
    starts: dict[int, float] = {}  # start of each recorded run
    link_facts: LinkFacts | None = None
    sources: list[str] = []  # sentences from the sources of an audit
    findings: list[str] = []  # findings of the audit, as sentences
    distrust: str = ""  # why Last-Modified is not believed on the whole site, a sentence
    builds: list[BuildTime] = []  # times of builds among the Last-Modified of the site

    @property
    def is_audit(self) -> bool:
        """Whether the last run was an audit, which publishes nothing."""
        return self.run is not None and self.run.outcome == "audited"

    @property
    def is_orphan(self) -> bool:
        """Whether only an audit knows the page, because no links lead to it."""
        is_page = self.is_audit and self.end[0] is State.INDEXABLE
        return is_page and self.link_facts is not None and self.link_facts.clicks is None

    @property
    def end(self) -> tuple[State | None, str]:
        """Its state in the last run that found it, with the reason; None when it is not stored."""
        latest = self.last_visit or self.history
        return (latest.state, latest.reason) if latest else (None, "")

    @property
    def facts(self) -> dict[str, Any]:
        """The story as JSON values."""
        values: dict[str, Any] = msgspec.to_builtins(self)
        del values["starts"], values["builds"]
        return values


def discovery_text(found: int) -> list[str]:
    """How a URL was found, each way in words."""
    return [way for flag, way in DISCOVERY_NAMES.items() if found & flag] or ["unknown"]


def distance_text(clicks: int | None) -> str:
    """The distance from the start over followed links; None: there is no path."""
    return (
        "no path of followed links leads to it" if clicks is None else f"{count_text(clicks, 'click')} from the start"
    )


def state_text(state: State | None, reason: str = "") -> str:
    """The state of a URL with its reason: ``noindex (meta robots "noindex")``."""
    name = state.value if state else "never found"
    return f"{name} ({reason})" if reason else name


def utc_time_text(at: float) -> str:
    """A Unix time for people, in UTC: ``2026-01-31 12:00:00Z``."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def run_text(number: int, story: UrlStory) -> str:
    """A run or an audit with the time of its start, if that is known: ``run 3 (2026-01-31 12:00:00Z)``.

    0 stands for the runs of an old version that recorded none.
    """
    if not number:
        return "a run of an older version"
    name, at = f"{'audit' if story.is_audit else 'run'} {number}", story.starts.get(number)
    return name if at is None else f"{name} ({utc_time_text(at)})"


_RECORD: Final = (
    *("state", "reason", "status", "target", "last_modified", "header_date", "page_date", "page_date_source"),
    *("seen_at", "evidence", "lastmod", "lastmod_source", "content"),
)
_COLUMNS: Final = {
    "visit": (*_RECORD, "found", "depth", "kind", "due", "changed", "discounted", "trail"),
    "memory": (*_RECORD, "first_run", "last_run", "changed_run", "full_run", "failures"),
}
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
        return LinkFacts(graph.all_inlinks(node), None if clicks < 0 else clicks, weight, referrers)

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
        visit, history = self._record("visit", number), self._record("memory", number)
        content = visit.content if visit and visit.content is not None else history.content if history else None
        steps = list(self._steps_to(number)) if visit else []
        steps.reverse()
        target = visit.target if visit else history.target if history else None
        run = next(iter(RunStore(self._db).last(1)), None)
        is_part = run is not None and run.ended is None and run.outcome == PARTIAL
        dates = ObservationStore(self._db, 0)
        return UrlStory(
            url=url,
            is_known=url_row is not None,
            run=run,
            last_visit=visit,
            history=history,
            page=self._page(content),
            steps=steps,
            hops=list(self._hops(target, url)),
            position=self._position("listing" if is_part else "published", number),
            planned=self._position("listing", number),
            changes=[ChangeFeedEntry(*row) for row in self._db.execute(_SELECT_CHANGES, (url,))],
            starts=dict(self._db.execute("SELECT number, started FROM run")),
            distrust=dates.distrust,
            builds=dates.builds,
        )

    def _record(self, table: str, number: int) -> UrlRecord | None:
        columns = _COLUMNS[table]
        row = self._row(f"SELECT {', '.join(columns)} FROM {table} WHERE id = ?", number)  # noqa: S608 - names of our own
        if row is None:
            return None
        values = dict(zip(columns, row, strict=True))
        requests = Request.read(values.pop("trail", ""))
        return replace(msgspec.convert(values, UrlRecord), requests=requests)

    def _page(self, content: int | None) -> PageFacts | None:
        row = self._row("SELECT page, type, run FROM content WHERE id = ?", content)
        if row is None or not row[0]:
            return None
        page = _decode(row[0])
        values = {name: getattr(page, name) for name in PageFacts.__struct_fields__[2:]}
        return PageFacts(run=row[2], type=row[1], **values)

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
            yield DiscoveryStep(url, discovery_text(_link_flags(current, links) or found))
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
