"""What ``siteatlas robots`` does for the sites that are meant, and how that is told to people and machines."""

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from crawler.audit.discovery.check import CheckStatus, Declaration, check_discovery, check_one_robots_txt
from crawler.audit.discovery.patch import RobotsTxtPatch, apply_patch, build_patch
from crawler.cli.options import site_config
from crawler.cli.sites import configured_sites
from crawler.config.config import Config
from crawler.config.plan import plan_scope
from crawler.errors import UsageError
from crawler.model import Url
from crawler.state.status import published_sitemap_url
from crawler.state.store import state_directory
from crawler.units import count_text
from sitemap import safe

_SITEMAP_SUFFIXES: Final = (".xml", ".xml.gz", ".txt", ".txt.gz")
_MARKS: Final = {CheckStatus.OK: "ok     ", CheckStatus.PROBLEM: "PROBLEM", CheckStatus.UNKNOWN: "?      "}


def selected_sites(
    url: str | None, file: Path | None, flags: Mapping[str, Any], sites: Sequence[str]
) -> list[tuple[str, Config]]:
    """The sites that are meant, by name. Raises UsageError."""
    if file is not None and url is None:
        return [
            (each.name, _published_config(each.config))
            for each in configured_sites(file, flags, sites)
            if each.is_wanted
        ]
    address = url or flags.get("site__sitemap_url")
    if not address:
        raise UsageError("say which site: siteatlas robots https://www.example.com/, or --config FILE")
    if not flags.get("site__sitemap_url") and urlsplit(address).path.lower().endswith(_SITEMAP_SUFFIXES):
        flags = {**flags, "site__sitemap_url": address}
    name = sites[0] if sites else None
    return [("", _published_config(site_config(file, flags, address, name)))]


def _published_config(config: Config) -> Config:
    """A configuration that names the sitemap that is out there: with gzip one file is elsewhere than an index.

    One of which nobody knows is not named.
    """
    state = state_directory(Path(config.state.directory), plan_scope(config)[1])
    there = published_sitemap_url(state, Url(config.site.sitemap_url))
    return config.model_copy(update={"site": config.site.model_copy(update={"sitemap_url": there})})


def patch_robots_txt(
    sites: Sequence[tuple[str, Config]], path: Path, *, dry_run: bool
) -> tuple[list[Url], RobotsTxtPatch]:
    """Have a local robots.txt name the sitemaps of the sites; asks nobody. Raises UsageError, StorageError."""
    urls = check_one_robots_txt([plan_scope(config)[1] for _, config in sites])
    made = build_patch(path, urls)
    if not dry_run:
        apply_patch(made)
    return urls, made


def patch_message(urls: Sequence[Url], made: RobotsTxtPatch, *, dry_run: bool) -> Iterator[str]:
    """What became of the file, or would."""
    path = safe(str(made.path))
    if not made.added:
        yield f"{path} already names {', '.join(urls)}: nothing to add"
    elif dry_run:
        before, after = (
            text.decode("utf-8", "backslashreplace") for text in (made.before or b"", made.after)
        )
        name = path if made.before is not None else "/dev/null"
        lines = difflib.unified_diff(before.splitlines(), after.splitlines(), name, path, lineterm="")
        yield from map(safe, lines)
    else:
        yield f"{'added to' if made.before is not None else 'created'} {path}:"
        yield from (f"  {line}" for line in made.added)


def check_sites(sites: Sequence[tuple[str, Config]]) -> Iterator[Declaration]:
    """How the sitemap of each site is declared, one after the other. Raises UsageError."""
    for name, config in sites:
        yield check_discovery(name, config)


def discovery_lines(declared: Declaration) -> Iterator[str]:
    """A line for each thing that was looked at, and what is to be added where."""
    if declared.name:
        yield f"== {declared.name} =="
    yield f"{declared.sitemap_url}, in {declared.robots_url}"
    for look in declared.checks:
        yield f"  {_MARKS[look.status]}  {safe(look.message)}"
        if look.remedy:
            yield f"           {safe(look.remedy)}"
    is_found = any(look.about == "sitemap.meant" for look in declared.checks)
    wish = f"--sitemap-url {declared.sitemap_url} " if is_found else ""
    for where, missing in declared.missing.items():
        patch = f"{wish}--patch FILE adds it to a local one"
        wanted_there = (
            "add to" if where == declared.robots_url else "if the sitemap may list its URLs, add to"
        )
        yield from ("", f"{wanted_there} {where} ({patch}):", "", *missing)
    faults = sum(look.status is CheckStatus.PROBLEM for look in declared.checks)
    yield from ("", count_text(faults, "problem") if faults else "no problems")


def discovery_json(declared: Sequence[Declaration], exit_code: int) -> str:
    """All of it for machines."""
    return json.dumps({"exit_code": exit_code, "sites": [each.as_json() for each in declared]}, indent=2)
