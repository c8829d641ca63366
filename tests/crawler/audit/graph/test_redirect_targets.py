"""The page that replaces a dead URL: the same name elsewhere, the title of old, common words; never a wild guess."""

from random import Random

import pytest

from crawler.audit.graph.suggestions import RedirectTargets

SITE = "https://example.com"
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
TARGETS = RedirectTargets((f"{SITE}{path}", title) for path, title in PAGES.items())


def best(path: str, title: str = "") -> str:
    found = TARGETS.suggest(f"{SITE}{path}", title)
    assert all(0 < each.score <= 1 and each.reason for each in found)
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    return found[0].url.removeprefix(SITE) if found else ""


@pytest.mark.parametrize(
    ("path", "title", "target"),
    [
        ("/2019/winter_boots.html", "", "/blog/winter-boots/"),
        ("/blog/Winter-Boots.php", "", "/blog/winter-boots/"),
        ("/blog/winterboots", "", "/blog/winter-boots/"),
        ("/old/how-to-repair-canoes", "", "/blog/canoe-repair/"),
        ("/p/1234", "Copper lantern", "/shop/copper-lantern"),
        ("/lantern-of-copper", "", "/shop/copper-lantern"),
        ("/blog/no-such-thing", "", "/blog/"),
        ("/xyz", "", ""),
        ("/n/2", "", ""),
    ],
)
def test_ours_the_page_that_is_most_like_a_dead_url(path: str, title: str, target: str) -> None:
    assert best(path, title) == target


def test_ours_the_start_page_never_replaces_a_page() -> None:
    assert best("/gone/page") == ""


def test_ours_a_name_that_many_pages_have_says_nothing() -> None:
    pages = [(f"{SITE}/{n}/overview", "") for n in range(50)]
    assert RedirectTargets(pages).suggest(f"{SITE}/old/overview") == []


@pytest.mark.parametrize("seed", range(5))
def test_ours_renamed_directories_of_a_random_site_are_found_again(seed: int) -> None:
    some = Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(some.choices(letters, k=some.randrange(4, 9))) for _ in range(400)]
    names = {"-".join(some.sample(words, 3)) for _ in range(300)}
    targets = RedirectTargets((f"{SITE}/new/{name}/", name.replace("-", " ").title()) for name in names)
    for name in names:
        (found, *_) = targets.suggest(f"{SITE}/old/{name}.html")
        assert found.url == f"{SITE}/new/{name}/"
        assert found.score > 0.8


def test_ours_the_same_end_of_the_path_is_better_than_the_same_name_alone() -> None:
    paths = ("/library/re.html", "/c-api/sys.html", "/library/sys.html")
    targets = RedirectTargets((f"{SITE}{path}", "Manual") for path in paths)
    assert [page.url for page in targets.suggest(f"{SITE}/2/library/re.html")] == [f"{SITE}/library/re.html"]
    assert targets.suggest(f"{SITE}/2/library/sys.html")[0].url == f"{SITE}/library/sys.html"
