"""One trial: a site, what happens to it in each night, and what its published sitemap says in the morning."""

import difflib
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path

from tests.forked import Forked
from tests.trials.lastmod.server import serving
from tests.trials.lastmod_kinds import additions, movements, surfaces
from tests.trials.lastmod_kinds.edits import EDITS, edit, prepare
from tests.trials.lastmod_kinds.judge import Judge
from tests.trials.lastmod_kinds.live import LIVE
from tests.trials.lastmod_kinds.noise import Moment, Noise, Scene, effect
from tests.trials.lastmod_kinds.site import Doc, View, contents
from tests.trials.lastmod_kinds.theme import NEIGHBOURLY, ORIGIN, theme

KINDS = {
    "A": "additions by themes and plug-ins", "B": "typography", "C": "languages", "D": "neighbours",
    "E": "signed paths and nonces", "F": "counters and ages", "G": "rotations", "H": "editors", "I": "live contents",
}  # fmt: skip
SIZES = (8, 40, 200)
HOLD = 9  # nights in which the gate may hold an edit that more than a third of the pages have alike
_CRAWL = ("--rate", "0", "-c", "8", "--processes", "1", "--set=output.swap_delay=0", "--render", "never", "-q")
_MEMORY = Path("/dev/shm")  # a disk would take half of the time
_ENTRY = re.compile(r"<url>\s*<loc>(.*?)</loc>(?:\s*<lastmod>(.*?)</lastmod>)?")


@dataclass(frozen=True)
class Draw:
    """What makes a trial: the same draw is the same trial."""

    kind: str
    pages: int
    seed: int
    nights: int = 0  # 0: drawn

    def __str__(self) -> str:
        return f"{self.kind}-{self.pages}-{self.seed}" + (f"-{self.nights}" if self.nights else "")


@dataclass
class Play:
    """A site, and what happens to it: the noises are on it already, the edits are made as the nights come."""

    drawn: Draw
    rng: random.Random
    scene: Scene
    nights: int
    builds: list[int]  # for each night, the number of builds until then
    steps: list[Callable[[int], list[tuple[Doc, str]]]] = field(default_factory=list)
    habits: list[str] = field(default_factory=list)
    posts: frozenset[int] = frozenset()  # the nights in which one arrives
    hidden: dict[int, int] = field(default_factory=dict)  # nights in which edits cannot be seen, and the night after
    views: dict[str, View] = field(default_factory=dict)

    def about(self) -> list[str]:
        """What the trial is about, for people."""
        return [*(noise.when() for noise in self.scene.noises), *self.habits]

    def groups(self) -> list[str]:
        """What its noises are cases of, for the tables."""
        return [noise.group for noise in self.scene.noises] or ["no noise"]

    def night(self, night: int) -> tuple[dict[str, tuple[int, str]], set[str]]:
        """Do the edits of a night: those that must move a date, with the night until which, and pages that may."""
        site, before = self.scene.site, {path: view.shows() for path, view in self.views.items()}
        edited: dict[str, tuple[int, str]] = {}
        if night in self.posts:
            part, _, template = self.rng.choice(site.sections)
            for _ in range(self.rng.choice((1, 1, 2))):
                site.add(self.rng, part, template, night)
        for step in self.steps if night else []:
            done = step(night)
            held = len(done) * 3 > len(self.views) - 1 and done[0][1].startswith("sentence in a section")
            for doc, what in done:
                edited[doc.path] = (night + HOLD if held else self.hidden.get(night, night), what)
        self.views = site.views()
        may = set()
        for path, view in self.views.items():
            if path in before and view.shows() != before[path]:
                is_old = {each[0] for each in view.shows()} - {each[0] for each in before[path]}
                may |= {path} if view.number == 1 or not is_old else set()
        return edited, may


def _editor(play: Play, kind: str, habit: str, chance: float) -> Callable[[int], list[tuple[Doc, str]]]:
    """Somebody who edits: this kind of edit or any, on other pages or always on the same."""
    rng, site = random.Random(play.rng.random()), play.scene.site
    weekday, turn = rng.randrange(7), iter(range(10**6))
    order = rng.sample(site.docs, len(site.docs))
    favourite = order[0]

    def step(night: int) -> list[tuple[Doc, str]]:
        if rng.random() > chance:
            return []
        if habit == "the same page weekly":
            docs = [favourite] if night % 7 == weekday or rng.random() < 0.1 else []
        else:
            count = {"one page": 1, "two pages": 2}.get(habit, rng.randrange(1, 4))
            docs = list({doc.path: doc for doc in (order[next(turn) % len(order)] for _ in range(count))}.values())
        return [(doc, edit(rng, site, doc, kind)) for doc in docs]

    return step


def play(drawn: Draw) -> Play:
    """Draw what happens."""
    rng = random.Random(str(drawn))
    long = drawn.kind in "HI"
    length = drawn.nights or rng.randrange(18 if long else 10, 31 if drawn.pages < 100 else 20 if long else 15)
    site = contents(rng, drawn.pages, is_shop=drawn.kind == "I")
    force = frozenset(rng.sample(NEIGHBOURLY, rng.randrange(1, 4)) if drawn.kind == "D" else ())
    scene = Scene(site, theme(rng, site, force))
    chance, builds = rng.choice((1.0, 0.6, 0.3)), [0]
    for _ in range(length):
        builds.append(builds[-1] + (rng.random() < chance))
    made = Play(drawn, rng, scene, length, builds)
    _PLAYS[drawn.kind](made)
    made.views = site.views()
    return made


def _with_editor(play: Play) -> None:
    """Three of four noises have somebody beside them who edits."""
    if play.rng.random() < 0.75:
        habit = play.rng.choice(("one page", "two pages", "some pages"))
        play.steps.append(_editor(play, "", habit, play.rng.choice((0.5, 1.0))))
        play.habits.append(f"any edit, {habit}")


def _noises(play: Play, kind: str, most: int = 2) -> None:
    rng, scene = play.rng, play.scene
    for _ in range(rng.randrange(1, most + 1)):
        if kind == "B":
            while effect(scene, made := surfaces.typography(rng, play.nights), night=made[0].until - 1) < 0.25:
                pass
            scene.noises += made
            return
        if kind == "C":
            noise, whole = surfaces.language(rng, play.nights)
            scene.noises.append(noise)
            if whole:
                play.hidden = dict.fromkeys(range(noise.since, noise.until), noise.until)
            return
        scene.noises.append(_one(play, kind))


def _one(play: Play, kind: str) -> Noise:
    if kind == "A":
        return additions.draw(play.rng, play.scene, play.nights)
    if kind == "E":
        return surfaces.signed(play.rng, play.scene)
    if kind == "F":
        return movements.counter(play.rng, play.scene)
    return movements.rotation(play.rng, play.scene, play.drawn.pages)


def _noisy(play: Play) -> None:
    _noises(play, play.drawn.kind, 3 if play.drawn.kind == "E" else 2)
    _with_editor(play)


def _neighbours(play: Play) -> None:
    chance = play.rng.choice((0.15, 0.4, 1.0))
    play.posts = frozenset(night for night in range(1, play.nights + 1) if play.rng.random() < chance)
    play.habits.append("new posts beside " + ", ".join(sorted(play.scene.theme.extras & {*NEIGHBOURLY, "related"})))
    _with_editor(play)


def _editors(play: Play) -> None:
    rng = play.rng
    kind, habit = (
        rng.choice(("", *EDITS, *EDITS)),
        rng.choice(("one page", "two pages", "the same page weekly", "some pages")),
    )
    prepare(rng, play.scene.site, kind)
    play.steps.append(_editor(play, kind, habit, 1.0))
    play.habits.append(f"{kind or 'any edit'}, {habit}")
    if rng.random() < 0.4:
        _noises(play, rng.choice("ABCEFG"), 1)


def _living(play: Play) -> None:
    for name in play.rng.sample(sorted(LIVE), play.rng.choice((1, 1, 2))):
        said, step = LIVE[name](play.rng, play.scene.site, play.nights)
        play.steps.append(step)
        play.habits.append(said)
    if play.rng.random() < 0.25:
        play.steps.append(_editor(play, "", "one page", 0.5))


_PLAYS: dict[str, Callable[[Play], None]] = dict.fromkeys("ABCEFG", _noisy) | {
    "D": _neighbours,
    "H": _editors,
    "I": _living,
}

# ---------------------------------------------------------------- playing


class Stage:
    """Serves the site of a play as it is in this night."""

    def __init__(self, play: Play) -> None:
        self.play = play
        self.origin = ORIGIN
        self.now = Moment(0, 0, 0)
        self.seen: dict[str, str] = {}
        self.requests = 0

    def begin(self, night: int) -> None:
        self.now = Moment(night, self.play.builds[night], self.requests)
        self.seen = {}

    @property
    def pages(self) -> dict[str, View]:
        return self.play.views

    def render(self, path: str) -> bytes:
        """The page for one more request."""
        self.requests += 1
        self.now = replace(self.now, request=self.requests)
        html = self.play.scene.render(self.play.views[path], self.now)
        self.seen[path] = html
        return html.replace(ORIGIN, self.origin).encode()

    def answer(self, path: str) -> tuple[HTTPStatus, bytes, str]:
        """Status, body and media type of a request."""
        if path == "/robots.txt":
            return HTTPStatus.OK, b"User-agent: *\nAllow: /\n", "text/plain"
        if path not in self.play.views:
            return HTTPStatus.NOT_FOUND, b"<title>Not found</title>", "text/html"
        return HTTPStatus.OK, self.render(path), "text/html; charset=utf-8"


Visit = Callable[[int], tuple[set[str], set[str], int, str]]
"""Visits the site in a night: the pages listed, those whose date moved, the exit code and what was said."""


@dataclass
class Result:
    """What a trial found."""

    drawn: Draw
    about: list[str]
    groups: list[str]
    nights: int
    judge: Judge
    exits: list[str]  # nights that did not end with exit code 0
    page_nights: int
    seconds: float
    requests: int

    @property
    def is_right(self) -> bool:
        return not (self.judge.false or self.judge.missed)


def run(drawn: Draw, crawler: Forked | None) -> Result:
    """Do a trial; without a crawler in this process, by the rules alone."""
    stage = Stage(play(drawn))
    if crawler is None:
        return perform(stage, _in_process(stage))
    where = _MEMORY if _MEMORY.is_dir() else None
    with serving(stage) as origin, tempfile.TemporaryDirectory(prefix="lastmod-kinds-", dir=where) as name:  # type: ignore[arg-type]
        return perform(stage, _crawled(crawler, Path(name), origin))


def perform(stage: Stage, visit: Visit) -> Result:
    """Play all nights and judge them."""
    played, judge, exits = stage.play, Judge(), []
    began, pages, known = time.monotonic(), 0, set(played.views)
    for night in range(played.nights + 1):
        before = stage.seen
        edits, may = played.night(night)
        stage.begin(night)
        listed, moved, status, said = visit(night)
        pages += len(listed)
        wanted = {path for path, (until, _) in edits.items() if until == night}
        wrong = (moved ^ wanted) | set(edits)
        shown = {
            path: differences(before[path], stage.seen[path]) for path in wrong & before.keys() & stage.seen.keys()
        }
        judge.night(night, listed & known, moved & known, edits, may, shown)  # a new page has no date that moves
        known |= listed
        exits += [f"night {night}: exit {status}: {said}"] if status else []
    judge.end(played.nights)
    took = time.monotonic() - began
    return Result(
        played.drawn, played.about(), played.groups(), played.nights, judge, exits, pages, took, stage.requests
    )


def _crawled(crawler: Forked, folder: Path, origin: str) -> Visit:
    dates: dict[str, str] = {}

    def visit(night: int) -> tuple[set[str], set[str], int, str]:
        nonlocal dates
        ended = crawler.run(folder, night, "crawl", f"{origin}/", "-o", "out", *_CRAWL)
        before, dates = dates, _dates(folder, origin)
        moved = {path for path, date in dates.items() if date != before.get(path, date)}
        return set(dates), moved, ended.status, ended.said.strip()[-300:]

    return visit


def _dates(folder: Path, origin: str) -> dict[str, str]:
    entries: Iterable[tuple[str, str]] = (
        entry for path in sorted((folder / "out").glob("*.xml")) for entry in _ENTRY.findall(path.read_text())
    )
    return {loc.replace("&amp;", "&").removeprefix(origin): date for loc, date in entries}


def _in_process(stage: Stage) -> Visit:
    sys.path.insert(0, str(Path(__file__).parents[2]))  # the modules of the tests import each other by name
    from lastmod_lab import Lab

    lab = Lab(stage)  # type: ignore[arg-type]
    return lambda night: (set(stage.pages), lab.visit(), 0, "")


_part = re.compile(r"(?=<(?:p|li|h\d|img|a|div|script|meta|tr)\b)")
_tag = re.compile(r"<(?!img|meta|link|script)[^>]*>")


def differences(before: str, after: str, most: int = 6) -> tuple[str, ...]:
    """The lines that differ between two versions of a page: first those that say something else, then any."""
    told: dict[str, None] = {}
    for bare in (True, False):
        texts = [_part.sub("\n", text) for text in (before, after)]
        lines = [[line.strip() for line in (_tag.sub("", t) if bare else t).split("\n") if line.strip()] for t in texts]
        changed = [line for line in difflib.unified_diff(*lines, lineterm="", n=0) if line[:1] in "+-"]
        told |= dict.fromkeys(line[:220] for line in changed[2 : 2 + most])
    return tuple(told)
