"""The configuration that a newcomer begins with: what the sites need, and what they may want, switched off."""

import json
import re
import shlex
import textwrap
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from crawler.cli.options import FLAGS
from crawler.config.config import Config

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

_OPTIONAL_SECTIONS: Final = """
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

_NAMED_SITE: Final = """
[sites.{name}.site]
url = {url}
[sites.{name}.output]
# What the web server shows as {public}
directory = {directory}
"""


def new_config(
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
        parts.append(_SITE.format(url=_toml_string(url)))
        told = _DIRECTORY.format(public=_public(url), directory=_toml_string(directory))
        parts.append(_OUTPUT.format(directory=told))
    else:
        parts.append(_OUTPUT.format(directory=""))
    whom = "the site" if alone else "the sites"
    parts.append(_STATE.format(directory=_toml_string(state), whom=whom))
    host = (urlsplit(urls[0]).hostname or "").removeprefix("www.")
    off = "" if is_scheduled else "# "
    parts.append(
        _OPTIONAL_SECTIONS.format(whom=whom, off=off, cron=cron, host=host, show_key=_show_key(sites))
    )
    if not alone:
        parts.append(
            "\n# What stands in the sections of a site wins over the sections above, which all of them share.\n"
        )
        parts += [
            _NAMED_SITE.format(
                name=name, url=_toml_string(url), public=_public(url), directory=_toml_string(directory)
            )
            for name, (url, directory) in sites.items()
        ]
    return "".join(parts)


def site_names(urls: list[str]) -> list[str]:
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


def _toml_string(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


_EXAMPLE_HEAD = """\
# Every setting of siteatlas, at its default. Use it with: siteatlas run --config site.toml
# A flag on the command line overrides the environment (SITEATLAS_ and the flag's name), which overrides this file.
# Durations are seconds, or 90s, 15m, 2h, 1d. Sizes are bytes, or 512K, 20M, 1G.
"""


_EXAMPLE_SITES = """\
# [sites]
# Several sites, for: siteatlas run --config sites.toml. Each has a name of letters, digits, ".", "_" and "-", and
# sections of its own. Their keys override the shared ones above; a list or a table replaces the shared one as a whole.
# Paths are relative to the directory of this file.
#
# [sites.shop.site]
# url = "https://shop.example.com/"
# [sites.shop.output]
# directory = "/srv/www/shop"
#
# [sites.blog]
# site = {url = "https://blog.example.com/"}
# output = {directory = "/srv/www/blog", gzip = true}
"""


def example_config() -> str:
    """The text of ``config.example.toml``."""
    flags = {flag.key: flag.long for flag in FLAGS}
    out = [_EXAMPLE_HEAD]
    for name, field in Config.model_fields.items():
        section = field.default
        out.append(f"[{name}]")
        out.append(f"# {section.__doc__}")
        for key, each in type(section).model_fields.items():
            flag = flags.get(f"{name}.{key}")
            told = f"{each.description} ({flag})" if flag else str(each.description)
            out += textwrap.wrap(
                told, 112, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False
            )
            value = getattr(section, key)
            out.append(f"# {key} =" if value is None else f"{key} = {_toml(value)}")
        out.append("")
    out.append(_EXAMPLE_SITES)
    return "\n".join(out)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, tuple):
        listed = f"[{', '.join(map(_toml, value))}]"
        if len(listed) < 100:
            return listed
        filled = textwrap.fill(f"{listed[1:-1]},", 112, initial_indent="    ", subsequent_indent="    ")
        return f"[\n{filled}\n]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(key)} = {_toml(each)}' for key, each in value.items())}}}"
    return repr(value)


if __name__ == "__main__":
    print(example_config(), end="")  # noqa: T201 - python -m crawler.cli.init.config > config.example.toml
