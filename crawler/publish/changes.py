"""The changes of the published set: their kinds and reasons, and how the changes of several runs combine. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import groupby
from operator import attrgetter
from typing import Final, Self

from msgspec import Struct, convert
from msgspec.structs import replace

from crawler.fetch.retry import FAILURES
from crawler.model import DiscoveredBy, State, Url
from crawler.publish.states import STATE_WORDS
from crawler.units import w3c
from sitemap import safe


class ChangeKind(StrEnum):
    """What happened to a URL. The last three remove it from the set."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"
    MOVED = "moved"
    DEINDEXED = "deindexed"


class Change(Struct, frozen=True, kw_only=True):
    """One URL that a run added, removed or found changed.

    ``target`` is where a moved URL leads now, or the canonical that replaced it. ``lastmod`` is the published date and
    ``before`` the previous one; both are W3C datetimes or "". ``run`` is the number of the run and ``at`` its start, a
    W3C datetime in UTC.
    """

    url: Url
    kind: ChangeKind
    target: str = ""
    lastmod: str = ""
    before: str = ""
    reason: str
    run: int
    at: str


def change_of(row: Iterable[object], started: float) -> Change:
    """The change in a row with all its other fields, of a run that ``started`` at a Unix time."""
    return convert(dict(zip(Change.__struct_fields__, (*row, w3c(started)), strict=True)), Change)


class ChangeCounts(Struct, kw_only=True):
    """The number of changes of each kind."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    moved: int = 0
    deindexed: int = 0

    @classmethod
    def of(cls, changes: Iterable[Change]) -> Self:
        """Count the changes."""
        counts = cls()
        for change in changes:
            counts.count(change)
        return counts

    def count(self, change: Change) -> None:
        """Count one change."""
        name = change.kind.value
        setattr(self, name, getattr(self, name) + 1)

    @property
    def total(self) -> int:
        """The number of all changes."""
        return self.added + self.changed + self.removed + self.moved + self.deindexed


class ChangeSample:
    """Yields the first ``limit`` changes of each kind (0: all), and counts them all."""

    def __init__(self, changes: Iterable[Change], limit: int) -> None:
        self._changes = changes
        self._limit = limit
        self.counts = ChangeCounts()

    def __iter__(self) -> Iterator[Change]:
        for change in self._changes:
            self.counts.count(change)
            if not self._limit or getattr(self.counts, change.kind) <= self._limit:
                yield change


# -------------------------------------------------------------------- reasons

_DISCOVERY_TEXTS: Final = {
    DiscoveredBy.LINK: "a link",
    DiscoveredBy.FRAME: "a frame",
    DiscoveredBy.REDIRECT: "a redirect",
    DiscoveredBy.REFRESH: "a refresh",
    DiscoveredBy.CANONICAL: "a canonical",
    DiscoveredBy.ALTERNATE: "an alternate",
    DiscoveredBy.PAGINATION: "next or prev",
    DiscoveredBy.AMP: "an AMP link",
    DiscoveredBy.SITEMAP: "the site's own sitemap",
    DiscoveredBy.FEED: "a feed",
    DiscoveredBy.NOFOLLOW: "a nofollow link",
    DiscoveredBy.PREVIOUS_RUN: "an earlier sitemap",
}

_DEINDEXED: Final = {State.NOINDEX, State.CANONICAL_ELSEWHERE, State.ROBOTS}

NO_LONGER_LINKED: Final = "nothing leads to it any more"
ONLY_DATE: Final = "its content did not change, only its date"
"""The reason of a change for which no search engine needs to visit the page: another policy of dates, or a rollback."""


def why_added(found: int, source: str, before: State | None, reason_before: str) -> str:
    """Why a URL is newly listed: how and where it was found, or what kept it out ``before``.

    ``found`` are flags of DiscoveredBy, ``source`` is the URL on which it was first found or "". ``before`` is its
    state in the last run that met it, None for none, and ``reason_before`` the reason.
    """
    if before and (again := STATE_WORDS[before].again):
        text = f" (before: {reason_before})" if reason_before else ""
        return f"{again}{text}"
    if found & DiscoveredBy.SEED:
        return "it is the start URL"
    discoveries = [discovery for flag, discovery in _DISCOVERY_TEXTS.items() if found & flag]
    text = f"found by {' and '.join(discoveries)}" if discoveries else "found"
    return f"{text}, first on {source}" if source else text


def why_delisted(state: State | None, reason: str, failures: int = 0) -> tuple[ChangeKind, str]:
    """The kind and reason of a removal: ``state`` is the URL's state in this run, None when it was not met.

    ``failures`` is the number of runs in a row in which it failed, including this one.
    """
    if state is None or state is State.UNLINKED:
        return ChangeKind.REMOVED, reason or NO_LONGER_LINKED
    if state is State.PENDING:
        return ChangeKind.REMOVED, "not visited: the crawl was cut short"
    if state is State.REDIRECT:
        return ChangeKind.MOVED, reason or state.value
    if state in _DEINDEXED:
        return ChangeKind.DEINDEXED, reason or state.value
    if state in FAILURES and failures > 1:
        return ChangeKind.REMOVED, f"{reason or state.value}, in {failures} runs in a row"
    if state is State.INDEXABLE:
        return ChangeKind.REMOVED, f"a sitemap cannot list it{f' ({reason})' if reason else ''}"
    return ChangeKind.REMOVED, reason or state.value


# -------------------------------------------------------------------- several runs

_DELISTING: Final = {ChangeKind.REMOVED, ChangeKind.MOVED, ChangeKind.DEINDEXED}


def merge_changes(changes: Iterable[Change], moves: Mapping[Url, Change]) -> Iterator[Change]:
    """Combine the changes of several runs into the changes from before the first to after the last.

    ``changes`` are sorted by URL, and those of one URL by run; the result is sorted by URL, with at most one change for
    each. A URL that was added and removed has no change, nor has one whose date alone changed, and changed back. One
    that was removed and came back is ``changed``. A move leads to its final target: ``moves`` are the lasting moves
    (:func:`lasting_moves`).
    """
    for _, url_changes in groupby(changes, key=attrgetter("url")):
        merged: Change | None = None
        for change in url_changes:
            merged = _merge_two(merged, change)
        if merged is not None:
            yield _with_final_target(merged, moves)


def lasting_moves(changes: Iterable[Change]) -> dict[Url, Change]:
    """The moves that are the last change of their URL. ``changes`` are sorted by URL and then by run."""
    moves = {}
    for url, url_changes in groupby(changes, key=attrgetter("url")):
        *_, last = url_changes
        if last.kind is ChangeKind.MOVED:
            moves[url] = last
    return moves


def _merge_two(earlier: Change | None, later: Change) -> Change | None:
    """Combine two changes of a URL; ``earlier`` is None when there was none, or they cancelled out."""
    if earlier is None:
        return later
    if later.kind in _DELISTING:
        return None if earlier.kind is ChangeKind.ADDED else replace(later, before=earlier.before)
    if earlier.kind in _DELISTING:
        reason = f"back after it was {earlier.kind} ({earlier.reason})"
        return replace(later, kind=ChangeKind.CHANGED, before=earlier.before, reason=reason)
    if earlier.kind is ChangeKind.ADDED:
        return replace(later, kind=ChangeKind.ADDED, before=earlier.before, reason=earlier.reason)
    if earlier.reason == later.reason == ONLY_DATE and earlier.before == later.lastmod:
        return None
    return replace(later, before=earlier.before, reason=earlier.reason if later.reason == ONLY_DATE else later.reason)


def _with_final_target(change: Change, moves: Mapping[Url, Change]) -> Change:
    """A move with its current target. Each followed move is of a later run, so the loop ends."""
    if change.kind is not ChangeKind.MOVED:
        return change
    target, reason, run = change.target, change.reason, change.run
    while (next_move := moves.get(Url(target))) is not None and next_move.run > run:
        target, reason, run = next_move.target, f"{reason}, then {next_move.reason}", next_move.run
    return replace(change, target=target, reason=reason)


def sample_lines(shown: Iterable[Change], counts: ChangeCounts) -> list[str]:
    """The lines for a sample of changes, and the ``counts`` of all."""
    groups: dict[ChangeKind, list[Change]] = {kind: [] for kind in ChangeKind}
    for change in shown:
        groups[change.kind].append(change)
    lines = [counts_text(counts)]
    for kind, group in groups.items():
        if group:
            lines += ["", kind.value, *(_line(change) for change in group)]
        if group and (more := getattr(counts, kind) - len(group)) > 0:
            lines.append(f"  … {more:,} more")
    return lines


def counts_text(counts: ChangeCounts) -> str:
    """The counts in words: ``3 added, 1 removed``."""
    numbers = ((getattr(counts, kind), kind) for kind in ChangeKind)
    return ", ".join(f"{number:,} {kind}" for number, kind in numbers if number) or "nothing changed"


def _line(change: Change) -> str:
    target = f" → {safe(change.target)}" if change.target else ""
    return f"  {safe(change.url)}{target}{_dates(change)}  ({safe(change.reason)})"


def _dates(change: Change) -> str:
    if change.kind is not ChangeKind.CHANGED or change.before == change.lastmod:
        return ""
    return f"  {change.before or 'no date'} → {change.lastmod or 'no date'}"
