"""The bytes of a urlset and of a text sitemap: valid by the schemas, and to lxml what the entry was."""

from html import unescape
from typing import Any

import msgspec
import pytest
from entries import entries
from hypothesis import given, settings

from sitemap import RETIRED, Alternate, Child, Entry, Format, Image, News, Price, SitemapError, TvShow, Video
from sitemap import encoder as make
from sitemap.validation import entry_fault, retired_faults
from sitemap.writer.encoder import Encoder, plain_batch
from sitemap.writer.index import INDEX_FOOT, encode_child, index_head

pytestmark = pytest.mark.needs_schemas
S = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
I = "{http://www.google.com/schemas/sitemap-image/1.1}"  # noqa: E741
V = "{http://www.google.com/schemas/sitemap-video/1.1}"
N = "{http://www.google.com/schemas/sitemap-news/0.9}"
M = "{http://www.google.com/schemas/sitemap-mobile/1.0}"
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
    player = v.find(V + "player_loc")
    show = v.find(V + "tvshow")
    return Video(
        **{
            name: text(v, V + name)
            for name in (
                "thumbnail_loc", "title", "description", "content_loc", "player_loc", "expiration_date",
                "publication_date", "category",
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
        gallery_loc=with_attribute(v, V + "gallery_loc", "title"),
        prices=tuple(
            Price(p.text or "", *(p.get(name, "") for name in ("currency", "type", "resolution")))
            for p in v.findall(V + "price")
        ),
        tvshow=None
        if show is None
        else TvShow(
            *(text(show, V + name) for name in ("show_title", "video_type", "episode_title")),
            *(number(show, V + name) for name in ("season_number", "episode_number")),
            text(show, V + "premier_date"),
        ),
        allow_embed=None if player is None else flag(player.get("allow_embed")),
        autoplay="" if player is None else player.get("autoplay", ""),
        segments=tuple(
            (s.text, int(s.get("duration")) if "duration" in s.attrib else None)
            for s in v.findall(V + "content_segment_loc")
        ),
        ids=tuple((i.get("type"), i.text) for i in v.findall(V + "id")),
    )  # fmt: skip


def as_news(n: Any) -> News:
    return News(
        text(n, f"{N}publication/{N}name"),
        text(n, f"{N}publication/{N}language"),
        *(text(n, N + name) for name in ("publication_date", "title", "access", "genres", "keywords", "stock_tickers")),
    )


def as_entry(url: Any) -> Entry:
    """What lxml says of a ``url`` element."""
    article = url.find(N + "news")
    return Entry(
        text(url, S + "loc"),
        text(url, S + "lastmod"),
        text(url, S + "changefreq"),
        number(url, S + "priority", float),
        tuple(
            Image(*(text(i, I + name) for name in ("loc", "caption", "geo_location", "title", "license")))
            for i in url.findall(I + "image")
        ),
        tuple(map(as_video, url.findall(V + "video"))),
        tuple(Alternate(link.get("hreflang"), link.get("href")) for link in url.findall(X + "link")),
        None if article is None else as_news(article),
        mobile=url.find(M + "mobile") is not None,
    )


def without_attributes_of_nothing(video: Video) -> Video:
    """Of a video without a player, what its player's attributes would be is not written."""
    return video if video.player_loc else msgspec.structs.replace(video, allow_embed=None, autoplay="")


@given(entry=entries)
@settings(max_examples=200)
def test_ours_every_entry_is_valid_and_comes_back(entry: Entry, xsd: Any) -> None:
    assert not entry_fault(entry, "")
    encoder = make(retired=RETIRED)
    assert not encoder.fault(entry)
    root = parsed(document(encoder, entry), xsd)
    meant = msgspec.structs.replace(
        allowed(entry),
        title="",
        summary="",
        videos=tuple(without_attributes_of_nothing(allowed(video)) for video in entry.videos),
    )
    assert [as_entry(url) for url in root] == [meant]


@given(entry=entries)
@settings(max_examples=50)
def test_google_retired_tags_are_left_out_unless_named(entry: Entry, xsd: Any) -> None:
    root = parsed(document(make(), entry), xsd)
    found = as_entry(root[0])
    assert not list(retired_faults(found))
    for image in found.images:
        assert image == Image(image.loc)
    kept = Video.__struct_fields__[: Video.__struct_fields__.index("category")]
    for video, meant in zip(found.videos, map(allowed, entry.videos), strict=True):
        values = {name: getattr(meant, name) for name in kept}
        assert video == Video(**values)
    if found.news and entry.news:
        assert found.news == News(*(getattr(allowed(entry.news), n) for n in News.__struct_fields__[:4]))
    assert not found.mobile


FULL = Entry(
    "https://example.com/",
    images=(Image("https://example.com/i.png", "c", "g", "t", "https://example.com/licence"),),
    videos=(
        Video(
            "https://example.com/t.jpg", "t", "d", player_loc="https://example.com/p",
            category="c", gallery_loc=("https://example.com/g", "G"), prices=(Price("1.99", "EUR"),),
            tvshow=TvShow("s", "clip"), allow_embed=True, autoplay="ap=1",
            segments=(("https://example.com/s.mp4", 60),), ids=(("url", "https://example.com/"),),
        ),
    ),
    news=News("P", "en", "2026-11-05", "t", "Subscription", "Blog", "k", "NASDAQ:A"),
    mobile=True,
)  # fmt: skip


@pytest.mark.parametrize("name", RETIRED)
def test_google_each_retired_tag_can_be_asked_for_alone(name: str, xsd: Any) -> None:
    root = parsed(document(make(retired=[name]), FULL), xsd)
    tag, _, attribute = name.partition("@")
    prefix, _, local = tag.partition(":")
    found = [element for element in root.iter("{*}" + local) if element.prefix == prefix]
    assert found
    assert not attribute or all(attribute in element.attrib for element in found)
    bare = parsed(document(make(), FULL), xsd)
    assert len(list(root.iter())) - len(list(bare.iter())) in ({0} if attribute else {1, 3})


def test_google_only_the_retired_tags_that_are_asked_for_must_be_valid() -> None:
    page = Entry("https://example.com/", images=(Image("https://example.com/i.png", license="no URL"),))
    assert make(retired=["image:license"]).fault(page).startswith("image:license")
    assert make(retired=["image:caption", "video:price"]).fault(page) == ""
    assert make().fault(page) == ""


@pytest.mark.parametrize(("name", "near"), [("video:prise", "video:price"), ("caption", "image:caption")])
def test_ours_an_unknown_retired_tag_is_refused_with_the_nearest(name: str, near: str) -> None:
    with pytest.raises(SitemapError, match=near):
        make(retired=[name])


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
    assert set(parsed(document(make(retired=RETIRED), Entry("https://example.com/", mobile=True)), xsd).nsmap) == {
        None,
        "mobile",
    }


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
