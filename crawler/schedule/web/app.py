"""The pages and endpoints of the daemon, and who may ask for which. Nothing here changes anything."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from crawler.config.sections import DaemonConfig
from crawler.schedule.status import ScheduleStatus, SiteStatus
from crawler.schedule.web.files import OpenPublishedFile, PublishedFiles, find_public, open_report
from crawler.schedule.web.metrics import SiteMetrics, exposition
from crawler.schedule.web.pages import overview_page, render_page, site_page, w3c_time
from crawler.schedule.web.server import HEALTH_PATH, UNIX_PREFIX, RequestGuard, is_own_host
from crawler.schedule.web.snapshots import URGENT, SiteSnapshot, StatusCache, condition, settled


def health_response(
    board: ScheduleStatus, trouble: str, snapshots: Mapping[str, SiteSnapshot]
) -> tuple[int, dict[str, Any]]:
    """The status, 200 or 503, and the JSON object. ``trouble`` says what is wrong with the daemon, or "".

    A site that needs attention does not make the daemon unhealthy, and a configuration that cannot be used makes it
    "degraded" with 200: to restart the daemon would not help, and with such a configuration it would not start.
    """
    known = {site: snapshots[site.name] for site in board.sites if site.name in snapshots}
    conditions = {site.name: condition(site, snapshot) for site, snapshot in known.items()}
    failures = {site.name: settled(site, snapshots.get(site.name, SiteSnapshot())).failures for site in board.sites}
    trouble = trouble or board.trouble or ("the daemon is stopping" if board.is_stopping else "")
    return 503 if trouble else 200, {
        "status": "unhealthy" if trouble else "degraded" if board.config_error else "ok",
        **({"why": trouble} if trouble else {}),
        "version": board.version,
        "started": w3c_time(board.started) if board.started is not None else None,
        "uptime_seconds": round(board.now - board.started, 3) if board.started is not None else None,
        "sites": len(board.sites),
        "running": [site.name for site in board.sites if site.running_since is not None],
        "failing": {name: count for name, count in failures.items() if count},
        "attention": {name: found.sentence for name, found in conditions.items() if found.tone in URGENT},
        "refused_messages": {site.name: len(snapshot.refused) for site, snapshot in known.items() if snapshot.refused},
        "audit_errors": {site.name: snapshot.audit.errors for site, snapshot in known.items() if snapshot.audit.errors},
        "config": board.config,
        "config_read": w3c_time(board.config_read) if board.config_read is not None else None,
        "config_error": board.config_error,
    }


_HEALTH_WAIT: Final = 1.0  # seconds for the states of the sites, so that a slow disk does not look like a dead daemon
_PUBLISHED: Final = "/published/"

_RETRY: Final = {"retry-after": "30"}

log = logging.getLogger(__name__)


def build_app(
    board: Callable[[], ScheduleStatus], settings: Callable[[], DaemonConfig], trouble: Callable[[], str] = str
) -> ASGIApp:
    """The ASGI application. ``trouble`` says what is wrong with the daemon itself, or "".

    The event loop calls all three for each request. A site whose state cannot be read is shown as such.
    """
    endpoints = _Endpoints(board, settings, trouble)
    public = [Route(f"{_PUBLISHED}{{name}}/{{file}}", endpoints.published), Route("/{path:path}", endpoints.by_host)]
    private = [
        Route("/", endpoints.all_sites),
        Route("/sites/{name}", endpoints.site),
        Route("/sites/{name}/audit/{file:path}", endpoints.audit),
        Route(HEALTH_PATH, endpoints.healthz),
        Route("/metrics", endpoints.metrics),
        NO_ICON,
    ]
    with_files, without_files, files = routed_app([*private, *public]), routed_app(private), routed_app(public)

    def choose(host: str, path: str) -> ASGIApp | None:
        if endpoints.is_own(host):
            return with_files if settings().serve_sitemaps else without_files
        return files if endpoints.is_public(host, path) else None

    return RequestGuard(choose)


def routed_app(routes: Sequence[Route]) -> Starlette:
    """An application with these routes and our pages of errors."""
    routed = Starlette(routes=routes, exception_handlers={HTTPException: _error_page, 500: _error_page})
    routed.router.redirect_slashes = False  # it would redirect to whatever name Host says
    return routed


class _Endpoints:
    """The endpoints, and what they share."""

    def __init__(
        self, board: Callable[[], ScheduleStatus], settings: Callable[[], DaemonConfig], trouble: Callable[[], str]
    ) -> None:
        self._get_status = board
        self._trouble = trouble
        self._settings = settings
        self._is_socket = settings().listen.startswith(UNIX_PREFIX)
        self._cache = StatusCache()
        self._files = PublishedFiles()

    def is_own(self, host: str) -> bool:
        """Whether a request for this host may see everything. No browser reaches a UNIX socket."""
        return self._is_socket or is_own_host(host, self._settings().allowed_hosts)

    def is_public(self, host: str, path: str) -> bool:
        """Whether a path may be a published file's, which is public under every host that a proxy passes."""
        return self._settings().serve_sitemaps and (path.startswith(_PUBLISHED) or self._find(host, path) is not None)

    async def all_sites(self, request: Request) -> Response:
        """``/``; ``?q=WORDS`` filters the sites."""
        board = self._get_status()
        snapshots = await self._cache.snapshots(board.sites)
        query = request.query_params.get("q", "")
        values = {**overview_page(board, snapshots, query), **page_frame(request), "explore": self._settings().explore}
        return await self._cache.run_blocking(lambda: render_page("overview.html", **values))

    async def site(self, request: Request) -> Response:
        """``/sites/NAME``; ``?run=N`` shows what that run changed, ``?before=N`` the runs before that one."""
        board, site = self._get_status(), self._named(request)
        snapshot = await self._snapshot(site)
        numbers = {"number": page_number(request, "run"), "before": page_number(request, "before")}

        def render() -> Response:
            values: dict[str, Any] = {"board": board, "serves_files": self._settings().serve_sitemaps, **numbers}
            return render_page("site.html", **values, **site_page(site, snapshot, **numbers), **page_frame(request))

        return await self._cache.run_blocking(render)

    async def audit(self, request: Request) -> OpenPublishedFile:
        """``/sites/NAME/audit/FILE``."""
        site = self._named(request)
        directory, name = site.report, request.path_params["file"]
        if directory is None:
            raise HTTPException(404, "the reports of audits of this site are not stored. Set report in [audit]")
        return await self._opened(lambda: open_report(directory, name))

    async def healthz(self, _: Request) -> Response:
        """``/healthz``."""
        board = self._get_status()
        snapshots = await self._cache.recent(board.sites, _HEALTH_WAIT)
        status, values = health_response(board, self._trouble(), snapshots)
        return JSONResponse(values, status)

    async def metrics(self, request: Request) -> Response:
        """``/metrics``."""
        board = self._get_status()
        snapshots = await self._cache.snapshots(board.sites)
        accept = request.headers.get("accept", "")
        text, media_type = await self._cache.run_blocking(lambda: exposition(SiteMetrics(board, snapshots), accept))
        return Response(text, headers={"content-type": media_type})

    async def published(self, request: Request) -> OpenPublishedFile:
        """``/published/NAME/FILE``."""
        return await self._published(self._named(request), request.path_params["file"])

    async def by_host(self, request: Request) -> OpenPublishedFile:
        """A published file by its public URL, for a proxy that passes Host and path unchanged."""
        found = self._find(request.headers.get("host", ""), request.url.path)
        if found is None:
            raise HTTPException(404)
        return await self._published(*found)

    async def _published(self, site: SiteStatus, name: str) -> OpenPublishedFile:
        snapshot = await self._snapshot(site)
        if snapshot.error and not snapshot.files:
            raise HTTPException(503, "the list of published files cannot be read at the moment", _RETRY)
        return await self._opened(lambda: self._files.open(site, snapshot, name))

    async def _opened(self, open_: Callable[[], OpenPublishedFile | None]) -> OpenPublishedFile:
        try:
            file = await self._cache.run_blocking(open_)
        except OSError as error:
            log.warning("a file cannot be served: %s", error)
            raise HTTPException(503, "this file cannot be read at the moment", _RETRY) from None
        if file is None:
            raise HTTPException(404)
        return file

    async def _snapshot(self, site: SiteStatus) -> SiteSnapshot:
        return (await self._cache.snapshots([site]))[site.name]

    def _named(self, request: Request) -> SiteStatus:
        name = request.path_params["name"]
        for site in self._get_status().sites:
            if site.name == name:
                return site
        raise HTTPException(404, "no site has this name")

    def _find(self, host: str, path: str) -> tuple[SiteStatus, str] | None:
        return find_public(self._get_status().sites, host, path)


def page_number(request: Request, name: str) -> int | None:
    """The number of a parameter of the query; None without one."""
    text = request.query_params.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def page_frame(request: Request, *, is_page: bool = True) -> dict[str, Any]:
    """The values of every page: the relative path to ``/``, wherever a proxy has put that, and whether it reloads.

    A page with a query does not reload: somebody is reading it, or typing in it.
    """
    path: bytes = request.scope.get("raw_path") or request.url.path.encode()
    return {"root": "../" * (path.count(b"/") - 1) or "./", "reloads": is_page and not request.url.query}


async def _no_icon(_: Request) -> Response:
    return Response(status_code=204)


NO_ICON: Final = Route("/favicon.ico", _no_icon)  # browsers ask for it beside files that name no icon


async def _error_page(request: Request, error: Exception) -> Response:
    """The page of an HTTPException, or of an error of ours, which uvicorn logs."""
    shown = error if isinstance(error, HTTPException) else HTTPException(500, "the log shows the cause")
    values = {"code": shown.status_code, "reason": shown.detail, **page_frame(request, is_page=False)}
    response = render_page("trouble.html", shown.status_code, **values)
    response.headers.update(shown.headers or {})
    return response
