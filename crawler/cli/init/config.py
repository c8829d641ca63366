"""Writes a new configuration: the required settings of the sites, and common ones commented out."""

import json
import re
import shlex
from collections.abc import Mapping
from urllib.parse import urlsplit

from crawler.cli.init.kit import fill


def new_config(  # noqa: PLR0913 - what init finds out is wide
    sites: Mapping[str, tuple[str, str]],
    *,
    file: str,
    state: str,
    cron: str,
    is_scheduled: bool,
    indexnow_key: str = "",
    is_built: bool = False,
    has_git_dates: bool = False,
) -> str:
    """The text of a configuration. ``sites`` are start URL and output directory by name; one site needs no name.

    ``file`` is the name of the file, ``state`` the directory of the state; ``is_scheduled`` switches ``cron`` on,
    ``indexnow_key`` IndexNow. ``is_built``: a generator builds the output directory, so runs read the pages there, and
    take their dates from Git if that ``has_git_dates``.
    """
    urls = [url for url, _ in sites.values()]
    described = [
        {
            "name": name,
            "url": _toml_string(url),
            "public": _public(url),
            "directory": _toml_string(directory),
            "key_url": f"{_public(url)}{indexnow_key}.txt" if urlsplit(_public(url)).path != "/" else "",
        }
        for name, (url, directory) in sites.items()
    ]
    is_single = len(urls) == 1
    return fill(
        "siteatlas.toml",
        what=urls[0] if is_single else "several sites",
        file=file,
        single=described[0] if is_single else None,
        sites=described,
        state=_toml_string(state),
        whom="the site" if is_single else "the sites",
        verb="runs" if is_single else "run",
        is_scheduled=is_scheduled,
        cron=cron,
        host=(urlsplit(urls[0]).hostname or "").removeprefix("www."),
        show_key=_show_key(sites),
        indexnow_key=indexnow_key,
        is_built=is_built,
        has_git_dates=has_git_dates,
    )


def site_names(urls: list[str]) -> list[str]:
    """A unique name for each site: the first label of its host, or host, port and path if several sites share that."""
    short = [_short(url) for url in urls]
    names: list[str] = []
    for url, name in zip(urls, short, strict=True):
        parts = urlsplit(url)
        base = candidate = (
            name if short.count(name) == 1 else _name(f"{parts.hostname}-{parts.port or ''}-{parts.path}")
        )
        number = 2
        while candidate in names:
            candidate, number = f"{base}-{number}", number + 1
        names.append(candidate)
    return names


def _short(url: str) -> str:
    host = (urlsplit(url).hostname or "").removeprefix("www.")
    return _name(host if re.fullmatch("[0-9.]+", host) else host.partition(".")[0])


def _name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-") or "site"


def _public(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[0] + "/"


def _show_key(sites: Mapping[str, tuple[str, str]]) -> str:
    """How to serve the key file of IndexNow at the root of a host."""
    if len(sites) == 1:
        ((url, directory),) = sites.values()
        if urlsplit(_public(url)).path == "/":
            return f"cp indexnow.key {shlex.quote(directory)}/$(cat indexnow.key).txt"
    return 'and serve the file on each host as /KEY.txt; KEY is the output of "cat indexnow.key"'


def _toml_string(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
