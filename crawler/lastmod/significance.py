"""Which changes of a page are significant, judged over all pages of a run: not what the site shares or rotates. Pure.

Search engines ask for the date of the last *significant* change: main text, structured data or links, "not a sidebar,
footer or copyright year" (https://developers.google.com/search/blog/2023/06/sitemaps-lastmod-ping). No markup says
where these are, so the pages of the site are compared: a text that comes or goes at the same place on most pages
belongs to the site, not to the page; a figure that changes inside the same words on most pages is a counter or a clock;
texts that move from page to page, and places where most pages show something else each time, are widgets.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from msgspec import Struct

from crawler.parse.snapshot.diff import FACT, FRAME, LINK, Delta, Difference

MAX_CHANGE_RATES: Final = 20_000
MIN_SHARE: Final = 0.15
"""Share of the pages concerned, below which a change on many pages is not usual."""

_SMOOTHING: Final = 0.3  # weight of the newest run


class ChangeHistory(Struct, frozen=True, array_like=True):
    """``runs`` in which a key changed on many pages, and their smoothed ``share`` of the pages that have it."""

    runs: int
    share: float


def update_history(
    known: Mapping[int, ChangeHistory], shares: Mapping[int, float], held: Mapping[int, float]
) -> dict[int, ChangeHistory]:
    """The history after a run in which ``shares`` changed, of all the keys that pages ``held``."""
    after = dict(known)
    for k, share in shares.items():
        history = known.get(k)
        if history is not None:
            after[k] = ChangeHistory(
                history.runs + (share >= MIN_SHARE), history.share + _SMOOTHING * (share - history.share)
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
        best = sorted(after, key=lambda k: (after[k].runs, after[k].share, k), reverse=True)[:MAX_CHANGE_RATES]
        after = {k: after[k] for k in best}
    return after


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

MIN_WIDGET_PAGES: Final = 12
"""Pages on which a place turned over, from which on it is a widget even if no text of it occurs twice."""

MAX_SHORT_LENGTH: Final = 200
"""Characters on average, from which on a text is the page's own."""

MIN_POOL_TEXTS: Final = 3
"""Texts that move from page to page at one place, from which on the place shows texts of a pool."""

MIN_USUAL_RUNS: Final = 3
"""Runs in which a text changed on many pages, before a change of it is usual."""

MIN_USUAL_FIGURE_SHARE: Final = 0.2
MIN_USUAL_PLACE_SHARE: Final = 0.5
SAMPLE_SIZE: Final = 400
"""Pages of a site, changed or not, that show how common a text is."""

_MAX_KEYS: Final = 500_000  # keys of one kind in memory
_TEXTS: Final = 200  # of one place in memory


class _PlaceCounts:
    """Changes at one place or spot that its texts do not explain. All counts are of pages."""

    __slots__ = ("links", "pool", "restamped", "short", "texts", "turned", "wandered")

    def __init__(self) -> None:
        self.restamped = 0  # figures changed inside words that only the page has
        self.wandered = 0  # lost or gained a text that moves between pages
        self.turned = 0  # most of the place was replaced
        self.links = 0  # of those that turned: by links
        self.short = 0  # of those that turned: by short texts
        self.pool: set[int] = set()  # exact keys of moving texts, a sample
        self.texts: list[int] = []  # exact keys of replaced texts, a sample


class SignificanceModel:
    """Judges the changes of one run; made by :func:`build_significance_model`."""

    def __init__(self, learnt: Mapping[int, ChangeHistory]) -> None:
        self._change_history = learnt
        self._compared = 0
        self._weight = 0.0
        self._held: Counter[int] = Counter()
        self._gone: Counter[int] = Counter()  # exact and shape keys, by pages that lost them
        self._came: Counter[int] = Counter()
        self._restamped: Counter[int] = Counter()  # shapes whose figures changed
        self._beside: Counter[tuple[bool, int, int]] = Counter()  # place or neighbour, and exact or shape key
        self._left: Counter[int] = Counter()  # exact keys that pages lost, and that no change of the site explains
        self._places: dict[int, _PlaceCounts] = {}

    def add(self, delta: Delta) -> None:
        """First pass: count the differences of a page."""
        self._compared += 1
        differences = [d for d in delta.differences if not d.flags & FRAME]
        self._gone.update({k for d in differences if d.gone for k in (d.exact, d.shape)})
        self._came.update({k for d in differences if not d.gone for k in (d.exact, d.shape)})
        self._restamped.update(_restamped_shapes(delta))
        self._beside.update({near for d in differences for near in _neighbourhood(d)})
        for counted in (self._gone, self._came, self._beside):
            _forget_singletons(counted)

    def add_sample(self, keys: Iterable[int], weight: float = 1.0) -> None:
        """Between the passes: count the keys of a sampled page, which stands for ``weight`` pages."""
        self._weight += weight
        for k in keys:
            self._held[k] += weight  # type: ignore[assignment]  # fractions of pages
        _forget_singletons(self._held)

    def add_second_pass(self, delta: Delta) -> None:
        """Second pass: count the places of the differences that counters and shared texts do not explain."""
        stamped = _restamped_shapes(delta)
        here: dict[int, list[Difference]] = {}
        for d in delta.differences:
            if not self._is_site_wide(d, stamped):
                here.setdefault(d.place, []).append(d)
        self._left.update({d.exact for differences in here.values() for d in differences if d.gone})
        _forget_singletons(self._left)
        moved = Counter(d.gone for differences in here.values() if _is_whole(differences) for d in differences)
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
        if _is_whole(here):  # in a new design the place has another name, and all of it seems new
            gone, came = gone or moved[True], came or moved[False]
        if min(gone, came) >= MIN_TURNOVER_SHARE * max(d.among for d in here):
            place.turned += 1
            place.links += sum(bool(d.flags & LINK) for d in here) * 2 > len(here)
            place.short += sum(len(d.text) for d in here) < MAX_SHORT_LENGTH * len(here)
            if len(place.texts) < _TEXTS:
                place.texts.extend(d.exact for d in here)

    def significant_changes(self, delta: Delta) -> list[Difference]:
        """The differences that are the page's own; none when the page did not change."""
        stamped = _restamped_shapes(delta)
        own = [d for d in delta.differences if not self._is_site_wide(d, stamped)]
        exchanged = self._exchanged(own)
        return [d for d in own if d.exact not in exchanged and not self._is_widget(d, stamped)]

    def _exchanged(self, differences: list[Difference]) -> set[int]:
        """Both texts of each exchange where one moves between pages: the other may be rare by chance."""
        wanderers = {d.after for d in differences if self._is_wanderer(d)}
        if not wanderers:
            return set()
        sides = Counter((d.after, d.gone) for d in differences)
        pairs = {after for after in wanderers if sides[after, True] == sides[after, False] == 1}
        return {d.exact for d in differences if d.after in pairs}

    @property
    def change_history(self) -> dict[int, ChangeHistory]:
        """The change history of the site after this run."""
        if not self._compared:
            return dict(self._change_history)
        changed = {k: n for k, n in self._restamped.items() if n >= MIN_AGREEING_PAGES}
        changed.update({k: place.turned for k, place in self._places.items() if _may_be_widget(place)})
        if max(self._weight, self._compared) <= SAMPLE_SIZE:
            # on a small site only many runs reveal a pool of texts
            changed.update(self._left)
        return update_history(self._change_history, {k: self._share(n, k) for k, n in changed.items()}, self._held)

    def _is_site_wide(self, d: Difference, stamped: set[int]) -> bool:
        if d.flags & FRAME or (d.shape in stamped and self._is_counter(d)):
            return True
        if d.flags & FACT:
            return False  # all prices may rise at once
        return self._is_shared(d)

    def _is_counter(self, d: Difference) -> bool:
        """Whether its figures change inside the same words on many pages that have these, in this run or usually."""
        if d.flags & FACT:
            return self._is_usual(d.shape, MIN_USUAL_PLACE_SHARE)
        changed = self._restamped[d.shape]
        if changed >= MIN_AGREEING_PAGES and self._share(changed, d.shape) >= MIN_RESTAMPED_SHARE:
            return True
        return self._is_usual(d.shape, MIN_USUAL_FIGURE_SHARE)

    def _is_shared(self, d: Difference) -> bool:
        """Whether the same text came or went on most pages of the site, or beside the same text on most with it."""
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
        """Whether a text left some pages and came to others, and few kept it. Never a link: lists shift theirs."""
        gone, came = self._gone[d.exact], self._came[d.exact]
        return min(gone, came) >= 1 and not d.flags & LINK and self._share(gone + came, d.exact) >= MIN_CHANGED_SHARE

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
        if place is None or place.turned < MIN_AGREEING_PAGES or self._share(place.turned, k) < MIN_CHANGED_SHARE:
            return False
        repeated = sum(1 for text in place.texts if self._gone[text] + max(self._came[text], self._held[text]) >= 2)
        if place.links * 2 > place.turned or repeated * 2 > len(place.texts):
            return True
        is_all = place.turned >= MIN_WIDGET_PAGES and self._share(place.turned, k) >= NEARLY_ALL_SHARE
        return is_all and place.short * 2 > place.turned

    def _share(self, changed: float, k: int) -> float:
        """The share of the pages that have or had a key that changed it."""
        gone, came = self._gone[k], self._came[k]
        return changed / max(changed, 1, max(gone - came, 0) + max(came, self._held[k]))

    def _is_usual(self, k: int, share: float) -> bool:
        history = self._change_history.get(k)
        return history is not None and history.runs >= MIN_USUAL_RUNS and history.share >= share


def build_significance_model(
    learnt: Mapping[int, ChangeHistory],
    deltas: Callable[[], Iterable[Delta]],
    sample: Iterable[tuple[Iterable[int], float]],
) -> SignificanceModel:
    """The model of a run. ``deltas`` is called twice and gives the deltas of all pages whose body differs.

    ``sample`` holds the :func:`crawler.parse.snapshot.diff.content_keys` of up to ``SAMPLE_SIZE`` of all pages compared
    in this run, changed or not, each with the number of pages that it stands for.
    """
    model = SignificanceModel(learnt)
    for delta in deltas():
        model.add(delta)
    for keys, weight in sample:
        model.add_sample(keys, weight)
    for delta in deltas():
        model.add_second_pass(delta)
    return model


def _restamped_shapes(delta: Delta) -> set[int]:
    """The shapes that a page lost and gained: the same words with other figures."""
    return {d.shape for d in delta.differences if d.gone} & {d.shape for d in delta.differences if not d.gone}


def _may_be_widget(place: _PlaceCounts) -> bool:
    """Whether to keep the history of a place: it turned over on many pages, or to other links on a few."""
    return place.turned >= MIN_AGREEING_PAGES or (place.turned >= 2 and place.links * 2 > place.turned)


def _is_whole(here: list[Difference]) -> bool:
    """Whether a whole place came or went."""
    return len({d.gone for d in here}) == 1 and len(here) >= sum({d.spot: d.among for d in here}.values())


def _neighbourhood(d: Difference) -> list[tuple[bool, int, int]]:
    """What a difference may share with those of other pages: direction, place or neighbour, text or its shape."""
    return [(d.gone, near, k) for near in (d.place, d.after, d.ahead) if near for k in (d.exact, d.shape)]


def _forget_singletons(counted: Counter[int] | Counter[tuple[bool, int, int]]) -> None:
    """Drop keys that occurred once when there are too many."""
    if len(counted) > _MAX_KEYS:
        for k in [k for k, n in counted.items() if n <= 1]:
            del counted[k]
