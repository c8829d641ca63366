"""The media types of published files."""

import pytest

from crawler.fetch.header_values import content_type


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("sitemap.xml", "application/xml"),
        ("SITEMAP-1.XML", "application/xml"),
        ("sitemap.xml.gz", "application/gzip"),
        ("sitemap.txt", "text/plain; charset=utf-8"),
        ("new.atom", "application/atom+xml"),
        ("new.rss", "application/rss+xml"),
        ("sitemap-docs-2.html", "text/html; charset=utf-8"),
        ("style.css", "text/css; charset=utf-8"),
        ("sitemap.xsl", "text/xsl"),
        ("robots", "application/octet-stream"),
        ("xml", "application/octet-stream"),
        ("sitemap.xml.bak", "application/octet-stream"),
    ],
)
def test_sitemaps_org_a_published_file_has_the_type_of_its_name(name: str, label: str) -> None:
    assert content_type(name) == label
