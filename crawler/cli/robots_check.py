"""Checks or patches robots.txt for the selected sites, and formats the result as text or JSON."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
from msgspec.structs import replace

from crawler.audit.discovery.check import check_discovery, check_one_robots_txt
from crawler.audit.discovery.patch import RobotsTxtPatch, apply_patch, build_patch
from crawler.audit.discovery.readers import CheckStatus, Declaration, DiscoveryCheck, check
from crawler.audit.report.layout import Line
from crawler.cli.options import site_config
from crawler.cli.sites import configured_sites
from crawler.config.config import Config
from crawler.config.plan import plan_scope, state_directory
from crawler.errors import UsageError
from crawler.model import Url
from crawler.publish.write import foreign_sitemap
from crawler.state.status import published_sitemap_url
from crawler.units import count_text
from sitemap import safe

_SITEMAP_SUFFIXES: Final = (".xml", ".xml.gz", ".txt", ".txt.gz")
_REMEDY_COLUMN: Final = 11
_MARKS: Final = {CheckStatus.OK: "ok     ", CheckStatus.PROBLEM: "PROBLEM", CheckStatus.UNKNOWN: "?      "}


def selected_sites(
    url: str | None, file: Path | None, flags: Mapping[str, Any], sites: Sequence[str]
) -> list[tuple[str, Config]]:
    """The selected sites, by name. Raises UsageError."""
    if file is not None and url is None:
        return [
            (site.name, _published_config(site.config))
            for site in configured_sites(file, flags, sites)
            if site.is_wanted
        ]
    address = url or flags.get("site__sitemap_url")
    if not address:
        raise UsageError("no site is given. Use siteatlas robots https://www.example.com/, or --config FILE")
    if not flags.get("site__sitemap_url") and urlsplit(address).path.lower().endswith(_SITEMAP_SUFFIXES):
        flags = {**flags, "site__sitemap_url": address}
    name = sites[0] if sites else None
    return [("", _published_config(site_config(file, flags, address, name)))]


def _published_config(config: Config) -> Config:
    """The configuration with the URL of the published sitemap: with gzip, a single file has another name than an index.

    Unchanged if the state knows of none.
    """
    state = state_directory(Path(config.state.directory), plan_scope(config)[1])
    published = published_sitemap_url(state, Url(config.site.sitemap_url))
    return config.model_copy(update={"site": config.site.model_copy(update={"sitemap_url": published})})


def declarations(sites: Sequence[tuple[str, Config]], *, as_readers: bool) -> Iterator[Declaration]:
    """Check the sites, one after the other. Raises UsageError.

    ``as_readers`` also requests each sitemap under the names of search engines, and asks Search Console if the
    configuration has an account.
    """
    for name, config in sites:
        declaration = check_discovery(name, config, as_readers=as_readers)
        if config.output.directory and (foreign := foreign_sitemap(config)):
            told = check("sitemap.same/foreign", file=foreign)
            checks = (
                told if each.about == told.about and each.status is CheckStatus.OK else each
                for each in declaration.checks
            )
            declaration = replace(declaration, checks=tuple(checks))
        if as_readers and config.search_console.account:
            status = anyio.run(_ask_search_console, config, declaration.sitemap_url)
            *others, cause = declaration.checks
            declaration = replace(declaration, checks=(*others, status, cause))
        yield declaration


async def _ask_search_console(config: Config, sitemap_url: str) -> DiscoveryCheck:
    """What Search Console says of the sitemap. Raises UsageError."""
    from crawler.config.google import ServiceAccount  # noqa: PLC0415 - few have an account
    from crawler.notify.channels.search_console import SearchConsoleChannel  # noqa: PLC0415
    from crawler.notify.configure import build_http  # noqa: PLC0415
    from crawler.notify.notice import SendResult  # noqa: PLC0415

    section = config.search_console
    async with build_http(config) as http:
        account = ServiceAccount.read(section.account)
        channel = SearchConsoleChannel(http, account, sitemap_url, section.endpoint, section.property)
        status = await channel.read_status()
    if isinstance(status, SendResult):
        return check("search_console.status/unknown", message=status.message)
    case = "search_console.status/errors" if status.errors else "search_console.status/ok"
    return check(case, message=status.sentence)


def patch_robots_txt(
    sites: Sequence[tuple[str, Config]], path: Path, *, dry_run: bool
) -> tuple[list[Url], RobotsTxtPatch]:
    """Add the sitemaps of the sites to a local robots.txt; sends no request. Raises UsageError, StorageError."""
    urls = check_one_robots_txt([plan_scope(config)[1] for _, config in sites])
    patch = build_patch(path, urls)
    if not dry_run:
        apply_patch(patch)
    return urls, patch


def patch_message(urls: Sequence[Url], patch: RobotsTxtPatch, *, dry_run: bool) -> Iterator[str | Line]:
    """The change of the file, as a diff with ``dry_run``."""
    path = safe(str(patch.path))
    if not patch.added:
        yield f"{path} already names {', '.join(urls)}: nothing to add"
    elif dry_run:
        before, after = (text.decode("utf-8", "backslashreplace") for text in (patch.before or b"", patch.after))
        name = path if patch.before is not None else "/dev/null"
        lines = difflib.unified_diff(before.splitlines(), after.splitlines(), name, path, lineterm="")
        yield from map(Line, map(safe, lines))
    else:
        yield f"{'added to' if patch.before is not None else 'created'} {path}:"
        yield from (Line(f"  {line}") for line in patch.added)
        yield "crawlers see it once the site serves this file: after the next build or deploy, if one copies it"


def discovery_lines(declared: Declaration) -> Iterator[str | Line]:
    """A line for each check, its remedy, and the lines to add to each robots.txt."""
    if declared.name:
        yield f"== {declared.name} =="
    yield f"{declared.sitemap_url}, in {declared.robots_url}"
    for each in declared.checks:
        yield Line(f"  {_MARKS[each.status]}  ", safe(each.message))
        if each.remedy:
            yield Line(" " * _REMEDY_COLUMN, safe(each.remedy))
    is_found = any(each.about == "sitemap.meant" for each in declared.checks)
    option = f"--sitemap-url {declared.sitemap_url} " if is_found else ""
    for robots_url, missing in declared.missing.items():
        patch = f"{option}--patch FILE adds it to a local copy"
        instruction = "add to" if robots_url == declared.robots_url else "if the sitemap may list its URLs, add to"
        yield from ("", f"{instruction} {robots_url} ({patch}):", "")
        yield from map(Line, missing)
    faults = sum(each.status is CheckStatus.PROBLEM for each in declared.checks)
    yield from ("", count_text(faults, "problem") if faults else "no problems")
