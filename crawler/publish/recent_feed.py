"""The Atom or RSS feed of recent changes: the pages added or changed last, published beside the sitemap."""

import re
import sqlite3
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import msgspec

from crawler.errors import UsageError
from crawler.model import Page, Url
from crawler.publish.changes import Change, change_of
from crawler.state.database import storage_errors
from crawler.units import w3c
from sitemap import Channel, Directory, Entry, Format, InvalidEntry, Published, SitemapWriter, WriterOptions

if TYPE_CHECKING:
    from crawler.config.plan import CrawlPlan


_SELECT_RUNS: Final = (
    "SELECT number, started FROM run WHERE number IN (SELECT DISTINCT run FROM change) ORDER BY number DESC"
)

_SELECT_NEWEST: Final = """SELECT c.url, c.kind, c.target, p.lastmod, c.before, c.reason, c.run
  FROM change c JOIN url u ON u.url = c.url JOIN published p ON p.id = u.id
  WHERE c.run = :run AND c.kind IN ('added', 'changed')
  ORDER BY iif(p.lastmod = '', :at, p.lastmod) DESC, c.url LIMIT :limit"""

_SELECT_PAGE: Final = """SELECT c.page FROM url u JOIN published p ON p.id = u.id JOIN content c ON c.id = p.content
  WHERE u.url = ?"""

_decode = msgspec.msgpack.Decoder(Page).decode


def newest_changes(db: sqlite3.Connection, limit: int) -> Iterator[Change]:
    """The last change of each of the ``limit`` pages added or changed last, the newest first.

    Changes of one run are in order of lastmod, and then of URL. Raises StorageError.
    """
    yielded: set[Url] = set()
    with storage_errors():
        for run, started in db.execute(_SELECT_RUNS).fetchall():
            rows = db.execute(_SELECT_NEWEST, {"run": run, "at": w3c(started), "limit": limit + len(yielded)})
            for url, *row in rows:
                if len(yielded) == limit:
                    return
                if url not in yielded:
                    yielded.add(url)
                    yield change_of((url, *row), started)


def title_of(db: sqlite3.Connection, url: Url) -> str:
    """The title of a listed page, or "". Raises StorageError."""
    with storage_errors():
        row = db.execute(_SELECT_PAGE, (url,)).fetchone()
    return _decode(row[0]).title if row and row[0] else ""


_FEED_FORMATS: Final = {"atom": Format.ATOM, "rss": Format.RSS}

_SUFFIXES: Final = (".atom", ".rss")

_ending = re.compile(r"\.(?:xml|txt|rss|atom)(?:\.gz)?$|\.gz$")


def recent_feed_url(plan: "CrawlPlan") -> Url:
    """The public URL of the feed, "" when it is off. Raises UsageError for an invalid name.

    The name has the suffix of a feed, so that nobody takes the file for a sitemap.
    """
    if not plan.config.output.recent:
        return Url("")
    output = plan.config.output
    directory, _, file = plan.sitemap_url.partition("?")[0].rpartition("/")
    if not output.recent_name:
        return Url(f"{directory}/{_ending.sub('', file)}-recent.{output.recent}")
    name = output.recent_name
    if "/" in name or not name.endswith(_SUFFIXES) or name in _SUFFIXES:
        raise UsageError(f"output.recent_name {name!r} must be a plain file name that ends in .atom or .rss")
    return Url(f"{directory}/{quote(name)}")


def publish_recent_feed(db: sqlite3.Connection, plan: "CrawlPlan", destination: Directory) -> Published | None:
    """Publish the feed from the tables ``change`` and ``published``; None when it is off, or empty.

    To be called when those tables are those of the published run, before or after they are committed. The same tables
    give the same bytes, and an unchanged file is not rewritten. Raises UsageError, StorageError, and
    sitemap.DestinationError when the feed cannot be written; the sitemap stays untouched.
    """
    url = recent_feed_url(plan)
    if not url:
        return None
    entries = list(feed_entries(db, newest_changes(db, plan.config.output.recent_urls)))
    if not entries:
        return None
    options = WriterOptions(
        format=_FEED_FORMATS[plan.config.output.recent],
        child=f"{{stem}}.{{n}}.{plan.config.output.recent}",  # keeps it apart from a group "recent"
        channel=_feed_channel(plan.sitemap_url, url),
        vouched=lambda loc: plan.scope.needs_cross_submit(Url(loc)),
    )
    with SitemapWriter(destination, url, options) as writer:
        writer.extend(entries, refused=_leave_out)
        return writer.finish()


def _leave_out(_: InvalidEntry) -> None:
    """An entry that no sitemap can hold; the sitemap has already reported it."""


def feed_entries(db: sqlite3.Connection, changes: Iterable[Change]) -> Iterator[Entry]:
    """An entry for each change, dated by its lastmod or else by the run that found it."""
    for change in changes:
        yield Entry(
            change.url,
            lastmod=change.lastmod or change.at,
            title=title_of(db, change.url),
            summary=f"{change.kind}: {change.reason}",
        )


def _feed_channel(sitemap_url: Url, address: str = "") -> Channel:
    directory = sitemap_url.partition("?")[0].rpartition("/")[0]
    return Channel(
        title=f"Recent changes of {directory.partition('://')[2]}",
        link=f"{directory}/",
        description=f"Pages of {directory}/ that were added or changed, the newest first",
        url=address,
    )
