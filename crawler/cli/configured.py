"""The sites that a configuration file names, each with what the command line sets, and the ones that are meant."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from crawler.cli.flags import FLAGS
from crawler.cli.options import built, flag_of
from crawler.config.config import Config
from crawler.config.load import read
from crawler.config.sites import KEY, anchored, choose, split
from crawler.errors import UsageError

_OF_ONE_SITE: Final = ("output.directory", "site.sitemap_url")  # what no two sites can have alike


class Configured(Struct, frozen=True):
    """A site of a configuration: what it is told, and whether it is one of those that the command is about."""

    name: str
    config: Config
    is_wanted: bool


def configured(file: Path, flags: Mapping[str, Any], wanted: Sequence[str]) -> list[Configured]:
    """All sites of a file in its order. Those named by ``wanted`` are, and have the flags; without names, all are.

    A file without ``sites`` has one, which is named after its host. Raises UsageError for what is not known, does not
    fit, or is for one site and was said to several.
    """
    source = str(file)
    every = {
        name: anchored(tables, file.parent) for name, tables in split(read(file), source, flag_of).items()
    }
    if "" in every:
        config = built(every[""], flags, source)
        name = _host(config, source)
        choose([name], wanted, source)
        return [Configured(name, config, is_wanted=True)]
    chosen = choose(list(every), wanted, source)
    _check(flags, chosen, source)
    return [
        Configured(name, built(tables, flags if name in chosen else {}, source), name in chosen)
        for name, tables in every.items()
    ]


def shared(file: Path, flags: Mapping[str, Any]) -> Config:
    """What a file says of all its sites: the daemon's settings, and where states are. Raises UsageError."""
    tables = {name: table for name, table in read(file).items() if name != KEY}
    return built(anchored(tables, file.parent), flags, str(file))


def history_directory(config: Config) -> Path:
    """Where the history of the schedule is kept, by what a configuration says of all sites."""
    return Path(config.daemon.directory or config.state.directory)


def _check(flags: Mapping[str, Any], chosen: Sequence[str], source: str) -> None:
    for flag in FLAGS:
        if len(chosen) > 1 and flag.key in _OF_ONE_SITE and flags.get(flag.field) is not None:
            raise UsageError(
                f"{flag.long} (or {flag.variable}) is for one site, and {source} has {', '.join(chosen)}: name one "
                f"with --site, or set {flag.key} of each there"
            )


def _host(config: Config, source: str) -> str:
    if not config.site.url:
        raise UsageError(
            f"{source} names no site: set url in [site], or in [sites.NAME.site] of each of several"
        )
    from crawler.config.plan import address  # noqa: PLC0415 - it knows all the parts of a crawl
    from crawler.url.normalize import DEFAULT, host  # noqa: PLC0415

    return host(address(config.site.url, "site.url", DEFAULT))
