"""Sitemaps as a source of an audit: which are read, and what lint says of them."""

import gzip
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from audited_sitemaps import NS, index, plan_of, url, urlset, xml
from scripted import Answer, Route, Site, scripted

from crawler.audit.collect import source_url_parser
from crawler.audit.evidence.review import ClaimReview
from crawler.audit.evidence.store import AUDIT_FILE, ClaimStore, create_audit_file
from crawler.audit.finding import AuditFinding
from crawler.audit.sitemaps import read_sitemaps
from crawler.audit.source_record import SourceReport
from crawler.audit.sources.cross_submit import CrossSubmitChecker, CrossSubmitLinter
from crawler.errors import UsageError
from crawler.state.database import storage_errors
from crawler.state.schema import STATE_DB
from sitemap import walk

NOW = 1_780_000_000.0  # May 2026


class Read:
    """What a reading brought."""

    def __init__(self, site: str, tmp: Path, /, **settings: dict[str, object]) -> None:
        plan = plan_of(site, tmp, **settings)
        tmp.mkdir(exist_ok=True)
        STATE_DB.open(tmp / STATE_DB.file).close()
        self.names: list[str] = []
        with closing(create_audit_file(tmp / AUDIT_FILE, tmp / STATE_DB.file)) as db, storage_errors():
            read = read_sitemaps(plan, db, source_url_parser(plan), NOW, self.names.append)
            self.findings, self.notes = read.findings, read.notes
            ClaimReview(db).finish_reports()
            self.accounts: list[SourceReport] = ClaimStore(db).reports()
            claimed = db.execute("SELECT DISTINCT url FROM claim ORDER BY url").fetchall()
            self.urls = [url.removeprefix(site) for (url,) in claimed]
            self.entries = db.execute("SELECT url, loc, file, line, lastmod, media FROM entry").fetchall()

    @property
    def rules(self) -> set[str]:
        return {each.rule for each in self.findings}


def test_sitemaps_org_all_formats_are_read_that_robots_txt_and_an_index_name(site: Site, tmp_path: Path) -> None:
    packed = gzip.compress(urlset(f"{site.url}packed", url(f"{site.url}dated", "2026-03-04")).encode())
    rss = f"<rss version='2.0'><channel><item><link>{site.url}item</link></item></channel></rss>"
    site.routes |= {
        "/robots.txt": Answer(
            "Sitemap: {url}index.xml\nSitemap: {url}list.txt\n", headers={"Content-Type": "text/plain"}
        ),
        "/index.xml": xml(index("{url}one.xml", "{url}two.xml.gz", "{url}feed.xml")),
        "/one.xml": xml(urlset("{url}one?utm_source=x", "{url}b", "{url}b.zip", "https://other.example/")),
        "/two.xml.gz": Answer(packed, headers={"Content-Type": "application/gzip"}),
        "/feed.xml": Answer(rss, headers={"Content-Type": "application/rss+xml"}),
        "/list.txt": Answer("{url}text\n", headers={"Content-Type": "text/plain"}),
        "/sitemap.xml": xml(urlset("{url}usual")),
    }
    read = Read(site.url, tmp_path)
    assert read.urls == ["b", "b.zip", "dated", "item", "one", "packed", "text", "usual"]
    first, second, third = read.accounts
    assert (first.name, first.format) == (f"{site.url}index.xml", "urlset (2), RSS, sitemapindex")
    assert (first.rows, first.used, first.foreign, first.beside, first.urls) == (7, 6, 1, 0, 6)
    assert (second.format, third.format) == ("text", "urlset")
    assert all(each.complete and each.bytes for each in read.accounts)
    assert first.bytes > len(packed)
    assert (f"{site.url}dated", f"{site.url}dated", f"{site.url}two.xml.gz", 3, "2026-03-04", b"") in read.entries
    assert (f"{site.url}one", f"{site.url}one?utm_source=x", f"{site.url}one.xml", 2, "", b"") in read.entries
    below = [f"{site.url}{name}" for name in ("one.xml", "two.xml.gz", "feed.xml")]
    assert read.names == [first.name, *below, second.name, third.name]


def test_ours_every_finding_of_lint_is_told_with_its_entry(site: Site, tmp_path: Path) -> None:
    site.routes |= {
        "/sitemap.xml": xml(index("{url}shop/sitemap.xml")),
        "/shop/sitemap.xml": xml(urlset("{url}shop/a", "{url}outside", "{url}shop/a", url("{url}shop/c", "soon"))),
    }  # fmt: skip
    read = Read(site.url, tmp_path)
    told = {each.rule: each for each in read.findings}
    outside = told["location.outside"]
    assert (outside.url, outside.file, outside.line) == (f"{site.url}outside", f"{site.url}shop/sitemap.xml", 3)
    assert told["duplicate.loc"].url == f"{site.url}shop/a"
    assert told["lastmod.invalid"].line == 5


def in_sitemaps(site: Site, tmp: Path, robots: str) -> list[AuditFinding]:
    """What is said of the place of 150 pages whose sitemap lies in a directory, below an index in the root."""
    site.routes |= {
        "/robots.txt": Answer(robots, headers={"Content-Type": "text/plain"}),
        "/sitemap.xml": xml(index("{url}sitemaps/a.xml")),
        "/sitemaps/a.xml": xml(urlset(*(f"{{url}}p{number}" for number in range(150)))),
    }
    return [each for each in Read(site.url, tmp).findings if each.rule.startswith("location.")]


@pytest.mark.parametrize("name", ["sitemap.xml", "sitemaps/a.xml"])
def test_sitemaps_org_a_sitemap_that_robots_txt_names_may_list_all_of_its_host(
    site: Site, tmp_path: Path, name: str
) -> None:
    assert in_sitemaps(site, tmp_path, f"Sitemap: {{url}}{name}") == []


@pytest.mark.parametrize(("fetches", "rules"), [(True, []), (False, ["location.outside"] * 2)])
def test_sitemaps_org_a_sitemap_is_tied_to_its_directory_unless_robots_txt_is_known(
    fetches: bool, rules: list[str]
) -> None:
    where = "https://example.com/sitemaps/a.xml"
    submits = CrossSubmitChecker((lambda _: f"Sitemap: {where}".encode()) if fetches else None)
    linter = CrossSubmitLinter(submits, datetime.now(UTC))
    walk(urlset("https://example.com/a", "https://example.com/b").encode(), linter, url=where)
    assert [finding.rule for finding in linter.report().findings] == rules


def test_sitemaps_org_pages_outside_of_the_directory_are_told_once_a_file(site: Site, tmp_path: Path) -> None:
    (told,) = in_sitemaps(site, tmp_path, "User-agent: *")
    assert (told.rule, told.url, told.times) == ("location.outside", f"{site.url}p0", 150)
    assert told.sentence == f"'{site.url}p0' is not below {site.url}sitemaps/ (and 149 more like this)"


def test_ours_what_one_rule_finds_too_often_is_counted(site: Site, tmp_path: Path) -> None:
    site.routes["/sitemap.xml"] = xml(urlset(*(f"{site.url}p{n}#x" for n in range(250))))
    found = [each for each in Read(site.url, tmp_path).findings if each.rule == "sitemap.loc_fragment"]
    assert (len(found), sum(each.times for each in found), found[-1].sentence) == (101, 250, "and 150 more like these")


def test_sitemaps_org_another_host_lets_its_urls_be_listed(site: Site, tmp_path: Path) -> None:
    with scripted({}) as other, scripted({}) as third:
        other.routes["/robots.txt"] = Answer(f"Sitemap: {site.url}sitemap.xml")
        elsewhere = third.url.replace("127.0.0.1", "localhost")
        site.routes["/sitemap.xml"] = xml(urlset(f"{other.url}a", f"{elsewhere}b"))
        read = Read(site.url, tmp_path, scope={"hosts": [each.split("/")[2] for each in (other.url, elsewhere)]})
        said = [(each.rule, each.url) for each in read.findings if each.rule.startswith("location.")]
        assert said == [("location.other_host", f"{elsewhere}b")]
        assert other.paths == third.paths == ["/robots.txt"]


@pytest.mark.parametrize(
    ("routes", "fault"),
    [
        ({"/sitemap.xml": xml(index("{url}lost.xml", "{url}one.xml"))}, "answered 404"),
        ({"/sitemap.xml": xml("", 500)}, "answered 500"),
        ({"/robots.txt": "Sitemap: {url}broken.xml", "/broken.xml": xml("", 500)}, "answered 500"),
        ({"/robots.txt": "Sitemap: {url}one.xml\nUser-agent: *\nDisallow: /*.xml"}, "robots.txt line 3"),
        ({"/sitemap.xml": xml(index("{url}page", "{url}one.xml"))}, "is not a sitemap"),
        ({"/sitemap.xml": xml(f"<urlset {NS}><url><loc>{{url}}cut</loc></url>")}, "could not be read to its end"),
        ({"/robots.txt": "Sitemap: {url}page"}, "is not a sitemap"),
    ],
)
def test_ours_what_cannot_be_read_makes_a_source_incomplete(
    site: Site, tmp_path: Path, routes: dict[str, Route], fault: str
) -> None:
    one = {"/one.xml": xml(urlset("{url}one")), "/page": Answer("<!doctype html><title>page</title>")}
    site.routes |= one | {name: Answer(body) if isinstance(body, str) else body for name, body in routes.items()}
    accounts = Read(site.url, tmp_path).accounts
    incomplete = [each for each in accounts if not each.complete]
    assert incomplete
    assert fault in " ".join(incomplete[0].faults)


def test_ours_a_sitemap_that_redirects_is_judged_where_it_is(site: Site, tmp_path: Path) -> None:
    site.routes["/sitemap.xml"] = Answer("", 301, {"Location": "/maps/real.xml"})
    site.routes["/maps/real.xml"] = xml(urlset("{url}maps/a", "{url}b"))
    read = Read(site.url, tmp_path)
    assert read.notes == [f"{site.url}sitemap.xml redirects to {site.url}maps/real.xml"]
    assert [each.url for each in read.findings if each.rule == "location.outside"] == [f"{site.url}b"]


@pytest.mark.parametrize(
    ("usual", "said"),
    [
        (Answer("", 404), "there is no /sitemap.xml"),
        (Answer("<!doctype html><title>not here</title>"), "/sitemap.xml returns an HTML page, which is not a sitemap"),
    ],
)
def test_ours_a_site_without_a_sitemap_is_no_fault(site: Site, tmp_path: Path, usual: Answer, said: str) -> None:
    site.routes["/sitemap.xml"] = usual
    read = Read(site.url, tmp_path)
    assert (read.accounts, read.findings, read.entries) == ([], [], [])
    assert read.notes == [f"the site has no sitemap: robots.txt names none, and {said}"]


def test_ours_the_sitemap_that_the_configuration_publishes_is_read_without_being_named(
    site: Site, tmp_path: Path
) -> None:
    site.routes["/sitemap.xml"] = Answer("", 404)
    site.routes["/docs/sitemap.xml"] = xml(urlset("{url}docs/a"))
    read = Read(f"{site.url}docs/", tmp_path / "beside")
    assert (read.urls, read.notes) == (["a"], [])
    site.routes["/maps/own.xml"] = xml(urlset("{url}maps/b"))
    read = Read(
        f"{site.url}maps/",
        tmp_path / "named",
        site={"url": f"{site.url}maps/", "sitemap_url": f"{site.url}maps/own.xml"},
    )
    assert (read.urls, read.notes) == (["b"], [])
    read = Read(f"{site.url}none/", tmp_path / "none")
    assert read.notes[0].endswith("there is no /sitemap.xml and there is no /none/sitemap.xml")


@pytest.mark.parametrize(
    ("answer", "rule", "complete"),
    [
        (Answer("", 404), "declared.unreadable", True),  # what is not there lists nothing
        (Answer("", 500), "declared.unreadable", False),
        (Answer("<!doctype html><title>not here</title>"), "sitemap.not_xml", False),
    ],
)
def test_google_a_sitemap_that_robots_txt_names_can_be_read(
    site: Site, tmp_path: Path, answer: Answer, rule: str, complete: bool
) -> None:
    site.routes |= {"/robots.txt": Answer("Sitemap: {url}lost.xml"), "/lost.xml": answer}
    read = Read(site.url, tmp_path)
    assert [(each.rule, each.url) for each in read.findings] == [(rule, f"{site.url}lost.xml")]
    assert [each.complete for each in read.accounts] == [complete]


def test_ours_a_sitemap_under_many_names_is_read_once(site: Site, tmp_path: Path) -> None:
    """As WordPress has it when a plugin makes the sitemaps: its own name, and the usual one, lead to the plugin's."""
    site.routes |= {
        "/robots.txt": Answer("Sitemap: {url}wp-sitemap.xml\nSitemap: {url}sitemap_index.xml\n"),
        "/wp-sitemap.xml": Answer("", 301, {"Location": "/sitemap_index.xml"}),
        "/sitemap.xml": Answer("", 302, {"Location": "/wp-sitemap.xml"}),
        "/sitemap_index.xml": xml(index("{url}post-sitemap.xml", "{url}page-sitemap.xml")),
        "/post-sitemap.xml": xml(urlset("{url}hello/", "{url}world/")),
        "/page-sitemap.xml": xml(urlset("{url}about/")),
    }
    read = Read(site.url, tmp_path)
    (account,) = read.accounts
    assert (account.rows, account.used, account.urls) == (3, 3, 3)
    assert account.notes == [f"{site.url}post-sitemap.xml: 2 entries", f"{site.url}page-sitemap.xml: 1 entry"]
    assert (len(read.entries), read.findings) == (3, [])
    asked = [site.paths.count(f"/{name}-sitemap.xml") for name in ("post", "page")]
    assert asked == [1, 1]
    real = f"{site.url}sitemap_index.xml"
    assert read.notes == [f"{site.url}{name}.xml redirects to {real}" for name in ("wp-sitemap", "sitemap")]


def test_ours_of_many_files_some_are_told_with_their_entries(site: Site, tmp_path: Path) -> None:
    site.routes["/sitemap.xml"] = xml(index(*(f"{{url}}{number}.xml" for number in range(23))))
    site.routes |= {f"/{number}.xml": xml(urlset(f"{{url}}p{number}")) for number in range(23)}
    (account,) = Read(site.url, tmp_path).accounts
    assert (len(account.notes), account.notes[-1]) == (21, "and 3 more files with 3 entries")


def test_ours_named_sitemaps_are_read_instead_of_the_sites_own(site: Site, tmp_path: Path) -> None:
    site.routes["/sitemap.xml"] = xml(urlset("{url}own"))
    site.routes["/other.xml"] = xml(urlset("{url}other"))
    folder = tmp_path / "public"
    folder.mkdir()
    (folder / "sitemap.xml").write_text(index(f"{site.url}a.xml"))
    (folder / "a.xml").write_text(urlset(f"{site.url}file"))
    read = Read(site.url, tmp_path / "state", audit={"sitemaps": [str(folder), f"{site.url}other.xml"]})
    assert read.urls == ["file", "other"]
    assert [each.name for each in read.accounts] == [str(folder / "sitemap.xml"), f"{site.url}other.xml"]
    assert read.entries[0][2:4] == (str(folder / "a.xml"), 2)


@pytest.mark.parametrize("word", ["nowhere.xml", "-"])
def test_ours_a_sitemap_that_is_not_there_is_a_mistake_of_the_one_who_named_it(
    site: Site, tmp_path: Path, word: str
) -> None:
    with pytest.raises(UsageError):
        Read(site.url, tmp_path, audit={"sitemaps": [word]})
