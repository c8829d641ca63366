"""Which changes of a page are significant, judged over all pages of a run: not what the site shares or rotates. Pure.

Search engines ask for the date of the last *significant* change: main text, structured data or links, "not a sidebar,
footer or copyright year" (https://developers.google.com/search/blog/2023/06/sitemaps-lastmod-ping). No markup says
where these are, so Siteatlas compares, in this order:

1. The pages of the site: a text that comes or goes at the same place on most pages belongs to the site.
2. Two reads of one page in one run (:mod:`crawler.lastmod.experiment`): what differs between them is no change.
3. The runs: a slot that moves in most runs, on as many pages as usual or on the same pages, moves by itself.
4. The pages of this run, for slots of which nothing is known yet: figures that change inside the same words on most
   pages, texts that move from page to page, places where most pages show something else.

The line. A slot that was quiet in earlier runs and moves on most pages now is edited: all prices may rise at once. A
slot that usually moves on most pages and moves on a few now is edited there.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from msgspec.structs import replace

from crawler.lastmod.experiment import (
    IN_POOL,
    ORDER,
    VARIES,
    VARIES_HERE,
    Experiment,
    MovedFigure,
    SecondRead,
    moved_figures,
    restamped_shapes,
    slots_of,
)
from crawler.lastmod.memory import (
    MAX_MOVES,
    MAX_POOL,
    MAX_SLOTS,
    MIN_MOVED_RUNS,
    MIN_SHARE,
    ChangeHistory,
    SiteMemory,
    newest,
    update_history,
)
from crawler.parse.snapshot.diff import (
    BEFORE_ALIKE,
    BEHIND_ALIKE,
    DATED,
    FACT,
    FINGERPRINT,
    FRAME,
    LINK,
    MOVED,
    Delta,
    Difference,
)

MIN_AGREEING_PAGES: Final = 5
"""Pages that must agree before a change counts as one of the site."""

MIN_CHANGED_SHARE: Final = 0.6
"""Share of the pages with a text that changed it in this run, from which on the change is one of the site."""

MIN_RESTAMPED_SHARE: Final = 0.5
"""The same share for figures that changed inside the same words."""

MIN_PAGES_SMALL_SITE: Final = 3
"""Pages that are enough when nearly all pages of a small site lost or gained the same text."""

MAX_OWN_SHARE: Final = 0.02
"""Share of the pages up to which a text is one of their own."""

NEARLY_ALL_SHARE: Final = 0.9
MIN_TURNOVER_SHARE: Final = 0.4
"""Share of the blocks at a place that must be replaced to call the place turned over."""

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
"""Runs in which a slot moved on one page, or on some of its pages, before it moves by itself."""
MAX_CARD_TEXTS: Final = 3
"""Texts beside a link that rotates, up to which they came with it."""
MAX_ALONE: Final = 2
"""Pages with a slot up to which it may move on one of them."""
MIN_AGAIN_PAGES: Final = 3
MAX_FIGURE_TEXT: Final = 40
MAX_BARE_FIGURE: Final = 12
"""Characters of a text that is a figure and little else, and of a figure alone: these may vary on one page alone."""

MIN_AGAIN_SHARE: Final = 0.5
"""Share of the pages on which a slot moved in the last runs and moves again, from which on it moves by itself there."""

MIN_USUAL_PLACE_SHARE: Final = 0.5
SAMPLE_SIZE: Final = 400
"""Pages of a site, changed or not, that show how common a text is."""

_FIGURES: Final = 0x3C3C_3C3C_3C3C_3C3C  # keeps the key of the figures in a slot apart from that of its texts
_POOLED: Final = 0x2727_2727_2727_2727  # keeps the key of the texts of a pool in a slot apart from that of all texts
_TEXT: Final = 0x5353_5353_5353_5353  # keeps the key of a text apart from those of slots
_MAX_KEYS: Final = 500_000  # keys of one kind in memory
_TEXTS: Final = 200  # of one place in memory


class _PlaceCounts:
    """Changes at one place or spot that its texts do not explain. All counts are of pages."""

    __slots__ = ("links", "pool", "restamped", "short", "texts", "tiny", "turned", "wandered")

    def __init__(self) -> None:
        self.restamped = 0  # figures changed inside words that only the page has
        self.wandered = 0  # lost or gained a text that moves between pages
        self.turned = 0  # most of the place was replaced
        self.links = 0  # of those that turned: by links
        self.short = 0  # of those that turned: by short texts
        self.tiny = 0  # of those that turned: by labels and figures only
        self.pool: set[int] = set()  # exact keys of moving texts, a sample
        self.texts: list[int] = []  # exact keys of replaced texts, a sample


class Judgement(NamedTuple):
    """The differences of a page that are its own, and the others, each with the reason why it does not count."""

    significant: list[Difference]
    discounted: list[tuple[Difference, str]]


IN_FRAME: Final = "is in the frame of the site"
NEW_FINGERPRINT: Final = "has an asset with a new fingerprint"
SHARED: Final = "came or went on most pages"
COUNTER: Final = "has figures that move on many pages"
USUAL: Final = "is in a slot that moves in most runs"
USUAL_HERE: Final = "is in a slot that moves in most runs on this page and others"
USUAL_TEXT: Final = "comes and goes in most runs on many pages"
WANDERS: Final = "moves from page to page"
TURNS_OVER: Final = "is in a slot that shows something else on most pages"
IN_CARD: Final = "is in a card whose texts do not count"
EXCHANGED: Final = "made room for a text that does not count"


class SignificanceModel:
    """Judges the changes of one run; made by :func:`build_significance_model`."""

    def __init__(self, memory: SiteMemory, run: int = 0) -> None:
        self._memory = memory
        self._history = memory.history
        self.experiment = Experiment(memory, run, self._is_elsewhere)
        self._run = run
        self._compared = 0
        self._weight = 0.0
        self._held: Counter[int] = Counter()
        self._gone: Counter[int] = Counter()  # exact and shape keys, by pages that lost them
        self._came: Counter[int] = Counter()
        self._restamped: Counter[int] = Counter()  # shapes whose figures changed
        self._small_steps: Counter[int] = Counter()  # of those, the ones whose figures moved by little
        self._figures: Counter[int] = Counter()  # words before or after numbers that moved
        self._beside: Counter[tuple[bool, int, int]] = Counter()  # place or neighbour, and exact or shape key
        self._left: Counter[int] = Counter()  # exact keys that pages lost, and that no change of the site explains
        self._places: dict[int, _PlaceCounts] = {}
        self._moved: dict[int, set[int]] = {}  # by slot: pages where texts were exchanged
        self._born: Counter[int] = Counter()  # places that came as a whole

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
        for counted in (self._gone, self._came, self._beside):
            _forget_singletons(counted)

    def add_sample(self, keys: Iterable[int], weight: float = 1.0) -> None:
        """Between the passes: count the keys of a sampled page, which stands for ``weight`` pages."""
        self._weight += weight
        for k in keys:
            self._held[k] += weight  # type: ignore[assignment]  # fractions of pages
        _forget_singletons(self._held)

    def add_second_pass(self, page: int, delta: Delta) -> None:
        """Second pass: count the slots of the differences that the site and second reads do not explain."""
        differences = delta.differences
        stamped = restamped_shapes(differences)
        known = self._explain_by_site(differences, stamped)
        known.update(self._explain_by_experiment(page, differences, known))
        left = [
            d
            for n, d in enumerate(differences)
            if known.get(n, IN_POOL) == IN_POOL or (known[n] == COUNTER and d.flags & LINK)
        ]
        here: dict[int, list[Difference]] = {}
        for d in left:
            if not d.flags & MOVED:
                here.setdefault(d.place, []).append(d)
        self._left.update({d.exact for d in left if d.gone})
        _forget_singletons(self._left)
        moved = Counter(d.gone for differences in here.values() if _is_whole(differences) for d in differences)
        for place, differences in list(here.items()):
            if _is_whole(differences) and not differences[0].gone:
                self._born.update({place, *(k for d in differences for k in slots_of(d))})
            for d in differences:
                for k in {d.spot, d.box} - {place}:
                    here.setdefault(k, []).append(d)
        for k, differences in here.items():
            self._weigh_place(self._places.setdefault(k, _PlaceCounts()), differences, stamped, moved)
        for k in _exchanged_slots([d for d in left if d.shape not in stamped or d.flags & LINK]):
            self._moved.setdefault(k, set()).add(page)
        for k in {k ^ _FIGURES for d in left if d.shape in stamped for k in slots_of(d)}:
            self._moved.setdefault(k, set()).add(page)

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
        if _is_whole(here):  # in a new design the place has another name, and all of it seems new
            gone, came = gone or moved[True], came or moved[False]
        if min(gone, came) >= MIN_TURNOVER_SHARE * max(d.among for d in here):
            place.turned += 1
            place.links += sum(bool(d.flags & LINK) for d in here) * 2 > len(here)
            place.short += sum(len(d.text) for d in here) < MAX_SHORT_LENGTH * len(here)
            place.tiny += all(d.size < MIN_POOL_TEXT for d in here)
            if len(place.texts) < _TEXTS:
                place.texts.extend(d.exact for d in here)

    def judge(self, page: int, delta: Delta) -> Judgement:
        """The differences that are the page's own, and those that are not, with the reasons."""
        differences = delta.differences
        stamped = restamped_shapes(differences)
        reasons = self._explain_by_site(differences, stamped)
        reasons.update(self._explain_by_experiment(page, differences, reasons))
        found = {
            n: reason
            for n, d in enumerate(differences)
            if n not in reasons and (reason := self._reason(page, d, stamped))
        }
        reasons.update(found)
        rotating = [n for n, reason in reasons.items() if reason in _ROTATING]
        sides = [d.gone for d in differences if not d.flags & LINK]
        has_more = 2 * sum(sides) < len(sides)
        for n in _unbalanced(differences, rotating):
            d, reason = differences[n], reasons[n]
            is_odd = n in found and reason in {USUAL, USUAL_HERE} and not self._is_whole_slot(d)
            is_inserted = has_more and (n in found or reason == VARIES_HERE) and self._is_inserted(d, differences)
            if is_odd or is_inserted:
                del reasons[n]
        self._explain_by_exchange(differences, reasons)
        self._explain_by_unit(differences, reasons)
        own = [d for n, d in enumerate(differences) if n not in reasons]
        return Judgement(own, [(differences[n], reason) for n, reason in sorted(reasons.items())])

    def _explain_by_site(self, differences: list[Difference], stamped: set[int]) -> dict[int, str]:
        inserted = self._inserted(differences)
        counters = {
            k
            for k, figures in moved_figures(differences, stamped).items()
            if figures and all(any(self._counts(word, figure) for word in figure.words) for figure in figures)
        }
        # a fingerprint of figures alone looks like a number: then one of the two sides has none
        gone, came = ({d.shape: d.flags & FINGERPRINT for d in differences if d.gone is side} for side in (True, False))
        printed = {k for k in gone.keys() & came.keys() if gone[k] != came[k]}
        reasons = (
            (n, NEW_FINGERPRINT if d.shape in printed else self._site_reason(d, stamped, inserted, counters))
            for n, d in enumerate(differences)
        )
        return {n: reason for n, reason in reasons if reason}

    def _inserted(self, differences: list[Difference]) -> set[int]:
        """The places at which a page only gained, or only lost, some texts among those of its own."""
        places: dict[int, list[Difference]] = {}
        for d in differences:
            places.setdefault(d.place, []).append(d)
        return {
            place
            for place, here in places.items()
            if self._held[place]  # a new design has other places
            and len({d.gone for d in here}) == 1
            and not _is_whole(here)
            and any(self._is_among_own(d) for d in here)
        }

    def _is_among_own(self, d: Difference) -> bool:
        """Whether a neighbour at the same place is a text that few pages have."""
        most = max(MAX_OWN_SHARE * max(self._weight, self._compared), 1)
        sides = ((BEHIND_ALIKE, d.after), (BEFORE_ALIKE, d.ahead))
        return any(d.flags & side and self._held[near] <= most for side, near in sides)

    def _site_reason(self, d: Difference, stamped: set[int], inserted: set[int], counters: set[int]) -> str:
        if d.flags & FRAME:
            return IN_FRAME
        if d.shape in stamped and (self._is_counter(d) or (d.shape in counters and not d.flags & (FACT | DATED))):
            return COUNTER
        # all prices may rise at once, and all pages may get the same sentence among their own
        if d.flags & FACT or d.place in inserted:
            return ""
        is_shape = d.shape not in stamped or self._is_unknown(d.shape)
        return SHARED if self._is_shared(d, is_shape=is_shape) else ""

    def _explain_by_experiment(
        self, page: int, differences: list[Difference], known: Mapping[int, str]
    ) -> dict[int, str]:
        left = [n for n in range(len(differences)) if n not in known]
        found = self.experiment.explain(page, [differences[n] for n in left])
        return {left[n]: reason for n, reason in found.items()}

    def _reason(self, page: int, d: Difference, stamped: set[int]) -> str:
        """Why a difference does not count that neither the site nor second reads explain, or ""."""
        if d.flags & FACT:
            return ""
        figures = d.shape in stamped
        if figures and self._counts_there(d.place):
            return COUNTER
        if reason := self._reason_of_runs(page, d, figures=figures):
            return reason
        if self._is_wanderer(d):
            return WANDERS
        if self.experiment.is_surprising(d):
            return ""
        return TURNS_OVER if any(self._turns_over(k) for k in {d.spot, d.place, d.box}) else ""

    def _reason_of_runs(self, page: int, d: Difference, *, figures: bool) -> str:
        """Why a difference does not count by what earlier runs saw, or ""."""
        slots = list(slots_of(d))
        if d.flags & MOVED:  # a text of a pool may come back at another position
            slots += [d.place, d.box]
        if figures:
            slots += [k ^ _FIGURES for k in slots]
        if figures or not self.experiment.is_surprising(d):
            if any(self._moves_as_usual(k) for k in slots):
                return USUAL
            if any(self._moves_here_again(page, k) for k in slots):
                return USUAL_HERE
        if self._varies_alone(page, d, figures=figures):
            return USUAL_HERE
        return USUAL_TEXT if not figures and self._is_usual_text(d) else ""

    def _varies_alone(self, page: int, d: Difference, *, figures: bool) -> bool:
        """Whether an order or a figure moved in the last run too, on this page: that needs no other page."""
        if d.flags & MOVED:
            return self._moves_here_again(page, d.place ^ ORDER, 1)
        most = MAX_FIGURE_TEXT if d.shape in self._small_steps else MAX_BARE_FIGURE
        return (
            figures
            and d.size <= most
            and any(self._moves_here_again(page, k ^ _FIGURES, 1) for k in (d.nth, d.nth_last))
        )

    def _is_inserted(self, d: Difference, differences: list[Difference]) -> bool:
        """Whether a text of no pool came to others at a place that lost fewer: a rotation exchanges texts."""
        if d.gone or d.flags & (LINK | MOVED) or self.experiment.in_pool(d):
            return False
        here = [other for other in differences if other.place == d.place and not other.flags & LINK]
        unknown = sum(not other.gone and not self.experiment.in_pool(other) for other in here)
        return unknown <= len(here) - 2 * sum(other.gone for other in here) and not _is_whole(here)

    def _explain_by_exchange(self, differences: list[Difference], reasons: dict[int, str]) -> None:
        """Explain the other text of each exchange: it may be rare by chance."""
        sides: dict[int, list[int]] = {}
        for n, d in enumerate(differences):
            if n not in reasons or reasons[n] in _ROTATING:
                sides.setdefault(d.after, []).append(n)
        for pair in sides.values():
            if len(pair) == 2 and differences[pair[0]].gone != differences[pair[1]].gone:
                gone, came = sorted(pair, key=lambda n: not differences[n].gone)
                if gone not in reasons and came in reasons:
                    reasons[gone] = EXCHANGED
                elif came not in reasons and reasons.get(gone) == WANDERS:
                    reasons[came] = EXCHANGED

    @staticmethod
    def _explain_by_unit(differences: list[Difference], reasons: dict[int, str]) -> None:
        """Explain links whose texts rotate, and texts whose links do: a card is one thing."""
        units: dict[int, list[int]] = {}
        cards: dict[tuple[int, int], list[int]] = {}
        for n, d in enumerate(differences):
            units.setdefault(d.unit, []).append(n)
            cards.setdefault((d.unit, d.after), []).append(n)
        for here in units.values():
            rest = [n for n in here if n not in reasons]
            rotating = sum(reasons.get(n) in _ROTATING for n in here)
            if rest and rotating >= len(rest) and all(differences[n].flags & LINK for n in rest):
                reasons.update(dict.fromkeys(rest, IN_CARD))
        for here in cards.values():
            rest = [n for n in here if n not in reasons]
            links = sum(reasons.get(n) in _ROTATING and bool(differences[n].flags & LINK) for n in here)
            if rest and links * MAX_CARD_TEXTS >= len(rest):
                sides = [differences[n].gone for n in here]
                if sum(sides) * 2 == len(sides):
                    reasons.update(dict.fromkeys(rest, IN_CARD))

    def learn(self, deltas: Iterable[tuple[int, Delta]]) -> SiteMemory:
        """The memory of the site after this run. Goes once more through the deltas."""
        memory = self._memory
        for page, delta in deltas:
            for d, reason in self.judge(page, delta).discounted:
                is_news = not d.gone or not self.experiment.in_pool(d)
                if reason in _ROTATING and is_news and self.experiment.is_worth_seeing(d.box):
                    self.experiment.see(d)
        slots, pool = self.experiment.learnt()
        if len(slots) > MAX_SLOTS:
            slots = {k: slots[k] for k in sorted(slots, key=lambda k: (slots[k].run, k), reverse=True)[:MAX_SLOTS]}
        if not self._compared:
            return replace(memory, slots=slots, pool=newest(pool, MAX_POOL))
        return SiteMemory(
            memory.compared + 1,
            self._history_after(),
            slots,
            newest(pool, MAX_POOL),
            self._moves_after(),
            self._figures_after(),
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
            if self._is_repeated(place) and (share := self._share(place.turned, k)) >= MIN_SHARE:
                shares[k ^ _POOLED] = share
        for k, n in self._left.items():
            if n >= MIN_AGREEING_PAGES and (share := self._share(n, k)) >= MIN_SHARE:
                shares[k ^ _TEXT] = share
        born = [k for k, n in self._born.items() if n >= MIN_PAGES_SMALL_SITE]
        kinds = (_FIGURES, ORDER, _TEXT, _POOLED)
        held = {**self._held, **{k: 1.0 for k in self._history if any(k ^ kind in self._held for kind in kinds)}}
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

    def _is_counter(self, d: Difference) -> bool:
        """Whether its figures change inside the same words on many pages that have these, in this run or usually."""
        changed = self._restamped[d.shape]
        share = self._share(changed, d.shape)
        history = self._history.get(d.shape)
        if history is not None and history.runs and (d.shape in self._small_steps or self._is_frequent(d.shape)):
            is_stated = bool(d.flags & (FACT | DATED))
            needed = MIN_USUAL_PLACE_SHARE if is_stated else max(MIN_SHARE, history.share) * MIN_OF_USUAL
            runs = MIN_FACT_RUNS if d.flags & FACT else 1
            if (
                history.share >= MIN_SHARE
                and history.moved_share >= MIN_MOVED_RUNS
                and history.runs >= runs
                and share >= needed
            ):
                return True
        if d.flags & FACT or not self._is_unknown(d.shape):
            return False
        if changed >= MIN_COUNTED_PAGES and self._small_steps[d.shape] >= changed:
            return True
        return changed >= MIN_AGREEING_PAGES and share >= MIN_RESTAMPED_SHARE

    def _counts(self, word: int, figure: MovedFigure) -> bool:
        """Whether numbers beside this word move on several pages, in most runs or in a first run."""
        now, history = self._figures[word], self._memory.figures.get(word)
        if history is not None and history.runs and history.moved_share >= MIN_MOVED_RUNS:
            return figure.is_small or now >= MIN_MOVED_PAGES
        return self._memory.compared == 0 and now >= (MIN_COUNTED_PAGES if figure.is_small else MIN_AGREEING_PAGES)

    def _is_frequent(self, shape: int) -> bool:
        """Whether figures moved in several runs, or on several pages in the last one."""
        history = self._history[shape]
        return history.runs > 1 or history.share * self._held[shape] >= MIN_MOVED_PAGES - 0.5

    def _is_shared(self, d: Difference, *, is_shape: bool) -> bool:
        """Whether the same text came or went on most pages of the site, or beside the same text on most with it.

        With ``is_shape``, the same words with other figures are the same text.
        """
        pages = max(self._weight, self._compared)
        for near in _neighbourhood(d, is_shape=is_shape):
            changed, anchor = self._beside[near], near[1]
            of = pages if anchor == d.place else self._held[anchor]
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

    def _is_elsewhere(self, d: Difference) -> bool:
        """Whether other pages show a text too, or got it in this run."""
        return self._came[d.exact] > 1 or self._held[d.exact] > 1

    def _is_unknown(self, k: int) -> bool:
        """Whether no earlier run compared a slot: what its quiet or its moves mean is not known."""
        history = self._history.get(k)
        return self._memory.compared == 0 or (history is not None and history.seen == 0)

    def _counts_there(self, k: int) -> bool:
        place = self._places.get(k)
        restamped = place.restamped if place else 0
        if not self._is_unknown(k):
            return False
        return restamped >= MIN_AGREEING_PAGES and self._share(restamped, k) >= MIN_RESTAMPED_SHARE

    def _moves_as_usual(self, k: int) -> bool:
        """Whether a slot moves in most runs on most of its pages, and does so now.

        Some of its pages are enough if it shows links, or what other pages show, too.
        """
        history = self._history.get(k)
        if history is None or not history.runs or history.moved_share < MIN_MOVED_RUNS:
            return False
        place = self._places.get(k)
        is_linked = place is not None and place.links * 2 > place.turned
        few = len(self._moved.get(k, ())) < MIN_MOVED_PAGES or history.share < MIN_USUAL_PLACE_SHARE
        if few and not is_linked and history.runs < MIN_RUNS_OF_FEW:
            return False
        if history.share < MIN_USUAL_PLACE_SHARE and not (
            is_linked or (place is not None and self._is_repeated(place))
        ):
            return False
        return self._moved_share(k) >= history.share * MIN_OF_USUAL

    def _is_usual_text(self, d: Difference) -> bool:
        """Whether a text comes and goes in most runs on many pages, and does so now."""
        history = self._history.get(d.exact ^ _TEXT)
        return (
            history is not None
            and history.runs > 0
            and history.moved_share >= MIN_MOVED_RUNS
            and self._gone[d.exact] + self._came[d.exact] >= MIN_AGREEING_PAGES
        )

    def _is_whole_slot(self, d: Difference) -> bool:
        """Whether all texts at the place or spot of a difference move as usual, not a text at a position of it."""
        return any(self._moves_as_usual(k ^ kind) for k in (d.place, d.spot, d.box) for kind in (0, _FIGURES))

    def _moves_here_again(self, page: int, k: int, fewest: int = MIN_AGAIN_PAGES) -> bool:
        """Whether a slot moved on this page in the last runs, and on most of the pages on which it moved then."""
        last = self._run - 1
        before = {page for page, run in self._memory.moves.get(k, {}).items() if run == last}
        if page not in before:
            return False
        again = len(before & self._moved.get(k, set()))
        return again >= fewest and again >= MIN_AGAIN_SHARE * len(before)

    def _is_wanderer(self, d: Difference) -> bool:
        """Whether it moves between pages as several others at its place do. Only two are two states of the page."""
        place = self._places.get(d.place)
        return (
            place is not None
            and place.wandered >= MIN_AGREEING_PAGES
            and len(place.pool) >= MIN_POOL_TEXTS
            and self._is_wandering(d)
        )

    def _turns_over(self, k: int) -> bool:
        """Whether most pages with this place now show other links, texts of a pool, or other short texts there."""
        place = self._places.get(k)
        if place is not None and self._shows_a_pool(k, place):
            return True
        if place is None or place.turned < MIN_AGREEING_PAGES or self._share(place.turned, k) < MIN_CHANGED_SHARE:
            return False
        if place.links * 2 > place.turned:
            return True
        if not self._is_unknown(k):
            return False
        repeated = sum(1 for text in place.texts if self._gone[text] + max(self._came[text], self._held[text]) >= 2)
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
        return max(self._held[k ^ kind] for kind in (0, _FIGURES, ORDER))

    def _shows_a_pool(self, k: int, place: _PlaceCounts) -> bool:
        """Whether a slot shows texts of a pool: on several pages now, many different ones, or so in most runs."""
        if not self._is_repeated(place):
            return False
        history = self._history.get(k ^ _POOLED)
        if history is not None and history.runs and history.moved_share >= MIN_MOVED_RUNS:
            return True
        return place.turned >= MIN_PAGES_SMALL_SITE and len(set(place.texts)) >= MIN_POOL_SIZE

    def _is_repeated(self, place: _PlaceCounts) -> bool:
        """Whether some pages now show other texts there, and most of these are on other pages too."""
        texts = set(place.texts)
        repeated = sum(self._gone[text] + max(self._came[text], self._held[text]) >= 2 for text in texts)
        return place.turned > 0 and not place.tiny and repeated >= MIN_REPEATED_SHARE * len(texts)

    def _share(self, changed: float, k: int) -> float:
        """The share of the pages that have or had a key that changed it."""
        gone, came = self._gone[k], self._came[k]
        return changed / max(changed, 1, max(gone - came, 0) + max(came, self._held[k]))


_ROTATING: Final = frozenset(
    (IN_POOL, VARIES, VARIES_HERE, USUAL, USUAL_HERE, USUAL_TEXT, WANDERS, TURNS_OVER, IN_CARD)
)


def build_significance_model(
    memory: SiteMemory,
    deltas: Callable[[], Iterable[tuple[int, Delta]]],
    sample: Iterable[tuple[Iterable[int], float]],
    second_reads: Iterable[SecondRead] = (),
    run: int = 0,
) -> SignificanceModel:
    """The model of a run. ``deltas`` is called twice and gives the pages whose body differs, with their deltas.

    ``sample`` holds the :func:`crawler.parse.snapshot.diff.content_keys` of up to ``SAMPLE_SIZE`` of all pages compared
    in this run, changed or not, each with the number of pages that it stands for.
    """
    model = SignificanceModel(memory, run)
    for read in second_reads:
        model.experiment.add(read)
    for _, delta in deltas():
        model.add(delta)
    for keys, weight in sample:
        model.add_sample(keys, weight)
    for page, delta in deltas():
        model.add_second_pass(page, delta)
    return model


def _exchanged_slots(differences: list[Difference]) -> set[int]:
    """The slots at which a page lost and gained texts, if these were many of a place."""
    sides: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
    among: dict[int, dict[int, int]] = {}
    for d in differences:
        sides[d.gone].update({*slots_of(d)})
        for k in (d.place, d.spot, d.box):
            among.setdefault(k, {})[d.spot] = d.among
    exchanged = sides[True] & sides[False]
    return {k for k, n in exchanged.items() if n >= MIN_TURNOVER_SHARE * sum(among.get(k, {}).values())}


def _unbalanced(differences: list[Difference], chosen: list[int]) -> list[int]:
    """The chosen texts that came, or went, at places where more of them came than went, or the other way round."""
    count: Counter[int] = Counter()
    for n in chosen:
        count[differences[n].place] += 1 if differences[n].gone else -1
    return [n for n in chosen if (balance := count[differences[n].place]) and (balance > 0) == differences[n].gone]


def _may_be_widget(place: _PlaceCounts) -> bool:
    """Whether to keep the history of a place: it turned over on many pages, or to other links on a few."""
    return place.turned >= MIN_AGREEING_PAGES or (place.turned >= 2 and place.links * 2 > place.turned)


def _is_whole(here: list[Difference]) -> bool:
    """Whether a whole place came or went."""
    return len({d.gone for d in here}) == 1 and len(here) >= sum({d.spot: d.among for d in here}.values())


def _neighbourhood(d: Difference, *, is_shape: bool = True) -> list[tuple[bool, int, int]]:
    """What a difference may share with those of other pages: direction, place or neighbour, text or its shape."""
    keys = (d.exact, d.shape) if is_shape else (d.exact,)
    return [(d.gone, near, k) for near in (d.place, d.after, d.ahead) if near for k in keys]


def _forget_singletons(counted: Counter[int] | Counter[tuple[bool, int, int]]) -> None:
    """Drop keys that occurred once when there are too many."""
    if len(counted) > _MAX_KEYS:
        for k in [k for k, n in counted.items() if n <= 1]:
            del counted[k]
