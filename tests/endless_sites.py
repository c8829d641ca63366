"""Made-up sites, endless and not: each is a function from a path to a page, visited through a frontier with no network.

A page is what a server would send; its links are read from it. Answers come in an order of their own for each seed.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from random import Random

from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.model import DiscoveredBy, DiscoveredUrl, DocumentKind, Done, Lease, Outcome, Page, State, Url, Verdict
from crawler.parse.snapshot.snapshot import take_snapshot
from crawler.state.schema import STATE_DB
from crawler.url.normalize import join_url

HOME = "https://site.example"
Site = Callable[[str], str | None]  # of a path with its query; None: there is no such page

SYLLABLES = ("ba", "co", "di", "fu", "ga", "he", "ki", "lo", "mu", "na", "po", "ra", "se", "ti", "vu", "wo", "xa", "zi")


def word(number: int) -> str:
    """A word without figures, another for each number."""
    said = ""
    while number or not said:
        number, at = divmod(number, len(SYLLABLES))
        said += SYLLABLES[at]
    return said + "n"


def anchors(hrefs: Iterable[str], said: str = "on") -> str:
    return "".join(f'<li><a href="{href}">{said}</a>' for href in hrefs)


@dataclass
class Crawl:
    """What came of a crawl: the paths that were read, in order, the states of all, and what is told."""

    read: list[str]
    ends: dict[str, State]
    reasons: dict[str, str]
    notes: list[str]

    @property
    def listed(self) -> set[str]:
        return {path for path, state in self.ends.items() if state is State.INDEXABLE}

    @property
    def traps(self) -> set[str]:
        return {path for path, state in self.ends.items() if state is State.TRAP}


@lru_cache(maxsize=50_000)
def _links(path: str, body: str) -> list[tuple[Url, int]]:
    found = (join_url(HOME + path, href) for href in re.findall(r'href="([^"]*)"', body))
    return [(url, DiscoveredBy.LINK) for url in dict.fromkeys(found) if url.startswith(HOME)]


def _outcome(lease: Lease, body: str | None, stored: Mapping[Url, tuple[int, bytes]]) -> Outcome:
    if body is None:
        return Outcome(lease, Verdict(State.CLIENT_ERROR, "answered 404"), 404)
    if body == "fails":
        return Outcome(lease, Verdict(State.SERVER_ERROR, "answered 503"), 503)
    links = _links(lease.url.removeprefix(HOME), body)
    digest = blake2b(body.encode(), digest_size=16).digest()
    content, before = stored.get(lease.url, (0, b""))
    if digest == before:
        return Outcome(lease, Verdict(State.INDEXABLE), 200, links, content=content)
    page = Page(text=take_snapshot(body.encode()), digest=digest)
    return Outcome(lease, Verdict(State.INDEXABLE), 200, links, page=page)


_STORED = "SELECT u.url, c.id, c.digest FROM memory m JOIN url u ON u.id = m.id JOIN content c ON c.id = m.content"


def end_run(folder: Path) -> None:
    """Make what was visited the memory of the next run."""
    with closing(STATE_DB.open(folder / "state.db")) as db:
        db.execute(
            "INSERT OR REPLACE INTO memory (id, state, reason, status, content, first_run, last_run)"
            " SELECT id, state, reason, status, content, 1, 1 FROM visit"
        )
        db.execute("DELETE FROM visit")


def visit(
    site: Site,
    folder: Path,
    *,
    patience: int = 250,
    seed: int = 0,
    width: int = 8,
    most: int = 60_000,
    commit_every: int = 1_000,
    named: Iterable[str] = (),
) -> Crawl:
    """Crawl a site to its end, or until so many pages were read. What is in the folder is gone on with.

    ``named`` are the paths that its sitemap lists.
    """
    listed = tuple(Url(HOME + path) for path in named)
    read: list[str] = []
    chance = Random(seed)
    with closing(STATE_DB.open(folder / "state.db")) as db:
        stored = {url: (content, digest) for url, content, digest in db.execute(_STORED)}
        frontier = SqliteFrontier(db, lambda find: None, patience=patience)
        frontier.admit([DiscoveredUrl(Url(HOME + "/"), DiscoveredBy.SEED, 0)])
        if listed:
            frontier.admit(
                [DiscoveredUrl(Url(HOME + "/sitemap.xml"), DiscoveredBy.SITEMAP, 0, kind=DocumentKind.SITEMAP)]
            )
        out: list[Lease] = []
        while len(read) < most:
            answer = frontier.next(0.0, lambda home, now: 0.0) if len(out) < width else None
            if isinstance(answer, Lease):
                out.append(answer)
            elif out:
                lease = out.pop(chance.randrange(len(out)))
                if lease.kind is DocumentKind.SITEMAP:
                    finds = tuple(DiscoveredUrl(url, DiscoveredBy.SITEMAP, 1, lease.id) for url in listed)
                    frontier.settle(Outcome(lease, Verdict(State.SITEMAP_FILE), 200, finds=finds))
                    continue
                path = lease.url.removeprefix(HOME)
                read.append(path)
                frontier.settle(_outcome(lease, site(path), stored))
                if len(read) % commit_every == 0:
                    frontier.commit()
            elif not (isinstance(answer, Done) and frontier.review_postponed()):
                break
        frontier.commit()
        rows = db.execute("SELECT u.url, v.state, v.reason FROM visit v JOIN url u USING (id)").fetchall()
        ends = {url.removeprefix(HOME): State(state) for url, state, _ in rows}
        reasons = {url.removeprefix(HOME): reason for url, _, reason in rows}
        return Crawl(read, ends, reasons, frontier.notes)


# ---------------------------------------------------------------------------------------------------- endless

REAL = {f"/about-{word(number)}": f"<p>What we say of {word(number)} alone." for number in range(12)}
QUIET = "<p>Mo Tu We Th Fr Sa Su</p><p>No events.</p>"


def beside(start: str) -> Callable[[Site], Site]:
    """A site of some real pages, and what else a function makes, which the first page leads to."""

    def build(rest: Site) -> Site:
        def page(path: str) -> str | None:
            if path == "/":
                return "<h1>Home</h1>" + anchors([start, *REAL])
            return REAL.get(path) or rest(path)

        return page

    return build


@beside("/cal?date=0")
def calendar_by_query(path: str) -> str | None:
    """A day leads to the next and to the one before."""
    if not path.startswith("/cal?date="):
        return None
    day = int(path[10:])
    return f"<title>Day {day}</title>{QUIET}" + anchors(f"/cal?date={day + step}" for step in (1, -1))


MONTHS = tuple(date(2026, month, 1).strftime("%B").lower() for month in range(1, 13))


@beside("/cal/2026/11/")
def calendar_by_path(path: str) -> str | None:
    """A month leads to its days and to its neighbours, a day to the next one and to its month."""
    if not (found := re.fullmatch(r"/cal/(\d+)/(\d+)/(?:(\d+)/)?", path)):
        return None
    year, month, day = int(found[1]), int(found[2]), int(found[3] or 0)
    here = f"/cal/{year}/{month}/"
    if day:
        return f"<h1>{day} {MONTHS[month - 1]} {year}</h1>{QUIET}" + anchors([here, f"{here}{day % 28 + 1}/", *REAL])
    months = (year * 12 + month - 1 + step for step in (1, -1))
    near = [f"/cal/{each // 12}/{each % 12 + 1}/" for each in months]
    return f"<h1>{MONTHS[month - 1]} {year}</h1>{QUIET}" + anchors([*near, *(f"{here}{n}/" for n in range(1, 29))])


FACETS = ("brand", "color", "cut", "fabric", "length", "size")
SHOP = {f"/shirt-{word(number)}": f"<h1>{word(number)}</h1><p>A shirt." for number in range(60)}


@beside("/shirts")
def facets(path: str) -> str | None:
    """A list with six filters of four values each, in alphabetical order, any of them may be added or taken away."""
    if path in SHOP:
        return SHOP[path]
    where, _, query = path.partition("?")
    if where != "/shirts":
        return None
    chosen = dict(pair.split("=") for pair in query.split("&")) if query else {}
    seed = sum(map(ord, query))
    shown = list(SHOP) if not chosen else [path for n, path in enumerate(SHOP) if (n * 7 + seed) % 19 == 0]
    found = [f"<p>{name}: {value}" for name, value in chosen.items()]
    more = []
    for name in FACETS:
        others = {key: value for key, value in chosen.items() if key != name}
        sets = [others] if name in chosen else [{**others, name: word(n)} for n in range(4)]
        more += ["/shirts?" + "&amp;".join(f"{k}={v}" for k, v in sorted(each.items())) for each in sets if each]
    return "<h1>Shirts</h1>" + "".join(found) + anchors([*shown, *(href.replace("&amp;", "&") for href in more)])


@beside("/s/A1B2C3D4E5F6A7B8C9D0/start")
def sessions(path: str) -> str | None:
    """Each page has another session id in all of its links."""
    if not (found := re.fullmatch(r"/s/([0-9A-F]{20})/(\w+)", path)):
        return None
    own = int(found[1], 16)
    names = ["start", *(word(number) for number in range(8))]
    hrefs = (f"/s/{(own * 31 + len(path) + n * 7919) % 16**20:020X}/{name}" for n, name in enumerate(names))
    return f"<h1>{found[2]}</h1><p>All about {found[2]}." + anchors(hrefs) if found[2] in names else None


MENU = ("news", "shop", "help", "jobs", "map", "blog")


@beside("/news/")
def relative(path: str) -> str | None:
    """A menu of links that lack the first slash, and a server that answers whatever stands before the last name."""
    name = path.strip("/").rpartition("/")[2]
    if name not in MENU:
        return None
    return f"<h1>{name}</h1><p>All about {name}." + anchors(f"{each}/" for each in MENU)


@beside("/list?a=1&b=2")
def ampersands(path: str) -> str | None:
    """A parameter whose name grows by an escape at each step."""
    if not path.startswith("/list?"):
        return None
    return "<p>A list." + anchors([path.replace("&", "&amp;") + "", path + "&amp;c=3"])


@beside("/list?page=1")
def last_page_for_ever(path: str) -> str | None:
    """Twenty pages of a list, and behind them the last one again and again."""
    if path.startswith("/item-"):
        return f"<h1>{path[6:]}</h1><p>One of {path[6:]}."
    if not path.startswith("/list?page="):
        return None
    number = int(path[11:])
    first = min(number, 20) * 10
    return f"<p>Page {number}" + anchors([*(f"/item-{word(first + n)}" for n in range(10)), f"/list?page={number + 1}"])


@beside("/search?q=" + word(3))
def searches(path: str) -> str | None:
    """Results lead to narrower searches, with any of thirty words."""
    if not path.startswith("/search?q="):
        return None
    asked = path[10:].split("+")
    more = (word(n) for n in range(30))
    return f"<h1>Results for {' '.join(asked)}</h1><p>Nothing found." + anchors(
        f"/search?q={'+'.join([*asked, each])}" for each in more if each not in asked
    )


@beside("/table?dir=up&sort=a")
def sort_orders(path: str) -> str | None:
    """A table that is sorted by one column after the other."""
    if not path.startswith("/table?dir="):
        return None
    orders = path.partition("&sort=")[2].split(",")
    return "<p>A table." + anchors(
        f"/table?dir={way}&sort={','.join([each, *orders])[:400]}" for each in "abcd" for way in ("up", "down")
    )


ENDLESS: dict[str, Site] = {
    "calendar by query": calendar_by_query,
    "calendar by path": calendar_by_path,
    "facets": facets,
    "session ids": sessions,
    "relative links": relative,
    "ampersands": ampersands,
    "last page for ever": last_page_for_ever,
    "searches": searches,
    "sort orders": sort_orders,
}


# ---------------------------------------------------------------------------------------------------- not endless


def shop(products: int, a_page: int) -> tuple[Site, set[str]]:
    """Products of one template, which pages of a list lead to, and only these. They differ in figures alone."""
    pages = -(-products // a_page)

    def page(path: str) -> str | None:
        if path == "/":
            return anchors(["/list?page=1"])
        if found := re.fullmatch(r"/product/(\d+)", path):
            return f"<h1>Part {found[1]}</h1><p>4.20 each." + anchors(["/"])
        number = int(path.partition("page=")[2] or 0)
        if not 1 <= number <= pages:
            return None
        own = range((number - 1) * a_page, min(products, number * a_page))
        return f"<p>Page {number}" + anchors([*(f"/product/{n}" for n in own), f"/list?page={number + 1}"])

    return page, {"/", *(f"/product/{n}" for n in range(products)), *(f"/list?page={n + 1}" for n in range(pages))}


def archive(years: int) -> tuple[Site, set[str]]:
    """Months of a blog, one leading to the one before; a third of them have a post, with its date in the URL."""
    months = [f"/{2026 - n // 12}/{12 - n % 12:02}/" for n in range(years * 12)]
    posts = {month: f"{month}{word(n)}/" for n, month in enumerate(months) if n % 3 == 0}

    def page(path: str) -> str | None:
        if path == "/":
            return anchors(months[:1])
        if path in months:
            at = months.index(path)
            return "<h1>Archive</h1>" + anchors([*filter(None, [posts.get(path)]), *months[at + 1 : at + 2]])
        return "<h1>A post</h1>" if path in posts.values() else None

    return page, {"/", *months, *posts.values()}


def forum(threads: int, pages: int) -> tuple[Site, set[str]]:
    """Long threads, page by page, each leading to the next."""
    heads = [f"/thread/{n}" for n in range(threads)]
    real = {"/", *heads, *(f"{head}?page={n}" for head in heads for n in range(2, pages + 1))}

    def page(path: str) -> str | None:
        if path == "/":
            return anchors(heads)
        if path not in real:
            return None
        head, _, rest = path.partition("?page=")
        number = int(rest or 1)
        said = word(int(head[8:]) * pages + number)
        return f"<p>Somebody wrote {said}.</p>" + anchors([f"{head}?page={number + 1}", "/"])

    return page, real


def wiki(articles: int, revisions: int) -> tuple[Site, set[str]]:
    """Articles that only lead to one another, by a parameter; each with a history that leads to its revisions."""
    real = {"/", *(f"/index.php?title={word(n)}" for n in range(articles))}
    real |= {f"/index.php?title={word(0)}&action=history"}
    real |= {f"/index.php?title={word(0)}&oldid={n}" for n in range(revisions)}

    def page(path: str) -> str | None:
        if path == "/":
            return anchors([f"/index.php?title={word(0)}"])
        if path not in real:
            return None
        if "action" in path:
            return anchors(f"/index.php?title={word(0)}&oldid={n}" for n in range(revisions))
        if found := re.search(r"oldid=(\d+)", path):
            return "<p>As it was." + anchors([f"/index.php?title={word(0)}&oldid={int(found[1]) + 1}"])
        number = next(n for n in range(articles) if path.endswith(f"={word(n)}"))
        more = (f"/index.php?title={word(n)}" for n in (number * 2 + 1, number * 2 + 2))
        history = [f"{path}&action=history"] if not number else []
        return f"<p>It is near {word(number + articles)}." + anchors([*more, *history])

    return page, real


def gallery(pictures: int) -> tuple[Site, set[str]]:
    """Pictures without a word, one leading to the next."""
    real = {f"/photo/{n}" for n in range(pictures)}

    def page(path: str) -> str | None:
        if path == "/":
            return anchors(["/photo/0"])
        if path not in real:
            return None
        number = int(path[7:])
        return f'<img src="/i/IMG_{number}.jpg">' + anchors([f"/photo/{number + 1}"])

    return page, {"/", *real}


def related(articles: int) -> tuple[Site, set[str]]:
    """Articles with numbers for names that nothing but others of them leads to."""
    real = {f"/article/{n}" for n in range(articles)}

    def page(path: str) -> str | None:
        if path == "/":
            return anchors(["/article/0"])
        if path not in real:
            return None
        number = int(path[9:])
        return f"<h1>On {word(number)}</h1><p>It is so." + anchors(
            f"/article/{n}" for n in (number * 2 + 1, number * 2 + 2, number // 2)
        )

    return page, {"/", *real}


FINITE: dict[str, Callable[[], tuple[Site, set[str]]]] = {
    "a shop": lambda: shop(2_000, 10),
    "an archive": lambda: archive(30),
    "a forum": lambda: forum(5, 150),
    "a wiki": lambda: wiki(400, 300),
    "a gallery": lambda: gallery(300),
    "articles alone": lambda: related(800),
}
