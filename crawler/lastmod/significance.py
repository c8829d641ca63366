"""Which differences matter, judged over all pages of one run: what the site shares, counts or rotates does not.

Search engines ask for the date of the last *significant* change: main text, structured data or links, "not a sidebar,
footer or copyright year" (https://developers.google.com/search/blog/2023/06/sitemaps-lastmod-ping). Where that is on a
page nobody tells, so the site is asked: a text that comes or goes at the same place on most pages is the site's and not
the page's; a figure that changes inside the same words on most pages is a counter or a clock; texts that wander from
page to page, and places where most pages show something else each time, are widgets.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from msgspec import Struct

from crawler.parse.snapshot.diff import FACT, FRAME, LINK, Delta, Difference

MAX_CHANGE_RATES: Final = 20_000

MIN_SHARE: Final = 0.15

"""Share of the pages concerned below which a change on many pages is no habit."""

_SMOOTHING: Final = 0.3  # weight of the newest run


class ChangeHistory(Struct, frozen=True, array_like=True):
    """``runs`` in which it changed on many pages, and the ``share`` of those that hold it, the newest weighing most."""

    runs: int
    share: float


def update_history(
    known: Mapping[int, ChangeHistory], shares: Mapping[int, float], held: Mapping[int, float]
) -> dict[int, ChangeHistory]:
    """The habits after a run in which ``shares`` changed, and which looked at all that is ``held``."""
    after = dict(known)
    for k, share in shares.items():
        habit = known.get(k)
        if habit is not None:
            after[k] = ChangeHistory(
                habit.runs + (share >= MIN_SHARE), habit.share + _SMOOTHING * (share - habit.share)
            )
        elif share >= MIN_SHARE:
            after[k] = ChangeHistory(1, share)
    for k in known.keys() & held.keys() - shares.keys():
        faded = known[k].share * (1 - _SMOOTHING)
        if faded < MIN_SHARE / 4:
            del after[k]
        else:
            after[k] = ChangeHistory(known[k].runs, faded)
    if len(after) > MAX_CHANGE_RATES:
        best = sorted(after, key=lambda k: (after[k].runs, after[k].share, k), reverse=True)[
            :MAX_CHANGE_RATES
        ]
        after = {k: after[k] for k in best}
    return after


MIN_AGREEING_PAGES: Final = 5

"""Pages that must agree before anything is called the site's."""

MIN_CHANGED_SHARE: Final = 0.6

"""Share of the pages that hold something and changed it in this run, from which on it is the site's."""

MIN_RESTAMPED_SHARE: Final = 0.5

"""The same for figures that changed inside the same words."""

MIN_PAGES_SMALL_SITE: Final = 3

"""Pages that are enough where (nearly) all pages of a small site lost or gained the same text."""

NEARLY_ALL_SHARE: Final = 0.9

MIN_TURNOVER_SHARE: Final = 0.4

"""Of the blocks at a place, the part that is replaced where the place shows something else each time."""

MIN_WIDGET_PAGES: Final = 12

"""Pages whose places all turned over, from which on a place is a widget though no text of it is seen twice."""

MAX_SHORT_LENGTH: Final = 200

"""Characters on average, beyond which a text is a page's own."""

MIN_POOL_TEXTS: Final = 3

"""Texts that wander at one place, from which on it shows a choice of a pool."""

MIN_USUAL_RUNS: Final = 3

"""Runs in which something changed on many pages, before it is expected to."""

MIN_USUAL_FIGURE_SHARE: Final = 0.2

MIN_USUAL_PLACE_SHARE: Final = 0.5

SAMPLE_SIZE: Final = 400

"""Pages of a site, changed or not, whose holdings tell how common a thing is."""

_MAX_KEYS: Final = 500_000  # keys of one kind that are counted at once

_TEXTS: Final = 200  # texts of one place that are remembered


class _PlaceCounts:
    """What happened at one place or spot that is not explained by its texts. All counts are of pages, but ``texts``."""

    __slots__ = ("links", "pool", "restamped", "short", "texts", "turned", "wandered")

    def __init__(self) -> None:
        self.restamped = 0  # figures changed within words that only the page has
        self.wandered = 0  # lost or gained a text that wanders
        self.turned = 0  # most of what stood there was replaced
        self.links = 0  # of those that turned: by links
        self.short = 0  # of those that turned: by short texts
        self.pool: set[int] = set()  # exact keys that wander, a sample
        self.texts: list[int] = []  # exact keys of what turned, a sample


class SignificanceModel:
    """The judgement over one run; made by :func:`survey`, asked by :meth:`significant`."""

    def __init__(self, learnt: Mapping[int, ChangeHistory]) -> None:
        self._change_history = learnt
        self._compared = 0
        self._weight = 0.0
        self._held: Counter[int] = Counter()
        self._gone: Counter[int] = Counter()  # exact and shape keys, by pages that lost them
        self._came: Counter[int] = Counter()
        self._restamped: Counter[int] = Counter()  # shapes whose figures changed
        self._beside: Counter[tuple[bool, int, int]] = Counter()  # place or neighbour, and exact or shape key
        self._left: Counter[int] = Counter()  # exact keys that pages lost, and that the site does not explain
        self._places: dict[int, _PlaceCounts] = {}

    def add(self, delta: Delta) -> None:
        """First reading of every page whose body differed."""
        self._compared += 1
        differences = [d for d in delta.differences if not d.flags & FRAME]
        self._gone.update({k for d in differences if d.gone for k in (d.exact, d.shape)})
        self._came.update({k for d in differences if not d.gone for k in (d.exact, d.shape)})
        self._restamped.update(_restamped_shapes(delta))
        self._beside.update({near for d in differences for near in _neighbourhood(d)})
        for counted in (self._gone, self._came, self._beside):
            _forget_singletons(counted)

    def add_sample(self, keys: Iterable[int], weight: float = 1.0) -> None:
        """Between the readings: what one page of the sample holds; ``weight`` is how many pages it stands for."""
        self._weight += weight
        for k in keys:
            self._held[k] += weight  # type: ignore[assignment]  # fractions of pages
        _forget_singletons(self._held)

    def add_second_pass(self, delta: Delta) -> None:
        """Second reading of the same pages: places, by what counters and shared texts leave unexplained."""
        stamped = _restamped_shapes(delta)
        here: dict[int, list[Difference]] = {}
        for d in delta.differences:
            if not self._is_site_wide(d, stamped):
                here.setdefault(d.place, []).append(d)
        self._left.update({d.exact for differences in here.values() for d in differences if d.gone})
        _forget_singletons(self._left)
        moved = Counter(
            d.gone for differences in here.values() if _is_whole(differences) for d in differences
        )
        for differences in list(here.values()):
            for d in differences:
                here.setdefault(d.spot, []).append(d)
        for k, differences in here.items():
            self._weigh_place(self._places.setdefault(k, _PlaceCounts()), differences, stamped, moved)

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
        if _is_whole(here):  # under a new design the place has another name, and all of it seems new
            gone, came = gone or moved[True], came or moved[False]
        if min(gone, came) >= MIN_TURNOVER_SHARE * max(d.among for d in here):
            place.turned += 1
            place.links += sum(bool(d.flags & LINK) for d in here) * 2 > len(here)
            place.short += sum(len(d.text) for d in here) < MAX_SHORT_LENGTH * len(here)
            if len(place.texts) < _TEXTS:
                place.texts.extend(d.exact for d in here)

    def significant_changes(self, delta: Delta) -> list[Difference]:
        """The differences that are the page's own. None of them: the page says what it said."""
        stamped = _restamped_shapes(delta)
        own = [d for d in delta.differences if not self._is_site_wide(d, stamped)]
        exchanged = self._exchanged(own)
        return [d for d in own if d.exact not in exchanged and not self._is_widget(d, stamped)]

    def _exchanged(self, differences: list[Difference]) -> set[int]:
        """Both texts of each exchange of one for one that wanders: the other may only be rare by chance."""
        wanderers = {d.after for d in differences if self._is_wanderer(d)}
        if not wanderers:
            return set()
        sides = Counter((d.after, d.gone) for d in differences)
        pairs = {after for after in wanderers if sides[after, True] == sides[after, False] == 1}
        return {d.exact for d in differences if d.after in pairs}

    @property
    def change_history(self) -> dict[int, ChangeHistory]:
        """The habits of the site after this run, for the next."""
        if not self._compared:
            return dict(self._change_history)
        changed = {k: n for k, n in self._restamped.items() if n >= MIN_AGREEING_PAGES}
        changed.update({k: place.turned for k, place in self._places.items() if _may_be_widget(place)})
        if (
            max(self._weight, self._compared) <= SAMPLE_SIZE
        ):  # on a small site a pool of texts shows in the long run only
            changed.update(self._left)
        return update_history(
            self._change_history, {k: self._share(n, k) for k, n in changed.items()}, self._held
        )

    def _is_site_wide(self, d: Difference, stamped: set[int]) -> bool:
        if d.flags & FRAME or (d.shape in stamped and self._is_counter(d)):
            return True
        if d.flags & FACT:
            return False  # all prices may rise at once
        return self._is_shared(d)

    def _is_counter(self, d: Difference) -> bool:
        """Its figures changed within the same words on many pages that have these words, now or as a rule."""
        if d.flags & FACT:
            return self._is_usual(d.shape, MIN_USUAL_PLACE_SHARE)
        changed = self._restamped[d.shape]
        if changed >= MIN_AGREEING_PAGES and self._share(changed, d.shape) >= MIN_RESTAMPED_SHARE:
            return True
        return self._is_usual(d.shape, MIN_USUAL_FIGURE_SHARE)

    def _is_shared(self, d: Difference) -> bool:
        """The same came or went at this place on most pages of the site, or beside the same on most that have that."""
        pages = max(self._weight, self._compared)
        for near in _neighbourhood(d):
            changed, anchor = self._beside[near], near[1]
            of = pages if anchor == d.place else self._held[anchor]
            if changed >= MIN_AGREEING_PAGES and changed >= MIN_CHANGED_SHARE * of:
                return True
            if changed >= MIN_PAGES_SMALL_SITE and changed >= NEARLY_ALL_SHARE * pages:
                return True
        return False

    def _is_wandering(self, d: Difference) -> bool:
        """It left some pages and came to others, and few kept it. Links do not: lists in parts shift theirs."""
        gone, came = self._gone[d.exact], self._came[d.exact]
        return (
            min(gone, came) >= 1
            and not d.flags & LINK
            and self._share(gone + came, d.exact) >= MIN_CHANGED_SHARE
        )

    def _is_widget(self, d: Difference, stamped: set[int]) -> bool:
        if d.flags & FACT:
            return False
        if self._is_usual(d.exact, MIN_USUAL_FIGURE_SHARE):
            return True
        if self._is_wanderer(d) or (d.shape in stamped and self._counts_there(d.place)):
            return True
        return any(self._is_usual(k, MIN_USUAL_PLACE_SHARE) or self._turns_over(k) for k in (d.spot, d.place))

    def _counts_there(self, k: int) -> bool:
        place = self._places.get(k)
        restamped = place.restamped if place else 0
        return restamped >= MIN_AGREEING_PAGES and self._share(restamped, k) >= MIN_RESTAMPED_SHARE

    def _is_wanderer(self, d: Difference) -> bool:
        """It wanders, and so do several others there on many pages. Two that change places are two states."""
        place = self._places.get(d.place)
        return (
            place is not None
            and place.wandered >= MIN_AGREEING_PAGES
            and len(place.pool) >= MIN_POOL_TEXTS
            and self._is_wandering(d)
        )

    def _turns_over(self, k: int) -> bool:
        """Most pages that have this place show other links, texts of a pool, or other short texts there."""
        place = self._places.get(k)
        if (
            place is None
            or place.turned < MIN_AGREEING_PAGES
            or self._share(place.turned, k) < MIN_CHANGED_SHARE
        ):
            return False
        seen_twice = sum(
            1 for text in place.texts if self._gone[text] + max(self._came[text], self._held[text]) >= 2
        )
        if place.links * 2 > place.turned or seen_twice * 2 > len(place.texts):
            return True
        is_all = place.turned >= MIN_WIDGET_PAGES and self._share(place.turned, k) >= NEARLY_ALL_SHARE
        return is_all and place.short * 2 > place.turned

    def _share(self, changed: float, k: int) -> float:
        """Of the pages that hold or held it, the share that changed it."""
        gone, came = self._gone[k], self._came[k]
        return changed / max(changed, 1, max(gone - came, 0) + max(came, self._held[k]))

    def _is_usual(self, k: int, share: float) -> bool:
        habit = self._change_history.get(k)
        return habit is not None and habit.runs >= MIN_USUAL_RUNS and habit.share >= share


def build_significance_model(
    learnt: Mapping[int, ChangeHistory],
    deltas: Callable[[], Iterable[Delta]],
    sample: Iterable[tuple[Iterable[int], float]],
) -> SignificanceModel:
    """Judge a run. ``deltas`` is called twice and gives the deltas of all pages whose body differed.

    ``sample`` are the :func:`crawler.parse.snapshot.holdings` of up to ``SAMPLE`` of *all* pages compared in this
    run, changed
    or not, as they are now, each with the number of pages that it stands for.
    """
    made = SignificanceModel(learnt)
    for delta in deltas():
        made.add(delta)
    for keys, weight in sample:
        made.add_sample(keys, weight)
    for delta in deltas():
        made.add_second_pass(delta)
    return made


def _restamped_shapes(delta: Delta) -> set[int]:
    """The shapes that a page both lost and gained: the same words with other figures."""
    return {d.shape for d in delta.differences if d.gone} & {d.shape for d in delta.differences if not d.gone}


def _may_be_widget(place: _PlaceCounts) -> bool:
    """Whether a place is worth watching: many pages of it turned over, or a few to other links."""
    return place.turned >= MIN_AGREEING_PAGES or (place.turned >= 2 and place.links * 2 > place.turned)


def _is_whole(here: list[Difference]) -> bool:
    """Whether all that stands at one place came, or all that stood there is gone."""
    return len({d.gone for d in here}) == 1 and len(here) >= sum({d.spot: d.among for d in here}.values())


def _neighbourhood(d: Difference) -> list[tuple[bool, int, int]]:
    """Where a difference and its like on other pages may agree: direction, place or neighbour, text or its shape."""
    return [(d.gone, near, k) for near in (d.place, d.after, d.ahead) if near for k in (d.exact, d.shape)]


def _forget_singletons(counted: Counter[int] | Counter[tuple[bool, int, int]]) -> None:
    """Forget what was seen once when there is too much: it is no site's habit."""
    if len(counted) > _MAX_KEYS:
        for k in [k for k, n in counted.items() if n <= 1]:
            del counted[k]
