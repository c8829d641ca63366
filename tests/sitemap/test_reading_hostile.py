"""What a hostile document costs, and that nothing is lost or said twice because of it."""

import contextlib
import gzip
import tracemalloc
from collections.abc import Iterator

import pytest
from documents import LOC, findings, parse, url, urlset

from sitemap import Entry, NotASitemap, ReadLimits, SitemapParser, SitemapReader, TreeLimits, lint

MIB = 1 << 20


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<loc>", "</loc>"),
        ("<lastmod><![CDATA[", "]]></lastmod>"),
        ("<image:image><image:title>", "</image:title></image:image>"),
        ("<video:video><video:tag>", "</video:tag></video:video>"),
        ("<image:image><image:loc/>", "</image:image>"),
    ],
)
def test_ours_a_value_without_end_is_dropped_as_it_comes(before: str, after: str) -> None:
    head, _, foot = urlset(f"<url><loc>{LOC}</loc>{before}|{after}</url>{url()}").partition(b"|")
    parser = SitemapParser()
    tracemalloc.start()
    items = parser.feed(head)
    for _ in range(24):
        items += parser.feed(b"all work, no play\n" * (MIB // 18))
    items += parser.feed(foot) + parser.close()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * MIB
    assert items[-1] == Entry(LOC)
    assert parser.complete


@pytest.mark.parametrize("piece", [7, 1 << 20])
def test_ours_how_long_a_value_may_be_does_not_depend_on_how_it_comes(piece: int) -> None:
    def read(text: str) -> list[str]:
        tag = f"<video:video><video:title>{text}</video:title></video:video>"
        items, parser = parse(urlset(url(tag)), piece, read_limits=ReadLimits(max_text=50))
        return [items[0].videos[0].title, *(rule for rule, _ in findings(parser))]

    assert read("x" * 50) == ["x" * 50]
    assert read("&#120;" * 51) == ["", "sitemap.value_too_long"]
    assert read("x" + " " * 49) == ["x"]
    assert read("x" + " " * 50) == ["", "sitemap.value_too_long"]


@pytest.mark.parametrize("defect", ["</b>", "<1/>"])
def test_ours_a_defect_that_cannot_be_mended_is_said_once(defect: str) -> None:
    odd = "<odd/>"
    items, parser = parse(urlset(f"{url()}\n{odd}\n{defect}\n{url(loc=LOC + '2')}"))
    assert findings(parser) == [("sitemap.unknown_element", 4), ("sitemap.not_well_formed", 5)]
    assert items == [Entry(LOC), Entry(LOC + "2")]


@pytest.mark.parametrize("piece", [1, 100, 1 << 20])
def test_rfc1952_all_that_stands_before_a_defect_of_the_stream_is_read(piece: int) -> None:
    packed = gzip.compress(urlset(url() * 50))
    items, parser = parse(packed[:-8] + b"\0\0\0\0" + packed[-4:], piece)
    assert (items, findings(parser)) == ([Entry(LOC)] * 50, [("sitemap.gzip", 0)])
    assert not parser.complete


@pytest.mark.parametrize("defect", ["<a b=c/>", "</b>", "<odd><1/></odd>"])
def test_ours_a_root_is_not_missing_because_of_a_defect_before_the_first_item(defect: str) -> None:
    items, parser = parse(urlset(f"{defect}\n{url()}"))
    assert items == [Entry(LOC)]
    assert {rule for rule, _ in findings(parser)} <= {"sitemap.not_well_formed", "sitemap.unknown_element"}


def test_rssboard_items_behind_a_defect_of_the_channel_are_read() -> None:
    item = f"<item><link>{LOC}</link></item>"
    items, parser = parse(f"<rss><channel><title a=b/>{item}</channel></rss>".encode())
    assert items == [Entry(LOC)]
    assert [rule for rule, _ in findings(parser)] == ["sitemap.not_well_formed"]


@pytest.mark.parametrize("piece", [b"\0", b"<!DOCTYPE x>", b"<html>", b"https://example.com/\n"])
def test_ours_a_source_without_end_is_left_when_nothing_more_will_be_read(piece: bytes) -> None:
    taken = 0

    def endless() -> Iterator[bytes]:
        nonlocal taken
        while True:
            taken += 1
            assert taken < 1_000
            yield piece * 4_000

    few = ReadLimits(max_bytes=MIB)
    lint(endless(), limits=TreeLimits(read=few))
    taken = 0
    with contextlib.suppress(NotASitemap):
        list(SitemapReader(endless(), read_limits=few))


@pytest.mark.parametrize(
    ("defect", "said"),
    [
        ("<!-- a -- b -->", "a comment contains --"),
        ("<x\u202e/>", "'\\u202e' is where XML does not allow it"),
        ("\ufffe", "'\\ufffe' is where XML does not allow it"),
        ("]]>", "a text contains ]]>"),
    ],
)
def test_xml_what_is_not_well_formed_is_said_as_it_is(defect: str, said: str) -> None:
    _, parser = parse(urlset(f"{url()}{defect}"))
    assert said in parser.findings[0].sentence
