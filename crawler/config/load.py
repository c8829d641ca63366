"""Loads the configuration from TOML, with a plain message for each bad key or value."""

import difflib
import tomllib
from collections.abc import Callable, Container
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from crawler.config.config import Config
from crawler.config.deprecated import renamed
from crawler.config.secrets import mask_password
from crawler.config.sections import ConfigSection
from crawler.errors import UsageError

_SECRETS = {  # keys whose values no message shows
    "headers",
    "basic_auth",
    "cookies",
    "proxy",
    "key",
    "account",
    "urls",
    "secret",
    "login",
    "s3_access_key",
    "s3_secret_key",
    "sftp_password",
}

# By the type of an error: https://docs.pydantic.dev/latest/errors/validation_errors/
_PLAIN_MESSAGES = {
    "float_parsing": "it must be a number",
    "float_type": "it must be a number",
    "finite_number": "it must be a finite number",
    "int_parsing": "it must be a whole number",
    "int_type": "it must be a whole number",
    "int_from_float": "it must be a whole number",
    "bool_parsing": "it must be true or false",
    "bool_type": "it must be true or false",
    "string_type": "it must be a text in quotes",
    "dict_type": 'it must be a table, such as {{ name = "value" }}',
    "model_type": 'it must be a table, such as {{ name = "value" }}',
    "greater_than": "it must be more than {gt}",
    "greater_than_equal": "it must be at least {ge}",
    "less_than": "it must be less than {lt}",
    "less_than_equal": "it must be at most {le}",
    "literal_error": "it must be {expected}",
}
SITES = "sites"  # the table that holds a table for each of several sites
_EXAMPLE_LIST = '["one", "two"]'
_EXAMPLE_LISTS = {"hook.command": '["sh", "-c", "true"]'}


def read_tables(path: Path) -> dict[str, Any]:
    """The tables of a TOML file. Raises UsageError that names the file and the line."""
    try:
        return parsed(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise UsageError(f"cannot read the configuration {path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"the configuration {path} is not valid TOML: {error}") from None


def parsed(text: str, source: str) -> dict[str, Any]:
    """The tables of a TOML text, keys under their present names. Raises UsageError, TOMLDecodeError."""
    tables = renamed(tomllib.loads(text), source)
    if isinstance(sites := tables.get(SITES), dict):
        tables[SITES] = {
            name: renamed(table, source, f"{SITES}.{name}.") if isinstance(table, dict) else table
            for name, table in sites.items()
        }
    return tables


def build_config(
    tables: dict[str, Any],
    source: str = "",
    flag_of: Callable[[str], str] = str,
    inside: str = "",
    given: Container[str] = (),
) -> Config:
    """Check the tables and freeze them. Raises UsageError that names the key and its flag, or the nearest known key.

    ``inside`` is the prefix of the keys in the source, such as ``sites.shop.``; ``given`` are the keys that come from
    flags.
    """
    try:
        return Config.model_validate(tables)
    except ValidationError as error:
        lines = [
            _sentence(dict(fault), "" if _faulty_key(fault) in given else source, flag_of, inside)
            for fault in error.errors(include_url=False)
        ]
        raise UsageError("; ".join(lines)) from None


def configured(**sections: dict[str, Any]) -> Config:
    """The configuration of these sections, each a table as in a file; other settings have their defaults.

    Raises UsageError for an unknown key or a bad value.
    """
    return build_config(renamed(sections, ""))


def _faulty_key(fault: Any) -> str:
    """The key of a fault: section and name."""
    return ".".join(map(str, fault["loc"][:2]))


def known_keys() -> dict[str, list[str]]:
    """The keys of each section."""
    return {name: list(_section(name).model_fields) for name in Config.model_fields}


def _section(name: str) -> type[ConfigSection]:
    annotation = Config.model_fields[name].annotation
    assert isinstance(annotation, type)  # noqa: S101 - for the type checker
    return annotation


def _sentence(fault: dict[str, Any], source: str, flag_of: Callable[[str], str], above: str) -> str:
    key = ".".join(part for part in fault["loc"] if isinstance(part, str))  # without indexes of lists
    shown = f"{above}{key}"
    inside = f" in {source}" if source else ""
    if fault["type"] == "extra_forbidden":
        loc = fault["loc"]
        sections = known_keys()
        known = [*sections, *([] if above else [SITES])] if len(loc) == 1 else sections.get(str(loc[0]), [])
        near = [f"{name}.{loc[-1]}" for name, keys in sections.items() if loc[-1] in keys]
        near = near or difflib.get_close_matches(str(loc[-1]), known, n=1, cutoff=0.5)
        hint = f'did you mean "{near[0]}"?' if near else f"the known keys are: {', '.join(known)}"
        return f'unknown key "{shown}"{inside}: {hint}'
    if len(fault["loc"]) >= 2 and (flag := flag_of(_faulty_key(fault))) != key:
        shown = f"{flag} ({shown})"
    reason = str(fault["msg"]).removeprefix("Value error, ")
    if plain := _PLAIN_MESSAGES.get(fault["type"]):
        reason = plain.format_map(fault.get("ctx", {})).replace("'', ", "")
    if fault["type"] == "tuple_type":
        reason = f"it is a list, such as {_EXAMPLE_LISTS.get(key, _EXAMPLE_LIST)}"
    message = f"{shown}{inside}: {reason[:1].lower()}{reason[1:]}"
    value = fault.get("input")
    is_secret = _SECRETS & set(map(str, fault["loc"]))
    return message if value is None or is_secret else f"{message} (given: {mask_password(repr(value))})"
