"""Which changes of a page are significant, judged over all pages of a run: not what the site shares or rotates. Pure.

Search engines ask for the date of the last *significant* change: main text, structured data or links, "not a sidebar,
footer or copyright year" (https://developers.google.com/search/blog/2023/06/sitemaps-lastmod-ping). No markup says
where these are, so Siteatlas compares, in this order:

1. The pages of the site: a text that comes or goes at the same place on most pages belongs to the site.
2. Two reads of one page in one run (:mod:`crawler.lastmod.experiment`): what differs between them is no change.
3. The runs: a slot that moves in most runs, on as many pages as usual or on the same pages, moves by itself.
4. The pages of this run, for slots of which nothing is known yet: figures that change inside the same words on most
   pages, texts that move from page to page, places where most pages show something else.

A list that gains a link to a new page changed, however often it does: a rotation would show other pages, too.

The line. A slot that was quiet in earlier runs and moves on most pages now is edited: all prices may rise at once. A
slot that usually moves on most pages and moves on a few now is edited there.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from crawler.lastmod.experiment import (
    IN_POOL,
    VARIES,
    VARIES_HERE,
    Experiment,
    SecondRead,
    moved_figures,
    restamped_shapes,
    slots_of,
)
from crawler.lastmod.memory import MAX_POOL, MAX_SLOTS, SiteMemory, newest
from crawler.lastmod.site_changes import FIGURES, SiteChanges, is_whole
from crawler.parse.snapshot.diff import (
    BEFORE_ALIKE,
    BEHIND_ALIKE,
    DATED,
    FACT,
    FINGERPRINT,
    FRAME,
    LINK,
    MOVED,
    NEWS,
    Delta,
    Difference,
)

MAX_OWN_SHARE: Final = 0.02
"""Share of the pages up to which a text is one of their own."""
MAX_CARD_TEXTS: Final = 3
"""Texts beside a link that rotates, up to which they came with it."""
SAMPLE_SIZE: Final = 400
"""Pages of a site, changed or not, that show how common a text is."""

IN_FRAME: Final = "is in a part that most pages share"
NEW_FINGERPRINT: Final = "has a file whose name has a new fingerprint"
SHARED: Final = "appeared or disappeared on most pages"
COUNTER: Final = "has numbers that change on many pages"
USUAL: Final = "is in a place that changes in most runs"
USUAL_HERE: Final = "is in a place that changes in most runs, on this page and others"
USUAL_TEXT: Final = "appears and disappears on many pages in most runs"
WANDERS: Final = "moves from page to page"
TURNS_OVER: Final = "is in a place that shows another text on most pages"
SHUFFLED: Final = "is in a list whose order changes on several pages"
IN_CARD: Final = "is in a box whose texts do not count"
EXCHANGED: Final = "was replaced by a text that does not count"
_ROTATING: Final = frozenset(
    (IN_POOL, VARIES, VARIES_HERE, USUAL, USUAL_HERE, USUAL_TEXT, WANDERS, TURNS_OVER, IN_CARD)
)
_NO_NEWS: Final = frozenset((IN_FRAME, SHARED, VARIES, VARIES_HERE))
"""Reasons for which even a link to a new page does not count."""
_MOVING: Final = frozenset((COUNTER, VARIES, VARIES_HERE))
"""Reasons that find a move without the history of its slots, which is then no quiet one."""


class Judgement(NamedTuple):
    """The differences of a page that are its own, and the others, each with the reason why it does not count."""

    significant: list[Difference]
    discounted: list[tuple[Difference, str]]


class SignificanceModel:
    """Judges the changes of one run; made by :func:`build_significance_model`."""

    def __init__(self, memory: SiteMemory, run: int) -> None:
        self._changes = SiteChanges(memory, run)
        self.experiment = Experiment(memory, run, self._changes.is_elsewhere)

    def add(self, delta: Delta) -> None:
        """First pass: count the differences of a page."""
        self._changes.add(delta)

    def add_sample(self, keys: Iterable[int], weight: float) -> None:
        """Between the passes: count the keys of a sampled page, which stands for ``weight`` pages."""
        self._changes.add_sample(keys, weight)

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
        self._changes.add_slots(page, left, stamped)
        self._changes.add_explained([differences[n] for n, reason in known.items() if reason in _MOVING])

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
            is_odd = n in found and reason in {USUAL, USUAL_HERE} and not self._changes.is_whole_slot(d)
            is_inserted = (
                has_more and (n in found or reason == VARIES_HERE) and self._is_inserted(d, differences, stamped)
            )
            if is_odd or is_inserted:
                del reasons[n]
        self._explain_by_exchange(differences, reasons)
        self._explain_by_unit(differences, reasons)
        for n in _announced(differences):
            if reasons.get(n) not in _NO_NEWS:
                reasons.pop(n, None)
        own = [d for n, d in enumerate(differences) if n not in reasons]
        return Judgement(own, [(differences[n], reason) for n, reason in sorted(reasons.items())])

    def _explain_by_site(self, differences: list[Difference], stamped: set[int]) -> dict[int, str]:
        inserted = self._inserted(differences)
        counters = {
            k
            for k, figures in moved_figures(differences, stamped).items()
            if figures
            and all(any(self._changes.counts_beside(word, figure) for word in figure.words) for figure in figures)
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
            if self._changes.held(place)  # a new design has other places
            and len({d.gone for d in here}) == 1
            and any(self._is_among_own(d) for d in here)
        }

    def _is_among_own(self, d: Difference) -> bool:
        """Whether a neighbour at the same place is a text that few pages have."""
        most = max(MAX_OWN_SHARE * self._changes.pages, 1)
        sides = ((BEHIND_ALIKE, d.after), (BEFORE_ALIKE, d.ahead))
        return any(d.flags & side and self._changes.held(near) <= most for side, near in sides)

    def _site_reason(self, d: Difference, stamped: set[int], inserted: set[int], counters: set[int]) -> str:
        if d.flags & FRAME:
            return IN_FRAME
        if d.shape in stamped and (
            self._changes.is_counter(d) or (d.shape in counters and not d.flags & (FACT | DATED))
        ):
            return COUNTER
        # all prices may rise at once, and all pages may get the same sentence among their own
        if d.flags & FACT or d.place in inserted:
            return ""
        is_shape = d.shape not in stamped or self._changes.is_unknown(d.shape)
        return SHARED if self._changes.is_shared(d, is_shape=is_shape) else ""

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
        if figures and self._changes.counts_there(d.place):
            return COUNTER
        if reason := self._reason_of_runs(page, d, figures=figures):
            return reason
        if self._changes.is_wanderer(d):
            return WANDERS
        if d.flags & MOVED and self._changes.is_shuffled(d):
            return SHUFFLED
        if self.experiment.is_surprising(d):
            return ""
        return TURNS_OVER if any(self._changes.turns_over(k) for k in {d.spot, d.place, d.box}) else ""

    def _reason_of_runs(self, page: int, d: Difference, *, figures: bool) -> str:
        """Why a difference does not count by what earlier runs saw, or ""."""
        slots = {*slots_of(d), d.place, d.box}  # a text of a pool may come back at another position
        if figures:
            slots |= {k ^ FIGURES for k in slots}
        if figures or not self.experiment.is_surprising(d):
            is_counting = figures and not d.flags & DATED
            if any(self._changes.moves_as_usual(k, is_counting=is_counting) for k in slots):
                return USUAL
            if any(self._changes.moves_here_again(page, k) for k in slots):
                return USUAL_HERE
            if not figures and self._changes.moves_at_its_position(page, d):
                return USUAL_HERE
        if self._varies_alone(page, d, figures=figures):
            return USUAL_HERE
        return USUAL_TEXT if not figures and self._changes.is_usual_text(d) else ""

    def _varies_alone(self, page: int, d: Difference, *, figures: bool) -> bool:
        """Whether an order or a figure moved in the last run too, on this page: that needs no other page.

        Not so a date: people write a new one.
        """
        if d.flags & MOVED:
            return any(self._changes.moves_here_again(page, k, 1) for k in slots_of(d))
        if not figures:
            return self._changes.is_exchanged_again(page, d)
        return not d.flags & DATED and any(
            self._changes.moves_here_again(page, k ^ FIGURES, 1) for k in (d.nth, d.nth_last)
        )

    def _is_inserted(self, d: Difference, differences: list[Difference], stamped: set[int]) -> bool:
        """Whether a text of no pool came to others at a place that lost fewer: a rotation exchanges texts.

        New figures in the same words are an exchange, too, which leaves the texts beside them alone.
        """
        if d.gone or d.flags & MOVED or self.experiment.in_pool(d):
            return False
        here = [other for other in differences if other.place == d.place and not other.flags & LINK]
        lost, gained = ({_beside_figures(other) for other in here if other.gone is side} for side in (True, False))
        here = [o for o in here if o.shape not in stamped and _beside_figures(o) not in (lost & gained) - {()}]
        if d not in here:
            return False
        unknown = sum(not other.gone and not self.experiment.in_pool(other) for other in here)
        return unknown <= len(here) - 2 * sum(other.gone for other in here) and not is_whole(here)

    def _explain_by_exchange(self, differences: list[Difference], reasons: dict[int, str]) -> None:
        """Explain the other text of each exchange: it may be rare by chance, or new in a pool that is not known yet."""
        sides: dict[int, list[int]] = {}
        for n, d in enumerate(differences):
            if n not in reasons or reasons[n] in _ROTATING:
                sides.setdefault(d.after, []).append(n)
        for pair in sides.values():
            if len(pair) == 2 and differences[pair[0]].gone != differences[pair[1]].gone:
                gone, came = sorted(pair, key=lambda n: not differences[n].gone)
                if gone not in reasons and came in reasons:
                    reasons[gone] = EXCHANGED
                elif came not in reasons and self._makes_room(reasons.get(gone, ""), differences[came]):
                    reasons[came] = EXCHANGED

    def _makes_room(self, reason: str, came: Difference) -> bool:
        """Whether a text that left for this reason made room for one that its slot may show."""
        return reason == WANDERS or (reason == IN_POOL and not self.experiment.is_surprising(came))

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
            links = sum(reasons.get(n) in _ROTATING | {COUNTER} for n in here if differences[n].flags & LINK)
            if rest and links * MAX_CARD_TEXTS >= len(rest):
                sides = [differences[n].gone for n in here]
                if sum(sides) * 2 == len(sides):
                    reasons.update(dict.fromkeys(rest, IN_CARD))

    def learn(self, deltas: Iterable[tuple[int, Delta]]) -> SiteMemory:
        """The memory of the site after this run. Goes once more through the deltas."""
        for page, delta in deltas:
            for d, reason in self.judge(page, delta).discounted:
                is_news = not d.gone or not self.experiment.in_pool(d)
                if reason in _ROTATING and is_news and self.experiment.is_worth_seeing(d.box):
                    self.experiment.see(d)
        slots, pool = self.experiment.learnt()
        if len(slots) > MAX_SLOTS:
            slots = {k: slots[k] for k in sorted(slots, key=lambda k: (slots[k].run, k), reverse=True)[:MAX_SLOTS]}
        return self._changes.remembered(slots, newest(pool, MAX_POOL))


def build_significance_model(
    memory: SiteMemory,
    deltas: Callable[[], Iterable[tuple[int, Delta]]],
    sample: Iterable[tuple[Iterable[int], float]],
    second_reads: Iterable[SecondRead] = (),
    *,
    run: int,
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


def _beside_figures(d: Difference) -> tuple[tuple[int, int], ...]:
    """The words beside the figures of a text: a price has other figures beside the same sign."""
    return tuple((before, after) for before, after, _ in d.figures)


def _announced(differences: list[Difference]) -> list[int]:
    """The links to new pages, at the places where no link to a known page came."""
    places: dict[int, list[int]] = {}
    for n, d in enumerate(differences):
        if d.flags & LINK and not d.gone:
            places.setdefault(d.place, []).append(n)
    return [n for here in places.values() if all(differences[n].flags & NEWS for n in here) for n in here]


def _unbalanced(differences: list[Difference], chosen: list[int]) -> list[int]:
    """The chosen texts that came, or went, at places where more of them came than went, or the other way round."""
    count: Counter[int] = Counter()
    for n in chosen:
        count[differences[n].place] += 1 if differences[n].gone else -1
    return [n for n in chosen if (balance := count[differences[n].place]) and (balance > 0) == differences[n].gone]
