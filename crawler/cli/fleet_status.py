"""Shows the status of a fleet, as text and as JSON values."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from crawler.audit.report.layout import output_width
from crawler.cli.fleet_run import fleet_config, with_fleet
from crawler.cli.text_tables import TableColumn, table_lines
from crawler.errors import UsageError
from crawler.fleet.status import FILTERS, FleetSiteStatus, FleetStatus, WorkerStatus, fleet_status
from crawler.fleet.worker import database_url
from crawler.schedule.site_state import Attempt
from crawler.schedule.wording import attempt_text, duration_text, long_local_time, time_ahead, zones
from crawler.units import count_text
from sitemap import safe


def read_status(
    names: Sequence[str], runs: int, file: Path | None, flags: Mapping[str, Any], only: str = "", limit: int = 50
) -> FleetStatus:
    """The status of the fleet, with these sites in full, and those in the state ``only``, at most ``limit``.

    Raises UsageError for an unknown site or state, StorageError.
    """
    if only and only not in FILTERS:
        raise UsageError(f'--only takes {", ".join(FILTERS)}, not "{only}"')
    url = database_url(fleet_config(file, flags).fleet)
    found = with_fleet(url, lambda fleet: fleet_status(fleet, names, runs, only=only, limit=limit))
    if unknown := sorted({*names} - {site.name for site in found.shown}):
        raise UsageError(f"the fleet has no site {', '.join(unknown)}")
    return found


def status_values(status: FleetStatus) -> dict[str, Any]:
    """The status as JSON values; times are Unix times, durations in seconds."""
    values: dict[str, Any] = msgspec.to_builtins(status)
    return values


def status_text(status: FleetStatus) -> str:
    """The status for a person."""
    return "\n".join(line.rstrip() for line in _lines(status, output_width(sys.stdout)))


def _lines(status: FleetStatus, width: int) -> Iterator[str]:
    parts = [("running", status.running), ("waiting in the queue", status.queued), ("due", status.due)]
    parts += [("failing", status.failing), ("paused", status.paused), ("retired", status.retired)]
    if status.lost:
        parts.append(("of a worker that no longer responds", status.lost))
    states = ", ".join(f"{number:,} {text}" for text, number in parts if number)
    yield f"{count_text(status.sites, 'site')}: {states or 'none is due or running'}"
    if status.late:
        yield f"{count_text(status.late, 'site')} late, the first for {duration_text(status.lateness)}"
    if status.unsure:
        yield ""
        yield from _unsure(status, width)
    yield ""
    yield from _workers(status.workers, width)
    for site in status.shown:
        yield ""
        yield _site(site)
    if status.last:
        yield ""
        yield from _runs(status.last, width)


def _unsure(status: FleetStatus, width: int) -> Iterator[str]:
    number = count_text(status.unsure_notifications, "notification")
    yield f"{number} of the last week may not have been sent, because a worker failed meanwhile:"
    zone = zones(notice.at for notice in status.unsure)
    columns = [TableColumn(f"at ({zone})", is_text=True), TableColumn("site", is_text=True, shrinks=True)]
    columns.append(TableColumn("notification", is_text=True, shrinks=True))
    rows = [(long_local_time(each.at), each.site, safe(each.what or "unknown")) for each in status.unsure]
    yield from table_lines(columns, rows, width)


def _workers(workers: Sequence[WorkerStatus], width: int) -> Iterator[str]:
    if not workers:
        yield "no worker: start one with siteatlas fleet worker"
        return
    columns = [TableColumn("worker", is_text=True, shrinks=True), TableColumn("host", 1, is_text=True, shrinks=True)]
    columns += [TableColumn("version", 2), TableColumn("runs"), TableColumn("seen", 3)]
    rows = [(each.id, each.host, each.version, f"{each.running} of {each.slots}", _seen(each)) for each in workers]
    yield from table_lines(columns, rows, width)


def _seen(worker: WorkerStatus) -> str:
    text = f"{duration_text(worker.silent) or '0 s'} ago"
    return f"{text}, draining" if worker.draining else text


def _site(site: FleetSiteStatus) -> str:
    state = "retired" if site.retired else "paused" if site.paused else "running" if site.running else "waiting"
    where = f" on {site.worker}" if site.worker else ""
    next_at = f"; next run {time_ahead(site.next_at)}" if site.next_at else ""
    home = f"; its newest state (generation {site.generation}) is on {site.home}" if site.home else ""
    return f"{site.name} ({site.origin}): {state}{where}{next_at}{home}"


def _runs(attempts: Sequence[Attempt], width: int) -> Iterator[str]:
    zone = zones(attempt.began for attempt in attempts)
    columns = [TableColumn(f"began ({zone})", is_text=True), TableColumn("site", is_text=True, shrinks=True)]
    columns.append(TableColumn("result", is_text=True, shrinks=True))
    rows = [
        (long_local_time(each.began), each.site, safe(attempt_text(each) if each.ended else _unended(each)))
        for each in attempts
    ]
    yield from table_lines(columns, rows, width)


def _unended(attempt: Attempt) -> str:
    return f"running or cut off, since {duration_text(time.time() - attempt.began) or '0 s'}"
