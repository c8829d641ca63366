"""What ``siteatlas init`` writes: the files and their texts, and what is to be done next. Writes them, all or none."""

import os
import pwd
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from crawler.cli.init import crontab, github, kubernetes, systemd
from crawler.cli.init.config import new_config, site_names
from crawler.cli.init.kit import InitKit, timer_schedule
from crawler.cli.options import config_from_flags, flag_of
from crawler.config.config import Config
from crawler.config.load import parsed, read_tables
from crawler.config.plan import parse_url_setting, plan_crawl
from crawler.config.sites import SitePaths, check_distinct_paths, resolve_paths, split_sites
from crawler.errors import StorageError, UsageError
from crawler.url.normalize import host_of
from crawler.url.params import UrlParams
from crawler.version import __version__

Step = tuple[str, str]


def first_run_steps(kit: InitKit, config: Path, *, by_units: bool) -> Iterator[Step]:
    """The first runs of a new configuration, by the account of the units if there are any: files are made by it."""
    program = "siteatlas"
    if by_units and kit.user != _current_user_id():
        program = f"{_sudo_prefix(kit.user)}{shlex.join(kit.program)}"
    file = shlex.quote(str(config))
    where = "in the directories it names" if len(kit.sites) > 1 else f"in {relative_path(kit.outputs[0])}"
    yield f"{program} run --config {file} --dry-run", "crawls, and shows what would be published"
    yield f"{program} run --config {file}", f"publishes the sitemap {where}"
    yield f"siteatlas robots --config {file}", "checks that search engines find it"


def keep_config_step(config: Path) -> Step:
    """What keeps a site true when no other scheduler does."""
    return (
        f"siteatlas schedule --config {shlex.quote(str(config))} --every 1d",
        "keeps it up to date; or let init write files for another scheduler",
    )


def install_steps(kit: InitKit) -> Iterator[Step]:
    """What is to be there before units run: the account, directories that it may write in, and secrets."""
    number = _user_id(kit.user)
    user = shlex.quote(kit.user)
    if number is None:
        yield (
            f"{_sudo_prefix()}useradd --system --shell /usr/sbin/nologin {user}",
            "creates the account that runs it",
        )
    owners = {path: _owner_id(path) for path in kit.writes}
    there = [
        path for path, owner in owners.items() if owner not in (None, number) and path not in kit.outputs
    ]
    if new := [
        path for path, owner in owners.items() if owner is None or (owner != number and path not in there)
    ]:
        told = "creates the directories that it writes to"
        yield f"{_sudo_prefix()}{shlex.join(['install', '-d', '-o', kit.user, *map(str, new)])}", told
    if there:
        told = "gives it the files of another account"
        yield f"{_sudo_prefix()}{shlex.join(['chown', '-R', kit.user, *map(str, there)])}", told
    yield from _secret_steps(kit)


def _secret_steps(kit: InitKit) -> Iterator[Step]:
    """The files that units want, without which systemd starts none, for root alone; those that are there stay."""
    environment, names = systemd.environment_file(kit), kit.secret_names()
    wanted = [(environment, ", ".join(f"{name}=…" for name in names))] if names else []
    wanted += [(Path(file), "the secret") for file in kit.secret_files()]
    for path, content in wanted:
        if not os.path.exists(path):  # noqa: PTH110 - it is False too for what we may not look at
            command = shlex.join(["install", "-m", "600", "/dev/null", str(path)])
            yield (
                f"{_sudo_prefix()}{command}",
                f"creates the file; write {content} into it, as units do not start without it",
            )


def enable_step(units: Sequence[Path], name: str, meaning: str) -> Step:
    """Install units and start the one of this name."""
    files = shlex.join(map(str, units))
    return (
        f"{_sudo_prefix()}cp {files} /etc/systemd/system/ && {_sudo_prefix()}systemctl enable --now {name}",
        meaning,
    )


def relative_path(path: Path) -> Path:
    """Relative to where we are, if it is there."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _owner_id(path: Path) -> int | None:
    """The number of the account that a directory belongs to; None when there is none, or we may not look."""
    try:
        return path.stat().st_uid
    except OSError:
        return None


def _user_id(user: str) -> int | None:
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        return None


def _current_user_id() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return ""


def _sudo_prefix(user: str = "") -> str:
    """What makes a command that of another account, by default of root."""
    if os.getuid():
        return f"sudo -u {shlex.quote(user)} " if user else "sudo "
    return f"runuser -u {shlex.quote(user)} -- " if user else ""


_SYSTEM_DIRECTORY: Final = Path("/etc")

_KEEP_ALL_PARAMS: Final = UrlParams((), ())


class InitOptions(Struct, frozen=True, kw_only=True):
    """What a person asked for. ``output`` is None when it was not said where the sitemap goes."""

    urls: tuple[str, ...]
    config: Path
    output: Path | None = None
    systemd: bool = False
    daemon: bool = False
    cron: bool = False
    github: bool = False
    kubernetes: bool = False
    user: str = ""

    @property
    def is_kit(self) -> bool:
        """Whether anything beside the configuration is wanted."""
        return bool(self.schedulers)

    @property
    def schedulers(self) -> list[str]:
        """What is to run it, in words; one of them is enough."""
        asked = {
            "the timer": self.systemd,
            "the daemon": self.daemon,
            "cron": self.cron,
            "the workflow": self.github,
            "the CronJob": self.kubernetes,
        }
        return [name for name, is_asked in asked.items() if is_asked]

    def starts(self, scheduler: str) -> str:
        """What the step means that starts one of them."""
        return f"{'' if scheduler == self.schedulers[0] else 'or instead: '}{scheduler} runs it from now on"


class InitFiles(Struct, frozen=True):
    """The files with their texts, what is to be known of them, and the next steps, each a command and its meaning."""

    files: dict[Path, str]
    notes: list[str]
    steps: list[tuple[str, str]]


def plan_files(wanted: InitOptions) -> InitFiles:
    """Make the texts, and check them as a run would. Raises UsageError; writes nothing."""
    is_new = bool(wanted.urls)
    if is_new:
        text = _config_text(wanted)
    elif not wanted.config.exists():
        raise UsageError(
            f"{wanted.config} does not exist: give the URL of its site, as in siteatlas init https://www.example.com/ "
            f"-o public"
        )
    elif wanted.output is not None:
        raise UsageError("-o needs the URL of a new configuration: an existing one sets the directory itself")
    elif not wanted.is_kit:
        raise UsageError(
            f"{wanted.config} already exists: say what to write for it (--systemd, --systemd-daemon, --cron, "
            f"--github, --kubernetes), or give the URL of a new one"
        )
    else:
        read_tables(wanted.config)  # for its errors
        text = wanted.config.read_text(encoding="utf-8")
    kit = _build_kit(wanted, text)
    files = {wanted.config: text} if is_new else {}
    notes, steps = list(_notes(wanted, kit)), list[tuple[str, str]]()
    for make in (_systemd, _daemon, _cron, _github, _kubernetes):
        make(wanted, kit, InitFiles(files, notes, steps))
    is_unit = wanted.systemd or wanted.daemon
    ready = list(install_steps(kit)) if is_unit else []
    first = list(first_run_steps(kit, wanted.config, by_units=is_unit)) if is_new else []
    kept = [] if wanted.is_kit else [keep_config_step(wanted.config)]
    return InitFiles(files, notes, [*ready, *first, *steps, *kept])


def _notes(wanted: InitOptions, kit: InitKit) -> Iterator[str]:
    if kit.moment.note and wanted.is_kit:
        yield kit.moment.note
    if len(wanted.schedulers) > 1:
        *some, last = wanted.schedulers
        yield f"{', '.join(some)} and {last} do the same work: start only one of them"
    if (wanted.github or wanted.kubernetes) and (files := kit.secret_files()):
        yield f"{', '.join(files)} exists on this machine only: write this secret as env:NAME for GitHub and Kubernetes"


def write_files(files: dict[Path, str], *, replaces: bool) -> None:
    """Write all of them, or none when one is there already. Raises UsageError, StorageError."""
    there = [str(path) for path in files if path.exists() or path.is_symlink()]
    if there and not replaces:
        what = "exists" if len(there) == 1 else "exist"
        raise UsageError(
            f"{', '.join(there)} already {what}, so nothing was written: --force replaces existing files"
        )
    for path, text in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise StorageError(f"{path} cannot be written: {error.strerror or error}") from None


def _config_text(wanted: InitOptions) -> str:
    urls = [parse_url_setting(url, "the URL", _KEEP_ALL_PARAMS) for url in dict.fromkeys(wanted.urls)]
    found = site_names(list(urls))
    output = wanted.output or Path("public")
    folders = [output] if len(urls) == 1 else [output / name for name in found]
    is_of_system = wanted.config.absolute().is_relative_to(_SYSTEM_DIRECTORY)
    sites = {
        name: (url, _relative_path(wanted.config, folder))
        for name, url, folder in zip(found, urls, folders, strict=True)
    }
    return new_config(
        sites,
        file=str(wanted.config),
        state="/var/lib/siteatlas" if is_of_system else Config().state.directory,
        cron=timer_schedule((), urls[0]).cron,
        is_scheduled=wanted.daemon,
    )


def _relative_path(config: Path, folder: Path) -> str:
    """A path as the configuration writes it, in which paths are relative to its own directory."""
    here = config.parent.resolve()
    if folder.is_absolute() or here == Path.cwd():
        return str(folder)
    target = Path.cwd() / folder
    return str(target.relative_to(here)) if target.is_relative_to(here) else str(target)


def _build_kit(wanted: InitOptions, text: str) -> InitKit:
    """Everything that the texts are made of; the configuration is checked as a run does it."""
    file = wanted.config.absolute()
    source = str(wanted.config)
    sites, places, writes = {}, [], []
    for name, tables in split_sites(parsed(text, source), source, flag_of).items():
        config = config_from_flags(resolve_paths(tables, file.parent), {}, source)
        _keep_private(wanted.config, Path(config.output.directory))
        ready = plan_crawl(config)
        called = name or host_of(ready.seed)
        sites[called] = config
        file_name = ready.sitemap_url.partition("?")[0].rpartition("/")[2]
        places.append(SitePaths(called, ready.output / file_name, ready.state))
        writes += [
            ready.output,
            Path(config.state.directory),
            Path(config.daemon.directory or config.state.directory),
        ]
    check_distinct_paths(places, source)
    first = next(iter(sites.values()))
    return InitKit(
        config=file,
        text=text,
        sites=sites,
        writes=tuple(dict.fromkeys(Path(os.path.normpath(path)) for path in writes)),
        program=_program(),
        user=wanted.user or _current_user(),
        moment=timer_schedule((each.schedule for each in sites.values()), first.site.url),
        version=__version__,
    )


def _keep_private(config: Path, output: Path) -> None:
    if config.resolve().is_relative_to(output.resolve()):
        raise UsageError(
            f"the configuration ({config}) would be public, in the published directory ({output}): put it elsewhere "
            f"with --config FILE"
        )


def _program() -> tuple[str, ...]:
    """How a scheduler calls this very program, whatever its PATH is."""
    beside = Path(sys.executable).with_name("siteatlas")
    found = str(beside) if beside.exists() else shutil.which("siteatlas")
    return (found,) if found else (sys.executable, "-m", "crawler")


def _current_user() -> str:
    """Who runs it: whoever asks, but never root."""
    return pwd.getpwuid(os.getuid()).pw_name if os.getuid() else "siteatlas"


def _systemd(wanted: InitOptions, kit: InitKit, to: InitFiles) -> None:
    if wanted.systemd:
        units = [wanted.config.with_name(f"{kit.name}.{kind}") for kind in ("service", "timer")]
        to.files.update(zip(units, (systemd.service_unit(kit), systemd.timer_unit(kit)), strict=True))
        to.steps.append(enable_step(units, f"{kit.name}.timer", wanted.starts("the timer")))


def _daemon(wanted: InitOptions, kit: InitKit, to: InitFiles) -> None:
    if not wanted.daemon:
        return
    unit = wanted.config.with_name(f"{kit.name}-schedule.service")
    to.files[unit] = systemd.daemon_unit(kit)
    to.steps.append(enable_step([unit], unit.name, wanted.starts("the daemon")))
    if not any(each.schedule.is_timed for each in kit.sites.values()):
        to.notes.append(f"{wanted.config} has no [schedule] with cron or every: the daemon would run no site")


def _cron(wanted: InitOptions, kit: InitKit, to: InitFiles) -> None:
    if wanted.cron:
        file = wanted.config.with_name(f"{kit.name}.crontab")
        to.files[file] = crontab.crontab(kit)
        to.steps.append((crontab.install_command(kit, file), wanted.starts("cron")))


def _github(wanted: InitOptions, kit: InitKit, to: InitFiles) -> None:
    if wanted.github:
        folder = kit.config.parent
        root = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)
        to.files[relative_path(root / github.WORKFLOW_FILE)] = github.workflow(kit, root)
        files = shlex.join([str(wanted.config), str(relative_path(root / github.WORKFLOW_FILE))])
        to.steps.append(
            (
                f"git add {files} && git commit && git push",
                f"{wanted.starts('the workflow')}; the state is not committed",
            )
        )


def _kubernetes(wanted: InitOptions, kit: InitKit, to: InitFiles) -> None:
    if not wanted.kubernetes:
        return
    file = wanted.config.with_name(f"{kit.name}.yaml")
    to.files[file] = kubernetes.cronjob(kit)
    to.steps.append((f"kubectl apply -f {shlex.quote(str(file))}", wanted.starts("the CronJob")))
    source = str(wanted.config)
    strange = kubernetes.unmounted_directories(split_sites(parsed(kit.text, source), source))
    if strange:
        to.notes.append(
            f"{', '.join(strange)} is not on the volume of the CronJob, which is "
            f"{kubernetes.DATA_DIRECTORY}: change it in the "
            f"ConfigMap of {file}"
        )
