"""The table of flags, the options that commands make of it, and the configuration from flags and a file."""

import difflib
import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, get_args

import typer

from crawler.cli import lint_options
from crawler.cli.lint_options import variable_of
from crawler.config.config import Config
from crawler.config.load import (
    EXCLUSIVE_KEYS,
    build_config,
    choose_sites,
    drop_overridden_key,
    read_tables,
    resolve_paths,
    split_sites,
)
from crawler.config.sections import ConfigSection
from crawler.errors import UsageError
from crawler.units import format_size


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag: ``names`` for Typer, the ``key`` that it sets, and the placeholder of its value.

    ``metavar`` "" makes it a switch; ``many`` allows repetition; ``pairs`` is the separator of name and value.
    ``own_variable`` is its environment variable if another option has the same flag.
    """

    names: str
    key: str
    metavar: str = ""
    many: bool = False
    pairs: str = ""
    own_variable: str = ""

    @property
    def field(self) -> str:
        """The name of the parameter that carries it."""
        return self.key.replace(".", "__")

    @property
    def variable(self) -> str:
        """The environment variable of the flag. With ``many``, each line is a value."""
        return self.own_variable or variable_of(self.long)

    @property
    def long(self) -> str:
        """The name that messages use."""
        return next(name for name in self.names.split("/")[0].split() if name.startswith("--"))


ConfigOption = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Configuration file (TOML).", envvar="SITEATLAS_CONFIG")
]

_DEFAULT_CONFIG: Final = Path("siteatlas.toml")
NO_CONFIG: Final = (
    "no site is given, and there is no siteatlas.toml here. Use siteatlas {} --config FILE, or write the file with "
    "siteatlas init URL -o DIR"
)
SitesConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Configuration file of the sites (TOML). Default: siteatlas.toml, if it is here.",
        envvar="SITEATLAS_CONFIG",
        show_default=False,
        callback=lambda file: file or (_DEFAULT_CONFIG if _DEFAULT_CONFIG.is_file() else None),
    ),
]

SiteOption = Annotated[
    list[str] | None,
    typer.Option(
        "--site", metavar="NAME", help="Name of a site in the configuration. May be repeated. Default: all sites."
    ),
]

StartUrlArgument = Annotated[
    str | None, typer.Argument(metavar="URL", help="URL of the page where the crawl starts.", show_default=False)
]
SiteUrlArgument = Annotated[
    str | None, typer.Argument(metavar="URL", help="Start URL of the site.", show_default=False)
]
OneSiteOption = Annotated[
    str | None,
    typer.Option("--site", metavar="NAME", help="Name of one site in the configuration.", show_default=False),
]
FreshOption = Annotated[
    bool,
    typer.Option(
        "--fresh",
        help="Delete what earlier runs stored about the pages (the state), and fetch all pages again. If the state is "
        "damaged, Siteatlas renames it, and starts a new state from the published sitemap.",
    ),
]

RestartOption = Annotated[
    bool,
    typer.Option(
        "--restart", help="Delete an interrupted crawl and start a new one. Keep the results of earlier runs."
    ),
]

DryRun = Annotated[bool, typer.Option("--dry-run", help="Crawl and show what would change, but publish nothing.")]

AcceptShrinkOption = Annotated[
    bool,
    typer.Option(
        "--accept-shrink",
        help="In this run, publish the new sitemap even if many pages leave it or no longer show their main text.",
    ),
]

ReplaceOption = Annotated[
    bool,
    typer.Option(
        "--replace",
        help="Overwrite the sitemap in the output directory even if Siteatlas did not write it with this state.",
    ),
]

RollbackRun = Annotated[
    int | None,
    typer.Option(
        "--to",
        metavar="RUN",
        help="Publish the sitemap of this run again. Default: the sitemap before the current one.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Show errors only.")]
TraceOption = Annotated[
    bool, typer.Option("--verbose", "-v", help="For an internal error, print the Python traceback.")
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Show all URLs that are not in the sitemap, and log more.")
]
NEXT_RUN_OPTIONS: Final = {
    "fresh": FreshOption,
    "restart": RestartOption,
    "accept_shrink": AcceptShrinkOption,
    "replace": ReplaceOption,
}
"""What a person asks one run to do, here or on the worker of a fleet."""
RUN_OPTIONS: Final = {  # the fields of crawler.run.options.RunOptions
    **NEXT_RUN_OPTIONS,
    "dry_run": DryRun,
    "as_json": JsonOption,
    "quiet": QuietOption,
    "verbose": Verbose,
}


FLAGS: Final = (
    Flag("-o --output", "output.directory", "DIR"),
    Flag("--sitemap-url", "site.sitemap_url", "URL"),
    Flag("--include", "scope.include", "PATTERN", many=True),
    Flag("--exclude", "scope.exclude", "PATTERN", many=True),
    Flag("--ask-all/--no-ask-all", "scope.ask_all"),
    Flag("--max-depth", "scope.max_depth", "N"),
    Flag("--max-pages", "scope.max_pages", "N"),
    Flag("--max-time", "scope.max_time", "SECONDS"),
    Flag("--max-segments", "scope.max_segments", "N"),
    Flag("--max-repeats", "scope.max_repeats", "N"),
    Flag("--trap-limit", "scope.trap_limit", "N"),
    Flag("--subdomains/--no-subdomains", "scope.subdomains"),
    Flag("--host", "scope.hosts", "HOST[:PORT]", many=True),
    Flag("--max-hosts", "scope.max_hosts", "N"),
    Flag("--sitemap-seeds/--no-sitemap-seeds", "scope.sitemap_seeds"),
    Flag("--drop-param", "urls.drop_params", "NAME", many=True),
    Flag("--keep-param", "urls.keep_params", "NAME", many=True),
    Flag("--respect-robots/--ignore-robots", "obey.robots"),
    Flag("--max-crawl-delay", "obey.max_crawl_delay", "SECONDS"),
    Flag("--respect-noindex/--no-respect-noindex", "obey.noindex"),
    Flag("--respect-engine-noindex/--no-respect-engine-noindex", "obey.engine_noindex"),
    Flag("--respect-canonical/--no-respect-canonical", "obey.canonical"),
    Flag("--respect-nofollow/--no-respect-nofollow", "obey.nofollow"),
    Flag("-c --concurrency", "pace.concurrency", "N"),
    Flag("--rate", "pace.rate", "N"),
    Flag("--delay", "pace.delay", "SECONDS"),
    Flag("--max-retry-after", "pace.max_retry_after", "SECONDS"),
    Flag("--max-error-time", "pace.max_error_time", "SECONDS"),
    Flag("--source", "fetch.source", "URL|DIR"),
    Flag("--resolve", "fetch.resolve", "HOST:PORT:ADDRESS", many=True),
    Flag("-u --user-agent", "fetch.user_agent", "AGENT"),
    Flag("-H --header", "fetch.headers", "NAME: VALUE", many=True, pairs=":"),
    Flag("--basic-auth", "fetch.basic_auth", "USER:PASSWORD"),
    Flag("--cookie", "fetch.cookies", "NAME=VALUE", many=True, pairs="="),
    Flag("--signing-key", "fetch.signing_key", "FILE"),
    Flag("--signature-agent", "fetch.signature_agent", "URL"),
    Flag("--proxy", "fetch.proxy", "URL"),
    Flag("--transport", "fetch.transport", "fast|httpx"),
    Flag("--http2/--no-http2", "fetch.http2"),
    Flag("--ca-file", "fetch.ca_file", "FILE"),
    Flag("--timeout", "fetch.timeout", "SECONDS"),
    Flag("--connect-timeout", "fetch.connect_timeout", "SECONDS"),
    Flag("--read-timeout", "fetch.read_timeout", "SECONDS"),
    Flag("--max-download", "fetch.max_download", "SIZE"),
    Flag("--max-body", "fetch.max_body", "SIZE"),
    Flag("--max-sitemap", "fetch.max_sitemap", "SIZE"),
    Flag("--refetch-every", "fetch.refetch_every", "RUNS"),
    Flag("--second-reads", "fetch.second_reads", "N"),
    Flag("--not-found-checks", "fetch.not_found_checks", "N"),
    Flag("--max-redirects", "fetch.max_redirects", "N"),
    Flag("--retries", "fetch.retries", "N"),
    Flag("--processes", "parse.processes", "N"),
    Flag("--parse-timeout", "parse.timeout", "SECONDS"),
    Flag("--parse-memory", "parse.memory", "SIZE"),
    Flag("--max-links", "parse.max_links", "N"),
    Flag("--max-link-bytes", "parse.max_link_bytes", "SIZE"),
    Flag("--render", "render.mode", "auto|never|always"),
    Flag("--browser", "render.browser", "PROGRAM"),
    Flag("--browser-sandbox/--browser-no-sandbox", "render.sandbox"),
    Flag("--render-concurrency", "render.concurrency", "N"),
    Flag("--render-timeout", "render.timeout", "SECONDS"),
    Flag("--render-deadline", "render.deadline", "SECONDS"),
    Flag("--render-max-failures", "render.max_failures", "N"),
    Flag("--render-max-requests", "render.max_requests", "N"),
    Flag("--render-memory", "render.memory", "SIZE"),
    Flag("--render-max-pages", "render.max_pages", "N"),
    Flag("--render-post", "render.post", "PATTERN", many=True),
    Flag("--render-max-resource", "render.max_resource", "SIZE"),
    Flag("--render-cache", "render.cache", "SIZE"),
    Flag("--lastmod", "content.lastmod", "observed|header|page|git|none"),
    Flag("--repository", "content.repository", "DIR"),
    Flag("--generator", "content.generator", "NAME"),
    Flag("--images/--no-images", "content.images"),
    Flag("--max-image-share", "content.max_image_share", "SHARE"),
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
    Flag("--format", "output.formats", "text|rss|atom|xml", many=True, own_variable="SITEATLAS_FORMATS"),
    Flag("--html-sitemap/--no-html-sitemap", "output.html_sitemap"),
    Flag("--html-sitemap-links", "output.html_sitemap_links", "N"),
    Flag("--llms-txt/--no-llms-txt", "output.llms_txt"),
    Flag("--llms-txt-links", "output.llms_txt_links", "N"),
    Flag("--changefreq", "output.changefreq", "FREQUENCY"),
    Flag("--priority", "output.priority", "0.0-1.0"),
    Flag("--keep-failed", "output.keep_failed", "RUNS"),
    Flag("--mode", "output.mode", "OCTAL"),
    Flag("--swap-delay", "output.swap_delay", "SECONDS"),
    Flag("--grace-period", "output.grace_period", "SECONDS"),
    Flag("--generations", "output.generations", "N"),
    Flag("--partial/--no-partial", "output.partial"),
    Flag("--max-failed", "output.max_failed", "SHARE"),
    Flag("--max-shrink", "output.max_shrink", "SHARE"),
    Flag("--accept-after", "output.accept_after", "RUNS"),
    Flag("--state", "state.directory", "DIR"),
    Flag("--max-state", "state.max_size", "SIZE"),
    Flag("--keep-runs", "state.keep_runs", "N"),
    Flag("--sitemap", "audit.sitemaps", "FILE|URL", many=True),
    Flag("--log", "audit.logs", "FILE", many=True),
    Flag("--log-format", "audit.log_format", "FORMAT"),
    Flag("--search", "audit.search", "FILE", many=True),
    Flag("--analytics", "audit.analytics", "FILE", many=True),
    Flag("--search-console", "audit.search_console", "PROPERTY"),
    Flag("--ga4", "audit.ga4", "PROPERTY"),
    Flag("--google-credentials", "audit.google_credentials", "FILE"),
    Flag("--google-days", "audit.google_days", "N"),
    Flag("--max-google-requests", "audit.max_google_requests", "N"),
    Flag("--inspect-urls", "audit.inspect_urls", "N"),
    Flag("--inspection-endpoint", "audit.inspection_endpoint", "URL"),
    Flag("--ga4-endpoint", "audit.ga4_endpoint", "URL"),
    Flag("--backlinks", "audit.backlinks", "FILE", many=True),
    Flag("--list", "audit.lists", "FILE", many=True),
    Flag("--crawl", "audit.crawls", "DIR|FILE", many=True),
    Flag("--url-column", "audit.url_column", "NAME"),
    Flag("--verify-bots/--no-verify-bots", "audit.verify_bots"),
    Flag("--min-log-days", "audit.min_log_days", "N"),
    Flag("--keep-tokens/--no-keep-tokens", "audit.keep_tokens"),
    Flag("--max-crawl-age", "audit.max_crawl_age", "SECONDS"),
    Flag("--max-unlinked", "audit.max_unlinked", "N"),
    Flag("--min-visits", "audit.min_visits", "N"),
    Flag("--max-clicks", "audit.max_clicks", "N"),
    Flag("--min-inlinks", "audit.min_inlinks", "N"),
    Flag("--media/--no-media", "audit.media"),
    Flag("--max-media", "audit.max_media", "N"),
    Flag("--trust-blocked/--no-trust-blocked", "audit.trust_blocked"),
    Flag("--trust-logs/--no-trust-logs", "audit.trust_logs"),
    Flag("--trust-failed", "audit.trust_failed", "N"),
    Flag("--audit-every", "audit.every", "SECONDS"),
    Flag("--segment", "audit.segments", "NAME=PATTERN", many=True, pairs="="),
    Flag("--accepted", "audit.accepted", "FILE"),
    Flag("-o --report", "audit.report", "DIR"),
    Flag("--fail-on", "audit.fail_on", "NAMES", many=True),
    Flag("--upload", "upload.to", "URL"),
    Flag("--cache-control", "upload.cache_control", "DIRECTIVES"),
    Flag("--s3-endpoint", "upload.s3_endpoint", "URL"),
    Flag("--s3-region", "upload.s3_region", "NAME"),
    Flag("--s3-access-key", "upload.s3_access_key", "SECRET"),
    Flag("--s3-secret-key", "upload.s3_secret_key", "SECRET"),
    Flag("--sftp-password", "upload.sftp_password", "SECRET"),
    Flag("--sftp-key", "upload.sftp_key", "FILE"),
    Flag("--sftp-known-hosts", "upload.sftp_known_hosts", "FILE"),
    Flag("--upload-timeout", "upload.timeout", "SECONDS"),
    Flag("--upload-retries", "upload.retries", "N"),
    Flag("--upload-grace-period", "upload.grace_period", "SECONDS"),
    Flag("--cron", "schedule.cron", "EXPRESSION"),
    Flag("--every", "schedule.every", "SECONDS"),
    Flag("--schedule/--no-schedule", "schedule.enabled"),
    Flag("--timezone", "schedule.timezone", "NAME"),
    Flag("--jitter", "schedule.jitter", "SECONDS"),
    Flag("--run-on-start/--no-run-on-start", "schedule.run_on_start"),
    Flag("--run-retries", "schedule.retries", "N"),
    Flag("--retry-delay", "schedule.retry_delay", "SECONDS"),
    Flag("--max-retry-delay", "schedule.max_retry_delay", "SECONDS"),
    Flag("--run-timeout", "schedule.run_timeout", "SECONDS"),
    Flag("--schedule-state", "daemon.directory", "DIR"),
    Flag("--max-parallel-runs", "daemon.max_parallel_runs", "N"),
    Flag("--reload-interval", "daemon.reload_interval", "SECONDS"),
    Flag("--shutdown-timeout", "daemon.shutdown_timeout", "SECONDS"),
    Flag("--history-limit", "daemon.history_limit", "N"),
    Flag("--listen", "daemon.listen", "HOST:PORT|unix:PATH"),
    Flag("--allowed-host", "daemon.allowed_hosts", "HOST", many=True),
    Flag("--serve-sitemaps/--no-serve-sitemaps", "daemon.serve_sitemaps"),
    Flag("--max-clients", "daemon.max_clients", "N"),
    Flag("--client-timeout", "daemon.client_timeout", "SECONDS"),
    Flag("--database", "fleet.database", "URL"),
    Flag("--state-store", "fleet.state_store", "URL"),
    Flag("--sites-at-once", "fleet.sites_at_once", "N", own_variable="SITEATLAS_FLEET_SITES_AT_ONCE"),
    Flag("--lease", "fleet.lease", "SECONDS"),
    Flag("--queue-limit", "fleet.queue_limit", "N"),
    Flag("--dispatch-interval", "fleet.dispatch_interval", "SECONDS"),
    Flag("--by-address/--no-by-address", "fleet.by_address"),
    Flag("--snapshots", "fleet.snapshots", "N"),
    Flag("--publish-without-store/--no-publish-without-store", "fleet.publish_without_store"),
    Flag("--store-endpoint", "fleet.s3_endpoint", "URL"),
    Flag("--store-region", "fleet.s3_region", "REGION"),
    Flag("--store-access-key", "fleet.s3_access_key", "SECRET"),
    Flag("--store-secret-key", "fleet.s3_secret_key", "SECRET"),
    Flag("--store-timeout", "fleet.store_timeout", "SECONDS"),
    Flag("--notify/--no-notify", "notify.enabled"),
    Flag("--check-live/--no-check-live", "notify.check_live"),
    Flag("--notify-attempts", "notify.attempts", "N"),
    Flag("--notify-retry-delay", "notify.retry_delay", "SECONDS"),
    Flag("--notify-max-retry-after", "notify.max_retry_after", "SECONDS"),
    Flag("--notify-timeout", "notify.timeout", "SECONDS"),
    Flag("--notify-max-urls", "notify.max_urls", "N"),
    Flag("--indexnow-key", "indexnow.key", "SECRET"),
    Flag("--indexnow-key-url", "indexnow.key_url", "URL"),
    Flag("--indexnow-endpoint", "indexnow.endpoint", "URL"),
    Flag("--indexnow-batch", "indexnow.batch", "N"),
    Flag("--indexnow-first-run/--no-indexnow-first-run", "indexnow.first_run"),
    Flag("--search-console-account", "search_console.account", "FILE"),
    Flag("--search-console-property", "search_console.property", "URL"),
    Flag("--search-console-endpoint", "search_console.endpoint", "URL"),
    Flag("--search-console-check-interval", "search_console.check_interval", "SECONDS"),
    Flag("--websub-hub", "websub.hubs", "URL", many=True),
    Flag("--webhook", "webhook.urls", "URL", many=True),
    Flag("--webhook-secret", "webhook.secret", "SECRET"),
    Flag("--webhook-template", "webhook.template", "FILE"),
    Flag("--webhook-on", "webhook.on", "EVENT", many=True),
    Flag("--email-to", "email.to", "ADDRESS", many=True),
    Flag("--email-from", "email.sender", "ADDRESS"),
    Flag("--smtp", "email.server", "HOST:PORT"),
    Flag("--smtp-security", "email.security", "none|starttls|tls"),
    Flag("--smtp-login", "email.login", "SECRET"),
    Flag("--email-template", "email.template", "FILE"),
    Flag("--email-on", "email.on", "EVENT", many=True),
    Flag("--hook", "hook.command", "WORD", many=True),
    Flag("--hook-timeout", "hook.timeout", "SECONDS"),
    Flag("--hook-on", "hook.on", "EVENT", many=True),
)

PANELS: Final = {
    "scope": "Scope",
    "urls": "URLs",
    "obey": "Robots rules",
    "pace": "Request rate",
    "fetch": "Fetch",
    "parse": "Parsing",
    "render": "JavaScript",
    "content": "Content",
    "output": "Output",
    "site": "Output",
    "state": "Output",
    "audit": "Sources and thresholds",
    "upload": "Upload",
    "schedule": "Schedule",
    "daemon": "Daemon",
    "fleet": "Fleet",
    "notify": "Notifications",
    "indexnow": "Notifications",
    "search_console": "Notifications",
    "websub": "Notifications",
    "webhook": "Notifications",
    "email": "Notifications",
    "hook": "Notifications",
}

NOTIFY_KEYS = tuple(f"{name}." for name, panel in PANELS.items() if panel == "Notifications")
CLIENT_KEYS = tuple(
    f"fetch.{key}"
    for key in (
        *("resolve", "user_agent", "headers", "basic_auth", "cookies", "signing_key", "signature_agent"),
        *("proxy", "transport", "ca_file"),
    )
)
REQUEST_KEYS = (
    *CLIENT_KEYS,
    *("scope.hosts", "pace.rate", "fetch.timeout", "fetch.connect_timeout", "fetch.read_timeout", "fetch.retries"),
)
FILE_ONLY_KEYS = tuple(
    flag.key
    for flag in FLAGS
    if flag.key.startswith((*NOTIFY_KEYS, "upload.")) and flag.key not in {"upload.to", "notify.enabled"}
)
"""The keys of uploads and notifications that ``crawl`` and ``run`` take from the configuration and the environment.

Their flags still work there, hidden, each with one line of warning.
"""
CRAWL_KEYS = tuple(flag.key for flag in FLAGS if not flag.key.startswith(("audit.", "schedule.", "daemon.", "fleet.")))
_MAX_DEFAULT_LENGTH = 60  # characters of a list of defaults in the help


def with_flags(
    *keys: str, switches: Mapping[str, Any] = MappingProxyType({}), file_only: tuple[str, ...] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a Typer command that ends in ``**flags`` the flags of these keys as parameters.

    A key that ends with a dot means the whole section. ``switches`` are annotations of more parameters, by name. The
    help does not show the flags of ``file_only`` keys.
    """
    chosen = [flag for flag in FLAGS if flag.key in keys or f"{flag.key.partition('.')[0]}." in keys]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [p for p in inspect.signature(command).parameters.values() if p.kind is not p.VAR_KEYWORD]
        more: list[tuple[str, bool | None, Any]] = [(name, False, switch) for name, switch in switches.items()]
        more += [(flag.field, None, _annotation(flag, hidden=flag.key in file_only)) for flag in chosen]
        own += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, default, annotation in more
        ]
        command.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in own}
        return command

    return decorate


def site_config(
    file: Path | None,
    flags: Mapping[str, Any],
    url: str | None = None,
    site: str | None = None,
    remedy: str = "Choose the site with --site",
) -> Config:
    """The configuration of one site: the file, overridden by the flags and ``url``.

    ``site`` is its name in a file of several; ``remedy`` says what to do without one. Raises UsageError.
    """
    if file is None:
        if site is not None:
            raise UsageError(f"--site {site} needs a configuration. Add --config FILE")
        return config_from_flags({}, flags, url=url)
    source = str(file)
    sites = split_sites(read_tables(file), source, flag_of)
    names = list(sites)
    if site is not None:
        names = choose_sites(names, [site], source)
    elif len(names) > 1:
        raise UsageError(
            f"{file} configures several sites ({', '.join(names)}), but this command takes one site. {remedy}"
        )
    return config_from_flags(resolve_paths(sites[names[0]], file.parent), flags, source, url)


def config_from_flags(
    tables: dict[str, Any], flags: Mapping[str, Any], source: str = "", url: str | None = None
) -> Config:
    """The configuration of tables, overridden by the flags and ``url``. Raises UsageError."""
    site = tables.get("site", {})
    if url is not None and isinstance(site, dict):
        tables = {**tables, "site": {**site, "url": url}}
    set_keys = {flag.key for flag in FLAGS if _flag_value(flag, flags) is not None}
    return build_config(with_flag_values(tables, flags), source, partial(_setter_name, flags), given=set_keys)


def with_flag_values(tables: dict[str, Any], flags: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of the file, overridden by the command line and the environment.

    Raises UsageError for a pair without its separator.
    """
    merged = {name: dict(table) if isinstance(table, dict) else table for name, table in tables.items()}
    for flag in FLAGS:
        value = _flag_value(flag, flags)
        if value is None:
            continue
        section, key = flag.key.split(".")
        table = merged.setdefault(section, {})
        if not isinstance(table, dict):
            return merged  # no table: build_config reports it
        table[key] = _flag_table(flag, value, _setter_name(flags, flag.key)) if flag.pairs else value
        if flag.key == "urls.drop_params":  # the flag adds names, the file has the whole list
            table[key] = [*Config.model_fields["urls"].default.drop_params, *value]
    if isinstance(merged.get("schedule"), dict):
        for level in _precedence(flags):
            drop_overridden_key(merged["schedule"], level)
    return merged


def _flag_value(flag: Flag, flags: Mapping[str, Any]) -> Any:
    """The value of a flag from the command line or the environment; None if neither sets it."""
    value, variable = flags.get(flag.field), flag.variable
    if flag.many and not value:
        value = [line for line in os.environ.get(variable, "").splitlines() if line.strip()]
    return None if value == [] else value


def _precedence(flags: Mapping[str, Any]) -> Iterator[set[str]]:
    """The mutually exclusive keys that the environment sets, and then those that the command line sets.

    Typer does not tell them apart: a value that differs from the variable was typed.
    """
    exclusive = [flag for flag in FLAGS if flag.key in {f"schedule.{key}" for key in EXCLUSIVE_KEYS}]
    set_flags = {flag.key.partition(".")[2]: flag for flag in exclusive if flags.get(flag.field) is not None}
    yield set(set_flags)
    yield {key for key, flag in set_flags.items() if flags[flag.field] != os.environ.get(flag.variable)}


def flag_of(key: str) -> str:
    """The flag that sets a key, for messages; the key itself when there is none."""
    return next((flag.long for flag in FLAGS if flag.key == key), key)


def _setter_name(flags: Mapping[str, Any], key: str) -> str:
    """The source of a key's value, for messages: the environment variable that set it, else the flag."""
    for flag in FLAGS:
        value = flags.get(flag.field)
        is_typed = bool(value) if flag.many else value != os.environ.get(flag.variable)
        if flag.key == key and not is_typed and _flag_value(flag, flags) is not None:
            return flag.variable
    return flag_of(key)


def _flag_table(flag: Flag, texts: list[str], setter: str) -> dict[str, str]:
    table = {}
    for text in texts:
        name, separator, value = text.partition(flag.pairs)
        if not separator or not name.strip():
            raise UsageError(
                f"{setter} needs the form {flag.metavar} (the value that you gave is not shown, because it may "
                "be secret)"
            )
        table[name.strip()] = value.strip()
    return table


def _annotation(flag: Flag, *, hidden: bool) -> Any:
    section, key = flag.key.split(".")
    annotation = Config.model_fields[section].annotation
    assert isinstance(annotation, type)  # noqa: S101 - sections are classes
    assert issubclass(annotation, ConfigSection)  # noqa: S101
    field = annotation.model_fields[key]
    names = flag.names.split() if "/" not in flag.names else [flag.names]
    option = typer.Option(
        *names,
        help=(
            f"{field.description}{' May be repeated.' if flag.many else ''}{_default_text(field.default, flag.metavar)}"
        ),
        metavar=flag.metavar or None,
        envvar=None if flag.many else flag.variable,
        show_default=False,
        show_envvar=False,
        hidden=hidden,
        rich_help_panel=PANELS[section],
    )
    if flag.many:
        return Annotated[list[str] | None, option]
    return Annotated[str | None if flag.metavar else bool | None, option]


def _default_text(default: object, metavar: str) -> str:
    """A default as a user would write it, in brackets; "" for none."""
    if default in (None, "", (), {}):
        return ""
    if isinstance(default, tuple):
        listed = ", ".join(map(str, default))
        shown = listed if len(listed) <= _MAX_DEFAULT_LENGTH else f"{len(default)} names"
    elif isinstance(default, bool):
        shown = "on" if default else "off"
    elif isinstance(default, int) and metavar == "SIZE":
        shown = format_size(default)
    elif isinstance(default, float):
        shown = f"{default:g}"
    else:
        shown = str(default)
    return f"  [default: {shown}]"


_PREFIX: Final = variable_of("")
_MIN_SIMILARITY: Final = 0.88  # a letter or two that are missing, doubled, swapped or wrong


def misspelt_variables(names: Iterable[str]) -> list[str]:
    """A sentence for each variable that nearly has a known name. Others belong to the user, such as secrets."""
    known = {name.removeprefix(_PREFIX) for name in _known_variables()}
    sentences = []
    for name in sorted(names):
        ending = name.removeprefix(_PREFIX)
        if name.startswith(_PREFIX) and ending not in known:
            matches = difflib.get_close_matches(ending, known, n=1, cutoff=_MIN_SIMILARITY)
            sentences += (
                [f"{name} is not a variable of siteatlas. Did you mean {_PREFIX}{matches[0]}?"] if matches else []
            )
    return sentences


def _known_variables() -> set[str]:
    options = [option for value in vars(lint_options).values() for option in get_args(value)]
    of_lint = {name for option in options if isinstance(name := getattr(option, "envvar", None), str)}
    return {flag.variable for flag in FLAGS} | of_lint | {f"{_PREFIX}CONFIG"}
