"""What a site may do on a machine: who writes to the database describes the sites, and the machine decides.

A site may run only a hook, and read only secrets and files, that the configuration of the worker itself allows.
"""

import posixpath
import shlex
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any, Final

from crawler.config.config import Config
from crawler.config.load import SECRET_KEYS, keys_of_kind
from crawler.config.sections import FleetConfig, HookConfig, ValueKind
from crawler.errors import UsageError

_WRITTEN: Final = {("output", "directory"), ("state", "directory"), ("daemon", "directory"), ("audit", "report")}
_READ: Final = {(section, key) for section, keys in keys_of_kind(ValueKind.PATH).items() for key in keys} - _WRITTEN
SECRET_SETTINGS: Final = {(section, key) for section, keys in SECRET_KEYS.items() for key in keys}
"""The sections and keys of settings that are secret."""


def permitted_config(config: Config, own: FleetConfig) -> tuple[Config, str]:
    """The configuration of a site without a hook that the worker does not allow, and the sentence on it, or "".

    ``own`` is the section of the worker's own configuration. Raises UsageError for a plug-in, a secret or a file that
    it does not allow: without it, the site would be another one.
    """
    for table in config.plugins.tables.values():
        if table.use not in own.plugins:
            raise UsageError(
                f"the site uses the plug-in {table.use!r}, but this worker may not load it. Add its name to "
                "fleet.plugins in the configuration of the worker"
            )
    hook, files = named_by_site(config)
    if refused := [name for name in files if not any(fnmatchcase(name, each) for each in own.allow_secrets)]:
        raise UsageError(
            f"the site uses {', '.join(refused)}, but this worker may not read that. Add it to fleet.allow_secrets in "
            "the configuration of the worker"
        )
    # the rule of a command in sudoers: https://www.sudo.ws/docs/man/sudoers.man/#Cmnd_List
    words = list(config.hook.command)
    if not words or any(each in (words[:1], words) for each in map(shlex.split, own.allow_hooks)):
        return config, ""
    without = config.model_copy(update={"hook": HookConfig()})
    return without, f"runs without its hook, as fleet.allow_hooks of the worker does not contain {hook}"


def named_by_site(config: Config) -> tuple[str, list[str]]:
    """The hook of a site as a command line, or "", and the secrets and files that it reads: env:NAME, file:PATH.

    The section fleet is of the worker: no site uses it.
    """
    settings = config.model_dump(mode="json", exclude_defaults=True, exclude={"fleet"})
    found = {text for text in texts_in(settings.get("plugins")) if _is_reference(text)}
    for section, key in _READ | SECRET_SETTINGS:
        texts = texts_in(settings.get(section, {}).get(key))
        found |= {text for text in texts if _is_reference(text) or ((section, key) in _READ and _is_path(text))}
    return shlex.join(config.hook.command), sorted(map(_reference, found))


def _is_reference(text: str) -> bool:
    return text.startswith(("env:", "file:"))


def _is_path(text: str) -> bool:
    return bool(text) and "://" not in text and text != "-" and not text.lstrip().startswith("{")


def _reference(text: str) -> str:
    return text if text.startswith("env:") else f"file:{posixpath.normpath(text.removeprefix('file:'))}"


def texts_in(value: Any) -> Iterator[str]:
    """The texts in a setting."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts_in(each)
