"""Learns how a site rewrites its paths, from pages whose new path is sure. Pure.

A pattern puts the first folders of a path in place of others, such as ``/blog/2019/05/`` by ``/news/``; the rest stays.
Numbers in the old folders stand for any number, so that dates are one pattern; the new folders may repeat them.
Extensions, ``index`` files, upper case, underscores and the slash at the end count as the same spelling. Known pairs
tell most about the others: Zhu et al., FABLE, IMC 2023, https://dl.acm.org/doi/10.1145/3618257.3624832
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

LEAST_PAIRS: Final = 3
"""Pairs that a pattern needs. A pair that contradicts it kills it."""
Segments = tuple[str, ...]

_extension = re.compile(r"\.(?:[sx]?html?|php\d?|aspx?|jsp|md|rst)$").sub


class Pattern(NamedTuple):
    """The first folders of old paths, ``#`` for a number, and the new ones, with ``#1`` for the first of these."""

    old: Segments
    new: Segments


class Prediction(NamedTuple):
    """A new path by a pattern that ``pairs`` pages follow, and none contradicts."""

    path: str
    pattern: Pattern
    pairs: int

    @property
    def sentence(self) -> str:
        """The pattern in words."""
        old, new = ("/".join(("", *side, "")) for side in self.pattern)
        how = f"{old} became {new}" if old != new else "only the spelling of the path changed"
        return f"pattern of {self.pairs} pages: {how}"


def spelling(path: str) -> Segments:
    """The folders and the name of a path as they are compared."""
    bare, mark, query = path.partition("?")
    parts = [part for part in bare.lower().replace("_", "-").split("/") if part]
    if parts:
        parts[-1] = _extension("", parts[-1])
        if parts[-1] in ("index", "default"):
            parts.pop()
    return (*parts, mark + query) if mark else tuple(parts)


def learn_patterns(pairs: Mapping[str, str], old: Iterable[str], new: Iterable[str]) -> dict[str, Prediction]:
    """For each old path that a pattern leads to a new path: the prediction by the narrowest pattern.

    ``pairs`` are the sure ones, by old path.
    """
    places: defaultdict[Segments, list[str]] = defaultdict(list)
    for path in new:
        places[spelling(path)].append(path)
    support: defaultdict[Pattern, int] = defaultdict(int)
    for before, after in pairs.items():
        if before != after:
            support[pattern_of(spelling(before), spelling(after))] += 1
    patterns = {pattern: count for pattern, count in support.items() if count >= LEAST_PAIRS}
    by_length = sorted(patterns, key=lambda pattern: (-len(pattern.old), -patterns[pattern]))
    found: defaultdict[Pattern, dict[str, str]] = defaultdict(dict)
    for path in {*old, *pairs}:
        parts = spelling(path)
        for pattern in by_length:
            targets = places.get(_applied(pattern, parts) or ("",), [])
            if len(targets) == 1:
                found[pattern][path] = targets[0]
    predictions: dict[str, Prediction] = {}
    for pattern in by_length:
        if all(pairs.get(path, target) == target for path, target in found[pattern].items()):
            for path, target in found[pattern].items():
                predictions.setdefault(path, Prediction(target, pattern, patterns[pattern]))
    return predictions


def pattern_of(old: Segments, new: Segments) -> Pattern:
    """The pattern that a pair of paths follows."""
    same = 0
    while same < min(len(old), len(new)) and old[-1 - same] == new[-1 - same]:
        same += 1
    before, after = old[: len(old) - same], new[: len(new) - same]
    if not same:  # the name itself changed: no pattern of folders
        return Pattern(old, new)
    numbers = [part for part in before if part.isdecimal()]
    template = (f"#{numbers.index(part) + 1}" if part in numbers else part for part in after)
    return Pattern(tuple("#" if part.isdecimal() else part for part in before), tuple(template))


def _applied(pattern: Pattern, parts: Segments) -> Segments | None:
    """The new folders and name of a path, None if the pattern is of other paths."""
    head, rest = parts[: len(pattern.old)], parts[len(pattern.old) :]
    masked = tuple("#" if part.isdecimal() else part for part in head)
    if not rest or masked != pattern.old:
        return None
    numbers = [part for part in head if part.isdecimal()]
    filled = (numbers[int(part[1:]) - 1] if part[:1] == "#" and part[1:].isdecimal() else part for part in pattern.new)
    return (*filled, *rest)
