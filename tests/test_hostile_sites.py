"""Sites that want to break a crawl, end to end. Each has three innocent pages that must be listed all the same."""

import contextlib
import gzip
import os
import pty
import re
import select
import signal
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hostile import HostileServer, Step, answer, drip, repeat, send, sleep
from hostile_answers import BODIES, PAGES, REDIRECTS, STATUSES, Trap, moved
from hostile_crawl import CANARIES, TEXT, XML, Crawled, anchors, check, crawl_hostile, furnish, html, page
from run import FAST, command, crawl, environment
from scripted import scripted

pytestmark = [pytest.mark.thorough, pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")]

SITES: dict[str, tuple[list[Trap], tuple[str, ...]]] = {
    "statuses": (STATUSES, ()),
    "redirects": (REDIRECTS, ()),
    "bodies": (BODIES, ("-c", "32")),
    "pages": (PAGES, ("--set=fetch.max_body=2M", "--set=parse.processes=2")),
}
ROBOTS = b"User-agent: *\nDisallow: /blocked\n"
SEEN: dict[str, tuple[Crawled, HostileServer]] = {}


@pytest.fixture(scope="module")
def visited(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Crawled, HostileServer]]:
    """The crawl of a whole themed site, which happens once; each trap of it is then a test of its own."""

    def visit(name: str) -> tuple[Crawled, HostileServer]:
        if name not in SEEN:
            traps, words = SITES[name]
            folder = tmp_path_factory.mktemp(name)
            with HostileServer() as server:
                furnish(server, _starts(traps))
                server.route("/robots.txt", answer(ROBOTS, TEXT))
                for each in traps:
                    server.route(each.path, *each.steps)
                ran = crawl_hostile(folder, server.url(), *words)
            SEEN[name] = ran, server
            check(folder, ran)
        return SEEN[name]

    return visit


def _starts(traps: list[Trap]) -> list[str]:
    """What the start page links to: of a chain its beginning only."""
    return [each.path for each in traps if not re.search(r"^/(chain|again)/[1-9]", each.path)]


def flawed(reason: str) -> list[pytest.MarkDecorator]:
    """The mark of what fails today because of a defect of the product; none for no reason."""
    return [pytest.mark.xfail(strict=True, reason=reason)] if reason else []


def _table() -> Iterator[object]:
    for name, (traps, _) in SITES.items():
        for each in traps:
            yield pytest.param(name, each, id=f"{name}{each.path[:40]}", marks=flawed(each.flaw))


@pytest.mark.parametrize(("name", "trap"), [*_table()])
def test_ours_a_hostile_answer_costs_itself_only(
    visited: Callable[[str], tuple[Crawled, HostileServer]], name: str, trap: Trap
) -> None:
    ran, server = visited(name)
    state, reason = ran.ends[trap.path]
    assert state in trap.ends, reason
    assert trap.said in reason
    assert len(server.seen(trap.path)) <= 4  # one retry; each once more for a connection that was closed


def test_ours_a_redirect_injects_nothing_and_leads_nowhere_else(
    visited: Callable[[str], tuple[Crawled, HostileServer]],
) -> None:
    ran, server = visited("redirects")
    heads = b"".join(request.head for request in server.requests).lower()
    assert b"\nx-injected" not in heads
    assert b"\ncookie:" not in heads
    assert b"\nreferer:" not in heads
    assert not server.seen("/blocked")
    assert ran.state("/blocked") == "blocked by robots.txt"
    assert not server.seen("/chain/11")
    assert "hunter2" not in ran.out + ran.err + str(ran.ends)
    assert {ran.state(f"http://evil.invalid/{end}") for end in ("", "x", "y")} == {"out of scope"}


def test_rfc9110_15_5_client_errors_are_asked_once(visited: Callable[[str], tuple[Crawled, HostileServer]]) -> None:
    _, server = visited("statuses")
    assert all(len(server.seen(f"/{status}")) == 1 for status in (401, 403, 407, 410, 451))
    assert len(server.seen("/500")) == 2


def test_whatwg_links_inside_comments_and_scripts_are_none(
    visited: Callable[[str], tuple[Crawled, HostileServer]],
) -> None:
    ran, _ = visited("pages")
    assert "/inside" not in ran.ends
    assert ran.state("http://evil.invalid/off-site") == "out of scope"
    assert ran.state("/found") == "client error"  # base-js: such a base is none


# ---------------------------------------------------------------------------------------------------- links

LINKS = {
    "http://user:hunter2@{here}/with-secret": "/with-secret",
    "http://{here}@evil.invalid/1": "http://evil.invalid/1",
    "http://evil.invalid\\@{here}/2": "http://evil.invalid/@{here}/2",
    "http://2130706433:{port}/decimal": "/decimal",
    "http://0x7f.1:{port}/hex": "/hex",
    "http://0177.0.0.1:{port}/octal": "/octal",
    "http://127.1:{port}/short": "/short",
    "http://%31%32%37.0.0.1:{port}/percent": "/percent",
    "http://\u2460\u2461\u2466.0.0.1:{port}/circled": "/circled",
    "HTTP://127.0.0.1:{port}/case": "/case",
    "//{here}/no-scheme": "/no-scheme",
    "http:{nothing}/one-slash": "/one-slash",
    "\t /tab\n/new\tline ": "/tab/newline",
    "/a/./b/../c/%2e%2e/d": "/a/d",
    "/%7euser/%e4%ff": "/~user/%E4%FF",
    "/slash%2fslash": "/slash%2Fslash",
    "/nul\0byte": "/nul%EF%BF%BDbyte",
    "/lone&#xD800;surrogate": "/lone%EF%BF%BDsurrogate",
    "/quote&quot;&lt;&gt;`{nothing}": None,
    "/]]&gt;&amp;x=1": None,
    "/bidi\u202e\u2066": "/bidi%E2%80%AE%E2%81%A6",
    "/crlf\r\nX-Injected: yes": None,
    "http://b\u00fccher.invalid/": "http://xn--bcher-kva.invalid/",
    "http://\U0001f4a9.invalid/": "http://xn--ls8h.invalid/",
    "http://xn--a.invalid/": None,
    "http://a\u200db.invalid/": None,
    "http://exa mple.invalid/": None,
    "http://[::1]:{port}/six": "http://[::1]:{port}/six",
    "http://[::ffff:127.0.0.1]:{port}/": None,
    "http://localhost:{port}/name": "http://localhost:{port}/name",
    "http://127.0.0.1:{port}./dot": None,
    "http://127.0.0.1.:{port}/dot": None,
    "http://127.0.0.1:0/": None,
    "http://127.0.0.1:22/": "http://127.0.0.1:22/",
    "http://127.0.0.1:999999/": None,
    "JaVaScRiPt:alert(1)": None,
    "java\nscript:alert(1)": None,
    "file:///etc/passwd": None,
    "data:text/html,x": None,
    "view-source:http://{here}/": None,
    "https://{here}/other-scheme": "https://{here}/other-scheme",
    "http://": None,
    "http://?": None,
    "//": None,
    "///": None,
    "?": None,
    "#": None,
}


def test_whatwg_hostile_links_become_a_stable_url_or_nothing(tmp_path: Path) -> None:
    with HostileServer() as server:
        here = f"127.0.0.1:{server.port}"

        def fill(text: str) -> str:
            return text.replace("{here}", here).replace("{port}", str(server.port)).replace("{nothing}", "")

        server.route("/", page(anchors([*map(fill, LINKS), *CANARIES])))
        for path in (*CANARIES, "/decimal"):
            server.route(path, page())
        ran = crawl_hostile(tmp_path, server.url())
        check(tmp_path, ran)
        expected = {fill(link): fill(url) for link, url in LINKS.items() if url}
        assert {link: url for link, url in expected.items() if url not in ran.ends} == {}
        for url, (state, reason) in ran.ends.items():
            assert url.startswith("/") == (state != "out of scope"), (url, reason)
        assert "/decimal" in ran.listed
        heads = b"".join(request.head for request in server.requests)
        assert b"\nX-Injected" not in heads
        assert b"hunter2" not in heads
        assert all(request.path.isascii() for request in server.requests)
        stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
        assert b"hunter2" not in stored


def test_ours_a_page_of_100_000_links_is_cut_at_the_limit_and_said(tmp_path: Path) -> None:
    many = "".join(f'<a href="/out/{n}">x</a>' for n in range(100_000))
    with HostileServer() as server:
        furnish(server, [], before=f'<a href="/many">m</a>{"<a href=/same>x</a>" * 50_000}')
        server.route("/many", page(many))
        server.route("/same", page())
        ran = crawl_hostile(tmp_path, server.url(), "--set=fetch.max_body=9M", "--set=fetch.max_download=9M",
                            "--set=parse.max_links=1000",
                            "--exclude", "/out/*", "--set=parse.timeout=9")  # fmt: skip
        check(tmp_path, ran)
        assert len(server.seen("/same")) == 1
        assert sum(state == "excluded" for state, _ in ran.ends.values()) == 1000
        assert "/many" in ran.listed


def test_ours_links_that_were_dropped_are_told(tmp_path: Path) -> None:
    with HostileServer() as server:
        furnish(server, ["/many"])
        server.route("/many", page(anchors(f"/out/{n}" for n in range(300))))
        ran = crawl_hostile(tmp_path, server.url(), "--set=parse.max_links=100", "--exclude", "/out/*")
        check(tmp_path, ran)
        assert "parse.max_links" in ran.out


# ---------------------------------------------------------------------------------------------------- traps


class Endless(dict[str, "str"]):
    """Routes of a scripted site that make up a page for every path."""

    def __init__(self, make: Callable[[str], str | None]) -> None:
        super().__init__()
        self._make = make

    def get(self, path: str, default: object = None) -> object:  # type: ignore[override]
        body = self._make(path)
        return default if body is None else body


def _endless(path: str) -> str | None:
    if path in CANARIES:
        return "<p>canary"
    if path == "/":
        return anchors(["/r/x/", "/d/1", "/cal?date=1", *CANARIES])
    return None


def _repeats(path: str) -> str | None:
    return '<a href="x/">deeper</a><a href="y/x/">both</a>' if path.startswith("/r/") else _endless(path)


def _deepens(path: str) -> str | None:
    if path.startswith("/d/"):
        return f'<a href="{path}/{path.count("/")}">deeper</a>'
    return _endless(path)


def _turns(path: str) -> str | None:
    if path.startswith("/cal?date="):
        return f'<a href="/cal?date={int(path[10:]) + 1}">next day</a>'
    return _endless(path)


@pytest.mark.parametrize(("make", "most"), [(_repeats, 700), (_deepens, 40)])
def test_ours_paths_that_repeat_or_deepen_for_ever_end(
    tmp_path: Path, make: Callable[[str], str | None], most: int
) -> None:
    with scripted(Endless(make)) as site:  # type: ignore[arg-type]
        ran = crawl_hostile(tmp_path, site.url, "--set=scope.max_segments=12")
        check(tmp_path, ran)
        assert "trap" in {state for state, _ in ran.ends.values()}
        assert len(site.log) < most


def test_ours_a_calendar_without_end_ends(tmp_path: Path) -> None:
    with scripted(Endless(_turns)) as site:  # type: ignore[arg-type]
        ran = crawl_hostile(tmp_path, site.url, "--max-pages", "600")
        check(tmp_path, ran)
        assert len(site.log) < 520
        assert ran.state("/cal?date=502") == "trap"
        assert ran.out.count("is an infinite URL space") == 1


def test_ours_an_endless_site_ends_by_a_limit_and_says_so(tmp_path: Path) -> None:
    with scripted(Endless(_turns)) as site:  # type: ignore[arg-type]
        ran = crawl_hostile(tmp_path, site.url, "--max-pages", "40", "--set=output.partial=true")
        check(tmp_path, ran, code=4)
        assert "--max-pages" in ran.out
        assert len([path for path in site.paths if path != "/robots.txt"]) == 40


# ---------------------------------------------------------------------------------------------------- robots.txt

RULES = "User-agent: *\nDisallow: /blocked\n"
HIDDEN = b"#" * 200 + b"\n"


def robots(body: bytes, *headers: str) -> tuple[Step, ...]:
    return (answer(body, *(headers or (TEXT,))),)


ROBOTS_FILES: list[tuple[str, tuple[Step, ...], str]] = [
    ("bom", robots(b"\xef\xbb\xbf" + RULES.encode()), "blocked by robots.txt"),
    ("utf-16-le", robots(b"\xff\xfe" + RULES.encode("utf-16-le")), "blocked by robots.txt"),
    ("utf-16-be", robots(b"\xfe\xff" + RULES.encode("utf-16-be")), "blocked by robots.txt"),
    ("cr", robots(RULES.replace("\n", "\r").encode()), "blocked by robots.txt"),
    ("no-last-line-end", robots(RULES.strip().encode()), "blocked by robots.txt"),
    ("nul", robots(RULES.replace("*", "*\0").encode() + b"\0\0\xff\n"), "blocked by robots.txt|indexable"),
    ("latin-1", robots(b"# caf\xe9\n" + RULES.encode()), "blocked by robots.txt"),
    ("ansi", robots(b"User-agent: *\nDisallow: /blocked\x1b[31m*\nDisallow: /blocked\n"), "blocked by robots.txt"),
    ("html", (page("<p>User-agent: *<br>Disallow: /"),), "indexable"),
    ("behind-500-kib", robots(HIDDEN * 2600 + b"User-agent: *\nDisallow: /\n"), "indexable"),
    ("10-mib-line", robots(RULES.encode() + b"x" * (10 << 20) + b"\nDisallow: /\n"), "blocked by robots.txt"),
    ("announced-500-mb", (send(f"HTTP/1.1 200 OK\r\n{TEXT}\r\nContent-Length: 500000000\r\n\r\n{RULES}".encode()),
     repeat(b"#" * 79 + b"\n", 10_000)), "blocked by robots.txt"),
    ("bomb", (answer(gzip.compress(RULES.encode() + b"\n" * (30 << 20)), TEXT, "Content-Encoding: gzip"),), ""),
    ("stars", robots(RULES.encode() + b"Disallow: /" + b"*a" * 5000 + b"$\n"), "blocked by robots.txt"),
    ("groups", robots((RULES + "User-agent: other\nDisallow: /\n").encode()), "blocked by robots.txt"),
    ("crawl-delay", robots(RULES.encode() + b"Crawl-delay: nan\nCrawl-delay: -1\nCrawl-delay: 1e99\n"),
     "blocked by robots.txt"),
    ("no-location", (answer(status="302 Found"),), "indexable"),
    ("javascript", (moved("javascript:alert(1)"),), "indexable"),
    ("loop", (moved("/robots.txt"),), "indexable"),
    ("forbidden", (answer(b"no", status="403 Forbidden"),), "indexable"),
]  # fmt: skip


@pytest.mark.parametrize(("steps", "ends"), [pytest.param(s, e, id=n) for n, s, e in ROBOTS_FILES])
def test_rfc9309_a_hostile_robots_file_is_read_as_far_as_it_goes(
    tmp_path: Path, steps: tuple[Step, ...], ends: str
) -> None:
    with HostileServer() as server:
        furnish(server, ["/blocked"])
        server.route("/blocked", page())
        server.route("/robots.txt", *steps)
        ran = crawl_hostile(tmp_path, server.url(), "--set=obey.max_crawl_delay=0.01")
        if not ends and ran.code == 5:  # a bomb may just as well count as a file that cannot be had
            assert "/blocked" not in [request.path for request in server.requests]
            return
        check(tmp_path, ran)
        assert ran.state("/blocked") in (ends or "blocked by robots.txt|indexable").split("|")
        assert bool(server.seen("/blocked")) == (ran.state("/blocked") == "indexable")


NEVER_ENDING: dict[str, tuple[Step, ...]] = {
    "drip": (send(b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n"), drip(b"# drip\n" * 1000, 0.05)),
    "silence": (sleep(5),),
    "garbage": (send(b"\x00\x00\x00"),),
}


def test_rfc9309_2_3_1_4_a_robots_file_that_never_ends_means_no_page_is_asked_for(tmp_path: Path) -> None:
    def refused(name: str) -> None:
        folder = tmp_path / name
        folder.mkdir()
        with HostileServer() as server:
            furnish(server, [])
            server.route("/robots.txt", *NEVER_ENDING[name])
            ran = crawl_hostile(folder, server.url(), "--timeout", "0.6", "--set=fetch.read_timeout=0.4")
            assert ran.code == 5, (name, ran.out)
            assert "robots.txt" in ran.err, name
            assert {request.path for request in server.requests} == {"/robots.txt"}, name

    with ThreadPoolExecutor() as all_at_once:  # each waits between its attempts
        list(all_at_once.map(refused, NEVER_ENDING))


# ---------------------------------------------------------------------------------------------------- sitemaps

NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def urlset(*locs: str, before: str = "", ns: str = NS, end: str = "</urlset>") -> bytes:
    urls = "".join(f"<url><loc>{loc}</loc></url>" for loc in locs)
    return f'<?xml version="1.0" encoding="UTF-8"?>{before}<urlset {ns}>{urls}{end}'.encode()


def index(*locs: str) -> bytes:
    maps = "".join(f"<sitemap><loc>{loc}</loc></sitemap>" for loc in locs)
    return f'<?xml version="1.0" encoding="UTF-8"?><sitemapindex {NS}>{maps}</sitemapindex>'.encode()


def sitemaps(u: str, spy: str) -> dict[str, tuple[Step, ...]]:
    """Every hostile sitemap by its path; those that can be read name a page /in-<name>."""
    lol = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    bomb = f'<!DOCTYPE u [<!ENTITY l0 "{u}lol">{lol}]>'
    external = f'<!DOCTYPE u [<!ENTITY e SYSTEM "file:///etc/passwd"><!ENTITY f SYSTEM "{spy}entity">]>'
    big = "x" * 4_000_000
    bodies: dict[str, tuple[bytes, str]] = {
        "self": (index(f"{u}sm/self", f"{u}sm/ab", f"{u}sm/child-404", f"{u}sm/html"), XML),
        "ab": (index(f"{u}sm/ba"), XML),
        "ba": (index(f"{u}sm/ab"), XML),
        "html": (html(f'<a href="{u}from-html">x</a>'), "Content-Type: text/html"),
        "laughs": (urlset("&l11;", before=bomb), XML),
        "external": (urlset("&e;", "&f;", before=external), XML),
        "dtd": (urlset(f"{u}in-dtd", before=f'<!DOCTYPE urlset SYSTEM "{spy}dtd">'), XML),
        "xinclude": (
            urlset(end=f'<x:include xmlns:x="http://www.w3.org/2001/XInclude" href="{spy}xi"/></urlset>'),
            XML,
        ),
        "stylesheet": (urlset(f"{u}in-stylesheet", before=f'<?xml-stylesheet href="{spy}xsl"?>'), XML),
        "cut": (urlset(*(f"{u}in-cut" for _ in range(200)), end="<url><lo"), XML),
        "gz-cut": (gzip.compress(urlset(f"{u}in-gz-cut", end=" " * 90_000))[:-20], "Content-Type: application/gzip"),
        "gz-gz": (gzip.compress(gzip.compress(urlset(f"{u}in-gz-gz"))), "Content-Type: application/gzip"),
        "not-gz.xml.gz": (urlset(f"{u}in-not-gz"), "Content-Type: application/gzip"),
        "bomb": (gzip.compress(urlset(f"{u}in-bomb", end=" " * (70 << 20))), "Content-Type: application/gzip"),
        "token": (urlset(f"{u}in-token", before=f"<!--{big}-->"), XML),
        "loc": (urlset(f"{u}{big}", f"{u}in-loc"), XML),
        "deep": (urlset(end="<a>" * 200_000), XML),
        "no-namespace": (urlset(f"{u}in-no-namespace", ns=""), XML),
        "bom": (b"\xef\xbb\xbf\n\n " + urlset(f"{u}in-bom"), XML),
        "nul": (urlset(f"{u}in-nul") + b"\0" * 100, XML),
        "utf-16": (urlset(f"{u}in-utf-16").decode().replace("UTF-8", "UTF-16").encode("utf-16"), XML),
        "text": (f"{u}in-text\n\0\x1b[31m\njavascript:x\n".encode(), TEXT),
        "json": (b'{"urls": []}', "Content-Type: application/json"),
        "empty": (b"", XML),
        "locs": (urlset(f"{spy}loc", "file:///etc/passwd", f"//u:hunter2@{spy[7:]}x", "", "\x7f", f"{u}in-locs"), XML),
        "off": (index(f"{spy}child.xml", "file:///etc/passwd", "http://169.254.169.254/sm"), XML),
    }
    routes: dict[str, tuple[Step, ...]] = {name: (answer(*body),) for name, body in bodies.items()}
    routes["loop"] = (moved("/sm/loop"),)
    routes["away"] = (moved(f"{spy}away"),)
    routes["slow"] = (send(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n"), sleep(3))
    routes["500"] = (answer(status="500 No"),)
    routes |= {f"next-{n}": (moved(f"/sm/next-{n + 1}"),) for n in range(15)}
    routes |= {f"nest-{n}": (answer(index(f"{u}sm/nest-{n + 1}"), XML),) for n in range(8)}
    return routes


READABLE: tuple[str, ...] = (
    "stylesheet",
    "cut",
    "gz-cut",
    "gz-gz",
    "not-gz",
    "loc",
    "no-namespace",
    "bom",
    "nul",
    "utf-16",
    "text",
)
READABLE += ("locs", "bomb")


@pytest.fixture(scope="module")
def mapped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Crawled, HostileServer, HostileServer]:
    """The crawl of a site whose robots.txt names every hostile sitemap, and a spy on another port."""
    folder = tmp_path_factory.mktemp("sitemaps")
    with HostileServer() as server, HostileServer() as spy:
        furnish(server, [])
        routes = sitemaps(server.url(), spy.url())
        lines = [
            f"Sitemap: {server.url(f'/sm/{name}')}" for name in routes if not re.search(r"(next|nest)-[1-9]", name)
        ]
        lines += [f"Sitemap: {spy.url('/robots-line')}", "Sitemap: javascript:alert(1)", "Sitemap: file:///etc/passwd"]
        lines += ["Sitemap:", "Sitemap: http://[", *(f"Sitemap: {server.url(f'/line/{n}')}" for n in range(3000))]
        server.route("/robots.txt", answer("\n".join(lines).encode(), TEXT))
        server.route("/sitemap.xml", page("<p>a soft 404"))
        for name, steps in routes.items():
            server.route(f"/sm/{name}", *steps)
        for name in READABLE:
            server.route(f"/in-{name}", page())
        ran = crawl_hostile(folder, server.url(), "--set=fetch.max_sitemap=9M")
        check(folder, ran)
    return ran, server, spy


@pytest.mark.parametrize("name", READABLE)
def test_sitemaps_org_what_can_be_read_of_a_broken_sitemap_is_used(
    mapped: tuple[Crawled, HostileServer, HostileServer], name: str
) -> None:
    assert f"/in-{name}" in mapped[0].listed


def test_ours_sitemaps_lead_to_no_other_place_and_no_file(mapped: tuple[Crawled, HostileServer, HostileServer]) -> None:
    ran, server, spy = mapped
    assert spy.connections == 0
    assert "root:" not in ran.out + ran.err + str(ran.ends)
    assert len([each for each in server.requests if each.path.startswith("/line/")]) <= 500
    assert all(len(server.seen(f"/sm/{name}")) == 1 for name in ("self", "ab", "ba", "loop"))
    assert not server.seen("/sm/next-14")
    assert not server.seen("/sm/nest-7")


def test_ours_the_password_in_a_sitemap_is_not_kept(mapped: tuple[Crawled, HostileServer, HostileServer]) -> None:
    assert "hunter2" not in mapped[0].out + mapped[0].err + str(mapped[0].ends)


@pytest.mark.parametrize("by", ["robots", "index"])
def test_ours_a_page_that_is_called_a_sitemap_is_still_listed(tmp_path: Path, by: str) -> None:
    with HostileServer() as server:
        server.route(CANARIES[0], page(anchors(["/named"])))
        furnish(server, [])
        named = server.url("/named")
        server.route("/named", page())
        server.route("/robots.txt", answer(f"Sitemap: {named}\n".encode() if by == "robots" else b"", TEXT))
        server.route("/sitemap.xml", answer(index(named), XML))
        check(tmp_path, crawl_hostile(tmp_path, server.url(), "-c", "1"), canaries=[*CANARIES, "/named"])


def test_ours_a_sitemap_that_a_page_links_to_is_still_read(tmp_path: Path) -> None:
    with HostileServer() as server:
        furnish(server, ["/child.xml"])
        server.route("/only-mapped", page())
        server.route("/sitemap.xml", answer(index(server.url("/child.xml")), XML))
        server.route("/child.xml", answer(urlset(server.url("/only-mapped")), XML))
        ran = crawl_hostile(tmp_path, server.url(), "-c", "1")
        check(tmp_path, ran, canaries=[*CANARIES, "/only-mapped"])


# ---------------------------------------------------------------------------------------------------- private places


def test_ours_no_way_leads_to_another_port_of_this_machine(tmp_path: Path) -> None:
    with HostileServer() as server, HostileServer() as spy:
        to = spy.url
        head = f"""<link rel=canonical href="{to("/canonical")}"><link rel=alternate hreflang=de href="{to("/de")}">
          <link rel=next href="{to("/next")}"><link rel=amphtml href="{to("/amp")}">
          <link rel=stylesheet href="{to("/css")}">
          <link rel=alternate type="application/rss+xml" href="{to("/feed")}"><link rel=preload href="{to("/p")}">"""
        body = f"""<iframe src="{to("/frame")}"></iframe><img src="{to("/img")}"><script src="{to("/js")}"></script>
          <form action="{to("/form")}"></form><area href="{to("/area")}"><a href="http://localhost:{spy.port}/">l</a>
          <a href="http://[::ffff:127.0.0.1]:{spy.port}/">6</a><a href="http://0:{spy.port}/">0</a>"""
        furnish(server, ["/r", "/f", "/h", "/b"], before=body)
        server.route("/r", moved(to("/redirect")))
        server.route("/f", page(head=f'<meta http-equiv=refresh content="0;url={to("/refresh")}">'))
        server.route(
            "/h", page(body, f'Link: <{to("/header")}>; rel="canonical"', f"Refresh: 9;url={to('/x')}", head=head)
        )
        server.route("/b", page('<a href="based">b</a>', head=f'<base href="{to("/")}">'))
        server.route("/robots.txt", answer(f"Sitemap: {to('/robots')}\n".encode(), TEXT))
        server.route("/sitemap.xml", moved(to("/sitemap")))
        ran = crawl_hostile(tmp_path, server.url(), "--subdomains")
        check(tmp_path, ran)
        assert spy.connections == 0
        states = {url: end for url, end in ran.ends.items() if f":{spy.port}" in url and "redirect" in url}
        assert [state for state, _ in states.values()] == ["out of scope"]


def test_ours_a_robots_file_that_redirects_inside_does_not_open_the_door(tmp_path: Path) -> None:
    with HostileServer() as server, HostileServer() as spy:
        furnish(server, [])
        server.route("/robots.txt", moved(spy.url("/robots.txt")))
        ran = crawl_hostile(tmp_path, server.url())
        assert ran.code in (0, 5)
        assert spy.connections == 0


# ---------------------------------------------------------------------------------------------------- days and disks


@pytest.mark.parametrize("paths", [["/"], [f"/p{n}" for n in range(9)]], ids=["start", "most"])
def test_ours_a_site_that_recovered_is_published_by_the_next_run(tmp_path: Path, paths: list[str]) -> None:
    with HostileServer() as server:
        for path in paths:
            server.route(path, answer(status="500 No"))
        furnish(server, others := [f"/p{n}" for n in range(9)])
        for path in others:
            server.route(path, page())
        words = ("--set=fetch.retries=0", "--set=output.max_failed=0.1")
        bad = crawl_hostile(tmp_path, server.url(), *words)
        assert bad.code in (3, 5)
        check(tmp_path, crawl_hostile(tmp_path, server.url(), *words))


def test_rfc9110_10_2_3_one_broken_page_cannot_park_a_crawl_for_years(tmp_path: Path) -> None:
    with HostileServer() as server:
        furnish(server, ["/later"])
        server.route("/later", send(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\nRetry-After: 999999999\r\n\r\n"))
        ran = crawl_hostile(tmp_path, server.url(), limit=6)
        check(tmp_path, ran)


def test_rfc9110_10_2_3_a_site_that_asks_for_years_ends_the_run_and_keeps_its_place(tmp_path: Path) -> None:
    with HostileServer() as server:
        furnish(server, ["/later"])
        server.route("/later", send(b"HTTP/1.1 429 No\r\nContent-Length: 0\r\nRetry-After: 999999999\r\n\r\n"))
        ran = crawl_hostile(tmp_path, server.url(), "-c", "1", limit=6)
        assert ran.code == 4
        assert "long pause" in ran.out


def test_ours_a_full_disk_ends_a_crawl_with_a_sentence(tmp_path: Path) -> None:
    with HostileServer() as server:
        server.route("/", page(anchors([f"/p{n}" for n in range(40)])))
        for n in range(40):
            server.route(f"/p{n}", page(anchors(f"/{'x' * 99}/{m}" for m in (*range(n * 90, n * 90 + 180), 7))))
        inner = command("crawl", server.url(), "-o", "out", *FAST, "--exclude", "/x*")
        done = subprocess.run(
            ["sh", "-c", 'ulimit -f 300; exec "$@"', "sh", *inner],
            cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip
        assert (done.returncode, "Traceback" in done.stderr) == (7, False), done.stderr
        assert "Free space" in done.stderr


def test_ours_a_process_limit_on_memory_is_taken_as_it_is(tmp_path: Path) -> None:
    with HostileServer() as server:
        furnish(server, [])
        inner = command("crawl", server.url(), "-o", "out", *FAST)
        done = subprocess.run(
            ["sh", "-c", 'ulimit -v 900000; exec "$@"', "sh", *inner],
            cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr


# ---------------------------------------------------------------------------------------------------- people

PEOPLE: list[tuple[str, tuple[str, ...], dict[str, str], int]] = [
    ("ascii", (), {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, 0),
    ("site-is-no-table", ("--config", "site.toml"), {}, 2),
    ("user-agent", ("-u", "M\u00f6bel/1"), {}, 2),
    ("user-agent-empty", ("-u", ""), {}, 2),
    ("sitemap-url", ("--sitemap-url", "{url}"), {}, 2),
    ("proxy", ("--proxy", "nonsense"), {}, 2),
    ("infinite", ("--timeout", "inf"), {}, 2),
    ("header", ("-H", "hunter2"), {}, 2),
    ("header-table", ("--config", "headers.toml"), {}, 2),
    ("header-variable", (), {"SITEATLAS_FETCH_HEADERS": "X-Key: hunter2"}, 0),
]  # fmt: skip


@pytest.mark.parametrize(("words", "variables", "code"), [pytest.param(w, v, c, id=n) for n, w, v, c in PEOPLE])
def test_ours_what_people_get_wrong_is_told_as_theirs_and_before_the_crawl(
    tmp_path: Path, words: tuple[str, ...], variables: dict[str, str], code: int
) -> None:
    (tmp_path / "site.toml").write_text("site = 3\n")
    (tmp_path / "headers.toml").write_text('[fetch]\nheaders = "X-Key: hunter2"\n')
    with HostileServer() as server:
        furnish(server, [f"/gone{n}" for n in range(9)])
        ran = crawl(tmp_path, server.url(), *(word.format(url=server.url()) for word in words), **variables)
        assert ran.code == code, ran.err
        assert "hunter2" not in ran.out + ran.err
        assert code == 0 or not server.requests
        assert code == 0 or len(ran.err.strip().splitlines()) == 1


def _until(terminal: int, words: bytes) -> bytes:
    """What a terminal shows until these words, or until its program ends."""
    shown = b""
    with contextlib.suppress(OSError):
        while words not in shown and select.select([terminal], [], [], 10)[0]:
            shown += os.read(terminal, 65536)
    return shown


def test_ours_a_second_interrupt_gives_the_terminal_back(tmp_path: Path) -> None:
    with HostileServer() as server:
        furnish(server, ["/slow"])
        server.route("/slow", sleep(30))
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            command("crawl", server.url(), "-o", "out", *FAST),
            cwd=tmp_path, env=environment(TERM="xterm"), stdin=theirs, stdout=theirs, stderr=theirs,
        )  # fmt: skip
        os.close(theirs)
        shown = _until(ours, b"1 to fetch")
        process.send_signal(signal.SIGINT)
        shown += _until(ours, b"again to stop")
        process.send_signal(signal.SIGINT)
        shown += _until(ours, b"no such words")
        os.close(ours)
        assert process.wait(10) == 130
        assert shown.count(b"\x1b[?25l") == shown.count(b"\x1b[?25h")
