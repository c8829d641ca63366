"""Loads the sites of a configuration file with the flags of the command line, and finds their states."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from crawler.cli.options import given_layers, site_config
from crawler.config.config import Config
from crawler.config.load import ConfigFile, ConfiguredSite, choose_sites, load_shared, load_sites
from crawler.config.plan import AUDIT, plan_scope, state_directory
from crawler.config.start import parse_url_setting
from crawler.errors import NothingCrawlable, UsageError
from crawler.state.schema import STATE_DB
from crawler.units import names_text
from crawler.url.normalize import DEFAULT_PARAMS, host_of


def configured_sites(file: Path, flags: Mapping[str, Any], names: Sequence[str]) -> list[ConfiguredSite]:
    """All sites of a file, in its order: see :func:`crawler.config.load.load_sites`.

    A file without ``sites`` has one, named after its host. Raises UsageError.
    """
    first, *others = load_sites(ConfigFile.read(file), given_layers(flags), names)
    if first.name:
        return [first, *others]
    name = _host(first.config, str(file))
    choose_sites([name], names, str(file))
    return [ConfiguredSite(name, first.config)]


def shared_config(file: Path | None, flags: Mapping[str, Any]) -> Config:
    """The configuration that the sites of a file share: daemon, state directory. Raises UsageError."""
    return load_shared(ConfigFile.read(file) if file else None, given_layers(flags))


def history_directory(config: Config) -> Path:
    """The directory of the schedule's history."""
    return Path(config.daemon.directory or config.state.directory)


def _host(config: Config, source: str) -> str:
    if not config.site.url:
        raise UsageError(f"{source} has no site. Set url in [site], or, for several sites, in [sites.NAME.site]")
    return host_of(parse_url_setting(config.site.url, "site.url", DEFAULT_PARAMS))


def find_state_directory(
    url: str | None, file: Path | None, site: str | None, flags: Mapping[str, Any], *, audited: bool = False
) -> Path:
    """The directory of an existing state, of the selected site.

    ``url`` is the site's, ``file`` its configuration and ``site`` its name there; ``flags`` locate the state
    (``state.directory``, ``site.sitemap_url``). With neither a URL nor a site in the configuration, it is the only
    state in the state directory. With ``audited``, a site that was only audited has one too. Raises UsageError when
    there is none, or several.
    """
    config = site_config(file, flags, url, site)
    root = Path(config.state.directory)
    if config.site.url:
        _, sitemap_url, _ = plan_scope(config)
        directory = state_directory(root, sitemap_url)
        has_audits = STATE_DB.is_in(directory / AUDIT)
        if not STATE_DB.is_in(directory) and not (audited and has_audits):
            if has_audits:
                raise _no_state(directory)
            raise UsageError(
                f"the state directory {root} has no state of {config.site.url}, because no run has crawled the site yet"
                f"{_other_sites(root, state_directories(root))}"
            )
        return directory
    if STATE_DB.is_in(root):
        return root
    audits: list[Path] = audited_directories(root) if audited else []
    directories = sorted({*state_directories(root), *audits})
    known = directories if len(directories) == 1 else list(filter(_has_content, directories))
    if len(known) == 1:
        return known[0]
    if known:
        raise UsageError(
            f"the state directory {root} has several sites. Choose a site by its URL or with "
            f"--config{_other_sites(root, known)}"
        )
    if directories:
        raise UsageError(
            f"the state directory {root} has no site that a run has crawled "
            f"successfully{_other_sites(root, directories)}"
        )
    raise _no_state(root)


def find_states(
    file: Path | None, flags: Mapping[str, Any], names: Sequence[str]
) -> list[tuple[str, Path, Config | None]]:
    """The sites of a configuration, or without one all that have a state, or an audit, in the state directory.

    Each with its name, the directory of its state, which may not exist yet, and its configuration. Raises UsageError if
    there is none.
    """
    if file is not None:
        sites = [(site.name, site.config) for site in configured_sites(file, flags, names) if site.is_wanted]
        return [
            (name, state_directory(Path(config.state.directory), plan_scope(config)[1]), config)
            for name, config in sites
        ]
    if names:
        raise UsageError("--site needs a configuration. Add --config FILE")
    root = Path(shared_config(None, flags).state.directory)
    is_one = STATE_DB.is_in(root) or STATE_DB.is_in(root / AUDIT)
    directories = [root] if is_one else sorted({*state_directories(root), *audited_directories(root)})
    if not directories:
        raise _no_state(root)
    return [(directory.name, directory, None) for directory in directories]


def state_directories(root: Path) -> list[Path]:
    """The directories with a state, one for each site."""
    return sorted(path.parent for path in root.glob(f"*/{STATE_DB.file}"))


def audited_directories(root: Path) -> list[Path]:
    """The directories of sites with an audit."""
    return sorted(path.parents[1] for path in root.glob(f"*/{AUDIT}/{STATE_DB.file}"))


def state_in(place: Path) -> Path | None:
    """The state of the one site in a directory, None if it has no state. Raises UsageError if it has several."""
    if STATE_DB.is_in(place):
        return place
    found = state_directories(place) or [site / AUDIT for site in audited_directories(place)]
    if len(found) > 1:
        raise UsageError(f"{place} has several sites. Name one: {', '.join(map(str, found))}")
    return found[0] if found else None


def _has_content(directory: Path) -> bool:
    """Whether a run of the site found anything: the URL may have been mistyped."""
    if not STATE_DB.is_in(directory):
        return True  # it was audited
    with STATE_DB.reading(directory) as db:
        query = "SELECT EXISTS (SELECT 1 FROM run WHERE exit_code IS NOT ?)"
        return bool(db.execute(query, (NothingCrawlable.exit_code,)).fetchone()[0])


def _no_state(root: Path) -> UsageError:
    if any(any(root.glob(f"{above}{AUDIT}/{STATE_DB.file}")) for above in ("", "*/")):
        return UsageError(
            f"{root} has audits only, and no run published a sitemap. Run siteatlas crawl or siteatlas run first"
        )
    return UsageError(
        f"{root} contains no state. Go to the directory from which the site was crawled, or name its configuration "
        f"with --config FILE or its state with --state DIR. To begin, run siteatlas crawl"
    )


def _other_sites(root: Path, directories: Sequence[Path]) -> str:
    """The known sites, as the end of a message."""
    if not directories:
        return ""
    names = names_text([path.name for path in directories])
    return f". The crawled sites are {names}. To choose one, add --state {root}/NAME"
