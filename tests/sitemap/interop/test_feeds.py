"""Feeds between packages: feedparser and ultimate-sitemap-parser read ours, we read those of feedgen and Django."""

import gzip
import html
from datetime import UTC, datetime
from pathlib import Path
from time import struct_time
from typing import Any

import feedparser
import pytest
import rich_pages
import usp_reader
from rich_pages import SITE, TEXT, children, dated, publish

from sitemap import Channel, Entry, Format, Image, SitemapReader, Video, dates

FEEDS = (Format.RSS, Format.ATOM)
DATE = {Format.RSS: "published_parsed", Format.ATOM: "updated_parsed"}  # as feedparser calls it
# RSS does not say whether a text is HTML: feedparser takes one with a tag for HTML (https://www.rssboard.org/rss-profile).
TEXTS = {Format.RSS: 'R&D "it\'s" 3 < 4 ]]> 10% \u00e9 \u65e5\u672c \U0001f6a4', Format.ATOM: TEXT}


def channel(form: Format) -> Channel:
    text = TEXTS[form]
    return Channel(text, f"{SITE}/?a=1&b=2", description=text, language="en-GB", url=f"{SITE}/feed.xml")


def item(number: int, text: str) -> Entry:
    return Entry(
        f"{SITE}/{number}?a=1&b=2",
        lastmod="2024-02-29T23:59:59+00:00",
        title=f"{text} {number}",
        summary=f"{text} in full",
        images=(Image(f"{SITE}/{number}.jpg?x=1&y=2"),),
        videos=(rich_pages.video(number),),
    )


def instant(stated: struct_time) -> datetime:
    return datetime(*stated[:6], tzinfo=UTC)


@pytest.mark.parametrize("form", FEEDS)
@pytest.mark.parametrize("packed", [False, True])
def test_ours_feedparser_reads_every_field(tmp_path: Path, form: Format, packed: bool) -> None:
    about, text = channel(form), TEXTS[form]
    entries = [item(number, text) for number in range(20)]
    published = publish(tmp_path, entries, "feed.xml", format=form, channel=about, gzip=packed, max_urls=8)
    assert published.index
    read: list[Any] = []
    for path in children(tmp_path, published):
        feed = feedparser.parse(unpacked(path))
        assert not feed.bozo, feed.get("bozo_exception")
        assert feed.version == {Format.RSS: "rss20", Format.ATOM: "atom10"}[form]
        assert (feed.feed.title, feed.feed.link, feed.feed.language) == (text, about.link, "en-GB")
        assert html.unescape(feed.feed.subtitle) == html.unescape(text)  # in RSS this is HTML
        assert instant(feed.feed.updated_parsed) == dates.to_instant(entries[0].lastmod)
        read += feed.entries
    for got, entry in zip(read, entries, strict=True):
        assert (got.link, got.title) == (entry.loc, entry.title)
        assert html.unescape(got.summary) == html.unescape(entry.summary)
        assert got.id == entry.loc
        assert instant(got[DATE[form]]) == dates.to_instant(entry.lastmod)
        image, film = got.media_content
        assert (image["url"], image["medium"]) == (entry.images[0].loc, "image")
        video = entry.videos[0]
        assert (film["url"], film["medium"], film["duration"]) == (video.content_loc, "video", "28800")
        assert got.media_thumbnail[0]["url"] == video.thumbnail_loc
        assert got.media_player["url"] == video.player_loc
        assert got.media_starrating["average"] == "4.5"
        assert got.media_statistics["views"] == "1234567"
        assert got.media_restriction["relationship"] == "allow"


def unpacked(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


@pytest.mark.parametrize("form", FEEDS)
def test_ours_feedparser_reads_a_feed_without_anything_optional(tmp_path: Path, form: Format) -> None:
    bare = Channel("Boats", f"{SITE}/")
    published = publish(tmp_path, [Entry(f"{SITE}/1", lastmod="2024-02-29")], "feed.xml", format=form, channel=bare)
    feed = feedparser.parse((tmp_path / published.files[0].name).read_bytes())
    assert not feed.bozo
    assert [entry.link for entry in feed.entries] == [f"{SITE}/1"]
    assert instant(feed.entries[0][DATE[form]]) == datetime(2024, 2, 29, tzinfo=UTC)


@pytest.mark.parametrize("form", FEEDS)
@pytest.mark.parametrize("count", [1, 2_001, pytest.param(50_001, marks=pytest.mark.slow)])
def test_ours_ultimate_sitemap_parser_reads_every_url_of_a_feed(tmp_path: Path, form: Format, count: int) -> None:
    limit = 50_000 if count > 50_000 else 1_000
    entries = [Entry(f"{SITE}/{number}?a&b", lastmod="2024-02-29T12:00:00+00:00", title="T") for number in range(count)]
    published = publish(tmp_path, entries, "feed.xml", format=form, channel=channel(form), max_urls=limit)
    pages = usp_reader.pages(tmp_path, published.url)
    assert [page.url for page in pages] == [entry.loc for entry in entries]
    stated = {page.news_story.publish_date for page in pages if page.news_story}
    assert stated == {datetime(2024, 2, 29, 12, tzinfo=UTC)}


def read(path: Path, form: Format) -> list[Entry]:
    reader = SitemapReader(path)
    found = [entry for entry in reader if isinstance(entry, Entry)]
    assert reader.format is form
    assert reader.complete
    assert reader.findings == ()
    return dated(found)


@pytest.mark.parametrize("form", FEEDS)
def test_ours_what_feedgen_writes_is_read(tmp_path: Path, form: Format) -> None:
    from feedgen.feed import FeedGenerator

    maker = FeedGenerator()
    maker.load_extension("media")
    maker.id(f"{SITE}/")
    maker.title(TEXT)
    maker.description(TEXT)
    maker.link(href=f"{SITE}/?a=1&b=2")
    maker.link(href=f"{SITE}/feed.xml", rel="self")
    expected = []
    for number in range(3):
        entry = maker.add_entry(order="append")
        loc = f"{SITE}/{number}?a=1&b=2"
        entry.id(loc)
        entry.title(f"{TEXT} {number}")
        entry.link(href=loc)
        entry.description(TEXT, isSummary=True)
        moment = datetime(2024, 2, 29, 23, 59, number, tzinfo=UTC)
        entry.published(moment)
        entry.updated(moment)
        entry.media.content({"url": f"{SITE}/{number}.jpg?x=1&y=2", "medium": "image"}, group=None)
        expected.append(
            Entry(
                loc,
                lastmod=moment.isoformat(),
                title=f"{TEXT} {number}",
                summary=TEXT,
                images=(Image(f"{SITE}/{number}.jpg?x=1&y=2"),),
            )
        )
    path = tmp_path / "feed.xml"
    (maker.rss_file if form is Format.RSS else maker.atom_file)(str(path))
    assert read(path, form) == expected


@pytest.mark.parametrize("form", FEEDS)
def test_ours_what_django_syndicates_is_read(tmp_path: Path, form: Format, django: Any) -> None:
    from django.utils import feedgenerator

    kind = feedgenerator.Rss201rev2Feed if form is Format.RSS else feedgenerator.Atom1Feed
    feed = kind(TEXT, f"{SITE}/?a=1&b=2", TEXT, language="en-gb", feed_url=f"{SITE}/feed.xml")
    moment = datetime(2024, 2, 29, 23, 59, 59, tzinfo=UTC)
    for number in range(3):
        loc = f"{SITE}/{number}?a=1&b=2"
        feed.add_item(f"{TEXT} {number}", loc, TEXT, pubdate=moment, updateddate=moment, unique_id=f"urn:x:{number}")
    path = tmp_path / "feed.xml"
    with path.open("w", encoding="utf-8") as file:
        feed.write(file, "utf-8")
    assert read(path, form) == [
        Entry(f"{SITE}/{number}?a=1&b=2", lastmod="2024-02-29T23:59:59+00:00", title=f"{TEXT} {number}", summary=TEXT)
        for number in range(3)
    ]


@pytest.mark.parametrize("form", FEEDS)
def test_ours_a_video_goes_through_a_feed(tmp_path: Path, form: Format) -> None:
    film = Video(
        f"{SITE}/t.jpg", "Title", "Description", content_loc="https://media.example/1.mp4", duration=90, tags=("a", "b")
    )
    entry = Entry(f"{SITE}/1", lastmod="2024-02-29T00:00:00+00:00", title="T", summary="S", videos=(film,))
    published = publish(tmp_path, [entry], "feed.xml", format=form, channel=channel(form))
    assert read(tmp_path / published.files[0].name, form) == dated([entry])
