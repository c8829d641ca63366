"""Problems of sites, each in the words of an SEO lead, with the rules that may report it."""

import itertools
from collections.abc import Callable

from .plan import Plan, Plant
from .site import Page

ORPHANS = ("orphan.sitemap", "orphan.log", "orphan.search", "orphan.list", "orphan.island")
PLANTS: dict[str, Plant] = {}


def plant(name: str) -> Callable[[Plant], Plant]:
    def register(function: Plant) -> Plant:
        PLANTS[name] = function
        return function

    return register


# ---------------------------------------------------------------- orphans


@plant("orphan: in the sitemap only")
def _(plan: Plan) -> None:
    page = plan.page()
    plan.site.submit(page)
    if plan.dice.random() < 0.3:
        plan.known(page)
    plan.expect(page, "orphan.sitemap")


@plant("orphan: in the logs only, people")
def _(plan: Plan) -> None:
    page = plan.page()
    plan.sources.visits(page.target, plan.dice.choice((1, 5, 30)))
    plan.expect(page, "orphan.log")


@plant("orphan: in the logs only, Googlebot")
def _(plan: Plan) -> None:
    page = plan.page()
    plan.sources.visits(page.target, plan.dice.choice((2, 8)), plan.dice.choice(("google", "bing")))
    plan.expect(page, "orphan.log")


@plant("orphan: in the search console only")
def _(plan: Plan) -> None:
    page = plan.page()
    plan.sources.search[page.target] = plan.dice.choice(((0, 3), (0, 90), (7, 200)))
    plan.expect(page, "orphan.search")


@plant("orphan: in analytics only")
def _(plan: Plan) -> None:
    page = plan.page()
    plan.sources.analytics[page.target] = plan.dice.choice((1, 12, 400))
    plan.expect(page, "orphan.search")


@plant("orphan: with backlinks only")
def _(plan: Plan) -> None:
    page = plan.page()
    plan.sources.backlinks[page.target] = plan.dice.choice((1, 6))
    plan.expect(page, "orphan.list")


@plant("orphan: in a list only")
def _(plan: Plan) -> None:
    page = plan.page()
    plan.sources.names.append(page.target)
    plan.expect(page, "orphan.list")


@plant("orphan: its case twin is linked")
def _(plan: Plan) -> None:
    linked = plan.healthy(plan.target("").rstrip("/") + "/python")
    twin = plan.page(linked.target.removesuffix("python") + "PYTHON")
    linked.canonical, twin.canonical = linked.target, twin.target
    plan.site.submit(twin)
    plan.expect(twin, "orphan.sitemap")


@plant("orphan: a page that ends like a file, in the logs only")
def _(plan: Plan) -> None:
    page = plan.page(plan.target(plan.dice.choice((".js", ".png", ".net", ".asp", ".jpg", ".io"))))
    plan.sources.visits(page.target, 12)
    plan.expect(page, *ORPHANS)


@plant("orphan: an island of pages that link only each other")
def _(plan: Plan) -> None:
    pages = [plan.page() for _ in range(plan.dice.choice((2, 3, 5)))]
    for at, page in enumerate(pages):
        page.links = {pages[at - 1].target: "", pages[(at + 1) % len(pages)].target: ""}
        page.links.pop(page.target, None)
    way = plan.dice.choice(("listed", "visited", "one listed"))
    for page in pages if way != "one listed" else pages[:1]:
        if way == "visited":
            plan.sources.visits(page.target, 9)
        else:
            plan.site.submit(page)
        plan.expect(page, "orphan.island")
    plan.allow([page.target for page in pages], *ORPHANS, "listed.missing")


@plant("orphan: linked only by another orphan")
def _(plan: Plan) -> None:
    first, second = plan.page(), plan.page()
    first.links[second.target] = ""
    for page in (first, second):
        plan.site.submit(page)
        plan.expect(page, *ORPHANS)


# ---------------------------------------------------------------- weakly linked


@plant("weak: linked only by nofollow")
def _(plan: Plan) -> None:
    page = plan.page()
    plan.site.submit(page)
    if plan.dice.random() < 0.3:
        (hub := plan.healthy()).metas.append(("robots", "nofollow"))
        hub.links[page.target] = ""
    else:
        plan.link(page, plan.dice.choice((1, 3)), plan.dice.choice(("nofollow", "nofollow noopener", "ugc NOFOLLOW")))
    plan.expect(page, "weak.nofollow")


@plant("weak: linked only from a noindexed page")
def _(plan: Plan) -> None:
    page, hub = plan.page(), plan.page()
    if plan.dice.random() < 0.5:
        hub.metas.append(("robots", "noindex"))
    else:
        hub.headers.append(("X-Robots-Tag", "noindex"))
    hub.canonical = ""
    hub.links[page.target] = ""
    plan.link(hub)
    plan.site.submit(page)
    plan.expect(page, "weak.noindex")


@plant("weak: linked only through a redirect")
def _(plan: Plan) -> None:
    page = plan.page()
    plan.site.submit(page)
    status = plan.dice.choice((301, 308, 302))
    old = plan.answer(status, page.target)
    plan.link(old)
    plan.expect(page, "weak.redirect")
    if status != 302:
        plan.expect(old, "link.redirect", name="link to a permanent redirect")


@plant("weak: linked only from a non-canonical page")
def _(plan: Plan) -> None:
    page, variant = plan.page(), plan.page()
    variant.canonical = plan.ordinary().target
    variant.links[page.target] = ""
    plan.link(variant)
    plan.site.submit(page)
    plan.expect(page, "weak.canonical")


@plant("weak: named only in the head")
def _(plan: Plan) -> None:
    page = plan.page()
    plan.ordinary().head.append((plan.dice.choice(("next", "prev")), page.target))
    plan.site.submit(page)
    plan.expect(page, "weak.head")


# ---------------------------------------------------------------- the sitemap


@plant("listed, but 404 or 410")
def _(plan: Plan) -> None:
    page = plan.answer(plan.dice.choice((404, 410)))
    plan.site.submit(page)
    plan.expect(page, "entry.gone")
    if plan.dice.random() < 0.3:
        plan.link(page)
        plan.expect(page, "gone.linked", name="broken internal link")


@plant("listed, but 5xx")
def _(plan: Plan) -> None:
    page = plan.answer(plan.dice.choice((500, 502, 503)))
    plan.site.submit(page)
    plan.expect(page, "entry.failed")


@plant("listed, but redirected")
def _(plan: Plan) -> None:
    page = plan.answer(plan.dice.choice((301, 302, 307, 308)), plan.ordinary().target)
    plan.site.submit(page)
    plan.expect(page, "entry.redirect")


@plant("listed, but a chain of redirects")
def _(plan: Plan) -> None:
    last = plan.answer(301, plan.ordinary().target)
    first = plan.answer(301, last.target)
    plan.site.submit(first)
    plan.expect(first, "entry.redirect")
    plan.expect(first, "link.chain", name="chain of permanent redirects")


@plant("listed, but redirects in a loop")
def _(plan: Plan) -> None:
    first = plan.target()
    second = plan.answer(302, first)
    page = plan.answer(302, second.target, first)
    plan.site.submit(page)
    plan.expect(page, "entry.failed", "entry.redirect")
    plan.allow([first, second.target], "gone.failing", "gone.down", "entry.failed", "entry.redirect", "link.chain")


@plant("listed, but noindex")
def _(plan: Plan) -> None:
    page = plan.healthy()
    word = plan.dice.choice(("noindex", "none", "NOINDEX, follow", "unavailable_after: 2024-01-31"))
    if plan.dice.random() < 0.5:
        page.metas.append(("robots", word))
    else:
        page.headers.append(("X-Robots-Tag", word))
    page.canonical = ""
    plan.expect(page, "entry.noindex")


@plant("listed, but noindex for one engine")
def _(plan: Plan) -> None:
    page = plan.healthy()
    bot = plan.dice.choice(("googlebot", "bingbot"))
    if plan.dice.random() < 0.5:
        page.metas.append((bot, "noindex"))
    else:
        page.headers.append(("X-Robots-Tag", f"{bot}: noindex"))
    page.canonical = ""
    plan.expect(page, "entry.noindex_engine")


@plant("listed, but blocked by robots.txt")
def _(plan: Plan) -> None:
    page = plan.page(f"/closed{plan.target()}")
    if "/closed/" not in plan.site.disallowed:
        plan.site.disallowed.append("/closed/")
    plan.site.submit(page)
    if plan.dice.random() < 0.5:
        plan.link(page)
    plan.expect(page, "entry.blocked")


@plant("listed, but canonical elsewhere")
def _(plan: Plan) -> None:
    page = plan.healthy()
    page.canonical = plan.ordinary().target
    plan.expect(page, "entry.canonical")


@plant("listed, but not a document for search")
def _(plan: Plan) -> None:
    ending, kind, body = plan.dice.choice((
        (".zip", "application/zip", b"PK\x03\x04" + bytes(60)),
        (".json", "application/json", b'{"a": 1}'),
        (".png", "image/png", b"\x89PNG\r\n\x1a\n" + bytes(60)),
        (".css", "text/css", b"p { color: red }"),
    ))  # fmt: skip
    page = plan.page(plan.target(ending))
    page.kind, page.body = kind, body
    plan.site.submit(page)
    if plan.dice.random() < 0.5:
        plan.link(page)
    plan.expect(page, "entry.")


@plant("listed, but a soft 404")
def _(plan: Plan) -> None:
    page = plan.healthy()
    page.canonical = ""
    page.title, page.text = plan.dice.choice((
        ("Page not found", "Sorry, the page that you are looking for does not exist or has been moved."),
        ("404 - Not found", "The requested page could not be found."),
        ("Seite nicht gefunden", "Die angeforderte Seite wurde leider nicht gefunden."),
    ))  # fmt: skip
    page.links = {}
    plan.expect(page, "entry.", "gone.")


@plant("indexable, but not in the sitemap")
def _(plan: Plan) -> None:
    page = plan.page()
    plan.link(page)
    plan.expect(page, "listed.missing")


@plant("listed in two spellings")
def _(plan: Plan) -> None:
    page = plan.healthy(plan.target("/"))
    other = page.target.rstrip("/")
    way = plan.dice.choice(("redirect", "same", "parameter"))
    if way == "redirect":
        plan.answer(301, page.target, other)
    elif way == "same":
        twin = plan.page(other)
        twin.title, twin.text, twin.canonical = page.title, page.text, page.target
        page.canonical = page.target
        plan.allow(other, "entry.canonical")
    else:
        other = page.target + "?utm_source=mail"
        plan.site.pages[other] = page
    plan.site.submit(page, loc=plan.site.absolute(other))
    plan.expect([page.target, other], "entry.duplicate", "entry.redirect", "entry.canonical")
    plan.allow([page.target, other], "entry.duplicate", "entry.redirect")


@plant("listed under another name of the site")
def _(plan: Plan) -> None:
    page = plan.page()
    plan.link(page)
    url = plan.site.absolute(page.target)
    scheme = ("https://", "http://") if url.startswith("https") else ("http://", "https://")
    other = url.replace(*(scheme if plan.dice.random() < 0.5 else ("://www.", "://")))
    plan.site.submit(page, loc=other)
    plan.expect([page.target, other], "entry.outside")
    plan.allow([page.target, other], "entry.", "listed.missing")


@plant("lastmod in the future")
def _(plan: Plan) -> None:
    page = plan.page()
    plan.link(page)
    plan.site.submit(page, "2031-05-04")
    plan.expect(page, "lastmod.future")
    plan.allow(page, "entry.lastmod_late")


@plant("lastmod older than the web")
def _(plan: Plan) -> None:
    page = plan.page()
    plan.link(page)
    plan.site.submit(page, "1970-01-01")
    plan.expect(page, "lastmod.too_old")
    plan.allow(page, "entry.lastmod_early")


@plant("lastmod before the last change")
def _(plan: Plan) -> None:
    page = plan.page()
    page.modified, page.is_dated_inside = plan.site.date(), True
    plan.link(page)
    plan.site.submit(page, page.modified.replace(year=page.modified.year - 4, day=1).date().isoformat())
    plan.expect(page, "entry.lastmod_early")


# ---------------------------------------------------------------- dead


@plant("broken internal link")
def _(plan: Plan) -> None:
    page = plan.answer(plan.dice.choice((404, 404, 410)))
    plan.link(page, plan.dice.choice((1, 3)))
    plan.expect(page, "gone.linked")


@plant("link to a page that fails")
def _(plan: Plan) -> None:
    page = plan.answer(plan.dice.choice((500, 503)))
    plan.link(page)
    plan.expect(page, "gone.failing")


@plant("dead, but visited by people")
def _(plan: Plan) -> None:
    page = plan.answer(plan.dice.choice((404, 410)))
    if plan.dice.random() < 0.5:
        plan.sources.visits(page.target, 8, days_ago=20)
    plan.sources.visits(page.target, 12, status=page.status, referrer="https://www.example.org/links")
    plan.expect(page, "gone.visited")


@plant("dead, but with backlinks")
def _(plan: Plan) -> None:
    page = plan.answer(404)
    plan.sources.backlinks[page.target] = plan.dice.choice((1, 4, 9))
    plan.expect(page, "gone.visited")


@plant("dead, but with impressions")
def _(plan: Plan) -> None:
    page = plan.answer(404)
    plan.sources.search[page.target] = plan.dice.choice(((0, 80), (4, 80)))
    plan.expect(page, "gone.visited")


@plant("failing, but visited by people")
def _(plan: Plan) -> None:
    page = plan.answer(500)
    plan.sources.visits(page.target, 12, status=200, days_ago=9)
    plan.sources.visits(page.target, 12, status=500)
    plan.expect(page, "gone.down")


@plant("dead, in a list only")
def _(plan: Plan) -> None:
    page = plan.answer(404)
    plan.sources.names.append(page.target)
    plan.expect(page, "gone.named")


# ---------------------------------------------------------------- redirects and canonicals


@plant("link to a permanent redirect")
def _(plan: Plan) -> None:
    page = plan.answer(plan.dice.choice((301, 308)), plan.ordinary().target)
    plan.link(page)
    plan.expect(page, "link.redirect")


@plant("chain of permanent redirects")
def _(plan: Plan) -> None:
    target = plan.ordinary().target
    for _ in range(plan.dice.choice((1, 2))):
        target = plan.answer(301, target).target
    first = plan.answer(301, target)
    plan.link(first)
    plan.expect(first, "link.chain")
    plan.allow(first, "link.redirect")


@plant("canonical chain")
def _(plan: Plan) -> None:
    middle = plan.page()
    middle.canonical = plan.ordinary().target
    if plan.dice.random() < 0.4:
        middle.status, middle.location = 301, middle.canonical
    first = plan.page()
    first.canonical = middle.target
    plan.link(first)
    plan.expect(first, "canonical.chain")


@plant("canonical loop")
def _(plan: Plan) -> None:
    first, second = plan.page(), plan.page()
    first.canonical, second.canonical = second.target, first.target
    plan.link(first)
    plan.link(second)
    plan.expect([first.target, second.target], "canonical.lost")
    plan.allow([first.target, second.target], "canonical.")


@plant("canonical to a dead or noindexed page")
def _(plan: Plan) -> None:
    if plan.dice.random() < 0.5:
        other = plan.answer(plan.dice.choice((404, 410)))
        plan.allow(other, "gone.linked")
    else:
        (other := plan.page()).metas.append(("robots", "noindex"))
        other.canonical = ""
    page = plan.page()
    page.canonical = other.target
    plan.link(page)
    plan.expect(page, "canonical.lost")


# ---------------------------------------------------------------- hreflang


def _cluster(plan: Plan) -> dict[str, Page]:
    base = plan.target("/").strip("/").replace("/", "-")
    pages = {code: plan.healthy(f"/{code}/{base}/") for code in ("en", "de", "fr")}
    for code, page in pages.items():
        page.language = code
        page.versions = {each: other.target for each, other in pages.items()} | {"x-default": pages["en"].target}
    return pages


@plant("hreflang without return")
def _(plan: Plan) -> None:
    pages = _cluster(plan)
    silent = plan.dice.choice(sorted(pages))
    if plan.dice.random() < 0.5:
        pages[silent].versions = {}
    else:
        other = plan.dice.choice(sorted(pages.keys() - {silent, "en"}))
        pages[silent].versions.pop(other)
    plan.expect([page.target for page in pages.values()], "cluster.not_mutual")
    plan.allow([page.target for page in pages.values()], "cluster.not_mutual", "cluster.no_default")


@plant("hreflang to a dead page, a redirect or noindex")
def _(plan: Plan) -> None:
    pages = _cluster(plan)
    way = plan.dice.choice(("dead", "redirect", "noindex"))
    if way == "dead":
        other = plan.answer(404)
        plan.allow(other, "gone.linked")
    elif way == "redirect":
        other = plan.answer(301, pages["de"].target)
    else:
        (other := plan.page()).metas.append(("robots", "noindex"))
        other.canonical = ""
    for page in pages.values():
        page.versions["es"] = other.target
    targets = {page.target for page in pages.values()} | {other.target}
    plan.expect(targets, "cluster.target")
    plan.allow(targets, "cluster.target", "cluster.not_mutual", "link.redirect")


@plant("hreflang does not name the page itself")
def _(plan: Plan) -> None:
    pages = _cluster(plan)
    pages["de"].versions.pop("de")
    plan.expect(pages["de"], "cluster.no_self")


@plant("hreflang that is no language")
def _(plan: Plan) -> None:
    pages = _cluster(plan)
    code = plan.dice.choice(("jp", "en-UK", "xx", "english"))
    for page in pages.values():
        page.versions[code] = page.versions.pop("en")
    plan.expect([page.target for page in pages.values()], "cluster.code")
    plan.allow([page.target for page in pages.values()], "cluster.")


# ---------------------------------------------------------------- media, and hard to reach


@plant("image listed, but gone")
def _(plan: Plan) -> None:
    page = plan.page()
    plan.link(page)
    image = plan.target(".jpg")
    plan.site.submit(page).images.append(plan.site.absolute(image))
    plan.expect([page.target, image], "media.image")


@plant("deep pages")
def _(plan: Plan) -> None:
    pages = [plan.healthy() for _ in range(9)]
    for source in plan.site.ordinary:
        for page in pages[1:]:
            source.links.pop(page.target, None)
    for before, page in itertools.pairwise(pages):
        before.links[page.target] = ""
    plan.expect(pages[-1], "reach.deep")


@plant("few inlinks")
def _(plan: Plan) -> None:
    page = plan.page()
    plan.site.submit(page)
    plan.link(page, 1)
    plan.expect(page, "reach.few")
