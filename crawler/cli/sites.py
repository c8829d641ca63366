"""The sites that a configuration file names, each with what the command line sets, and the ones that are meant."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from crawler.cli.options import FLAGS, built, flag_of, settings
from crawler.config.config import Config
from crawler.config.load import SITES, read
from crawler.config.sites import anchored, choose, split
from crawler.errors import NothingCrawlable, UsageError
from crawler.state.migrations import STATE

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
    tables = {name: table for name, table in read(file).items() if name != SITES}
    return built(anchored(tables, file.parent), flags, str(file))


def history_directory(config: Config) -> Path:
    """Where the history of the schedule is kept, by what a configuration says of all sites."""
    return Path(config.daemon.directory or config.state.directory)


def _check(flags: Mapping[str, Any], chosen: Sequence[str], source: str) -> None:
    for flag in FLAGS:
        if len(chosen) > 1 and flag.key in _OF_ONE_SITE and flags.get(flag.field) is not None:
            raise UsageError(
                f"{flag.long} (or {flag.variable}) is for one site, but {source} has {', '.join(chosen)}: choose one "
                f"with --site, or set {flag.key} for each of them there"
            )


def _host(config: Config, source: str) -> str:
    if not config.site.url:
        raise UsageError(
            f"{source} names no site: set url in [site], or in [sites.NAME.site] for each of several"
        )
    from crawler.config.plan import address  # noqa: PLC0415 - it knows all the parts of a crawl
    from crawler.url.normalize import DEFAULT, host  # noqa: PLC0415

    return host(address(config.site.url, "site.url", DEFAULT))


def state_directory(url: str | None, file: Path | None, site: str | None, flags: Mapping[str, Any]) -> Path:
    """The directory of the state of the site that is meant; it holds a state.

    ``url`` is the site's, ``file`` its configuration and ``site`` its name there; ``flags`` are those of the command
    line that place the state (``state.directory``, ``site.sitemap_url``). With neither a URL nor a site in the
    configuration it is the only site whose state lies there. Raises UsageError when there is none, or several.
    """
    config = settings(file, flags, url, site)
    root = Path(config.state.directory)
    if config.site.url:
        from crawler.config.plan import survey  # noqa: PLC0415 - it knows all the parts of a crawl
        from crawler.state.store import directory_for  # noqa: PLC0415

        _, sitemap_url, _ = survey(config)
        directory = directory_for(root, sitemap_url)
        if not STATE.is_in(directory):
            raise UsageError(
                f"there is no state of {config.site.url} in {root}: the site was not crawled yet"
                f"{_others(root, known(root))}"
            )
        return directory
    if STATE.is_in(root):
        return root
    every = known(root)
    there = [each for each in every if _came_to_anything(each)] if len(every) > 1 else every
    if len(there) == 1:
        return there[0]
    if there:
        raise UsageError(
            f"there are several sites in {root}: choose one by its URL or with --config{_others(root, there)}"
        )
    if every:
        raise UsageError(f"no site in {root} was crawled successfully yet{_others(root, every)}")
    raise UsageError(_nothing(root))


def states(
    file: Path | None, flags: Mapping[str, Any], wanted: Sequence[str]
) -> list[tuple[str, Path, Config | None]]:
    """The sites of a configuration, or without one all that have a state, or an audit, in the state directory.

    At least one.
    Each with its name, the directory of its state, which may not be there yet, and its configuration.
    Raises UsageError.
    """
    if file is not None:
        from crawler.config.plan import survey  # noqa: PLC0415 - it knows all the parts of a crawl
        from crawler.state.store import directory_for  # noqa: PLC0415

        sites = [(each.name, each.config) for each in configured(file, flags, wanted) if each.is_wanted]
        return [
            (name, directory_for(Path(config.state.directory), survey(config)[1]), config)
            for name, config in sites
        ]
    if wanted:
        raise UsageError("--site names a site of a configuration: give that too, with --config FILE")
    from crawler.config.plan import AUDIT  # noqa: PLC0415 - it knows all that is told of an audit

    root = Path(settings(None, flags).state.directory)
    audited = f"{AUDIT}/{STATE.file}"
    is_one = STATE.is_in(root) or STATE.is_in(root / AUDIT)
    found = (
        [root] if is_one else sorted({*known(root), *(path.parents[1] for path in root.glob(f"*/{audited}"))})
    )
    if not found:
        raise UsageError(_nothing(root))
    return [(directory.name, directory, None) for directory in found]


def known(root: Path) -> list[Path]:
    """The directories of all sites below."""
    return sorted(path.parent for path in root.glob(f"*/{STATE.file}"))


def _came_to_anything(directory: Path) -> bool:
    """Whether more is known of a site than that it is not there: its URL may have been mistyped."""
    with STATE.reading(directory) as db:
        query = "SELECT EXISTS (SELECT 1 FROM run WHERE exit_code IS NOT ?)"
        return bool(db.execute(query, (NothingCrawlable.exit_code,)).fetchone()[0])


def _nothing(root: Path) -> str:
    return f"there is no state in {root}: nothing was crawled yet, or it is elsewhere (--state DIR)"


def _others(root: Path, there: Sequence[Path]) -> str:
    """The sites that there are, for a message."""
    if not there:
        return ""
    shown = ", ".join(path.name for path in there[:5])
    more = f" and {len(there) - 5} more" if len(there) > 5 else ""
    return f"; there is state of {shown}{more} (--state {root}/… selects one)"
