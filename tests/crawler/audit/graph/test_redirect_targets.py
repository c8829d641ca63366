"""The page that replaces a dead URL, by its path alone: the same name elsewhere, common words; never a wild guess."""

from random import Random

import pytest

from crawler.audit.graph.load import share_a_word
from crawler.moves.matcher import MovePage, match_pages

PAGES = {
    "/": "Example",
    "/blog/": "Blog",
    "/blog/winter-boots/": "Winter boots",
    "/blog/canoe-repair/": "How to repair a canoe",
    "/shop/": "Shop",
    "/shop/copper-lantern": "Copper lantern",
    "/shop/brass-lantern": "Brass lantern",
    "/about": "About us",
    "/team/": "Our people",
}


def best(path: str, title: str = "") -> str:
    name = title or path.rstrip("/").rpartition("/")[2]
    (found,) = match_pages([MovePage.of(path, name)], [MovePage.of(*page) for page in PAGES.items()])
    return found.new


@pytest.mark.parametrize(
    ("path", "title", "target"),
    [
        ("/2019/winter_boots.html", "", "/blog/winter-boots/"),
        ("/blog/Winter-Boots.php", "", "/blog/winter-boots/"),
        ("/old/how-to-repair-canoes", "", "/blog/canoe-repair/"),
        ("/p/1234", "Copper lantern", "/shop/copper-lantern"),
        ("/lantern-of-copper", "", "/shop/copper-lantern"),
        ("/blog/no-such-thing", "", ""),
        ("/xyz", "", ""),
        ("/n/2", "", ""),
        ("/gone/page", "", ""),
    ],
)
def test_ours_the_page_that_is_most_like_a_dead_url(path: str, title: str, target: str) -> None:
    assert best(path, title) == target


def test_ours_a_name_that_many_pages_have_says_nothing() -> None:
    pages = [MovePage.of(f"/{n}/overview") for n in range(50)]
    (found,) = match_pages([MovePage.of("/old/overview")], pages)
    assert found.new == ""


@pytest.mark.parametrize("seed", range(5))
def test_ours_renamed_directories_of_a_random_site_are_found_again(seed: int) -> None:
    some = Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(some.choices(letters, k=some.randrange(4, 9))) for _ in range(400)]
    names = sorted({"-".join(some.sample(words, 3)) for _ in range(300)})
    pages = [MovePage.of(f"/new/{name}/", name.replace("-", " ").title()) for name in names]
    for found in match_pages([MovePage.of(f"/old/{name}.html", name) for name in names], pages):
        assert found.new == found.old.replace("/old/", "/new/").replace(".html", "/")
        assert found.probability > 0.8


def test_ours_the_same_end_of_the_path_is_better_than_the_same_name_alone() -> None:
    pages = [MovePage.of(path, "Manual") for path in ("/library/re.html", "/c-api/sys.html", "/library/sys.html")]
    found = [
        match.new
        for match in match_pages([MovePage.of("/2/library/re.html"), MovePage.of("/2/library/sys.html")], pages)
    ]
    assert found == ["/library/re.html", "/library/sys.html"]


def test_ours_a_number_that_two_paths_share_is_no_evidence() -> None:
    assert not share_a_word("/gone/10.html", "/whatsnew/3.10.html")
    assert not share_a_word("/p/10/index.html", "/10/2/index.html")
    assert share_a_word("/gone/python-10.html", "/whatsnew/Python/3.10.php")
