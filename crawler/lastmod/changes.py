"""What the pages of a site did in one run: how many pages each text, word and slot came to, left, or moved on. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from crawler.lastmod.slots import KINDS, Move, kept_words, moves_of, own_differences, text_key, text_slots
from crawler.parse.snapshot.diff import LINK, MOVED, REPEATED, Delta, Difference, nth_key

# The table of constants. docs/lastmod-model.md tells which trial set each, and what breaks without it.
SAMPLE_SIZE: Final = 40
"""Pages of a site, changed or not, that show how common a text is."""
MOST: Final = 0.6
"""Share of the pages with a slot on which it must move, to be one of the site."""
NEARLY_ALL: Final = 0.9
FEW: Final = 3
SEVERAL: Final = 5
"""Pages that must agree: ``FEW`` are enough if they are nearly all."""
USUAL: Final = 0.15
"""Share of its pages on which a slot moves in most runs, from which on it moves by itself."""
TURNED: Final = 0.6
"""Share of the texts of a page that are new, from which on the page says something else."""
MAX_KEYS: Final = 500_000
_CAME: Final = 1
_WENT: Final = 2
"""What a text did, as bits. Shifted by :data:`_ALONE`, it did so alone at its place."""
_ALONE: Final = 2

Deltas = Callable[[], Iterable[tuple[int, Delta]]]
"""Gives the differences of each page that differs, translations in a row."""
Sample = Callable[[], Mapping[int, Iterable[int]]]
"""Gives the :func:`crawler.parse.snapshot.diff.content_keys` of some compared pages, by page."""


class SiteChanges:
    """The differences of all pages of a run. ``pages`` were compared; ``known`` are the slots that earlier runs know.

    ``translated`` has the page that stands for each of several translations: an author edits all of them at once.

    ``changed`` counts the pages by each slot and text, ``emptied`` those on which a slot only lost texts, ``words`` by
    each word and whether it left, and ``at`` by each place. ``resized`` counts those with more or fewer texts there,
    and ``refilled`` those with other texts for the most part. ``moved`` are the slots alone.
    """

    def __init__(
        self, pages: int, sample: Sample, known: Iterable[int], deltas: Deltas, translated: Mapping[int, int]
    ) -> None:
        self.pages = pages
        self._translated = translated
        self._pages_apart = pages - len(translated) + len({*translated.values()})
        self._seen: tuple[int, set[int], set[tuple[int, bool]]] = -1, set(), set()  # on translations of the last page
        self._again: Counter[int] = Counter()
        self._words_again: Counter[tuple[int, bool]] = Counter()
        self._sample = sample
        self._deltas = deltas
        self._asked = {k ^ kind for k in known for kind in KINDS}
        self.differing: set[int] = set()
        self._turned = 0
        self.changed: Counter[int] = Counter()
        self._max_changed = MAX_KEYS
        self._emptied: Counter[int] = Counter()
        self.moved: Counter[int] = Counter()
        self._numbers: dict[int, set[int]] = {}  # of shapes: the slots of their figures
        self._numbers_at: dict[int, set[int]] = {}  # by place: these shapes
        self._texts_did: dict[int, int] = {}
        self.words: Counter[tuple[int, bool]] = Counter()
        self.at: Counter[int] = Counter()
        self.resized: Counter[int] = Counter()
        self.refilled: Counter[int] = Counter()
        self._shapes = 0
        self._turns: dict[int, dict[int, list[int]]] = {}  # by place and shape: texts that came and that went
        self._turned_at: dict[int, tuple[int, int]] = {}

    def page_of(self, page: int) -> int:
        """The page that stands for a page and its translations."""
        return self._translated.get(page, page)

    def apart(self, k: int) -> int:
        """How many pages a slot or a text moved on, translations as one."""
        return self.changed[k] - self._again[k]

    def words_apart(self, word: int, gone: bool) -> int:
        """How many pages a word came to, or left, translations as one."""
        return self.words[word, gone] - self._words_again[word, gone]

    def _count_again(self, page: int, keys: set[int], words: set[tuple[int, bool]]) -> None:
        """Count what its translations have, too. They are added in a row."""
        if self._seen[0] != self._translated[page]:
            self._seen = self._translated[page], set(), set()
        _, seen, seen_words = self._seen
        self._again.update(keys & seen)
        self._words_again.update(words & seen_words)
        seen |= keys
        seen_words |= words

    def add(self, page: int, delta: Delta) -> None:
        """Count the differences of a page."""
        self.differing.add(page)
        self._turned += is_turned_over(delta)
        sides: dict[int, int] = {}
        texts: set[int] = set()
        differences = own_differences(delta)
        shapes = Counter(shape for shape, _ in {(d.shape, d.gone) for d in differences})
        moves = moves_of(differences)
        for d, move in zip(differences, moves, strict=True):
            if move.words is None and not d.flags & MOVED and shapes[d.shape] == 1:
                self._count_turn(d)
            for k in move.slots:
                sides[k] = sides.get(k, 0) | (1 if d.gone else 2)
            if move.words and any(move.words):
                self._numbers.setdefault(d.shape, {d.shape}).update(k for near in move.words for k in near)
                self._numbers_at.setdefault(d.place, set()).add(d.shape)
            texts.add(d.exact)
            texts.update(k for k, _ in text_slots(d, move))
            self._asked.update((d.exact, d.shape, d.words, d.place, nth_key(d.place, 1), d.after, d.ahead, *d.beside))
        self._asked.update(k ^ kind for k in sides for kind in KINDS)
        for d in differences:
            did = 0 if d.flags & MOVED else _WENT if d.gone else _CAME
            self._texts_did[d.exact] = self._texts_did.get(d.exact, 0) | did | (did << _ALONE if d.is_alone else 0)
        words = {(word, d.gone) for d, words in news_of(differences) for word in words}
        if page in self._translated:
            self._count_again(page, sides.keys() | texts, words)
        self.changed.update(sides.keys() | texts)
        self.words.update(words)
        self.at.update({d.place for d in differences})
        self.resized.update({d.place for d, move in zip(differences, moves, strict=True) if move.more})
        self.refilled.update({d.place for d, move in zip(differences, moves, strict=True) if move.is_whole})
        self._emptied.update(k for k, side in sides.items() if side == 1)
        self.moved.update(sides.keys())
        if len(self.changed) > self._max_changed:
            self.changed = Counter({k: n for k, n in self.changed.items() if n > 1})
            self._max_changed = max(MAX_KEYS, 2 * len(self.changed))

    def _count_turn(self, d: Difference) -> None:
        """Count a text that came or went; of more than :data:`MAX_KEYS`, only how many there were on each side."""
        sides, shape = self._turns.setdefault(d.place, {}), d.shape
        if shape not in sides:
            self._shapes += 1
            shape = shape if self._shapes <= MAX_KEYS else int(d.gone)
        sides.setdefault(shape, [0, 0])[d.gone] += 1

    @property
    def texts(self) -> Iterable[int]:
        """The texts that came or went on any page."""
        return self._texts_did.keys()

    def numbers_at(self, place: int) -> Iterable[set[int]]:
        """The slots of each text of a place in which numbers moved."""
        return (self._numbers[shape] for shape in self._numbers_at.get(place, ()))

    # ---- how common something is

    @cached_property
    def _counted(self) -> tuple[Counter[int], dict[int, float], dict[int, int]]:
        """The pages that have each key that was asked for, how many each of the sample stands for, and who has a key.

        That is the one page that has it, in all its translations, or -1 for several.
        """
        counts: Counter[int] = Counter()
        held_by: dict[int, int] = {}
        sample = self._sample()
        weights = {page: self.pages / len(sample) for page in sample}
        for page, keys in sample.items():
            for k in self._asked.intersection(keys):
                counts[k] += weights[page]  # type: ignore[assignment]  # fractions of pages
                held_by[k] = self.page_of(page) if held_by.get(k, self.page_of(page)) == self.page_of(page) else -1
        return counts, weights, held_by

    @property
    def held(self) -> Counter[int]:
        """The pages that have each key, reckoned from the sample, which is read when a question needs it."""
        return self._counted[0]

    @cached_property
    def kept(self) -> Counter[int]:
        """The pages that have each text and had it before this run, reckoned from the same pages as :attr:`held`."""
        counts, weights, _ = self._counted
        kept = counts.copy()
        for page, delta in self._deltas():
            if page in weights:
                for k in {d.exact for d in delta.differences if not d.gone and not d.flags & MOVED}:
                    kept[k] -= weights[page]  # type: ignore[assignment]  # fractions of pages
        return kept

    def is_held_by_others(self, k: int, page: int) -> bool:
        """Whether a page of the sample that is no translation of this one has a text."""
        return self._counted[2].get(k, self.page_of(page)) != self.page_of(page)

    def having(self, k: int) -> float:
        """The pages with a slot, in this run or before it."""
        return max(self.changed[k], max(self.held[k ^ kind] for kind in KINDS) + self._emptied[k])

    def share(self, k: int) -> float:
        """The share of the pages with a slot on which it moved."""
        return self.changed[k] / max(self.having(k), 1)

    def slots_to_learn(self) -> dict[int, float]:
        """The slots of a template that moved on several pages, or nearly all, with the share of their pages."""
        words = {k: shape for shape, keys in self._numbers.items() if self._is_of_template(shape) for k in keys}
        shares = {}
        for k, pages in self.moved.items():
            if self.apart(k) < 2 and k not in words:
                continue
            share = self.changed[k] / max(self.changed[k], self.held[words[k]]) if k in words else self.share(k)
            if (pages >= FEW or k in words or share >= NEARLY_ALL) and share >= USUAL:
                shares[k] = share
        return shares

    def _is_of_template(self, shape: int) -> bool:
        """Whether the words around figures are those of a template: several pages have them."""
        return self.held[shape] >= max(2, min(FEW, self.pages / 4))

    # ---- what the site did

    @property
    def is_landslide(self) -> bool:
        """Whether most texts of many pages changed in one run: a new design, another language, an error message."""
        return do_agree(self._turned, self.pages / 2)

    def is_word_of_site(self, word: int, gone: bool) -> bool:
        """Whether a word came to most pages, or left them; one in a text of which only links changed, several."""
        if word < 0:
            return self.words_apart(word, gone) >= SEVERAL and self.words[word, gone] >= USUAL * self.pages
        is_of_several = self.words_apart(word, gone) + self.words_apart(~word, gone) >= FEW
        return is_of_several and self.words[word, gone] + self.words[~word, gone] >= MOST * self.pages

    def shared_texts(self, d: Difference, move: Move) -> set[int]:
        """The places where the same text did the same on most pages that have them; 0 if it did so on most pages."""
        found = [(k, of) for k, of in text_slots(d, move) if self.apart(k) >= FEW]
        shared = {of for k, of in found if do_agree(self.changed[k], self.held[of] if of else self.pages)}
        return shared | {0} if self.is_on_most(d) else shared

    def is_on_most(self, d: Difference) -> bool:
        """Whether the same text did the same on most pages."""
        return do_agree(self.apart(text_key(d)), self._pages_apart)

    def has_done(self, text: int, gone: bool, *, alone: bool = False) -> bool:
        """Whether a text left a page (``gone``) or came to one, there ``alone`` at its place."""
        return bool(self._texts_did.get(text, 0) & (_WENT if gone else _CAME) << (_ALONE if alone else 0))

    def came_over(self, d: Difference) -> bool:
        """Whether a text that came left another page in this run, or one that left came there."""
        return self.has_done(d.exact, not d.gone)

    def is_in_turn(self, d: Difference) -> bool:
        """Whether a text came to some pages and left others, at the same place."""
        return all(self._turns.get(d.place, {}).get(d.shape, (0,)))

    def turns_over(self, place: int, share: float, fewest: int) -> bool:
        """Whether a share of the texts that came to a place left it on other pages."""
        if place not in self._turned_at:
            sides = self._turns.get(place, {}).values()
            self._turned_at[place] = sum(sum(counts) for counts in sides if all(counts)), sum(map(sum, sides))
        turned, total = self._turned_at[place]
        return turned >= max(fewest, share * total)


def do_agree(n: float, of: float) -> bool:
    """Whether ``n`` of so many pages are most of them, and enough to say that the site did something."""
    return n >= (FEW if n >= NEARLY_ALL * of else SEVERAL) and n >= MOST * of


def is_turned_over(delta: Delta) -> bool:
    """Whether a page says something else than before."""
    came = sum(not d.gone for d in own_differences(delta))
    return bool(came) and (came >= TURNED * delta.blocks or delta.more)


def news_of(differences: Sequence[Difference]) -> Iterator[tuple[Difference, list[int]]]:
    """The new words of each difference: of a text in which only links changed apart, and none of a new link.

    Links repeat the titles of other pages.
    """
    kept = kept_words(differences)
    for d in differences:
        if d.words in kept:
            yield d, [word if word == REPEATED else ~word for word in d.news]
        else:
            yield d, [] if d.flags & LINK and d.targets else [*d.news]
