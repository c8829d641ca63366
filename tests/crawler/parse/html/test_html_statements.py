"""What a page states about itself: canonicals, robots, refreshes, alternates and Link headers."""

from collections.abc import Callable

import pytest
from htmlpages import NOW, URL, links, read, scan

from crawler.model import DiscoveredBy, Page
from crawler.parse.html.links import MAX_SECONDS, parse_link_header, parse_refresh
from crawler.parse.html.page import GOOGLEBOT_BYTES, ReadOptions

AT = "https://example.com"


def test_google_canonicals_in_head_and_header_are_all_reported() -> None:
    page = read("<head><link rel='Canonical' href=/a><link rel=canonical href=/a#x><link rel=canonical href=/b></head>")
    assert page.canonicals == [f"{AT}/a", f"{AT}/b"]
    page = read("<p>", links=['<https://example.com/h>; rel="canonical"'])
    assert page.canonicals == [f"{AT}/h"]
    assert dict(page.links) == {f"{AT}/h": DiscoveredBy.CANONICAL}


def test_whatwg_url_the_query_of_a_canonical_is_in_the_encoding_of_its_page_and_that_of_a_header_in_utf8() -> None:
    label = "text/html; charset=windows-1252"
    page = read("<link rel=canonical href='/a?q=\xe9'>".encode("latin-1"), content_type=label)
    assert page.canonicals == [f"{AT}/a?q=%E9"]
    page = read(b"<p>", content_type=label, links=["</h?q=\xe9>; rel=canonical"])
    assert page.canonicals == [f"{AT}/h?q=%C3%A9"]


def test_google_a_canonical_in_the_body_does_not_count() -> None:
    page = read("<body><p>x</p><link rel=canonical href=/a>")
    assert page.canonicals == []
    assert page.links == []
    assert page.canonical_faults == ["a canonical outside <head> does not count"]


@pytest.mark.parametrize("reader", [read, scan])
@pytest.mark.parametrize("attribute", ["hreflang=de", "lang=de", "MEDIA=print", 'type="text/html"', "hreflang"])
def test_google_a_canonical_with_an_attribute_of_a_version_does_not_count(
    attribute: str, reader: Callable[..., Page]
) -> None:
    """https://developers.google.com/search/docs/crawling-indexing/consolidate-duplicate-urls ."""
    for page in (
        reader(f"<head><link rel=canonical {attribute} href=/a><link rel=canonical href=/b></head>"),
        reader("<p>", links=[f"</a>; {attribute}; rel=canonical, </b>; rel=canonical"]),
    ):
        assert page.canonicals == [f"{AT}/b"]
        assert page.canonical_faults[0].startswith("a canonical with the attribute ")


STREAMED = '<title>T</title><link rel="canonical" href="/a"/><meta name="description" content="d"/>'
SEGMENT = '<div hidden id="S:1f"><p>late</p></div>'
PLACED = '<script>$RB=[];$RC("B:1f","S:1f")</script>'


@pytest.mark.parametrize(
    ("body", "counts"),
    [
        (f"<p>x</p>{STREAMED}{SEGMENT}{PLACED}", True),
        (f"<p>x</p>{STREAMED}{PLACED}", True),  # when the script has run
        (f'<p>x</p>{STREAMED}<div hidden id="menu"></div>{PLACED}', False),
        (f"<p>x</p>{STREAMED}{SEGMENT}<script>x()</script>", False),
        (f"<p>x</p>{STREAMED}<p>y</p>{SEGMENT}{PLACED}", False),
        (f"<main>{STREAMED}{SEGMENT}{PLACED}</main>", False),
    ],
)
def test_next_a_canonical_that_is_streamed_after_the_head_counts(body: str, counts: bool) -> None:
    """https://nextjs.org/docs/app/api-reference/functions/generate-metadata#streaming-metadata : as it would in it."""
    page = read(f"<!doctype html><head></head><body>{body}")
    assert (page.canonicals, page.canonical_faults) == (
        ([f"{AT}/a"], ["a canonical is streamed after <head>, where Google may miss it"])
        if counts
        else ([], ["a canonical outside <head> does not count"])
    )


@pytest.mark.parametrize("href", ["", " ", "file:///home/x.html", "http://[", "javascript:x", "ftp://example.com/"])
def test_ours_an_invalid_canonical_counts_as_none_and_is_explained(href: str) -> None:
    page = read(f"<link rel=canonical href='{href}'>")
    assert page.canonicals == []
    assert len(page.canonical_faults) == 1
    assert "canonical" in page.canonical_faults[0]


def test_rfc8288_headers_resolve_against_the_document_and_not_its_base() -> None:
    page = read(
        "<base href=/base/><link rel=next href=n>", links=["<c>; rel=canonical, <p>; rel=prev"], refresh="9; url=r"
    )
    assert page.canonicals == [f"{AT}/dir/c"]
    assert dict(page.links) == {
        f"{AT}/base/n": DiscoveredBy.PAGINATION,
        f"{AT}/dir/c": DiscoveredBy.CANONICAL,
        f"{AT}/dir/p": DiscoveredBy.PAGINATION,
        f"{AT}/dir/r": DiscoveredBy.REFRESH,
    }


def test_rfc8288_several_links_quotes_and_escapes() -> None:
    value = (
        '<https://a.example/x,y;z>; rel="next  PREV"; title="a, <b>; \\"c\\"" , </d>;rel=alternate;hreflang=de ;x,'
        " <e>; rel=a; rel=canonical, garbage, <f>"
    )
    parsed = parse_link_header(value)
    assert [link.target for link in parsed] == ["https://a.example/x,y;z", "/d", "e", "f"]
    assert parsed[0].rels == ("next", "prev")
    assert parsed[0].params["title"] == 'a, <b>; "c"'
    assert parsed[1].params == {"rel": "alternate", "hreflang": "de", "x": ""}
    assert parsed[2].rels == ("a",)
    assert parsed[3].rels == ()


@pytest.mark.parametrize(
    "value", ["", "<", "<a", "a>", ";;;", '<a>;rel="x', ",,,", "<a>;=;rel=next", "<>; rel=canonical"]
)
def test_rfc8288_malformed_headers_raise_nothing(value: str) -> None:
    for link in parse_link_header(value):
        assert isinstance(link.target, str)
    assert read("", links=[value]).canonicals == []


def test_rfc8288_a_link_with_another_anchor_is_not_about_us() -> None:
    assert (
        read("<p>", links=["</x>; rel=canonical; anchor='/other'", '</y>; rel=canonical; anchor="/other"']).canonicals
        == []
    )
    assert read("<p>", links=['</y>; rel=canonical; anchor="#top"']).canonicals == [f"{AT}/y"]


@pytest.mark.parametrize(
    ("content", "asked"),
    [
        ("0;url=/x", (0, "/x")),
        ("0; URL='/x'", (0, "/x")),
        (' 5 , url = "/x" trailing', (5, "/x")),
        ("0;/x", (0, "/x")),
        ("0 /x", (0, "/x")),
        ("0.9;url=/x", (0, "/x")),
        (".5;url=/x", (0, "/x")),
        ("3", (3, "")),
        ("0;url='/x", (0, "/x")),
        ("0;url=url=/x", (0, "url=/x")),
        ("0;urlx", (0, "urlx")),
        ("99999999999999;url=/x", (MAX_SECONDS, "/x")),
        ("url=/x", None),
        ("x;url=/x", None),
        ("5x;url=/x", None),
        ("-1;url=/x", None),
        ("", None),
    ],
)
def test_whatwg_declarative_refresh(content: str, asked: tuple[int, str] | None) -> None:
    assert parse_refresh(content) == asked


def test_ours_an_immediate_refresh_is_a_redirect_and_a_later_one_a_link() -> None:
    assert read("<meta http-equiv=Refresh content='0; url=/x'>").refresh == f"{AT}/x"
    assert read("<meta http-equiv=Refresh content='0; url=/x'>").links == []
    later = read("<meta http-equiv=refresh content='1; url=/x'>")
    assert (later.refresh, dict(later.links)) == (None, {f"{AT}/x": DiscoveredBy.REFRESH})
    patient = read("<meta http-equiv=refresh content='3; url=/x'>", options=ReadOptions(refresh_limit=5.0))
    assert patient.refresh == f"{AT}/x"
    assert read("<p>", refresh="0; url=/h").refresh == f"{AT}/h"


def test_ours_a_reload_is_no_redirect() -> None:
    for content in ("0", "0;url=", f"0;url={URL}", "0;url=#top"):
        page = read(f"<meta http-equiv=refresh content='{content}'>")
        assert (page.refresh, page.links) == (None, [])


def test_ours_a_refresh_for_browsers_without_scripts_is_a_link() -> None:
    page = read("<head><noscript><meta http-equiv=refresh content='0;url=/nojs'></noscript></head>")
    assert (page.refresh, dict(page.links)) == (None, {f"{AT}/nojs": DiscoveredBy.REFRESH})


def test_ours_a_canonical_for_browsers_without_scripts_does_not_count() -> None:
    page = read("<head><noscript><link rel=canonical href=/nojs></noscript><link rel=canonical href=/js></head>")
    assert page.canonicals == [f"{AT}/js"]
    assert page.canonical_faults == ["a canonical inside <noscript> does not count"]


def test_google_robots_of_metas_and_headers_add_up() -> None:
    page = read("<meta name=ROBOTS content='NoFollow'><meta name=siteatlas content=noindex>")
    assert page.nofollow
    assert "noindex" in page.noindex
    both = read("<meta name=siteatlas content=noindex><meta name=robots content='noindex, x' property=y>")
    assert both.noindex == 'meta robots "noindex, x"'
    assert read("<meta name=googlebot content=noindex>").noindex == ""
    assert read("<p>", robots=["googlebot: noindex", "nofollow"]).noindex == ""
    assert read("<p>", robots=["googlebot: noindex", "nofollow"]).nofollow
    assert read("<a href=/x>", robots=["none"]).links == [(f"{AT}/x", 2)]
    assert "none" in read("<p>", robots=["none"]).noindex
    assert read("<body><p>x<meta name=robots content=noindex>").noindex != ""
    assert read("<meta name=other content=noindex>", options=ReadOptions(token="other")).noindex != ""


def test_google_unavailable_after_is_judged_at_now() -> None:
    assert read("<meta name=robots content='unavailable_after: 2023-01-01'>").noindex != ""
    assert read("<meta name=robots content='unavailable_after: 2099-01-01'>").noindex == ""
    assert NOW > 1_672_531_200


def test_google_noimageindex_leaves_images_out() -> None:
    assert read("<img src=/i.png>").images == [f"{AT}/i.png"]
    assert read("<meta name=robots content=noimageindex><img src=/i.png>").images == []


def test_google_hreflang_of_html_and_header() -> None:
    page = read(
        "<link rel=alternate hreflang=EN-gb href=/en><link rel=alternate hreflang=x-default href=/>"
        "<link rel=alternate hreflang=zh-hant-tw href=/tw><link rel=next hreflang=fr href=/fr>",
        links=['</de>; rel="alternate"; hreflang="de"'],
    )
    assert [(one.hreflang, one.href) for one in page.alternates] == [
        ("en-GB", f"{AT}/en"),
        ("x-default", f"{AT}/"),
        ("zh-Hant-TW", f"{AT}/tw"),
        ("de", f"{AT}/de"),
    ]
    assert dict(page.links)[f"{AT}/de"] == DiscoveredBy.ALTERNATE
    assert read("<link rel=alternate hreflang=de href=/de>", options=ReadOptions(alternates=False)).alternates == []


def test_html_a_feed_in_a_language_is_no_version_of_the_page() -> None:
    feed = "<link rel=alternate type='Application/RSS+xml; charset=utf-8' hreflang=en href=/rss.xml>"
    page = read(
        feed + "<link rel=alternate type=text/html hreflang=de href=/de>",
        links=['</atom>; rel="alternate"; type="application/atom+xml"; hreflang="de"'],
    )
    assert [(one.hreflang, one.href) for one in page.alternates] == [("de", f"{AT}/de")]
    assert dict(page.links)[f"{AT}/rss.xml"] == DiscoveredBy.ALTERNATE


@pytest.mark.parametrize(
    "code",
    ["", "english", "en-UK", "en_GB", "*", "e", "en-", "en-GB-x", "12", "en\u212a", "jp", "cz-CZ", "en-XX", "de-EU"],
)
def test_google_bad_hreflang_is_a_fault_and_still_a_link(code: str) -> None:
    page = read(f"<link rel=alternate hreflang='{code}' href=/x>")
    assert page.alternates == []
    assert len(page.faults) == 1
    assert dict(page.links) == {f"{AT}/x": DiscoveredBy.ALTERNATE}


def test_ours_faults_and_alternates_are_bounded() -> None:
    page = read("".join(f"<link rel=alternate hreflang=bad{n} href=/{n}>" for n in range(3_000)))
    assert 1 <= len(page.faults) <= 50
    page = read("".join(f"<link rel=alternate hreflang=de href=/{n}>" for n in range(3_000)))
    assert len(page.alternates) == 1_000


def test_whatwg_query_of_a_link_is_in_the_encoding_of_the_page() -> None:
    body = '<meta charset=shift_jis><a href="/\u65e5?q=\u65e5">'.encode("shift_jis")
    assert list(links(body, content_type="text/html")) == [f"{AT}/%E6%97%A5?q=%93%FA"]
    assert list(links("<a href='/\u65e5?q=\u65e5'>")) == [f"{AT}/%E6%97%A5?q=%E6%97%A5"]


def test_whatwg_invalid_utf8_in_a_link_is_stable() -> None:
    assert list(links(b"<a href='/\xff\xfe'>")) == [f"{AT}/%EF%BF%BD%EF%BF%BD"]
    assert list(links(b"<a href='/\xed\xa0\x80'>")) == list(links(b"<a href='/\xed\xa0\x80'>"))


@pytest.mark.parametrize("body", ["", " \n\t "])
def test_ours_an_empty_answer_is_no_page_whatever_its_label(body: str) -> None:
    assert not read(body).is_html
    assert not scan(body).is_html


# ---------------------------------------------------------------- what Googlebot does not read

DATA = '<script type="application/ld+json">{"@type": "Article", "name": "a"}</script>'
PADDING = f"<!--{'x' * GOOGLEBOT_BYTES}-->"


@pytest.mark.parametrize("reader", [read, scan])
@pytest.mark.parametrize(
    ("before", "after", "unread"),
    [
        ("<head>", "<link rel=canonical href=/c></head>", "its canonical"),
        ("<head>", "<meta name=robots content=noindex></head>", "its noindex"),
        ("<head>", "<meta name=googlebot content=noindex></head>", "its noindex"),
        ("<body><a href=/a>", "<a href=/a><a href=/b>", f"1 link (such as {AT}/b)"),
        (f"<body>{DATA}", DATA.replace('"a"', '"b"'), "1 block of JSON-LD"),
        ("<head>", "<link rel=alternate hreflang=de href=/de></head>", "hreflang versions"),
        ("<body><p>One", "<p>Two", "only text"),
    ],
)
def test_google_what_lies_behind_two_megabytes_is_noted(
    reader: Callable[[str], Page], before: str, after: str, unread: str
) -> None:
    assert reader(f"{before}{PADDING}{after}").notes == [
        f"google.size: its HTML has 2.0 MB; Googlebot does not read the last part: {unread}"
    ]


def test_google_a_page_within_the_limit_or_with_noindex_in_it_loses_nothing() -> None:
    assert read(f"<p>{'x' * (GOOGLEBOT_BYTES - 3)}").notes == []
    assert read(f"<p>{'x' * (GOOGLEBOT_BYTES - 2)}").notes != []
    assert read(f"<head><meta name=robots content=noindex>{PADDING}<a href=/b>").notes == []


def test_google_the_limit_is_in_bytes_of_the_page_as_sent() -> None:
    page = "<p>" + "\u00e9" * (GOOGLEBOT_BYTES // 2)
    assert read(page.encode("latin-1"), content_type="text/html; charset=iso-8859-1").notes == []
    assert read(page).notes != []


def test_google_a_canonical_counts_wherever_it_stands_among_the_links_of_the_head() -> None:
    page = read(
        "<head><link rel=stylesheet href=/s.css><link href=/x><link rel=canonical href=''>"
        "<link rel='next canonical' href=/a><link rel=next href=/n><link rel=CANONICAL href='tel:1'>"
        "<link rel=canonical href=/b><link rel=icon href=/i></head>",
        links=["</style.css>; rel=preload", "</h>; rel=canonical"],
    )
    assert page.canonicals == [f"{AT}/a", f"{AT}/b", f"{AT}/h"]
    assert page.canonical_faults == [
        "the canonical is empty",
        "the canonical 'tel:1' does not count: only http and https are crawled, not 'tel:'",
    ]


@pytest.mark.parametrize("element", ["noscript", "body"])
def test_google_a_canonical_that_does_not_count_hides_none_that_does(element: str) -> None:
    outside = f"<{element}><link rel=canonical href=/x></{element}>"
    before, behind = (outside, "") if element == "noscript" else ("", outside)
    page = read(f"<head>{before}<link rel=canonical href=/a></head>{behind}")
    assert page.canonicals == [f"{AT}/a"]
    why = "inside <noscript>" if element == "noscript" else "outside <head>"
    assert page.canonical_faults == [f"a canonical {why} does not count"]


def test_ours_canonicals_beyond_the_bytes_of_a_document_are_refused_and_the_first_count() -> None:
    many = "".join(f"<link rel=canonical href=/{n}{'x' * 8_000}>" for n in range(600))
    page = read(f"<head>{many}</head>")
    assert 500 < len(page.canonicals) < 600
    assert page.canonical_faults == ["the canonical does not count: it is refused"]
