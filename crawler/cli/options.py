"""The options of a command from the table of flags, and the configuration that they and a file come to."""

import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from crawler.cli.flags import FLAGS, PANELS, Flag
from crawler.config.config import Config
from crawler.config.load import build, read
from crawler.config.section import Section
from crawler.config.sites import EITHER, anchored, choose, choose_either, split
from crawler.errors import UsageError
from crawler.quantities import as_size

TELLING = tuple(f"{name}." for name, panel in PANELS.items() if panel == "Telling others")
CRAWLING = tuple(flag.key for flag in FLAGS if not flag.key.startswith(("audit.", "schedule.", "daemon.")))
_LONGEST = 60  # characters of a list of defaults that is shown


def with_flags(*keys: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a Typer command that ends in ``**flags`` the flags of these keys as parameters.

    A key that ends with a dot means the whole section.
    """
    wanted = [flag for flag in FLAGS if _is_among(flag.key, keys)]

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


def _is_among(key: str, keys: tuple[str, ...]) -> bool:
    return key in keys or f"{key.partition('.')[0]}." in keys


def settings(
    file: Path | None,
    flags: Mapping[str, Any],
    url: str | None = None,
    site: str | None = None,
    remedy: str = "name it with --site",
) -> Config:
    """The configuration of one site: the file, with what the flags and ``url`` set in its place.

    ``site`` is its name in a file of several; ``remedy`` says what to do without one. Raises UsageError.
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
            f"{file} configures several sites ({', '.join(names)}), and this command takes one: {remedy}"
        )
    return built(anchored(every[names[0]], file.parent), flags, source, url)


def built(
    tables: dict[str, Any], flags: Mapping[str, Any], source: str = "", url: str | None = None
) -> Config:
    """The configuration that tables become with what the flags and ``url`` set in their place. Raises UsageError."""
    site = tables.get("site", {})
    if url is not None and isinstance(site, dict):
        tables = {**tables, "site": {**site, "url": url}}
    given = {flag.key for flag in FLAGS if _given(flag, flags) is not None}
    return build(overlay(tables, flags), source, partial(_named, flags), given=given)


def overlay(tables: dict[str, Any], flags: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of the file with what the command line (or the environment) sets in their place.

    Raises UsageError for a pair without its separator.
    """
    merged = {name: dict(table) if isinstance(table, dict) else table for name, table in tables.items()}
    for flag in FLAGS:
        given = _given(flag, flags)
        if given is None:
            continue
        section, key = flag.key.split(".")
        table = merged.setdefault(section, {})
        if not isinstance(table, dict):
            return merged  # no table at all: the configuration says so
        table[key] = _table(flag, given, _named(flags, flag.key)) if flag.pairs else given
        if (
            flag.key == "urls.drop_params"
        ):  # on the command line, more names to drop; in the file, the whole list
            table[key] = [*Config.model_fields["urls"].default.drop_params, *given]
    if isinstance(merged.get("schedule"), dict):
        for level in _levels(flags):
            choose_either(merged["schedule"], level)
    return merged


def _given(flag: Flag, flags: Mapping[str, Any]) -> Any:
    """What the command line or the environment says of a flag; None for nothing."""
    given = flags.get(flag.field)
    if flag.many and not given:
        given = [line for line in os.environ.get(flag.variable, "").splitlines() if line.strip()]
    return None if given == [] else given


def _levels(flags: Mapping[str, Any]) -> Iterator[set[str]]:
    """Which of the keys that exclude each other the environment sets, and then which the command line does.

    Typer tells not which of them a value is from: one that is not what the variable says was typed.
    """
    either = [flag for flag in FLAGS if flag.key in {f"schedule.{key}" for key in EITHER}]
    given = {flag.key.partition(".")[2]: flag for flag in either if flags.get(flag.field) is not None}
    yield set(given)
    yield {key for key, flag in given.items() if flags[flag.field] != os.environ.get(flag.variable)}


def flag_of(key: str) -> str:
    """The flag that sets a key, for messages; the key itself when there is none."""
    return next((flag.long for flag in FLAGS if flag.key == key), key)


def _named(flags: Mapping[str, Any], key: str) -> str:
    """What set a key, for messages: the variable of the environment that did, else the flag that does."""
    for flag in FLAGS:
        said = flags.get(flag.field)
        is_typed = bool(said) if flag.many else said != os.environ.get(flag.variable)
        if flag.key == key and not is_typed and _given(flag, flags) is not None:
            return flag.variable
    return flag_of(key)


def _table(flag: Flag, given: list[str], called: str) -> dict[str, str]:
    table = {}
    for text in given:
        name, separator, value = text.partition(flag.pairs)
        if not separator or not name.strip():
            raise UsageError(
                f"{called} wants {flag.metavar}, with {flag.pairs} between (what was given is not shown)"
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
        rich_help_panel=PANELS[section],
    )
    if flag.many:
        return Annotated[list[str] | None, option]
    return Annotated[str | None if flag.metavar else bool | None, option]


def _shown(default: object, metavar: str) -> str:
    """A default as a person would write it, in brackets; "" for none."""
    if default in (None, "", (), {}):
        return ""
    if isinstance(default, tuple):
        listed = ", ".join(map(str, default))
        shown = listed if len(listed) <= _LONGEST else f"{len(default)} names"
    elif isinstance(default, bool):
        shown = "on" if default else "off"
    elif isinstance(default, int) and metavar == "SIZE":
        shown = as_size(default)
    elif isinstance(default, float):
        shown = f"{default:g}"
    else:
        shown = str(default)
    return f"  [default: {shown}]"
