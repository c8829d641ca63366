"""Which differences matter, judged over all pages of one run: what the site shares, counts or rotates does not.

Search engines ask for the date of the last *significant* change: main text, structured data or links, "not a sidebar,
footer or copyright year" (https://developers.google.com/search/blog/2023/06/sitemaps-lastmod-ping). Where that is on a
page nobody tells, so the site is asked: a text that comes or goes at the same place on most pages which have this place
is the site's and not the page's; a figure that changes inside the same words on most pages is a counter or a clock; a
place where most pages show something else each time is a widget.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from crawler.content.delta import FACT, FRAME, LINK, Delta, Difference
from crawler.content.habits import Habit, learn

MANY: Final = 5
"""Pages that must agree before anything is called the site's."""
SHARE: Final = 0.6
"""Share of the pages that hold something and changed it in this run, from which on it is the site's."""
RESTAMPED: Final = 0.5
"""The same for figures that changed inside the same words."""
FEW: Final = 3
"""Pages that are enough where (nearly) all pages of a small site lost or gained the same text."""
NEARLY_ALL: Final = 0.9
WIDGET: Final = 12
"""Pages whose places all turned over, from which on a place is a widget though no text of it is seen twice."""
SHORT: Final = 200
"""Characters on average, beyond which a text is a page's own."""
USUAL: Final = 3
"""Runs in which something changed on many pages, before it is expected to."""
FIGURES_USUAL: Final = 0.2
PLACE_USUAL: Final = 0.5
SAMPLE: Final = 400
"""Pages of a site, changed or not, whose holdings tell how common a thing is."""
TURNOVER: Final = 0.4
"""Of the blocks at a place, the part that is replaced where the place shows something else each time."""
_CROWD: Final = 500_000  # keys of one kind that are counted at once


class _Place:
    """What the differences at one place or spot have in common."""

    __slots__ = ("links", "long", "pages", "seen", "texts", "turnover")

    def __init__(self) -> None:
        self.pages = 0
        self.seen = 0  # differences
        self.links = 0
        self.long = 0  # characters
        self.turnover = 0.0
        self.texts: list[int] = []  # exact keys, a sample


class Survey:
    """The judgement over one run; made by :func:`survey`, asked by :meth:`significant`."""

    def __init__(self, learnt: Mapping[int, Habit]) -> None:
        self._habits = learnt
        self._pages = 0
        self._compared = 0
        self._gone: Counter[int] = Counter()  # exact and shape keys, by pages that lost them
        self._came: Counter[int] = Counter()
        self._restamped: Counter[int] = Counter()  # shapes whose figures changed
        self._beside: Counter[tuple[int, int]] = Counter()  # neighbour that stayed, and exact or shape key
        self._places: dict[int, _Place] = {}
        self._held: Counter[int] = Counter()
        self._weight = 0.0

    def add(self, delta: Delta) -> None:
        """First reading of every page whose body differed."""
        self._compared += 1
        gone = {k for d in delta.differences if d.gone for k in (d.exact, d.shape)}
        came = {k for d in delta.differences if not d.gone for k in (d.exact, d.shape)}
        self._gone.update(gone)
        self._came.update(came)
        self._restamped.update(_restamped(delta))
        self._beside.update(
            {
                (anchor, k)
                for d in delta.differences
                for anchor in (d.after, d.ahead)
                if anchor
                for k in (d.exact, d.shape)
            }
        )
        for counted in (self._gone, self._came, self._beside):
            _bound(counted)

    def hold(self, keys: Iterable[int], weight: float = 1.0) -> None:
        """Between the readings: what one page of the sample holds; ``weight`` is how many pages it stands for."""
        self._weight += weight
        for k in keys:
            self._held[k] += weight  # type: ignore[assignment]  # fractions of pages
        _bound(self._held)

    def weigh(self, delta: Delta) -> None:
        """Second reading of the same pages: places, by what finer keys left unexplained."""
        left = self._unexplained(delta)
        for coarse in ({d.spot for d in left}, {d.place for d in left}):
            for k in coarse:
                self._places.setdefault(k, _Place()).pages += 1
        here = Counter(d.spot for d in left)
        for d in left:
            for k in (d.spot, d.place):
                place = self._places[k]
                place.seen += 1
                place.links += bool(d.flags & LINK)
                place.long += len(d.text)
                place.turnover += min(1.0, here[d.spot] / 2 / max(d.among, 1))
                if len(place.texts) < 200:
                    place.texts.append(d.exact)

    def significant(self, delta: Delta) -> list[Difference]:
        """The differences that are the page's own. None of them: the page says what it said."""
        return [d for d in self._unexplained(delta) if not self._is_widget(d)]

    @property
    def learnt(self) -> dict[int, Habit]:
        """The habits of the site after this run, for the next."""
        shares = {k: self._share(n, k) for k, n in self._restamped.items() if n >= MANY}
        shares.update(
            {
                k: self._share(p.pages, k)
                for k, p in self._places.items()
                if p.pages >= MANY and p.turnover >= TURNOVER * p.seen
            }
        )
        return learn(self._habits, shares, self._held) if self._compared else dict(self._habits)

    def _unexplained(self, delta: Delta) -> list[Difference]:
        stamped = _restamped(delta)
        return [d for d in delta.differences if not self._is_fine(d, stamped)]

    def _is_fine(self, d: Difference, stamped: set[int]) -> bool:
        if d.flags & FRAME or (d.shape in stamped and self._is_counter(d)):
            return True
        if d.flags & FACT:
            return False  # all prices may rise at once
        return any(self._is_shared(k) or self._is_beside(d, k) for k in (d.exact, d.shape)) or self._rotates(
            d.exact
        )

    def _is_counter(self, d: Difference) -> bool:
        """Its figures changed within the same words on many pages that have these words, now or as a rule."""
        if d.flags & FACT:
            return self._is_usual(d.shape, PLACE_USUAL)
        changed = self._restamped[d.shape]
        if changed >= MANY and self._share(changed, d.shape) >= RESTAMPED:
            return True
        return self._is_usual(d.shape, FIGURES_USUAL)

    def _is_shared(self, k: int) -> bool:
        """The same came or went on most pages of the site."""
        changed = max(self._gone[k], self._came[k])
        if changed < FEW or self._share(self._changed(k), k) < SHARE:
            return False
        pages = max(self._weight, self._compared)
        return changed >= (SHARE if changed >= MANY else NEARLY_ALL) * pages

    def _is_beside(self, d: Difference, k: int) -> bool:
        """The same came or went next to the same neighbour on most pages that have this neighbour."""
        for anchor in (d.after, d.ahead):
            changed = self._beside[anchor, k] if anchor else 0
            if changed >= MANY and changed >= SHARE * self._held[anchor]:
                return True
        return False

    def _rotates(self, k: int) -> bool:
        """It left some pages and came to others, and few kept it."""
        return (
            min(self._gone[k], self._came[k]) >= 2
            and self._changed(k) >= MANY
            and self._share(self._changed(k), k) >= SHARE
        )

    def _is_widget(self, d: Difference) -> bool:
        if d.flags & FACT:
            return False
        return any(self._is_usual(k, PLACE_USUAL) or self._turns_over(k) for k in (d.spot, d.place))

    def _turns_over(self, k: int) -> bool:
        place = self._places.get(k)
        if place is None or place.pages < MANY or self._share(place.pages, k) < SHARE:
            return False
        if place.turnover < TURNOVER * place.seen:
            return False
        if place.links * 2 > place.seen:
            return True
        pooled = sum(1 for text in place.texts if self._changed(text) >= 2 or self._held[text] >= 2)
        if pooled * 2 > len(place.texts):
            return True
        return (
            place.pages >= WIDGET
            and self._share(place.pages, k) >= NEARLY_ALL
            and place.long < SHORT * place.seen
        )

    def _changed(self, k: int) -> int:
        return self._gone[k] + self._came[k]

    def _share(self, changed: float, k: int) -> float:
        """Of the pages that hold or held it, the share that changed it."""
        gone, came = self._gone[k], self._came[k]
        return changed / max(changed, max(gone - came, 0) + max(came, self._held[k]))

    def _is_usual(self, k: int, share: float) -> bool:
        habit = self._habits.get(k)
        return habit is not None and habit.runs >= USUAL and habit.share >= share


def survey(
    learnt: Mapping[int, Habit],
    deltas: Callable[[], Iterable[Delta]],
    sample: Iterable[tuple[Iterable[int], float]],
) -> Survey:
    """Judge a run. ``deltas`` is called twice and gives the deltas of all pages whose body differed.

    ``sample`` are the :func:`crawler.content.holdings` of up to ``SAMPLE`` of *all* pages compared in this run, changed
    or not, as they are now, each with the number of pages that it stands for.
    """
    made = Survey(learnt)
    for delta in deltas():
        made.add(delta)
    for keys, weight in sample:
        made.hold(keys, weight)
    for delta in deltas():
        made.weigh(delta)
    return made


def _restamped(delta: Delta) -> set[int]:
    """The shapes that a page both lost and gained: the same words with other figures."""
    return {d.shape for d in delta.differences if d.gone} & {d.shape for d in delta.differences if not d.gone}


def _bound(counted: Counter[int] | Counter[tuple[int, int]]) -> None:
    """Forget what was seen once when there is too much: it is no site's habit."""
    if len(counted) > _CROWD:
        for k in [k for k, n in counted.items() if n <= 1]:
            del counted[k]
