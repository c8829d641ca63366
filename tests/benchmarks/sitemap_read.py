"""Reads the shards of a folder (``sitemap-*.xml.gz``) and keeps every entry; the last line printed is "URLS LASTMODS".

::

    python -m tests.benchmarks.sitemap_read INDIR
"""

import sys
from pathlib import Path

from sitemap import Entry, SitemapReader


def main(folder: Path) -> None:
    """Read, fail unless all was read and nothing found fault with, and count."""
    found: list[Entry] = []
    for path in sorted(folder.glob("sitemap-*.xml.gz")):
        reader = SitemapReader(path)
        found += (item for item in reader if isinstance(item, Entry))
        if not reader.complete or reader.findings:
            sys.exit(f"{path}: {reader.findings}")
    print(len({entry.loc for entry in found}), sum(1 for entry in found if entry.lastmod))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
