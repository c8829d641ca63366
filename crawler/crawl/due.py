"""Decides which URLs a run asks for that need not ask for all, and when it asks for all after all. Pure.

Real sites change 0.2 % of their pages a day, and no model of change tells which. So a run asks for what somebody says
has changed (the site's own sitemap, Git, a list), for what is not settled, and in rotation for the rest. Times are Unix
times in seconds.
"""

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from msgspec import Struct

DAY: Final = 86_400.0
MIN_PAGES: Final = 100
"""A smaller site is always asked for all of its pages: that costs less than the rules for it."""
MAX_SIGNALLED: Final = 0.2
"""Share of the pages that may be signalled: more is a change of the whole site."""
RECENT_SHARE: Final = 0.05
"""Share of the pages, those that changed last, that are asked in each run without a signal."""
FIRST_SIBLINGS: Final = 4
"""Pages of a group that are asked at first because one of the group changed."""
MIN_CHANGED: Final = 0.1
"""Share of the siblings that must have changed for as many more to be asked."""
USUAL_SHARE: Final = 0.05
USUAL_PAGES: Final = 20
"""What is expected of the rotation before anything is known of a site: the share that changed, of so many pages."""


MIN_EXCESS: Final = 0.1
"""Share of the rotation that must have changed beyond what is usual, for the whole site to be asked."""


class Cause(StrEnum):
    """Why a run asks for a known URL. A new URL, and one in a run that asks for all, has none."""

    LISTING = "it leads to other pages"
    SIGNALLED = "the site or a list says that it changed"
    UNSETTLED = "its last visit failed or its state changed"
    LOST_LINK = "a page links to it no more"
    ROTATION = "its last visit is among the oldest"
    RECENT = "it changed lately"
    SIBLING = "a page beside it changed"


class KnownPage(NamedTuple):
    """A page that an earlier run asked for: when last, when it changed last (0: never), and why it is due anyway."""

    id: int
    asked: float
    changed: float = 0.0
    cause: Cause | None = None


class Trust(Struct, frozen=True):
    """What earlier runs saw, old runs ever less: how far a signal can be relied on, and what the rotation brings.

    Of the pages that had changed, ``announced`` were signalled, and runs found ``missed`` others. ``idle`` pages were
    signalled and had not changed. Of ``rotated`` pages, ``moved`` had changed or were lost.
    """

    announced: float = 0.0
    missed: float = 0.0
    idle: float = 0.0
    rotated: float = 0.0
    moved: float = 0.0

    FADING = 0.98
    """What a run counts for after the next one: about fifty runs matter."""

    @property
    def is_reliable(self) -> bool:
        """Whether most changes are announced, as far as is known: nothing is, without a signal."""
        return self.announced > 0 and (self.missed < 5 or self.announced >= self.missed)

    @property
    def is_complete(self) -> bool:
        """Whether every change was announced lately, so that what is beside an announced one need not be asked."""
        return self.announced > 0 and self.missed < 1

    @property
    def is_noise(self) -> bool:
        """Whether hardly anything that is signalled has changed, as with the time of a build on each page."""
        return self.idle > 100 and self.announced < 0.05 * self.idle

    def after(self, announced: int, missed: int, idle: int, rotated: int, moved: int) -> "Trust":
        """What is known after a run with these counts."""
        fading = self.FADING
        return Trust(
            self.announced * fading + announced,
            self.missed * fading + missed,
            self.idle * fading + idle,
            self.rotated * fading + rotated,
            self.moved * fading + moved,
        )

    def is_beyond_chance(self, rotated: int, moved: int) -> bool:
        """Whether more of the pages asked in rotation changed or were lost than earlier runs let one expect.

        At least three, three standard deviations above the expectation, and by a tenth of these pages.
        """
        usual = (self.moved + USUAL_SHARE * USUAL_PAGES) / (self.rotated + USUAL_PAGES)
        expected = rotated * usual
        margin = max(3 * math.sqrt(expected * (1 - usual)), MIN_EXCESS * rotated)
        return moved >= 3 and moved > expected + margin


def scattered(number: int) -> int:
    """The place of an id in an order in which neighbours are far apart (Knuth, TAOCP 3, 6.4: multiplicative hash)."""
    return number * 2654435761 & 0xFFFFFFFF


def choose(
    pages: Iterable[KnownPage], total: int, now: float, elapsed: float, days: int, trust: Trust
) -> dict[int, Cause]:
    """The pages that are due in a run that starts ``now``, of ``total`` pages, with the cause of each.

    Each page is asked within so many ``days``. ``elapsed`` are the seconds since the previous run: the next one is
    expected after as many.
    """
    bound = days * DAY
    latest = now - bound + elapsed  # a page that was asked before would be too old at the next run
    quota = math.ceil(total * min(1.0, elapsed / bound))
    due: dict[int, Cause] = {}
    recent: list[tuple[float, int]] = []

    def candidates() -> Iterator[tuple[float, int, int]]:
        for page in pages:
            if page.cause:
                due[page.id] = page.cause
            elif page.asked <= latest:
                due[page.id] = Cause.ROTATION
            if page.changed and not trust.is_reliable:
                recent.append((-page.changed, page.id))
            yield page.asked, scattered(page.id), page.id

    oldest = heapq.nsmallest(quota, candidates())
    for _, _, number in oldest:
        due.setdefault(number, Cause.ROTATION)
    for _, number in heapq.nsmallest(math.ceil(total * RECENT_SHARE), recent):
        due.setdefault(number, Cause.RECENT)
    return due


def groups_of(path: str) -> tuple[str, str]:
    """The groups of a page: its folder, and its name in other folders, such as other languages or versions."""
    folder, _, name = path.rstrip("/").rpartition("/")
    return f"{folder}/", name


def siblings(changed: Iterable[str], asked: Iterable[tuple[str, bool]], others: Iterable[tuple[int, str]]) -> list[int]:
    """The ids of the next pages to ask because pages beside them changed, by the paths or URLs of all of them.

    ``changed`` are the pages of this run that changed. ``asked`` are those that were asked as siblings, and whether
    each had changed; ``others`` those that this run did not ask for. The siblings of a group double as long as enough
    of them changed.
    """
    tally: dict[str, list[int]] = {group: [0, 0] for path in changed for group in groups_of(path)}
    for path, has_changed in asked:
        for group in groups_of(path):
            counts = tally.setdefault(group, [0, 0])
            counts[0] += 1
            counts[1] += has_changed
    room = Counter(
        {
            group: count or FIRST_SIBLINGS
            for group, (count, news) in tally.items()
            if not count or news >= MIN_CHANGED * count
        }
    )
    if not room:
        return []
    most = room.total()
    near: defaultdict[str, list[tuple[int, int, tuple[str, str]]]] = defaultdict(list)
    for number, path in others:
        groups = groups_of(path)
        for group in room.keys() & groups:
            near[group].append((scattered(number), number, groups))
            if len(near[group]) > 2 * most:  # one folder may have all pages
                near[group] = heapq.nsmallest(most, near[group])
    found = []
    for _, number, groups in sorted({page for pages in near.values() for page in pages}):
        if with_room := [group for group in groups if room[group] > 0]:
            room[with_room[0]] -= 1
            found.append(number)
    return found
