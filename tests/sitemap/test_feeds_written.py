"""Feeds that are written: well-formed to lxml, and to feedparser and the reader what the entries were."""

import calendar
import html
from datetime import UTC, datetime
from typing import Any

import feedparser
import msgspec
import pytest
from entries import alternates, images, moments, texts, urls, videos, words
from hypothesis import given, settings
from hypothesis import strategies as st
from test_encoding import allowed, document, parsed

from sitemap import Alternate, Channel, Entry, Format, Image, News, SitemapError, Video, read
from sitemap import encoder as make

A = "{http://www.w3.org/2005/Atom}"
M = "{http://search.yahoo.com/mrss/}"
D = "{http://purl.org/dc/terms/}"
CHANNEL = Channel(
    "Boats & <more>", "https://example.com/?a&b", "All \x00boats", "en-GB", "https://example.com/feed.xml"
)
FEEDS = [Format.RSS, Format.ATOM]
dated = st.builds(
    Entry,
    urls,
    moments,
    images=st.lists(images, max_size=2).map(tuple),
    videos=st.lists(videos, max_size=2).map(tuple),
    alternates=st.lists(alternates, max_size=3).map(tuple),
    title=words,
    summary=texts,
)
VIDEO = Video(
    "https://cdn.example.net/t.jpg",
    "Boats & more",
    "How <boats> float",
    "https://cdn.example.net/v.mp4",
    "https://example.com/player?v=1&x",
    duration=600,
    expiration_date="2031-11-05T19:20:30+08:00",
    rating=4.5,
    view_count=12_345,
    publication_date="2026-11-05",
    family_friendly=False,
    restriction=("allow", "IE GB"),
    platform=("deny", "tv"),
    requires_subscription=True,
    uploader=("Grill", ""),
    live=True,
    tags=("boat", "sea"),
)
FULL = Entry(
    "https://example.com/boats?a&b",
    "2026-11-05T10:00:00+01:00",
    images=(Image("https://example.com/i.png?a&b"),),
    videos=(VIDEO, Video("https://e.com/t.jpg", "t", "d", player_loc="https://e.com/p")),
    alternates=(Alternate("de", "https://example.com/de"), Alternate("de", "https://example.com/de2")),
    title="Boats",
    summary="Of <boats> & ships",
)


def heard(data: bytes) -> Any:
    feed = feedparser.parse(data, sanitize_html=False, resolve_relative_uris=False)
    assert not feed.bozo, feed.bozo_exception
    return feed


def instant(lastmod: str) -> int:
    return int(datetime.fromisoformat(lastmod if "T" in lastmod else lastmod + "T00:00:00Z").timestamp() // 1)


@pytest.mark.parametrize("format", FEEDS)
@given(pages=st.lists(dated, min_size=1, max_size=3))
@settings(max_examples=40)
def test_ours_every_entry_comes_back_from_a_feed(format: Format, pages: list[Entry]) -> None:
    encoder = make(format, channel=CHANNEL)
    assert not any(map(encoder.fault, pages))
    root = parsed(document(encoder, *pages))
    items = root.findall(A + "entry") if format is Format.ATOM else root[0].findall("item")
    for item, page in zip(items, map(allowed, pages), strict=True):
        name = A if format is Format.ATOM else ""
        link = item.find(name + "link")
        assert (link.get("href") if name else link.text) == page.loc
        assert item.findtext(name + ("id" if name else "guid")) == page.loc
        assert item.findtext(name + "title") == page.title
        summary = page.summary if name else html.escape(page.summary, quote=False)
        assert (item.findtext(name + ("summary" if name else "description")) or "") == summary
        contents = item.findall(M + "content")
        assert [content.get("url") or "" for content in contents if content.get("medium") == "image"] == [
            image.loc for image in page.images
        ]
        for content, video in zip(contents[len(page.images) :], page.videos, strict=True):
            assert (content.get("url") or "") == video.content_loc
            assert content.find(M + "thumbnail").get("url") == video.thumbnail_loc
            assert content.findtext(M + "title") == video.title
            assert content.findtext(M + "description") == video.description


@pytest.mark.parametrize("format", FEEDS)
def test_ours_feedparser_reads_what_was_meant(format: Format) -> None:
    pages = [
        FULL,
        Entry("https://example.com/2", "2024-02-29", title="A day"),
        Entry("https://example.com/3", "2024-05-08T23:30:00.5-02:00", title="Élan ☺"),
    ]
    feed = heard(document(make(format, channel=CHANNEL), *pages))
    assert feed.version == {Format.RSS: "rss20", Format.ATOM: "atom10"}[format]
    assert (feed.feed.title, feed.feed.link, feed.feed.subtitle) == (CHANNEL.title, CHANNEL.link, "All boats")
    assert feed.feed.language == "en-GB"
    assert [link.href for link in feed.feed.links if link.rel == "self"] == [CHANNEL.url]
    assert [item.link for item in feed.entries] == [page.loc for page in pages]
    assert [item.id for item in feed.entries] == [page.loc for page in pages]
    assert [item.title for item in feed.entries] == [page.title for page in pages]
    meant = FULL.summary if format is Format.ATOM else html.escape(FULL.summary, quote=False)
    assert feed.entries[0].summary == meant
    dates = [item.updated_parsed if format is Format.ATOM else item.published_parsed for item in feed.entries]
    assert [calendar.timegm(date) for date in dates] == [instant(page.lastmod) for page in pages]
    assert calendar.timegm(feed.feed.updated_parsed) == instant("2026-11-05")
    media = feed.entries[0].media_content
    assert [content.get("url") for content in media] == [
        "https://example.com/i.png?a&b",
        "https://cdn.example.net/v.mp4",
        None,
    ]
    assert [content["medium"] for content in media] == ["image", "video", "video"]
    assert feed.entries[0].media_thumbnail[0]["url"] == VIDEO.thumbnail_loc


@pytest.mark.parametrize("format", FEEDS)
def test_rssboard_a_video_has_the_elements_of_media_rss(format: Format) -> None:
    root = parsed(document(make(format, channel=CHANNEL), FULL))
    content = next(found for found in root.iter(M + "content") if found.get("medium") == "video")
    assert dict(content.attrib) == {"url": VIDEO.content_loc, "medium": "video", "duration": "600"}
    found = [(child.tag, dict(child.attrib), child.text) for child in content]
    assert found == [
        (M + "player", {"url": VIDEO.player_loc}, None),
        (M + "title", {}, VIDEO.title),
        (M + "description", {}, VIDEO.description),
        (M + "thumbnail", {"url": VIDEO.thumbnail_loc}, None),
        (M + "keywords", {}, "boat, sea"),
        (M + "rating", {"scheme": "urn:simple"}, "adult"),
        (M + "restriction", {"relationship": "allow", "type": "country"}, "IE GB"),
        (M + "community", {}, None),
        (M + "price", {"type": "subscription"}, None),
        (D + "valid", {}, "start=2026-11-05; end=2031-11-05T19:20:30+08:00; scheme=W3C-DTF"),
        (D + "type", {}, "live-video"),
    ]
    community = content.find(M + "community")
    assert [(child.tag, dict(child.attrib)) for child in community] == [
        (M + "starRating", {"average": "4.5", "min": "0", "max": "5"}),
        (M + "statistics", {"views": "12345"}),
    ]


@pytest.mark.parametrize("format", FEEDS)
def test_ours_media_is_declared_only_where_it_is_used(format: Format) -> None:
    plain = msgspec.structs.replace(FULL, images=(), videos=())
    dateless = msgspec.structs.replace(FULL, videos=FULL.videos[1:])
    declared = [
        set(parsed(document(make(format, channel=CHANNEL), page)).nsmap) & {"media", "dcterms"}
        for page in (plain, dateless, FULL)
    ]
    assert declared == [set(), {"media"}, {"media", "dcterms"}]


def test_rfc4287_an_entry_has_a_date_an_author_and_one_link() -> None:
    atom = make(Format.ATOM, channel=CHANNEL)
    assert "date" in atom.fault(Entry("https://example.com/"))
    assert not make(Format.RSS, channel=CHANNEL).fault(Entry("https://example.com/"))
    root = parsed(document(atom, FULL))
    links = [dict(link.attrib) for link in root.find(A + "entry").findall(A + "link")]
    assert links == [{"href": FULL.loc}]
    assert root.findtext(f"{A}author/{A}name") == CHANNEL.title
    assert root.findtext(A + "id") == CHANNEL.url
    assert root.findtext(A + "updated") == "2026-11-05T00:00:00Z"


@pytest.mark.parametrize(
    ("lastmod", "rss", "atom"),
    [
        ("2024-02-29", "Thu, 29 Feb 2024 00:00:00 GMT", "2024-02-29T00:00:00Z"),
        ("2024-05-08T23:30:00-02:00", "Thu, 09 May 2024 01:30:00 GMT", "2024-05-09T01:30:00Z"),
        ("2024-05-08T23:30:00.987654321Z", "Wed, 08 May 2024 23:30:00 GMT", "2024-05-08T23:30:00Z"),
        ("0001-01-01T00:00:00+14:00", "Mon, 01 Jan 0001 00:00:00 GMT", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59-12:00", "Fri, 31 Dec 9999 23:59:59 GMT", "9999-12-31T23:59:59Z"),
    ],
)
def test_rfc822_and_rfc3339_dates_are_to_the_second_and_in_gmt(lastmod: str, rss: str, atom: str) -> None:
    page = Entry("https://example.com/", lastmod)
    assert f"<pubDate>{rss}</pubDate>".encode() in make(Format.RSS, channel=CHANNEL).entry(page)
    assert f"<updated>{atom}</updated>".encode() in make(Format.ATOM, channel=CHANNEL).entry(page)


@pytest.mark.parametrize("format", FEEDS)
def test_ours_the_head_has_no_date_that_nobody_stated_and_fits_its_room(format: Format) -> None:
    encoder = make(format, channel=CHANNEL)
    bare = encoder.head(0, "")
    assert b"lastBuildDate" not in bare
    assert b"updated" not in bare
    sizes = {len(encoder.head(3, date)) for date in ("2024-02-29", "0001-01-01", "2024-05-08T23:30:00.987654321+14:00")}
    assert sizes == {encoder.room(3) - len(encoder.foot())}


@pytest.mark.parametrize(
    ("page", "title"),
    [
        (Entry("https://example.com/", title="Own", news=News("p", "en", "2026-01-01", "Article")), "Own"),
        (Entry("https://example.com/", title=" \x00", news=News("p", "en", "2026-01-01", "Article")), "Article"),
        (Entry("https://example.com/", videos=(VIDEO,)), VIDEO.title),
        (Entry("https://example.com/"), "https://example.com/"),
    ],
)
def test_rssboard_an_item_always_has_a_title(page: Entry, title: str) -> None:
    root = parsed(document(make(Format.RSS, channel=CHANNEL), page))
    assert root.findtext("channel/item/title") == title


@pytest.mark.parametrize("format", FEEDS)
def test_ours_a_feed_without_a_channel_is_refused(format: Format) -> None:
    with pytest.raises(SitemapError, match="Channel"):
        make(format)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (("", "https://example.com/"), "title"),
        (("\x00 ", "https://example.com/"), "title"),
        (("T", ""), "link is missing"),
        (("T", "/feed"), "link is not an absolute"),
        (("T", "https://example.com/", "", "", "ftp://example.com/"), "url is not an absolute"),
        (("T", "https://example.com/", "", "", "", ("https://hub.example/",)), "url is missing"),
        (("T", "https://example.com/", "", "", "https://example.com/f", ("", "x")), "hub is missing"),
    ],
)
def test_ours_a_channel_is_complete_or_refused(values: tuple[Any, ...], said: str) -> None:
    with pytest.raises(SitemapError, match=said):
        Channel(*values)


@pytest.mark.parametrize("format", FEEDS)
def test_w3c_websub_a_feed_names_its_hubs_and_itself(format: Format) -> None:
    hubs = ("https://hub.example/?a&b", "https://hub2.example/")
    channel = Channel("T", "https://example.com/", url="https://example.com/feed", hubs=hubs)
    data = document(make(format, channel=channel), FULL)
    links = [(link.rel, link.href) for link in heard(data).feed.links if link.rel != "alternate"]
    assert links == [("self", "https://example.com/feed"), ("hub", hubs[0]), ("hub", hubs[1])]
    assert [entry.loc for entry in read(data)] == [FULL.loc]


def test_ours_dates_are_those_of_the_standard_library() -> None:
    now = datetime(2026, 11, 5, 10, 0, 0, tzinfo=UTC)
    page = Entry("https://example.com/", now.isoformat())
    feed = heard(document(make(Format.RSS, channel=CHANNEL), page))
    assert feed.entries[0].published == "Thu, 05 Nov 2026 10:00:00 GMT"


def test_rssboard_a_description_is_html_and_plain_text_looks_like_itself() -> None:
    page = Entry("https://example.com/", summary="a <b>tag</b> & an &amp;")
    data = document(make(Format.RSS, channel=Channel("t", "https://example.com/")), page)
    assert heard(data).entries[0].summary == "a &lt;b&gt;tag&lt;/b&gt; &amp; an &amp;amp;"
    assert read(data) == [page]
