"""Sitemaps as a source of an audit, and their health: real documents, on real servers, held against a real crawl."""

import gzip
import itertools
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from scripted import Answer, Route, Site, scripted

from crawler.audit.audit import ProgressWatchers, audit
from crawler.audit.collect import source_url_parser
from crawler.audit.evidence.review import ClaimReview
from crawler.audit.evidence.store import AUDIT_FILE, ClaimStore, create_audit_file
from crawler.audit.finding import AuditFinding, AuditReport
from crawler.audit.host_aliases import MAX_ALIAS_URLS
from crawler.audit.sitemaps import read_sitemaps
from crawler.audit.source_record import SourceReport
from crawler.audit.sources.cross_submit import CrossSubmitChecker, CrossSubmitLinter
from crawler.config.config import Config
from crawler.config.plan import CrawlPlan, plan_audit
from crawler.crawl.visit import Clock
from crawler.errors import UsageError
from crawler.state.database import storage_errors
from crawler.state.schema import STATE_DB
from sitemap import walk

NS = (
    'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml" '
    'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
)
NOW = 1_780_000_000.0  # May 2026


def url(loc: str, lastmod: str = "", inner: str = "") -> str:
    dated = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
    return f"<url><loc>{loc}</loc>{dated}{inner}</url>\n"


def urlset(*urls: str) -> str:
    return f"<urlset {NS}>\n{''.join(each if each.startswith('<') else url(each) for each in urls)}</urlset>"


def index(*locs: str) -> str:
    listed = "".join(f"<sitemap><loc>{loc}</loc><lastmod>2026-01-31</lastmod></sitemap>\n" for loc in locs)
    return f"<sitemapindex {NS}>\n{listed}</sitemapindex>"


def xml(body: str | bytes, status: int = 200) -> Answer:
    return Answer(body, status, {"Content-Type": "application/xml"})


def plan_of(site: str, state: Path, /, **settings: dict[str, object]) -> CrawlPlan:
    pace = {"rate": 0}
    sections = {"site": {"url": site}, "state": {"directory": str(state)}, "pace": pace, "fetch": {"retries": 0}}
    return plan_audit(Config.model_validate(sections | settings))


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


@pytest.fixture
def site() -> Iterator[Site]:
    with scripted({"/robots.txt": Answer("", 404)}) as running:
        yield running


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


class Audited:
    """The findings of a whole audit, by rule."""

    def __init__(self, report: AuditReport, findings: dict[str, list[AuditFinding]], site: str) -> None:
        self.report = report
        self.findings = findings
        self._site = site

    def urls(self, rule: str) -> list[str]:
        return sorted(each.url.removeprefix(self._site) for each in self.findings.get(rule, []))


def clock(day: str) -> Clock:
    """A clock that begins on a day and goes on by a millisecond each time it is looked at."""
    begins, ticks = datetime.fromisoformat(f"{day}T00:00:00+00:00").timestamp(), itertools.count()
    return lambda: begins + next(ticks) / 1000


def audited(site: Site, state: Path, clock: Clock = time.time, **settings: dict[str, object]) -> Audited:
    plan = plan_of(site.url, state, **settings)
    with audit(plan, ProgressWatchers(lambda _: None, lambda _: None), clock=clock) as (report, of):
        return Audited(report, {each.rule: list(of(each.rule)) for each in report.counts}, site.url)


def page(*links: str, head: str = "", lang: str = "", says: str = "") -> Answer:
    anchors = "".join(f'<a href="{link}">{link}</a>' for link in links)
    return Answer(
        f'<!doctype html><html lang="{lang}"><title>t</title>{head}<body><p>{says}</p>{anchors}</body></html>'
    )


def test_google_each_fault_of_an_entry_is_found_and_nothing_else(site: Site, tmp_path: Path) -> None:
    modified = '<meta property="article:modified_time" content="{}">'
    site.routes |= {
        "/robots.txt": Answer("User-agent: *\nDisallow: /secret", headers={"Content-Type": "text/plain"}),
        "/": page("/good"),
        "/good": page(),
        "/failed": Answer("", 500),
        "/moved": Answer("", 301, {"Location": "/moved2"}),
        "/moved2": Answer("", 302, {"Location": "/good"}),
        "/quiet": page(head='<meta name="robots" content="noindex">'),
        "/google": page(head='<meta name="googlebot" content="noindex">'),
        "/bing": Answer(page().body, headers={"X-Robots-Tag": "bingbot: noindex"}),
        "/other": Answer(
            page(head='<meta name="AhrefsBot" content="noindex">').body, headers={"X-Robots-Tag": "AhrefsBot: noindex"}
        ),
        "/copy": page(head='<link rel="canonical" href="/good">'),
        "/late": page(head=modified.format("2026-01-05T10:00:00Z")),
        "/early": page(head=modified.format("2026-03-05T10:00:00Z")),
        "/right": page(head=modified.format("2026-02-01T10:00:00Z")),
        "/sitemap.xml": xml(
            urlset(
                *("{url}", "{url}good", "{url}gone", "{url}failed", "{url}moved", "{url}quiet", "{url}secret"),
                *("{url}google", "{url}bing", "{url}other"),
                *("{url}copy", "{url}good?utm_source=letter", "{url}good?utm_source=post", "{url}gone?gclid=1"),
                *(url(f"{{url}}{name}", "2026-02-01") for name in ("late", "early", "right")),
            )
        ),
    }
    found = audited(site, tmp_path)
    assert {rule: found.urls(rule) for rule in found.findings if rule.startswith("entry.")} == {
        "entry.gone": ["gone", "gone"],
        "entry.failed": ["failed"],
        "entry.redirect": ["moved"],
        "entry.noindex": ["quiet"],
        "entry.noindex_engine": ["bing", "google"],
        "entry.blocked": ["secret"],
        "entry.canonical": ["copy"],
        "entry.duplicate": ["good"],
        "entry.lastmod_late": ["late"],
        "entry.lastmod_early": ["early"],
    }
    (moved,) = found.findings["entry.redirect"]
    assert f"finally to {site.url}good" in moved.sentence
    assert (moved.file, moved.line, moved.status) == (f"{site.url}sitemap.xml", 6, 301)
    (copy,) = found.findings["entry.canonical"]
    for each in (moved, copy):  # it is said there, and no duplicate
        assert f"{site.url}good is listed too ({site.url}sitemap.xml line 3): remove this entry" in each.evidence
    (several,) = found.findings["entry.duplicate"]
    assert {each.removeprefix(site.url) for each in several.spellings} == {
        *("good?utm_source=letter", "good?utm_source=post")
    }


def test_ours_an_entry_that_was_not_asked_for_is_not_judged(site: Site, tmp_path: Path) -> None:
    site.routes |= {"/": page("/good"), "/good": page(), "/sitemap.xml": xml(urlset("{url}gone", "{url}good"))}
    found = audited(site, tmp_path, audit={"max_unlinked": 0})
    assert not [rule for rule in found.findings if rule.startswith("entry.")]


def test_ours_a_date_between_two_audits_that_saw_the_same_is_late(site: Site, tmp_path: Path) -> None:
    site.routes |= {"/": page("/a"), "/a": page(), "/sitemap.xml": xml(urlset(url("{url}a", "2026-03-20")))}
    first = audited(site, tmp_path, clock=clock("2026-03-01"))
    assert not first.urls("entry.lastmod_late")
    (late,) = audited(site, tmp_path, clock=clock("2026-04-01")).findings["entry.lastmod_late"]
    assert "the page had the same content on 2026-03-01" in late.sentence


def test_ours_a_date_before_a_change_that_was_seen_is_early(site: Site, tmp_path: Path) -> None:
    site.routes |= {"/": page("/a"), "/a": page(), "/sitemap.xml": xml(urlset(url("{url}a", "2026-02-01")))}
    audited(site, tmp_path, clock=clock("2026-03-01"))
    site.routes["/a"] = page(head="<title>Other words</title>", says="All of this was written anew, and says more.")
    (early,) = audited(site, tmp_path, clock=clock("2026-04-01")).findings["entry.lastmod_early"]
    assert "the page had different content on 2026-03-01" in early.sentence
    (early,) = audited(site, tmp_path, clock=clock("2026-05-01")).findings["entry.lastmod_early"]
    assert "a crawl saw it change on 2026-04-01" in early.sentence


def test_ours_a_page_that_no_longer_says_noindex_says_what_it_said(site: Site, tmp_path: Path) -> None:
    site.routes |= {"/": page("/a"), "/sitemap.xml": xml(urlset(url("{url}a", "2026-02-01")))}
    site.routes["/a"] = page(head='<meta name="robots" content="noindex">', says="The same.")
    audited(site, tmp_path, clock=clock("2026-03-01"))
    site.routes["/a"] = page(says="The same.")
    assert not audited(site, tmp_path, clock=clock("2026-04-01")).urls("entry.lastmod_early")


def variants(how: str, **labels: str) -> str:
    """Tags or a header that name versions by their paths."""
    named = [(label.replace("_", "-"), path) for label, path in labels.items()]
    if how == "header":
        return ", ".join(f'<{path}>; rel="alternate"; hreflang="{label}"' for label, path in named)
    if how == "sitemap":
        return "".join(
            f'<xhtml:link rel="alternate" hreflang="{label}" href="{{url}}{path[1:]}"/>' for label, path in named
        )
    return "".join(f'<link rel="alternate" hreflang="{label}" href="{path}">' for label, path in named)


FIVE = {"en": "/en", "de": "/de", "fr": "/fr", "pt_BR": "/pt", "zh_Hant": "/zh", "x_default": "/en"}


@pytest.mark.parametrize("how", ["html", "header", "sitemap"])
def test_google_a_sound_cluster_yields_nothing(site: Site, tmp_path: Path, how: str) -> None:
    said = variants(how, **FIVE)
    pages = {path: label.replace("_", "-") for label, path in FIVE.items() if label != "x_default"}
    site.routes["/"] = page(*pages)
    for path, lang in pages.items():
        answer = page(head=said if how == "html" else "", lang=lang)
        site.routes[path] = Answer(answer.body, headers={"Link": said}) if how == "header" else answer
    entries = (url(f"{{url}}{path[1:]}", inner=said if how == "sitemap" else "") for path in pages)
    site.routes["/sitemap.xml"] = xml(urlset(*entries))
    found = audited(site, tmp_path)
    assert not [rule for rule in found.findings if rule.startswith(("cluster.", "hreflang.", "entry."))]


def test_google_faults_of_clusters_as_pages_headers_and_sitemaps_state_them(site: Site, tmp_path: Path) -> None:
    three = {"en": "/en", "de": "/de", "fr": "/fr", "x_default": "/en"}
    html = variants("html", **three)
    site.routes |= {
        "/": page("/en", "/it"),
        "/en": page(head=html, lang="en"),
        "/de": page(head=html, lang="fr"),
        "/fr": Answer(page(lang="de").body, headers={"Link": variants("header", **three)}),
        "/it": page(head=variants("html", it="/it", es="/es", en_UK="/en", x_default="/nowhere"), lang="it"),
        "/es": page(lang="es"),
        "/sitemap.xml": xml(urlset(url("{url}en", inner=variants("sitemap", **(three | {"fr": "/es"}))))),
    }
    found = audited(site, tmp_path)
    assert {rule: found.urls(rule) for rule in found.findings if rule.startswith("cluster.")} == {
        "cluster.swapped": ["de", "en", "fr"],
        "cluster.label": ["es"],  # which the entry of /en calls French
        "cluster.conflict": ["en"],
        "cluster.code": ["it"],
        "cluster.target": ["it"],
        "cluster.not_mutual": ["it"],
    }
    (target,) = found.findings["cluster.target"]
    assert target.sentence == f"{site.url}nowhere, labelled x-default, answered 404, not found"


def test_ours_a_page_whose_cluster_is_stated_in_two_places_is_judged_once(site: Site, tmp_path: Path) -> None:
    both = variants("sitemap", de="/de", fr="/a")
    site.routes |= {
        "/": page("/de", "/fr", "/a"),
        "/a": page(lang="fr"),
        "/de": page(head=variants("html", de="/de", fr="/fr", x_default="/fr"), lang="de"),
        "/fr": page(lang="fr"),
        "/sitemap.xml": xml(urlset(url("{url}de", inner=both), url("{url}a", inner=both))),
    }
    found = audited(site, tmp_path)
    assert found.urls("cluster.conflict") == ["de"]
    assert found.urls("cluster.not_mutual") == ["de"]


def with_www(site: Site, tmp: Path) -> tuple[str, str, CrawlPlan]:
    """The names of a site without and with ``www.``, both served here, and the plan to audit the first."""
    port = site.url.rsplit(":", 1)[1].strip("/")
    names = ["shop.example", "www.shop.example"]
    resolve = [f"{name}:{port}:127.0.0.1" for name in names]
    home, www = (f"http://{name}:{port}/" for name in names)
    return home, www, plan_of(home, tmp, fetch={"retries": 0, "resolve": resolve})


def findings(plan: CrawlPlan) -> dict[str, list[AuditFinding]]:
    with audit(plan, ProgressWatchers(lambda _: None, lambda _: None)) as (report, of):
        return {each.rule: list(of(each.rule)) for each in report.counts}


def test_ours_entries_under_another_name_of_the_site_are_asked_for(site: Site, tmp_path: Path) -> None:
    """``www.`` before the site's name, on a server that knows both: as most migrations leave it."""
    home, www, plan = with_www(site, tmp_path)
    site.routes |= {
        "/": page("/a", "/b", "/c"),
        "/a": page(says="first"),
        "/b": page(head=f'<link rel="canonical" href="{home}b">', says="second"),
        "/c": page(says="third"),
        "/moved": Answer("", 301, {"Location": f"{home}c"}),
        "/sitemap.xml": xml(
            urlset(*(f"{www}{name}" for name in ("a", "b", "c", "moved", "lost")), f"{home}c", f"https{home[4:]}a")
        ),
    }
    found = findings(plan)
    entries = {rule: [each.url for each in told] for rule, told in found.items() if rule.startswith("entry.")}
    assert (
        entries
        == {
            "entry.outside": [f"{www}a"],  # which answers as if it were the site
            "entry.canonical": [f"{www}b"],
            "entry.duplicate": [f"{home}c"],
            "entry.redirect": [f"{www}moved"],
            "entry.gone": [f"{www}lost"],
            "entry.failed": [f"https{home[4:]}a"],
        }
    )
    assert not [rule for rule in found if rule.startswith("location.")]
    assert f"listed under {www[:-1]}, but the site is {home[:-1]}" in found["entry.outside"][0].sentence


def test_ours_entries_under_another_name_that_cannot_be_asked_for_are_counted(site: Site, tmp_path: Path) -> None:
    _, www, plan = with_www(site, tmp_path)
    site.routes |= {"/": page("/a"), "/a": page()}
    site.routes["/sitemap.xml"] = xml(urlset(*(f"{www}p{number}" for number in range(MAX_ALIAS_URLS + 50))))
    found = findings(plan)
    (told,) = found["entry.outside"]
    assert (told.url, told.times) == (f"{www}p{MAX_ALIAS_URLS}", 50)
    assert told.sentence.startswith(f"50 entries are listed under {www[:-1]}, but the site is ")
    assert len(found["entry.gone"]) == MAX_ALIAS_URLS
    assert sum(path.startswith("/p") for path in site.paths) == 2 * MAX_ALIAS_URLS + 50
