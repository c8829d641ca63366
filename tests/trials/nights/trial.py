"""One trial: good nights, drawn nights, good nights again; the command runs them, and what was answered judges them."""

import json
import random
import tempfile
import threading
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from forked import Ended, Forked, forked

from .answers import Reply
from .changes import Change, drawn_change
from .disasters import Disaster, drawn_disaster
from .server import Night, Server, serving
from .site import Site, made_site

ACCEPT_AFTER = 7  # runs and days, the default of --accept-after
MAX_SHRINK, FEW = 0.2, 5  # fewer pages than this are never too many
LONGEST = 100.0  # seconds for one run
SIZES = (10, 10, 65, 65, 65, 1000)
CONFIG = """
site = {{url = "{url}"}}
output = {{directory = "out", swap_delay = 0}}
pace = {{rate = 0, concurrency = 8, max_error_time = 10}}
fetch = {{retries = 0}}
parse = {{processes = 1}}
notify = {{check_live = false}}
hook = {{command = ["sh", "-c", "cat >> {notes}; echo >> {notes}"], on = ["trouble"]}}
"""
_NS = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


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


@dataclass
class TrialReport:
    """A trial; ``name`` is its seed and number, which draw it again."""

    name: str
    size: int
    plan: str
    nights: list[NightReport] = field(default_factory=list)

    @property
    def wrong(self) -> list[str]:
        return [f"night {n}: {each}" for n, night in enumerate(self.nights, 1) for each in night.wrong]

    @property
    def weak(self) -> list[str]:
        return [f"night {n}: {each}" for n, night in enumerate(self.nights, 1) for each in night.weak]

    def as_json(self) -> str:
        return json.dumps({**asdict(self), "wrong": self.wrong, "weak": self.weak})


class Product:
    """The command, in a folder of its own, by the clock of the nights."""

    def __init__(self, process: Forked, folder: Path, server: Server) -> None:
        self._process, self._folder, self._server = process, folder, server
        notes = folder / "notes"
        notes.touch()
        (folder / "site.toml").write_text(CONFIG.format(url=server.url, notes=notes))

    @property
    def out(self) -> Path:
        return self._folder / "out"

    def run(self, night: Night, *words: str) -> tuple[Ended, list[str]]:
        """One run; answers how it ended, and the occasions of what the owner was told."""
        self._server.night = night
        notes = self._folder / "notes"
        known = len(notes.read_text().splitlines())
        ended = self._process.run(self._folder, night.day, "run", "--config", "site.toml", "--json", *words)
        told = [json.loads(line)["occasion"] for line in notes.read_text().splitlines()[known:] if line]
        return ended, told

    def published(self) -> dict[str, str]:
        """Path → lastmod of the published set."""
        return dict(self._entries(self.out / "sitemap.xml"))

    def _entries(self, file: Path) -> Iterator[tuple[str, str]]:
        if not file.exists():
            return
        root = ET.parse(file).getroot()
        for each in root:
            loc = each.findtext(f"{_NS}loc", "")
            if root.tag == f"{_NS}sitemapindex":
                yield from self._entries(self.out / loc.rpartition("/")[2])
            else:
                parts = urlsplit(loc)
                yield (
                    unquote(parts.path) + (f"?{parts.query}" if parts.query else ""),
                    each.findtext(f"{_NS}lastmod", ""),
                )


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
        """What the last answer of a page would do to it; a page that was not asked for is as good as unlinked."""
        kind = self.night.told.get(path)
        if kind:
            return kind.effect
        return "" if is_linked and path in self.night.told else "leave"

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
        )


@dataclass
class Judge:
    """Knows what is true, and says what is wrong with what was published."""

    first: Site
    site: Site
    baseline: dict[str, str]  # what was published before the nights
    excused: set[str] = field(default_factory=set)  # pages that a night could rightly drop or date anew
    is_told: bool = False  # of a streak that goes on

    def disaster(self, night: Night, before: dict[str, str], after: dict[str, str], told: list[str]) -> NightReport:
        hidden = night.site.unlinked
        shorter = {path for path, page in night.site.pages.items() if hidden.intersection(page.listed)}
        self.excused |= shorter  # lists without their entries, which are new content
        seen = Seen(night, before, after, told, edited(self.first, self.site) | shorter)
        report = seen.report()
        failing, leaving, stand_in = seen.hit("failure"), seen.hit("leave", "explicit"), seen.hit("stand-in")
        moved_on = {path for path in seen.lost if f"/new{path}" in after}
        leaving -= moved_on
        seen.lost -= moved_on
        self.excused |= (seen.lost | seen.moved) & seen.hits.keys() | seen.hit("rewritten") | moved_on
        is_slide, is_most = seen.many(leaving), seen.many(stand_in, 0.5)
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
        report.wrong += self._heard(told, is_due=is_slide or is_lost_text or seen.many(failing))
        return report

    def _heard(self, told: list[str], *, is_due: bool) -> list[str]:
        """What is wrong with what the owner heard. Whoever heard of a streak hears no more until it ends."""
        was_told = self.is_told
        if told:
            self.is_told = told[-1] == "trouble"
        if is_due and "trouble" not in told and not was_told:
            return ["nobody was told"]
        return ["told again in one streak"] if told == ["trouble"] and was_told else []

    def good(self, night: Night, before: dict[str, str], after: dict[str, str], told: list[str]) -> NightReport:
        """A night without a disaster: what is published is what is true."""
        edits = edited(self.first, self.site)
        report = Seen(night, before, after, told, edits).report()
        was_dated = {path for path in self.baseline if path in after} - edits - self.excused
        _add(report.wrong, night.site.pages.keys() - after.keys(), "true pages are not published")
        _add(report.wrong, after.keys() - night.site.pages.keys(), "URLs published that are no pages")
        _add(report.wrong, {p for p in was_dated if self.baseline[p] != after[p]}, "dates moved for no reason")
        if self._heard(told, is_due=False) or "trouble" in told:
            report.weak.append("told of trouble on a good night")
        return report


def _add(faults: list[str], pages: Collection[str], what: str) -> None:
    if pages:
        faults.append(f"{len(pages)} {what}, such as {min(pages)}")


Judged = Callable[[Night, dict[str, str], dict[str, str], list[str]], NightReport]


@dataclass
class Trial:
    """Lives through one trial."""

    name: str
    sizes: Sequence[int] = SIZES

    def live(self, process: Forked, server: Server) -> TrialReport:
        dice = random.Random(f"night {self.name}")
        site = made_site(dice, dice.choice(self.sizes))
        with tempfile.TemporaryDirectory() as folder:
            self.product = Product(process, Path(folder), server)
            self.day = 0.0
            self.step = 1.0
            self.site = site
            self.gone: dict[str, Reply] = {}
            self.report = TrialReport(self.name, len(site.pages), "")
            self._live(dice)
        return self.report

    def _live(self, dice: random.Random) -> None:
        self.judge = Judge(self.site, self.site, {})
        for _ in range(dice.choice((1, 1, 2))):
            self._good("first")
        self.judge.baseline = self.product.published()
        if dice.random() < 0.25:
            self._change(dice)
        else:
            self._disasters(dice)
        if any(path.startswith("/new/") for path in self.product.published()):
            return  # a whole move, which need not be undone
        self._good("after")
        self._good("quiet")

    def _change(self, dice: random.Random) -> None:
        self.report.plan = "change"
        change = drawn_change(dice, self.site, int(self.day) + 1)
        self._apply(change)
        report = self._good(change.name)
        after = self.product.published()
        for path in sorted(change.edited):
            if path in after and self.judge.baseline.get(path) == after[path]:
                report.weak.append(f"the edit of {path} moved no date")
        if change.is_redesign and any("dates moved" in each for each in report.wrong):  # for the trials of lastmod
            report.weak += [each for each in report.wrong if "dates moved" in each]
            report.wrong = [each for each in report.wrong if "dates moved" not in each]
        self.judge.baseline = after

    def _apply(self, change: Change) -> None:
        self.site = self.judge.site = change.site
        self.gone = change.gone

    def _disasters(self, dice: random.Random) -> None:
        disaster = drawn_disaster(dice, self.site)
        plan = dice.choice(("one", "one", "one", "three", "flapping", "changing", "lasting", "accepted"))
        kind, extent = disaster.parts[0]
        is_steady = (
            len(disaster.parts) == 1
            and kind.effect == "explicit"
            and "/" not in extent.paths
            and (extent.since, extent.until, extent.nth) == (0, 1_000_000, 1)
        )
        if (plan in ("lasting", "accepted") and not is_steady) or (plan == "lasting" and len(self.site.pages) > 100):
            plan = "three"
        self.report.plan = plan
        if plan == "one" and dice.random() < 0.2:  # editors work while the site breaks
            self._apply(drawn_change(dice, self.site, int(self.day) + 1))
        if plan == "one":
            self._bad(disaster)
        elif plan == "three":
            for _ in range(3):
                self._bad(disaster)
        elif plan == "flapping":
            self._bad(disaster)
            self._good("between")
            self._bad(disaster)
        elif plan == "changing":
            self._bad(disaster)
            self._bad(drawn_disaster(dice, self.site))
        elif plan == "accepted":
            self._bad(disaster)
            self._accepted(disaster, "--accept-shrink")
        else:
            self._lasting(dice, disaster)

    def _lasting(self, dice: random.Random, disaster: Disaster) -> None:
        """It stands for longer than --accept-after: in runs and days, in runs alone, or broken off."""
        way = dice.choice(("lasting", "lasting", "in runs", "broken off"))
        self.report.plan = way
        self.step = 0.25 if way == "in runs" else 1.0
        nights = ACCEPT_AFTER - 2 if way == "broken off" else ACCEPT_AFTER
        for _ in range(nights):
            self._bad(disaster)
        if way == "broken off":
            self._good("between")
        for _ in range(0 if way == "lasting" else nights - 1):
            self._bad(disaster)
        if way == "lasting":
            self.day += 1
            self._accepted(disaster)
        self.step = 1.0

    def _accepted(self, disaster: Disaster, *words: str) -> None:
        """A run after which what the disaster says is true."""
        report = self._bad(disaster, *words, is_accepted=True)
        left = self.judge.baseline.keys() - self.product.published().keys()
        self.judge.excused |= set(self.site.pages)
        hit = disaster.parts[0][1].paths & self.judge.baseline.keys()
        report.wrong = [] if report.exit == 0 else [f"exit code {report.exit}"]
        if len(left) < len(hit) - 2:  # a redirect to itself is none
            report.wrong.append(f"{len(hit) - len(left)} of {len(hit)} pages stay, though they were given up")

    def _bad(self, disaster: Disaster, *words: str, is_accepted: bool = False) -> NightReport:
        night = Night(self.site, disaster=disaster, gone=self.gone)
        return self._night(night, self.judge.disaster, *words)

    def _good(self, name: str) -> NightReport:
        if self.report.nights and self.report.nights[-1].exit == 4:  # this run continues one that saw a broken site
            report = self._night(Night(self.site, gone=self.gone), self.judge.disaster)
            report.what = "continued"
        report = self._night(Night(self.site, gone=self.gone), self.judge.good)
        report.what = name
        if report.exit != 0:
            report.wrong.append(f"exit code {report.exit} on a good night")
        return report

    def _night(self, night: Night, judged: Judged, *words: str) -> NightReport:
        self.day += self.step
        night.day, night.public = self.day, self.product.out
        before = self.product.published()
        ended, told = self.product.run(night, *words)
        after = self.product.published()
        if not self.judge.baseline:
            self.judge.baseline = dict(after)
        report = judged(night, before, after, told)
        report.exit, report.said = ended.status, ended.said
        if ended.status not in (0, 3, 4, 5):
            report.wrong.append(f"exit code {ended.status}")
        self.report.nights.append(report)
        return report


@contextmanager
def examined() -> Iterator[tuple[Forked, Server]]:
    """A warm process for the command, and a server."""
    with tempfile.TemporaryDirectory() as work, forked(Path(work)) as process, serving() as server:
        yield process, server


def trial(name: str, process: Forked, server: Server, sizes: Sequence[int] = SIZES) -> TrialReport:
    """The trial of that name, ``SEED:NUMBER``. A run that does not end is killed, and the trial with it."""
    timer = threading.Timer(LONGEST * 5, process._server.kill)
    timer.daemon = True
    timer.start()
    try:
        return Trial(name, sizes).live(process, server)
    finally:
        timer.cancel()
