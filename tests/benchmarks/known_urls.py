"""The benchmark of known URLs: a frontier that learns millions of URLs, without a network.

::

    python -m tests.benchmarks.known_urls [--urls 1000000] [--new 10] [--known 4]

One page after another is leased and settled. Each leads to a menu of 40 URLs, to ``--new`` URLs that are new, until
there are ``--urls``, and to ``--known`` that are known, each as likely as any other. Told are, for each tenth of the
way: pages settled a second, memory of the process, and bytes of state a URL; then the time until an interrupted run may
go on, and until the next run has begun.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

import psutil

from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.model import DiscoveredBy, DiscoveredUrl, Lease, Outcome, ResponseMetadata, State, Url, Verdict
from crawler.state.store import Resume, Store
from tests.benchmarks.measure import MIB
from tests.benchmarks.tables import table

_PATIENCE = 250  # the default of --trap-limit
_COMMIT_EVERY = 200  # pages, about those of a fifth of a second
_MENU = 40
_LINK = int(DiscoveredBy.LINK)
_LISTED = Verdict(State.INDEXABLE)


def url_of(number: int) -> Url:
    """The URL of a number, without figures: about fifty letters."""
    digits, rest = "", number
    for _ in range(6):
        rest, letter = divmod(rest, 26)
        digits += chr(97 + letter)
    return Url(f"https://www.example.com/{digits[2:4]}/{digits[4:]}/an-article-on-{digits}")


class KnownUrls:
    """Fills the state in a directory with so many URLs."""

    def __init__(self, directory: Path, urls: int, new: int, known: int) -> None:
        self._directory = directory
        self._urls, self._new, self._known = urls, new, known
        self._file = directory / "state.db"
        self._dice = Random(urls)
        self.rows: list[list[str]] = []

    def fill(self) -> None:
        """Settle pages until all URLs are known."""
        with Store(self._directory, {}) as store:
            frontier = SqliteFrontier(store.db, _admit_all, run=store.run.number, patience=_PATIENCE)
            frontier.admit([DiscoveredUrl(url_of(0), DiscoveredBy.SEED, 0)])
            count, pages, step = 1, 0, max(self._urls // 10, 1)
            began, pages_before = time.perf_counter(), 0
            while count < self._urls:
                lease = frontier.next(0.0, _is_ready)
                assert isinstance(lease, Lease)
                last = min(count + self._new, self._urls)
                links = [(url_of(number), _LINK) for number in (*range(min(_MENU, count)), *range(count, last))]
                links += [(url_of(self._dice.randrange(count)), _LINK) for _ in range(self._known)]
                seen = ResponseMetadata(1e9, "text/html", '"an-etag"', "Sun, 01 Nov 2026 10:00:00 GMT", "2026-11-01")
                frontier.settle(Outcome(lease, _LISTED, 200, [*dict(links).items()], sighting=seen))
                pages += 1
                if not pages % _COMMIT_EVERY:
                    frontier.commit()
                if count // step < last // step:
                    now = time.perf_counter()
                    self._note(last, (pages - pages_before) / (now - began))
                    began, pages_before = now, pages
                count = last
            frontier.commit()

    def _note(self, urls: int, speed: float) -> None:
        size = self._file.stat().st_size
        memory = psutil.Process().memory_info().rss / MIB
        self.rows.append([f"{urls:,}", f"{speed:,.0f}", f"{memory:.0f}", f"{size / urls:.0f}"])
        print(f"{urls:,} URLs, {speed:,.0f} pages/s", file=sys.stderr)

    def opening(self, begin: Resume) -> float:
        """Seconds until a page can be leased, or until a run that begins anew has no URL to visit."""
        started = time.perf_counter()
        with Store(self._directory, {}, begin=begin) as store:
            frontier = SqliteFrontier(store.db, _admit_all, run=store.run.number, patience=_PATIENCE)
            frontier.next(0.0, _is_ready)
            return time.perf_counter() - started


def _admit_all(_find: DiscoveredUrl) -> None:
    return None


def _is_ready(_origin: str, _now: float) -> float:
    return 0.0


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        "python -m tests.benchmarks.known_urls",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--urls", type=int, default=1_000_000, help="URLs in the end (default: 1000000)")
    parser.add_argument("--new", type=int, default=10, help="new URLs of each page (default: 10)")
    parser.add_argument("--known", type=int, default=4, help="known URLs of each page (default: 4)")
    options = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="siteatlas-known-") as name:
        known = KnownUrls(Path(name) / "state", options.urls, options.new, options.known)
        known.fill()
        print(table(["known URLs", "pages settled/s", "RSS MiB", "state, bytes a URL"], known.rows))
        resumed, anew = known.opening(Resume.ALWAYS), known.opening(Resume.NEVER)
        print(f"\nresumed after {resumed:.2f} s; the next run begins after {anew:.2f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
