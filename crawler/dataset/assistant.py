"""The tables of a crawl for AI assistants: a server of the Model Context Protocol that only reads.

Few tools, shaped by the work; each answer has at most :data:`MAX_BYTES` bytes, says which run it is of, and how to get
more. https://modelcontextprotocol.io/specification
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from typing_extensions import TypedDict

from crawler.dataset.build import open_dataset
from crawler.dataset.compare import FIELDS, WHOLE, ComparedPage
from crawler.dataset.compare import compare as compare_pages
from crawler.dataset.history import pages_at, reached_runs
from crawler.dataset.query import PAGE_PARTS, ask, lacking_orphans, named, questions
from crawler.dataset.schema import reference
from crawler.errors import SiteatlasError, UsageError
from crawler.url.normalize import join_url
from crawler.version import __version__

MAX_BYTES: Final = 28_000
"""Bytes of the rows of one answer: with what is around them, fewer than the 30,000 that assistants read well."""
MAX_ROWS: Final = 500
_MOST_OF_PART: Final = 20  # rows of a part of a page
_PART_BYTES: Final = MAX_BYTES // (len(PAGE_PARTS) + 2)
_CELL_BYTES: Final = 12  # of the line of a cell, beside its value
_MAX_CELL: Final = 1_000  # characters
_SECONDS: Final = 20.0
_READ: Final = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_INSTRUCTIONS: Final = """Siteatlas crawls websites. These tools read what its last finished run stored of each site.
Nothing here requests anything from a site or changes anything. Begin with sites. Prefer a named question (questions,
then answer); write SQL for query only if none fits, after reading schema. Every answer says which run it is of, and
whether that run saw the whole site: if it was not complete, say so before you conclude that something is missing."""


class Rows(TypedDict):
    """A part of an answer: rows by column. ``next_offset`` is where the rest begins, null at the end."""

    run: str
    columns: list[str]
    rows: list[list[Any]]
    next_offset: int | None


class SiteSummary(TypedDict):
    """One site: its name for the other tools, its last finished run, and how many URLs it knows."""

    site: str
    run: str
    urls: int
    indexable: int
    listed: int


class QuestionName(TypedDict):
    """A question that has a name."""

    name: str
    question: str


class Part(TypedDict):
    """The first rows of a table that are of one URL."""

    columns: list[str]
    rows: list[list[Any]]


class PageFacts(TypedDict):
    """What is known of one URL: its columns of ``pages``, and the first rows of each of :data:`PAGE_PARTS`."""

    run: str
    page: dict[str, Any]
    links_in: Part
    links_out: Part
    findings: Part
    visits: Part
    changes: Part
    history: Part


class _Sites:
    """The states of the sites by name."""

    def __init__(self, states: Mapping[str, Path]) -> None:
        self._states = states

    @property
    def names(self) -> Sequence[str]:
        return list(self._states)

    @contextmanager
    def open(self, site: str, *, is_audited: bool = True) -> Iterator[sqlite3.Connection]:
        """The tables of a site. Without a name, those of the only one. Raises ToolError, also for later errors."""
        name = site or (self.names[0] if len(self.names) == 1 else "")
        try:
            if name not in self._states:
                raise UsageError(f"there is no site {site!r}. The sites are {', '.join(self.names)}")
            with closing(open_dataset(self._states[name], is_audited=is_audited)) as db:
                yield db
        except SiteatlasError as error:
            raise ToolError(str(error)) from error  # which the assistant reads


def build_server(states: Mapping[str, Path]) -> MCPServer:
    """The server over the state directories of sites, by name."""
    known = _Sites(states)
    server: MCPServer = MCPServer("siteatlas", title="Siteatlas", instructions=_INSTRUCTIONS, version=__version__)

    @server.tool(title="List the sites", annotations=_READ)
    def sites() -> list[SiteSummary]:
        """List the sites: name, last finished run and whether it saw the whole site, number of URLs."""
        return [_summary(known, name) for name in known.names]

    @server.tool(title="Describe the tables", annotations=_READ)
    def schema() -> str:
        """Describe the tables for query: each column with its type, meaning and an example."""
        return reference()

    @server.tool(title="List the named questions", annotations=_READ)
    def list_questions() -> list[QuestionName]:
        """List the questions that have a name, for answer."""
        return [QuestionName(name=question.name, question=question.text) for question in questions()]

    @server.tool(title="Answer a named question", annotations=_READ)
    def answer(name: str, site: str = "", offset: int = 0, limit: int = 100) -> Rows:
        """Answer a question that list_questions names, such as broken-links."""
        return _rows(known, site, _sql_of(name), offset, limit)

    @server.tool(title="Query by SQL", annotations=_READ)
    def query(sql: str, site: str = "", offset: int = 0, limit: int = 100) -> Rows:
        """Answer one SELECT statement (SQLite) over the tables that schema describes."""
        return _rows(known, site, sql, offset, limit)

    @server.tool(title="Describe a page", annotations=_READ)
    def page(url: str, site: str = "") -> PageFacts:
        """Describe one URL or path: its state and facts, links to it and from it, findings, visits and changes."""
        with known.open(site) as db:
            return _page(db, _whole_url(db, url))

    @server.tool(title="List the links of a page", annotations=_READ)
    def links(
        url: str, direction: Literal["in", "out"] = "in", site: str = "", offset: int = 0, limit: int = 100
    ) -> Rows:
        """List the links to a URL (direction "in") or from it ("out"): other page, text, place, nofollow."""
        mine, other = ("target", "source") if direction == "in" else ("source", "target")
        with known.open(site) as db:
            quoted = _whole_url(db, url).replace("'", "''")
        sql = f"SELECT {other}, kind, anchor, place, nofollow FROM links WHERE {mine} = '{quoted}' ORDER BY {other}"  # noqa: S608
        return _rows(known, site, sql, offset, limit)

    @server.tool(title="Compare two runs", annotations=_READ)
    def compare(before: int = 0, after: int = 0, site: str = "", offset: int = 0, limit: int = 100) -> Rows:
        """Show what differs between two runs, grouped by cause; without numbers, the last two. Noise is left out."""
        return _compared(known, site, (before, after), offset, limit)

    return server


def _compared(known: _Sites, site: str, given: tuple[int, int], offset: int, limit: int) -> Rows:
    with known.open(site, is_audited=False) as db:
        reached = reached_runs(db)
        old, new = (
            number or (reached or [0])[max(-len(reached), at)] for number, at in zip(given, (-2, -1), strict=True)
        )
        if old == new or not {old, new} <= {*reached}:
            raise UsageError(f"runs {old} and {new} cannot be compared. The history has the runs {reached}")
        sides = ([ComparedPage(*page) for page in pages_at(db, run, FIELDS)] for run in (old, new))
        completeness = dict(db.execute("SELECT run, completeness FROM runs").fetchall())
        whole = {run for run, how in completeness.items() if how in WHOLE}
        result = compare_pages(*sides, is_whole=new in whole, was_whole=old in whole)
    rows = [(g.field, g.words, g.pages, ", ".join(list(g.sections)[:3]), g.examples[0]) for g in result.groups]
    start = max(0, offset)
    shown = _fitting(rows[start:], min(max(1, limit), MAX_ROWS))
    end = start + len(shown)
    name = f"run {old} to run {new}, {completeness[new]}"
    columns = ["field", "cause", "pages", "sections", "example"]
    return Rows(run=name, columns=columns, rows=shown, next_offset=end if end < len(rows) else None)


def _sql_of(name: str) -> str:
    try:
        return named(name).sql
    except UsageError as error:
        raise ToolError(f"there is no question {name!r}. list_questions has the names") from error


def _summary(known: _Sites, name: str) -> SiteSummary:
    try:
        with known.open(name) as db:
            row = db.execute("SELECT count(*), sum(indexable), sum(listed) FROM pages").fetchone()
            urls, indexable, listed = (value or 0 for value in row)
            return SiteSummary(site=name, run=_run(db), urls=urls, indexable=indexable, listed=listed)
    except ToolError as error:  # a site that no run has finished must not hide the others
        return SiteSummary(site=name, run=str(error), urls=0, indexable=0, listed=0)


def _run(db: sqlite3.Connection) -> str:
    query = "SELECT run, ended, completeness, because FROM runs ORDER BY run DESC LIMIT 1"
    number, ended, completeness, because = db.execute(query).fetchone()
    parts = (f"run {number}, ended {ended}, {completeness}" + (f": {because}" if because else ""), lacking_orphans(db))
    return "; ".join(filter(None, parts))


def _rows(known: _Sites, site: str, sql: str, offset: int, limit: int) -> Rows:
    start, most = max(0, offset), min(max(1, limit), MAX_ROWS)
    with known.open(site) as db:
        found = ask(db, sql, limit=start + most, seconds=_SECONDS, slow="Narrow it", tables="the tool schema")
        run = _run(db)
    rows = _fitting(found.rows[start:], most)
    end = start + len(rows)
    is_more = found.is_cut or end < len(found.rows)
    return Rows(run=run, columns=list(found.columns), rows=rows, next_offset=end if is_more else None)


def _fitting(found: Sequence[Sequence[object]], most: int, room: int = MAX_BYTES) -> list[list[Any]]:
    """The first rows, as many as there is room for."""
    rows: list[list[Any]] = []
    size = 0
    for row in found[:most]:
        cells = [_cell(value) for value in row]
        # the answer has them twice: as a structure, and as text with a line for each cell
        size += 2 * len(msgspec.json.encode(cells)) + _CELL_BYTES * (len(cells) + 1)
        if rows and size > room:
            break
        rows.append(cells)
    return rows


def _cell(value: object) -> object:
    if isinstance(value, str) and len(value) > _MAX_CELL:
        return f"{value[:_MAX_CELL]}…"
    return value if isinstance(value, str | int | float | None) else str(value)


def _whole_url(db: sqlite3.Connection, text: str) -> str:
    """A URL as it is, or that of a path of the site."""
    if not text.startswith("/"):
        return text
    (start,) = db.execute("SELECT url FROM pages ORDER BY depth IS NULL, depth, url LIMIT 1").fetchone() or ("",)
    return join_url(start, text) if start else text


def _page(db: sqlite3.Connection, url: str) -> PageFacts:
    cursor = db.execute("SELECT * FROM pages WHERE url = ?", (url,))
    row = cursor.fetchone()
    if row is None:
        raise UsageError(f"the crawl does not know {url}. Ask for the exact URL, as in the table pages")
    names = [column[0] for column in cursor.description]
    facts = {name: _cell(value) for name, value in zip(names, row, strict=True)}
    parts = {name: _part(db.execute(sql, {"url": url, "most": _MOST_OF_PART})) for name, sql in PAGE_PARTS.items()}
    return msgspec.convert({"run": _run(db), "page": facts, **parts}, PageFacts)


def _part(cursor: sqlite3.Cursor) -> Part:
    columns = [column[0] for column in cursor.description]
    return Part(columns=columns, rows=_fitting(cursor.fetchall(), _MOST_OF_PART, _PART_BYTES))
