"""The outlines of a site: sections, titles, the files of an HTML sitemap, and llms.txt."""

import random
import re
from collections.abc import Iterable
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.model import Url
from crawler.publish.outlines import SiteOutline, SitePage, description_of, html_sitemap, llms_txt

BASE = "https://example.com/"


def site(paths: Iterable[tuple[str, str]]) -> list[SitePage]:
    return sorted(SitePage(Url(f"{BASE}{path}"), title) for path, title in paths)


def outline_of(pages: list[SitePage], max_sections: int = 100) -> SiteOutline:
    titles = {page.url: page.title for page in pages}
    return SiteOutline(BASE, Url(BASE), pages, lambda url: titles.get(url, ""), max_sections)


class Links(HTMLParser):
    """The links of a page with their texts, and its headings."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[tuple[str, str]] = []
        self.headings: list[str] = []
        self.names: set[str] = set()
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open = tag
        self.names.add(tag)
        if tag == "a":
            self.links.append((dict(attrs)["href"] or "", ""))
        if tag in ("h1", "h2"):
            self.headings.append("")

    def handle_data(self, data: str) -> None:
        if self._open == "a":
            self.links[-1] = (self.links[-1][0], data)
        if self._open in ("h1", "h2"):
            self.headings[-1] += data
        self._open = ""


SHOP = site(
    [
        ("", "The shop | Acme"),
        ("about", "About us | Acme"),
        ("a-post/", "A post | Acme"),
        ("boats/", "Our boats | Acme"),
        ("boats/red", "Red <boat> | Acme"),
        ("boats/blue_one.html", ""),
        ("java.base/a.b/C.html", "C | Acme"),
        ("java.base/a.b/D.html", ""),
        ("old-news/1", "One | Acme"),
        ("old-news/2", "Two | Acme"),
        ("old-news.html", ""),
    ]
)


def test_ours_a_small_site_is_one_page_by_section() -> None:
    ((name, text),) = html_sitemap(outline_of(SHOP), lambda: SHOP, "sitemap.html", 100)
    page = Links(text)
    assert name == "sitemap.html"
    assert page.headings == ["The shop", "Our boats", "Java.base", "Old news"]
    assert page.links == [
        (BASE, "The shop"),
        (f"{BASE}a-post/", "A post"),
        (f"{BASE}about", "About us"),
        (f"{BASE}boats/", "Our boats"),
        (f"{BASE}boats/blue_one.html", "Boats / blue one"),
        (f"{BASE}boats/red", "Red <boat>"),
        (f"{BASE}java.base/a.b/C.html", "C"),
        (f"{BASE}java.base/a.b/D.html", "Java.base / a.b / D"),
        (f"{BASE}old-news.html", "Old news"),
        (f"{BASE}old-news/1", "One"),
        (f"{BASE}old-news/2", "Two"),
    ]
    assert not page.names & {"script", "link", "img"}


@pytest.mark.parametrize("most", [100, 3])
def test_ours_pages_with_the_same_title_are_told_apart_by_their_paths(most: int) -> None:
    pages = site([("", "Shop"), ("boats/1", "Boat"), ("boats/2?a=<b>", "Boat"), ("boats/3", "Oar")])
    text = "".join(text for _, text in html_sitemap(outline_of(pages), lambda: pages, "sitemap.html", most))
    notes = dict(re.findall(r'href="https://example.com/([^"]*)">[^<]*</a>(?: <small>([^<]*)</small>)?', text))
    assert notes == {"": "", "boats/1": "/boats/1", "boats/2?a=&lt;b&gt;": "/boats/2?a=&lt;b&gt;", "boats/3": ""}


def test_ours_a_large_site_is_a_tree_of_pages() -> None:
    files = dict(html_sitemap(outline_of(SHOP), lambda: SHOP, "sitemap.html", 2))
    assert list(files)[-1] == "sitemap.html"
    assert Links(files["sitemap.html"]).links == [
        ("sitemap-pages.html", "The shop"),
        ("sitemap-boats.html", "Our boats"),
        ("sitemap-java.base.html", "Java.base"),
        ("sitemap-old-news.html", "Old news"),
    ]
    assert "<small>3</small>" in files["sitemap.html"]
    first, second = Links(files["sitemap-boats.html"]), Links(files["sitemap-boats-2.html"])
    assert first.links == [
        ("sitemap.html", "The shop"),
        (f"{BASE}boats/", "Our boats"),
        (f"{BASE}boats/blue_one.html", "Boats / blue one"),
        ("sitemap-boats-2.html", "2"),
    ]
    assert second.links[-1] == ("sitemap-boats.html", "1")


_NAMES = st.text(st.sampled_from("ab-._~%2F\u00e9 "), min_size=1, max_size=4)


@given(st.lists(st.lists(_NAMES, min_size=1, max_size=3), max_size=40), st.integers(1, 7), st.integers(1, 5))
def test_ours_each_page_stands_once_in_a_tree_of_any_site(paths: list[list[str]], most: int, sections: int) -> None:
    pages = sorted({SitePage(Url(f"{BASE}{'/'.join(path)}"), "T") for path in paths})
    files = list(html_sitemap(outline_of(pages, sections), lambda: pages, "sitemap.html", most))
    names = [name for name, _ in files]
    assert len(set(names)) == len(names)
    links = [link for _, text in files for link, _ in Links(text).links]
    assert sorted(link for link in links if link.startswith("https:")) == sorted(page.url for page in pages)
    assert {link for link in links if not link.startswith("https:")} <= set(names)
    assert len(names) == 1 or set(names) <= set(links)


def test_ours_the_name_of_the_site_leaves_titles_only_if_most_have_it() -> None:
    mixed = site([("", "Home"), ("a", "Boats - Red"), ("b", "Cars - Blue"), ("c", "Trains \u2013 Green")])
    outline = outline_of(mixed)
    assert [outline.title_of(page) for page in mixed] == ["Home", "Boats - Red", "Cars - Blue", "Trains \u2013 Green"]


def test_llmstxt_org_a_title_a_summary_and_lists_of_links() -> None:
    notes = {BASE: "All about [boats].", f"{BASE}boats/red": "A red *boat*."}
    text = llms_txt(
        outline_of(SHOP), SHOP, lambda page: notes.get(page.url, ""), f"{BASE}sitemap(1).xml", max_links=100
    )
    assert text.startswith(
        "# The shop\n\n> All about \\[boats\\].\n\n## The shop\n\n- [The shop](https://example.com/)"
    )
    assert "## Our boats\n\n- [Our boats](https://example.com/boats/)\n" in text
    assert "- [Red \\<boat\\>](https://example.com/boats/red): A red \\*boat\\*.\n" in text
    assert text.endswith("\n## Optional\n\n- [Sitemap](https://example.com/sitemap%281%29.xml)\n")
    # https://llmstxt.org/#format: one h1, h2 headings, and links as "[name](url)", perhaps with ": notes"
    lines = [line for line in text.splitlines() if line]
    assert all(re.match(r"# |> |## |- \[.+\]\(https?://[^() ]+\)(: .+)?$", line) for line in lines)


def test_ours_llms_txt_has_the_pages_with_the_shortest_paths() -> None:
    text = llms_txt(outline_of(SHOP), SHOP, lambda _: "", BASE, max_links=4)
    links = re.findall(r"\]\((.+?)\)", text)
    assert links == [BASE, f"{BASE}a-post/", f"{BASE}about", f"{BASE}boats/", BASE]


def test_ours_no_two_sections_share_a_file() -> None:
    names = ("pages", "docs", "docs-2", "Docs", "docs-bf1b871bb202", "\u00e9t\u00e9", "%C3%A9t%C3%A9", "...", "a.", "a")
    pages = site((f"{name}/{number}", "T") for name in names for number in range(7))
    pages = sorted([*pages, *site((f"top-{number}", "T") for number in range(7))])
    files = [name for name, _ in html_sitemap(outline_of(pages), lambda: pages, "sitemap.html", 3)]
    assert len({name.lower() for name in files}) == len(files) > 3 * len(names)
    assert {"sitemap-pages.html", "sitemap-docs.html", "sitemap-docs-2.html"} <= set(files)


def test_ours_a_section_with_a_long_name_has_a_file_that_every_file_system_stores() -> None:
    pages = site((f"{name * 1000}/{number}", "T") for name in ("x", "%C3%A9") for number in range(5))
    names = [name for name, _ in html_sitemap(outline_of(pages), lambda: pages, "sitemap.html", 3)]
    assert max(map(len, names)) < 200


def test_ours_the_files_of_a_section_link_to_those_near_them() -> None:
    pages = site((f"{number:05}", "T") for number in range(3000))
    files = dict(html_sitemap(outline_of(pages), lambda: pages, "sitemap.html", 10))
    texts = [text for _, text in Links(files["sitemap-pages-150.html"]).links[11:]]
    assert texts == ["1", *(str(number) for number in range(100, 201) if number != 150), "300"]
    assert sum(map(len, files.values())) < 10_000 * len(files)


def test_ours_the_pages_of_another_host_are_a_section() -> None:
    blog = "https://blog.example.com/"
    urls = [(BASE, "Home"), (blog, "The blog"), (f"{blog}a", ""), (f"{blog}b/c", "")]
    pages = sorted(SitePage(Url(url), title) for url, title in urls)
    outline = outline_of(pages)
    assert [section.heading for section in outline.sections(pages)] == ["Home", "The blog"]
    assert outline.title_of(SitePage(Url(f"{blog}a"), "")) == "Blog.example.com / a"


@pytest.mark.parametrize("name", ["-", "_", "%20", "%E2%80%AE"])
def test_ours_a_section_whose_name_has_no_words_has_a_heading(name: str) -> None:
    pages = site((f"{name}/{number}", "T") for number in range(3))
    assert [section.heading for section in outline_of(pages).sections(pages)] == [name]


def test_ours_llms_txt_asks_for_the_section_of_a_page_once() -> None:
    pages = site((f"s{number}/{name}", "T") for number in range(200) for name in "ab")

    class Counted(SiteOutline):
        asked = 0

        def section(self, url: Url) -> str:
            Counted.asked += 1
            return super().section(url)

    llms_txt(Counted(BASE, Url(BASE), pages, lambda _: "", 1_000), pages, lambda _: "", BASE, max_links=1_000)
    assert Counted.asked <= 3 * len(pages)


@pytest.mark.parametrize(
    ("title", "written"),
    [
        ("Learn C #", "Learn C \\#"),
        ("C# and F#", "C# and F#"),
        ("AT&T", "AT&T"),
        ("&lt;b&gt; and &#60;", "\\&lt;b\\&gt; and \\&#60;"),
        ("~~old~~", "\\~\\~old\\~\\~"),
    ],
)
def test_commonmark_a_title_is_text(title: str, written: str) -> None:
    pages = site([("", title)])
    text = llms_txt(outline_of(pages), pages, lambda _: "", BASE, max_links=1)
    assert text.startswith(f"# {written}\n")


@pytest.mark.parametrize(
    ("summary", "written"),
    [
        ("1. FC K\u00f6ln", "1\\. FC K\u00f6ln"),
        ("- a list?", "\\- a list?"),
        ("# a heading?", "\\# a heading?"),
        ("1.5 l of water", "1.5 l of water"),
    ],
)
def test_commonmark_a_summary_is_text(summary: str, written: str) -> None:
    text = llms_txt(outline_of(SHOP), SHOP, lambda _: summary, BASE, max_links=1)
    assert f"\n> {written}\n" in text


@pytest.mark.parametrize(
    ("markup", "description"),
    [
        ('<meta name="description" content="One &amp;\n two">', "One & two"),
        ("<META content=short NAME=Description>", "short"),
        ("<meta property='og:description' content='open'>", "open"),
        ("<meta property='og:description' content='open'><meta name=description content='own'>", "own"),
        ('<meta name="description" content="Python >= 3.11, < 4">', "Python >= 3.11, < 4"),
        ("<meta name=description content=it's>", "it's"),
        ("<meta content=it's name=x><meta name=description content='own'>", "own"),
        ("<meta name=description>", ""),
        ("<meta name=keywords content=a>", ""),
        ("", ""),
    ],
)
def test_html_the_description_is_that_of_the_meta_element(markup: str, description: str) -> None:
    assert description_of(markup) == description


def test_ours_a_description_is_short_and_on_one_line() -> None:
    words = " ".join(random.Random(1).choices(["boat", "red\n", "\u200bblue"], k=500))
    described = description_of(f'<meta name="description" content="{words}">')
    assert len(described) <= 300
    assert "\n" not in described
