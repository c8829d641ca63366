"""The change feed end to end: the history of a scripted site, run after run, and exactly what each feed says of it."""

import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from scripted import Answer, Site, links, scripted

from crawler.config.load import build_config
from crawler.config.plan import CrawlPlan, plan_crawl
from crawler.crawl.engine import Watch
from crawler.publish.change_feed import ChangeFeed, feed_file
from crawler.run.crawl import crawl
from crawler.run.report import Report
from crawler.state.runs import RunStore
from crawler.state.schema import STATE_DB
from sitemap import read

START, DAY = 1_767_225_600.0, 86_400.0  # 2026-01-01
NOINDEX = '<meta name="robots" content="noindex">'
SETTINGS = {
    "pace": {"rate": 0, "concurrency": 8},
    "parse": {"processes": 1},
    "fetch": {"retries": 0},
    "output": {"max_shrink": 1.0, "max_failed": 1.0, "recent": "atom"},
}
Told = tuple[str, str, str, str]


class Regenerated:
    """A site that is crawled once a day."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.site = site
        output = {**SETTINGS["output"], "directory": str(folder / "out")}
        tables = {"site": {"url": site.url}, "state": {"directory": str(folder / "state")}}
        self.plan: CrawlPlan = plan_crawl(build_config({**SETTINGS, "output": output, **tables}))
        self.runs = 0

    def run(self, watch: Watch = lambda _: None) -> Report:
        began, day = time.time(), START + DAY * self.runs
        self.runs += 1

        async def regenerate() -> Report:
            return await crawl(self.plan, watch, clock=lambda: day + time.time() - began)

        return anyio.run(regenerate)

    def feed(self) -> list[Told]:
        """What the last run changed: path, kind, path of the target and reason, with paths for URLs."""
        text = feed_file(self.plan.state, self.runs).read_text().replace(self.site.url, "/")
        changes = [json.loads(line) for line in text.splitlines()]
        assert {change["run"] for change in changes} <= {self.runs}
        return [(each["url"], each["kind"], each["target"], each["reason"]) for each in changes]

    def files(self) -> dict[str, tuple[int, bytes]]:
        """The published files: when each was written, and what is in it."""
        return {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in self.plan.output.iterdir()}

    def between(self, after: int, until: int) -> list[tuple[str, str, str]]:
        with closing(STATE_DB.open_read_only(self.plan.state / STATE_DB.file)) as db:
            changes = list(ChangeFeed(db).between(after, until))
        strip = self.site.url.rstrip("/")
        return [(each.url.removeprefix(strip), each.kind, each.target.removeprefix(strip)) for each in changes]


@pytest.fixture
def regenerated(tmp_path: Path) -> Iterator[Regenerated]:
    prose = "".join(f"<p>Paragraph {number} of a page that says a few things.</p>" for number in range(9))
    home = links("/a", "/b", "/c", "/d", "/e")
    routes = {"/": home, "/a": prose + "<p>Ten euros.</p>", "/b": prose, "/c": prose, "/d": NOINDEX, "/e": prose}
    with scripted(dict(routes)) as site:
        yield Regenerated(site, tmp_path)


def test_ours_a_scripted_history_has_exactly_these_feeds(regenerated: Regenerated) -> None:
    routes, run, feed = regenerated.site.routes, regenerated.run, regenerated.feed
    by_link = "found by a link, first on /"
    page = routes["/b"]

    run()
    assert feed() == [
        ("/", "added", "", "it is the start URL"),
        *((path, "added", "", by_link) for path in ("/a", "/b", "/c", "/e")),
    ]

    before = regenerated.files()
    report = run()
    assert report.exit_code == 0
    assert feed() == []
    assert regenerated.files() == before

    routes |= {"/a": str(routes["/a"]).replace("Ten", "Twelve"), "/d": str(page), "/b": links("/new"), "/new": "<p>n"}
    run()
    told = feed()
    assert [change[:2] for change in told] == [("/a", "changed"), ("/b", "changed"), ("/d", "added"), ("/new", "added")]
    assert "Twelve" in told[0][3]
    assert told[2][3] == 'no longer noindex (before: meta robots "noindex")'
    assert told[3][3] == "found by a link, first on /b"

    routes |= {
        "/a": Answer(status=301, headers={"Location": "/hop"}),
        "/hop": Answer(status=302, headers={"Location": "/a2"}),
        "/a2": "<p>Here it is.",
        "/c": Answer("", 410),
        "/d": Answer(str(page), headers={"X-Robots-Tag": "noindex"}),
    }
    run()
    assert feed() == [
        ("/a", "moved", "/a2", "301 to /hop, then 302 to /a2"),
        ("/a2", "added", "", "found by a redirect, first on /hop"),
        ("/c", "removed", "", "answered 410, gone"),
        ("/d", "deindexed", "", 'X-Robots-Tag "noindex"'),
    ]

    routes |= {"/e": Answer("", 503)}
    run()
    assert feed() == []

    routes |= {"/e": page, "/a2": Answer(status=301, headers={"Location": "/a3"}), "/a3": "<p>Here it is."}
    run()
    assert feed() == [("/a2", "moved", "/a3", "301 to /a3"), ("/a3", "added", "", "found by a redirect, first on /a2")]

    routes |= {"/robots.txt": Answer("User-agent: *\nDisallow: /new"), "/c": page}
    run()
    assert feed() == [
        ("/c", "added", "", "responds again (before: answered 410, gone)"),
        ("/new", "deindexed", "", "robots.txt line 2: Disallow: /new"),
    ]

    routes |= {"/": links("/a", "/b", "/c", "/d")}
    run()
    assert [change[:3] for change in feed()] == [("/", "changed", ""), ("/e", "removed", "")]

    assert regenerated.between(1, 8) == [
        ("/", "changed", ""),
        ("/a", "moved", "/a3"),
        ("/a3", "added", ""),
        ("/b", "changed", ""),
        ("/c", "changed", ""),
        ("/e", "removed", ""),
    ]
    assert regenerated.between(4, 5) == []
    newest = read(regenerated.plan.output / "sitemap-recent.atom")
    strip = regenerated.site.url.rstrip("/")
    assert [entry.loc.removeprefix(strip) for entry in newest] == ["/", "/c", "/a3", "/b"]


def test_ours_a_run_that_another_day_continues_ends_on_that_day(regenerated: Regenerated) -> None:
    class Killed(Exception):
        pass

    def die(_: object) -> None:
        raise Killed

    with pytest.raises((Killed, ExceptionGroup)):
        regenerated.run(die)
    regenerated.run()
    with STATE_DB.reading(regenerated.plan.state) as db:
        last = RunStore(db).last(1)[0]
    assert (last.number, int((last.started - START) / DAY), last.outcome) == (1, 0, "published")
    assert last.ended
    assert int((last.ended - START) / DAY) == 1
