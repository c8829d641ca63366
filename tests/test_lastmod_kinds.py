"""The trials of lastmod by kind are sound: their edits are what differs, and their judge tells what is wrong."""

import random
import re

import pytest

from tests.trials.lastmod_kinds.additions import ADDITIONS
from tests.trials.lastmod_kinds.edits import EDITS, edit, prepare
from tests.trials.lastmod_kinds.judge import Judge
from tests.trials.lastmod_kinds.movements import COUNTERS, rotation
from tests.trials.lastmod_kinds.noise import Moment, Scene, texts
from tests.trials.lastmod_kinds.site import contents, furnish
from tests.trials.lastmod_kinds.surfaces import LETTERS, SIGNED
from tests.trials.lastmod_kinds.theme import theme
from tests.trials.lastmod_kinds.trial import KINDS, Draw, Stage, perform, play


def scene(seed: int = 1) -> Scene:
    rng = random.Random(seed)
    site = contents(rng, 12, is_shop=True)
    return Scene(site, theme(rng, site))


def shown(scene: Scene, now: Moment) -> dict[str, str]:
    return {path: scene.render(view, now) for path, view in scene.site.views().items()}


@pytest.mark.parametrize("kind", ["H", "I"])
@pytest.mark.parametrize("seed", range(3))
def test_ours_edited_pages_are_those_that_differ(kind: str, seed: int) -> None:
    played = play(Draw(kind, 8, seed))
    played.scene.noises.clear()
    quiet = Moment(0, 0, 0)
    played.scene.theme.extras -= {"neighbours", "latest", "related"}  # these show the titles of other pages
    before = shown(played.scene, quiet)
    some = 0
    for night in range(1, played.nights + 1):
        edited, may = played.night(night)
        after = shown(played.scene, quiet)
        differing = {path for path in after if after[path] != before.get(path)}
        assert set(edited) <= differing <= set(edited) | may
        some += len(edited)
        before = after
    assert some


@pytest.mark.parametrize("kind", KINDS)
def test_ours_a_trial_is_the_same_each_time_and_a_perfect_judge_passes(kind: str) -> None:
    stages = [Stage(play(Draw(kind, 8, 5, nights=14))) for _ in range(2)]
    told = []
    for stage in stages:
        truth: dict[str, object] = {}
        night_of = stage.play.night

        def night(number: int, truth: dict[str, object] = truth, night_of: object = night_of) -> object:
            assert callable(night_of)
            edits, may = night_of(number)
            truth.clear()
            truth.update(edits)
            return edits, may

        stage.play.night = night  # type: ignore[method-assign, assignment]

        def visit(number: int, stage: Stage = stage, truth: dict[str, object] = truth) -> object:
            for path in stage.pages:
                stage.render(path)
            return set(stage.pages), set(truth), 0, ""

        result = perform(stage, visit)  # type: ignore[arg-type]
        assert result.is_right, (result.judge.false, result.judge.missed)
        assert result.judge.silent > 50
        told.append((result.about, result.judge.right, result.judge.silent, dict(stage.seen)))
    assert told[0] == told[1]


def test_ours_the_judge_tells_false_moves_and_missed_edits() -> None:
    judge = Judge()
    pages = {"/", "/a", "/b"}
    judge.night(1, pages, {"/b"}, {"/a": (1, "early")})  # before the first judged night
    judge.night(2, pages, {"/b"}, {"/a": (2, "word")}, {"/"}, {"/b": ("+x",)})
    judge.night(3, pages, {"/", "/b"}, {"/b": (3, "word")}, {"/"})
    judge.night(4, pages, set(), {"/a": (6, "held")})
    judge.night(5, pages, {"/a"}, {})
    judge.night(6, pages, {"/a"}, {"/b": (9, "held, and the trial ends")})
    judge.end(6)
    assert [(each.night, each.path, each.shown) for each in judge.false] == [(2, "/b", ("+x",)), (6, "/a", ())]
    assert [(each.night, each.path, each.edit) for each in judge.missed] == [(2, "/a", "word")]
    assert (judge.right, judge.open) == (2, 1)
    assert judge.silent == 1 + 1 + 2 + 2 + 2


def test_ours_every_noise_varies_as_it_says() -> None:
    rng = random.Random(3)
    for makers, moves in ((ADDITIONS, False), (COUNTERS, True), (SIGNED, True)):
        for name, maker in makers.items():
            made = scene()
            furnish(rng, made.site)
            plain = shown(made, Moment(9, 9, 90))
            made.noises = [maker(rng, made)]
            first, second = shown(made, Moment(2, 2, 91)), shown(made, Moment(18, 18, 190))
            assert sum(first[path] != plain[path] for path in plain) > 1, (name, made.noises[0].name)
            assert first != second or not moves, (name, made.noises[0].name)
            assert first == second or moves, name
    made = scene()
    made.noises = [rotation(rng, made, 12) for _ in range(6)]
    assert shown(made, Moment(3, 3, 30)) != shown(made, Moment(4, 4, 40))


def test_ours_noise_by_request_differs_between_two_reads_of_a_night() -> None:
    made = scene()
    made.noises = [SIGNED["nonce"](random.Random(1), made)]
    stage = Stage(play(Draw("E", 8, 1)))
    stage.play.scene.noises = made.noises
    assert stage.render("/") != stage.render("/")


def test_ours_every_kind_of_edit_changes_its_page() -> None:
    rng = random.Random(2)
    for kind in EDITS:
        made = scene(4)
        prepare(rng, made.site, kind)
        before, doc = shown(made, Moment(0, 0, 0)), made.site.docs[2]
        assert edit(rng, made.site, doc, kind).startswith(f"{kind}: ")
        assert shown(made, Moment(0, 0, 0))[doc.path] != before[doc.path], kind


def test_ours_typography_changes_texts_and_leaves_the_tags() -> None:
    made = scene(5)
    site = made.site
    site.docs[0].blocks[0].lines = [
        '"Office" in 12 km -- it\'s the well-known café for flour... 5 € and/or difficulty. Again.'
    ]
    plain = made.render(site.views()[site.docs[0].path], Moment(0, 0, 0))
    for name, change in LETTERS.items():
        html = texts(plain, change)
        assert html != plain, name
        assert tags(html.replace("<wbr>", "")) == tags(plain), name


def tags(html: str) -> list[str]:
    return re.findall(r"<[^>]*>", html)
