"""A comparison that leaves unread what two visits have in common finds what reading all of both would find."""

from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from madesite import Site
from msgspec.structs import replace

from crawler.parse.snapshot.blocks import ContentBlock, parse_blocks
from crawler.parse.snapshot.diff import (
    BEFORE_ALIKE,
    BEHIND_ALIKE,
    MAX_DIFFERENCES,
    MONEY,
    MOVED,
    Delta,
    Difference,
    _difference,
    _key_at_place,
    compare,
)
from crawler.parse.snapshot.snapshot import take_snapshot
from crawler.parse.snapshot.text import TEXTS, diff_spans, split_markup, split_markup_like

Plain = list[tuple[Difference, bool, str]]
_PIECES = """<p> </p> <div.class=a> <div.id=b7> </div> <SECTION> </SECTION> <a.href= <a.href='/x'> </a> ' " > < <!--x-->
<script </script> {"a":"b"} <template> </template> </svg> &amp &lt; = / <h1> <h2>x </h2> <li> <nav> </nav> <footer>
<b> </b> .title="a>b" .title=" <br> text.1 word foo.bar <img.src=/a.png.alt=x> <meta.itemprop=price.content=7> <P>
</.p> . é 2026 <span.itemprop=price.content=8> <script.type="application/ld+json"> <h1.class='x'> <p.title='> ?"""
_pieces = st.lists(st.sampled_from([piece.replace(".", " ") for piece in _PIECES.split()]), max_size=40)
_cuts = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3), _pieces.map(lambda few: few[:2])), max_size=3)


def plainly(page: list[ContentBlock], other: list[ContentBlock], gone: bool) -> Plain:
    """The differences of one side, each with whether it is clear which of equal texts it is, and with its text."""
    has, had = Counter(block.compared_text for block in page), Counter(block.compared_text for block in other)
    left = has & had
    stays: list[bool] = []
    for block in page:
        left[block.compared_text] -= 1
        stays.append(left[block.compared_text] >= 0)
    among = Counter((block.place, block.spot) for block in page)
    count = Counter(block.place for block in page)
    at_place: Counter[bytes] = Counter()
    found: Plain = []
    for at, block in enumerate(page):
        if not stays[at]:
            behind = next((page[n] for n in range(at, -1, -1) if stays[n]), None)
            before = next((page[n] for n in range(at, len(page)) if stays[n]), None)
            flags = BEHIND_ALIKE * bool(behind and behind.place == block.place)
            flags |= BEFORE_ALIKE * bool(before and before.place == block.place)
            after, ahead = (_key_at_place(near) if near else 0 for near in (behind, before))
            numbers = at_place[block.place], at_place[block.place] - count[block.place]
            told = _difference(block, gone, after, ahead, among[block.place, block.spot], numbers, flags)
            found.append((told, block.compared_text not in had, block.compared_text))
        at_place[block.place] += 1
    return found


def same(before: bytes, after: bytes) -> None:
    delta: Delta = compare(before, after)
    old, new = parse_blocks(before), parse_blocks(after)
    assert old is not None
    assert new is not None
    if before == after:
        assert delta == Delta()
        return
    assert delta.known == bool(old and new)
    if not delta.known:
        assert not delta.differences
        return
    plain = [*plainly(old, new, True), *plainly(new, old, False)]
    assert len(plain) <= MAX_DIFFERENCES
    not_moved = [d for d in delta.differences if not d.flags & MOVED]
    found = Counter((d.gone, d.exact) for d in not_moved)
    assert found <= Counter((d.gone, d.exact) for d, _, _ in plain)
    dropped = dict.fromkeys((True, False), "")  # what the page lost and gained as other blocks with the same text
    for difference, _, text in plain:
        found[difference.gone, difference.exact] -= 1
        if found[difference.gone, difference.exact] < 0:
            dropped[difference.gone] += "".join(text.split())
    assert Counter(dropped[True]) == Counter(dropped[False])
    is_clear = all(clear for _, clear, _ in plain) and not dropped[True]
    if is_clear and len(not_moved) == len(delta.differences):
        found_of = [replace(d, beside=(), news=(), named=(), flags=d.flags & ~MONEY) for d in delta.differences]
        assert found_of == [replace(d, flags=d.flags & ~MONEY) for d, _, _ in plain]


@settings(max_examples=200)
@given(_pieces, _cuts)
@example(["<p>", "<a href='/x'>", "<a href='/x'>"], [(2, 0, ["<p>"])])
@example(["<p>", "<p>", "<span itemprop=price content=8>"], [(0, 0, ["<p>", "<meta itemprop=price content=7>"])])
def test_ours_what_is_left_unread_makes_no_difference(
    pieces: list[str], cuts: list[tuple[int, int, list[str]]]
) -> None:
    edited = pieces.copy()
    for at, count, more in cuts:
        edited[at : at + count] = more
    same(take_snapshot("".join(pieces).encode()), take_snapshot("".join(edited).encode()))


def test_ours_what_is_left_unread_makes_no_difference_on_a_made_site() -> None:
    site = Site(7, articles=40, products=20, lists=4)
    pages = list(site.pages)
    before = [take_snapshot(site.render(path)) for path in pages]
    site.redesigned = bool(site.edit(0.3))
    for one, path in zip(before, pages, strict=True):
        same(one, take_snapshot(site.render(path)))


@settings(max_examples=200)
@given(_pieces, _cuts)
def test_ours_pieces_are_taken_over_as_they_would_be_cut(
    pieces: list[str], cuts: list[tuple[int, int, list[str]]]
) -> None:
    edited = pieces.copy()
    for at, count, more in cuts:
        edited[at : at + count] = more
    one, other = "".join(pieces), "".join(edited)
    old, new = split_markup(one), split_markup(other)
    assert "".join(old) == one
    assert split_markup_like(one, other, new) == old
    parts = list(diff_spans(old, new))
    assert [piece for part in parts for piece in old[part.old]] == old
    assert [piece for part in parts for piece in new[part.new]] == new
    assert all(old[part.old] == new[part.new] for part in parts if part.same)


def test_ours_of_equal_texts_those_stay_that_stand_where_nothing_differs() -> None:
    shop = "<h2>Oar</h2><p>In stock</p><h2>Sail</h2><p>In stock</p><h2>Mast</h2><p>In stock</p>"
    sold = shop.replace("In stock", "Sold out", 2).replace("Sold out", "In stock", 1)
    gone, came = compare(take_snapshot(shop.encode()), take_snapshot(sold.encode())).differences
    assert (gone.text, came.text) == ("In stock", "Sold out")
    assert (gone.spot, gone.after, gone.ahead) == (came.spot, came.after, came.ahead)


@pytest.mark.parametrize(
    ("markup", "said"),
    [
        ('Tides<a href="#tides">¶</a>', "Tides"),
        ('Tides<a href="#tides"><span>#</span></a>', "Tides"),
        ('See <a href="#two">part two</a>.', "See part two.\x1f#two"),
        ('<a href="#two">Two</a> <a href="javascript:go()">✓</a>', "Two ✓\x1f#two"),
        ('<a href="#big"><img src="/a.jpg"></a>', "\x1f#big\x1f/a.jpg"),
        ('<a href="/a.jpg"><img src="//cdn.example/a-90x60.webp" alt="Boat"></a>', "Boat\x1f/a.jpg"),
        ('<a href="/v1.2/a.pdf">Manual</a>', "Manual\x1f/v1.2/a.pdf"),
        ("har<wbr>bour", "harbour"),
    ],
)
def test_ours_a_part_says_its_words_and_where_it_leads(markup: str, said: str) -> None:
    assert [reading.compared_text for reading in TEXTS[markup]] == [said]
