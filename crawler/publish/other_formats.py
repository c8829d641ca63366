"""Publishes the pages of the sitemap in other formats beside it: text, RSS, Atom, HTML for people, and llms.txt."""

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import msgspec

from crawler.config.plan import CrawlPlan
from crawler.errors import NEXT_RUN, UsageError
from crawler.model import Url
from crawler.parse.snapshot.snapshot import load_markup
from crawler.publish.listing import batches, unpacked
from crawler.publish.outlines import SiteOutline, SitePage, description_of, html_sitemap, llms_txt
from crawler.publish.recent_feed import recent_feed_url, title_of
from crawler.publish.write import published_files, sitemap_names
from crawler.state.database import storage_errors
from crawler.state.lock import RUN_LEASE
from crawler.state.runs import PublishedFile
from crawler.state.store import FORMATS_KEY, Store, read_about, write_about
from crawler.units import count_text
from sitemap import (
    Channel,
    Directory,
    Entry,
    Format,
    InvalidEntry,
    Published,
    SitemapError,
    SitemapWriter,
    WriterOptions,
    destination_error,
    replacement,
)

LLMS_TXT: Final = "llms.txt"
_FORMATS: Final = {"text": (Format.TEXT, ".txt"), "rss": (Format.RSS, ".rss"), "atom": (Format.ATOM, ".atom")}
_BATCH: Final = 1_000

# CROSS JOIN: walk the index of URLs, without a sort
_SELECT_PAGES: Final = """SELECT u.url, p.lastmod, c.page FROM url u CROSS JOIN published p ON p.id = u.id
  LEFT JOIN content c ON c.id = p.content WHERE u.url > ? ORDER BY u.url LIMIT ?"""
_SELECT_TEXT: Final = """SELECT c.text FROM url u JOIN published p ON p.id = u.id JOIN content c ON c.id = p.content
  WHERE u.url = ?"""
_SELECT_TARGET: Final = """SELECT m.target FROM url u JOIN memory m ON m.id = u.id
  WHERE u.url = ? AND m.target != '' AND u.id NOT IN (SELECT id FROM published)"""
_MAX_HOPS: Final = 5  # from the start URL to the start page


def leading_names(plan: CrawlPlan) -> list[str]:
    """The names of the files in other formats that the configuration asks for; some may have more files beside them."""
    output = plan.config.output
    names = [f"{_stem(plan)}{_FORMATS[name][1]}{'.gz' if output.gzip else ''}" for name in _chosen(plan)]
    names += [f"{_stem(plan)}.html"] if output.html_sitemap else []
    return names + ([LLMS_TXT] if output.llms_txt else [])


def with_formats_of(plan: CrawlPlan, names: Collection[str]) -> CrawlPlan:
    """The plan with the formats of these files, whatever its configuration says."""
    stem = _stem(plan)
    formats = [
        name
        for name, (_, suffix) in _FORMATS.items()
        if {f"{stem}{suffix}", f"{stem}{suffix}.gz", f"{stem}-{name}.xml"} & set(names)
    ]
    chosen = {"formats": tuple(formats), "html_sitemap": f"{stem}.html" in names, "llms_txt": LLMS_TXT in names}
    output = plan.config.output.model_copy(update=chosen)
    return replace(plan, config=plan.config.model_copy(update={"output": output}))


def _chosen(plan: CrawlPlan) -> list[str]:
    """The formats of sitemaps that the configuration asks for, beside XML."""
    return [name for name in _FORMATS if name in plan.config.output.formats]


def check_names(plan: CrawlPlan) -> None:
    """Raises UsageError when two files would have one name, or when the feed of recent changes cannot be.

    Each run would overwrite one with the other.
    """
    feed = unquote(recent_feed_url(plan).rpartition("/")[2])
    names = [*sitemap_names(plan), *leading_names(plan)]
    if feed in names:
        raise UsageError(
            f"output.recent_name {feed!r} is already the name of a file of the sitemap. Choose another name"
        )
    if LLMS_TXT in sitemap_names(plan) and plan.config.output.llms_txt:
        raise UsageError(
            f"--llms-txt needs the name {LLMS_TXT}, but the sitemap has the same name. Choose another "
            "name for the sitemap"
        )


def check_formats_are_ours(plan: CrawlPlan, store: Store) -> None:
    """Raises UsageError when the output directory has such a file that no run of this state wrote."""
    ours = _ours(store.db)
    for name in leading_names(plan):
        if name not in ours and (plan.output / name).exists():
            raise UsageError(
                f"{plan.output / name} already exists, and Siteatlas did not write it with this state. To overwrite "
                f"the file, {NEXT_RUN.having('--replace')}. Or choose another directory (-o, output.directory)"
            )


def begin_formats(db: sqlite3.Connection, plan: CrawlPlan) -> None:
    """Store which files this state writes, before it writes them. Part of the caller's transaction."""
    write_about(db, FORMATS_KEY, msgspec.json.encode(sorted(_ours(db) | set(leading_names(plan)))).decode())


def publish_formats(
    db: sqlite3.Connection, plan: CrawlPlan, destination: Directory, sitemap_url: str, former: Sequence[PublishedFile]
) -> tuple[list[PublishedFile], list[str]]:
    """Publish the pages of the table ``published`` in the formats of the configuration. Returns files and notes.

    The same table gives the same bytes, and an unchanged file is not written again. ``sitemap_url`` is that of the
    published set, ``former`` are the files of the last publish; those that are not written any more are removed. A
    failure is a note, because the sitemap itself is live: the former files stay then. Raises StorageError.
    """
    files: list[PublishedFile] = []
    notes: list[str] = []
    try:
        for format_name in _chosen(plan):
            published, left_out = _publish_format(db, plan, destination, format_name)
            if published:
                files += published_files(published)
            name = f"{_stem(plan)}{_FORMATS[format_name][1]}"
            notes += (f"{count_text(count, 'page')} left out of {name}: {why}" for why, count in left_out.items())
        RUN_LEASE.check()
        for name, text, pages in _outlines(db, plan, sitemap_url):
            path, content = destination.path / name, text.encode()
            _replace(path, content, int(plan.config.output.mode, 8))
            files.append(PublishedFile(name, f"{_directory(plan)}{name}", pages, len(content)))
    except SitemapError as error:
        written = {file.name for file in files}
        files += (file for file in former if file.name not in written)
        notes.append(f"the sitemap was not published in other formats: {error}")
    for name in {file.name for file in former} - {file.name for file in files}:
        with contextlib.suppress(OSError):
            (destination.path / name).unlink()
    leading = leading_names(plan)
    return sorted(files, key=lambda file: file.name not in leading), notes


def _publish_format(
    db: sqlite3.Connection, plan: CrawlPlan, destination: Directory, name: str
) -> tuple[Published | None, Counter[str]]:
    """Publish one format of sitemaps. Returns the set, and why it cannot have some pages, such as those without a date.

    A set of several files has an index in XML, called sitemap-text.xml or the like.
    """
    format_, suffix = _FORMATS[name]
    output, directory = plan.config.output, _directory(plan)
    with storage_errors():
        (count,) = db.execute("SELECT count(*) FROM published").fetchone()
    left_out = Counter[str]()

    def leave_out(error: InvalidEntry) -> None:
        left_out[error.reason] += 1

    options = WriterOptions(
        format=format_,
        gzip=output.gzip,
        max_urls=output.max_urls,
        max_bytes=output.max_bytes,
        child=f"{_stem(plan)}-{{n}}{suffix}",
        index=f"{_stem(plan)}-{name}.xml",
        channel=None if format_ is Format.TEXT else Channel(title=directory, link=directory),
        vouched=lambda loc: plan.scope.needs_cross_submit(Url(loc)),
    )
    with SitemapWriter(destination, f"{directory}{_stem(plan)}{suffix}", options) as writer:
        entries = (Entry(page.url, page.lastmod, title=page.title) for page in _pages(db))
        writer.extend(entries, refused=leave_out)
        return (writer.finish() if left_out.total() < count else None), left_out


def _outlines(db: sqlite3.Connection, plan: CrawlPlan, sitemap_url: str) -> Iterator[tuple[str, str, int]]:
    """The files of the outlines: name, text, and number of the pages of the site in it."""
    output = plan.config.output
    if not (output.html_sitemap or output.llms_txt):
        return
    start = _start_page(db, plan.seed)
    outline = SiteOutline(_directory(plan), start, _pages(db), lambda url: title_of(db, url), output.html_sitemap_links)
    if output.html_sitemap:
        for name, text in html_sitemap(outline, lambda: _pages(db), f"{_stem(plan)}.html", output.html_sitemap_links):
            yield name, text, outline.total
    if output.llms_txt:

        def describe(page: SitePage) -> str:
            with storage_errors():
                row = db.execute(_SELECT_TEXT, (page.url,)).fetchone()
            return description_of(load_markup(row[0])) if row else ""

        text = llms_txt(outline, _pages(db), describe, sitemap_url, output.llms_txt_links)
        yield LLMS_TXT, text, min(outline.total, output.llms_txt_links)


def _start_page(db: sqlite3.Connection, url: Url) -> Url:
    """The listed page to which the start URL leads by redirects and canonicals, or the last URL on the way."""
    with storage_errors():
        for _ in range(_MAX_HOPS):
            if not (row := db.execute(_SELECT_TARGET, (url,)).fetchone()):
                break
            url = Url(row[0])
    return url


def _pages(db: sqlite3.Connection) -> Iterator[SitePage]:
    for rows in batches(db, _SELECT_PAGES, "", _BATCH):
        for url, lastmod, packed in rows:
            page = unpacked(packed)
            yield SitePage(Url(url), page.title, lastmod, page.language)


def _replace(path: Path, content: bytes, mode: int) -> None:
    """Write a file unless it has this content. Raises sitemap.DestinationError."""
    try:
        if path.is_file() and path.read_bytes() == content:
            return
        with replacement(path, mode, like_before=True) as file:
            file.write(content)
    except OSError as error:
        raise destination_error(f"{path} cannot be written", error) from error


def _ours(db: sqlite3.Connection) -> set[str]:
    with storage_errors():
        return set(msgspec.json.decode(read_about(db, FORMATS_KEY) or "[]", type=list[str]))


def _directory(plan: CrawlPlan) -> str:
    """The URL of the directory of the sitemap."""
    return f"{plan.sitemap_url.partition('?')[0].rpartition('/')[0]}/"


def _stem(plan: CrawlPlan) -> str:
    """The file name of the sitemap without its suffix."""
    return sitemap_names(plan)[0].removesuffix(".xml")
