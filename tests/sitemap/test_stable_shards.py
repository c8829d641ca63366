"""A URL stays in its file: what did not change is not written anew, and every limit holds at every moment."""

import gzip
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sitemap import (
    Assignment,
    Child,
    Directory,
    Entry,
    Format,
    Image,
    InvalidEntry,
    LimitExceeded,
    News,
    SitemapError,
    SitemapWriter,
    WriterOptions,
    by_section,
    read,
)
from sitemap.writer import assignment as assigning
from sitemap.writer import shard
from sitemap.writer.encoder import UrlsetEncoder

SITE = "https://example.com"
LOCATION = f"{SITE}/sitemap.xml"
Places = dict[str, tuple[str, int]]
NEWS = News("The Example Times", "en", "2026-02-01", "A title")


@dataclass
class Site:
    """A site whose sitemap is regenerated: its entries by URL, and in which shard each was."""

    folder: Path
    options: WriterOptions
    entries: dict[str, Entry] = field(default_factory=dict)
    places: Places = field(default_factory=dict)
    repacked: set[str] = field(default_factory=set)
    names: tuple[str, ...] = ()

    def put(self, entries: Iterable[Entry]) -> None:
        self.entries |= {entry.loc: entry for entry in entries}

    def regenerate(self, location: str = LOCATION) -> None:
        """As a caller does it who keeps the places in a database."""
        assignment = Assignment(location, self.options)
        locs = sorted(self.entries)
        kept = {
            loc: self.places[loc]
            for loc in locs
            if loc in self.places and assignment.keep(self.entries[loc], *self.places[loc])
        }
        kept |= {loc: assignment.place(self.entries[loc]) for loc in locs if loc not in kept}
        self.repacked = set(assignment.repack())
        kept |= {loc: assignment.place(self.entries[loc]) for loc in locs if kept[loc][0] in self.repacked}
        self.places = kept
        place = Directory(self.folder, settle=0, grace=0)
        with SitemapWriter(place, location, self.options) as writer:
            for (_, number), some in groupby(sorted(kept, key=lambda loc: (*kept[loc], loc)), kept.__getitem__):
                writer.extend((self.entries[loc] for loc in some), shard=number)
            self.names = tuple(facts.name for facts in writer.finish().files)

    def files(self) -> dict[str, bytes]:
        """The set itself, whatever else is kept beside it for a while."""
        return {name: (self.folder / name).read_bytes() for name in self.names}

    def said(self) -> dict[str, str]:
        """What the index says of its children, by name."""
        items = read(self.folder / "sitemap.xml")
        return {item.loc.removeprefix(f"{SITE}/"): item.lastmod for item in items if isinstance(item, Child)}


def plain(count: int, lastmod: str = "2026-01-01") -> list[Entry]:
    return [Entry(f"{SITE}/page/{number:07}", lastmod) for number in range(count)]


def differing(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def edit(site: Site, seed: int, today: str) -> None:
    """Insert ten pages, delete ten, change ten, anywhere."""
    chance = random.Random(seed)
    some = chance.sample(sorted(site.entries), 30)
    for loc in some[:10]:
        del site.entries[loc]
    site.put(Entry(loc, today) for loc in some[10:20])
    site.put(Entry(f"{loc}-new", today) for loc in some[20:])


# The promise, in numbers.


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("count", "options"),
    [
        (6_000, {"max_urls": 100}),
        (6_000, {"max_urls": 100, "gzip": True}),
        pytest.param(20_000, {"max_urls": 100}, marks=pytest.mark.slow),
        pytest.param(200_000, {"max_urls": 1_000}, marks=pytest.mark.slow),
        pytest.param(200_000, {"max_urls": 1_000, "gzip": True}, marks=pytest.mark.slow),
        pytest.param(200_000, {}, marks=pytest.mark.slow),
    ],
)
def test_ours_thirty_edits_touch_thirty_files_and_the_index(
    tmp_path: Path, count: int, options: dict[str, Any]
) -> None:
    site, again = (Site(tmp_path / name, WriterOptions(today="2026-03-01", **options)) for name in ("site", "again"))
    for one in (site, again):
        one.put(plain(count))
        one.regenerate()
    first = site.files()
    assert first == again.files()  # from scratch, twice
    site.regenerate()
    assert site.files() == first  # nothing changed
    edit(site, 1, "2026-03-01")
    site.regenerate()
    second = site.files()
    assert len(differing(first, second)) <= 31
    check(site)
    said = site.said()
    for name in first.keys() - {"sitemap.xml"}:
        assert said[name] == ("2026-01-01" if first[name] == second[name] else "2026-03-01")
    site.regenerate()
    assert site.files() == second


def check(site: Site) -> None:
    """Every URL once, in the file of its place, and no file over a limit; as our reader sees it."""
    options, names = site.options, {}
    ending = (".txt" if options.format is Format.TEXT else ".xml") + ".gz" * options.gzip
    for group, number in set(site.places.values()):
        names[group, number] = f"sitemap-{group}-{number}{ending}" if group else f"sitemap-{number}{ending}"
    index = {"sitemap.xml"}
    if len(names) == 1:
        names, index = dict.fromkeys(names, "sitemap.xml" + ".gz" * options.gzip), set()
    assert set(site.names) == {*names.values(), *index}
    assert not index or site.said().keys() == set(names.values())
    for place, name in names.items():
        data = (site.folder / name).read_bytes()
        found = [item for item in read(site.folder / name) if isinstance(item, Entry)]
        assert [entry.loc for entry in found] == sorted(loc for loc, own in site.places.items() if own == place)
        assert len(found) <= options.max_urls
        assert len(gzip.decompress(data) if options.gzip else data) <= options.max_bytes
        assert sum(entry.news is not None for entry in found) <= shard.limits.MAX_NEWS
    assert site.places.keys() == site.entries.keys()


# Whatever happens to a site.

KINDS: dict[str, Callable[[int], dict[str, Any]]] = {
    "plain": lambda size: {},
    "long": lambda size: {"images": tuple(Image(f"{SITE}/{number}.png") for number in range(size))},
    "news": lambda size: {"news": NEWS},
}
_change = st.tuples(st.integers(0, 60), st.sampled_from(["plain", "plain", "long", "news", "gone"]), st.integers(1, 8))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "options",
    [
        {"max_urls": 5},
        {"max_bytes": 1_200},
        {"max_urls": 6, "max_bytes": 1_500, "group": by_section(), "gzip": True},
        {"max_urls": 7, "max_bytes": 200, "format": Format.TEXT},
    ],
    ids=["urls", "bytes", "groups", "text"],
)
@settings(max_examples=12)
@given(st.lists(st.lists(_change, max_size=25), min_size=2, max_size=5))
def test_ours_any_history_keeps_every_limit(options: dict[str, Any], history: list[Any]) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(shard.limits, "MAX_NEWS", 3)
        site = Site(Path(folder), WriterOptions(always_index=False, **options))
        site.put(_page(number, "plain", 1) for number in range(12))
        site.regenerate()
        check(site)
        for changes in history:
            before, places, were = site.files(), site.places, dict(site.entries)
            for number, kind, size in changes:
                if kind == "gone" and len(site.entries) > 1:
                    site.entries.pop(_page(number, "plain", 1).loc, None)
                elif kind != "gone":
                    site.put([_page(number, kind, size)])
            site.regenerate()
            check(site)
            _check_stability(site, before, places, were)
            before = site.files()
            site.regenerate()
            assert site.files() == before
            assert not site.repacked


def _page(number: int, kind: str, size: int) -> Entry:
    return Entry(f"{SITE}/{'abc'[number % 3]}/{number:03}", f"2026-01-{1 + number % 9:02}", **KINDS[kind](size))


def _check_stability(site: Site, before: Mapping[str, bytes], places: Places, were: dict[str, Entry]) -> None:
    """Nobody moves without need, and a file with the same entries has the same bytes."""
    same = {loc for loc, entry in site.entries.items() if were.get(loc) == entry}
    disturbed = {places[loc] for loc in were.keys() - same}
    for loc in same:
        if site.places[loc] != places[loc]:
            assert places[loc] in disturbed or places[loc][0] in site.repacked
    if len(before) > 1 and len(site.names) > 1:
        after = site.files()
        now, then = Counter(site.places.values()), Counter(places.values())
        quiet = {place for place, many in now.items() if then[place] == many} - disturbed
        quiet -= {site.places[loc] for loc in site.entries.keys() - same}
        quiet -= {place for loc, place in site.places.items() if places.get(loc) != place}
        for group, number in quiet:
            name = next(
                name
                for name in after
                if name.startswith(f"sitemap-{group}-{number}." if group else f"sitemap-{number}.")
            )
            assert after[name] == before[name]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_urls": 7},
        {"max_bytes": 2_000},
        {"max_urls": 9, "max_bytes": 3_000, "group": by_section(), "gzip": True},
        {"max_urls": 7, "max_bytes": 500, "format": Format.TEXT},
    ],
    ids=["one file", "urls", "bytes", "groups", "text"],
)
def test_ours_from_scratch_files_are_those_that_the_writer_fills_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    monkeypatch.setattr(shard.limits, "MAX_NEWS", 3)
    chance = random.Random(3)
    kinds = [chance.choice(["plain", "plain", "plain", "long", "news"]) for _ in range(120)]
    site = Site(tmp_path / "site", WriterOptions(**options))
    site.put(_page(number, kind, chance.randrange(9)) for number, kind in enumerate(kinds))
    site.regenerate()
    check(site)
    with SitemapWriter(tmp_path / "alone", LOCATION, site.options) as writer:
        writer.extend(site.entries[loc] for loc in sorted(site.entries))
        alone = writer.finish()
    assert site.files() == {facts.name: (tmp_path / "alone" / facts.name).read_bytes() for facts in alone.files}


# Holes.


def test_ours_new_urls_fill_holes_and_emptied_files_go(tmp_path: Path) -> None:
    site = Site(tmp_path, WriterOptions(max_urls=10, today="2026-03-01"))
    site.put(plain(200))
    site.regenerate()
    before = site.files()
    for number in (*range(10, 20), 55, 57, 123):
        del site.entries[f"{SITE}/page/{number:07}"]
    site.regenerate()
    assert "sitemap-2.xml" not in site.names  # a gap in the numbers
    assert differing(before, site.files()) == {f"sitemap-{n}.xml" for n in (2, 6, 13)} | {"sitemap.xml"}
    site.put([Entry(f"{SITE}/a/{number}") for number in range(5)])
    before = site.files()
    assignment = Assignment(LOCATION, site.options)
    assert all(assignment.keep(site.entries[loc], *place) for loc, place in site.places.items())
    numbers = [assignment.place(Entry(f"{SITE}/a/{number}"))[1] for number in range(5)]
    assert numbers == [6, 6, 13, 2, 2]
    site.regenerate()
    check(site)
    # Three are holes, and the others are in a new file, which takes the number that is free.
    assert differing(before, site.files()) == {f"sitemap-{n}.xml" for n in (2, 6, 13)} | {"sitemap.xml"}
    assert Counter(site.places.values())["", 2] == 2


@pytest.mark.thorough
def test_ours_closing_holes_waits_until_it_pays_and_does_not_flap(tmp_path: Path) -> None:
    site = Site(tmp_path, WriterOptions(max_urls=20, today="2026-03-01"))
    site.put(plain(400))
    site.regenerate()
    chance, repacked = random.Random(5), []
    while len(site.entries) > 180:
        for loc in chance.sample(sorted(site.entries), 5):
            del site.entries[loc]
        site.regenerate()
        if site.repacked:
            check(site)
            repacked.append((len(site.entries), max(Counter(site.places.values()).values())))
    # Twenty files become fifteen of 17, which leaves room again; and fifteen become eleven.
    assert repacked == [(255, 17), (185, 17)]
    for number in range(30):  # some come and go
        if number % 4 < 2:
            site.put(Entry(f"{SITE}/new/{number}/{more}") for more in range(4))
        else:
            for loc in chance.sample(sorted(site.entries), 4):
                del site.entries[loc]
        site.regenerate()
        assert not site.repacked


def spread(entries: list[Entry], files: int, **options: Any) -> Assignment:
    """An assignment that keeps the entries, which are spread over some files."""
    assignment = Assignment(LOCATION, WriterOptions(**options))
    assert all(assignment.keep(entry, "", 1 + number % files) for number, entry in enumerate(entries))
    return assignment


@pytest.mark.parametrize(
    ("files", "count", "is_repacked"),
    [
        (1, 1, False),
        (2, 17, True),
        (2, 18, False),
        (4, 51, True),
        (4, 52, False),
        (5, 68, False),
        (101, 1275, True),
        (101, 1276, False),
    ],
)
@pytest.mark.parametrize("articles", [0, 1])
def test_ours_files_of_85_percent_must_save_one_file_and_a_quarter(
    files: int, count: int, is_repacked: bool, articles: int
) -> None:
    entries = plain(count)
    entries[:articles] = [Entry(entry.loc, news=NEWS) for entry in entries[:articles]]
    assert spread(entries, files, max_urls=20).repack() == ([""] if is_repacked else [])


@pytest.mark.parametrize(("articles", "is_repacked"), [(5, True), (6, False)])
def test_google_files_of_85_percent_have_no_more_articles_than_a_file_may_have(
    monkeypatch: pytest.MonkeyPatch, articles: int, is_repacked: bool
) -> None:
    monkeypatch.setattr(shard.limits, "MAX_NEWS", 3)
    entries = [Entry(entry.loc, news=NEWS) for entry in plain(articles)]
    assert spread(entries, 3).repack() == ([""] if is_repacked else [])


@pytest.mark.parametrize(("room", "is_repacked"), [(-2, False), (0, False), (1, True)])
def test_ours_what_repacked_files_hold_leaves_room_for_the_largest_entry(room: int, is_repacked: bool) -> None:
    entries = [Entry(f"{SITE}/{'x' * 900}/{number}") for number in range(2)]
    encoder = UrlsetEncoder()
    head_and_foot, entry = encoder.room(0), len(encoder.entry(entries[0]))
    full = head_and_foot + 3 * entry + room
    assert spread(entries, 2, max_bytes=-(-full * 100 // 85)).repack() == ([""] if is_repacked else [])


def test_ours_an_entry_that_only_a_full_file_has_room_for_has_its_place_in_a_repacked_group_too() -> None:
    assignment = spread(plain(2), 2, max_bytes=1_000)
    assert assignment.repack() == [""]
    big = [Entry(f"{SITE}/{'x' * 770}/{number}") for number in range(3)]
    assert 850 < UrlsetEncoder().room(0) + len(UrlsetEncoder().entry(big[0])) <= 1_000
    assert [assignment.place(entry)[1] for entry in big] == [1, 2, 3]
    assert assignment.repack() == []


def test_ours_a_group_with_entries_as_large_as_a_file_is_never_repacked() -> None:
    entries = [Entry(f"{SITE}/{'x' * 900}/{number}") for number in range(3)]
    encoder = UrlsetEncoder()
    full = encoder.room(0) + len(encoder.entry(entries[0]))
    for max_bytes in (full, -(-full * 100 // 85)):  # what 85 percent leave is less than nothing, or nothing
        assert spread(entries, 3, max_bytes=max_bytes).repack() == []


def test_ours_what_is_too_big_to_be_packed_closer_is_left_alone(tmp_path: Path) -> None:
    site = Site(tmp_path, WriterOptions(max_bytes=1_000))
    images = tuple(Image(f"{SITE}/{number}.png") for number in range(6))
    # A file has one, and is little more than half full.
    site.put(Entry(f"{SITE}/{number}", images=images) for number in range(20))
    site.regenerate()
    assert len(set(site.places.values())) == 20
    before = site.files()
    for _ in range(3):
        site.regenerate()
        assert not site.repacked
        assert site.files() == before


def test_ours_of_a_file_that_grew_too_big_only_what_must_moves(tmp_path: Path) -> None:
    site = Site(tmp_path, WriterOptions(max_bytes=2_000))
    site.put(plain(60))
    site.regenerate()
    before, places = site.files(), dict(site.places)
    loc = f"{SITE}/page/0000005"
    site.put([Entry(loc, "2026-02-02", images=(Image(f"{SITE}/{'x' * 60}.png"),))])
    site.regenerate()
    check(site)
    moved = {loc for loc, place in site.places.items() if places[loc] != place}
    assert 1 <= len(moved) <= 3
    assert {places[loc] for loc in moved} == {("", 1)}
    assert len(differing(before, site.files())) == 3  # it, the one that takes in, and the index


def test_ours_a_set_of_one_file_has_the_name_of_the_set_whatever_its_number(tmp_path: Path) -> None:
    site = Site(tmp_path, WriterOptions(max_urls=3))
    site.put(plain(9))
    site.regenerate()
    site.entries = {loc: entry for loc, entry in site.entries.items() if site.places[loc][1] == 2}
    site.regenerate()
    assert set(site.places.values()) == {("", 2)}
    assert site.names == ("sitemap.xml",)
    check(site)


# What an index says of its children.


def test_sitemaps_org_the_index_says_when_a_file_changed(tmp_path: Path) -> None:
    site = Site(tmp_path, WriterOptions(max_urls=2, today="2026-03-03"))
    site.put(Entry(f"{SITE}/page/{name}", lastmod) for name, lastmod in [
        ("a", "2026-01-01"), ("b", "2026-01-09"), ("c", ""), ("d", ""), ("e", "2026-03-09"), ("f", "2026-01-02"),
        ("g", "2026-01-03"),
    ])  # fmt: skip
    site.regenerate()
    first = {f"sitemap-{n}.xml": date for n, date in enumerate(["2026-01-09", "", "2026-03-09", "2026-01-03"], 1)}
    assert site.said() == first  # without a published index: the newest of the entries
    site.regenerate()
    assert site.said() == first
    for gone in "bdf":
        del site.entries[f"{SITE}/page/{gone}"]
    site.put([Entry(f"{SITE}/page/g", "2026-04-01T10:00:00Z")])
    site.regenerate()
    dates = ["2026-03-03", "2026-03-03", "2026-03-09", "2026-04-01T10:00:00Z"]  # never back, and never on what stays
    assert list(site.said().values()) == dates
    site.options = WriterOptions(max_urls=2, today="2026-05-05")
    site.regenerate()
    assert list(site.said().values()) == dates


@pytest.mark.parametrize(
    "ruin", [b"", b"\x1f\x8b rubbish", b"<sitemapindex><sitemap><loc>x", b"<urlset/>", b"<!DOCTYPE a>"]
)
def test_ours_a_published_index_that_cannot_be_read_is_none(tmp_path: Path, ruin: bytes) -> None:
    site = Site(tmp_path, WriterOptions(max_urls=2, today="2026-03-03"))
    site.put(plain(5))
    site.regenerate()
    before = site.files()
    (tmp_path / "sitemap.xml").write_bytes(ruin)
    site.regenerate()
    assert site.files() == before


def test_ours_a_published_file_that_somebody_ruined_has_changed(tmp_path: Path) -> None:
    site = Site(tmp_path, WriterOptions(max_urls=2, today="2026-03-03", gzip=True))
    site.put(plain(6))
    site.regenerate()
    (tmp_path / "sitemap-1.xml.gz").write_bytes(b"rubbish")
    (tmp_path / "sitemap-2.xml.gz").unlink()
    packed = tmp_path / "sitemap-3.xml.gz"
    packed.write_bytes(gzip.compress(gzip.decompress(packed.read_bytes()), 1))  # as another packer does it
    site.regenerate()
    assert list(site.said().values()) == ["2026-03-03", "2026-03-03", "2026-01-01"]


@pytest.mark.parametrize(
    "location",
    ["https://example.com/a%20b/my%20map.xml", "https://[::1]:8080/x/s&'t%5B.xml", "https://example.com/s.xml.gz"],
)
def test_ours_the_index_is_found_again_whatever_its_address(tmp_path: Path, location: str) -> None:
    site = Site(tmp_path, WriterOptions(max_urls=2, today="2026-03-03"))
    directory = location.rpartition("/")[0]
    site.put(Entry(f"{directory}/{number}", "2026-01-01") for number in range(6))
    site.regenerate(location)
    before = site.files()
    site.entries.pop(f"{directory}/5")
    site.regenerate(location)
    index = [item.lastmod for item in read(tmp_path / site.names[-1]) if isinstance(item, Child)]
    assert index == ["2026-01-01", "2026-01-01", "2026-03-03"]
    assert len(differing(before, site.files())) == 2


# Mistakes are said.


def test_ours_shards_come_in_their_order_and_within_their_limits(tmp_path: Path) -> None:
    options = WriterOptions(max_urls=2, group=by_section())
    with SitemapWriter(tmp_path / "order", LOCATION, options) as writer:
        writer.add(Entry(f"{SITE}/a/1"), shard=3)
        writer.add(Entry(f"{SITE}/b/1"), shard=1)  # each group has an order of its own
        with pytest.raises(SitemapError, match="shard 2 of the group 'a' follows an entry for shard 3"):
            writer.add(Entry(f"{SITE}/a/2"), shard=2)
    for many in (False, True):
        with SitemapWriter(tmp_path / "full", LOCATION, options) as writer:
            entries = [Entry(f"{SITE}/a/{number}") for number in range(3)]
            if not many:
                for entry in entries[:-1]:
                    writer.add(entry, 7)
            with pytest.raises(LimitExceeded, match=r"shard 7 has no room for .*/a/2'"):
                writer.extend(entries if many else entries[2:], shard=7)
            with pytest.raises(SitemapError, match="is closed"):
                writer.finish()
    for number in (-1, 50_001):
        with (
            SitemapWriter(tmp_path, LOCATION) as writer,
            pytest.raises(SitemapError, match=f"shard {number} does not exist"),
        ):
            writer.add(Entry(f"{SITE}/a/1"), shard=number)
    with pytest.raises(SitemapError, match="today is 'yesterday'"):
        WriterOptions(today="yesterday")


def test_ours_an_entry_that_is_refused_leaves_no_file_behind(tmp_path: Path) -> None:
    big = Entry(f"{SITE}/b", images=tuple(Image(f"{SITE}/{n}.png") for n in range(50)))
    refused: list[InvalidEntry] = []
    with SitemapWriter(tmp_path, LOCATION, WriterOptions(max_bytes=1_000)) as writer:
        writer.extend([Entry(f"{SITE}/a")], refused.append, shard=1)
        writer.extend([big], refused.append, shard=2)
        writer.extend([Entry(f"{SITE}/c")], refused.append, shard=4)
        files = writer.finish().files
    assert [error.loc for error in refused] == [big.loc]
    assert [facts.name for facts in files] == ["sitemap-1.xml", "sitemap-4.xml", "sitemap.xml"]


def test_ours_an_assignment_says_what_the_writer_would_say() -> None:
    options = WriterOptions(max_bytes=1_000, max_groups=2, group=by_section())
    assignment = Assignment(LOCATION, options)
    big = Entry(f"{SITE}/a/b", images=tuple(Image(f"{SITE}/{n}.png") for n in range(50)))
    for entry, told in [
        (big, "alone"),
        (Entry("https://else.example/"), "not below"),
        (Entry(f"{SITE}/a", "x"), "not a date"),
    ]:
        assert not assignment.keep(entry, by_section()(entry), 1)
        with pytest.raises(InvalidEntry, match=told):
            assignment.place(entry)
    assert not assignment.keep(Entry(f"{SITE}/a/x"), "b", 1)  # of another group now
    for number in (0, -1, 50_001):
        assert not assignment.keep(Entry(f"{SITE}/a/x"), "a", number)
    assert assignment.repack() == []
    assert assignment.place(Entry(f"{SITE}/a/x")) == ("a", 1)
    assert assignment.place(Entry(f"{SITE}/b/x")) == ("b", 1)
    with pytest.raises(LimitExceeded, match="the limit of 2 groups"):
        assignment.place(Entry(f"{SITE}/c/x"))
    with pytest.raises(SitemapError, match="must return a str for each entry, not 7"):
        Assignment(LOCATION, WriterOptions(group=lambda entry: 7)).place(Entry(f"{SITE}/"))  # type: ignore[arg-type,return-value]


def test_ours_an_assignment_is_of_flat_memory() -> None:
    assignment = Assignment(LOCATION)
    for entry in plain(120_000):
        assignment.place(entry)
    assert max(map(len, _containers(assignment))) < 50


def _containers(thing: object, depth: int = 6) -> list[Any]:
    """Everything with a length that hangs on an object of ours."""
    found: list[Any] = []
    values = thing.values() if isinstance(thing, dict) else thing if isinstance(thing, list | set | tuple) else [
        getattr(thing, name, None) for name in (*getattr(thing, "__slots__", ()), *getattr(thing, "__dict__", ()))
    ]  # fmt: skip
    for value in values if depth else ():
        if isinstance(value, dict | list | set | tuple):
            found.append(value)
        if isinstance(value, dict | list) or type(value).__module__.startswith("sitemap.writer."):
            found += _containers(value, depth - 1)
    return found


def test_ours_files_that_are_repacked_have_room_by_count_bytes_and_articles(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 50 < assigning._FULL_PERCENT < 100
    monkeypatch.setattr(shard.limits, "MAX_NEWS", 10)
    assignment = Assignment(LOCATION)
    for number in range(40):
        assert assignment.keep(Entry(f"{SITE}/{number}", news=NEWS), "", 1 + number // 4)
    assert assignment.repack() == [""]
    numbers = [assignment.place(Entry(f"{SITE}/{number}", news=NEWS))[1] for number in range(40)]
    assert Counter(numbers) == {1: 10, 2: 10, 3: 10, 4: 10}
    assert assignment.repack() == []


@settings(max_examples=80)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.booleans()), min_size=1, max_size=120),
    st.integers(1, 12),
    st.integers(2_000, 6_000),
    st.randoms(use_true_random=False),
)
def test_ours_repacking_saves_a_quarter_of_the_files_and_is_never_wanted_again(
    pages: list[tuple[int, bool]], max_urls: int, max_bytes: int, chance: random.Random
) -> None:
    entries = [
        Entry(f"{SITE}/{number:03}/{'x' * 20 * size}", news=NEWS if is_news else None)
        for number, (size, is_news) in enumerate(pages)
    ]
    options = WriterOptions(max_urls=max_urls, max_bytes=max_bytes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shard.limits, "MAX_NEWS", 4)
        places = list(map(Assignment(LOCATION, options).place, entries))
        while entries:
            assignment = Assignment(LOCATION, options)
            assert all(assignment.keep(*kept) for kept in _kept(entries, places))
            before = len(set(places))
            if assignment.repack():
                places = list(map(assignment.place, entries))
                after = len(set(places))
                assert after < before
                assert after <= 0.75 * before
                assert not assignment.repack()
            left = sorted(chance.sample(range(len(entries)), len(entries) * 3 // 4))
            entries, places = [entries[number] for number in left], [places[number] for number in left]


def _kept(entries: list[Entry], places: list[tuple[str, int]]) -> Iterable[tuple[Entry, str, int]]:
    return ((entry, *place) for entry, place in zip(entries, places, strict=True))


def test_sitemaps_org_the_last_file_that_an_index_can_list_is_used_and_none_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(assigning.limits, "MAX_CHILDREN", 3)
    assignment = Assignment(LOCATION, WriterOptions(max_urls=1))
    assert assignment.keep(Entry(f"{SITE}/kept"), "", 3)
    assert not assignment.keep(Entry(f"{SITE}/beyond"), "", 4)
    assert not assignment.keep(Entry(f"{SITE}/none"), "", 0)
    assert [assignment.place(Entry(f"{SITE}/{name}")) for name in "ab"] == [("", 1), ("", 2)]
    with pytest.raises(LimitExceeded, match="at most 3 sitemaps"):
        assignment.place(Entry(f"{SITE}/c"))
    fresh = Assignment(LOCATION, WriterOptions(max_urls=1))
    assert [fresh.place(Entry(f"{SITE}/{name}")) for name in "abc"] == [("", 1), ("", 2), ("", 3)]
    with pytest.raises(LimitExceeded, match="at most 3 sitemaps"):
        fresh.place(Entry(f"{SITE}/d"))
