"""Writes a new configuration: the required settings of the sites, and common ones commented out."""

import json
import re
import shlex
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

_HEAD: Final = """\
# The configuration of Siteatlas for {what}:
#
#   siteatlas run --config {file} --dry-run
#     crawls the site, and shows what it would publish
#   siteatlas run --config {file}
#     crawls the site and publishes the sitemap; later runs download only pages that changed
#
# To use a setting, remove the # before it. "siteatlas config" prints all settings with their defaults.
# Paths are relative to the directory of this file.
"""

_SITE: Final = """
[site]
# URL of the page where the crawl starts. The sitemap lists the pages in its directory and below.
url = {url}
"""

_OUTPUT: Final = """
[output]
{directory}# gzip = true
# Publish a feed of the latest changes in the same directory:
# recent = "atom"
"""

_DIRECTORY: Final = """\
# The directory that the web server serves as {public}
directory = {directory}
"""

_STATE: Final = """
[state]
# What Siteatlas stores about {whom} for the next run. Keep this directory, and do not publish it.
directory = {directory}
"""

_OPTIONAL_SECTIONS: Final = """
[scope]
# Do not crawl these URLs:
# exclude = ["/search*", "/cart/*"]
# Maximum time of a crawl. The next run continues the crawl.
# max_time = "2h"

[pace]
# Maximum requests at the same time, and requests per second:
# concurrency = 4
# rate = 10

[schedule]
# When {whom} {verb}. "siteatlas schedule" obeys this section at once. cron, systemd and others have a copy: after a
# change, let siteatlas init write their files again.
{off}cron = "{cron}"
# The default is UTC:
# timezone = "Europe/Berlin"

[audit]
# After a run, audit the site for orphan pages and dead links, if the last audit is at least this old:
# every = "7d"
# logs = ["/var/log/nginx/access.log*"]
# report = "audit"

# Notify search engines and people of changes. Do not write secrets into this file: write env:NAME or file:PATH.

[indexnow]
# Notify Bing, Yandex and other search engines. Create a key, and publish it on the site:
#   openssl rand -hex 16 > indexnow.key
#   {show_key}
# key = "file:indexnow.key"

[search_console]
# account = "service-account.json"

[webhook]
# Send a JSON message to your own URL:
# urls = ["https://tools.example.com/sitemap-changes"]

[email]
# Send an e-mail when runs begin to fail, and when an audit has new findings:
# to = ["webmaster@{host}"]
# server = "localhost:25"

[upload]
# Also upload the files:
# to = "s3://bucket/prefix"
"""

_NAMED_SITE: Final = """
[sites.{name}.site]
url = {url}
[sites.{name}.output]
# The directory that the web server serves as {public}
directory = {directory}
"""


def new_config(sites: Mapping[str, tuple[str, str]], *, file: str, state: str, cron: str, is_scheduled: bool) -> str:
    """The text of a configuration. ``sites`` are start URL and output directory by name; one site needs no name.

    ``file`` is the name of the file, ``state`` the directory of the state; ``is_scheduled`` switches ``cron`` on.
    """
    urls = [url for url, _ in sites.values()]
    is_single = len(urls) == 1
    parts = [_HEAD.format(what=urls[0] if is_single else "several sites", file=file)]
    if is_single:
        ((url, directory),) = sites.values()
        parts.append(_SITE.format(url=_toml_string(url)))
        setting = _DIRECTORY.format(public=_public(url), directory=_toml_string(directory))
        parts.append(_OUTPUT.format(directory=setting))
    else:
        parts.append(_OUTPUT.format(directory=""))
    sites_text = "the site" if is_single else "the sites"
    parts.append(_STATE.format(directory=_toml_string(state), whom=sites_text))
    host = (urlsplit(urls[0]).hostname or "").removeprefix("www.")
    comment = "" if is_scheduled else "# "
    parts.append(
        _OPTIONAL_SECTIONS.format(
            whom=sites_text,
            verb="runs" if is_single else "run",
            off=comment,
            cron=cron,
            host=host,
            show_key=_show_key(sites),
        )
    )
    if not is_single:
        parts.append(
            "\n# The sections above apply to all sites. A key in a section of a site overrides the same key above.\n"
        )
        parts += [
            _NAMED_SITE.format(name=name, url=_toml_string(url), public=_public(url), directory=_toml_string(directory))
            for name, (url, directory) in sites.items()
        ]
    return "".join(parts)


def site_names(urls: list[str]) -> list[str]:
    """A unique name for each site: the first label of its host, or host and path if several sites share that."""
    short = [_short(url) for url in urls]
    names: list[str] = []
    for url, name in zip(urls, short, strict=True):
        parts = urlsplit(url)
        base = candidate = name if short.count(name) == 1 else _name(f"{parts.hostname}-{parts.path}")
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
