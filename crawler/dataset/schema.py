"""The tables of the data set: each column with its type, meaning and example. The manual and the SQL follow from it."""

from typing import Final, NamedTuple

from crawler.state.database import Database

VERSION: Final = 3
"""Of the tables: it grows when they change."""


class Column(NamedTuple):
    """One column: its name, its type in SQLite, its meaning with the unit, and an example of a value."""

    name: str
    type: str
    meaning: str
    example: str


def _columns(*rows: tuple[str, str, str, str]) -> tuple[Column, ...]:
    return tuple(Column(*row) for row in rows)


_URL: Final = ("url", "TEXT", "URL in canonical form", "https://www.example.com/a")
TABLES: Final = {
    "pages": _columns(
        _URL,
        ("section", "TEXT", "first folder of its path", "/blog/"),
        ("state", "TEXT", "what the crawl decided of the URL", "indexable"),
        ("reason", "TEXT", "why, as a sentence; empty for most indexable pages", "canonical is https://…"),
        ("indexable", "INTEGER", "1 if a search engine may index the page, else 0", "1"),
        ("listed", "INTEGER", "1 if the published sitemap lists it, else 0", "1"),
        ("status", "INTEGER", "HTTP status of the last response; NULL without one", "200"),
        ("content_type", "TEXT", "Content-Type of the page", "text/html; charset=utf-8"),
        ("target", "TEXT", "where a redirect or a canonical leads", "https://www.example.com/b"),
        ("canonical", "TEXT", "canonical that the page states", "https://www.example.com/a"),
        ("robots", "TEXT", "content of its meta element robots", "noindex, follow"),
        ("title", "TEXT", "title", "Boats for hire"),
        ("description", "TEXT", "content of its meta element description", "Rowing boats, by the hour."),
        ("h1", "TEXT", "text of its first h1", "Boats for hire"),
        ("h1_count", "INTEGER", "number of its h1 elements", "1"),
        ("words", "INTEGER", "words in its body", "412"),
        ("language", "TEXT", "lang attribute of its html element", "en"),
        ("lastmod", "TEXT", "lastmod that the crawl observed (W3C datetime)", "2026-11-19T08:07:27+00:00"),
        ("lastmod_source", "TEXT", "where it is from", "Last-Modified"),
        ("lastmod_evidence", "TEXT", "what changed when it last moved", "+ Open on Sundays"),
        ("depth", "INTEGER", "clicks from the start page", "2"),
        ("inlinks", "INTEGER", "other pages that link to it by a link that may be followed", "14"),
        ("content_inlinks", "INTEGER", "of these, the pages that have such a link in a text or a list", "3"),
        ("weight", "REAL", "its share of the link weight (PageRank); the average page has 1", "0.734"),
        ("outlinks", "INTEGER", "other URLs of the site that it links to", "31"),
        ("external_outlinks", "INTEGER", "URLs outside the scope of the crawl that it links to", "3"),
        ("images", "INTEGER", "images that a sitemap can list", "5"),
        ("alternates", "INTEGER", "hreflang versions that it names", "2"),
        ("bytes", "INTEGER", "bytes received for the last response with a body", "26385"),
        ("seconds", "REAL", "seconds that this response took", "0.042"),
        ("found", "TEXT", "how the crawl found the URL", "link, sitemap"),
        ("source", "TEXT", "URL on which it was found first", "https://www.example.com/"),
        ("first_run", "INTEGER", "run that found it first", "1"),
        ("changed_run", "INTEGER", "run in which its lastmod was decided", "4"),
        ("failures", "INTEGER", "runs in a row in which it failed temporarily", "0"),
        ("visited", "TEXT", "time of its last good response (UTC)", "2026-11-27T03:05:31+00:00"),
        (
            "requested",
            "TEXT",
            "time of its last request (UTC); NULL while a run is active",
            "2026-11-27T03:05:31+00:00",
        ),
        ("rendered", "INTEGER", "1 if it was read as scripts leave it, else 0", "0"),
    ),
    "links": _columns(
        ("source", "TEXT", "URL of the page that has the link", "https://www.example.com/"),
        ("target", "TEXT", "URL that it leads to", "https://www.example.com/a"),
        ("kind", "TEXT", "link, frame, canonical, alternate, pagination, amp, refresh, feed or sitemap", "link"),
        ("nofollow", "INTEGER", "1 if it must not be followed, else 0", "0"),
        ("anchor", "TEXT", "its text, or the alt text of its picture; NULL if not known", "Boats"),
        ("rel", "TEXT", "its rel attribute", "noopener"),
        ("place", "TEXT", "menu, breadcrumb, footer, side box, list, changing box or body; NULL if not known", "body"),
        ("position", "INTEGER", "its number among the links of the page, from 1", "12"),
        ("internal", "INTEGER", "1 if the target is in the scope of the crawl, else 0", "1"),
    ),
    "redirects": _columns(
        _URL,
        ("status", "INTEGER", "HTTP status; 200 for a refresh", "301"),
        ("target", "TEXT", "where it leads", "https://www.example.com/b"),
        ("final", "TEXT", "where the chain ends; NULL for a loop", "https://www.example.com/c"),
        ("final_state", "TEXT", "state of that URL", "indexable"),
        ("hops", "INTEGER", "redirects in the chain", "2"),
        ("loop", "INTEGER", "1 if the chain returns to itself, else 0", "0"),
    ),
    "images": _columns(
        ("page", "TEXT", "URL of the page that shows the image", "https://www.example.com/a"),
        ("url", "TEXT", "URL of the image", "https://www.example.com/a.jpg"),
    ),
    "videos": _columns(
        ("page", "TEXT", "URL of the page that shows the video", "https://www.example.com/a"),
        ("title", "TEXT", "title", "A day on the lake"),
        ("content_url", "TEXT", "URL of the video", "https://www.example.com/a.mp4"),
        ("player_url", "TEXT", "URL of its player", "https://player.example/1"),
        ("thumbnail_url", "TEXT", "URL of its picture", "https://www.example.com/a.jpg"),
        ("duration", "INTEGER", "seconds", "93"),
    ),
    "alternates": _columns(
        ("page", "TEXT", "URL of the page that names the version", "https://www.example.com/a"),
        ("hreflang", "TEXT", "language, as stated", "de-AT"),
        ("url", "TEXT", "URL of the version", "https://www.example.com/de/a"),
    ),
    "sitemap_entries": _columns(
        _URL,
        ("sitemap", "TEXT", "URL of the site's own sitemap, or name of the published file", "sitemap.xml"),
        ("published", "INTEGER", "1: the sitemap that Siteatlas published; 0: one that the site has", "1"),
        ("lastmod", "TEXT", "lastmod in the published file; NULL for the site's own", "2026-11-19"),
    ),
    "changes": _columns(
        ("run", "INTEGER", "number of the run", "4"),
        _URL,
        ("change", "TEXT", "added, changed, removed, moved or deindexed", "changed"),
        ("target", "TEXT", "new URL of a moved page", ""),
        ("before", "TEXT", "lastmod that was published before", "2026-11-01"),
        ("after", "TEXT", "lastmod that is published now", "2026-11-19"),
        ("reason", "TEXT", "why, as a sentence", "+ Open on Sundays"),
    ),
    "history": _columns(
        ("run", "INTEGER", "number of the run that saw the change", "4"),
        _URL,
        ("field", "TEXT", "a column of pages; link or nofollow link for a link that came or went", "title"),
        ("before", "TEXT", "its value in the run before; NULL for a link that came", "Boats"),
        ("after", "TEXT", "its value in this run; NULL for a link that went", "Boats for hire"),
    ),
    "runs": _columns(
        ("run", "INTEGER", "number of the run", "4"),
        ("started", "TEXT", "time of its start (UTC)", "2026-11-27T03:05:31+00:00"),
        ("ended", "TEXT", "time of its end (UTC)", "2026-11-27T03:05:44+00:00"),
        ("version", "TEXT", "version of Siteatlas", "0.1.0"),
        ("completeness", "TEXT", "complete, carried (not all pages were requested), truncated or degraded", "complete"),
        ("because", "TEXT", "limits reached, and what failed", ""),
        ("outcome", "TEXT", "published, unchanged, refused or nothing", "published"),
        ("exit_code", "INTEGER", "exit code of the command", "0"),
        ("requests", "INTEGER", "requests", "10198"),
        ("unchanged", "INTEGER", "responses that brought nothing new", "0"),
        ("bytes", "INTEGER", "bytes received", "353000000"),
        ("seconds", "REAL", "seconds that it took", "12.4"),
        ("listed", "INTEGER", "pages in the sitemap", "10137"),
        ("kept", "INTEGER", "pages that stay listed although they failed", "0"),
        ("added", "INTEGER", "pages added", "3"),
        ("changed", "INTEGER", "pages changed", "12"),
        ("removed", "INTEGER", "pages removed", "0"),
        ("history", "INTEGER", "1 if history reaches back to this run, else 0", "1"),
    ),
    "findings": _columns(
        ("rule", "TEXT", "rule of the audit", "orphan.visited"),
        ("url", "TEXT", "URL that it is about", "https://www.example.com/a"),
        ("file", "TEXT", "file that it is about, such as a sitemap", "sitemap.xml"),
        ("line", "INTEGER", "line in this file", "12"),
        ("severity", "TEXT", "error, warning or note", "warning"),
        ("certainty", "TEXT", "certain, likely or inconclusive", "certain"),
        ("sentence", "TEXT", "finding in words", "no page links to it"),
        ("since", "TEXT", "day of the first of the audits in a row that had it", "2026-11-20"),
        (
            "new",
            "INTEGER",
            "1 if the audit before checked the rule and did not have it, 0 if it had it, else NULL",
            "0",
        ),
        ("grp", "TEXT", "island or cluster that it belongs to", ""),
        ("accepted", "INTEGER", "1 if the configuration accepts it, else 0", "0"),
    ),
    "visits": _columns(
        _URL,
        ("source", "TEXT", "kind of the source", "log"),
        ("first_day", "TEXT", "day of the first visit", "2026-11-01"),
        ("last_day", "TEXT", "day of the last visit", "2026-11-26"),
        ("people", "INTEGER", "requests of browsers", "41"),
        ("bots", "INTEGER", "requests of bots", "7"),
        ("engines", "INTEGER", "requests of search engines among these", "5"),
        ("scanners", "INTEGER", "requests of scanners", "0"),
        ("ok", "INTEGER", "requests that were answered with success", "48"),
        ("moved", "INTEGER", "requests that were redirected", "0"),
        ("dead", "INTEGER", "requests that were answered with an error", "0"),
        ("status", "INTEGER", "newest status", "200"),
    ),
    "search": _columns(
        _URL,
        ("source", "TEXT", "kind of the source", "search"),
        ("clicks", "INTEGER", "clicks in search results", "12"),
        ("impressions", "INTEGER", "times that it was shown in search results", "340"),
        ("sessions", "INTEGER", "sessions in web analytics", "20"),
        ("views", "INTEGER", "views in web analytics", "31"),
        ("users", "INTEGER", "users in web analytics", "18"),
        ("backlinks", "INTEGER", "links from other sites", "3"),
        ("domains", "INTEGER", "sites with these links", "2"),
    ),
    "bots": _columns(
        ("day", "TEXT", "day; NULL if the log has none", "2026-11-26"),
        ("bot", "TEXT", "name of the bot", "Googlebot"),
        ("status", "INTEGER", "HTTP status; NULL without a response", "200"),
        ("requests", "INTEGER", "requests", "120"),
    ),
}
"""The tables in the order in which they are exported."""

_SQL: Final = """
CREATE TABLE url (id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, internal INTEGER NOT NULL);
CREATE TABLE link (
  source INTEGER NOT NULL, target INTEGER NOT NULL, kind TEXT NOT NULL, nofollow INTEGER NOT NULL,
  anchor TEXT, rel TEXT, place TEXT, position INTEGER
);
CREATE VIEW links AS
  SELECT s.url AS source, t.url AS target, l.kind, l.nofollow, l.anchor, l.rel, l.place, l.position, t.internal
  FROM link l JOIN url s ON s.id = l.source JOIN url t ON t.id = l.target;
CREATE TABLE read (id INTEGER PRIMARY KEY, content INTEGER NOT NULL, details BLOB NOT NULL);
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
_CREATE: Final = "CREATE TABLE {} ({});\n".format
DATASET: Final = Database(
    file="dataset.db",
    tables=_SQL
    + "".join(
        _CREATE(name, ", ".join(f"{column.name} {column.type}" for column in columns))
        for name, columns in TABLES.items()
        if name != "links"
    ),
    description="the data set",
    remedy="Export the crawl again with siteatlas export, or name a state directory",
)


def reference() -> str:
    """The tables as they stand in the manual, in Markdown."""
    parts = []
    for name, columns in TABLES.items():
        rows = "".join(f"| `{c.name}` | {c.type.lower()} | {c.meaning} | {c.example} |\n" for c in columns)
        parts.append(f"### {name}\n\n| column | type | meaning | example |\n| --- | --- | --- | --- |\n{rows}")
    return "\n".join(parts)
