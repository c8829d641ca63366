"""Small made sites that are audited in this process: what they are, how they answer, and their whole audit.

Everything of an audit runs but sockets and parser processes: answers come from memory, pages are read in place.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote
from xml.sax.saxutils import escape as xml

import httpx
import pytest
from msgspec import structs

from crawler.audit.audit import ProgressWatchers, audit
from crawler.audit.finding import AuditFinding, AuditReport
from crawler.config import fetcher
from crawler.config import plan as planning
from crawler.config.config import Config
from crawler.crawl import visit
from crawler.fetch.retry import RetryPolicy
from crawler.fetch.transports import CallerTransport, ReqwestTransports
from crawler.model import FetchedDocument, Page
from crawler.parse import worker
from crawler.parse.protocol import ParseJob, ParserOptions
from crawler.robots import cache
from crawler.robots.rules import Robots, parse_robots
from crawler.state.store import Resume
from crawler.url.resolve import UrlResolver

ORIGIN = "https://s.example"
PERSON, ENGINE = "Mozilla/5.0 (X11; Linux x86_64) Firefox/125.0", "Mozilla/5.0 (compatible; Googlebot/2.1)"
TOOL = "curl/8.5.0"
_HEADS = {
    "hreflang": '<link rel="alternate" hreflang="da" href="{}">',
    "next": '<link rel="next" href="{}">',
    "amp": '<link rel="amphtml" href="{}">',
    "feed": '<link rel="alternate" type="application/rss+xml" href="{}">',
    "slow": '<meta http-equiv="refresh" content="60; url={}">',
}
_BODIES = {
    "a": '<a href="{}">it</a>',
    "nofollow": '<a rel="ugc nofollow" href="{}">it</a>',
    "frame": '<iframe src="{}"></iframe>',
    "area": '<map><area href="{}"></map>',
}


@dataclass
class Res:
    """What a path answers. ``links`` are pairs of a path and a kind of link, ``wording`` is what it says."""

    status: int = 200
    target: str = ""  # of a redirect
    links: list[tuple[str, str]] = field(default_factory=list)
    canonicals: list[str] = field(default_factory=list)
    noindex: str = ""  # "meta", "header"
    hushed: bool = False  # nofollow for all of it
    refresh: str = ""  # at once
    same: str = ""  # the path of the page that it is a copy of
    base: str = ""
    feed: bool = False
    bare: bool = False  # next to no text
    script: str = ""
    up: bool = False  # a link to its own beginning


@dataclass
class Hits:
    """Requests in the log, each with the status that was answered then."""

    target: str
    status: int
    people: int = 0
    engines: int = 0
    tools: int = 0


@dataclass
class Made:
    """A site, and what the world knows of it. Paths are those of canonical URLs; what has no answer is a 404.

    A path that begins with ``http:`` is the same under another name of the site, which nobody answers for.
    """

    pages: dict[str, Res]
    blocked: list[str] = field(default_factory=list)
    listed: list[str] = field(default_factory=list)
    hits: list[Hits] = field(default_factory=list)
    searched: list[str] = field(default_factory=list)
    noted: list[str] = field(default_factory=list)
    has_sitemap: bool = True
    settings: dict[str, Any] = field(default_factory=dict)  # of the section "audit"
    dressed: int = 0  # how hrefs are written

    def href(self, path: str, page: str, number: int) -> str:
        """One of the ways to write the URL of a path on a page: all of them mean the same."""
        if path.startswith("http:"):
            return f"http://www.s.example{path[5:]}"
        if self.pages[page].base:
            return ORIGIN + path
        bare, mark, query = path.partition("?")
        ways = (
            path,
            ORIGIN + path,
            f"{ORIGIN.upper()}{path}#top",
            f"{path}{'&' if mark else '?'}utm_source=x",
            f"/./{path[1:]}",
            f"//s.example:443{path}",
            f"/a/..{bare.replace('x', '%78')}{mark}{query}",
        )
        return ways[(number * 7 + self.dressed) % len(ways)] if self.dressed else path


def render(site: Made, path: str) -> str:
    """A page as it is sent."""
    page = site.pages[path]
    if page.feed:
        items = "".join(f"<item><link>{xml(ORIGIN + to)}</link></item>" for to, _ in page.links)
        return f'<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>{items}</channel></rss>'
    hrefs = [(kind, escape(site.href(to, path, n))) for n, (to, kind) in enumerate(page.links)]
    head = [f"<title>Title of {escape(page.same or path)}</title>"]
    head += [f'<base href="{page.base}">'] if page.base else []
    head += [_HEADS[kind].format(href) for kind, href in hrefs if kind in _HEADS]
    head += [f'<link rel="canonical" href="{escape(ORIGIN + to)}">' for to in page.canonicals]
    head += ['<meta name="robots" content="noindex">'] if page.noindex == "meta" else []
    head += ['<meta name="robots" content="nofollow">'] if page.hushed else []
    head += [f"<script>{page.script}</script>"] if page.script else []
    head += [f'<meta http-equiv="refresh" content="0; url={escape(ORIGIN + page.refresh)}">'] if page.refresh else []
    body = "\n".join(_BODIES[kind].format(href) for kind, href in hrefs if kind in _BODIES)
    body += '<a href="#top">Up</a>' if page.up else ""
    said = f"This is {escape(page.same or path)}. {'' if page.bare else 'More of it. ' * 25}"
    return f"<!doctype html><html lang=en><head>{''.join(head)}</head><body><p>{said}</p>{body}</body></html>"


class Served(httpx.AsyncBaseTransport):
    """Answers for a site, at its own origin only. ``asked`` are the paths."""

    def __init__(self, site: Made) -> None:
        self._site = site
        self.asked: list[str] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if f"{request.url.scheme}://{request.headers['host']}" != ORIGIN:
            raise httpx.ConnectError("nothing listens here")
        target = (request.extensions.get("target") or request.url.raw_path).decode()
        self.asked.append(target)
        status, headers, body = self._answer(target)
        return httpx.Response(status, headers=headers, content=body.encode(), request=request)

    def _answer(self, target: str) -> tuple[int, dict[str, str], str]:
        site = self._site
        if target == "/robots.txt":
            rules = "".join(f"Disallow: {path}$\n" for path in site.blocked)
            return 200, {"Content-Type": "text/plain"}, f"User-agent: *\n{rules}"
        if target == "/sitemap.xml" and site.has_sitemap:
            space = "http://www.sitemaps.org/schemas/sitemap/0.9"
            rows = "".join(f"<url><loc>{xml(ORIGIN + path)}</loc></url>" for path in site.listed)
            return 200, {"Content-Type": "application/xml"}, f'<urlset xmlns="{space}">{rows}</urlset>'
        page = site.pages.get(unquote(target))
        if page is None:
            return 404, {"Content-Type": "text/html"}, "not here"
        if 300 <= page.status < 400:
            return page.status, {"Location": ORIGIN + page.target}, ""
        if page.status != 200:
            return page.status, {"Content-Type": "text/html"}, "sorry"
        headers = {"Content-Type": "application/rss+xml" if page.feed else "text/html; charset=utf-8"}
        if page.noindex == "header":
            headers["X-Robots-Tag"] = "noindex"
        return 200, headers, render(site, unquote(target))


class InPlace:
    """Reads pages as the parser processes do, without one."""

    def __init__(self, processes: int, hello: ParserOptions) -> None:
        del processes
        self._hello, self._resolver = hello, UrlResolver(hello.params)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        pass

    async def read(self, document: FetchedDocument) -> Page:
        return worker._read(ParseJob(document, 1_763_000_000.0), self._hello, self._resolver)

    async def read_robots(self, body: bytes, at: float) -> Robots:
        return parse_robots(body, self._hello.options.token, at)


def named_as(path: str) -> str:
    """The URL that a table has."""
    return f"http://s.example{path[5:]}" if path.startswith("http:") else ORIGIN + path


def line(target: str, status: int, agent: str) -> str:
    """A line of an access log."""
    return f'192.0.2.7 - - [10/Oct/2025:13:55:36 +0000] "GET {target} HTTP/1.1" {status} 5 "-" "{agent}"\n'


def sources(site: Made, folder: Path) -> dict[str, tuple[str, ...]]:
    """Write what the world knows; answers the settings that name the files."""
    named: dict[str, tuple[str, ...]] = {}
    if site.hits:
        rows = [
            line(each.target, each.status, agent) * count
            for each in site.hits
            for agent, count in ((PERSON, each.people), (ENGINE, each.engines), (TOOL, each.tools))
        ]
        (folder / "access.log").write_text("".join(rows))
        named["logs"] = (str(folder / "access.log"),)
    if site.searched:
        rows = [f"{named_as(path)},3,90,3.3%,4.1\n" for path in site.searched]
        (folder / "Pages.csv").write_text("Top pages,Clicks,Impressions,CTR,Position\n" + "".join(rows))
        named["search"] = (str(folder / "Pages.csv"),)
    if site.noted:
        (folder / "urls.txt").write_text("".join(f"{named_as(path)}\n" for path in site.noted))
        named["lists"] = (str(folder / "urls.txt"),)
    return named


Told = dict[tuple[str, str], bool]
"""Whether it is certain, by rule and path."""


@dataclass
class Audited:
    """What an audit said: ``told`` are its findings in short, ``findings`` all of them."""

    report: AuditReport
    findings: list[AuditFinding]
    asked: list[str]

    @property
    def told(self) -> Told:
        """The findings by rule and path."""
        return {(each.rule, each.url.removeprefix(ORIGIN)): each.is_certain for each in self.findings}

    @property
    def whole(self) -> list[object]:
        """All that may not differ between two audits that saw the same."""
        report = self.report
        known = (structs.replace(each, is_new=each.is_new or None) for each in self.findings)  # the first cannot tell
        found = sorted(known, key=lambda each: (each.rule, each.url, each.sentence))
        figures = (report.urls, report.pages, report.reached, report.listed, report.states, report.depths)
        return [found, figures, report.doubts, report.unchecked, report.undecided]


@contextmanager
def in_memory(site: Made) -> Iterator[Served]:
    """Everything that is asked for is answered by a site."""
    served = Served(site)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fetcher, ReqwestTransports.__name__, lambda *_: CallerTransport(served))
        patch.setattr(visit, "ParsePool", InPlace)
        patch.setattr(cache, "MAX_RETRIES", RetryPolicy())  # the other names of a site never answer
        yield served


def audited(site: Made, folder: Path, /, *, begin: Resume = Resume.FRESH, **sections: dict[str, Any]) -> Audited:
    """Audit a site whose state is kept in a folder."""
    given = {
        "site": {"url": f"{ORIGIN}/"},
        "state": {"directory": str(folder / "state")},
        "pace": {"rate": 0, "concurrency": 4},
        "fetch": {"retries": 0, "second_reads": 0},
        "parse": {"processes": 1},
    }
    for name, values in sections.items():
        given[name] = {**given.get(name, {}), **values}
    given["audit"] = {**site.settings, **sources(site, folder), **sections.get("audit", {})}
    watches = ProgressWatchers(lambda _: None, lambda _: None)
    with in_memory(site) as served, audit(planning.plan_audit(Config(**given)), watches, begin=begin) as (report, of):
        return Audited(report, [each for count in report.counts for each in of(count.rule)], served.asked)
