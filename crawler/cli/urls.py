"""``siteatlas urls``: the register of every URL that a site ever published, and whether one is lost."""

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from crawler.audit.collect import source_url_parser
from crawler.audit.source_record import SourceKind
from crawler.audit.sources.exports.reader import read_export, refuse_url
from crawler.audit.sources.logs.log import LogOptions
from crawler.audit.sources.logs.reader import is_log, read_logs
from crawler.audit.sources.urls import RejectReason, file_pattern
from crawler.cli.errors import CommandErrors
from crawler.cli.help import HelpfulCommand, command_group, epilog_of
from crawler.cli.move import is_sitemap, map_rows, sitemap_urls
from crawler.cli.options import REQUEST_KEYS, SitesConfigOption, site_config, with_flags
from crawler.cli.sites import find_state_directory
from crawler.config.plan import CrawlPlan, plan_audit
from crawler.errors import FindingsFound, UsageError
from crawler.lastmod.generators import path_key
from crawler.lastmod.git import former_pages
from crawler.model import Url
from crawler.moves import register
from crawler.moves.formats import csv_table
from crawler.moves.probe import folder_ends, live_ends
from crawler.state.schema import STATE_DB
from crawler.state.store import read_about, written_state
from crawler.units import count_text, w3c
from crawler.url.normalize import path_of
from sitemap import safe

urls = command_group("Keep every URL that a site ever published, and find those that are lost.")
_REMEDY: Final = (
    "Redirect each lost URL; siteatlas move map finds where its page went. Or siteatlas urls accept its end.\n"
)
_NONE_LEFT: Final = (
    "No URL has left the sitemap, which keeps what the gate holds. After a move, run siteatlas crawl first.\n"
)
_FLAGS: Final = ("state.directory", "site.sitemap_url")
_SITE: Final = {"url": str | None, "config": SitesConfigOption, "site": str | None, "verbose": bool}


def _chosen(flags: dict[str, Any]) -> tuple[str | None, Path | None, str | None]:
    """The URL, the configuration and the name of the chosen site; ``flags`` lose them."""
    return flags.pop("url"), flags.pop("config"), flags.pop("site")


@with_flags(*_FLAGS, *REQUEST_KEYS, switches=_SITE)
def check(
    folder: Path | None = None, redirects: Path | None = None, all_: bool = False, as_json: bool = False, **flags: Any
) -> None:
    """Find the URLs that the site once published, and that lead to no page now.

    check requests only the URLs that the sitemap does not list any more, at the pace of a crawl. It reports each lost
    URL once, and records how each URL ended. With --folder it looks for all URLs in a folder of built pages, requests
    nothing and records nothing.
    """
    with CommandErrors(flags.pop("verbose")) as errors:
        url, config, site = _chosen(flags)
        state = find_state_directory(url, config, site, flags)
        with STATE_DB.reading(state) as db:
            rows = [row for row in register.rows(db, listed=folder is not None) if not row.accepted]
        asked = [row.url for row in rows]
        reported = {row.url for row in rows if row.reported and not (all_ or folder)}
        if folder:
            if not folder.is_dir():
                raise UsageError(f"there is no folder {folder}. Give the folder that the generator of the site writes")
            file = redirects or folder / "_redirects"
            ends = folder_ends(asked, folder, map_rows(file) if redirects or file.is_file() else [])
        else:
            start = url or (None if config or not asked else asked[0])
            ends = live_ends(asked, site_config(config, flags, start, site))
            with written_state(state) as db:
                register.store(db, ends, time.time())
        lost = [end for end in ends if end.ended == "lost" and end.url not in reported]
        unknown = [end for end in ends if end.ended == "unknown"]
        if as_json:
            values = {"asked": len(ends), "lost": lost, "unknown": unknown}
            sys.stdout.write(msgspec.json.format(msgspec.json.encode(values)).decode() + "\n")
        else:
            sys.stdout.writelines(f"lost: {safe(end.url)}: {safe(end.sentence)}\n" for end in lost)
            sys.stdout.write(_REMEDY if lost else "" if asked else _NONE_LEFT)
            sys.stdout.writelines(f"not known: {safe(end.url)}: {safe(end.sentence)}\n" for end in unknown[:10])
            known = f", {len(reported):,} reported before" if reported else ""
            counts = f"{count_text(len(ends), 'URL')} checked, {len(lost):,} lost, {len(unknown):,} not known"
            sys.stdout.write(f"{counts}{known}\n")
        errors.exit_code = FindingsFound.exit_code if lost else 0


@with_flags(*_FLAGS, switches=_SITE)
def import_(files: list[str], **flags: Any) -> None:
    """Add URLs to the register, from old sitemaps, lists, access logs and the history of a folder.

    A list has one URL or path on each line. Exports of Search Console and other tables of URLs count as lists. Of an
    access log, the URLs count that the server once answered with a page. A folder in a Git repository has built pages
    or the sources of a site generator: every page counts that its history ever had.
    """
    with CommandErrors(flags.pop("verbose")):
        url, config, site = _chosen(flags)
        state = find_state_directory(url, config, site, flags)
        with STATE_DB.reading(state) as db:
            start = url or (None if config else read_about(db, "url"))
            listed = [row.url for row in register.rows(db) if row.last is None]
        plan = plan_audit(site_config(config, flags, start, site))
        for name in files:
            found = _former_urls(name, plan, listed, flags)
            with written_state(state) as db:
                added = register.add(db, found, name, time.time())
            sys.stdout.write(f"{name}: {count_text(len(found), 'URL')} of the site, {added:,} of them new\n")


def _former_urls(name: str, plan: CrawlPlan, listed: Sequence[str], flags: Mapping[str, Any]) -> list[Url]:
    """The URLs of a site in a file, a folder or at a URL, each once. ``listed`` are those that its sitemap lists.

    Raises UsageError, NothingCrawlable.
    """
    known = source_url_parser(plan)
    if Path(name).is_dir():
        texts = _spelled(former_pages(Path(name)), listed)
    elif is_sitemap(name):
        texts = iter(sitemap_urls(name, flags))
    elif is_log(name):
        records = (record for _, read in read_logs([name], known, LogOptions(), lambda _: None) for record in read)
        texts = (record.url for record in records if record.ok and not file_pattern(record.url))
    else:
        texts = (record.url for record in read_export(name, SourceKind.LIST, known, "", refuse_url)[1])
    return [url for url in dict.fromkeys(map(known.parse, texts)) if not isinstance(url, RejectReason)]


def _spelled(pages: set[str], listed: Sequence[str]) -> Iterator[str]:
    """Paths of pages as the site spells them: with .html, a slash or nothing at the end, as most listed URLs have."""
    paths = [path_of(Url(url)) for url in listed]
    spellings = {path_key(path): path for path in paths}
    ends = Counter(next((end for end in (".html", "/") if path.endswith(end)), "") for path in paths if path != "/")
    (end, _), *_ = ends.most_common() or [("", 0)]
    for page in sorted(pages):
        own = page if page.endswith("/") else page.removesuffix(".html") + end
        yield spellings.get(path_key(page), own)


@with_flags(*_FLAGS, switches=_SITE)
def accept(pattern: str, reason: str, **flags: Any) -> None:
    """Record that URLs are gone on purpose, or will be after the next publish, so that no check reports them."""
    with CommandErrors(flags.pop("verbose")):
        with written_state(find_state_directory(*_chosen(flags), flags)) as db:
            count, listed = register.accept(db, pattern, reason)
        if not count:
            raise UsageError(f"no URL of the register is like {pattern}. siteatlas urls list shows all")
        still = f", of which the sitemap still lists {listed:,}" if listed else ""
        sys.stdout.write(f"{count_text(count, 'URL')} accepted{still}\n")


@with_flags(*_FLAGS, switches=_SITE)
def list_(**flags: Any) -> None:
    """Print the register as CSV: each URL with its dates, how it ended, and its source."""
    with CommandErrors(flags.pop("verbose")):
        with STATE_DB.reading(find_state_directory(*_chosen(flags), flags)) as db:
            rows = register.rows(db)
        ends = ("listed" if row.last is None else "accepted" if row.accepted else row.ended for row in rows)
        cells = (
            (row.url, w3c(row.first), row.last and w3c(row.last), end, row.target, row.accepted, row.source)
            for row, end in zip(rows, ends, strict=True)
        )
        sys.stdout.write(csv_table("url,first,last,end,target,reason,source\n", cells))


for _name, _function in (("check", check), ("import", import_), ("accept", accept), ("list", list_)):
    urls.command(_name, cls=HelpfulCommand, epilog=epilog_of("urls"))(_function)
