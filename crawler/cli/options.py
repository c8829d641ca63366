"""The options of the commands: those with a key of the configuration, ``--set`` for every key, and common others."""

import inspect
import json
import os
import re
import shlex
import tomllib
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from importlib.resources import files
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, get_origin

import typer
from msgspec import Struct

from crawler.config.config import Config
from crawler.config.load import SECRET_KEYS, ConfigFile, Layers, load_site, resolve_paths
from crawler.config.reference import reference_sections
from crawler.config.secrets import mask_password
from crawler.config.settings import (
    Setting,
    environment_settings,
    known_keys,
    misspelt_variables,
    parse_setting,
    section_of,
    value_of,
)
from crawler.crawl.documents import is_url
from crawler.errors import UsageError
from crawler.units import format_size


class Form(StrEnum):
    """The formats of a report, as on the command line."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"


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

    def name(self, value: object = True) -> str:
        """The name that messages use, of a switch the one that sets ``value``."""
        names = self.names.rpartition("/")[2] if value is False else self.names.partition("/")[0]
        return next(name for name in names.split() if name.startswith("--"))


_TEXTS: Final[dict[str, Any]] = tomllib.loads((files("crawler.cli") / "options.toml").read_text(encoding="utf-8"))
_DEFAULT_CONFIG: Final = Path("siteatlas.toml")
NO_CONFIG: Final = (
    "no site is given, and there is no siteatlas.toml here. Use siteatlas {} --config FILE, or write the file with "
    "siteatlas init URL -o DIR"
)


def _or_default(context: typer.Context, file: Path | None) -> Path | None:
    """The file, or without one and without a URL the default, if it is here."""
    is_named = context.params.get("url") or any(map(is_url, context.params.get("words") or ()))
    return file or (_DEFAULT_CONFIG if not is_named and _DEFAULT_CONFIG.is_file() else None)


def _or_default_without_state(context: typer.Context, file: Path | None) -> Path | None:
    """The same for a command that only reads: ``--state``, or its variable, says which sites it is about."""
    is_named = context.params.get("state__directory") or os.environ.get("SITEATLAS_STATE_DIRECTORY")
    return file if is_named else _or_default(context, file)


def _config_option(callback: Callable[[typer.Context, Path | None], Path | None]) -> Any:
    return typer.Option(
        "--config",
        metavar="FILE",
        help="Configuration file of the sites (TOML). Default: siteatlas.toml, if it is here.",
        envvar="SITEATLAS_CONFIG",
        show_default=False,
        callback=callback,
    )


SitesConfigOption = Annotated[Path | None, _config_option(_or_default)]
StatesConfigOption = Annotated[Path | None, _config_option(_or_default_without_state)]


NEXT_RUN_OPTIONS: Final = dict.fromkeys(("fresh", "restart", "accept_shrink", "replace"), bool)
"""What a person asks one run to do, here or on the worker of a fleet."""
RUN_OPTIONS: Final = {  # the fields of crawler.run.options.RunOptions
    **NEXT_RUN_OPTIONS,
    **dict.fromkeys(("dry_run", "as_json", "quiet", "verbose"), bool),
    "changed": str | None,
}


_OLDER: Final[dict[str, str]] = _TEXTS["older"]
FLAGS: Final = tuple(Flag(key=key, **row) for key, row in _TEXTS["keys"].items())
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

    ``switches`` are the types of more parameters, by name.
    """
    more: list[tuple[str, bool | None, Any]] = [("settings", None, SetOption)]
    more += [(name, False if switch is bool else None, switch) for name, switch in switches.items()]
    more += [(flag.field, None, _annotation(flag)) for flag in FLAGS if flag.key in keys]
    return with_parameters(more)


def with_parameters(
    more: Sequence[tuple[str, bool | None, Any]] = (),
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a Typer command the texts of its parameters, from ``options.toml``, and ``more`` parameters.

    Each of these has a name, a default, and a type or an annotation; the command ends in ``**flags``.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        module = command.__module__.rpartition(".")[2]
        texts = _TEXTS["common"] | _TEXTS.get(module, {}) | _TEXTS.get(f"{module}-{command.__name__}", {})
        own = [p for p in inspect.signature(command).parameters.values() if p.kind is not p.VAR_KEYWORD]
        own += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, default, annotation in more
        ]
        own = [p.replace(annotation=_own_annotation(p.annotation, texts, p.name)) for p in own]
        command.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in own}
        return command

    return decorate


def _own_annotation(kind: Any, texts: Mapping[str, Any], name: str) -> Any:
    """The type of a parameter with its texts, as an option or, if they have no names, as an argument."""
    if get_origin(kind) is Annotated:
        return kind
    options = dict(texts[name])
    names = options.pop("names", "").split()
    return Annotated[kind, typer.Option(*names, **options) if names else typer.Argument(**options)]


def given_layers(flags: Mapping[str, Any], url: str | None = None) -> Layers:
    """What overrides a configuration file: the environment, and the command line with the start URL.

    Of two ``--set`` for one key, the last wins. Raises UsageError for one beside the option of its key.
    """
    typed = [Setting(path=("site", "url"), value=url, origin="URL")] if url is not None else []
    typed += [
        Setting(path=tuple(flag.key.split(".")), value=value, origin=flag.name(value))
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


def override_words(flags: Mapping[str, Any]) -> list[str]:
    """The options that override a configuration, as words that do the same for ``run`` in any directory.

    Only ``--lastmod git`` depends on the directory, without ``content.repository``. VALUE stands for a secret. Raises
    UsageError.
    """
    words: list[str] = []
    for setting in given_layers(flags)[1]:
        section, key = setting.path[:2]
        read = value_of(setting) if setting.is_toml else setting.value
        given = read if isinstance(read, str) else setting.value
        is_list = setting.is_toml and isinstance(read, list)
        for value in [read] if is_list else given if isinstance(given, list) else [given]:
            text = resolve_paths({section: {key: value}}, Path.cwd())[section][key]
            shown = json.dumps(text) if is_list else str(text)
            is_secret = section == "plugins" or key in SECRET_KEYS.get(section, ()) or mask_password(shown) != shown
            text = "VALUE" if is_secret else shown
            if setting.is_toml:
                words += f"{setting.origin}={text}".split(" ", 1)
            elif f"{section}.{key}" in CRAWL_KEYS:
                words += [setting.origin] if isinstance(value, bool) else [setting.origin, text]
    return words


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
    of_lint = {option["envvar"] for option in _TEXTS["lint"].values() if "envvar" in option}
    return misspelt_variables(os.environ, {*of_lint, "SITEATLAS_CONFIG"})


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
        if spelled in _OLDER:
            return _OLDER[spelled]
        words = spelled.replace("-", "_")
        whole = [each for each in keys if words == "_".join(each)]
        if found := whole or [
            each for each in keys if words == each[1] or (words + "s" == each[1] and _is_many(*each))
        ]:
            return ".".join(found[0])
    return ""
