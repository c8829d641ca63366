"""The path patterns of robots.txt (RFC 9309 2.2.2 and 2.2.3): their normal form, and matching of many at once. Pure."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import Final, Self
from urllib.parse import quote

from msgspec import Struct

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


_Wildcard = tuple[str, str, int]
"""What occurs in each path that a pattern with stars matches, the pattern, and its place in the order of precedence."""


class PatternIndex(Struct, array_like=True):
    """Finds the first of many patterns, in their order of precedence, that matches a path.

    A pattern without wildcards is looked up. One with wildcards is tried only on a path that contains its longest
    piece, so that twenty thousand of them cost a millisecond. ``lengths`` are those of the prefixes.
    """

    exact: dict[str, int] = {}
    prefixes: dict[str, int] = {}
    lengths: list[int] = []
    wildcards: list[_Wildcard] = []

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
        pieces = [
            (max(pattern.removesuffix("$").split("*"), key=len), pattern, rank) for pattern, rank in wildcards.items()
        ]
        return cls(exact, prefixes, sorted({*map(len, prefixes)}), pieces)

    def first(self, path: str) -> int | None:
        """The number of the first pattern that matches a path in normal form, None if none does."""
        lengths = self.lengths[: bisect_right(self.lengths, len(path))]
        ranks = [self.prefixes.get(path[:length], _NO_MATCH) for length in lengths]
        best = min(self.exact.get(path, _NO_MATCH), *ranks, _NO_MATCH)
        for piece, pattern, rank in self.wildcards:
            if rank > best:
                break
            if piece in path and _matches(pattern, path):
                return rank
        return None if best == _NO_MATCH else best
