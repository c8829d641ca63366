"""What a page may request while a browser shows it: data of another host, and POST by list."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import browsing
import pytest
from run import FAST, Ran, siteatlas
from scripted import Route, scripted

from sitemap import read

pytestmark = [pytest.mark.thorough, pytest.mark.needs_chromium]

APP = """
fetch("http://127.0.0.1:%d/graphql", {
  method: "%s", body: %s, headers: { "Content-Type": "application/json" },
}).then((response) => response.json()).then(({ data }) => {
  document.querySelector("main").innerHTML = data.pages.map((path) => `<a href="${path}">${path}</a>`).join("");
});
"""
QUERY = json.dumps({"query": "{ pages }"})


class Api:
    """A server that answers another origin only if the browser names that origin (CORS)."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.asked: list[tuple[str, str, str]] = []  # method, Origin, body


@contextmanager
def api() -> Iterator[Api]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            origin = self.headers.get("Origin") or ""
            running.asked.append((self.command, origin, content))
            is_right = self.command == "GET" or content == QUERY
            body = json.dumps({"data": {"pages": ["/one", "/two"]}}).encode()
            self.send_response(200 if is_right else 400)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            if origin:
                self.send_header("Access-Control-Allow-Origin", origin)
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        running = Api(server.server_address[1])
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield running
        server.shutdown()


def crawl(folder: Path, method: str, *words: str) -> tuple[Ran, list[str], Api, str]:
    browsing.binary()  # skips without one
    sandbox = ("--set=render.sandbox=false",) if os.geteuid() == 0 else ()
    folder.mkdir(exist_ok=True)
    with api() as server:
        script = APP % (server.port, method, "undefined" if method == "GET" else json.dumps(QUERY))
        shell = f"<title>Shop</title><main></main><script>{script}</script>"
        routes: dict[str, Route] = {"/": shell, "/one": "<p>one", "/two": "<p>two"}
        with scripted(routes) as site:
            host = ("--host", f"127.0.0.1:{server.port}")
            ran = siteatlas(folder, "crawl", site.url, "-o", "out", *FAST, *sandbox, *host, *words, timeout=110)
            pages = [entry.loc.removeprefix(site.url) for entry in read(folder / "out" / "sitemap.xml")]
            return ran, sorted(pages), server, site.url.rstrip("/")


def test_fetch_standard_data_of_another_host_is_read_with_the_origin_of_the_page(tmp_path: Path) -> None:
    ran, pages, server, origin = crawl(tmp_path, "GET")
    assert (ran.code, pages) == (0, ["", "one", "two"]), ran.err
    assert ("GET", origin, "") in server.asked


def test_ours_a_page_posts_only_where_that_is_allowed(tmp_path: Path) -> None:
    _, pages, server, _ = crawl(tmp_path / "a", "POST")
    assert pages == [""]
    assert not [asked for asked in server.asked if asked[0] == "POST"]
    ran, pages, server, origin = crawl(tmp_path / "b", "POST", "--set=render.post=/graphql")
    assert (ran.code, pages) == (0, ["", "one", "two"]), ran.err
    assert [asked for asked in server.asked if asked[0] == "POST"] == [("POST", origin, QUERY)]
    _, pages, server, _ = crawl(tmp_path / "c", "POST", "--set=render.post=/other*")
    assert pages == [""]


def test_ours_a_bad_pattern_for_post_is_refused(tmp_path: Path) -> None:
    ran = siteatlas(tmp_path, "crawl", "http://127.0.0.1:9/", "-o", "out", "--set=render.post=graphql")
    assert ran.code == 2
    assert 'render.post (--set render.post): "graphql" cannot match any URL' in ran.err


def test_ours_the_requests_of_a_page_are_limited(tmp_path: Path) -> None:
    browsing.binary()
    sandbox = ("--set=render.sandbox=false",) if os.geteuid() == 0 else ()
    script = "for (let number = 0; number < 10; number++) fetch(`/data?${number}`)"
    with scripted({"/": f"<title>Many</title><main></main><script>{script}</script>"}) as site:
        words = ("-o", "out", *FAST, *sandbox, "--set=render.max_requests=3")
        ran = siteatlas(tmp_path, "crawl", site.url, *words, timeout=110)
        assert ran.code == 0, ran.err
        assert len([path for path in site.paths if path.startswith("/data")]) == 3
