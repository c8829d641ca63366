"""Published files and observed dates in a web program: wsgiref, uvicorn and Django serve them as the manual says."""

import asyncio
import contextlib
import http.client
import os
import re
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server
from wsgiref.validate import validator

import pytest
import uvicorn
from run import AT_ONCE, NIGHTLY, crawl, siteatlas
from scripted import Answer, links, scripted

from crawler import AsgiFiles, ObservedDates, WsgiFiles

MANUAL = Path(__file__).parent.parent / "docs/web-programs.md"
DAY = datetime(2026, 3, 4, 10, tzinfo=UTC)
Reply = tuple[int, dict[str, str], bytes]


class Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def by_wsgi(app: Any) -> Iterator[int]:
    with make_server("127.0.0.1", 0, validator(app), handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@contextmanager
def by_asgi(app: Any) -> Iterator[int]:
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", ws="none"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join()


def own_wsgi(environ: Any, start: Any) -> list[bytes]:
    start("200 OK", [("content-type", "text/plain")])
    return [b"own"]


async def own_asgi(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": b"own"})


def ask(port: int, path: str, method: str = "GET", **headers: str) -> Reply:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        reply = connection.getresponse()
        return reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read()


KINDS = pytest.mark.parametrize(
    ("made", "served", "own"), [(WsgiFiles, by_wsgi, own_wsgi), (AsgiFiles, by_asgi, own_asgi)], ids=["wsgi", "asgi"]
)


@pytest.fixture
def public(tmp_path: Path) -> Path:
    folder = tmp_path / "public"
    folder.mkdir()
    (folder / "sitemap.xml").write_bytes(b"<sitemapindex/>")
    (folder / "sitemap-1.xml.gz").write_bytes(os.urandom(700_000))  # of several chunks
    (folder / "llms.txt").write_text("# site")
    (folder / ".hidden").write_text("secret")
    (folder / "below").mkdir()
    (folder / "below/deep.xml").write_text("secret")
    (folder / "link.xml").symlink_to("/etc/passwd")
    os.mkfifo(folder / "pipe.xml")
    (tmp_path / "beside.xml").write_text("secret")
    return folder


@KINDS
def test_rfc9110_each_published_file_is_served_whole_and_conditional(
    public: Path, made: Any, served: Callable[[Any], Any], own: Any
) -> None:
    types = {"sitemap.xml": "application/xml", "sitemap-1.xml.gz": "application/gzip", "llms.txt": "text/plain"}
    with served(made(public)) as port:
        for name, kind in types.items():
            status, headers, body = ask(port, f"/{name}")
            assert (status, body) == (200, (public / name).read_bytes())
            assert headers["content-type"].partition(";")[0] == kind
            assert "content-encoding" not in headers
            size = str(len(body))
            status, head, body = ask(port, f"/{name}", "HEAD")
            assert (status, body, head["content-length"]) == (200, b"", size)
            for known in ({"if_none_match": headers["etag"]}, {"if_modified_since": headers["last-modified"]}):
                status, headers, body = ask(port, f"/{name}", **known)
                assert (status, body, "etag" in headers) == (304, b"", True)
        assert ask(port, "/sitemap.xml", if_match='"other"')[0] == 412
        status, headers, _ = ask(port, "/sitemap.xml", "POST")
        assert (status, headers["allow"]) == (405, "GET, HEAD")
        before = ask(port, "/sitemap.xml")[1]["etag"]
        (public / "new").write_bytes(b"<sitemapindex></sitemapindex>")
        (public / "new").replace(public / "sitemap.xml")
        status, _, body = ask(port, "/sitemap.xml", if_none_match=before)
        assert (status, body) == (200, b"<sitemapindex></sitemapindex>")


@KINDS
def test_ours_nothing_but_the_published_files_leaves_the_directory(
    public: Path, made: Any, served: Callable[[Any], Any], own: Any
) -> None:
    hidden = (
        "/",
        "/.hidden",
        "/below",
        "/below/deep.xml",
        "/link.xml",
        "/pipe.xml",
        "/../beside.xml",
        "/%2e%2e/beside.xml",
    )
    odd = ("/..%2Fbeside.xml", "/a%00b", "/%ff", f"/{'n' * 300}", "//etc/passwd", "/no.xml", "/sitemap.xml/")
    with served(made(public)) as port:
        assert {path: ask(port, path)[0] for path in (*hidden, *odd)} == dict.fromkeys((*hidden, *odd), 404)
    with served(made(public, own, path="/docs/")) as port:
        assert ask(port, "/docs/sitemap.xml")[2] == b"<sitemapindex/>"
        assert [ask(port, path)[2] for path in ("/sitemap.xml", "/docs/", "/docs/.hidden", "/x?sitemap.xml")] == [
            b"own"
        ] * 4


def test_asgi_files_can_be_mounted_and_refuse_what_is_not_http(public: Path) -> None:
    from starlette.applications import Starlette
    from starlette.routing import Mount
    from starlette.testclient import TestClient

    with TestClient(Starlette(routes=[Mount("/maps", AsgiFiles(public))])) as client:
        assert client.get("/maps/sitemap.xml").text == "<sitemapindex/>"
        assert client.get("/sitemap.xml").status_code == 404
    with pytest.raises(NotImplementedError):
        asyncio.run(AsgiFiles(public)({"type": "websocket"}, None, None))  # type: ignore[arg-type]


def test_ours_the_dates_are_those_of_the_sitemap_and_follow_the_state(tmp_path: Path) -> None:
    modified = {"Last-Modified": format_datetime(DAY, usegmt=True)}
    dates = ObservedDates(tmp_path / ".siteatlas")
    with scripted({"/": links("/a"), "/a": Answer("<p>a</p>", headers=modified)}) as site:
        assert dates.lastmod(f"{site.url}a") is None  # before the first run
        assert crawl(tmp_path, site.url).code == 0
        assert [dates.lastmod(f"{site.url}{path}") for path in ("a", "./a#part", "", "no")] == [DAY, DAY, None, None]
        assert dates.lastmod("no URL") is None
        (state,) = (tmp_path / ".siteatlas").iterdir()
        assert ObservedDates(state).lastmod(f"{site.url}a") == DAY
        state.rename(tmp_path / "gone")
        assert dates.lastmod(f"{site.url}a") is None
        site.routes["/a"] = Answer("<p>b</p>")
        assert crawl(tmp_path, site.url, "--replace").code == 0  # another state in the same place
        assert dates.lastmod(f"{site.url}a") is None
        (tmp_path / "gone").rename(tmp_path / ".siteatlas/other")
    assert dates.lastmod(f"{site.url}a") == DAY  # any site of the directory may have the page


def test_ours_a_bad_state_gives_no_date_and_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "state.db").write_bytes(b"no database" * 100)
    dates = ObservedDates(tmp_path)
    assert [dates.lastmod("https://example.com/") for _ in range(2)] == [None, None]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert ObservedDates(tmp_path / "none").lastmod("https://example.com/") is None
    assert "has no state that this account can read" in caplog.text


def test_ours_serving_imports_no_crawler() -> None:
    unused = ["pydantic", "httpx", "pyreqwest", "selectolax", "starlette", "typer", "rich", "uvicorn", "crawler.crawl"]
    code = f"import sys; from crawler import WsgiFiles; print([name for name in {unused} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def text_of(name: str) -> str:
    words = " ".join(f"{name}{number}" for number in range(40))
    return f"<title>{name}</title><h1>{name}</h1><p>Of {words}."


def test_ours_a_site_that_sends_the_dates_of_its_sitemap_is_no_server_with_a_wrong_last_modified(
    tmp_path: Path,
) -> None:
    dates = ObservedDates(tmp_path / "state")
    texts = {f"/{number}": text_of(f"p{number}") for number in range(20)}

    def page(path: str) -> Callable[[int], Answer]:
        def answer(_: int) -> Answer:
            date = dates.lastmod(site.url + path[1:]) or DAY
            return Answer(texts[path], headers={"Last-Modified": format_datetime(date, usegmt=True)})

        return answer

    with scripted({"/": links(*texts), **dict.fromkeys(texts, "")}) as site:
        site.routes |= {path: page(path) for path in texts}
        assert siteatlas(tmp_path, "crawl", site.url, *NIGHTLY).code == 0
        for number in range(5):
            texts[f"/{number}"] += f"<p>{text_of(f'more{number}')}"
        assert "5 changed" in siteatlas(tmp_path, "crawl", site.url, *NIGHTLY).out
        (state,) = (tmp_path / "state").iterdir()
        with contextlib.closing(sqlite3.connect(state / "state.db")) as db, db:  # that was some days ago
            for table in ("memory", "published"):
                db.execute(f"UPDATE {table} SET lastmod = '2026-05-06T07:08:09Z' WHERE lastmod > '2026-03-05'")
        told = siteatlas(tmp_path, "crawl", site.url, *NIGHTLY).out
        assert "nothing added, changed or removed" in told
        assert "note:" not in told


DJANGO = """
import sys
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, make_server
import django
from django.conf import settings
from django.http import HttpResponse
from django.urls import path
http = "django.middleware.http.ConditionalGetMiddleware"
settings.configure(ALLOWED_HOSTS=["*"], ROOT_URLCONF="__main__", MIDDLEWARE=["middleware.last_modified", http],
    TIME_ZONE="UTC",  # in that of Chicago, which is the default, dates of the night are those of the day before
    INSTALLED_APPS=["django.contrib.sitemaps"],
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}])
django.setup()
from django.contrib.sitemaps.views import sitemap
import maps
def page(request, name=""):
    return HttpResponse(Path("pages", name or "index").read_text())
urlpatterns = [path("django.xml", sitemap, {"sitemaps": {"pages": maps.Pages}}, name="sitemap"), path("", page),
    path("boats/", page, {"name": "boats"}), *(path(f"{n}/", page, {"name": str(n)}) for n in range(16))]
class Quiet(WSGIRequestHandler):
    def log_message(self, *_): pass
from wsgi import application
with make_server("127.0.0.1", int(sys.argv[1]), application, handler_class=Quiet) as server:
    print("serves", flush=True)
    server.serve_forever()
"""


@pytest.mark.thorough
def test_ours_django_serves_files_and_dates_as_the_manual_says_and_edits_stay_visible(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    wsgi, _, maps, middleware = re.findall(r"```python\n(.*?)```", MANUAL.read_text(encoding="utf-8"), re.DOTALL)
    own = {"https://www.example.com": url, "/srv/www/shop": f"{tmp_path}/out", "/var/lib/siteatlas": ".siteatlas"}
    for name, text in {"wsgi": wsgi, "maps": maps, "middleware": middleware, "start": DJANGO}.items():
        known = re.sub("|".join(own), lambda found: own[found[0]], text)
        (tmp_path / f"{name}.py").write_text(known)
    (tmp_path / "pages").mkdir()
    names = ["boats", *map(str, range(16))]
    for name in names:
        (tmp_path / "pages" / name).write_text(text_of(name))
    (tmp_path / "pages/index").write_text(links(*(f"/{name}/" for name in names)))
    words = [sys.executable, "start.py", str(port)]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as site:
        try:
            assert site.stdout
            assert site.stdout.readline() == b"serves\n"
            night = ("crawl", f"{url}/", "-o", "out", *AT_ONCE)
            assert siteatlas(tmp_path, *night).code == 0
            for name in names[:4]:
                (tmp_path / "pages" / name).write_text(text_of(name) + f"<p>News of {name}: a harbour in {name * 3}.")
            begun = datetime.now(UTC).replace(microsecond=0)
            told = siteatlas(tmp_path, *night)
            assert "4 changed" in told.out, told.out
            status, headers, _ = ask(port, "/boats/")
            dated = datetime.strptime(headers["last-modified"], "%a, %d %b %Y %H:%M:%S %Z").replace(tzinfo=UTC)
            assert status == 200
            assert begun <= dated <= datetime.now(UTC)
            assert ask(port, "/boats/", if_none_match=headers["etag"])[0] == 304
            # an edit may be newer than the date that is known of the page
            assert ask(port, "/boats/", if_modified_since=headers["last-modified"])[0] == 200
            assert dated.strftime("%Y-%m-%d") in ask(port, "/django.xml")[2].decode()
            assert ask(port, "/sitemap.xml")[2] == (tmp_path / "out/sitemap.xml").read_bytes()
            # the site now sends the dates of its sitemap: they are neither changes nor a fault of the server
            told = siteatlas(tmp_path, *night)
            assert "nothing added, changed or removed" in told.out, told.out
            assert "note:" not in told.out, told.out
            (tmp_path / "pages/5").write_text(text_of("5") + "<p>A late edit, after all that.")
            assert "1 changed" in siteatlas(tmp_path, *night).out
        finally:
            site.terminate()
