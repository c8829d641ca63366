"""Loads the configuration from TOML, of one site or of several, with a plain message for each bad key or value.

``[sites.NAME.output]`` and so on override, key by key, the sections that all sites share. No two sites may write to the
same place.
"""

import difflib
import re
import tomllib
from collections.abc import Callable, Container, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from pydantic import ValidationError

from crawler.config.config import Config
from crawler.config.secrets import mask_password
from crawler.config.sections import MAX_INTEGER, ConfigSection
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
    return read_toml(path, f"the configuration {path}")


def read_toml(path: Path, name: str) -> dict[str, Any]:
    """The tables of a TOML file. Raises UsageError that names the file by its ``name``."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{name} is not valid TOML: {error}") from None
    except RecursionError:
        raise UsageError(f"{name} has lists or tables inside each other too deeply. Write them side by side") from None
    except ValueError:  # of int(); a number of TOML has at most 64 bits (https://toml.io/en/v1.0.0#integer)
        raise UsageError(f"{name} has a number with too many digits. Write a smaller number") from None


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
    return build_config(sections)


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
        hint = f'Did you mean "{near[0]}"?' if near else f"The known keys are {', '.join(known)}"
        return f'the key "{shown}"{inside} is unknown. {hint}'
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
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        value = "a number of more than 64 bits"
    is_named = isinstance(value, str) and f'"{value}"' in message
    return message if value is None or is_secret or is_named else f"{message} (given: {mask_password(repr(value))})"


_SHARED_SECTIONS: Final = ("daemon", "fleet")  # that are for all sites
EXCLUSIVE_KEYS: Final = ("cron", "every")  # of a schedule: a site's own key drops the other shared one
_PATH_KEYS: Final = {
    "output": ("directory",),
    "state": ("directory",),
    "fetch": ("ca_file", "source", "signing_key"),
    "content": ("repository",),
    "audit": (
        *("report", "sitemaps", "logs", "search", "analytics", "backlinks", "lists", "crawls"),
        *("accepted", "google_credentials"),
    ),
    "daemon": ("directory",),
    "search_console": ("account",),
    "webhook": ("template",),
    "email": ("template",),
}
_HOME_PATH_KEYS: Final = {"upload": ("sftp_key", "sftp_known_hosts")}  # where ~ is the home directory, as for ssh
SECRET_KEYS: Final = {  # whose values may name a file
    "fetch": ("basic_auth", "proxy", "headers", "cookies"),
    "indexnow": ("key",),
    "webhook": ("urls", "secret"),
    "email": ("login",),
    "upload": ("s3_access_key", "s3_secret_key", "sftp_password"),
}
_name = re.compile(r"[A-Za-z0-9._-]+")


class SitePaths(Struct, frozen=True):
    """Where a site writes: the file of its sitemap, the directory of its state, and the target of its upload or ""."""

    name: str
    sitemap: Path
    state: Path
    upload_target: str = ""


def split_sites(tables: dict[str, Any], source: str, flag_of: Callable[[str], str] = str) -> dict[str, dict[str, Any]]:
    """The tables of each site by name, in the order of the file; "" is the name of a single site.

    All tables are valid. Raises UsageError that names the source and the key in it.
    """
    shared = {name: table for name, table in tables.items() if name != SITES}
    if SITES not in tables:
        return {"": shared}
    build_config(shared, source, flag_of)
    sites = tables[SITES]
    if not isinstance(sites, dict) or not sites:
        raise UsageError(
            f"[{SITES}] in {source} contains no site. Write a table for each site, such as [{SITES}.shop.site]"
        )
    return {name: _merge_shared(shared, name, own, source, flag_of) for name, own in sites.items()}


def resolve_paths(tables: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The tables of one site with paths relative to ``folder``, the directory of their file.

    A scheduler starts commands in its own directory, where no state is.
    """
    if folder == Path():
        return tables
    anchored = {name: dict(table) if isinstance(table, dict) else table for name, table in tables.items()}
    state = anchored.setdefault("state", {})
    if isinstance(state, dict):
        state.setdefault("directory", Config().state.directory)
    for keys, from_folder in ((_PATH_KEYS, _path_from), (_HOME_PATH_KEYS, _home_from), (SECRET_KEYS, _secret_from)):
        for section, names in keys.items():
            table = anchored.get(section)
            if isinstance(table, dict):
                table.update({key: _map_texts(table[key], folder, from_folder) for key in names if key in table})
    return anchored


def _map_texts(value: Any, folder: Path, change: Callable[[Path, str], str]) -> Any:
    """A text, or each text of a list or a table, changed; the validation reports other values."""
    if isinstance(value, list):
        return [_map_texts(item, folder, change) for item in value]
    if isinstance(value, dict):
        return {name: _map_texts(item, folder, change) for name, item in value.items()}
    return change(folder, value) if isinstance(value, str) and value else value


def _path_from(folder: Path, path: str) -> str:
    if path.startswith(("env:", "file:")):
        return _secret_from(folder, path)
    is_none = "://" in path or path == "-" or path.lstrip().startswith("{")  # the JSON of an account
    return path if is_none else str(folder / path)


def _home_from(folder: Path, path: str) -> str:
    return path if path.startswith("~") else _path_from(folder, path)


def _secret_from(folder: Path, text: str) -> str:
    return f"file:{folder / text.removeprefix('file:')}" if text.startswith("file:") else text


def choose_sites(known: Sequence[str], wanted: Sequence[str], source: str) -> list[str]:
    """The ``wanted`` names in the order of the source; all names if none is wanted. Raises UsageError."""
    for name in wanted:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f'Did you mean "{near[0]}"?' if near else f"Its sites are {', '.join(known)}"
            raise UsageError(f'{source} has no site "{name}". {hint}')
    return [name for name in known if name in wanted or not wanted]


def check_distinct_paths(places: Sequence[SitePaths], source: str) -> None:
    """Check that no two sites write the same sitemap or share a state. Raises UsageError that names both."""
    owners: dict[tuple[str, object], str] = {}
    for paths in places:
        shared = "share one state, because they have the same sitemap URL"
        for kind, place, conflict, remedy in (
            ("sitemap", paths.sitemap, f"both write {paths.sitemap}", "output.directory"),
            ("upload", paths.upload_target, f"both upload to {paths.upload_target}", "upload.to"),
            ("state", paths.state, shared, "site.url, site.sitemap_url or state.directory"),
        ):
            owner = owners.setdefault((kind, place), paths.name)
            if place and owner != paths.name:
                both = f'the sites "{owner}" and "{paths.name}" in {source}'
                raise UsageError(f"{both} would {conflict}. Give each site its own {remedy}")


def _merge_shared(
    shared: dict[str, Any], name: str, own: object, source: str, flag_of: Callable[[str], str]
) -> dict[str, Any]:
    if not _name.fullmatch(name):
        raise UsageError(f'the site name "{name}" in {source} may contain only letters, digits, ".", "_" and "-"')
    if not isinstance(own, dict):
        raise UsageError(f"{SITES}.{name} in {source} must consist of tables, such as [{SITES}.{name}.site]")
    build_config(own, source, flag_of, f"{SITES}.{name}.")
    for section in own.keys() & _SHARED_SECTIONS:
        raise UsageError(
            f"[{SITES}.{name}.{section}] in {source} is not allowed, because this section applies to all sites. Use "
            f"[{section}]"
        )
    sections = dict.fromkeys([*shared, *own])
    merged = {section: {**shared.get(section, {}), **own.get(section, {})} for section in sections}
    if "report" not in own.get("audit", {}) and (report := shared.get("audit", {}).get("report")):
        merged["audit"]["report"] = str(Path(report) / name)  # or the sites would replace each other's reports
    if "schedule" in own:
        drop_overridden_key(merged["schedule"], own["schedule"])
    return merged


def drop_overridden_key(schedule: dict[str, Any], given: Container[str]) -> None:
    """Drop ``cron`` from a schedule when ``every`` is given, and the reverse."""
    for key, other in (EXCLUSIVE_KEYS, EXCLUSIVE_KEYS[::-1]):
        if key in given and other not in given:
            schedule.pop(other, None)
