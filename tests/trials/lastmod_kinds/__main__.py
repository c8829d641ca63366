"""The command: trials of the kinds, a table, and the trials that failed."""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.forked import forked
from tests.trials.lastmod_kinds.trial import KINDS, SIZES, Draw, Result, run

HEAD = "kind trials nights  edits  silent  false missed precision  recall   open  exits ms/page-night"


def main(words: Sequence[str] | None = None) -> int:
    """Exit code 0 if every date was right, 10 if not."""
    parser = argparse.ArgumentParser("python -m tests.trials.lastmod_kinds", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="trial number n of --seed S has the seed S+n")
    parser.add_argument(
        "--kinds", default=",".join(KINDS), help="; ".join(f"{key}: {said}" for key, said in KINDS.items())
    )
    parser.add_argument("--pages", type=int, choices=SIZES, help="drawn if it is not given")
    parser.add_argument("--trials", type=int, default=5, help="of each kind")
    parser.add_argument("--nights", type=int, default=0, help="drawn if it is not given")
    parser.add_argument(
        "--only", metavar="KIND-PAGES-SEED", action="append", help="only this trial, as a table names it"
    )
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no trial after so many seconds")
    parser.add_argument("--in-process", action="store_true", help="judge the pages without a crawl around them")
    parser.add_argument("--failed", type=Path, help="file to append the trials that were not right to")
    parser.add_argument("-q", "--quiet", action="store_true", help="print the table only")
    options = parser.parse_args(words)
    results: list[Result] = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as work, ExitStack() as stack:
        crawler = None if options.in_process else stack.enter_context(forked(Path(work)))
        for drawn in _draws(options):
            if time.monotonic() - began > options.seconds:
                break
            result = run(drawn, crawler)
            results.append(result)
            if not options.quiet:
                print(_line(result), file=sys.stderr)
            if not result.is_right or options.only:
                _tell(result, options)
    print(table(results))
    return 0 if all(each.is_right for each in results) else 10


def _draws(options: argparse.Namespace) -> Iterator[Draw]:
    for name in options.only or ():
        kind, pages, seed, nights = (name + "-0").split("-")[:4]
        yield Draw(kind, int(pages), int(seed), int(nights))
    for seed in range(options.seed, options.seed + options.trials) if not options.only else ():
        for kind in options.kinds.split(","):
            yield Draw(kind, options.pages or random.Random(seed).choice(SIZES), seed, options.nights)


def _line(result: Result) -> str:
    judge = result.judge
    said = (
        "right"
        if result.is_right
        else f"{len(judge.false)} false, {len(judge.missed)} missed of {judge.right + len(judge.missed)}"
    )
    exits = f", {len(result.exits)} exits not 0" if result.exits else ""
    return f"{result.drawn}: {said}{exits} [{result.seconds:.0f} s]: {'; '.join(result.about)}"


def _tell(result: Result, options: argparse.Namespace) -> None:
    said = "\n".join(failure(result, 40 if options.only else 5))
    if options.failed:
        with options.failed.open("a") as file:
            file.write(said + "\n\n")
    if options.only:
        print(said)


def failure(result: Result, most: int) -> list[str]:
    """What moved and should not, and what should have moved, for people."""
    lines = [f"{result.drawn} ({result.nights} nights)", *(f"  {each}" for each in result.about)]
    lines += [f"  {each}" for each in result.exits[:most]]
    for title, wrongs in (
        ("moved without an edit", result.judge.false),
        ("not moved with an edit", result.judge.missed),
    ):
        if wrongs:
            lines.append(f"  {title}: {len(wrongs)} in nights {sorted({each.night for each in wrongs})}")
        for each in wrongs[:most]:
            lines += [
                f"    night {each.night} {each.path} {each.edit[:200]}",
                *(f"      {line}" for line in each.shown),
            ]
    return lines


def table(results: Sequence[Result]) -> str:
    """Everything, for people: a line for each kind, and the trials that failed."""
    kinds = sorted({each.drawn.kind for each in results})
    lines = [HEAD]
    lines += [_row(kind, [each for each in results if each.drawn.kind == kind]) + f"  {KINDS[kind]}" for kind in kinds]
    lines += [_row("all", results)] if len(kinds) > 1 else []
    sizes = sorted({each.drawn.pages for each in results})
    lines += [_row(str(size), [each for each in results if each.drawn.pages == size]) + "  pages" for size in sizes]
    lines += ["", HEAD.replace("kind", "    ", 1) + "  by what was on the site"]
    groups = sorted({group for each in results for group in each.groups})
    lines += [_row("", [each for each in results if group in each.groups]) + f"  {group}" for group in groups]
    lines += ["", " edits missed  recall  by edit", *_edits(results)]
    wrong = [each for each in results if not each.is_right]
    lines += ["", f"{len(wrong)} of {len(results)} trials not right:", *(f"  --only {_line(each)}" for each in wrong)]
    return "\n".join(lines)


def _row(name: str, results: Iterable[Result]) -> str:
    found = list(results)
    judges = [each.judge for each in found]
    right, silent = sum(each.right for each in judges), sum(each.silent for each in judges)
    false, missed = sum(len(each.false) for each in judges), sum(len(each.missed) for each in judges)
    nights, opened = sum(each.nights for each in found), sum(each.open for each in judges)
    exits, seconds = sum(len(each.exits) for each in found), sum(each.seconds for each in found)
    cost = seconds * 1000 / sum(each.page_nights for each in found)
    return (
        f"{name:4} {len(found):6} {nights:6} {right + missed:6} {silent:7} {false:6} {missed:6} "
        f"{_share(right, false):9.3f} {_share(right, missed):7.3f} {opened:6} {exits:6} {cost:13.1f}"
    )


def _edits(results: Sequence[Result]) -> Iterator[str]:
    found, missed = Counter[str](), Counter[str]()
    for result in results:
        found.update(result.judge.found)
        missed.update(each.edit.partition(":")[0] for each in result.judge.missed)
    for what in sorted(found | missed):
        yield f"{found[what] + missed[what]:6} {missed[what]:6} {_share(found[what], missed[what]):7.3f}  {what}"


def _share(part: int, rest: int) -> float:
    """1.0 if there is nothing at all."""
    return part / (part + rest) if part + rest else 1.0


if __name__ == "__main__":
    sys.exit(main())
