"""Loads plug-ins: what other distributions add by entry points, and a table [plugins.NAME] names.

Nothing is imported that no table names. A plug-in is a class or a function that is called with the start URL of the
site and the other keys of its table, in which env:NAME and file:PATH are replaced. The protocols below say what it
returns. https://packaging.python.org/en/latest/specifications/entry-points/
"""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from sqlite3 import Connection
from typing import Any, Final, Protocol

from msgspec import Struct

from crawler.config.config import Config
from crawler.config.secrets import quote_message, reveal_secret
from crawler.config.sections import PluginConfig
from crawler.errors import UsageError

_log = logging.getLogger(__name__)
_GROUP: Final = "siteatlas."


class PluginKind(StrEnum):
    """The kinds of plug-ins. The group of its entry points is ``siteatlas.`` and the kind."""

    SOURCE = "source"
    CHANNEL = "channel"
    UPLOAD = "upload"
    RULE = "rule"
    LASTMOD = "lastmod"


class KnownUrl(Struct, frozen=True, kw_only=True):
    """A URL (absolute, or a path of the site) that a source knows, with what it counts of it.

    ``first`` and ``last`` are days, as ``2026-11-21``.
    """

    url: str
    first: str = ""
    last: str = ""
    people: int = 0  # visits by people
    bots: int = 0
    clicks: int = 0  # in search results
    impressions: int = 0
    sessions: int = 0
    views: int = 0
    users: int = 0
    links: int = 0  # from other sites
    domains: int = 0  # of these links


class UrlSource(Protocol):
    """``siteatlas.source``: something that knows URLs of the site. Each audit reads it.

    It may have an attribute ``kind``: ``search``, ``analytics``, ``backlinks``, ``crawl`` or, by default, ``list``.
    """

    def read(self) -> Iterable[KnownUrl]:
        """The URLs. An exception is a fault of this source, and the audit goes on."""


class Channel(Protocol):
    """``siteatlas.channel``: takes the messages of a webhook."""

    def send(self, message: Mapping[str, Any]) -> None:
        """Deliver one message. It is sent again, in this run and the next ones, if this raises an exception."""


class UploadFiles(Protocol):
    """``siteatlas.upload``: a place for the published files, with ``upload.to = "plugin:NAME"``."""

    def digests(self, names: Collection[str]) -> Mapping[str, str]:
        """The SHA-256, in hexadecimal digits, of those of these files that are there."""

    def put(self, file: Path) -> None:
        """Store a file under its name, so that no reader sees a part of it."""

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""


class Rule(Protocol):
    """``siteatlas.rule``: a rule of an audit, with ``plugin = "NAME"`` in a table [audit.rules.RULE]."""

    def rows(self, tables: Connection) -> Iterable[Mapping[str, object]]:
        """A row with the key ``url`` for each finding. The tables are those of ``siteatlas query``, read-only."""


class LastmodSource(Protocol):
    """``siteatlas.lastmod``: dates of pages, with ``content.lastmod = "plugin"``."""

    def dates(self, urls: Sequence[str]) -> Mapping[str, str]:
        """The date of the last edit of those URLs that it knows, as a W3C datetime. An exception gives no dates."""


class PluginError(Exception):
    """A plug-in raised an exception. The message names the plug-in, and shows no secret of its table."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plug-in that is loaded: the ``name`` of its table, its settings, and the ``made`` object."""

    name: str
    table: PluginConfig
    made: Any
    secrets: tuple[str, ...]

    @contextmanager
    def guarded(self) -> Iterator[Any]:
        """The object. Raises PluginError in place of whatever the plug-in raises."""
        try:
            yield self.made
        except Exception as error:  # noqa: BLE001 - it is not our code
            _log.debug("the plug-in %s failed", self.name, exc_info=True)
            raise PluginError(f"the plug-in {self.name} failed: {_told(error, self.secrets)}") from None


def load_plugins(config: Config, kind: PluginKind) -> list[Plugin]:
    """The plug-ins of a kind that the configuration names.

    Raises UsageError for one that is not installed, cannot be imported, or refuses its settings.
    """
    return [
        _load(config, name, table, point)
        for name, table in config.plugins.tables.items()
        for point in _points(name, table)
        if point.group == f"{_GROUP}{kind}"
    ]


def load_plugin(config: Config, kind: PluginKind, name: str, key: str) -> Plugin:
    """The plug-in of a kind in the table ``name``, which the setting ``key`` names. Raises UsageError."""
    found = next((plugin for plugin in load_plugins(config, kind) if plugin.name == name), None)
    if found is None:
        raise UsageError(f"{key} names the plug-in {name}, but no table [plugins.{name}] has a plug-in for it ({kind})")
    return found


def _points(name: str, table: PluginConfig) -> list[EntryPoint]:
    if found := [point for point in entry_points(name=table.use) if point.group.startswith(_GROUP)]:
        return found
    names = ", ".join(sorted({point.name for kind in PluginKind for point in entry_points(group=f"{_GROUP}{kind}")}))
    there = f"The installed plug-ins are {names}" if names else "No plug-in is installed"
    raise UsageError(f"plugins.{name}.use: no installed package has a plug-in {table.use!r}. {there}")


def _load(config: Config, name: str, table: PluginConfig, point: EntryPoint) -> Plugin:
    given = table.model_extra or {}
    options = {key: reveal_secret(value) if isinstance(value, str) else value for key, value in given.items()}
    secrets = tuple(value for key, value in options.items() if value != given[key])
    try:
        return Plugin(name, table, point.load()(config.site.url, options), secrets)
    except Exception as error:  # noqa: BLE001 - it is not our code
        _log.debug("the plug-in %s cannot be loaded", name, exc_info=True)
        raise UsageError(f"plugins.{name}: the plug-in {table.use} cannot be used: {_told(error, secrets)}") from None


def _told(error: Exception, secrets: Iterable[str]) -> str:
    return quote_message(f"{type(error).__name__}: {error}", secrets)
