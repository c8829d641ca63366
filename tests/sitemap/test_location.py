"""A sitemap speaks only for the directory it is in. https://www.sitemaps.org/protocol.html#location"""

import doctest
import re

import ada_url
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sitemap.location
from sitemap import InvalidLocation, Location, covers, directory


def test_ours_the_examples_run() -> None:
    assert doctest.testmod(sitemap.location).failed == 0


def test_sitemaps_org_a_location_knows_what_follows_from_it() -> None:
    there = Location("HTTP://Example.COM:80/a/b/s.xml?x=/c/#/d/")
    assert there.url == str(there) == "HTTP://Example.COM:80/a/b/s.xml?x=/c/#/d/"
    assert there.directory == "http://example.com/a/b/"
    assert there.origin == "http://example.com"
    assert there.robots_txt == "http://example.com/robots.txt"
    assert there.covers("http://example.com/a/b/c")
    assert not there.covers("http://example.com/a/c")
    assert there == Location(there.url)
    assert len({there, Location(there.url)}) == 1
    with pytest.raises(AttributeError):
        there.url = "http://example.com/"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("sitemap_url", "expected"),
    [
        ("http://example.com/catalog/sitemap.xml", "http://example.com/catalog/"),
        ("http://example.com/sitemap.xml", "http://example.com/"),
        ("http://example.com/catalog/", "http://example.com/catalog/"),
        ("http://example.com", "http://example.com/"),
        ("http://example.com?x=/a/", "http://example.com/"),
        ("HTTP://Example.COM:80/a/s.xml", "http://example.com/a/"),
        ("https://example.com:443/s.xml", "https://example.com/"),
        ("https://example.com:/s.xml", "https://example.com/"),
        ("http://example.com:443/s.xml", "http://example.com:443/"),
        ("https://example.com:8443/s.xml", "https://example.com:8443/"),
        ("https://example.com./s.xml", "https://example.com./"),
        ("https://example.com/a/s.php?x=/b/c.xml#/d/", "https://example.com/a/"),
        ("https://example.com/a/../b/./s.xml", "https://example.com/b/"),
        ("https://example.com/a\\b\\s.xml", "https://example.com/a/b/"),
        ("https://example.com/a/..", "https://example.com/"),
        ("https://example.com//s.xml", "https://example.com//"),
        ("https://[::1]:8080/a/s.xml", "https://[::1]:8080/a/"),
        ("https://[0:0:0:0:0:0:0:1]/s.xml", "https://[::1]/"),
        ("https://BÜCHER.example/s.xml", "https://xn--bcher-kva.example/"),
        ("https://bu\u0308cher\u3002example/s.xml", "https://xn--bcher-kva.example/"),
        ("https://faß.example/s.xml", "https://xn--fa-hia.example/"),
    ],
)
def test_sitemaps_org_directory(sitemap_url: str, expected: str) -> None:
    assert directory(sitemap_url) == expected


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/sitemap.xml",
        "//example.com/sitemap.xml",
        "ftp://example.com/",
        "https://",
        "https:///sitemap.xml",
        "https:/example.com/",
        "https:\\\\example.com\\",
        "https://me:pw@example.com/",
        "https://me@example.com/",
        "http://[::1/",
        "http://[v1.a]/",
        "http://[fe80::1%25eth0]/",
        "http://example.com:65536/",
        "http://example.com:a/",
        "http://exa mple.com/",
        "http://example.com\\@evil.example/",
        "http://exam%70le.com/",
        "http://example.com/a b/s.xml",
        "http://example.com/a\n/s.xml",
        " http://example.com/s.xml",
        "http://example\u2100.com/",  # its NFKC form holds a slash
    ],
)
def test_ours_only_absolute_http_has_a_directory(url: str) -> None:
    with pytest.raises(InvalidLocation):
        directory(url)
    with pytest.raises(InvalidLocation) as caught:
        Location(url)
    assert repr(re.sub("//.*@", "//***@", url)) in str(caught.value)


CATALOG = "http://example.com/catalog/sitemap.xml"


@pytest.mark.parametrize(
    ("sitemap_url", "url", "expected"),
    [
        (CATALOG, "http://example.com/catalog/show?item=23", True),
        (CATALOG, "http://example.com/catalog/", True),
        (CATALOG, "http://example.com/catalog/sitemap.xml", True),
        (CATALOG, "http://example.com/catalog", False),
        (CATALOG, "http://example.com/catalogue/", False),
        (CATALOG, "http://example.com/image/show?item=23", False),
        (CATALOG, "http://example.com", False),
        (CATALOG, "", False),
        (CATALOG, "/catalog/", False),
        (CATALOG, "not a url", False),
        # Scheme, host and port.
        (CATALOG, "https://example.com/catalog/page1.php", False),
        (CATALOG, "HTTP://example.com/catalog/", True),
        (CATALOG, "http://www.example.com/catalog/", False),
        (CATALOG, "http://EXAMPLE.com/catalog/", True),
        (CATALOG, "http://example.com./catalog/", False),
        (CATALOG, "http://example.com:81/catalog/", False),
        (CATALOG, "http://example.com:80/catalog/", True),
        (CATALOG, "http://example.com:0080/catalog/", True),
        (CATALOG, "http://example.com:/catalog/", True),
        (CATALOG, "http://example.com:443/catalog/", False),
        ("https://example.com/s.xml", "https://example.com:443/", True),
        ("https://example.com/s.xml", "http://example.com:443/", False),
        ("http://example.com:8080/s.xml", "http://example.com:8080/a", True),
        ("http://example.com:8080/s.xml", "http://example.com/a", False),
        ("http://[2001:db8::1]/s.xml", "http://[2001:DB8:0::1]/a", True),
        ("http://[2001:db8::1]/s.xml", "http://[2001:db8::2]/a", False),
        # Names in other alphabets.
        ("https://bücher.example/s.xml", "https://xn--bcher-kva.example/a", True),
        ("https://xn--bcher-kva.example/s.xml", "https://Bücher.example/a", True),
        ("https://xn--bcher-kva.example/s.xml", "https://XN--BCHER-KVA.example/a", True),
        ("https://пример.example/s.xml", "https://xn--e1afmkfd.example/a", True),
        ("https://faß.example/s.xml", "https://fass.example/a", False),
        ("https://bücher.example/s.xml", "https://bucher.example/a", False),
        # Who else may be meant.
        (CATALOG, "http://example.com@evil.example/catalog/", False),
        (CATALOG, "http://me@example.com/catalog/", False),
        (CATALOG, "http://example.com.evil.example/catalog/", False),
        (CATALOG, "http://example.com\\.evil.example/catalog/", False),
        ("http://example.com/s.xml", "http://example.com", True),
        ("http://example.com/s.xml", "http://example.com?x", True),
        ("http://example.com/s.xml", "http://example.com#x", True),
        ("http://example.com/s.xml", "http://example.comx", False),
        # Where a path leads.
        (CATALOG, "http://example.com/Catalog/", False),
        (CATALOG, "http://example.com/catalog/../secret", False),
        (CATALOG, "http://example.com/catalog/..", False),
        (CATALOG, "http://example.com/catalog/%2e%2E/secret", False),
        (CATALOG, "http://example.com/catalog/.%2e/secret", False),
        (CATALOG, "http://example.com/catalog/..\\..\\secret", False),
        (CATALOG, "http://example.com/catalog/\t../secret", False),
        (CATALOG, "http://example.com/catalog/.\n./secret", False),
        (CATALOG, "http://example.com/catalog/.. ", False),
        (CATALOG, "http://example.com/catalog/..\x00", False),
        (CATALOG, "http://example.com/catalog/..%2fsecret", True),
        (CATALOG, "http://example.com/catalog/...", True),
        (CATALOG, "http://example.com/catalog/.well-known", True),
        (CATALOG, "http://example.com/catalog/./a", True),
        (CATALOG, "http://example.com/x/../catalog/a", True),
        (CATALOG, "http://example.com/catalog\\a", True),
        (CATALOG, "http://example.com\\catalog\\a", False),
        (CATALOG, "http://example.com//catalog/a", False),
        # How a path is written.
        (CATALOG, "http://example.com/c%61talog/a", True),
        (CATALOG, "http://example.com/catalog%2Fa", False),
        ("http://example.com/~me/s.xml", "http://example.com/%7Eme/x", True),
        ("http://example.com/%7eme/s.xml", "http://example.com/~me/x", True),
        ("http://example.com/a%2fb/s.xml", "http://example.com/a%2Fb/x", True),
        ("http://example.com/a%2fb/s.xml", "http://example.com/a/b/x", False),
        ("http://example.com/\xe9/s.xml", "http://example.com/%c3%a9/x", True),
        ("http://example.com/a[b]/s.xml", "http://example.com/a%5Bb%5D/x", True),
        ("http://example.com/50%/s.xml", "http://example.com/50%25/x", True),
        ("http://example.com/a!/s.xml", "http://example.com/a%21/x", False),
        # What is no path.
        (CATALOG, "http://example.com/?u=http://example.com/catalog/", False),
        (CATALOG, "http://example.com/#http://example.com/catalog/", False),
        (CATALOG, "http://example.com/catalog/?u=/../", True),
        (CATALOG, "http://example.com/catalog/#/../", True),
        ("http://example.com/s.xml?path=/catalog/", "http://example.com/other", True),
        ("http://example.com/catalog/s.xml#/../", "http://example.com/other", False),
    ],
)
def test_sitemaps_org_covers(sitemap_url: str, url: str, expected: bool) -> None:
    assert covers(sitemap_url, url) is expected
    assert Location(sitemap_url).covers(url) is expected


_urls = st.text("/.%2eE\\\t?#@:a[]é ", max_size=30)


@settings(max_examples=300)
@given(_urls | st.text(max_size=30), st.sampled_from(["", "http://", "http://example.com/catalog/"]))
def test_ours_no_url_raises_and_the_short_way_agrees_with_the_long_one(tail: str, head: str) -> None:
    url = head + tail
    here = Location("http://example.com/catalog/s.xml")
    # The scheme in upper case keeps the short way shut.
    assert here.covers(url) is here.covers(url.replace("http:", "HTTP:", 1))


_BLANKS = ["\t", "\n", " ", "\x00", "\xa0", "\xad", "\u3002", "\uff0e"]
_MARKS = r"/ . .. %2e %2E \ ? # : @ [ ] % %2f %5c catalog c%61talog C é evil.example :80 :81"


@settings(max_examples=500)
@given(
    st.sampled_from(["http://example.com/catalog/", "http://example.com", "HTTP://Example.com:80/x/../", "//", ""]),
    st.lists(st.sampled_from(_MARKS.split() + _BLANKS), max_size=6).map("".join),
)
def test_whatwg_url_browsers_look_for_what_is_covered_in_the_directory(head: str, tail: str) -> None:
    if covers(CATALOG, head + tail):
        seen = ada_url.URL(head + tail)
        assert (seen.origin, seen.username, seen.password) == ("http://example.com", "", "")
        assert seen.pathname.replace("c%61talog", "catalog").startswith("/catalog/")
