"""One trial: a drawn site with problems, its sources, and the command as a user calls it."""

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.trials.nights.server import Server

from .judge import TrialReport, judge
from .lookalikes import LOOKALIKES
from .plan import Plan
from .plants import PLANTS
from .shapes import made_site

SIZES = (20, 20, 60, 60, 150, 150, 400, 1000, 2000)
FAILURES = ("500", "503", "drop", "hang")
LONGEST = 300.0  # seconds for one audit


def drawn(name: str, size: int = 0) -> tuple[Plan, random.Random]:
    """The plan of ``SEED:NUMBER[:PERCENT]``: with a percentage, so many of the pages fail."""
    dice = random.Random(f"audit {':'.join(name.split(':')[:2])}")
    size = size or dice.choice(SIZES)
    site = made_site(dice, dice.choice(("https://www.boats.example/", "http://www.boats.example/")), size)
    plan = Plan(site)
    count = max(4, min(70, size // 4))
    planted = list(PLANTS) if count >= len(PLANTS) else dice.sample(list(PLANTS), count)
    planted += dice.choices(list(PLANTS), k=max(0, count - len(planted)))
    for each in planted:
        plan.name = each
        PLANTS[each](plan)
    innocent = dice.sample(list(LOOKALIKES), min(count, len(LOOKALIKES)))
    for each in innocent:
        plan.name = each
        LOOKALIKES[each](plan)
    _daily(plan)
    if dice.random() < 0.2:
        plan.site.missing = "soft"
        plan.sources.answer_softly(plan.site.pages)
    if name.count(":") > 1:
        _break(plan, float(name.split(":")[2]), dice)
    return plan, dice


def _daily(plan: Plan) -> None:
    """Usual visits of usual pages."""
    dice, sources = plan.dice, plan.sources
    for page in dice.sample(plan.site.ordinary, min(40, len(plan.site.ordinary))):
        sources.visits(page.target, dice.randrange(1, 12))
        sources.visits(page.target, dice.randrange(3), "google")
        if dice.random() < 0.5:
            sources.search[page.target] = (dice.randrange(9), 80)
            sources.analytics[page.target] = dice.randrange(1, 90)
    sources.visits("/", 60)
    sources.visits("/robots.txt", 5, "google")


def _break(plan: Plan, percent: float, dice: random.Random) -> None:
    pages = [page for target, page in plan.site.pages.items() if page.is_indexable and target != "/"]
    for page in dice.sample(pages, max(1, round(len(pages) * percent / 100))):
        page.failing = dice.choice(FAILURES)


def trial(name: str, server: Server, size: int = 0, keep: Path | None = None) -> TrialReport:
    """Audits the drawn site and judges the report. ``keep`` is a folder for the files."""
    plan, dice = drawn(name, size)
    server.night = plan.site
    report = TrialReport(name, len(plan.site.pages))
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        folder = keep or Path(temporary)
        words = plan.sources.write(folder, plan.site.url, dice)
        command = [sys.executable, "-m", "crawler", "audit", plan.site.url, "--source", server.url, "-o", "report"]
        command += [
            "--rate",
            "0",
            "-c",
            "8",
            "--set=fetch.retries=0",
            "--set=fetch.read_timeout=1",
            "--set=parse.processes=1",
            "-q",
            *words,
        ]
        if dice.random() < 0.5:
            command.append("--set=audit.trust_blocked=true")
        environment = {"PYTHONPATH": str(Path(__file__).parents[3]), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LONGEST, check=False
        )
        report.exit = done.returncode
        assert done.returncode in (0, 4), (name, command, done.stdout + done.stderr)
        assert "Traceback" not in done.stderr, (name, command, done.stderr)
        audit = json.loads((folder / "report" / "audit.json").read_text())
    report.seconds = time.monotonic() - began
    judge(plan, audit, report)
    return report
