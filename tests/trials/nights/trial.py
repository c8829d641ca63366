"""One trial: good nights, drawn nights, good nights again; the command runs them, and what was answered judges them."""

import json
import random
import tempfile
import threading
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from forked import Ended, Forked, forked

from .answers import Reply
from .changes import Change, drawn_change
from .disasters import Disaster, drawn_disaster, drawn_ruins
from .judge import Judge, NightReport
from .server import Night, Server, serving
from .site import made_site

PLANS = ("change", "one", "three", "flapping", "changing", "lasting", "accepted", "ruins")
ACCEPT_AFTER = 7  # runs and days, the default of output.accept_after
LONGEST = 100.0  # seconds for one run
SIZES = (10, 10, 65, 65, 65, 1000)
CONFIG = """
site = {{url = "{url}"}}
output = {{directory = "out", swap_delay = 0}}
pace = {{rate = 0, concurrency = 8, max_error_time = 10}}
fetch = {{retries = 0{recheck}}}
parse = {{processes = 1}}
notify = {{check_live = false}}
hook = {{command = ["sh", "-c", "cat >> {notes}; echo >> {notes}"], on = ["trouble"]}}
"""
_NS = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


@dataclass
class TrialReport:
    """A trial; ``name`` is its seed and number, and its plan if that was not drawn. They draw it again."""

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

    def __init__(self, process: Forked, folder: Path, server: Server, recheck: int = 0) -> None:
        self._process, self._folder, self._server = process, folder, server
        notes = folder / "notes"
        notes.touch()
        days = f", recheck_within = {recheck}" if recheck else ""
        (folder / "site.toml").write_text(CONFIG.format(url=server.url, notes=notes, recheck=days))

    @property
    def out(self) -> Path:
        return self._folder / "out"

    def run(self, night: Night, *words: str) -> tuple[Ended, list[str]]:
        """One run; answers how it ended, and the occasions of what the owner was told."""
        self._server.night = night
        notes = self._folder / "notes"
        known = len(notes.read_text().splitlines())
        ended = self._process.run(self._folder, night.day, "run", "--config", "site.toml", "--json", *words)
        night.is_carried = '"completeness": "carried"' in ended.said
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


Judged = Callable[[Night, dict[str, str], dict[str, str], list[str]], NightReport]


@dataclass
class Trial:
    """Lives through one trial. ``recheck`` is the bound in days of runs that ask only for what is due; 0: for all."""

    name: str
    sizes: Sequence[int] = SIZES
    recheck: int = 0

    def live(self, process: Forked, server: Server) -> TrialReport:
        dice = random.Random(f"night {self.name}")
        plan = self.name.split(":")[2] if self.name.count(":") > 1 else ""
        site = made_site(dice, dice.choice(self.sizes))
        with tempfile.TemporaryDirectory() as folder:
            self.product = Product(process, Path(folder), server, self.recheck)
            self.day = 0.0
            self.step = 1.0
            self.site = site
            self.gone: dict[str, Reply] = {}
            self.report = TrialReport(self.name, len(site.pages), "")
            self._live(dice, plan)
        return self.report

    def _live(self, dice: random.Random, plan: str) -> None:
        self.judge = Judge(self.site, self.site, {})
        for _ in range(dice.choice((1, 1, 2)) + (3 if self.recheck else 0)):  # the first two ask for all
            self._good("first")
        self.judge.baseline = self.product.published()
        if plan == "change" or (not plan and dice.random() < 0.25):
            self._change(dice)
        else:
            self._disasters(dice, plan)
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
        undated = {path for path in change.edited if path in after and self.judge.baseline.get(path) == after[path]}
        if undated:
            report.weak.append(f"{len(undated)} of {len(change.edited)} edits moved no date, such as {min(undated)}")
        if change.is_redesign and any("dates moved" in each for each in report.wrong):  # for the trials of lastmod
            report.weak += [each for each in report.wrong if "dates moved" in each]
            report.wrong = [each for each in report.wrong if "dates moved" not in each]
        self.judge.baseline = after

    def _apply(self, change: Change) -> None:
        self.site = self.judge.site = change.site
        self.gone = change.gone

    def _disasters(self, dice: random.Random, plan: str) -> None:
        disaster = drawn_disaster(dice, self.site)
        if not plan:
            plan = dice.choice(("one", "one", "one", "three", "flapping", "changing", "lasting", "accepted"))
            if plan in ("lasting", "accepted") and (not disaster.is_steady or len(self.site.pages) > 100):
                plan = "three"
        while plan in ("lasting", "accepted") and not disaster.is_steady:
            disaster = drawn_disaster(dice, self.site)
        self.report.plan = plan
        if plan == "one" and dice.random() < 0.2:
            self._work(dice)
        if plan == "lasting":
            self._lasting(dice, disaster)
        else:
            self._bad(drawn_ruins(dice, self.site) if plan == "ruins" else disaster)
            self._go_on(dice, disaster)

    def _work(self, dice: random.Random) -> None:
        """Editors work while the site breaks; a new look on few pages would pass for new content."""
        change = drawn_change(dice, self.site, int(self.day) + 1)
        while change.is_redesign:
            change = drawn_change(dice, self.site, int(self.day) + 1)
        self._apply(change)

    def _go_on(self, dice: random.Random, disaster: Disaster) -> None:
        """The nights after the first bad one."""
        plan = self.report.plan
        if plan == "three":
            self._bad(disaster)
            self._bad(disaster)
        elif plan == "flapping":
            self._good("between")
            self._bad(disaster)
        elif plan == "changing":
            self._bad(drawn_disaster(dice, self.site))
        elif plan == "accepted":
            self._accepted(disaster, "--accept-shrink")

    def _lasting(self, dice: random.Random, disaster: Disaster) -> None:
        """It stands for longer than output.accept_after: in runs and days, in runs alone, or broken off."""
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
        is_held = report.exit == 3 and self.judge.doubted & self.product.published().keys()
        if report.exit != 0 and not is_held:
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


def trial(name: str, process: Forked, server: Server, sizes: Sequence[int] = SIZES, recheck: int = 0) -> TrialReport:
    """The trial of that name, ``SEED:NUMBER`` or ``SEED:NUMBER:PLAN``; one that hangs is killed."""
    timer = threading.Timer(LONGEST * 5, process._server.kill)
    timer.daemon = True
    timer.start()
    try:
        return Trial(name, sizes, recheck).live(process, server)
    finally:
        timer.cancel()
