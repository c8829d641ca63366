"""The status page and the metrics of a fleet, on the web server of the daemon. Only reads the database.

The number of statements for a page does not depend on the number of sites. All clients share one status, which is read
again after a pause that is longer the longer the read takes, because it counts all sites.
"""

import asyncio
import logging
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import anyio
from msgspec import Struct
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from crawler.config.sections import DaemonConfig
from crawler.errors import StorageError
from crawler.fleet.database import FleetDatabase
from crawler.fleet.dispatch import SILENT_SECONDS
from crawler.fleet.status import ATTENTION, STATES, FleetSiteStatus, FleetStatus, find_sites, fleet_status, site_runs
from crawler.schedule.status import ScheduleStatus, status_text
from crawler.schedule.web.app import NO_ICON, page_frame, page_number, routed_app
from crawler.schedule.web.metrics import exposition
from crawler.schedule.web.pages import MAX_QUERY, render_page, w3c_time
from crawler.schedule.web.server import HEALTH_PATH, UNIX_PREFIX, RequestGuard, address_text, is_own_host, serve_on
from crawler.schedule.web.snapshots import MAX_RUNS, PAUSE_FACTOR, Condition, Tone, failure
from crawler.version import __version__

log = logging.getLogger(__name__)

_MAX_AGE: Final = 15.0  # seconds for which a status is shown, however long it takes to read
_TIMEOUT: Final = 20.0  # seconds for a read
_RETRY: Final = {"retry-after": "5"}


class FleetView(Struct, frozen=True):
    """The status of a fleet, and the sites that a person should look at, the most urgent first.

    ``attention`` has one site more than are shown, if there are more.
    """

    status: FleetStatus
    attention: list[FleetSiteStatus]

    @property
    def silent(self) -> int:
        """The number of workers that no longer respond."""
        return sum(worker.silent > SILENT_SECONDS for worker in self.status.workers)


async def serve_fleet(fleet: FleetDatabase, listener: socket.socket, settings: DaemonConfig, max_sites: int) -> None:
    """Answer requests on a socket that listens until SIGTERM or SIGINT; ``max_sites`` of each list are shown."""
    stop = anyio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    log.info("siteatlas %s serves the status of the fleet: %s", __version__, address_text(listener))
    await serve_on(listener, build_fleet_app(fleet, settings, max_sites), settings, stop)
    log.info("stopped")


def build_fleet_app(fleet: FleetDatabase, settings: DaemonConfig, max_sites: int) -> ASGIApp:
    """The ASGI application of ``/``, ``/sites/NAME``, ``/metrics`` and ``/healthz``."""
    endpoints = _Endpoints(fleet, max_sites)
    routes = [
        Route("/", endpoints.overview),
        Route("/sites/{name}", endpoints.site),
        Route(HEALTH_PATH, endpoints.healthz),
        Route("/metrics", endpoints.metrics),
        NO_ICON,
    ]
    app, is_socket = routed_app(routes), settings.listen.startswith(UNIX_PREFIX)
    return RequestGuard(lambda host, _: app if is_socket or is_own_host(host, settings.allowed_hosts) else None)


@contextmanager
def _reading() -> Iterator[None]:
    """Turn what goes wrong with the database into a page that says so."""
    try:
        with anyio.fail_after(_TIMEOUT):
            yield
    except StorageError as error:
        raise HTTPException(503, str(error), _RETRY) from None
    except TimeoutError:
        raise HTTPException(503, f"the database of the fleet did not respond in {_TIMEOUT:g} s", _RETRY) from None


class _StatusCache:
    """The status of the fleet, which requests at the same time share."""

    def __init__(self, fleet: FleetDatabase, max_sites: int) -> None:
        self._fleet = fleet
        self._max_sites = max_sites
        self._lock = anyio.Lock()
        self._found: FleetView | HTTPException | None = None
        self._until = 0.0

    async def read(self) -> FleetView:
        """The status, at most some seconds old. Raises HTTPException."""
        asked = time.monotonic()
        async with self._lock:  # requests that come meanwhile get what this one reads
            if self._found is None or asked >= self._until:
                begun = time.monotonic()
                try:
                    self._found = await self._read()
                except HTTPException as error:
                    self._found = error
                ended = time.monotonic()
                pause = 0.0 if isinstance(self._found, HTTPException) else PAUSE_FACTOR * (ended - begun)
                self._until = ended + min(_MAX_AGE, pause)
        if isinstance(self._found, HTTPException):
            raise self._found
        return self._found

    async def _read(self) -> FleetView:
        with _reading():
            status = await fleet_status(self._fleet, runs=MAX_RUNS)
            return FleetView(status, await find_sites(self._fleet, only=ATTENTION, limit=self._max_sites + 1))


class _Endpoints:
    """The endpoints, and what they share."""

    def __init__(self, fleet: FleetDatabase, max_sites: int) -> None:
        self._fleet = fleet
        self._max_sites = max_sites
        self._cache = _StatusCache(fleet, max_sites)
        self._started = time.time()

    async def overview(self, request: Request) -> Response:
        """``/``: the sites to look at; ``?state=STATE`` and ``?q=WORDS`` show others."""
        view = await self._cache.read()
        state, query = request.query_params.get("state", ""), request.query_params.get("q", "")[:MAX_QUERY]
        query = query.replace("\0", "")  # which no text in the database contains
        if state and state not in STATES:
            raise HTTPException(404, f"there is no such state of a site. The states are {', '.join(STATES)}")
        sites, number = view.attention, self._max_sites
        if state or query.strip():
            with _reading():
                sites = await find_sites(self._fleet, only=state, words=query, limit=number + 1)
        return render_page(
            "fleet.html",
            board=self._board(view),
            fleet=view.status,
            figures=list(_figures(view)),
            rows=[(site, site_condition(site)) for site in sites[:number]],
            state=state,
            query=query,
            is_cut=len(sites) > number,
            silent_seconds=SILENT_SECONDS,
            result=status_text,
            **page_frame(request),
        )

    async def site(self, request: Request) -> Response:
        """``/sites/NAME``; ``?before=N`` shows the runs before that one."""
        name, before = request.path_params["name"], page_number(request, "before")
        view = await self._cache.read()
        with _reading():
            found = await find_sites(self._fleet, [name])
            runs = await site_runs(self._fleet, name, MAX_RUNS + 1, before) if found else []
        if not found:
            raise HTTPException(404, "the fleet has no site with this name")
        return render_page(
            "fleet_site.html",
            board=self._board(view),
            site=found[0],
            condition=site_condition(found[0]),
            runs=runs[:MAX_RUNS],
            active=[run.number for run in runs[:1] if "running" in found[0].states and before is None],
            before=before,
            older=runs[MAX_RUNS - 1].number if len(runs) > MAX_RUNS else None,
            result=status_text,
            **page_frame(request),
        )

    async def healthz(self, _: Request) -> Response:
        """``/healthz``. Sites and workers that need attention do not make this server unhealthy."""
        uptime = round(time.time() - self._started, 3)
        values = {"version": __version__, "started": w3c_time(self._started), "uptime_seconds": uptime}
        try:
            view = await self._cache.read()
        except HTTPException as error:
            return JSONResponse({"status": "unhealthy", "why": error.detail, **values}, 503)
        status = view.status
        counts = {"sites": status.sites, **status.counts, "lateness_seconds": status.lateness, "jobs": status.jobs}
        counts |= {"unsure_notifications": status.unsure_notifications}
        oldest, others = status.oldest_snapshot, {"workers": len(status.workers), "silent_workers": view.silent}
        return JSONResponse({"status": "ok", **values, **counts, **others, "oldest_snapshot_seconds": oldest})

    async def metrics(self, request: Request) -> Response:
        """``/metrics``."""
        view = await self._cache.read()
        text, media_type = exposition(FleetMetrics(view, self._max_sites), request.headers.get("accept", ""))
        return Response(text, headers={"content-type": media_type})

    def _board(self, view: FleetView) -> ScheduleStatus:
        """What the foot of a page shows."""
        place, now = self._fleet.place, view.status.now
        return ScheduleStatus(version=__version__, now=now, sites=(), config=place, started=self._started)


def site_condition(site: FleetSiteStatus) -> Condition:
    """The most urgent condition of a site."""
    if "retired" in site.states:
        return Condition(Tone.QUIET, "retired", "the configuration no longer contains this site")
    if failed := failure(site.last, site.failures) if "failing" in site.states else None:
        return failed
    for state, reason in _WARNINGS.items():
        if state in site.states:
            return Condition(Tone.WARNING, state, reason(site))
    if "running" in site.states:
        return Condition(Tone.RUNNING, "running", f"on {site.worker}")
    if waiting := [state for state in ("paused", "queued") if state in site.states]:
        return Condition(Tone.QUIET, waiting[0])
    return Condition(Tone.GOOD, "healthy") if site.last else Condition(Tone.QUIET, "not run yet")


_WARNINGS: Final[dict[str, Callable[[FleetSiteStatus], str]]] = {
    "unsaved": lambda site: f"no snapshot: the newest state is only on {site.home}",
    "held": lambda site: site.last.message if site.last else "",
    "restricted": lambda site: site.left_out,
    "lost": lambda site: f"the worker {site.worker} no longer renews its lease",
    "late": lambda _: "no worker has started the run that is due",
}


def _figures(view: FleetView) -> Iterator[tuple[str, int, str, str]]:
    """Label, number, tone and state of the large figures at the top."""
    status = view.status
    yield "sites" if status.sites != 1 else "site", status.sites, "", ""
    tones = {"failing": "error", "queued": ""}
    for state in ("failing", "held", "restricted", "unsaved", "lost", "late", "queued"):
        yield state, status.counts[state], tones.get(state, "warning"), state
    yield "running now", status.counts["running"], "running", "running"
    yield "paused", status.counts["paused"], "", "paused"


class FleetMetrics(Collector):
    """The metrics of a fleet at one moment.

    The number of series depends on the number of workers only: of the sites, those that need attention have one.
    https://prometheus.io/docs/practices/naming/
    """

    def __init__(self, view: FleetView, max_sites: int) -> None:
        self._status = view.status
        self._sites = view.attention[:max_sites]

    def collect(self) -> Iterator[Metric]:
        """All metric families, also those without a sample."""
        status = self._status
        yield InfoMetricFamily("siteatlas_build", "The version of siteatlas", {"version": __version__})
        yield GaugeMetricFamily("siteatlas_sites", "Sites in the configuration", status.sites)
        by_state = GaugeMetricFamily("siteatlas_fleet_sites", "Sites in each state", labels=["state"])
        for state, number in (*status.counts.items(), ("due", status.due)):
            by_state.add_metric([state], number)
        yield by_state
        for name, help_, field in _FLEET_METRICS:
            yield GaugeMetricFamily(f"siteatlas_fleet_{name}", help_, getattr(status, field) or 0)
        yield CounterMetricFamily("siteatlas_fleet_started_runs", "Runs that workers have started", status.started)
        yield GaugeMetricFamily("siteatlas_fleet_workers", "Workers in the database", len(status.workers))
        yield from self._workers()
        failures = GaugeMetricFamily(
            "siteatlas_site_consecutive_failures", "Attempts in a row that failed", labels=["site"]
        )
        ages = GaugeMetricFamily("siteatlas_site_snapshot_age_seconds", "Age of the newest snapshot", labels=["site"])
        for site in self._sites:
            if site.failures:
                failures.add_metric([site.name], site.failures)
            if site.saved is not None:
                ages.add_metric([site.name], status.now - site.saved)
        yield from (failures, ages)

    def _workers(self) -> Iterator[Metric]:
        info = InfoMetricFamily("siteatlas_fleet_worker", "Host and version of a worker", labels=["worker"])
        for worker in self._status.workers:
            info.add_metric([worker.id], {"host": worker.host, "version": worker.version})
        yield info
        for name, help_, field in _WORKER_METRICS:
            family = GaugeMetricFamily(f"siteatlas_fleet_worker_{name}", help_, labels=["worker"])
            for worker in self._status.workers:
                family.add_metric([worker.id], float(getattr(worker, field)))
            yield family


_UNSURE: Final = "Notifications of the last week that may not have been sent, because a worker failed meanwhile"
_FLEET_METRICS: Final = (
    ("lateness_seconds", "Time since the run that is due first should have started", "lateness"),
    ("queue_jobs", "Jobs that wait in the queue", "jobs"),
    ("unsure_notifications", _UNSURE, "unsure_notifications"),
    ("oldest_snapshot_seconds", "Age of the newest snapshot of a site, for which it is highest", "oldest_snapshot"),
)
_WORKER_METRICS: Final = (
    ("running_sites", "Sites that the worker runs", "running"),
    ("max_sites", "Maximum sites that the worker runs at the same time", "slots"),
    ("silent_seconds", "Time since the last sign of life of the worker", "silent"),
    ("clock_seconds", "How far the clock of the worker is ahead of that of the database", "clock"),
    ("draining", "Whether the worker takes no more sites", "draining"),
    ("start_time_seconds", "When the worker started, Unix time", "started"),
)
