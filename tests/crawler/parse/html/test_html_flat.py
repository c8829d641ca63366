# ruff: noqa: E501 - a page reads best on one line
"""A page that is read flat, against the same page: the same links, and what stops the parser does not stop it."""

import zlib
from pathlib import Path

import pytest
from htmlpages import NOW, URL, document, read, scan
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.model import Url
from crawler.parse.html.page import ReadOptions, read_flat_page, read_page
from crawler.url.resolve import UrlResolver

JAVADOC = Path("/usr/share/doc/openjdk-17-jre-headless/api")

TRICKY = {
    "plain": "<p><a href=/1>1</a><A HREF='/2' rel=nofollow>2</A><area href=\"/3\"><iframe src=/4></iframe>",
    "entities": "<a href='/?a=1&amp;b=2&copy=3&copy;=4&#x41;&#66;&notit;&lt'>x</a><a href=/&Auml;&#0;&#x80;>",
    "spacing": "<a\n\thref\r\n = \f'/1'\n><a/href=/2><a href=/3/><a href=/4 href=/5>",
    "comments": "<!-- <a href=/x> --><a href=/1><!--><a href=/2>--><!---><a href=/3>--><!-- --!><a href=/4><!-- - -- >-->",
    "bogus": "<?php <a href=/x> ?><a href=/1></ <a href=/y>><!doctype '>'><a href=/2><![CDATA[<a href=/z>]]><a href=/3></>",
    "cdata": "<svg><![CDATA[ > <a href=/x> ]]><a href=/1></a></svg><![CDATA[ > <a href=/2>",
    "raw": "<style><a href=/x></style ><a href=/1><xmp><a href=/y></xmp><noembed><a href=/z></noembed><a href=/2>",
    "rcdata": "<title><a href=/x></title><textarea><a href=/y></text></textarea\n><a href=/1>",
    "script": "<script>var a='<a href=/x>';</scripts></script foo><a href=/1><script><!-- <script> </script> <a href=/y> --></script><a href=/2>",
    "script comment": "<script><!--</script><a href=/1><script><!--><script></script><a href=/2><script><!--<script</script><a href=/3>",
    "template": "<template><a href=/x><template></template><a href=/y></template><a href=/1></template><a href=/2>",
    "noscript": "<head><noscript><link rel=canonical href=/1></noscript><link rel=next href=/2></head><noscript><a href=/3>",
    "head": "<head><link rel=canonical href=/1></head> <link rel=canonical href=/2><p><link rel=canonical href=/3>",
    "head text": "<title>t</title> x <link rel=canonical href=/3><meta name=robots content=noindex>",
    "svg": "<svg><style/><a xlink:href=/1></a><script/><a href=/2></a><title/><a href=/3></a></svg><a href=/4>",
    "svg title": "<svg><title>icon</title><path/></svg><style><a href=/x></style><a href=/1><svg><style><a href=/2></style></svg>",
    "after head": "<head></head><noscript><link rel=canonical href=/1></noscript><link rel=canonical href=/2>",
    "late frameset": "<a href=/x></a><frameset><frame src=/1></frameset>",
    "too late frameset": "text<a href=/1></a><frameset><frame src=/x></frameset><a href=/2>",
    "svg html": "<svg><foreignObject><script/><a href=/x></script><a href=/1></foreignObject></svg><a href=/2>",
    "svg size": "<svg width=10/><![CDATA[ > <a href=/x> ]]><a href=/1>",
    "frameset": "<frameset><frame src=/1><a href=/x><noframes><a href=/y></noframes></frameset>",
    "frame in body": "<p><frame src=/x><iframe src=/1><a href=/y></iframe><a href=/2>",
    "select": "<select><option><a href=/1>x</a></select>",
    "names": "<a\x00b href=/x><a href\x00=/y><lin\u212a rel=next href=/z><abc href=/w><a:b href=/v><a href=/1>",
    "quotes": "<a title='>' href=/1><a title=\"<a href=/x>\" href=/2></p title='<a href=/y>'><a 'href=/z' \"href=/q\"><a =href=/r>",
    "unquoted": '<a href=/3"x><a href=/4=5><a x=href=/y>',
    "tables": "<table><a href=/1><tr><td><a href=/2></table><form><a href=/3><form><a href=/4>",
    "base": "<base target=x><base href=/b/><a href=1><base href=/c/>",
    "plaintext": "<a href=/1><plaintext><a href=/x></plaintext><a href=/y>",
    "meta": "<meta http-equiv=refresh content='3;url=/1'><noscript><meta http-equiv=refresh content='0;url=/2'></noscript>",
    "template in head": "<head><template><link rel=canonical href=/x></template><link rel=canonical href=/1></head>",
    "nul": "<a href=/1\x00\x00>\x00<a href='/2\x0c3'>\ufeff<a href=/4>",
    "empty": "",
    "end": "<a href=/1><a href=/x",
    "end quote": "<a href=/1><a href='/x><a href=/y>",
    "end comment": "<a href=/1><!-- <a href=/y>",
    "end script": "<a href=/1><script> <a href=/y>",
    "end textarea": "<a href=/1><textarea> <a href=/y> </textareax>",
    "end title": "<a href=/1></a><title> <a href=/y>",
    "end style": "<a href=/1><style> <a href=/y></styl>",
    "end cdata": "<a href=/1><svg><![CDATA[ ><a href=/y>",
    "lt": "< a href=/x><<a href=/1><a<b href=/y><1 href=/z></a href=/w>",
    "image": "<image src=/i.png><picture><source srcset='/p.png 2x'><img src=/q.png></picture><img data-src=/l.png>",
    "video": "<video poster=/p.jpg><source src=/v.mp4></video><audio><source src=/a.mp3></audio>",
}


@pytest.mark.parametrize("name", sorted(TRICKY))
def test_whatwg_a_tricky_page_is_read_flat_as_it_is_otherwise(name: str) -> None:
    markup = TRICKY[name]
    parsed, scanned = read(markup), scan(markup)
    assert dict(scanned.links) == dict(parsed.links)
    assert scanned.canonicals == parsed.canonicals
    assert (scanned.refresh, scanned.noindex, scanned.title) == (parsed.refresh, parsed.noindex, parsed.title)
    assert scanned.images == parsed.images
    assert scanned.videos == parsed.videos
    assert scanned.fallback == "parse.timeout"


def test_ours_tricky_pages_hide_what_must_not_be_found() -> None:
    for name, markup in TRICKY.items():
        found = {url.removeprefix("https://example.com/") for url, _ in scan(markup).links}
        assert not found & {"x", "y", "z", "w", "v", "q", "r"}, name


@pytest.mark.thorough
@pytest.mark.skipif(not JAVADOC.is_dir(), reason="needs the package openjdk-17-doc")
def test_ours_real_pages_are_read_flat_as_they_are_otherwise() -> None:
    pages = sorted(JAVADOC.rglob("*.html"), key=lambda path: zlib.crc32(str(path).encode()))[:300]
    assert len(pages) == 300
    resolver, options = UrlResolver(), ReadOptions()
    for path in pages:
        page = document(path.read_bytes(), url=Url(f"http://127.0.0.1/{path.relative_to(JAVADOC)}"))
        parsed, scanned = read_page(page, options, resolver, NOW), read_flat_page(page, options, resolver, NOW, "")
        assert dict(parsed.links) == dict(scanned.links), path
        assert (parsed.title, parsed.images, parsed.canonicals) == (scanned.title, scanned.images, scanned.canonicals)
        assert parsed.links


PIECES = [
    *(
        "<a href=/1>",
        "<a href='/2' rel=nofollow>",
        "<a ",
        "href=/3",
        "</a>",
        "'",
        '"',
        ">",
        "<",
        "/",
        "=",
        "&amp;",
        "x",
        " ",
    ),
    *("<!--", "-->", "--!>", "<!-->", "<![CDATA[", "]]>", "<?", "<!", "</", "\x00", "\n"),
    *("<script>", "</script>", "<script/>", "<style>", "</style>", "<title>", "</title>", "<textarea>", "</textarea>"),
    *(
        "<template>",
        "</template>",
        "<noscript>",
        "</noscript>",
        "<head>",
        "</head>",
        "<body>",
        "<frameset>",
        "<frame src=/4>",
    ),
    *(
        "<svg>",
        "</svg>",
        "<svg/>",
        "<math>",
        "</math>",
        "<foreignObject>",
        "</foreignObject>",
        "<p>",
        "<iframe src=/5>",
    ),
    *(
        "</iframe>",
        "<link rel=canonical href=/6>",
        "<link rel=next href=/7>",
        "<base href=/b/>",
        "<select>",
        "</select>",
    ),
]


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
@settings(max_examples=600, derandomize=True)
def test_whatwg_no_anchor_is_found_only_in_a_page_that_is_read_flat(markup: str) -> None:
    parsed = {url for url, flags in read(markup).links if flags & 2}
    scanned = {url for url, flags in scan(markup).links if flags & 2}
    if "<base" not in markup:
        assert scanned <= parsed


@pytest.mark.thorough
@given(
    st.one_of(
        st.binary(max_size=300), st.lists(st.sampled_from(PIECES), max_size=30).map(lambda s: "".join(s).encode())
    )
)
@settings(max_examples=300, derandomize=True)
def test_ours_no_bytes_raise(body: bytes) -> None:
    for kind in (
        "text/html",
        "",
        "text/html; charset=utf-16",
        "text/html; charset=shift_jis",
        "text/html;charset=iso-2022-jp",
    ):
        page = read(body, content_type=kind)
        assert page.is_html == scan(body, content_type=kind).is_html


@pytest.mark.parametrize("piece", [b"<a ", b"<a href=x ", b"<div>", b"<!--", b"<a href=/x>", b"\xff", b"<a a=\"'"])
def test_ours_what_stops_the_parser_is_read_flat(piece: bytes) -> None:
    page = scan(b"<a href=/1>one</a>" + piece * 100_000)
    assert (URL[:20] + "1") in dict(page.links) or Url("https://example.com/1") in dict(page.links)


def test_ours_a_megabyte_in_an_attribute() -> None:
    body = "<a href='/" + "x" * 1_000_000 + "'><a title='" + "&amp;" * 200_000 + "' href=/2>"
    for page in (read(body), scan(body)):
        assert [url for url, _ in page.links] == ["https://example.com/2"]
