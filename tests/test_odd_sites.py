"""Sites and machines that are odd, but not hostile, end to end: names, statuses, hosts, locales, interpreters."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hostile import HostileServer, answer
from hostile_crawl import TEXT, check, crawl_hostile, furnish, html, page
from run import FAST, crawl, environment, listed, published, siteatlas
from scripted import Answer, Route, links, scripted

pytestmark = pytest.mark.thorough

PLAIN = {"Content-Type": "text/plain"}

# ------------------------------------------------------------------------------------------------------- names


def test_rfc2606_a_start_host_without_an_address_ends_with_5_and_leaves_what_is_published(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "other.txt").write_text("kept")
    ran = crawl(tmp_path, "http://no-such-host.invalid/", "--set=fetch.retries=0")
    assert ran.code == 5
    assert "no-such-host.invalid" in ran.err
    assert len(ran.err.splitlines()) <= 3
    assert published(tmp_path) == {"other.txt": b"kept"}


def test_rfc2606_a_linked_host_without_an_address_costs_its_links_only(tmp_path: Path) -> None:
    with HostileServer() as server:
        furnish(server, ["http://no-such-host.invalid/a"])
        ran = crawl_hostile(tmp_path, server.url(), "--host", "no-such-host.invalid")
        check(tmp_path, ran)


# ---------------------------------------------------------------------------------------------------- statuses


@pytest.mark.parametrize("status", [408, 425, 502, 504, 520, 521, 525, 530])
def test_ours_a_status_that_passes_is_asked_again(tmp_path: Path, status: int) -> None:
    def once(before: int) -> Answer:
        return Answer("later", status) if before == 0 else Answer("<p>well")

    with scripted({"/": links("/passes"), "/passes": once}) as site:
        ran = crawl(tmp_path, site.url)
        assert ran.code == 0, ran.err
        assert site.paths.count("/passes") == 2
        assert f"{site.url}passes" in listed(tmp_path)


def test_rfc9110_no_head_is_ever_asked(tmp_path: Path) -> None:
    with HostileServer() as server:
        furnish(server, [])
        check(tmp_path, crawl_hostile(tmp_path, server.url()))
        assert {request.head.split()[0] for request in server.requests} == {b"GET"}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_rfc9110_15_4_every_redirect_leads_to_its_target(tmp_path: Path, status: int) -> None:
    routes: dict[str, Route] = {"/": links("/old"), "/old": Answer("", status, {"Location": "/new"}), "/new": "<p>new"}
    with scripted(routes) as site:
        assert crawl(tmp_path, site.url).code == 0
        assert [loc.removeprefix(site.url) for loc in listed(tmp_path)] == ["", "new"]


# ------------------------------------------------------------------------------------------------- robots.txt


def test_rfc9309_2_3_each_origin_has_a_robots_txt_of_its_own(tmp_path: Path) -> None:
    with scripted({"/robots.txt": Answer("User-agent: *\nDisallow: /", headers=PLAIN)}) as shut:
        other = shut.url.replace("127.0.0.1", "localhost")
        start = links("/here", f"{other}there")
        routes: dict[str, Route] = {"/": start, "/here": "<p>here"}
        with scripted(routes) as site:
            ran = crawl(tmp_path, site.url, "--host", other.split("/")[2].split(":")[0], "--resolve",
                        f"{other.split('/')[2]}:127.0.0.1")  # fmt: skip
            assert ran.code == 0, ran.err
            assert f"{site.url}here" in listed(tmp_path)
        assert set(shut.paths) <= {"/robots.txt"}


def test_rfc9309_2_4_a_site_that_forbids_all_of_itself_keeps_its_sitemap(tmp_path: Path) -> None:
    routes: dict[str, Route] = {"/": links(*(f"/p{n}" for n in range(20)))}
    routes |= {f"/p{n}": f"<p>{'abcdefghijklmnopqrst'[n] * 9}" for n in range(20)}
    with scripted(routes) as site:
        assert crawl(tmp_path, site.url).code == 0
        before = published(tmp_path)
        routes["/robots.txt"] = Answer("User-agent: *\nDisallow: /p", headers=PLAIN)
        ran = crawl(tmp_path, site.url)
        assert ran.code == 3, ran.out
        assert "blocked by robots.txt" in ran.out
        assert len(listed(tmp_path)) == 21
        assert published(tmp_path).keys() == before.keys()


# ------------------------------------------------------------------------------------------------ pages, sitemaps


def test_whatwg_ten_thousand_metas_are_read_in_linear_time(tmp_path: Path) -> None:
    metas = '<meta http-equiv="content-type" content="text/html; charset=utf-8" ' * 10_000
    with HostileServer() as server:
        furnish(server, ["/metas"])
        server.route("/metas", answer(html(head=metas + ">"), "Content-Type: text/html"))
        ran = crawl_hostile(tmp_path, server.url(), "--set=fetch.max_body=2M")
        check(tmp_path, ran)
        assert "/metas" in ran.listed


@pytest.mark.parametrize("kind", ["text/html", "application/octet-stream", "text/plain", "image/png"])
def test_sitemaps_org_a_sitemap_is_known_by_what_is_in_it(tmp_path: Path, kind: str) -> None:
    with HostileServer() as server:
        namespace = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
        body = f"<urlset {namespace}><url><loc>{server.url('/only-in-sitemap')}</loc></url></urlset>"
        furnish(server, [])
        server.route("/robots.txt", answer(f"Sitemap: {server.url('/map')}".encode(), TEXT))
        server.route("/map", answer(f'<?xml version="1.0"?>{body}'.encode(), f"Content-Type: {kind}"))
        server.route("/only-in-sitemap", page())
        ran = crawl_hostile(tmp_path, server.url())
        check(tmp_path, ran)
        assert "/only-in-sitemap" in ran.listed


def test_ours_fragments_are_no_pages(tmp_path: Path) -> None:
    with scripted({"/": links("#/route", "#!/other", "/#/third", "/page#part"), "/page": "<p>page"}) as site:
        assert crawl(tmp_path, site.url).code == 0
        assert [loc.removeprefix(site.url) for loc in listed(tmp_path)] == ["", "page"]
        assert set(site.paths) <= {"/", "/page", "/robots.txt", "/sitemap.xml", "/sitemap_index.xml"}


# ------------------------------------------------------------------------------------------- this machine


@pytest.mark.parametrize(
    "locale", [{"LC_ALL": "C"}, {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}]
)
def test_ours_a_locale_without_utf_8_breaks_nothing(tmp_path: Path, locale: dict[str, str]) -> None:
    with scripted({"/": links("/b\u00fccher") + "<title>\u2603 \U0001f4a9</title>"}) as site:
        ran = siteatlas(tmp_path, "crawl", site.url, "-o", "out", *FAST, **locale)
        assert ran.code == 0, ran.err
        assert "b%C3%BCcher" in ran.out


@pytest.mark.parametrize("flags", [("-O",), ("-OO",), ("-W", "error")])
def test_ours_no_rule_rests_on_an_assert_and_nothing_warns(tmp_path: Path, flags: tuple[str, ...]) -> None:
    with scripted({"/": links("/page", "/missing"), "/page": "<p>page"}) as site:
        line = [sys.executable, *flags, "-m", "crawler", "crawl", site.url, "-o", "out", *FAST, "--json"]
        ran = subprocess.run(line, check=False, cwd=tmp_path, env=environment(), capture_output=True, timeout=60)
        assert ran.returncode == 0, ran.stderr
        assert b"Warning" not in ran.stderr
        assert json.loads(ran.stdout)
        assert [loc.removeprefix(site.url) for loc in listed(tmp_path)] == ["", "page"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a device that is always full")
def test_ours_a_log_that_cannot_be_written_stops_no_crawl(tmp_path: Path) -> None:
    with scripted({"/": links("/page"), "/page": "<p>page"}) as site, Path("/dev/full").open("wb") as full:
        line = [sys.executable, "-m", "crawler", "crawl", site.url, "-o", "out", *FAST, "-v"]
        ran = subprocess.run(line, check=False, cwd=tmp_path, env=environment(), stderr=full, timeout=60)
        assert [loc.removeprefix(site.url) for loc in listed(tmp_path)] == ["", "page"]
        assert ran.returncode == 0


BROKEN = """
import sys
from crawler.crawl.worker import PageWorker
process = PageWorker.process
async def broken(self, lease):
    if lease.url.endswith("/broken"):
        raise KeyError("a defect")
    return await process(self, lease)
PageWorker.process = broken
from crawler.__main__ import main
sys.argv[0] = "siteatlas"
main()
"""


def test_ours_a_defect_of_ours_costs_its_url_only_and_is_told(tmp_path: Path) -> None:
    with scripted({"/": links("/broken", "/page"), "/broken": "<p>b", "/page": "<p>page"}) as site:
        line = [sys.executable, "-c", BROKEN, "crawl", site.url, "-o", "out", *FAST]
        ran = subprocess.run(line, check=False, cwd=tmp_path, env=environment(), capture_output=True, timeout=60)
        assert ran.returncode == 1, ran.stderr
        assert [loc.removeprefix(site.url) for loc in listed(tmp_path)] == ["", "page"]
        assert b"/broken" in ran.stdout
        assert b"KeyError" in ran.stdout + ran.stderr
