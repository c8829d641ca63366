"""A drawn site with links that its HTML does not show, what is true of its pages, and a server that answers for it."""

import random
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from tests.acting_urls import acting_urls
from tests.trials.audit.site import WORDS

from .scripts import DISTRACTORS, Block, Link, Parts, drawn_block

URL = "http://www.tides.example/"
SECTIONS = ("guides", "news", "shop", "travel", "recipes", "team")
TURNS = ("request", "session", "hour", "day")  # when a box shows other links
SLOW = {"hour": 1, "day": 2}  # the number of audits in which such a box shows one and the same
POOLS = (2, 4, 8, 20, 60)
BOXES = ("related", "tag-cloud", "popular", "banner")
LANDING = ("spring-offer", "webinar", "lp/b2b-q2", "promo-7b", "partner", "x9", "go/harbour-tour", "2026/open-day")
SCRIPTED = ("menu", "cards", "footer", "more")
TYPES = {".js": "text/javascript", ".json": "application/json", ".xml": "application/xml"}


@dataclass
class Page:
    """One page. ``truth`` is how a visitor gets there: "html", "script", "box" or "nothing"."""

    path: str
    title: str
    text: str
    truth: str
    section: str = ""
    links: list[str] = field(default_factory=list)
    turn: str = ""  # of the box that shows it


@dataclass(frozen=True)
class Box:
    """A box that shows so many links of a pool, each time others."""

    name: str
    pool: tuple[str, ...]
    shown: int
    turn: str
    where: str  # "all", "home" or a section

    def turning(self, turn: str) -> "Box":
        """The same box that turns at other times."""
        return replace(self, turn=turn)

    def links(self, name: str, key: object) -> list[str]:
        return random.Random(f"{name} {self.name} {key}").sample(self.pool, self.shown)


@dataclass(frozen=True)
class Scripted:
    """A block of a script, and where it stands: "all", "home" or a section."""

    place: str
    block: Block
    where: str


@dataclass(frozen=True)
class Seen:
    """A request that the server had."""

    target: str
    agent: str
    status: int


class Site:
    """The site that a name draws; ``hours`` is its clock. ``acted`` has the requests that changed something."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.dice = dice = random.Random(f"dynamic {name}")
        self.pages: dict[str, Page] = {}
        self.boxes: list[Box] = []
        self.scripted: list[Scripted] = []
        self.hours = 0
        self.acting: set[str] = set()
        self.seen: list[Seen] = []
        self.log: Path | None = None  # where the server writes its own requests
        self.listed: list[str] = []
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}
        self._titles: set[str] = set()
        self.ending = dice.choice(("", "/", ".html"))
        self.sections = dice.sample(SECTIONS, dice.randint(2, 4))
        self.is_plain = dice.random() < 0.15  # no script, no box
        self.is_shell = not self.is_plain and dice.random() < 0.12  # a script builds the first links
        self.has_static_menu = not self.is_shell and dice.random() < 0.6
        self._draw_sections()
        if not self.is_plain:
            for number in range(dice.choice((0, 1, 1, 2, 3))):
                self._draw_scripted(number)
            for number in range(dice.choice((0, 0, 1, 1, 2))):
                self._draw_box(number)
        chosen = [] if self.is_plain else dice.sample(list(DISTRACTORS), dice.randint(0, 5))
        self.distractors = [DISTRACTORS[each](dice) for each in chosen]
        self._draw_orphans()
        self.files = self.drawn_files()

    # ------------------------------------------------------------ what is drawn

    def _title(self) -> str:
        while (title := " ".join(self.dice.sample(WORDS, 2))) in self._titles:
            pass
        self._titles.add(title)
        return title

    def _page(self, path: str, truth: str, section: str = "", title: str = "") -> Page:
        text = "".join(f"<p>{' '.join(self.dice.choices(WORDS, k=45))}.</p>" for _ in range(2))
        page = Page(path, (title or self._title()).capitalize(), text, truth, section)
        self.pages[path] = page
        return page

    def _fresh(self, truth: str, count: int) -> list[Page]:
        """New pages in the sections, that nothing links to yet."""
        made = []
        for _ in range(count):
            section, title = self.dice.choice(self.sections), self._title()
            path = f"/{section}/{title.replace(' ', '-')}{self.ending}"
            made.append(self._page(path, truth, section, title))
        return made

    def _draw_sections(self) -> None:
        home, truth = self._page("/", "html"), "script" if self.is_shell else "html"
        for section in self.sections:
            front = self._page(f"/{section}/", truth, section, section)
            home.links.append(front.path)
            titles = [self._title() for _ in range(self.dice.randint(3, 7))]
            paths = [f"/{section}/{title.replace(' ', '-')}{self.ending}" for title in titles]
            front.links += paths
            for path, title in zip(paths, titles, strict=True):
                page = self._page(path, truth, section, title)
                page.links += [front.path, *self.dice.sample(paths, min(3, len(paths)))]
        if self.is_shell:
            links = [Link(path, self.pages[path].title) for path in home.links]
            home.links.clear()
            self.scripted.append(Scripted("cards", drawn_block(self.dice, "app", links), "home"))

    def _draw_scripted(self, number: int) -> None:
        place = self.dice.choice(SCRIPTED)
        pages = self._fresh("script", self.dice.randint(1, 6))
        where = {"cards": "home", "more": self.dice.choice(self.sections)}.get(place, "all")
        block = drawn_block(self.dice, f"{place}{number}", [Link(page.path, page.title) for page in pages])
        self.scripted.append(Scripted(place, block, where))
        for page in self._fresh("script", self.dice.choice((0, 0, 1, 2))):  # behind a page that only a script shows
            pages[0].links.append(page.path)

    def _draw_box(self, number: int) -> None:
        pool = self._fresh("box", self.dice.choice(POOLS))
        turn = self.dice.choice(TURNS)
        for page in pool:
            page.turn = turn
        known = [path for path, page in self.pages.items() if page.truth == "html" and path != "/"]
        paths = [page.path for page in pool] + self.dice.sample(known, min(len(known), self.dice.choice((0, 2, 4))))
        kind = self.dice.choice(BOXES)
        shown = 1 if kind == "banner" else min(len(paths) - 1, self.dice.choice((1, 3, 5)))
        where = self.dice.choice(("all", "home", self.dice.choice(self.sections)))
        self.boxes.append(Box(f"{kind}{number}", tuple(paths), max(1, shown), turn, where))

    def _draw_orphans(self) -> None:
        names = [each.url for each in acting_urls("shown") if each.kind == "honest" and _is_plain(each.url)]
        drawn = [*self.dice.sample(names, self.dice.randint(2, 4))]
        drawn += [f"/{name}{self.ending}" for name in self.dice.sample(LANDING, self.dice.randint(1, 3))]
        for path in drawn:
            if path not in self.pages:
                self._page(path, "nothing")
        self._fresh("nothing", self.dice.randint(0, 3))  # beside pages that are linked

    def drawn_files(self) -> dict[str, tuple[str, str]]:
        files: dict[str, tuple[str, str]] = {}
        for parts in [*self.distractors, *(each.block.parts() for each in self.scripted)]:
            files.update(parts.files)
        return files

    # ------------------------------------------------------------ what is true

    def paths(self, truth: str) -> set[str]:
        return {path for path, page in self.pages.items() if page.truth == truth}

    def page(self, target: str) -> Page | None:
        """The page at a target, however its path is escaped; its query says nothing."""
        path = unquote(urlsplit(target).path)
        return self.pages.get(path) or self.pages.get(quote(path))

    def acts(self, target: str) -> bool:
        """Whether a target acts, whatever the values of its parameters."""
        return shape(target) in {shape(each) for each in self.acting}

    @property
    def acted(self) -> list[str]:
        """The requests for URLs that act."""
        return [each.target for each in self.seen if self.acts(each.target)]

    # ------------------------------------------------------------ what is answered

    def answer(self, target: str, cookie: str) -> tuple[int, str, str, str]:
        """Status, Content-Type, body, and the cookie of a new session or ""."""
        path = unquote(urlsplit(target).path)
        if path == "/robots.txt":
            return 200, "text/plain", f"User-agent: *\nDisallow:\nSitemap: {URL}sitemap.xml\n", ""
        if path == "/sitemap.xml":
            return 200, TYPES[".xml"], self._sitemap(), ""
        if path in self.files:
            return 200, *self.files[path], ""
        page = self.page(target)
        if page is None:
            is_known = self.acts(target)
            status, title = (200, "Done") if is_known else (404, "Not found")
            page = Page(path, title, f"<p>{'It is done.' if is_known else 'There is no such page.'}</p>", "")
            return status, "text/html; charset=utf-8", self._render(page, 0, ""), ""
        with self._lock:
            count = self._counts[path] = self._counts.get(path, 0) + 1
        new = "" if "sid=" in cookie else f"sid={random.Random(f'{self.name} {path} {count}').getrandbits(64):x}"
        return 200, "text/html; charset=utf-8", self._render(page, count, new or cookie), new

    def _sitemap(self) -> str:
        entries = "".join(f"<url><loc>{URL}{path[1:].replace('&', '&amp;')}</loc></url>" for path in self.listed)
        return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'

    def stands(self, where: str, page: Page) -> bool:
        return where == "all" or (where == "home" and page.path == "/") or (where == page.section != "")

    def _render(self, page: Page, count: int, session: str) -> str:
        parts: dict[str, Parts] = {}
        for each in self.scripted:
            if self.stands(each.where, page):
                parts[each.place] = _joined(parts.get(each.place, Parts()), each.block.parts())
        chrome = [*parts.values(), *self.distractors]
        menu = _list(self.pages[f"/{each}/"] for each in self.sections) if self.has_static_menu else ""
        boxes = "".join(self.box(each, page, count, session) for each in self.boxes if self.stands(each.where, page))
        at = {place: parts[place].place if place in parts else "" for place in SCRIPTED}
        at["menu"] += "".join(each.place for each in self.distractors)
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{page.title}</title>'
            f"{''.join(each.head for each in chrome)}</head><body>"
            f'<header><a href="/">Tides</a>{menu}{at["menu"]}</header>'
            f"<main><h1>{page.title}</h1>{page.text}{_list(self.pages[path] for path in page.links)}"
            f"{at['cards']}{at['more']}{boxes}</main>"
            f'<footer>{at["footer"]}<p>Tides <span id="year">2026</span></p></footer>'
            f"{''.join(each.end for each in chrome)}</body></html>"
        )

    def box(self, box: Box, page: Page, count: int, session: str) -> str:
        keys = {"request": (page.path, count), "session": session, "hour": self.hours, "day": self.hours // 24}
        shown = box.links(self.name, keys[box.turn])
        return f'<aside class="{box.name}">{_list(self.pages[path] for path in shown)}</aside>'

    def note(self, target: str, agent: str, status: int) -> None:
        """Remember a request, and write it into the log that the audit reads, if there is one."""
        with self._lock:
            self.seen.append(Seen(target, agent, status))
            if self.log:
                now = f"{datetime.now(UTC):%d/%b/%Y:%H:%M:%S} +0000"
                with self.log.open("a") as log:
                    log.write(f'127.0.0.1 - - [{now}] "GET {target} HTTP/1.1" {status} 5120 "-" "{agent}"\n')


def _joined(one: Parts, other: Parts) -> Parts:
    return Parts(one.place + other.place, one.head + other.head, one.end + other.end)


def _list(pages: Iterable[Page]) -> str:
    items = [f'<li><a href="{page.path}">{page.title}</a></li>' for page in pages]
    return f"<ul>{''.join(items)}</ul>"


def _is_plain(url: str) -> bool:
    """Whether a URL can be the name of a page of ours: no query, and no file."""
    return "?" not in url and url.rpartition(".")[2] not in {"pdf", "zip", "ics"}


def shape(target: str) -> tuple[str, tuple[str, ...]]:
    """A URL without the values of its parameters."""
    parts = urlsplit(target)
    return unquote(parts.path), tuple(sorted(name for name, _ in parse_qsl(parts.query, keep_blank_values=True)))


@contextmanager
def served(site: Site) -> Iterator[str]:
    """Serve it on the loopback address; the URL of the server."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            status, kind, text, session = site.answer(self.path, self.headers.get("Cookie", ""))
            site.note(self.path, self.headers.get("User-Agent", "-"), status)
            body = text.encode()
            with suppress(OSError):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                if session:
                    self.send_header("Set-Cookie", f"{session}; Path=/")
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """A visitor may go at any time."""

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()
