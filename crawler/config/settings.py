"""The settings that override a configuration file: variables of the environment, and arguments of the command line."""

import difflib
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, get_origin

from msgspec import Struct

from crawler.config.config import Config
from crawler.config.sections import ConfigSection
from crawler.errors import UsageError
from crawler.url.params import TRACKING_PARAMS

SITES: Final = "sites"  # the table that holds a table for each of several sites
_PREFIX: Final = "SITEATLAS_"
_SEPARATORS: Final = {"headers": ":"}  # between name and value; of other tables it is "="
_MIN_SIMILARITY: Final = 0.88  # a letter or two that are missing, doubled, swapped or wrong
_FORM: Final = "--set needs the form SECTION.KEY=VALUE, such as pace.rate=5 or sites.shop.output.gzip=true"


class Setting(Struct, frozen=True, kw_only=True):
    """A value for the key with this path, of one ``site`` or of all, and its origin, as messages name it.

    ``is_toml``: the value is TOML, or a text without quotes.
    """

    path: tuple[str, ...]
    value: Any
    origin: str
    site: str | None = None
    is_toml: bool = False


def known_keys() -> dict[str, list[str]]:
    """The keys of each section."""
    return {name: list(section_of(name).model_fields) for name in Config.model_fields}


def section_of(name: str) -> type[ConfigSection]:
    """The class of a section."""
    annotation = Config.model_fields[name].annotation
    assert isinstance(annotation, type)  # noqa: S101 - for the type checker
    return annotation


def variable_of(section: str, key: str) -> str:
    """The environment variable of a key."""
    return f"{_PREFIX}{section}_{key}".upper()


def environment_settings(environ: Mapping[str, str]) -> list[Setting]:
    """The settings of the environment. An empty variable sets nothing."""
    return [
        Setting(path=(section, key), value=value, origin=variable, is_toml=True)
        for section, keys in known_keys().items()
        for key in keys
        if (value := environ.get(variable := variable_of(section, key)))
    ]


def parse_setting(text: str) -> Setting:
    """The setting of ``--set SECTION.KEY=VALUE``. Raises UsageError for another form."""
    keys, equals, value = text.partition("=")
    path = []
    try:
        tables: Any = tomllib.loads(f"{keys} = 0")
    except tomllib.TOMLDecodeError:
        raise UsageError(_FORM) from None
    while isinstance(tables, dict) and len(tables) == 1:
        ((key, tables),) = tables.items()
        path.append(key)
    site = path[1] if path[0] == SITES and len(path) > 1 else None
    own = tuple(path[2:] if site is not None else path)
    if not equals or len(own) < 2:
        raise UsageError(_FORM)
    return Setting(path=own, value=value.strip(), origin=f"--set {keys.strip()}", site=site, is_toml=True)


def value_of(setting: Setting) -> Any:
    """The value as its key takes it. Raises UsageError for a pair without its separator.

    A list may be a text with a value in each line, and a table a text with a name and its value in each line.
    """
    section, key = setting.path[:2]
    fields = section_of(section).model_fields if section in Config.model_fields else {}
    annotation = fields[key].annotation if key in fields and len(setting.path) == 2 else None
    kind = get_origin(annotation) or annotation
    value = setting.value
    if setting.is_toml:
        read = _read_toml(value)
        value = value if kind in (str, Literal) and not isinstance(read, str) else read
    if kind in (tuple, dict) and isinstance(value, str):
        value = [line for line in value.splitlines() if line.strip()]
    if kind is dict and isinstance(value, list):
        value = dict(_pairs(value, _SEPARATORS.get(key, "="), setting.origin))
    if setting.path == ("urls", "drop_params") and not setting.is_toml:  # the option adds names to the list
        value = [*TRACKING_PARAMS, *value]
    return value


def _read_toml(text: str) -> Any:
    try:
        tables = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return tables["value"] if len(tables) == 1 else text


def _pairs(texts: Iterable[str], separator: str, origin: str) -> Iterator[tuple[str, str]]:
    for text in texts:
        name, found, value = text.partition(separator)
        if not found or not name.strip():
            form = "NAME: VALUE" if separator == ":" else f"NAME{separator}VALUE"
            raise UsageError(
                f"{origin} needs the form {form} (the value that you gave is not shown, because it may be secret)"
            )
        yield name.strip(), value.strip()


def misspelt_variables(names: Iterable[str], others: Iterable[str] = ()) -> list[str]:
    """A sentence for each variable that nearly has a known name, or lacks the section in its name.

    ``others`` are more known variables. Variables with other names belong to the user, such as secrets.
    """
    keys = [(section, key) for section, keys in known_keys().items() for key in keys]
    variables = {variable_of(*each) for each in keys}
    known = variables.union(others)
    sentences = []
    for name in sorted(name for name in names if name.startswith(_PREFIX) and name not in known):
        whole = [variable_of(*each) for each in keys if "_" in each[1] and name == f"{_PREFIX}{each[1]}".upper()]
        if near := whole or difflib.get_close_matches(name, known, n=1, cutoff=_MIN_SIMILARITY):
            sentences.append(f"{name} is not a variable of siteatlas. Did you mean {near[0]}?")
    return sentences
