"""Writes what the world knows of the planted site: its sitemaps, access logs, exports, backlinks and a list of URLs."""

import csv
import gzip
import random
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote
from xml.sax.saxutils import escape

from planted_site import Answer, Entry, Hits, Planted

_BROWSERS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Safari/604.1",
    "Mozilla/5.0 (X11; Linux x86_64; rv:125.0) Gecko/20100101 Firefox/125.0",
)
_BOTS = (
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
)
_DECLARED = '<?xml version="1.0" encoding="UTF-8"?>\n'
_SITEMAP = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
_EXTENSIONS = (
    ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
    ' xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"'
    ' xmlns:xhtml="http://www.w3.org/1999/xhtml"'
)
_ANALYTICS = """\
# ----------------------------------------
# Landing page
# Account: Shop
# Property: Shop - GA4
# ----------------------------------------
#
# All Users
# Start date: 20250301
# End date: 20250731
"""
_END = datetime(2025, 9, 30, tzinfo=UTC)


def publish_sitemaps(site: Planted) -> None:
    """Let the site answer for its sitemap index, a plain sitemap and a packed one."""
    xml = {"Content-Type": "application/xml"}
    pages = _urlset(site, [entry for entry in site.entries if not entry.news])
    news = gzip.compress(_urlset(site, [entry for entry in site.entries if entry.news]), mtime=0)
    site.answers["/sitemap-pages.xml"] = Answer(200, pages, xml)
    site.answers["/sitemap-news.xml.gz"] = Answer(200, news, {"Content-Type": "application/gzip"})
    children = "".join(
        f"<sitemap><loc>{site.origin}/{name}</loc><lastmod>2025-09-2{n}</lastmod></sitemap>\n"
        for n, name in enumerate(("sitemap-pages.xml", "sitemap-news.xml.gz"))
    )
    index = f"{_DECLARED}<sitemapindex {_SITEMAP}>\n{children}</sitemapindex>\n"
    site.answers["/sitemap.xml"] = Answer(200, index.encode(), xml)


def _urlset(site: Planted, entries: list[Entry]) -> bytes:
    rows = "".join(
        f"<url><loc>{escape(site.origin * entry.loc.startswith('/') + quote(entry.loc, safe=':/?=&~%'))}</loc>"
        f"<lastmod>{entry.lastmod}</lastmod>{entry.inner}</url>\n"
        for entry in entries
    )
    return f"{_DECLARED}<urlset {_SITEMAP}{_EXTENSIONS}>\n{rows}</urlset>\n".encode()


def write(site: Planted, folder: Path) -> list[str]:
    """Write all sources but the sitemaps into a folder; the answer are the options that name them."""
    _logs(site, folder)
    _table(folder / "Pages.csv", ["Top pages", "Clicks", "Impressions", "CTR", "Position"], [
        [url, clicks, impressions, f"{clicks / impressions:.1%}", "7.4"] for url, clicks, impressions in site.searched
    ])  # fmt: skip
    analysed = [["(not set)", 120, 80], *([path, n, n] for path, n in site.analysed), ["/", 900, 700]]
    _table(folder / "ga4.csv", ["Landing page", "Sessions", "Users"], analysed, _ANALYTICS)
    _table(folder / "backlinks.csv", ["Referring page URL", "Anchor", "Target URL"], [
        [source, "a link", target] for source, target in site.backlinks
    ])  # fmt: skip
    (folder / "urls.txt").write_text("".join(f"{url}\n" for url in site.noted), encoding="utf-8")
    crawled = [*site.crawled, *(site.url(path) for path in list(site.pages)[:200])]
    _table(folder / "internal_html.csv", ["Address", "Content Type", "Status Code", "Status"], [
        [url, "text/html", 200, "OK"] for url in crawled
    ])  # fmt: skip
    given = {
        "crawl": "internal_html.csv",
        "log": "logs",
        "search": "Pages.csv",
        "analytics": "ga4.csv",
        "backlinks": "backlinks.csv",
        "list": "urls.txt",
    }
    return [word for option, name in given.items() for word in (f"--{option}", str(folder / name))]


def _table(path: Path, head: list[str], rows: list[list[object]], before: str = "") -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(before)
        csv.writer(file).writerows([head, *rows])


def _logs(site: Planted, folder: Path) -> None:
    """Three logs, as logrotate leaves them: what was planted, among visits of linked pages, assets and noise."""
    rng = random.Random(11)
    dated = sorted([*(line for hits in site.hits for line in _planted(site, hits)), *_noise(site, rng)])
    lines = [line for _, line in dated]
    lines.insert(500, '192.0.2.9 - - [01/Feb/2025:10:00:00 +0000] "\\x16\\x03\\x01\\x02" 400 150 "-" "-"')
    lines[900:900] = ["", "this is no line of a log"]
    third = len(lines) // 3
    logs = folder / "logs"
    logs.mkdir()
    (logs / "access.log.2.gz").write_bytes(gzip.compress("\n".join(lines[:third]).encode() + b"\n", mtime=0))
    (logs / "access.log.1").write_text("\n".join(lines[third : 2 * third]) + "\n", encoding="utf-8")
    (logs / "access.log").write_text("\n".join(lines[2 * third :]) + "\n", encoding="utf-8")


def _planted(site: Planted, hits: Hits) -> list[tuple[datetime, str]]:
    first, last = (datetime.fromisoformat(f"{day}T08:00:00+00:00") for day in (hits.first, hits.last))
    status = hits.status or site.answer(hits.target).status
    agents = [_BROWSERS[n % 3] for n in range(hits.people)] + [_BOTS[n % 2] for n in range(hits.bots)]
    steps = max(1, len(agents) - 1)
    moments = [first + (last - first) * n / steps for n in range(len(agents))]
    return [(when, _line(when, hits.target, status, agent)) for when, agent in zip(moments, agents, strict=True)]


def _noise(site: Planted, rng: random.Random) -> list[tuple[datetime, str]]:
    linked = [path for path in site.pages if re.search(r"-\d{3}/$", path)]
    made = []
    for _ in range(6_000):
        when = _END - timedelta(seconds=rng.randrange(360 * 86_400))
        kind = rng.random()
        target, status = quote(rng.choice(linked)), 200
        agent = rng.choice(_BROWSERS if kind < 0.7 else _BOTS)
        method = "HEAD" if kind > 0.98 else "GET"
        if kind < 0.3:
            target = rng.choice(("/style.css", "/app.js?v=3", "/img/logo.png", "/favicon.ico", "/font.woff2"))
        elif kind < 0.35:
            target, method = "/contact/send", "POST"
        elif kind < 0.36:  # each asked for once, as scanners do
            target, status = f"/wp-content/plugins/{rng.randrange(10**6)}/readme.txt", 404
        made.append((when, _line(when, target, status, agent, method)))
    return made


def _line(when: datetime, target: str, status: int, agent: str, method: str = "GET") -> str:
    address = "66.249.66.1" if "Googlebot" in agent else "198.51.100.7"
    return f'{address} - - [{when:%d/%b/%Y:%H:%M:%S %z}] "{method} {target} HTTP/1.1" {status} 512 "-" "{agent}"'
