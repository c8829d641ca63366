"""Plans and writes the files of ``siteatlas init``, all or none: with the next steps and the key of signed requests."""

import json
import os
import pwd
import shlex
import shutil
import stat
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from crawler.cli.init import github, kubernetes, systemd
from crawler.cli.init.build import build_of, source_of
from crawler.cli.init.config import new_config, site_names
from crawler.cli.init.interval import Interval
from crawler.cli.init.kit import InitKit, crontab, fill, install_command, stable_time, timer_schedule
from crawler.config.config import Config, ContentConfig, FetchConfig
from crawler.config.fetcher import request_signer
from crawler.config.load import ConfigFile, SitePaths, check_distinct_paths, load_sites, split_sites
from crawler.config.plan import plan_crawl
from crawler.config.start import parse_url_setting
from crawler.errors import StorageError, UsageError, account_name
from crawler.lastmod.git import dates_pages
from crawler.packages import IMAGE, WHEEL, installed_from
from crawler.publish.write import foreign_sitemap
from crawler.units import names_text
from crawler.url.normalize import host_of
from crawler.url.params import UrlParams
from sitemap import create_file, destination_error, is_planted, make_directory

Step = tuple[str, str]


def first_run_steps(kit: InitKit, config: Path, *, by_account: bool) -> Iterator[Step]:
    """The first runs of a new configuration, by the account of later runs, if any, since it must own the files."""
    program = "siteatlas"
    if by_account and kit.user != account_name():
        program = f"{_sudo_prefix(kit.user)}{shlex.join(kit.program)}"
    file = shlex.quote(str(config))
    where = "in the directories it names" if len(kit.sites) > 1 else f"in {relative_path(kit.outputs[0])}"
    where += "" if kit.is_built or kit.outputs[0].exists() or len(kit.sites) > 1 else ", a new directory"
    found = filter(None, map(foreign_sitemap, kit.sites.values()))
    when = once = replaces = ""
    if kit.is_built:
        when, once, replaces = "after each build, ", " --replace", ", also in place of one of the generator"
    elif foreign := ", ".join(str(relative_path(path)) for path in found):
        once, replaces = " --replace", f", and replaces {foreign}; later runs need no --replace"
        replaces += ". If each build of your site writes it again, let each build end with a run"
    meaning = f"{when}publishes the sitemap {where}{replaces}. With --dry-run, it only shows what it would publish"
    yield f"{program} run --config {file}{once}", meaning
    local = kit.outputs[0] / "robots.txt"
    source = source_of(local) if urlsplit(kit.urls[0]).path.count("/") < 2 else None
    patch, does = "", "prints the line to add"
    if len(kit.sites) == 1 and (source or local.is_file()):
        patch = f" --patch {shlex.quote(str(relative_path(source or local)))}"
        does = f"adds the line with the sitemap{' to the file that each build copies' if source else ''}"
    yield f"siteatlas robots --config {file}{patch}", f"checks robots.txt, and {does}"
    if kit.is_built and kit.first_config.indexnow.key:
        yield f"siteatlas notify --config {file}", "after each deploy, sends the changes to search engines"


def install_steps(kit: InitKit) -> Iterator[Step]:
    """The preparation of the account that runs it: with its directories."""
    user = shlex.quote(kit.user)
    if _user_id(kit.user) is None:
        yield (f"{_sudo_prefix()}useradd --system --shell /usr/sbin/nologin {user}", "creates the account that runs it")
    owners = {path: _owner_id(path) for path in kit.writes}
    if new := [path for path, owner in owners.items() if owner is None]:
        meaning = "creates the directories that it writes to"
        yield f"{_sudo_prefix()}{shlex.join(['install', '-d', '-o', kit.user, *map(str, new)])}", meaning
    published = [path for path in owners if path in kit.outputs and path not in new]
    if shut := [path for path in published if not _may(kit.user, path, stat.S_IWOTH)]:
        meaning = "lets it write to what stays its owner's; the package acl has the command"
        yield f"{_sudo_prefix()}{shlex.join(['setfacl', '-m', f'u:{kit.user}:rwx', *map(str, shut)])}", meaning
    if foreign := [path for path in _foreign(kit) if owners[path] in {0, os.geteuid()}]:
        meaning = "gives it the files of the account that ran it so far"
        yield f"{_sudo_prefix()}{shlex.join(['chown', '-R', kit.user, *map(str, foreign)])}", meaning


def _foreign(kit: InitKit) -> list[Path]:
    """The directories of the state that belong to another account than that of the units."""
    owners = {path: _owner_id(path) for path in kit.writes if path not in kit.outputs}
    return [path for path, owner in owners.items() if owner not in {None, _user_id(kit.user)}]


def _secret_steps(kit: InitKit) -> Iterator[Step]:
    """The secret files that systemd units need, readable by root only; existing ones stay."""
    environment, names = systemd.environment_file(kit), kit.secret_names()
    files = [(environment, ", ".join(f"{name}=…" for name in names))] if names else []
    files += [(Path(file), "the secret") for file in (*kit.secret_files(), *kit.key_files())]
    for path, content in files:
        if not os.path.exists(path):  # noqa: PTH110 - False too for a path that we may not read
            meaning = f"creates the file; write {content} into it, because units do not start without it"
            yield f"{_sudo_prefix()}{shlex.join(['install', '-m', '600', '/dev/null', str(path)])}", meaning


def enable_step(units: Sequence[Path], name: str, meaning: str) -> Step:
    """Install units and start the one of this name."""
    files, sudo = shlex.join(map(str, units)), _sudo_prefix()
    return f"{sudo}cp {files} /etc/systemd/system/ && {sudo}systemctl enable --now {name}", meaning


def relative_path(path: Path) -> Path:
    """A path relative to the current directory, if it is below it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _owner_id(path: Path) -> int | None:
    """The user id of a directory's owner; None when it does not exist, or is not accessible."""
    with suppress(OSError):
        return path.stat().st_uid
    return None


def _user_id(user: str) -> int | None:
    with suppress(KeyError):
        return pwd.getpwnam(user).pw_uid
    return None


def _may(user: str, path: Path, bit: int) -> bool:
    """Whether the mode of a path lets an account do what a ``bit`` of others, such as S_IXOTH, stands for.

    Raises OSError.
    """
    status, number = path.stat(), _user_id(user)
    groups = os.getgrouplist(user, pwd.getpwnam(user).pw_gid) if number is not None else []
    shift = 6 if number == status.st_uid else 3 if status.st_gid in groups else 0
    return number == 0 or bool(status.st_mode >> shift & bit)


def _sudo_prefix(user: str = "") -> str:
    """The prefix that runs a command as another account, by default as root."""
    if os.getuid():
        return f"sudo -u {shlex.quote(user)} " if user else "sudo "
    return f"runuser -u {shlex.quote(user)} -- " if user else ""


_SYSTEM_DIRECTORY: Final = Path("/etc")
_KEEP_ALL_PARAMS: Final = UrlParams((), ())


class InitOptions(Struct, frozen=True, kw_only=True):
    """The options of the command. ``output`` is None without -o."""

    urls: tuple[str, ...]
    config: Path
    output: Path | None = None
    every: Interval | None = None
    indexnow_key: str = ""
    chosen: tuple[str, ...] = ()  # keys of SCHEDULERS
    user: str = ""

    @property
    def schedulers(self) -> list[str]:
        """The schedulers to write files for beside the configuration, in words."""
        return list(dict.fromkeys(word for name, (word, _) in SCHEDULERS.items() if name in self.chosen))

    def starts(self, scheduler: str) -> str:
        """The meaning of the step that starts a scheduler."""
        when = f": {self.every.text(*stable_time(self.urls[0]))}" if self.every else ""
        return f"{'' if scheduler == self.schedulers[0] else 'or instead: '}{scheduler} runs it from now on{when}"

    @property
    def is_unit(self) -> bool:
        """Whether systemd runs something."""
        return any(name.startswith("systemd") for name in self.chosen)

    @property
    def has_account(self) -> bool:
        """Whether an account is named for the runs: that of a unit, or the one that --user gives to cron."""
        return self.is_unit or ("cron" in self.chosen and self.user != "")


class InitFiles(Struct, frozen=True):
    """The texts of the files, notes, and the next steps, each a command and its meaning."""

    files: dict[Path, str]
    notes: list[str]
    steps: list[tuple[str, str]]


def plan_files(options: InitOptions) -> InitFiles:
    """Build the texts, and check them as a run would. Raises UsageError; writes nothing."""
    is_new = bool(options.urls)
    if is_new:
        text = _config_text(options)
    elif not options.config.exists():
        raise UsageError(
            f"the configuration {options.config} does not exist. Give the URL of a site, as in siteatlas init "
            "https://www.example.com/ -o public"
        )
    elif options.output is not None or options.every or options.indexnow_key:
        raise UsageError(
            "-o, --every and --indexnow work only with a URL, for a new configuration. Set output.directory, "
            "schedule.cron or indexnow.key in the existing configuration instead"
        )
    elif not options.schedulers:
        raise UsageError(
            f"{options.config} already exists. Choose what to write for this configuration (--systemd, "
            "--systemd-daemon, --cron, --github, --container, --kubernetes, --systemd-worker, --systemd-serve, "
            "--kubernetes-workers), or give a URL and --force to replace the file"
        )
    else:
        ConfigFile.read(options.config).tables()  # for its errors
        text = options.config.read_text(encoding="utf-8-sig")
    kit = _build_kit(options, text)
    files = {options.config: text} if is_new else {}
    if options.indexnow_key:
        keys = [path / f"{options.indexnow_key}.txt" for path in kit.outputs]
        files |= {relative_path(path): options.indexnow_key for path in [*keys, *filter(None, map(source_of, keys))]}
    notes, steps = list(_notes(options, kit)), list[tuple[str, str]]()
    for name, (word, make) in SCHEDULERS.items():
        if name in options.chosen:
            make(options, kit, InitFiles(files, notes, steps), options.starts(word))
    preparation = list(install_steps(kit)) if options.has_account else []
    preparation += _secret_steps(kit) if options.is_unit else ()
    first_runs = list(first_run_steps(kit, options.config, by_account=options.has_account)) if is_new else []
    if not options.schedulers and (options.every or not kit.is_built):
        often = "" if options.every else " --every 1d"
        keep = f"siteatlas schedule --config {shlex.quote(str(options.config))}{often}"
        steps.append((keep, "keeps it up to date; or let init write files for another scheduler"))
    return InitFiles(files, notes, [*preparation, *first_runs, *steps])


def _notes(options: InitOptions, kit: InitKit) -> Iterator[str]:
    key = f"a copy of the key file {options.indexnow_key}.txt and " if options.indexnow_key else ""
    if outputs := [str(relative_path(path)) for path in kit.outputs if not source_of(path / "robots.txt")]:
        yield (
            f"if a generator or a deploy empties {names_text(outputs)}, each build deletes sitemap.xml: run "
            f"Siteatlas after each build, and put {key}a robots.txt with the line of the sitemap into the folder "
            "of static files of your site. siteatlas manual setups/built-sites shows how"
        )
    if kit.is_built and (options.schedulers or options.every):
        yield (
            "the runs read the last build: they neither build nor deploy. Let the scheduler run a script that does all "
            "that. siteatlas manual setups/built-sites shows its commands"
        )
    if kit.moment.note and options.schedulers:
        yield kit.moment.note
    if len(options.schedulers) > 1:
        *others, last = options.schedulers
        yield f"{', '.join(others)} and {last} do the same work: start only one of them"
    if options.has_account and (taken := [path for path in _foreign(kit) if _owner_id(path) not in {0, os.geteuid()}]):
        yield (
            f"{', '.join(map(str, taken))} belongs to another account, which may use it: choose another "
            f"state.directory for {kit.user}"
        )
    for folder, files in _closed_places(options, kit).items() if options.has_account else ():
        yield (
            f"the account {kit.user} cannot open {names_text(files)}, because {folder} is closed to other accounts. "
            f"Put {'it' if len(files) == 1 else 'them'} elsewhere, such as into a directory of /opt, and run init "
            "again with --force"
        )
    if {"github", "kubernetes", "kubernetes_workers"} & {*options.chosen} and (files := kit.secret_files()):
        yield f"{', '.join(files)} exists on this machine only: write this secret as env:NAME for GitHub and Kubernetes"


def _closed_places(options: InitOptions, kit: InitKit) -> dict[Path, list[str]]:
    """The directories that the account of a run may not enter, each with the files of the run that lie below it.

    systemd reads secrets as root, before it starts a unit.
    """
    secrets = () if options.is_unit else map(Path, (*kit.secret_files(), *kit.key_files()))
    closed: dict[Path, list[str]] = {}
    for file in dict.fromkeys((*kit.paths(), Path(sys.executable).resolve(), *secrets)):
        for folder in reversed(file.parents):
            with suppress(OSError):
                if not _may(kit.user, folder, stat.S_IXOTH):
                    closed.setdefault(folder, []).append(str(file))
                    break
    return closed


def write_files(files: dict[Path, str], *, replaces: bool) -> None:
    """Write all files, or none if one exists. Raises UsageError, StorageError."""
    existing = [str(path) for path in files if path.exists() or path.is_symlink()]
    if existing and not replaces:
        verb = "exists" if len(existing) == 1 else "exist"
        raise UsageError(
            f"{', '.join(existing)} already {verb}, so nothing was written. Add --force to replace existing files"
        )
    for path, text in files.items():
        try:
            make_directory(path.parent)
            if replaces and path.exists() and not is_planted(path):
                path.write_text(text, encoding="utf-8")  # the file keeps its mode and its owner
            else:
                with create_file(path) as file:
                    file.write(text.encode())
        except OSError as error:
            raise StorageError(str(destination_error(f"{path} cannot be written", error))) from None


def _config_text(options: InitOptions) -> str:
    urls = [parse_url_setting(url, "the URL", _KEEP_ALL_PARAMS) for url in dict.fromkeys(options.urls)]
    names = site_names(list(urls))
    output = options.output or Path("public")
    folders = [output] if len(urls) == 1 else [output / name for name in names]
    is_of_system = options.config.absolute().is_relative_to(_SYSTEM_DIRECTORY)
    sites = {
        name: (url, _relative_path(options.config, folder))
        for name, url, folder in zip(names, urls, folders, strict=True)
    }
    built = Path(os.path.normpath(Path.cwd() / output))
    is_built = len(urls) == 1 and (build := build_of(built)) is not None and build.folder == built
    return new_config(
        sites,
        file=str(options.config),
        state="/var/lib/siteatlas" if is_of_system else Config().state.directory,
        cron=(options.every or Interval.DAY).cron(*stable_time(urls[0])),
        is_scheduled=options.every is not None or bool({"systemd_daemon", "container"} & {*options.chosen}),
        indexnow_key=options.indexnow_key,
        is_built=is_built,
        has_git_dates=is_built and _has_git_dates(options),
    )


def _has_git_dates(options: InitOptions) -> bool:
    """Whether the runs can date the pages of a generator: Git shows a repository only to its owner."""
    is_owner = not options.has_account or (options.user or _current_user()) == account_name()
    if not is_owner or {"container", "kubernetes"} & {*options.chosen}:  # the image has no Git
        return False
    return dates_pages(ContentConfig(repository=str(options.config.absolute().parent)))


def _relative_path(config: Path, folder: Path) -> str:
    """A path for the configuration, whose paths are relative to its directory."""
    here = config.parent.resolve()
    if not folder.is_absolute() and here == Path.cwd():
        return str(folder)
    target = Path(os.path.normpath(Path.cwd() / folder))
    return str(target.relative_to(here)) if target.is_relative_to(here) else str(target)


def _build_kit(options: InitOptions, text: str) -> InitKit:
    """The values for the texts; checks the configuration as a run does."""
    file = Path(os.path.normpath(options.config.absolute()))  # the same from whichever directory
    source = str(options.config)
    sites, places, writes = {}, [], []
    for site in load_sites(ConfigFile(file, text)):
        name, config = site.name, site.config
        _keep_private(options.config, Path(config.output.directory))
        is_built = config.fetch.source == config.output.directory  # perhaps by a build that is still to come
        fetch = config.fetch.model_copy(update={"source": ""} if is_built else {})
        plan = plan_crawl(config.model_copy(update={"fetch": fetch}))
        site_name = name or host_of(plan.seed)
        sites[site_name] = config
        file_name = plan.sitemap_url.partition("?")[0].rpartition("/")[2]
        places.append(SitePaths(site_name, plan.output / file_name, plan.state))
        if "systemd_worker" in options.chosen and (store := config.fleet.state_store).startswith("file:///"):
            writes.append(Path(store.removeprefix("file://")))
        writes += [plan.output, Path(config.state.directory), Path(config.daemon.directory or config.state.directory)]
    check_distinct_paths(places, source)
    first = next(iter(sites.values()))
    return InitKit(
        config=file,
        text=text,
        sites=sites,
        writes=tuple(dict.fromkeys(Path(os.path.normpath(path)) for path in writes)),
        program=_program(),
        user=options.user or _current_user(),
        crontab=f"{_sudo_prefix()}crontab -u {shlex.quote(options.user)}" if options.user else "crontab",
        moment=timer_schedule((site_config.schedule for site_config in sites.values()), first.site.url),
    )


def _keep_private(config: Path, output: Path) -> None:
    if config.resolve().is_relative_to(output.resolve()):
        raise UsageError(
            f"the configuration ({config}) would be public, because it is inside the published directory "
            f"({output}). Choose another path with --config FILE"
        )


def _program() -> tuple[str, ...]:
    """The command line of this program, independent of PATH."""
    beside = Path(sys.executable).with_name("siteatlas")
    program = str(beside) if beside.exists() else shutil.which("siteatlas")
    return (program,) if program else (sys.executable, "-m", "crawler")


def _current_user() -> str:
    """The current account, but never root."""
    return pwd.getpwuid(os.getuid()).pw_name if os.getuid() else "siteatlas"


def _unit(
    suffix: str, text: Callable[[InitKit], str], more: str = ""
) -> Callable[[InitOptions, InitKit, InitFiles, str], None]:
    """What makes the systemd service with this suffix in its name; ``more`` replaces the meaning of its step."""

    def make(options: InitOptions, kit: InitKit, result: InitFiles, starts: str) -> None:
        unit = options.config.with_name(f"{kit.name}{suffix}.service")
        result.files[unit] = text(kit)
        result.steps.append(enable_step([unit], unit.name, more.format(starts) or starts))
        if suffix == "-schedule" and not any(config.schedule.is_timed for config in kit.sites.values()):
            result.notes.append(f"{options.config} has no [schedule] with cron or every: the daemon would run no site")

    return make


def _timer(options: InitOptions, kit: InitKit, result: InitFiles, starts: str) -> None:
    units = [options.config.with_name(f"{kit.name}.{kind}") for kind in ("service", "timer")]
    result.files.update(zip(units, (systemd.service_unit(kit), systemd.timer_unit(kit)), strict=True))
    result.steps.append(enable_step(units, f"{kit.name}.timer", starts))


def _cron(options: InitOptions, kit: InitKit, result: InitFiles, starts: str) -> None:
    file = options.config.with_name(f"{kit.name}.crontab")
    result.files[file] = crontab(kit)
    result.steps.append((install_command(kit, file), starts))


def _github(options: InitOptions, kit: InitKit, result: InitFiles, starts: str) -> None:
    folder = kit.config.parent
    root = next((directory for directory in (folder, *folder.parents) if (directory / ".git").exists()), folder)
    file = relative_path(root / github.WORKFLOW_FILE)
    result.files[file] = github.workflow(kit, root)
    files = shlex.join([*map(str, dict.fromkeys([options.config, *result.files])), WHEEL])
    build = shlex.join(["pip", "wheel", "-q", "--no-deps", "-w", str(relative_path(root)), installed_from()])
    result.steps.append((build, "builds the package that the workflow installs: no package index has it yet"))
    result.steps.append((f"git add {files} && git commit && git push", f"{starts}; the state is not committed"))


def _container(options: InitOptions, kit: InitKit, result: InitFiles, starts: str) -> None:
    file, folder = options.config.with_name("compose.yaml"), kit.config.parent
    result.files[file] = fill(
        "compose.yaml",
        what=kit.description,
        image=IMAGE,
        command=json.dumps(["schedule", "--config", f"/data/{kit.config.name}"]),
        stop=kit.stop_seconds,
        owner=f"{os.getuid()}:{os.getgid()}",
        names=kit.secret_names(),
    )
    result.steps.append((_build_image(), "builds the image"))
    result.steps.append((f"podman compose -f {shlex.quote(str(file))} up -d", f"{starts}; docker compose does so too"))
    outside = [str(path) for path in kit.writes if not path.is_relative_to(folder)]
    if outside := outside or kubernetes.unmounted_directories(split_sites(tomllib.loads(kit.text))):
        result.notes.append(
            f"the container sees {folder} alone, as /data, and not {', '.join(outside)}: write paths relative to "
            f"{options.config}"
        )


def _build_image() -> str:
    return shlex.join(["podman", "build", "-t", IMAGE, installed_from()])


def _apply_steps(file: Path, starts: str) -> Iterator[Step]:
    yield _build_image(), f"builds the image; push it to a registry of the cluster, and name it in {file}"
    yield f"kubectl apply -f {shlex.quote(str(file))}", starts


def _kubernetes(options: InitOptions, kit: InitKit, result: InitFiles, starts: str) -> None:
    file = options.config.with_name(f"{kit.name}.yaml")
    result.files[file] = kubernetes.cronjob(kit)
    result.steps.extend(_apply_steps(file, starts))
    if unmounted := kubernetes.unmounted_directories(split_sites(tomllib.loads(kit.text))):
        result.notes.append(
            f"{', '.join(unmounted)} is not on the volume of the CronJob, which is {kubernetes.DATA_DIRECTORY}: change "
            f"it in the ConfigMap of {file}"
        )


def _workers(options: InitOptions, kit: InitKit, result: InitFiles, starts: str) -> None:
    file = options.config.with_name(f"{kit.name}-workers.yaml")
    result.files[file] = kubernetes.workers(kit, file.name)
    result.steps.extend(_apply_steps(file, starts))
    if len(kit.text.encode()) > kubernetes.MAX_CONFIG_MAP:
        result.notes.append(
            f"{options.config} is too large for a ConfigMap: the workers need only its section [fleet], so remove the "
            f"sites from {file}, after you have run siteatlas fleet apply"
        )


SCHEDULERS: Final[dict[str, tuple[str, Callable[[InitOptions, InitKit, InitFiles, str], None]]]] = {
    "systemd": ("the timer", _timer),
    "systemd_daemon": ("the daemon", _unit("-schedule", systemd.daemon_unit)),
    "cron": ("cron", _cron),
    "github": ("the workflow", _github),
    "container": ("the container", _container),
    "kubernetes": ("the CronJob", _kubernetes),
    "systemd_worker": ("the fleet", _unit("-worker", systemd.worker_unit, "{}; repeat it on each machine")),
    "systemd_serve": ("the fleet", _unit("-serve", systemd.serve_unit, "serve the page and the metrics of the fleet")),
    "kubernetes_workers": ("the fleet", _workers),
}
"""The schedulers, in words, and what makes their files: with the meaning of the step that starts them."""


DIRECTORY_AGE: Final = timedelta(days=365)
"""The signature of the directory is valid for so long."""


def key_directory(path: Path | None, agent: str, say: Callable[[str], object]) -> str:
    """The response of the signature agent: header fields, an empty line, and the key directory.

    Creates the key in ``path`` if it does not exist, readable for its owner only. ``say`` gets what a person does next.
    Raises UsageError, StorageError.
    """
    if path is None or not agent:
        raise UsageError("--signing-key FILE and --signature-agent https://HOST work only together. Give both options")
    config = Config(fetch=FetchConfig(signing_key=str(path), signature_agent=agent))
    is_new = not path.exists()
    if is_new:
        _create(path, agent)
    signer = request_signer(config)
    if signer is None:
        raise AssertionError(path)  # both settings are set
    from crawler.fetch.signature import DIRECTORY_PATH  # noqa: PLC0415 - an extra

    lines = [f"{name}: {value}" for name, value in signer.directory_headers(DIRECTORY_AGE)]
    if is_new:
        say(f"created {path}, which must stay secret")
    until = datetime.fromtimestamp(time.time(), UTC) + DIRECTORY_AGE
    say(f"serve this as {signer.agent}{DIRECTORY_PATH}, and print it again before {until:%Y-%m-%d}")
    return "\n".join([*lines, "", signer.directory()])


def _create(path: Path, agent: str) -> None:
    try:
        from crawler.fetch.signature import RequestSigner, new_key  # noqa: PLC0415 - an extra

        pem = new_key()
        RequestSigner(pem, agent.rstrip("/"), time.time)  # no key is left behind if the agent cannot be
    except ModuleNotFoundError:
        return  # request_signer says what is missing
    except ValueError as error:
        raise UsageError(f"--signature-agent: {error}") from None
    try:
        with create_file(path, 0o600) as file:
            file.write(pem.encode())
    except OSError as error:
        raise StorageError(str(destination_error(f"{path} cannot be written", error))) from None
