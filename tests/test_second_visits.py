"""What becomes of pages from night to night: they go, stumble, hide and come back, with validators and without."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import time

import anyio
import pytest
from run import published
from scripted import Answer, Route, Site, links, scripted

from crawler.config.load import build_config
from crawler.config.plan import plan_crawl
from crawler.run.crawl import crawl
from crawler.run.report import Report

DAY = 86_400.0
SETTINGS = {
    "pace": {"rate": 0, "concurrency": 8},
    "parse": {"processes": 1},
    "fetch": {"retries": 0},
    "output": {"swap_delay": 0, "grace_period": 0},
}
OLD = "Wed, 01 Jan 2020 10:00:00 GMT"
TAGGED = {"ETag": '"1"', "Last-Modified": OLD}
DATE = "2020-01-01T10:00:00+00:00"
TEXT = {"Content-Type": "text/plain"}
SAME = Answer("", 304, {"ETag": '"1"'})
OTHERS = [f"/other{n}" for n in range(30)]  # so that no night looks like a disaster


def page(name: str, **headers: str) -> Answer:
    return Answer(f"<title>{name}</title><p>{name} is a boat of its own", headers={**TAGGED, **headers})


@dataclass
class Nights:
    """A scripted site that is crawled night by night."""

    site: Site
    folder: Path
    night: int = 0

    def crawl(self, routes: dict[str, Route], settings: dict[str, dict[str, object]] | None = None) -> Report:
        own = [path for path in routes if path not in ("/", "/robots.txt")]
        others = {path: page(path) for path in OTHERS}
        self.site.routes = {"/": links(*own, *OTHERS), **others, **routes}
        self.site.log.clear()
        tables: dict[str, dict[str, object]] = {
            **SETTINGS,
            "site": {"url": self.site.url},
            "state": {"directory": str(self.folder / "state")},
        }
        for name, section in (settings or {}).items():
            tables[name] = {**tables.get(name, {}), **section}
        tables["output"] = {**tables["output"], "directory": str(self.folder / "out")}
        now = time() + self.night * DAY
        self.night += 1

        async def go() -> Report:
            return await crawl(plan_crawl(build_config(tables)), lambda _: None, clock=lambda: now)

        return anyio.run(go)

    @property
    def dates(self) -> dict[str, str]:
        """The lastmod of each page that is listed, by its path."""
        found: dict[str, str] = {}
        for body in published(self.folder).values():
            for loc, date in re.findall(r"<loc>([^<]*)</loc>(?:\s*<lastmod>([^<]*))?", body.decode()):
                found["/" + loc.removeprefix(self.site.url)] = date
        return found

    def asked(self, path: str) -> list[dict[str, str]]:
        return [headers for _, asked, headers in self.site.log if asked == path]


def test_rfc9111_validators_of_requests_with_other_headers_are_not_sent(tmp_path: Path) -> None:
    """https://www.rfc-editor.org/rfc/rfc9111#section-4.1: a stored response is of the headers that selected it."""
    with scripted({}) as site:
        nights = Nights(site, tmp_path)
        for headers, is_sent in (({}, False), ({}, True), ({"Accept-Language": "da"}, False)):
            nights.crawl({"/a": page("/a")}, {"fetch": {"headers": headers}})
            assert ("if-none-match" in nights.asked("/a")[0]) is is_sent


def test_ours_what_went_and_came_back_is_what_it_was(tmp_path: Path) -> None:
    names = ("/restored", "/stumbled", "/moved", "/hidden", "/lost")
    whole = {name: page(name) for name in names}
    with scripted({}) as site:
        nights = Nights(site, tmp_path)
        nights.crawl({**whole})
        assert {nights.dates[name] for name in names} == {DATE}
        gone = {
            "/restored": Answer("", 404),
            "/stumbled": Answer("", 503),
            "/moved": Answer("", 301, {"Location": "/"}),
            "/hidden": page("/hidden", **{"X-Robots-Tag": "noindex", "ETag": '"2"'}),
        }
        linked = links(*(name for name in names if name != "/lost"), *OTHERS)
        nights.crawl({**whole, **gone, "/": linked})
        # nothing leads to the lost one, but what stumbled might: such a night is no proof
        assert {name for name in names if name in nights.dates} == {"/stumbled", "/lost"}
        nights.crawl(whole)
        assert {name: nights.dates.get(name) for name in names} == dict.fromkeys(names, DATE)


@pytest.mark.parametrize(
    "hidden", [{"X-Robots-Tag": "noindex"}, {"Link": "</other1>; rel=canonical"}, {"Refresh": "0; url=/other1"}]
)
def test_rfc9111_header_fields_of_a_304_are_news(tmp_path: Path, hidden: dict[str, str]) -> None:
    with scripted({}) as site:
        nights = Nights(site, tmp_path)
        nights.crawl({"/hides": page("/hides"), "/shows": page("/shows", **hidden)})
        assert "/hides" in nights.dates
        assert "/shows" not in nights.dates
        nights.crawl({"/hides": Answer("", 304, hidden), "/shows": page("/shows")})
        assert "if-none-match" in nights.asked("/hides")[0]
        assert "if-none-match" not in nights.asked("/shows")[0]  # a 304 need not say that the header is gone
        assert "/hides" not in nights.dates
        assert nights.dates["/shows"] == DATE


def test_google_unavailable_after_holds_for_a_page_that_is_not_modified(tmp_path: Path) -> None:
    until = datetime.fromtimestamp(time() + DAY / 2, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    said = Answer(f'<meta name="robots" content="unavailable_after: {until}"><p>soon over', headers=TAGGED)
    with scripted({}) as site:
        nights = Nights(site, tmp_path)
        nights.crawl({"/sale": said})
        assert "/sale" in nights.dates
        nights.crawl({"/sale": SAME})
        assert "/sale" not in nights.dates


def test_ours_what_was_read_as_a_sitemap_is_read_again_as_a_page(tmp_path: Path) -> None:
    robots = Answer("Sitemap: {url}kind\n", headers=TEXT)
    with scripted({}) as site:
        nights = Nights(site, tmp_path)
        nights.crawl({"/": links(*OTHERS), "/kind": page("/kind"), "/robots.txt": robots})
        assert "/kind" not in nights.dates
        nights.crawl({"/kind": page("/kind")})
        assert nights.dates["/kind"] == DATE


def test_ours_what_was_no_page_is_seen_for_the_first_time_as_one(tmp_path: Path) -> None:
    pdf = Answer(b"%PDF-1.7", headers={"Content-Type": "application/pdf", "ETag": '"0"'})
    with scripted({}) as site:
        nights = Nights(site, tmp_path)
        nights.crawl({"/paper": pdf})
        assert "/paper" not in nights.dates
        nights.crawl({"/paper": page("/paper")})
        assert nights.dates["/paper"] == DATE


def test_ours_a_sitemap_that_cannot_be_read_for_a_night_has_listed_what_it_did(tmp_path: Path) -> None:
    robots = Answer("Sitemap: {url}map.xml\n", headers=TEXT)
    xml = {"Content-Type": "application/xml"}
    whole = Answer("<urlset><url><loc>{url}island</loc></url></urlset>", headers=xml)
    base: dict[str, Route] = {"/": links(*OTHERS), "/robots.txt": robots, "/island": page("/island")}
    with scripted({}) as site:
        nights = Nights(site, tmp_path)
        nights.crawl({**base, "/map.xml": whole})
        assert "/island" in nights.dates
        nights.crawl({**base, "/map.xml": Answer("<b>Fatal error</b>: no database", headers=xml)})
        assert "/island" in nights.dates
        nights.crawl({**base, "/map.xml": Answer("", 404)})
        assert "/island" not in nights.dates


def test_ours_another_policy_of_dates_is_as_if_it_had_always_been(tmp_path: Path) -> None:
    dated = Answer('<meta property="article:modified_time" content="2021-02-03"><p>dated', headers={"ETag": '"2"'})
    said = {"/page": page("/page"), "/dated": dated}
    with scripted({}) as site:
        nights = Nights(site, tmp_path)
        for policy, header, stated in (
            ("observed", DATE, "2021-02-03"),
            ("none", "", ""),
            ("observed", DATE, "2021-02-03"),
            ("header", DATE, ""),
            ("page", "", "2021-02-03"),
            ("observed", DATE, "2021-02-03"),
        ):
            nights.crawl({**said}, {"content": {"lastmod": policy}})
            assert (nights.dates["/page"], nights.dates["/dated"]) == (header, stated), policy


def test_ours_files_that_were_called_otherwise_leave(tmp_path: Path) -> None:
    theirs = tmp_path / "out" / "map-9.xml"
    with scripted({}) as site:
        nights = Nights(site, tmp_path)
        settings = [
            ({"max_urls": 10, "file_names": "map-{n}.xml"}, {f"map-{n}.xml" for n in (1, 2, 3, 4)}),
            ({"max_urls": 10, "file_names": "part{n}.xml"}, {f"part{n}.xml" for n in (1, 2, 3, 4)}),
            ({"max_urls": 10, "group": "section", "gzip": True}, {f"sitemap-root-{n}.xml.gz" for n in (1, 2, 3, 4)}),
            ({}, set()),
        ]
        for output, children in settings:
            nights.crawl({}, {"output": output})
            theirs.touch()
            nights.crawl({}, {"output": output})  # what left is swept by the next one
            assert set(published(tmp_path)) - {"sitemap.xml", theirs.name} == children
        assert theirs.exists()
        assert len(nights.dates) == len(OTHERS) + 1


def test_google_a_page_that_keeps_its_place_stays_an_alternate(tmp_path: Path) -> None:
    head = '<link rel="alternate" hreflang="en" href="/en"><link rel="alternate" hreflang="de" href="/de">'
    both: dict[str, Route] = {name: f"{head}<p>{name} is for some" for name in ("/en", "/de")}
    with scripted({}) as site:
        nights = Nights(site, tmp_path)
        nights.crawl(both)
        before = published(tmp_path)
        assert before["sitemap.xml"].count(b"<xhtml:link") == 4
        nights.crawl({**both, "/de": Answer("", 503)})
        assert published(tmp_path) == before
        nights.crawl({**both, "/de": Answer("", 404)})
        assert published(tmp_path)["sitemap.xml"].count(b"<xhtml:link") == 1


def test_ours_what_was_read_in_part_only_is_told_every_night(tmp_path: Path) -> None:
    long = Answer(f"<title>long</title><p>{'word ' * 4_000}", headers=TAGGED)
    with scripted({}) as site:
        nights = Nights(site, tmp_path)
        for _ in range(2):
            ran = nights.crawl({"/long": long}, {"fetch": {"max_body": 10_000}})
            assert "1 document read in part only" in ran.reason
