"""What is wrong with what was published after a night: judged from what was answered, and from nothing else."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from .server import Night
from .site import Site

MAX_SHRINK, FEW = 0.2, 5  # fewer pages than this are never too many
FEWEST_HELD = 3  # but the gate may hold as few as this


@dataclass
class NightReport:
    """What a night was, what was published, and what is wrong with that. Counts are of pages published before."""

    what: str
    extent: str
    exit: int
    before: int
    after: int
    good: int  # answered as ever
    failing: int
    leaving: int
    standing_in: int
    lost: int
    moved: int
    junk: int  # listed now, and no page of the site
    notes: list[str]
    said: str = ""
    pages: list[str] = field(default_factory=list)  # those that left or got a new date, with what they answered
    wrong: list[str] = field(default_factory=list)
    weak: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        return "; ".join(f"WRONG: {each}" for each in self.wrong) or "; ".join(f"weak: {each}" for each in self.weak)

    @property
    def published(self) -> str:
        if not (self.lost or self.moved) and self.before == self.after:
            return "nothing" if self.exit else "the same set"
        parts = [f"{self.before} → {self.after}"]
        parts += [f"{self.lost} lost"] if self.lost else []
        parts += [f"{self.moved} moved"] if self.moved else []
        parts += [f"{self.junk} no pages"] if self.junk else []
        return ", ".join(parts)


def signature(site: Site, path: str) -> tuple[object, ...]:
    """All that readers of a page get from it, without what the template adds."""
    page = site.pages[path]
    links = [(each, site.pages[each].title) for each in page.listed if each in site.pages]
    return page.title, tuple(page.paragraphs), page.price, page.picture, tuple(links)


def edited(before: Site, now: Site) -> set[str]:
    return {path for path in now.pages.keys() & before.pages.keys() if signature(before, path) != signature(now, path)}


@dataclass
class Seen:
    """A night as it was: what was published before and after, and what became of each published page."""

    night: Night
    before: dict[str, str]
    after: dict[str, str]
    told: list[str]  # the occasions of which the owner was told
    edits: set[str]  # pages whose content is not that of the first night

    def __post_init__(self) -> None:
        pages = self.night.site.pages
        known = {path for path in self.before if path in pages}
        linked = self._linked()
        self.hits = {path: effect for path in known if (effect := self._effect(path, path in linked))}
        self.good = known - self.hits.keys()
        self.lost = {path for path in known if path not in self.after}
        same = known & self.after.keys() - self.edits
        self.moved = {path for path in same if self.before[path] != self.after[path]}
        self.junk = self.after.keys() - self.before.keys() - pages.keys() - self.night.migrated

    def _effect(self, path: str, is_linked: bool) -> str:
        """What the last answer of a page would do to it; a page that was not asked for is as good as unlinked.

        A run that asks only for what is due says nothing of the other pages.
        """
        kind = self.night.told.get(path)
        if kind:
            return kind.effect
        if path not in self.night.told:
            return "" if self.night.is_carried else "leave"
        return "" if is_linked else "unlinked"

    def _linked(self) -> set[str]:
        """The pages to which links lead from the start page, over pages that answered, or that fail only for now."""
        site, told = self.night.site, self.night.told
        found = {"/", *(self.before.keys() & site.pages.keys() if site.serves_sitemap else ())}
        todo = sorted(found)
        while todo:
            path = todo.pop()
            kind = told.get(path)
            if kind is None or kind.effect == "failure" or kind.is_whole:
                new = {each for each in [*site.sections, *site.links(site.pages[path])] if each in site.pages}
                new -= found | site.unlinked
                found |= new
                todo += new
        return found

    @property
    def alike(self) -> set[str]:
        """The pages that are hit by a kind that hits many."""
        kinds = {path: id(self.night.told.get(path)) for path in self.hits}
        sizes = Counter(kinds.values())
        return {
            path for path in kinds if sizes[kinds[path]] >= FEW and sizes[kinds[path]] > MAX_SHRINK * len(self.before)
        }

    def hit(self, *effects: str) -> set[str]:
        return {path for path, effect in self.hits.items() if effect in effects}

    def is_whole(self, path: str) -> bool:
        kind = self.night.told.get(path)
        return kind is None or kind.is_whole

    def many(self, pages: Collection[str], share: float = MAX_SHRINK) -> bool:
        return len(pages) >= FEW and len(pages) > share * len(self.before)

    def is_doubtful(self, pages: Collection[str]) -> bool:
        """Whether the gate may hold so many pages: on small sites it holds fewer than are many here."""
        return len(pages) >= FEWEST_HELD and len(pages) > MAX_SHRINK * len(self.before)

    def report(self) -> NightReport:
        disaster = self.night.disaster
        return NightReport(
            disaster.name if disaster else "good",
            disaster.extent if disaster else "",
            0,
            len(self.before),
            len(self.after),
            len(self.good),
            len(self.hit("failure")),
            len(self.hit("leave", "explicit")),
            len(self.hit("stand-in")),
            len(self.lost),
            len(self.moved),
            len(self.junk),
            self.told,
            pages=[f"{path} {'left' if path in self.lost else 'moved'}: {self.answer(path)}" for path in self.touched],
        )

    @property
    def touched(self) -> list[str]:
        return sorted(self.lost | self.moved)

    def answer(self, path: str) -> str:
        """What a page answered last, in words."""
        if path not in self.night.told:
            return "not asked for"
        kind = self.night.told[path]
        return kind.name if kind else "as ever" if path in self.good else "as ever, but not linked"


@dataclass
class Judge:
    """Knows what is true, and says what is wrong with what was published."""

    first: Site
    site: Site
    baseline: dict[str, str]  # what was published before the nights
    excused: set[str] = field(default_factory=set)  # pages that a night could rightly drop or date anew
    doubted: set[str] = field(default_factory=set)  # removed by editors, but in a landslide: held until accepted
    is_told: bool = False  # of a streak that goes on
    told_of: set[str] = field(default_factory=set)  # the disasters of the streak of which somebody was told

    def disaster(self, night: Night, before: dict[str, str], after: dict[str, str], told: list[str]) -> NightReport:
        hidden = night.site.unlinked
        shorter = {path for path, page in night.site.pages.items() if hidden.intersection(page.listed)}
        self.excused |= shorter  # lists without their entries, which are new content
        seen = Seen(night, before, after, told, edited(self.first, self.site) | shorter)
        report = seen.report()
        failing, leaving, stand_in = seen.hit("failure"), seen.hit("leave", "explicit"), seen.hit("stand-in")
        if seen.many(seen.hit("unlinked")):
            leaving |= seen.hit("unlinked")
        moved_on = {path for path in seen.lost if f"/new{path}" in after}
        leaving -= moved_on
        seen.lost -= moved_on
        self.excused |= (seen.lost | seen.moved) & seen.hits.keys() | seen.hit("rewritten") | moved_on
        is_slide, is_most = seen.many(leaving), seen.many(stand_in, 0.5)
        self.excused |= set() if is_most else stand_in
        removed = before.keys() - night.site.pages.keys()
        if seen.is_doubtful(leaving | stand_in | removed):
            self.doubted |= removed
        _add(report.wrong, seen.lost & seen.good, "good pages left")
        _add(report.wrong, seen.moved & seen.good, "dates of good pages moved")
        _add(report.wrong, seen.lost & failing, "failing pages left")
        _add(report.wrong, seen.moved & failing, "dates of failing pages moved")
        if is_slide:
            left = seen.lost & leaving
            _add(report.wrong, left & seen.alike, "pages left in a landslide")
            small = report.wrong if seen.many(left) else report.weak  # a few that have a reason of their own
            _add(small, left - seen.alike, "pages left beside a landslide")
            _add(report.wrong, seen.moved & leaving, "dates of doubtful pages moved")
        elif seen.many(seen.lost):
            _add(report.wrong, seen.lost, "pages left at once")
        if seen.many(stand_in):
            faults = report.wrong if is_most else report.weak
            _add(faults, (seen.lost | seen.moved) & stand_in, "pages took the place or date of a stand-in")
        if seen.many(seen.junk):
            _add(report.weak, seen.junk, "URLs listed that are no pages")
        is_lost_text = seen.many([path for path in stand_in if not seen.is_whole(path)], 0.5)
        report.wrong += self._heard(told, is_due=is_slide or is_lost_text or seen.many(failing), night=night)
        return report

    def _heard(self, told: list[str], *, is_due: bool, night: Night) -> list[str]:
        """What is wrong with what the owner heard. Whoever heard of a disaster hears no more of it until it ends."""
        was_told, disasters = self.is_told, {kind.name for kind, _ in night.disaster.parts} if night.disaster else set()
        is_news = not disasters <= self.told_of
        if "trouble" in told:
            self.told_of |= disasters
        if told and told[-1] != "trouble":
            self.told_of.clear()
        if told:
            self.is_told = told[-1] == "trouble"
        if is_due and "trouble" not in told and not was_told:
            return ["nobody was told"]
        return ["told again in one streak"] if told == ["trouble"] and was_told and not is_news else []

    def good(self, night: Night, before: dict[str, str], after: dict[str, str], told: list[str]) -> NightReport:
        """A night without a disaster: what is published is what is true.

        A run that asks only for what is due cannot know which of the other pages are gone, and what only they link to.
        """
        edits = edited(self.first, self.site)
        report = Seen(night, before, after, told, edits).report()
        was_dated = {path for path in self.baseline if path in after} - edits - self.excused
        missing = night.site.pages.keys() - after.keys()
        gone = after.keys() - night.site.pages.keys() - self.doubted
        if night.is_carried:
            missing &= {path for page in night.told for path in night.site.links(night.site.pages[page])}
            gone &= night.asked
        _add(report.wrong, missing, "true pages are not published")
        _add(report.wrong, gone, "URLs published that are no pages")
        _add(report.wrong, {p for p in was_dated if self.baseline[p] != after[p]}, "dates moved for no reason")
        if self._heard(told, is_due=False, night=night) or "trouble" in told:
            report.weak.append("told of trouble on a good night")
        return report


def _add(faults: list[str], pages: Collection[str], what: str) -> None:
    if pages:
        faults.append(f"{len(pages)} {what}, such as {min(pages)}")
