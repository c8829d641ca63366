"""The pages and endpoints of the daemon, and what each of them is made from. Nothing here changes anything."""

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from crawler.config.schedule import Daemon
from crawler.schedule.status import Board, SiteBoard
from crawler.schedule.web.files import Sending, Shelves, by_address, report
from crawler.schedule.web.health import health
from crawler.schedule.web.metrics import exposed
from crawler.schedule.web.pages import one_site, overview, page
from crawler.schedule.web.request_guard import Door, Hosts
from crawler.schedule.web.server import UNIX
from crawler.schedule.web.snapshots import Look, Looks

_PUBLISHED: Final = "/published/"
log = logging.getLogger(__name__)


def app(
    board: Callable[[], Board], settings: Callable[[], Daemon], trouble: Callable[[], str] = str
) -> ASGIApp:
    """What answers, made from how all sites stand now. ``trouble`` says what is wrong with the daemon itself, or "".

    All are called in the event loop, for each request. A state that cannot be read is told where it matters.
    """
    faces = _Faces(board, settings, trouble)
    public = [
        Route(f"{_PUBLISHED}{{name}}/{{file}}", faces.published),
        Route("/{path:path}", faces.by_host),
    ]
    own = [
        Route("/", faces.all_sites),
        Route("/sites/{name}", faces.site),
        Route("/sites/{name}/audit/{file:path}", faces.audit),
        Route("/healthz", faces.healthz),
        Route("/metrics", faces.metrics),
        Route("/favicon.ico", _nothing),  # of files without an icon of their own
    ]
    ours, ours_alone, theirs = _routed([*own, *public]), _routed(own), _routed(public)

    def answering(host: str, path: str) -> ASGIApp | None:
        if faces.knows(host):
            return ours if settings().serve_sitemaps else ours_alone
        return theirs if faces.publishes(host, path) else None

    return Door(answering)


def _routed(routes: Sequence[Route]) -> Starlette:
    made = Starlette(routes=routes, exception_handlers={HTTPException: _refused, 500: _broken})
    made.router.redirect_slashes = False  # it would make a URL of whatever Host says
    return made


class _Faces:
    """What the endpoints share."""

    def __init__(
        self, board: Callable[[], Board], settings: Callable[[], Daemon], trouble: Callable[[], str]
    ) -> None:
        self._board = board
        self._trouble = trouble
        self._settings = settings
        self._is_file = settings().listen.startswith(UNIX)
        self._hosts: tuple[tuple[str, ...], Hosts] | None = None
        self._looks = Looks()
        self._shelves = Shelves()

    @property
    def _serves(self) -> bool:
        return self._settings().serve_sitemaps

    def knows(self, host: str) -> bool:
        """Whether a request for a host is answered."""
        names = ("*",) if self._is_file else self._settings().allowed_hosts
        if self._hosts is None or self._hosts[0] != names:
            self._hosts = names, Hosts(names)
        return self._hosts[1].knows(host)

    def publishes(self, host: str, path: str) -> bool:
        """Whether a path may be a published file's, which is public under any name that a proxy passes."""
        return self._serves and (path.startswith(_PUBLISHED) or self._by_address(host, path) is not None)

    async def all_sites(self, request: Request) -> Response:
        """``/``."""
        board = self._board()
        looks = await self._looks.of(board.sites)
        query = request.query_params.get("q", "")
        values = {**overview(board, looks, query), **_around(request)}
        return await self._looks.run(lambda: page("overview.html", **values))

    async def site(self, request: Request) -> Response:
        """``/sites/NAME``; ``?run=N`` shows what that run changed, ``?before=N`` the runs before that one."""
        board, site, look = await self._site(request)
        asked = {"number": _number(request, "run"), "before": _number(request, "before")}

        def made() -> Response:
            return page("site.html", **one_site(board, site, look, self._serves, **asked), **_around(request))

        return await self._looks.run(made)

    async def audit(self, request: Request) -> Response | Sending:
        """``/sites/NAME/audit/FILE``."""
        site = self._named(request)
        directory, name = site.report, request.path_params["file"]
        if directory is None:
            raise HTTPException(404, "no audit of this site is written to a directory")
        return await self._sent(lambda: report(directory, name))

    async def healthz(self, _: Request) -> Response:
        """``/healthz``."""
        status, told = health(self._board(), self._trouble())
        return JSONResponse(told, status)

    async def metrics(self, request: Request) -> Response:
        """``/metrics``."""
        board = self._board()
        looks = await self._looks.of(board.sites)
        accept = request.headers.get("accept", "")
        text, media_type = await self._looks.run(lambda: exposed(board, looks, accept))
        return Response(text, headers={"content-type": media_type})

    async def published(self, request: Request) -> Response | Sending:
        """``/published/NAME/FILE``."""
        return await self._file(self._named(request), request.path_params["file"])

    async def by_host(self, request: Request) -> Response | Sending:
        """A published file by its public URL, for a proxy that passes Host and path as they are."""
        found = self._by_address(request.headers.get("host", ""), request.url.path)
        if found is None:
            raise HTTPException(404)
        return await self._file(*found)

    async def _file(self, site: SiteBoard, name: str) -> Response | Sending:
        look = (await self._looks.of([site]))[site.name]
        if look.error and not look.files:
            raise HTTPException(503, "what is published cannot be told for now", {"retry-after": "30"})
        return await self._sent(lambda: self._shelves.published(site, look, name))

    async def _sent(self, opened: Callable[[], Sending | None]) -> Sending:
        try:
            sending = await self._looks.run(opened)
        except OSError as error:
            log.warning("a file that is to be served cannot be read: %s", error)
            raise HTTPException(503, "this file cannot be read for now", {"retry-after": "30"}) from None
        if sending is None:
            raise HTTPException(404)
        return sending

    async def _site(self, request: Request) -> tuple[Board, SiteBoard, Look]:
        board, site = self._board(), self._named(request)
        return board, site, (await self._looks.of([site]))[site.name]

    def _named(self, request: Request) -> SiteBoard:
        name = request.path_params["name"]
        for site in self._board().sites:
            if site.name == name:
                return site
        raise HTTPException(404, "there is no site of this name")

    def _by_address(self, host: str, path: str) -> tuple[SiteBoard, str] | None:
        return by_address({site.name: site for site in self._board().sites}, host, path)


def _number(request: Request, name: str) -> int | None:
    said = request.query_params.get(name, "")
    return int(said) if said.isascii() and said.isdigit() and len(said) < 10 else None


def _around(request: Request, *, is_page: bool = True) -> dict[str, Any]:
    """What every page is made with: the way from it to ``/``, wherever a proxy has put that, and whether it renews.

    One that was asked for more than how things stand is being read, or written in: it stays as it is.
    """
    path: bytes = request.scope.get("raw_path") or request.url.path.encode()
    return {"root": "../" * (path.count(b"/") - 1) or "./", "renews": is_page and not request.url.query}


async def _nothing(_: Request) -> Response:
    return Response(status_code=204)


async def _refused(request: Request, error: Exception) -> Response:
    """The page of what is not there."""
    status, why, headers = 500, "", None
    if isinstance(error, HTTPException):
        status, why, headers = error.status_code, error.detail, error.headers
    answer = page("trouble.html", status, code=status, why=why, **_around(request, is_page=False))
    answer.headers.update(headers or {})
    return answer


async def _broken(request: Request, _: Exception) -> Response:
    """The page of what should not be; the server logs what it was."""
    why = "the daemon's log says what went wrong"
    return page("trouble.html", 500, code=500, why=why, **_around(request, is_page=False))
