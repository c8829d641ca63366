"""Staging to production: a site read from a staging server or a folder has the sitemap of the public one."""

import base64
import os
import re
import shutil
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path

import pytest
from nginx import nginx
from ports import reserved_port
from run import crawl, listed
from scripted import Answer, Route, Site, links, scripted

from crawler.config.config import Config
from crawler.config.fetcher import build_fetcher
from crawler.config.load import build_config
from crawler.config.source import address_overrides, read_source, server_key
from crawler.errors import UsageError
from crawler.url.normalize import normalize_url

PORT = reserved_port()
PUBLIC = f"http://www.example.com:{PORT}/"  # with a port, so that a server here can be it
BASIC = "Basic " + base64.b64encode(b"editor:open sesame").decode()
LONG_AGO = 1_700_000_000


def page(number: int) -> str:
    """A page with everything that can name the site: {url} is where it is served."""
    return f"""<!doctype html><html lang="en"><head><title>Page {number}</title>
      <link rel="canonical" href="{{url}}pages/{number}.html">
      <link rel="alternate" hreflang="en" href="{{url}}pages/{number}.html">
      <link rel="alternate" hreflang="de" href="{{url}}de/{number}.html">
      <meta property="og:image" content="{{url}}media/{number}.jpg?w=1200&amp;utm_source=kept">
      <script type="application/ld+json">{{"@context": "https://schema.org", "@type": "VideoObject",
        "name": "Video {number}", "description": "d", "thumbnailUrl": "{{url}}media/t{number}.jpg",
        "contentUrl": "{{url}}media/{number}.mp4", "uploadDate": "2024-01-02"}}</script></head>
      <body><a href="{{url}}pages/{number + 1}.html?utm_source=x">next</a> <a href="../de/{number}.html">de</a>
      <a href="/guide">guide</a> <a href="{{url}}copy.html">copy</a> <a href="/private/x.html">private</a>
      <img src="{{url}}media/p{number}.png" alt=""></body></html>"""


def pages() -> dict[str, str]:
    """The files of the site by name."""
    urlset = (
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>{url}listed.html</loc></url></urlset>'
    )
    return {
        "index.html": links("pages/0.html", "{url}guide", "//evil.example/", "{url}caf%C3%A9.html"),
        "robots.txt": "User-agent: *\nDisallow: /private/\nSitemap: {url}named.xml\n",
        "named.xml": urlset,
        "listed.html": links(),
        "café.html": links(),
        "copy.html": links(head='<link rel="canonical" href="{url}pages/0.html">'),
        "guide/index.html": '<html><head><base href="{url}guide/deep/"></head><a href="inner.html">i</a></html>',
        "guide/deep/inner.html": links("{url}guide/deep/secret.html"),
        "guide/deep/secret.html": links(head='<meta name="robots" content="noindex">'),
        "private/x.html": links(),
        **{f"pages/{number}.html": page(number) for number in range(8)},
        **{f"de/{number}.html": links() for number in range(8)},
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as it is built for the public."""
    folder = tmp_path_factory.mktemp("built")
    for number, (name, text) in enumerate(pages().items()):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace("{url}", PUBLIC))
        os.utime(file, (LONG_AGO + number, LONG_AGO + number))
    return folder


@pytest.fixture
def staging() -> Iterator[Site]:
    """The same site as a staging server has it: behind a password, and with its own name in every place."""
    routes: dict[str, Route] = {}
    for number, (name, text) in enumerate(pages().items()):
        kinds = {"txt": "text/plain", "xml": "text/xml", "html": "text/html"}
        headers = {
            "Content-Type": kinds[name.rpartition(".")[2]],
            "Last-Modified": formatdate(LONG_AGO + number, usegmt=True),
        }
        if found := re.search(r'rel="canonical" href="([^"]+)"', text):
            headers["Link"] = f'<{found[1]}>; rel="canonical"'
        path = "/" + name.replace("é", "%C3%A9").removesuffix("index.html")
        routes[path] = Answer(text, headers=headers)
    routes["/guide"] = Answer("", 301, {"Location": "{url}guide/"})
    with scripted(routes, authorization=BASIC) as site:
        yield site


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "out").iterdir())}


SECRET = ("--basic-auth", "editor:open sesame")
MANY = ("--set=output.max_urls=6", "--group", "section")  # an index and its files


@pytest.fixture(scope="module")
def by_folder(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the folder was crawled."""
    folder = tmp_path_factory.mktemp("by-folder")
    ran = crawl(folder, PUBLIC, "--source", str(built), *MANY, anew=True)
    assert ran.code == 0, ran.err + ran.out
    assert f"crawled {PUBLIC} from {built} in" in ran.out
    return folder


def test_ours_a_folder_gives_the_public_urls_of_all_that_can_be_listed(by_folder: Path) -> None:
    names = [name for name in pages() if name.endswith(".html") and not re.search("copy|secret|private", name)]
    paths = [name.replace("é", "%C3%A9").removesuffix("index.html") for name in names]
    assert sorted(listed(by_folder)) == sorted(PUBLIC + path for path in paths)
    whole = b"".join(files(by_folder).values())
    assert whole.count(b"<video:video>") == 8
    assert b"<lastmod>2023-11-14" in whole
    assert set(re.findall(rb"(?:>|\")(https?://[^/<]+/)[^<\"]*\.(?:html|jpg|png|mp4)", whole)) == {PUBLIC.encode()}


def test_ours_a_staging_server_gives_the_same_bytes(tmp_path: Path, by_folder: Path, staging: Site) -> None:
    ran = crawl(tmp_path, PUBLIC, "--source", staging.url, *SECRET, *MANY)
    assert ran.code == 0, ran.err + ran.out
    assert f"crawled {PUBLIC} from {staging.url.rstrip('/')} in" in ran.out
    assert files(tmp_path) == files(by_folder)
    assert "/private/x.html" not in staging.paths


@pytest.mark.needs_nginx
def test_ours_the_public_server_found_by_resolve_gives_the_same_bytes(
    tmp_path: Path, built: Path, by_folder: Path
) -> None:
    with nginx(built, f"listen 127.0.0.1:{PORT}; server_name www.example.com;") as server:
        words = ("--resolve", f"www.example.com:{PORT}:127.0.0.1")
        ran = crawl(tmp_path, PUBLIC, *words, *MANY)
        assert ran.code == 0, ran.err + ran.out
        assert "/private/x.html" not in server.requests()
    assert files(tmp_path) == files(by_folder)


@pytest.mark.needs_nginx
def test_ours_a_server_that_is_told_the_public_host_names_it_with_its_own_scheme_and_port(
    tmp_path: Path, built: Path
) -> None:
    """nginx redirects to http://(the Host that was sent):(its port)/guide/."""
    with nginx(built) as server:
        words = ("--source", server.url, "-H", "Host: www.example.com")
        ran = crawl(tmp_path, "https://www.example.com/", *words, "-v")
        assert ran.code == 0, ran.err + ran.out
    assert "https://www.example.com/guide/" in listed(tmp_path)
    assert f"301 to http://www.example.com:{server.url.rpartition(':')[2]}" not in ran.out


def test_ours_secrets_go_to_the_source_and_to_nobody_else(tmp_path: Path) -> None:
    secrets = ("--basic-auth", "editor:open sesame", "-H", "X-Key: 1", "--cookie", "a=b", "-H", "Host: www.example.com")
    with scripted({"/": links("/moved"), "/page": links()}) as other:
        away = other.url.replace("127.0.0.1", "localhost")
        routes: dict[str, Route] = {
            "/": links(f"{away}page", "/moved", "http://www.example.com/named"),
            "/moved": Answer("", 302, {"Location": away}),
            "/named": links(),
        }
        with scripted(routes, authorization=BASIC) as site:
            host = away.removeprefix("http://").rstrip("/")
            ran = crawl(tmp_path, "https://www.example.com/", "--source", site.url, "--host", host, *secrets)
            assert ran.code == 0, ran.err + ran.out
            assert {head["host"] for _, _, head in site.log} == {"www.example.com"}
            assert "/named" in site.paths
        assert {"/", "/page"} <= set(other.paths)
        for _, path, head in other.log:
            assert not {"authorization", "x-key", "cookie"} & head.keys(), path
            assert head["host"] == host


def test_ours_a_page_cannot_lead_to_a_private_place_beside_the_source(tmp_path: Path) -> None:
    with scripted({"/": links()}) as other, scripted({}) as site:
        site.routes["/"] = links(other.url, "/away")
        site.routes["/away"] = Answer("", 302, {"Location": other.url})
        site.routes["/robots.txt"] = Answer("", 302, {"Location": other.url})
        ran = crawl(tmp_path, "https://www.example.com/", "--source", site.url)
        assert ran.code == 5, ran.err + ran.out
        assert "private address" in ran.err
        assert other.paths == []


def test_ours_another_source_goes_on_from_what_is_remembered_and_trusts_no_validator_of_the_last_one(
    tmp_path: Path, by_folder: Path, staging: Site
) -> None:
    shutil.copytree(by_folder, tmp_path, dirs_exist_ok=True)
    ran = crawl(tmp_path, PUBLIC, "--source", staging.url, *SECRET, *MANY)
    assert ran.code == 0, ran.err + ran.out
    assert not [path for _, path, head in staging.log if {"if-none-match", "if-modified-since"} & head.keys()]
    assert files(tmp_path) == files(by_folder)


def test_ours_a_source_that_does_not_answer_is_named_beside_the_site(tmp_path: Path) -> None:
    with scripted({}) as site:
        gone = site.url
    ran = crawl(tmp_path, "https://www.example.com/", "--source", gone, "--set=fetch.retries=0")
    assert ran.code == 5
    assert "https://www.example.com" in ran.err
    assert gone.removeprefix("http://").rstrip("/") in ran.err


def source_of(config: Config) -> None:
    read_source(config, normalize_url("https://www.example.com/"))


@pytest.mark.parametrize(
    ("fetch", "said"),
    [
        ({"source": "missing"}, "the folder 'missing' does not exist"),
        ({"source": "staging.example.com"}, "Did you mean http://staging.example.com?"),
        ({"source": "localhost:8080"}, "Did you mean http://localhost:8080?"),
        ({"source": __file__}, "is not a folder"),
        ({"source": "a\0b"}, "folder"),
        ({"source": "x" * 5000}, "folder"),
        ({"source": "ftp://staging.example.com"}, "http(s) URL or a folder, but this URL begins with ftp:"),
        ({"source": "file:///srv/www"}, "Give the path of the folder"),
        ({"source": "http://"}, "not a URL"),
        ({"source": "http://user:pass@h.test/"}, "--basic-auth"),
        ({"source": "http://h.test/?page=1"}, "http://h.test"),
        ({"source": ".", "proxy": "http://127.0.0.1:1"}, "--proxy"),
        ({"source": "http://h.test", "headers": {"Host": "a b"}}, "must name a host"),
        ({"resolve": ["h.test"]}, "HOST:PORT:ADDRESS"),
        ({"resolve": ["h.test:80:10.0.0.5"], "proxy": "http://127.0.0.1:1"}, "the proxy resolves"),
    ],
)
def test_ours_a_source_that_cannot_be_is_refused_in_a_sentence(fetch: dict[str, object], said: str) -> None:
    config = build_config({"fetch": fetch})
    read = address_overrides if "resolve" in fetch else source_of
    with pytest.raises(UsageError) as told:
        read(config)
    assert said in str(told.value)
    assert "pass@" not in str(told.value)


def test_ours_a_host_of_ones_own_needs_http1() -> None:
    config = build_config({"fetch": {"headers": {"host": "www.example.com"}, "http2": True}})
    with pytest.raises(UsageError, match=r"--set fetch\.http2=true"):
        build_fetcher(config, ["https://www.example.com"])


def test_ours_the_key_of_a_source_tells_servers_apart_and_holds_no_secret() -> None:
    start = normalize_url("https://www.example.com/")
    fetches: list[dict[str, object]] = [
        {},
        {"source": "http://10.0.0.5"},
        {"source": "http://10.0.0.5", "headers": {"Host": "www.example.com"}},
        {"source": "."},
        {"resolve": ["www.example.com:443:10.0.0.5"]},
        {"resolve": ["www.example.com:443:10.0.0.6"]},
    ]
    keys = [server_key(build_config({"fetch": {**fetch, "basic_auth": "u:hush-51"}}), start) for fetch in fetches]
    assert keys[0] == ""
    assert len(set(keys)) == len(fetches)
    assert not [each for each in keys if "hush" in each]
    assert server_key(build_config({"fetch": {"resolve": ["other.example.com:443:10.0.0.5"]}}), start) == ""


def test_ours_a_login_that_the_server_refuses_is_sent_once_and_named(tmp_path: Path) -> None:
    """Each further try may lock the account."""
    routes: dict[str, Route] = {"/": links(*(f"p{number}" for number in range(12)))}
    with scripted(routes | {f"/p{number}": links() for number in range(12)}, BASIC) as site:
        ran = crawl(tmp_path, site.url, *SECRET, "--state", "state", "-o", "out")
        assert (ran.code, len(listed(tmp_path))) == (0, 13)
        site.log.clear()
        ran = crawl(tmp_path, site.url, "--basic-auth", "editor:wrong", "--state", "state", "-o", "out")
        assert (ran.code, len(listed(tmp_path))) == (5, 13)
        assert "answered 401: the server refuses the login. Correct fetch.basic_auth (--basic-auth)" in ran.err
        assert ran.err.endswith("; the sitemap is unchanged\n")
        assert {*site.paths} <= {"/robots.txt", "/sitemap.xml", "/"}


def test_ours_a_file_that_is_empty_is_read_once(tmp_path: Path) -> None:
    folder = tmp_path / "build"
    folder.mkdir()
    (folder / "index.html").write_text(links("/a.html"))
    for text in ("<title>A</title><p>Text of a page", ""):
        (folder / "a.html").write_text(text)
        ran = crawl(tmp_path, PUBLIC, "--source", "build")
    assert "only a part of the page arrived: the body is empty" in ran.out
    assert ("waiting until" in ran.err, ": 3 requests" in ran.out) == (False, True), ran.out + ran.err
