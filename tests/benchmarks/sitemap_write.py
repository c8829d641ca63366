"""Owns the measure of writing: N entries with loc and lastmod to packed sitemaps and their index in an empty folder.

    python -m tests.benchmarks.sitemap_write N OUTDIR [add]

``add`` writes them one by one. The floor to compare with is the same work without checks: one f-string an entry.
"""

import resource
import sys
from collections.abc import Iterator

from sitemap import Directory, Entry, SitemapWriter, WriterOptions


def entries(count: int) -> Iterator[Entry]:
    """Distinct URLs with an ampersand, and a W3C datetime each."""
    for i in range(count):
        yield Entry(
            f"https://www.example.com/catalog/section-{i % 97}/item-{i}.html?ref={i % 13}&lang=en",
            f"2026-{1 + i % 12:02}-{1 + i % 28:02}T{i % 24:02}:{i % 60:02}:{i * 7 % 60:02}Z",
        )


def main(count: int, folder: str, one_by_one: bool) -> None:
    """Write, and tell how much memory it took."""
    location = "https://www.example.com/sitemap_index.xml"
    with SitemapWriter(Directory(folder), location, WriterOptions(gzip=True)) as writer:
        if one_by_one:
            for entry in entries(count):
                writer.add(entry)
        else:
            writer.extend(entries(count))
        published = writer.finish()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"{published.urls:,} entries in {len(published.files):,} files, {peak} MiB at most", file=sys.stderr
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:] == ["add"])
