"""Chromium, driven by Playwright: started with no way to the network, replaced in time, and never left behind.

Chromium and the driver of Playwright each run below a small script that has the kernel end them when their parent ends
(https://man7.org/linux/man-pages/man2/pr_set_pdeathsig.2.html), so ``kill -9`` of this program leaves no process over.
Nothing here waits for a browser without a deadline: a browser that does not answer is killed with its process group.
"""

import asyncio
import fcntl
import gc
import logging
import os
import re
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from shlex import quote
from typing import Final

import anyio
from playwright.async_api import Browser, BrowserContext, Error, Playwright, async_playwright

from crawler.errors import UsageError
from crawler.render.document import NO_SANDBOX_REMEDY, BrowserOptions, RenderError
from sitemap import create_file

log = logging.getLogger(__name__)
NO_USABLE_SANDBOX: Final = (
    "it has no usable sandbox: allow user namespaces, install Debian's package chromium-sandbox, or add "
    "--set render.sandbox=false in a container that holds nothing else"
)
_START_TIMEOUT: Final = 30.0  # seconds
_CLOSE_TIMEOUT: Final = 5.0  # seconds
_MEMORY_INTERVAL: Final = 0.5  # seconds between two looks at the memory
_PAGES_A_COLLECTION: Final = 100
# The shell first: a context, which each page gets, costs a whole Chromium four times as much processor time.
_NAMES: Final = (
    *("chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser"),
    *("google-chrome-stable", "google-chrome"),
)
_OWN_PROGRAMS: Final = ("chromium_headless_shell-*/*/*headless*shell", "chromium-*/*/chrome")  # of Playwright
# A second wall behind the routes: a proxy that refuses, no names, no UDP. The canary in the tests proves it.
_NO_NETWORK: Final = (
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--dns-prefetch-disable",
    "--no-pings",
)
_FRUGAL: Final = (
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--mute-audio",
    "--no-first-run",
)
_REFUSING_PROXY: Final = {"server": "http://127.0.0.1:1", "bypass": "<-loopback>"}  # the loopback address too
_BARE_VARIABLES: Final = ("PATH", "HOME", "LANG", "TMPDIR", "XDG_RUNTIME_DIR", "LD_LIBRARY_PATH")
_FOLDER_PREFIX: Final = "siteatlas-render-"
_WRAPPER: Final = """#!/bin/sh
echo $$ > {mark}
export TMPDIR={folder}
exec setpriv --pdeathsig KILL {program} "$@"
"""


def find_browser(path: str) -> str:
    """The program of Chromium. Raises UsageError that says how to get one."""
    found = shutil.which(path) if path else next(filter(None, map(shutil.which, _NAMES)), None) or _own_browser()
    if found is None:
        missing = f'the browser "{path}" was not found' if path else "no Chromium was found on this machine"
        raise UsageError(
            f"{missing}. Install Chromium (on Debian, run apt-get install chromium-headless-shell), give its path "
            "with --set render.browser=PATH, or add --render never"
        )
    return found


def _own_browser() -> str | None:
    """The browser that ``playwright install`` has downloaded, the newest one.

    https://playwright.dev/python/docs/browsers#managing-browser-binaries
    """
    folder = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright")
    found = (sorted(folder.glob(pattern)) for pattern in _OWN_PROGRAMS)
    return next((str(programs[-1]) for programs in found if programs), None)


class _RunningBrowser:
    """One Chromium. ``served`` counts its pages, ``active`` those that are open now."""

    def __init__(self, browser: Browser, group: int) -> None:
        self.browser = browser
        self.group = group
        self.served = 0
        self.active = 0
        self.failure = ""  # why it was killed

    def kill(self, reason: str) -> None:
        """End all its processes at once; what waits for it raises."""
        self.failure = self.failure or reason
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.group, signal.SIGKILL)

    @property
    def is_alive(self) -> bool:
        return not self.failure and self.browser.is_connected()


class _Driver:
    """The driver of Playwright, which starts the browsers. They end with it."""

    def __init__(self, playwright: Playwright, pid: int) -> None:
        self.playwright = playwright
        self._pid = pid

    @property
    def is_alive(self) -> bool:
        try:
            os.kill(self._pid, 0)
        except ProcessLookupError:
            return False
        return True

    async def stop(self) -> None:
        """End it, or kill it if it does not end in time."""
        with anyio.move_on_after(_CLOSE_TIMEOUT), suppress(Error):
            await self.playwright.stop()
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)


class Chromium:
    """Gives contexts of a browser, one for each page. Open it in an event loop of asyncio, and close it there.

    A browser or a driver that ends, whatever ends it, is replaced for the next page.
    """

    def __init__(self, options: BrowserOptions) -> None:
        self._options = options
        self._driver: _Driver | None = None
        self._current: _RunningBrowser | None = None
        self._all: list[_RunningBrowser] = []
        self._starting = anyio.Lock()
        self._program = ""
        self._folder: Path | None = None
        self._folder_lock = -1  # file descriptor
        self._memory_watch: asyncio.Task[None] | None = None
        self.started = 0
        """Browsers started so far."""
        self._drivers = 0
        self._closed = 0  # contexts

    async def open(self) -> None:
        """Start the first browser. Raises UsageError when Chromium cannot be used at all."""
        program = find_browser(self._options.path)
        if self._options.sandbox and os.geteuid() == 0:
            raise UsageError(NO_SANDBOX_REMEDY)
        if shutil.which("setpriv") is None:
            raise UsageError(
                "the program setpriv, which ends the browser together with siteatlas, is missing. Install util-linux"
            )
        self._program = program
        await anyio.to_thread.run_sync(remove_stale_folders)
        self._folder, self._folder_lock = _locked_folder()
        try:
            try:
                self._current = await self._start()
            except UsageError as error:  # something may have ended it: a second attempt tells
                log.info("%s", error)
                self._current = await self._start()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.close()
            raise
        self._memory_watch = asyncio.create_task(self._watch_memory())

    async def close(self) -> None:
        """Close everything, or kill what does not close in time."""
        if self._memory_watch:
            self._memory_watch.cancel()
        for running in [*self._all]:
            await self._close(running)
        if self._driver:
            await self._driver.stop()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            os.close(self._folder_lock)
            self._folder = None

    @asynccontextmanager
    async def context(self) -> AsyncIterator[BrowserContext]:
        """A fresh context for one page, closed at the end. Raises RenderError when the browser fails meanwhile."""
        running = await self._running()
        running.served += 1
        running.active += 1
        context: BrowserContext | None = None
        try:
            with _browser_errors(running):
                with anyio.fail_after(_START_TIMEOUT):
                    context = await self._new_context(running.browser)
                yield context
        finally:
            with anyio.CancelScope(shield=True):
                await self._close_context(running, context)

    def retire(self, context: BrowserContext) -> None:
        """Give the browser of a context no further page; it ends with those that are open."""
        if self._current and self._current.browser is context.browser:
            self._current = None

    def replace(self, context: BrowserContext, reason: str) -> None:
        """Kill the browser of a context, which does not respond; the next page gets another one."""
        for running in self._all:
            if running.browser is context.browser:
                running.kill(reason)

    async def _new_context(self, browser: Browser) -> BrowserContext:
        return await browser.new_context(
            no_viewport=True,  # each page sets its own
            user_agent=self._options.user_agent or None,
            service_workers="block",
            accept_downloads=False,
        )

    async def _close_context(self, running: _RunningBrowser, context: BrowserContext | None) -> None:
        running.active -= 1
        self._closed += 1
        if self._closed % _PAGES_A_COLLECTION == 0:
            # Playwright leaves 20 kB of reference cycles a page, and a crawl lets Python look for cycles very rarely.
            gc.collect()
        if context and running.is_alive:
            with anyio.move_on_after(_CLOSE_TIMEOUT) as scope, suppress(Error):
                await context.close()
            if scope.cancelled_caught:
                running.kill("it did not close a page in time")
        if running is not self._current and not running.active:
            await self._close(running)

    async def _running(self) -> _RunningBrowser:
        async with self._starting:
            current = self._current
            if self._driver and not self._driver.is_alive:
                for running in self._all:
                    running.kill("its driver ended")
            if current and current.is_alive and current.served < self._options.max_pages:
                return current
            self._current = None
            if current and not current.active:
                await self._close(current)
            try:
                self._current = await self._start()
            except UsageError as error:
                raise RenderError(f"the browser did not start: {error}") from error
            return self._current

    async def _running_driver(self) -> _Driver:
        """The driver, started if it does not run. Raises UsageError."""
        if self._driver and not self._driver.is_alive:
            await self._driver.stop()
            self._driver = None
        if self._driver is None:
            self._drivers += 1
            self._driver = await self._start_driver(f"driver{self._drivers}")
        return self._driver

    async def _start_driver(self, mark: str) -> _Driver:
        """Start the driver of Playwright, below a script that ends it with this program. Raises UsageError."""
        from playwright._impl._driver import compute_driver_executable  # noqa: PLC0415 - no public name

        node, _ = compute_driver_executable()
        try:
            with anyio.fail_after(_START_TIMEOUT):
                tried = await anyio.run_process([node, "--version"], check=False)
        except TimeoutError as error:
            raise UsageError(
                f"Playwright, which controls the browser, does not start: {_launch_failure(error)}"
            ) from error
        if tried.returncode:  # Playwright would not say why
            lines = [*tried.stderr.decode("utf-8", "replace").splitlines(), f"exit code {tried.returncode}"]
            raise UsageError(f"Playwright, which controls the browser, does not start: {lines[0]}")
        before = os.environ.get("PLAYWRIGHT_NODEJS_PATH")
        os.environ["PLAYWRIGHT_NODEJS_PATH"] = self._wrapper(node, mark)
        try:
            with anyio.fail_after(_START_TIMEOUT):
                playwright = await async_playwright().start()
        except Exception as error:  # Playwright raises just that for a driver that ends
            raise UsageError(
                f"Playwright, which controls the browser, does not start: {_launch_failure(error)}"
            ) from error
        finally:
            del os.environ["PLAYWRIGHT_NODEJS_PATH"]
            if before is not None:
                os.environ["PLAYWRIGHT_NODEJS_PATH"] = before
        return _Driver(playwright, int(self._mark(mark).read_text()))

    async def _start(self) -> _RunningBrowser:
        """Start a browser, and the driver if it does not run. Raises UsageError."""
        driver = await self._running_driver()
        self.started += 1
        mark = f"browser{self.started}"
        try:
            with anyio.fail_after(_START_TIMEOUT):
                browser = await driver.playwright.chromium.launch(
                    executable_path=self._wrapper(self._program, mark),
                    args=[*_NO_NETWORK, *_FRUGAL],
                    proxy=_REFUSING_PROXY,  # type: ignore[arg-type]  # a TypedDict
                    chromium_sandbox=self._options.sandbox,
                    env={name: os.environ[name] for name in _BARE_VARIABLES if name in os.environ},
                    handle_sigint=False,
                    handle_sigterm=False,
                    handle_sighup=False,
                )
        except (Error, TimeoutError) as error:
            raise UsageError(f"Chromium ({self._program}) does not start: {_launch_failure(error)}") from error
        running = _RunningBrowser(browser, int(self._mark(mark).read_text()))
        self._all.append(running)
        return running

    def _wrapper(self, program: str, mark: str) -> str:
        """A script that writes its process id to a file and becomes the program, which ends with its parent."""
        script = self._mark(f"{mark}.sh")
        mark_file, folder = quote(str(self._mark(mark))), quote(str(script.parent))
        text = _WRAPPER.format(mark=mark_file, folder=folder, program=quote(program))
        with create_file(script, 0o700) as file:
            file.write(text.encode())
        return str(script)

    def _mark(self, name: str) -> Path:
        assert self._folder is not None  # noqa: S101 - made on opening
        return self._folder / name

    async def _close(self, running: _RunningBrowser) -> None:
        if running in self._all:
            self._all.remove(running)
        if running.is_alive:
            with anyio.move_on_after(_CLOSE_TIMEOUT), suppress(Error):
                await running.browser.close()
        running.kill("closed")

    async def _watch_memory(self) -> None:
        while True:
            await anyio.sleep(_MEMORY_INTERVAL)
            groups = await anyio.to_thread.run_sync(private_memory)
            for running in self._all:
                if groups.get(running.group, 0) > self._options.memory:
                    running.kill(f"it used more than {self._options.memory:,} bytes of memory (render.memory)")


def _locked_folder() -> tuple[Path, int]:
    """A new folder for the files of the browsers, and the descriptor that locks it while this process lives."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX))
        with suppress(OSError):  # another run took it for a stale one before it was locked: make another
            lock = _lock_of_folder(folder)
            if folder.exists():
                return folder, lock
            os.close(lock)


def remove_stale_folders() -> None:
    """Remove the folders of earlier runs of this user that were killed: those that no process locks."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER_PREFIX}*"):
        with suppress(OSError):
            lock = _lock_of_folder(folder)
            try:
                if os.fstat(lock).st_uid == os.geteuid():
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def _lock_of_folder(folder: Path) -> int:
    """A descriptor that locks a folder until it is closed. Raises OSError for a link, or a folder that is locked."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def private_memory() -> dict[int, int]:
    """The bytes of private memory of all processes, by process group."""
    sums: dict[int, int] = {}
    page = os.sysconf("SC_PAGE_SIZE")
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                group = int((folder / "stat").read_text().rpartition(")")[2].split()[2])
                _, resident, shared, *_ = (folder / "statm").read_text().split()
                sums[group] = sums.get(group, 0) + (int(resident) - int(shared)) * page
    return sums


@contextmanager
def _browser_errors(running: _RunningBrowser) -> Iterator[None]:
    """Turn errors of Playwright into RenderError that names the cause."""
    try:
        yield
    except (Error, TimeoutError) as error:
        raise RenderError(f"the browser failed: {running.failure or _first_line(error)}") from error


def _launch_failure(error: Exception) -> str:
    """The reason in the browser's own words, which Playwright repeats in its log of the launch."""
    if isinstance(error, TimeoutError):
        return f"it did not respond for {_START_TIMEOUT:g} s"
    text = str(error)
    if "No usable sandbox" in text:
        return NO_USABLE_SANDBOX
    printed = re.findall(r"\[err\] (.*)", text)
    return printed[-1][:200] if printed else _first_line(error)


def _first_line(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:200]
