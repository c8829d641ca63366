"""What counts as a difference between two visits of one page, and what does not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from steps import steps

from crawler.model import FetchedDocument, Url
from crawler.parse.snapshot.diff import (
    BEFORE_ALIKE,
    BEHIND_ALIKE,
    FACT,
    FRAME,
    LINK,
    MAX_DIFFERENCES,
    MAX_NEWS,
    Delta,
    compare,
    content_keys,
)
from crawler.parse.snapshot.snapshot import digest, take_snapshot

PAGE = """<!DOCTYPE html><html><head><title>Boats &amp; more</title><meta name="description" content="All boats">
<link rel="canonical" href="/boats"></head><body><nav><a href="/">Home</a></nav>
<main><h1>Boats</h1><p>A boat is <b>small</b>, a <a href='/ship'>ship</a> is not.</p>
<p><img src="/boat.png?v=3" alt="A boat"></p><ul><li>oar<li>sail</ul></main>
<footer><p>Acme</p></footer></body></html>"""


def differ(before: str, after: str) -> list[tuple[bool, str]]:
    delta = compare(take_snapshot(before.encode()), take_snapshot(after.encode()))
    assert delta.known
    return [(each.gone, each.text) for each in delta.differences]


def edited(old: str, new: str) -> list[tuple[bool, str]]:
    assert old in PAGE
    return differ(PAGE, PAGE.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("A boat is", "A  boat\n is"),
        ("&amp; more", "&#38; more"),
        ("&amp; more", "& more"),
        ("<b>small</b>", "<strong class=x>small</strong>"),
        ("<p>A boat", '<P CLASS="lead" id=p7>A boat'),
        ("<a href='/ship'>", '<a class=x data-id="77" href="/ship">'),
        ("href='/ship'", 'href="&#47;ship"'),
        ("?v=3", "?v=4"),
        ("?v=3", ""),
        ("</head>", "<script>var now = 77;</script><style>p { color: red }</style></head>"),
        ("</head>", '<meta name="csrf-token" content="a8f7"><meta name="generator" content="Acme 7"></head>'),
        ("<main>", "<!-- made in 7 ms --><main>"),
        ("<main>", '<form><input type="hidden" name="csrf" value="7fa8"></form><main>'),
        ("<main>", '<div class="wide"><main>'),
        ("<h1>Boats</h1>", "<h2 class=big>Boats</h2>"),
        ("<li>oar<li>sail", "<li>oar</li>\n<li>sail</li>"),
        ("</main>", "<template><p>Hidden</p></template><svg><title>x</title></svg></main>"),
        (" is not.</p>", " is not.</p><p> &nbsp;</p>"),
        ("</head>", '<script type="application/ld+json">{"dateModified": "2026-11-21T10:00:00Z"}</script></head>'),
        ("</head>", '<meta property="article:modified_time" content="2026-11-21T10:00:00Z"></head>'),
        ('canonical" href="/boats', 'canonical" href="/b'),  # the two are for search engines alone
        ("</head>", '<meta name="robots" content="noindex"></head>'),
    ],
)
def test_ours_what_nobody_reads_is_no_difference(old: str, new: str) -> None:
    assert edited(old, new) == []


@pytest.mark.parametrize(
    ("old", "new", "gone", "came"),
    [
        ("Boats &amp; more", "Boats", ["Boats & more"], ["Boats"]),
        ("All boats", "Some boats", ["description: All boats"], ["description: Some boats"]),
        ("small", "tiny", ["A boat is small, a ship is not."], ["A boat is tiny, a ship is not."]),
        ("'/ship'", "'/ships'", ["A boat is small, a ship is not."], ["A boat is small, a ship is not."]),
        ("/boat.png", "/ship.png", ["A boat"], ["A boat"]),
        ("<li>sail", "<li>sail<li>mast", [], ["mast"]),
        ("<li>oar", "", ["oar"], []),
        ("</main>", '<meta itemprop="price" content="7.50"></main>', [], ["price: 7.50"]),
        ("</main>", '<p><span itemprop="price" content="7.50">7</span></p></main>', [], ["7", "price: 7.50"]),
        ("</main>", '<iframe src="https://example.org/v/7">x</iframe></main>', [], ["iframe: https://example.org/v/7"]),
    ],
)
def test_google_text_links_pictures_and_data_are_differences(
    old: str, new: str, gone: list[str], came: list[str]
) -> None:
    found = edited(old, new)
    assert [text for is_gone, text in found if is_gone] == gone
    assert [text for is_gone, text in found if not is_gone] == came


def test_google_structured_data_is_compared_by_value() -> None:
    script = '<script type="application/ld+json">{}</script>'
    before = PAGE + script.replace(
        "{}", '{"@type": "Product", "offers": {"price": "19.99", "availability": "InStock"}}'
    )
    same = PAGE + script.replace("{}", '{"offers":{"availability":"InStock","price":19.99},"@type":"Product"}')
    assert differ(before, same) == []
    after = before.replace("19.99", "24.99")
    assert differ(before, after) == [(True, "JSON-LD.offers.price: 19.99"), (False, "JSON-LD.offers.price: 24.99")]


def test_ours_the_words_of_the_title_that_a_difference_names_are_among_those_that_it_keeps() -> None:
    title = " ".join(f"{a}{b}" for a in "abcdefghij" for b in "klmnopqrst")  # more words than are kept
    page = f"<title>{title}</title><h1>Boats</h1><p>Oars.</p>"
    texts = [take_snapshot(f"{page}{more}".encode()) for more in ("", f"<p>Share this {title} {title}</p>")]
    (added,) = compare(*texts).differences
    assert len(added.news) == MAX_NEWS
    assert added.named == added.news[2:]


def test_ours_what_only_moved_is_no_difference() -> None:
    assert differ("<p>one<p>two<div class=x><p>three</div>", "<div id=y><p>three</div><p>two<p>one") == []


@pytest.mark.parametrize("beside", ["", "<div><p>gone</p></div>"])
def test_ours_a_text_that_moved_within_its_container_is_lost_and_gained(beside: str) -> None:
    texts = [f"The {name} is open again after the long repair." for name in ("quay", "pier", "lock")]
    one, two, three = (f"<p>{text}</p>" for text in texts)
    found = differ(f"<main>{one}{two}{three}</main>{beside}", f"<main>{two}{three}{one}</main>")
    assert [text for _, text in found if text != "gone"] == [texts[0], texts[0]]


def test_ours_only_inline_tags_that_changed_are_no_difference_beside_others() -> None:
    before = "<main><p>A <span class=x>small</span> boat</p></main><p>old</p>"
    assert differ(before, "<main><p>A small boat</p></main><p>new</p>") == [(True, "old"), (False, "new")]


def test_ours_a_difference_tells_where_it_stands() -> None:
    flags = {
        each.text: each.flags & ~(BEHIND_ALIKE | BEFORE_ALIKE)
        for each in compare(
            take_snapshot(PAGE.encode()),
            take_snapshot(
                PAGE.replace("Home</a>", "Home</a> New")
                .replace("Acme", "Acme Corp")
                .replace("<li>oar", '<li><a href="/oar">oar</a>')
                .replace("</main>", '<footer>By me</footer><meta itemprop="price" content="7"></main>')
                .encode()
            ),
        ).differences
        if not each.gone
    }
    assert flags == {"Home New": FRAME, "Acme Corp": FRAME, "oar": LINK, "By me": 0, "price: 7": FACT}


@pytest.mark.parametrize(
    "nothing", [b"", b"\x01", b"\x01broken", b"\xffanything", take_snapshot(b""), take_snapshot(b"<p> </p><!-- x -->")]
)
def test_ours_nothing_is_said_of_what_is_empty_or_unknown(nothing: bytes) -> None:
    page = take_snapshot(PAGE.encode())
    for pair in ((nothing, page), (page, nothing), (nothing, nothing)):
        assert compare(*pair).differences == []
    assert not compare(nothing, page).known
    assert content_keys(nothing) == []


def test_ours_a_comparison_is_bounded() -> None:
    before = take_snapshot("".join(f"<p>old {'x' * n}" for n in range(2_000)).encode())
    after = take_snapshot("".join(f"<p>new {'y' * n}" for n in range(2_000)).encode())
    delta = compare(before, after)
    assert delta.more
    assert len(delta.differences) == MAX_DIFFERENCES
    assert {each.gone for each in delta.differences} == {True, False}
    assert max(len(each.text) for each in delta.differences) <= 120


def test_ours_a_digest_is_of_all_that_decides_what_is_read() -> None:
    page = FetchedDocument(Url("https://example.com/"), "text/html", ["</a>; rel=next"], ["noindex"], "", b"body")
    others = [
        FetchedDocument(page.url, "text/plain", page.links, page.robots, "", b"body"),
        FetchedDocument(page.url, page.content_type, [], page.robots, "", b"body"),
        FetchedDocument(page.url, page.content_type, ["noindex"], ["</a>; rel=next"], "", b"body"),
        FetchedDocument(page.url, page.content_type, page.links, [], "", b"body"),
        FetchedDocument(page.url, page.content_type, page.links, page.robots, "0; url=/", b"body"),
        FetchedDocument(page.url, page.content_type, page.links, page.robots, "", b"bodY"),
    ]
    elsewhere = FetchedDocument(Url("https://example.com/b"), "text/html", ["</a>; rel=next"], ["noindex"], "", b"body")
    assert digest(page) == digest(elsewhere)
    assert len(digest(page)) == 16
    assert len({digest(each) for each in (page, *others)}) == 7


_PIECES = [
    *("<p>", "</p>", "<div class=a>", "</div>", "<a href=", "'", '"', ">", "<", "<!--", "-->", "<script", "</script>"),
    *(
        '<script type="application/ld+json">',
        '{"a":',
        "}",
        "<template>",
        "</svg>",
        "&#x110000;",
        "&amp",
        "\x00",
        "=",
        "/",
    ),
]
_markup = st.lists(st.sampled_from(_PIECES) | st.text(max_size=5), max_size=30).map("".join)


@settings(max_examples=150)
@given(_markup, _markup)
def test_ours_any_markup_can_be_compared(one: str, other: str) -> None:
    before, after = (take_snapshot(text.encode("utf-8", "replace")) for text in (one, other))
    assert compare(before, before).differences == []
    there, back = compare(before, after), compare(after, before)
    assert there.known == back.known
    assert sorted((not d.gone, d.exact) for d in there.differences) == sorted(
        (d.gone, d.exact) for d in back.differences
    )


@settings(max_examples=100)
@given(st.binary(max_size=60), st.binary(max_size=60))
def test_ours_any_bytes_can_be_compared(one: bytes, other: bytes) -> None:
    for before, after in ((one, other), (b"\x01" + one, b"\x01" + other), (take_snapshot(one), take_snapshot(other))):
        assert isinstance(compare(before, after), Delta)
        content_keys(before)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "piece",
    [
        "<script",
        "<script>",
        '<script type="application/ld+json">',
        '<script type="application/ld+json"',
        "<!--",
        "<style>",
        "<meta ",
        "<meta name=",
        "<input",
        "<a ",
        '<a href="',
        "<a href='x\" ",
        "<div>",
        "<div class=",
        "<div title='",
        "</div>",
        "<p>x",
        "<",
        "<a",
        "&amp",
        "&#",
        "1a-",
        "= ",
        "<h1>1 ",
        "<b/",
    ],
)
def test_ours_work_is_linear_in_hostile_markup(piece: str) -> None:
    def work(size: int) -> int:
        body = (piece * (size // len(piece))).encode()
        return steps(lambda: compare(take_snapshot(body + b"<p>one"), take_snapshot(b"<p>two" + body)))

    assert work(40_000) < 10 * work(5_000)
