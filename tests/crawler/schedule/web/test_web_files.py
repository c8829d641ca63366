"""Published files and audits over HTTP: what is served, how, and that it is one generation's bytes."""

import gzip
import os
import re
from collections.abc import Iterator
from contextlib import closing
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest
from msgspec import structs
from web_made import DAY, NOW, board, index, replace, site, urlset, usual
from web_served import Served, serving

from crawler.state.runs import PublishedFile, RunStore
from crawler.state.schema import STATE_DB

NAME = "/published/shop/"
BIG = urlset(20_000)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    shop = usual(folder, recent="news feed.atom")
    out = shop.output
    (out / "sitemap-1.xml").write_text(BIG)
    (out / "news feed.atom").write_text("<feed/>")
    (out / "sitemap.css").write_text("* {}")
    (out / "private.xml").write_text("secret")
    (out / ".siteatlas-waiting").write_text("{}")
    (out / "sitemap-1.x2.xml").write_text(urlset(1))
    (folder / "outside.xml").write_text("secret")
    packed = usual(folder, "packed", report=None)
    os.truncate(packed.output / "sitemap.xml", 0)
    with serving(board(shop, packed), serve_sitemaps=True) as server:
        yield server


def test_ours_published_files_have_the_type_of_what_they_are(served: Served) -> None:
    for name, kind in {
        "sitemap.xml": "application/xml",
        "news%20feed.atom": "application/atom+xml",
        "sitemap.css": "text/css; charset=utf-8",
    }.items():
        status, headers, _ = served.ask(NAME + name)
        assert (status, headers["content-type"]) == (200, kind)
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "name",
    [
        "private.xml", ".siteatlas-waiting", ".", "..", "", "%2e%2e/outside.xml", "..%2foutside.xml",
        "%252e%252e%252foutside.xml", "..%5coutside.xml", "sitemap.xml%00", "sitemap.xml%2f", "SITEMAP.XML",
        "sitemap.xml/", "sitemap.xml.gz", "x" * 5_000, "%ff%fe", "sitemap-1.x2.xml", "sitemap.xsl",
    ],
)  # fmt: skip
def test_ours_nothing_else_in_the_directory_is_served(served: Served, name: str) -> None:
    status, _, body = served.ask(NAME + name)
    assert status in (400, 404)
    assert b"secret" not in body


def test_ours_a_site_that_is_not_known_and_one_that_published_nothing_have_no_files(
    served: Served, folder: Path
) -> None:
    bare = site(folder, "bare")
    bare.output.mkdir(parents=True)
    (bare.output / "sitemap.xml").write_text("made by hand")
    before, served.board = served.board, board(*served.board.sites, bare)
    assert served.ask("/published/bare/sitemap.xml")[0] == 404
    assert served.ask("/published/none/sitemap.xml")[0] == 404
    served.board = before


def test_ours_files_that_lead_elsewhere_or_are_no_files_are_not_there(tmp_path: Path) -> None:
    shop = usual(tmp_path)
    (tmp_path / "outside.xml").write_text("secret")
    sitemap = shop.output / "sitemap-1.xml"
    with serving(board(shop), serve_sitemaps=True) as served:
        for make in (lambda: sitemap.symlink_to(tmp_path / "outside.xml"), lambda: os.mkfifo(sitemap), sitemap.mkdir):
            sitemap.unlink()
            make()
            assert served.ask(NAME + "sitemap-1.xml")[0] == 404
            if sitemap.is_dir():
                break
        sitemap.rmdir()
        assert served.ask(NAME + "sitemap-1.xml")[0] == 404


def test_ours_what_an_index_lists_for_a_moment_is_served_too(served: Served, folder: Path) -> None:
    """A publish is out there before the state tells of it, and has other names for what it replaces."""
    sitemap = folder / "out" / "shop" / "sitemap.xml"
    assert served.ask(NAME + "sitemap-1.x2.xml")[0] == 404
    before = sitemap.read_text()
    draft = sitemap.with_name("draft")
    draft.write_text(index("sitemap-1.x2.xml", "deeper/private.xml"))
    draft.replace(sitemap)
    assert served.ask(NAME + "sitemap-1.x2.xml")[0] == 200
    assert served.ask(NAME + "sitemap-1.xml")[0] == 200, "who has the old index finds what it lists"
    assert served.ask(NAME + "private.xml")[0] == 404, "it lists that in another directory"
    sitemap.write_text(before)


def test_rfc9110_a_file_is_not_sent_again_to_who_has_it(served: Served) -> None:
    path = NAME + "sitemap-1.xml"
    _, headers, body = served.ask(path)
    assert body.decode() == BIG
    tag, date = headers["etag"], headers["last-modified"]
    assert re.fullmatch('"[0-9a-f]+-[0-9a-f]+"', tag), "a strong validator"
    assert parsedate_to_datetime(date)
    for given, status in (
        ({"If_None_Match": tag}, 304),
        ({"If_None_Match": f'"x", W/{tag}'}, 304),
        ({"If_None_Match": '"x"'}, 200),
        ({"If_None_Match": '"x"', "If_Modified_Since": date}, 200),
        ({"If_Modified_Since": date}, 304),
        ({"If_Modified_Since": "Mon, 01 Jan 1990 00:00:00 GMT"}, 200),
        ({"If_Modified_Since": "yesterday"}, 200),
    ):
        got, told, sent = served.ask(path, **given)
        assert got == status, given
        if got == 304:
            assert (told["etag"], sent) == (tag, b"")
            assert told["cache-control"]


def test_rfc9110_head_tells_what_get_would(served: Served) -> None:
    for given in ({}, {"Range": "bytes=0-9"}):
        got = {method: served.ask(NAME + "sitemap-1.xml", method, **given) for method in ("GET", "HEAD")}
        assert got["GET"][0] == got["HEAD"][0]
        assert got["HEAD"][2] == b""
        for name in ("etag", "content-type", "content-range", "content-length"):
            assert got["GET"][1][name] == got["HEAD"][1][name]


def test_ours_files_are_sent_as_they_are(served: Served, folder: Path) -> None:
    assert served.ask(NAME + "sitemap.xml", Accept_Encoding="gzip")[1]["content-encoding"] is None
    out = folder / "out" / "packed"
    (out / "sitemap.xml.gz").write_bytes(gzip.compress(BIG.encode()))
    (out / "sitemap.xml").write_text(index("sitemap.xml.gz"))
    status, headers, body = served.ask("/published/packed/sitemap.xml.gz", Accept_Encoding="gzip")
    assert (status, headers["content-type"], headers["content-encoding"]) == (200, "application/gzip", None)
    assert gzip.decompress(body).decode() == BIG


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [("0-0", 0, 0), ("10-19", 10, 19), ("-5", -5, None), ("5-", 5, None), ("0-99999999", 0, None)],
)
def test_rfc9110_one_range_is_sent_alone(served: Served, asked: str, first: int, last: int | None) -> None:
    given = {"Range": f"bytes={asked}", "Accept_Encoding": "gzip"}
    status, headers, body = served.ask(NAME + "sitemap-1.xml", **given)
    whole = BIG.encode()
    assert (status, body) == (206, whole[first : None if last is None else last + 1])
    start = whole.find(body) if len(body) > 20 else first % len(whole)
    assert headers["content-range"] == f"bytes {start}-{start + len(body) - 1}/{len(whole)}"
    assert headers["content-encoding"] is None, "parts of what is packed would be parts of something else"


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ("bytes=99999999-", 416), ("bytes=5-2", 400), ("bytes=a-b", 400), ("lines=1-2", 200),
    ],
)  # fmt: skip
def test_rfc9110_other_ranges_are_not_satisfied_or_the_whole_is_sent(served: Served, asked: str, status: int) -> None:
    got, headers, body = served.ask(NAME + "sitemap-1.xml", Range=asked.encode().decode("latin-1"))
    assert got == status
    assert (body.decode() == BIG) == (got == 200)
    if got == 416:
        assert headers["content-range"] == f"bytes */{len(BIG)}"


def test_rfc9110_a_range_of_another_generation_is_not_mixed_in(served: Served) -> None:
    path = NAME + "sitemap-1.xml"
    tag = served.ask(path)[1]["etag"]
    assert served.ask(path, Range="bytes=0-4", If_Range=tag)[0] == 206
    for other in ('"x"', f"W/{tag}", "Mon, 01 Jan 1990 00:00:00 GMT"):
        assert served.ask(path, Range="bytes=0-4", If_Range=other)[0] == 200


def test_ours_an_empty_file_is_sent(served: Served) -> None:
    assert served.ask("/published/packed/sitemap-1.xml", Range="bytes=0-")[0] in (206, 416)


@pytest.mark.thorough
def test_ours_a_publish_while_a_file_is_sent_mixes_nothing(tmp_path: Path) -> None:
    shop = usual(tmp_path)
    path = shop.output / "sitemap-1.xml"
    old, new = (urlset(300_000, start) for start in (0, 300_000))
    path.write_text(old)
    request = b"GET /published/shop/sitemap-1.xml HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    with serving(board(shop), serve_sitemaps=True) as served:
        with served.wire() as wire:
            wire.sendall(request + b"\r\n")
            got = wire.recv(1_000)
            draft = path.with_name("draft")
            draft.write_text(new if path.read_text() == old else old)
            before = path.read_text()
            draft.replace(path)
            while piece := wire.recv(1 << 20):
                got += piece
        _, _, body = got.partition(b"\r\n\r\n")
        assert body.decode() == before


def test_ours_a_proxy_that_passes_host_and_path_gets_the_file_of_that_site(served: Served, folder: Path) -> None:
    ask = {"Host": "www.example.com"}
    assert served.ask("/sitemap-1.xml", **ask)[2].decode() == BIG
    assert served.ask("/sitemap-1.xml", Host="WWW.example.com:443")[0] == 200
    assert served.ask("/news%20feed.atom", **ask)[0] == 200
    assert served.ask("/private.xml", **ask)[0] == 404
    assert served.ask("/deeper/sitemap-1.xml", **ask)[0] == 421
    assert served.ask("/sitemap-1.xml", Host="other.example.com")[0] == 421
    assert served.ask("/sitemap-1.xml")[0] == 404, "localhost is no site"
    assert served.ask(NAME + "sitemap.xml", **ask)[0] == 200, "what is published is public"
    assert served.ask("/sites/shop", **ask)[0] == 421, "and what is not is not"


def test_ours_files_are_not_served_unless_that_is_asked_for(tmp_path: Path) -> None:
    with serving(board(usual(tmp_path))) as served:
        assert served.ask(NAME + "sitemap.xml")[0] == 404
        assert served.ask("/sitemap.xml", Host="www.example.com")[0] == 421


def test_ours_a_state_that_is_lost_does_not_take_the_sitemap_with_it(tmp_path: Path) -> None:
    shop = usual(tmp_path)
    with serving(board(shop), serve_sitemaps=True) as served:
        assert served.ask(NAME + "sitemap.xml")[0] == 200
        state = shop.state / "state.db"
        for beside in shop.state.glob("state.db-*"):
            beside.unlink()
        state.write_bytes(b"damaged" * 5_000)
        os.utime(state, (1, 1))
        served.board = replace(served.board, sites=(replace(shop, schedule="changed"),))
        served.text("/")
        assert served.ask(NAME + "sitemap.xml")[0] == 200
    with serving(board(shop), serve_sitemaps=True) as served:
        status, headers, _ = served.ask(NAME + "sitemap.xml")
        assert (status, headers["retry-after"]) == (503, "30"), "what is published cannot be told: not 404"


def test_ours_reports_of_an_audit_are_served_as_they_were_written(tmp_path: Path) -> None:
    shop = usual(tmp_path)
    assert shop.report
    written = "<!doctype html><title>\u00e4</title><script>1</script>"
    (shop.report / "audit.html").write_text(written, encoding="utf-8")
    (shop.report / "csv").mkdir()
    for name in ("csv/weak.noindex.csv", "csv/other.csv", "other.html", "audit.html.draft"):
        (shop.report / name).write_text("secret")
    with serving(board(shop)) as served:
        status, headers, body = served.ask("/sites/shop/audit/audit.html")
        assert (status, body.decode()) == (200, written)
        assert headers["content-type"] == "text/html; charset=utf-8"
        assert "script-src 'unsafe-inline'" in headers["content-security-policy"]
        table = served.ask("/sites/shop/audit/csv/weak.noindex.csv")
        assert (table[0], table[1]["content-type"]) == (200, "text/csv; charset=utf-8")
        assert served.ask("/sites/shop/audit/csv%2Fweak.noindex.csv")[0] == 200
        for name in (
            "csv/other.csv", "other.html", "audit.html.draft", "", "csv", "csv/", "../shop/audit.html",
            "csv/../audit.html", "csv/weak.noindex", "weak.noindex.csv", "csv//weak.noindex.csv",
            "%2e%2e/shop/audit.html",
        ):  # fmt: skip
            assert served.ask(f"/sites/shop/audit/{name}")[0] == 404, name
        (shop.report / "audit.json").unlink()
        (shop.report / "audit.json").symlink_to("/etc/passwd")
        assert served.ask("/sites/shop/audit/audit.json")[0] == 404
        page = served.text("/sites/shop")
        assert "/sites/shop/audit/audit.html" in page
        assert "audit.json" not in page
        assert "weak.noindex.csv" in page
    assert DAY < NOW


@pytest.mark.parametrize(("name", "kind"), [("llms.txt", "text/plain"), ("sitemap.html", "text/html")])
def test_ours_the_daemon_serves_the_other_formats(tmp_path: Path, name: str, kind: str) -> None:
    shop = usual(tmp_path)
    with closing(STATE_DB.open(shop.state / STATE_DB.file)) as db:
        runs = RunStore(db)
        last = runs.last(1)[0]
        runs.write(structs.replace(last, other_formats=[PublishedFile(name, f"https://shop.example/{name}", 3, 4)]))
    (shop.output / name).write_text("text")
    (shop.output / f"other-{name}").write_text("secret")
    with serving(board(shop), serve_sitemaps=True) as server:
        status, headers, body = server.ask(f"/published/shop/{name}")
        assert (status, headers["content-type"].partition(";")[0], body) == (200, kind, b"text")
        assert server.ask(f"/published/shop/other-{name}")[0] == 404
