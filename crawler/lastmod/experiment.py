"""What reading pages twice in one run teaches: what differs between the two reads is no change of content. Pure.

A rotation, a counter that our own visit moves, a token, the name of a server: whatever it is, it differs between two
reads that are seconds apart, and no editor wrote in between. What differed is known for its page at once, and for the
other pages of its template by its slot: by a whole place whose texts vary, by a position in a place that varies on
nearly all pages, or by a number of texts that vary at a place.

The line. A text in a slot that varies is still an edit when the slot shows texts of a pool that is known by now, and
this is not one of them; or when its page was read twice and it stayed, while the slot varies on nearly all pages.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from crawler.lastmod.memory import SiteMemory, Variation
from crawler.parse.snapshot.diff import FACT, FRAME, LINK, MOVED, Delta, Difference, text_at_place_key

MIN_VARIED_SHARE: Final = 0.2
"""Share of the pages read twice, from which on a place varies whose texts vary together."""
MIN_WHOLE: Final = 0.5
"""Share of the texts at a place that vary, from which on they vary together."""
NEARLY_ALL: Final = 0.8
"""Share of the pages read twice on which a position or a number of texts varies, to expect it on all."""
MIN_TESTED: Final = 3
"""Pages read twice, to expect something of the others by a position or a number of texts."""
MIN_DRAWN: Final = 20
"""Values of a slot, to know that they come from a pool."""
MAX_STEP: Final = 10
MAX_STEP_SHARE: Final = 0.2
"""The step of a counter between two runs: at most so much, or this share of it."""

MIN_LIKE: Final = 4
"""Values of a slot, to know what they are like."""
NEARLY_ONLY: Final = 0.95
MAX_LONGER: Final = 1.3
MAX_LONGER_BY: Final = 15
"""A text is unlike the others of its slot when it has so many times the characters of the longest, and so many more."""
MAX_FRESH: Final = 0.08
"""Share of the values seen for the first time, up to which a pool is known."""

MIN_FORGOTTEN: Final = 0.1
"""Weight of the reads that showed a slot to vary, below which it is forgotten."""
ENOUGH: Final = 5
"""Reads of the pages of a group that stayed, to believe that all its pages stay."""
MAX_READS: Final = 3
"""Times that a page is read again in one run, at most."""
IN_A_ROUND: Final = 24
"""Pages to choose before what they show is taken into account."""

ORDER: Final = 0x6969_6969_6969_6969
"""Keeps the key of the order of the texts at a place apart from that of the texts."""

VARIES: Final = "differs between two reads of the page"
VARIES_HERE: Final = "is in a place that differs between two reads of such pages"
IN_POOL: Final = "is one of the texts that a place shows in turn"


class SecondRead(NamedTuple):
    """A page that was read again in one run: the keys that it held, and what differed at the later reads."""

    page: int
    keys: Iterable[int]
    delta: Delta


class _OwnVariation:
    """What varied on one page: exact keys that did not stay, or not in order, figures by shape, and texts by place."""

    __slots__ = ("figures", "moved", "places", "unstable")

    def __init__(self, delta: Delta) -> None:
        stamped = restamped_shapes(delta.differences)
        self.figures = stamped
        texts = [d for d in delta.differences if d.shape not in stamped and not d.flags & MOVED]
        self.moved = {d.exact for d in delta.differences if d.flags & MOVED}
        self.unstable = {d.exact for d in texts}
        gone, came = (Counter(d.place for d in texts if d.gone is side) for side in (True, False))
        self.places = gone | came


class Experiment:
    """The variation of the slots of a site: from the memory, and from the second reads of this run.

    A second read of a page in an earlier run counts for its slots only. ``is_elsewhere`` says whether other pages show
    a text too.
    """

    def __init__(
        self, memory: SiteMemory, run: int = 0, is_elsewhere: Callable[[Difference], bool] = lambda _: False
    ) -> None:
        self._is_elsewhere = is_elsewhere
        self._run = run
        self._known = memory.slots
        self._pool = memory.pool
        self._seen: dict[int, Variation] = {}
        self._new_pool: dict[int, int] = {}
        self._own: dict[int, _OwnVariation] = {}
        self._slots: dict[int, Variation | None] = {}

    @property
    def pages(self) -> set[int]:
        """The pages that were read twice in this run."""
        return set(self._own)

    def add(self, read: SecondRead) -> None:
        """Learn from a second read."""
        own = self._own[read.page] = _OwnVariation(read.delta)
        seen = self._seen
        none = Variation()
        for k in read.keys:
            seen[k] = _plus(seen.get(k, none), tested=1)
        texts: dict[int, list[Difference]] = {}
        figures: set[int] = set()
        for d in read.delta.differences:
            if d.flags & FRAME:
                continue
            if d.shape in own.figures:
                figures.update((d.shape, d.place, d.spot, d.box))
                continue
            for k in slots_of(d):
                texts.setdefault(k, []).append(d)
            if not d.flags & (FACT | MOVED):
                self.see(d)
        for moved in moved_figures(read.delta.differences, own.figures).values():
            figures.update(word for figure in moved for word in figure.words)
        for k in figures:
            seen[k] = _plus(seen.get(k, none), figured=1, run=self._run)
        for k, here in texts.items():
            count = sum(d.gone for d in here) or len(here)  # several reads may have brought several texts for one
            among = sum({d.spot: d.among for d in here}.values())
            whole = min(1.0, count / max(among, 1))
            seen[k] = _plus(seen.get(k, none), varied=1, blocks=count, whole=whole, run=self._run)
        self._slots.clear()

    def see(self, d: Difference) -> None:
        """Count a value that a slot showed for a while."""
        k = _value_key(d)
        slot = self._seen.get(d.box, Variation())
        fresh = k not in self._pool and k not in self._new_pool
        seen = _plus(slot, drawn=1, fresh=fresh, links=bool(d.flags & LINK))
        self._seen[d.box] = seen.merged(Variation(longest=d.size))
        self._new_pool[k] = self._run
        self._slots.pop(d.box, None)

    def is_worth_seeing(self, box: int) -> bool:
        """Whether a slot may have a pool that can be known: not when nearly all of many values were new."""
        slot = self.slot(box)
        return slot is None or slot.drawn < 200 or slot.fresh < 0.5 * slot.drawn

    def explain(self, page: int, differences: list[Difference]) -> dict[int, str]:
        """The differences of a page that the experiment explains, by their number in the list, with the reason."""
        reasons: dict[int, str] = {}
        stamped = restamped_shapes(differences)
        own = self._own.get(page)
        if own is not None:
            self._explain_by_own_read(own, differences, stamped, reasons)
        moved = moved_figures(differences, stamped)
        counters = {
            k
            for k, figures in moved.items()
            if figures and all(any(map(self._figures_vary, figure.words)) for figure in figures)
        }
        bare = {k for k in stamped if not any(figure.words for figure in moved.get(k, ()))}
        for n, d in enumerate(differences):
            if n not in reasons and (reason := self._reason(d, own, stamped, counters, bare)):
                reasons[n] = reason
        self._explain_by_number(differences, stamped, own, reasons)
        return reasons

    def _explain_by_own_read(
        self, own: _OwnVariation, differences: list[Difference], stamped: set[int], reasons: dict[int, str]
    ) -> None:
        gone: dict[int, list[int]] = {}
        for n, d in enumerate(differences):
            if self._is_unlike(d):
                continue
            is_unstable = d.exact in own.unstable or (d.flags & MOVED and d.exact in own.moved)
            if is_unstable or (d.shape in own.figures and d.shape in stamped):
                reasons[n] = VARIES
            elif d.gone and own.places[d.place] and not d.flags & MOVED:
                gone.setdefault(d.place, []).append(n)
        for place, here in gone.items():
            if len(here) <= own.places[place]:
                reasons.update(dict.fromkeys(here, VARIES))

    def _reason(
        self, d: Difference, own: _OwnVariation | None, stamped: set[int], counters: set[int], bare: set[int]
    ) -> str:
        slots = (d.shape, d.place, d.spot, d.box) if d.shape in bare else (d.shape,)
        if d.shape in counters or (d.shape in stamped and any(self._figures_vary(k) for k in slots)):
            return VARIES_HERE
        if d.flags & FACT:
            return ""
        if d.flags & MOVED:
            return VARIES_HERE if self._order_varies(d) else ""
        if self.in_pool(d):
            return IN_POOL
        if not any(self._texts_vary(k, whole=k in {d.place, d.spot, d.box}) for k in slots_of(d)):
            return ""
        if self.is_surprising(d):
            return ""
        if own is not None and not d.gone and self._varies_always(d) and d.exact not in own.unstable:
            return ""
        return VARIES_HERE

    def _explain_by_number(
        self, differences: list[Difference], stamped: set[int], own: _OwnVariation | None, reasons: dict[int, str]
    ) -> None:
        """Explain as many texts at a place as vary there on nearly all pages, when there are no more."""
        if own is not None:
            return
        places: dict[int, list[int]] = {}
        for n, d in enumerate(differences):
            if d.shape not in stamped and not d.flags & FACT:
                places.setdefault(d.place, []).append(n)
        for place, here in places.items():
            slot = self.slot(place)
            if slot and _is_expected(slot) and not self.knows_pool(differences[here[0]].box):
                gone = sum(differences[n].gone for n in here)
                if max(gone, len(here) - gone) <= round(slot.blocks / slot.varied):
                    reasons.update({n: VARIES_HERE for n in here if n not in reasons})

    def in_pool(self, d: Difference) -> bool:
        """Whether a slot that varies showed this text before."""
        k = _value_key(d)
        return k in self._pool or k in self._new_pool

    def is_surprising(self, d: Difference) -> bool:
        """Whether a text is unlike all that its slot showed: in no pool that is known, no link, or much longer."""
        if d.gone or d.flags & MOVED or self.in_pool(d):
            return False
        if self.knows_pool(d.box) and not d.flags & LINK and not self._is_elsewhere(d):
            return True
        return self._is_unlike(d)

    def _is_unlike(self, d: Difference) -> bool:
        """Whether a text is no link at a place of links, or much longer than all others there."""
        slot = self._known.get(d.box)  # not what this run saw, which may be this text
        if slot is None or slot.drawn < MIN_LIKE or d.gone or d.flags & LINK:
            return False
        return slot.links >= NEARLY_ONLY * slot.drawn or d.size > MAX_LONGER * slot.longest + MAX_LONGER_BY

    def knows_pool(self, box: int) -> bool:
        """Whether nearly all texts that a slot rotates are known."""
        slot = self.slot(box)
        return slot is not None and slot.drawn >= MIN_DRAWN and slot.fresh <= MAX_FRESH * slot.drawn

    def _order_varies(self, d: Difference) -> bool:
        return any((slot := self.slot(k)) and slot.varied > 0 for k in slots_of(d))

    def _texts_vary(self, k: int, *, whole: bool) -> bool:
        slot = self.slot(k)
        if slot is None or not slot.varied:
            return False
        if whole:
            return slot.whole >= MIN_WHOLE * slot.varied and slot.varied >= MIN_VARIED_SHARE * slot.tested
        return _is_expected(slot)

    def _figures_vary(self, k: int) -> bool:
        slot = self.slot(k)
        return slot is not None and slot.figured > 0 and slot.figured >= MIN_VARIED_SHARE * slot.tested

    def _varies_always(self, d: Difference) -> bool:
        return any(_is_expected(slot) for k in slots_of(d) if (slot := self.slot(k)))

    def slot(self, k: int) -> Variation | None:
        """The variation of a slot, or None if nothing was ever seen of it."""
        if k not in self._slots:
            known, seen = self._known.get(k), self._seen.get(k)
            self._slots[k] = known.merged(seen) if known and seen else known or seen
        return self._slots[k]

    def learnt(self) -> tuple[dict[int, Variation], dict[int, int]]:
        """The slots that vary or once did, and the pool of their values, to remember."""
        slots = dict(self._known)
        for k in self._seen:
            slot = self.slot(k)
            if slot and (slot.varied >= MIN_FORGOTTEN or slot.figured >= MIN_FORGOTTEN or slot.drawn):
                slots[k] = slot
            else:
                slots.pop(k, None)
        return slots, {**self._pool, **self._new_pool}


def slots_of(d: Difference) -> tuple[int, ...]:
    """The slots that a difference is in, from the widest to the narrowest; of a text that moved, those of its order."""
    return (d.place ^ ORDER, d.box ^ ORDER) if d.flags & MOVED else (d.place, d.spot, d.nth, d.nth_last, d.box)


def restamped_shapes(differences: Iterable[Difference]) -> set[int]:
    """The shapes that a page lost and gained: the same words with other figures.

    Not so when all that a reader sees is equal: then a link or a picture changed.
    """
    sides: tuple[dict[int, set[str]], dict[int, set[str]]] = ({}, {})
    for d in differences:
        if not d.flags & MOVED:
            sides[d.gone].setdefault(d.shape, set()).add(f"{d.text} {d.size} {d.figures}")
    came, gone = sides
    return {k for k in came.keys() & gone.keys() if came[k] != gone[k]}


class MovedFigure(NamedTuple):
    """A number that moved: the words beside it, and whether it moved by little, as counters do."""

    words: tuple[int, ...]
    is_small: bool


def moved_figures(differences: list[Difference], stamped: set[int]) -> dict[int, list[MovedFigure]]:
    """The numbers that moved in texts of the same shape, by shape."""
    sides: tuple[dict[int, Difference], dict[int, Difference]] = ({}, {})
    for d in differences:
        if d.shape in stamped:
            sides[d.gone].setdefault(d.shape, d)
    came, gone = sides
    return {
        k: [
            MovedFigure(
                tuple(word for word in (before, after) if word),
                abs(new - old) <= max(MAX_STEP, MAX_STEP_SHARE * max(new, old)),
            )
            for (before, after, new), (_, _, old) in zip(d.figures, gone[k].figures, strict=False)
            if new != old
        ]
        for k, d in came.items()
        if d.figures and k in gone
    }


def _value_key(d: Difference) -> int:
    return text_at_place_key(d.exact, d.box) ^ (ORDER if d.flags & MOVED else 0)


def _is_expected(slot: Variation) -> bool:
    return slot.tested >= MIN_TESTED and slot.varied >= NEARLY_ALL * slot.tested


def _plus(slot: Variation, **more: float) -> Variation:
    """The variation with these counts added; ``run`` is replaced."""
    values = {name: getattr(slot, name) + value if name != "run" else value for name, value in more.items()}
    fields = {name: getattr(slot, name) for name in Variation.__struct_fields__}
    return Variation(**{**fields, **values})


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
