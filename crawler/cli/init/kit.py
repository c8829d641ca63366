"""The values of the files for schedulers: the sites of a configuration, their paths, the times of runs; a crontab."""

import hashlib
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice, pairwise
from pathlib import Path
from typing import Final

from cronsim import CronSim
from msgspec import Struct

from crawler.cli.init.interval import Interval
from crawler.config.config import Config
from crawler.config.cron import exact_duration
from crawler.config.sections import ScheduleConfig
from crawler.errors import UsageError

_DAYS: Final = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_MOST_DELAY: Final = 600  # seconds
_MOST_IN_HOUR: Final = 60  # starts of a cron line: all intervals in an hour are among so many and the next
_MINUTE_STEPS: Final = tuple(n for n in range(1, 31) if 60 % n == 0)  # they divide an hour evenly
_HOUR_STEPS: Final = tuple(n for n in range(1, 13) if 24 % n == 0)
_EVERY: Final = {"minutes": range(60), "hours": range(24), "days": range(1, 32), "months": range(1, 13)}


class TimerSchedule(Struct, frozen=True):
    """A cron expression and its time zone, "" for the machine's own. ``note`` says how it differs from the settings."""

    cron: str
    zone: str = ""
    note: str = ""


def timer_schedule(schedules: Iterable[ScheduleConfig], url: str) -> TimerSchedule:
    """The schedule of a scheduler that runs all sites at once: the configured one, if all sites share it.

    Without one it is once a day, early in the morning, at a minute derived from ``url``, so that not all sites are
    crawled at the same time.
    """
    times = {(schedule.cron, schedule.every, schedule.timezone) for schedule in schedules if schedule.is_timed}
    if len(times) > 1:
        note = "the sites have different schedules, which only siteatlas schedule supports: here all run daily"
        return TimerSchedule(_daily(url), note=note)
    for cron, every, timezone in times:
        zone = "" if timezone == "local" else timezone
        if not cron:
            return _interval(every or _DAY, url)
        return TimerSchedule(cron, zone)
    return TimerSchedule(_daily(url))


def systemd_calendar(schedule: TimerSchedule) -> list[str]:
    """The expressions of systemd.time(7) for a schedule; a timer needs all of them, since cron's days are "or".

    Raises UsageError for a schedule that systemd cannot express.
    """
    sim = CronSim(schedule.cron, datetime(2026, 1, 1, tzinfo=UTC))
    if any(isinstance(day, tuple) for day in sim.weekdays):
        raise UsageError(
            f'the cron expression "{schedule.cron}" names the nth weekday of a month, which a systemd timer '
            "cannot express. "
            f"Use --systemd-daemon instead of --systemd"
        )
    weekdays = sorted({day % 7 for day in sim.weekdays if isinstance(day, int)})
    names = "" if len(weekdays) == 7 else ",".join(_DAYS[day] for day in weekdays) + " "
    time = f"{_field(sim.hours, 'hours')}:{_field(sim.minutes, 'minutes')}:00{schedule.zone and ' '}{schedule.zone}"
    months = _field(sim.months, "months")
    fixed = sorted(day for day in sim.days if day > 0)
    dates = [f"*-{months}-{_field(fixed, 'days')}"] if fixed else []
    if sim.LAST in sim.days:
        dates.append(f"*-{months}~01")
    if names and dates != [f"*-{months}-*"] and not sim.day_and:
        return [f"{date} {time}" for date in dates] + [f"{names}*-{months}-* {time}"]
    return [f"{names}{date} {time}" for date in dates]


def random_delay(schedule: TimerSchedule) -> float:
    """Seconds by which a timer may start later, at most half its shortest interval: not all machines crawl at once."""
    moments = islice(CronSim(schedule.cron, datetime(2026, 1, 1, tzinfo=UTC)), _MOST_IN_HOUR + 1)
    return min(_MOST_DELAY, *((later - moment).total_seconds() / 2 for moment, later in pairwise(moments)))


def _field(values: Iterable[int], name: str) -> str:
    ordered = sorted(values)
    return "*" if ordered == list(_EVERY[name]) else ",".join(f"{value:02}" for value in ordered)


def _daily(url: str) -> str:
    return Interval.DAY.cron(*stable_time(url))


def _interval(seconds: float, url: str) -> TimerSchedule:
    """The longest interval that cron can express and that is not longer than this one."""
    hour, minute = stable_time(url)
    if seconds >= 7 * _DAY:
        interval, cron = 7 * _DAY, Interval.WEEK.cron(hour, minute)
    elif seconds >= _DAY:
        interval, cron = _DAY, _daily(url)
    elif seconds >= _HOUR:
        step = max(n for n in _HOUR_STEPS if n * _HOUR <= seconds)
        interval, cron = step * _HOUR, f"{minute} */{step} * * *" if step > 1 else f"{minute} * * * *"
    else:
        step = max((n for n in _MINUTE_STEPS if n * _MINUTE <= seconds), default=1)
        interval, cron = step * _MINUTE, f"*/{step} * * * *" if step > 1 else "* * * * *"
    wanted, given = exact_duration(seconds), exact_duration(interval)
    note = "" if given == wanted else f"no calendar has an interval of {wanted}, so this schedule runs every {given}"
    return TimerSchedule(cron, note=note)


def stable_time(url: str) -> tuple[int, int]:
    """An hour from 1 to 5, and a minute, derived from a URL."""
    number = int.from_bytes(hashlib.blake2b(url.encode(), digest_size=4).digest())
    return 1 + number // 60 % 5, number % 60


_AFTER_STOP: Final = 30  # seconds for the process after its runs have stopped
_ENV: Final = "env:"
_FILE: Final = "file:"
_EXTRA_BY_SCHEME: Final = {"s3://": "s3", "sftp://": "sftp"}


class InitKit(Struct, frozen=True, kw_only=True):
    """The values for the files. All paths are absolute.

    ``sites`` are the effective configurations by name; ``text`` is the text of the configuration file. ``program`` is
    the command line up to the first argument of siteatlas, ``user`` the account that runs it, ``crontab`` the command
    for the crontab of that account. ``writes`` are the directories that a run writes to.
    """

    config: Path
    text: str
    sites: dict[str, Config]
    writes: tuple[Path, ...]
    program: tuple[str, ...]
    user: str
    crontab: str = "crontab"
    moment: TimerSchedule

    @property
    def name(self) -> str:
        """The name of units, jobs and files, from that of the configuration file."""
        stem = re.sub("[^a-z0-9]+", "-", self.config.stem.lower()).strip("-")
        return stem if stem.startswith("siteatlas") else f"siteatlas-{stem}".rstrip("-")

    @property
    def urls(self) -> list[str]:
        """The start URLs."""
        return [config.site.url for config in self.sites.values()]

    @property
    def description(self) -> str:
        """A description of the sitemaps, in a few words."""
        return f"Sitemap of {self.urls[0]}" if len(self.sites) == 1 else f"Sitemaps of {len(self.sites)} sites"

    @property
    def first_config(self) -> Config:
        """The configuration of the first site; shared settings are the same in each."""
        return next(iter(self.sites.values()))

    @property
    def outputs(self) -> list[Path]:
        """The directories that are published."""
        return [Path(os.path.normpath(config.output.directory)) for config in self.sites.values()]

    @property
    def is_built(self) -> bool:
        """Whether a run reads the pages of a site in the directory that is published, after a build."""
        return any(config.fetch.source == config.output.directory for config in self.sites.values())

    @property
    def stop_seconds(self) -> int:
        """Seconds in which a process that is stopped saves the state of its runs."""
        return round(self.first_config.daemon.shutdown_timeout) + _AFTER_STOP

    def extras(self) -> set[str]:
        """The extras that the sites need."""
        return {extra for config in self.sites.values() for extra in _extras(config)}

    def secret_names(self) -> list[str]:
        """The environment variables that the configuration names for secrets."""
        return self._named(_ENV)

    def secret_files(self) -> list[str]:
        """The files that the configuration names for secrets."""
        accounts = (account for config in self.sites.values() for account in _google_accounts(config))
        plain = (account for account in accounts if account and not account.startswith((_ENV, _FILE)))
        return _normal((*self._named(_FILE), *plain))

    def key_files(self) -> list[str]:
        """The files of private keys that the configuration names, but for those in the home of the account."""
        keys = (key for config in self.sites.values() for key in (config.upload.sftp_key, config.fetch.signing_key))
        return _normal(key for key in keys if key.startswith("/"))

    def _named(self, kind: str) -> list[str]:
        texts = (text for config in self.sites.values() for text in _texts(config.model_dump()))
        return list(dict.fromkeys(text.removeprefix(kind) for text in texts if text.startswith(kind)))

    def paths(self) -> Iterator[Path]:
        """All paths that a run reads or writes, but for those of secrets."""
        yield self.config
        yield Path(self.program[0])
        yield from self.writes
        for config in self.sites.values():
            if config.fetch.source.startswith("/"):
                yield Path(config.fetch.source)


def _extras(config: Config) -> Iterator[str]:
    if config.fleet.state_store.startswith("s3://"):
        yield "s3"
    yield from (extra for scheme, extra in _EXTRA_BY_SCHEME.items() if config.upload.to.startswith(scheme))
    if any(_google_accounts(config)):
        yield "google"
    if config.fetch.http2:
        yield "http2"


def _normal(files: Iterable[str]) -> list[str]:
    """Each path once, without "..", which systemd refuses."""
    return list(dict.fromkeys(map(os.path.normpath, files)))


def _google_accounts(config: Config) -> tuple[str, str]:
    """The settings that name key files of Google; "" for none."""
    return config.search_console.account, config.audit.google_credentials


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def fill(template: str, **values: object) -> str:
    """The text of a template, a file in the directory ``templates``."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - only this command needs it

    environment = Environment(
        loader=PackageLoader("crawler.cli.init"),
        variable_start_string="[[",  # workflows of GitHub have expressions in braces
        variable_end_string="]]",
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - no template is HTML
    )
    return environment.get_template(template).render(values)


def crontab(kit: InitKit) -> str:
    """The lines of the crontab, with a comment that says how to install them."""
    notes = [kit.moment.note] if kit.moment.note else []
    if kit.moment.zone:
        notes.append(f"The configuration uses {kit.moment.zone}; cron uses the time zone of this machine.")
    if kit.secret_names():
        notes.append(f"The configuration reads secrets from the environment: set {', '.join(kit.secret_names())} here.")
    # Exit code 4 is a run that was cut short; the next one continues it. cron mails output, not exit codes.
    command = shlex.join((*kit.program, "run", "--config", str(kit.config), "--quiet"))
    return fill(
        "crontab",
        what=kit.description,
        config=kit.config,
        install=install_command(kit, Path(f"{kit.name}.crontab")),
        notes=notes,
        cron=kit.moment.cron,
        command=command.replace("%", r"\%"),
    )


def install_command(kit: InitKit, file: Path) -> str:
    """The idempotent command that adds the lines of a file to the crontab, in place of those of its configuration."""
    begin, end = (rf"\|^# {re.escape(str(kit.config))}: {border}$|" for border in ("begin", "end"))
    rest = f"{kit.crontab} -l | sed {shlex.quote(f'{begin},{end}d')}"
    return f"({rest}; cat {shlex.quote(str(file))}) | {kit.crontab} -"
