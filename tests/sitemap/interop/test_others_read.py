"""What we write, others read: the same URLs and the same fields.

lxml with the XSDs, the npm package ``sitemap``, and ultimate-sitemap-parser; feeds are in test_feeds.py.
"""

import html
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import node_sitemap
import pytest
import rich_pages
import usp_reader
from rich_pages import SITE, children, publish

from sitemap import Entry, Format, News, dates, limits

S = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
Row = tuple[str, datetime | None]
Reader = Callable[[Path, Any], list[Row]]


@pytest.fixture
def with_lxml(validate: Any) -> Reader:
    def rows(folder: Path, published: Any) -> list[Row]:
        for facts in published.files:
            validate(folder / facts.name)
        found = []
        for path in children(folder, published):
            for url in validate(path):
                found.append((url.findtext(f"{S}loc"), dates.to_instant(url.findtext(f"{S}lastmod", ""))))
        return found

    return rows


@pytest.fixture
def with_npm_sitemap(npm_sitemap: Path) -> Reader:
    def rows(folder: Path, published: Any) -> list[Row]:
        paths = children(folder, published)
        if published.index:
            items, complaints = node_sitemap.read([folder / published.files[-1].name], "index")
            assert not complaints
            assert [item["url"] for item in items] == [facts.url for facts in published.files[:-1]]
        items, complaints = node_sitemap.read(paths)
        assert not complaints
        return [(item["url"], dates.to_instant(item.get("lastmod", ""))) for item in items]

    return rows


@pytest.fixture
def with_ultimate_sitemap_parser() -> Reader:
    def rows(folder: Path, published: Any) -> list[Row]:
        return [(page.url, page.last_modified) for page in usp_reader.pages(folder, published.url)]

    return rows


READERS = ("with_lxml", "with_npm_sitemap", "with_ultimate_sitemap_parser")
SIZES = (1, *(pytest.param(size, marks=pytest.mark.slow) for size in (49_999, 50_000)), 50_001)  # the last is two files


def plain(count: int) -> list[Entry]:
    return [
        Entry(f"{SITE}/{number:07}?a=1&b=2", lastmod=f"2024-02-{1 + number % 29:02}T23:59:59+00:00")
        for number in range(count)
    ]


def rows_of(entries: list[Entry]) -> list[Row]:
    return [(entry.loc, dates.to_instant(entry.lastmod)) for entry in entries]


@pytest.mark.thorough
@pytest.mark.needs_schemas
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("count", [*SIZES, pytest.param(1_000_000, marks=[pytest.mark.slow, pytest.mark.timeout(900)])])
def test_ours_others_read_every_url_at_the_limits(
    tmp_path: Path, request: pytest.FixtureRequest, count: int, reader: str
) -> None:
    entries = plain(count)
    published = publish(tmp_path, entries, gzip=count % 2 == 1)
    assert request.getfixturevalue(reader)(tmp_path, published) == rows_of(entries)
    assert len(children(tmp_path, published)) == -(-count // limits.MAX_URLS)


@pytest.mark.thorough
@pytest.mark.needs_schemas
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("count", "max_bytes"),
    [(600, 1_000_000), pytest.param(15_000, limits.MAX_BYTES, marks=[pytest.mark.slow, pytest.mark.timeout(600)])],
)
def test_ours_others_read_every_url_where_bytes_decide(
    tmp_path: Path, request: pytest.FixtureRequest, count: int, max_bytes: int, reader: str
) -> None:
    entries = [rich_pages.translated(number) for number in range(count)]
    published = publish(tmp_path, entries, max_bytes=max_bytes)
    assert published.index
    assert all(facts.size <= max_bytes for facts in published.files)
    sizes = [facts.size for facts in published.files[:-1]]
    assert all(one + two > max_bytes for one, two in pairwise(sizes))
    assert request.getfixturevalue(reader)(tmp_path, published) == rows_of(entries)


PAGES = [rich_pages.page(number) for number in range(2 * len(rich_pages.PATHS))]


@pytest.mark.needs_schemas
def test_ours_lxml_finds_what_is_written_valid(tmp_path: Path, validate: Any) -> None:
    articles = [rich_pages.article(number) for number in range(5)]
    for folder, entries in ((tmp_path / "pages", PAGES), (tmp_path / "news", articles)):
        published = publish(folder, entries)
        root = validate(folder / published.files[0].name)
        assert [each.text for each in root.iter(f"{S}loc")] == [entry.loc for entry in entries]


def test_ours_npm_sitemap_reads_every_field(tmp_path: Path, npm_sitemap: Path) -> None:
    entries = [*PAGES, *(rich_pages.article(number) for number in range(5))]
    published = publish(tmp_path, entries)
    items, complaints = node_sitemap.read(children(tmp_path, published))
    assert not complaints
    assert [node_sitemap.entry(item) for item in items] == entries


def test_ours_others_read_lists_of_urls(tmp_path: Path) -> None:
    entries = [Entry(entry.loc) for entry in PAGES]
    published = publish(tmp_path, entries, "sitemap.txt", format=Format.TEXT)
    assert [page.url for page in usp_reader.pages(tmp_path, published.url)] == [entry.loc for entry in entries]


def test_ours_ultimate_sitemap_parser_reads_every_field_it_knows(tmp_path: Path) -> None:
    articles = [rich_pages.article(number) for number in range(5)]
    entries = [*PAGES, *articles]
    publish(tmp_path, entries)
    pages = usp_reader.pages(tmp_path, f"{SITE}/sitemap.xml")
    for page, entry in zip(pages, entries, strict=True):
        assert page.url == entry.loc
        stated = page.last_modified
        assert (stated and stated.replace(tzinfo=stated.tzinfo or UTC)) == dates.to_instant(entry.lastmod)
        assert (page.change_frequency and page.change_frequency.value) == (entry.changefreq or None)
        assert float(page.priority) == (0.5 if entry.priority is None else entry.priority)
        assert [image.loc for image in page.images or ()] == [image.loc for image in entry.images]
        assert page.alternates == ([msgspec.structs.astuple(each) for each in entry.alternates] or None)
        story, news = page.news_story, entry.news  # it unescapes titles once more than it should
        expected = news and msgspec.structs.replace(news, title=html.unescape(news.title))
        read = story and News(
            story.publication_name, story.publication_language, story.publish_date.isoformat(), story.title
        )
        assert read == expected
