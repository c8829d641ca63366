"""Spaces of copies end soon, and no page with a text of its own is lost: random sites around random traps.

``pytest -m slow tests/crawler/crawl/frontier/test_frontier_copies.py`` draws hundreds of them.
"""

from pathlib import Path
from random import Random

import pytest
from endless_sites import Site, anchors, visit, word

from crawler.crawl.frontier.copies import EVIDENCE, SAMPLE

WASTE = 50  # requests for each real page or, in a tree, for each kind of page
Drawn = tuple[Site, set[str], int]
"""A site, the paths of its real pages without what varies, and how many kinds of pages the trap repeats."""


def sids(draw: Random) -> str:
    letters = draw.choice(["0123456789abcdef", "abcdefghijklmnop", "ABCDEFXYZ0123456789"])
    return "".join(draw.choice(letters) for _ in range(draw.choice([6, 8, 12, 24])))


def sessions(draw: Random) -> Drawn:
    """Real pages below a session id that is new on every page, or for every link; some lead to pages of their own."""
    names = [f"{word(draw.randrange(10_000))}-{n}" for n in range(draw.randrange(5, 60))]
    own_ids, above = draw.random() < 0.5, draw.choice(["", "s/", "shop/in/"])
    chained = draw.random() < 0.5  # each page is found on the one before only
    pages: dict[str, str] = {}

    def hrefs(path: str, shown: list[str]) -> str:
        fresh = Random(f"{draw_seed} {path}")
        one = sids(fresh)
        return anchors(f"/{above}{sids(fresh) if own_ids else one}/{name}" for name in shown)

    draw_seed = draw.random()

    def site(path: str) -> str | None:
        if path == "/":
            return "<h1>Home</h1>" + hrefs(path, names[:1] if chained else names)
        if not path.startswith(f"/{above}"):
            return None
        sid, _, name = path.removeprefix(f"/{above}").partition("/")
        if not sid or name not in names:
            return None
        shown = names[: names.index(name) + 2] if chained else names
        return pages.setdefault(path, f"<h1>{name}</h1><p>All about {name}." + hrefs(path, shown))

    return site, set(names), len(names)


def trees(draw: Random) -> Drawn:
    """A few kinds of pages, each equal to the byte wherever it is, with relative links that lead deeper."""
    kinds = [word(draw.randrange(10_000)) + "s" for _ in range(draw.randrange(1, 5))]
    kinds = list(dict.fromkeys(kinds))
    width = draw.randrange(1, 12)

    def site(path: str) -> str | None:
        if path == "/":
            return "<h1>Home</h1>" + anchors(f"/{kind}/" for kind in kinds)
        kind = path.split("/")[1]
        if kind not in kinds or not path.endswith("/"):
            return None
        return f"<h1>{kind}</h1>" + anchors(f"{word(n)}x/" for n in range(width))

    return site, set(kinds), len(kinds)


def real(draw: Random) -> tuple[Site, set[str]]:
    """Hundreds of products with the same frame and the same links but for their own name, and their text."""
    names = [f"{word(n * 37 + draw.randrange(37))}" for n in range(draw.randrange(100, 400))]
    home, below = draw.random() < 0.5, draw.choice(["", "/details"])

    def site(path: str) -> str | None:
        if path == "/":
            return "<h1>Shop</h1>" + anchors(f"/p/{name}{below}" for name in (names if home else names[:3]))
        name = path.removeprefix("/p/").removesuffix(below) if below else path.removeprefix("/p/")
        if path != f"/p/{name}{below}" or name not in names:
            return None
        at = names.index(name)
        more = [f"/p/{each}{below}" for each in (*names[at + 1 : at + 4], names[0])]
        return f"<h1>A product</h1><p>Made of {word(at * 91)}." + anchors(more, "more")

    return site, {f"/p/{name}{below}" for name in names}


def hubs(draw: Random) -> tuple[Site, set[str]]:
    """Lists without a text of their own, equal but for one segment, each of which leads to real pages below it."""
    names = [f"{word(n * 53)}q" for n in range(draw.randrange(60, 160))]
    is_chain = draw.random() < 0.5

    def site(path: str) -> str | None:
        if path == "/":
            return "<h1>Lists</h1>" + anchors(f"/l/{name}" for name in (names[:1] if is_chain else names))
        parts = path.split("/")
        if len(parts) not in (3, 4) or parts[1] != "l" or parts[2] not in names:
            return None
        at = names.index(parts[2])
        if len(parts) == 4:
            return f"<p>This is {word(at * 7)} and nothing else." if parts[3] == "item" else None
        following = [f"/l/{name}" for name in names[at + 1 : at + 2]] if is_chain else []
        return "<h1>A list</h1>" + anchors([f"{path}/item", *following], "view")

    return site, {*(f"/l/{name}" for name in names), *(f"/l/{name}/item" for name in names)}


def versions(draw: Random) -> tuple[Site, set[str]]:
    """The same documents in many versions or languages, of which most pages are equal; each leads to its others."""
    names = [f"{word(n * 29)}s" for n in range(draw.randrange(5, 20))]
    kinds = [
        [f"{n // 10}.{n % 10}" for n in range(30)],
        [f"v{n}-{word(n)}" for n in range(30)],
        [word(n * 7)[:5] for n in range(30)],
    ]
    editions = list(dict.fromkeys(draw.choice(kinds)))
    form, all_editions = draw.choice(["/docs/{edition}/{name}", "/{name}/{edition}"]), draw.random() < 0.5
    own = {(edition, name) for edition in editions for name in names if draw.random() < 0.2}
    pages = {
        form.format(edition=edition, name=name): (at, edition, name)
        for at, edition in enumerate(editions)
        for name in names
    }

    def site(path: str) -> str | None:
        if path == "/":
            return "<h1>Documents</h1>" + anchors(form.format(edition=each, name=names[0]) for each in editions[:2])
        if path not in pages:
            return None
        at, edition, name = pages[path]
        beside = editions if all_editions else editions[max(0, at - 1) : at + 2]
        hrefs = [form.format(edition=each, name=name) for each in beside]
        hrefs += [form.format(edition=edition, name=each) for each in names]
        said = f"<p>New: {word(at * 31 + len(name))}." if (edition, name) in own else ""
        return f"<h1>{name}</h1><p>How {name} works.{said}" + anchors(hrefs)

    return site, {form.format(edition=edition, name=name) for edition, name in own}


def people(draw: Random) -> tuple[Site, set[str]]:
    """Profiles that are equal but for a name, each with a link to a few pages of its own somewhere else."""
    names = [f"{word(n * 41)}{draw.choice(['', '-x'])}" for n in range(draw.randrange(60, 120))]
    parts = draw.choice([["posts", "photos"], ["posts", "photos", "likes"], ["item"]])
    form = draw.choice(["/{part}/{name}", "/{name}/{part}", "/in/{part}/{name}/view"])
    shows = draw.random() < 0.5
    own = {form.format(part=part, name=f"{name}{part[:2]}"): (name, part) for name in names for part in parts}
    profiles = {form.format(part="user", name=name): name for name in names}

    def site(path: str) -> str | None:
        if path == "/":
            return "<h1>All</h1>" + anchors(list(profiles)[:draw_count])
        if path in profiles:
            at = names.index(profiles[path])
            hrefs = [form.format(part=part, name=f"{names[at]}{part[:2]}") for part in parts]
            following = [form.format(part="user", name=name) for name in names[at + 1 : at + 2]]
            said = f"<p>Known as {profiles[path]}." if shows else ""
            return f"<h1>A person</h1>{said}" + anchors([*hrefs, *following], "view")
        if path in own:
            name, part = own[path]
            return f"<p>{part}: {word(names.index(name) * 17)} and more." + anchors(["/"], "home")
        return None

    draw_count = draw.choice([1, len(names)])
    return site, {*profiles, *own} if shows else {*own}


def parts(draw: Random) -> tuple[Site, set[str]]:
    """A catalogue in which the number of a part is all that differs, with some pages of each part."""
    numbers = [f"{word(n * 23).upper()}-{n * 7919 % 10_000:04}" for n in range(draw.randrange(60, 150))]
    tabs = draw.choice([[""], ["", "/data"], ["", "/data", "/drawings"]])
    prefix = draw.choice(["/parts", "/c/all", ""])
    known = {f"{prefix}/{number}{tab}": (at, tab) for at, number in enumerate(numbers) for tab in tabs}

    def site(path: str) -> str | None:
        if path == "/":
            return "<h1>Parts</h1>" + anchors(f"{prefix}/{number}" for number in numbers[:count])
        if path not in known:
            return None
        at, tab = known[path]
        near = [f"{prefix}/{number}{tab}" for number in numbers[max(0, at - 1) : at + 3]]
        return f"<h1>{numbers[at]}</h1><p>{tab} of {numbers[at]}." + anchors(
            [*(f"{prefix}/{numbers[at]}{each}" for each in tabs), *near], "see"
        )

    count = draw.choice([1, 10, len(numbers)])
    return site, {*known}


def check_trap(seed: int, folder: Path) -> None:
    draw = Random(seed)
    kind = draw.choice([sessions, trees, ids])
    site, names, kinds = kind(draw)
    crawl = visit(site, folder, seed=seed, width=draw.choice([1, 4, 16]), most=3_000)
    listed = {part for path in crawl.listed for part in path.replace(";", "/").split("/")}
    assert names <= listed, (seed, kind.__name__, names - listed)
    assert len(crawl.read) - kinds - 1 <= WASTE * (kinds if kind is trees else 2), (
        seed,
        kind.__name__,
        len(crawl.read),
    )


def check_real(seed: int, folder: Path) -> None:
    draw = Random(seed)
    kind = draw.choice([real, hubs, versions, people, parts])
    site, pages = kind(draw)
    crawl = visit(site, folder, seed=seed, width=draw.choice([1, 4, 16]))
    assert pages - crawl.listed == set(), (seed, kind.__name__, len(pages - crawl.listed))


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(12))
def test_ours_copies_end_within_fifty_requests(seed: int, tmp_path: Path) -> None:
    check_trap(seed, tmp_path)


@pytest.mark.parametrize("seed", range(6))
def test_ours_no_page_with_a_text_of_its_own_is_lost(seed: int, tmp_path: Path) -> None:
    check_real(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_ours_hundreds_of_random_sites_end_and_lose_nothing(tmp_path: Path) -> None:
    for seed in range(100, 300):
        for name, check in (("trap", check_trap), ("real", check_real)):
            folder = tmp_path / f"{name}{seed}"
            folder.mkdir()
            check(seed, folder)


def ids(draw: Random) -> Drawn:
    """Real pages with one or two ids anywhere in the path, new on every page or for each link; some show an id."""
    names = [f"{word(draw.randrange(10_000))}-{n}" for n in range(draw.randrange(3, 50))]
    form = draw.choice(
        [
            *("/{name}/{sid}", "/{name}/{sid}/", "/shop/{name}/s-{sid}", "/{name}/{sid}/view", "/{name}/in/{sid}"),
            *("/{sid}/{other}/{name}", "/{sid}/{name}/{other}", "/{name}/{sid}/{other}", "/in/{sid}/{other}/{name}/"),
            *("/{name};{sid}", "/{name};{sid}/{other}", "/{name};s={sid}/{sid}", "/shop/{name};{sid};{other}/"),
        ]
    )
    own_ids, shows, order = draw.random() < 0.5, draw.choice(["", "own", "new"]), draw.choice(["all", "chain", "ring"])
    static = anchors(["/", *(f"/{word(n)}" for n in range(draw.randrange(4)))])
    seed = draw.random()

    def site(path: str) -> str | None:
        fresh = Random(f"{seed} {path}")
        one = sids(fresh), sids(fresh)
        parts = path.strip("/").replace(";", "/").split("/")
        name = next((name for name in names if name in parts), "")
        if path != "/" and not name:
            return f"<h1>{path}</h1>{static}" if path in static else None
        at = names.index(name) if name else -1
        shown = {"all": names, "chain": names[: max(at, 0) + 2], "ring": [names[(at + 1) % len(names)]]}[order]
        pairs = (one if own_ids else (sids(fresh), sids(fresh)) for _ in shown)
        hrefs = [form.format(name=name, sid=sid, other=other) for name, (sid, other) in zip(shown, pairs, strict=True)]
        own = (
            parts[form.strip("/").split("/").index("{sid}")]
            if name and "/{sid}/" in f"{form}/".replace(";", "")
            else ""
        )
        told = {"own": f"<p>Your session: {own}</p>", "new": f'<p>Next: {one[0]}</p><img src="/i/{one[0]}.png">'}
        return f"<h1>{name}</h1><p>All about {name}." + told.get(shows, "") * own_ids + static + anchors(hrefs)

    return site, set(names), len(names)


@pytest.mark.parametrize("links", [1, 15])
@pytest.mark.parametrize("form", ["/{name}/{sid}", "/{sid}/{other}/{name}", "/{name};{sid}/{sid}"])
def test_ours_an_id_anywhere_in_the_path_ends(tmp_path: Path, form: str, links: int) -> None:
    names = [f"page-{n}" for n in range(15)]

    def site(path: str) -> str | None:
        sid = sids(Random(path))
        at = next((n for n, name in enumerate(names) if name in path.replace(";", "/").split("/")), -1)
        shown = [names[(at + n) % len(names)] for n in range(1, links + 1)]
        hrefs = anchors(form.format(name=name, sid=sid, other=sid[::-1]) for name in shown)
        return f"<h1>{names[at]}</h1><p>All about {names[at]}." * (at >= 0) + hrefs

    crawl = visit(site, tmp_path, most=1_500)
    assert len(crawl.read) < 2 * len(names) + WASTE
    assert crawl.notes


def test_ours_the_first_page_of_a_chain_of_copies_is_evidence_too(tmp_path: Path) -> None:
    def site(path: str) -> str:
        if path == "/about":
            return "<h1>About</h1><p>About the news."
        about = '<a href="/about">about</a>' if path == "/" else ""
        ids = Random(path)
        return f'<h1>News</h1><p>All the news.</p>{about}<a href="/{sids(ids)}/{sids(ids)}/news">more</a>'

    crawl = visit(site, tmp_path, width=1)
    others = {"/", "/about"}
    assert len({*crawl.read} - others) == 1 + EVIDENCE + SAMPLE  # the first page, its copies, a sample of the rest


@pytest.mark.parametrize(
    ("news", "more"),
    [((), 0), ((1,), 20), ((1, 3, 10), 22), ((1, 12), 61), ((11,), 0)],  # what follows on news is not of the sample
)
def test_ours_a_sample_is_used_up_before_its_news_double_it(tmp_path: Path, news: tuple[int, ...], more: int) -> None:
    """Pages of a chain, one of which leads to the next. ``news`` are the numbers of pages of the sample with news."""
    numbers = {"/": 0}

    def site(path: str) -> str:
        number = numbers[path]
        said = f"News of {word(number)}." if number - EVIDENCE - 1 in news else "All the news."
        ids = Random(number)
        following = f"/{sids(ids)}/{sids(ids)}/news"
        numbers[following] = number + 1
        return f'<h1>News</h1><p>{said}</p><a href="{following}">more</a>'

    crawl = visit(site, tmp_path, width=1)
    assert len(crawl.read) == 1 + EVIDENCE + SAMPLE + more  # the home page is the first of them


def test_ours_equal_pages_that_lead_nowhere_are_no_trap(tmp_path: Path) -> None:
    """Two hundred tags without a post hide none of those that have one."""
    tags = [f"/tag/{word(n * 13 + 7)}" for n in range(205)]

    def site(path: str) -> str | None:
        if path == "/":
            return anchors(tags)
        said = f"About {word(tags.index(path))}." if path in tags[200:] else "No posts yet."
        return f"<h1>Tag</h1><p>{said}" + anchors(["/"]) if path in tags else None

    assert visit(site, tmp_path).listed == {"/", *tags}
