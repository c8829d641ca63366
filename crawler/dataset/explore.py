"""The tables of crawls in a browser: Datasette with our words, questions and a page for each URL. On loopback alone.

https://docs.datasette.io/en/stable/metadata.html
"""

import asyncio
import codecs
import re
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing, suppress
from contextvars import ContextVar
from functools import partial
from math import cos, log, pi, sin, sqrt
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from datasette import Response, hookimpl
from datasette.app import Datasette
from datasette.database import Database, QueryInterrupted, Results
from datasette.filters import Filters
from datasette.plugins import pm
from datasette.utils import tilde_decode
from markupsafe import Markup

from crawler.dataset.build import newest_stamp, open_dataset
from crawler.dataset.query import PAGE_PARTS, knows_audit, lacking_orphans, questions
from crawler.dataset.schema import TABLES
from crawler.errors import SiteatlasError

_FACETS: Final = {
    "pages": ["state", "section", "status", "language"],
    "pages_in_search": ["section", "state"],
    "links": ["kind", "place"],
    "findings": ["severity", "rule", "certainty"],
    "visits": ["source", "status"],
    "changes": ["change"],
    "history": ["run", "field"],
}
_OF_AUDITS: Final = ("findings", "visits", "search", "bots", "pages_in_search")
_NO_AUDIT: Final = "No finished audit when this started. Run siteatlas audit, and start siteatlas explore again."
_OLD: Final = "A run or an audit has ended since this started. Start siteatlas explore again to see it."
_HIDDEN: Final = ("url", "link", "link_type", "typed_link", "read", "about")
_URL_COLUMNS: Final = frozenset({"url", "source", "target", "page", "final", "canonical", "example", "another"})
_MAX_SHOWN: Final = 200  # links of a page
_SETTINGS: Final = {
    "default_page_size": 50,
    "sql_time_limit_ms": 10_000,
    "facet_time_limit_ms": 5_000,
    "suggest_facets": False,  # it tries each column, which takes seconds on a large site
    "allow_download": False,
    "num_sql_threads": 8,  # some may be busy for pages that nobody looks at any more
}
_MAX_SECTIONS: Final = 24  # of the picture
_MAX_COUNTED: Final = 100_000
"""Rows of a table that are counted: to count all links of a large site takes ten seconds. ``base.html`` names it."""
_ROWS_WITHIN: Final = 0.3
_COUNTS_WITHIN: Final = 0.1
"""Seconds. What takes longer comes after the page, which says so and is there half a second after a click."""
_MAPPED: Final = 2**40  # bytes: as many as SQLite can
_MOST_KEPT: Final = 100  # answers: most of them have up to 50 rows
_asked_at: ContextVar[float | None] = ContextVar(
    "when a browser that gets the rest later asked for a page", default=None
)
_of_url: Final = re.compile(r'(where |and |order by |\()("?url\b)').sub
_of_facet: Final = re.compile(r"(?<=from pages )(where .+?) *\n *\)\n", re.DOTALL).search
_of_next_page: Final = re.compile(r"(?:where|and) (?:\((?:[^()]*\()?[^()]*)?rowid > :p\d+\)*").sub
"""What a facet of a later page leaves out: Datasette would count the rows of this page and those after it."""
_FEW: Final = 20_000
"""Pages that are looked up by their numbers for each facet. Of more, a pass over all pages is quicker."""
_START: Final = "SELECT url FROM pages WHERE depth = 0 LIMIT 1"
_RUN: Final = "SELECT run, started, completeness FROM runs ORDER BY run DESC LIMIT 1"
_STATES: Final = "SELECT state, count(*) FROM pages GROUP BY 1 ORDER BY 2 DESC, 1"
_SECTIONS: Final = "SELECT section, count(*) FROM pages WHERE indexable GROUP BY 1 ORDER BY 2 DESC, 1"
_SECTION_LINKS: Final = """WITH known AS MATERIALIZED (SELECT u.id, p.section FROM url u JOIN pages p ON p.url = u.url)
  SELECT s.section, t.section, count(*) FROM link l JOIN known s ON s.id = l.source JOIN known t ON t.id = l.target
  WHERE l.kind = 'link' AND s.section != t.section GROUP BY 1, 2"""


def one_time_link(data: Datasette, place: str) -> str:
    """The link that lets one browser in. ``place`` is the scheme, host and port."""
    return f"{place}/-/auth-token?token={data._root_token}"  # noqa: SLF001 - as its own command does


class _Tables(Database):  # type: ignore[misc]
    """The tables of a site. Datasette would read the whole file for a hash, of which it makes a colour."""

    hash = "276890"

    def __init__(self, *args: Any, state: Path, stamp: str, lacks: str, **options: Any) -> None:
        super().__init__(*args, **options)
        self._state, self._stamp, self._lacks = state, stamp, lacks
        self._answers: dict[tuple[str, ...], asyncio.Future[Results]] = {}

    def notes(self) -> list[str]:
        """What is missing in the tables, in sentences."""
        with suppress(SiteatlasError):
            if not self._stamp.startswith(newest_stamp(self._state)):  # which has no audit while one is active
                return [_OLD]
        return [self._lacks] if self._lacks else []

    async def execute(self, sql: str, params: Any = None, **options: Any) -> Results:
        """Answer each query once, and count the rows of a table up to a limit.

        Raises QueryInterrupted, also if a browser gets the rest of its page first.
        """
        is_facet = options.get("custom_time_limit") == _SETTINGS["facet_time_limit_ms"]
        is_count = sql.startswith("select count(*) from ") and not options
        if is_facet:
            sql = _of_next_page("", sql)
            params = {name: value for name, value in dict(params).items() if f":{name}" in sql}
            sql, params = await self._over_few(sql, params)
        if is_count:
            of_pages = sql.startswith("select count(*) from pages where ")
            numbers, ids = (", json_group_array(rowid)", "rowid") if of_pages else ("", "1")
            sql = f"select count(*){numbers} from (select {ids} {sql[16:]} limit {_MAX_COUNTED + 1})"  # noqa: S608 - of Datasette
        is_filter = " from pages where " in sql and "'" not in sql  # Datasette binds its values, people quote them
        if is_filter and (is_count or "select rowid, " in sql):
            sql = _of_url(r"\1+\2", sql)  # a search in its index looks up a page for each URL
        within = _COUNTS_WITHIN if is_count or is_facet else _ROWS_WITHIN if options.get("truncate") else None
        asked = _asked_at.get()
        left = asked + within - time.monotonic() if asked and within else None
        key = sql, str(params), str(options)
        if key not in self._answers:
            if left is not None and left < 0:
                raise QueryInterrupted(None, sql, params)
            self._answers[key] = asyncio.ensure_future(super().execute(sql, params, **options))
            self._answers[key].add_done_callback(partial(self._forget_failed, key))
            for oldest in list(self._answers)[:-_MOST_KEPT]:
                del self._answers[oldest]
        try:
            async with asyncio.timeout(left):
                return await asyncio.shield(self._answers[key])
        except TimeoutError as error:
            raise QueryInterrupted(error, sql, params) from error

    async def _over_few(self, sql: str, params: Any) -> tuple[str, Any]:
        """A query of a facet, over the numbers of the pages that match if their count has found few."""
        if where := _of_facet(sql):
            counted = f"select count(*) from pages {where[1]}"  # noqa: S608 - of Datasette
            number, numbers = (await self.execute(counted, params)).first()
            if number <= _FEW:
                sql = sql.replace(where[1], "where rowid in (select value from json_each(:numbers))")
                return sql, {"numbers": numbers}
        return sql, params

    def _forget_failed(self, key: tuple[str, ...], answer: asyncio.Future[Results]) -> None:
        if answer.cancelled() or answer.exception():
            self._answers.pop(key, None)


def build_explorer(states: Mapping[str, Path]) -> Datasette:
    """The web application over the state directories of sites, by name. Raises UsageError, StorageError."""
    found, databases = {}, {}
    for name, state in states.items():
        with closing(open_dataset(state)) as db:
            ((_, _, path),) = [row for row in db.execute("PRAGMA database_list") if row[1] == "main"]
            (stamp,) = db.execute("SELECT value FROM about WHERE key = 'stamp'").fetchone()
            found[name] = {"path": path, "state": state, "stamp": stamp, "lacks": lacking_orphans(db)}
            tables = _tables(is_audited=knows_audit(db))
        databases[name] = {"queries": _queries(), "tables": tables}
    data = Datasette(
        [],
        metadata={
            "title": "Siteatlas",
            "description": "What the last finished run stored of each site.",
            "allow": {"id": "root"},
            "databases": databases,
        },
        settings=_SETTINGS,
        template_dir=str(Path(__file__).parent / "templates"),
    )
    data.remove_database("_memory")
    for name, options in found.items():
        data.add_database(_Tables(data, is_mutable=False, **options), name=name)
    return data


def _queries() -> dict[str, Any]:
    """The questions by their names: one that has the name of a table would take its place."""
    named = ((f"how-many-{each.name}" if each.name in TABLES else each.name, each) for each in questions())
    return {name: {"title": question.text, "sql": question.sql} for name, question in named}


def _tables(*, is_audited: bool) -> dict[str, Any]:
    tables: dict[str, dict[str, Any]] = {name: {"facets": facets} for name, facets in _FACETS.items()}
    for name in () if is_audited else _OF_AUDITS:
        tables.setdefault(name, {})["description"] = _NO_AUDIT
    return tables | {name: {"hidden": True, "allow": False} for name in _HIDDEN}  # a view is hidden by the latter


@hookimpl  # type: ignore[untyped-decorator]
def render_cell(value: object, column: str, database: str) -> Markup | None:
    """A URL in a cell as a link to what is known of it, and one to itself."""
    if column not in _URL_COLUMNS or not isinstance(value, str) or not value.startswith(("http://", "https://")):
        return None
    here = f"/-/page/{database}?{urlencode({'url': value})}"
    return Markup('<a href="{}">{}</a> <a href="{}" rel="noreferrer" aria-label="open {} itself">↗</a>').format(
        here, value, value, value
    )


@hookimpl  # type: ignore[untyped-decorator]
def prepare_connection(conn: sqlite3.Connection) -> None:
    """Read the file where the system has it in memory, without copies."""
    conn.execute(f"PRAGMA mmap_size = {_MAPPED}")


@hookimpl  # type: ignore[untyped-decorator]
def asgi_wrapper() -> Callable[[Any], Any]:
    """Notice when a browser goes to a page. Its scripts, and other programs, wait for all of an answer."""

    def noticing(app: Any) -> Any:
        async def notice(scope: Any, receive: Any, send: Any) -> None:
            goes = (b"sec-fetch-mode", b"navigate") in scope.get("headers", ()) and "." not in scope["path"]
            _asked_at.set(time.monotonic() if goes else None)
            if scope.get("path", "").endswith(".csv"):
                scope = scope | {"query_string": scope["query_string"] + b"&_dl=1"}  # a file with a name
                send = _with_mark(send)
            await app(scope, receive, send)

        return notice

    return noticing


def _with_mark(send: Any) -> Any:
    """Sends a CSV file with a byte order mark: without one, Excel reads UTF-8 as a code page."""
    is_begin = False

    async def marked(message: Any) -> None:
        nonlocal is_begin
        if message["type"] == "http.response.start":
            is_begin = dict(message["headers"]).get(b"content-type", b"").startswith(b"text/csv")
        elif is_begin:
            message, is_begin = message | {"body": codecs.BOM_UTF8 + message["body"]}, False
        await send(message)

    return marked


@hookimpl(tryfirst=True)  # type: ignore[untyped-decorator]
def handle_exception(datasette: Datasette, request: Any, exception: Exception) -> Awaitable[Response] | None:
    """A page that says that its rows come later."""

    async def later() -> Response:
        return Response.html(await datasette.render_template("later.html", request=request))

    return later() if _asked_at.get() and isinstance(exception.__context__, QueryInterrupted) else None


@hookimpl  # type: ignore[untyped-decorator]
def extra_template_vars(datasette: Datasette, view_name: str, request: Any) -> Callable[[], Awaitable[dict[str, Any]]]:
    """What the first page says of each site: its start, its last run, and how its URLs ended; what each page lacks."""

    async def overview() -> dict[str, Any]:
        sites = {name: site for name, site in datasette.databases.items() if isinstance(site, _Tables)}
        if view_name != "index":  # a table, whose counts may come later
            place = request.url_vars if request else {}
            site = sites.get(tilde_decode(place.get("database") or place.get("site") or ""))
            return {"comes_later": bool(_asked_at.get()), "notes": site.notes() if site else []}
        asked = (_START, _RUN, _STATES)
        shown = {name: [(await of.execute(query)).rows for query in asked] for name, of in sites.items()}
        return {"overview": shown, "lacks": {name: of.notes() for name, of in sites.items()}}

    return overview


@hookimpl  # type: ignore[untyped-decorator]
def register_routes() -> list[tuple[str, Any]]:
    """The page of a URL, and the picture of the sections of a site."""
    return [(r"^/-/page/(?P<site>[^/]+)$", _page), (r"^/-/sections/(?P<site>[^/]+)$", _sections)]


@hookimpl  # type: ignore[untyped-decorator]
def forbidden() -> Response:
    """The response to a browser without the link, whatever it asks for."""
    return Response.text("Open the link that siteatlas explore printed; start it again for a new one.", status=403)


async def _refusal(datasette: Datasette, request: Any) -> Response | None:
    """The response to a browser that may not see the site, or if there is none."""
    if not await datasette.permission_allowed(request.actor, "view-instance"):
        return forbidden()
    if request.url_vars["site"] not in datasette.databases:
        return Response.text("there is no such site", status=404)
    return None


async def _sections(datasette: Datasette, request: Any) -> Response:
    if refusal := await _refusal(datasette, request):
        return refusal
    site = request.url_vars["site"]
    database = datasette.get_database(site)
    counts = dict((await database.execute(_SECTIONS)).rows[:])
    shown = dict(list(counts.items())[:_MAX_SECTIONS])
    links: Counter[tuple[str, str]] = Counter()
    for one, other, number in (await database.execute(_SECTION_LINKS)).rows:
        if one in shown and other in shown:
            links[one, other] += number
    places = {
        name: (cos(2 * pi * at / len(shown)), sin(2 * pi * at / len(shown)), sqrt(pages / max(shown.values())))
        for at, (name, pages) in enumerate(shown.items())
    }
    values = {
        "site": site,
        "tables": datasette.urls.database(site),
        "sections": [(name, pages, *places[name]) for name, pages in shown.items()],
        "rest": len(counts) - len(shown),
        "links": [
            (*pair, number, log(number + 1), places[pair[0]], places[pair[1]]) for pair, number in links.most_common()
        ],
    }
    return Response.html(await datasette.render_template("sections.html", values, request=request))


async def _page(datasette: Datasette, request: Any) -> Response:
    if refusal := await _refusal(datasette, request):
        return refusal
    site, url = request.url_vars["site"], request.args.get("url") or ""
    database = datasette.get_database(site)
    found = (await database.execute("SELECT * FROM pages WHERE url = :url", {"url": url})).first()
    meanings = {column.name: column.meaning for column in TABLES["pages"]}
    facts = [(name, meanings[name], found[name]) for name in found.keys()] if found else []  # noqa: SIM118 - no dict
    asked = {"url": url, "most": _MAX_SHOWN}
    parts = {name: (await database.execute(sql, asked)).rows for name, sql in PAGE_PARTS.items()}
    values = {
        "site": site,
        "tables": datasette.urls.database(site),
        "url": url,
        "facts": facts,
        "most": _MAX_SHOWN,
        "no_audit": datasette.metadata("description", database=site, table="findings", fallback=False),
        **parts,
    }
    return Response.html(await datasette.render_template("page.html", values, request=request))


Filters._filters = [each for each in Filters._filters if not each.key.startswith("array")]  # noqa: SLF001 - no column has one
pm.get_plugin("datasette.handle_exception").rich = None  # it prints all variables, which takes long
pm.register(sys.modules[__name__])  # the hooks above
pm.unregister(name="datasette.default_menu_links")  # pages for those who build Datasette
