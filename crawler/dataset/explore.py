"""The tables of crawls in a browser: Datasette with our words, questions and a page for each URL. On loopback alone.

https://docs.datasette.io/en/stable/metadata.html
"""

import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from math import cos, log, pi, sin, sqrt
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from datasette import Response, hookimpl
from datasette.app import Datasette
from datasette.database import Database, Results
from datasette.plugins import pm
from markupsafe import Markup

from crawler.dataset.build import open_dataset
from crawler.dataset.query import PAGE_PARTS, knows_audit, questions
from crawler.dataset.schema import TABLES

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
_HIDDEN: Final = ("url", "link", "read", "about")
_URL_COLUMNS: Final = frozenset({"url", "source", "target", "page", "final", "canonical", "example", "another"})
_MAX_SHOWN: Final = 200  # links of a page
_SETTINGS: Final = {
    "default_page_size": 50,
    "sql_time_limit_ms": 10_000,
    "facet_time_limit_ms": 60,  # four of them at once
    "suggest_facets": False,  # it tries each column, which takes seconds on a large site
    "allow_download": False,
}
_MAX_SECTIONS: Final = 24  # of the picture
_MAX_COUNTED: Final = 100_000
"""Rows of a table that are counted: to count all links of a large site takes ten seconds. ``base.html`` names it."""
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

    async def execute(self, sql: str, *args: Any, **options: Any) -> Results:
        """Count the rows of a table up to a limit."""
        counted = sql.removeprefix("select count(*) ")
        if counted != sql and not options:
            sql = f"select count(*) from (select 1 {counted} limit {_MAX_COUNTED + 1})"  # noqa: S608 - of Datasette
        return await super().execute(sql, *args, **options)


def build_explorer(states: Mapping[str, Path]) -> Datasette:
    """The web application over the state directories of sites, by name. Raises UsageError, StorageError."""
    paths, databases = {}, {}
    for name, state in states.items():
        with closing(open_dataset(state)) as db:
            ((_, _, paths[name]),) = [row for row in db.execute("PRAGMA database_list") if row[1] == "main"]
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
    for name, path in paths.items():
        data.add_database(_Tables(data, path=path, is_mutable=False), name=name)
    return data


def _queries() -> dict[str, Any]:
    """The questions by their names: one that has the name of a table would take its place."""
    named = ((f"how-many-{each.name}" if each.name in TABLES else each.name, each) for each in questions())
    return {name: {"title": question.text, "sql": question.sql} for name, question in named}


def _tables(*, is_audited: bool) -> dict[str, Any]:
    tables: dict[str, dict[str, Any]] = {name: {"facets": facets} for name, facets in _FACETS.items()}
    for name in () if is_audited else _OF_AUDITS:
        tables.setdefault(name, {})["description"] = _NO_AUDIT
    return tables | {name: {"hidden": True} for name in _HIDDEN}


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
def extra_template_vars(datasette: Datasette, view_name: str) -> Callable[[], Awaitable[dict[str, Any]]]:
    """What the first page says of each site: its start, its last run, and how its URLs ended."""

    async def overview() -> dict[str, Any]:
        if view_name != "index":
            return {}
        sites = {name: site for name, site in datasette.databases.items() if isinstance(site, _Tables)}
        asked = (_START, _RUN, _STATES)
        return {"overview": {name: [(await of.execute(query)).rows for query in asked] for name, of in sites.items()}}

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


pm.register(sys.modules[__name__])  # the hooks above
pm.unregister(name="datasette.default_menu_links")  # pages for those who build Datasette
