"""The path patterns of robots.txt (RFC 9309 2.2.2 and 2.2.3): their normal form, and matching of many at once. Pure."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, Self
from urllib.parse import quote

import msgspec
from msgspec import Struct

_MAX_PIECE: Final = 16
"""Characters of the longest pieces that wildcard patterns are indexed by; shorter ones are powers of two."""
_MAX_KEYS: Final = 4
"""Pieces of one pattern that it is indexed by, one after the other while too many patterns share them."""
_LEAF: Final = 4
"""So many patterns are tried without another piece between them."""
_NO_MATCH: Final = 1 << 31

_plain_path = re.compile(r"[A-Za-z0-9_.~/=-]*").fullmatch
_plain_pattern = re.compile(r"(?:[A-Za-z0-9_.~/=*-]|%24)*+\$?").fullmatch
_escape = re.compile(rb"%([0-9A-Fa-f]{2})")
_stars = re.compile(r"\*\*+")


def normal_path(path: str) -> str:
    """A path with its query, in the spelling in which patterns are compared."""
    return path if _plain_path(path) else _normal(path, b"/%")


def normal_pattern(value: str) -> str:
    """The pattern of an Allow or Disallow line in that spelling. A ``$`` at its end and every ``*`` keep their meaning.

    A complete URL is taken for a path that contains it, since no path begins with it.
    """
    if _plain_pattern(value):
        return value
    if value.startswith(("http://", "https://")):
        value = f"/{value}"
    is_anchored = value.endswith("$")
    return _normal(value.removesuffix("$") if is_anchored else value, b"/%*") + "$" * is_anchored


def _normal(text: str, kept: bytes) -> str:
    """Decode the escapes of all bytes but the kept ones, then escape what is neither unreserved, kept nor ``=``."""

    def decoded(match: re.Match[bytes]) -> bytes:
        byte = bytes.fromhex(match[1].decode())
        return match[0].upper() if byte in kept else byte

    return quote(_escape.sub(decoded, text.encode("utf-8", "replace")), safe=kept + b"=")


def _matches(pattern: str, path: str) -> bool:
    """Whether what stands between the stars occurs one after the other, with the first at the start of the path.

    The last stands at its end if the pattern ends with ``$``. There is at least one star.
    """
    first, *inner, last = pattern.split("*")
    if not path.startswith(first):
        return False
    position = len(first)
    for segment in inner:
        found = path.find(segment, position)
        if found < 0:
            return False
        position = found + len(segment)
    if last.endswith("$"):
        return len(path) - len(last) + 1 >= position and path.endswith(last[:-1])
    return path.find(last, position) >= 0


_Wildcard = tuple[str, int]
"""A pattern with stars, and its place in the order of precedence."""


class _Tree(Struct, array_like=True):
    """Patterns by one of their pieces, and trees of those that share a piece by another; "" is for those without one.

    A struct, because another process may make the index.
    """

    patterns: dict[str, list[_Wildcard]] = {}
    trees: dict[str, "_Tree"] = {}

    def __bool__(self) -> bool:
        return bool(self.patterns or self.trees)


class PatternIndex(Struct, array_like=True):
    """Finds the first of many patterns, in their order of precedence, that matches a path.

    A pattern without wildcards is found by bisection. One with wildcards is tried only on a path that contains its
    pieces, so that tens of thousands of patterns cost microseconds. ``lengths`` are those of the pieces in the tree;
    ``parents`` and ``ranks`` say of each prefix what :func:`_nested` does.
    """

    exact: dict[str, int] = {}
    prefixes: list[str] = []
    parents: list[int] = []
    ranks: list[int] = []
    tree: _Tree = msgspec.field(default_factory=_Tree)
    lengths: list[int] = []

    @classmethod
    def of(cls, patterns: Iterable[str]) -> Self:
        """The index of patterns in their order of precedence."""
        prefixes: dict[str, int] = {}
        wildcards: dict[str, int] = {}
        exact: dict[str, int] = {}
        for rank, pattern in enumerate(patterns):
            once = _stars.sub("*", pattern) if "**" in pattern else pattern
            if "*" in once[:-1]:
                # a star at the end means nothing, unless it keeps a $ from being the end
                wildcards.setdefault(once if once.endswith("$*") else once.removesuffix("*"), rank)
            elif once.endswith("$"):
                exact.setdefault(once[:-1], rank)
            else:
                prefixes.setdefault(once.removesuffix("*"), rank)
        ordered = sorted(prefixes)
        return cls(exact, ordered, *_nested(ordered, prefixes), *_tree_of(wildcards))

    def first(self, path: str) -> int | None:
        """The number of the first pattern that matches a path in normal form, None if none does."""
        best = min(self.exact.get(path, _NO_MATCH), self._prefix_rank(path))
        for pattern, rank in self._candidates(path):
            if rank < best and _matches(pattern, path):
                best = rank
        return None if best == _NO_MATCH else best

    def _prefix_rank(self, path: str) -> int:
        place = bisect_right(self.prefixes, path) - 1
        while place >= 0 and not path.startswith(self.prefixes[place]):
            place = self.parents[place]
        return self.ranks[place] if place >= 0 else _NO_MATCH

    def _candidates(self, path: str) -> Iterator[_Wildcard]:
        if not self.tree:
            return
        pieces = {path[at : at + length] for length in self.lengths for at in range(len(path) - length + 1)}
        pieces.add("")
        open_trees = [self.tree]
        while open_trees:
            tree = open_trees.pop()
            for piece in tree.patterns.keys() & pieces:
                yield from tree.patterns[piece]
            open_trees += [tree.trees[piece] for piece in tree.trees.keys() & pieces]


def _nested(ordered: list[str], ranks: dict[str, int]) -> tuple[list[int], list[int]]:
    """For each prefix: the longest other one that it begins with (-1: none), and the best rank of it and all those."""
    parents: list[int] = []
    best: list[int] = []
    place = -1
    for prefix in ordered:
        while place >= 0 and not prefix.startswith(ordered[place]):
            place = parents[place]
        parents.append(place)
        best.append(min(ranks[prefix], best[place] if place >= 0 else _NO_MATCH))
        place = len(parents) - 1
    return parents, best


def _tree_of(wildcards: dict[str, int]) -> tuple[_Tree, list[int]]:
    """The patterns by the end of their longest segment, and the lengths of the pieces in the tree.

    Where many share that end, by their rarest pieces: to count all pieces would be most of the work.
    """
    if not wildcards:
        return _Tree(), []
    ends: dict[str, list[_Wildcard]] = {}
    for wildcard in wildcards.items():
        ends.setdefault(_longest_end(wildcard[0]), []).append(wildcard)
    crowded = [end for end, group in ends.items() if len(group) > _LEAF or not end]
    shared = [wildcard for end in crowded for wildcard in ends.pop(end)]
    pieces = [_pieces(pattern) for pattern, _ in shared]
    uses = Counter(chain.from_iterable(pieces))
    rarest = [tuple(sorted(own, key=uses.__getitem__)[:_MAX_KEYS]) if len(own) > 1 else own for own in pieces]
    tree = _Tree(ends, {"": _tree_by_keys(list(zip(rarest, shared, strict=True)), 0)} if shared else {})
    return tree, sorted({*map(len, ends), *map(len, chain.from_iterable(rarest))})


def _longest_end(pattern: str) -> str:
    """The end of the longest segment between the stars, as long as a piece."""
    segment = max(pattern.removesuffix("$").split("*"), key=len)
    return segment[-_piece_length(segment) :] if segment else ""


def _piece_length(segment: str) -> int:
    return min(_MAX_PIECE, 1 << len(segment).bit_length() - 1)


def _tree_by_keys(wildcards: list[tuple[tuple[str, ...], _Wildcard]], level: int) -> _Tree:
    groups: dict[str, list[tuple[tuple[str, ...], _Wildcard]]] = {}
    for keyed in wildcards:
        keys = keyed[0]
        groups.setdefault(keys[level] if level < len(keys) else "", []).append(keyed)
    tree = _Tree({}, {})
    for key, group in groups.items():
        if key and len(group) > _LEAF and level + 1 < _MAX_KEYS:
            tree.trees[key] = _tree_by_keys(group, level + 1)
        else:
            tree.patterns[key] = [wildcard for _, wildcard in group]
    return tree


def _pieces(pattern: str) -> tuple[str, ...]:
    """The distinct pieces of all that stands between the stars, of the greatest length that fits into each."""
    pieces: dict[str, None] = {}
    for segment in pattern.removesuffix("$").split("*"):
        if segment:
            length = _piece_length(segment)
            if length == len(segment):
                pieces[segment] = None
            else:
                pieces.update(dict.fromkeys([segment[at : at + length] for at in range(len(segment) - length + 1)]))
    return tuple(pieces)
