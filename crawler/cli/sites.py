"""The sites that a configuration file names, each with what the command line sets, and the ones that are meant."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from crawler.cli.options import FLAGS, config_from_flags, flag_of, site_config
from crawler.config.config import Config
from crawler.config.load import SITES, read_tables
from crawler.config.sites import choose_sites, resolve_paths, split_sites
from crawler.errors import NothingCrawlable, UsageError
from crawler.state.migrations import STATE_DB

_SINGLE_SITE_KEYS: Final = ("output.directory", "site.sitemap_url")  # what no two sites can have alike


class ConfiguredSite(Struct, frozen=True):
    """A site of a configuration: what it is told, and whether it is one of those that the command is about."""

    name: str
    config: Config
    is_wanted: bool


def configured_sites(file: Path, flags: Mapping[str, Any], wanted: Sequence[str]) -> list[ConfiguredSite]:
    """All sites of a file in its order. Those named by ``wanted`` are, and have the flags; without names, all are.

    A file without ``sites`` has one, which is named after its host. Raises UsageError for what is not known, does not
    fit, or is for one site and was said to several.
    """
    source = str(file)
    every = {
        name: resolve_paths(tables, file.parent)
        for name, tables in split_sites(read_tables(file), source, flag_of).items()
    }
    if "" in every:
        config = config_from_flags(every[""], flags, source)
        name = _host(config, source)
        choose_sites([name], wanted, source)
        return [ConfiguredSite(name, config, is_wanted=True)]
    chosen = choose_sites(list(every), wanted, source)
    _check(flags, chosen, source)
    return [
        ConfiguredSite(
            name, config_from_flags(tables, flags if name in chosen else {}, source), name in chosen
        )
        for name, tables in every.items()
    ]


def shared_config(file: Path, flags: Mapping[str, Any]) -> Config:
    """What a file says of all its sites: the daemon's settings, and where states are. Raises UsageError."""
    tables = {name: table for name, table in read_tables(file).items() if name != SITES}
    return config_from_flags(resolve_paths(tables, file.parent), flags, str(file))


def history_directory(config: Config) -> Path:
    """Where the history of the schedule is kept, by what a configuration says of all sites."""
    return Path(config.daemon.directory or config.state.directory)


def _check(flags: Mapping[str, Any], chosen: Sequence[str], source: str) -> None:
    for flag in FLAGS:
        if len(chosen) > 1 and flag.key in _SINGLE_SITE_KEYS and flags.get(flag.field) is not None:
            raise UsageError(
                f"{flag.long} (or {flag.variable}) is for one site, but {source} has {', '.join(chosen)}: choose one "
                f"with --site, or set {flag.key} for each of them there"
            )


def _host(config: Config, source: str) -> str:
    if not config.site.url:
        raise UsageError(
            f"{source} names no site: set url in [site], or in [sites.NAME.site] for each of several"
        )
    from crawler.config.plan import parse_url_setting  # noqa: PLC0415 - it knows all the parts of a crawl
    from crawler.url.normalize import DEFAULT_PARAMS, host_of  # noqa: PLC0415

    return host_of(parse_url_setting(config.site.url, "site.url", DEFAULT_PARAMS))


def find_state_directory(
    url: str | None, file: Path | None, site: str | None, flags: Mapping[str, Any]
) -> Path:
    """The directory of the state of the site that is meant; it holds a state.

    ``url`` is the site's, ``file`` its configuration and ``site`` its name there; ``flags`` are those of the command
    line that place the state (``state.directory``, ``site.sitemap_url``). With neither a URL nor a site in the
    configuration it is the only site whose state lies there. Raises UsageError when there is none, or several.
    """
    config = site_config(file, flags, url, site)
    root = Path(config.state.directory)
    if config.site.url:
        from crawler.config.plan import plan_scope  # noqa: PLC0415 - it knows all the parts of a crawl
        from crawler.state.store import state_directory  # noqa: PLC0415

        _, sitemap_url, _ = plan_scope(config)
        directory = state_directory(root, sitemap_url)
        if not STATE_DB.is_in(directory):
            raise UsageError(
                f"there is no state of {config.site.url} in {root}: the site was not crawled yet"
                f"{_other_sites(root, state_directories(root))}"
            )
        return directory
    if STATE_DB.is_in(root):
        return root
    every = state_directories(root)
    there = [each for each in every if _has_content(each)] if len(every) > 1 else every
    if len(there) == 1:
        return there[0]
    if there:
        raise UsageError(
            f"there are several sites in {root}: choose one by its URL or with --config{_other_sites(root, there)}"
        )
    if every:
        raise UsageError(f"no site in {root} was crawled successfully yet{_other_sites(root, every)}")
    raise UsageError(_no_state_message(root))


def find_states(
    file: Path | None, flags: Mapping[str, Any], wanted: Sequence[str]
) -> list[tuple[str, Path, Config | None]]:
    """The sites of a configuration, or without one all that have a state, or an audit, in the state directory.

    At least one.
    Each with its name, the directory of its state, which may not be there yet, and its configuration.
    Raises UsageError.
    """
    if file is not None:
        from crawler.config.plan import plan_scope  # noqa: PLC0415 - it knows all the parts of a crawl
        from crawler.state.store import state_directory  # noqa: PLC0415

        sites = [(each.name, each.config) for each in configured_sites(file, flags, wanted) if each.is_wanted]
        return [
            (name, state_directory(Path(config.state.directory), plan_scope(config)[1]), config)
            for name, config in sites
        ]
    if wanted:
        raise UsageError("--site names a site of a configuration: give that too, with --config FILE")
    from crawler.config.plan import AUDIT  # noqa: PLC0415 - it knows all that is told of an audit

    root = Path(site_config(None, flags).state.directory)
    audited = f"{AUDIT}/{STATE_DB.file}"
    is_one = STATE_DB.is_in(root) or STATE_DB.is_in(root / AUDIT)
    found = (
        [root]
        if is_one
        else sorted({*state_directories(root), *(path.parents[1] for path in root.glob(f"*/{audited}"))})
    )
    if not found:
        raise UsageError(_no_state_message(root))
    return [(directory.name, directory, None) for directory in found]


def state_directories(root: Path) -> list[Path]:
    """The directories of all sites below."""
    return sorted(path.parent for path in root.glob(f"*/{STATE_DB.file}"))


def _has_content(directory: Path) -> bool:
    """Whether more is known of a site than that it is not there: its URL may have been mistyped."""
    with STATE_DB.reading(directory) as db:
        query = "SELECT EXISTS (SELECT 1 FROM run WHERE exit_code IS NOT ?)"
        return bool(db.execute(query, (NothingCrawlable.exit_code,)).fetchone()[0])


def _no_state_message(root: Path) -> str:
    return f"there is no state in {root}: nothing was crawled yet, or it is elsewhere (--state DIR)"


def _other_sites(root: Path, there: Sequence[Path]) -> str:
    """The sites that there are, for a message."""
    if not there:
        return ""
    shown = ", ".join(path.name for path in there[:5])
    more = f" and {len(there) - 5} more" if len(there) > 5 else ""
    return f"; there is state of {shown}{more} (--state {root}/… selects one)"
