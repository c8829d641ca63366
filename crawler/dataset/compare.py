"""Compares two crawls page by page and field by field, and groups what differs by its cause. Pure.

A title, description or heading that differs in digits alone has a counter or a nonce. A count of a page differs in one
of three ways: few pages of the site differ in it, because boxes draw on all pages; the pages of its section that differ
do so in one direction, because boxes draw in both; or it differs by more than chance. What several pages have now in
place of different texts has one cause. So has what is empty now, and what the same words were added to or taken from. A
page that answers 404 or 410 now is gone, and one that redirects moved: it has no fields to compare. If pages still link
to what is gone, or to what never was there, these links are broken.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import sqrt
from statistics import median_low
from string import ascii_letters, digits
from typing import Final, NamedTuple

from msgspec import Struct

from crawler.model import Url
from crawler.moves.patterns import pattern_of, spelling
from crawler.parse.snapshot.text import common_prefix
from crawler.units import count_text
from crawler.url.normalize import origin_of, path_and_query, section_of

TEXTS: Final = ("robots", "canonical", "target", "title", "description", "h1", "language", "content_type")
"""Columns of ``pages`` that are compared as texts."""
COUNTING: Final = frozenset({"title", "description", "h1"})
"""Those of them that may hold a counter or a nonce."""
DRAWN: Final = ("words", "inlinks", "outlinks", "external_outlinks", "images")
"""Columns of ``pages`` that count what boxes may draw at each visit."""
DECIDED: Final = ("alternates", "h1_count")
"""Columns that count what a template decides."""
FIELDS: Final = ("state", "status", *TEXTS, "depth", *DRAWN, *DECIDED)
"""All columns that are compared, by what a difference costs: what keeps a page out of search comes first."""
BROKEN: Final = "broken-links"
"""The field of targets that links lead to and that are not there now."""
_ORDER: Final = ("state", "robots", "status", "pages", BROKEN, *FIELDS)
_SHOWN_BY: Final = {"state": frozenset({"robots", "canonical", "target"}), "h1": frozenset({"h1_count"})}
"""Fields that decide another one, or say the same: on the same pages, both have one cause."""
_ADDRESSES: Final = frozenset({"canonical", "target"})
LEAST_DIFFERENCE: Final = 3
"""A count that boxes may draw and that differs by less is no difference."""
LEAST_DEEPER: Final = 2
"""Clicks by which a page must be deeper or higher."""
WHOLE: Final = frozenset({"complete", "carried"})
"""Completeness of a run that saw the whole site: of the pages that it did not ask for, it has the earlier visits."""
SWAPPED: Final = {"inlinks": "swapped inlinks", "outlinks": "swapped outlinks"}
"""The values of an earlier page that say how many links to it, and on it, came and went since; None if nobody knows."""
_PAGES: Final = frozenset({"indexable", "noindex", "canonical elsewhere", "soft 404"})  # states with texts
_GONE: Final = frozenset({404, 410})
_CHANCE: Final = 4.0
"""Standard deviations by which two counts must differ that boxes draw: chance does so on one page of 16,000."""
_FEW: Final = 0.05
"""Share of the pages up to which a count that boxes may draw differs for a reason of these pages."""
_EXAMPLES: Final = 3
_WORD: Final = ascii_letters + digits
_figures = re.compile(r"\d+").sub
_MAX_SHOWN: Final = 80  # characters of a value


Values = Mapping[str, str | int | None]


class ComparedPage(Struct, frozen=True):
    """One page of a crawl with the values of :data:`FIELDS`."""

    url: str
    values: Values


class Difference(NamedTuple):
    """What differs on one page: the field, and the words that name the cause. ``counts`` are those before and after."""

    url: str
    field: str
    cause: str
    counts: tuple[int, int] | None = None


class PageChange(NamedTuple):
    """A URL with its value before and after."""

    url: str
    before: str | int | None
    after: str | int | None


class Group(Struct, frozen=True):
    """Differences with one cause. ``sections`` are the first folders of the pages, each with their number.

    ``median`` is that of a count, before and after. ``by`` has what else differs on these pages for the same cause.
    ``all`` has each page, if that is wanted.
    """

    field: str
    cause: str
    pages: int
    sections: dict[str, int]
    examples: list[str]
    median: tuple[int, int] | None = None
    by: list["Group"] = []
    all: list[PageChange] = []

    @property
    def words(self) -> str:
        """The cause with its numbers and with what says the same."""
        median = (
            f" ({'' if self.pages == 1 else 'median '}{self.median[0]:,} → {self.median[1]:,})" if self.median else ""
        )
        return "; ".join([self.cause + median, *(f"{group.field}: {group.words}" for group in self.by)])

    @property
    def fields(self) -> set[str]:
        """All fields that differ on these pages for this cause."""
        return {self.field, *(group.field for group in self.by)}


class Comparison(Struct, frozen=True):
    """What differs between two crawls. ``gone`` is None if the later crawl did not see the whole site.

    ``unasked`` of the pages that are gone were not requested, because nothing led to them.
    """

    both: int
    new: int
    gone: int | None
    moved: int
    groups: list[Group]
    unasked: int = 0


def compare(
    before: Iterable[ComparedPage],
    after: Iterable[ComparedPage],
    *,
    is_whole: bool,
    was_whole: bool = True,
    lists_all: bool = False,
) -> Comparison:
    """What differs in the later crawl. ``is_whole``: it saw the whole site, so that pages without a row are gone.

    ``was_whole`` is the same of the earlier one: links that it did not see may have been broken then.
    """
    earlier = {page.url: page for page in before}
    later = {page.url: page for page in after}
    found: list[Difference] = []
    alike: list[str] = []
    unasked = [url for url in earlier.keys() - later.keys() if is_whole and earlier[url].values["state"] == "indexable"]
    lost: list[str] = []
    moves: dict[str, str] = {}
    vain: list[str] = []
    for url in earlier.keys() & later.keys():
        old, new = earlier[url].values, later[url].values
        if old["state"] == "indexable" and new["state"] == "redirect":
            target = later.get(str(new["target"]))
            if target and target.values["status"] in _GONE:
                vain.append(url)
            else:
                moves[url] = str(new["target"])
            continue
        if old["state"] == "indexable" and new["status"] in _GONE:
            lost.append(url)
            continue
        found += _state_differences(url, old, new)
        if old["state"] == new["state"] or {old["state"], new["state"]} <= _PAGES:
            alike.append(url)
    counted = [url for url in alike if {earlier[url].values["state"], later[url].values["state"]} == {"indexable"}]
    for name in (*DRAWN, *DECIDED):
        found += _count_differences(name, {url: (earlier[url].values, later[url].values) for url in counted})
    found += _moves(moves)
    for name in TEXTS:
        pairs = {url: (_masked(earlier[url], name), _masked(later[url], name)) for url in alike}
        found += _text_differences(name, {url: pair for url, pair in pairs.items() if pair[0] != pair[1]})
    added = [url for url in later.keys() - earlier.keys() if later[url].values["state"] == "indexable"]
    found += (Difference(url, "pages", "new") for url in added)
    found += (Difference(url, "pages", "gone") for url in lost)
    found += (Difference(url, "pages", "gone, but not requested: nothing leads there now") for url in unasked)
    found += (Difference(url, "pages", "gone, and redirects to a page that is not there") for url in vain)
    broken = _broken_targets(later) - _broken_targets(earlier)
    broken &= broken if was_whole else earlier.keys()
    links = sum(int(later[url].values["inlinks"] or 0) for url in broken)
    cause = f"a missing page now, the target of {count_text(links, 'link')}"
    found += (Difference(url, BROKEN, cause) for url in broken)
    sides = (earlier, later) if lists_all else ()
    both = len(earlier.keys() & later.keys())
    gone = len(lost) + len(vain) + len(unasked) if is_whole else None
    return Comparison(both, len(added), gone, len(moves), list(_groups(found, sides)), len(unasked))


def _broken_targets(pages: Mapping[str, ComparedPage]) -> set[str]:
    """The URLs that pages link to, and that answer 404 or 410, also after redirects."""
    found = set()
    for url, page in pages.items():
        seen, last = {url}, page
        while (
            (target := str(last.values["target"])) in pages
            and last.values["state"] == "redirect"
            and not {target} & seen
        ):
            seen.add(target)
            last = pages[target]
        if page.values["inlinks"] and last.values["status"] in _GONE:
            found.add(url)
    return found


def _moves(targets: Mapping[str, str]) -> Iterator[Difference]:
    """Where pages moved, by URL, in words that are the same for pages that moved alike."""
    ways: dict[str, str] = {}
    for url, target in targets.items():
        old, new = Url(url), Url(target)
        if origin_of(old) == origin_of(new):
            pattern = pattern_of(spelling(path_and_query(old)), spelling(path_and_query(new)))
            ways[url] = " → ".join("/".join(("", *side, "")) for side in pattern)
        else:
            ways[url] = f"to {origin_of(new)}"
    counts, targeted = Counter(ways.values()), Counter(targets.values())
    for url, way in ways.items():
        path, place = (path_and_query(Url(each)) for each in (url, targets[url]))
        alone = f"{path} → {place}" if targeted[targets[url]] == 1 else f"to {place}"
        yield Difference(url, "pages", f"moved: {alone if counts[way] == 1 and ' → ' in way else way}")


def _masked(page: ComparedPage, name: str) -> str:
    text = str(page.values[name] or "")
    has_words = name in COUNTING and any(map(str.isalpha, text))
    return _figures("#", text) if has_words else text  # a figure in a URL, or one alone, is a part of its name


def _text_differences(name: str, pairs: Mapping[str, tuple[str, str]]) -> Iterator[Difference]:
    """The differences of a text, from its values before and after, by URL."""
    before: defaultdict[str, set[str]] = defaultdict(set)
    ways: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for old, new in pairs.values():
        before[new].add(old)
        ways[_text_cause(old, new)].add((old, new))
    for url, (old, new) in pairs.items():
        if not new:
            yield Difference(url, name, "is empty now")
        elif not old or len(before[new]) > 1:
            yield Difference(url, name, f"now {_quoted(new)}")
        else:
            cause = _text_cause(old, new)
            is_alone = name in _ADDRESSES and len(ways[cause]) == 1
            yield Difference(url, name, f"{_quoted(old)} → {_quoted(new)}" if is_alone else cause)


def _state_differences(url: str, old: Values, new: Values) -> Iterator[Difference]:
    if old["state"] != new["state"]:
        yield Difference(url, "state", f"{old['state']} → {new['state']}")
    elif old["status"] != new["status"]:
        yield Difference(url, "status", f"{old['status']} → {new['status']}")
    elif old["state"] == "indexable" and old["depth"] is not None and new["depth"] is not None:
        clicks = int(new["depth"]) - int(old["depth"])
        if abs(clicks) >= LEAST_DEEPER:
            depths = int(old["depth"]), int(new["depth"])
            yield Difference(url, "depth", f"{_more(clicks)} clicks from the start", depths)


def _count_differences(name: str, pages: Mapping[str, tuple[Values, Values]]) -> Iterator[Difference]:
    """The differences of a count, from the values of pages before and after, by URL."""
    pairs = {
        url: (int(old), int(new), before.get(SWAPPED.get(name, "")))
        for url, (before, after) in pages.items()
        if (old := before[name]) is not None and (new := after[name]) is not None
    }
    changed = {url: pair for url, pair in pairs.items() if pair[0] != pair[1]}
    is_still = len(changed) <= _FEW * len(pairs)
    least = LEAST_DIFFERENCE if name in DRAWN else 1
    ways = Counter((section_of(url), new > old) for url, (old, new, _) in changed.items())
    for url, (old, new, swapped) in changed.items():
        one, other = (ways[section_of(url), is_more] for is_more in (new > old, new < old))
        is_trend = one - other > _CHANCE * sqrt(one + other)
        if is_trend or (is_still and abs(new - old) >= least) or _is_more_than_chance(name, old, new, swapped):
            cause = "none now" if not new else "were none" if not old else _more(new - old)
            yield Difference(url, name, cause, (old, new) if old and new else None)


def _more(difference: int) -> str:
    return "more" if difference > 0 else "fewer"


def _is_more_than_chance(name: str, old: int, new: int, swapped: str | int | None) -> bool:
    few, many = sorted((old, new))
    if few == 0:  # a page that no other links to is more than chance
        return many >= (LEAST_DIFFERENCE if name in DRAWN and name != "inlinks" else 1)
    if name in DECIDED:
        return many >= 2 * few and many - few >= LEAST_DIFFERENCE
    known = 0 if swapped is None else int(swapped)
    drawn = known if known >= many - few else many + few  # boxes draw no more than what came and went
    return many - few >= max(LEAST_DIFFERENCE, _CHANCE * sqrt(drawn))  # of two counts of Poisson


def _text_cause(old: str, new: str) -> str:
    """What happened to a text that is neither new nor empty now, in words that are the same on pages with one cause."""
    start = common_prefix(old, new)
    end = common_prefix(old[start:][::-1], new[start:][::-1])
    if {*old[start : start + 1], *new[start : start + 1]} & {*_WORD}:  # whole words: not "s" of "https"
        start = len(old[:start].rstrip(_WORD))
    tails = old[: len(old) - end], new[: len(new) - end]
    if {tail[-1:] for tail in tails} & {*_WORD}:
        end = len(old[len(old) - end :].lstrip(_WORD))
    removed, added = old[start : len(old) - end], new[start : len(new) - end]
    if removed and added:
        return f"{_quoted(removed)} → {_quoted(added)}"
    return f"without {_quoted(removed)}" if removed else f"with {_quoted(added)}"


def _quoted(text: str) -> str:
    return f'"{text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "…"}"'


def _groups(differences: Iterable[Difference], sides: Sequence[Mapping[str, ComparedPage]]) -> Iterator[Group]:
    """The differences by cause, the cause of most pages first. Causes of one page each are "changed", if several.

    ``sides`` have the pages before and after, if each is to be listed.
    """
    by_cause: defaultdict[tuple[str, str], list[Difference]] = defaultdict(list)
    for difference in differences:
        by_cause[difference.field, difference.cause].append(difference)
    alone = Counter(field for (field, _), found in by_cause.items() if field in TEXTS and len(found) == 1)
    merged: defaultdict[tuple[str, str], list[Difference]] = defaultdict(list)
    for (field, cause), found in by_cause.items():
        is_alone = len(found) == 1 < alone[field] and cause != "is empty now"
        merged[field, "changed" if is_alone else cause] += found
    groups: list[tuple[Group, set[str]]] = []
    for (field, cause), found in sorted(merged.items(), key=lambda item: (_ORDER.index(item[0][0]), item[0][1])):
        urls = sorted(difference.url for difference in found)
        counts = [*zip(*filter(None, (difference.counts for difference in found)), strict=True)]
        median = (median_low(counts[0]), median_low(counts[1])) if counts else None
        sections = dict(Counter(map(section_of, urls)).most_common())
        listed = [PageChange(url, *(_value(side.get(url), field) for side in sides)) for url in urls] if sides else []
        group = Group(field, cause, len(urls), sections, urls[:_EXAMPLES], median, all=listed)
        same = (one for one, pages in groups if field in _SHOWN_BY.get(one.field, ()) and pages.issuperset(urls))
        if shown := next(same, None):
            shown.by.append(group)
        else:
            groups.append((group, {*urls}))
    yield from sorted((group for group, _ in groups), key=lambda group: -group.pages)


def _value(page: ComparedPage | None, field: str) -> str | int | None:
    """The value of a page that a difference is about; of a redirect, where it leads."""
    if page is None:
        return None
    named = "target" if page.values["state"] == "redirect" else "state"
    return page.values[named if field in ("pages", BROKEN) else field]
