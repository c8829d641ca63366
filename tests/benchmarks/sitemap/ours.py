"""What the package is measured at: a set is written, read and linted, each in a process that does nothing else."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from sitemap import Directory, Entry, SitemapReader, SitemapWriter, WriterOptions, lint

LOCATION = "https://www.example.com/sitemap.xml"
NOW = datetime(2027, 1, 1, tzinfo=UTC)  # later than any date of the entries


def entries(count: int) -> Iterator[Entry]:
    """Distinct URLs with an ampersand, and a W3C datetime each."""
    for i in range(count):
        yield Entry(
            f"https://www.example.com/catalog/section-{i % 97}/item-{i}.html?ref={i % 13}&lang=en",
            f"2026-{1 + i % 12:02}-{1 + i % 28:02}T{i % 24:02}:{i % 60:02}:{i * 7 % 60:02}Z",
        )


def write(count: int, folder: Path, *, one_by_one: bool) -> None:
    """Packed sitemaps and their index, checked as always."""
    with SitemapWriter(Directory(folder), LOCATION, WriterOptions(gzip=True)) as writer:
        if one_by_one:
            for entry in entries(count):
                writer.add(entry)
        else:
            writer.extend(entries(count))
        writer.finish()


def shards(folder: Path) -> list[Path]:
    """The sitemaps of a folder, but for their index. Ends the process when there are none."""
    found = [path for path in sorted(folder.glob("*.xml.gz")) if "index" not in path.name]
    return found or sys.exit(f"{folder} has no *.xml.gz to read")


def read(folder: Path, *, keep: bool) -> None:
    """Every entry of the shards; the line printed is "URLS LASTMODS". ``keep`` holds all, and counts distinct URLs.

    Fails unless all was read and nothing found fault with.
    """
    urls = dated = 0
    kept: list[Entry] = []
    for path in shards(folder):
        reader = SitemapReader(path)
        found = (item for item in reader if isinstance(item, Entry))
        if keep:
            kept += found
        else:
            for entry in found:
                urls += 1
                dated += bool(entry.lastmod)
        if not reader.complete or reader.findings:
            sys.exit(f"{path}: {reader.findings}")
    if keep:
        urls, dated = len({entry.loc for entry in kept}), sum(1 for entry in kept if entry.lastmod)
    print(urls, dated)


def judge(folder: Path) -> None:
    """All shards as one set. Fails when one cannot be read to its end."""
    report = lint(*shards(folder), url="https://www.example.com/", now=NOW)
    if report.not_checked:
        sys.exit("; ".join(report.not_checked))
    print(report.entries, report.rules)
