"""What a kit is made for: the sites of one configuration, where everything is, and when they are run."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from crawler.config.config import Config
from crawler.kits.moment import Moment

_ENV: Final = "env:"
_FILE: Final = "file:"
_OF_EXTRAS: Final = {"s3://": "s3", "sftp://": "sftp"}


class Kit(Struct, frozen=True, kw_only=True):
    """The values that go into the texts. All paths are absolute.

    ``sites`` are the configurations of the sites by name, as they are in effect; ``text`` is the configuration as it
    stands in its file. ``program`` is the command line up to the first argument of siteatlas, ``user`` the account that
    it runs as, ``version`` that of siteatlas. ``writes`` are the directories that a run writes in.
    """

    config: Path
    text: str
    sites: dict[str, Config]
    writes: tuple[Path, ...]
    program: tuple[str, ...]
    user: str
    moment: Moment
    version: str

    @property
    def name(self) -> str:
        """What units, jobs and files are called: after the file of the configuration."""
        stem = re.sub("[^a-z0-9]+", "-", self.config.stem.lower()).strip("-")
        return stem if stem.startswith("siteatlas") else f"siteatlas-{stem}".rstrip("-")

    @property
    def urls(self) -> list[str]:
        """The start URLs."""
        return [config.site.url for config in self.sites.values()]

    @property
    def what(self) -> str:
        """What is kept, in a few words."""
        return (
            f"Sitemap of {self.urls[0]}" if len(self.sites) == 1 else f"Sitemaps of {len(self.sites)} sites"
        )

    @property
    def first(self) -> Config:
        """The configuration of the first site: what all share is the same in each."""
        return next(iter(self.sites.values()))

    @property
    def outputs(self) -> list[Path]:
        """The directories that are published."""
        return [Path(os.path.normpath(config.output.directory)) for config in self.sites.values()]

    @property
    def package(self) -> str:
        """What pip is told to install: this release or a later one like it, with the extras that the sites need."""
        extras = {extra for config in self.sites.values() for extra in _extras(config)}
        wanted = f"[{','.join(sorted(extras))}]" if extras else ""
        return f"siteatlas{wanted}~={self.version}"

    def secret_names(self) -> list[str]:
        """The environment variables that the configuration names for secrets."""
        return self._named(_ENV)

    def secret_files(self) -> list[str]:
        """The files that it names for secrets."""
        accounts = (config.search_console.account for config in self.sites.values())
        plain = (account for account in accounts if account and not account.startswith((_ENV, _FILE)))
        return list(dict.fromkeys((*self._named(_FILE), *plain)))

    def _named(self, kind: str) -> list[str]:
        texts = (text for config in self.sites.values() for text in _texts(config.model_dump()))
        return list(dict.fromkeys(text.removeprefix(kind) for text in texts if text.startswith(kind)))

    def paths(self) -> Iterator[Path]:
        """All that a run reads or writes."""
        yield self.config
        yield Path(self.program[0])
        yield from self.writes
        for config in self.sites.values():
            yield from (
                Path(text) for text in (config.fetch.source, config.upload.sftp_key) if text.startswith("/")
            )


def _extras(config: Config) -> Iterator[str]:
    yield from (extra for scheme, extra in _OF_EXTRAS.items() if config.upload.to.startswith(scheme))
    if config.search_console.account:
        yield "google"
    if config.fetch.http2:
        yield "http2"


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
