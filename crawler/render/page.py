"""Renders one page: opens it in a fresh context, answers its requests, waits until it is done, and reads its DOM.

A page is done when its load event has fired, no document, script or data request is under way for 500 ms, and its DOM
did not change for 500 ms. Search engines neither click nor scroll
(https://developers.google.com/search/docs/crawling-indexing/javascript/lazy-loading), and neither does this.
"""

from collections.abc import Awaitable
from contextlib import suppress
from importlib.resources import files
from typing import Any, Final

import anyio
from playwright.async_api import BrowserContext, CDPSession, Dialog, Error, Page, Request, Route, WebSocketRoute

from crawler.model import Reply
from crawler.render.document import RenderedDocument, RenderError, RenderLimits
from crawler.render.resources import MAIN_DOCUMENT, NO_CONTENT, PageResources, ResourceAnswer, ResourceRequest

_WIDTH: Final = 1280  # pixels
_HEIGHT: Final = 10_000  # pixels; tall, because search engines do not scroll
QUIET_SECONDS: Final = 0.5
_POLL_SECONDS: Final = 0.05
_PREPARE_SECONDS: Final = 20.0
"""For an empty page. It takes a fraction of a second, unless its process was killed or the machine is very busy."""
_GRACE_SECONDS: Final = 3.0
"""For the last look at the DOM, when time is over."""
MAX_ROUTES: Final = 1_000
MAX_ADDRESSES: Final = 20
_WORLD: Final = "siteatlas"
"""An isolated world: the scripts of the page cannot reach it."""
# Tells the page of a tall screen. A tall viewport of Playwright would make the browser draw all of it in every frame,
# which takes 15 to 30 % of the processor time of a page, and nobody looks at it.
_SCREEN: Final = {
    "width": _WIDTH,
    "height": _HEIGHT,
    "screenWidth": _WIDTH,
    "screenHeight": _HEIGHT,
    "deviceScaleFactor": 1,
    "mobile": False,
}
# Runs before the page's own scripts, in the isolated world. Attributes that nothing is read from are no content: styles
# and classes of an animation change all the time.
_SCRIPTS: Final = files("crawler.render")
_OBSERVE: Final = (_SCRIPTS / "observe.js").read_text(encoding="utf-8")
_QUIET: Final = "performance.now() - (globalThis.changed ?? 0)"
_READ: Final = (_SCRIPTS / "read.js").read_text(encoding="utf-8")


class NoEmptyPage(Error):
    """The browser could not even open an empty page: others would fail there too."""


async def render(
    context: BrowserContext, reply: Reply, resources: PageResources, limits: RenderLimits
) -> RenderedDocument:
    """Render the page of a reply. Raises RenderError, NoEmptyPage, playwright.async_api.Error or TimeoutError."""
    return await _Rendering(context, reply, resources, limits).run()


class _Rendering:
    """One page from its first byte to its DOM."""

    def __init__(self, context: BrowserContext, reply: Reply, resources: PageResources, limits: RenderLimits) -> None:
        self._context = context
        self._reply = reply
        self._resources = resources
        self._limits = limits
        self._pending: set[Request] = set()
        self._quiet_since = anyio.current_time()
        self._is_loaded = False
        self._is_opened = False
        self._left_for = ""

    async def run(self) -> RenderedDocument:
        """The page, unless its process ends before it is read."""
        with anyio.CancelScope() as scope:
            return await self._run(scope)
        raise RenderError("the browser process of the page ended unexpectedly")

    async def _run(self, alive: anyio.CancelScope) -> RenderedDocument:
        """The page. The end of its process cancels ``alive``."""
        try:
            with anyio.fail_after(_PREPARE_SECONDS):
                page, session = await self._prepare()
        except Error as error:
            raise NoEmptyPage(error.message) from error
        page.on("crash", lambda _: alive.cancel())
        started = anyio.current_time()
        with anyio.fail_after(self._limits.seconds + _GRACE_SECONDS):
            await page.goto(self._reply.url, wait_until="commit")
        document = _Document(session)
        cut = await self._wait_until_done(document, started)
        return await self._read(document, cut or self._resources.cut)

    async def _prepare(self) -> tuple[Page, CDPSession]:
        """An empty page whose requests come to us."""
        context = self._context
        context.set_default_timeout(0)  # the deadlines are ours
        await context.route("**/*", self._answer)
        await context.route_web_socket("**/*", _close_web_socket)
        page = await context.new_page()
        page.on("dialog", _dismiss)
        page.on("load", lambda _: self._on_load())
        page.on("popup", _close_page)
        session = await context.new_cdp_session(page)
        await session.send("Emulation.setDeviceMetricsOverride", _SCREEN)
        await session.send("Page.enable")  # or no script is added
        await session.send("Page.addScriptToEvaluateOnNewDocument", {"source": _OBSERVE, "worldName": _WORLD})
        return page, session

    async def _wait_until_done(self, document: "_Document", started: float) -> str:
        """Wait until the page is done; returns why it was cut short, or ""."""
        limit = self._limits.seconds
        while True:
            now = anyio.current_time()
            if now - started - self._resources.waited >= limit:
                return f"reading stopped after {limit:g} s of rendering ({self._what_is_left()})"
            is_quiet = not self._pending and now - self._quiet_since >= QUIET_SECONDS
            if self._left_for and is_quiet:
                return ""  # a script leads elsewhere: there is no more to come, not even a load event
            if self._is_loaded and is_quiet:
                left = limit - (now - started - self._resources.waited)
                with anyio.move_on_after(max(left, _POLL_SECONDS)):
                    quiet_since = self._quiet_since
                    still = await document.evaluate(_QUIET)
                    await anyio.sleep(_POLL_SECONDS)  # a request from before that answer is known by now
                    if still >= QUIET_SECONDS * 1000 and not self._pending and self._quiet_since == quiet_since:
                        return ""
            await anyio.sleep(_POLL_SECONDS)

    def _what_is_left(self) -> str:
        if self._pending:
            return f"{next(iter(self._pending)).url[:200]} was still loading"
        return "its content kept changing" if self._is_loaded else "it was still loading"

    async def _read(self, document: "_Document", cut: str) -> RenderedDocument:
        with anyio.fail_after(_GRACE_SECONDS):
            script = f"({_READ})({self._limits.markup}, {MAX_ROUTES}, {MAX_ADDRESSES})"
            markup, length, routes, addresses = await document.evaluate(script)
        if length > self._limits.markup:
            cut = cut or f"reading stopped after {self._limits.markup:,} characters of rendered markup"
        return RenderedDocument(markup, cut, self._left_for, tuple(routes), tuple(addresses))

    async def _answer(self, route: Route) -> None:
        """Answer one request of the page: the document by the reply, the rest by the road of the crawl."""
        request = route.request
        self._pending.add(request)  # before the first await: on a busy machine, its headers take longer than the quiet
        try:
            asked = await self._asked(request)
            if asked.kind == MAIN_DOCUMENT and self._is_opened and asked.url != self._reply.url:
                self._left_for = self._left_for or asked.url
            await self._respond(route, asked)
        finally:
            self._pending.discard(request)
            self._quiet_since = anyio.current_time()

    async def _asked(self, request: Request) -> ResourceRequest:
        try:
            is_main = request.is_navigation_request() and request.frame.parent_frame is None
            headers = tuple((await request.all_headers()).items())
        except Error:  # of a window that was only just opened
            return ResourceRequest(request.url, request.method, "popup")
        return ResourceRequest(
            request.url,
            request.method,
            MAIN_DOCUMENT if is_main else request.resource_type,
            headers,
            request.post_data_buffer or b"",
        )

    async def _respond(self, route: Route, asked: ResourceRequest) -> None:
        if asked.kind == MAIN_DOCUMENT:
            # The first one is the page. A later one would be another page, which is crawled on its own if it is linked:
            # "no content" leaves the browser where it is.
            is_first, self._is_opened = not self._is_opened, True
            answer: ResourceAnswer | None = self._resources.document(self._reply) if is_first else NO_CONTENT
        else:
            answer = await self._resources.answer(asked)
        with suppress(Error):  # the page may be gone by now
            if answer is None:
                await route.abort("blockedbyclient")
            else:
                await route.fulfill(status=answer.status, headers=dict(answer.headers), body=answer.body)

    def _on_load(self) -> None:
        self._is_loaded = True
        self._quiet_since = anyio.current_time()


class _Document:
    """What the page shows now, seen from the isolated world."""

    def __init__(self, session: CDPSession) -> None:
        self._session = session
        self._world = 0

    async def evaluate(self, expression: str) -> Any:
        """The value of an expression. Raises playwright.async_api.Error, and TimeoutError without a page."""
        try:
            return await self._evaluate(expression)
        except Error as error:
            if "Cannot find context" not in str(error):
                raise
        self._world = 0  # a script has put another document into the place of the first
        return await self._evaluate(expression)

    async def _evaluate(self, expression: str) -> Any:
        self._world = self._world or await self._find_world()
        parameters = {"expression": expression, "contextId": self._world, "returnByValue": True}
        found = await self._session.send("Runtime.evaluate", parameters)
        return found["result"].get("value")

    async def _find_world(self) -> int:
        with anyio.fail_after(_GRACE_SECONDS):
            tree = await self._session.send("Page.getFrameTree")
            made = await self._session.send(
                "Page.createIsolatedWorld", {"frameId": tree["frameTree"]["frame"]["id"], "worldName": _WORLD}
            )
        return int(made["executionContextId"])


def _close_web_socket(socket: WebSocketRoute) -> Awaitable[None]:
    return socket.close()


async def _dismiss(dialog: Dialog) -> None:
    with suppress(Error):
        await dialog.dismiss()


async def _close_page(page: Page) -> None:
    with suppress(Error):
        await page.close()
