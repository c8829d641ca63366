"""How all sites of a schedule stand: as its daemon knows it, or as its history tells."""

import math
from collections.abc import Iterable
from pathlib import Path

from crawler.agenda import Agenda
from crawler.attempt import Because
from crawler.board import Board, SiteBoard
from crawler.history.look import Look
from crawler.scheduling.scheduled import Scheduled
from crawler.standing import Asked, Entry
from crawler.version import __version__


def asked(site: Scheduled) -> Asked:
    """What the agenda is told of a site."""
    return Asked(site.name, site.timetable, site.config.schedule)


def take_up(agenda: Agenda, site: Scheduled, history: Look, now: float, *, is_alive: bool = False) -> None:
    """Have the agenda know a site as its history tells; ``is_alive`` is the daemon. Raises StorageError."""
    handled, attempts = history.handled(site.name), history.since_done(site.name)
    agenda.add(asked(site), handled, attempts, now, is_alive=is_alive)


def standing(sites: Iterable[Scheduled], agenda: Agenda, now: float) -> tuple[SiteBoard, ...]:
    """How each site stands."""
    return tuple(_site(site, agenda[site.name], now) for site in sites)


def remembered(sites: Iterable[Scheduled], directory: Path, now: float) -> Board:
    """How all sites stand by the history in a directory: for whoever is not the daemon.

    ``next_at`` is then when the next run would begin if there were a daemon. Raises StorageError, UsageError.
    """
    agenda = Agenda(0)
    sites = list(sites)
    with Look(directory) as look:
        is_alive = bool(look.holder())
        for site in sites:
            take_up(agenda, site, look, now, is_alive=is_alive)
    return Board(version=__version__, now=now, sites=standing(sites, agenda, now), is_alive=is_alive)


def _site(site: Scheduled, entry: Entry, now: float) -> SiteBoard:
    running = entry.running
    next_at = max(entry.run_at, now)
    return SiteBoard(
        name=site.name,
        url=site.url,
        sitemap_url=site.sitemap_url,
        state=site.state,
        output=site.output,
        report=site.report,
        recent=site.recent,
        timetable=site.timetable.words() if site.timetable else "",
        next_at=next_at if math.isfinite(next_at) else None,
        running_since=running.began if running and running.because is not Because.TELL else None,
        failures=entry.failures,
        last=entry.last,
        audit_every=site.config.audit.every,
    )
