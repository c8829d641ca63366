"""The options of the commands: those with a key of the configuration, ``--set`` for every key, and common others."""

import inspect
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, get_args, get_origin

import typer
from msgspec import Struct

from crawler.cli import lint_options
from crawler.config.config import Config
from crawler.config.load import SECRET_KEYS, ConfigFile, Layers, load_site
from crawler.config.reference import reference_sections
from crawler.config.settings import (
    Setting,
    environment_settings,
    known_keys,
    misspelt_variables,
    parse_setting,
    section_of,
)
from crawler.errors import UsageError
from crawler.units import format_size


class Flag(Struct, frozen=True):
    """An option for a key: ``names`` for Typer, and the placeholder of its value.

    ``metavar`` "" makes it a switch; ``many`` allows repetition.
    """

    names: str
    key: str
    metavar: str = ""
    many: bool = False

    @property
    def field(self) -> str:
        """The name of the parameter that carries it."""
        return self.key.replace(".", "__")

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


def _or_default(context: typer.Context, file: Path | None) -> Path | None:
    """The file, or without one and without a URL the default, if it is here."""
    return file or (_DEFAULT_CONFIG if not context.params.get("url") and _DEFAULT_CONFIG.is_file() else None)


SitesConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Configuration file of the sites (TOML). Default: siteatlas.toml, if it is here.",
        envvar="SITEATLAS_CONFIG",
        show_default=False,
        callback=_or_default,
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
        help="Delete what earlier runs stored about the pages (the state), and fetch all pages again. A damaged state "
        "is renamed.",
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
        "--accept-shrink", help="In this run, publish the sitemap even if many pages leave it or lose their main text."
    ),
]

ReplaceOption = Annotated[
    bool, typer.Option("--replace", help="Overwrite a sitemap that no run with this state wrote.")
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
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Show errors only.")]
LogOption = Annotated[bool, typer.Option("--verbose", "-v", help="Log more.")]
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
ChangedOption = Annotated[
    str | None,
    typer.Option(
        "--changed",
        metavar="FILE|-",
        help="File of changed pages, one URL or path a line (-: stdin).",
        show_default=False,
    ),
]
RUN_OPTIONS: Final = {  # the fields of crawler.run.options.RunOptions
    **NEXT_RUN_OPTIONS,
    "dry_run": DryRun,
    "as_json": JsonOption,
    "quiet": QuietOption,
    "verbose": Verbose,
    "changed": ChangedOption,
}


FLAGS: Final = (
    Flag("-o --output", "output.directory", "DIR"),
    Flag("--sitemap-url", "site.sitemap_url", "URL"),
    Flag("--include", "scope.include", "PATTERN", many=True),
    Flag("--exclude", "scope.exclude", "PATTERN", many=True),
    Flag("--max-depth", "scope.max_depth", "N"),
    Flag("--max-pages", "scope.max_pages", "N"),
    Flag("--max-time", "scope.max_time", "SECONDS"),
    Flag("--subdomains/--no-subdomains", "scope.subdomains"),
    Flag("--host", "scope.hosts", "HOST[:PORT]", many=True),
    Flag("--drop-param", "urls.drop_params", "NAME", many=True),
    Flag("--respect-robots/--ignore-robots", "obey.robots"),
    Flag("-c --concurrency", "pace.concurrency", "N"),
    Flag("--rate", "pace.rate", "N"),
    Flag("--timeout", "fetch.timeout", "SECONDS"),
    Flag("--source", "fetch.source", "URL|DIR"),
    Flag("--resolve", "fetch.resolve", "HOST:PORT:IP", many=True),
    Flag("-u --user-agent", "fetch.user_agent", "AGENT"),
    Flag("-H --header", "fetch.headers", "NAME: VALUE", many=True),
    Flag("--basic-auth", "fetch.basic_auth", "USER:PASSWORD"),
    Flag("--cookie", "fetch.cookies", "NAME=VALUE", many=True),
    Flag("--proxy", "fetch.proxy", "URL"),
    Flag("--render", "render.mode", "MODE"),
    Flag("--lastmod", "content.lastmod", "SOURCE"),
    Flag("--gzip/--no-gzip", "output.gzip"),
    Flag("--group", "output.group", "KIND"),
    Flag("--format", "output.formats", "FORMAT", many=True),
    Flag("--html-sitemap/--no-html-sitemap", "output.html_sitemap"),
    Flag("--llms-txt/--no-llms-txt", "output.llms_txt"),
    Flag("--state", "state.directory", "DIR"),
    Flag("--sitemap", "audit.sitemaps", "FILE|URL", many=True),
    Flag("--log", "audit.logs", "FILE", many=True),
    Flag("--search", "audit.search", "FILE", many=True),
    Flag("--analytics", "audit.analytics", "FILE", many=True),
    Flag("--search-console", "audit.search_console", "PROPERTY"),
    Flag("--ga4", "audit.ga4", "PROPERTY"),
    Flag("--backlinks", "audit.backlinks", "FILE", many=True),
    Flag("--list", "audit.lists", "FILE", many=True),
    Flag("--crawl", "audit.crawls", "DIR|FILE", many=True),
    Flag("--max-unlinked", "audit.max_unlinked", "N"),
    Flag("--check-external", "audit.check_external"),
    Flag("--accepted", "audit.accepted", "FILE"),
    Flag("-o --report", "audit.report", "DIR"),
    Flag("--fail-on", "audit.fail_on", "NAMES", many=True),
    Flag("--upload", "upload.to", "URL"),
    Flag("--cron", "schedule.cron", "EXPRESSION"),
    Flag("--every", "schedule.every", "SECONDS"),
    Flag("--listen", "daemon.listen", "HOST:PORT|unix:PATH"),
    Flag("--allowed-host", "daemon.allowed_hosts", "HOST", many=True),
    Flag("--database", "fleet.database", "URL"),
    Flag("--state-store", "fleet.state_store", "URL"),
    Flag("--notify/--no-notify", "notify.enabled"),
)
_PANELS: Final = {
    **dict.fromkeys(("site", "scope", "urls", "obey", "state"), "Site"),
    **dict.fromkeys(("pace", "fetch", "render"), "Requests"),
    **dict.fromkeys(("content", "output", "upload", "notify"), "Output"),
    **dict.fromkeys(("audit",), "Sources and report"),
}
"""The heading in the help for the options of each section."""
CRAWL_KEYS: Final = tuple(
    flag.key for flag in FLAGS if not flag.key.startswith(("audit.", "schedule.", "daemon.", "fleet."))
)
CLIENT_KEYS: Final = tuple(
    f"fetch.{key}" for key in ("resolve", "user_agent", "headers", "basic_auth", "cookies", "proxy")
)
REQUEST_KEYS: Final = (*CLIENT_KEYS, "scope.hosts", "pace.rate", "fetch.timeout")
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set any key, such as pace.rate=5. siteatlas config prints all keys. May be repeated.",
    ),
]


def with_flags(
    *keys: str, switches: Mapping[str, Any] = MappingProxyType({})
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a Typer command that ends in ``**flags`` the option ``--set`` and the options of these keys as parameters.

    ``switches`` are annotations of more parameters, by name.
    """
    more: list[tuple[str, bool | None, Any]] = [("settings", None, SetOption)]
    more += [(name, False if get_args(switch)[0] is bool else None, switch) for name, switch in switches.items()]
    more += [(flag.field, None, _annotation(flag)) for flag in FLAGS if flag.key in keys]
    return with_parameters(more)


def with_parameters(
    more: Sequence[tuple[str, bool | None, Any]],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a Typer command that ends in ``**flags`` more parameters: each a name, a default and an annotation."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [p for p in inspect.signature(command).parameters.values() if p.kind is not p.VAR_KEYWORD]
        own += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, default, annotation in more
        ]
        command.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in own}
        return command

    return decorate


def given_layers(flags: Mapping[str, Any], url: str | None = None) -> Layers:
    """What overrides a configuration file: the environment, and the command line with the start URL.

    Of two ``--set`` for one key, the last wins. Raises UsageError for one beside the option of its key.
    """
    typed = [Setting(path=("site", "url"), value=url, origin="URL")] if url is not None else []
    typed += [
        Setting(path=tuple(flag.key.split(".")), value=value, origin=flag.long)
        for flag in FLAGS
        if (value := flags.get(flag.field)) not in (None, [], ())
    ]
    typed += map(parse_setting, flags.get("settings") or ())
    origins: dict[tuple[str | None, ...], str] = {}
    for setting in typed:
        place = (setting.site, *setting.path)
        other = origins.setdefault(place, setting.origin)
        if other != setting.origin:
            raise UsageError(f"{other} and {setting.origin} set the same key. Give only one of them")
    return environment_settings(os.environ), typed


def site_config(
    file: Path | None,
    flags: Mapping[str, Any],
    url: str | None = None,
    site: str | None = None,
    remedy: str = "Choose the site with --site",
) -> Config:
    """The configuration of one site of a file: see :func:`crawler.config.load.load_site`. Raises UsageError."""
    return load_site(ConfigFile.read(file) if file else None, given_layers(flags, url), site, remedy)


def _annotation(flag: Flag) -> Any:
    section, key = flag.key.split(".")
    field = section_of(section).model_fields[key]
    names = flag.names.split() if "/" not in flag.names else [flag.names]
    sentence = reference_sections()[section].keys[key].sentence
    option = typer.Option(
        *names,
        help=f"{sentence}.{_default_text(field.default, flag.metavar)}",
        metavar=flag.metavar or None,
        show_default=False,
        rich_help_panel=_PANELS.get(section),
    )
    if flag.many:
        return Annotated[list[str] | None, option]
    return Annotated[str | None if flag.metavar else bool | None, option]


def _default_text(default: object, metavar: str) -> str:
    """A default as a user would write it, in brackets; "" for none."""
    if default in (None, "", (), {}) or isinstance(default, tuple):
        return ""
    if isinstance(default, bool):
        shown = "on" if default else "off"
    elif isinstance(default, int) and metavar == "SIZE":
        shown = format_size(default)
    else:
        shown = f"{default:g}" if isinstance(default, float) else str(default)
    return f"  [default: {shown}]"


def notable_variables() -> list[str]:
    """A sentence for each variable of the environment that is probably meant for Siteatlas, but is not known."""
    options = [option for value in vars(lint_options).values() for option in get_args(value)]
    of_lint = {name for option in options if isinstance(name := getattr(option, "envvar", None), str)}
    return misspelt_variables(os.environ, {*of_lint, "SITEATLAS_CONFIG"})


_OTHER_NAMES: Final = {
    "max-urls-per-file": "output.max_urls",
    "max-bytes-per-file": "output.max_bytes",
    "browser-sandbox": "render.sandbox",
    "browser-no-sandbox": "render.sandbox",
    "max-state": "state.max_size",
    "run-retries": "schedule.retries",
    "schedule": "schedule.enabled",
    "schedule-state": "daemon.directory",
    "store-endpoint": "fleet.s3_endpoint",
    "store-region": "fleet.s3_region",
    "store-access-key": "fleet.s3_access_key",
    "store-secret-key": "fleet.s3_secret_key",
    "webhook": "webhook.urls",
    "email-from": "email.sender",
    "smtp": "email.server",
    "smtp-security": "email.security",
    "smtp-login": "email.login",
    "hook": "hook.command",
}
"""The keys of options of earlier versions whose names do not follow from their keys."""


def setting_instead(option: str, words: Sequence[str]) -> tuple[str, list[str]]:
    """The ``--set`` option in place of one that does not exist, and ``words`` with it; ("", []) if no key has its name.

    ``words`` are the arguments of the command. What is shown does not repeat the value of a secret.
    """
    key = _key_of(option)
    if not key:
        return "", []
    section, name = key.split(".")
    field = section_of(section).model_fields[name]
    is_switch = field.annotation is bool
    values, rest = _without(option, words, is_switch)
    if is_switch:
        text = "false" if re.match("--(?:no-|ignore-|browser-no-)", option) else "true"
    elif _is_many(section, name):
        text = f"[{', '.join(map(_quoted, values))}]"
    else:
        text = values[-1] if values else ""
    shown = "VALUE" if name in SECRET_KEYS[section] or not text else text
    return f"--set {shlex.quote(f'{key}={shown}')}", ["--set", f"{key}={text}", *rest]


def _quoted(text: str) -> str:
    return f'"{text}"' if text.isprintable() and not {*text} & {*'\\"'} else f"'{text}'"


def _without(option: str, words: Sequence[str], is_switch: bool) -> tuple[list[str], list[str]]:
    """The values that ``words`` give an option, and the other words."""
    values: list[str] = []
    rest: list[str] = []
    left = iter(words)
    for word in left:
        name, equals, value = word.partition("=")
        if name != option:
            rest.append(word)
        elif not is_switch:
            values += [value] if equals else [*islice(left, 1)]
    return values, rest


def _is_many(section: str, key: str) -> bool:
    return get_origin(section_of(section).model_fields[key].annotation) is tuple


def _key_of(option: str) -> str:
    """The key that an option set by its name: that of the key, perhaps with its section in front, or a singular."""
    name = option.removeprefix("--").removeprefix("ignore-")
    keys = [(section, key) for section, keys in known_keys().items() for key in keys]
    for spelled in (name, name.removeprefix("no-"), name.removeprefix("no-").removeprefix("respect-")):
        if spelled in _OTHER_NAMES:
            return _OTHER_NAMES[spelled]
        words = spelled.replace("-", "_")
        whole = [each for each in keys if words == "_".join(each)]
        if found := whole or [
            each for each in keys if words == each[1] or (words + "s" == each[1] and _is_many(*each))
        ]:
            return ".".join(found[0])
    return ""
