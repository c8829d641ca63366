"""What links lead to beyond pages, and what pages show: the rules ``target``, ``place`` and ``page`` of an audit."""

import http.server
import json
import random
import ssl
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import trustme
from forked import Forked
from scripted import Answer, Site, scripted

from crawler.audit.health.target import TargetState, judge_target, seen_again
from crawler.fetch.errors import FailureCode
from crawler.model import Failure

WORDS = ["oak", "pine", "brass", "linen", "copper", "wool", "slate", "maple", "cedar", "amber", "cobalt", "ivory"]
FAST = ("--rate", "0", "--set=fetch.retries=0", "--set=fetch.second_reads=0", "--render", "never", "--format", "json")


def text(seed: object, count: int = 40) -> str:
    draw = random.Random(str(seed))
    return " ".join(draw.choice(WORDS) for _ in range(count))


def page(name: str, body: str = "", title: str | None = None, head: str = "") -> str:
    told = f"<title>{name if title is None else title}</title>" if title != "" else ""
    menu = "".join(f'<a href="/p{n}">P{n}</a> ' for n in range(6))
    return (
        f"<!doctype html><html><head>{told}{head}</head><body><nav>{menu}</nav><main><h1>{name}</h1>"
        f"<p>{text(name)}. {text(name + 'b', 12)}.</p><p>{text(name + 'c')}.</p>{body}</main>"
        '<footer><a href="/offer">Offer</a></footer></body></html>'
    )


def audited(process: Forked, folder: Path, url: str, *words: str, day: int = 0) -> Counter[tuple[str, str]]:
    """The findings of the rules that this file is about: each rule with its URL, without the start of it."""
    ran = process.run(folder, day, "audit", url, *FAST, "--state", "state", "-o", "out", *words)
    assert ran.status in {0, 10}, ran.said
    report: dict[str, Any] = json.loads((folder / "out" / "audit.json").read_bytes())
    return Counter(
        (each["rule"], each["url"].removeprefix(url.rstrip("/")))
        for each in report["findings"]
        if each["rule"].partition(".")[0] in {"target", "place", "page"}
    )


# Links of the page /p0, and whether the part of the page is there.
PARTS = {
    "#here": True,
    "#named": True,
    "#": True,
    "#top": True,
    "#TOP": True,
    "#caf%C3%A9": True,
    "#a%20b": True,
    "#:~:text=oak": True,
    "#here:~:text=oak": True,
    "#/route": True,
    "#!/route": True,
    "#readme": True,  # https://github.com/w3c/link-checker/issues/52
    "#gone": False,
    "#Here": False,
    "#caf%C3%A8": False,
    "#gone:~:text=oak": False,
    "/p1#part": True,
    "/p1?x=1#part": True,
    "/p1#other": False,
    "/p1#name-of-a-form": False,
    "/app#one": True,  # a script makes the parts of this page
    "/app#two": True,
    "/app#three": True,
    "/p2.pdf#page=2": True,
    "/long#end": True,  # behind what is kept of a page
}


def test_html_parts_of_pages_files_titles_and_data(process: Forked, tmp_path: Path) -> None:
    links = "".join(f'<p>{text(href, 4)} <a href="{href}">{text(href, 2)}</a> {text(href, 5)}</p>' for href in PARTS)
    ids = '<i id=here></i><a name="named"></a><b id="café"></b><b id="a b"></b><b id="user-content-readme"></b>'
    files = '<img src="/here.png" alt=""><img src="/gone.png" alt=""><img src="/denied.png" alt="">'
    styles = '<link rel="stylesheet" href="/gone.css"><link rel=stylesheet href=/here.css>'
    data = '<script type="application/ld+json">{}</script>'.format
    twin = page("Twin", title="Twin one")
    local = '<link rel="canonical" href="file:///srv/p5">'
    with scripted({}) as site:
        picture = Answer(b"\x89PNG", headers={"Content-Type": "image/png"})
        site.routes |= {f"/p{n}": page(f"P{n}") for n in range(6)}
        site.routes |= {
            "/": page("Home", "".join(f'<p><a href="{to}">{to}</a></p>' for to in ("/twin", "/copy", "/app", "/bare"))),
            "/p0": page("P0", links + ids + files, head=styles),
            "/p1": page("P1", '<i id="part"></i><form name="name-of-a-form"></form>'),
            "/p1?x=1": page("P1 again", '<i id="part"></i>'),
            "/p2.pdf": Answer(b"%PDF", headers={"Content-Type": "application/pdf"}),
            "/p3": page("P3", title="Same"),
            "/p4": page("P4", title="Same", head=data('{"@type": "Thing", "name": }')),
            "/p5": page("P5", head=local + data('{"@type": "Thing", "name": "ok",}')),
            "/app": page("App"),
            "/bare": page("Bare", title=""),
            "/twin": twin,
            "/copy": twin.replace("Twin one", "Twin two"),
            "/offer": page("Offer"),
            "/long": page("Long", f'<p>{"é" * 500_000}</p><a name="end"></a>'),
            "/here.png": picture,
            "/denied.png": Answer("", 403),
            "/here.css": Answer("a{}", headers={"Content-Type": "text/css"}),
        }
        found = audited(process, tmp_path, site.url)
        asked = Counter(site.paths)
    dead = {
        ("target.fragment", "/p0" + href if href[0] == "#" else href)
        for href, is_there in PARTS.items()
        if not is_there
    }
    dead = {(rule, url.partition(":~:")[0]) for rule, url in dead}
    expected = dead | {
        ("target.file", "/gone.png"),
        ("target.file", "/gone.css"),
        ("page.title", "/bare"),
        ("page.same_title", "/p3"),
        ("page.copy", "/copy"),
        ("page.data", "/p4"),
        ("page.canonical", "/p5"),
        ("place.box", "/offer"),
    }
    assert found == Counter(expected)
    notes = json.loads((tmp_path / "out" / "audit.json").read_bytes())["notes"]
    kept = f"links to parts behind the first 1.0 MB of a page are not checked: on 1 longer page, such as {site.url}long"
    assert kept in notes
    assert max(asked[path] for path in ("/gone.png", "/gone.css", "/here.css", "/here.png")) == 1


@pytest.mark.parametrize("mode", ["auto", "never"])
def test_ours_scripts_of_pages_are_files_that_can_be_missing(mode: str, process: Forked, tmp_path: Path) -> None:
    """Scripts in the page itself, and the places that they fill, are none; pages without scripts need no browser."""
    script = "<script>document.body.append(1)</script>"
    with scripted({f"/p{n}": page(f"P{n}") for n in range(6)}) as site:
        files = '<script src="/here.js?x=1&amp;y=2"></script><script src="/gone.js"></script>'
        site.routes["/p1"] = (
            page("P1").replace("<head>", "<head><base href=/js/>", 1) + "<script src=of-base.js></script>"
        )
        site.routes |= {"/": page("Home", f'<div id="app" class="list"></div>{files}{script}'), "/offer": page("Offer")}
        site.routes["/here.js?x=1&y=2"] = Answer("1", headers={"Content-Type": "text/javascript"})
        found = audited(process, tmp_path, site.url, "--render", mode)
        asked = {path for path in site.paths if path not in site.routes}
    assert [url for rule, url in found if rule == "target.file"] == ["/gone.js"]
    assert asked <= {"/gone.js", "/robots.txt", "/sitemap.xml", "/of-base.js"}, asked


def test_ours_pages_that_nobody_chose_to_link_to(process: Forked, tmp_path: Path) -> None:
    """Half of the posts are in the footer of each page alone; new pages come with a link in the menu, or in a text."""
    posts = [f"/post-{n}" for n in range(12)]

    def filled(menu: str = "", body: str = "") -> dict[str, Any]:
        footer = "".join(f'<a href="{post}">{post}</a> ' for post in posts[:6])
        pages = {
            path: page(path.strip("/") or "home")
            .replace("</footer>", f"{footer}</footer>")
            .replace("<nav>", f"<nav>{menu}")
            for path in ("/", "/offer", *posts, *(f"/p{n}" for n in range(6)))
        }
        shelf = "".join(f'<li><a href="{post}">{post}</a></li>' for post in (*posts[6:], "/offer"))
        pages["/p0"] = pages["/p0"].replace("</main>", f"<ul>{shelf}</ul>{body}</main>")
        return pages

    with scripted(filled()) as site:
        assert audited(process, tmp_path, site.url) == Counter(("place.box", post) for post in posts[:6])
        new = '<p>Now there is also <a href="/new-in-text">something</a> to read.</p>'
        site.routes = filled('<a href="/new-in-menu">New</a>', new)
        site.routes |= {name: page(name) for name in ("/new-in-menu", "/new-in-text")}
        found = audited(process, tmp_path, site.url, day=1)
    assert found == Counter([*(("place.box", post) for post in posts[:6]), ("place.new", "/new-in-menu")])


def test_ours_findings_of_boxes_do_not_depend_on_the_order_in_which_pages_are_found(
    process: Forked, tmp_path: Path
) -> None:
    topics = [f"/topic-{n}" for n in range(40)]
    found = []
    with scripted({f"/p{n}": page(f"P{n}") for n in range(6)} | {"/offer": page("Offer")}) as site:
        for topic in topics:
            names = [topic, *(f"{topic}/{part}" for part in "ab")]
            links = "".join(f'<a href="{name}">{name}</a> ' for name in names)
            site.routes |= {name: page(name).replace("<footer>", f"<aside>{links}</aside><footer>") for name in names}
        for number, order in enumerate((topics, topics[::-1], topics[1::2] + topics[::2])):
            site.routes["/"] = page("Home", "".join(f'<li><a href="{topic}">{topic}</a>' for topic in order))
            (folder := tmp_path / str(number)).mkdir()
            found.append(audited(process, folder, site.url))
    assert len(found[0]) > 2
    assert found[1:] == found[:1] * 2


def test_ours_a_dead_link_of_the_template_is_one_finding_with_its_place(process: Forked, tmp_path: Path) -> None:
    with scripted({}) as site:
        site.routes |= {f"/p{n}": page(f"P{n}") for n in range(6)} | {"/": page("Home")}  # /offer is not there
        site.routes["/p1"] = page("P1", '<p>See <a href="/gone">this page</a> about it.</p>')
        audited(process, tmp_path, site.url)
    found = json.loads((tmp_path / "out" / "audit.json").read_bytes())["findings"]
    dead = {urlsplit(each["url"]).path: each["sentence"] for each in found if each["rule"] == "gone.linked"}
    assert {path: told.rpartition("; ")[2] for path, told in dead.items()} == {
        "/offer": "links seen in: footer",
        "/gone": "links seen in: body",
    }


@pytest.mark.thorough
def test_ours_each_dead_link_has_its_place_or_why_it_is_not_known(process: Forked, tmp_path: Path) -> None:
    """The sample has 60 pages, and 40 more are read. What links lead to says nothing of it elsewhere."""
    with scripted({}) as site:
        for n in range(120):
            words = [text(f"{n}{part}", 6) for part in "abc"]
            body = '<p>{} <a href="/gone{n}">{}</a> {} <a href="/p{next}">on</a>.</p>'.format(*words, n=n, next=n + 1)
            site.routes[f"/p{n}"] = page(f"P{n}", body)
        site.routes["/"] = page("Home")
        audited(process, tmp_path, site.url)
    found = json.loads((tmp_path / "out" / "audit.json").read_bytes())["findings"]
    dead = [each["sentence"] for each in found if each["rule"] == "gone.linked" and "/gone" in each["url"]]
    told = Counter(sentence.rpartition("; ")[2] for sentence in dead)
    why = "it is not known where on their pages the links stand"
    assert told.keys() == {"links seen in: body", why}
    assert told[why] < 25, told


def test_ours_pages_in_boxes_that_change(process: Forked, tmp_path: Path) -> None:
    pool = [f"/pool/{n}" for n in range(8)]
    draw = random.Random(4)

    def changing(path: str) -> Any:
        def answer(_: int) -> Answer:
            box = "".join(f'<a href="{to}">{to}</a> ' for to in draw.sample(pool, 3))
            return Answer(page(path).replace("<footer>", f"<aside>{box}</aside><footer>"))

        return answer

    with scripted({}) as site:
        site.routes |= {path: page(path) for path in ("/offer", *pool)}
        site.routes |= {path: changing(path) for path in ("/", *(f"/p{n}" for n in range(6)))}
        urls = "".join(f"<url><loc>{site.url.rstrip('/')}{path}</loc></url>" for path in (*pool, "/lost"))
        sitemap = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
        site.routes |= {"/sitemap.xml": Answer(sitemap, headers={"Content-Type": "text/xml"}), "/lost": page("lost")}
        found = [audited(process, tmp_path, site.url, "--set=fetch.second_reads=20", day=day) for day in range(2)]
    for each in found:
        assert {url for rule, url in each if rule == "place.changing"} == set(pool)
        assert ("place.box", "/offer") in each


# How a page of another site answers HEAD and GET, and whether it is dead.
EXTERNAL: dict[str, tuple[int, int, bool]] = {
    "ok": (200, 200, False),
    "no-content": (204, 204, False),
    "head-405": (405, 200, False),
    "head-404": (404, 200, False),
    "head-403": (403, 200, False),
    "head-500": (500, 200, False),
    "head-501": (501, 200, False),
    "login": (401, 401, False),
    "forbidden": (403, 403, False),
    "no-method": (405, 405, False),
    "proxy": (407, 407, False),
    "too-many": (429, 429, False),
    "law": (451, 451, False),
    "linkedin": (999, 999, False),
    "bad-request": (400, 400, False),
    "timeout": (408, 408, False),
    "teapot": (418, 418, False),
    "error": (500, 500, False),
    "bad-gateway": (502, 502, False),
    "busy": (503, 503, False),
    "closes": (0, 0, False),
    "gone": (404, 404, True),
    "gone-410": (410, 410, True),
    "head-405-gone": (405, 404, True),
    "head-403-gone": (403, 410, True),
    "slow": (200, 200, False),
    "slow-gone": (404, 404, True),
    "flaps": (404, 200, False),
}


class Others(http.server.ThreadingHTTPServer):
    """Other sites on one port, and what was asked of them."""

    daemon_threads = True
    asked: list[tuple[str, str]]
    back: set[str]  # pages that were gone, and are there again


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Others

    def do_GET(self) -> None:
        name = urlsplit(self.path).path.strip("/")  # a proxy gets the whole URL
        if name == "robots.txt":
            self.send_error(404)
            return
        self.server.asked.append((self.command, name))
        if name.startswith("moves-to-"):
            self.send_response(302)
            self.send_header("Location", f"/{name.removeprefix('moves-to-')}")
        else:
            time.sleep(1.0 if name.startswith("slow") else 0.0)
            status = EXTERNAL["ok" if name in self.server.back else name][self.command == "GET"]
            if not status:
                self.connection.close()
                return
            self.send_response(status)
            if status == 429:
                self.send_header("Retry-After", "1")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET  # noqa: N815 - its name in the base

    def log_message(self, *_: object) -> None:
        pass


class Quiet(http.server.BaseHTTPRequestHandler):
    """Answers each request with an empty page."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET  # noqa: N815 - its name in the base

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def others() -> Iterator[Others]:
    server = Others(("127.0.0.1", 0), _Handler)
    server.asked, server.back = [], set()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def linked(site: Site, hrefs: list[str]) -> None:
    site.routes |= {"/": page("Home", "".join(f'<p><a href="{href}">{href}</a></p>' for href in hrefs))}
    site.routes |= {f"/p{n}": page(f"P{n}") for n in range(6)} | {"/offer": page("Offer")}


@pytest.mark.thorough
def test_rfc9110_links_to_other_sites_are_dead_only_if_no_visitor_reaches_them(process: Forked, tmp_path: Path) -> None:
    with scripted({}) as site, others() as server:
        port = server.server_port
        names = [*EXTERNAL, "moves-to-ok", "moves-to-gone", "moves-to-moves-to-gone"]
        urls = {name: f"http://{name}.test-site.org:{port}/{name}" for name in names}
        silent = "http://silent.test-site.org:9/"  # the port "discard" (RFC 863), on which nobody listens
        private = f"http://127.0.0.9:{port}/ok"
        acts = f"http://ok.test-site.org:{port}/unsubscribe?id=7"
        never = [acts, "https://www.example.com/gone", "http://nothing.invalid/", private]
        linked(site, [*urls.values(), silent, *never, "mailto:a@b.org", "tel:1"])
        hosts = [url.split("/")[2] for url in (*urls.values(), silent)]
        words = ("--check-external", *(word for host in hosts for word in ("--resolve", f"{host}:127.0.0.1")))
        first = audited(process, tmp_path, site.url, *words)
        told = json.loads((tmp_path / "out" / "audit.json").read_bytes())["findings"]
        assert all("; links seen in: " in each["sentence"] for each in told if each["rule"] == "target.once")
        asked = [*server.asked]
        server.asked.clear()
        server.back = {"gone-410"}
        second = audited(process, tmp_path, site.url, *words, day=1)
    dead = {urls[name] for name, (*_, is_dead) in EXTERNAL.items() if is_dead}
    dead |= {urls["moves-to-gone"], urls["moves-to-moves-to-gone"]}
    places = Counter({("place.box", "/offer"): 1})
    assert first - places == Counter(("target.once", url) for url in dead)
    open_ = [name for name, (_, status, is_dead) in EXTERNAL.items() if not is_dead and status not in {200, 204}]
    notes = " ".join(json.loads((tmp_path / "out" / "audit.json").read_bytes())["notes"])
    # with the one on which nobody listens, and the private address
    assert f"of {len(open_) + 2} of {len(urls) + 2} URLs of other sites nothing is known" in notes
    assert f"{len(never) - 1} URLs of other sites that may change something" in notes
    assert second - places == Counter(("target.external", url) for url in dead - {urls["gone-410"]})
    assert "unsubscribe" not in str(asked)
    once = Counter(request for request in asked if request[1] not in {"gone", "moves-to-gone"})  # redirects lead there
    assert max(once.values()) <= 2  # one that fails is tried once more
    again = {name for _, name in server.asked}
    assert not again & {"ok", "head-405", "head-404", "forbidden", "linkedin", "moves-to-ok", "too-many"}
    assert {"gone", "gone-410"} <= again
    assert {method for method, _ in server.asked} == {"GET"}  # HEAD has said nothing of what failed


@contextmanager
def secure(certificates: dict[str, tuple[trustme.LeafCert, bool]]) -> Iterator[dict[str, int]]:
    """HTTPS servers, each with its certificate, and whether it sends the whole chain; gives their ports."""
    servers: list[http.server.HTTPServer] = []
    for leaf, is_whole in certificates.values():
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        chain = b"".join(blob.bytes() for blob in leaf.cert_chain_pems[: None if is_whole else 1])
        with leaf.private_key_pem.tempfile() as key, trustme.Blob(chain).tempfile() as file:
            context.load_cert_chain(file, key)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        servers.append(server)
    try:
        yield dict(zip(certificates, (server.server_port for server in servers), strict=True))
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


def test_ours_an_expired_certificate_is_dead_and_one_without_its_intermediate_is_not(
    process: Forked, tmp_path: Path
) -> None:
    root = trustme.CA()
    (tmp_path / "root.pem").write_bytes(root.cert_pem.bytes())
    middle = root.create_child_ca()
    past = datetime(2026, 1, 1, tzinfo=UTC)

    def certificate(name: str, ca: trustme.CA = root, **more: datetime) -> trustme.LeafCert:
        return ca.issue_cert(f"{name}.test-site.org", **more)

    certificates = {
        "expired": (certificate("expired", not_before=past - timedelta(days=90), not_after=past), True),
        "short": (certificate("short", middle), False),
        "whole": (certificate("whole", middle), True),
        "stranger": (certificate("other"), True),
        "own": (certificate("own", trustme.CA()), True),
    }
    with scripted({}) as site, secure(certificates) as ports:
        urls = {name: f"https://{name}.test-site.org:{port}/" for name, port in ports.items()}
        linked(site, [*urls.values()])
        hosts = [url.split("/")[2] for url in urls.values()]
        words = ("--check-external", "--set=fetch.ca_file=root.pem")
        words += tuple(word for host in hosts for word in ("--resolve", f"{host}:127.0.0.1"))
        first = audited(process, tmp_path, site.url, *words)
        second = audited(process, tmp_path, site.url, *words, day=1)
    assert {url for rule, url in first if rule.startswith("target")} == {urls["expired"]}
    assert ("target.external", urls["expired"]) in second
    assert {url for rule, url in second if rule.startswith("target")} == {urls["expired"]}


def test_ours_other_sites_are_not_asked_unless_somebody_wants_it(process: Forked, tmp_path: Path) -> None:
    with scripted({}) as site, others() as server:
        host = f"other.test-site.org:{server.server_port}"
        linked(site, [f"http://{host}/gone"])
        audited(process, tmp_path, site.url, "--resolve", f"{host}:127.0.0.1")
        assert server.asked == []


@pytest.mark.parametrize(
    ("code", "state"),
    [
        (FailureCode.DNS_NXDOMAIN, TargetState.DEAD),
        (FailureCode.TLS_EXPIRED, TargetState.DEAD),
        (FailureCode.TLS_UNTRUSTED, TargetState.UNKNOWN),  # a certificate without its intermediate, say
        (FailureCode.TLS_HOSTNAME, TargetState.UNKNOWN),
        (FailureCode.REFUSED, TargetState.UNKNOWN),
        (FailureCode.TIME_TOTAL, TargetState.UNKNOWN),
        (FailureCode.DNS_TEMPORARY, TargetState.UNKNOWN),
    ],
)
def test_ours_a_failure_is_dead_only_if_it_stays(code: FailureCode, state: TargetState) -> None:
    answer = Failure(code, "told", 0.1)
    assert judge_target(answer)[0] is state
    seen = seen_again(None, answer, 10.0)
    assert not seen.is_dead_twice
    assert seen_again(seen, answer, 20.0).is_dead_twice == (state is TargetState.DEAD)
