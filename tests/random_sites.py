"""Random small sites for the oracle, each from a number, and the smallest of them that still shows a difference."""

import random
from collections.abc import Callable, Iterator
from copy import deepcopy

from made_sites import Hits, Made, Res

_KINDS = ["a"] * 14 + ["nofollow"] * 3 + ["frame", "area", "hreflang", "next", "amp", "slow"]
_STATUSES = [200] * 30 + [301, 302, 308, 307] + [404, 410, 500, 403]


def random_site(seed: int) -> Made:
    """A site of 2 to 25 URLs."""
    dice = random.Random(seed)
    paths = ["/", *(_path(dice, n) for n in range(1, dice.randrange(2, 25)))]
    calm = dice.random() < 0.5  # nothing in it that makes a crawl doubtful
    density = dice.choice([0.3, 0.8, 1.5, 3])
    pages = {path: _page(dice, path, paths, density, calm) for path in paths}
    if dice.random() < 0.8:
        pages["/"] = Res(links=pages["/"].links or [(dice.choice(paths), "a")])
    pages["/"].bare = dice.random() < 0.1
    site = Made(pages, dressed=dice.choice([0, dice.randrange(1, 100)]))
    if dice.random() < 0.3:
        pages["/feed"] = Res(links=[(dice.choice(paths), "item")], feed=True)
        pages[dice.choice(paths)].links.append(("/feed", "feed"))
    if dice.random() < 0.2 and not calm:
        site.blocked = [dice.choice(paths[1:] or ["/no"])]
    _sources(dice, site, paths)
    for path in dice.sample(paths, min(len(paths), dice.randrange(3))):
        pages[dice.choice(paths)].links.append((f"http:{path}", "a"))
    if dice.random() < 0.5:
        _spellings(dice, site, [path for path in paths if pages[path].status == 200])
    if dice.random() < 0.3:
        site.settings["trust_blocked"] = True
    return site


def _path(dice: random.Random, number: int) -> str:
    return dice.choice([f"/x{number}", f"/x{number}", f"/d/x{number}/", f"/x{number}?v=1"])


def _page(dice: random.Random, path: str, paths: list[str], density: float, calm: bool) -> Res:
    status = dice.choice([each for each in _STATUSES if not calm or each < 401 or each in (404, 410)])
    if 300 <= status < 400:
        return Res(status, target=dice.choice(paths))
    if status != 200:
        return Res(status)
    page = Res()
    for _ in range(dice.randrange(0, 1 + round(2 * density))):
        page.links.append((dice.choice(paths), dice.choice(_KINDS)))
    chance = dice.random()
    if chance < 0.12:
        page.canonicals = [dice.choice(paths) for _ in range(dice.choice([1, 1, 1, 2]))]
    elif chance < 0.2:
        page.canonicals = [path]
    elif chance < 0.26:
        page.noindex = dice.choice(["meta", "header"])
    elif chance < 0.3:
        page.hushed = True
    elif chance < 0.34:
        page.refresh = dice.choice(paths)
    elif chance < 0.37:
        page.base = "https://s.example/elsewhere/"
    return page


def _sources(dice: random.Random, site: Made, paths: list[str]) -> None:
    asked = [*paths, "/never"]

    def some(most: float) -> list[str]:
        return [path for path in asked if dice.random() < most]

    site.has_sitemap = dice.random() < 0.8
    if site.has_sitemap:
        site.listed = some(dice.choice([0.2, 0.5, 0.8]))
    for path in some(0.2) if dice.random() < 0.5 else ():
        today = site.pages.get(path, Res(404)).status
        status = dice.choice([today, today, 200])
        site.hits.append(Hits(path, status, dice.randrange(8), dice.randrange(3), dice.randrange(8)))
        if not (site.hits[-1].people + site.hits[-1].engines + site.hits[-1].tools):
            site.hits.pop()
    if dice.random() < 0.4:
        site.searched = some(0.2) + [f"http:{path}" for path in some(0.05)]
    if dice.random() < 0.4:
        site.noted = some(0.2)


def _spellings(dice: random.Random, site: Made, paths: list[str]) -> None:
    """Other spellings of pages, which sources know: copies, redirects, pages of their own, or nothing."""
    for path in dice.sample(paths, min(len(paths), dice.randrange(1, 4))):
        bare, mark, query = path.partition("?")
        other = dice.choice(
            [
                bare.upper() + mark + query,
                f"{bare.rstrip('/')}/index.html{mark}{query}",
                f"{path}&z=1" if mark else f"{path}?z=1",
            ]
        )
        if other in site.pages or path == "/":
            continue
        match dice.randrange(4):
            case 0:
                site.pages[other] = deepcopy(site.pages[path])
                site.pages[other].same = path
            case 1:
                site.pages[other] = Res(301, target=path)
            case 2:
                site.pages[other] = Res(links=[(dice.choice(paths), "a")])
        status = site.pages.get(other, Res(404)).status
        match dice.randrange(4):
            case 0:
                site.searched.append(other)
            case 1:
                site.noted.append(other)
            case _:
                site.hits.append(
                    Hits(other, dice.choice([status, 200, 301]), dice.randrange(1, 9), 0, dice.randrange(4))
                )


def shrunk(site: Made, differs: Callable[[Made], bool]) -> Made:
    """The smallest site that still differs, by taking away one thing after the other."""
    while smaller := next((each for each in _smaller(site) if differs(each)), None):
        site = smaller
    return site


def _smaller(site: Made) -> Iterator[Made]:
    for path in list(site.pages):
        if path != "/":
            yield _without(site, path)
    for name in ("blocked", "listed", "hits", "searched", "noted"):
        for place in range(len(getattr(site, name))):
            less = deepcopy(site)
            del getattr(less, name)[place]
            yield less
    for path, page in site.pages.items():
        for place in range(len(page.links)):
            less = deepcopy(site)
            del less.pages[path].links[place]
            yield less
        if page != (plain := Res(links=page.links)):
            less = deepcopy(site)
            less.pages[path] = deepcopy(plain)
            yield less
    if site.dressed or site.settings:
        yield Made(**{**vars(deepcopy(site)), "dressed": 0, "settings": {}})


def _without(site: Made, path: str) -> Made:
    less = deepcopy(site)
    del less.pages[path]
    for page in less.pages.values():
        page.links = [link for link in page.links if link[0] != path]
    for name in ("blocked", "listed", "searched", "noted"):
        setattr(less, name, [each for each in getattr(less, name) if each != path])
    less.hits = [each for each in less.hits if each.target != path]
    return less
