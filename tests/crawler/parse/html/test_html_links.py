"""The targets of a page: which elements link, what merges, where they resolve, what is no link."""

import pytest
from htmlpages import URL, links, read

from crawler.model import DiscoveredBy
from crawler.parse.html.page import ReadOptions


@pytest.mark.parametrize(
    ("markup", "flags"),
    [
        ("<a href=/x>", DiscoveredBy.LINK),
        ("<A HREF='/x'>", DiscoveredBy.LINK),
        ("<map><area href=/x></map>", DiscoveredBy.LINK),
        ("<svg><a xlink:href=/x></a></svg>", DiscoveredBy.LINK),
        ("<svg><a href=/x></a></svg>", DiscoveredBy.LINK),
        ("<iframe src=/x></iframe>", DiscoveredBy.FRAME),
        ("<frameset><frame src=/x></frameset>", DiscoveredBy.FRAME),
        ("<noscript><a href=/x>x</a></noscript>", DiscoveredBy.LINK),
        ("<link rel=canonical href=/x>", DiscoveredBy.CANONICAL),
        ("<link rel='prev' href=/x>", DiscoveredBy.PAGINATION),
        ("<link rel=NEXT href=/x>", DiscoveredBy.PAGINATION),
        ("<link rel=amphtml href=/x>", DiscoveredBy.AMP),
        ("<link rel='alternate' media='only screen' href=/x>", DiscoveredBy.ALTERNATE),
        ("<link rel='alternate' type='application/rss+xml' href=/x>", DiscoveredBy.ALTERNATE),
        ("<link rel='alternate' type='Application/Atom+XML; charset=utf-8' href=/x>", DiscoveredBy.ALTERNATE),
        ("<link rel='alternate' hreflang=de href=/x>", DiscoveredBy.ALTERNATE),
        ("<link rel='alternate next' href=/x>", DiscoveredBy.ALTERNATE | DiscoveredBy.PAGINATION),
        ("<meta http-equiv=refresh content='5; url=/x'>", DiscoveredBy.REFRESH),
    ],
)
def test_whatwg_elements_that_link(markup: str, flags: int) -> None:
    assert links(markup) == {"https://example.com/x": flags}


@pytest.mark.parametrize(
    "markup",
    [
        "<!-- <a href=/x> -->",
        "<script><a href=/x></script>",
        "<script type=text/template><a href=/x></script>",
        "<style><a href=/x></style>",
        "<template><a href=/x></template>",
        "<textarea><a href=/x></textarea>",
        "<title><a href=/x></title>",
        "<link rel=stylesheet href=/x>",
        "<link rel='alternate stylesheet' href=/x>",
        "<link rel='alternate' type='application/json+oembed' href=/x>",
        "<link rel=preload href=/x>",
        "<link rel=canonical>",
        "<a>no href</a>",
        "<a name=x>",
        "<a href='mailto:x@example.com'>",
        "<a href='javascript:void(0)'>",
        "<a href='ftp://example.com/x'>",
        "<a href='http://[bad'>",
        "<form action=/x></form>",
        "<iframe srcdoc='<a href=/x>'></iframe>",
    ],
)
def test_whatwg_markup_that_is_no_link(markup: str) -> None:
    assert links(markup) == {}


def test_ours_each_target_once_with_flags_merged_in_document_order() -> None:
    page = read("<a href=b><a href=a><a href=b#top><a href='./b'><a href=c>")
    assert [url.rpartition("/")[2] for url, _ in page.links] == ["b", "a", "c"]


def test_ours_a_link_to_the_page_itself_is_reported() -> None:
    assert links("<a href='#top'>") == {URL: DiscoveredBy.LINK}
    assert links("<a href=''>") == {URL: DiscoveredBy.LINK}
    assert links("<a href>") == {URL: DiscoveredBy.LINK}


@pytest.mark.parametrize(
    ("rels", "flags"),
    [
        (["nofollow"], DiscoveredBy.NOFOLLOW),
        (["NoFollow noopener"], DiscoveredBy.NOFOLLOW),
        (["external nofollow"], DiscoveredBy.NOFOLLOW),
        (["nofollow", ""], DiscoveredBy.LINK | DiscoveredBy.NOFOLLOW),
        (["", "nofollow"], DiscoveredBy.LINK | DiscoveredBy.NOFOLLOW),
        (["ugc"], DiscoveredBy.LINK),
        (["sponsored"], DiscoveredBy.LINK),
        (["dofollow-nofollow"], DiscoveredBy.LINK),
    ],
)
def test_google_nofollow_is_a_flag_and_a_followed_link_stays_visible(rels: list[str], flags: int) -> None:
    markup = "".join(f"<a rel='{rel}' href=/x>" for rel in rels)
    assert links(markup) == {"https://example.com/x": flags}
    area = "".join(f"<area rel='{rel}' href=/x>" for rel in rels)
    assert links(area) == {"https://example.com/x": flags}


def test_ours_an_anchor_without_href_hides_no_other() -> None:
    assert links("<a name=q><a href=/x><svg><a xlink:href=/y></svg>") == {
        "https://example.com/x": DiscoveredBy.LINK,
        "https://example.com/y": DiscoveredBy.LINK,
    }


@pytest.mark.parametrize(
    ("bases", "target"),
    [
        ("<base href=/other/>", "https://example.com/other/x"),
        ("<base href='https://cdn.example/a/b'>", "https://cdn.example/a/x"),
        ("<base href=/one/><base href=/two/>", "https://example.com/one/x"),
        ("<base target=_top><base href=/two/>", "https://example.com/two/x"),
        ("<base href='data:,x'><base href=/two/>", "https://example.com/two/x"),
        ("<base href='http://[bad'>", "https://example.com/dir/x"),
        ("<p></p><base href=/late/>", "https://example.com/late/x"),
    ],
)
def test_whatwg_first_valid_base_href_counts(bases: str, target: str) -> None:
    assert list(links(f"{bases}<a href=x>")) == [target]


def test_ours_too_many_links_are_cut_and_said() -> None:
    page = read("".join(f"<a href={n}>" for n in range(30)), options=ReadOptions(max_links=20))
    assert len(page.links) == 20
    assert page.faults == ["links cut at 20 (parse.max_links)"]
    exact = read("".join(f"<a href={n}>" for n in range(20)), options=ReadOptions(max_links=20))
    assert exact.faults == []


def test_ours_of_the_urls_that_a_long_base_makes_too_long_a_few_are_kept_for_the_report() -> None:
    anchors = "".join(f"<a href=x{n}>" for n in range(1_000))
    page = read(f"<base href='/{'y' * 60_000}/'>{anchors}<a href=//h.test/z>")
    assert len(page.links) == 6
    assert page.links[-1] == ("https://h.test/z", DiscoveredBy.LINK)


def test_ours_the_urls_of_one_page_have_few_megabytes_and_the_canonical_counts() -> None:
    alternates = "".join(f"<link rel=alternate hreflang=en href=a{n}>" for n in range(1_000))
    page = read(f"<link rel=canonical href=/c><base href='/{'y' * 8_000}/'>{alternates}<img src=i>")
    assert sum(len(url) for url, _ in page.links) <= 4 * 2**20
    assert sum(len(alternate.href) for alternate in page.alternates) <= 4 * 2**20
    assert page.faults[0] == "links cut at 4,194,304 bytes of URLs (parse.max_link_bytes)"
    assert page.canonicals == ["https://example.com/c"]


def test_ours_title_is_one_clean_line() -> None:
    page = read(f"<title>\n A\x1b[31m\u202eb \t c&amp;d {'x' * 100_000}</title>")
    assert page.title.startswith("A[31mb c&d xxx")
    assert len(page.title) == 512


def test_whatwg_title_of_an_image_is_not_the_page_title() -> None:
    assert read("<body><svg><title>icon</title></svg><p>x").title == ""
    assert read("<head><title>page</title></head><svg><title>icon</title></svg>").title == "page"


def test_whatwg_language() -> None:
    assert read("<html lang='de-AT'>").language == "de-AT"
    assert read("<html xml:lang=fr>").language == "fr"
    assert read("<p>").language == ""
