"""Random trials of lastmod: the trials themselves are sound, and a few of them are drawn and passed.

The long run, over all systems and sizes: `pytest -m slow tests/test_lastmod_trials.py` or `-m tests.trials.lastmod`.
"""

import itertools
import random

import pytest

from tests.trials.lastmod.edits import KINDS, WHOLE, edit
from tests.trials.lastmod.noises import SPACE, SPREADS, Moment, Noise, draw
from tests.trials.lastmod.page import TOKEN, Page
from tests.trials.lastmod.server import Site
from tests.trials.lastmod.sites import SYSTEMS, pages

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Page]]:
    return {system: pages(system, 20, tmp_path_factory.mktemp("none")) for system in SYSTEMS}


def anew(site: dict[str, Page]) -> list[Page]:
    return [Page(page.path, page.template, page.html) for page in site.values()]


def test_ours_every_edit_changes_what_a_page_shows(rendered: dict[str, dict[str, Page]]) -> None:
    rng = random.Random(1)
    copies = [page for site in rendered.values() for page in anew(site)[-14:]]
    for page in copies[:6]:
        Noise(0, "count", "sentence", "request", "all", "1").install(page)
    for kind in KINDS | WHOLE:
        for page in copies:
            before = page.source
            if edit(page, kind, rng) is not None:
                assert page.source != before, (kind, page.path)
                break
        else:
            pytest.fail(f"no page has anything for the edit {kind}")


def test_ours_every_noise_of_the_space_varies(rendered: dict[str, dict[str, Page]]) -> None:
    page = max(anew(rendered["hugo"]), key=lambda each: each.html.count("<li>"))
    for value, (places, movements) in SPACE.items():
        for place, dynamics in itertools.zip_longest(places, movements, fillvalue=None):
            copy = Page(page.path, page.template, page.html)
            targets = [(each, "title") for each in rendered["hugo"]]
            noise = Noise(7, value, place or places[0], dynamics or movements[0], "all", "1", targets=targets)
            assert noise.install(copy), noise.name
            site = Site({})
            site.noises = [noise]
            shown = {site.shown(copy, Moment(run, run * 9, run * 3)) for run in range(9)}
            assert len(shown) > 1, noise.name
            assert not any(TOKEN.search(each) for each in shown), noise.name


def test_ours_the_space_holds_hundreds_of_noises() -> None:
    kinds = [
        (value, *each) for value, (places, movements) in SPACE.items() for each in zip(places, movements, strict=False)
    ]
    assert len(kinds) >= 60
    assert len(KINDS) >= 25
    drawn = {draw(random.Random(seed), 0, _blank()).name for seed in range(500)}
    assert len(drawn) > 200
    assert {name.partition(" [")[0].rpartition(", ")[2] for name in drawn} == set(SPREADS)


def _blank() -> list[Page]:
    body = "<html><head></head><body><main><p>Some words here.</p></main></body></html>"
    return [Page(f"/{number}/", "leaf 1", body) for number in range(10)]
