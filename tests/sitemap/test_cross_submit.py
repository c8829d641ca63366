"""A sitemap may list another host's URLs when the robots.txt there names it.

https://www.sitemaps.org/protocol.html#sitemaps_cross_submits and https://www.rfc-editor.org/rfc/rfc9309#section-2.2.4
"""

import doctest
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sitemap.robots_txt
from sitemap import (
    CrossSubmits,
    Directory,
    Entry,
    InvalidEntry,
    InvalidLocation,
    SitemapWriter,
    WriterOptions,
    missing_lines,
    read,
    sitemaps_in,
    vouches,
)

OURS = "https://www.example.com/maps/sitemap.xml"


class Robots:
    """The robots.txt of several hosts, as a network would answer."""

    def __init__(self, answers: dict[str, bytes | OSError]) -> None:
        self.asked: list[str] = []
        self._answers = answers

    def __call__(self, url: str) -> bytes | None:
        self.asked.append(url)
        answer = self._answers.get(url)
        if isinstance(answer, OSError):
            raise answer
        return answer


def test_ours_the_examples_run() -> None:
    assert doctest.testmod(sitemap.robots_txt).failed == 0


@pytest.mark.parametrize(
    ("robots_txt", "expected"),
    [
        ("", []),
        ("Sitemap: https://e.x/s.xml", ["https://e.x/s.xml"]),
        ("sitemap:https://e.x/s.xml", ["https://e.x/s.xml"]),
        ("\ufeffSITEMAP : https://e.x/s.xml  ", ["https://e.x/s.xml"]),
        ("\tSite-map:\thttps://e.x/s.xml # ours", ["https://e.x/s.xml"]),
        ("Sitemap https://e.x/s.xml", ["https://e.x/s.xml"]),
        ("Sitemap: https://e.x/s.xml#part", ["https://e.x/s.xml"]),
        ("# Sitemap: https://e.x/s.xml", []),
        ("Sitemaps: https://e.x/s.xml", ["https://e.x/s.xml"]),
        ("NoSitemap: https://e.x/s.xml", []),
        ("Sitemap:\nhttps://e.x/s.xml", []),
        ("Sitemap: /s.xml\nSitemap: //e.x/s.xml\nSitemap: s.xml\nSitemap: ftp://e.x/s.xml", []),
        ("Sitemap: https://e.x/my file.xml", []),
        ("Sitemap: https://me:pw@e.x/s.xml", []),
        ("Sitemap: https://a.x/\rSitemap: https://b.x/\r\nSitemap: https://c.x/\n\n", "a b c"),
        ("Sitemap: https://b.x/\nSitemap: https://a.x/\nSitemap: https://b.x/", "b a"),
        ("User-agent: a\nSitemap: https://a.x/\nDisallow: /\n\nUser-agent: *\nSitemap: https://b.x/", "a b"),
        ("Sitemap: https://a.x/\x00\nSitemap: https://b.x/", "b"),
        ("<html><body>Sitemap: https://e.x/s.xml</body></html>", []),
    ],
)
def test_rfc_9309_the_sitemaps_that_a_robots_txt_names(robots_txt: str, expected: list[str] | str) -> None:
    if isinstance(expected, str):
        expected = [f"https://{letter}.x/" for letter in expected.split()]
    assert sitemaps_in(robots_txt) == expected
    assert sitemaps_in(robots_txt.encode()) == expected


def test_rfc_9309_so_much_of_a_robots_txt_is_read_and_no_more() -> None:
    line = b"Sitemap: https://e.x/%05d.xml\n"
    assert len(sitemaps_in(b"".join(line % number for number in range(600)))) == 500
    filler = b"#" * (500 * 1024 - len(line % 1) - 1) + b"\n"
    assert sitemaps_in(filler + line % 1) == ["https://e.x/00001.xml"]
    assert sitemaps_in(b"#" + filler + line % 1) == []  # a line that is cut off may be cut anywhere
    assert sitemaps_in((filler + line % 1 + line % 2).decode()) == ["https://e.x/00001.xml"]
    assert sitemaps_in(b"x" * 1_000_000) == []


def test_ours_missing_lines_are_told_once() -> None:
    robots_txt = "User-agent: *\nDisallow:\nsitemap: HTTPS://Example.com:443/a.xml"
    wanted = ["https://example.com/a.xml", "https://example.com/b.xml", "https://EXAMPLE.com/b.xml"]
    lines = missing_lines(robots_txt, wanted)
    assert lines == ["Sitemap: https://example.com/b.xml"]
    assert missing_lines("\n".join((robots_txt, *lines)).encode(), wanted) == []
    assert missing_lines("", ["https://e.x/s.php?a=1", "https://e.x/s.php?a=2#b"]) == [
        "Sitemap: https://e.x/s.php?a=1",
        "Sitemap: https://e.x/s.php?a=2",
    ]
    for bad in ("/sitemap.xml", "https://e.x/s.xml\nDisallow: /", "https://e.x/my file.xml"):
        with pytest.raises(InvalidLocation):
            missing_lines("", [bad])


@settings(max_examples=200)
@given(st.binary(max_size=300) | st.text("Ssitemap-: \t\r\n#https://e.x", max_size=80))
def test_ours_no_robots_txt_raises(robots_txt: bytes | str) -> None:
    assert all(url.lower().startswith("http") for url in sitemaps_in(robots_txt))


@pytest.mark.parametrize(
    ("robots_txt", "expected"),
    [
        (f"Sitemap: {OURS}", True),
        ("Sitemap: HTTPS://WWW.EXAMPLE.COM:443/maps/./sitemap.xml", True),
        ("Sitemap: https://www.example.com/sitemap.xml", False),
        ("Sitemap: http://www.example.com/maps/sitemap.xml", False),
        (f"Sitemap: {OURS}?page=1", False),
        ("User-agent: *\nAllow: /", False),
        ("", False),
    ],
)
def test_sitemaps_org_a_robots_txt_vouches_for_the_sitemaps_it_names(robots_txt: str, expected: bool) -> None:
    assert vouches(robots_txt, OURS) is expected
    assert vouches(robots_txt, "https://www.example.com/other.xml", OURS) is expected


def test_sitemaps_org_a_host_vouches_through_its_own_robots_txt() -> None:
    robots = Robots(
        {
            "https://shop.example/robots.txt": f"Sitemap: {OURS}\n".encode(),
            "https://shop.example:8443/robots.txt": b"Sitemap: https://shop.example:8443/sitemap.xml",
            "https://down.example/robots.txt": TimeoutError("no answer"),
            "https://www.example.com/robots.txt": f"Sitemap: {OURS}\n".encode(),
        }
    )
    submits = CrossSubmits(OURS, robots)
    for url, expected in [
        ("https://shop.example/boats", True),
        ("https://shop.example", True),
        ("https://SHOP.example:443/any/where?x=1", True),
        ("https://shop.example:8443/boats", False),
        ("http://shop.example/boats", False),
        ("https://blog.example/", False),
        ("https://down.example/", False),
        ("https://www.example.com/elsewhere", False),  # of its own host only its directory decides
        ("https://shop.example@evil.example/", False),
        ("https://evil.example\\@shop.example/", False),
        ("https://shop.example#@evil.example/", True),
        ("shop.example/boats", False),
        ("", False),
    ]:
        assert submits.vouched(url) is expected, url
        assert submits.vouched(url) is expected, url
    assert robots.asked == [
        "https://shop.example/robots.txt",
        "https://shop.example:8443/robots.txt",
        "http://shop.example/robots.txt",
        "https://blog.example/robots.txt",
        "https://down.example/robots.txt",
    ]
    assert submits.origins["https://shop.example"]
    assert not submits.full


def test_sitemaps_org_naming_the_index_is_naming_its_sitemaps() -> None:
    robots = Robots({"https://shop.example/robots.txt": b"Sitemap: https://www.example.com/index.xml"})
    assert not CrossSubmits(OURS, robots).vouched("https://shop.example/")
    assert CrossSubmits(OURS, robots, ["https://www.example.com/index.xml"]).vouched("https://shop.example/")


def test_ours_the_number_of_origins_is_bounded() -> None:
    robots = Robots({f"https://{n}.example/robots.txt": f"Sitemap: {OURS}".encode() for n in range(9)})
    submits = CrossSubmits(OURS, robots, max_origins=3)
    assert [submits.vouched(f"https://{n % 5}.example/") for n in range(10)] == [True, True, True, False, False] * 2
    assert submits.full
    assert len(robots.asked) == len(submits.origins) == 3


@pytest.mark.parametrize("make", [lambda: CrossSubmits("/s.xml", {}.get), lambda: CrossSubmits(OURS, {}.get, ["x"])])
def test_ours_a_bad_address_is_refused_at_once(make: Callable[[], CrossSubmits]) -> None:
    with pytest.raises(InvalidLocation):
        make()


def test_sitemaps_org_the_writer_lists_what_is_vouched_for(tmp_path: Path) -> None:
    submits = CrossSubmits(OURS, Robots({"https://shop.example/robots.txt": f"Sitemap: {OURS}".encode()}))
    with SitemapWriter(Directory(tmp_path), OURS, WriterOptions(vouched=submits.vouched)) as writer:
        writer.add(Entry("https://shop.example/boats"))
        writer.add(Entry("https://www.example.com/maps/1"))
        for url in ("https://blog.example/", "https://www.example.com/other/1"):
            with pytest.raises(InvalidEntry, match="below"):
                writer.add(Entry(url))
        writer.finish()
    listed = [entry.loc for entry in read(tmp_path / "sitemap.xml")]
    assert listed == ["https://shop.example/boats", "https://www.example.com/maps/1"]
