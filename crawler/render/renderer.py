"""Reads pages as their scripts leave them, where that differs from the raw response, and says so.

::

    raw page | template: raw, rendered, compare | browser | parser processes | merged page
"""

import hashlib
import logging
import sqlite3
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import anyio
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from crawler.errors import UsageError
from crawler.model import DiscoveredBy, FetchedDocument, Page, PreviousVisit, Reply, Url
from crawler.parse.html.scripts import UNRUN
from crawler.parse.pool import ParsePool
from crawler.parse.snapshot.snapshot import load_markup
from crawler.render.document import BrowserOptions, RenderedDocument, RenderError, RenderLimits
from crawler.render.resources import PageResources, ResourceRoad
from crawler.render.templates import Choice, RawPage, TemplateRecord, Templates, differences, raw_page, words_of
from crawler.state.database import storage_errors
from crawler.state.store import read_about, write_about
from crawler.units import count_text

if TYPE_CHECKING:  # Playwright is loaded with the first page that is rendered
    from crawler.render.browser import Chromium

log = logging.getLogger(__name__)
_KEY: Final = "render templates"
_ATTEMPTS: Final = 2
MAX_NOTES: Final = 10
_LATE: Final = (
    "read as sent before rendering changed another page of the same template. The next run renders all of them"
)


class RenderTally(Struct):
    """How many pages were rendered, compared and left raw, how many failed; seconds spent in the browser."""

    rendered: int = 0
    compared: int = 0
    raw: int = 0
    cut: int = 0
    failed: int = 0
    seconds: float = 0.0


class RenderOptions(Struct, frozen=True):
    """``is_always``: every page is rendered, whatever its template. At most ``concurrency`` pages are open at once.

    One page may take ``deadline`` seconds in all, with the time for which its requests wait for their turn.
    """

    is_always: bool = False
    concurrency: int = 8
    deadline: float = 120.0
    limits: RenderLimits = RenderLimits()
    browser: BrowserOptions = BrowserOptions()


class Renderer:
    """Decides which pages are rendered, and reads these. ``problem`` says why nothing can be rendered, or is ""."""

    def __init__(self, road: ResourceRoad, pool: ParsePool, templates: Templates, options: RenderOptions) -> None:
        self.tally = RenderTally()
        self.problem = ""
        self._chromium: Chromium | None = None
        self._road = road
        self._pool = pool
        self._templates = templates
        self._options = options
        self._empty = 0  # pages that look empty and cannot be rendered
        self._slots = anyio.Semaphore(options.concurrency)
        self._learned = anyio.Event()
        self._opening = anyio.Lock()

    async def read(self, reply: Reply, raw: Page, previous: PreviousVisit | None) -> Page:
        """The page of a reply whose raw reading is ``raw``: that, or the rendered one with what counts of both."""
        if not _may_differ(raw):
            return raw
        page = raw_page(reply.url, raw)
        choice = await self._choose(page, raw)
        if choice is Choice.RAW:
            self.tally.raw += 1
            return raw if self.problem else judged(raw)
        try:
            document, resources = await self._open_of_template(page, reply)
        except RenderError as error:
            self.tally.failed += 1
            return replace(raw, faults=[*raw.faults, f"reading stopped after the raw page: {error}"])
        except UsageError as error:  # it will not get better
            if self._options.is_always:
                raise
            self.problem = str(error)
            self._empty += _may_be_empty(raw)
            return raw
        else:
            rendered = await self._parse_after(previous, reply, document)
            if any(url == rendered.refresh and found & DiscoveredBy.REFRESH for url, found in raw.links):
                rendered = replace(rendered, refresh=None)  # a slow refresh of the page itself, which is a link
            if choice is Choice.COMPARE and not self._learn(page, raw, rendered, resources):
                return judged(raw)
        finally:
            if choice is Choice.COMPARE:
                self._templates.end_comparison(page)
                self._wake()
        self.tally.rendered += 1
        self.tally.cut += bool(document.cut)
        return merge(raw, rendered, document, resources)

    async def _choose(self, page: RawPage, raw: Page) -> Choice:
        """What to do with a page, after the comparisons that it must wait for."""
        if self.problem:
            self._empty += _may_be_empty(raw)
            return Choice.RAW
        if self._options.is_always:
            return Choice.RENDER
        while (choice := self._templates.choose(page)) is Choice.WAIT:
            await self._learned.wait()
        return choice

    def _learn(self, page: RawPage, raw: Page, rendered: Page, resources: PageResources) -> bool:
        """Whether the two readings of a page differ."""
        words = (words_of(load_markup(reading.text)) for reading in (raw, rendered))
        found = differences(page.url, raw, rendered, *words)
        self._templates.learn(page, found, _digest(resources.scripts))
        self.tally.compared += 1
        return bool(found)

    async def read_again(self, reply: Reply, known: bytes, before: bytes) -> Page:
        """Render a page once more and compare it with its first reading: its digest and text."""
        try:
            document, _ = await self._open(reply)
        except (RenderError, UsageError):
            return Page(is_html=False)
        return await self._parse(reply, document, known, before)

    async def read_both(self, reply: Reply, raw: Page) -> tuple[Page, Page]:
        """A page as the browser shows it, and what counts of that and of ``raw``. Decides nothing for its template.

        Raises RenderError, UsageError.
        """
        document, resources = await self._open(reply)
        rendered = await self._parse(reply, document, b"", b"")
        return rendered, merge(raw, rendered, document, resources)

    def is_rendered(self, url: Url, page: Page) -> bool:
        """Whether a page that was read before is read by rendering: a 304 says nothing about what scripts draw.

        So is a page that no browser read, because there was none.
        """
        if page.rendered or self.problem:
            return page.rendered
        is_unread = _may_differ(page) and judged(page) is not page
        return is_unread or self._templates.is_rendered(url, page.scripts)

    def notes(self) -> list[str]:
        """What was rendered and what it cost, in sentences."""
        tally = self.tally
        if self._empty:
            return [f"{count_text(self._empty, 'page')} that scripts may fill could not be rendered: {self.problem}"]
        if not (tally.rendered or tally.compared or tally.failed):
            return []
        cut = f", {tally.cut:,} of them not to their end" if tally.cut else ""
        failed = f"; {count_text(tally.failed, 'page')} could not be rendered" if tally.failed else ""
        text = (
            f"{count_text(tally.rendered, 'page')} rendered with Chromium{cut}, {tally.raw:,} read as sent, judged by "
            f"{tally.compared:,} read both ways; {count_text(self._road.fetched, 'request')} for scripts and data, "
            f"{tally.seconds:,.0f} s in the browser{failed}"
        )
        late = self._templates.late
        return [text, *([f"{count_text(late, 'page')} {_LATE}"] if late else [])]

    def store(self, db: sqlite3.Connection) -> None:
        """Keep the decisions for the next run. Raises StorageError."""
        text = msgspec.json.encode(self._templates.records()).decode()
        with storage_errors():
            write_about(db, _KEY, text)
            if db.in_transaction:
                db.execute("COMMIT")

    def _wake(self) -> None:
        self._learned.set()
        self._learned = anyio.Event()

    async def _open_of_template(self, page: RawPage, reply: Reply) -> tuple[RenderedDocument, PageResources]:
        """The page in a browser, unless too many pages of its template failed. Raises RenderError."""
        if self._templates.has_given_up(page):
            raise RenderError("the browser failed on too many pages of the same template")
        try:
            opened = await self._open(reply)
        except RenderError:
            self._templates.record_end(page, has_failed=True)
            raise
        self._templates.record_end(page, has_failed=False)
        return opened

    async def _open(self, reply: Reply) -> tuple[RenderedDocument, PageResources]:
        """The page in a browser, which starts with the first page. Raises RenderError."""
        async with self._slots:
            chromium = await self.open()
            for attempt in range(_ATTEMPTS):
                resources = PageResources(self._road)
                started = anyio.current_time()
                try:
                    return await self._render(chromium, reply, resources), resources
                except RenderError as error:
                    if attempt + 1 == _ATTEMPTS:
                        raise
                    log.info("%s is rendered again: %s", reply.url, error)
                finally:
                    self.tally.seconds += anyio.current_time() - started - resources.waited
        raise AssertionError("rendering ended without a page and without an error")

    async def _render(self, chromium: "Chromium", reply: Reply, resources: PageResources) -> RenderedDocument:
        from crawler.render.page import NoEmptyPage, render  # noqa: PLC0415 - with Playwright

        async with chromium.context() as context:
            try:
                with anyio.fail_after(self._options.deadline):
                    return await render(context, reply, resources, self._options.limits)
            except NoEmptyPage:
                chromium.retire(context)
                raise
            except TimeoutError:
                chromium.replace(context, f"it did not respond for {reply.url}")
                raise

    async def open(self) -> "Chromium":
        """The browser, which starts with the first page. Raises UsageError when there is none."""
        from crawler.render.browser import Chromium  # noqa: PLC0415 - with Playwright

        async with self._opening:
            if self._chromium is None:
                chromium = Chromium(self._options.browser)
                await chromium.open()
                self._chromium = chromium
            return self._chromium

    async def close(self) -> None:
        """Close the browser."""
        if self._chromium:
            with anyio.CancelScope(shield=True):
                await self._chromium.close()

    async def _parse_after(self, previous: PreviousVisit | None, reply: Reply, document: RenderedDocument) -> Page:
        """The rendered page, compared with the previous visit if that was rendered too."""
        before = previous.page if previous and previous.rendered else None
        if previous is None or before is None:
            return await self._parse(reply, document, b"", b"")
        rendered = await self._parse(reply, document, previous.digest, previous.text)
        return replace(before, digest=rendered.digest, text=previous.text) if rendered.is_known else rendered

    async def _parse(self, reply: Reply, document: RenderedDocument, known: bytes, before: bytes) -> Page:
        """The rendered markup, read as any page, and compared with an earlier reading."""
        headers = tuple(pair for pair in reply.headers if pair[0] != "content-type")
        body = document.markup.encode("utf-8", "replace")
        whole = replace(reply, body=body, headers=(*headers, ("content-type", "text/html; charset=utf-8")))
        read = FetchedDocument.of_reply(whole, known=known, before=before)
        # A script that leads to another page of the host is a redirect, as for search engines. To another host may also
        # lead an advertisement, or what is only for visitors from some countries.
        hosts = {(urlsplit(url).hostname or "").removeprefix("www.") for url in (document.left_for, reply.url)}
        return await self._pool.read(replace(read, refresh=f"0;url={document.left_for}") if len(hosts) == 1 else read)


def merge(raw: Page, rendered: Page, document: RenderedDocument, resources: PageResources) -> Page:
    """The page that counts. Raw noindex and raw canonicals win, as they do for Google.

    https://developers.google.com/search/docs/crawling-indexing/javascript/javascript-seo-basics
    """
    notes = []
    canonicals, faults = rendered.canonicals, rendered.canonical_faults
    if raw.canonicals and raw.canonicals != rendered.canonicals:
        canonicals, faults = raw.canonicals, raw.canonical_faults
        shown = rendered.canonicals[0] if rendered.canonicals else "none"
        notes.append(f"render.canonical: the canonical is {raw.canonicals[0]} as sent, and {shown} when rendered")
    if bool(raw.noindex) != bool(rendered.noindex):
        notes.append(f"render.noindex: noindex is {'taken away' if raw.noindex else 'added'} by a script")
    sent = {url for url, found in raw.links if found & DiscoveredBy.LINK}
    added = {url: None for url, found in rendered.links if found & DiscoveredBy.LINK and url not in sent}
    links = [(url, found | DiscoveredBy.SCRIPT if url in added else found) for url, found in rendered.links]
    if added:
        notes.append(f"render.links: {count_text(len(added), 'link')} only when rendered, such as {next(iter(added))}")
    if raw.title != rendered.title:
        notes.append(f'render.title: the title is "{raw.title}" as sent, and "{rendered.title}" when rendered')
    if document.routes:
        routes = count_text(len(document.routes), "link")
        notes.append(f"render.hash: {routes} such as {document.routes[0]}")
    if document.addresses:
        notes.append(f"render.address: a script changes the address of the page to {document.addresses[0]}")
    if document.cut:
        notes.append(f"render.cut: {document.cut}")
    if document.left_for:
        notes.append(f"render.redirect: a script leads to {document.left_for}")
    notes += [f"render.blocked: {url} is blocked by robots.txt ({why})" for url, why in resources.blocked.items()]
    partial = [
        f"reading stopped after {url} could not be fetched: {why}" for url, why in [*resources.failed.items()][:1]
    ]
    return replace(
        rendered,
        links=links,
        canonicals=canonicals,
        canonical_faults=faults,
        noindex=raw.noindex or rendered.noindex,
        nofollow=raw.nofollow or rendered.nofollow,
        engine_noindex=raw.engine_noindex or rendered.engine_noindex,
        refresh=raw.refresh or rendered.refresh,
        by_header=raw.by_header,
        faults=[*rendered.faults, *partial],
        scripts=raw.scripts,
        rendered=True,
        notes=[*judged(raw).notes, *notes[:MAX_NOTES]],
        is_known=False,
    )


def _may_differ(raw: Page) -> bool:
    """Whether a raw page can be rendered at all: HTML with scripts, without a noindex or a refresh elsewhere.

    Google takes a raw noindex as final, and does not render such pages.
    """
    return raw.is_html and bool(raw.scripts) and not raw.noindex and raw.refresh is None and not raw.fallback


def judged(page: Page) -> Page:
    """The page without the doubt about scripts that were not run: the page itself if it has none."""
    notes = [note for note in page.notes if not note.startswith(UNRUN)]
    return page if len(notes) == len(page.notes) else replace(page, notes=notes)


def _may_be_empty(raw: Page) -> bool:
    """Whether a page has an empty place, and a script of the site that may fill it."""
    return judged(raw) is not raw and any(script.startswith("<") for script in raw.scripts)


def _digest(scripts: dict[str, str]) -> str:
    return hashlib.blake2b(repr(sorted(scripts.items())).encode(), digest_size=8).hexdigest()


def known_templates(db: sqlite3.Connection) -> dict[str, TemplateRecord]:
    """The decisions of the runs before. Raises StorageError."""
    with storage_errors():
        text = read_about(db, _KEY)
    try:
        return msgspec.json.decode(text, type=dict[str, TemplateRecord]) if text else {}
    except msgspec.MsgspecError:  # another version wrote it: decide anew
        return {}
