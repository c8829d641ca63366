"""Measures the memory and the time of the matcher: ``python -m tests.trials.moves.memory 100000``.

Another process draws the sites, so that only what ``siteatlas move map`` holds of their pages counts.
"""

import multiprocessing
import resource
import sys
from collections import Counter
from multiprocessing.connection import Connection
from time import process_time

from crawler.moves.matcher import MovePage, match_pages

from .__main__ import page_of
from .site import KINDS, draw_move


def draw(out: Connection, kind: str, count: int) -> None:
    move = draw_move(kind, 1, count)
    for side in (move.old, move.new):
        for page in side:
            out.send(page_of(page))
        out.send(None)


def received(source: Connection) -> list[MovePage]:
    return list(iter(source.recv, None))


def peak() -> str:
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB"


def main() -> int:
    count = int(sys.argv[1])
    kind = sys.argv[2] if len(sys.argv) > 2 else KINDS[0]
    ours, theirs = multiprocessing.Pipe(duplex=False)
    drawer = multiprocessing.get_context("spawn").Process(target=draw, args=(theirs, kind, count))
    drawer.start()
    theirs.close()
    old, new = received(ours), received(ours)
    drawer.join()
    words = sum(len(page.text) for page in old) / 4 / len(old)
    print(f"{len(old):,} and {len(new):,} pages of {words:.0f} different words: {peak()}", flush=True)
    start = process_time()
    grades = Counter(match.grade for match in match_pages(old, new))
    print(f"matched in {process_time() - start:.0f} s: {peak()}; {dict(grades)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
