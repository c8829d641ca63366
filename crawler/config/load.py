"""Loads the configuration of one site or of several: a file, overridden by the environment and the command line.

``[sites.NAME.output]`` and so on override, key by key, the sections that all sites share. A bad key or value gets one
plain sentence, which names the key and who gave it: the file with the line, the environment variable, or the option.
"""

import re
import tomllib
from bisect import bisect_left
from collections.abc import Callable, Container, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from pydantic import ValidationError

from crawler.config.config import Config
from crawler.config.schedule import build_schedule
from crawler.config.secrets import mask_password
from crawler.config.sections import MAX_INTEGER, AuditRuleConfig, ValueKind
from crawler.config.settings import SITES, Setting, known_keys, section_of, value_of
from crawler.errors import UsageError, did_you_mean

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
_EXAMPLE_LIST = '["one", "two"]'
_EXAMPLE_LISTS = {"hook.command": '["sh", "-c", "true"]'}
_SHARED_SECTIONS: Final = ("daemon", "fleet")  # that are for all sites
_EXCLUSIVE_KEYS: Final = ("cron", "every")  # of a schedule: one drops the other of a layer below
_SINGLE_SITE_KEYS: Final = (("site", "url"), ("site", "sitemap_url"), ("output", "directory"))  # none is shared
_MAX_LINES_LIKE_ONE: Final = 20  # of one value that look like statements
_name = re.compile(r"[A-Za-z0-9._-]+")
_line_number = re.compile(r"at line (\d+)").search
_entry = re.compile(r"\s*([\w.-]+)(?:\s*[=:]|(?=[\s\"'“”]))\s*+(?![\[{#=])(.*\S)").fullmatch
_statement = re.compile(r"""\s*(?:\[|["'\w-][^=#]*=)""").match

Place = Callable[[Sequence[str]], str]
"""Who gave the key with this path, for messages; "" if nobody knows."""
Layers = Sequence[Sequence[Setting]]
"""What overrides a file, the weakest first: the settings of the environment, and those of the command line."""


class ConfigFile(Struct, frozen=True):
    """A configuration file with its text."""

    path: Path
    text: str

    @classmethod
    def read(cls, path: Path, name: str = "") -> "ConfigFile":
        """Read a file, which messages call by its ``name``. Raises UsageError."""
        name = name or f"the configuration {path}"
        try:
            return cls(path, path.read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise UsageError(f"{name} cannot be read: {error.strerror or error}") from None
        except UnicodeDecodeError as error:
            raise UsageError(f"{name} is not valid TOML: {error}") from None

    def tables(self, name: str = "") -> dict[str, Any]:
        """The tables of the file. Raises UsageError that names the file and the line."""
        name = name or f"the configuration {self.path}"
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"{name} is not valid TOML: {error}{self._remedy(str(error))}") from None
        except RecursionError:
            raise UsageError(
                f"{name} has lists or tables inside each other too deeply. Write them side by side"
            ) from None
        except ValueError:  # of int(); a number of TOML has at most 64 bits (https://toml.io/en/v1.0.0#integer)
            raise UsageError(f"{name} has a number with too many digits. Write a smaller number") from None

    def _remedy(self, error: str) -> str:
        """How to write the line that an error names, or "". It shows the key, but no text, which may be a secret.

        Tried are a word of TOML (true) or a number, a text, and a text with backslashes.
        """
        found = _line_number(error)
        *before, line = self.text.split("\n")[: int(found[1])] if found else [""]
        line = line.rstrip()
        if _is_toml(line) or not _is_toml("\n".join(before)) or not (entry := _entry(line)):
            return ""  # or it is a part of a list or a text that began before
        key, value = entry[1], re.split(r"\s#", entry[2])[0].strip("\"'“” ")
        word = re.sub(r",(?=\d{3}\b)", "_", value.lower()).replace(",", ".")
        is_secret = any(key.rpartition(".")[2] in keys for keys in SECRET_KEYS.values())
        forms = ({} if is_secret else {word: word}) | {f'"{value}"': '"…"', f"'{value}'": "'…'"}
        shown = next((shown for form, shown in forms.items() if _is_toml(f"{key} = {form}")), "")
        return shown and f". Write the line as {key} = {shown}"

    def place(self, path: Sequence[str]) -> str:
        """The file, and the line of a key: of the first statement with which the text up to its end has the key."""
        lines = self.text.splitlines(keepends=True)
        starts = [number for number, line in enumerate(lines) if _statement(line)]
        ends = [*starts[1:], len(lines)]

        def has_key(number: int) -> bool:
            for end in ends[number : number + _MAX_LINES_LIKE_ONE]:
                try:
                    return _has(tomllib.loads("".join(lines[:end])), path)
                except tomllib.TOMLDecodeError:  # the value continues on a line that looks like a statement
                    continue
            return True

        found = bisect_left(range(len(starts)), True, key=has_key)
        return f"{self.path}, line {starts[found] + 1}" if found < len(starts) else str(self.path)


def read_toml(path: Path, name: str) -> dict[str, Any]:
    """The tables of a TOML file. Raises UsageError that names the file by its ``name``."""
    return ConfigFile.read(path, name).tables(name)


def _is_toml(line: str) -> bool:
    try:
        tomllib.loads(line)
    except ValueError:
        return False
    return True


def _has(tables: Any, path: Sequence[str]) -> bool:
    for key in path:
        if not isinstance(tables, dict) or key not in tables:
            return False
        tables = tables[key]
    return True


def _nowhere(_path: Sequence[str]) -> str:
    return ""


def build_config(tables: dict[str, Any], place: Place = _nowhere, above: tuple[str, ...] = ()) -> Config:
    """Check the tables and freeze them. Raises UsageError that names the key, its place, and the nearest known key.

    ``above`` is the path of the tables in their source, such as ``("sites", "shop")``.
    """
    try:
        return Config.model_validate(tables)
    except ValidationError as error:
        raise UsageError(
            "; ".join(_sentence(dict(fault), place, above) for fault in error.errors(include_url=False))
        ) from None


def configured(**sections: dict[str, Any]) -> Config:
    """The configuration of these sections, each a table as in a file; other settings have their defaults.

    Raises UsageError for an unknown key or a bad value.
    """
    return build_config(sections)


def keys_of_kind(kind: ValueKind) -> dict[str, tuple[str, ...]]:
    """The keys of each section whose values are of this kind."""
    return {
        name: tuple(key for key, field in section_of(name).model_fields.items() if kind in field.metadata)
        for name in Config.model_fields
    }


def _sentence(fault: dict[str, Any], place: Place, above: tuple[str, ...]) -> str:
    loc = [part for part in fault["loc"] if isinstance(part, str)]  # without indexes of lists
    found = place((*above, *loc))
    key, shown, inside = ".".join(loc), ".".join((*above, *loc)), f" ({found})" if found else ""
    if fault["type"] == "extra_forbidden":
        sections = known_keys()
        known = [*sections, *([] if above else [SITES])] if len(loc) == 1 else sections.get(loc[0], [])
        if len(loc) > 3:
            known = list(AuditRuleConfig.model_fields)
        near = [f"{name}.{loc[-1]}" for name, keys in sections.items() if loc[-1] in keys]
        every = f"The known keys are {', '.join(known)}"
        hint = f'Did you mean "{near[0]}"?' if near else did_you_mean(loc[-1], known, every)
        return f'the key "{shown}"{inside} is unknown. {hint}'
    reason = str(fault["msg"]).removeprefix("Value error, ")
    if plain := _PLAIN_MESSAGES.get(fault["type"]):
        reason = plain.format_map(fault.get("ctx", {})).replace("'', ", "")
    if fault["type"] == "tuple_type":
        reason = f"it is a list, such as {_EXAMPLE_LISTS.get(key, _EXAMPLE_LIST)}"
    message = f"{shown}{inside}: {reason[:1].lower()}{reason[1:]}"
    value = fault.get("input")
    is_secret = len(loc) > 1 and loc[1] in SECRET_KEYS.get(loc[0], ())
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        value = "a number of more than 64 bits"
    is_named = isinstance(value, str) and f'"{value}"' in message
    return message if value is None or is_secret or is_named else f"{message} (given: {mask_password(repr(value))})"


SECRET_KEYS: Final = keys_of_kind(ValueKind.SECRET)
"""The keys of each section that no message shows, and that may refer to a file or a variable."""
_PATH_KEYS: Final = keys_of_kind(ValueKind.PATH)


class ConfiguredSite(Struct, frozen=True):
    """A site of a configuration, and whether the command line selects it."""

    name: str
    config: Config
    is_wanted: bool = True


def load_sites(file: ConfigFile | None, layers: Layers = (), names: Sequence[str] = ()) -> list[ConfiguredSite]:
    """All sites of a file, in its order. The layers apply to those in ``names``, or to all if it is empty.

    A file without ``sites`` has one with the name "". Raises UsageError for unknown names, bad values, and settings for
    one site that would apply to several.
    """
    sites = _site_tables(file, layers)
    source = str(file.path) if file else ""
    chosen = list(sites) if "" in sites else choose_sites(list(sites), names, source)
    _check_single(layers, chosen, source)
    return [
        ConfiguredSite(name, override(tables, file, layers if name in chosen else (), name), name in chosen)
        for name, tables in sites.items()
    ]


def load_shared(file: ConfigFile | None, layers: Layers = ()) -> Config:
    """What the sites of a file share: daemon, fleet, state directory. Raises UsageError."""
    tables = {name: table for name, table in file.tables().items() if name != SITES} if file else {}
    return override(tables, file, layers, "")


def load_site(
    file: ConfigFile | None, layers: Layers = (), site: str | None = None, remedy: str = "Choose the site with --site"
) -> Config:
    """The configuration of one site, by its name in a file of several; ``remedy`` says what to do without a name.

    Raises UsageError.
    """
    if file is None and site is not None:
        raise UsageError(f"--site {site} needs a configuration. Add --config FILE")
    sites = _site_tables(file, layers)
    source = str(file.path) if file else ""
    names = list(sites) if site is None else choose_sites(list(sites), [site], source)
    if len(names) > 1:
        raise UsageError(
            f"{source} configures several sites ({', '.join(names)}), but this command takes one site. {remedy}"
        )
    return override(sites[names[0]], file, layers, names[0])


def _site_tables(file: ConfigFile | None, layers: Layers) -> dict[str, dict[str, Any]]:
    """The tables of each site. Raises UsageError, also for settings of an unknown site."""
    if file is None:
        sites: dict[str, dict[str, Any]] = {"": {}}
    else:
        sites = split_sites(file.tables(), file.place, str(file.path))
    for setting in (setting for layer in layers for setting in layer if setting.site is not None):
        choose_sites(list(sites), [str(setting.site)], f"{setting.origin}: {file.path if file else 'the command line'}")
    return sites


def override(tables: dict[str, Any], file: ConfigFile | None, layers: Layers, site: str = "") -> Config:
    """The configuration of a site: its tables from the file, and over them the layers. Raises UsageError."""
    merged = resolve_paths(tables, file.path.parent if file else Path())
    merged = {name: dict(table) if isinstance(table, dict) else table for name, table in merged.items()}
    origins: dict[tuple[str, ...], str] = {}
    for layer in layers:
        ours = sorted((each for each in layer if each.site in (None, site)), key=lambda each: each.site is not None)
        for setting in ours:
            origins[setting.path] = setting.origin
            _put(merged, setting)
        if isinstance(schedule := merged.get("schedule"), dict):
            _drop_overridden_key(schedule, {each.path[1] for each in ours if each.path[0] == "schedule"})

    def place(path: Sequence[str]) -> str:
        given = next((name for key, name in origins.items() if key == tuple(path)[: len(key)]), "")
        if given or file is None:
            return given
        own = (SITES, site, *path)
        return file.place(own if _has(file.tables(), own) else path)

    config = build_config(merged, place)
    build_schedule(site, config.schedule, lambda key: place(("schedule", key)))
    return config


def _put(tables: dict[str, Any], setting: Setting) -> None:
    *above, last = setting.path
    for key in above:
        inner = tables.get(key, {})
        if not isinstance(inner, dict):
            return  # no table: the validation reports it
        tables[key] = dict(inner)
        tables = tables[key]
    tables[last] = value_of(setting)


def _check_single(layers: Layers, chosen: Sequence[str], source: str) -> None:
    for setting in (setting for layer in layers for setting in layer):
        if len(chosen) > 1 and setting.site is None and setting.path in _SINGLE_SITE_KEYS:
            key = ".".join(setting.path)
            raise UsageError(
                f"{setting.origin} applies to one site, but {source} has {', '.join(chosen)}. "
                f"Choose a site with --site, or set {key} for each site in {source}"
            )


class SitePaths(Struct, frozen=True):
    """Where a site writes: the file of its sitemap, the directory of its state, and the target of its upload or ""."""

    name: str
    sitemap: Path
    state: Path
    upload_target: str = ""


def split_sites(tables: dict[str, Any], place: Place = _nowhere, source: str = "") -> dict[str, dict[str, Any]]:
    """The tables of each site by name, in the order of the file; "" is the name of a single site.

    All tables are valid. Raises UsageError that names the source and the key in it.
    """
    shared = {name: table for name, table in tables.items() if name != SITES}
    if SITES not in tables:
        return {"": shared}
    build_config(shared, place)
    sites = tables[SITES]
    if not isinstance(sites, dict) or not sites:
        raise UsageError(
            f"[{SITES}] in {source} contains no site. Write a table for each site, such as [{SITES}.shop.site]"
        )
    return {name: _merge_shared(shared, name, own, place, source) for name, own in sites.items()}


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
    content = anchored.get("content")
    if isinstance(content, dict) and content.get("lastmod") == "git":
        content["repository"] = content.get("repository") or "."
    for keys, from_folder in ((_PATH_KEYS, _path_from), (SECRET_KEYS, _secret_from)):
        for section, names in keys.items():
            table = anchored.get(section)
            if isinstance(table, dict):
                table.update({key: _map_texts(table[key], folder, from_folder) for key in names if key in table})
    if "plugins" in anchored:
        anchored["plugins"] = _map_texts(anchored["plugins"], folder, _secret_from)
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
    # "~" is the home directory of who runs the site, as for ssh; "{" begins the JSON of an account
    is_none = "://" in path or path == "-" or path.startswith("~") or path.lstrip().startswith("{")
    return path if is_none else str(folder / path)


def _secret_from(folder: Path, text: str) -> str:
    return f"file:{folder / text.removeprefix('file:')}" if text.startswith("file:") else text


def choose_sites(known: Sequence[str], wanted: Sequence[str], source: str) -> list[str]:
    """The ``wanted`` names in the order of the source; all names if none is wanted. Raises UsageError."""
    for name in wanted:
        if name not in known:
            names = ", ".join(filter(None, known))
            hint = did_you_mean(name, known, f"Its sites are {names or 'without names'}")
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


def _merge_shared(shared: dict[str, Any], name: str, own: object, place: Place, source: str) -> dict[str, Any]:
    if not _name.fullmatch(name):
        raise UsageError(f'the site name "{name}" in {source} may contain only letters, digits, ".", "_" and "-"')
    if not isinstance(own, dict):
        raise UsageError(f"{SITES}.{name} in {source} must consist of tables, such as [{SITES}.{name}.site]")
    build_config(own, place, (SITES, name))
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
        _drop_overridden_key(merged["schedule"], own["schedule"])
    return merged


def _drop_overridden_key(schedule: dict[str, Any], given: Container[str]) -> None:
    """Drop ``cron`` from a schedule when ``every`` is given, and the reverse."""
    for key, other in (_EXCLUSIVE_KEYS, _EXCLUSIVE_KEYS[::-1]):
        if key in given and other not in given:
            schedule.pop(other, None)
