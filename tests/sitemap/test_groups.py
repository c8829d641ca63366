"""Every entry is in the files of one group, groups keep apart, and an index leads to all and to what others made."""

import gzip
import random
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sitemap import (
    Alternate,
    Channel,
    Child,
    Directory,
    EmptySitemap,
    Entry,
    Format,
    Image,
    InvalidEntry,
    LimitExceeded,
    News,
    Published,
    SitemapError,
    SitemapWriter,
    Video,
    WriterOptions,
    by_language,
    by_pattern,
    by_section,
    by_type,
    write_index,
)
from sitemap.writer import filling
from sitemap.writer import index as children
from sitemap.writer.filling import BodyMemory

LOCATION = "https://example.com/sitemap.xml"
SITE = "https://example.com"
LOC = "{http://www.sitemaps.org/schemas/sitemap/0.9}loc"


def publish(folder: Path, entries: Any, location: str = LOCATION, **options: Any) -> Published:
    with SitemapWriter(Directory(folder), location, WriterOptions(**options)) as writer:
        writer.extend(entries)
        return writer.finish()


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def locs(path: Path) -> list[str]:
    data = path.read_bytes()
    return [str(loc.text) for loc in ET.fromstring(gzip.decompress(data) if path.suffix == ".gz" else data).iter(LOC)]


# The ready-made groupings.


@pytest.mark.parametrize(
    ("url", "one", "two"),
    [
        ("https://example.com", "root", "root"),
        ("https://example.com/about.html?a=/b/c", "root", "root"),
        ("https://example.com/shop/", "shop", "shop"),
        ("https://example.com/shop/shoes/red", "shop", "shop-shoes"),
        ("https://example.com/shop/shoes/red/4?x#/y", "shop", "shop-shoes"),
        ("https://example.com//shop/x", "root", "shop"),
        ("https://example.com/%D0%B0%D0%B1/x", "\u0430\u0431", "\u0430\u0431"),
    ],
)
def test_ours_sections_are_the_first_directories(url: str, one: str, two: str) -> None:
    assert (by_section()(Entry(url)), by_section(2)(Entry(url))) == (one, two)


def test_ours_patterns_are_tried_in_their_order() -> None:
    group = by_pattern({"posts": r"/\d{4}/", "tags": re.compile(r"/tag/"), "all-x": "/x"})
    found = [group(Entry(SITE + path)) for path in ("/2026/tag/x", "/tag/x", "/x/y", "/a/b")]
    assert found == ["posts", "tags", "all-x", "other"]
    with pytest.raises(SitemapError, match="regular expression"):
        by_pattern({"bad": "("})
    with pytest.raises(SitemapError, match="depth"):
        by_section(0)


@pytest.mark.parametrize(
    ("path", "own", "group"),
    [
        ("/de/x", "", "de"),
        ("/pt_BR/x", "", "pt-br"),
        ("/zh-Hant-TW/x", "", "zh-hant-tw"),
        ("/de/x", "fr", "fr"),
        ("/x", "x-default", "other"),
        ("/about/x", "", "other"),
        ("/xx/x", "", "other"),
        ("/x-default/x", "", "other"),
        ("", "", "other"),
    ],
)
def test_google_languages_are_told_by_the_own_alternate_or_the_path(path: str, own: str, group: str) -> None:
    url = SITE + path
    alternates = (Alternate("x-default", url), Alternate("es", url + "/es"), Alternate(own, url)) if own else ()
    assert by_language()(Entry(url, alternates=alternates)) == group


def test_ours_types_are_what_search_engines_look_for() -> None:
    image, video = Image(SITE + "/i.png"), Video(SITE + "/t.jpg", "t", "d", player_loc=SITE + "/p")
    news = News("Paper", "en", "2026-01-01", "Title")
    entries = [
        Entry(SITE, images=(image,), videos=(video,), news=news),
        Entry(SITE, images=(image,), videos=(video,)),
        Entry(SITE, images=(image,)),
        Entry(SITE),
    ]
    assert [by_type()(entry) for entry in entries] == ["news", "video", "image", "page"]


@settings(max_examples=200)
@given(st.text(max_size=60))
def test_ours_every_url_has_a_group(url: str) -> None:
    for group in (by_section(), by_section(3), by_pattern({"a": "a"}), by_language(), by_type()):
        assert group(Entry(url)) == group(Entry(url))
        assert group(Entry(url))


# Sets with groups.


def mixed(count: int) -> list[Entry]:
    chance = random.Random(7)
    sections = ["shop", "blog", "Blog", "\u0430\u0431", "a.b"]
    return [
        Entry(
            f"{SITE}/{chance.choice(sections)}/{number}?a&b", chance.choice(["", "2026-01-02", "2026-03-04T05:06:07Z"])
        )
        for number in range(count)
    ]


@pytest.mark.parametrize("packed", [False, True])
def test_sitemaps_org_each_group_has_files_of_its_own_within_the_limits(tmp_path: Path, packed: bool) -> None:
    entries = mixed(400)
    published = publish(tmp_path, entries, group=by_section(), max_urls=30, gzip=packed)
    *files, index = published.files
    assert (published.urls, index.entries, index.name) == (400, len(files), "sitemap.xml")
    assert locs(tmp_path / "sitemap.xml") == [facts.url for facts in files]
    assert [facts.group for facts in files] == sorted(facts.group for facts in files)
    assert set(content(tmp_path)) == {facts.name for facts in published.files}
    end = r"\.xml\.gz" if packed else r"\.xml"
    for group in {facts.group for facts in files}:
        own = [facts for facts in files if facts.group == group]
        assert [re.fullmatch(rf"sitemap-[A-Za-z0-9._-]+-(\d+){end}", facts.name)[1] for facts in own] == [  # type: ignore[index]
            str(number + 1) for number in range(len(own))
        ]
        assert all(facts.entries <= 30 for facts in own)
        listed = [loc for facts in own for loc in locs(tmp_path / facts.name)]
        assert listed == [entry.loc for entry in entries if by_section()(entry) == group]


def test_ours_names_as_other_tools_make_them(tmp_path: Path) -> None:
    entries = [Entry(f"{SITE}/{kind}/{number}") for kind in ("post", "page") for number in range(3)]
    published = publish(
        tmp_path,
        entries,
        f"{SITE}/sitemap_index.xml",
        group=by_section(),
        max_urls=2,
        child="{group}-sitemap{next}.xml",
    )
    assert [facts.name for facts in published.files] == [
        "page-sitemap.xml",
        "page-sitemap2.xml",
        "post-sitemap.xml",
        "post-sitemap2.xml",
        "sitemap_index.xml",
    ]


def test_ours_a_group_alone_is_the_set_unless_an_index_is_wanted(tmp_path: Path) -> None:
    entries = [Entry(f"{SITE}/a/{number}") for number in range(3)]
    assert not publish(tmp_path, entries, group=by_section()).index
    assert set(content(tmp_path)) == {"sitemap.xml"}
    published = publish(tmp_path, entries, group=by_section(), always_index=True)
    assert published.index
    assert set(content(tmp_path)) == {"sitemap.xml", "sitemap-a-1.xml"}
    publish(tmp_path, entries, always_index=True)
    assert set(content(tmp_path)) == {"sitemap.xml", "sitemap-1.xml", "sitemap-a-1.xml"}


def test_ours_stale_files_of_the_same_groups_go_and_those_of_others_stay(tmp_path: Path) -> None:
    for name in ("sitemap-news.xml", "sitemap-image-1.xml", "sitemap-shop.xml", "sitemap-shop-1.html"):
        (tmp_path / name).write_text("mine")
    others = set(content(tmp_path))
    entries = [Entry(f"{SITE}/{kind}/{number}") for kind in ("blog", "shop") for number in range(6)]
    publish(tmp_path, entries, group=by_section(), max_urls=2)
    publish(tmp_path, entries, group=by_section(), max_urls=3)
    Directory(tmp_path, grace=0).check()
    assert set(content(tmp_path)) == others | {"sitemap.xml"} | {
        f"sitemap-{kind}-{number}.xml" for kind in ("blog", "shop") for number in (1, 2)
    }
    assert all((tmp_path / name).read_text() == "mine" for name in others)


def test_ours_groups_are_bounded(tmp_path: Path) -> None:
    with SitemapWriter(Directory(tmp_path), LOCATION, WriterOptions(group=by_section(), max_groups=3)) as writer:
        for number in range(3):
            writer.add(Entry(f"{SITE}/{number}/x"))
        writer.add(Entry(f"{SITE}/0/y"))
        with pytest.raises(LimitExceeded, match="max_groups"):
            writer.add(Entry(f"{SITE}/3/x"))
        with pytest.raises(SitemapError, match="is closed"):
            writer.finish()
    assert content(tmp_path) == {}


def test_ours_the_memory_of_all_groups_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = mixed(3_000)
    publish(tmp_path / "roomy", entries, group=by_section(), gzip=True)
    most = [0]
    make_room = BodyMemory.make_room

    def watching(self: BodyMemory) -> None:
        most[0] = max(most[0], self.used)
        make_room(self)
        assert self.used <= self.limit
        assert self.used == sum(map(len, self.bodies))

    monkeypatch.setattr(BodyMemory, "make_room", watching)
    monkeypatch.setattr("sitemap.writer.filling._MAX_MEMORY", 2_000)
    publish(tmp_path / "narrow", entries, group=by_section(), gzip=True)
    assert 2_000 < most[0] < 300_000
    assert content(tmp_path / "narrow") == content(tmp_path / "roomy")


# Many at once are the same as one by one.

PATHS = st.from_regex(r"/(en|shop)?/?[a-z0-9&%\.'\[\]#~ é<?=-]{0,8}", fullmatch=True)
LASTMODS = st.sampled_from(
    [
        "",
        "",
        "2026-01-02",
        "2026-01-03",
        "2026-01-02T00:00:00Z",
        "2026-01-01T23:30:00-02:00",
        "2026-01-02T03:04:05+00:00",
        "2026-01-02T03:04:05.5Z",
        "2026-02-30",
        "2026",
        "2026-01-02T25:00:00Z",
        "2026-01-02T03:04:05+15:00",
        "x",
    ]
)
ONE = st.builds(
    Entry,
    loc=st.one_of(
        PATHS.map(lambda path: SITE + path), PATHS.map(lambda path: "https://other.example" + path), st.text()
    ),
    lastmod=LASTMODS,
    priority=st.sampled_from([None, None, None, 0.5, 2.0]),
    images=st.sampled_from([(), (), (), (Image(SITE + "/i.png"),)]),
)
PLAIN = st.lists(
    st.builds(
        Entry,
        loc=st.integers(0, 50).map(lambda number: f"{SITE}/s{number % 3}/{number}?a&b=%C3%A9"),
        lastmod=st.sampled_from(["2026-01-02", "2026-01-03", "2025-12-31"]),
    ),
    max_size=30,
)
BETWEEN = st.tuples(PLAIN, st.lists(ONE, max_size=3), PLAIN).map(lambda parts: [*parts[0], *parts[1], *parts[2]])


@pytest.mark.thorough
@settings(max_examples=60)
@given(
    entries=st.one_of(PLAIN, st.lists(ONE, max_size=12), BETWEEN),
    max_urls=st.integers(1, 9),
    max_bytes=st.sampled_from([190, 260, 1_000, 50_000]),
    grouped=st.booleans(),
    format=st.sampled_from([Format.URLSET, Format.TEXT]),
)
def test_ours_many_at_once_are_the_same_as_one_by_one(
    tmp_path_factory: pytest.TempPathFactory,
    entries: list[Entry],
    max_urls: int,
    max_bytes: int,
    grouped: bool,
    format: Format,
) -> None:
    folder = tmp_path_factory.mktemp("same")
    options = WriterOptions(
        max_urls=max_urls, max_bytes=max_bytes, group=by_section() if grouped else None, format=format, gzip=True
    )
    said: tuple[list[str], list[str]] = ([], [])
    with SitemapWriter(Directory(folder / "one"), LOCATION, options) as writer:
        for entry in entries:
            try:
                writer.add(entry)
            except InvalidEntry as error:
                said[0].append(str(error))
        one = writer.finish() if len(said[0]) < len(entries) else None
    with SitemapWriter(Directory(folder / "many"), LOCATION, options) as writer:
        writer.extend(iter(entries), lambda error: said[1].append(str(error)))
        many = writer.finish() if len(said[1]) < len(entries) else None
    assert sorted(said[0]) == sorted(said[1])
    assert one == many
    assert content(folder / "one") == content(folder / "many")


@pytest.mark.parametrize(
    "lastmods", [("2026-01-02",), ("2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"), ("", "2026-01-02")]
)
def test_ours_usual_entries_take_the_fast_road(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lastmods: tuple[str, ...]
) -> None:
    monkeypatch.setattr(SitemapWriter, "add", None)  # whoever goes one by one stumbles
    entries = [Entry(f"{SITE}/a%20b/{number}?x=1&y=~2", lastmods[number % len(lastmods)]) for number in range(5_000)]
    published = publish(tmp_path, entries, group=lambda entry: entry.loc[-5], max_urls=300)
    assert published.urls == 5_000
    assert published.files[-1].lastmod == max(lastmods)


def test_ours_the_first_refusal_is_raised_when_nobody_asked_for_them(tmp_path: Path) -> None:
    with SitemapWriter(Directory(tmp_path), LOCATION) as writer:
        with pytest.raises(InvalidEntry):
            writer.extend([Entry(SITE + "/a"), Entry("https://other.example/"), Entry(SITE + "/b")])
        assert writer.finish().urls == 1


# Other formats.

CHANNEL = Channel("Site", SITE + "/", "All of it")


@pytest.mark.parametrize("format", [Format.URLSET, Format.TEXT, Format.RSS, Format.ATOM])
@pytest.mark.parametrize("packed", [False, True])
def test_sitemaps_org_an_index_may_list_text_and_feeds(tmp_path: Path, format: Format, packed: bool) -> None:
    entries = [Entry(f"{SITE}/{number}", "2026-01-02", title=f"No. {number}") for number in range(5)]
    options = {"format": format, "channel": CHANNEL, "gzip": packed}
    single = publish(tmp_path / "one", entries, **options)
    assert (single.index, [facts.name for facts in single.files]) == (False, ["sitemap.xml" + ".gz" * packed])
    published = publish(tmp_path / "two", entries, max_urls=2, **options)
    names = [facts.name for facts in published.files]
    suffix = (".txt" if format is Format.TEXT else ".xml") + ".gz" * packed
    assert names == [f"sitemap-{number}{suffix}" for number in (1, 2, 3)] + ["sitemap.xml"]
    assert locs(tmp_path / "two" / "sitemap.xml") == [f"{SITE}/{name}" for name in names[:3]]
    for facts in published.files[:3]:
        data = (tmp_path / "two" / facts.name).read_bytes()
        text = (gzip.decompress(data) if packed else data).decode()
        assert [entry.loc in text for entry in entries].count(True) == facts.entries
        assert len(text.encode()) == facts.size


@pytest.mark.parametrize("format", [Format.URLSET, Format.TEXT, Format.RSS, Format.ATOM])
def test_sitemaps_org_bytes_decide_in_every_format(tmp_path: Path, format: Format) -> None:
    entries = [Entry(f"{SITE}/{number}".ljust(200, "x"), "2026-01-02", title="t") for number in range(6)]
    for most in range(1_500, 1_830, 33):
        published = publish(tmp_path, entries, format=format, channel=CHANNEL, max_bytes=most)
        files = published.files[:-1] if published.index else published.files
        assert all(facts.size <= most for facts in files)
        assert sum(facts.entries for facts in files) == 6


def test_ours_a_lost_line_of_a_text_is_found(tmp_path: Path) -> None:
    with SitemapWriter(Directory(tmp_path), LOCATION, WriterOptions(format=Format.TEXT, max_urls=1)) as writer:
        writer.add(Entry(SITE + "/a"))
        writer.add(Entry(SITE + "/b"))
        staged = next(tmp_path.glob(".siteatlas-stage-*/new/sitemap-1.txt"))
        staged.write_bytes(b"https://example.com/")
        with pytest.raises(SitemapError, match="nothing was published"):
            writer.finish()
    assert content(tmp_path) == {}


def test_ours_the_stylesheet_is_beside_what_it_shows(tmp_path: Path) -> None:
    entries = [Entry(f"{SITE}/maps/{number}") for number in range(3)]
    published = publish(tmp_path, entries, f"{SITE}/maps/sitemap.xml", max_urls=2, stylesheet="xsl")
    assert published.beside
    for facts in published.beside:
        assert (tmp_path / facts.name).stat().st_size == facts.size
        for name in ("sitemap.xml", "sitemap-1.xml", "sitemap-2.xml"):
            assert f'href="{facts.name}"' in (tmp_path / name).read_text()


def test_ours_a_stylesheet_can_do_without_xslt(tmp_path: Path) -> None:
    published = publish(tmp_path, [Entry(f"{SITE}/")], stylesheet="css")
    assert [facts.name for facts in published.beside] == ["sitemap.css"]
    assert "xsl" not in (tmp_path / "sitemap.xml").read_text()
    with pytest.raises(SitemapError, match="Choose css or xsl"):
        publish(tmp_path, [Entry(f"{SITE}/")], stylesheet="html")


def test_ours_a_group_is_named_by_text(tmp_path: Path) -> None:
    with pytest.raises(SitemapError, match="must return a str for each entry, not None"):
        publish(tmp_path, [Entry(f"{SITE}/")], group=lambda entry: None)
    assert content(tmp_path) == {}


# Other sitemaps in the index.


def test_sitemaps_org_an_index_lists_the_sitemaps_of_others(tmp_path: Path) -> None:
    shop = publish(tmp_path, [Entry(f"{SITE}/x", "2026-04-01")], f"{SITE}/shop.xml")
    with SitemapWriter(Directory(tmp_path), LOCATION) as writer:
        writer.add_child(Child(f"{SITE}/feed.rss?a&b", "2026-01-01"))
        writer.add_child(shop)
        writer.add(Entry(SITE + "/a"))
        published = writer.finish()
    assert published.index
    assert locs(tmp_path / "sitemap.xml") == [f"{SITE}/sitemap-1.xml", f"{SITE}/feed.rss?a&b", f"{SITE}/shop.xml"]
    assert published.files[-1].lastmod == "2026-04-01"
    assert "shop.xml" in content(tmp_path)


BAD_CHILDREN = {
    "the index itself": Child("HTTPS://example.com:443/maps/%73itemap.xml"),
    "the set packed": Child(f"{SITE}/maps/sitemap.xml.gz"),
    "one of ours": Child(f"{SITE}/maps/sitemap-7.xml"),
    "outside": Child(f"{SITE}/other.xml"),
    "another host": Child("https://other.example/maps/x.xml"),
    "twice": Child(f"{SITE}/maps/x.xml"),
    "twice, spelt otherwise": Child(f"{SITE}:443/maps/%78.xml"),
    "no date": Child(f"{SITE}/maps/y.xml", "yesterday"),
    "no url": Child("y.xml"),
    "nested": Published(f"{SITE}/maps/index.xml", 1, True, ()),
}


@pytest.mark.parametrize("case", BAD_CHILDREN)
def test_sitemaps_org_what_an_index_cannot_list_is_refused(tmp_path: Path, case: str) -> None:
    with SitemapWriter(Directory(tmp_path), f"{SITE}/maps/sitemap.xml") as writer:
        writer.add_child(Child(f"{SITE}/maps/x.xml"))
        with pytest.raises(InvalidEntry):
            writer.add_child(BAD_CHILDREN[case])
        writer.add(Entry(f"{SITE}/maps/a"))
        assert len(locs(tmp_path / writer.finish().files[-1].name)) == 2


def test_sitemaps_org_a_vouched_child_may_be_elsewhere(tmp_path: Path) -> None:
    def vouched(url: str) -> bool:
        return url.startswith("https://cdn.example/")

    with SitemapWriter(Directory(tmp_path), LOCATION, WriterOptions(vouched=vouched)) as writer:
        writer.add_child(Child("https://cdn.example/maps/x.xml"))
        writer.extend([Entry(SITE + "/a"), Entry("https://cdn.example/y")])
        assert writer.finish().urls == 2


def test_ours_a_group_is_not_called_like_the_sitemap_of_others(tmp_path: Path) -> None:
    options = WriterOptions(group=by_section(), child="{group}-sitemap{next}.xml", max_urls=1)
    (tmp_path / "news-sitemap.xml").write_text("mine")
    with SitemapWriter(Directory(tmp_path), f"{SITE}/sitemap_index.xml", options) as writer:
        writer.add_child(Child(f"{SITE}/news-sitemap.xml"))
        for number in range(3):
            writer.add(Entry(f"{SITE}/news/{number}"))
        writer.add(Entry(f"{SITE}/post/1"))
        with pytest.raises(InvalidEntry, match="another file with the same name"):
            writer.add_child(Child(f"{SITE}/post-sitemap9.xml"))
        published = writer.finish()
    assert len({facts.name for facts in published.files}) == 5
    assert (tmp_path / "news-sitemap.xml").read_text() == "mine"


@pytest.mark.slow
def test_sitemaps_org_50000_sitemaps_are_the_most_in_an_index(tmp_path: Path) -> None:
    many = [Child(f"{SITE}/{number}.xml") for number in range(50_001)]
    with pytest.raises(LimitExceeded, match="full"):
        write_index(Directory(tmp_path), LOCATION, many)
    assert content(tmp_path) == {}
    assert write_index(Directory(tmp_path), LOCATION, many[:-1]).urls == 50_000


def test_sitemaps_org_files_and_children_share_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children.limits, "MAX_CHILDREN", 5)
    with SitemapWriter(Directory(tmp_path), LOCATION, WriterOptions(max_urls=1)) as writer:
        for number in range(2):
            writer.add_child(Child(f"{SITE}/{number}.xml"))
        writer.extend(Entry(f"{SITE}/{number}") for number in range(3))
        with pytest.raises(LimitExceeded, match="full"):
            writer.add(Entry(f"{SITE}/4"))
    assert content(tmp_path) == {}


def test_ours_an_index_alone_is_published_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "sitemap-1.xml").write_text("mine")
    sets = [publish(tmp_path, [Entry(f"{SITE}/{name}")], f"{SITE}/{name}.xml") for name in ("a", "b")]
    published = write_index(
        Directory(tmp_path), LOCATION, [*sets, Child(f"{SITE}/sitemap-1.xml")], stylesheets=["s.xsl"]
    )
    assert (published.index, published.urls, published.url) == (True, 3, LOCATION)
    before = content(tmp_path)
    assert set(before) == {"a.xml", "b.xml", "sitemap.xml", "sitemap-1.xml"}
    with pytest.raises(InvalidEntry, match="index"):
        write_index(Directory(tmp_path), f"{SITE}/all.xml", [published])
    with pytest.raises(EmptySitemap):
        write_index(Directory(tmp_path), f"{SITE}/all.xml", [])
    assert content(tmp_path) == before


@pytest.mark.parametrize("limit", [0, 10**9])
def test_ours_a_body_has_the_same_pieces_in_memory_and_on_disk_and_leaves_the_memory_of_others_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(filling, "PIECE", 10)
    stage = Directory(tmp_path).stage()
    memory = BodyMemory(stage, limit)
    other, body = filling.EntryBody(memory), filling.EntryBody(memory)
    other.add(b"x" * 7)
    for _ in range(5):
        body.add(b"abcde")
    assert [*body.pieces()] == [b"abcdeabcde", b"abcdeabcde", b"abcde"]
    body.close()
    assert memory.used == len(other) == (7 if limit else 0)
    assert memory.bodies == {other}
    other.close()
    assert memory.used == 0
    stage.discard()


@pytest.mark.thorough
@pytest.mark.parametrize("form", [Format.URLSET, Format.TEXT])
@pytest.mark.parametrize("path", ["100%", "%zz", "%2", "%2e%2e/x", "%2E", "a/../b", "a]", "é", "a&b", "'"])
def test_ours_many_entries_at_once_are_the_same_as_one_by_one_whatever_one_of_them_is(
    tmp_path: Path, form: Format, path: str
) -> None:
    entries = [Entry(f"{SITE}/{name}", "2026-01-01") for name in ("first", path, "last")]
    with SitemapWriter(tmp_path / "many", LOCATION, WriterOptions(format=form)) as writer:
        writer.extend(entries)
        writer.finish()
    with SitemapWriter(tmp_path / "one", LOCATION, WriterOptions(format=form)) as writer:
        for entry in entries:
            writer.add(entry)
        writer.finish()
    assert content(tmp_path / "many") == content(tmp_path / "one")
