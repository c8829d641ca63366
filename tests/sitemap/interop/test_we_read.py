"""What others write, we read: the same URLs and the same fields, and nothing to complain of that is not so.

The npm package ``sitemap``, xml-sitemap-writer and Django's contrib.sitemaps; feeds are in test_feeds.py.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import node_sitemap
import pytest
import rich_pages
from rich_pages import SITE, dated

from sitemap import Alternate, Child, Entry, Format, SitemapReader


def entries_of(folder: Path, index: str) -> list[Entry]:
    """All entries of a set, read from its index on."""
    reader = SitemapReader(folder / index)
    children = list(reader)
    assert reader.format is Format.INDEX
    assert reader.complete
    found: list[Entry] = []
    for child in children:
        assert isinstance(child, Child)
        inner = SitemapReader(folder / child.loc.rpartition("/")[2])
        found += (item for item in inner if isinstance(item, Entry))
        assert inner.format is Format.URLSET
        assert inner.complete
        assert {finding.rule for finding in inner.findings} <= {"sitemap.order"}
    return found


RICH = [
    *(rich_pages.page(number) for number in range(rich_pages.USUAL)),
    *(rich_pages.article(number) for number in range(3)),
]


@pytest.mark.parametrize("suffix", ["", "gz"])
def test_ours_every_field_that_npm_sitemap_writes_is_read(tmp_path: Path, npm_sitemap: Path, suffix: str) -> None:
    node_sitemap.write(map(node_sitemap.item, RICH), tmp_path, limit=4, base=f"{SITE}/", suffix=suffix)
    assert len(list(tmp_path.glob("sitemap-[0-9]*"))) == 2
    assert dated(entries_of(tmp_path, "sitemap-index.xml")) == dated(RICH)


@pytest.mark.thorough
def test_ours_all_urls_that_npm_sitemap_writes_are_read(tmp_path: Path, npm_sitemap: Path) -> None:
    items = [{"url": f"{SITE}/{number}"} for number in range(20_001)]
    node_sitemap.write(items, tmp_path, limit=10_000, base=f"{SITE}/", suffix="gz")
    assert [entry.loc for entry in entries_of(tmp_path, "sitemap-index.xml")] == [item["url"] for item in items]


def test_ours_what_xml_sitemap_writer_writes_is_read(tmp_path: Path) -> None:
    from xml_sitemap_writer import XMLSitemap

    expected = [
        Entry(f"{SITE}/{number}?a=1&b=<2>", lastmod="2024-02-29", changefreq="weekly", priority=0.5)
        for number in range(15_001)
    ]
    with XMLSitemap(str(tmp_path), SITE) as other:
        for entry in expected:
            path = entry.loc.removeprefix(SITE)
            other.add_url(path, lastmod=entry.lastmod, priority="0.5", changefreq=entry.changefreq)
    assert len(list(tmp_path.glob("*.xml.gz"))) == 2
    assert entries_of(tmp_path, "sitemap.xml") == expected


def test_ours_what_django_writes_is_read(tmp_path: Path, django: Any) -> None:
    from django.contrib.sitemaps import Sitemap, views
    from django.test import RequestFactory
    from django.utils import translation

    class Boats(Sitemap):
        changefreq = "daily"
        priority = 0.7
        protocol = "https"
        i18n = alternates = x_default = True
        limit = 3

        def items(self) -> list[int]:
            return [1, 2]

        def location(self, item: Any) -> str:
            return f"/{translation.get_language()}/boats?n={item[0] if isinstance(item, tuple) else item}&a=1"

        def lastmod(self, item: Any) -> datetime:
            return datetime(2024, 2, 29, 12, tzinfo=UTC)

        def get_domain(self, site: Any = None) -> str:
            return "example.com"

    for page in (1, 2):
        request = RequestFactory(HTTP_HOST="example.com").get("/sitemap.xml", {"p": page})
        answer = views.sitemap(request, {"boats": Boats()}, content_type="application/xml")
        (tmp_path / f"boats-{page}.xml").write_bytes(answer.render().content)

    found: list[Entry] = []
    for page in (1, 2):
        reader = SitemapReader(tmp_path / f"boats-{page}.xml")
        found += (item for item in reader if isinstance(item, Entry))
        assert reader.complete
        assert reader.findings == ()
    assert found == [
        Entry(
            f"{SITE}/{language}/boats?n={number}&a=1",
            lastmod="2024-02-29",
            changefreq="daily",
            priority=0.7,
            alternates=(
                Alternate("en", f"{SITE}/en/boats?n={number}&a=1"),
                Alternate("pt-br", f"{SITE}/pt-br/boats?n={number}&a=1"),
                Alternate("x-default", f"{SITE}/boats?n={number}&a=1"),
            ),
        )
        for number in (1, 2)
        for language in ("en", "pt-br")
    ]
