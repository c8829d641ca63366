"""The configuration that a newcomer begins with: what the sites need, and what they may want, switched off."""

import json
import re
import shlex
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

_HEAD: Final = """\
# Siteatlas keeps {what} by what this file says:
#
#   siteatlas run --config {file} --dry-run    crawls, and tells what would be published
#   siteatlas run --config {file}              crawls and publishes; the next time it asks for what changed
#
# Settings behind a # are there to be switched on. These are not all: "siteatlas init --example" prints every one of
# them with its default. Paths are relative to the directory of this file.
"""
_SITE: Final = """
[site]
# The crawl begins here. The sitemap lists what is in this directory and below.
url = {url}
"""
_OUTPUT: Final = """
[output]
{directory}# gzip = true
# A feed of the pages that changed last, beside the sitemap:
# recent = "atom"
"""
_DIRECTORY: Final = """\
# What the web server shows as {public}
directory = {directory}
"""
_STATE: Final = """
[state]
# What is known of {whom}, for the next run. Keep it, and publish it nowhere.
directory = {directory}
"""
_MORE: Final = """
[scope]
# What is left out, by path:
# exclude = ["/search*", "/cart/*"]
# How long one run may crawl; the next goes on.
# max_time = "2h"

[pace]
# Requests at the same time, and in a second:
# concurrency = 4
# rate = 10

[schedule]
# When "siteatlas schedule" runs {whom}; cron, timers and the like say it themselves.
{off}cron = "{cron}"
# That is UTC, unless:
# timezone = "Europe/Berlin"

[audit]
# Look for orphan pages, dead links and what is wrong with the sitemap too, after a run, so often:
# every = "7d"
# logs = ["/var/log/nginx/access.log*"]
# report = "audit"

# Tell search engines, and people, what changed. Secrets are named, not written: env:NAME or file:PATH.

[indexnow]
# Bing, Yandex and others. Make a key here, and let the site show it:
#   openssl rand -hex 16 > indexnow.key
#   {show_key}
# key = "file:indexnow.key"

[search_console]
# account = "service-account.json"

[webhook]
# urls = ["env:CHAT_URL"]

[email]
# Of runs that fail, once, and of what audits find that is new:
# to = ["webmaster@{host}"]
# server = "localhost:25"

[upload]
# Publish the files elsewhere too:
# to = "s3://bucket/prefix"
"""
_NAMED: Final = """
[sites.{name}.site]
url = {url}
[sites.{name}.output]
# What the web server shows as {public}
directory = {directory}
"""


def configuration(
    sites: Mapping[str, tuple[str, str]], *, file: str, state: str, cron: str, is_scheduled: bool
) -> str:
    """The text of a configuration. ``sites`` are start URL and output directory by name; of one the name is unused.

    ``file`` is the name of the file, ``state`` the directory of the state; ``is_scheduled`` switches ``cron`` on.
    """
    urls = [url for url, _ in sites.values()]
    alone = len(urls) == 1
    parts = [_HEAD.format(what=f"the sitemap of {urls[0]}" if alone else "these sitemaps", file=file)]
    if alone:
        ((url, directory),) = sites.values()
        parts.append(_SITE.format(url=_text(url)))
        told = _DIRECTORY.format(public=_public(url), directory=_text(directory))
        parts.append(_OUTPUT.format(directory=told))
    else:
        parts.append(_OUTPUT.format(directory=""))
    whom = "the site" if alone else "the sites"
    parts.append(_STATE.format(directory=_text(state), whom=whom))
    host = (urlsplit(urls[0]).hostname or "").removeprefix("www.")
    off = "" if is_scheduled else "# "
    parts.append(_MORE.format(whom=whom, off=off, cron=cron, host=host, show_key=_show_key(sites)))
    if not alone:
        parts.append(
            "\n# What stands in the sections of a site wins over the sections above, which all of them share.\n"
        )
        parts += [
            _NAMED.format(name=name, url=_text(url), public=_public(url), directory=_text(directory))
            for name, (url, directory) in sites.items()
        ]
    return "".join(parts)


def names(urls: list[str]) -> list[str]:
    """A name for each site: the first word of its host, or host and path where that is no name of one alone."""
    short = [_short(url) for url in urls]
    found: list[str] = []
    for url, name in zip(urls, short, strict=True):
        parts = urlsplit(url)
        base = own = name if short.count(name) == 1 else _name(f"{parts.hostname}-{parts.path}")
        number = 2
        while own in found:
            own, number = f"{base}-{number}", number + 1
        found.append(own)
    return found


def _short(url: str) -> str:
    host = (urlsplit(url).hostname or "").removeprefix("www.")
    return _name(host if re.fullmatch("[0-9.]+", host) else host.partition(".")[0])


def _name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-") or "site"


def _public(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[0] + "/"


def _show_key(sites: Mapping[str, tuple[str, str]]) -> str:
    """How the key file of IndexNow comes to where it is looked for, which is the top of a host."""
    if len(sites) == 1:
        ((url, directory),) = sites.values()
        if urlsplit(_public(url)).path == "/":
            return f"cp indexnow.key {shlex.quote(directory)}/$(cat indexnow.key).txt"
    return 'and have each host answer with it as /KEY.txt, where KEY is what "cat indexnow.key" says'


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
