"""``siteatlas urls``: the register of every URL that a site ever published, and whether one is lost."""

import csv
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import typer

from crawler.cli.errors import CommandErrors
from crawler.cli.help import RAW, HelpfulCommand, command_group
from crawler.cli.options import (
    REQUEST_KEYS,
    ConfigOption,
    JsonOption,
    OneSiteOption,
    TraceOption,
    site_config,
    with_flags,
)
from crawler.cli.sites import find_state_directory
from crawler.errors import FindingsFound, UsageError
from crawler.units import count_text, w3c
from sitemap import safe

if TYPE_CHECKING:
    from crawler.config.config import Config
    from crawler.moves.probe import Probe
    from crawler.moves.register import RegisteredUrl, UrlEnd

urls = command_group("Keep every URL that a site ever published, and find those that are lost.")
_EXAMPLES: Final = f"""{RAW}Examples:
  siteatlas urls check
  siteatlas urls check --folder build --redirects build/_redirects
  siteatlas urls import old-sitemap.xml
  siteatlas urls accept 'https://www.example.com/jobs/*' --reason 'the job is taken'

Exit codes: 0 done, 1 internal error, 2 usage, 6 another process uses the state, 7 storage error, 10 lost URLs."""
SiteUrl = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help="Start URL of the site, if the state has several.", show_default=False),
]
_FLAGS: Final = ("state.directory", "site.sitemap_url")


@with_flags(*_FLAGS, *REQUEST_KEYS)
def check(  # noqa: PLR0913 - the options of a command
    url: SiteUrl = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder", metavar="DIR", help="Look in this folder build instead of asking the site.", show_default=False
        ),
    ] = None,
    redirects: Annotated[
        Path | None,
        typer.Option(
            "--redirects",
            metavar="FILE",
            help="Redirects of the folder, in any format of siteatlas move map. Default: its _redirects.",
            show_default=False,
        ),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Also name losses that an earlier check reported.")] = False,
    config: ConfigOption = None,
    site: OneSiteOption = None,
    as_json: JsonOption = False,
    verbose: TraceOption = False,
    **flags: Any,
) -> None:
    """Find the URLs that the site once published, and that lead to no page now.

    check requests only the URLs that the sitemap does not list any more, at the pace of a crawl. It reports each lost
    URL once, and records how each URL ended. With --folder it looks for all URLs in a folder of built pages, requests
    nothing and records nothing.
    """
    with CommandErrors(verbose) as errors:
        from crawler.cli.move_sides import written_state  # noqa: PLC0415 - the whole crawler
        from crawler.moves.register import Register  # noqa: PLC0415
        from crawler.state.database import transaction  # noqa: PLC0415
        from crawler.state.schema import STATE_DB  # noqa: PLC0415

        state = find_state_directory(url, config, site, flags)
        with STATE_DB.reading(state) as db:
            rows = [row for row in Register(db).rows(listed=folder is not None) if not row.accepted]
        start = url or (None if config or not rows else rows[0].url)
        ends = [*_ends(rows, folder, redirects, site_config(config, flags, start, site))]
        reported = set() if folder or all_ else {row.url for row in rows if row.reported}
        lost = [end for end in ends if end.ended == "lost" and end.url not in reported]
        if folder is None:
            with written_state(state) as db, transaction(db):
                Register(db).store(ends, time.time())
        unknown = [end for end in ends if end.ended == "unknown"]
        if as_json:
            values = {"asked": len(ends), "lost": lost, "unknown": unknown}
            sys.stdout.write(msgspec.json.format(msgspec.json.encode(values)).decode() + "\n")
        else:
            sys.stdout.writelines(f"lost: {safe(end.url)}: {safe(end.sentence)}\n" for end in lost)
            sys.stdout.writelines(f"not known: {safe(end.url)}: {safe(end.sentence)}\n" for end in unknown[:10])
            known = f", {len(reported):,} reported before" if reported else ""
            sys.stdout.write(
                f"{count_text(len(ends), 'URL')} asked, {len(lost):,} lost, {len(unknown):,} not known{known}\n"
            )
        errors.exit_code = FindingsFound.exit_code if lost else 0


def _ends(
    rows: list["RegisteredUrl"], folder: Path | None, redirects: Path | None, settings: "Config"
) -> Iterator["UrlEnd"]:
    """How each URL ends, by the site or a folder."""
    from crawler.crawl.sitemap_download import Downloader, origins_of  # noqa: PLC0415 - the whole crawler
    from crawler.moves.formats import read_map  # noqa: PLC0415
    from crawler.moves.inventory import place_of  # noqa: PLC0415
    from crawler.moves.probe import FolderProbe, LiveProbe, trail, url_end  # noqa: PLC0415

    if not rows:
        return
    origins = origins_of([row.url for row in rows])

    def walked(probe: "Probe") -> Iterator["UrlEnd"]:
        return (url_end(trail(probe, row.url)) for row in rows)

    if folder is None:
        with Downloader(settings, origins, 10 * 2**20) as remote:
            yield from walked(LiveProbe(remote))
        return
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}. Give the folder that the generator of the site writes")
    file = redirects or folder / "_redirects"
    if redirects is not None and not redirects.is_file():
        raise UsageError(f"there is no file {redirects}")
    moved = read_map(file.read_text(encoding="utf-8"), str(file)) if file.is_file() else []
    yield from walked(FolderProbe(folder, origins[0], {place_of(row.source): row for row in moved}))


@with_flags(*_FLAGS)
def import_(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Sitemap (file or URL) or list of URLs.")],
    url: SiteUrl = None,
    config: ConfigOption = None,
    site: OneSiteOption = None,
    verbose: TraceOption = False,
    **flags: Any,
) -> None:
    """Add URLs to the register, from old sitemaps and from lists.

    A list has one URL on each line. Paths without a host belong to the site. Access logs and Git history can give such
    lists.
    """
    with CommandErrors(verbose):
        from crawler.cli.move_sides import urls_of, written_state  # noqa: PLC0415 - the whole crawler
        from crawler.moves.inventory import place_of, read_state  # noqa: PLC0415
        from crawler.moves.register import Register  # noqa: PLC0415
        from crawler.state.database import transaction  # noqa: PLC0415

        state = find_state_directory(url, config, site, flags)
        origin = read_state(state).origin
        for name in files:
            found = [origin + place_of(word) for word in urls_of(name, flags) if word.startswith(("/", f"{origin}/"))]
            with written_state(state) as db, transaction(db):
                added = Register(db).add(dict.fromkeys(found), name, time.time())
            sys.stdout.write(f"{name}: {count_text(len(found), 'URL')} of {origin}, {added:,} of them new\n")


@with_flags(*_FLAGS)
def accept(
    pattern: Annotated[str, typer.Argument(metavar="URL", help="URL, with * for any text.")],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why it is gone on purpose.")],
    url: SiteUrl = None,
    config: ConfigOption = None,
    site: OneSiteOption = None,
    verbose: TraceOption = False,
    **flags: Any,
) -> None:
    """Record that URLs are gone on purpose, so that no check reports them."""
    with CommandErrors(verbose):
        from crawler.cli.move_sides import written_state  # noqa: PLC0415 - the whole crawler
        from crawler.moves.register import Register  # noqa: PLC0415
        from crawler.state.database import transaction  # noqa: PLC0415

        with written_state(find_state_directory(url, config, site, flags)) as db, transaction(db):
            count = Register(db).accept(pattern.replace("[", "[[]").replace("?", "[?]"), reason)
        if not count:
            raise UsageError(f"no URL that left the sitemap is like {pattern}. siteatlas urls list shows the register")
        sys.stdout.write(f"{count_text(count, 'URL')} accepted\n")


@with_flags(*_FLAGS)
def list_(
    url: SiteUrl = None,
    config: ConfigOption = None,
    site: OneSiteOption = None,
    verbose: TraceOption = False,
    **flags: Any,
) -> None:
    """Print the register as CSV: each URL with its dates, how it ended, and its source."""
    with CommandErrors(verbose):
        from crawler.moves.register import Register  # noqa: PLC0415 - the whole crawler
        from crawler.state.schema import STATE_DB  # noqa: PLC0415

        with STATE_DB.reading(find_state_directory(url, config, site, flags)) as db:
            rows = Register(db).rows()
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(("url", "first", "last", "end", "target", "reason", "source"))
        for row in rows:
            end = "listed" if row.last is None else "accepted" if row.accepted else row.ended
            last = "" if row.last is None else w3c(row.last)
            writer.writerow((row.url, w3c(row.first), last, end, row.target, row.accepted, row.source))


for _name, _function in (("check", check), ("import", import_), ("accept", accept), ("list", list_)):
    urls.command(_name, cls=HelpfulCommand, epilog=_EXAMPLES)(_function)
