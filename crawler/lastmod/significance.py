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
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cache, cached_property
from math import inf
from types import MappingProxyType
from typing import Final, NamedTuple

from crawler.lastmod.changes import (
    FEW,
    MOST,
    NEARLY_ALL,
    SEVERAL,
    USUAL,
    Deltas,
    Sample,
    SiteChanges,
    do_agree,
    is_turned_over,
    news_of,
)
from crawler.lastmod.memory import MAX_ADDITIONS, MAX_POOL, SecondRead, SiteMemory, newest, update_history
from crawler.lastmod.slots import Move, additions_of, kept_words, moves_of, own_differences, text_key, text_slots
from crawler.lastmod.variation import VariedSlots
from crawler.parse.snapshot.diff import (
    BEFORE_ALIKE,
    BEHIND_ALIKE,
    DATED,
    FACT,
    FINGERPRINT,
    FRAME,
    HEADING,
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

# More of the table of constants that begins in changes.py.
HALF: Final = 0.5
NEARLY_ALWAYS: Final = 0.75
"""Share of the runs in which a slot must move by itself, where it moves on few pages."""
OWN: Final = 0.02
"""Share of the pages up to which a text is one of their own."""
BORN: Final = 1 / 3
"""Share of all pages that gained the same new place, or lost it, from which on the site did so."""
WIDGET: Final = 12
"""Pages that differ at a place, from which on texts that occur once may be those of a widget."""
MIN_DRAWN: Final = 20
"""Texts that came to a place and left it elsewhere, to know that it shows those of a pool."""

IN_FRAME: Final = "is in a part that most pages share"
LANDSLIDE: Final = "changed with most of the texts of most pages"
NEW_FINGERPRINT: Final = "has a file whose name has a new fingerprint"
SHARED: Final = "is in a place that changed on most pages"
VARIES: Final = "differs between two reads of a page"
VARIES_HERE: Final = "is in a place that differs between two reads of such pages"
COUNTER: Final = "has numbers that change on several pages"
IN_MOST_RUNS: Final = "is in a place that changes in most runs"
OF_HEADING: Final = "repeats a heading of the page"
OF_OTHERS: Final = "is a text of other pages, such as the title of one"


class Judgement(NamedTuple):
    """The differences of a page that are its own, and the others, each with the reason why it does not count."""

    significant: list[Difference]
    discounted: list[tuple[Difference, str]]


class SignificanceModel:
    """Judges the changes of one run; made by :func:`build_significance_model`."""

    def __init__(self, memory: SiteMemory, run: int, changes: SiteChanges) -> None:
        self._memory = memory
        self._run = run
        self._site = changes
        self._pages = changes.pages
        self._reads = VariedSlots(memory.slots)
        self._page = 0  # that is judged
        self._additions: dict[tuple[int, tuple[int, ...]], None] = {}  # pages, with the words of what was added to them
        self._few_numbers: dict[int, bool] = {}
        self._left: Counter[int] = Counter()  # pages on which own words are left at a place

    def set_reads(self, reads: Iterable[SecondRead]) -> None:
        """Learn from all pages that were read twice so far."""
        self._reads = VariedSlots(self._memory.slots, reads)
        self._few_numbers = {}

    def _are_of_site(self, differences: Sequence[Difference], *, or_titles: bool = True) -> list[bool]:
        """Which differences have only words of the site. With ``or_titles``, they may have words of titles beside them.

        Words of the site came to most pages at once, or left them; in texts that gained only links, to several pages. A
        difference without words, such as a text that is divided anew, is the site's if nothing of the page is left.
        """
        known, own = [], []
        added = additions_of(differences)
        for d, words in news_of(differences):
            is_rolled_out = id(d) in added and self._is_rolled_out(d)
            of_site = {word for word in words if is_rolled_out or self._site.is_word_of_site(word, d.gone)}
            known.append(is_rolled_out or bool(of_site))
            is_new_link = bool(d.news) and not words and not is_rolled_out
            not_own = {REPEATED, *d.named} if or_titles and of_site else {REPEATED}
            is_own = bool(set(words) - of_site - not_own or d.flags & (FACT | MONEY) or is_new_link)
            own.append(is_own and not d.flags & HEADING)
        is_all = any(known) and not any(own)
        return [
            (is_known or is_all) and not is_own and not d.flags & MOVED
            for d, is_known, is_own in zip(differences, known, own, strict=True)
        ]

    def count_left(self, deltas: Iterable[tuple[int, Delta]]) -> None:
        """Count what is left of the differences of pages without the words of the site."""
        for page, delta in deltas if max(self._site.words.values(), default=0) >= FEW else ():
            self._page = page
            differences = own_differences(delta)
            of_site = self._are_of_site(differences, or_titles=False)
            left = {d.place for d, is_site in zip(differences, of_site, strict=True) if not is_site}
            self._left.update(left)

    @property
    def is_landslide(self) -> bool:
        """Whether most texts of many pages changed in one run."""
        return self._site.is_landslide

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
        def news(place: int) -> float:
            pairs = zip(differences, moves, strict=True)
            here = [(other, move) for other, move in pairs if other.place == place and not other.flags & MONEY]
            is_left = any(other.gone and move.is_whole and move.words is None for other, move in here)
            if is_left and not self._is_few_at(self._site.resized[place], place):
                return inf
            return sum(self._is_new(other, move) for other, move in here)

        counters = {d.place for d, move in zip(differences, moves, strict=True) if self._explains_numbers(d, move)}
        reasons = [
            SHARED if is_site else NEW_FINGERPRINT if d.shape in printed else self._reason(d, move, news, counters)
            for d, move, is_site in zip(differences, moves, of_site, strict=True)
        ]
        if not all(reasons):
            self._explain(differences, moves, reasons)
        own = [d for d, reason in zip(differences, reasons, strict=True) if not reason]
        if page in self._site.differing and len(self._additions) < MAX_ADDITIONS:  # else it is a copy of another
            added = additions_of(differences)
            self._additions |= dict.fromkeys((self._site.page_of(page), d.news) for d in own if id(d) in added)
        return Judgement(own, [(d, reason) for d, reason in zip(differences, reasons, strict=True) if reason])

    def _explain(self, differences: Sequence[Difference], moves: Sequence[Move], reasons: list[str]) -> None:
        """Explain differences by each other, and by what other pages show."""
        announced = [n for n, d in enumerate(differences) if not reasons[n] and self._announces(d)]
        boxes = {d.place for d in differences if d.gone and self._site.apart(text_key(d, d.place)) >= SEVERAL}
        self._explain_lists(differences, moves, reasons)
        self._explain_by_others(differences, moves, reasons)
        self._explain_by_place(differences, reasons)
        self._explain_links(differences, moves, reasons)
        for n in announced:  # the same texts leave a box on all its pages, and another one each list
            reasons[n] = reasons[n] if differences[n].place in boxes else ""

    def _reason(self, d: Difference, move: Move, news: Callable[[int], float], counters: Container[int]) -> str:
        """Why a difference does not count, or "". Whether it is new is asked last: that needs the sample.

        ``news`` gives the new texts of a place: a place gained no more of them than it has more texts, or it shows
        others by itself, as it does if most of its texts left, and it has more or fewer of them on several pages.
        ``counters`` are the places where a known counter explains that numbers moved on this page.
        """
        if d.flags & FRAME:
            return IN_FRAME
        if d.flags & HEADING:
            return OF_HEADING
        if d.exact in self._reads.unsure:
            return VARIES
        if self._announces(d):
            return ""
        is_text = move.words is None and not d.flags & (FACT | MONEY)
        is_drawn = is_text and self._shows_pool(d.place)
        is_shared = is_drawn or (not self._is_left(d) and self._is_of_site(d, move))
        reason = SHARED if is_shared else self._reason_of_slots(d, move, counters)
        if not reason or not self._is_new(d, move):
            return reason
        is_added = 0 < move.more >= news(d.place) and not move.is_born and self._is_added(d, move)
        is_of_pool = not (move.is_born or self._site.is_in_turn(d)) and self._site.turns_over(
            d.place, NEARLY_ALL, MIN_DRAWN
        )
        return "" if is_added or is_of_pool else reason

    def _shows_pool(self, place: int) -> bool:
        """Whether most pages that have a place show other texts of a pool there, of which not all were seen."""
        if not self._site.turns_over(place, USUAL, 2 * FEW):
            return False  # the sample is read last
        return do_agree(self._site.refilled[place], max(self._site.at[place], self._site.held[place]))

    def _is_rolled_out(self, d: Difference) -> bool:
        """Whether the words that came are those that earlier runs took for edits of two other pages.

        A template reaches the pages one by one where a server keeps them until somebody asks for them.
        """
        known = self._known_additions
        # NEARLY_ALL leaves at most each ninth word out, so one of these is common; rare ones lead to few pages
        rarest = sorted(d.news, key=lambda word: len(known.get(word, ())))[: len(d.news) // 9 + 1]
        near = {n for word in rarest for n in known.get(word, ())}
        alike = {page for page, words in map(self._memory.additions.__getitem__, near) if _are_alike(words, d.news)}
        return len(alike - {self._site.page_of(self._page)}) > 1

    @cached_property
    def _known_additions(self) -> dict[int, list[int]]:
        """The numbers of the additions of earlier runs that have each word."""
        found: dict[int, list[int]] = {}
        for n, (_, words) in enumerate(self._memory.additions):
            for word in words:
                found.setdefault(word, []).append(n)
        return found

    def _reason_of_slots(self, d: Difference, move: Move, counters: Container[int]) -> str:
        is_counter = self._is_counter(move)
        if d.place in counters and move.words and all(move.words) and not is_counter:
            return ""  # the counter explains why numbers of this place move; this one has words of its own
        slots = move.slots | move.wider
        if any(map(self._reads.varies, slots)):
            return VARIES_HERE
        is_date = d.flags & DATED and move.words and not any(move.words)
        if d.flags & FACT or (d.flags & MONEY and d.is_alone) or is_date:
            return ""
        if is_counter:
            return COUNTER
        if any(self._moves_as_usual(k, d, move) for k in slots):
            return IN_MOST_RUNS
        return ""

    def _is_left(self, d: Difference) -> bool:
        """Whether a difference has words that came to few pages, and its place has such on few of those that differ."""
        few, at = max(2, OWN * self._pages), self._site.at[d.place]
        is_own = any(self._site.words_apart(word, d.gone) <= few for word in d.news if word not in d.named)
        return is_own and not self._site.is_on_most(d) and 0 < self._left[d.place] <= min(max(2, USUAL * at), HALF * at)

    def _explain_by_others(self, differences: Sequence[Difference], moves: Sequence[Move], reasons: list[str]) -> None:
        """Explain texts that other pages show in turn, or that many pages had: but not a label or a state alone."""
        found = [
            n
            for n, (d, move) in enumerate(zip(differences, moves, strict=True))
            if move.words is None and not d.flags & (FRAME | MOVED | FACT | MONEY)
            if (self._site.is_in_turn(d) and self._site.turns_over(d.place, MOST, 2 * FEW)) or self._is_known(d)
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
            did_so_alone = self._site.has_done(d.exact, d.gone, alone=True)
            in_lists = self._site.apart(text_key(d, d.place)) > 1 and self._site.apart(text_key(d)) >= FEW
            if move.is_swap and not move.more and (did_so_alone or in_lists) and not (is_state or d.is_alone):
                reasons[n] = reasons[n] or OF_OTHERS

    def _is_known(self, d: Difference) -> bool:
        """Whether many pages show a text that came, and several had it before."""
        return not d.gone and self._site.held[d.exact] >= BORN * self._pages and self._site.kept[d.exact] >= FEW

    def _announces(self, d: Difference) -> bool:
        """Whether a link to a new page came to a list of pages."""
        return bool(d.flags & NEWS) and not d.gone and self._is_in_list(d)

    def _is_in_list(self, d: Difference) -> bool:
        """Whether few pages have a text at its place; several of them, as lists do, unless it is alone there."""
        return self._site.held[d.place if d.is_alone else nth_key(d.place, 1)] <= HALF * self._pages

    def _is_new(self, d: Difference, move: Move) -> bool:
        """Whether a text came that no other page and no earlier run showed."""
        if d.gone or d.flags & MOVED or move.words is not None or d.exact in self._memory.pool:
            return False
        return self._site.apart(d.exact) <= 1 and not self._site.is_held_by_others(d.exact, self._page)

    def _is_own(self, d: Difference, move: Move) -> bool:
        """Whether a text is new, or left and no other page shows it and it did not come in an earlier run."""
        is_left = d.gone and not d.flags & MOVED and move.words is None
        return self._is_new(d, move) or (is_left and not self._is_elsewhere(d))

    def _is_of_site(self, d: Difference, move: Move) -> bool:
        """Whether the slot, or the same text anywhere or beside the same text, moved on most pages that have it."""
        if d.flags & FACT:
            return d.gone and move.is_born and any(map(self._left_with_template, move.slots))
        if d.flags & MONEY and not do_agree(self._site.changed[text_key(d, d.place)], self._pages):
            return False
        site = self._site
        shared = site.shared_texts(d, move)
        if 0 in shared and (move.is_born or d.place in shared):  # on most pages of the site, and here
            return True
        is_shared = bool(shared)
        if move.is_born:
            born = max(FEW, BORN * self._pages)
            is_shared = is_shared or any(site.changed[k] >= born for k, _ in text_slots(d, move))
            if not is_shared and stated_name(d):  # of a plug-in, beside other data that some pages have
                is_shared = max(map(site.changed.__getitem__, move.slots)) >= born
                is_shared = is_shared or (d.gone and any(map(self._left_with_template, move.slots)))
        if not is_shared and not move.is_born:
            # of the words around numbers, it is not known how many pages have them
            moved = [k for k in move.slots.difference(*move.words or ()) if site.apart(k) >= FEW]
            is_shared = any(do_agree(site.changed[k], site.changed[k] / site.share(k)) for k in moved)
            is_shared = is_shared and not self._is_own_edit(d, move)
        return is_shared and not self._is_among_own(d, move)

    def _left_with_template(self, k: int) -> bool:
        """Whether a slot left all pages that had it, as many as those of a template: a statement of a plug-in."""
        changed = self._site.changed[k]
        return changed >= max(SEVERAL, USUAL * self._pages) and self._site.share(k) >= NEARLY_ALL

    def _is_own_edit(self, d: Difference, move: Move) -> bool:
        """Whether a new text among others of its place has words that came to few other pages."""
        fewest, most = (1, 2) if self._site.at[d.place] < WIDGET else (FEW, max(1, OWN * self._pages))
        words = sum(self._site.words_apart(word, False) <= most for word in d.news)
        return move.is_swap and d.among > 1 and not d.flags & LINK and words >= fewest and self._is_new(d, move)

    def _is_among_own(self, d: Difference, move: Move) -> bool:
        """Whether a text only came, or only went, beside a text of the page's own."""
        if move.is_swap or not self._is_added(d, move) or not self._site.held[d.place] or d.exact in self._memory.pool:
            return False
        most = max(OWN * self._pages, 1)
        sides = ((BEHIND_ALIKE, d.after), (BEFORE_ALIKE, d.ahead))
        return any(d.flags & side and self._site.held[near] <= most for side, near in sides)

    def _is_added(self, d: Difference, move: Move) -> bool:
        """Whether a place has more texts, or fewer. Links and statements do not count if most pages have them anew."""
        is_text = not (d.flags & LINK or stated_name(d))
        return bool(move.more) and (
            is_text or max(map(self._site.changed.__getitem__, move.slots)) < MOST * self._pages
        )

    def _is_counter(self, move: Move) -> bool:
        """Whether all numbers of a text that moved are beside words where numbers move by themselves."""
        words = move.words or ()
        return bool(words) and all(any(map(self._counts_beside, near)) for near in words)

    def _explains_numbers(self, d: Difference, move: Move) -> bool:
        """Whether a counter explains why numbers of its place move.

        It does if it moved between two reads, beside words of few pages, or if few other numbers move there.
        """
        words = {word for near in move.words or () for word in near}
        is_of_few = any(self._reads.varies(word) and self._site.apart(word) < FEW for word in words)
        return self._is_counter(move) and (is_of_few or self._are_few_numbers(d.place))

    def _are_few_numbers(self, place: int) -> bool:
        """Whether numbers that are no counters moved on few of the pages that differ at a place."""
        if place not in self._few_numbers:
            own = sum(not any(map(self._counts_beside, slots)) for slots in self._site.numbers_at(place))
            self._few_numbers[place] = self._is_few_at(own, place)
        return self._few_numbers[place]

    def _is_few_at(self, pages: int, place: int) -> bool:
        return pages <= max(2, USUAL * self._site.at[place])

    def _counts_beside(self, word: int) -> bool:
        """Whether numbers beside a word move on several pages, now or in most runs, or between two reads."""
        history = self._memory.history.get(word)
        is_usual = history is not None and history.runs > 0 and history.moved_share >= HALF
        return is_usual or self._site.apart(word) >= FEW or self._reads.varies(word)

    def _moves_as_usual(self, k: int, d: Difference, move: Move) -> bool:
        """Whether a slot moves in most runs and now: on most of its pages, as a whole on several, or to known texts."""
        history = self._memory.history.get(k)
        if history is None or not history.runs or history.moved_share < HALF or history.share < USUAL:
            return False
        is_few = self._site.apart(k) < FEW and move.words is None
        if is_few and (history.runs < 2 or (history.moved_share < NEARLY_ALWAYS and self._is_own(d, move))):
            return False
        is_place_of_few = self._site.at[d.place] < FEW and history.share * self._site.having(k) < FEW
        if is_few and is_place_of_few and history.share < HALF:
            return False  # an editor moves a large share of the pages of a small site
        is_refilled = move.is_whole and self._site.apart(k) >= SEVERAL and history.runs >= 2
        return history.share >= HALF or is_refilled or not self._is_own(d, move)

    def _explain_by_place(self, differences: Sequence[Difference], reasons: list[str]) -> None:
        """Explain what left a place by what came there for it, but not what its author took away."""
        places: dict[int, list[int]] = {}
        for n, d in enumerate(differences):
            places.setdefault(d.place, []).append(n)
        for here in places.values():
            came = [n for n in here if not differences[n].gone]
            if came and all(reasons[n] for n in came) and len(here) <= 2 * len(came):
                for n in here:
                    reasons[n] = reasons[n] or ("" if self._is_taken_away(differences[n]) else reasons[came[0]])

    def _is_taken_away(self, d: Difference) -> bool:
        """Whether few pages lost such a text at a place, and no other has it. A template loses words on most pages."""
        is_of_template = any(self._site.is_word_of_site(word, d.gone) for word in d.news)
        return not is_of_template and self._is_left(d) and not self._is_elsewhere(d)

    def _explain_links(self, differences: Sequence[Difference], moves: Sequence[Move], reasons: list[str]) -> None:
        """Explain links that name other pages, if more than their targets changed, and what comes or goes with them.

        That is the rest of a card, in the same element or beside it: what another page shows, or showed before.
        """
        named = self._links_of_others(differences, moves)
        units = {d.unit for d in named}
        gaps = {(d.after, d.ahead) for d in named}
        of_others = {*map(id, named)}
        for n, d in enumerate(differences):
            is_elsewhere = self._is_elsewhere(d)
            is_of_card = d.unit in units and (d.gone or is_elsewhere)
            is_of_list = is_elsewhere and not d.is_alone and self._is_in_list(d)
            is_beside = (d.after, d.ahead) in gaps and (is_of_list or self._site.came_over(d))
            if not reasons[n] and (id(d) in of_others or is_of_card or is_beside):
                reasons[n] = OF_OTHERS

    def _links_of_others(self, differences: Sequence[Difference], moves: Sequence[Move]) -> list[Difference]:
        """The links that name other pages. A label beside a link is one, if the page that it leads to is new."""
        kept = kept_words(differences)
        # such as "Next": the neighbours of a page that is new, or that left
        labels = {d.words for d in differences if d.words in kept and d.flags & NEWS and not self._is_in_list(d)}
        old_targets, new_targets = ({d.targets for d in differences if d.gone is side} for side in (True, False))
        renamed = (old_targets & new_targets) - {()}
        moved_on = {d.place for d in differences if d.flags & NEWS or d.targets in renamed}

        def is_field(d: Difference) -> bool:  # such as the author
            return bool(d.flags & LABELLED) and d.place not in moved_on

        return [
            d
            for d, move in zip(differences, moves, strict=True)
            if d.words in labels or (d.words not in kept and not is_field(d) and self._names_other_page(d, move))
        ]

    def _names_other_page(self, d: Difference, move: Move) -> bool:
        """Whether a link repeats the title of another page, or a whole list of links shows those of other pages."""
        if not d.flags & LINK or not d.targets:
            return False
        is_list = move.is_whole and move.is_swap and d.among >= FEW
        if d.flags & NEWS and not d.gone:
            return not self._announces(d)
        is_title = self._site.held[d.words] > 0 or self._site.has_done(d.words, d.gone)
        return is_title or self._site.came_over(d) or (is_list and self._is_elsewhere(d))

    def _is_elsewhere(self, d: Difference) -> bool:
        """Whether another page shows a text, or an earlier run saw it come."""
        is_held = self._site.held[d.exact] > 0 if d.gone else self._site.is_held_by_others(d.exact, self._page)
        return is_held or d.exact in self._memory.pool

    # ---- what is learnt

    def learn(self) -> SiteMemory:
        """The memory of the site after this run. A landslide teaches nothing of what usually moves."""
        site, known = self._site, self._memory
        if not site.differing or site.is_landslide:
            return known
        held = site.held if known.history else {}
        history = update_history(known.history, site.slots_to_learn(), held, known.compared)
        seen = (*site.texts, *self._reads.unsure)
        pool = newest({**known.pool, **dict.fromkeys(seen, self._run)}, MAX_POOL)
        additions = [*known.additions, *self._additions][-MAX_ADDITIONS:]
        return SiteMemory(known.compared + 1, history, self._reads.learn(), pool, additions)


def _are_alike(words: Sequence[int], others: Sequence[int]) -> bool:
    return len({*words} & {*others}) >= NEARLY_ALL * len({*words, *others})


def build_significance_model(  # noqa: PLR0913 - what is known of a run
    memory: SiteMemory,
    deltas: Deltas,
    pages: int,
    sample: Sample,
    second_reads: Iterable[SecondRead] = (),
    *,
    run: int,
    translated: Mapping[int, int] = MappingProxyType({}),
) -> SignificanceModel:
    """The model of a run. ``deltas`` gives the differences of the pages whose body differs, of ``pages`` compared.

    The translations of a page count as one: ``translated`` has the page that stands for each of them.
    """
    changes = SiteChanges(pages, sample, memory.history, deltas, translated)
    for page, delta in deltas():
        changes.add(page, delta)
    model = SignificanceModel(memory, run, changes)
    model.set_reads(second_reads)
    model.count_left(deltas())
    return model
