"""Writes a new configuration: the required settings of the sites, and common ones commented out."""

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from crawler.audit.report.layout import wrap
from crawler.cli.options import FLAGS
from crawler.config.config import Config

_HEAD: Final = """\
# The configuration of Siteatlas for {what}:
#
#   siteatlas run --config {file} --dry-run
#     crawls the site, and shows what it would publish
#   siteatlas run --config {file}
#     crawls the site and publishes the sitemap; later runs download only pages that changed
#
# To use a setting, remove the # before it. "siteatlas init --example" prints all settings with their defaults.
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
# urls = ["env:CHAT_URL"]

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


_EXAMPLE_HEAD = """\
# Every setting of Siteatlas, with its default. To use the file: siteatlas run --config site.toml
# The text in parentheses is the option that sets the same value. An option on the command line overrides its
# environment variable, such as SITEATLAS_MAX_DEPTH for --max-depth. The variable overrides this file.
# Times are numbers of seconds, or 90s, 15m, 2h, 1d. Sizes are numbers of bytes, or 512K, 20M, 1G.
"""

_EXAMPLE_SITES = """\
# [sites]
# Several sites in one file. Each site has a name and its own sections. The name consists of letters, digits, ".",
# "_" and "-". A key in a section of a site overrides the same key in the shared section above. If its value is a
# list or a table, it replaces the whole shared value. Paths are relative to the directory of this file.
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


_WIDTH: Final = 112  # columns of comments and lists


def example_config(width: int = 0) -> str:
    """The text of ``config.example.toml``, or its comments in at most ``width`` columns."""
    width = min(width or _WIDTH, _WIDTH)
    flags = {flag.key: flag.long for flag in FLAGS}
    lines = [_EXAMPLE_HEAD]
    for name, field in Config.model_fields.items():
        section = field.default
        lines.append(f"[{name}]")
        lines += [*wrap(" ".join(str(section.__doc__).split()), width, "# ", "# "), ""]
        for key, setting in type(section).model_fields.items():
            flag = flags.get(f"{name}.{key}")
            text = f"{setting.description} ({flag})" if flag else str(setting.description)
            lines += wrap(" ".join(text.split()), width, "# ", "# ")
            value = getattr(section, key)
            lines.append(f"# {key} =" if value is None else f"{key} = {_toml(value, width)}")
        lines.append("")
    lines.append(_EXAMPLE_SITES)
    return "\n".join(lines)


def _toml(value: Any, width: int = _WIDTH) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, tuple):
        listed = f"[{', '.join(map(_toml, value))}]"
        if len(listed) < 100:
            return listed
        filled = "\n".join(wrap(f"{listed[1:-1]},", width, "    ", "    "))
        return f"[\n{filled}\n]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(key)} = {_toml(item)}' for key, item in value.items())}}}"
    return repr(value)


if __name__ == "__main__":
    print(example_config(), end="")  # noqa: T201 - python -m crawler.cli.init.config > config.example.toml
