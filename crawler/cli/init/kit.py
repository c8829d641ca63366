"""What a kit is made for: the sites of one configuration, where everything is, and when they are run."""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim
from msgspec import Struct

from crawler.config.config import Config
from crawler.config.sections import ScheduleConfig
from crawler.errors import UsageError
from crawler.schedule.cron import Cron, ScheduleError

_DAYS: Final = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")

_MINUTE, _TOKEN_SECONDS, _DAY = 60, 3_600, 86_400

_MINUTE_STEPS: Final = (
    1,
    2,
    3,
    4,
    5,
    6,
    10,
    12,
    15,
    20,
    30,
)  # minutes, and below hours, that divide it evenly

_HOUR_STEPS: Final = (1, 2, 3, 4, 6, 8, 12)

_EVERY: Final = {"minutes": range(60), "hours": range(24), "days": range(1, 32), "months": range(1, 13)}


class TimerSchedule(Struct, frozen=True):
    """A cron expression and its time zone, "" for the machine's own. ``note`` says what it does not hold."""

    cron: str
    zone: str = ""
    note: str = ""


def timer_schedule(schedules: Iterable[ScheduleConfig], url: str) -> TimerSchedule:
    """When a scheduler runs sites that it runs all at once: as they are configured, if that is the same for all.

    Without a schedule it is once a day, early in the morning, at a minute that follows from ``url``, so that not all
    sites of the world are crawled at the same time. Raises UsageError for an expression that is none.
    """
    found = {(each.cron, each.every, each.timezone) for each in schedules if each.is_timed}
    if len(found) > 1:
        told = (
            "the sites have schedules of their own, which only siteatlas schedule follows: here all run daily"
        )
        return TimerSchedule(_daily(url), note=told)
    for cron, every, timezone in found:
        zone = "" if timezone == "local" else timezone
        if not cron:
            return _interval(every or _DAY, url)
        _checked(cron)
        return TimerSchedule(cron, zone)
    return TimerSchedule(_daily(url))


def systemd_calendar(when: TimerSchedule) -> list[str]:
    """The expressions of systemd.time(7) for a moment, all of which are to be given: cron's days are "or".

    Raises UsageError for what systemd has no words for.
    """
    sim = _checked(when.cron)
    if any(isinstance(day, tuple) for day in sim.weekdays):
        raise UsageError(
            f'the cron expression "{when.cron}" names the nth weekday of a month, for which systemd has no words: use '
            f"--systemd-daemon"
        )
    weekdays = sorted({day % 7 for day in sim.weekdays if isinstance(day, int)})
    names = "" if len(weekdays) == 7 else ",".join(_DAYS[day] for day in weekdays) + " "
    time = f"{_field(sim.hours, 'hours')}:{_field(sim.minutes, 'minutes')}:00{when.zone and ' '}{when.zone}"
    months = _field(sim.months, "months")
    fixed = sorted(day for day in sim.days if day > 0)
    dates = [f"*-{months}-{_field(fixed, 'days')}"] if fixed else []
    if sim.LAST in sim.days:
        dates.append(f"*-{months}~01")
    if names and dates != [f"*-{months}-*"] and not sim.day_and:
        return [f"{date} {time}" for date in dates] + [f"{names}*-{months}-* {time}"]
    return [f"{names}{date} {time}" for date in dates]


def _checked(cron: str) -> CronSim:
    try:
        Cron.of(cron, ZoneInfo("UTC"))
    except ScheduleError as error:
        raise UsageError(f'schedule.cron "{cron}" cannot be used: {error}') from None
    return CronSim(cron, datetime(2026, 1, 1, tzinfo=UTC))


def _field(values: Iterable[int], name: str) -> str:
    wanted = sorted(values)
    return "*" if wanted == list(_EVERY[name]) else ",".join(f"{value:02}" for value in wanted)


def _daily(url: str) -> str:
    minute, hour = _stable_time(url)
    return f"{minute} {hour} * * *"


def _interval(seconds: float, url: str) -> TimerSchedule:
    """The longest time between runs that cron can say and that is not longer than this one."""
    minute, hour = _stable_time(url)
    if seconds >= 7 * _DAY:
        said, cron = 7 * _DAY, f"{minute} {hour} * * {minute % 7}"
    elif seconds >= _DAY:
        said, cron = _DAY, f"{minute} {hour} * * *"
    elif seconds >= _TOKEN_SECONDS:
        each = max(n for n in _HOUR_STEPS if n * _TOKEN_SECONDS <= seconds)
        said, cron = each * _TOKEN_SECONDS, f"{minute} */{each} * * *" if each > 1 else f"{minute} * * * *"
    else:
        each = max((n for n in _MINUTE_STEPS if n * _MINUTE <= seconds), default=1)
        said, cron = each * _MINUTE, f"*/{each} * * * *" if each > 1 else "* * * * *"
    told = f"cron cannot say every {seconds:g} seconds; this is every {said}" if said != seconds else ""
    return TimerSchedule(cron, note=told)


def _stable_time(url: str) -> tuple[int, int]:
    """A minute, and an hour from 1 to 5, which are always the same for one URL."""
    number = int.from_bytes(hashlib.blake2b(url.encode(), digest_size=4).digest())
    return number % 60, 1 + number // 60 % 5


_ENV: Final = "env:"

_FILE: Final = "file:"

_EXTRA_BY_SCHEME: Final = {"s3://": "s3", "sftp://": "sftp"}


class InitKit(Struct, frozen=True, kw_only=True):
    """The values that go into the texts. All paths are absolute.

    ``sites`` are the configurations of the sites by name, as they are in effect; ``text`` is the configuration as it
    stands in its file. ``program`` is the command line up to the first argument of siteatlas, ``user`` the account that
    it runs as, ``version`` that of siteatlas. ``writes`` are the directories that a run writes in.
    """

    config: Path
    text: str
    sites: dict[str, Config]
    writes: tuple[Path, ...]
    program: tuple[str, ...]
    user: str
    moment: TimerSchedule
    version: str

    @property
    def name(self) -> str:
        """What units, jobs and files are called: after the file of the configuration."""
        stem = re.sub("[^a-z0-9]+", "-", self.config.stem.lower()).strip("-")
        return stem if stem.startswith("siteatlas") else f"siteatlas-{stem}".rstrip("-")

    @property
    def urls(self) -> list[str]:
        """The start URLs."""
        return [config.site.url for config in self.sites.values()]

    @property
    def description(self) -> str:
        """What is kept, in a few words."""
        return (
            f"Sitemap of {self.urls[0]}" if len(self.sites) == 1 else f"Sitemaps of {len(self.sites)} sites"
        )

    @property
    def first_config(self) -> Config:
        """The configuration of the first site: what all share is the same in each."""
        return next(iter(self.sites.values()))

    @property
    def outputs(self) -> list[Path]:
        """The directories that are published."""
        return [Path(os.path.normpath(config.output.directory)) for config in self.sites.values()]

    @property
    def package(self) -> str:
        """What pip is told to install: this release or a later one like it, with the extras that the sites need."""
        extras = {extra for config in self.sites.values() for extra in _extras(config)}
        wanted = f"[{','.join(sorted(extras))}]" if extras else ""
        return f"siteatlas{wanted}~={self.version}"

    def secret_names(self) -> list[str]:
        """The environment variables that the configuration names for secrets."""
        return self._named(_ENV)

    def secret_files(self) -> list[str]:
        """The files that it names for secrets."""
        accounts = (config.search_console.account for config in self.sites.values())
        plain = (account for account in accounts if account and not account.startswith((_ENV, _FILE)))
        return list(dict.fromkeys((*self._named(_FILE), *plain)))

    def _named(self, kind: str) -> list[str]:
        texts = (text for config in self.sites.values() for text in _texts(config.model_dump()))
        return list(dict.fromkeys(text.removeprefix(kind) for text in texts if text.startswith(kind)))

    def paths(self) -> Iterator[Path]:
        """All that a run reads or writes."""
        yield self.config
        yield Path(self.program[0])
        yield from self.writes
        for config in self.sites.values():
            yield from (
                Path(text) for text in (config.fetch.source, config.upload.sftp_key) if text.startswith("/")
            )


def _extras(config: Config) -> Iterator[str]:
    yield from (extra for scheme, extra in _EXTRA_BY_SCHEME.items() if config.upload.to.startswith(scheme))
    if config.search_console.account:
        yield "google"
    if config.fetch.http2:
        yield "http2"


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
