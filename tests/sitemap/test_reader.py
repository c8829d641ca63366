"""Where bytes come from, how they are packed and named, and how much of them is read."""

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sitemap import (
    Entry,
    Finding,
    Format,
    ReadLimits,
    SitemapParser,
    SitemapReader,
    SourceError,
    iter_entries,
    lint,
    read,
    tree,
)

NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
A, B = Entry("https://example.com/a"), Entry("https://example.com/b")


def urlset(*parts: str) -> bytes:
    return f"<urlset {NS}>\n{''.join(parts)}</urlset>".encode()


def url(entry: Entry) -> str:
    return f"<url><loc>{entry.loc}</loc></url>\n"


DOCUMENT = urlset(url(A), url(B))


def parse(data: bytes, piece: int = 65_536, **options: Any) -> tuple[list[Any], SitemapParser, list[int]]:
    parser = SitemapParser(**options)
    items: list[Any] = []
    lines: list[int] = []
    for start in range(0, len(data), piece):
        found = parser.feed(data[start : start + piece])
        lines += [parser.line_of(number) for number in range(len(found))]
        items += found
    found = parser.close()
    return items + found, parser, lines + [parser.line_of(number) for number in range(len(found))]


def rules(parser: SitemapParser) -> list[str]:
    return [finding.rule for finding in parser.findings]


def test_ours_every_kind_of_source(tmp_path: Path) -> None:
    path = tmp_path / "sitemap.xml"
    path.write_bytes(DOCUMENT)
    with path.open("rb") as file:
        assert read(file) == [A, B]
    pieces = (DOCUMENT[start : start + 7] for start in range(0, len(DOCUMENT), 7))
    for source in (path, str(path), DOCUMENT, io.BytesIO(DOCUMENT), pieces, [DOCUMENT], bytearray(DOCUMENT)):
        assert read(source) == [A, B]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("https://example.com/sitemap.xml", "is a URL: this package opens no connections"),
        ("HTTP://example.com/", "is a URL"),
        ("<urlset/>", "looks like XML: pass bytes"),
        (None, "NoneType is not a source"),
        (7, "int is not a source"),
    ],
)
def test_ours_what_is_no_source_is_said_with_the_remedy(source: Any, told: str) -> None:
    for use in (read, lint, tree, lambda one: list(iter_entries(one))):
        with pytest.raises(SourceError, match=told):
            use(source)


def test_ours_a_source_that_fails_says_so(tmp_path: Path) -> None:
    def dying() -> Iterator[bytes]:
        yield DOCUMENT[:20]
        raise ConnectionResetError("reset by peer")

    with pytest.raises(SourceError, match="the document cannot be read: reset by peer"):
        read(dying())
    with pytest.raises(SourceError, match="instead of bytes: open it in binary mode"):
        read(io.StringIO("x"))  # type: ignore[arg-type]
    with pytest.raises(SourceError, match=r"gone\.xml"):
        read(tmp_path / "gone.xml")


@pytest.mark.parametrize(
    ("name", "packed", "found"),
    [
        ("sitemap.xml", False, []),
        ("sitemap.xml.gz", True, []),
        ("https://example.com/SITEMAP.XML.GZ?x=1#y", True, []),
        ("https://example.com/sitemap.php?x=.gz", False, []),
        ("sitemap.xml.gz", False, ["sitemap.mislabelled"]),
        ("sitemap.xml", True, ["sitemap.mislabelled"]),
        ("", True, []),
        ("", False, []),
    ],
)
def test_sitemaps_org_a_name_says_whether_a_file_is_packed(name: str, packed: bool, found: list[str]) -> None:
    data = gzip.compress(DOCUMENT) if packed else DOCUMENT
    reader = SitemapReader(data, file=name)
    assert list(reader) == [A, B]
    assert [finding.rule for finding in reader.findings] == found
    assert all(finding.file == name for finding in reader.findings)


def test_ours_findings_name_the_file_of_a_path(tmp_path: Path) -> None:
    path = tmp_path / "sitemap.xml.gz"
    path.write_bytes(DOCUMENT)
    reader = SitemapReader(path)
    assert list(reader) == [A, B]
    assert [finding.file for finding in reader.findings] == [str(path)]


def test_sitemaps_org_packed_twice_is_read_and_said() -> None:
    items, parser, _ = parse(gzip.compress(gzip.compress(DOCUMENT)), file="sitemap.xml.gz")
    assert (items, rules(parser), parser.complete) == ([A, B], ["sitemap.gzip_twice"], True)


def test_sitemaps_org_more_than_52428800_bytes_are_said_and_read() -> None:
    blank = b" " * (52_428_800 - len(DOCUMENT))
    _, parser, _ = parse(DOCUMENT[:-9] + blank + DOCUMENT[-9:], piece=1 << 20)
    assert (parser.size, rules(parser)) == (52_428_800, [])
    items, parser, _ = parse(DOCUMENT[:-9] + blank + b" " + DOCUMENT[-9:], piece=1 << 20)
    assert (items, rules(parser), parser.complete) == ([A, B], ["sitemap.too_large"], True)


def test_ours_limits_can_be_set() -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    data = packer.compress(DOCUMENT[:-9] + b" " * 5_000_000) + packer.flush()
    _, parser, _ = parse(data, read_limits=ReadLimits(max_bytes=1_000_000))
    assert (rules(parser), parser.complete) == ([], False)  # it was asked for, and is no defect
    assert parser.cut == "reading stopped after 1,000,000 bytes"
    _, parser, _ = parse(DOCUMENT, read_limits=ReadLimits(max_depth=2))
    assert rules(parser)[0] == "sitemap.too_deep"


LONG = 4 * 1024 * 1024


@pytest.mark.parametrize("piece", [4_096, 1 << 30])
@pytest.mark.parametrize("inner", [b"x", b"<url>"])
@pytest.mark.parametrize(("opening", "closing"), [(b"<!--", b"-->"), (b"<?pi ", b"?>")])
def test_ours_a_long_comment_ends_the_reading(opening: bytes, closing: bytes, inner: bytes, piece: int) -> None:
    at = DOCUMENT.index(b"<url><loc>https://example.com/b")
    data = DOCUMENT[:at] + opening + inner * (LONG // len(inner)) + b" " + closing + DOCUMENT[at:]
    items, parser, _ = parse(data, piece)
    assert (items, parser.complete, parser.format) == ([A], False, Format.URLSET)
    assert rules(parser) == ["sitemap.token_too_long"]


@pytest.mark.parametrize("piece", [4_096, 1 << 30])
def test_ours_a_long_tag_costs_its_item(piece: int) -> None:
    tag = '<url x="' + "y" * LONG + '"><loc>https://example.com/x</loc></url>'
    items, parser, _ = parse(urlset(url(A), tag, url(B)), piece)
    assert (items, parser.complete, rules(parser)) == ([A, B], False, ["sitemap.token_too_long"])


def test_ours_long_text_is_dropped_alone() -> None:
    long = f"<url><loc><![CDATA[{'x' * LONG}]]></loc></url>"
    items, parser, _ = parse(urlset(url(A), long, url(B)))
    assert items == [A, B]
    assert "sitemap.value_too_long" in rules(parser)


def test_ours_lines_of_every_format() -> None:
    text = b"https://example.com/a\n\n# no\nhttps://example.com/b"
    assert parse(text)[2] == [1, 4]
    rss = (
        b"<rss><channel>\n<item><link>https://example.com/a</link></item>\n\n"
        b"<item>\n<link>https://example.com/b</link></item></channel></rss>"
    )
    assert parse(rss, piece=5)[2] == [2, 4]
    odd = urlset("<url>\n<!-- x --><loc>https://example.com/a</loc></url>\n", url(B))
    assert parse(odd)[2] == [2, 4]
    assert isinstance(parse(b"x")[1].findings[0], Finding)
