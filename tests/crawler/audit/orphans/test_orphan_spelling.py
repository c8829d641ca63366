"""Which spellings may be one page, and which pages are another spelling of one that is linked."""

import random
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.audit.orphans.duplicates import (
    DuplicateCandidate,
    LinkSupport,
    find_copies,
    is_paginated,
    normalize_spelling,
)
from crawler.model import Url
from crawler.parse.snapshot.snapshot import take_snapshot
from crawler.url.normalize import normalize_url

SITE = "https://www.example.com"


@pytest.mark.parametrize(
    "other",
    [
        "https://www.example.com/Shop/Boats/",
        "https://www.example.com/shop/boats",
        "https://www.example.com/shop/boats/index.html",
        "https://www.example.com/shop/boats/default.aspx",
        "https://www.example.com/shop//boats/",
        "https://www.example.com/shop/boats/page/1/",
        "http://www.example.com/shop/boats/",
        "https://example.com/shop/boats/",
        "https://www.example.com/shop/./x/../boats/",
        "https://www.example.com/sh%6Fp/boats/?utm_source=mail&gclid=1#top",
        "https://www.example.com:443/shop/boats/",
    ],
)
def test_ours_spellings_of_one_page_fold_to_one_text(other: str) -> None:
    assert normalize_spelling(normalize_url(other)) == normalize_spelling(normalize_url(f"{SITE}/shop/boats/"))


@pytest.mark.parametrize(
    "other",
    [
        "https://www.example.com/shop/boat",
        "https://www.example.com/shop/boats.html",
        "https://www.example.com/shop/boats?page=2",
        "https://shop.example.com/shop/boats",
        "https://www.example.com/shop/boats/indexes.html",
        "https://www.example.com/shop%2Fboats",
    ],
)
def test_ours_other_pages_do_not(other: str) -> None:
    assert normalize_spelling(normalize_url(other)) != normalize_spelling(normalize_url(f"{SITE}/shop/boats/"))


@given(st.text("!$&'()*+,:;=@", min_size=1), st.booleans(), st.booleans())
def test_rfc3986_the_escape_of_a_character_that_delimits_nothing_is_another_spelling(
    reserved: str, is_query: bool, is_lower: bool
) -> None:
    """RFC 3986 2.2: a reserved character and its escape differ only where the character delimits something."""
    text = re.sub("[&+=;]", "", reserved) if is_query else reserved
    escaped = "".join(f"%{ord(character):02x}" if is_lower else f"%{ord(character):02X}" for character in text)
    urls = [normalize_url(f"{SITE}/{'q?x=' if is_query else 'Mario_'}{part}z") for part in (text, escaped)]
    assert normalize_spelling(urls[0]) == normalize_spelling(urls[1])


def test_rfc3986_the_escape_of_a_delimiter_is_another_url() -> None:
    for one, other in (
        ("/a%2Fb", "/a/b"),
        ("/a%3Fb", "/a?b"),
        ("/a%23b", "/a"),
        ("/?a=b%26c", "/?a=b&c"),
        ("/%25", "/"),
    ):
        assert normalize_spelling(normalize_url(SITE + one)) != normalize_spelling(normalize_url(SITE + other))


def test_ours_parameters_fold_in_any_order_and_by_their_values() -> None:
    assert normalize_spelling(Url(f"{SITE}/a?x=1&y=2")) == normalize_spelling(Url(f"{SITE}/a?y=2&x=1"))
    assert normalize_spelling(Url(f"{SITE}/a?x=1")) != normalize_spelling(Url(f"{SITE}/a?x=2"))


@given(st.lists(st.sampled_from("aB/%&=?.~-"), max_size=30).map("".join))
def test_ours_a_fold_is_the_same_for_every_case_and_end(tail: str) -> None:
    url = normalize_url(f"{SITE}/{tail}")
    assert normalize_spelling(url) == normalize_spelling(Url(url.swapcase().replace("HTTPS", "https")))


def twin(number: int, digest: bytes = b"same", *, text: str = "", listed: bool = False) -> DuplicateCandidate:
    snapshot = take_snapshot(text.encode()) if text else b""
    return DuplicateCandidate("key", number, Url(f"{SITE}/{number}"), digest, "", snapshot, listed)


def led_to(*ids: int) -> Callable[[int], LinkSupport]:
    return lambda number: LinkSupport.LINKED if number in ids else LinkSupport.UNLINKED


def test_ours_an_unlinked_spelling_of_a_linked_page_is_no_page_of_its_own() -> None:
    assert list(find_copies([twin(1), twin(2), twin(3)], led_to(2))) == [(1, 2), (3, 2)]


def test_ours_of_unlinked_spellings_the_listed_one_is_the_page() -> None:
    assert list(find_copies([twin(1), twin(2, listed=True)], led_to())) == [(1, 2)]


def test_ours_of_unlinked_spellings_the_one_that_others_name_is_the_page() -> None:
    twins = [twin(1), twin(2), twin(3, listed=True)]
    named = lambda number: LinkSupport.LINKED_BY_ORPHAN if number == 2 else LinkSupport.UNLINKED  # noqa: E731
    assert list(find_copies(twins[:2], named)) == [(1, 2)]
    assert list(find_copies(twins, named)) == [(2, 3), (1, 3)]


def test_ours_of_two_cases_the_lower_one_is_the_page() -> None:
    urls = [Url(f"{SITE}/Boats"), Url(f"{SITE}/boats")]
    assert list(
        find_copies(
            [DuplicateCandidate("key", n, url, b"same", "", b"", False) for n, url in enumerate(urls)], led_to()
        )
    ) == [(0, 1)]


def test_ours_what_the_site_names_is_no_copy_by_what_it_says_alone() -> None:
    island = DuplicateCandidate("key", 3, Url(f"{SITE}/3"), b"same", "", b"", is_listed=False, is_uncrawled=False)
    assert list(find_copies([twin(1), twin(2), island], led_to(1))) == [(2, 1)]


def test_ours_what_says_something_else_is_another_page() -> None:
    assert not list(find_copies([twin(1), twin(2, b"other")], led_to(1)))
    assert not list(find_copies([twin(1, b""), twin(2, b"")], led_to(1)))


BOATS = "<title>Boats</title><p>All our boats are here, and all of them float.<p>{}"


@pytest.mark.parametrize(
    ("one", "other", "is_copy"),
    [
        ("Seen 17 times.", "Seen 18 times.", True),
        ("Made in 0.2 s", "Made in 0.4 s", True),
        ("The team of the boat house.", "The team of the harbour, and how to reach it.", False),
        ("The team of the boat house.", "", False),
        ("1", "2 <p>And one more.", False),
    ],
)
def test_ours_spellings_that_say_the_same_but_for_figures_are_one_page(one: str, other: str, is_copy: bool) -> None:
    pages = [twin(1, b"one", text=BOATS.format(one)), twin(2, b"two", text=BOATS.format(other))]
    assert list(find_copies(pages, led_to(1))) == [(2, 1)] * is_copy


def test_ours_nearly_the_same_text_is_not_enough_where_a_value_is_another() -> None:
    urls = [Url(f"{SITE}/boat?id=aB"), Url(f"{SITE}/boat?id=Ab")]
    text = take_snapshot(BOATS.format("").encode())
    twins = [DuplicateCandidate("key", n, url, bytes([n + 1]), "", text, is_listed=False) for n, url in enumerate(urls)]
    assert not list(find_copies(twins, led_to(0)))


WORDS = [
    "harbour",
    "garden",
    "boat",
    "sail",
    "crew",
    "tide",
    "rope",
    "anchor",
    "pier",
    "wind",
    "lamp",
    "chart",
    "deck",
    "mast",
    "oar",
    "keel",
    "buoy",
    "net",
    "wave",
    "sand",
]


def prose(draw: random.Random) -> list[str]:
    """Two to six paragraphs of some words each."""
    return [" ".join(draw.choices(WORDS, k=draw.randint(6, 30))) for _ in range(draw.randint(2, 6))]


def drawn(draw: random.Random) -> tuple[str, list[str], list[str], bool]:
    """A query, the paragraphs of a page without it and with it, and whether the query made no other page of it."""
    text = prose(draw)
    value = draw.randint(3, 9_999)
    name, plain = (
        draw.choice(["x", "ref", "view", "sort", "id", "year"]),
        draw.choice(["menu", "7up", "top-mail", "a.b"]),
    )
    at = draw.randrange(len(text))
    changed = [*text]
    match draw.choice(["bytes", "counter", "clock", "words", "more", "less", "value", "listed"]):
        case "bytes":
            return f"{name}={draw.choice([plain, value])}", text, text, True
        case "counter":
            seen = draw.randint(10_000, 90_000)
            return f"{name}={plain}", [*text, f"Seen {seen} times."], [*text, f"Seen {seen + 1} times."], True
        case "clock":
            one, two = (f"Made in {draw.randint(100, 900) / 1000} s" for _ in range(2))
            return f"{name}={value}", [*text, one], [*text, two], True
        case "words":
            changed[at] = f"{' '.join(draw.sample(WORDS, 6))} instead {changed[at]}"
            return f"{name}={plain}", text, changed, False
        case "more":
            return f"{name}={value}", text, [*text, *(f"Also {each}" for each in prose(draw))], False
        case "less":
            return f"{name}={plain}", text, changed[:at] + changed[at + 1 :], False
        case "value":
            one, two = (f"The harbour in {each} had {each + 9} boats." for each in (value + draw.randint(1, 9), value))
            return f"{name}={value}", [*text, one], [*text, two], False
        case _:
            page = draw.randint(2, 40)
            one, two = (f"Boats {20 * each + 1} to {20 * each + 20}" for each in (0, page - 1))
            return f"page={page}", [*text, one], [*text, two], False


@pytest.mark.parametrize("seed", range(8))
def test_ours_a_page_with_parameters_is_the_page_without_if_it_says_the_same(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(50):
        query, bare, full, is_copy = drawn(draw)
        pages = [
            DuplicateCandidate("key", number, Url(url), page, "Boats", take_snapshot(page), is_listed=False)
            for number, url, texts in ((1, f"{SITE}/boats", bare), (2, f"{SITE}/boats?{query}", full))
            for page in [b"<title>Boats</title>" + b"".join(b"<p>%s</p>" % text.encode() for text in texts)]
        ]
        assert list(find_copies(pages, led_to(1))) == [(2, 1)] * is_copy, (query, bare, full)


@pytest.mark.parametrize("link", ["/page/2/?q=%3Cx%3E&#038;s=1", "/page/2/?q=%3cx%3e", "/page/2/?s=1&amp;q=x"])
def test_ours_parameters_that_a_list_hands_on_to_its_links_make_no_other_page(link: str) -> None:
    words = " ".join(f"word{letter}" for letter in "abcdefghijklmnop")
    plain, own = (take_snapshot(f'<p>{words}</p><a href="{href}">2</a>'.encode()) for href in ("/page/2/", link))
    pages = [
        DuplicateCandidate("key", 1, Url(f"{SITE}/"), b"1", "Home", plain, is_listed=True),
        DuplicateCandidate("key", 2, Url(f"{SITE}/?q=<x>&s=1"), b"2", "Home", own, is_listed=False),
    ]
    assert list(find_copies(pages, {1: LinkSupport.LINKED, 2: LinkSupport.UNLINKED}.__getitem__)) == [(2, 1)]


def test_ours_linked_spellings_are_left_as_they_are() -> None:
    assert not list(find_copies([twin(1), twin(2)], led_to(1, 2)))


@pytest.mark.parametrize(
    "tail",
    [
        "page/2/",
        "page/2",
        "?page=2",
        "?a=1&paged=3",
        "blog/page-4.html",
        "?start=20&a=1",
        "shop/p2",
        "shop/p/12/",
        "shop/?p=2",
        "shop?a=1&p=12",
    ],
)
def test_ours_a_further_page_of_a_list_is_told_by_its_url(tail: str) -> None:
    assert is_paginated(Url(f"{SITE}/{tail}"))


@pytest.mark.parametrize(
    "tail",
    [
        "",
        "page/",
        "pages/2/",
        "page/two/",
        "?pages=2",
        "?page=two",
        "2/",
        "landing-page/",
        "p/77812",
        "p77812/",
        "?p=12",
        "?a=b&p=12",
        "shop/?p=7781",
    ],
)
def test_ours_what_only_looks_alike_is_none(tail: str) -> None:
    assert not is_paginated(Url(f"{SITE}/{tail}"))
