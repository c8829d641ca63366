"""Random trials of the audit: a few of them are drawn and passed, and the trials themselves are sound.

The long run: ``pytest -m slow tests/test_audit_trials.py``, or as tables ``python -m tests.trials.audit --trials 30``.
"""

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from trials.audit.judge import TrialReport, distances, judge
from trials.audit.lookalikes import LOOKALIKES
from trials.audit.plan import Plan
from trials.audit.plants import PLANTS
from trials.audit.shapes import SHAPES, made_site
from trials.audit.trial import drawn, trial
from trials.nights.server import Server, serving

pytestmark = pytest.mark.thorough

_LINES = (Path(__file__).parent / "trials" / "audit" / "seeds.txt").read_text(encoding="utf-8").splitlines()[1:]
_OPEN = pytest.mark.xfail(reason="not mended yet", strict=True)
SEEDS = [
    pytest.param(name, int(pages), marks=_OPEN if is_open else ()) for name, pages, *is_open in map(str.split, _LINES)
]
HOME = "https://www.boats.example/"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as ready:
        yield ready


@pytest.mark.parametrize("name", ["1:1", "1:3", "1:2:20"])
def test_ours_drawn_audits(name: str, server: Server) -> None:
    assert not trial(name, server, 20).wrong


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("name", "pages"), [*SEEDS, *((f"9:{n}:{percent}", 150) for n in range(5) for percent in (0.1, 1, 5, 20))]
)
def test_ours_drawn_audits_long(name: str, pages: int, server: Server) -> None:
    assert not trial(name, server, pages).wrong


# ---------------------------------------------------------------- the judge can say no


def judged(*said: tuple[str, str], failing: str = "") -> list[str]:
    """What is wrong with an audit of a site with one page that only the sitemap names, which says this."""
    plan = Plan(made_site(random.Random(1), HOME, 20))
    plan.name = "orphan: in the sitemap only"
    page = plan.page("/alone")
    plan.site.submit(page)
    plan.expect(page, "orphan.sitemap")
    if failing:
        plan.site.pages[failing].failing = "500"
    findings = [
        {"rule": rule, "url": HOME + target, "is_certain": True, "sentence": ""} for rule, target in said
    ]  # fmt: skip
    audit: dict[str, Any] = {"findings": findings, "doubts": []}
    report = TrialReport("")
    judge(plan, audit, report)
    return [line.partition(": ")[0] for line in report.wrong]


def test_ours_the_judge_knows_what_is_wrong() -> None:
    assert judged(("orphan.sitemap", "alone")) == []
    assert judged() == ["missed"]
    assert judged(("orphan.log", "alone")) == ["missed", "false (certain)"]
    assert judged(("orphan.sitemap", "alone"), ("gone.linked", "")) == ["false (certain)"]
    assert judged(("orphan.sitemap", "alone"), ("sitemap.dtd", "sitemap.xml")) == []
    assert judged(("entry.failed", "alone"), failing="/alone") == []
    assert judged(("entry.failed", "alone"), failing="/") == ["false (certain)"]


# ---------------------------------------------------------------- the space


def test_ours_a_trial_is_drawn_again_by_its_name() -> None:
    (one, _), (again, _) = drawn("5:1", 60), drawn("5:1", 60)
    assert [one.site.render(page) for page in one.site.pages.values()] == [
        again.site.render(page) for page in again.site.pages.values()
    ]
    assert one.expected == again.expected


@pytest.mark.parametrize("shape", SHAPES)
def test_ours_a_healthy_site_has_no_far_or_lonely_page(shape: str) -> None:
    site = made_site(random.Random(3), HOME, 90, shape)
    clicks = distances(site)
    inlinks = Counter(href for page in site.pages.values() for href in {*page.links, *site.chrome} - {page.target})
    for page in site.pages.values():
        assert clicks[page.target] <= 5, page.target
        assert inlinks[page.target] > 1 or not page.is_indexable, page.target


def test_ours_a_large_site_holds_every_problem() -> None:
    plan, _ = drawn("7:1", 300)
    assert {each.name for each in plan.expected} >= PLANTS.keys()
    assert len(PLANTS) >= 50
    assert len(LOOKALIKES) >= 25
