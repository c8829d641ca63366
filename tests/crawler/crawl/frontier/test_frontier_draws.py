"""Sites with ids anywhere in their URLs end soon, and ordinary sites that look like them lose nothing: all at random.

``pytest -m slow tests/crawler/crawl/frontier/test_frontier_draws.py`` draws hundreds; SITEATLAS_SEED moves the seeds.
"""

import os
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from endless_draws import Drawn, names_read, ordinary, trap
from endless_sites import anchors, visit, word

WASTE = 50  # requests for each template: the start page and the pages
FRESH_SEED = int(os.environ.get("SITEATLAS_SEED", "0"))


def bound(drawn: Drawn) -> int:
    """Most requests: each real page may be read once more under its name, or ten times if its menu is its own.

    Texts that some pages show by turns are news, and each doubles the last sample: 10, 20, 40 … 640.
    """
    each = 11 if " chain " in drawn.said or " tree " in drawn.said else 2
    return 2 * WASTE + each * len(drawn.names) + 6 + (1_270 if drawn.noisy else 0)


def check_trap(seed: int, folder: Path, *, nameless: bool) -> None:
    drawn = trap(seed, nameless=nameless)
    crawl = visit(drawn.site, folder, seed=seed, width=Random(seed).choice([1, 4, 16]), most=2_000)
    assert drawn.names - names_read(drawn, [*crawl.listed]) == set(), drawn.said
    assert len(crawl.read) <= bound(drawn), (drawn.said, len(crawl.read))
    assert crawl.notes, drawn.said


def check_ordinary(seed: int, folder: Path) -> None:
    site, paths, said = ordinary(seed)
    crawl = visit(site, folder, seed=seed, width=Random(seed).choice([1, 4, 16]))
    assert paths - crawl.listed == set(), said


@pytest.mark.thorough
@pytest.mark.parametrize("nameless", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_ours_ids_anywhere_in_a_url_end(tmp_path: Path, seed: int, nameless: bool) -> None:
    check_trap(seed, tmp_path, nameless=nameless)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(12))
def test_ours_ordinary_sites_with_such_urls_lose_no_page(tmp_path: Path, seed: int) -> None:
    check_ordinary(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_ours_hundreds_of_sites_with_ids_end_and_ordinary_ones_lose_nothing(tmp_path: Path) -> None:
    for seed in range(FRESH_SEED + 10_000, FRESH_SEED + 10_200):
        for kind in ("named", "nameless", "ordinary"):
            folder = tmp_path / f"{kind}{seed}"
            folder.mkdir()
            if kind == "ordinary":
                check_ordinary(seed, folder)
            else:
                check_trap(seed, folder, nameless=kind == "nameless")


@pytest.mark.parametrize("width", [1, 16])
def test_ours_two_ids_and_nothing_else_in_a_path_end_within_fifty_requests(tmp_path: Path, width: int) -> None:
    pages: dict[str, int] = {}
    draw = Random(7)

    def site(path: str) -> str | None:
        if path != "/" and path not in pages:
            return None
        hrefs = [f"/{draw.getrandbits(64):x}/{draw.getrandbits(64):x}" for _ in range(4)]
        pages.update({href: n for n, href in enumerate(hrefs)})
        at = pages.get(path, -1)
        return f"<h1>{word(at + 2)}</h1><p>All about {word(at + 2)}." + anchors(hrefs)

    crawl = visit(site, tmp_path, width=width, most=1_000)
    assert {pages[path] for path in crawl.listed - {"/"}} == set(range(4))
    assert len(crawl.read) <= 1 + 4 + WASTE + width  # so many may be in flight
    assert any("/*/*" in note for note in crawl.notes)


@pytest.mark.parametrize("gap", [5, 25])
def test_ours_a_chain_of_equal_pages_is_read_on_until_the_sample_is_used_up(tmp_path: Path, gap: int) -> None:
    """Weeks without an event, under ids, lead to the one with an event though more than twenty had none."""
    draw = Random(3)
    weeks = [f"/w/{draw.getrandbits(64):x}" for _ in range(gap)]
    after = dict(pairwise([*weeks, "/party"]))

    def site(path: str) -> str | None:
        if path == "/":
            return anchors(weeks[:1])
        if path in after:
            return "<h1>A week</h1>" + anchors([after[path]])
        return "<p>A party!" if path == "/party" else None

    assert "/party" in visit(site, tmp_path).listed


def test_ours_a_page_that_waits_to_be_read_stays_when_one_more_space_is_found_to_be_endless(tmp_path: Path) -> None:
    """Each decision looks at all that waits, also at what an earlier one kept for the first page of its name."""
    names = [word(n * 7) for n in range(42)]

    def site(path: str) -> str | None:
        name = path.rpartition("/")[2]
        if path != "/" and name not in names:
            return None
        at = names.index(name) if name else -1
        draw = Random(path)
        return f"<h1>{name}</h1><p>All about {name}." + anchors(
            f"/s/{draw.getrandbits(64):x}/{each}" for each in names[: at + 2]
        )

    crawl = visit(site, tmp_path, width=4, most=2_000)
    assert {*names} <= {path.rpartition("/")[2] for path in crawl.listed}


@pytest.mark.thorough
def test_ours_pages_that_wait_are_left_out_when_their_menu_proves_to_lead_to_copies_later(tmp_path: Path) -> None:
    """Answers in another order than questions: real pages and copies of them are read by turns."""
    check_trap(5036, tmp_path, nameless=True)


def test_ours_a_trap_with_more_ids_than_are_remembered_ends_too(tmp_path: Path) -> None:
    check_trap(2869, tmp_path, nameless=False)
