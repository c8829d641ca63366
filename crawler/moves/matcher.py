"""Finds for each page of an old site the page of the new site that takes its place, with a reason and a grade. Pure.

Two pages are compared by the words of their main text, of their title and heading, and of their path. A word counts by
the square of its information, as in the cosine of TF-IDF vectors (Salton and Buckley, 1988,
https://doi.org/10.1016/0306-4573(88)90021-0): what all pages say counts almost nothing, so templates need no rule. What
two pages of one family share says nothing either, so a page is compared with the words that tell it from its rival: the
old page that the new page continues already. Three agreements are added as log odds.
"""

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from heapq import nlargest
from itertools import chain
from math import exp, isclose, log
from typing import Final, Self
from zlib import crc32

from msgspec import Struct

from crawler.moves.patterns import Prediction, learn_patterns, spelling

_TEXT, _NAME, _PATH = range(3)
_MAX_CANDIDATES: Final = 5  # by the words of one kind
_LOOKED_UP: Final = 48  # the most telling words of a page by which its candidates are found
_MAX_PAGES_PER_WORD: Final = 200  # a word on more pages finds no candidate
_MAX_UNPACKED: Final = 1_024  # sets of words in memory, some ten kilobytes each
_LEAST, _MOST = 0.01, 0.99  # agreements are never more certain than this
_LEAST_OF_NAME: Final = -1.5  # log odds of a title or a path that is another: both change often while the text stays
_ANOTHER: Final = 0.3  # an agreement below this is not worth a word
_ALIKE: Final = 0.9  # an agreement of texts from which on a person decides, whatever else differs: variants of one page
_NAMES: Final = ("main text", "title and heading", "path")
_NOTHING_LIKE: Final = "no page of the new site is like it"
_NO_TEXT: Final = "its text is not known, and no title or path of the new site is like it"
_SURE, _LIKELY, _LOOK = 0.98, 0.7, 0.1  # probabilities

words: Final = re.compile(r"[^\W_]+").findall


class Grade(StrEnum):
    """How certain a row is. ``sure`` needs no review, ``look`` is for a person to decide, ``none`` is an answer."""

    SURE = "sure"
    LIKELY = "likely"
    LOOK = "look"
    NONE = "none"


REDIRECTED: Final = (Grade.SURE, Grade.LIKELY)
"""The grades of rows that become redirects without a person."""


class MovePage(Struct, frozen=True, gc=False):
    """One page: its ``path`` with the query, and the words of its main text, and of its title and headings.

    Words are held by their checksums, four bytes each: a set of them takes a hundred, and a site has a hundred million.
    """

    path: str
    text: bytes = b""
    name: bytes = b""

    @classmethod
    def of(cls, path: str, name: str = "", text: Iterable[str] = ()) -> Self:
        """A page by its path, its title and headings, and the words of its main text, in lower case."""
        return cls(path, _packed(text), _packed(words(name.lower())))

    def words(self, kind: int) -> "array[int]":
        """Its words of a kind: ``_TEXT``, ``_NAME`` or ``_PATH``."""
        return array("I", (self.text, self.name)[kind] if kind < _PATH else _packed(words(self.path.lower())))


def _packed(found: Iterable[str]) -> bytes:
    return array("I", sorted({crc32(word.encode("utf-8", "replace")) for word in found})).tobytes()


class Inventory(Struct):
    """The pages of one side. ``origin`` is "" if unknown. ``faults``: why search engines list no other URLs.

    ``others`` is the number of these that lead somewhere or show a page.
    """

    origin: str
    pages: list[MovePage]
    faults: dict[str, str] = {}
    others: int = 0


class Match(Struct, frozen=True):
    """The page that takes the place of an old one; ``new`` is "" and the grade ``none`` without one."""

    old: str
    new: str
    grade: Grade
    reason: str
    probability: float = 0.0


def match_pages(
    old: Sequence[MovePage], new: Sequence[MovePage], said: Mapping[str, str] | None = None
) -> Iterator[Match]:
    """The match of each old page, in their order. ``said`` are new paths that a person gave.

    Takes about two milliseconds for each old page.
    """
    said = said or {}
    matcher = _Matcher(old, new)
    found = [matcher.best(number) for number in range(len(old))]
    is_bare = not any(page.text for page in new)
    good = (Grade.LIKELY,) if is_bare else (Grade.SURE,)
    pairs = {match.old: match.new for match in found if match.grade in good} | dict(said)
    predicted = learn_patterns(pairs, [page.path for page in old], [page.path for page in new])
    found = [
        matcher.best(number, predicted[match.old])
        if match.grade is not Grade.SURE and match.old in predicted
        else match
        for number, match in enumerate(found)
    ]
    claims = Counter(said.get(row.old, row.new) for row in found if row.old in said or row.grade in REDIRECTED)
    for match in found:
        if match.old in said:
            yield Match(match.old, said[match.old], Grade.SURE, "you said so", 1.0)
        elif is_bare and match.grade in REDIRECTED and claims[match.new] > 1 and match.old != match.new:
            yield Match(match.old, match.new, Grade.LOOK, f"{match.reason}; another old page leads there, too")
        else:
            yield match


class _Matcher:
    """The words of both sites, and the agreements between their pages."""

    def __init__(self, old: Sequence[MovePage], new: Sequence[MovePage]) -> None:
        self._old, self._new = old, new
        self._olds = lru_cache(_MAX_UNPACKED)(lambda kind, number: frozenset(old[number].words(kind)))
        self._news = lru_cache(_MAX_UNPACKED)(lambda kind, number: frozenset(new[number].words(kind)))
        self._numbers = {page.path: number for number, page in enumerate(new)}
        size = max(len(old), len(new), 1)
        self._weights: list[dict[int, float]] = []
        self._found_by: list[dict[int, array[int]]] = []
        for kind in range(3):
            before, after = (Counter(chain.from_iterable(page.words(kind) for page in side)) for side in (old, new))
            found_by = {word: array("I") for word in before if 0 < after[word] <= _MAX_PAGES_PER_WORD}
            for number, page in enumerate(new):
                for word in page.words(kind):
                    if word in found_by:
                        found_by[word].append(number)
            self._found_by.append(found_by)
            weight = lru_cache(None)(lambda count: log(1 + size / count) ** 2)  # equal numbers share one object
            self._weights.append({word: weight(count) for word, count in (before | after).items()})
        self._candidates = [array("I", self._find(number)) for number in range(len(old))]
        self._rivals = array("q", [-1]) * len(new)  # by new page: the old page that it continues best
        best = array("d", [-99.0]) * len(new)
        for number, found in enumerate(self._candidates):
            for candidate in found:
                likeness = self._log_odds(number, candidate)
                if likeness >= best[candidate]:
                    best[candidate], self._rivals[candidate] = likeness, number

    def _mass(self, kind: int, of: Iterable[int]) -> float:
        return sum(map(self._weights[kind].__getitem__, of))

    def _find(self, number: int) -> list[int]:
        """The new pages that share the most telling words with an old one, by each kind, and that of the same path."""
        found: dict[int, None] = {}
        for kind in range(3):
            shared: defaultdict[int, float] = defaultdict(float)
            weights, pages = self._weights[kind], self._found_by[kind]
            known = self._olds(kind, number) & pages.keys()
            for word in sorted(known, key=lambda word: (-weights[word], word))[:_LOOKED_UP]:
                for candidate in pages[word]:
                    shared[candidate] += weights[word]
            highest = max(shared.values(), default=0.0)
            if sum(score == highest for score in shared.values()) > _MAX_CANDIDATES:
                continue  # what so many pages have says nothing
            found |= dict.fromkeys(nlargest(_MAX_CANDIDATES, shared, key=lambda found: (shared[found], -found)))
        if (same := self._numbers.get(self._old[number].path)) is not None:
            found[same] = None
        return [*found]

    def _agreement(self, kind: int, number: int, candidate: int) -> float | None:
        """How much of the words of a page the other has: in a merge of the old one, in a split of the new one.

        None if a page has no words to compare.
        """
        one, other = self._olds(kind, number), self._news(kind, candidate)
        left, right = self._mass(kind, one), self._mass(kind, other)
        if not (left and right):
            return None
        shared = self._mass(kind, one & other)
        return max(shared / left, shared / right) if kind == _TEXT else shared / (left * right) ** 0.5

    def _log_odds(self, number: int, candidate: int, text: float = 1.0) -> float:
        """That the one page is the other. The agreement of their texts is at most ``text``."""
        total = 0.0
        for kind in range(3):
            agreement = self._agreement(kind, number, candidate)
            if agreement is not None:
                odds = _log_odds_of(min(agreement, text) if kind == _TEXT else agreement)
                total += 2 * odds if kind == _TEXT else max(odds, _LEAST_OF_NAME)
        return total

    def best(self, number: int, predicted: Prediction | None = None) -> Match:
        """The match of an old page by its words, and by a pattern: its odds are those of the rule of succession."""
        scores = {candidate: self._against_rival(number, candidate) for candidate in self._candidates[number]}
        if predicted:
            target = self._numbers[predicted.path]
            scores[target] = self._against_rival(number, target) + log(predicted.pairs + 1)
        if not scores:
            old = self._old[number]
            return Match(old.path, "", Grade.NONE, _NOTHING_LIKE if old.text else _NO_TEXT)
        best = max(scores, key=lambda candidate: (scores[candidate], -candidate))
        odds = exp(scores.pop(best))
        rest = sum(map(exp, scores.values()))
        pattern = predicted.sentence if predicted and predicted.path == self._new[best].path else ""
        return self._graded(number, best, odds / (odds + rest + 1), pattern)

    def _against_rival(self, number: int, candidate: int) -> float:
        """The log odds by what the rival old page does not say: has the new page that, too?"""
        rival = self._rivals[candidate] if self._rivals[candidate] >= 0 else number
        own = self._olds(_TEXT, number) - self._olds(_TEXT, rival)
        mass = self._mass(_TEXT, own)
        told = self._mass(_TEXT, own & self._news(_TEXT, candidate)) / mass if mass else 1.0
        return self._log_odds(number, candidate, told)

    def _graded(self, number: int, candidate: int, probability: float, pattern: str) -> Match:
        old, new = self._old[number], self._new[candidate]
        text, *_ = agreements = [self._agreement(kind, number, candidate) for kind in range(3)]
        grade = Grade.SURE if probability >= _SURE else Grade.LIKELY if probability >= _LIKELY else Grade.LOOK
        is_number = any(map(str.isdecimal, spelling(old.path)[-1:]))  # a number tells a page from no other one
        if text is None and (not pattern or is_number) and grade is Grade.SURE:
            grade = Grade.LIKELY
        if (same := self._numbers.get(old.path)) is not None:  # the URL lives, and a redirect would hide its page
            own = self._agreement(_TEXT, number, same)
            if candidate == same or own is None or own >= _ANOTHER:
                return Match(old.path, old.path, Grade.SURE, "the same path", 1.0)
            if grade is not Grade.SURE:
                return Match(old.path, old.path, Grade.LOOK, "the same path, but another text")
            grade, pattern = Grade.LOOK, "another page is at this path now"
        is_unlike = probability < _LOOK and (text or 0) < _ALIKE
        if is_unlike or (new.path == "/" and grade is not Grade.SURE):
            return Match(old.path, "", Grade.NONE, _NOTHING_LIKE if old.text else _NO_TEXT, probability)
        said = [_agreement_text(name, share) for name, share in zip(_NAMES, agreements, strict=True) if share]
        reason = "; ".join(filter(None, (pattern, ", ".join(filter(None, said)))))
        return Match(old.path, new.path, grade, reason, probability)


def _agreement_text(name: str, share: float) -> str:
    if share >= _MOST:  # in whatever order
        return f"{'all' if isclose(share, 1) else 'nearly all'} words of the {name}"
    return f"{name} {share:.0%} alike" if share >= _ANOTHER else ""


def _log_odds_of(agreement: float) -> float:
    share = min(max(agreement, _LEAST), _MOST)
    return log(share / (1 - share))
