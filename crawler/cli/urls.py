"""``siteatlas urls``: the register of every URL that a site ever published, and whether one is lost."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from crawler.cli.errors import CommandErrors
from crawler.cli.help import HelpfulCommand, command_group, epilog_of
from crawler.cli.options import REQUEST_KEYS, SitesConfigOption, site_config, with_flags
from crawler.cli.sites import find_state_directory
from crawler.cli.url_sources import former_urls
from crawler.config.plan import plan_audit
from crawler.errors import FindingsFound, UsageError
from crawler.moves.formats import csv_table, read_map
from crawler.moves.probe import folder_ends, live_ends
from crawler.moves.register import Register, UrlEnd, written_register
from crawler.state.schema import STATE_DB
from crawler.state.store import read_about
from crawler.units import count_text, w3c
from sitemap import safe

urls = command_group("Keep every URL that a site ever published, and find those that are lost.")
_REMEDY: Final = (
    "Redirect each lost URL; siteatlas move map finds where its page went. Or siteatlas urls accept its end.\n"
)
_FLAGS: Final = ("state.directory", "site.sitemap_url")


@with_flags(*_FLAGS, *REQUEST_KEYS)
def check(  # noqa: PLR0913 - the options of a command
    url: str | None = None,
    folder: Path | None = None,
    redirects: Path | None = None,
    all_: bool = False,
    config: SitesConfigOption = None,
    site: str | None = None,
    as_json: bool = False,
    verbose: bool = False,
    **flags: Any,
) -> None:
    """Find the URLs that the site once published, and that lead to no page now.

    check requests only the URLs that the sitemap does not list any more, at the pace of a crawl. It reports each lost
    URL once, and records how each URL ended. With --folder it looks for all URLs in a folder of built pages, requests
    nothing and records nothing.
    """
    with CommandErrors(verbose) as errors:
        state = find_state_directory(url, config, site, flags)
        with STATE_DB.reading(state) as db:
            rows = [row for row in Register(db).rows(listed=folder is not None) if not row.accepted]
        asked = [row.url for row in rows]
        if folder:
            ends, reported = _ends_in(folder, redirects, asked), set[str]()
        else:
            start = url or (None if config or not asked else asked[0])
            ends = live_ends(asked, site_config(config, flags, start, site))
            with written_register(state) as register:
                register.store(ends, time.time())
            reported = set() if all_ else {row.url for row in rows if row.reported}
        lost = [end for end in ends if end.ended == "lost" and end.url not in reported]
        unknown = [end for end in ends if end.ended == "unknown"]
        if as_json:
            values = {"asked": len(ends), "lost": lost, "unknown": unknown}
            sys.stdout.write(msgspec.json.format(msgspec.json.encode(values)).decode() + "\n")
        else:
            sys.stdout.writelines(f"lost: {safe(end.url)}: {safe(end.sentence)}\n" for end in lost)
            sys.stdout.write(_REMEDY if lost else "")
            sys.stdout.writelines(f"not known: {safe(end.url)}: {safe(end.sentence)}\n" for end in unknown[:10])
            known = f", {len(reported):,} reported before" if reported else ""
            sys.stdout.write(
                f"{count_text(len(ends), 'URL')} asked, {len(lost):,} lost, {len(unknown):,} not known{known}\n"
            )
        errors.exit_code = FindingsFound.exit_code if lost else 0


def _ends_in(folder: Path, redirects: Path | None, urls: Sequence[str]) -> list[UrlEnd]:
    """How URLs of a site end in a folder build of it."""
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}. Give the folder that the generator of the site writes")
    if redirects is not None and not redirects.is_file():
        raise UsageError(f"there is no file {redirects}")
    file = redirects or folder / "_redirects"
    rows = read_map(file.read_text(encoding="utf-8"), str(file)) if file.is_file() else []
    return folder_ends(urls, folder, rows)


@with_flags(*_FLAGS)
def import_(
    files: list[str],
    url: str | None = None,
    config: SitesConfigOption = None,
    site: str | None = None,
    verbose: bool = False,
    **flags: Any,
) -> None:
    """Add URLs to the register, from old sitemaps, lists, access logs and the history of a folder.

    A list has one URL or path on each line. Exports of Search Console and other tables of URLs count as lists. Of an
    access log, the URLs count that the server once answered with a page. A folder in a Git repository has built pages
    or the sources of a site generator: every page counts that its history ever had.
    """
    with CommandErrors(verbose):
        state = find_state_directory(url, config, site, flags)
        with STATE_DB.reading(state) as db:
            start = url or (None if config else read_about(db, "url"))
            listed = [row.url for row in Register(db).rows() if row.last is None]
        plan = plan_audit(site_config(config, flags, start, site))
        for name in files:
            found = former_urls(name, plan, listed, flags)
            with written_register(state) as register:
                added = register.add(found, name, time.time())
            sys.stdout.write(f"{name}: {count_text(len(found), 'URL')} of the site, {added:,} of them new\n")


@with_flags(*_FLAGS)
def accept(
    pattern: str,
    reason: str,
    url: str | None = None,
    config: SitesConfigOption = None,
    site: str | None = None,
    verbose: bool = False,
    **flags: Any,
) -> None:
    """Record that URLs are gone on purpose, or will be after the next publish, so that no check reports them."""
    with CommandErrors(verbose):
        with written_register(find_state_directory(url, config, site, flags)) as register:
            count, listed = register.accept(pattern.replace("[", "[[]").replace("?", "[?]"), reason)
        if not count:
            raise UsageError(f"no URL of the register is like {pattern}. siteatlas urls list shows all")
        still = f", of which the sitemap still lists {listed:,}" if listed else ""
        sys.stdout.write(f"{count_text(count, 'URL')} accepted{still}\n")


@with_flags(*_FLAGS)
def list_(
    url: str | None = None,
    config: SitesConfigOption = None,
    site: str | None = None,
    verbose: bool = False,
    **flags: Any,
) -> None:
    """Print the register as CSV: each URL with its dates, how it ended, and its source."""
    with CommandErrors(verbose):
        with STATE_DB.reading(find_state_directory(url, config, site, flags)) as db:
            rows = Register(db).rows()
        ends = ("listed" if row.last is None else "accepted" if row.accepted else row.ended for row in rows)
        cells = (
            (row.url, w3c(row.first), row.last and w3c(row.last), end, row.target, row.accepted, row.source)
            for row, end in zip(rows, ends, strict=True)
        )
        sys.stdout.write(csv_table("url,first,last,end,target,reason,source\n", cells))


for _name, _function in (("check", check), ("import", import_), ("accept", accept), ("list", list_)):
    urls.command(_name, cls=HelpfulCommand, epilog=epilog_of("urls"))(_function)
