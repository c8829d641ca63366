"""What is written is valid, whole and nothing else: checked with lxml and the official schemas."""

import gzip
import hashlib
import re
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from sitemap import (
    Alternate,
    Directory,
    EmptySitemap,
    Entry,
    Format,
    Image,
    InvalidEntry,
    InvalidLocation,
    LimitExceeded,
    News,
    Published,
    SitemapError,
    SitemapWriter,
    Video,
    WriterOptions,
)
from sitemap.writer import filling
from sitemap.writer.encoder import UrlsetEncoder
from sitemap.writer.shard import Shard

LOCATION = "https://example.com/sitemap.xml"
S = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
V = "{http://www.google.com/schemas/sitemap-video/1.1}"
I = "{http://www.google.com/schemas/sitemap-image/1.1}"  # noqa: E741
X = "{http://www.w3.org/1999/xhtml}"


def publish(folder: Path, entries: Any, location: str = LOCATION, **options: Any) -> Published:
    with SitemapWriter(Directory(folder), location, WriterOptions(**options)) as writer:
        for entry in entries:
            writer.add(entry)
        return writer.finish()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def locs(root: Any) -> list[str]:
    return [element.text for element in root.iter(S + "loc")]


def plain(count: int) -> list[Entry]:
    return [Entry(f"https://example.com/{number:06}") for number in range(count)]


@pytest.mark.thorough
@pytest.mark.needs_schemas
@pytest.mark.parametrize(("count", "shards"), [(1, 0), (49_999, 0), (50_000, 0), (50_001, 2)])
@pytest.mark.parametrize("packed", [False, True])
def test_sitemaps_org_50000_urls_are_the_most_in_a_file(
    tmp_path: Path, validate: Any, count: int, shards: int, packed: bool
) -> None:
    entries = plain(count)
    published = publish(tmp_path, entries, gzip=packed)
    end = ".gz" if packed else ""
    children = [f"sitemap-{number}.xml{end}" for number in range(1, shards + 1)]
    assert names(tmp_path) == sorted([*children, "sitemap.xml" if shards else "sitemap.xml" + end])
    listed = []
    for name in children or ["sitemap.xml" + end]:
        found = locs(validate(tmp_path / name))
        assert len(found) <= 50_000
        listed += found
    assert listed == [entry.loc for entry in entries]
    assert (published.urls, published.index) == (count, bool(shards))
    if shards:
        root = validate(tmp_path / "sitemap.xml")
        assert root.tag == S + "sitemapindex"
        assert locs(root) == [f"https://example.com/{name}" for name in children]
        assert [facts.entries for facts in published.files] == [50_000, 1, 2]


@pytest.mark.needs_schemas
@pytest.mark.parametrize("extra", [0, 1])
def test_sitemaps_org_uncompressed_bytes_decide(tmp_path: Path, validate: Any, extra: int) -> None:
    # Four long entries, and a limit that the head, they and the foot meet exactly or miss by one byte.
    entries = [Entry(f"https://example.com/{number}/".ljust(2_000, "x")) for number in range(4)]
    exact = publish(tmp_path / "probe", entries).files[0].size
    published = publish(tmp_path / "set", entries, max_bytes=exact - extra)
    assert published.index is bool(extra)
    for facts in published.files:
        validate(tmp_path / "set" / facts.name)
        assert facts.size == (tmp_path / "set" / facts.name).stat().st_size <= exact - extra


@pytest.mark.thorough
@pytest.mark.needs_schemas
def test_sitemaps_org_52428800_bytes_are_the_most_in_a_file(tmp_path: Path, validate: Any) -> None:
    long = "x" * 1_900
    published = publish(tmp_path, (Entry(f"https://example.com/{number:06}/{long}") for number in range(28_000)))
    assert [facts.entries for facts in published.files][-1] == 2
    sizes = [facts.size for facts in published.files]
    assert sizes[0] > 52_428_800 - 2_100  # the next entry would not have fitted
    for facts in published.files:
        validate(tmp_path / facts.name)


HOSTILE = [
    "https://example.com/?a=1&b=2",
    "https://example.com/?x=<y>",
    "https://example.com/'quoted\">",
    "https://example.com/%00%1F",
    "https://example.com/\U0001f600/\u05d0\u05d1\u05d2\u202e/\u0645",
    "https://example.com/&amp;&#38;",
    "https://example.com/--><!--",
]


@pytest.mark.needs_schemas
def test_w3_xml_hostile_urls_come_back_as_they_were(tmp_path: Path, validate: Any) -> None:
    publish(tmp_path, [Entry(loc) for loc in HOSTILE])
    assert locs(validate(tmp_path / "sitemap.xml")) == HOSTILE


@pytest.mark.needs_schemas
def test_rfc3986_what_a_url_may_not_hold_is_escaped(tmp_path: Path, validate: Any) -> None:
    # Browsers leave these as they are, and xsd:anyURI does not know them.
    given = ["https://[::1]:8080/?f[a]=]]>", "https://[::1]:8080/?off=50%&x=%zz%41", "https://[::1]:8080/a#b#c"]
    publish(tmp_path, [Entry(loc) for loc in given], "https://[::1]:8080/sitemap.xml")
    assert locs(validate(tmp_path / "sitemap.xml")) == [
        "https://[::1]:8080/?f%5Ba%5D=%5D%5D>",
        "https://[::1]:8080/?off=50%25&x=%25zz%41",
        "https://[::1]:8080/a#b%23c",
    ]


@pytest.mark.parametrize("character", ["\x00", "\x0b", "\t", "\n", " ", "\x7f", "\ud800", "\ufffe", "\u2028"])
def test_ours_a_url_that_would_lose_a_character_is_refused(tmp_path: Path, character: str) -> None:
    with pytest.raises(InvalidEntry):
        publish(tmp_path, [Entry(f"https://example.com/a{character}b")])
    assert names(tmp_path) == []


def full_video(**changes: Any) -> Video:
    values: dict[str, Any] = {
        "thumbnail_loc": "https://cdn.example.net/t.jpg?a&b",
        "title": "Tom & Jerry <\x00\x0b>\r\nfor \U0001f600",
        "description": "]]> & \"'\x1f",
        "content_loc": "https://cdn.example.net/v.mp4",
        "player_loc": "https://cdn.example.net/player?v=1&x",
        "duration": 28_800,
        "expiration_date": "2031-11-05T19:20:30+08:00",
        "rating": 0.00001,
        "view_count": 12_345,
        "publication_date": "2026-11-05",
        "family_friendly": True,
        "restriction": ("allow", "IE GB US"),
        "platform": ("deny", "web tv"),
        "requires_subscription": False,
        "uploader": ("Grill & Co", "https://example.com/users/grill?a&b"),
        "live": False,
        "tags": tuple(f"tag {number} &" for number in range(32)),
    }
    return Video(**(values | changes))


@pytest.mark.needs_schemas
def test_google_all_extensions_together_are_valid(tmp_path: Path, validate: Any) -> None:
    entry = Entry(
        "https://example.com/en/",
        "2026-11-05T10:00:00.123Z",
        "weekly",
        0.5,
        tuple(Image(f"https://cdn.example.net/{number}.png?a&b") for number in range(1_000)),
        (full_video(), Video("https://e.com/t.jpg", "t", "d", player_loc="https://e.com/p")),
        (
            Alternate("en", "https://example.com/en/"),
            Alternate("zh-Hant-TW", "https://example.com/tw/?a&b"),
            Alternate("x-default", "https://example.com/"),
        ),
    )
    publish(tmp_path, [entry])
    root = validate(tmp_path / "sitemap.xml")
    url = root[0]
    assert [url.findtext(S + name) for name in ("loc", "lastmod", "changefreq", "priority")] == [
        entry.loc,
        entry.lastmod,
        "weekly",
        "0.5",
    ]
    assert [element.text for element in url.iter(I + "loc")] == [image.loc for image in entry.images]
    assert [(link.get("hreflang"), link.get("href"), link.get("rel")) for link in url.iter(X + "link")] == [
        (alternate.hreflang, alternate.href, "alternate") for alternate in entry.alternates
    ]
    video = url.find(V + "video")
    assert video.findtext(V + "title") == "Tom & Jerry <>\r\nfor \U0001f600"
    assert video.findtext(V + "rating") == "0.00001"
    assert video.find(V + "restriction").get("relationship") == "allow"
    assert len(video.findall(V + "tag")) == 32


@pytest.mark.needs_schemas
def test_ours_only_the_namespaces_in_use_are_declared(tmp_path: Path, validate: Any) -> None:
    entries = [
        Entry("https://example.com/1"),
        Entry("https://example.com/2", images=(Image("https://example.com/i.png"),)),
        Entry("https://example.com/3", alternates=(Alternate("de", "https://example.com/de"),)),
    ]
    publish(tmp_path, entries, max_urls=1)
    declared = [set(validate(tmp_path / f"sitemap-{number}.xml").nsmap) for number in (1, 2, 3)]
    assert declared == [{None}, {None, "image"}, {None, "xhtml"}]


BAD_ENTRIES = {
    "too long": Entry("https://example.com/".ljust(2_048, "x")),
    "too short": Entry("http://a.b/"),
    "other host": Entry("https://www.example.com/"),
    "other scheme": Entry("http://example.com/a"),
    "other port": Entry("https://example.com:8443/a"),
    "credentials": Entry("https://me:secret@example.com/a"),
    "relative": Entry("/a/relative/one"),
    "lastmod": Entry("https://example.com/a", "2024-02-30"),
    "lastmod year": Entry("https://example.com/a", "2024"),
    "lastmod zone": Entry("https://example.com/a", "2024-02-03T10:00:00"),
    "changefreq": Entry("https://example.com/a", changefreq="sometimes"),
    "priority": Entry("https://example.com/a", priority=1.1),
    "priority nan": Entry("https://example.com/a", priority=float("nan")),
    "1,001 images": Entry("https://example.com/a", images=(Image("https://example.com/i.png"),) * 1_001),
    "data image": Entry("https://example.com/a", images=(Image("data:image/png;base64,xxxx"),)),
    "hreflang": Entry("https://example.com/a", alternates=(Alternate("en_GB", "https://example.com/b"),)),
    "video title": Entry("https://example.com/a", videos=(full_video(title="x" * 101),)),
    "video empty": Entry("https://example.com/a", videos=(full_video(description="\x00"),)),
    "video duration": Entry("https://example.com/a", videos=(full_video(duration=28_801),)),
    "video itself": Entry("https://example.com/a", videos=(full_video(content_loc="https://example.com/a"),)),
    "video tags": Entry("https://example.com/a", videos=(full_video(tags=("x",) * 33),)),
    "video country": Entry("https://example.com/a", videos=(full_video(restriction=("allow", "uk")),)),
    "video nothing": Entry("https://example.com/a", videos=(full_video(content_loc="", player_loc=""),)),
}


@pytest.mark.parametrize("case", BAD_ENTRIES)
def test_sitemaps_org_an_entry_that_cannot_be_valid_is_refused_alone(tmp_path: Path, case: str) -> None:
    with SitemapWriter(Directory(tmp_path), LOCATION) as writer:
        writer.add(Entry("https://example.com/0"))
        with pytest.raises(InvalidEntry):
            writer.add(BAD_ENTRIES[case])
        writer.add(Entry("https://example.com/z"))
        assert writer.finish().urls == 2
    text = (tmp_path / "sitemap.xml").read_text()
    assert text.count("<url>") == 2


def test_ours_an_entry_bigger_than_a_file_is_refused(tmp_path: Path) -> None:
    big = Entry("https://example.com/b", images=tuple(Image(f"https://example.com/{n}.png") for n in range(50)))
    with SitemapWriter(Directory(tmp_path), LOCATION, WriterOptions(max_bytes=1_000)) as writer:
        writer.add(Entry("https://example.com/a"))
        with pytest.raises(InvalidEntry, match="alone"):
            writer.add(big)
        writer.finish()
    assert names(tmp_path) == ["sitemap.xml"]


def test_ours_the_same_url_twice_in_a_row_is_refused(tmp_path: Path) -> None:
    with SitemapWriter(Directory(tmp_path), LOCATION) as writer:
        writer.add(Entry("https://example.com/a"))
        with pytest.raises(InvalidEntry, match="just added"):
            writer.add(Entry("https://example.com/a", "2026-01-01"))


def test_sitemaps_org_an_empty_set_is_never_published(tmp_path: Path) -> None:
    publish(tmp_path, plain(3))
    before = (tmp_path / "sitemap.xml").read_bytes()
    with pytest.raises(EmptySitemap):
        publish(tmp_path, [])
    assert names(tmp_path) == ["sitemap.xml"]
    assert (tmp_path / "sitemap.xml").read_bytes() == before


def test_ours_the_same_entries_give_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        publish(tmp_path / folder, plain(5), gzip=True, max_urls=2)
    assert len(names(tmp_path / "a")) == 4
    for name in names(tmp_path / "a"):
        data = (tmp_path / "a" / name).read_bytes()
        assert data == (tmp_path / "b" / name).read_bytes()
        if name.endswith(".gz"):
            assert data[4:10] == b"\0\0\0\0\0\xff"  # no time, no flags, no system


def test_ours_the_facts_are_those_of_the_files(tmp_path: Path) -> None:
    entries = [
        Entry("https://example.com/a", "2024-05-08"),
        Entry("https://example.com/b", "2024-05-08T23:30:00-02:00"),
        Entry("https://example.com/c", "2024-05-09T00:30:00Z"),
        Entry("https://example.com/d"),
    ]
    published = publish(tmp_path, entries, gzip=True, max_urls=3)
    first, second, index = published.files
    assert first.lastmod == "2024-05-08T23:30:00-02:00"  # 01:30 UTC on the 9th: later than the third
    assert second.lastmod == ""
    assert index.lastmod == first.lastmod
    text = (tmp_path / "sitemap.xml").read_text()
    assert text.count("<lastmod>") == 1
    for facts in published.files:
        stored = (tmp_path / facts.name).read_bytes()
        content = gzip.decompress(stored) if facts.name.endswith(".gz") else stored
        assert (facts.stored, facts.size) == (len(stored), len(content))
        assert facts.sha256 == hashlib.sha256(content).hexdigest()
    assert published.url == LOCATION


@pytest.mark.parametrize(
    ("location", "packed", "single", "several"),
    [
        ("https://example.com/docs/sitemap.xml", False, "sitemap.xml", ["sitemap-1.xml", "sitemap.xml"]),
        ("https://example.com/docs/sitemap.xml", True, "sitemap.xml.gz", ["sitemap-1.xml.gz", "sitemap.xml"]),
        ("https://example.com/docs/map.xml.gz", True, "map.xml.gz", ["map-1.xml.gz", "map.xml.gz"]),
        ("https://example.com/docs/my%20map", False, "my map", ["my map", "my map-1.xml"]),
    ],
)
def test_ours_names_follow_the_location(
    tmp_path: Path, location: str, packed: bool, single: str, several: list[str]
) -> None:
    entries = [Entry(f"https://example.com/docs/{n}") for n in range(2)]
    published = publish(tmp_path / "one", entries, location, gzip=packed)
    assert names(tmp_path / "one") == [single]
    assert published.url == f"https://example.com/docs/{quote(single)}"
    published = publish(tmp_path / "two", entries, location, gzip=packed, max_urls=1)
    assert set(several) <= set(names(tmp_path / "two"))
    assert published.url == location
    for facts in published.files:
        assert (tmp_path / "two" / facts.name).read_bytes().startswith(b"\x1f\x8b") is facts.name.endswith(".gz")


@pytest.mark.parametrize(
    "location",
    [
        "ftp://example.com/sitemap.xml",
        "https://example.com/",
        "https://example.com",
        "sitemap.xml",
        "https://example.com/%2e%2e%2fpasswd",
        "https://example.com/a%00.xml",
        "https://example.com/.htaccess",
        "https://example.com/" + "x" * 3_000,
    ],
)
def test_ours_a_location_without_a_file_name_is_refused(tmp_path: Path, location: str) -> None:
    with pytest.raises(InvalidLocation):
        SitemapWriter(Directory(tmp_path), location)


@pytest.mark.parametrize(
    "options", [{"max_urls": 0}, {"max_urls": 50_001}, {"max_bytes": 52_428_801}, {"max_bytes": 9}]
)
def test_sitemaps_org_limits_cannot_be_raised(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(LimitExceeded):
        SitemapWriter(Directory(tmp_path), LOCATION, WriterOptions(**options))
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"format": "html"}, "'html' is not a format. Choose one of 'urlset', 'RSS'"),
        ({"stylesheet": "sass"}, "Choose css or xsl"),
        ({"max_urls": "9"}, "max_urls is '9': it must be an integer from 1 to 50,000"),
    ],
)
def test_ours_a_choice_that_there_is_not_is_said_at_once(options: Any, told: str) -> None:
    with pytest.raises(SitemapError, match=told):
        WriterOptions(**options)


def test_ours_a_path_is_a_directory_and_a_text_a_format(tmp_path: Path) -> None:
    options: Any = WriterOptions(format="text")  # type: ignore[arg-type]
    for place in (tmp_path / "a", str(tmp_path / "b")):
        with SitemapWriter(place, "https://example.com/sitemap.txt", options) as writer:
            writer.add(Entry("https://example.com/"))
            writer.finish()
        assert (Path(place) / "sitemap.txt").read_bytes() == b"https://example.com/\n"


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (Entry("https://example.com/a", lastmod=date(2026, 1, 31)), "lastmod is a date: convert it to text"),  # type: ignore[arg-type]
        (Entry("https://example.com/a", images=["a.jpg"]), r"images\[0\] is of the type str: write Image"),  # type: ignore[arg-type]
        (Entry("https://example.com/a", images=(Image(7),)), r"images\[0\].loc is of the type int, and must be str"),  # type: ignore[arg-type]
        (Entry("https://example.com/a", priority="0.5"), "priority is of the type str, and must be float | None"),  # type: ignore[arg-type]
        (Entry("https://example.com/a", alternates={"de": "x"}), "alternates is of the type"),  # type: ignore[arg-type]
        (Entry(None), "loc is of the type null, and must be str"),  # type: ignore[arg-type]
        ("https://example.com/a", "write Entry"),
        (None, "a value of type NoneType is not an Entry: write Entry"),
    ],
)  # fmt: skip
def test_ours_values_of_wrong_types_are_said_with_the_remedy(tmp_path: Path, entry: Any, told: str) -> None:
    refused: list[InvalidEntry] = []
    with SitemapWriter(tmp_path, LOCATION) as writer:
        with pytest.raises(InvalidEntry, match=told):
            writer.add(entry)
        writer.extend([Entry("https://example.com/b"), entry, Entry("https://example.com/c")], refused.append)
        assert writer.finish().urls == 2
    assert re.search(told, refused[0].reason)


@pytest.mark.parametrize("form", [Format.URLSET, Format.TEXT])
@pytest.mark.parametrize("loc", ["https://example.com/b/../a", "https://example.com/b/c/../../a"])
def test_rfc3986_dot_segments_do_not_hide_that_a_url_is_not_below_its_sitemap(
    tmp_path: Path, form: Format, loc: str
) -> None:
    with SitemapWriter(tmp_path, "https://example.com/b/sitemap.xml", WriterOptions(format=form)) as writer:
        writer.add(Entry("https://example.com/b/c/../a"))
        with pytest.raises(InvalidEntry, match="not below"):
            writer.add(Entry(loc))
        with pytest.raises(InvalidEntry, match="not below"):
            writer.extend([Entry(loc)])
        assert writer.finish().urls == 1


@pytest.mark.parametrize(
    ("character", "escaped"),
    [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&apos;"), ("é", "é")],
)
def test_sitemaps_org_each_character_that_xml_reserves_is_escaped_alone(character: str, escaped: str) -> None:
    entry = Entry(f"https://example.com/a{character}b")
    assert UrlsetEncoder().entry(entry).decode() == f"<url><loc>https://example.com/a{escaped}b</loc></url>\n"


@pytest.mark.parametrize("form", [Format.URLSET, Format.TEXT])
def test_sitemaps_org_a_url_has_twelve_characters_at_least(tmp_path: Path, form: Format) -> None:
    with SitemapWriter(tmp_path, "http://a.b/sitemap.xml", WriterOptions(format=form)) as writer:
        writer.extend([Entry("http://a.b/1"), Entry("http://a.b/22")])
        writer.add(Entry("http://a.b/3"))
        for put in (writer.add, lambda entry: writer.extend([Entry("http://a.b/44"), entry])):
            with pytest.raises(InvalidEntry, match="it has 11 characters, the XSD requires at least 12"):
                put(Entry("http://a.b/"))


def test_ours_an_error_of_the_disk_while_a_set_is_discarded_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def close(body: filling.EntryBody) -> None:
        raise OSError(28, "No space left on device")

    def write_in_part() -> None:
        with SitemapWriter(tmp_path, LOCATION) as writer:
            writer.add(Entry("https://example.com/a"))
            monkeypatch.setattr(filling.EntryBody, "close", close)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        write_in_part()
    assert names(tmp_path) == []


def test_ours_what_a_callers_function_raises_is_not_hidden(tmp_path: Path) -> None:
    options = WriterOptions(group=lambda entry: entry.loc + 1)  # type: ignore[operator]
    with SitemapWriter(tmp_path, LOCATION, options) as writer, pytest.raises(TypeError):
        writer.add(Entry("https://example.com/"))
    with SitemapWriter(tmp_path, LOCATION) as writer, pytest.raises(SitemapError, match="Use add for one Entry"):
        writer.extend("https://example.com/")  # type: ignore[arg-type]


def test_ours_a_shard_is_never_over_a_limit() -> None:
    shard = Shard(UrlsetEncoder().room, max_urls=2, max_bytes=1_000)
    assert shard.offer(500)
    before = shard.size
    assert not shard.offer(500)
    assert not shard.offer(1_000 - before + 1)
    assert not shard.offer(1_000 - before, 1)  # the namespace needs room as well
    assert (shard.size, shard.entries, shard.free, shard.lastmod) == (before, 1, 1, "")
    assert not shard.offer(2, count=2)
    assert shard.offer(1_000 - before)
    assert (shard.size, shard.free) == (1_000, 0)
    assert not shard.offer(0)


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"max_urls": 0}, "max_urls is 0: it must be between 1 and 50,000"),
        ({"max_urls": 50_001}, "max_urls is 50,001: it must be between 1 and 50,000"),
        ({"max_bytes": 110}, "max_bytes is 110: it must be between 111 and 52,428,800"),  # no entry fits
        ({"max_bytes": 52_428_801}, "max_bytes is 52,428,801: it must be between 111 and 52,428,800"),
        ({"max_urls": 1}, ""),
        ({"max_urls": 50_000}, ""),
        ({"max_bytes": 111}, ""),
        ({"max_bytes": 52_428_800}, ""),
    ],
)
def test_sitemaps_org_limits_are_those_of_the_protocol_at_most_and_leave_room_for_an_entry(
    limits: dict[str, int], told: str
) -> None:
    room_of = UrlsetEncoder().room
    assert room_of(0) == 110
    if told:
        with pytest.raises(LimitExceeded) as failed:
            Shard(room_of, **limits)
        assert str(failed.value) == told
    else:
        assert Shard(room_of, **limits).size == 110


def test_google_a_file_has_a_thousand_articles_at_most(tmp_path: Path) -> None:
    news = News("The Example Times", "en", "2026-02-01", "A title")
    with SitemapWriter(Directory(tmp_path), LOCATION) as writer:
        writer.extend(Entry(f"https://example.com/{number}") for number in range(3))
        writer.extend(Entry(f"https://example.com/news/{number}", news=news) for number in range(1_001))
        published = writer.finish()
    assert [facts.entries for facts in published.files] == [1_003, 1, 2]


def test_ours_a_writer_is_used_once(tmp_path: Path) -> None:
    with SitemapWriter(Directory(tmp_path), LOCATION) as writer:
        writer.add(Entry("https://example.com/a"))
        writer.finish()
        with pytest.raises(SitemapError):
            writer.finish()
        with pytest.raises(SitemapError):
            writer.add(Entry("https://example.com/b"))
    assert names(tmp_path) == ["sitemap.xml"]


@pytest.mark.parametrize(
    "dates", [("2026-01-04", "2026-01-03", "2026-01-02", "2026-01-01"), ("", "2026-01-02", "", "")]
)
@pytest.mark.parametrize("grouped", [False, True])
def test_sitemaps_org_the_index_says_of_each_file_the_newest_date_in_it(
    tmp_path: Path, dates: tuple[str, ...], grouped: bool
) -> None:
    """Many plain entries at once are divided among files; each file has a date of its own, or none."""
    entries = [Entry(f"https://example.com/{number % 2}?a&b={number}", date) for number, date in enumerate(dates * 3)]
    options = WriterOptions(max_urls=2, group=(lambda entry: entry.loc[20]) if grouped else None)
    with SitemapWriter(Directory(tmp_path), LOCATION, options) as writer:
        writer.extend(entries)
        published = writer.finish()
    for facts in published.files:
        text = (tmp_path / facts.name).read_text()
        if "<urlset" in text:
            assert facts.lastmod == max(re.findall("<lastmod>(.*?)</lastmod>", text), default="")
    index = (tmp_path / "sitemap.xml").read_text()
    assert [match or "" for match in re.findall("<sitemap><loc>[^<]*</loc>(?:<lastmod>(.*?)</lastmod>)?", index)] == [
        facts.lastmod for facts in published.files if facts.name != "sitemap.xml"
    ]
    assert index.count("<sitemap>") == 6
    assert sum((tmp_path / facts.name).read_text().count("?a&amp;b=") for facts in published.files) == 12


@pytest.mark.thorough
@pytest.mark.parametrize("format", ["urlset", "text"])
@pytest.mark.parametrize("dates", [("2026-01-02",), ("",), ("2026-01-02", "", "2026-01-03T10:00:00Z")])
@pytest.mark.parametrize("limits", [{}, {"max_urls": 7}, {"max_bytes": 900}])
def test_ours_plain_entries_at_once_are_the_bytes_of_the_same_one_by_one(
    tmp_path: Path, format: str, dates: tuple[str, ...], limits: dict[str, int]
) -> None:
    entries = [Entry(f"https://example.com/{number}?a=1&b=%C3%A9", dates[number % len(dates)]) for number in range(30)]
    written = []
    for name in ("one", "many"):
        options = WriterOptions(format=format, index="index.xml", **limits)  # type: ignore[arg-type]
        with SitemapWriter(Directory(tmp_path / name), LOCATION, options) as writer:
            if name == "many":
                writer.extend(entries)
            else:
                for entry in entries:
                    writer.add(entry)
            facts = writer.finish().files
        written.append((facts, {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}))
    assert written[0] == written[1]
    assert len(written[0][0]) == (6 if "max_urls" in limits else len(written[0][1]))


def test_ours_the_smallest_max_bytes_that_an_error_names_is_the_smallest_that_works(tmp_path: Path) -> None:
    with pytest.raises(LimitExceeded, match=r"between \d+ and 52,428,800") as refused:
        SitemapWriter(Directory(tmp_path), "https://example.com/sitemap.xml", WriterOptions(max_bytes=1))
    found = re.search(r"between (\d+)", str(refused.value))
    assert found
    least = int(found[1])
    SitemapWriter(Directory(tmp_path), "https://example.com/sitemap.xml", WriterOptions(max_bytes=least))
    with pytest.raises(LimitExceeded):
        SitemapWriter(Directory(tmp_path), "https://example.com/sitemap.xml", WriterOptions(max_bytes=least - 1))
