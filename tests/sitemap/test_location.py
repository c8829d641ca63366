"""A sitemap speaks only for the directory it is in. https://www.sitemaps.org/protocol.html#location"""

import pytest

from sitemap import covers, directory


@pytest.mark.parametrize(
    ("sitemap_url", "expected"),
    [
        ("http://example.com/catalog/sitemap.xml", "http://example.com/catalog/"),
        ("http://example.com/sitemap.xml", "http://example.com/"),
        ("http://example.com", "http://example.com/"),
        ("HTTP://Example.COM:80/a/s.xml", "http://example.com/a/"),
        ("https://example.com:8443/s.xml", "https://example.com:8443/"),
        ("https://example.com/a/s.php?x=/b/c.xml#/d/", "https://example.com/a/"),
        ("https://example.com/a/../b/./s.xml", "https://example.com/b/"),
        ("https://[::1]:8080/a/s.xml", "https://[::1]:8080/a/"),
    ],
)
def test_sitemaps_org_directory(sitemap_url: str, expected: str) -> None:
    assert directory(sitemap_url) == expected


@pytest.mark.parametrize(
    "url",
    ["", "/sitemap.xml", "ftp://example.com/", "https://", "https://me:pw@example.com/", "http://[::1/"],
)
def test_ours_only_absolute_http_has_a_directory(url: str) -> None:
    with pytest.raises(ValueError, match=r"absolute|IPv6"):
        directory(url)


CATALOG = "http://example.com/catalog/sitemap.xml"


@pytest.mark.parametrize(
    ("sitemap_url", "url", "expected"),
    [
        (CATALOG, "http://example.com/catalog/show?item=23", True),
        (CATALOG, "http://example.com/catalog/", True),
        (CATALOG, "http://example.com/catalog", False),
        (CATALOG, "http://example.com/catalogue/", False),
        (CATALOG, "http://example.com/image/show?item=23", False),
        (CATALOG, "https://example.com/catalog/page1.php", False),
        (CATALOG, "http://www.example.com/catalog/", False),
        (CATALOG, "http://example.com:81/catalog/", False),
        (CATALOG, "http://example.com:80/catalog/", True),
        (CATALOG, "http://EXAMPLE.com/catalog/", True),
        (CATALOG, "http://example.com/Catalog/", False),
        (CATALOG, "http://example.com/catalog/../secret", False),
        (CATALOG, "http://example.com/catalog/%2e%2E/secret", False),
        (CATALOG, "http://example.com/catalog/..\\..\\secret", False),
        (CATALOG, "http://example.com/x/../catalog/a", True),
        (CATALOG, "http://example.com/c%61talog/a", True),
        (CATALOG, "http://example.com/?u=http://example.com/catalog/", False),
        (CATALOG, "http://example.com/catalog/?u=/../", True),
        (CATALOG, "http://example.com@evil.example/catalog/", False),
        (CATALOG, "http://example.com.evil.example/catalog/", False),
        (CATALOG, "not a url", False),
        ("http://example.com/a%2fb/s.xml", "http://example.com/a%2Fb/x", True),
        ("http://example.com/a%2fb/s.xml", "http://example.com/a/b/x", False),
        ("http://example.com/\xe9/s.xml", "http://example.com/%c3%a9/x", True),
    ],
)
def test_sitemaps_org_covers(sitemap_url: str, url: str, expected: bool) -> None:
    assert covers(sitemap_url, url) is expected
