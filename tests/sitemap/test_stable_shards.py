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
from sitemap.writing import assignment as assigning
from sitemap.writing import shard

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
        with SitemapWriter(self.folder, location, self.options) as writer:
            for (_, number), some in groupby(
                sorted(kept, key=lambda loc: (*kept[loc], loc)), kept.__getitem__
            ):
                writer.extend((self.entries[loc] for loc in some), shard=number)
            writer.finish()

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.folder.iterdir()}

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


@pytest.mark.parametrize(
    ("count", "options"),
    [
        (20_000, {"max_urls": 100}),
        (20_000, {"max_urls": 100, "gzip": True}),
        pytest.param(200_000, {"max_urls": 1_000}, marks=pytest.mark.slow),
        pytest.param(200_000, {"max_urls": 1_000, "gzip": True}, marks=pytest.mark.slow),
        pytest.param(200_000, {}, marks=pytest.mark.slow),
    ],
)
def test_ours_thirty_edits_touch_thirty_files_and_the_index(
    tmp_path: Path, count: int, options: dict[str, Any]
) -> None:
    site, again = (
        Site(tmp_path / name, WriterOptions(today="2026-03-01", **options)) for name in ("site", "again")
    )
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
    if len(names) == 1:
        names = dict.fromkeys(names, "sitemap.xml" + ".gz" * options.gzip)
    else:
        assert site.said().keys() == set(names.values())
    assert set(site.files()) == {*names.values(), "sitemap.xml" if len(names) > 1 else ""} - {""}
    for place, name in names.items():
        data = (site.folder / name).read_bytes()
        found = [item for item in read(site.folder / name) if isinstance(item, Entry)]
        assert [entry.loc for entry in found] == sorted(
            loc for loc, own in site.places.items() if own == place
        )
        assert len(found) <= options.max_urls
        assert len(gzip.decompress(data) if options.gzip else data) <= options.max_bytes
        assert sum(entry.news is not None for entry in found) <= shard.limits.MAX_NEWS
    assert site.places.keys() == site.entries.keys()
