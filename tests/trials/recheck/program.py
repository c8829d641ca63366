"""Plays a history with the real program: a site that answers from it, runs that ask for what is due, and full runs.

``PYTHONPATH=tests python -m tests.trials.recheck.program FILE [NIGHTS] [COVERAGE] [DAYS]``
"""

import hashlib
import http.server
import json
import random
import sys
import tempfile
import threading
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from forked import DAY, DAY_ONE, Forked, forked
from madesite import prose

from tests.trials.recheck.policy import LISTED, Player, load, nights_of

_NS = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
_FILES = ("/robots.txt", "/sitemap.xml")  # which every run asks for
CONFIG = """
site = {{url = "{url}"}}
output = {{directory = "out", swap_delay = 0}}
pace = {{rate = 0, concurrency = 8}}
parse = {{processes = 1}}
fetch = {{not_found_checks = 0, second_reads = 0{more}}}
notify = {{check_live = false}}
"""


class HistorySite:
    """The site of a history on one night. ``hits`` are the paths that were asked.

    robots.txt answers 503 as often as ``robots_failures`` says.
    """

    def __init__(self, history: dict[str, Any], coverage: float) -> None:
        self.paths: list[str] = [quote(f"/{path}") for path in history["pages"]]
        self.dated = Player(history, 30, coverage).dated
        self.versions: dict[int, list[int]] = {}  # by page: the nights on which it came and was edited
        self.pages: dict[str, bytes] = {}
        self.changed: dict[str, float] = {}
        self.hits: list[str] = []
        self.robots_failures = 0
        self.night = 0

    def live(self, night: int, came: list[int], went: list[int], edited: list[int]) -> None:
        """One more day."""
        self.night = night
        for page in came:
            self.versions[page] = [night]
        for page in edited:
            if page in self.versions:
                self.versions[page].append(night)
        for page in went:
            self.versions.pop(page, None)
        folders: defaultdict[str, list[int]] = defaultdict(list)
        for page in sorted(self.versions):
            folders[self.paths[page].rpartition("/")[0]].append(page)
        links: list[str] = []
        self.pages = {}
        for folder, members in folders.items():
            names = [self.paths[page] for page in members]
            if len(members) >= LISTED:
                hub = f"{folder}/_list"
                links.append(hub)
                self.pages[hub] = self.markup(hub, 0, names)
            else:
                links += names
        self.pages["/"] = self.markup("/", 0, links)
        for page, nights in self.versions.items():
            self.pages[self.paths[page]] = self.markup(self.paths[page], len(nights), [])
        entries = "".join(
            f"<url><loc>{{base}}{self.paths[page]}</loc>"
            + (f"<lastmod>{self.moment(nights[-1])}</lastmod>" if page in self.dated else "")
            + "</url>"
            for page, nights in sorted(self.versions.items())
        )
        self.sitemap = f'<urlset xmlns="{_NS[1:-1]}">{entries}</urlset>'

    def moment(self, night: int) -> str:
        """The time of an edit before a night: at noon on the day before."""
        return datetime.fromtimestamp(DAY_ONE + night * DAY - DAY / 2, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def markup(self, path: str, version: int, links: list[str]) -> bytes:
        """A page of its own text; an edit adds a paragraph."""
        own = "".join(f"<p>{prose(random.Random(f'{path} {n}'), 30)}</p>" for n in range(3 + version))
        listed = "".join(f"<li><a href='{link}'>{link}</a></li>" for link in links)
        return f"<!doctype html><title>{path}</title><h1>{path}</h1><main>{own}<ul>{listed}</ul></main>".encode()


@contextmanager
def serving(site: HistorySite) -> Iterator[str]:
    """Serve the site; answers its URL."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path, base = self.path, f"http://127.0.0.1:{server.server_port}"
            site.hits.append(path)
            kind, body = "text/html; charset=utf-8", site.pages.get(path)
            if path == "/sitemap.xml":
                kind, body = "application/xml", site.sitemap.replace("{base}", base).encode()
            if path == "/robots.txt" and site.robots_failures:
                site.robots_failures -= 1
                self.send_error(503)
                return
            tag = f'"{hashlib.sha1(body or b"").hexdigest()}"'
            if body is not None and self.headers.get("If-None-Match") == tag:
                self.send_response(304)
                self.end_headers()
                return
            self.send_response(404 if body is None else 200)
            body = body or b"<title>Not found</title>"
            self.send_header("Content-Type", kind)
            self.send_header("ETag", tag)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def published(folder: Path) -> dict[str, str]:
    """Path and lastmod of the published set."""
    entries = ET.parse(folder / "out" / "sitemap.xml").getroot()
    return {
        unquote(urlsplit(each.findtext(f"{_NS}loc", "")).path): each.findtext(f"{_NS}lastmod", "") for each in entries
    }


class Comparison:
    """Runs that ask for what is due, beside full runs of the same nights. ``wrong`` is what may not be."""

    def __init__(self, process: Forked, site: HistorySite, url: str, root: Path, days: int) -> None:
        self.process, self.site, self.days = process, site, days
        self.folders = {"partial": root / "partial", "full": root / "full"}
        self.requests = Counter[str]()
        self.wrong: list[str] = []
        self.whole = self.longest = self.same_night = self.seen = 0
        self.differs: dict[str, int] = {}
        for name, folder in self.folders.items():
            folder.mkdir()
            more = f", recheck_within = {days}" if name == "partial" else ""
            (folder / "site.toml").write_text(CONFIG.format(url=url, more=more))

    def run(self, name: str, night: int) -> dict[str, Any]:
        """One run; answers its report."""
        self.site.hits.clear()
        ended = self.process.run(self.folders[name], night, "run", "--config", "site.toml", "--json")
        if ended.status:
            self.wrong.append(f"night {night}: {name}: {ended.status}: {ended.said[:600]}")
        self.requests[name] += sum(path not in _FILES for path in self.site.hits)
        report: dict[str, Any] = json.loads(ended.said[ended.said.index("{") :])["sites"][0]
        return report

    def night(self, night: int) -> None:
        """One night: what the two sets have in common."""
        before = published(self.folders["full"]) if night else {}
        report = self.run("partial", night)
        self.run("full", night)
        self.whole += report["completeness"] == "complete"
        mine, theirs = (published(folder) for folder in self.folders.values())
        for page in {*mine, *theirs, *self.differs}:
            is_news = page in before and before[page] != theirs.get(page)
            self.seen += is_news
            if self.agrees(mine.get(page), theirs.get(page)):
                self.same_night += is_news and mine.get(page) == theirs.get(page)
                self.longest = max(self.longest, night - self.differs.pop(page, night))
            elif night - self.differs.setdefault(page, night) > self.days or (
                page not in theirs and page not in before
            ):
                self.wrong.append(f"night {night}: {page} {mine.get(page)} {theirs.get(page)}")
        if "-v" in sys.argv:
            print(night, report["completeness"], report["reason"], report["notes"], len(self.differs), flush=True)

    def agrees(self, mine: str | None, theirs: str | None) -> bool:
        """Whether two lastmods are the same, or mine is later by at most the days of the bound."""
        if mine is None or theirs is None or not (mine and theirs):
            return mine == theirs
        return timedelta() <= date_of(mine) - date_of(theirs) <= timedelta(days=self.days)


def date_of(lastmod: str) -> datetime:
    """A lastmod as a time."""
    return datetime.fromisoformat(lastmod if "T" in lastmod else f"{lastmod}T00:00:00+00:00")


def play(process: Forked, path: Path, nights: int, coverage: float, days: int) -> Comparison:
    """Play some nights."""
    history = load(path)
    site = HistorySite(history, coverage)
    with serving(site) as url, tempfile.TemporaryDirectory() as root:
        comparison = Comparison(process, site, url, Path(root), days)
        for night, (came, went, edited) in enumerate(nights_of(history)[: nights + 1]):
            site.live(night, came, went, edited)
            comparison.night(night)
            if len(comparison.wrong) > 5:
                break
    return comparison


def main() -> None:
    """Play the history that is named."""
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    file, nights, coverage, days = (*words, *("60", "1", "30")[len(words) - 1 :])
    with tempfile.TemporaryDirectory() as work, forked(Path(work)) as process:
        played = play(process, Path(file), int(nights), float(coverage), int(days))
    share = played.requests["partial"] / played.requests["full"]
    print(
        f"{Path(file).name}, {nights} nights, {coverage} dated, {days} days: asked {share:.1%} of the pages,"
        f" {played.whole} full runs, {played.same_night} of {played.seen} changes the same night,"
        f" longest {played.longest} days, {len(played.differs)} differ now, wrong: {played.wrong}"
    )


if __name__ == "__main__":
    main()
