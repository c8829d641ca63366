"""What ``siteatlas robots`` does for the sites that are meant, and how that is told to people and machines."""

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from crawler.audit.discovery.check import check, of_one_robots_txt
from crawler.audit.discovery.patch import Patch, apply, patched
from crawler.audit.discovery.result import Declaration, Outcome
from crawler.cli.options import settings
from crawler.cli.sites import configured
from crawler.config.config import Config
from crawler.config.plan import survey
from crawler.errors import UsageError
from crawler.model import Url
from crawler.state.status import sitemap_address
from crawler.state.store import directory_for
from crawler.units import count
from sitemap import safe

_IS_A_SITEMAP: Final = (".xml", ".xml.gz", ".txt", ".txt.gz")
_MARKS: Final = {Outcome.OK: "ok     ", Outcome.PROBLEM: "PROBLEM", Outcome.UNKNOWN: "?      "}


def wanted(
    url: str | None, file: Path | None, flags: Mapping[str, Any], sites: Sequence[str]
) -> list[tuple[str, Config]]:
    """The sites that are meant, by name. Raises UsageError."""
    if file is not None and url is None:
        return [
            (each.name, _as_published(each.config))
            for each in configured(file, flags, sites)
            if each.is_wanted
        ]
    address = url or flags.get("site__sitemap_url")
    if not address:
        raise UsageError("say which site: siteatlas robots https://www.example.com/, or --config FILE")
    if not flags.get("site__sitemap_url") and urlsplit(address).path.lower().endswith(_IS_A_SITEMAP):
        flags = {**flags, "site__sitemap_url": address}
    name = sites[0] if sites else None
    return [("", _as_published(settings(file, flags, address, name)))]


def _as_published(config: Config) -> Config:
    """A configuration that names the sitemap that is out there: with gzip one file is elsewhere than an index.

    One of which nobody knows is not named.
    """
    state = directory_for(Path(config.state.directory), survey(config)[1])
    there = sitemap_address(state, Url(config.site.sitemap_url))
    return config.model_copy(update={"site": config.site.model_copy(update={"sitemap_url": there})})


def patch(sites: Sequence[tuple[str, Config]], path: Path, *, dry_run: bool) -> tuple[list[Url], Patch]:
    """Have a local robots.txt name the sitemaps of the sites; asks nobody. Raises UsageError, StorageError."""
    urls = of_one_robots_txt([survey(config)[1] for _, config in sites])
    made = patched(path, urls)
    if not dry_run:
        apply(made)
    return urls, made


def told_of_patch(urls: Sequence[Url], made: Patch, *, dry_run: bool) -> Iterator[str]:
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


def looked(sites: Sequence[tuple[str, Config]]) -> Iterator[Declaration]:
    """How the sitemap of each site is declared, one after the other. Raises UsageError."""
    for name, config in sites:
        yield check(name, config)


def lines(declared: Declaration) -> Iterator[str]:
    """A line for each thing that was looked at, and what is to be added where."""
    if declared.name:
        yield f"== {declared.name} =="
    yield f"{declared.sitemap_url}, in {declared.robots_url}"
    for look in declared.looks:
        yield f"  {_MARKS[look.outcome]}  {safe(look.told)}"
        if look.remedy:
            yield f"           {safe(look.remedy)}"
    is_found = any(look.about == "sitemap.meant" for look in declared.looks)
    wish = f"--sitemap-url {declared.sitemap_url} " if is_found else ""
    for where, missing in declared.missing.items():
        patch = f"{wish}--patch FILE adds it to a local one"
        wanted_there = (
            "add to" if where == declared.robots_url else "if the sitemap may list its URLs, add to"
        )
        yield from ("", f"{wanted_there} {where} ({patch}):", "", *missing)
    faults = sum(look.outcome is Outcome.PROBLEM for look in declared.looks)
    yield from ("", count(faults, "problem") if faults else "no problems")


def as_json(declared: Sequence[Declaration], exit_code: int) -> str:
    """All of it for machines."""
    return json.dumps({"exit_code": exit_code, "sites": [each.as_json() for each in declared]}, indent=2)
