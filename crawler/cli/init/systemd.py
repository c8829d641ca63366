"""Writes systemd units: a service with a timer, the daemon, a worker, or the page of a fleet; each has little access.

https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html
"""

import re
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from crawler.cli.init.kit import InitKit, fill, random_delay, systemd_calendar
from crawler.config.secrets import credential_name

_STATES: Final = Path("/var/lib")
_HOMES: Final = (Path("/home"), Path("/root"), Path("/run/user"))
_TMP: Final = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - nothing is written there
_PLAIN: Final = re.compile(r"[A-Za-z0-9_@+=:,./-]+").fullmatch


def service_unit(kit: InitKit) -> str:
    """The service of one run of all sites, for a timer."""
    return _unit(kit, "run.service", f"{kit.name}.service", kit.description)


def timer_unit(kit: InitKit) -> str:
    """The timer of that service. Raises UsageError for a schedule that systemd cannot express."""
    return fill(
        "run.timer",
        unit=f"{kit.name}.timer",
        what=_escaped(kit.description),
        note=kit.moment.note,
        calendar=systemd_calendar(kit.moment),
        delay=f"{kit.first_config.schedule.jitter or random_delay(kit.moment):.15g}",
    )


def daemon_unit(kit: InitKit) -> str:
    """The service of ``siteatlas schedule``."""
    return _unit(kit, "schedule.service", f"{kit.name}-schedule.service", f"{kit.description}, by a schedule")


def worker_unit(kit: InitKit) -> str:
    """The service of a worker of a fleet, ``siteatlas fleet worker``."""
    what = "Worker of a fleet of Siteatlas"
    return _unit(kit, "fleet.service", f"{kit.name}-worker.service", what, work="worker")


def serve_unit(kit: InitKit) -> str:
    """The service of the page and the metrics of a fleet, ``siteatlas fleet serve``. It writes nothing."""
    what = "Page and metrics of a fleet of Siteatlas"
    return _unit(replace(kit, writes=()), "fleet.service", f"{kit.name}-serve.service", what, work="serve")


def _unit(kit: InitKit, template: str, unit: str, what: str, work: str = "") -> str:
    states = [path for path in kit.writes if path.parent == _STATES]  # systemd creates these for the account
    others = [path for path in kit.writes if path.parent != _STATES]
    at_home = _first_below(kit, _HOMES)
    if not at_home and any(config.upload.to.startswith("sftp://") for config in kit.sites.values()):
        at_home = "~/.ssh"  # the keys and the known hosts of the account
    return fill(
        template,
        unit=unit,
        what=_escaped(what),
        command=" ".join(map(_argument, kit.program)),
        config=_argument(str(kit.config)),
        work=work,
        stop=kit.stop_seconds,
        writes=[
            *(f"StateDirectory={_quoted(path.name)}" for path in states),
            *(f"ReadWritePaths={_quoted(str(path))}" for path in others),
        ],
        user=kit.user,
        has_hook=any(config.hook.command for config in kit.sites.values()),
        at_home=at_home,
        in_tmp=_first_below(kit, _TMP),
        names=", ".join(kit.secret_names()),
        environment_file=_escaped(str(environment_file(kit))),
        files=[  # no quotes are allowed
            _escaped(f"{credential_name(file)}:{file}") for file in (*kit.secret_files(), *kit.key_files())
        ],
    )


def environment_file(kit: InitKit) -> Path:
    """The file of the secrets that the configuration names as env:NAME."""
    return kit.config.with_suffix(".env")


def _first_below(kit: InitKit, places: tuple[Path, ...]) -> str:
    """The first path below one of these directories, or ""."""
    paths = (str(path) for path in kit.paths() if any(path.is_relative_to(place) for place in places))
    return next(paths, "")


def _argument(text: str) -> str:
    """A word of a command line, with $ escaped."""
    return _quoted(text).replace("$", "$$")


def _quoted(text: str) -> str:
    """A word of a unit: https://www.freedesktop.org/software/systemd/man/latest/systemd.syntax.html#Quoting"""
    if _PLAIN(text):
        return _escaped(text)
    inner = _escaped(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{inner}"'


def _escaped(text: str) -> str:
    return text.replace("%", "%%")
