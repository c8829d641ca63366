"""Measures linting against reading: entries a second of CPU time, in one run, and the memory that a set needs.

What else the machine does changes single rounds, so the fastest of each are compared.

::

    python -m tests.benchmarks.sitemap_lint [--files 20] [--rounds 3] [--kind plain|escaped|variants|news|pictures]
"""

import argparse
import gc
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec.structs import replace

from sitemap import Alternate, Directory, Entry, Image, News, SitemapReader, SitemapWriter, lint

HOME = "https://www.example.com/"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
PER_FILE = 50_000
LANGUAGES = ("en", "de", "fr", "es", "it")


def plain(number: int) -> Entry:
    """A page of an unremarkable shop: its address and when it changed."""
    changed = NOW - timedelta(seconds=number * 1_987 % 60_000_000 + 90_000)
    return Entry(f"{HOME}shop/department-{number % 97}/article-{number}.html", changed.isoformat())


def escaped(number: int) -> Entry:
    """A page whose address is not in English, escaped in lower case as WordPress does."""
    return Entry(f"{HOME}%e3%81%82%e3%81%84/%e3%81%86-{number}/", plain(number).lastmod)


def variants(number: int) -> Entry:
    """A page in five languages."""
    page, place = divmod(number, len(LANGUAGES))
    links = tuple(Alternate(code, f"{HOME}{code}/article-{page}") for code in LANGUAGES)
    return Entry(links[place].href, plain(number).lastmod, alternates=(*links, Alternate("x-default", links[0].href)))


def news(number: int) -> Entry:
    """An article of today."""
    published = (NOW - timedelta(seconds=number % 80_000)).isoformat()
    return Entry(f"{HOME}news/{number}", published, news=News("Harbour", "en", published, f"Boats {number}"))


def pictures(number: int) -> Entry:
    """A page with three images."""
    return replace(plain(number), images=tuple(Image(f"{HOME}images/{number}-{place}.jpg") for place in range(3)))


KINDS: dict[str, Callable[[int], Entry]] = {each.__name__: each for each in (plain, escaped, variants, news, pictures)}


def cpu(work: Callable[[], object]) -> float:
    """Seconds of CPU time."""
    gc.collect()
    begun = time.process_time()
    work()
    return time.process_time() - begun


def peak() -> float:
    """The most memory that this process has had, in MiB."""
    unit = 1_024 if sys.platform == "darwin" else 1
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit / 1_024


def entries(kind: Callable[[int], Entry], count: int) -> Iterator[Entry]:
    return (kind(number) for number in range(count))


def speeds(count: int, reading: float, linting: float) -> str:
    """How fast both were, and how they compare."""
    ratio = reading / linting
    return f"read {count / reading:,.0f} a second, lint {count / linting:,.0f} ({ratio:.2f} of reading)"


def main() -> None:
    """Write a set, read it and lint it, and print what each took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=20, help="files of 50,000 entries")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kind", choices=KINDS, default="plain")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        with SitemapWriter(Directory(Path(folder)), HOME + "sitemap.xml") as writer:
            for entry in entries(KINDS[options.kind], options.files * PER_FILE):
                writer.add(entry)
            writer.finish()
        files = sorted(Path(folder).glob("*.xml"))
        files = [file for file in files if file.name != "sitemap.xml"] or files
        count = options.files * PER_FILE

        def read() -> None:
            for file in files:
                for _ in SitemapReader(file):
                    pass

        said: dict[str, int] = {}

        def judge() -> None:
            said.update(lint(*files, url=HOME, now=NOW).rules)

        rounds: list[tuple[float, float]] = []
        for _ in range(options.rounds):
            reading, before = cpu(read), peak()
            rounds.append((reading, cpu(judge)))
            print(f"{count:,} entries ({options.kind}): {speeds(count, *rounds[-1])}", end="")
            print(f", {before:.0f} MiB before, {peak():.0f} after")
        print("the fastest of each:", speeds(count, *map(min, zip(*rounds, strict=True))))
        print("found:", said or "nothing")


if __name__ == "__main__":
    main()
