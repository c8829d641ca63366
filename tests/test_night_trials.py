"""The check before publishing, on nights that are drawn: what is kept, what is published, who is told.

The long draw: ``python -m pytest -m slow tests/test_night_trials.py``, or as a table
``python -m tests.trials.nights --seed 100 --trials 75``.
"""

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from forked import Forked
from trials.nights.answers import Reply
from trials.nights.disasters import Disaster, Extent, Kind, drawn_disaster
from trials.nights.judge import Judge, NightReport, edited
from trials.nights.manual import manual_page
from trials.nights.server import Night, Server, serving, wire
from trials.nights.site import made_site
from trials.nights.trial import SIZES, TrialReport, trial

pytestmark = pytest.mark.thorough

_LINES = (Path(__file__).parent / "trials" / "nights" / "kept.txt").read_text(encoding="utf-8").splitlines()[1:]
_OPEN = pytest.mark.xfail(reason="not mended yet", strict=True)
KEPT = [
    pytest.param(name, tuple(map(int, sizes.split(","))), marks=_OPEN if is_open else ())
    for name, sizes, *is_open in map(str.split, _LINES)
]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as ready:
        yield ready


@pytest.mark.parametrize("name", ["1:0:one", "1:0:accepted", "1:1:change"])
def test_ours_drawn_nights(name: str, process: Forked, server: Server) -> None:
    assert not trial(name, process, server, sizes=(10,)).wrong


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("name", "sizes"), [*KEPT, *((f"100:{number}", SIZES) for number in range(75))])
def test_ours_drawn_nights_long(name: str, sizes: tuple[int, ...], process: Forked, server: Server) -> None:
    assert not trial(name, process, server, sizes).wrong


# ---------------------------------------------------------------- the judge can say no


def judged(hit: int, effect: str, lost: int = 0, moved: int = 0, told: tuple[str, ...] = ()) -> list[str]:
    """What the judge finds wrong when ``hit`` of 65 pages answer so, and the first of them leave or get a new date."""
    site = made_site(random.Random(1), 65)
    paths = sorted(site.pages)
    before = dict.fromkeys(paths, "2026-01-01")
    kind = Kind("kind", effect, lambda asked: Reply(404))
    night = Night(site, disaster=Disaster([(kind, Extent("", frozenset(paths[-hit:] if hit else ())))]))
    for path in paths:
        night.reply(path, "", "127.0.0.1")
    doubtful = paths[len(paths) - hit :] + paths[: len(paths) - hit]
    after = {path: date for path, date in before.items() if path not in doubtful[:lost]}
    after |= dict.fromkeys(doubtful[:moved], "2026-01-02")
    report = Judge(site, site, before).disaster(night, before, after, list(told))
    return [fault.partition(",")[0] for fault in report.wrong]


@pytest.mark.parametrize(
    ("night", "wrong"),
    [
        (judged(0, ""), []),
        (judged(0, "", moved=1), ["1 dates of good pages moved"]),
        (judged(0, "", lost=1), ["1 good pages left"]),
        (judged(13, "explicit", lost=13), []),
        (judged(14, "explicit", lost=14, told=("trouble",)), ["14 pages left in a landslide"]),
        (judged(14, "leave", lost=1, told=("trouble",)), ["1 pages left in a landslide"]),
        (judged(14, "leave"), ["nobody was told"]),
        (judged(14, "leave", told=("trouble",)), []),
        (judged(3, "failure", moved=1), ["1 dates of failing pages moved"]),
        (judged(3, "failure", lost=1), ["1 failing pages left"]),
        (judged(40, "stand-in", moved=2, told=("trouble",)), ["2 pages took the place or date of a stand-in"]),
        (judged(40, "rewritten", moved=40), []),
    ],
)
def test_ours_the_judge_knows_what_is_wrong(night: list[str], wrong: list[str]) -> None:
    assert night == wrong


def test_ours_what_editors_remove_in_a_landslide_may_stay_until_it_is_accepted() -> None:
    site = made_site(random.Random(1), 65)
    removed = max(site.pages)
    before = dict.fromkeys(site.pages, "2026-01-01")
    del site.pages[removed]
    for hit, wrong in ((1, True), (40, False)):
        kind = Kind("kind", "leave", lambda asked: Reply(403))
        night = Night(site, disaster=Disaster([(kind, Extent("", frozenset(sorted(site.pages)[:hit])))]))
        for path in site.pages:
            night.reply(path, "", "127.0.0.1")
        judge = Judge(site, site, before)
        judge.disaster(night, before, before, ["trouble"])
        assert bool(judge.good(Night(site), before, before, []).wrong) is wrong


def test_ours_the_owner_hears_once_of_a_streak() -> None:
    site = made_site(random.Random(1), 65)
    before = dict.fromkeys(site.pages, "")
    judge = Judge(site, site, before)
    night = Night(site)  # nothing was asked for
    said = [judge.disaster(night, before, before, told).wrong for told in (["trouble"], [], ["trouble"])]
    assert said == [[], [], ["told again in one streak"]]
    judge.good(night, before, before, ["recovery"])
    assert judge.disaster(night, before, before, ["trouble"]).wrong == []


# ---------------------------------------------------------------- the page of the manual


def _night(what: str, extent: str, exit_code: int, after: int, lost: int) -> NightReport:
    return NightReport(what, extent, exit_code, 65, after, 65, 0, 0, 0, lost, 0, 0, [])


def test_ours_the_page_of_the_manual_counts_its_nights_and_joins_equal_ones() -> None:
    bad, good = _night("login", "all", 3, 65, 0), _night("quiet", "", 0, 65, 0)
    report = TrialReport("7:4", 65, "three", [good, bad, bad, _night("gone", "a few", 0, 63, 2), good])
    page = manual_page([report], frozenset({"quiet"}), "python -m x")
    assert "on 3 nights on which" in " ".join(page.split())
    assert "On 2 nights, all URLs stayed" in page
    assert page.splitlines()[-2:] == [
        "| 4 | 65 | login (2 nights) | all | as before |",
        "| 4 | 65 | gone | a few | 65 → 63, 2 left |",
    ]


def test_ours_the_table_in_the_manual_is_whole() -> None:
    page = (Path(__file__).parent / "trials" / "nights" / "README.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if re.match(r"\| \d", line)]
    nights = [int(found[1]) if (found := re.search(r"\((\d+) nights\)$", row[2])) else 1 for row in rows]
    is_kept = [row[-1].startswith(("as before", "the same URLs")) for row in rows]
    kept = sum(count for count, same in zip(nights, is_kept, strict=True) if same)
    assert f"on {sum(nights):,} nights on which" in " ".join(page.split())
    assert f"On {kept} nights, all URLs stayed" in page
    assert sum(nights) >= 90
    assert {"10", "65"} < {row[1] for row in rows}


# ---------------------------------------------------------------- the space


def test_ours_a_trial_is_drawn_again_by_its_name() -> None:
    one, again = (made_site(random.Random("x"), 65) for _ in range(2))
    assert not edited(one, again)
    assert [one.render(path) for path in one.pages] == [again.render(path) for path in again.pages]
    for seed in range(50):
        names = {drawn_disaster(random.Random(seed), one).name for _ in range(2)}
        assert len(names) == 1


def test_ours_every_kind_is_drawn_and_answers() -> None:
    site = made_site(random.Random(2), 65)
    names, effects = set(), set()
    for seed in range(400):
        disaster = drawn_disaster(random.Random(seed), site)
        night = Night(site, disaster=disaster)
        for path in sorted(site.pages)[::9]:
            wire(night.reply(path, "", "127.0.0.1"), 0.0)
        names |= {kind.name for kind, _ in disaster.parts}
        effects |= {kind.effect for kind in night.told.values() if kind}
    assert len(names) > 150
    assert effects == {"failure", "explicit", "leave", "stand-in", "rewritten"}
