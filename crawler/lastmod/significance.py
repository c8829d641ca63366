"""Which differences of a page are edits, and which the site makes by itself: the model of lastmod. Pure.

Search engines ask for the date of the last *significant* change: main text, structured data or links, "not a sidebar,
footer or copyright year" (https://developers.google.com/search/blog/2023/06/sitemaps-lastmod-ping). No markup says
where these are. docs/lastmod-model.md explains the questions that are asked of each difference, in this order:

1. Has it only words that came to most pages at once, or left them? The site changed, not the page.
2. Did the same slot move on most pages that have it? The site changed, not the page. Not so a price or a sentence among
   the page's own: editors raise all prices, and write the same to a whole section.
3. Does the slot move by itself: between two reads of such pages, in most runs on many pages, or in turn with
   other pages? Only a text that the site never showed is an edit there.
4. Does it repeat the title of another page? That page was edited, or is new.
5. Else it is an edit.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Final, NamedTuple

from crawler.lastmod.memory import (
    MAX_ADDITIONS,
    MAX_POOL,
    MAX_SLOTS,
    SecondRead,
    SiteMemory,
    Variation,
    newest,
    update_history,
)
from crawler.lastmod.slots import KINDS, Move, moves_of, own_differences, text_key, text_slots
from crawler.parse.snapshot.diff import (
    BEFORE_ALIKE,
    BEHIND_ALIKE,
    DATED,
    FACT,
    FINGERPRINT,
    FRAME,
    LABELLED,
    LINK,
    MIN_MOVED_TEXT,
    MONEY,
    MOVED,
    NEWS,
    REPEATED,
    Delta,
    Difference,
    nth_key,
    stated_name,
)

# The table of constants. docs/lastmod-model.md tells which trial set each, and what breaks without it.
SAMPLE_SIZE: Final = 40
"""Pages of a site, changed or not, that show how common a text is."""
MOST: Final = 0.6
"""Share of the pages with a slot on which it must move, to be one of the site."""
NEARLY_ALL: Final = 0.9
FEW: Final = 3
SEVERAL: Final = 5
"""Pages that must agree: ``FEW`` are enough if they are nearly all."""
HALF: Final = 0.5
USUAL: Final = 0.15
"""Share of its pages on which a slot moves in most runs, from which on it moves by itself."""
NEARLY_ALWAYS: Final = 0.75
"""Share of the runs in which it must move, where it moves on few pages."""
VARIED: Final = 0.2
"""Share of the pages read twice on which a slot differed, from which on it varies."""
OWN: Final = 0.02
"""Share of the pages up to which a text is one of their own."""
BORN: Final = 1 / 3
"""Share of all pages that gained the same new place, or lost it, from which on the site did so."""
WIDGET: Final = 12
"""Pages that differ at a place, from which on texts that occur once may be those of a widget."""
MIN_ADDED: Final = 3
"""Words that must come to a text, to know them again on other pages: fewer may meet by chance."""
MIN_DRAWN: Final = 20
"""Texts that came to a place and left it elsewhere, to know that it shows those of a pool."""
TURNED: Final = 0.6
"""Share of the texts of a page that are new, from which on the page says something else."""
MAX_KEYS: Final = 500_000
_CAME: Final = 1
_WENT: Final = 2
"""What a text did, as bits. Shifted by :data:`_ALONE`, it did so alone at its place."""
_ALONE: Final = 2

IN_FRAME: Final = "is in a part that most pages share"
LANDSLIDE: Final = "changed with most of the texts of most pages"
NEW_FINGERPRINT: Final = "has a file whose name has a new fingerprint"
SHARED: Final = "is in a place that changed on most pages"
VARIES: Final = "differs between two reads of a page"
VARIES_HERE: Final = "is in a place that differs between two reads of such pages"
COUNTER: Final = "has numbers that change on several pages"
IN_MOST_RUNS: Final = "is in a place that changes in most runs"
OF_OTHERS: Final = "is a text of other pages, such as the title of one"

Sample = Callable[[], Mapping[int, Iterable[int]]]
"""Gives the :func:`crawler.parse.snapshot.diff.content_keys` of some compared pages, by page."""


class Judgement(NamedTuple):
    """The differences of a page that are its own, and the others, each with the reason why it does not count."""

    significant: list[Difference]
    discounted: list[tuple[Difference, str]]


class SignificanceModel:
    """Judges the changes of one run; made by :func:`build_significance_model`."""

    def __init__(self, memory: SiteMemory, run: int, pages: int, sample: Sample) -> None:
        self._memory = memory
        self._run = run
        self._pages = pages
        self._sample = sample
        self._compared = 0
        self._turned = 0
        self._asked: set[int] = set()
        self._counts: Counter[int] | None = None
        self._sampled: dict[int, float] = {}  # how many pages each page of the sample stands for
        self._page = 0  # that is judged
        self._changed: Counter[int] = Counter()
        self._max_changed = MAX_KEYS
        self._emptied: Counter[int] = Counter()
        self._moved: Counter[int] = Counter()  # of the slots alone
        self._numbers: dict[int, set[int]] = {}  # of shapes: the slots of their figures
        self._reads: list[tuple[SecondRead, frozenset[int]]] = []
        self._varied: Counter[int] = Counter()
        self._unsure: set[int] = set()  # texts that one of two reads showed
        self._texts: dict[int, int] = {}  # what the texts of the differences did: _CAME, _WENT and the others
        self._words: Counter[tuple[int, bool]] = Counter()  # pages to which a word came, or which it left
        self._shapes = 0
        self._additions: dict[tuple[int, tuple[int, ...]], None] = {}  # pages, with the words of what was added to them
        self._turned_at: dict[int, tuple[int, int]] = {}
        self._turns: dict[int, dict[int, list[int]]] = {}  # by place and shape: texts that came and that went
        self._at: Counter[int] = Counter()  # pages that differ at a place, and those on which own words are left there
        self._left: Counter[int] = Counter()

    # ---- what is counted

    def set_reads(self, reads: Iterable[SecondRead]) -> None:
        """Learn from all pages that were read twice so far."""
        self._reads, self._varied, self._unsure = [], Counter(), set()
        self.__dict__.pop("_tested", None)
        for read in reads:
            self._add_read(read)

    def _add_read(self, read: SecondRead) -> None:
        differences = own_differences(read.delta)
        moves = moves_of(differences)
        slots = frozenset(k for move in moves for k in move.slots)
        self._reads.append((read, slots))
        self._varied.update(slots)
        pairs = zip(differences, moves, strict=True)
        texts = frozenset(d.exact for d, move in pairs if move.words is None and not d.flags & MOVED)
        self._unsure |= texts
        self._texts.update(dict.fromkeys(texts - self._texts.keys(), 0))

    def add(self, delta: Delta) -> None:
        """Count the differences of a page."""
        self._compared += 1
        self._turned += is_turned_over(delta)
        sides: dict[int, int] = {}
        texts: set[int] = set()
        differences = own_differences(delta)
        shapes = Counter(shape for shape, _ in {(d.shape, d.gone) for d in differences})
        for d, move in zip(differences, moves_of(differences), strict=True):
            if move.words is None and not d.flags & MOVED and shapes[d.shape] == 1:
                self._count_turn(d)
            for k in move.slots:
                sides[k] = sides.get(k, 0) | (1 if d.gone else 2)
            if move.words and any(move.words) and not d.flags & DATED:
                self._numbers.setdefault(d.shape, {d.shape}).update(k for near in move.words for k in near)
            texts.add(d.exact)
            texts.update(k for k, _ in text_slots(d, move))
            self._asked.update((d.exact, d.shape, d.words, d.place, nth_key(d.place, 1), d.after, d.ahead, *d.beside))
        self._asked.update(k ^ kind for k in sides for kind in KINDS)
        for d in differences:
            did = 0 if d.flags & MOVED else _WENT if d.gone else _CAME
            self._texts[d.exact] = self._texts.get(d.exact, 0) | did | (did << _ALONE if d.is_alone else 0)
        self._changed.update(sides.keys() | texts)
        self._words.update({(word, d.gone) for d, words in _news_of(differences) for word in words})
        self._at.update({d.place for d in differences})
        self._emptied.update(k for k, side in sides.items() if side == 1)
        self._moved.update(sides.keys())
        if len(self._changed) > self._max_changed:
            self._changed = Counter({k: n for k, n in self._changed.items() if n > 1})
            self._max_changed = max(MAX_KEYS, 2 * len(self._changed))

    def _count_turn(self, d: Difference) -> None:
        """Count a text that came or went; of more than :data:`MAX_KEYS`, only how many there were on each side."""
        sides, shape = self._turns.setdefault(d.place, {}), d.shape
        if shape not in sides:
            self._shapes += 1
            shape = shape if self._shapes <= MAX_KEYS else int(d.gone)
        sides.setdefault(shape, [0, 0])[d.gone] += 1
        self._turned_at.clear()

    def _are_of_site(self, differences: Sequence[Difference]) -> list[bool]:
        """Which differences have no other words than those of the site.

        These came to most pages at once, or left them; in texts that gained only links, several pages are enough. A
        difference without words, such as a text that is divided anew, is the site's if nothing of the page is left.
        """
        known, own = [], []
        added = _additions(differences)
        for d, words in _news_of(differences):
            is_rolled_out = id(d) in added and self._is_rolled_out(d)
            of_site = {word for word in words if is_rolled_out or self._is_word_of_site(word, d.gone)}
            known.append(is_rolled_out or bool(of_site))
            is_new_link = bool(d.news) and not words and not is_rolled_out
            own.append(bool(set(words) - of_site - {REPEATED} or d.flags & (FACT | MONEY) or is_new_link))
        is_all = any(known) and not any(own)
        return [
            (is_known or is_all) and not is_own and not d.flags & MOVED
            for d, is_known, is_own in zip(differences, known, own, strict=True)
        ]

    def _is_word_of_site(self, word: int, gone: bool) -> bool:
        if word < 0:
            return self._words[word, gone] >= max(SEVERAL, USUAL * self._pages)
        return self._words[word, gone] + self._words[~word, gone] >= max(FEW, MOST * self._pages)

    def count_left(self, deltas: Iterable[tuple[int, Delta]]) -> None:
        """Count what is left of the differences of pages without the words of the site."""
        for page, delta in deltas if max(self._words.values(), default=0) >= FEW else ():
            self._page = page
            differences = own_differences(delta)
            of_site = self._are_of_site(differences)
            self._left.update({d.place for d, is_site in zip(differences, of_site, strict=True) if not is_site})

    @property
    def _held(self) -> Counter[int]:
        """The pages that have each key that was asked for: read when a question needs it."""
        if self._counts is None:
            self._counts = Counter()
            asked = self._asked | {k ^ kind for k in self._memory.history for kind in KINDS}
            sample = self._sample()
            self._sampled = {page: self._pages / len(sample) for page in sample}
            for page, keys in sample.items():
                for k in asked.intersection(keys):
                    self._counts[k] += self._sampled[page]  # type: ignore[assignment]  # fractions of pages
        return self._counts

    @cached_property
    def _tested(self) -> Counter[int]:
        """The pages read twice that have each slot."""
        return Counter(k for read, slots in self._reads for k in {*read.keys(), *slots})

    def _share(self, k: int) -> float:
        """The share of the pages with a slot on which it moved."""
        n = self._changed[k]
        return n / max(n, max(self._held[k ^ kind] for kind in KINDS) + self._emptied[k], 1)

    # ---- what is judged

    def judge(self, page: int, delta: Delta) -> Judgement:
        """The differences that are the page's own, and those that are not, with the reasons."""
        differences, self._page = delta.differences, page
        if self.is_landslide and is_turned_over(delta):
            return Judgement([], [(d, LANDSLIDE) for d in differences])
        of_site = self._are_of_site(differences)
        moves = moves_of(differences)

        # a fingerprint of figures alone looks like a number: then one of the two sides has none
        sides = [{d.shape: d.flags & FINGERPRINT for d in differences if d.gone is side} for side in (True, False)]
        printed = {k for k in sides[0].keys() & sides[1].keys() if sides[0][k] != sides[1][k]}

        @cache
        def news(place: int) -> int:
            pairs = zip(differences, moves, strict=True)
            here = [(other, move) for other, move in pairs if other.place == place and not other.flags & MONEY]
            return sum(self._is_new(other, move) for other, move in here)

        reasons = [
            SHARED if is_site else NEW_FINGERPRINT if d.shape in printed else self._reason(d, move, news)
            for d, move, is_site in zip(differences, moves, of_site, strict=True)
        ]
        if not all(reasons):
            self._explain(differences, moves, reasons)
        own = [d for d, reason in zip(differences, reasons, strict=True) if not reason]
        if len(self._additions) < MAX_ADDITIONS:
            added = _additions(differences)
            self._additions |= dict.fromkeys((page, d.news) for d in own if id(d) in added)
        return Judgement(own, [(d, reason) for d, reason in zip(differences, reasons, strict=True) if reason])

    def _explain(self, differences: Sequence[Difference], moves: Sequence[Move], reasons: list[str]) -> None:
        """Explain differences by each other, and by what other pages show."""
        announced = [n for n, d in enumerate(differences) if not reasons[n] and self._announces(d)]
        boxes = {d.place for d in differences if d.gone and self._changed[text_key(d, d.place)] >= SEVERAL}
        self._explain_lists(differences, moves, reasons)
        self._explain_by_others(differences, moves, reasons)
        self._explain_by_place(differences, reasons)
        self._explain_links(differences, moves, reasons)
        for n in announced:  # the same texts leave a box on all its pages, and another one each list
            reasons[n] = reasons[n] if differences[n].place in boxes else ""

    def _reason(self, d: Difference, move: Move, news: Callable[[int], int]) -> str:
        """Why a difference does not count, or "". Whether it is new is asked last: that needs the sample.

        ``news`` gives the new texts of a place: a place gained no more of them than it has more texts, or it shows
        others by itself.
        """
        if d.flags & FRAME:
            return IN_FRAME
        if d.exact in self._unsure:
            return VARIES
        if self._announces(d):
            return ""
        is_shared = not self._is_left(d) and self._is_of_site(d, move)
        reason = SHARED if is_shared else self._reason_of_slots(d, move)
        if not reason or not self._is_new(d, move):
            return reason
        is_added = 0 < move.more >= news(d.place) and not move.is_born and self._is_added(d, move)
        is_of_pool = not (move.is_born or self._is_in_turn(d)) and self._turns_over(d.place, NEARLY_ALL, MIN_DRAWN)
        return "" if is_added or is_of_pool else reason

    def _is_rolled_out(self, d: Difference) -> bool:
        """Whether the words that came are those that earlier runs took for edits of two other pages.

        A template reaches the pages one by one where a server keeps them until somebody asks for them.
        """
        known = self._known_additions
        # NEARLY_ALL leaves at most each ninth word out, so one of these is common; rare ones lead to few pages
        rarest = sorted(d.news, key=lambda word: len(known.get(word, ())))[: len(d.news) // 9 + 1]
        near = {n for word in rarest for n in known.get(word, ())}
        alike = {page for page, words in map(self._memory.additions.__getitem__, near) if _are_alike(words, d.news)}
        return len(alike - {self._page}) > 1

    @cached_property
    def _known_additions(self) -> dict[int, list[int]]:
        """The numbers of the additions of earlier runs that have each word."""
        found: dict[int, list[int]] = {}
        for n, (_, words) in enumerate(self._memory.additions):
            for word in words:
                found.setdefault(word, []).append(n)
        return found

    def _reason_of_slots(self, d: Difference, move: Move) -> str:
        if any(map(self._varies, move.slots)):
            return VARIES_HERE
        if d.flags & FACT or (d.flags & MONEY and d.is_alone) or (move.words and d.flags & DATED):
            return ""
        if move.words and all(any(map(self._counts_beside, near)) for near in move.words):
            return COUNTER
        if any(self._moves_as_usual(k, d, move) for k in move.slots):
            return IN_MOST_RUNS
        return ""

    def _is_left(self, d: Difference) -> bool:
        """Whether a difference has words that came to few pages, and its place has such on few of those that differ."""
        few, at = max(2, OWN * self._pages), self._at[d.place]
        is_own = any(self._words[word, d.gone] <= few for word in d.news)
        return is_own and 0 < self._left[d.place] <= min(max(2, USUAL * at), HALF * at)

    def _explain_by_others(self, differences: Sequence[Difference], moves: Sequence[Move], reasons: list[str]) -> None:
        """Explain texts that other pages show in turn, or that many pages had: but not a label or a state alone."""
        found = [
            n
            for n, (d, move) in enumerate(zip(differences, moves, strict=True))
            if move.words is None and not d.flags & (FRAME | MOVED | FACT | MONEY)
            if (self._is_in_turn(d) and self._turns_over(d.place, MOST, 2 * FEW)) or self._is_known(d)
        ]
        if any(differences[n].size >= MIN_MOVED_TEXT for n in found):
            for n in found:
                reasons[n] = reasons[n] or OF_OTHERS

    def _explain_lists(self, differences: Sequence[Difference], moves: Sequence[Move], reasons: list[str]) -> None:
        """Explain what comes in place of others among the texts of a list, and is repeated from another page.

        That page has it alone at a place, such as the price of a product, or several lists show it.
        """
        for n, (d, move) in enumerate(zip(differences, moves, strict=True)):
            is_state = not d.figures and d.size < MIN_MOVED_TEXT  # the page's own, such as "sold out"
            did_so_alone = self._texts.get(d.exact, 0) & (_WENT if d.gone else _CAME) << _ALONE
            is_elsewhere = did_so_alone or self._changed[text_key(d)] >= FEW
            if move.is_swap and not move.more and is_elsewhere and not (is_state or d.is_alone):
                reasons[n] = reasons[n] or OF_OTHERS

    def _is_in_turn(self, d: Difference) -> bool:
        """Whether a text came to some pages and left others, at the same place."""
        return all(self._turns.get(d.place, {}).get(d.shape, (0,)))

    def _is_known(self, d: Difference) -> bool:
        """Whether many pages show a text that came, and several had it before."""
        return not d.gone and self._held[d.exact] >= max(BORN * self._pages, FEW + self._changed[d.exact])

    def _turns_over(self, place: int, share: float, fewest: int) -> bool:
        """Whether a share of the texts that came to a place left it on other pages."""
        turned, total = self._turned_over(place)
        return turned >= max(fewest, share * total)

    def _turned_over(self, place: int) -> tuple[int, int]:
        """How many texts came to a place or left it, of those that did both on some pages, and of all."""
        if place not in self._turned_at:
            sides = self._turns.get(place, {}).values()
            self._turned_at[place] = sum(sum(counts) for counts in sides if all(counts)), sum(map(sum, sides))
        return self._turned_at[place]

    def _announces(self, d: Difference) -> bool:
        """Whether a link to a new page came to a list of pages."""
        return bool(d.flags & NEWS) and not d.gone and self._is_in_list(d)

    def _is_in_list(self, d: Difference) -> bool:
        """Whether few pages have a text at its place; several of them, as lists do, unless it is alone there."""
        return self._held[d.place if d.is_alone else nth_key(d.place, 1)] <= HALF * self._pages

    def _is_new(self, d: Difference, move: Move) -> bool:
        """Whether a text came that no other page and no earlier run showed."""
        if d.gone or d.flags & MOVED or move.words is not None or d.exact in self._memory.pool:
            return False
        return self._changed[d.exact] <= 1 and self._held[d.exact] <= self._sampled.get(self._page, 0)

    def _is_own(self, d: Difference, move: Move) -> bool:
        """Whether a text is new, or left and no other page shows it and it did not come in an earlier run."""
        is_left = d.gone and not d.flags & MOVED and move.words is None
        return self._is_new(d, move) or (is_left and not self._is_elsewhere(d))

    def _is_of_site(self, d: Difference, move: Move) -> bool:
        """Whether the slot, or the same text anywhere or beside the same text, moved on most pages that have it."""
        if d.flags & FACT or (d.flags & MONEY and not _agree(self._changed[text_key(d, d.place)], self._pages)):
            return False
        shared = {of for k, of in text_slots(d, move) if self._changed[k] >= FEW and self._agree(self._changed[k], of)}
        if 0 in shared and (move.is_born or d.place in shared):  # on most pages of the site, and here
            return True
        is_shared = bool(shared)
        if move.is_born:
            is_shared = is_shared or any(
                self._changed[k] >= max(FEW, BORN * self._pages) for k, _ in text_slots(d, move)
            )
        if not is_shared and not move.is_born:
            # of the words around numbers, it is not known how many pages have them
            moved = [k for k in move.slots.difference(*move.words or ()) if self._changed[k] >= FEW]
            agreeing = [k for k in moved if _agree(self._changed[k], self._changed[k] / self._share(k))]
            is_shared = bool(agreeing) and not self._is_own_edit(d, move)
        return is_shared and not self._is_among_own(d, move)

    def _is_own_edit(self, d: Difference, move: Move) -> bool:
        """Whether a new text among others of its place has words that came to few other pages."""
        fewest, most = (1, 2) if self._at[d.place] < WIDGET else (FEW, max(1, OWN * self._pages))
        words = sum(self._words[word, False] <= most for word in d.news)
        return move.is_swap and d.among > 1 and not d.flags & LINK and words >= fewest and self._is_new(d, move)

    def _agree(self, n: int, near: int) -> bool:
        return _agree(n, self._held[near] if near else self._pages)

    def _is_among_own(self, d: Difference, move: Move) -> bool:
        """Whether a text only came, or only went, beside a text of the page's own."""
        if move.is_swap or not self._is_added(d, move) or not self._held[d.place] or d.exact in self._memory.pool:
            return False
        most = max(OWN * self._pages, 1)
        sides = ((BEHIND_ALIKE, d.after), (BEFORE_ALIKE, d.ahead))
        return any(d.flags & side and self._held[near] <= most for side, near in sides)

    def _is_added(self, d: Difference, move: Move) -> bool:
        """Whether a place has more texts, or fewer. Links and statements do not count if most pages have them anew."""
        is_text = not (d.flags & LINK or stated_name(d))
        return bool(move.more) and (is_text or max(map(self._changed.__getitem__, move.slots)) < MOST * self._pages)

    def _counts_beside(self, word: int) -> bool:
        """Whether numbers beside a word move on several pages, now or in most runs."""
        history = self._memory.history.get(word)
        return self._changed[word] >= FEW or (history is not None and history.runs > 0 and history.moved_share >= HALF)

    def _varies(self, k: int) -> bool:
        known = self._memory.slots.get(k, Variation())
        varied = known.varied + self._varied[k]
        return varied > 0 and varied >= VARIED * (known.tested + self._tested[k])

    def _moves_as_usual(self, k: int, d: Difference, move: Move) -> bool:
        """Whether a slot moves in most runs and now: on most of its pages, as a whole on several, or to known texts."""
        history = self._memory.history.get(k)
        if history is None or not history.runs or history.moved_share < HALF or history.share < USUAL:
            return False
        is_few = self._changed[k] < FEW and move.words is None
        if is_few and (history.runs < 2 or (history.moved_share < NEARLY_ALWAYS and self._is_own(d, move))):
            return False
        is_refilled = move.is_whole and self._changed[k] >= SEVERAL and history.runs >= 2
        return history.share >= HALF or is_refilled or not self._is_own(d, move)

    def _explain_by_place(self, differences: Sequence[Difference], reasons: list[str]) -> None:
        """Explain what left a place by what came there for it."""
        places: dict[int, list[int]] = {}
        for n, d in enumerate(differences):
            places.setdefault(d.place, []).append(n)
        for here in places.values():
            came = [n for n in here if not differences[n].gone]
            if came and all(reasons[n] for n in came) and len(here) <= 2 * len(came):
                for n in here:
                    reasons[n] = reasons[n] or reasons[came[0]]

    def _explain_links(self, differences: Sequence[Difference], moves: Sequence[Move], reasons: list[str]) -> None:
        """Explain links that name other pages, if more than their targets changed, and what comes or goes with them.

        That is the rest of a card, in the same element or beside it: what another page shows, or showed before.
        """
        lost, came = ({d.words for d in differences if d.gone is side} for side in (True, False))
        kept = lost & came  # texts of which only the target changed
        # such as "Next": the neighbours of a page that is new, or that left
        labels = {d.words for d in differences if d.words in kept and d.flags & NEWS and not self._is_in_list(d)}
        old_targets, new_targets = ({d.targets for d in differences if d.gone is side} for side in (True, False))
        renamed = (old_targets & new_targets) - {()}
        moved_on = {d.place for d in differences if d.flags & NEWS or d.targets in renamed}
        units, gaps = set(), set()
        for n, (d, move) in enumerate(zip(differences, moves, strict=True)):
            is_field = d.flags & LABELLED and d.place not in moved_on  # such as the author
            if d.words in labels or (d.words not in kept and not is_field and self._names_other_page(d, move)):
                reasons[n] = reasons[n] or OF_OTHERS
                units.add(d.unit)
                gaps.add((d.after, d.ahead))
        for n, d in enumerate(differences):
            is_elsewhere = self._is_elsewhere(d)
            is_of_card = d.unit in units and (d.gone or is_elsewhere)
            is_of_list = is_elsewhere and not d.is_alone and self._is_in_list(d)
            is_beside = (d.after, d.ahead) in gaps and (is_of_list or self._came_over(d))
            if not reasons[n] and (is_of_card or is_beside):
                reasons[n] = OF_OTHERS

    def _names_other_page(self, d: Difference, move: Move) -> bool:
        """Whether a link repeats the title of another page, or a whole list of links shows those of other pages."""
        if not d.flags & LINK or not d.targets:
            return False
        is_list = move.is_whole and move.is_swap and d.among >= FEW
        if d.flags & NEWS and not d.gone:
            return not self._announces(d)
        is_title = self._held[d.words] > 0 or bool(self._texts.get(d.words, 0) & (_WENT if d.gone else _CAME))
        return is_title or self._came_over(d) or (is_list and self._is_elsewhere(d))

    def _came_over(self, d: Difference) -> bool:
        """Whether a text that came left another page in this run, or one that left came there."""
        return bool(self._texts.get(d.exact, 0) & (_CAME if d.gone else _WENT))

    def _is_elsewhere(self, d: Difference) -> bool:
        """Whether another page shows a text, or an earlier run saw it come."""
        held = self._held[d.exact]
        return held > (0 if d.gone else self._sampled.get(self._page, 0)) or d.exact in self._memory.pool

    @property
    def is_landslide(self) -> bool:
        """Whether most texts of many pages changed in one run: a new design, another language, an error message."""
        return _agree(self._turned, self._pages / 2)

    # ---- what is learnt

    def learn(self) -> SiteMemory:
        """The memory of the site after this run. A landslide teaches nothing of what usually moves."""
        if not self._compared or self.is_landslide:
            return self._memory
        known = self._memory
        words = {k: shape for shape, keys in self._numbers.items() if self._is_of_template(shape) for k in keys}
        shares = {}
        for k, pages in self._moved.items():
            if pages < 2 and k not in words:
                continue
            share = self._changed[k] / max(self._changed[k], self._held[words[k]]) if k in words else self._share(k)
            if (pages >= FEW or k in words or share >= NEARLY_ALL) and share >= USUAL:
                shares[k] = share
        history = update_history(known.history, shares, self._held if known.history else {}, known.compared)
        slots = {k: v.merged(self._tested[k], self._varied[k]) for k, v in known.slots.items()}
        for k in self._varied.keys() - slots.keys():
            slots[k] = Variation(self._tested[k], self._varied[k])
        slots = {k: v for k, v in slots.items() if v.varied >= VARIED * v.tested}
        pool = newest({**known.pool, **dict.fromkeys(self._texts, self._run)}, MAX_POOL)
        additions = [*known.additions, *self._additions][-MAX_ADDITIONS:]
        return SiteMemory(known.compared + 1, history, dict([*slots.items()][-MAX_SLOTS:]), pool, additions)

    def _is_of_template(self, shape: int) -> bool:
        """Whether the words around figures are those of a template: several pages have them."""
        return self._held[shape] >= max(2, min(FEW, self._pages / 4))


def _news_of(differences: Sequence[Difference]) -> Iterator[tuple[Difference, list[int]]]:
    """The new words of each difference: of a text in which only links changed apart, and none of a new link.

    Links repeat the titles of other pages.
    """
    lost, came = ({d.words for d in differences if d.gone is side} for side in (True, False))
    for d in differences:
        if d.words in lost & came:
            yield d, [word if word == REPEATED else ~word for word in d.news]
        else:
            yield d, [] if d.flags & LINK and d.targets else [*d.news]


def _additions(differences: Sequence[Difference]) -> set[int]:
    """The ``id`` of each text that came to a place which no words left.

    But not of one with figures, which are the page's own, or of one among others of its place, where authors write.
    """
    lost = {d.place for d in differences if d.gone}
    changed = {d.place for d in differences if d.gone and {*d.news} - {REPEATED}}
    return {
        id(d)
        for d in differences
        if not d.gone and not (d.figures and not stated_name(d)) and len(d.news) >= MIN_ADDED and d.place not in changed
        if d.place in lost or not d.flags & (BEHIND_ALIKE | BEFORE_ALIKE)
    }


def _are_alike(words: Sequence[int], others: Sequence[int]) -> bool:
    return len({*words} & {*others}) >= NEARLY_ALL * len({*words, *others})


def is_turned_over(delta: Delta) -> bool:
    """Whether a page says something else than before."""
    came = sum(not d.gone for d in own_differences(delta))
    return bool(came) and (came >= TURNED * delta.blocks or delta.more)


def _agree(n: float, of: float) -> bool:
    return n >= (FEW if n >= NEARLY_ALL * of else SEVERAL) and n >= MOST * of


def build_significance_model(
    memory: SiteMemory,
    deltas: Callable[[], Iterable[tuple[int, Delta]]],
    pages: int,
    sample: Sample,
    second_reads: Iterable[SecondRead] = (),
    *,
    run: int,
) -> SignificanceModel:
    """The model of a run. ``deltas`` gives the differences of the pages whose body differs, of ``pages`` compared."""
    model = SignificanceModel(memory, run, pages, sample)
    model.set_reads(second_reads)
    for _, delta in deltas():
        model.add(delta)
    model.count_left(deltas())
    return model


MAX_READS: Final = 3
"""Times that a page is read again in one run, at most."""
ENOUGH: Final = 5
"""Reads of the pages of a group that stayed, to believe that all its pages stay."""
IN_A_ROUND: Final = 24
"""Pages to choose before what they show is taken into account."""


def choose_second_reads(
    judged: Iterable[tuple[int, Sequence[Difference]]], reads: Mapping[int, int], limit: int
) -> list[int]:
    """The ids of the pages to read again next, at most ``limit``; none when nothing is to be found out any more.

    ``judged`` are pages with their significant differences: only a change that would be reported is worth a second
    read. Pages that changed alike are one group. Of each group a few are read; when they all stayed as they were, the
    others are taken to stay too. So a new price on all products costs as little as a rotation that one read reveals.
    In a small group the same pages are read again: of two texts in turn, each second read shows the same one.
    ``reads`` are the pages that this run read again, or tried to, and how often.
    """
    groups: dict[frozenset[int], list[int]] = {}
    for page, differences in judged:
        if differences:
            groups.setdefault(frozenset(d.place for d in differences), []).append(page)
    queues = []
    for pages in groups.values():
        again = sorted((page for page in pages if reads.get(page, 0) < MAX_READS), key=lambda page: reads.get(page, 0))
        stayed = sum(reads.get(page, 0) for page in pages)
        queues.append(again[: max(0, ENOUGH - stayed)])
    queues.sort(key=len)
    chosen = [queue[n] for n in range(ENOUGH) for queue in queues if n < len(queue)]
    return chosen[: min(limit, IN_A_ROUND)]
