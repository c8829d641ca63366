"""The flags of the command line: which configuration key each one sets. Help and defaults are the configuration's."""

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from crawler.config import Config
from crawler.config_section import Section
from crawler.config_tables import build, read
from crawler.errors import UsageError
from crawler.quantities import as_size
from crawler.sites import anchored, choose, split


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag: ``names`` as Typer wants them, the ``key`` it sets, and what a person writes after it.

    ``metavar`` "" makes it a switch; ``many`` lets it be given more than once; ``pairs`` splits each value in two.
    """

    names: str
    key: str
    metavar: str = ""
    many: bool = False
    pairs: str = ""

    @property
    def field(self) -> str:
        """The name of the parameter that carries it."""
        return self.key.replace(".", "__")

    @property
    def variable(self) -> str:
        """The environment variable that sets it too. One that may be given more than once takes a value a line."""
        return f"SITEATLAS_{self.long.removeprefix('--').replace('-', '_').upper()}"

    @property
    def long(self) -> str:
        """The name that messages use."""
        return next(name for name in self.names.split("/")[0].split() if name.startswith("--"))


FLAGS = (
    Flag("-o --output", "output.directory", "DIR"),
    Flag("--sitemap-url", "site.sitemap_url", "URL"),
    Flag("--include", "scope.include", "PATTERN", many=True),
    Flag("--exclude", "scope.exclude", "PATTERN", many=True),
    Flag("--max-depth", "scope.max_depth", "N"),
    Flag("--max-pages", "scope.max_pages", "N"),
    Flag("--max-time", "scope.max_time", "SECONDS"),
    Flag("--max-segments", "scope.max_segments", "N"),
    Flag("--max-repeats", "scope.max_repeats", "N"),
    Flag("--subdomains/--no-subdomains", "scope.subdomains"),
    Flag("--host", "scope.hosts", "HOST[:PORT]", many=True),
    Flag("--sitemap-seeds/--no-sitemap-seeds", "scope.sitemap_seeds"),
    Flag("--drop-param", "urls.drop_params", "NAME", many=True),
    Flag("--keep-param", "urls.keep_params", "NAME", many=True),
    Flag("--respect-robots/--ignore-robots", "obey.robots"),
    Flag("--max-crawl-delay", "obey.max_crawl_delay", "SECONDS"),
    Flag("--respect-noindex/--no-respect-noindex", "obey.noindex"),
    Flag("--respect-canonical/--no-respect-canonical", "obey.canonical"),
    Flag("--respect-nofollow/--no-respect-nofollow", "obey.nofollow"),
    Flag("-c --concurrency", "pace.concurrency", "N"),
    Flag("--rate", "pace.rate", "N"),
    Flag("--delay", "pace.delay", "SECONDS"),
    Flag("--longest-pause", "pace.longest_pause", "SECONDS"),
    Flag("--source", "fetch.source", "URL|DIR"),
    Flag("--resolve", "fetch.resolve", "HOST:PORT:ADDRESS", many=True),
    Flag("-u --user-agent", "fetch.user_agent", "TEXT"),
    Flag("-H --header", "fetch.headers", "NAME: VALUE", many=True, pairs=":"),
    Flag("--basic-auth", "fetch.basic_auth", "USER:PASSWORD"),
    Flag("--cookie", "fetch.cookies", "NAME=VALUE", many=True, pairs="="),
    Flag("--proxy", "fetch.proxy", "URL"),
    Flag("--transport", "fetch.transport", "fast|httpx"),
    Flag("--http2/--no-http2", "fetch.http2"),
    Flag("--ca-file", "fetch.ca_file", "FILE"),
    Flag("--timeout", "fetch.timeout", "SECONDS"),
    Flag("--connect-timeout", "fetch.connect_timeout", "SECONDS"),
    Flag("--read-timeout", "fetch.read_timeout", "SECONDS"),
    Flag("--max-wire", "fetch.max_wire", "SIZE"),
    Flag("--max-body", "fetch.max_body", "SIZE"),
    Flag("--max-sitemap", "fetch.max_sitemap", "SIZE"),
    Flag("--full-every", "fetch.full_every", "RUNS"),
    Flag("--max-redirects", "fetch.max_redirects", "N"),
    Flag("--retries", "fetch.retries", "N"),
    Flag("--processes", "parse.processes", "N"),
    Flag("--parse-timeout", "parse.deadline", "SECONDS"),
    Flag("--parse-memory", "parse.memory", "SIZE"),
    Flag("--max-links", "parse.max_links", "N"),
    Flag("--lastmod", "content.lastmod", "observed|header|page|none"),
    Flag("--images/--no-images", "content.images"),
    Flag("--videos/--no-videos", "content.videos"),
    Flag("--alternates/--no-alternates", "content.alternates"),
    Flag("--gzip/--no-gzip", "output.gzip"),
    Flag("--max-urls-per-file", "output.max_urls", "N"),
    Flag("--max-bytes-per-file", "output.max_bytes", "SIZE"),
    Flag("--group", "output.group", "section|language|type"),
    Flag("--file-names", "output.file_names", "TEMPLATE"),
    Flag("--stylesheet", "output.stylesheet", "css|xsl"),
    Flag("--recent", "output.recent", "atom|rss"),
    Flag("--recent-urls", "output.recent_urls", "N"),
    Flag("--recent-name", "output.recent_name", "NAME"),
    Flag("--changefreq", "output.changefreq", "WORD"),
    Flag("--priority", "output.priority", "0.0-1.0"),
    Flag("--keep-failed", "output.keep_failed", "RUNS"),
    Flag("--mode", "output.mode", "0644"),
    Flag("--settle", "output.settle", "SECONDS"),
    Flag("--grace", "output.grace", "SECONDS"),
    Flag("--generations", "output.generations", "N"),
    Flag("--partial/--no-partial", "output.partial"),
    Flag("--max-failed", "output.max_failed", "SHARE"),
    Flag("--max-shrink", "output.max_shrink", "SHARE"),
    Flag("--state", "state.directory", "DIR"),
    Flag("--keep-runs", "state.keep_runs", "N"),
    Flag("--sitemap", "audit.sitemaps", "FILE|URL", many=True),
    Flag("--log", "audit.logs", "FILE", many=True),
    Flag("--log-format", "audit.log_format", "FORMAT"),
    Flag("--search", "audit.search", "FILE", many=True),
    Flag("--analytics", "audit.analytics", "FILE", many=True),
    Flag("--backlinks", "audit.backlinks", "FILE", many=True),
    Flag("--list", "audit.lists", "FILE", many=True),
    Flag("--crawl", "audit.crawls", "DIR|FILE", many=True),
    Flag("--url-column", "audit.url_column", "NAME"),
    Flag("--verify-bots/--no-verify-bots", "audit.verify_bots"),
    Flag("--max-outside", "audit.max_outside", "N"),
    Flag("--min-visits", "audit.min_visits", "N"),
    Flag("--max-clicks", "audit.max_clicks", "N"),
    Flag("--few-inlinks", "audit.few_inlinks", "N"),
    Flag("--media/--no-media", "audit.media"),
    Flag("--max-media", "audit.max_media", "N"),
    Flag("--trust-blocked/--no-trust-blocked", "audit.trust_blocked"),
    Flag("-o --report", "audit.report", "DIR"),
    Flag("--fail-on", "audit.fail_on", "NAMES", many=True),
)

_PANELS = {
    "scope": "Scope",
    "urls": "URLs",
    "obey": "Obedience",
    "pace": "Pace",
    "fetch": "Fetch",
    "parse": "Reading",
    "content": "Content",
    "output": "Output",
    "site": "Output",
    "state": "Output",
    "audit": "Sources and thresholds",
}
AUDIT_ONLY = "audit."


def with_flags(*keys: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a Typer command that ends in ``**flags`` the flags of these keys as parameters.

    Without keys it gets all but those of the audit.
    """
    wanted = [flag for flag in FLAGS if (flag.key in keys if keys else not flag.key.startswith(AUDIT_ONLY))]

    def give(command: Callable[..., None]) -> Callable[..., None]:
        own = [p for p in inspect.signature(command).parameters.values() if p.kind is not p.VAR_KEYWORD]
        flags = [
            inspect.Parameter(
                flag.field, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_annotation(flag)
            )
            for flag in wanted
        ]
        command.__signature__ = inspect.Signature([*own, *flags])  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in [*own, *flags]}
        return command

    return give


def settings(
    file: Path | None, flags: Mapping[str, Any], url: str | None = None, site: str | None = None
) -> Config:
    """The configuration of one site: the file, with what the flags and ``url`` set in its place.

    ``site`` is its name in a file of several. Raises UsageError.
    """
    if file is None:
        if site is not None:
            raise UsageError(
                f"--site {site} is the name of a site in a configuration: name that too, with --config FILE"
            )
        return built({}, flags, url=url)
    source = str(file)
    every = split(read(file), source, flag_of)
    names = list(every)
    if site is not None:
        names = choose(names, [site], source)
    elif len(names) > 1:
        raise UsageError(
            f"{file} configures several sites ({', '.join(names)}), and this command takes one: name it with --site "
            f"if the command has that, or let siteatlas run --config {file} take them all"
        )
    return built(anchored(every[names[0]], file.parent), flags, source, url)


def built(
    tables: dict[str, Any], flags: Mapping[str, Any], source: str = "", url: str | None = None
) -> Config:
    """The configuration that tables become with what the flags and ``url`` set in their place. Raises UsageError."""
    site = tables.get("site", {})
    if url is not None and isinstance(site, dict):
        tables = {**tables, "site": {**site, "url": url}}
    return build(overlay(tables, flags), source, flag_of)


def overlay(tables: dict[str, Any], flags: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of the file with what the command line (or the environment) sets in their place.

    Raises UsageError for a pair without its separator.
    """
    merged = {name: dict(table) if isinstance(table, dict) else table for name, table in tables.items()}
    for flag in FLAGS:
        given = flags.get(flag.field)
        if flag.many and not given:
            given = [line for line in os.environ.get(flag.variable, "").splitlines() if line.strip()]
        if given is None or given == []:
            continue
        section, key = flag.key.split(".")
        table = merged.setdefault(section, {})
        if not isinstance(table, dict):
            return merged  # no table at all: the configuration says so
        table[key] = _table(flag, given) if flag.pairs else given
        if (
            flag.key == "urls.drop_params"
        ):  # on the command line, more names to drop; in the file, the whole list
            table[key] = [*Config.model_fields["urls"].default.drop_params, *given]
    return merged


def flag_of(key: str) -> str:
    """The flag that sets a key, for messages; the key itself when there is none."""
    return next((flag.long for flag in FLAGS if flag.key == key), key)


def _table(flag: Flag, given: list[str]) -> dict[str, str]:
    table = {}
    for text in given:
        name, separator, value = text.partition(flag.pairs)
        if not separator or not name.strip():
            raise UsageError(
                f"{flag.long} wants {flag.metavar}, with {flag.pairs} between (what was given is not shown)"
            )
        table[name.strip()] = value.strip()
    return table


def _annotation(flag: Flag) -> Any:
    section, key = flag.key.split(".")
    annotation = Config.model_fields[section].annotation
    assert isinstance(annotation, type)  # noqa: S101 - sections are classes
    assert issubclass(annotation, Section)  # noqa: S101
    field = annotation.model_fields[key]
    names = flag.names.split() if "/" not in flag.names else [flag.names]
    option = typer.Option(
        *names,
        help=f"{field.description}{_shown(field.default, flag.metavar)}",
        metavar=flag.metavar or None,
        envvar=None if flag.many else flag.variable,
        show_default=False,
        show_envvar=False,
        rich_help_panel=_PANELS[section],
    )
    if flag.many:
        return Annotated[list[str] | None, option]
    return Annotated[str | None if flag.metavar else bool | None, option]


def _shown(default: object, metavar: str) -> str:
    """A default as a person would write it, in brackets; "" for none."""
    if default in (None, "", (), {}):
        return ""
    if isinstance(default, tuple):
        shown = f"{len(default)} names"
    elif isinstance(default, bool):
        shown = "on" if default else "off"
    elif isinstance(default, int) and metavar == "SIZE":
        shown = as_size(default)
    elif isinstance(default, float):
        shown = f"{default:g}"
    else:
        shown = str(default)
    return f"  [default: {shown}]"
