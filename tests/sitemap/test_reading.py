"""What others write is read: every format, packed in any way, and whatever is wrong with it is said."""

import bz2
import gzip
import io
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sitemap import (
    Alternate,
    Child,
    Directory,
    Entry,
    Format,
    Image,
    NotASitemap,
    ReadLimits,
    SitemapError,
    SitemapParser,
    SitemapReader,
    SitemapWriter,
    SourceError,
    Video,
    WriterOptions,
    read,
)

NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
A, B, C = (Entry(f"https://example.com/{name}") for name in "abc")


def parse(data: bytes, piece: int = 1 << 30, **options: Any) -> tuple[list[Any], SitemapParser]:
    parser = SitemapParser(**options)
    items = []
    for start in range(0, len(data), piece):
        items += parser.feed(data[start : start + piece])
    return items + parser.close(), parser


def rules(parser: SitemapParser) -> list[str]:
    return [finding.rule for finding in parser.findings]


def urlset(inner: str, root: str = NS) -> bytes:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {root}>\n{inner}\n</urlset>'.encode()


def urls(*names: str) -> str:
    return "\n".join(f"<url><loc>https://example.com/{name}</loc></url>" for name in names)


def test_sitemaps_org_a_urlset_with_everything() -> None:
    data = urlset(
        """<url><loc> https://example.com/?a=1&amp;b=&#x32; </loc><lastmod>2024-05-08T08:53:11.25+02:00</lastmod>
        <changefreq>Daily</changefreq><priority>0.8</priority></url>
        <url><loc><![CDATA[https://example.com/?c&d]]></loc></url>"""
    )
    items, parser = parse(data)
    assert items == [
        Entry("https://example.com/?a=1&b=2", "2024-05-08T08:53:11.25+02:00", "daily", 0.8),
        Entry("https://example.com/?c&d"),
    ]
    assert (parser.format, parser.complete, rules(parser)) == (Format.URLSET, True, ["changefreq.invalid"])


def test_sitemaps_org_an_index() -> None:
    data = (
        f"<sitemapindex {NS}><sitemap><loc>https://example.com/1.xml.gz</loc><lastmod>2024-05-08</lastmod></sitemap>"
        "<sitemap><loc>https://example.com/2.xml</loc></sitemap></sitemapindex>"
    ).encode()
    items, parser = parse(data)
    assert items == [Child("https://example.com/1.xml.gz", "2024-05-08"), Child("https://example.com/2.xml")]
    assert (parser.format, parser.findings) == (Format.INDEX, ())


RSS = b"""<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel><title>T</title><link>https://example.com/</link><pubDate>Mon, 01 Jan 2024 00:00:00 GMT</pubDate>
<atom:link rel="self" href="https://example.com/feed"/>
<item><title>1</title><link>https://example.com/a</link><pubDate>Tue, 05 Nov 2024 13:05:06 +0100</pubDate></item>
<item><guid>https://example.com/b</guid><dc:date>2024-11-05</dc:date></item>
<item><guid isPermaLink="false">https://example.com/no</guid><link>c</link></item>
<item><guid isPermaLink="false">https://example.com/no</guid></item>
</channel></rss>"""


def test_rssboard_rss_2_links_guids_and_dates() -> None:
    items, parser = parse(RSS, base_url="https://example.com/feed.xml")
    assert items == [
        Entry("https://example.com/a", "2024-11-05T12:05:06+00:00", title="1"),
        Entry("https://example.com/b", "2024-11-05"),
        C,
    ]
    assert parser.format is Format.RSS
    assert rules(parser) == ["sitemap.loc_relative", "sitemap.loc_missing"]


def test_rss_1_items_stand_beside_the_channel() -> None:
    data = b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
    xmlns:dc="http://purl.org/dc/elements/1.1/"><channel rdf:about="https://example.com/"><title>T</title>
    <link>https://example.com/</link><items><rdf:Seq><rdf:li rdf:resource="https://example.com/a"/></rdf:Seq></items>
    </channel><item rdf:about="https://example.com/a"><link>https://example.com/a</link>
    <dc:date>2024-11-05T01:02:03Z</dc:date></item><item rdf:about="https://example.com/b"/></rdf:RDF>"""
    items, parser = parse(data)
    assert items == [Entry("https://example.com/a", "2024-11-05T01:02:03Z"), B]
    assert (parser.format, parser.findings) == (Format.RSS1, ())


def test_rfc4287_atom_links_and_xml_base() -> None:
    data = b"""<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://example.com/x/"><updated>2020-01-01T00:00:00Z
    </updated><link href="https://example.com/"/><entry><link rel="self" href="/no"/><link href="../a"/>
    <source><link href="https://other.example/"/><updated>2001-01-01T00:00:00Z</updated></source>
    <updated>2024-11-05T01:02:03Z</updated></entry><entry xml:base="/deep/"><link rel="alternate" href="b"/>
    <published>2024-11-04T00:00:00Z</published></entry><entry><link href="c"/></entry></feed>"""
    items, parser = parse(data)
    assert items == [
        Entry("https://example.com/a", "2024-11-05T01:02:03Z"),
        Entry("https://example.com/deep/b", "2024-11-04T00:00:00Z"),
        Entry("https://example.com/x/c"),
    ]
    assert (parser.format, set(rules(parser))) == (Format.ATOM, {"sitemap.loc_relative"})


def test_atom_0_3() -> None:
    data = (
        b'<feed version="0.3" xmlns="http://purl.org/atom/ns#"><entry><link rel="alternate" href="https://example.com/a"/>'
        b"<modified>2004-11-05T01:02:03Z</modified></entry></feed>"
    )
    assert parse(data)[0] == [Entry("https://example.com/a", "2004-11-05T01:02:03Z")]


def test_sitemaps_org_text_lists() -> None:
    data = b"\xef\xbb\xbfhttps://example.com/a\r\n\r\n# a comment\rhttps://example.com/b\nHTTPS://example.com/c"
    items, parser = parse(data, piece=7)
    assert items == [A, B, Entry("HTTPS://example.com/c")]
    assert (parser.format, rules(parser)) == (Format.TEXT, ["sitemap.text_line"])
    assert parser.findings[0].line == 3


def test_ours_a_long_line_of_a_text_list_is_dropped_alone() -> None:
    data = b"https://example.com/a\nhttps://example.com/" + b"x" * 10_000_000 + b"\nhttps://example.com/b\n"
    items, parser = parse(data, piece=65_536)
    assert items == [A, B]
    assert rules(parser) == ["sitemap.text_line"]


@pytest.mark.parametrize("piece", [1, 7, 1 << 30])
@pytest.mark.parametrize("document", [urlset(urls("a", "b", "c")), b"\n".join(e.loc.encode() for e in (A, B, C))])
def test_rfc1952_any_packing_is_seen_by_its_bytes(document: bytes, piece: int) -> None:
    half = len(document) // 2
    twice = gzip.compress(gzip.compress(document))
    for data in (
        document,
        gzip.compress(document),
        twice,
        gzip.compress(document[:half]) + gzip.compress(document[half:]),
        gzip.compress(document) + b"\0" * 512,
    ):
        items, parser = parse(data, piece)
        assert items == [A, B, C]
        assert (parser.complete, rules(parser)) == (True, ["sitemap.gzip_twice"] if data is twice else [])


def test_ours_three_layers_of_gzip_are_too_many() -> None:
    data = gzip.compress(gzip.compress(gzip.compress(urlset(urls("a")))))
    items, parser = parse(data)
    assert (items, parser.format, rules(parser)) == ([], None, ["sitemap.gzip_twice", "sitemap.gzip"])


def test_rfc1952_a_truncated_or_broken_stream_gives_what_there_was() -> None:
    names = [f"{number:06}" for number in range(30_000)]
    packed = gzip.compress(urlset(urls(*names)))
    items, parser = parse(packed[: len(packed) // 2], piece=65_536)
    assert 5_000 < len(items) < 30_000
    assert [entry.loc[-6:] for entry in items] == names[: len(items)]
    assert not parser.complete
    assert "sitemap.truncated" in rules(parser)
    broken = packed[:5_000] + b"\xff" * 50 + packed[5_050:]
    assert not parse(broken)[1].complete
    items, parser = parse(packed[:-8] + bytes(8))
    assert 20_000 < len(items) <= 30_000
    assert ("sitemap.gzip" in rules(parser), parser.complete) == (True, False)


def test_ours_members_without_end_are_bounded() -> None:
    empty, full = gzip.compress(b""), gzip.compress(urlset(urls("a")))
    assert parse(empty * 900 + full)[0] == [A]
    items, parser = parse(full + empty * 2_000 + full)
    assert (items, rules(parser)) == ([A], ["sitemap.gzip"])


@pytest.mark.parametrize(
    ("root", "prefix"),
    [
        ("", ""),
        ('xmlns="https://www.sitemaps.org/schemas/sitemap/0.9"', ""),
        ('xmlns="http://www.google.com/schemas/sitemap/0.84"', ""),
        ('xmlns="http://example.com/what"', ""),
        ('xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9"', "s:"),
        ("", "unbound:"),
        ('xmlns="http://sitemaps.org/schemas/sitemap/0.9/"', ""),
        ('xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"', ""),
    ],
)
def test_ours_wrong_or_missing_namespaces_are_read(root: str, prefix: str) -> None:
    data = (
        f"<{prefix}urlset {root}><{prefix}url><{prefix}loc>https://example.com/a</{prefix}loc><image:image><image:loc>"
        f"https://example.com/i.png</image:loc></image:image></{prefix}url></{prefix}urlset>"
    )
    items, parser = parse(data.encode())
    assert items == [Entry("https://example.com/a", images=(Image("https://example.com/i.png"),))]
    assert rules(parser) == ([] if prefix == "s:" else ["sitemap.namespace"]) + (
        [] if "image" in root else ["sitemap.extension_namespace"]
    )


@pytest.mark.parametrize(
    "codec", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "cp1251", "shift_jis"]
)
@pytest.mark.parametrize("declared", ["UTF-8", None, ""])
def test_ours_encodings(codec: str, declared: str | None) -> None:
    label = {"cp1252": "ISO-8859-1", "cp1251": "windows-1251", "shift_jis": "Shift_JIS"}.get(codec)
    if label and declared is not None:
        declared = label
    elif label:
        pytest.skip("without a declaration this can only be UTF-8")
    letter = {"cp1252": "\xe9", "cp1251": "\u0436", "shift_jis": "\u65e5"}.get(codec, "\u20ac")
    declaration = f'<?xml version="1.0" encoding="{declared or codec}"?>' if declared is not None else ""
    text = f"{declaration}<urlset {NS}><url><loc>https://example.com/{letter}</loc></url></urlset>"
    items, _ = parse(text.encode(codec), piece=5)
    assert items == [Entry(f"https://example.com/{letter}")]


@pytest.mark.parametrize("name", ["hex", "rot13", "zlib_codec", "idna", "undefined", "no-such"])
def test_ours_a_codec_of_python_is_never_looked_up_by_a_name_from_outside(name: str) -> None:
    items, parser = parse(f'<?xml version="1.0" encoding="{name}"?><urlset {NS}>{urls("a")}</urlset>'.encode())
    assert items == [A]
    assert rules(parser) == ["sitemap.encoding"]


COMMENTS = ["<!-- made by x -->\n", "\ufeff<!--\n<?xml -->", "\n<!-- a -->\r\n<!-- b\n-->  "]


@pytest.mark.parametrize(
    "before", ["\n\n  ", "\ufeff\n", "\r\n" * 3_000, "<b>Warning</b>: x in y.php\n"[3:], *COMMENTS]
)
def test_ours_blank_space_and_junk_before_the_declaration(before: str) -> None:
    items, parser = parse(before.encode() + urlset(urls("a") + "<url/>"))
    assert items == [A]
    assert parser.findings[-1].rule == "sitemap.loc_missing"
    assert parser.findings[-1].line == before.count("\n") + 3
    assert rules(parser)[0] == "sitemap.leading_junk"


MENDABLE = {
    "bare ampersand": ("https://example.com/?a=1&b=2&c", "https://example.com/?a=1&b=2&c"),
    "html entity": ("https://example.com/&eacute;&nosuch;", "https://example.com/\xe9&nosuch;"),
    "control": ("https://example.com/a\x01\x1fb", "https://example.com/ab"),
    "null reference": ("https://example.com/a&#0;", "https://example.com/a\ufffd"),
}


@pytest.mark.parametrize("piece", [1, 100, 1 << 30])
@pytest.mark.parametrize("case", MENDABLE)
def test_ours_what_is_almost_xml_is_mended(case: str, piece: int) -> None:
    stated, meant = MENDABLE[case]
    data = urlset(
        f"{urls('a')}\n<url><loc>{stated}</loc></url>\n{urls('b')}<url><loc><![CDATA[https://example.com/?x&y]]></loc></url>"
    )
    items, parser = parse(data, piece)
    assert items == [A, Entry(meant), B, Entry("https://example.com/?x&y")]
    assert rules(parser) == ["sitemap.not_well_formed"]
    assert parser.findings[0].line == 4
    assert parser.complete


def test_ours_bytes_that_are_no_utf8_are_replaced() -> None:
    data = urlset(urls("a", "X", "b")).replace(b"X", b"\xff\xe9")
    items, parser = parse(data)
    assert [entry.loc for entry in items] == [A.loc, "https://example.com/\ufffd\ufffd", B.loc]
    assert rules(parser) == ["sitemap.not_well_formed"]


@pytest.mark.parametrize("piece", [3, 1 << 30])
def test_ours_an_entry_that_cannot_be_read_costs_itself_only(piece: int) -> None:
    broken = "<url><loc>https://example.com/x</url>"
    many = urls(*(f"{number:05}" for number in range(3_000)))
    data = urlset("\n".join([urls("a"), broken, urls("b"), "<url <loc>q</loc></url>", urls("c"), broken, many]))
    items, parser = parse(data, piece)
    assert items[:3] == [A, B, C]
    assert len(items) == 3_003
    assert not parser.complete
    assert [finding.line for finding in parser.findings if finding.rule == "sitemap.not_well_formed"][-1] == 8


def test_ours_every_second_entry_may_be_broken() -> None:
    pairs = "".join(f"<item><link>x</item><item><link>https://example.com/{n}</link></item>" for n in range(500))
    items, parser = parse(f"<rss><channel>{pairs}</channel></rss>".encode(), piece=10_000)
    assert [item.loc for item in items] == [f"https://example.com/{n}" for n in range(500)]
    assert not parser.complete


def test_ours_truncation_keeps_what_was_read() -> None:
    data = urlset(urls(*(f"{number:06}" for number in range(40_000))))
    cut = data.index(b"030000") + 3
    items, parser = parse(data[:cut], piece=65_536)
    assert len(items) == 30_000
    assert not parser.complete
    assert rules(parser) == ["sitemap.truncated"]
    assert parser.findings[0].line == 30_003


def test_ours_two_documents_in_a_file_and_junk_behind_it() -> None:
    items, parser = parse(urlset(urls("a")) + urlset(urls("b")) + b"\n<p>powered by")
    assert items == [A, B]
    assert "sitemap.junk" in rules(parser)
    items, parser = parse(urlset(urls("a")) + b"\n<!-- cached --> junk")
    assert (items, rules(parser), parser.complete) == ([A], ["sitemap.junk"], True)


def test_ours_a_root_inside_a_root_and_a_document_without_one() -> None:
    items, parser = parse(f"<urlset><urlset {NS}>{urls('a')}</urlset></urlset>".encode())
    assert items == [A]
    items, parser = parse(urls("a", "b").encode())
    assert items == [A, B]
    assert "sitemap.root" in rules(parser)


ATTACKS = {
    "billion laughs": b'<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'
    b"<urlset><url><loc>https://example.com/&b;</loc></url></urlset>",
    "external entity": b'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><urlset><url><loc>&x;</loc></url></urlset>',
    "external dtd": b'<!DOCTYPE urlset SYSTEM "http://127.0.0.1:9/x.dtd"><urlset/>',
    "parameter entity": b'<!DOCTYPE r [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]><urlset/>',
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_owasp_any_doctype_is_refused(attack: str) -> None:
    items, parser = parse(ATTACKS[attack])
    assert (items, rules(parser), parser.complete) == ([], ["sitemap.dtd"], False)


@pytest.mark.parametrize(
    "data",
    [
        b"<!DOCTYPE html><html><body>404</body></html>",
        b"\n <HTML><head></head></HTML>",
        b"<!-- x --><html></html>",
        b'<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x"><html/>',
        b"<?xml version='1.0'?><svg/>",
        b'{"error": "not found"}',
        b"\x89PNG\r\n\x1a\n\x00\x00",
        bz2.compress(b"x"),
        b"",
        b"  \n",
    ],
)
def test_ours_what_is_no_sitemap_is_never_an_empty_one(data: bytes) -> None:
    items, parser = parse(data)
    assert (items, parser.format, parser.complete) == ([], None, False)
    assert set(rules(parser)) <= {"sitemap.not_xml", "sitemap.root", "sitemap.empty", "sitemap.text_line"}
    assert rules(parser)
    with pytest.raises(NotASitemap):
        read(data)


@pytest.mark.thorough
def test_ours_a_bomb_is_cut_at_64_mib() -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    blank = b" " * (1 << 20)
    bomb = (
        packer.compress(urlset(urls("a"))[:-9]) + b"".join(packer.compress(blank) for _ in range(300)) + packer.flush()
    )
    items, parser = parse(bomb)
    assert items == [A]
    assert parser.size <= 65 * 1024 * 1024
    assert set(rules(parser)) == {"sitemap.too_large"}


@pytest.mark.parametrize("token", [b"<!--", b"<url ", b'<url x="', b"<![CDATA[", b"<?pi "])
def test_ours_a_token_without_end_is_bounded(token: bytes) -> None:
    items, parser = parse(urlset(urls("a"))[:-9] + token + b"x" * 20_000_000, piece=4_096)
    assert items == [A]
    assert not parser.complete


def test_ours_depth_and_entries_are_bounded() -> None:
    items, parser = parse(urlset(urls("a") + "<x>" * 1_000 + "</x>" * 1_000))
    assert (items, rules(parser)) == ([A], ["sitemap.unknown_element", "sitemap.too_deep"])
    items, parser = parse(urlset(urls(*"abcdef")), read_limits=ReadLimits(max_entries=2))
    assert (items, rules(parser), parser.cut) == ([A, B], [], "reading stopped after 2 entries")
    assert not parser.complete


def test_ours_many_defects_make_few_findings() -> None:
    _, parser = parse(urlset("<url><loc>x</loc></url>" * 5_000))
    assert len(parser.findings) < 50
    assert "and 4,980 more like these" in [finding.sentence for finding in parser.findings]


@pytest.mark.parametrize(
    ("inner", "expected", "rule"),
    [
        ("<priority>1.5</priority>", A, "priority.invalid"),
        ("<priority>NaN</priority>", A, "priority.invalid"),
        ("<priority>\uff11</priority>", A, "priority.invalid"),
        ("<changefreq>sometimes</changefreq>", A, "changefreq.invalid"),
        ("<lastmod>yesterday</lastmod>", A, "lastmod.invalid"),
        ("<lastmod>2024</lastmod>", A, "lastmod.form"),
        ("<lastmod>2024-05-08 08:53:11 AM</lastmod>", Entry(A.loc, "2024-05-08T08:53:11+00:00"), "lastmod.form"),
    ],
)
def test_ours_values_that_are_none_are_left_out(inner: str, expected: Entry, rule: str) -> None:
    items, parser = parse(urlset(f"<url><loc>{A.loc}</loc>{inner}</url>"))
    assert items == [expected]
    assert rules(parser) == [rule]


def test_ours_relative_urls_need_a_base() -> None:
    data = urlset("<url><loc>/a</loc></url><url><loc>//example.com/b</loc></url><url><loc>ftp://x/</loc></url>")
    assert parse(data)[0] == []
    items, parser = parse(data, base_url="https://example.com/x/sitemap.xml")
    assert items == [A, B]
    assert rules(parser) == ["sitemap.loc_relative"] * 2 + ["sitemap.loc_invalid"]


def test_ours_sources(tmp_path: Path) -> None:
    path = tmp_path / "s.xml"
    path.write_bytes(urlset(urls("a")))
    assert read(path) == read(str(path)) == read(path.read_bytes()) == read(io.BytesIO(path.read_bytes())) == [A]
    reader = SitemapReader(path)
    assert list(reader) == [A]
    assert (reader.format, reader.complete, reader.findings) == (Format.URLSET, True, ())
    with pytest.raises(SourceError, match="missing"):
        read(tmp_path / "missing.xml")
    with pytest.raises(SourceError):
        read(tmp_path)


def test_ours_a_parser_is_used_once() -> None:
    _, parser = parse(urlset(urls("a")))
    assert parser.close() == []
    with pytest.raises(SitemapError):
        parser.feed(b"x")


text = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"), min_size=1
)
not_in_urls = "[]%#\x7f" + "".join(map(chr, range(0x80, 0xA1)))
path_text = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x2FF, exclude_characters=not_in_urls), max_size=40)
alternate = st.builds(
    Alternate, st.sampled_from(["de", "zh-Hant-TW", "x-default"]), path_text.map("http://e.de/".__add__)
)
url = path_text.map(lambda path: "https://example.com/" + path)
lastmod = st.sampled_from(["", "2024-05-08", "2024-05-08T08:53:11Z", "2024-05-08T08:53:11.123456+05:30"])
video = st.builds(
    Video,
    thumbnail_loc=url,
    title=text.map(lambda value: "t" + value.strip()[:90]),
    description=text.map(lambda value: "d" + value.strip()[:900]),
    content_loc=url.map(lambda value: value + "/v"),
    duration=st.none() | st.integers(1, 28_800),
    expiration_date=lastmod,
    rating=st.none() | st.floats(0, 5).map(lambda value: round(value, 4)),
    view_count=st.none() | st.integers(0, 10**12),
    family_friendly=st.none() | st.booleans(),
    restriction=st.none() | st.just(("deny", "IE GB")),
    platform=st.none() | st.just(("allow", "web tv")),
    uploader=st.none() | st.just(("A & B", "https://example.com/u?a&b")),
    live=st.none() | st.booleans(),
    tags=st.lists(text.map(lambda value: "g" + value.strip()), max_size=3).map(tuple),
)
entry = st.builds(
    Entry,
    loc=url,
    lastmod=lastmod,
    changefreq=st.sampled_from(["", "always", "never"]),
    priority=st.none() | st.floats(0, 1).map(lambda value: round(value, 4)),
    images=st.lists(st.builds(Image, url), max_size=3).map(tuple),
    videos=st.lists(video, max_size=2).map(tuple),
    alternates=st.lists(st.builds(Alternate, st.sampled_from(["de", "zh-Hant-TW", "x-default"]), url), max_size=2).map(
        tuple
    ),
)


@pytest.mark.thorough
@settings(max_examples=40)
@given(st.lists(entry, min_size=1, max_size=5, unique_by=lambda value: value.loc), st.booleans())
def test_ours_what_is_written_is_read_back_the_same(
    tmp_path_factory: pytest.TempPathFactory, entries: list[Entry], packed: bool
) -> None:
    folder = tmp_path_factory.mktemp("set")
    options = WriterOptions(gzip=packed)
    with SitemapWriter(Directory(folder), "https://example.com/sitemap.xml", options) as writer:
        for one in entries:
            writer.add(one)
        published = writer.finish()
    reader = SitemapReader(folder / published.files[-1].name)
    assert list(reader) == entries
    assert (reader.complete, reader.findings) == (True, ())


MARKUP = rb"""<urlset> </urlset> <url> </url> <loc> </loc> https://example.com/a <![CDATA[ ]]> <!-- --> & &amp; &#0;
< > "
<rss> <channel> <item> </item> <feed> <entry> <rdf:RDF> </channel> </rss> <image:image> <image:loc> </image:image>
<video:video> </video:video> <sitemap> </sitemap> <url/> http://[::1 <sitemapindex> </entry> </feed> <video:tag> <link/>
</image:loc> <guid> </guid>"""
FRAGMENTS = [*MARKUP.split()]
FRAGMENTS += [b"\xff\xfe", b"\x00", b"\xef\xbb\xbf", b"\x1f\x8b", b"\n", b" ", b"<link href='x'/>", b"<!DOCTYPE x>"]
FRAGMENTS += [b"<?xml version='1.0' encoding='utf-16'?>", b"<loc xml:base='//['>", b"<uploader info='x'>"]


@pytest.mark.thorough
@settings(max_examples=300)
@given(
    st.lists(st.sampled_from(FRAGMENTS) | st.binary(max_size=8), max_size=40).map(b"".join),
    st.integers(1, 50),
    st.integers(0, 2),
)
def test_ours_no_bytes_at_all_raise_anything_of_others(data: bytes, piece: int, layers: int) -> None:
    for _ in range(layers):
        data = gzip.compress(data)
    items, parser = parse(data, piece, base_url="https://example.com/")
    assert all(item.loc.lower().startswith(("http://", "https://")) for item in items)
    assert parser.complete or parser.findings
    assert parse(data, 1 << 30, base_url="https://example.com/")[0] == items
