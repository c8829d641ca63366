"""Owns two generations of a set, how each is published, and how a reader tells which one it sees."""

import gzip as gzip_format
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from sitemap import Directory, Entry, Generations, Published, SitemapWriter, WriterOptions, by_section

LOCATION = "https://example.com/sitemap.xml"
NAMESPACE = "{http://www.sitemaps.org/schemas/sitemap/0.9}"

# Sections with their number of pages, two to a file, and what tells the pages of one generation from another's.
GENERATIONS: dict[str, Sequence[tuple[str, str, int]]] = {
    "old": [("a", "kept", 2), ("b", "old", 5), ("c", "old", 4)],
    "new": [("a", "kept", 2), ("b", "new", 4), ("c", "new", 5)],  # a file less, a file more, three that change
    "same-index": [("a", "kept", 2), ("b", "other", 5), ("c", "old", 4)],  # nothing but content changes
    "alone": [("a", "alone", 1)],
}


def publish(folder: Path | str, generation: str, *, gzip: bool = False, grace: float = 0) -> Published:
    """Publish a generation."""
    options = WriterOptions(max_urls=2, group=by_section(), gzip=gzip, stylesheet="css")
    with SitemapWriter(Directory(folder, settle=0, grace=grace), LOCATION, options) as writer:
        for section, tag, count in GENERATIONS[generation]:
            writer.extend(Entry(f"https://example.com/{section}/{tag}/{n}") for n in range(count))
        return writer.finish()


def recover(folder: Path | str, grace: float = 0) -> None:
    """What every start does."""
    Directory(folder, settle=0, grace=grace).check()


def keep(folder: Path | str, private: Path | str, generation: str, number: int) -> None:
    """Publish a generation and keep it."""
    published = publish(folder, generation)
    Generations(private).keep(published, Directory(folder), number)


def restore(folder: Path | str, private: Path | str, number: int) -> None:
    """Publish a kept generation again."""
    Generations(private).restore(number, Directory(folder, settle=0, grace=0))


def content(folder: Path) -> dict[str, bytes]:
    """Everything there, hidden or not."""
    return {path.name: path.read_bytes() if path.is_file() else b"a directory" for path in folder.iterdir()}


def seen(folder: Path, name: str = "sitemap.xml") -> list[list[str]]:
    """What a reader sees: the pages of each file, in the order of the index."""
    return [_locs(child) for child in _leads(folder, folder / name)]


def _leads(folder: Path, lead: Path) -> list[ET.Element]:
    root = _parse(lead)
    if root.tag == f"{NAMESPACE}urlset":
        return [root]
    assert root.tag == f"{NAMESPACE}sitemapindex"
    children = [_parse(folder / loc.rpartition("/")[2]) for loc in _locs(root)]
    assert children
    assert {child.tag for child in children} == {f"{NAMESPACE}urlset"}
    return children


def _parse(file: Path) -> ET.Element:
    data = file.read_bytes()
    return ET.fromstring(gzip_format.decompress(data) if file.suffix == ".gz" else data)


def _locs(root: ET.Element) -> list[str]:
    locs = [str(loc.text) for loc in root.iter(f"{NAMESPACE}loc")]
    assert 0 < len(locs) <= 50_000
    return locs


def expected(generation: str) -> list[list[str]]:
    """What a reader sees of one whole generation."""
    return [
        [f"https://example.com/{section}/{tag}/{n}" for n in range(start, min(start + 2, count))]
        for section, tag, count in GENERATIONS[generation]
        for start in range(0, count, 2)
    ]
