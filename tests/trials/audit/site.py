"""A drawn site: its pages, what it answers to a request, and its sitemaps."""

import gzip
import hashlib
import random
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from html import escape
from urllib.parse import urljoin

from tests.forked import DAY, DAY_ONE
from tests.trials.nights.answers import Reply

HTML = "text/html; charset=utf-8"
WORDS = """
harbour boat winter rope anchor sail guide repair engine chart tide wind crew deck island market price season
paint varnish hull keel mast north south lamp signal weather route night morning captain sailor museum history
school lesson knot line bridge canal lock river lake storm calm depth buoy radio battery solar panel kitchen
stove water tank pump filter valve pipe tool workshop timber oak pine steel copper brass bronze glass window
hatch cabin berth
""".split()  # noqa: SIM905


@dataclass
class Page:
    """What the site answers at one target: a path with its query, percent-encoded."""

    target: str
    title: str = ""
    text: str = ""
    links: dict[str, str] = field(default_factory=dict)  # href → rel
    head: list[tuple[str, str]] = field(default_factory=list)  # rel, href
    versions: dict[str, str] = field(default_factory=dict)  # hreflang → href
    language: str = "en"
    canonical: str = ""
    metas: list[tuple[str, str]] = field(default_factory=list)
    headers: list[tuple[str, str]] = field(default_factory=list)
    status: int = 200
    location: str = ""
    kind: str = HTML
    body: bytes | None = None
    modified: datetime | None = None
    is_dated_inside: bool = False  # by JSON-LD, not by Last-Modified
    has_chrome: bool = True
    failing: str = ""  # "500", "503", "hang" or "drop"

    @property
    def is_indexable(self) -> bool:
        """Whether a search engine may index it, as far as the page itself says."""
        noindex = any("noindex" in content or "none" in content for _, content in self.metas + self.headers)
        elsewhere = self.canonical not in ("", self.target)
        return self.status == 200 and self.kind == HTML and not noindex and not elsewhere

    @property
    def follows(self) -> bool:
        return not any("nofollow" in content or "none" in content for _, content in self.metas)


@dataclass
class Entry:
    """One ``<url>`` of a sitemap."""

    loc: str
    lastmod: str = ""
    images: list[str] = field(default_factory=list)


@dataclass
class Site:
    """A site, as ``Server.night`` serves it."""

    url: str  # of its root, with the slash
    dice: random.Random
    missing: str = "404"  # what it answers where nothing is: "404" or "soft"
    pages: dict[str, Page] = field(default_factory=dict)
    chrome: list[str] = field(default_factory=list)  # what every page links to
    entries: list[Entry] = field(default_factory=list)
    disallowed: list[str] = field(default_factory=list)
    sitemaps: str = "one"  # or "index", "gz"
    is_declared: bool = True
    ordinary: list[Page] = field(default_factory=list)  # healthy, listed and linked
    asked: dict[str, int] = field(default_factory=dict)

    @property
    def day(self) -> float:
        return (time.time() - DAY_ONE) / DAY

    def absolute(self, target: str) -> str:
        return urljoin(self.url, target)

    def sentence(self, length: int) -> str:
        return " ".join(self.dice.choices(WORDS, k=length)).capitalize() + "."

    def page(self, target: str, title: str = "", words: int = 0) -> Page:
        """A new page with a text of its own, which nothing names yet."""
        assert target not in self.pages, target
        page = Page(target, title or self.sentence(3)[:-1])
        count = words or self.dice.choice((60, 120, 200))
        page.text = " ".join(self.sentence(12) for _ in range(max(1, count // 12)))
        if self.dice.random() < 0.3:
            page.canonical = target
        self.pages[target] = page
        return page

    def date(self) -> datetime:
        """A day of the last three years, at a time of its own."""
        back = timedelta(days=self.dice.randrange(5, 1000), seconds=self.dice.randrange(86_400))
        return (datetime.now(UTC) - back).replace(microsecond=0)

    def submit(self, page: Page, lastmod: str = "", loc: str = "") -> Entry:
        date = lastmod or (page.modified.date().isoformat() if page.modified else "")
        entry = Entry(loc or self.absolute(page.target), date)
        self.entries.append(entry)
        return entry

    # ------------------------------------------------------------ answers

    def reply(self, target: str, had: str, host: str) -> Reply:
        self.asked[target] = self.asked.get(target, 0) + 1
        if target == "/robots.txt":
            return self._robots()
        if target.startswith("/sitemap"):
            return self._sitemap(target)
        page = self.pages.get(target)
        if page is None:
            status = 404 if self.missing == "404" else 200
            text = "<h1>Page not found</h1><p>Sorry, the page that you are looking for does not exist.</p>"
            return Reply(status, self._html("<title>Page not found</title>", text, "en"), kind=HTML)
        if page.failing:
            number = int(page.failing) if page.failing.isdigit() else 200
            framing = "length" if page.failing.isdigit() else page.failing
            return Reply(number, b"<html><title>Error</title><p>Internal error</p></html>", framing=framing)
        return self._answer(page, had)

    def _answer(self, page: Page, had: str) -> Reply:
        headers = list(page.headers)
        if page.location:
            headers.append(("Location", page.location))
        if page.modified and not page.is_dated_inside:
            headers.append(("Last-Modified", format_datetime(page.modified, usegmt=True)))
        body = page.body if page.body is not None else self.render(page)
        tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        headers.append(("ETag", tag))
        if had == tag and page.status == 200:
            return Reply(304, b"", tuple(headers))
        return Reply(page.status, body, tuple(headers), kind=page.kind)

    def render(self, page: Page) -> bytes:
        head = [f"<title>{escape(page.title)}</title>"]
        head += [f'<meta name="{name}" content="{content}">' for name, content in page.metas]
        if page.canonical:
            head.append(f'<link rel="canonical" href="{escape(self.absolute(page.canonical))}">')
        head += [f'<link rel="{rel}" href="{escape(href)}">' for rel, href in page.head]
        for code, href in page.versions.items():
            head.append(f'<link rel="alternate" hreflang="{code}" href="{escape(self.absolute(href))}">')
        if page.modified and page.is_dated_inside:
            date = page.modified.isoformat()
            head.append(
                '<script type="application/ld+json">{"@context":"https://schema.org","@type":"WebPage",'
                f'"dateModified":"{date}"}}</script>'
            )
        links = [_anchor(href, rel) for href, rel in page.links.items()]
        body = f"<main><h1>{escape(page.title)}</h1><p>{escape(page.text)}</p><ul>{''.join(links)}</ul></main>"
        return self._html("".join(head), body, page.language, has_chrome=page.has_chrome)

    def _html(self, head: str, body: str, language: str, *, has_chrome: bool = True) -> bytes:
        if has_chrome:
            half = (len(self.chrome) + 1) // 2
            top, foot = (
                "".join(_anchor(href, "") for href in part) for part in (self.chrome[:half], self.chrome[half:])
            )
            body = f"<nav><ul>{top}</ul></nav>{body}<footer><ul>{foot}</ul></footer>"
        return f"<!DOCTYPE html><html lang={language}><head>{head}</head><body>{body}</body></html>".encode()

    def _robots(self) -> Reply:
        lines = ["User-agent: *", *(f"Disallow: {path}" for path in self.disallowed)]
        if self.is_declared:
            lines.append(f"Sitemap: {self.absolute('/sitemap.xml')}")
        return Reply(200, "\n".join([*lines, ""]).encode(), kind="text/plain")

    def _sitemap(self, target: str) -> Reply:
        if self.sitemaps == "one":
            return _xml(self._urlset(self.entries)) if target == "/sitemap.xml" else Reply(404, b"none")
        suffix = ".xml.gz" if self.sitemaps == "gz" else ".xml"
        size = max(1, -(-len(self.entries) // 3))
        parts = [self.entries[at : at + size] for at in range(0, len(self.entries), size)]
        if target == "/sitemap.xml":
            names = (self.absolute(f"/sitemap-{number}{suffix}") for number in range(len(parts)))
            text = "".join(f"<sitemap><loc>{name}</loc></sitemap>" for name in names)
            return _xml(f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{text}</sitemapindex>')
        number = int(target.removeprefix("/sitemap-").removesuffix(suffix))
        reply = _xml(self._urlset(parts[number]))
        return Reply(200, gzip.compress(reply.body), kind="application/gzip") if self.sitemaps == "gz" else reply

    def _urlset(self, entries: list[Entry]) -> str:
        rows = []
        for entry in entries:
            date = f"<lastmod>{entry.lastmod}</lastmod>" if entry.lastmod else ""
            images = (f"<image:image><image:loc>{escape(image)}</image:loc></image:image>" for image in entry.images)
            rows.append(f"<url><loc>{escape(entry.loc)}</loc>{date}{''.join(images)}</url>\n")
        return (
            '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
            f' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">\n{"".join(rows)}</urlset>'
        )


def _anchor(href: str, rel: str) -> str:
    return f'<li><a href="{escape(href)}"{f" rel={rel!r}" if rel else ""}>{escape(href[-20:])}</a></li>'


def _xml(text: str) -> Reply:
    return Reply(200, f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'.encode(), kind="application/xml")
