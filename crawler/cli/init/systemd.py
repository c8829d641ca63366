"""Writes systemd units: a service with a timer, the daemon, a worker, or the page of a fleet; each has little access.

https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html
"""

import re
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from crawler.cli.init.kit import InitKit, systemd_calendar
from crawler.config.secrets import credential_name

_UNITS: Final = "/etc/systemd/system"
_STATES: Final = Path("/var/lib")
_HOMES: Final = (Path("/home"), Path("/root"), Path("/run/user"))
_TMP: Final = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - nothing is written there
_AFTER_STOP: Final = 30  # seconds for the daemon after its runs have stopped
_WATCHDOG: Final = 120  # seconds
_PLAIN: Final = re.compile(r"[A-Za-z0-9_@+=:,./-]+").fullmatch

_UNIT: Final = """\
# {path}, {made}
[Unit]
Description={what}
Wants=network-online.target
After=network-online.target
"""
_ONESHOT: Final = """
[Service]
Type=oneshot
ExecStart={command} run --config {config} --quiet
# Exit code 4 is a run that was cut short; the next one continues it.
SuccessExitStatus=4
# Time to save the state when the run is stopped.
TimeoutStopSec=60
"""
_DAEMON: Final = """\
StartLimitIntervalSec=600
StartLimitBurst=5

[Service]
Type=notify
ExecStart={command} schedule --config {config}
ExecReload=/bin/kill -HUP $MAINPID
WatchdogSec={watchdog}
# systemd stops the daemon, which lets its runs save their state, and then kills the remaining processes.
KillMode=mixed
TimeoutStopSec={stop}
Restart=on-failure
RestartSec=10
# Exit code 2 is a faulty configuration: a restart does not help.
RestartPreventExitStatus=2
"""
_FLEET: Final = """\
# It starts again until PostgreSQL is available, however long that takes.
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart={command} fleet {work} --config {config}
{stop}Restart=always
RestartSec=10
# Exit code 2 is a faulty configuration: a restart does not help.
RestartPreventExitStatus=2
"""
_STOP_WORKER: Final = """\
# systemd stops the worker, which lets its runs save their state; other workers continue them.
KillMode=mixed
TimeoutStopSec={seconds}
"""
_MORE_SECRETS: Final = """
# Lines such as NAME=value, for secrets that the sites of the fleet name as env:NAME, if there are any.
EnvironmentFile=-{file}
"""
_HARDENED: Final = """
# It may write here, and read what the account {user} may read.{hook}
{writes}
User={user}
UMask=0022
ProtectSystem=strict
{home}
{tmp}
PrivateDevices=yes
PrivateIPC=yes
ProtectProc=invisible
ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
LockPersonality=yes
MemoryDenyWriteExecute=yes
RemoveIPC=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged
SystemCallFilter=@chown capset landlock_create_ruleset landlock_add_rule landlock_restrict_self
SystemCallErrorNumber=EPERM
"""
_TIMER: Final = """\
# {path}, {made}
[Unit]
Description={what}: when

[Timer]
{calendar}
# A random delay, so that not all machines crawl at the same second.
RandomizedDelaySec={delay:g}
# After a boot, a missed run starts at once.
Persistent=yes

[Install]
WantedBy=timers.target
"""
_INSTALL: Final = "\n[Install]\nWantedBy=multi-user.target\n"
_HOOK: Final = "\n# The same applies to the command of [hook]: add ReadWritePaths that it needs."
MADE_BY_NOTE: Final = 'written by "siteatlas init"'


def service_unit(kit: InitKit) -> str:
    """The service of one run of all sites, for a timer."""
    head = _UNIT.format(path=f"{_UNITS}/{kit.name}.service", what=_escaped(kit.description), made=MADE_BY_NOTE)
    run = _ONESHOT.format(command=_command(kit.program), config=_argument(str(kit.config)))
    return "".join((head, run, _secrets(kit), _hardened(kit)))


def timer_unit(kit: InitKit) -> str:
    """The timer of that service. Raises UsageError for a schedule that systemd cannot express."""
    note = f"# {kit.moment.note}\n" if kit.moment.note else ""
    return _TIMER.format(
        path=f"{_UNITS}/{kit.name}.timer",
        what=_escaped(kit.description),
        made=MADE_BY_NOTE,
        calendar=note + "\n".join(f"OnCalendar={expression}" for expression in systemd_calendar(kit.moment)),
        delay=kit.first_config.schedule.jitter or 600,
    )


def daemon_unit(kit: InitKit) -> str:
    """The service of ``siteatlas schedule``."""
    head = _UNIT.format(
        path=f"{_UNITS}/{kit.name}-schedule.service",
        what=f"{_escaped(kit.description)}, by a schedule",
        made=MADE_BY_NOTE,
    )
    keep = _DAEMON.format(
        command=_command(kit.program),
        config=_argument(str(kit.config)),
        watchdog=_WATCHDOG,
        stop=round(kit.first_config.daemon.shutdown_timeout) + _AFTER_STOP,
    )
    return "".join((head, keep, _secrets(kit), _hardened(kit), _INSTALL))


def worker_unit(kit: InitKit) -> str:
    """The service of a worker of a fleet, ``siteatlas fleet worker``."""
    stop = _STOP_WORKER.format(seconds=round(kit.first_config.daemon.shutdown_timeout) + _AFTER_STOP)
    # the sites come from the database, and with them names of secrets that this configuration may not have
    secrets = _secrets(kit)
    if "EnvironmentFile=" not in secrets:
        secrets += _MORE_SECRETS.format(file=_escaped(str(environment_file(kit))))
    return "".join((_fleet_unit(kit, "worker", "Worker", stop), secrets, _hardened(kit), _INSTALL))


def serve_unit(kit: InitKit) -> str:
    """The service of the page and the metrics of a fleet, ``siteatlas fleet serve``. It writes nothing."""
    unit = _fleet_unit(kit, "serve", "Page and metrics", "")
    return "".join((unit, _secrets(kit), _hardened(replace(kit, writes=())), _INSTALL))


def _fleet_unit(kit: InitKit, kind: str, what: str, stop: str) -> str:
    head = _UNIT.format(
        path=f"{_UNITS}/{kit.name}-{kind}.service", what=f"{what} of a fleet of Siteatlas", made=MADE_BY_NOTE
    )
    words = {"command": _command(kit.program), "config": _argument(str(kit.config))}
    return head + _FLEET.format(work=kind, stop=stop, **words)


def environment_file(kit: InitKit) -> Path:
    """The file of the secrets that the configuration names as env:NAME."""
    return kit.config.with_suffix(".env")


def _hardened(kit: InitKit) -> str:
    states = [path for path in kit.writes if path.parent == _STATES]  # systemd creates these for the account
    others = [path for path in kit.writes if path.parent != _STATES]
    lines = [f"StateDirectory={_quoted(path.name)}" for path in states]
    lines += [f"ReadWritePaths={_quoted(str(path))}" for path in others]
    at_home, in_tmp = _first_below(kit, _HOMES), _first_below(kit, _TMP)
    if not at_home and any(config.upload.to.startswith("sftp://") for config in kit.sites.values()):
        at_home = "~/.ssh"  # the keys and the known hosts of the account
    return _HARDENED.format(
        writes="\n".join(lines),
        user=kit.user,
        hook=_HOOK if any(config.hook.command for config in kit.sites.values()) else "",
        home=f"# It needs {at_home}.\nProtectHome=read-only" if at_home else "ProtectHome=yes",
        tmp=f"# It needs {in_tmp}, which a private /tmp would hide.\nPrivateTmp=no" if in_tmp else "PrivateTmp=yes",
    )


def _first_below(kit: InitKit, places: tuple[Path, ...]) -> str:
    """The first path below one of these directories, or ""."""
    paths = (str(path) for path in kit.paths() if any(path.is_relative_to(place) for place in places))
    return next(paths, "")


def _secrets(kit: InitKit) -> str:
    """The lines that pass secrets to the service. systemd allows no quotes in them."""
    lines = []
    if kit.secret_names():
        names = ", ".join(kit.secret_names())
        lines.append(f"# Lines such as NAME=value, for {names}; for root to read only.")
        lines.append(f"EnvironmentFile={_escaped(str(environment_file(kit)))}")
    if files := kit.secret_files():
        lines.append("# Secrets that only root and this service can read; siteatlas looks for them there first.")
        lines += [f"LoadCredential={_escaped(f'{credential_name(file)}:{file}')}" for file in files]
    return "".join(f"{line}\n" for line in ("", *lines)) if lines else ""


def _command(program: tuple[str, ...]) -> str:
    return " ".join(map(_argument, program))


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
