"""What changed on a site from one run to the next, counted over its pages: texts, slots and figures. Pure.

It answers whether a text or a slot changed as those of the site do, in this run or in most runs.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

from msgspec.structs import replace

from crawler.lastmod.experiment import ORDER, MovedFigure, moved_figures, restamped_shapes, slots_of
from crawler.lastmod.memory import (
    MAX_MOVES,
    MIN_MOVED_RUNS,
    MIN_SHARE,
    ChangeHistory,
    SiteMemory,
    Variation,
    update_history,
)
from crawler.parse.snapshot.diff import DATED, FACT, FRAME, LINK, MOVED, Delta, Difference

T = TypeVar("T")

MIN_AGREEING_PAGES: Final = 5
"""Pages that must agree before a change counts as one of the site."""
MIN_CHANGED_SHARE: Final = 0.6
"""Share of the pages with a text that changed it in this run, from which on the change is one of the site."""
MIN_RESTAMPED_SHARE: Final = 0.5
"""The same share for figures that changed inside the same words."""
MIN_PAGES_SMALL_SITE: Final = 3
"""Pages that are enough when nearly all pages of a small site lost or gained the same text."""
NEARLY_ALL_SHARE: Final = 0.9
MIN_TURNOVER_SHARE: Final = 0.4
"""Share of the blocks at a place that must be replaced to call the place turned over."""
MAX_LIST: Final = 10
"""Texts of a short list: one that moves is a new order. Among more of them, an editor moves a paragraph."""
MIN_WIDGET_PAGES: Final = 12
"""Pages on which a place turned over, from which on it is a widget even if no text of it occurs twice."""
MAX_SHORT_LENGTH: Final = 200
"""Characters on average, from which on a text is the page's own."""
MIN_POOL_TEXTS: Final = 3
"""Texts that move from page to page at one place, from which on the place shows texts of a pool."""
MIN_POOL_SIZE: Final = 4
MIN_POOL_TEXT: Final = 10
"""Different texts, and characters of a text, from which on they may be a pool: not the states of a thing."""
MIN_REPEATED_SHARE: Final = 0.6
"""Share of the texts of a place that other pages show too, from which on they are a pool."""
MIN_FIGURED_PAGES: Final = 2
"""Pages with the same words around figures, from which on these may be a counter."""
MIN_COUNTED_PAGES: Final = 3
"""Pages on which figures inside the same words moved by little, from which on they count something."""
MIN_FACT_RUNS: Final = 3
"""Runs in which a price moved on most pages, before it moves by itself."""
MIN_OF_USUAL: Final = 0.2
"""Share of the usual number of pages on which a slot must move, to move as usual."""
MIN_MOVED_PAGES: Final = 2
MIN_RUNS_OF_FEW: Final = 2
MIN_MOVED_RUNS_OF_FEW: Final = 0.75
"""Runs in which a slot moved on one page, or on some of its pages, and their share, before it moves by itself.

An editor returns to the same page now and then, too, but seldom between all runs.
"""
MAX_ALONE: Final = 2
"""Pages with a slot up to which it may move on one of them."""
MIN_AGAIN_PAGES: Final = 3
MIN_AGAIN_SHARE: Final = 0.5
"""Share of the pages on which a slot moved in the last runs and moves again, from which on it moves by itself there."""
MIN_USUAL_PLACE_SHARE: Final = 0.5
FIGURES: Final = 0x3C3C_3C3C_3C3C_3C3C  # keeps the key of the figures in a slot apart from that of its texts
_POOLED: Final = 0x2727_2727_2727_2727  # keeps the key of the texts of a pool in a slot apart from that of all texts
_TEXT: Final = 0x5353_5353_5353_5353  # keeps the key of a text apart from those of slots
_MAX_KEYS: Final = 500_000  # keys of one kind in memory
_KINDS: Final = (0, FIGURES, ORDER, _TEXT, _POOLED)
_TEXTS: Final = 200  # of one place in memory


class _BoundedCounter(Counter[T]):
    """Counts keys; forgets those that occurred once when there are too many. Takes linear time in all."""

    most = _MAX_KEYS

    def bound(self) -> None:
        """Forget keys, if there are too many. To be called after each page."""
        if len(self) > self.most:
            for k in [k for k, n in self.items() if n <= 1]:
                del self[k]
            self.most = max(_MAX_KEYS, 2 * len(self))


class _PlaceCounts:
    """Changes at one place or spot that its texts do not explain. All counts are of pages."""

    __slots__ = ("filled", "links", "pool", "restamped", "short", "texts", "tiny", "turned", "wandered")

    def __init__(self) -> None:
        self.restamped = 0  # figures changed inside words that only the page has
        self.wandered = 0  # lost or gained a text that moves between pages
        self.turned = 0  # most of the place was replaced
        self.links = 0  # of those that turned: by links
        self.short = 0  # of those that turned: by short texts
        self.filled = 0  # of those that turned: where nothing stayed, and no figure is shown
        self.tiny = 0  # of those that turned: by labels and figures only
        self.pool: set[int] = set()  # exact keys of moving texts, a sample
        self.texts: list[int] = []  # exact keys of replaced texts, a sample


class SiteChanges:
    """The changes of one run. ``held`` counts the pages that have a key, and ``pages`` those that were compared."""

    def __init__(self, memory: SiteMemory, run: int) -> None:
        self._memory = memory
        self._history = memory.history
        self._run = run
        self._compared = 0
        self._weight = 0.0
        self._held: Counter[int] = Counter()
        self._gone = _BoundedCounter[int]()  # exact and shape keys, by pages that lost them
        self._came = _BoundedCounter[int]()
        self._restamped: Counter[int] = Counter()  # shapes whose figures changed
        self._small_steps: Counter[int] = Counter()  # of those, the ones whose figures moved by little
        self._figures: Counter[int] = Counter()  # words before or after numbers that moved
        self._beside = _BoundedCounter[tuple[bool, int, int]]()  # place or neighbour, and exact or shape key
        self._left = _BoundedCounter[int]()  # exact keys that pages lost, and that no change of the site explains
        self._places: dict[int, _PlaceCounts] = {}
        self._moved: dict[int, set[int]] = {}  # by slot: pages where texts were exchanged
        self._born: Counter[int] = Counter()  # places that came as a whole
        self._positions: dict[int, set[int]] = {}  # by place: pages where a text was exchanged at some position
        self._again: dict[int, set[int]] = {}  # of these, the ones where one was exchanged there in the last run, too
        self._explained: set[int] = set()  # slots that moved, which needs no history
        # The keys that questions are about: those of the differences, and of what moved in earlier runs. When they are
        # too many (``is_wide``), all keys of the sample are counted.
        self._asked = {k ^ kind for k in memory.history for kind in _KINDS}
        self._is_wide = False

    def add(self, delta: Delta) -> None:
        """First pass: count the differences of a page."""
        self._compared += 1
        differences = [d for d in delta.differences if not d.flags & FRAME]
        self._gone.update({k for d in differences if d.gone for k in (d.exact, d.shape)})
        self._came.update({k for d in differences if not d.gone for k in (d.exact, d.shape)})
        stamped = restamped_shapes(differences)
        self._restamped.update(stamped)
        moved = moved_figures(differences, stamped)
        self._small_steps.update(k for k, figures in moved.items() if figures and all(f.is_small for f in figures))
        self._figures.update({word for figures in moved.values() for figure in figures for word in figure.words})
        self._beside.update({near for d in differences for near in _neighbourhood(d)})
        for d in differences:
            self._asked.update((d.exact, d.shape, d.after, d.ahead, d.place, d.spot, d.nth, d.nth_last, d.box))
        for counted in (self._gone, self._came, self._beside):
            counted.bound()
        self._is_wide = self._is_wide or len(self._asked) > _MAX_KEYS
        if self._is_wide:
            self._asked.clear()

    def add_sample(self, keys: Iterable[int], weight: float) -> None:
        """Between the passes: count the keys of a sampled page, which stands for ``weight`` pages."""
        self._weight += weight
        for k in keys if self._is_wide else self._asked.intersection(keys):
            self._held[k] += weight  # type: ignore[assignment]  # fractions of pages

    def add_slots(self, page: int, left: list[Difference], stamped: set[int]) -> None:
        """Second pass: count the slots of the differences of a page that nothing explains."""
        here: dict[int, list[Difference]] = {}
        for d in left:
            if not d.flags & MOVED:
                here.setdefault(d.place, []).append(d)
        self._left.update({d.exact for d in left if d.gone})
        self._left.bound()
        moved = Counter(d.gone for differences in here.values() if is_whole(differences) for d in differences)
        for place, differences in list(here.items()):
            if is_whole(differences) and not differences[0].gone:
                self._born.update({place, *(k for d in differences for k in slots_of(d))})
            for d in differences:
                for k in {d.spot, d.box} - {place}:
                    here.setdefault(k, []).append(d)
        for k, differences in here.items():
            self._weigh_place(self._places.setdefault(k, _PlaceCounts()), differences, stamped, moved)
        self._add_moves(page, left, stamped)

    def _add_moves(self, page: int, left: list[Difference], stamped: set[int]) -> None:
        """Count the slots of a page in which texts or figures were exchanged."""
        exchanged = _exchanged_slots([d for d in left if d.shape not in stamped or d.flags & LINK])
        for k in exchanged:
            self._moved.setdefault(k, set()).add(page)
        for d in left:
            if d.nth in exchanged or d.nth_last in exchanged:
                self._positions.setdefault(d.place, set()).add(page)
                if any(k in exchanged and self._moved_before(page, k) for k in (d.nth, d.nth_last)):
                    self._again.setdefault(d.place, set()).add(page)
        for k in {k ^ FIGURES for d in left if d.shape in stamped for k in slots_of(d)}:
            self._moved.setdefault(k, set()).add(page)

    def add_explained(self, differences: Iterable[Difference]) -> None:
        """Second pass: note that the slots of these differences moved, though nothing is to be learnt from it."""
        slots = {k for d in differences for k in slots_of(d)}
        self._explained |= slots | {k ^ FIGURES for k in slots}

    def _weigh_place(
        self, place: _PlaceCounts, here: list[Difference], stamped: set[int], moved: Mapping[bool, int]
    ) -> None:
        place.restamped += any(d.shape in stamped for d in here)
        wanderers = {d.exact for d in here if self._is_wandering(d)}
        place.wandered += bool(wanderers)
        if len(place.pool) < MIN_POOL_TEXTS:
            place.pool |= wanderers
        gone = sum(d.gone for d in here)
        came = len(here) - gone
        if is_whole(here):  # in a new design the place has another name, and all of it seems new
            gone, came = gone or moved[True], came or moved[False]
        if min(gone, came) >= MIN_TURNOVER_SHARE * max(d.among for d in here):
            place.turned += 1
            place.links += sum(bool(d.flags & LINK) for d in here) * 2 > len(here)
            place.short += sum(len(d.text) for d in here) < MAX_SHORT_LENGTH * len(here)
            place.filled += gone >= max(d.among for d in here) and not any(d.figures for d in here)
            place.tiny += all(d.size < MIN_POOL_TEXT for d in here)
            if len(place.texts) < _TEXTS:
                place.texts.extend(d.exact for d in here)

    @property
    def pages(self) -> float:
        """The pages that were compared."""
        return max(self._weight, self._compared)

    def held(self, k: int) -> float:
        """The pages that have a key."""
        return self._held[k]

    def is_counter(self, d: Difference) -> bool:
        """Whether its figures change inside the same words on many pages that have these, in this run or usually."""
        changed = self._restamped[d.shape]
        share = self._share(changed, d.shape)
        history = self._history.get(d.shape)
        if history is not None and history.runs and (d.shape in self._small_steps or self._is_frequent(d.shape)):
            is_stated = bool(d.flags & (FACT | DATED))
            needed = MIN_USUAL_PLACE_SHARE if is_stated else max(MIN_SHARE, history.share) * MIN_OF_USUAL
            is_alone = is_stated and changed < MIN_MOVED_PAGES  # such as the day of the next meeting
            runs = MIN_FACT_RUNS if d.flags & FACT else MIN_RUNS_OF_FEW if is_alone else 1
            if (
                history.share >= MIN_SHARE
                and history.moved_share >= (MIN_MOVED_RUNS_OF_FEW if is_alone else MIN_MOVED_RUNS)
                and history.runs >= runs
                and share >= needed
            ):
                return True
        if d.flags & FACT or not self.is_unknown(d.shape):
            return False
        if changed >= MIN_COUNTED_PAGES and self._small_steps[d.shape] >= changed:
            return True
        return changed >= MIN_AGREEING_PAGES and share >= MIN_RESTAMPED_SHARE

    def counts_beside(self, word: int, figure: MovedFigure) -> bool:
        """Whether numbers beside this word move on several pages, in most runs or in a first run."""
        now, history = self._figures[word], self._memory.figures.get(word)
        if history is not None and history.runs and history.moved_share >= MIN_MOVED_RUNS:
            return figure.is_small or now >= MIN_MOVED_PAGES
        return self._memory.compared == 0 and now >= (MIN_COUNTED_PAGES if figure.is_small else MIN_AGREEING_PAGES)

    def _is_frequent(self, shape: int) -> bool:
        """Whether figures moved in several runs, or on several pages in the last one."""
        history = self._history[shape]
        return history.runs > 1 or history.share * self._held[shape] >= MIN_MOVED_PAGES - 0.5

    def is_shared(self, d: Difference, *, is_shape: bool) -> bool:
        """Whether the same text came or went on most pages of the site, or beside the same text on most with it.

        With ``is_shape``, the same words with other figures are the same text.
        """
        pages = self.pages
        counts = self._gone if d.gone else self._came
        # a new box of all pages stands at another place in each template
        found = [(counts[k], pages) for k in ((d.exact, d.shape) if is_shape else (d.exact,))]
        for near in _neighbourhood(d, is_shape=is_shape):
            anchor = near[1]
            found.append((self._beside[near], pages if anchor == d.place else self._held[anchor]))
        for changed, of in found:
            if changed >= MIN_AGREEING_PAGES and changed >= MIN_CHANGED_SHARE * of:
                return True
            if changed >= MIN_PAGES_SMALL_SITE and changed >= NEARLY_ALL_SHARE * pages:
                return True
        return False

    def _is_wandering(self, d: Difference) -> bool:
        """Whether a text left some pages and came to others, and few kept it. Never a link: lists shift theirs."""
        gone, came = self._gone[d.exact], self._came[d.exact]
        return (
            min(gone, came) >= 1
            and not d.flags & (LINK | MOVED)
            and self._share(gone + came, d.exact) >= MIN_CHANGED_SHARE
        )

    def is_elsewhere(self, d: Difference) -> bool:
        """Whether other pages show a text too, or got it in this run."""
        return self._came[d.exact] > 1 or self._held[d.exact] > 1

    def is_unknown(self, k: int) -> bool:
        """Whether no earlier run compared a slot: what its quiet or its moves mean is not known."""
        history = self._history.get(k)
        return self._memory.compared == 0 or (history is not None and history.seen == 0)

    def counts_there(self, k: int) -> bool:
        """Whether figures moved at a place on most pages, and no earlier run saw it."""
        place = self._places.get(k)
        restamped = place.restamped if place else 0
        if not self.is_unknown(k):
            return False
        return restamped >= MIN_AGREEING_PAGES and self._share(restamped, k) >= MIN_RESTAMPED_SHARE

    def moves_as_usual(self, k: int, *, is_counting: bool = False) -> bool:
        """Whether a slot moves in most runs on most of its pages, and does so now.

        Some of its pages are enough for an order, for links, for texts that other pages show, too, and for boxes whose
        whole text is replaced on several pages in each run. On few pages it
        must move in nearly all runs, unless it is figures that may count something.
        """
        history = self._history.get(k)
        if history is None or not history.runs or history.moved_share < MIN_MOVED_RUNS:
            return False
        place = self._places.get(k)
        is_linked = place is not None and place.links * 2 > place.turned
        is_order = self._held[k ^ ORDER] > 0
        is_plain = is_linked or is_order  # links and orders need no other texts to compare with
        is_pool = place is not None and (self._is_repeated(place) or self._is_refilled(place, history))
        is_mixed = is_order or is_pool or is_counting
        few = len(self._moved.get(k, ())) < MIN_MOVED_PAGES or history.share < MIN_USUAL_PLACE_SHARE
        if few and history.runs < MIN_RUNS_OF_FEW and not ((is_order or is_pool) and history.share >= MIN_SHARE):
            return False
        if few and not is_mixed and history.moved_share < MIN_MOVED_RUNS_OF_FEW:
            return False
        if history.share < MIN_USUAL_PLACE_SHARE and not (is_plain or is_pool):
            return False
        return self._moved_share(k) >= history.share * MIN_OF_USUAL

    def is_usual_text(self, d: Difference) -> bool:
        """Whether a text comes and goes in most runs on many pages, and does so now."""
        history = self._history.get(d.exact ^ _TEXT)
        return (
            history is not None
            and history.runs > 0
            and history.moved_share >= MIN_MOVED_RUNS
            and self._gone[d.exact] + self._came[d.exact] >= MIN_AGREEING_PAGES
        )

    def is_whole_slot(self, d: Difference) -> bool:
        """Whether all texts at the place or spot of a difference move as usual, not a text at a position of it."""
        return any(
            self.moves_as_usual(k ^ kind, is_counting=kind == FIGURES)
            for k in (d.place, d.spot, d.box)
            for kind in (0, FIGURES)
        )

    def moves_here_again(self, page: int, k: int, fewest: int = MIN_AGAIN_PAGES) -> bool:
        """Whether a slot moved on this page in the last runs, and on most of the pages on which it moved then."""
        last = self._run - 1
        before = {page for page, run in self._memory.moves.get(k, {}).items() if run == last}
        if page not in before:
            return False
        again = len(before & self._moved.get(k, set()))
        return again >= fewest and again >= MIN_AGAIN_SHARE * len(before)

    def is_exchanged_again(self, page: int, d: Difference) -> bool:
        """Whether a text that other pages show, too, came or went where one of this page did so in the last run.

        Nobody gives the same page another author, or a list many other links, in two runs in turn.
        """
        if d.flags & LINK and d.among >= MIN_POOL_TEXTS and self.moves_here_again(page, d.place, 1):
            return True
        return self._is_on_several(d.exact) and any(self.moves_here_again(page, k, 1) for k in (d.nth, d.nth_last))

    def is_shuffled(self, d: Difference) -> bool:
        """Whether the order of texts changes at a place of several pages in this run."""
        return any(
            len(self._moved.get(k, ())) >= MIN_PAGES_SMALL_SITE and self._moved_share(k) >= MIN_SHARE
            for k in slots_of(d)
        )

    def moves_at_its_position(self, page: int, d: Difference) -> bool:
        """Whether a text is exchanged as in the last run, at a position of its page, and so on most pages like this.

        The positions may differ from page to page: so it is with a text among paragraphs. Nobody edits the same
        paragraph of several pages between all runs, and no others.
        """
        again, moved = self._again.get(d.place, set()), self._positions.get(d.place, set())
        is_usual = len(again) >= MIN_AGAIN_PAGES and len(again) >= MIN_AGAIN_SHARE * len(moved)
        return is_usual and any(self._moved_before(page, k) for k in (d.nth, d.nth_last))

    def _moved_before(self, page: int, k: int) -> bool:
        """Whether a slot moved on a page in the last run."""
        return self._memory.moves.get(k, {}).get(page) == self._run - 1

    def is_wanderer(self, d: Difference) -> bool:
        """Whether it moves between pages as several others at its place do. Only two are two states of the page."""
        place = self._places.get(d.place)
        return (
            place is not None
            and place.wandered >= MIN_AGREEING_PAGES
            and len(place.pool) >= MIN_POOL_TEXTS
            and self._is_wandering(d)
        )

    def turns_over(self, k: int) -> bool:
        """Whether most pages with this place now show other links, texts of a pool, or other short texts there."""
        place = self._places.get(k)
        if place is not None and self._shows_a_pool(k, place):
            return True
        if place is None or place.turned < MIN_AGREEING_PAGES or self._share(place.turned, k) < MIN_CHANGED_SHARE:
            return False
        if place.links * 2 > place.turned:
            return True
        if not self.is_unknown(k):
            return False
        repeated = sum(map(self._is_on_several, place.texts))
        if repeated * 2 > len(place.texts):
            return True
        is_all = place.turned >= MIN_WIDGET_PAGES and self._share(place.turned, k) >= NEARLY_ALL_SHARE
        return is_all and place.short * 2 > place.turned

    def _moved_share(self, k: int) -> float:
        """The share of the pages with a slot on which its texts, or its figures alone, moved."""
        moved = len(self._moved.get(k, ()))
        return moved / max(moved, self._held_slots(k), 1)

    def _held_slots(self, k: int) -> float:
        """The pages that have a slot, given by the key of its texts, its figures or its order."""
        return max(self._held[k ^ kind] for kind in (0, FIGURES, ORDER))

    def _shows_a_pool(self, k: int, place: _PlaceCounts) -> bool:
        """Whether a slot shows texts of a pool: on several pages now, many different ones, or so in most runs."""
        if not self._is_repeated(place):
            return False
        history = self._history.get(k ^ _POOLED)
        if history is not None and history.runs and history.moved_share >= MIN_MOVED_RUNS:
            return True
        count = len(set(place.texts))
        return count >= MIN_POOL_SIZE and (place.turned >= MIN_PAGES_SMALL_SITE or self._is_list_of_others(place))

    @staticmethod
    def _is_list_of_others(place: _PlaceCounts) -> bool:
        """Whether a page shows others texts of a pool than before, and kept none of several."""
        return place.filled > 0 and len(set(place.texts)) >= 2 * MIN_POOL_TEXTS * place.turned

    @staticmethod
    def _is_refilled(place: _PlaceCounts, history: ChangeHistory) -> bool:
        """Whether several pages show other texts there and keep none, as they did in earlier runs."""
        return place.filled >= MIN_MOVED_PAGES and place.filled * 2 > place.turned and history.share >= MIN_SHARE

    def _is_repeated(self, place: _PlaceCounts) -> bool:
        """Whether some pages now show other texts there, and most of these are on other pages too."""
        texts = set(place.texts)
        repeated = sum(map(self._is_on_several, texts))
        return place.turned > 0 and not place.tiny and repeated >= MIN_REPEATED_SHARE * len(texts)

    def _is_on_several(self, text: int) -> bool:
        """Whether several pages show a text or did so in the last run, given by its exact key."""
        return self._gone[text] + max(self._came[text], self._held[text]) >= 2

    def _share(self, changed: float, k: int) -> float:
        """The share of the pages that have or had a key that changed it."""
        gone, came = self._gone[k], self._came[k]
        return changed / max(changed, 1, max(gone - came, 0) + max(came, self._held[k]))

    def remembered(self, slots: dict[int, Variation], pool: dict[int, int]) -> SiteMemory:
        """The memory of the site after this run, with what second reads taught of its slots and pools."""
        if not self._compared:
            return replace(self._memory, slots=slots, pool=pool)
        return SiteMemory(
            self._memory.compared + 1, self._history_after(), slots, pool, self._moves_after(), self._figures_after()
        )

    def _history_after(self) -> dict[int, ChangeHistory]:
        changed = dict(self._restamped)
        shares = {
            k: self._share(n, k)
            for k, n in changed.items()
            if max(self._held[k], n) >= MIN_FIGURED_PAGES or self._small_steps[k]
        }
        for k, place in self._places.items():
            if _may_be_widget(place):
                shares[k] = self._share(place.turned, k)
        for k, pages in self._moved.items():
            is_alone = self._held_slots(k) <= MAX_ALONE
            if (len(pages) >= MIN_MOVED_PAGES or is_alone) and (share := self._moved_share(k)) >= MIN_SHARE:
                shares[k] = share
        for k, place in self._places.items():
            # one page of many that shows what others show was given another author or topic
            is_several = place.turned >= MIN_MOVED_PAGES
            if is_several and self._is_repeated(place) and (share := self._share(place.turned, k)) >= MIN_SHARE:
                shares[k ^ _POOLED] = share
        for k, n in self._left.items():
            if n >= MIN_AGREEING_PAGES and (share := self._share(n, k)) >= MIN_SHARE:
                shares[k ^ _TEXT] = share
        born = [k for k, n in self._born.items() if n >= MIN_PAGES_SMALL_SITE]
        held = {**self._held, **{k: 1.0 for k in self._history if any(k ^ kind in self._held for kind in _KINDS)}}
        for k in self._explained:
            held.pop(k, None)
        return update_history(self._history, shares, held, self._memory.compared, born)

    def _figures_after(self) -> dict[int, ChangeHistory]:
        known = self._memory.figures
        shares = {words: 1.0 for words, n in self._figures.items() if n >= MIN_MOVED_PAGES}
        held = dict.fromkeys(known, 1.0)
        return update_history(known, shares, held, self._memory.compared)

    def _moves_after(self) -> dict[int, dict[int, int]]:
        """The pages on which each slot moved, with the run of the last move, as far as there is room."""
        after = {k: dict.fromkeys(pages, self._run) for k, pages in self._moved.items()}
        room = MAX_MOVES
        kept = {}
        for k in sorted(after, key=lambda k: (len(after[k]), k)):
            room -= len(after[k])
            if room < 0:
                break
            if after[k]:
                kept[k] = after[k]
        return kept


def _exchanged_slots(differences: list[Difference]) -> set[int]:
    """The slots at which a page exchanged many texts of a place, or their order; in a short list one is enough."""
    sides: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
    among: dict[int, dict[int, int]] = {}
    for d in differences:
        sides[d.gone].update({*slots_of(d)})
        for k in (d.place, d.spot, d.box):
            among.setdefault(k, {})[d.spot] = d.among
        if d.flags & MOVED and d.among > MAX_LIST:
            for k in slots_of(d):
                among.setdefault(k, {})[d.spot] = d.among
    exchanged = sides[True] & sides[False]
    return {k for k, n in exchanged.items() if n >= MIN_TURNOVER_SHARE * sum(among.get(k, {}).values())}


def _may_be_widget(place: _PlaceCounts) -> bool:
    """Whether to keep the history of a place: it turned over on many pages, or to other links on a few."""
    return place.turned >= MIN_AGREEING_PAGES or (place.turned >= 2 and place.links * 2 > place.turned)


def is_whole(here: list[Difference]) -> bool:
    """Whether a whole place came or went."""
    return len({d.gone for d in here}) == 1 and len(here) >= sum({d.spot: d.among for d in here}.values())


def _neighbourhood(d: Difference, *, is_shape: bool = True) -> list[tuple[bool, int, int]]:
    """What a difference may share with those of other pages: direction, place or neighbour, text or its shape."""
    keys = (d.exact, d.shape) if is_shape else (d.exact,)
    return [(d.gone, near, k) for near in (d.place, d.after, d.ahead) if near for k in keys]
