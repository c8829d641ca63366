"""The fast way and the parser's way read the same: items, lines, findings, and whether all of it was read."""

from collections.abc import Iterator
from itertools import chain, pairwise
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sitemap import Child, Format, SitemapParser, dates
from sitemap.reader import xml_stream
from sitemap.reader.fast_path import read_run

NS = "http://www.sitemaps.org/schemas/sitemap/0.9"


def outcome(data: bytes, cuts: list[int], *, fast: bool, piece: int) -> tuple[Any, ...]:
    """All that can be known of a document that comes in pieces cut at the given places."""
    way = read_run if fast else lambda *_: None
    with patch.object(xml_stream, "read_run", way), patch.object(xml_stream, "PIECE", piece):
        parser = SitemapParser("https://example.com/sitemap.xml")
        found: list[Any] = []

        def take(items: list[Any]) -> None:
            found.extend((item, parser.line_of(number)) for number, item in enumerate(items))

        places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
        for start, end in pairwise(places):
            take(parser.feed(data[start:end]))
        take(parser.close())
    return found, parser.findings, parser.complete, parser.format, parser.size, parser.entries


def same_both_ways(data: bytes, cuts: list[int], piece: int) -> tuple[Any, ...]:
    fast = outcome(data, cuts, fast=True, piece=piece)
    assert fast == outcome(data, cuts, fast=False, piece=piece)
    return fast


space = st.sampled_from(["", "", "\n", " ", "\r\n", "\t\n  ", "\r", "\n\n"])
loc = st.sampled_from(
    [
        "https://example.com/a", "https://example.com/?a=1&amp;b=2", "http://e.de/abc", "http://e.de/",
        "https://e.d/'&apos;x", "https://example.com/[x]", "https://example.com/\u00e9",
        "https://example.com/&lt;&gt;", "/relative", "", "https://example.com/&#38;",
        "https://example.com/&nbsp;", "https://example.com/&", "https://example.com/a b",
        "https://example.com/" + "x" * 2_027, "https://example.com/" + "x" * 2_028, "https://example.com/]]>",
        "<![CDATA[https://example.com/c]]>", "https://example.com/<b/>", "ftp://example.com/a",
        "HTTP://example.com/a", "https:///example", "https://example.com/\x01", "https://example.com/a%zz#b#c",
        "https://example.com/a<!-- -->b",
    ]
)  # fmt: skip
date = st.sampled_from(
    [
        "2024-05-08", "2024-05-08T08:53:11Z", "2024-05-08T08:53:11.123456+05:30", "2024-02-29", "2023-02-29",
        "1900-02-29", "2000-02-29", "2024-02-30", "2024-04-31", "2024-12-31", "0000-01-01", "0001-01-01",
        "2024-13-01", "2024-00-10", "2024-10-00", "2024-05-08T24:00:00Z", "2024-05-08T08:53:60Z",
        "2024-05-08T08:53Z", "2024-05-08T08:53:11", " 2024-05-08 ", "2024", "", "2024-05-08T08:53:11+14:00",
        "2024-05-08T08:53:11-14:01", "2024-05-08T08:53:11.1234567Z", "yesterday",
    ]
)  # fmt: skip
words = st.sampled_from(["daily", "never", "Daily", "sometimes", " weekly "])
numbers = st.sampled_from(["0.5", "1.0", "1", "0", "1.5", "0.55", "0.0", "-1", ".5", "high"])


def maybe(name: str, value: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(st.just(""), st.builds("<{0}>{1}</{0}>{2}".format, st.just(name), value, space))


@st.composite
def item(draw: st.DrawFn, name: str = "url") -> str:
    parts = [f"<loc>{draw(loc)}</loc>", draw(space), draw(maybe("lastmod", date))]
    parts += [draw(maybe("changefreq", words)), draw(maybe("priority", numbers))]
    return f"<{name}>{draw(space)}{''.join(parts)}</{name}>{draw(space)}"


plain = st.builds(
    "<url><loc>https://example.com/{}</loc><lastmod>2024-05-08</lastmod></url>\n".format, st.integers(0, 999)
)
odd = st.sampled_from(
    [
        "<!-- a comment with <url><loc>https://example.com/no</loc></url> in it -->", "<!--", "-->",
        "<![CDATA[", "]]>", "<![CDATA[ <url><loc>https://example.com/no</loc></url> ]]>", "<?pi <url> ?>",
        "text", "&amp;", "&nbsp;", "<url/>", "</url>", "<url>", "<urlset>", "</urlset>", "<foo>", "</foo>",
        '<foo xmlns="urn:x">', "<loc>https://example.com/stray</loc>", "\x00", "\xff",
        "<sitemap><loc>https://example.com/1.xml</loc></sitemap>", '<url xml:base="/x/"><loc>y</loc></url>',
        "<URL></URL>", "<b:url/>",
        '<url><loc>https://example.com/i</loc><image:image><image:loc>https://example.com/i.png</image:loc></image:image></url>',
        f'<urlset xmlns="{NS}">', "<url><lastmod>2024-05-08</lastmod><loc>https://example.com/l</loc></url>",
        "<url ><loc>x</loc></url >",
    ]
)  # fmt: skip
root = st.sampled_from(
    [
        f'<urlset xmlns="{NS}">', f'<urlset xmlns="{NS}">', f'<sitemapindex xmlns="{NS}">', "<urlset>",
        f'<s:urlset xmlns:s="{NS}">', "",
        f'<?xml version="1.0"?>\n<urlset xmlns="{NS}" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">',
        f'<urlset xmlns="{NS}" xml:base="https://example.com/deep/">', '<urlset xmlns="urn:x">',
        "<rss><channel>",
    ]
)  # fmt: skip
foot = st.sampled_from(["</urlset>", "</sitemapindex>", "", "</urlset>\n<!-- cached -->", "</urlset>junk"])
body = st.lists(plain | plain | item() | item("sitemap") | odd, max_size=12).map("".join)
document = st.builds("{}{}{}{}".format, root, space, body, foot).map(
    lambda text: text.encode("latin-1" if "\xff" in text else "utf-8")
)


@pytest.mark.thorough
@settings(max_examples=200)
@given(document, st.lists(st.integers(0, 5_000), max_size=6), st.sampled_from([5, 30, 200, 65_536]))
@example(f'<urlset xmlns="{NS}"><![CDATA[<url></url><url><loc>https://e.de/abc</loc></url>'.encode(), [], 200)
@example(f'<urlset xmlns="{NS}"><!--<url></url><url><loc>https://e.de/abc</loc></url>'.encode(), [], 200)
def test_ours_a_run_is_read_as_the_parser_would(data: bytes, cuts: list[int], piece: int) -> None:
    same_both_ways(data, cuts, piece)


@settings(max_examples=150)
@given(
    st.lists(plain, min_size=3, max_size=8).map("".join),
    st.lists(st.tuples(st.integers(0, 2_000), st.integers(0, 3), st.binary(max_size=4)), min_size=1, max_size=4),
    st.sampled_from([40, 150, 65_536]),
)
def test_ours_damage_is_seen_in_the_same_way(body: str, damages: list[tuple[int, int, bytes]], piece: int) -> None:
    data = f'<urlset xmlns="{NS}">\n{body}</urlset>'.encode()
    for place, length, put in damages:
        at = place % len(data)
        data = data[:at] + put + data[at + length :]
    same_both_ways(data, [], piece)


@pytest.mark.thorough
@settings(max_examples=150)
@given(item())
def test_ours_nothing_that_a_rule_finds_fault_with_is_plain(text: str) -> None:
    run = read_run("url", text.encode(), 0, 10_000)
    found, findings, complete, *_ = outcome(f'<urlset xmlns="{NS}">{text}</urlset>'.encode(), [], fast=False, piece=1)
    if run:
        assert run.items == [one for one, _ in found]
        assert complete
        assert not findings
        assert dates.is_valid_date(run.items[0].lastmod) or not run.items[0].lastmod


def each(count: int) -> Iterator[str]:
    for number in range(count):
        yield f"<url>\n<loc>https://example.com/{number}</loc></url>"


@pytest.mark.parametrize("piece", [1_000, 1 << 20])
def test_ours_lines_of_a_long_document(piece: int) -> None:
    data = f'<urlset xmlns="{NS}">\n{chr(10).join(each(20_000))}\n</urlset>'.encode()
    parser = SitemapParser()
    number = 0
    pieces = [data[start : start + piece] for start in range(0, len(data), piece)]
    for answer in chain(map(parser.feed, pieces), (parser.close() for _ in range(1))):
        lines = [parser.line_of(index) for index in range(len(answer))]
        assert lines == list(range(2 + 2 * number, 2 + 2 * (number + len(answer)), 2))
        number += len(answer)
    assert (number, parser.findings, parser.complete) == (20_000, (), True)
    with pytest.raises(IndexError):
        parser.line_of(20_000)


def test_ours_the_parser_hardly_sees_plain_items() -> None:
    data = f'<urlset xmlns="{NS}">\n{"".join(each(5_000))}<!-- here -->{"".join(each(5_000))}</urlset>'.encode()
    seen = 0

    def count(name: str, *_: object) -> None:
        nonlocal seen
        seen += name == "loc"

    handlers = xml_stream.ElementHandlers
    with patch.object(handlers, "end", autospec=True, side_effect=handlers.end) as end:
        parser = SitemapParser()
        items = [*parser.feed(data), *parser.close()]
        for call in end.call_args_list:
            count(call.args[1])
    assert len(items) == 10_000
    assert seen < 50


def test_sitemaps_org_an_index_is_read_in_runs_too() -> None:
    names = [
        f"<sitemap><loc>https://example.com/{n}.xml</loc><lastmod>2024-05-08</lastmod></sitemap>\n" for n in range(900)
    ]
    data = f'<sitemapindex xmlns="{NS}">\n{"".join(names)}</sitemapindex>'.encode()
    found, findings, complete, format_, *_ = same_both_ways(data, [], 100)
    assert [one for one, _ in found] == [Child(f"https://example.com/{n}.xml", "2024-05-08") for n in range(900)]
    assert [line for _, line in found] == list(range(2, 902))
    assert (findings, complete, format_) == ((), True, Format.INDEX)
