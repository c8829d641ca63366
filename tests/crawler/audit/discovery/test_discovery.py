"""Whether a published sitemap is declared, asked of a real nginx."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest
from nginx import Server, nginx

from crawler.audit.discovery.check import CheckStatus, Declaration, check_allowed, check_discovery
from crawler.audit.report.layout import fit
from crawler.cli.robots_check import discovery_lines
from crawler.config.config import Config, FetchConfig, OutputConfig, PaceConfig, SiteConfig
from crawler.model import Url

pytestmark = pytest.mark.needs_nginx
# What the server does depends on files that a test lays beside the pages.
RULES = """
location = /robots.txt {
  if (-f $document_root/flag-moved) { return 302 /moved/robots.txt; }
  if (-f $document_root/flag-down) { return 503; }
  if (-f $document_root/flag-forbidden) { return 403; }
  if (-f $document_root/flag-page) { rewrite ^ /page/robots.html last; }
}
location /moved/ { types {} default_type text/plain; }
location /old/ { return 301 /new$request_uri; }
location /html/ { types {} default_type text/html; }
location /coded/ { types {} default_type application/xml; add_header Content-Encoding gzip; }
location /packed/ { gzip_static off; types {} default_type application/gzip; }
location /zipped/ { gzip on; gzip_min_length 1; gzip_types text/xml application/xml; }
"""
NS = "http://www.sitemaps.org/schemas/sitemap/0.9"


def urlset(*locs: str) -> bytes:
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{NS}">'
        + "".join(f"<url><loc>{loc}</loc></url>" for loc in locs)
        + "</urlset>\n"
    ).encode()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    root = tmp_path_factory.mktemp("www")
    with nginx(root, RULES) as running:
        yield running, root


@pytest.fixture
def site(server: tuple[Server, Path]) -> Iterator["Www"]:
    www = Www(*server)
    www.robots(f"User-agent: *\nDisallow: /private/\nSitemap: {www.url}sitemap.xml\n")
    www.put("sitemap.xml", urlset(www.url))
    yield www
    for path in sorted(www.root.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


class Www:
    """A site whose files a test lays out."""

    def __init__(self, server: Server, root: Path) -> None:
        self.url = server.url
        self.root = root

    def put(self, name: str, content: bytes | str = b"") -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def robots(self, content: bytes | str) -> None:
        self.put("robots.txt", content)

    def check(self, sitemap: str = "sitemap.xml", output: str = "") -> Declaration:
        return check_discovery(
            "",
            Config(
                site=SiteConfig(url=self.url, sitemap_url=self.url + sitemap),
                fetch=FetchConfig(retries=0),
                pace=PaceConfig(rate=0),
                output=OutputConfig(directory=output),
            ),
        )

    def faults(self, sitemap: str = "sitemap.xml", output: str = "") -> dict[str, str]:
        """What is wrong, by its name."""
        found = self.check(sitemap, output)
        return {each.about: each.message for each in found.checks if each.status is CheckStatus.PROBLEM}


def test_ours_a_site_where_all_is_well_has_no_problem_and_lacks_no_line(site: Www) -> None:
    found = site.check()
    assert found.is_ok
    assert {each.about for each in found.checks} == {
        *("robots.answers", "robots.type", "robots.text", "sitemap.declared", "sitemap.allowed", "ai.access"),
        *("sitemap.answers", "sitemap.direct", "sitemap.type", "sitemap.is_one"),
    }
    assert {each.status for each in found.checks} == {CheckStatus.OK}
    assert found.missing == {}


def test_sitemaps_org_a_sitemap_that_no_line_names_is_told_with_the_line(site: Www) -> None:
    site.robots(f"User-agent: *\nSitemap: {site.url}other.xml\n")
    found = site.check()
    assert list(site.faults()) == ["sitemap.declared"]
    assert f"it names {site.url}other.xml" in site.faults()["sitemap.declared"]
    assert found.missing == {f"{site.url}robots.txt": [f"Sitemap: {site.url}sitemap.xml"]}


def test_ours_a_line_with_the_other_scheme_or_www_names_another_address(site: Www) -> None:
    twin = site.url.replace("http://", "https://www.") + "sitemap.xml"
    site.robots(f"Sitemap: {twin}\n")
    assert f"robots.txt names {twin}, but the published sitemap is" in site.faults()["sitemap.declared"]


def test_rfc9309_a_line_beyond_the_first_500_kib_is_not_read(site: Www) -> None:
    site.robots("#" * 512_000 + f"\nSitemap: {site.url}sitemap.xml\n")
    assert list(site.faults()) == ["robots.text", "sitemap.declared"]


def test_rfc9309_a_robots_txt_is_text_in_utf_8(site: Www) -> None:
    site.robots(b"# ok\n# M\xfcller\n" + f"Sitemap: {site.url}sitemap.xml\n".encode())
    assert site.faults() == {"robots.text": "line 2 of robots.txt is not UTF-8"}
    site.put("flag-page")
    site.put("page/robots.html", "<!doctype html><p>not found")
    assert list(site.faults()) == ["robots.type", "sitemap.declared"]
    site.put("page/robots.html", f"Sitemap: {site.url}sitemap.xml\n")
    assert site.faults() == {"robots.type": "robots.txt is served as text/html"}


def test_rfc9309_a_redirect_of_robots_txt_is_followed_and_told(site: Www) -> None:
    site.put("flag-moved")
    site.put("moved/robots.txt", f"Sitemap: {site.url}sitemap.xml\n")
    found = site.check()
    assert found.is_ok
    assert f"by a redirect to {site.url}moved/robots.txt" in found.checks[0].message


def test_ours_a_robots_txt_that_is_missing_is_to_be_made(site: Www) -> None:
    (site.root / "robots.txt").unlink()
    found = site.check()
    assert [each.about for each in found.checks if each.status is CheckStatus.PROBLEM] == ["robots.answers"]
    assert "404" in found.checks[0].message
    assert found.missing == {f"{site.url}robots.txt": [f"Sitemap: {site.url}sitemap.xml"]}


@pytest.mark.parametrize(("flag", "status"), [("flag-down", "503"), ("flag-forbidden", "403")])
def test_ours_what_a_robots_txt_lacks_that_does_not_answer_is_not_known(site: Www, flag: str, status: str) -> None:
    site.put(flag)
    found = site.check()
    assert found.checks[0].status is CheckStatus.PROBLEM
    assert status in found.checks[0].message
    assert [each.about for each in found.checks if each.status is CheckStatus.UNKNOWN] == ["sitemap.declared"]
    assert not found.missing


def test_rfc9309_a_robots_txt_says_nothing_of_a_start_page_on_another_host() -> None:
    body, sitemap = b"User-agent: *\nDisallow: /\nAllow: /sitemap.xml\n", Url("https://files.example/sitemap.xml")
    for host, told in (("www.example", ["sitemap.allowed"]), ("files.example", ["start.allowed", "sitemap.allowed"])):
        assert [each.about for each in check_allowed(body, sitemap, Url(f"https://{host}/"), 0)] == told


def test_google_a_sitemap_that_robots_txt_blocks_is_told_with_the_line_and_for_whom(site: Www) -> None:
    named = f"Sitemap: {site.url}sitemap.xml\n"
    site.robots(f"{named}User-agent: *\nDisallow: /*.xml$\n")
    assert (
        site.faults()["sitemap.allowed"]
        == "robots.txt blocks the sitemap: robots.txt line 3: Disallow: /*.xml$ (for all crawlers)"
    )
    site.robots(f"{named}User-agent: Bingbot\nDisallow: /sitemap\n")
    assert site.faults()["sitemap.allowed"].endswith("line 3: Disallow: /sitemap (for Bingbot)")
    site.robots(f"{named}User-agent: *\nDisallow: /\nUser-agent: googlebot\nAllow: /\n")
    assert "for all other crawlers and Bingbot" in site.faults()["sitemap.allowed"]
    site.robots(f"{named}User-agent: *\nDisallow: /\nAllow: /sitemap.xml\n")
    assert site.faults() == {
        "start.allowed": f"robots.txt blocks {site.url}, where the site starts: "
        "robots.txt line 3: Disallow: / (for all crawlers)"
    }


def test_ours_a_sitemap_that_is_missing_or_a_page_is_told(site: Www) -> None:
    for name in ("none.xml", "html/sitemap.xml", "html/page.xml"):
        site.robots(f"Sitemap: {site.url}{name}\n")
        site.put("html/sitemap.xml", urlset(f"{site.url}html/"))
        site.put("html/page.xml", "<!doctype html><title>Not found</title>")
        faults = site.faults(name)
        if name == "none.xml":
            assert list(faults) == ["sitemap.answers"]
            assert "404" in faults["sitemap.answers"]
        elif name == "html/sitemap.xml":
            assert faults == {"sitemap.type": "the sitemap is served as text/html"}
        else:
            assert list(faults) == ["sitemap.type", "sitemap.is_one"]


def test_google_a_sitemap_behind_a_redirect_is_told(site: Www) -> None:
    site.robots(f"Sitemap: {site.url}old/sitemap.xml\n")
    site.put("new/old/sitemap.xml", urlset(f"{site.url}new/old/"))
    faults = site.faults("old/sitemap.xml")
    assert faults == {"sitemap.direct": f"{site.url}old/sitemap.xml redirects to {site.url}new/old/sitemap.xml"}


def test_ours_packed_sitemaps_are_judged_by_what_is_in_them(site: Www) -> None:
    site.robots(f"Sitemap: {site.url}packed/sitemap.xml.gz\nSitemap: {site.url}zipped/sitemap.xml\n")
    site.put("packed/sitemap.xml.gz", gzip.compress(urlset(f"{site.url}packed/")))
    site.put("zipped/sitemap.xml", urlset(f"{site.url}zipped/"))
    assert site.faults("packed/sitemap.xml.gz", str(site.root / "packed")) == {}
    assert site.faults("zipped/sitemap.xml", str(site.root / "zipped")) == {}


@pytest.mark.parametrize(
    ("name", "content", "about", "told"),
    [
        ("sitemap.xml", b"\n\n", "sitemap.is_one", "blank space comes before the XML declaration"),
        ("packed/sitemap.xml.gz", b"", "sitemap.is_one", "the document is compressed twice"),
        ("coded/sitemap.xml", b"", "sitemap.coding", "with Content-Encoding: gzip, but is not compressed"),
    ],
)
def test_ours_what_our_reader_forgives_and_others_do_not_is_a_problem(
    site: Www, name: str, content: bytes, about: str, told: str
) -> None:
    document = content + urlset(site.url + name.rpartition("/")[0])
    site.put(name, gzip.compress(gzip.compress(document)) if name.endswith(".gz") else document)
    site.robots(f"Sitemap: {site.url}{name}\n")
    faults = site.faults(name)
    assert list(faults) == [about]
    assert told in faults[about]


def test_ours_what_is_served_is_held_against_the_file_that_was_published(site: Www, tmp_path: Path) -> None:
    (tmp_path / "sitemap.xml").write_bytes(urlset(site.url, f"{site.url}new"))
    assert list(site.faults(output=str(tmp_path))) == ["sitemap.same"]
    (tmp_path / "sitemap.xml").write_bytes((site.root / "sitemap.xml").read_bytes())
    assert site.faults(output=str(tmp_path)) == {}


def test_sitemaps_org_other_hosts_must_name_a_sitemap_that_lists_their_urls(site: Www, tmp_path: Path) -> None:
    with nginx(tmp_path) as shop:
        (tmp_path / "robots.txt").write_text("User-agent: *\n")
        site.put("sitemap.xml", urlset(site.url, f"{shop.url}boats"))
        home = shop.url.rstrip("/")
        site_with_shop = Config(
            site=SiteConfig(url=site.url),
            fetch=FetchConfig(retries=0),
            pace=PaceConfig(rate=0),
            scope={"hosts": (home.removeprefix("http://"),)},  # type: ignore[arg-type]
        )
        found = check_discovery("", site_with_shop)
        assert found.missing == {f"{home}/robots.txt": [f"Sitemap: {site.url}sitemap.xml"]}
        (fault,) = (each for each in found.checks if each.status is CheckStatus.PROBLEM)
        assert (fault.about, f"such as {shop.url}boats, whose" in fault.message) == ("hosts.declared", True)
        assert fault.remedy.startswith("remove these URLs from the sitemap if they are a mistake, or ")
        shown = [part for line in discovery_lines(found) for part in fit(line, 0)]
        assert any(line.startswith(f"if the sitemap may list its URLs, add to {home}/robots.txt (") for line in shown)
        (tmp_path / "robots.txt").write_text(f"Sitemap: {site.url}sitemap.xml\n")
        assert check_discovery("", site_with_shop).is_ok


def test_ours_the_files_of_an_index_are_asked_for_too(site: Www, tmp_path: Path) -> None:
    files = [f"{site.url}part-{n}.xml" for n in range(8)]
    index = "".join(f"<sitemap><loc>{file}</loc></sitemap>" for file in files)
    site.put("sitemap.xml", f'<sitemapindex xmlns="{NS}">{index}</sitemapindex>')
    for number in (0, 1, 3, 4, 5, 6, 7):
        site.put(f"part-{number}.xml", urlset(f"{site.url}{number}"))
    found = site.check()
    told = {each.about: each for each in found.checks if each.status is not CheckStatus.OK}
    assert set(told) == {"files.answer", "hosts.declared"}
    assert "part-2.xml" in told["files.answer"].message
    assert told["hosts.declared"].status is CheckStatus.UNKNOWN
    for path in site.root.glob("*.xml"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    assert set(site.faults(output=str(tmp_path))) == {"files.answer"}
