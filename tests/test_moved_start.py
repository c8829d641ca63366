"""A start URL that redirects to its own site, and one without a scheme: the crawl starts where the site is."""

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trustme
from run import Ran, crawl, listed, siteatlas
from scripted import Answer, Route, Site, links, scripted

from crawler.config.start import moved_start
from crawler.model import Url

PAGES: dict[str, Route] = {"/": links("/a", "/b"), "/a": "<p>A.", "/b": "<p>B."}


@pytest.mark.parametrize(
    ("start", "target", "moved"),
    [
        ("http://example.com/", "https://example.com/", "https://example.com/"),
        ("http://example.com/", "https://www.example.com/", "https://www.example.com/"),
        ("https://www.example.com/", "https://example.com/", "https://example.com/"),
        ("https://example.com/", "http://www.example.com/", "http://www.example.com/"),
        ("http://example.com:8080/", "https://example.com:8443/", "https://example.com:8443/"),
        ("http://example.com/", "https://www.example.com/en/?from=1", "https://www.example.com/"),
        ("http://example.com/de/", "https://example.com/de/start", "https://example.com/de/"),
        ("http://example.com/de", "https://example.com/de/", "https://example.com/de"),
        ("http://example.com/de/", "https://example.com/", None),
        ("http://example.com/", "http://example.com/home", None),
        ("http://example.com/", "http://example.com:8080/", None),
        ("http://example.com/", "https://shop.example.com/", None),
        ("http://example.com/", "https://www.example.org/", None),
        ("http://example.com/", "https://example.com.evil.test/", None),
        ("http://example.com/", "https://www.www.example.com/", None),
        ("http://blog.example.com/", "https://www.example.com/", None),
    ],
)
def test_ours_a_site_moves_to_https_or_www_and_keeps_its_directory(start: str, target: str, moved: str | None) -> None:
    assert moved_start(Url(start), Url(target)) == moved


def resolved(site: Site, *hosts: str) -> list[str]:
    port = site.url.rstrip("/").rpartition(":")[2]
    return [word for host in hosts for word in ("--resolve", f"{host}:{port}:127.0.0.1")]


@contextmanager
def redirecting(start: str, target: str) -> Iterator[tuple[Site, str]]:
    """A site that sends the host ``start`` to ``target``, with ``{port}`` in it, and the URL of ``start``."""
    with scripted(dict(PAGES)) as site:
        port = site.url.rstrip("/").rpartition(":")[2]
        pages = site.answer

        def answer(path: str, headers: dict[str, str]) -> Answer:
            if headers["Host"] != f"{start}:{port}":
                return pages(path, headers)
            return Answer("", 301, {"Location": target.replace("{port}", port) + path.lstrip("/")})

        site.answer = answer  # type: ignore[method-assign, assignment]
        yield site, f"http://{start}:{port}/"


@pytest.mark.parametrize(("start", "end"), [("shop.test", "www.shop.test"), ("www.shop.test", "shop.test")])
def test_ours_a_start_url_that_redirects_to_www_or_from_it_is_followed_and_remembered(
    start: str, end: str, tmp_path: Path
) -> None:
    with redirecting(start, f"http://{end}:{{port}}/") as (site, url):
        words = ("--state", "state", *resolved(site, start, end), '--set=hook.command=["true"]')
        home = url.replace(start, end, 1)
        first, again = crawl(tmp_path, url, *words), crawl(tmp_path, url, *words)
        assert (first.code, again.code) == (0, 0), first.err
        assert [line for line in first.out.splitlines() if url in line] == [
            f"note: the start URL {url} leads to {home}, so the crawl starts there"
        ]
        assert "nothing added, changed or removed" in again.out
        assert listed(tmp_path) == [home, f"{home}a", f"{home}b"]
        assert len([path for path in (tmp_path / "state").iterdir() if path.is_dir()]) == 1
        assert "is listed" in siteatlas(tmp_path, "why", f"{home}a", "--state", "state").out
        (tmp_path / "siteatlas.toml").write_text(
            f'[site]\nurl = "{url}"\n[state]\ndirectory = "state"\n[output]\ndirectory = "out"\n'
        )
        status = json.loads(siteatlas(tmp_path, "status", "--config", "siteatlas.toml", "--json").out)
        assert status["sites"][0]["url"] == home
        run = siteatlas(tmp_path, "run", "--config", "siteatlas.toml", "--rate", "0", *words[2:])
        assert run.code == 0, run.err
        assert "nothing added, changed or removed" in run.out
        audited = siteatlas(tmp_path, "audit", url, *words, "--format", "json")
        assert json.loads(audited.out)["crawl"]["reused"] == 3


def test_ours_a_sitemap_of_others_is_replaced_when_that_is_asked_for_though_the_start_url_moved(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "sitemap.xml").write_text("<urlset/>")
    with redirecting("shop.test", "http://www.shop.test:{port}/") as (site, url):
        words = ("--state", "state", *resolved(site, "shop.test", "www.shop.test"))
        assert crawl(tmp_path, url, *words).code == 2
        replaced = crawl(tmp_path, url, *words, "--replace")
        assert (replaced.code, len(listed(tmp_path))) == (0, 3), replaced.err


def test_ours_an_audit_of_a_site_that_was_never_crawled_names_where_it_is(tmp_path: Path) -> None:
    with redirecting("shop.test", "http://www.shop.test:{port}/") as (site, url):
        words = ("--state", "state", "--rate", "0", *resolved(site, "shop.test", "www.shop.test"))
        audited = siteatlas(tmp_path, "audit", url, *words)
        assert (audited.code, f"command with the URL {url.replace('shop', 'www.shop', 1)}" in audited.err) == (5, True)


@pytest.mark.parametrize("target", ["http://other.test:{port}/", "http://blog.shop.test:{port}/"])
def test_ours_a_start_url_that_redirects_to_another_site_stays_an_error_with_advice(
    target: str, tmp_path: Path
) -> None:
    with redirecting("shop.test", target) as (site, url):
        ran = crawl(tmp_path, url, *resolved(site, "shop.test", "other.test", "blog.shop.test"))
        assert (ran.code, listed(tmp_path)) == (5, [])
        advice = "to crawl there, {} " + target.replace("{port}", url.rstrip("/").rpartition(":")[2])
        assert advice.format("run the same command with the URL") in ran.out
        (tmp_path / "sites.toml").write_text(f'[sites.shop.site]\nurl = "{url}"\n[sites.shop.output]\ndirectory = "o"')
        words = resolved(site, "shop.test", "other.test", "blog.shop.test")
        ran = siteatlas(tmp_path, "run", "--config", "sites.toml", *words)
        assert advice.format("set site.url of shop to") + " in its configuration" in ran.out


def test_ours_start_urls_that_redirect_to_each_other_end_in_an_error(tmp_path: Path) -> None:
    with scripted({}) as site:
        port = site.url.rstrip("/").rpartition(":")[2]

        def answer(_path: str, headers: dict[str, str]) -> Answer:
            other = "shop.test" if headers["Host"].startswith("www.") else "www.shop.test"
            return Answer("", 301, {"Location": f"http://{other}:{port}/"})

        site.answer = answer  # type: ignore[method-assign, assignment]
        ran = crawl(tmp_path, f"http://shop.test:{port}/", *resolved(site, "shop.test", "www.shop.test"))
        assert ran.code == 5


def test_ours_no_redirect_of_the_start_url_opens_a_private_address(tmp_path: Path) -> None:
    """127.0.0.1 is named by the person, and localhost is not, though it is the same site by its redirect."""
    with redirecting("www.localhost", "http://localhost:{port}/") as (site, url):
        ran = crawl(tmp_path, url, *resolved(site, "www.localhost"))
        assert ran.code == 5
        assert "private address" in ran.err
        assert not site.log
        assert not list(tmp_path.glob("**/moved-starts.json"))


def test_ours_secrets_are_for_the_origin_that_was_named(tmp_path: Path) -> None:
    with redirecting("shop.test", "http://www.shop.test:{port}/") as (site, url):
        words = ("-H", "X-Api-Key: secret", *resolved(site, "shop.test", "www.shop.test"))
        assert crawl(tmp_path, url, *words).code == 5
        assert not [headers for _, _, headers in site.log if "x-api-key" in headers]


@pytest.fixture
def context(tmp_path: Path) -> ssl.SSLContext:
    """TLS for shop.test; ``ca.pem`` in the folder is its authority."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("shop.test").configure_cert(tls)
    return tls


def test_ours_a_start_url_that_redirects_to_https_is_followed(tmp_path: Path, context: ssl.SSLContext) -> None:
    with scripted(dict(PAGES), tls=context) as site:
        home = site.url.replace("127.0.0.1", "shop.test")
        with scripted({"/": Answer("", 308, {"Location": home})}) as plain:
            words = ("--set=fetch.ca_file=ca.pem", *resolved(site, "shop.test"), *resolved(plain, "shop.test"))
            ran = crawl(tmp_path, plain.url.replace("127.0.0.1", "shop.test"), *words)
            assert ran.code == 0, ran.err
            assert listed(tmp_path) == [home, f"{home}a", f"{home}b"]


def schemeless(folder: Path, site: Site, *words: str) -> Ran:
    host = site.url.partition("://")[2].rstrip("/").replace("127.0.0.1", "shop.test")
    return crawl(folder, host, *words, *resolved(site, "shop.test"))


def test_ours_a_host_alone_is_crawled_by_https(tmp_path: Path, context: ssl.SSLContext) -> None:
    with scripted(dict(PAGES), tls=context) as site:
        assert schemeless(tmp_path, site, "--set=fetch.ca_file=ca.pem").code == 0
        assert listed(tmp_path)[0] == site.url.replace("127.0.0.1", "shop.test")


def test_ours_a_host_alone_without_https_is_crawled_by_http_and_remembered(tmp_path: Path) -> None:
    with scripted(dict(PAGES)) as site:
        home = site.url.replace("127.0.0.1", "shop.test")
        for _ in range(2):
            ran = schemeless(tmp_path, site)
            assert ran.code == 0, ran.err
            assert listed(tmp_path) == [home, f"{home}a", f"{home}b"]
        words = ("--state", ".siteatlas")
        assert "is listed" in siteatlas(tmp_path, "why", home.removeprefix("http://") + "a", *words).out
        explicit = crawl(tmp_path, home.replace("http:", "https:"), "--replace", *resolved(site, "shop.test"))
        assert explicit.code == 5  # a person who writes https means it


def test_ours_a_start_url_with_https_never_falls_back_to_http(tmp_path: Path) -> None:
    with scripted(dict(PAGES)) as site:
        ran = crawl(tmp_path, site.url.replace("http://127.0.0.1", "https://shop.test"), *resolved(site, "shop.test"))
        assert (ran.code, site.paths) == (5, [])


def test_ours_a_dry_run_of_a_host_alone_remembers_no_move(tmp_path: Path) -> None:
    with scripted(dict(PAGES)) as site:
        assert schemeless(tmp_path, site, "--dry-run").code == 0
        assert not list(tmp_path.glob("**/moved-starts.json"))


@pytest.mark.parametrize("scheme", ["", "http://"])
def test_ours_a_private_start_is_crawled_also_after_a_run_without_its_scheme(scheme: str, tmp_path: Path) -> None:
    with scripted(dict(PAGES)) as site:
        host = site.url.partition("://")[2].replace("127.0.0.1", "localhost")
        for start in (host, f"{scheme}{host}"):
            ran = crawl(tmp_path, start)
            assert (ran.code, listed(tmp_path)[0]) == (0, f"http://{host}"), ran.err


def test_ours_the_remedy_for_a_private_address_works(tmp_path: Path) -> None:
    with redirecting("www.localhost", "http://localhost:{port}/") as (site, url):
        refused = crawl(tmp_path, url, *resolved(site, "www.localhost"))
        assert "name its address with fetch.resolve (--resolve HOST:PORT:IP)" in refused.err
        assert crawl(tmp_path, url, *resolved(site, "www.localhost", "localhost")).code == 0
