"""What a person sees who opens a sitemap: a table, by lxml's XSLT and by a real browser, and no trap in it."""

import functools
import http.server
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import binary
from lxml import etree, html
from test_encoding import FULL, document

from sitemap import Alternate, Channel, Child, Entry, Format, Image, News, Stylesheet, Video
from sitemap import encoder as make
from sitemap.writer.index import INDEX_FOOT, encode_child, index_head
from sitemap.writer.options import stylesheet_files, stylesheet_instructions

SHEETS = tuple(stylesheet_files("xsl"))
SCRIPT = "<script>document.title = 'caught'</script>"
PAGES = [
    FULL,
    Entry("https://example.com/?a&b", "2026-11-05T10:00:00Z", alternates=(Alternate("en", "https://e.com/"),) * 3),
    Entry("javascript:document.title='caught'", images=(Image("https://example.com/i.png"),) * 2),
    Entry(f'https://example.com/"{SCRIPT}', news=News("p", "en", "2026-11-05", SCRIPT)),
    Entry("https://example.com/v", videos=(Video("https://e.com/t", "t", "d", player_loc="https://e.com/p"),)),
]


def rows(table: Any) -> list[list[str]]:
    return [["".join(cell.itertext()) for cell in row] for row in table.iter("tr")]


def check(page: Any) -> None:
    """The table of PAGES."""
    assert rows(page) == [
        ["URL", "Last modified", "Images", "Videos", "News", "Languages"],
        [PAGES[0].loc, "", "1", "1", "t", "0"],
        [PAGES[1].loc, PAGES[1].lastmod, "0", "0", "", "3"],
        [PAGES[2].loc, "", "2", "0", "", "0"],
        [PAGES[3].loc, "", "0", "0", SCRIPT, "0"],
        [PAGES[4].loc, "", "0", "1", "", "0"],
    ]
    assert [link.text for link in page.iter("a")] == [PAGES[n].loc for n in (0, 1, 3, 4)]
    assert all(link.get("href").startswith("https://example.com/") for link in page.iter("a"))
    assert not list(page.iter("script", "link", "img", "iframe", "object"))
    assert page.findtext(".//h1") == page.findtext(".//title") == "Sitemap"
    assert page.findtext(".//p").split() == ["5", "URLs"]


def transform(data: bytes) -> Any:
    quiet = etree.XMLParser(no_network=True, resolve_entities=False)
    sheet = etree.XSLT(
        etree.fromstring(stylesheet_files("xsl")["sitemap.xsl"], quiet), access_control=etree.XSLTAccessControl.DENY_ALL
    )
    return html.document_fromstring(str(sheet(etree.fromstring(data, quiet))))


def test_w3_xslt_makes_a_table_of_a_urlset() -> None:
    check(transform(document(make(), *PAGES)))


def test_w3_xslt_makes_a_table_of_an_index() -> None:
    children = [Child("https://example.com/sitemap-1.xml", "2026-11-05"), Child("https://example.com/2.xml?a&b")]
    page = transform(index_head() + b"".join(map(encode_child, children)) + INDEX_FOOT)
    assert rows(page) == [["Sitemap", "Last modified"], *([child.loc, child.lastmod] for child in children)]
    assert page.findtext(".//h1") == "Sitemap index"
    assert page.findtext(".//p").split() == ["2", "sitemaps"]


@pytest.mark.parametrize("format", [Format.RSS, Format.ATOM])
def test_w3_xslt_makes_a_table_of_a_feed(format: Format) -> None:
    channel = Channel(f"Boats {SCRIPT}", "https://example.com/")
    pages = [
        Entry("https://example.com/1?a&b", "2026-11-05", title=SCRIPT),
        Entry("javascript:alert(1)", "2026-11-05", videos=PAGES[4].videos),
    ]
    page = transform(document(make(format, channel=channel), *pages))
    date = {Format.RSS: "Thu, 05 Nov 2026 00:00:00 GMT", Format.ATOM: "2026-11-05T00:00:00Z"}[format]
    assert rows(page) == [["Page", "Last modified"], [SCRIPT, date], ["t", date]]
    assert [link.get("href") for link in page.iter("a")] == [pages[0].loc]
    assert page.findtext(".//h1") == channel.title
    assert page.findtext(".//p").split() == ["2", "pages"]
    assert not list(page.iter("script"))


def test_ours_columns_of_nothing_are_left_out_and_one_is_not_many() -> None:
    page = transform(document(make(), Entry("https://example.com/")))
    assert rows(page) == [["URL", "Last modified"], ["https://example.com/", ""]]
    assert page.findtext(".//p").split() == ["1", "URL"]


def test_ours_the_files_need_nothing_else() -> None:
    for name, data in stylesheet_files("xsl").items():
        text = data.decode()
        for trap in ("<script", "@import", "url(", "src=", "disable-output-escaping", "document("):
            assert trap not in text, (name, trap)


def test_w3_the_type_follows_the_name_unless_it_is_said() -> None:
    sheets = ["a.xsl", "b.CSS?v=1", Stylesheet("c?d.css", "text/xsl"), "/look"]
    lines = stylesheet_instructions(sheets).splitlines()
    assert [line.split('"')[1] for line in lines] == ["text/xsl", "text/css", "text/xsl", "text/xsl"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: Any) -> Iterator[tuple[Path, str]]:
    """A folder, and the URL at which a real server gives its files."""
    folder = tmp_path_factory.mktemp("public")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    handler.func.log_message = lambda *_: None  # type: ignore[attr-defined]
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def dom(url: str, home: Path) -> Any:
    """What Chromium makes of a document."""
    command = [
        binary(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
        f"--user-data-dir={home}", "--dump-dom", url,
    ]  # fmt: skip
    run = subprocess.run(command, capture_output=True, check=True, timeout=60, env=os.environ | {"HOME": str(home)})
    return run.stdout


@pytest.mark.needs_chromium
def test_ours_a_browser_shows_the_table(served: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = served
    for name, data in stylesheet_files("xsl").items():
        (folder / name).write_bytes(data)
    (folder / "sitemap.xml").write_bytes(document(make(stylesheets=SHEETS), *PAGES))
    check(html.document_fromstring(dom(url + "/sitemap.xml", tmp_path)))
