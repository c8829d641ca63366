"""The bytes of a urlset and of a text sitemap: valid by the schemas, and to lxml what the entry was."""

from html import unescape
from typing import Any

import msgspec
import pytest
from entries import entries
from hypothesis import given, settings

from sitemap import Alternate, Child, Entry, Format, Image, News, SitemapError, Video
from sitemap import encoder as make
from sitemap.validation import entry_fault
from sitemap.writer.encoder import Encoder, plain_batch
from sitemap.writer.index import INDEX_FOOT, encode_child, index_head

pytestmark = pytest.mark.needs_schemas
S = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
I = "{http://www.google.com/schemas/sitemap-image/1.1}"  # noqa: E741
V = "{http://www.google.com/schemas/sitemap-video/1.1}"
N = "{http://www.google.com/schemas/sitemap-news/0.9}"
X = "{http://www.w3.org/1999/xhtml}"


def document(encoder: Encoder, *pages: Entry) -> bytes:
    bits = 0
    for page in pages:
        bits |= encoder.extensions(page)
    head, foot = encoder.head(bits, "2026-11-05"), encoder.foot()
    assert len(head) + len(foot) <= encoder.room(bits)
    return head + b"".join(map(encoder.entry, pages)) + foot


def parsed(data: bytes, schemas_check: Any = None) -> Any:
    from lxml import etree

    root = etree.fromstring(data, etree.XMLParser(huge_tree=True))
    if schemas_check is not None:
        schemas_check.assertValid(root)
    return root


def allowed(value: Any) -> Any:
    """A value without the characters that XML cannot hold, here told one by one."""
    if isinstance(value, str):
        return "".join(
            character
            for character in value
            if character in "\t\n\r"
            or "\x20" <= character <= "\ud7ff"
            or "\ue000" <= character <= "\ufffd"
            or character >= "\U00010000"
        )
    if isinstance(value, tuple):
        return tuple(map(allowed, value))
    if isinstance(value, msgspec.Struct):
        return type(value)(*(allowed(getattr(value, name)) for name in value.__struct_fields__))
    return value


def text(element: Any, name: str) -> str:
    return element.findtext(name) or ""


def number(element: Any, name: str, kind: Any = int) -> Any:
    return kind(element.findtext(name)) if element.find(name) is not None else None


def flag(word: str | None) -> bool | None:
    return None if word is None else {"yes": True, "no": False}[word]


def with_attribute(element: Any, name: str, attribute: str, *, first: bool = False) -> Any:
    found = element.find(name)
    if found is None:
        return None
    pair = (found.get(attribute) or "", found.text or "")
    return pair if first else pair[::-1]


def as_video(v: Any) -> Video:
    return Video(
        **{
            name: text(v, V + name)
            for name in (
                "thumbnail_loc", "title", "description", "content_loc", "player_loc", "expiration_date",
                "publication_date",
            )
        },
        duration=number(v, V + "duration"),
        rating=number(v, V + "rating", float),
        view_count=number(v, V + "view_count"),
        family_friendly=flag(v.findtext(V + "family_friendly")),
        restriction=with_attribute(v, V + "restriction", "relationship", first=True),
        platform=with_attribute(v, V + "platform", "relationship", first=True),
        requires_subscription=flag(v.findtext(V + "requires_subscription")),
        uploader=with_attribute(v, V + "uploader", "info"),
        live=flag(v.findtext(V + "live")),
        tags=tuple(tag.text for tag in v.findall(V + "tag")),
    )  # fmt: skip


def as_news(n: Any) -> News:
    return News(
        text(n, f"{N}publication/{N}name"),
        text(n, f"{N}publication/{N}language"),
        *(text(n, N + name) for name in ("publication_date", "title")),
    )


def as_entry(url: Any) -> Entry:
    """What lxml says of a ``url`` element."""
    article = url.find(N + "news")
    return Entry(
        text(url, S + "loc"),
        text(url, S + "lastmod"),
        text(url, S + "changefreq"),
        number(url, S + "priority", float),
        tuple(Image(text(i, I + "loc")) for i in url.findall(I + "image")),
        tuple(map(as_video, url.findall(V + "video"))),
        tuple(Alternate(link.get("hreflang"), link.get("href")) for link in url.findall(X + "link")),
        None if article is None else as_news(article),
    )


@given(entry=entries)
@settings(max_examples=200)
def test_ours_every_entry_is_valid_and_comes_back(entry: Entry, xsd: Any) -> None:
    assert not entry_fault(entry, "")
    encoder = make()
    assert not encoder.fault(entry)
    root = parsed(document(encoder, entry), xsd)
    meant = msgspec.structs.replace(allowed(entry), title="", summary="")
    assert [as_entry(url) for url in root] == [meant]


FULL = Entry(
    "https://example.com/",
    images=(Image("https://example.com/i.png"),),
    videos=(
        Video("https://example.com/t.jpg", "t", "d", player_loc="https://example.com/p"),
    ),
    news=News("P", "en", "2026-11-05", "t"),
)  # fmt: skip


def test_ours_only_what_is_used_is_declared(xsd: Any) -> None:
    pages = {
        frozenset(): Entry("https://example.com/"),
        frozenset({"image"}): Entry("https://example.com/", images=FULL.images),
        frozenset({"video"}): Entry("https://example.com/", videos=FULL.videos),
        frozenset({"news"}): Entry("https://example.com/", news=FULL.news),
        frozenset({"xhtml"}): Entry("https://example.com/", alternates=(Alternate("en", "https://example.com/en"),)),
    }
    for declared, page in pages.items():
        assert set(parsed(document(make(), page), xsd).nsmap) == {None, *declared}


@pytest.mark.parametrize(
    ("value", "written"), [(0.5, "0.5"), (1, "1"), (1.0, "1.0"), (0.0, "0.0"), (1e-5, "0.00001"), (1e-9, "0.0")]
)
def test_w3_numbers_are_decimals(value: float, written: str) -> None:
    assert f"<priority>{written}</priority>" in make().entry(Entry("https://example.com/", priority=value)).decode()


def test_sitemaps_org_text_is_a_url_a_line() -> None:
    encoder = make(Format.TEXT)
    pages = [FULL, Entry("https://example.com/é?a&b[0]=50%"), Entry("https://example.com/<>")]
    data = document(encoder, *pages)
    assert data.decode().split("\n") == [
        "https://example.com/",
        "https://example.com/é?a&b%5B0%5D=50%25",
        "https://example.com/<>",
        "",
    ]
    assert encoder.suffix == ".txt"


def test_w3_stylesheets_stand_before_the_root(xsd: Any) -> None:
    sheets = ["sitemap.xsl?v=1&<x>", "sitemap.css"]
    for data in (
        document(make(stylesheets=sheets), FULL),
        index_head(sheets) + encode_child(Child("https://example.com/s.xml?a&b", "2026-11-05")) + INDEX_FOOT,
    ):
        root = parsed(data, xsd)
        found = [root.getprevious().getprevious(), root.getprevious()]
        assert [(pi.target, pi.attrib["type"], unescape(pi.attrib["href"])) for pi in found] == [
            ("xml-stylesheet", "text/xsl", "sitemap.xsl?v=1&<x>"),
            ("xml-stylesheet", "text/css", "sitemap.css"),
        ]


@pytest.mark.parametrize("format", [Format.INDEX, Format.RSS1])
def test_ours_other_formats_are_not_written(format: Format) -> None:
    with pytest.raises(SitemapError, match="Choose urlset"):
        make(format)


def test_ours_a_batch_has_no_url_twice_in_a_row() -> None:
    directory = "https://example.com/"
    one, two = (Entry(f"{directory}{name}") for name in ("a", "b"))
    batch = plain_batch([one, two], directory, "")
    assert batch is not None
    assert batch.locs == [one.loc, two.loc]
    assert plain_batch([one, one], directory, "") is None
    assert plain_batch([one, two], directory, one.loc) is None
    assert plain_batch([], directory, "") is None
    assert plain_batch([one], directory, two.loc) is not None
    assert plain_batch([one, Entry("https://other.example/b")], directory, "") is None
