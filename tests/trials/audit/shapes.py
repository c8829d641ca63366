"""Healthy sites of several shapes: every page is listed, and at least two other pages link to it."""

import random
from collections.abc import Callable

from .site import Page, Site

Naming = Callable[[int], str]


def made_site(dice: random.Random, url: str, size: int, shape: str = "") -> Site:
    """A site of about ``size`` pages, without anything wrong; its shapes are drawn, or it has the one that is given."""
    site = Site(url, dice)
    site.sitemaps = dice.choice(("one", "one", "index", "gz"))
    site.is_declared = dice.random() < 0.8
    home = site.page("/", "Welcome to the harbour")
    dates = dice.choice(("header", "inside", "none"))
    shapes = dice.sample(sorted(SHAPES), k=1 if size < 60 else dice.choice((1, 2, 3)))
    shapes = [shape] if shape else shapes
    for name in ("/contact", "/privacy", "/about"):
        site.page(f"{name}{dice.choice(('', '/', '.html'))}")
    rest = max(8, size - len(site.pages))
    for each in shapes:
        SHAPES[each](site, rest // len(shapes))
    site.chrome = ["/", *site.chrome, *list(site.pages)[1:4]]
    for page in site.pages.values():
        if page.is_indexable and dates != "none":
            page.modified, page.is_dated_inside = site.date(), dates == "inside"
    series_listed = dice.random() < 0.7
    for page in site.pages.values():
        is_series = "page=" in page.target or "/page/" in page.target
        if page.is_indexable and (series_listed or not is_series):
            site.submit(page)
            site.ordinary.append(page)
    assert home.is_indexable
    site.ordinary.remove(home)
    return site


def slug(site: Site, number: int) -> str:
    return "-".join(site.dice.choices(site.sentence(8)[:-1].lower().split(), k=3)) + f"-{number}"


def series(site: Site, base: str, later: Callable[[int], str], naming: Naming, count: int) -> list[Page]:
    """A list in pages of twenty, with ``count`` leaves that link to their list, their neighbours and two others."""
    size = 20
    pages = [site.page(base)]
    pages += [site.page(later(number)) for number in range(2, -(-count // size) + 1)]
    site.chrome.append(base)
    leaves = [site.page(naming(number)) for number in range(count)]
    for at, leaf in enumerate(leaves):
        listing = pages[at // size]
        listing.links[leaf.target] = ""
        near = [leaves[at - 1], leaves[(at + 1) % count], *site.dice.sample(leaves, min(2, count))]
        leaf.links |= {each.target: "" for each in [listing, *near] if each is not leaf}
    for page in pages:
        page.links |= {other.target: "" for other in pages if other is not page}
    return leaves


def blog(site: Site, size: int) -> None:
    ending = site.dice.choice(("/", "", ".html"))

    def post(number: int) -> str:
        return f"/blog/{2015 + number % 9}/{1 + number % 12:02}/{slug(site, number)}{ending}"

    posts = series(site, "/blog/", lambda number: f"/blog/page/{number}/", post, max(5, size * 8 // 10))
    for number in range(max(1, size // 20)):
        tag = site.page(f"/tag/{slug(site, number)}/")
        for each in site.dice.sample(posts, min(len(posts), 4)):
            tag.links[each.target] = ""
            each.links[tag.target] = ""


def shop(site: Site, size: int) -> None:
    groups = max(1, size // 60)
    for group in range(groups):
        base = f"/c/{slug(site, group)}/"

        def product(number: int, group: int = group) -> str:
            return f"/p/{group}-{slug(site, number)}"

        products = series(site, base, lambda n, base=base: f"{base}?page={n}", product, max(5, size // groups - 6))  # type: ignore[misc]
        for colour in site.dice.sample(("red", "blue", "green", "white"), 2):
            facet = site.page(f"{base}?color={colour}")
            if site.dice.random() < 0.5:
                facet.canonical = base
            else:
                facet.canonical = ""
                facet.metas.append(("robots", "noindex, follow"))
            site.pages[base].links[facet.target] = ""
            facet.links |= {each.target: "" for each in site.dice.sample(products, min(3, len(products)))}
        for each in site.dice.sample(products, 2):
            variant = site.page(f"{each.target}?variant=2")
            variant.canonical = each.target
            each.links[variant.target] = ""


def docs(site: Site, size: int) -> None:
    newest = series(site, "/docs/latest/", lambda n: f"/docs/latest/index-{n}.html",
                    lambda n: f"/docs/latest/{slug(site, n)}.html", max(5, size * 2 // 3))  # fmt: skip
    old = site.page("/docs/v1/")
    old.canonical = "/docs/latest/"
    newest[0].links[old.target] = ""
    for page in site.dice.sample(newest, min(len(newest), max(1, size // 4))):
        earlier = site.page(page.target.replace("latest", "v1"))
        earlier.canonical = page.target
        old.links[earlier.target] = ""
        earlier.links[page.target] = ""


def languages(site: Site, size: int) -> None:
    codes = site.dice.sample(("en", "de", "fr", "ja", "pt-br", "es"), site.dice.choice((2, 3)))
    names = [slug(site, number) for number in range(max(5, size // len(codes) - 1))]
    for code in codes:
        series(site, f"/{code}/", lambda n, code=code: f"/{code}/page/{n}/",  # type: ignore[misc]
               lambda n, code=code: f"/{code}/{names[n]}/", len(names))  # type: ignore[misc]  # fmt: skip
    for path in ("", *(f"{name}/" for name in names)):
        cluster = {code: f"/{code}/{path}" for code in codes}
        for code, target in cluster.items():
            page = site.pages[target]
            page.language = code
            page.versions = {**cluster, "x-default": cluster[codes[0]]}
    for page in site.pages.values():
        if "/page/" in page.target:
            page.language = page.target.split("/")[1]


def wiki(site: Site, size: int) -> None:
    def name(number: int) -> str:
        word = slug(site, number).replace("-", "_").capitalize()
        return site.dice.choice((
            f"/wiki/{word}", f"/wiki/File:{word}.png", f"/wiki/{word}.js", f"/wiki/Caf%C3%A9_{word}",
            f"/wiki/C%2B%2B_{word}", f"/wiki/{word}_(boat)", f"/wiki/{word}/Sub", f"/wiki/{word.upper()}",
        ))  # fmt: skip

    series(site, "/wiki/All_pages", lambda n: f"/wiki/All_pages?page={n}", name, max(5, size))


def tech(site: Site, size: int) -> None:
    endings = site.dice.sample((".js", ".io", ".net", "", ".php", ".HTML", ".aspx?id=7"), 3)
    series(site, "/Tech/", lambda n: f"/Tech/?page={n}",
           lambda n: f"/Tech/{slug(site, n)}{endings[n % 3]}", max(5, size))  # fmt: skip


def queries(site: Site, size: int) -> None:
    series(site, "/index.php?id=1", lambda n: f"/index.php?id=1&page={n}",
           lambda n: f"/index.php?id={n + 100}&view=article", max(5, size))  # fmt: skip


SHAPES = {shape.__name__: shape for shape in (blog, shop, docs, languages, wiki, tech, queries)}
