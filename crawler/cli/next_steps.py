"""What a person does by hand after ``siteatlas init``: commands, each with its meaning. Runs none of them."""

import os
import pwd
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from crawler.kits import systemd
from crawler.kits.kit import Kit

Step = tuple[str, str]


def first_run_steps(kit: Kit, config: Path, *, by_units: bool) -> Iterator[Step]:
    """The first runs of a new configuration, by the account of the units if there are any: files are made by it."""
    program = "siteatlas"
    if by_units and kit.user != _me():
        program = f"{_sudo(kit.user)}{shlex.join(kit.program)}"
    file = shlex.quote(str(config))
    where = "where it says" if len(kit.sites) > 1 else f"in {relative_path(kit.outputs[0])}"
    yield f"{program} run --config {file} --dry-run", "crawls, and tells what would be published"
    yield f"{program} run --config {file}", f"publishes it {where}"
    yield f"siteatlas robots --config {file}", "checks that search engines find it there"


def keep_config_step(config: Path) -> Step:
    """What keeps a site true when no other scheduler does."""
    return (
        f"siteatlas schedule --config {shlex.quote(str(config))} --every 1d",
        "keeps it true; or let init write what another scheduler wants",
    )


def install_steps(kit: Kit) -> Iterator[Step]:
    """What is to be there before units run: the account, directories that it may write in, and secrets."""
    number = _number(kit.user)
    user = shlex.quote(kit.user)
    if number is None:
        yield f"{_sudo()}useradd --system --shell /usr/sbin/nologin {user}", "makes the account that runs it"
    owners = {path: _owner(path) for path in kit.writes}
    there = [
        path for path, owner in owners.items() if owner not in (None, number) and path not in kit.outputs
    ]
    if new := [
        path for path, owner in owners.items() if owner is None or (owner != number and path not in there)
    ]:
        told = "makes the directories that it writes in"
        yield f"{_sudo()}{shlex.join(['install', '-d', '-o', kit.user, *map(str, new)])}", told
    if there:
        told = "gives it what another account left there"
        yield f"{_sudo()}{shlex.join(['chown', '-R', kit.user, *map(str, there)])}", told
    yield from _secrets(kit)


def _secrets(kit: Kit) -> Iterator[Step]:
    """The files that units want, without which systemd starts none, for root alone; those that are there stay."""
    environment, names = systemd.environment_file(kit), kit.secret_names()
    wanted = [(environment, ", ".join(f"{name}=…" for name in names))] if names else []
    wanted += [(Path(file), "the secret") for file in kit.secret_files()]
    for path, content in wanted:
        if not os.path.exists(path):  # noqa: PTH110 - it is False too for what we may not look at
            command = shlex.join(["install", "-m", "600", "/dev/null", str(path)])
            yield f"{_sudo()}{command}", f"then write {content} into it: units do not start without it"


def enable_step(units: Sequence[Path], name: str, meaning: str) -> Step:
    """Install units and start the one of this name."""
    files = shlex.join(map(str, units))
    return f"{_sudo()}cp {files} /etc/systemd/system/ && {_sudo()}systemctl enable --now {name}", meaning


def relative_path(path: Path) -> Path:
    """Relative to where we are, if it is there."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _owner(path: Path) -> int | None:
    """The number of the account that a directory belongs to; None when there is none, or we may not look."""
    try:
        return path.stat().st_uid
    except OSError:
        return None


def _number(user: str) -> int | None:
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        return None


def _me() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return ""


def _sudo(user: str = "") -> str:
    """What makes a command that of another account, by default of root."""
    if os.getuid():
        return f"sudo -u {shlex.quote(user)} " if user else "sudo "
    return f"runuser -u {shlex.quote(user)} -- " if user else ""
