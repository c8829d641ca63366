"""One trial: a site, noises, seven regenerations with edits, and what the published sitemap said of each."""

import difflib
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.forked import Forked

sys.path.insert(0, str(Path(__file__).parents[2]))  # the modules of the tests import each other by name

from lastmod_lab import Lab

from tests.trials.lastmod.edits import KINDS, WHOLE, Edit, edit
from tests.trials.lastmod.noises import draw
from tests.trials.lastmod.page import Page
from tests.trials.lastmod.server import Site, serving

REGENERATIONS = 7
EDITS = 6  # of single pages in each
_CRAWL = ("--rate", "0", "-c", "8", "--set=parse.processes=1", "--set=output.swap_delay=0", "-q")
_ENTRY = re.compile(r"<url>\s*<loc>(.*?)</loc>(?:\s*<lastmod>(.*?)</lastmod>)?")


@dataclass(frozen=True)
class Draw:
    """What makes a trial: the same draw on the same pages is the same trial."""

    seed: int
    system: str
    pages: int
    noises: int

    def __str__(self) -> str:
        return f"--seed {self.seed} --system {self.system} --pages {self.pages} --noises {self.noises}"


@dataclass(frozen=True)
class Wrong:
    """A page whose date moved without an edit, or did not move with one."""

    run: int
    path: str
    edit: Edit | None  # None: nobody edited it
    noises: tuple[str, ...]  # those on the page
    shown: tuple[str, ...]  # how what it shows differs from the run before


@dataclass
class Result:
    """What a trial found, from the second regeneration on."""

    drawn: Draw
    noises: list[str]
    listed: int = 0
    right: list[Edit] = field(default_factory=list)
    missed: list[Wrong] = field(default_factory=list)
    false: list[Wrong] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    first: tuple[int, int, int] = (0, 0, 0)  # right, missed and false in the first regeneration

    @property
    def is_right(self) -> bool:
        return self.listed > 0 and not (self.missed or self.false or self.refused)


Visit = Callable[[int], tuple[set[str], set[str], str]]
"""Visits the site for the nth time: the pages listed, those whose date moved, and what went wrong, or ""."""


def run(drawn: Draw, pages: dict[str, Page], crawler: Forked | None) -> Result:
    """Do a trial; without a crawler in this process, where every page is listed."""
    site = Site(pages)
    if crawler is None:
        return _run(drawn, site, in_process(site))
    with serving(site) as origin, tempfile.TemporaryDirectory(prefix="lastmod-trial-") as name:
        return _run(drawn, site, crawled(crawler, Path(name), origin))


def _run(drawn: Draw, site: Site, visit: Visit) -> Result:
    rng = random.Random(str(drawn))
    ordered = [site.pages[path] for path in sorted(site.pages)]
    site.noises = [draw(rng, number, ordered) for number in range(drawn.noises)]
    result = Result(drawn, [noise.name for noise in site.noises])
    whole = rng.randrange(3, REGENERATIONS + 1) if rng.random() < 0.3 else 0
    listed, _, refused = visit(0)
    result.listed = len(listed)
    ordered = [page for page in ordered if page.path in listed]
    for number in range(1, REGENERATIONS + 1):
        result.refused += filter(None, [refused])
        shown, site.seen, site.run = site.seen, {}, number
        edits = _edits(rng, ordered, EDITS)
        if number == whole:
            edits |= _section(rng, ordered, set(edits))
        _, moved, refused = visit(number)
        right = [done for path, done in edits.items() if path in moved]
        missed = [_wrong(site, shown, number, path, done) for path, done in edits.items() if path not in moved]
        false = [_wrong(site, shown, number, path, None) for path in sorted(moved - set(edits))]
        if number == 1:
            result.first = (len(right), len(missed), len(false))
            continue
        result.right += right
        result.missed += missed
        result.false += false
    result.refused += filter(None, [refused])
    return result


def crawled(crawler: Forked, folder: Path, origin: str) -> Visit:
    """Visits by the command: what the published sitemap says."""
    dates: dict[str, str] = {}

    def visit(number: int) -> tuple[set[str], set[str], str]:
        nonlocal dates
        ended = crawler.run(folder, number, "crawl", f"{origin}/", "-o", "out", *_CRAWL)
        before, dates = dates, _dates(folder, origin)
        moved = {path for path, date in dates.items() if date != before.get(path, date)}
        said = f"run {number}: exit {ended.status}: {ended.said.strip()[-300:]}" if ended.status else ""
        return set(dates), moved, said

    return visit


class _Shown:
    """A site as its visitors in this process see it."""

    def __init__(self, site: Site) -> None:
        self._site = site

    @property
    def pages(self) -> dict[str, Page]:
        return self._site.pages

    def render(self, path: str) -> bytes:
        return self._site.answer(path)[1]


def in_process(site: Site) -> Visit:
    """Visits without a crawl: compare, read again, judge, learn. Much faster, and what most failures need."""
    lab = Lab(_Shown(site))
    return lambda number: (set(site.pages), lab.visit(), "")


def _dates(folder: Path, origin: str) -> dict[str, str]:
    texts = [path.read_text() for path in sorted((folder / "out").glob("*.xml"))]
    entries = [entry for text in texts for entry in _ENTRY.findall(text)]
    return {loc.replace("&amp;", "&").removeprefix(origin): date for loc, date in entries}


def _edits(rng: random.Random, pages: Sequence[Page], count: int) -> dict[str, Edit]:
    """Edits of single pages, of any kinds that they have something for."""
    done: dict[str, Edit] = {}
    for kind in rng.sample(sorted(KINDS), len(KINDS)):
        for page in rng.sample(list(pages), min(40, len(pages))):
            if page.path not in done and (made := edit(page, kind, rng)) is not None:
                done[page.path] = made
                break
        if len(done) == count:
            break
    return done


def _section(rng: random.Random, pages: Sequence[Page], but: set[str]) -> dict[str, Edit]:
    """One edit done to all pages of a template, on all alike."""
    template = rng.choice(pages).template
    kind, seed = rng.choice(sorted(WHOLE)), rng.random()
    texts = Counter(text for page in pages for text in {each.text_content().strip() for each in page.own("p")})
    common = frozenset(text for text, count in texts.items() if count > 1)
    done = {}
    for page in pages:
        if page.template == template and page.path not in but:
            page.common = common
            if made := edit(page, kind, random.Random(seed)):
                done[page.path] = made
    return done


def _wrong(site: Site, shown: dict[str, str], number: int, path: str, done: Edit | None) -> Wrong:
    noises = tuple(noise.name for noise in site.noises if path in noise.pages)
    return Wrong(number, path, done, noises, _differences(shown.get(path, ""), site.seen.get(path, "")))


def _differences(before: str, after: str) -> tuple[str, ...]:
    lines = [re.sub(r"(?=<(?:p|li|h\d|img|a|div|script|meta)\b)", "\n", text).split("\n") for text in (before, after)]
    changed = difflib.unified_diff(*([line.strip() for line in each] for each in lines), lineterm="", n=0)
    told = [line for line in changed if line[:1] in "+-" and line[:3] not in ("+++", "---") and line[1:]]
    return tuple(line[:220] for line in told[:8])
