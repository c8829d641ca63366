"""Draws moves, and prints how right the matcher is: for each kind of site, and for what happened to the pages."""

import argparse
import sys
from collections import Counter
from time import process_time

from crawler.moves.matcher import Grade, Match, MovePage, match_pages, words

from .site import KINDS, DrawnMove, DrawnPage, draw_move


def page_of(page: DrawnPage, *, is_bare: bool = False) -> MovePage:
    """A drawn page as the matcher sees it. ``is_bare``: as a sitemap lists it, without its text."""
    if is_bare:
        return MovePage.of(page.path)
    return MovePage.of(page.path, f"{page.title} {page.heading}", words(" ".join(page.sentences).lower()))


def matches_of(move: DrawnMove, *, is_bare: bool = False) -> list[Match]:
    old, new = ([page_of(page, is_bare=is_bare) for page in side] for side in (move.old, move.new))
    return [*match_pages(old, new)]


def figures(move: DrawnMove, matches: list[Match], grades: set[Grade]) -> tuple[float, float]:
    """Precision and recall of the rows of these grades. Recall is of the pages that have a successor."""
    shown = [match for match in matches if match.grade in grades]
    right = sum(match.new in move.truth[match.old] for match in shown)
    return right / max(1, len(shown)), right / max(1, sum(map(bool, move.truth.values())))


def main() -> int:
    asked = argparse.ArgumentParser(prog="python -m tests.trials.moves", description=__doc__)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--trials", type=int, default=3, help="how many seeds, for each kind of site")
    asked.add_argument("--pages", type=int, default=1_000)
    asked.add_argument("--bare", action="store_true", help="compare paths only")
    asked.add_argument("--wrong", action="store_true", help="print the wrong rows")
    given = asked.parse_args()
    worst = (1.0, 1.0, 1.0, 1.0)
    for seed in range(given.seed, given.seed + given.trials):
        for kind in KINDS:
            move = draw_move(kind, seed, given.pages)
            start = process_time()
            matches = matches_of(move, is_bare=given.bare)
            took = process_time() - start
            sure = figures(move, matches, {Grade.SURE})
            both = figures(move, matches, {Grade.SURE, Grade.LIKELY})
            worst = min(worst[0], sure[0]), min(worst[1], sure[1]), min(worst[2], both[0]), min(worst[3], both[1])
            print(
                f"{kind:9} {seed}: sure {sure[0]:.3f} at {sure[1]:.3f}, "
                f"with likely {both[0]:.3f} at {both[1]:.3f}, {took:.1f} s"
            )
            rows: Counter[tuple[str, str, bool]] = Counter()
            for match in matches:
                is_right = match.new in move.truth[match.old] or not (match.new or move.truth[match.old])
                rows[move.what[match.old], match.grade, is_right] += 1
                if given.wrong and match.grade in (Grade.SURE, Grade.LIKELY) and not is_right:
                    print("   ", move.what[match.old], match, sorted(move.truth[match.old]))
            if given.wrong:
                for row, count in sorted(rows.items()):
                    print("   ", *row, count)
    print("worst: sure {:.3f} at {:.3f}, with likely {:.3f} at {:.3f}".format(*worst))
    return 0


if __name__ == "__main__":
    sys.exit(main())
