"""The sites of one configuration: which there are, what each is told, and that none of them is in another's way.

``[sites.NAME.output]`` and so on override, key by key, the sections that all sites share.
"""

import difflib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from crawler.config import Config
from crawler.config_tables import build
from crawler.errors import UsageError

KEY: Final = "sites"
_PATHS: Final = (
    ("output", "directory"),
    ("state", "directory"),
    ("fetch", "ca_file"),
    ("fetch", "source"),
    ("audit", "report"),
)
_LISTS: Final = (
    "sitemaps",
    "logs",
    "search",
    "analytics",
    "backlinks",
    "lists",
    "crawls",
)  # of paths, for an audit
_SECRETS: Final = ("basic_auth", "proxy")  # that may name a file
_name = re.compile(r"[A-Za-z0-9._-]+")


class Place(Struct, frozen=True):
    """Where a site writes: ``sitemap`` is the file that is announced, ``state`` the directory of its state."""

    name: str
    sitemap: Path
    state: Path


def split(
    tables: dict[str, Any], source: str, flag_of: Callable[[str], str] = str
) -> dict[str, dict[str, Any]]:
    """The tables of each site by its name, in the order of the file; by "" when there is but one, without a name.

    Everything in them is known and fits. Raises UsageError that names the source and the key as it stands there.
    """
    shared = {name: table for name, table in tables.items() if name != KEY}
    if KEY not in tables:
        return {"": shared}
    build(shared, source, flag_of)
    named = tables[KEY]
    if not isinstance(named, dict) or not named:
        raise UsageError(f"{KEY} in {source} wants a table for each site, such as [{KEY}.shop.site]")
    return {name: _merged(shared, name, own, source, flag_of) for name, own in named.items()}


def anchored(tables: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The tables of one site with relative paths taken from ``folder``, where their file is.

    A scheduler starts commands in a directory of its own: were paths relative to that, a state would be looked for
    where there is none.
    """
    if folder == Path():
        return tables
    anchored = {name: dict(table) if isinstance(table, dict) else table for name, table in tables.items()}
    state = anchored.setdefault("state", {})
    if isinstance(state, dict):
        state.setdefault("directory", Config().state.directory)
    for section, key in _PATHS:
        table = anchored.get(section)
        path = table.get(key) if isinstance(table, dict) else None
        if isinstance(table, dict) and isinstance(path, str) and path and "://" not in path:
            table[key] = str(folder / path)
    audit = anchored.get("audit")
    if isinstance(audit, dict):
        for key in _LISTS:
            if isinstance(audit.get(key), list):
                audit[key] = [_from(folder, each) for each in audit[key]]
    for key in _SECRETS:
        fetch = anchored.get("fetch")
        text = fetch.get(key) if isinstance(fetch, dict) else None
        if isinstance(fetch, dict) and isinstance(text, str) and text.startswith("file:"):
            fetch[key] = f"file:{folder / text.removeprefix('file:')}"
    return anchored


def _from(folder: Path, path: Any) -> Any:
    return str(folder / path) if isinstance(path, str) and "://" not in path and path != "-" else path


def choose(known: Sequence[str], wanted: Sequence[str], source: str) -> list[str]:
    """The names that are ``wanted``, in the order of the source; all of them when none is named. Raises UsageError."""
    for name in wanted:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f'did you mean "{near[0]}"?' if near else f"known are: {', '.join(known)}"
            raise UsageError(f'there is no site "{name}" in {source}: {hint}')
    return [name for name in known if name in wanted or not wanted]


def keep_apart(places: Sequence[Place], source: str) -> None:
    """Check that no two sites write the same sitemap or share a state. Raises UsageError that names both."""
    for number, place in enumerate(places):
        for other in places[:number]:
            both = f'the sites "{other.name}" and "{place.name}" in {source}'
            if place.sitemap == other.sitemap:
                raise UsageError(
                    f"{both} would both write {place.sitemap}: give each an output.directory of its own"
                )
            if place.state == other.state:
                raise UsageError(
                    f"{both} would share one state, because they have the same sitemap URL: give each a site.url or a "
                    f"site.sitemap_url of its own, or a state.directory"
                )


def _merged(
    shared: dict[str, Any], name: str, own: object, source: str, flag_of: Callable[[str], str]
) -> dict[str, Any]:
    if not _name.fullmatch(name):
        raise UsageError(
            f'the site name "{name}" in {source} may have letters, digits, ".", "_" and "-" only'
        )
    if not isinstance(own, dict):
        raise UsageError(f"{KEY}.{name} in {source} wants tables, such as [{KEY}.{name}.site]")
    build(own, source, flag_of, f"{KEY}.{name}.")
    sections = dict.fromkeys([*shared, *own])
    return {section: {**shared.get(section, {}), **own.get(section, {})} for section in sections}
