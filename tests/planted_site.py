"""A made site of 2,000 pages with planted members of every class of an audit, near misses of each, and the truth.

:func:`plant` builds it, from nothing but the origin it is to be served at; :func:`planted_sources.write` writes what
the world knows of it; :func:`serving` answers for it on the loopback address.
"""

import asyncio
import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from urllib.parse import quote, unquote

HOST = "shop.example"
PAGES = 2_000
MAX_CLICKS = 4
# The planted logs have next to no search engines, and no planted page is larger than Googlebot reads:
# tests/test_bot_activity.py and tests/test_audit_sources.py prove the rules about them, and tests/test_audit_links.py
# those about what pages show. No run has published the planted site: tests/test_url_register.py proves lost URLs.
APART = {"bots", "render", "google", "place", "target", "page", "lost"}
"""The families of rules that nothing is planted for."""

_SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo yu za bri cla dro fle gra plu sto tri"
SECTIONS = {
    "guides": ("garden", "kitchen", "camera", "bicycle", "roof"),
    "news": ("harvest", "market", "harbour", "council", "weather"),
    "recipes": ("soup", "bread", "salad", "pickle", "cake"),
    "shop": ("lamps", "chairs", "knives", "carpets", "clocks"),
    "travel": ("rivers", "islands", "castles", "railways", "caves"),
    "stories": ("sailors", "weavers", "miners", "millers", "smiths"),
}
_PER_LIST = 15


@dataclass
class Leaf:
    """One page that answers 200 with HTML. ``links`` are hrefs with their rel, ``trail`` the paths of its breadcrumbs.

    ``crumbs`` says whether JSON-LD states them, ``canonical`` is a path, or "" for none.
    """

    path: str
    title: str
    words: str
    trail: tuple[str, ...] = ()
    links: list[tuple[str, str]] = field(default_factory=list)
    head: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    canonical: str = ""
    robots: str = ""
    lang: str = "en"
    modified: str = ""
    crumbs: bool = True


@dataclass
class Entry:
    """An entry of the sitemap. ``loc`` is a path as it is written there, or a URL."""

    loc: str
    lastmod: str = ""
    inner: str = ""  # XML of extensions
    news: bool = False  # in the second file, which is packed


@dataclass
class Hits:
    """Requests for a target as it stands in the log, spread evenly from the first day to the last."""

    target: str
    status: int  # 0: what it answers now
    people: int
    bots: int
    first: str
    last: str


@dataclass
class Answer:
    """What a path answers that is no page. Status 0 closes the connection."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


class Planted:
    """The site. ``truth`` has the exact set of URLs of each rule, ``hubs`` the page that should link to an orphan."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.pages: dict[str, Leaf] = {}
        self.answers: dict[str, Answer] = {}
        self.www: set[str] = set()  # what answers with www. as well, where all else redirects
        self.entries: list[Entry] = []
        self.truth: dict[str, set[str]] = {}
        self.hubs: dict[str, str] = {}
        self.hits: list[Hits] = []
        self.searched: list[tuple[str, int, int]] = []  # as the export writes it, clicks, impressions
        self.analysed: list[tuple[str, int]] = []  # path as the export writes it, sessions
        self.backlinks: list[tuple[str, str]] = []  # from, to
        self.noted: list[str] = []
        self.crawled: list[str] = []  # by another crawler, besides some of the pages
        self.navigation: list[str] = ["/"]
        self.rng = random.Random(5)
        self.vocabulary: dict[str, list[str]] = {}

    def url(self, path: str) -> str:
        """The URL of a path, as the product writes it; what is one already stays as it is."""
        home = self.origin if path.startswith("/") else ""
        return home + quote(path, safe="/?=&~-._:@!$'()*+,;%")

    def words(self, topic: str, count: int = 30) -> str:
        """A text about a topic: half its own words, half everybody's."""
        own = self._vocabulary(topic)
        common = self._vocabulary("")
        return " ".join(self.rng.choice(own if self.rng.random() < 0.5 else common) for _ in range(count))

    def _vocabulary(self, topic: str) -> list[str]:
        if topic not in self.vocabulary:
            made = random.Random(f"words of {topic}")
            self.vocabulary[topic] = [topic] * bool(topic) + [
                "".join(made.choice(_SYLLABLES.split()) for _ in range(made.randrange(2, 4))) for _ in range(12)
            ]
        return self.vocabulary[topic]

    def page(
        self, path: str, topic: str = "", *, listed: bool = True, trail: tuple[str, ...] = (), **more: object
    ) -> Leaf:
        """Add a page, and its entry in the sitemap."""
        assert path not in self.pages, path
        title = f"{topic} {self.words(topic, 3)} {len(self.pages)}".strip().capitalize()
        leaf = Leaf(path, title, self.words(topic, 40), trail, **more)  # type: ignore[arg-type]
        if not leaf.modified:
            leaf.modified = f"2025-{self.rng.randrange(1, 10):02}-{self.rng.randrange(1, 29):02}"
        self.pages[path] = leaf
        if listed:
            self.list(path, leaf.modified, news=path.startswith("/news/"))
        return leaf

    def list(self, loc: str, lastmod: str = "2025-03-03", inner: str = "", *, news: bool = False) -> None:
        """Add an entry to the sitemap."""
        self.entries.append(Entry(loc, lastmod, inner, news))

    def link(self, source: str, *targets: str, rel: str = "") -> None:
        """Let a page link to others."""
        self.pages[source].links.extend((target, rel) for target in targets)

    def redirect(self, path: str, target: str, status: int = 301) -> None:
        """Answer a path with a redirect."""
        self.answers[path] = Answer(status, headers={"Location": target})

    def gone(self, path: str, status: int = 404) -> None:
        """Answer a path with an error."""
        self.answers[path] = Answer(status, b"nothing here")

    def visited(
        self,
        target: str,
        people: int = 0,
        bots: int = 0,
        days: tuple[str, str] = ("2025-01-10", "2025-09-20"),
        status: int = 0,
    ) -> None:
        """The log has requests for a target, which answered as it does now unless a status is given."""
        self.hits.append(Hits(target, status, people, bots, *days))

    def searches(self, text: str, clicks: int = 3, impressions: int = 90) -> None:
        """The export of the search engine has a row for a URL; a path is one of the site's."""
        self.searched.append((self.origin + text if text.startswith("/") else text, clicks, impressions))

    def well(self, *paths: str) -> None:
        """Link to pages as well as to any other."""
        for path in paths:
            self.link("/about/", quote(path, safe="/?=&~%"))
            self.link("/world/", quote(path, safe="/?=&~%"))

    def expect(self, rule: str, *paths: str, hub: str = "") -> None:
        """The truth: these fall under a rule. ``hub`` is the page that should be suggested to link to them."""
        for path in paths:
            self.truth.setdefault(rule, set()).add(self.url(path))
            if hub:
                self.hubs[self.url(path)] = self.url(hub)

    @cached_property
    def _folded(self) -> dict[str, str]:
        return {path.lower(): path for path in self.pages}

    def answer(self, target: str) -> Answer:
        """What a request target answers, once all is planted."""
        path, mark, query = unquote(target).partition("?")
        target = path + mark + "&".join(sorted(query.split("&")))
        if answer := self.answers.get(target) or self.answers.get(path):
            return answer
        leaf = self.pages.get(target) or self.pages.get(path)  # unknown parameters change nothing
        if leaf is None and (found := self._variant(path)):
            if isinstance(found, Answer):
                return found
            leaf = found
        if leaf is None:
            return Answer(404, b"<title>Not found</title>nothing here", {"Content-Type": "text/html"})
        headers = {"Content-Type": "text/html; charset=utf-8", **leaf.headers}
        return Answer(200, self.render(leaf).encode(), headers)

    def _variant(self, path: str) -> Leaf | Answer | None:
        """Another spelling, as servers take them: merged slashes, index files, slashes at the end, case."""
        merged = path
        while "//" in merged:
            merged = merged.replace("//", "/")
        if merged != path:
            return self.pages.get(merged)
        if path.endswith("/index.html"):
            return self.pages.get(path.removesuffix("index.html"))
        other = path.removesuffix("/") if path.endswith("/") else f"{path}/"
        if other in self.pages:
            return Answer(301, headers={"Location": quote(other)})
        if not path.lower().startswith("/docs/"):  # which has an eye for case; all others redirect
            for spelling in (path.lower(), other.lower()):
                if spelling in self._folded:
                    return Answer(301, headers={"Location": quote(self._folded[spelling])})
        return None

    def render(self, leaf: Leaf) -> str:
        """The page as it is sent."""
        head = [f"<title>{escape(leaf.title)}</title>", *leaf.head]
        if leaf.robots:
            head.append(f'<meta name="robots" content="{leaf.robots}">')
        if leaf.canonical:
            head.append(f'<link rel="canonical" href="{escape(self.url(leaf.canonical))}">')
        data: list[dict[str, object]] = []
        if leaf.trail and leaf.crumbs:
            steps = [
                {"@type": "ListItem", "position": n, "item": self.url(path), "name": self.pages[path].title}
                for n, path in enumerate((*leaf.trail, leaf.path), 1)
            ]
            data.append({"@type": "BreadcrumbList", "itemListElement": steps})
        if leaf.modified and leaf.trail:
            data.append({"@type": "Article", "headline": leaf.title, "dateModified": leaf.modified})
        head += [
            f'<script type="application/ld+json">{json.dumps({"@context": "https://schema.org", **each})}</script>'
            for each in data
        ]
        shown = [(path, "") for path in leaf.trail] if leaf.crumbs else []
        shown = [*((path, "") for path in self.navigation), *shown]
        anchors = "\n".join(
            f'<a href="{escape(href)}"{f" rel={chr(34)}{rel}{chr(34)}" if rel else ""}>{escape(href)}</a>'
            for href, rel in (*shown, *leaf.links)
        )
        return (
            f'<!doctype html><html lang="{leaf.lang}"><head>{"".join(head)}</head><body>'
            f"<h1>{escape(leaf.title)}</h1><p>{leaf.words}</p>\n{anchors}\n"
            f"<footer>Made by {HOST}</footer></body></html>"
        )


def hub(section: str, topic: str) -> str:
    """The path of a hub."""
    return f"/{section}/{topic}/"


def ordinary(site: Planted) -> None:
    """The site as its makers meant it: nothing in it is a finding."""
    site.page("/")
    site.navigation += [f"/{section}/" for section in SECTIONS]
    site.navigation += ["/Team/", "/Docs/", "/world/", "/about/", "/login/"]
    site.page("/about/")
    site.page("/login/", listed=False, robots="noindex, follow")
    for name in ("Team", "Docs", "world"):
        site.page(f"/{name}/", name.lower(), trail=("/",))
    people = ("Ada-Meyer", "Jürgen-Groß", "Bo-Li", "Ana-Ruiz", "Ian-Mac~Kay")
    _ring(site, [f"/Team/{name}" for name in people], "team", ("/", "/Team/"))
    _ring(site, [f"/Docs/{n}" for n in ("Install", "Setup", "Upgrade", "FAQ")], "docs", ("/", "/Docs/"))
    for section, topics in SECTIONS.items():
        site.page(f"/{section}/", section, trail=("/",))
        for topic in topics:
            site.page(hub(section, topic), topic, trail=("/", f"/{section}/"))
            site.link(f"/{section}/", hub(section, topic))


def _ring(site: Planted, paths: list[str], topic: str, trail: tuple[str, ...]) -> None:
    """Pages of one parent: it links to each, and each to the one before and the one after it."""
    for n, path in enumerate(paths):
        leaf = site.page(path, topic, trail=trail, canonical=path if n % 3 else "")
        for other in (paths[n - 1], paths[(n + 1) % len(paths)]):
            leaf.links.append((quote(other), ""))
        site.link(trail[-1], quote(path))


def fill(site: Planted, pages: int) -> None:
    """Articles, in paginated lists, until there are as many pages as there should be."""
    hubs = [(section, topic) for section, topics in SECTIONS.items() for topic in topics]
    missing = pages - len(site.pages)
    per_hub, rest = divmod(missing, len(hubs))
    for number, (section, topic) in enumerate(hubs):
        _fill_hub(site, section, topic, per_hub + (number < rest))


def _fill_hub(site: Planted, section: str, topic: str, pages: int) -> None:
    """Exactly so many pages: the later pages of the list, and the articles on all of them."""
    top = hub(section, topic)
    lists = next(n for n in range(1, pages) if pages - (n - 1) <= n * _PER_LIST)
    articles = [f"{top}{topic}-{n:03}/" for n in range(pages - (lists - 1))]
    shelves = [top] + [f"{top}page/{n}/" for n in range(2, lists + 1)]
    trail = ("/", f"/{section}/", top)
    for path in shelves[1:]:
        site.page(path, topic, trail=trail, canonical=path)
    for shelf in shelves:
        site.link(shelf, *(path for path in shelves if path != shelf))
    for n, path in enumerate(articles):
        leaf = site.page(path, topic, trail=trail, canonical=path if n % 2 else "")
        near = (articles[n - 1], articles[(n + 1) % len(articles)], articles[n * 7 % len(articles)])
        leaf.links += [(other, "") for other in dict.fromkeys(near)]
        site.link(shelves[n % len(shelves)], path)
        if n % 10 == 0:
            leaf.links.append(("/img/plan.pdf", ""))  # no page


def plant(origin: str, pages: int = PAGES) -> Planted:
    """The whole site, with everything that is planted in it."""
    import planted_members
    import planted_sources

    site = Planted(origin)
    ordinary(site)
    site.answers["/robots.txt"] = Answer(
        200,
        "\n".join(
            [
                "User-agent: *\nDisallow: /private/",
                *(f"Sitemap: {origin}/{name}.xml" for name in ("sitemap", "sitemap-old")),
            ]
        ).encode(),
        {"Content-Type": "text/plain"},
    )
    site.answers["/img/plan.pdf"] = Answer(200, b"%PDF-1.4 plan", {"Content-Type": "application/pdf"})
    for each in planted_members.ALL:
        each(site)
    fill(site, pages)
    planted_sources.publish_sitemaps(site)
    return site


class _Door(asyncio.Protocol):
    """One connection. Answers are made once and kept as bytes: this is to be faster than whoever asks."""

    def __init__(self, site: Planted, made: dict[str, bytes], open_: set[asyncio.Transport]) -> None:
        self._site = site
        self._made = made
        self._open = open_
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._open.add(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._open.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        if data[:1] == b"\x16":  # TLS, which is not spoken here
            self._transport.abort()
            return
        *heads, self._rest = (self._rest + data).split(b"\r\n\r\n")
        for head in heads:
            method, target, _ = head.partition(b"\r\n")[0].decode("latin-1").split(" ", 2)
            name = target
            if b"\r\nhost: www." in head.lower() and target not in self._site.www:
                name = f"//www{target}"
            if name not in self._made:
                moved = Answer(301, headers={"Location": self._site.origin + target})
                self._made[name] = _bytes(self._site.answer(target) if name == target else moved)
            made = self._made[name]
            if not made:
                self._transport.abort()
                return
            self._transport.write(made.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" if method == "HEAD" else made)


def _bytes(answer: Answer) -> bytes:
    if not answer.status:
        return b""
    headers = {"Content-Length": str(len(answer.body)), **answer.headers}
    lines = [f"HTTP/1.1 {answer.status} Planted", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + answer.body


@contextmanager
def serving(pages: int = PAGES) -> Iterator[Planted]:
    """A planted site on a free port of the loopback address, until the end of the block."""
    made: dict[str, bytes] = {}
    open_: set[asyncio.Transport] = set()
    planted: list[Planted] = []
    ready, over = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Door(planted[0], made, open_), "127.0.0.1", 0)
        planted.append(plant(f"http://{HOST}:{server.sockets[0].getsockname()[1]}", pages))
        loops.append(loop)
        ready.set()
        await over.wait()
        # who is accepted while a server is closed is lost with it, still open
        for listening in server.sockets:
            loop.remove_reader(listening.fileno())
        await asyncio.sleep(0)  # who was accepted begins, and can be ended
        await asyncio.sleep(0)
        server.close()
        for transport in list(open_):
            transport.abort()
        await asyncio.sleep(0.01)  # they end in the loop

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    assert ready.wait(60)
    try:
        yield planted[0]
    finally:
        loops[0].call_soon_threadsafe(over.set)
        thread.join()
