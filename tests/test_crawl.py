"""The crawl command end to end: what is listed, what is left out and why, on scripted sites."""

import json
import re
from pathlib import Path

import pytest
from run import Ran, crawl, listed, published, siteatlas
from scripted import Answer, Route, Site, links, scripted


def states(ran: Ran) -> dict[str, dict[str, str]]:
    """What a crawl with -v --json left out: by state, URL path and reason."""
    report = json.loads(ran.out)
    strip = re.compile(r"^http://127\.0\.0\.1:\d+").sub
    return {
        group["state"]: {strip("", one["url"]): one["reason"] for one in group["examples"]}
        for group in report["left_out"]
    }


def paths(folder: Path, site: Site) -> list[str]:
    return [loc.removeprefix(site.url.rstrip("/")) for loc in listed(folder)]


def test_ours_every_way_of_naming_a_page_is_a_discovery(tmp_path: Path) -> None:
    home = """<html><head>
      <link rel="alternate" hreflang="de" href="/alternate"><link rel="next" href="/next">
      <link rel="amphtml" href="/amp"><meta http-equiv="refresh" content="5; url=/refresh">
      </head><body><a href="/a">a</a><map><area href="/area"></map><iframe src="/frame"></iframe>
      <a href="/redirect">r</a><a href="/based/">b</a></body></html>"""
    routes = {
        "/": Answer(home, headers={"Link": '</header>; rel="next"'}),
        "/redirect": Answer("", 301, {"Location": "/target"}),
        "/based/": '<html><head><base href="/elsewhere/"><base href="/wrong/"></head><a href="page">p</a></html>',
        "/robots.txt": Answer("Sitemap: {url}named.xml", headers={"Content-Type": "text/plain"}),
        "/named.xml": Answer(
            '<?xml version="1.0"?><sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
            "<sitemap><loc>{url}child.xml</loc></sitemap></sitemapindex>",
            headers={"Content-Type": "application/xml"},
        ),
        "/child.xml": Answer(
            '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
            "<url><loc>{url}unlinked</loc></url></urlset>",
            headers={"Content-Type": "application/xml"},
        ),
        "/sitemap.xml": Answer("{url}texted\n", headers={"Content-Type": "text/plain"}),
    }
    pages = ["a", "alternate", "amp", "area", "elsewhere/page", "frame", "header", "next", "refresh"]
    pages += ["target", "texted", "unlinked"]
    routes |= {f"/{page}": "<html><body>page</body></html>" for page in pages}
    with scripted(routes) as site:
        ran = crawl(tmp_path, site.url)
        assert ran.code == 0, ran.err
        assert paths(tmp_path, site) == sorted(["/", "/based/", *(f"/{page}" for page in pages)])


def test_whatwg_mimesniff_feeds_and_sitemaps_that_are_labelled_as_html_are_read_and_not_listed(tmp_path: Path) -> None:
    namespace = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    with scripted({}) as site:
        site.routes = {
            "/": links("/feed", "/map", "/data"),
            "/feed": f"<rss version='2.0'><channel><item><link>{site.url}a</link></item></channel></rss>",
            "/map": f"<?xml version='1.0'?><urlset {namespace}><url><loc>{site.url}b</loc></url></urlset>",
            "/data": '{"a": [1]}',
            "/a": "<p>a",
            "/b": "<p>b",
        }
        assert crawl(tmp_path, site.url).code == 0
        assert paths(tmp_path, site) == ["/", "/a", "/b"]


@pytest.mark.parametrize("transport", ["fast", "httpx"])
def test_whatwg_url_a_percent_sign_that_begins_no_escape_is_requested_as_it_is_and_not_listed(
    tmp_path: Path, transport: str
) -> None:
    odd = ["/s.asp?q=%u0416%7e", "/sale-100%", "/x?p=50%&r=1"]
    with scripted(
        {"/": links(*odd), "/s.asp?q=%u0416~": links("/a"), odd[1]: "<p>b", odd[2]: "<p>c", "/a": "<p>"}
    ) as site:
        ran = crawl(tmp_path, site.url, "-v", "--json", f"--set=fetch.transport={transport}")
        assert {*site.paths} >= {"/s.asp?q=%u0416~", *odd[1:]}
        assert paths(tmp_path, site) == ["/", "/a"]
        assert set(states(ran)["out of scope"]) == {"/s.asp?q=%u0416~", *odd[1:]}


@pytest.mark.parametrize("transport", ["fast", "httpx"])
def test_ours_a_page_that_redirects_to_itself_until_a_cookie_is_set_says_so(tmp_path: Path, transport: str) -> None:
    def wall(path: str, **headers: str) -> Answer:
        return Answer("", 302, {"Location": path, **headers})

    wants = wall("/wants", **{"Set-Cookie": "seen=1; Path=/"})
    with scripted(
        {"/": links("/wants", "/loops", "/page"), "/wants": wants, "/loops": wall("/loops"), "/page": "<p>"}
    ) as site:
        ran = crawl(tmp_path, site.url, "-v", "--json", f"--set=fetch.transport={transport}")
        loop = "answered 302; it redirects to itself"
        cookie = f"{loop} and sets a cookie, but Siteatlas keeps none. Set it with --cookie"
        assert states(ran)["bad answer"] == {"/wants": cookie, "/loops": loop}
        assert not any("cookie" in headers for _, _, headers in site.log)


def test_ours_no_sitemap_seeds_turns_the_sites_own_sitemaps_off(tmp_path: Path) -> None:
    with scripted({"/": links(), "/sitemap.xml": Answer("{url}texted\n"), "/texted": "x"}) as site:
        crawl(tmp_path, site.url, "--set=scope.sitemap_seeds=false")
        assert paths(tmp_path, site) == ["/"]
        assert "/sitemap.xml" not in site.paths


def test_ours_every_url_ends_in_one_state_with_a_reason(tmp_path: Path) -> None:
    canonical = '<link rel="canonical" href="{}">'.format
    routes = {
        "/": links(
            "/moved", "/dup", "/dup-header", "/noindex", "/noindex-header", "/missing", "/broken", "/file.bin",
            "/secret/x", "https://elsewhere.example/", "/out/x", "/orphan-canonical", "/conflict", "/bad-canonical",
            "/self", "/loop", "/fragment#part", "/?utm_source=x", "/none", "mailto:a@b.example",
        ),
        "/moved": Answer("", 302, {"Location": "/self"}),
        "/loop": Answer("", 302, {"Location": "/loop"}),
        "/dup": links(head=canonical("/self")),
        "/dup-header": Answer(links(), headers={"Link": '</self>; rel="canonical"'}),
        "/orphan-canonical": links(head=canonical("/only-as-canonical")),
        "/only-as-canonical": links(),
        "/conflict": links(head=canonical("/self") + canonical("/moved")),
        "/bad-canonical": links(head=canonical("file:///C:/page.html")),
        "/self": links(head=canonical("/self#here")),
        "/noindex": links("/via-noindex", head='<meta name="ROBOTS" content="NOINDEX">'),
        "/none": links("/via-none", head='<meta name="robots" content="none">'),
        "/via-none": links(),
        "/via-noindex": links(),
        "/noindex-header": Answer(links(), headers={"X-Robots-Tag": "noindex"}),
        "/broken": Answer("oops", 500),
        "/file.bin": Answer(b"\x00\x01\x02"),
        "/fragment": links(),
        "/out/x": links(),
        "/secret/x": links(),
        "/robots.txt": Answer("User-agent: *\nDisallow: /secret/\n", headers={"Content-Type": "text/plain"}),
    }  # fmt: skip
    with scripted(routes) as site:
        ran = crawl(tmp_path, site.url, "--exclude", "*/out/*", "--set=fetch.retries=0", "-v", "--json")
        assert ran.code == 0, ran.err
        expected = ["/", "/bad-canonical", "/conflict", "/fragment", "/only-as-canonical", "/self", "/via-noindex"]
        assert paths(tmp_path, site) == expected
        left = states(ran)
        assert "/secret/x" not in site.paths
        assert "/out/x" not in site.paths
        assert "/via-none" not in site.paths
    assert left["redirect"].keys() == {"/moved"}
    assert left["bad answer"].keys() == {"/loop"}
    assert left["canonical elsewhere"].keys() == {"/dup", "/dup-header", "/orphan-canonical"}
    assert left["noindex"].keys() == {"/noindex", "/noindex-header", "/none"}
    assert left["client error"].keys() == {"/missing"}
    assert left["server error"].keys() == {"/broken"}
    assert left["wrong type"].keys() == {"/file.bin"}
    assert left["blocked by robots.txt"] == {"/secret/x": "robots.txt line 2: Disallow: /secret/"}
    assert left["excluded"].keys() == {"/out/x"}
    assert left["linked by nofollow only"].keys() == {"/via-none"}
    assert left["out of scope"].keys() == {"https://elsewhere.example/"}


def test_google_noindex_for_one_search_engine_is_obeyed_unless_told_otherwise(tmp_path: Path) -> None:
    google, ahrefs = (f'<meta name="{name}" content="noindex">' for name in ("Googlebot", "AhrefsBot"))
    routes = {
        "/": links("/google", "/bing", "/other"),
        "/google": links("/behind", head=google),
        "/bing": Answer(links(), headers={"X-Robots-Tag": "bingbot: noindex", "ETag": '"b"'}),
        "/other": Answer(links(head=ahrefs), headers={"X-Robots-Tag": "AhrefsBot: noindex"}),
        "/behind": links(),
    }
    with scripted(routes) as site:
        for _ in range(2):  # the second run asks conditionally where it may
            ran = crawl(tmp_path, site.url, "-v", "--json")
            assert paths(tmp_path, site) == ["/", "/behind", "/other"]
        assert states(ran)["noindex"] == {
            "/google": 'only for googlebot: meta googlebot "noindex"',
            "/bing": 'only for bingbot: X-Robots-Tag "bingbot: noindex"',
        }
        crawl(tmp_path, site.url, "--set=obey.engine_noindex=false")
        assert paths(tmp_path, site) == ["/", "/behind", "/bing", "/google", "/other"]


def test_sitemaps_org_location_rule_is_the_scope(tmp_path: Path) -> None:
    routes = {"/docs/": links("/docs/a", "/other", "/docs/sub/b", "../up"), "/other": links("/docs/hidden")}
    routes |= {path: links() for path in ("/docs/a", "/docs/sub/b", "/docs/hidden", "/up")}
    with scripted(routes) as site:
        crawl(tmp_path, f"{site.url}docs/")
        assert paths(tmp_path, site) == ["/docs/", "/docs/a", "/docs/sub/b"]
        assert "/other" not in site.paths


def test_sitemaps_org_cross_submits_list_a_host_that_the_operator_names(tmp_path: Path) -> None:
    with scripted({"/x": links("/y"), "/y": links()}) as other, scripted({}) as site:
        site.routes["/"] = links(f"{other.url}x")
        crawl(tmp_path, site.url)
        assert listed(tmp_path) == [site.url]
        assert not other.paths
        crawl(tmp_path, site.url, "--host", other.url.split("/")[2])
        assert listed(tmp_path) == sorted([site.url, f"{other.url}x", f"{other.url}y"])


def test_ours_sitemap_url_moves_the_scope(tmp_path: Path) -> None:
    with scripted({"/docs/": links("/blog/x"), "/blog/x": links()}) as site:
        crawl(tmp_path, f"{site.url}docs/", "--sitemap-url", f"{site.url}sitemap.xml")
        assert paths(tmp_path, site) == ["/blog/x", "/docs/"]


def test_sitemaps_org_location_rule_is_told_with_the_remedy_if_it_leaves_nothing(tmp_path: Path) -> None:
    with scripted({"/": links("/a")}) as site:
        ran = crawl(tmp_path, site.url, "--sitemap-url", f"{site.url}maps/sitemap.xml")
        assert ran.code == 5
        assert f"For the whole site: --sitemap-url {site.url}sitemap.xml\n" in ran.out
        assert crawl(tmp_path, site.url, "--sitemap-url", f"{site.url}sitemap.xml").code == 0


def test_ours_depth_is_exact_whatever_the_order_of_answers(tmp_path: Path) -> None:
    routes = {
        "/": links("/slow", "/quick"),
        "/slow": Answer(links("/deep"), delay=0.4),
        "/quick": links("/quick2"),
        "/quick2": links("/deep"),
        "/deep": links("/too-deep"),
        "/too-deep": links(),
    }
    with scripted(routes) as site:
        ran = crawl(tmp_path, site.url, "--max-depth", "2", "-v", "--json")
        assert paths(tmp_path, site) == ["/", "/deep", "/quick", "/quick2", "/slow"]
        assert states(ran)["too deep"].keys() == {"/too-deep"}


def test_ours_a_nofollow_link_is_known_and_not_followed_until_another_link_vouches(tmp_path: Path) -> None:
    routes = {
        "/": '<a rel="nofollow" href="/never">n</a><a rel="nofollow" href="/later">l</a><a href="/page">p</a>',
        "/page": links("/later"),
        "/never": links(),
        "/later": links(),
    }
    with scripted(routes) as site:
        ran = crawl(tmp_path, site.url, "-v", "--json")
        assert paths(tmp_path, site) == ["/", "/later", "/page"]
        assert states(ran)["linked by nofollow only"].keys() == {"/never"}
        crawl(tmp_path, site.url, "--set=obey.nofollow=false")
        assert "/never" in paths(tmp_path, site)


def test_ours_overlong_urls_are_reported_and_never_listed(tmp_path: Path) -> None:
    long, longest = "/" + "a" * 2100, "/" + "b" * 9000
    with scripted({"/": links(long, longest), long: links("/found"), "/found": links()}) as site:
        ran = crawl(tmp_path, site.url, "-v", "--json")
        assert paths(tmp_path, site) == ["/", "/found"]
        assert states(ran)["too long"].keys() == {long, longest}
        assert longest not in site.paths


@pytest.mark.parametrize("transport", ["fast", "httpx"])
def test_ours_both_transports_give_the_same_sitemap(tmp_path: Path, transport: str) -> None:
    routes = {"/": links(*(f"/p{n}" for n in range(30)))} | {f"/p{n}": links("/") for n in range(30)}
    with scripted(routes) as site:
        ran = crawl(tmp_path, site.url, f"--set=fetch.transport={transport}")
        assert ran.code == 0, ran.err
        assert len(listed(tmp_path)) == 31


def test_ours_crawl_goes_by_httpx_where_reqwest_cannot_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "hidden").mkdir()
    broken = 'print("asked for"); raise ImportError("no build for this machine")'
    (tmp_path / "hidden" / "pyreqwest.py").write_text(broken, encoding="utf-8")
    with scripted({"/": links("/page"), "/page": links("/")}) as site:
        ran = crawl(tmp_path, site.url, PYTHONPATH=str(tmp_path / "hidden"))
        assert ran.code == 0, ran.err
        assert "asked for" in ran.out
        assert paths(tmp_path, site) == ["/", "/page"]


def test_ours_lastmod_is_what_the_server_says_and_never_now(tmp_path: Path) -> None:
    from email.utils import formatdate

    routes = {
        "/": Answer(links("/now", "/page"), headers={"Last-Modified": "Tue, 03 Mar 2020 04:05:06 GMT"}),
        "/now": lambda _: Answer(links(), headers={"Last-Modified": formatdate(usegmt=True)}),
        "/page": links(head='<meta property="article:modified_time" content="2021-02-03">'),
    }
    with scripted(routes) as site:
        crawl(tmp_path, site.url)
        body = published(tmp_path)["sitemap.xml"].decode()
        found = re.findall(r"<loc>[^<]*?(/[^/<]*)</loc>(?:\s*<lastmod>([^<]*)</lastmod>)?", body)
        assert found == [("/", "2020-03-03T04:05:06+00:00"), ("/now", ""), ("/page", "2021-02-03")]
        for policy, count in (("none", 0), ("header", 1), ("page", 1)):
            crawl(tmp_path, site.url, "--lastmod", policy)
            assert published(tmp_path)["sitemap.xml"].count(b"<lastmod>") == count, policy


def test_google_a_logo_is_an_image_of_the_start_page_only(tmp_path: Path) -> None:
    def images(*words: str) -> dict[str, int]:
        assert crawl(tmp_path, site.url, *words).code == 0
        xml = published(tmp_path)["sitemap.xml"].decode()
        return {name: xml.count(f"<image:loc>{site.url}{name}</image:loc>") for name in ("logo.svg", "1.jpg", "9.jpg")}

    paths = [f"/{n}" for n in range(10)]
    logo = "<header><a href=/><img src=/logo.svg></a></header>"
    texts = {path: "".join(f"<p>Boat {path} is {n} feet long" for n in range(9)) for path in paths}
    pages: dict[str, Route] = {path: f"{texts[path]}<img src={path}.jpg>{logo}" for path in paths}
    with scripted({"/": links(*paths) + logo, **pages}) as site:
        assert images() == {"logo.svg": 1, "1.jpg": 1, "9.jpg": 1}
        assert images("--set=content.max_image_share=1") == {"logo.svg": 11, "1.jpg": 1, "9.jpg": 1}
        for path in paths[:6]:  # 5 of 11 pages have it now: not enough for a new one
            site.routes[path] = f"{texts[path]}<img src={path}.jpg>"
        assert images() == {"logo.svg": 5, "1.jpg": 1, "9.jpg": 1}


def test_ours_images_videos_and_alternates_are_listed_and_can_be_turned_off(tmp_path: Path) -> None:
    home = """<html><head><link rel="alternate" hreflang="en" href="/"><link rel="alternate" hreflang="de" href="/de">
      <link rel="alternate" hreflang="fr" href="/gone"><script type="application/ld+json">{"@type": "VideoObject",
      "name": "n", "description": "d", "thumbnailUrl": "/t.jpg", "contentUrl": "/v.mp4", "uploadDate": "2020-01-01"}
      </script></head><body><img src="/i.png"><img src="data:image/gif;base64,xx"></body></html>"""
    with scripted({"/": home, "/de": links()}) as site:
        crawl(tmp_path, site.url)
        body = published(tmp_path)["sitemap.xml"].decode()
        assert f"<image:loc>{site.url}i.png</image:loc>" in body
        assert body.count("<image:image>") == 1
        assert f"<video:content_loc>{site.url}v.mp4</video:content_loc>" in body
        assert 'hreflang="de"' in body
        assert 'hreflang="fr"' not in body  # that page is gone, which this crawl has seen
        crawl(
            tmp_path,
            site.url,
            "--set=content.images=false",
            "--set=content.videos=false",
            "--set=content.alternates=false",
        )
        body = published(tmp_path)["sitemap.xml"].decode()
        assert "image:" not in body
        assert "video:" not in body
        assert "xhtml:" not in body


def test_ours_a_video_that_cannot_be_listed_is_told_with_the_reason(tmp_path: Path) -> None:
    bare = '{"@type": "VideoObject", "name": "n", "description": "d", "contentUrl": "/v.mp4"}'
    page = f'<script type="application/ld+json">{bare}</script>'
    with scripted({"/": page}) as site:
        ran = crawl(tmp_path, site.url)
        assert b"video:" not in published(tmp_path)["sitemap.xml"]
        assert "thumbnail" in ran.out


def test_ours_more_urls_than_a_file_takes_give_an_index_and_shards(tmp_path: Path) -> None:
    routes = {"/": links(*(f"/p{n:03}" for n in range(50)))} | {f"/p{n:03}": links() for n in range(50)}
    with scripted(routes) as site:
        ran = crawl(tmp_path, site.url, "--set=output.max_urls=20", "--gzip")
        assert ran.code == 0, ran.err
        files = published(tmp_path)
        assert list(files) == ["sitemap-1.xml.gz", "sitemap-2.xml.gz", "sitemap-3.xml.gz", "sitemap.xml"]
        assert re.findall(r"<loc>(.*?)</loc>", files["sitemap.xml"].decode()) == [
            f"{site.url}sitemap-{n}.xml.gz" for n in (1, 2, 3)
        ]
        assert len(listed(tmp_path)) == 51
        crawl(tmp_path, site.url, "--set=output.grace_period=0")  # fewer files than before: the old children go
        assert list(published(tmp_path)) == ["sitemap.xml"]


def test_ours_sections_get_files_of_their_own_names_and_a_stylesheet(tmp_path: Path) -> None:
    routes = {"/": links("/shop/1", "/blog/1"), "/shop/1": "x", "/blog/1": "x"}
    with scripted(routes) as site:
        names = ("--group", "section", "--set=output.file_names={group}-sitemap{next}.xml")
        ran = crawl(tmp_path, site.url, *names, "--set=output.stylesheet=css")
        assert ran.code == 0, ran.err
        assert set(published(tmp_path)) == {
            "sitemap.xml",
            "sitemap.css",
            "blog-sitemap.xml",
            "root-sitemap.xml",
            "shop-sitemap.xml",
        }
        assert b"/shop/1</loc>" in published(tmp_path)["shop-sitemap.xml"]
        before = len(site.log)
        ran = crawl(tmp_path, site.url, "--set=output.file_names=../{n}.xml", "--fresh")
        assert (ran.code, len(site.log)) == (2, before)
        assert "output.file_names: " in ran.err
        assert "a plain name without a directory" in ran.err


def test_ours_settings_for_many_files_that_changed_nothing_are_told(tmp_path: Path) -> None:
    with scripted({"/": "alone"}) as site:
        ran = crawl(tmp_path, site.url, "--set=output.file_names={stem}-{n}.xml")
        assert (ran.code, list(published(tmp_path))) == (0, ["sitemap.xml"])
        assert "note: output.file_names had no effect: all pages are in one file" in ran.out


def test_ours_two_crawls_give_the_same_bytes(tmp_path: Path) -> None:
    routes = {"/": links(*(f"/p{n}" for n in range(60)))} | {
        f"/p{n}": Answer(links(f"/p{(n * 7) % 60}"), delay=(n % 5) / 200) for n in range(60)
    }
    with scripted(routes) as site:
        seen = set()
        for concurrency in ("1", "8", "32"):
            assert crawl(tmp_path, site.url, "-c", concurrency, anew=True).code == 0
            seen.add(published(tmp_path)["sitemap.xml"])
        assert len(seen) == 1


def test_ours_the_summary_says_what_was_left_out_and_why(tmp_path: Path) -> None:
    routes = {"/": links("/missing", "/evil"), "/evil": links(head='<link rel="canonical" href="/x%1b[31m">')}
    with scripted(routes) as site:
        ran = crawl(tmp_path, site.url)
        assert "1 page listed in out/sitemap.xml" in ran.out
        assert "client error" in ran.out
        assert f"{site.url}missing" in ran.out
        assert "answered 404" in ran.out
        assert "\x1b" not in ran.out + ran.err
        assert crawl(tmp_path, site.url, "-q").out == ""


def test_ours_a_state_that_cannot_be_looked_for_is_one_clear_line(tmp_path: Path) -> None:
    ran = siteatlas(tmp_path, "crawl", "http://127.0.0.1:1/", "-o", "out", "--state", "s" * 300)
    assert (ran.code, ran.err.count("\n"), "internal error" in ran.err) == (7, 1, False), ran.err


def test_ours_what_is_odd_on_many_pages_is_said_once(tmp_path: Path) -> None:
    odd = '<link rel="canonical" href="file:///C:/page.html">'
    pages = {f"/{name}": links(head=odd) + f"<p>{name}" for name in "ab"}
    with scripted({"/": links(*pages), **pages}) as site:
        ran = crawl(tmp_path, site.url)
        notes = [line for line in ran.out.splitlines() if "does not count:" in line]
        assert len(notes) == 1
        assert f"(2 pages, the first {site.url}a)" in notes[0]
        assert len(listed(tmp_path)) == 3


def test_ours_dry_run_publishes_nothing(tmp_path: Path) -> None:
    with scripted({"/": links()}) as site:
        ran = crawl(tmp_path, site.url, "--dry-run")
        assert ran.code == 0
        assert published(tmp_path) == {}


def test_rfc9309_2_3_1_4_a_run_that_obeys_a_copy_of_robots_says_so_until_robots_is_back(tmp_path: Path) -> None:
    rules = Answer("User-agent: *\nDisallow: /a", headers={"Content-Type": "text/plain"})
    with scripted({"/": links("/a", "/b"), "/b": "b", "/robots.txt": rules}) as site:
        for answer, fails in ((rules, False), (Answer("", 500), True), (rules, False)):
            site.routes["/robots.txt"] = answer
            ran = crawl(tmp_path, site.url, "--state", "state", "--set=fetch.retries=0")
            assert ran.code == 0
            assert paths(tmp_path, site) == ["/", "/b"]
            assert ("note: robots.txt answered 500, so Siteatlas obeyed its copy of " in ran.out) is fails
            told = siteatlas(tmp_path, "status", "--state", "state").out
            assert ("robots.txt answered 500: " in told) is fails


def test_ours_state_lives_apart_from_what_is_published(tmp_path: Path) -> None:
    with scripted({"/": links()}) as site:
        crawl(tmp_path, site.url)
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["sitemap.xml"]
        assert (tmp_path / ".siteatlas").is_dir()
        inside = siteatlas(tmp_path, "crawl", site.url, "-o", "out", "--state", "out/state")
        assert inside.code == 2
        assert "--state" in inside.err


def test_ours_a_start_url_that_does_not_exist_ends_the_first_crawl_at_once(tmp_path: Path) -> None:
    pages = [f"/p{number}" for number in range(60)]
    routes = {"/": links(*pages), "/sitemap.xml": Answer("\n".join(f"{{url}}{page[1:]}" for page in pages))}
    with scripted(routes | {page: links() for page in pages}) as site:
        for _ in range(2):
            ran = crawl(tmp_path, f"{site.url}nope", "-c", "1")
            assert ran.code == 5
            assert f"the start URL {site.url}nope answered 404, not found: correct it" in ran.err, ran.err
            assert published(tmp_path) == {}
        assert sum(path.startswith("/p") for path in site.paths) < 10
        assert crawl(tmp_path, f"{site.url}nope", "--accept-shrink").code == 0


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_ours_a_start_url_that_redirects_to_a_directory_asks_which_is_meant(tmp_path: Path, status: int) -> None:
    routes = {"/": links("/x"), "/x": links(), "/de": Answer("", status, {"Location": "/de/"}), "/de/": links("/x")}
    with scripted(routes) as site:
        ran = crawl(tmp_path, f"{site.url}de")
        assert ran.code == 5
        assert f"{site.url}de redirects to {site.url}de/. Start at {site.url}de/ for a sitemap of that" in ran.err
        assert f"or at {site.url} for a sitemap of everything below it" in ran.err
        assert crawl(tmp_path, f"{site.url}de", "--sitemap-url", f"{site.url}sitemap.xml").code == 0
        assert paths(tmp_path, site) == ["/de/", "/x"]


def test_ours_a_page_that_is_labelled_as_compressed_and_is_not_is_left_out(tmp_path: Path) -> None:
    plain = Answer(links("/b"), headers={"Content-Encoding": "gzip"})
    with scripted({"/": links("/a"), "/a": plain, "/b": links()}) as site:
        ran = crawl(tmp_path, site.url, "-v", "--json")
        assert paths(tmp_path, site) == ["/", "/b"]
        reason = "labelled gzip, but not compressed: browsers cannot show it"
        assert states(ran)["bad answer"] == {"/a": reason}


@pytest.mark.thorough
def test_ours_a_proxy_in_the_environment_is_not_used_and_that_is_said_once(tmp_path: Path) -> None:
    with scripted({"/": "<title>A</title>"}) as site:
        ran = crawl(tmp_path, site.url, anew=True, HTTPS_PROXY="http://user:secret@127.0.0.1:9/", NO_PROXY="x")
        assert ran.code == 0
        assert ran.err.count("HTTPS_PROXY is set, but Siteatlas uses no proxy: --proxy URL sets one") == 1
        assert "secret" not in ran.err
        assert "proxy" not in crawl(tmp_path, site.url).err.lower()
        told = crawl(tmp_path, site.url, "--proxy", "http://user:secret@127.0.0.1:9/", "-v", "--set=fetch.retries=0")
        assert told.err.count("the proxy 127.0.0.1:9, which resolves the host names") == 1
        assert "secret" not in told.err + told.out


def test_ours_reasons_that_people_read_have_no_codes(tmp_path: Path) -> None:
    def closed(_: int) -> Answer:
        return Answer("x", headers={"Content-Length": "9000"}, delay=0)

    routes: dict[str, Route] = {"/": links("/loop", "/bad", "/odd", "/cut"), "/cut": closed}
    routes |= {"/loop": Answer("", 302, {"Location": "/loop"}), "/bad": Answer("", 302, {"Location": "http://["})}
    routes["/odd"] = Answer("", 299)
    with scripted(routes) as site:
        ran = crawl(tmp_path, site.url, "--set=fetch.retries=0")
        why = siteatlas(tmp_path, "why", f"{site.url}loop")
    for said in (ran.out + ran.err, why.out.partition("requests")[0]):
        assert "answered 302; it redirects to itself" in said
        assert not re.search(r"\b(?:net|http|body|time|tls|redirect)\.[a-z_]+:", said), said


def test_ours_a_site_that_is_one_page_says_what_its_links_lead_to(tmp_path: Path) -> None:
    for link, told in (
        ("/", "JavaScript creates them"),
        ("https://other.example/a", "elsewhere, such as to https://other.example/a (another host: other.example)."),
        ("https://127.0.0.1/a", "elsewhere, such as to https://127.0.0.1/a (another scheme or port: "),
    ):
        with scripted({"/": f'<title>A</title><a href="{link}">A</a>'}) as site:
            assert told in " ".join(crawl(tmp_path, site.url, "--render", "never", "--dry-run").out.split())
