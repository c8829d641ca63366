"""What is planted in the made site: for every rule of an audit some members, and near misses that are none."""

from planted_site import Answer, Planted, hub

from crawler.crawl.soft_404 import impossible_url

GARDEN, KITCHEN = hub("guides", "garden"), hub("guides", "kitchen")
SOUP, LAMPS, CHAIRS = hub("recipes", "soup"), hub("shop", "lamps"), hub("shop", "chairs")
HARVEST, CAVES, ROOF = hub("news", "harvest"), hub("travel", "caves"), hub("guides", "roof")


def trail(top: str) -> tuple[str, ...]:
    """The breadcrumbs of a page below a hub."""
    return ("/", f"/{top.split('/')[1]}/", top)


# ---------------------------------------------------------------- pages that nothing leads to


def orphans_of_the_sitemap(site: Planted) -> None:
    rule = "orphan.sitemap"
    site.page(f"{GARDEN}forgotten-hedge/", "garden", trail=trail(GARDEN))
    site.expect(rule, f"{GARDEN}forgotten-hedge/", hub=GARDEN)
    site.page("/p/7781/", "lamps", trail=trail(LAMPS))  # only its breadcrumbs say where it belongs
    site.expect(rule, "/p/7781/", hub=LAMPS)
    site.page(f"{HARVEST}late-plums/", "harvest", trail=trail(HARVEST), crumbs=False)  # only its path does
    site.expect(rule, f"{HARVEST}late-plums/", hub=HARVEST)
    site.page("/x9/", "soup")  # only its words do
    site.pages["/x9/"].title = "Our stew for cold winter evenings"
    site.pages[SOUP].title = "Soups and stews for winter evenings"
    site.expect(rule, "/x9/", hub=SOUP)
    loop = site.page(f"{KITCHEN}self-only/", "kitchen", trail=trail(KITCHEN), canonical=f"{KITCHEN}self-only/")
    loop.links += [(loop.path, ""), (f"{loop.path}#top", ""), (f"{loop.path}?utm_source=menu", "")]
    site.expect(rule, loop.path, hub=KITCHEN)
    # in all sources: the sitemap names the class
    everywhere = site.page(f"{SOUP}lost-ladle/", "soup", trail=trail(SOUP)).path
    site.visited(everywhere, people=14, bots=6, days=("2025-02-03", "2025-08-30"))
    site.searches(everywhere, 21, 640)
    site.analysed.append((everywhere, 33))
    site.backlinks += [
        ("https://blog.example.org/ladles", site.url(everywhere)),
        ("https://b.example.net/", site.url(everywhere)),
    ]
    site.noted.append(site.url(everywhere))
    site.expect(rule, everywhere, hub=SOUP)
    # a neighbour that is linked well does not help
    lonely = site.page(f"{CAVES}lonely/", "caves", trail=trail(CAVES))
    neighbour = site.page(f"{CAVES}neighbour/", "caves", trail=trail(CAVES))
    lonely.links.append((neighbour.path, ""))
    neighbour.links.append((HARVEST, ""))
    site.well(neighbour.path)
    site.expect(rule, lonely.path, hub=CAVES)
    # listed in another spelling, and by a URL that redirects
    tilde = site.page("/guides/garden/~plot/", "garden", listed=False)
    site.list("/guides/garden/%7Eplot/", tilde.modified)
    site.expect(rule, tilde.path, hub=GARDEN)
    slash = site.page(f"{ROOF}slashless/", "roof", trail=trail(ROOF), listed=False)
    site.list(f"{ROOF}slashless", slash.modified)
    site.expect(rule, slash.path, hub=ROOF)
    site.expect("entry.redirect", f"{ROOF}slashless")


def orphans_of_search(site: Planted) -> None:
    rule = "orphan.search"
    for n, text in enumerate(("winter-stew/", "summer-stew/#:~:text=ladle")):
        path = SOUP + text.partition("#")[0]
        site.page(path, "soup", trail=trail(SOUP), listed=False)
        site.searches(SOUP + text, 40 + n, 900)
        site.expect(rule, path, hub=SOUP)
    # analytics write paths in lower case
    site.page("/Team/Old-Colleague", "team", trail=("/", "/Team/"), listed=False)
    site.analysed.append(("/team/old-colleague", 57))
    site.expect(rule, "/Team/Old-Colleague", hub="/Team/")
    both = site.page(f"{LAMPS}arc-lamp/", "lamps", trail=trail(LAMPS), listed=False).path
    site.searches(both, 7, 70)
    site.visited(both, people=9, bots=2)
    site.expect(rule, both, hub=LAMPS)
    site.pages[both].links.append(("/guides/absent-for-an-orphan/", ""))
    site.expect("gone.linked", "/guides/absent-for-an-orphan/")


def orphans_of_the_logs(site: Planted) -> None:
    rule = "orphan.log"
    for path, people, bots in (("flyer/", 12, 0), ("crawled/", 0, 30), ("once/", 1, 0)):
        site.page(GARDEN + path, "garden", trail=trail(GARDEN), listed=False)
        site.visited(GARDEN + path, people, bots)
        site.expect(rule, GARDEN + path, hub=GARDEN)
    spelt = site.page(f"{CHAIRS}black-friday/", "chairs", trail=trail(CHAIRS), listed=False).path
    site.visited(spelt, people=10, bots=3, days=("2024-11-20", "2025-03-02"))
    site.visited(f"{spelt}?utm_source=mail&utm_medium=email", people=7, days=("2024-11-01", "2025-03-01"))
    site.visited(f"{spelt}?gclid=Cj0KCQ", people=4)
    site.visited("/shop/ch%61irs/black-friday/", people=2)
    site.visited("/shop/./chairs/black-friday/", people=1)
    site.visited(f"{spelt[:-1]}", people=3)  # redirects
    site.visited("/SHOP/Chairs/Black-Friday/", people=2)  # redirects
    site.expect(rule, spelt, hub=CHAIRS)
    tracked = site.page("/promo/newsletter/", "chairs", trail=trail(CHAIRS), listed=False).path
    site.visited(f"{tracked}?utm_campaign=may", people=20)
    site.expect(rule, tracked, hub=CHAIRS)
    umlaut = site.page("/Team/Jörg-Æsir", "team", trail=("/", "/Team/"), listed=False).path
    site.visited("/Team/J%c3%b6rg-%C3%86sir", people=6)
    site.expect(rule, umlaut, hub="/Team/")
    noted = site.page(f"{ROOF}ridge/", "roof", trail=trail(ROOF), listed=False).path
    site.visited(noted, people=3)
    site.noted.append(site.url(noted))
    site.expect(rule, noted, hub=ROOF)
    # requested by the name of its file, which redirects
    site.page("/promo/leaflet/", "lamps", trail=trail(LAMPS), listed=False)
    site.redirect("/promo/leaflet/index.html", "/promo/leaflet/")
    site.visited("/promo/leaflet/index.html", people=5)
    site.expect(rule, "/promo/leaflet/", hub=LAMPS)


def pages_of_their_own(site: Planted) -> None:
    """Orphans whose URLs look like spellings of linked pages, and that are others."""
    site.page("/Docs/setup", "weavers")
    site.expect("orphan.sitemap", "/Docs/setup")
    site.page("/Docs/upgrade", "miners", listed=False)
    site.visited("/Docs/upgrade", people=7)
    site.page(f"{LAMPS}?page=old", "millers", listed=False)
    site.visited(f"{LAMPS}?page=old", people=7)
    site.expect("orphan.log", "/Docs/upgrade", f"{LAMPS}?page=old")


def orphans_of_lists(site: Planted) -> None:
    rule = "orphan.list"
    for name in ("noted-one/", "noted-two/"):
        site.page(CAVES + name, "caves", trail=trail(CAVES), listed=False)
        site.noted.append(site.url(CAVES + name))
        site.expect(rule, CAVES + name, hub=CAVES)
    site.page(f"{CAVES}crawled-before/", "caves", trail=trail(CAVES), listed=False)
    site.crawled.append(site.url(f"{CAVES}crawled-before/"))
    site.expect(rule, f"{CAVES}crawled-before/", hub=CAVES)
    site.page("/landing/partner/", "lamps", trail=trail(LAMPS), listed=False)
    site.page("/landing/friend/", "lamps", trail=trail(LAMPS), listed=False)
    site.backlinks.append(("https://partner.example.org/", site.url("/landing/partner/?utm_source=partner")))
    site.redirect("/r/friend", "/landing/friend/")
    site.backlinks.append(("https://friend.example.org/", site.url("/r/friend")))
    site.expect(rule, "/landing/partner/", "/landing/friend/", hub=LAMPS)


def islands(site: Planted) -> None:
    rule = "orphan.island"
    ring = [site.page(f"/lost/{name}/", "railways", listed=False) for name in ("a", "b", "c")]
    for n, leaf in enumerate(ring):
        leaf.links += [(ring[n - 1].path, ""), (leaf.path, "")]
    site.visited("/lost/b/", people=8)
    site.expect(rule, *(leaf.path for leaf in ring))
    pair = [site.page(f"/lost/{name}/", "castles") for name in ("left", "right")]
    pair[0].links.append((pair[1].path, ""))
    pair[1].links.append((pair[0].path, ""))
    site.expect(rule, *(leaf.path for leaf in pair))
    # a chain: nothing leads to its first page, which others are led to by
    chain = [site.page(f"/press/{name}/", "market", listed=not n) for n, name in enumerate(("2021", "spring", "notes"))]
    chain[0].links.append((chain[1].path, ""))
    chain[1].links.append((chain[2].path, ""))
    site.expect("orphan.sitemap", chain[0].path)
    site.expect(rule, chain[1].path, chain[2].path)
    # linked by an island and by the site: no orphan
    shared = site.page("/shared/", "market").path
    ring[0].links.append((shared, ""))
    site.well(shared)


# ---------------------------------------------------------------- pages with weak links only


def by_redirect(site: Planted) -> None:
    rule = "weak.redirect"
    for old, new in (
        (f"{ROOF}old-tiles/", f"{ROOF}new-tiles/"),
        (f"{CAVES}deep-one", f"{CAVES}deep-one/"),
        ("/team/Kim-Roe", "/Team/Kim-Roe"),
    ):
        site.page(new, "roof")
        site.redirect(old, new)
        site.well(old)
        site.expect(rule, new)
        site.expect("link.redirect", old)
    site.page(f"{LAMPS}chained/", "lamps")
    site.redirect("/go/a", "/go/b", 302)
    site.redirect("/go/b", f"{LAMPS}chained/", 308)
    site.link("/about/", "/go/a")
    site.expect(rule, f"{LAMPS}chained/")
    site.expect("link.chain", "/go/a")
    site.page(f"{LAMPS}refreshed/", "lamps", listed=False)
    moved = site.page("/moved/", listed=False)
    moved.head.append(f'<meta http-equiv="refresh" content="0; url={LAMPS}refreshed/">')
    site.link("/about/", moved.path)
    site.expect(rule, f"{LAMPS}refreshed/")
    site.expect("link.redirect", moved.path)
    site.expect("listed.missing", f"{LAMPS}refreshed/")
    # near misses: one link names the page itself
    site.page(f"{LAMPS}also-direct/", "lamps")
    site.redirect("/go/c", f"{LAMPS}also-direct/")
    site.link("/about/", "/go/c")
    site.expect("link.redirect", "/go/c")
    site.well(f"{LAMPS}also-direct/")


def by_canonical(site: Planted) -> None:
    rule = "weak.canonical"
    for name in ("oak/", "elm/"):
        site.page(CHAIRS + name, "chairs", canonical=CHAIRS + name)
        copy = site.page(f"{CHAIRS}{name}?colour=red", "chairs", listed=False, canonical=CHAIRS + name)
        copy.links.append((CHAIRS + name, ""))  # its own link to the page says no more than its canonical
        site.well(f"{CHAIRS}{name}?colour=red")
        site.expect(rule, CHAIRS + name)
    site.page(f"{CHAIRS}ash/", "chairs")
    dup = site.page("/print/ash/", "chairs", listed=False)
    dup.headers["Link"] = f'<{site.url(CHAIRS + "ash/")}>; rel="canonical"'
    site.link("/about/", dup.path)
    site.expect(rule, f"{CHAIRS}ash/")
    # only a page that is not canonical itself links to it
    site.page(f"{SOUP}chowder/", "soup")
    site.page("/print/soup/", "soup", listed=False, canonical=SOUP).links.append((f"{SOUP}chowder/", ""))
    site.link("/about/", "/print/soup/")
    site.expect(rule, f"{SOUP}chowder/")
    # near miss: linked itself, too
    site.page(f"{CHAIRS}yew/", "chairs", canonical=f"{CHAIRS}yew/")
    site.page(f"{CHAIRS}yew/?colour=blue", "chairs", listed=False, canonical=f"{CHAIRS}yew/")
    site.well(f"{CHAIRS}yew/?colour=blue", f"{CHAIRS}yew/")


def by_noindex(site: Planted) -> None:
    rule = "weak.noindex"
    tags = site.page("/tags/", listed=False, robots="noindex, follow")
    headed = site.page("/archive/tags/", listed=False)
    headed.headers["X-Robots-Tag"] = "noindex"
    site.link("/about/", tags.path, headed.path)
    for name, sources in (("one", [tags]), ("two", [headed]), ("three", [tags, headed])):
        path = f"{KITCHEN}tagged-{name}/"
        site.page(path, "kitchen", trail=trail(KITCHEN))
        for source in sources:
            source.links.append((path, ""))
        site.expect(rule, path)
    also_nofollow = site.page(f"{KITCHEN}tagged-nofollow/", "kitchen").path
    tags.links.append((also_nofollow, ""))
    site.link("/about/", also_nofollow, rel="nofollow")
    site.expect(rule, also_nofollow)
    # a redirect is the better way
    both = site.page(f"{KITCHEN}tagged-redirect/", "kitchen").path
    tags.links.append((both, ""))
    site.redirect("/go/tagged", both)
    site.link("/about/", "/go/tagged")
    site.expect("weak.redirect", both)
    site.expect("link.redirect", "/go/tagged")
    # near miss: good pages link to it too
    good = site.page(f"{KITCHEN}tagged-good/", "kitchen").path
    tags.links.append((good, ""))
    site.well(good)
    # a noindexed page is no finding, whoever links to it
    site.page("/thanks/", listed=False, robots="noindex")
    tags.links.append(("/thanks/", ""))
    site.visited("/thanks/", people=40)


def by_nofollow(site: Planted) -> None:
    rule = "weak.nofollow"
    for name, rel in (("plain", "nofollow"), ("comment", "ugc nofollow"), ("upper", "NOFOLLOW noopener")):
        path = f"{GARDEN}hushed-{name}/"
        site.page(path, "garden", trail=trail(GARDEN))
        site.link("/about/", path, rel=rel)
        site.link(KITCHEN, path, rel=rel)
        site.expect(rule, path)
    quiet = site.page("/quiet/", robots="nofollow")
    site.well(quiet.path)
    site.page(f"{GARDEN}hushed-page/", "garden")
    quiet.links.append((f"{GARDEN}hushed-page/", ""))
    site.expect(rule, f"{GARDEN}hushed-page/")
    # near misses: one page asks not to follow, others do not; ugc alone asks for nothing
    half = site.page(f"{GARDEN}half-hushed/", "garden").path
    site.link(KITCHEN, half, rel="nofollow")
    site.well(half)
    once = site.page(f"{GARDEN}hushed-once/", "garden").path
    site.link(KITCHEN, once, rel="nofollow")
    site.link("/about/", once)
    site.expect("reach.few", once)
    ugc = site.page(f"{GARDEN}by-users/", "garden").path
    site.link(KITCHEN, ugc, rel="ugc")
    site.link("/about/", ugc, rel="sponsored noopener")


def by_the_head(site: Planted) -> None:
    rule = "weak.head"
    first = site.page("/series/one/", "sailors")
    site.page("/series/two/", "sailors")
    first.head.append('<link rel="next" href="/series/two/">')
    site.well(first.path)
    site.expect(rule, "/series/two/")
    site.page("/series/fed/", "sailors")
    item = f"<item><title>Fed</title><link>{site.url('/series/fed/')}</link></item>"
    feed = f'<?xml version="1.0"?><rss version="2.0"><channel><title>Feed</title>{item}</channel></rss>'
    site.answers["/feed.xml"] = Answer(200, feed.encode(), {"Content-Type": "application/rss+xml"})
    first.head.append('<link rel="alternate" type="application/rss+xml" href="/feed.xml">')
    site.expect(rule, "/series/fed/")
    site.page("/series/amp/", "sailors")
    first.head.append('<link rel="amphtml" href="/series/amp/">')
    site.expect(rule, "/series/amp/")
    named = ("en", "/series/spoken/"), ("da", "/series/talt/"), ("x-default", "/series/spoken/")
    for language, path in named[:2]:
        leaf = site.page(path, "sailors", lang=language)
        leaf.head += [f'<link rel="alternate" hreflang="{code}" href="{site.url(to)}">' for code, to in named]
    site.well("/series/spoken/")
    site.expect(rule, "/series/talt/")


# ---------------------------------------------------------------- pages that are hard to reach


def deep_pages(site: Planted) -> None:
    steps = ["/", "/archive/", "/archive/2019/", "/archive/2019/05/", "/archive/2019/05/a/", "/archive/2019/05/a/b/"]
    steps.append(f"{steps[-1]}c/")
    for n, path in enumerate(steps[1:], 1):
        site.page(path, "council", trail=tuple(steps[:n]))
        site.link(steps[n - 1], path)
    assert len(steps) - 2 == 5, "clicks to b"
    limit, deep, deeper = steps[4:]
    site.expect("reach.deep", deep, deeper)
    site.expect("reach.few", deeper)  # b is named by its child's breadcrumbs too
    # a click from the home page, by way of a page that is not to be indexed, or of a redirect
    for name in ("by-noindex/", "by-redirect/"):
        path = f"{deep}{name}"
        site.page(path, "council")
        site.link(deep, path)
        site.link(deeper, path)
    index = site.page("/archive/index/", listed=False, robots="noindex")
    index.links.append((f"{deep}by-noindex/", ""))
    site.redirect("/go/archive", f"{deep}by-redirect/")
    site.link("/", index.path, "/go/archive")
    site.expect("link.redirect", "/go/archive")
    # an orphan makes no way shorter, and no page better linked
    far = site.page(f"{deep}far/", "council").path
    site.link(deep, far)
    site.link(limit, far)
    site.expect("reach.deep", far)
    orphan = site.page("/archive/orphan/", "council", trail=("/", "/archive/"), crumbs=False)
    orphan.links.append((deeper, ""))
    site.expect("orphan.sitemap", orphan.path)


def few_links(site: Planted) -> None:
    rule = "reach.few"
    for name in ("lone", "twice", "narcissus", "half-noindex", "half-redirect", "half-orphan"):
        site.page(f"/few/{name}/", "weather")
        site.link("/about/", f"/few/{name}/")
        site.expect(rule, f"/few/{name}/")
    site.link("/about/", "/few/twice/", "/few/twice/#more", "/few/twice/?utm_source=x")
    site.link("/few/narcissus/", "/few/narcissus/", "/few/narcissus/#top")
    site.link("/tags/", "/few/half-noindex/")
    site.redirect("/go/few", "/few/half-redirect/")
    site.link("/world/", "/go/few")
    site.expect("link.redirect", "/go/few")
    site.link("/p/7781/", "/few/half-orphan/")
    # near misses: two pages, or a page and a frame
    site.page("/few/two/", "weather")
    site.well("/few/two/")
    site.page("/few/framed/", "weather")
    site.link("/about/", "/few/framed/")
    site.pages["/world/"].head.append("<noscript></noscript>")
    site.pages["/world/"].words += '</p><iframe src="/few/framed/"></iframe><p>'


def unlisted(site: Planted) -> None:
    for n in range(4):
        path = site.page(f"{CAVES}unlisted-{n}/", "caves", listed=False).path
        site.well(path)
        site.expect("listed.missing", path)
    for path in (f"{CAVES}page/9/", f"{CAVES}?page=9"):
        site.page(path, "caves", listed=False)
        site.well(path)
        site.expect("listed.series", path)
    unlinked = site.page(f"{CAVES}page-10.html", "caves", listed=False).path  # a name alone makes no list
    site.link(KITCHEN, unlinked, rel="nofollow")
    site.expect("weak.nofollow", unlinked)
    site.expect("listed.missing", unlinked)
    umlaut = site.page(f"{CAVES}höhle/", "caves", listed=False).path
    site.well(umlaut)
    site.expect("listed.missing", umlaut)
    # near misses: listed in another spelling, or by a URL that redirects to it
    for name, loc in (("~cave/", f"{CAVES}%7ecave/"), ("tracked/", f"{CAVES}tracked/?utm_source=sitemap")):
        site.page(CAVES + name, "caves", listed=False)
        site.well(CAVES + name)
        site.list(loc, site.pages[CAVES + name].modified)
    redirected = site.page(f"{CAVES}by-slash/", "caves", listed=False).path
    site.well(redirected)
    site.list(redirected[:-1], site.pages[redirected].modified)
    site.expect("entry.redirect", redirected[:-1])


# ---------------------------------------------------------------- what is gone


def gone_and_visited(site: Planted) -> None:
    rule = "gone.visited"
    for path in (
        "/news/closed-shop/",
        "/news/crawled-once/",
        "/old-forum/",
        "/news/found/",
        "/news/counted/",
        "/press-kit/",
    ):
        site.expect(rule, path)
    site.gone("/news/closed-shop/", 410)
    site.visited("/news/closed-shop/", people=30, days=("2024-10-01", "2025-03-01"), status=200)
    site.visited("/news/closed-shop/", people=4, bots=2, days=("2025-03-02", "2025-09-01"))
    site.visited("/news/crawled-once/", bots=5, days=("2024-10-01", "2025-03-01"), status=200)
    site.visited("/news/crawled-once/", bots=9, days=("2025-03-02", "2025-09-01"))
    site.visited("/old-forum/", people=9)
    site.searches("/news/found/", 12, 300)
    site.analysed.append(("/news/counted/", 17))
    site.backlinks.append(("https://papers.example.org/", site.url("/press-kit/")))
    site.redirect("/ended", "/ended/now/")
    site.visited("/ended", people=12)
    site.expect(rule, "/ended/now/")
    # near misses: what scanners ask for, what is forbidden, what is no page, what nobody comes for
    for path in ("/.env", "/wp-login.php", "/xmlrpc.php", "/.git/config", "/backup.zip", "/Docs/install"):
        site.visited(path, people=2, bots=1)
    site.gone("/admin/", 403)
    site.visited("/admin/", people=60)
    site.visited("/img/logo-2019.png", people=400, status=404)
    site.noted.append(site.url("/only-noted-and-gone/"))
    site.expect("gone.named", "/only-noted-and-gone/")
    site.crawled.append(site.url("/crawled-and-gone/"))
    site.expect("gone.named", "/crawled-and-gone/")
    site.visited("/asked-by-engines/", bots=12)
    site.expect(rule, "/asked-by-engines/")
    for probe in ("/cgi-bin/luci", "/phpmyadmin/index.php"):  # also under the names of browsers, and often
        site.visited(probe, people=80)
    site.visited("/only-noted-and-gone/", people=3)
    site.gone("/news/broken/", 500)
    site.visited("/news/broken/", people=30, status=200)
    site.redirect("/round/a/", "/round/b/")
    site.redirect("/round/b/", "/round/a/")
    site.visited("/round/a/", people=12)
    site.expect("gone.down", "/news/broken/", "/round/a/")
    site.gone("/.env.old", 500)  # near misses: a scanner's guess, what hardly anybody asks for
    site.visited("/.env.old", people=30)
    site.gone("/news/seldom/", 500)
    site.visited("/news/seldom/", people=2)


def gone_and_linked(site: Planted) -> None:
    site.redirect("/loop/a/", "/loop/b/")
    site.redirect("/loop/b/", "/loop/a/")
    site.link("/about/", "/loop/a/")
    site.expect("gone.failing", "/loop/a/")
    rule = "gone.linked"
    site.gone("/guides/missing/", 410)
    site.redirect("/go/dead", "/dead-target/")
    site.link("/about/", "/guides/absent/", "/go/dead")
    site.link(GARDEN, "/guides/missing/", "/guides/absent/")
    site.link("/tags/", "/guides/tagged-absent/")
    site.link(KITCHEN, "/guides/visited-absent/")
    site.visited("/guides/visited-absent/", people=25, days=("2024-10-01", "2025-02-01"), status=200)
    site.expect("gone.visited", "/guides/visited-absent/")
    site.expect(
        rule,
        "/guides/absent/",
        "/guides/missing/",
        "/guides/tagged-absent/",
        "/guides/visited-absent/",
        "/dead-target/",
    )


# ---------------------------------------------------------------- links and canonicals that lead on


def redirects(site: Planted) -> None:
    end = site.page(f"{ROOF}here/", "roof").path
    site.well(end)
    for n in range(4):  # and what is linked further down a chain leads on once too often, or once
        site.redirect(f"/step/{n}/", f"/step/{n + 1}/" if n < 3 else end, 301 if n else 308)
    site.link("/about/", "/step/0/", "/step/2/", "/step/3/")
    site.expect("link.chain", "/step/0/", "/step/2/")
    site.expect("link.redirect", "/step/3/")
    site.redirect("/listed/hop/", "/listed/hop/on/")
    site.redirect("/listed/hop/on/", end)
    site.list("/listed/hop/")
    site.expect("entry.redirect", "/listed/hop/")
    site.expect("link.chain", "/listed/hop/")  # which no page links
    site.redirect("/kept/", "/kept/today/")  # to where it leads for now
    site.redirect("/kept/today/", end, 302)
    for n in range(5):  # longer than browsers should be sent about
        site.redirect(f"/about-{n}/", f"/about-{n + 1}/" if n < 4 else end, 307)
    site.link(GARDEN, "/kept/", "/about-0/")
    site.expect("link.redirect", "/kept/")
    site.expect("link.chain", "/about-0/", "/about-1/")
    site.link(GARDEN, "/about-1/", "/about-2/")
    site.redirect("/by-www/", site.origin.replace("://", "://www.") + end)
    site.link("/about/", "/by-www/")
    site.expect("link.chain", "/by-www/")
    # near misses: for now, off the site, linked and listed nowhere, to what is gone or failing, and its own page only
    site.redirect("/today/", end, 302)
    site.redirect("/see/", "/today/", 307)
    site.redirect("/basket/", "/login/?next=/basket/", 303)
    site.redirect("/partner/", "https://partner.example.org/")
    site.redirect("/partners/", "/partner/")
    site.link("/about/", "/today/", "/see/", "/basket/", "/partner/", "/partners/")
    site.redirect("/unlinked/", "/step/0/")
    site.visited("/unlinked/", people=3)
    site.redirect("/was-moved/", "/was-moved/and-died/")
    site.redirect("/was-moved/and-died/", "/was-moved/and-died/today/")
    site.link("/about/", "/was-moved/")
    site.expect("gone.linked", "/was-moved/and-died/today/")
    site.redirect(f"{end}index.php", end)
    site.link(end, f"{end}index.php")


def canonicals(site: Planted) -> None:
    def copy(name: str, canonical: str, *, well: bool = True) -> str:
        path = site.page(f"/copy/{name}/", "clocks", listed=False, canonical=canonical).path
        if well:
            site.well(path)
        return path

    lost, chain = "canonical.lost", "canonical.chain"
    site.gone("/canon/gone/", 410)
    site.page("/canon/hidden/", listed=False, robots="noindex")
    site.expect(lost, copy("gone", "/canon/gone/"), copy("missing", "/canon/missing/"))
    site.expect(lost, copy("hidden", "/canon/hidden/"))
    site.visited("/copy/gone/", people=40, status=200)  # it is there, and what it names is missed by nobody
    # a server that adds the slash, and pages that leave it out
    site.expect(lost, copy("slash", "/copy/slash"))
    site.expect(lost, copy("one", "/copy/two/"), copy("two", "/copy/one/"))
    site.redirect("/canon/moved-and-gone/", "/canon/gone/")
    site.expect(lost, copy("moved", "/canon/moved-and-gone/"))
    www = site.origin.replace("://", "://www.")
    site.expect(lost, copy("www", f"{www}/copy/www/"))
    unlinked = copy("unlinked", "/canon/gone/", well=False)
    site.list(unlinked)
    site.expect("entry.canonical", unlinked)
    site.expect(lost, unlinked)
    site.redirect("/canon/old/", "/canon/new/", 302)
    fine = site.page("/canon/new/", "clocks", canonical="/canon/new/").path
    site.well(fine)
    site.expect(chain, copy("old", "/canon/old/"))
    first = copy("first", fine)
    site.expect(chain, copy("second", first))
    site.redirect("/canon/off/", "https://elsewhere.example.org/")
    site.expect(chain, copy("off", "/canon/off/"))
    # near misses: one that is a page, a document, another site
    for name, canonical in (("fine", fine), ("plan", "/img/plan.pdf")):
        copy(name, canonical)
    site.www.add("/copy/www-alone/")  # it answers there too
    copy("www-alone", f"{www}/copy/www-alone/")
    site.www.add("/")
    site.expect("canonical.origin", f"{www}/")
    site.pages[copy("other", "")].headers["Link"] = '<https://other.example.org/>; rel="canonical"'


# ---------------------------------------------------------------- entries of the sitemap


def bad_entries(site: Planted) -> None:
    site.expect("declared.unreadable", "/sitemap-old.xml")  # which robots.txt names
    for n, status in enumerate((404, 410, 404)):
        path = f"/listed/gone-{n}/"
        site.gone(path, status)
        site.list(path)
        site.expect("entry.gone", path)
    site.link("/about/", "/listed/gone-2/")
    site.expect("gone.linked", "/listed/gone-2/")
    for n, status in enumerate((500, 503, 0)):
        path = f"/listed/failing-{n}/"
        site.gone(path, status)
        site.list(path)
        site.expect("entry.failed", path)
    site.page("/listed/new/", "bread")
    site.well("/listed/new/")
    site.redirect("/listed/old/", "/listed/new/")
    site.list("/listed/old/")
    site.expect("entry.redirect", "/listed/old/")
    for name in ("a", "b"):  # in a circle
        site.redirect(f"/listed/round-{name}/", f"/listed/round-{'ba'['ab'.index(name)]}/")
        site.list(f"/listed/round-{name}/")
        site.expect("entry.failed", f"/listed/round-{name}/")
    for name, status in (("members", 401), ("staff", 403)):
        site.gone(f"/listed/{name}/", status)
        site.list(f"/listed/{name}/")
        site.expect("entry.refused", f"/listed/{name}/")
    _other_names(site)
    site.page("/listed/hidden/", "bread", robots="noindex")
    site.page("/listed/header/", "bread").headers["X-Robots-Tag"] = "noindex"
    site.link("/about/", "/listed/hidden/")
    site.expect("entry.noindex", "/listed/hidden/", "/listed/header/")
    site.page("/listed/google/", "bread").headers["X-Robots-Tag"] = "googlebot: noindex"
    site.page("/listed/ahrefs/", "bread").headers["X-Robots-Tag"] = "AhrefsBot: noindex"  # near miss
    site.link("/about/", "/listed/ahrefs/")
    site.link("/news/", "/listed/ahrefs/")
    site.expect("entry.noindex_engine", "/listed/google/")
    for name in ("orders", "basket"):
        site.list(f"/private/{name}/")
        site.expect("entry.blocked", f"/private/{name}/")
    site.visited("/private/orders/", people=50, status=200)
    for name in ("linked", "unlinked"):
        site.page(f"/listed/copy-{name}/", "bread", canonical=SOUP)
        site.expect("entry.canonical", f"/listed/copy-{name}/")
    site.link("/about/", "/listed/copy-linked/")
    site.answers["/listed/photo.png"] = Answer(200, b"\x89PNG\r\n\x1a\n", {"Content-Type": "image/png"})
    site.list("/listed/photo.png")
    site.expect("entry.type", "/listed/photo.png")
    nothing = Answer(200, b"<title>Shop</title><h1>Sorry</h1><p>It does not exist</p>", {"Content-Type": "text/html"})
    nowhere = impossible_url(f"{site.origin}/").removeprefix(site.origin)
    site.answers |= {nowhere: nothing, "/listed/soft/": nothing}
    site.list("/listed/soft/")
    site.expect("gone.soft", "/listed/soft/")
    # near miss: a document of another type may be listed
    site.answers["/listed/plan.pdf"] = Answer(200, b"%PDF-1.4 plan", {"Content-Type": "application/pdf"})
    site.list("/listed/plan.pdf")


def _other_names(site: Planted) -> None:
    """Entries with ``www.``, which the server redirects to the site, but for what stands in ``www``; and by TLS."""
    www = site.origin.replace("://", "://www.")
    moved = site.page("/listed/www-moved/", "bread", listed=False).path
    twice = site.page("/listed/www-twice/", "bread").path
    alone = site.page("/listed/www-alone/", "bread", listed=False).path
    copy = site.page("/listed/www-copy/", "bread", canonical="/listed/www-copy/").path
    site.well(moved, twice, alone, copy)
    site.www |= {twice, alone, copy}
    for path in (moved, twice, alone, copy):
        site.list(www + path)
    site.expect("entry.redirect", www + moved)
    site.expect("entry.duplicate", twice)
    site.expect("entry.outside", www + alone)
    site.expect("entry.canonical", www + copy)
    secure = f"https{site.origin[4:]}{moved}"
    site.list(secure)
    site.expect("entry.failed", secure)  # nobody answers there


def large_pages(site: Planted) -> None:
    """One page over what Googlebot reads, and a near miss."""
    for name, size in (("large", 2_100_000), ("less", 1_900_000)):
        page = site.page(f"/size/{name}/", "bread")
        page.head.append(f"<style>/*{'x' * size}*/</style>")
        site.well(page.path)
    site.expect("google.size", "/size/large/")


def doubled_entries(site: Planted) -> None:
    spelt = site.page("/listed/~twice/", "bread").path
    site.list("/listed/%7Etwice/", site.pages[spelt].modified)
    site.well(spelt)
    site.expect("duplicate.loc", spelt)  # which lint tells, for escapes make no other URL
    tracked = site.page("/listed/tracked/", "bread").path
    site.list(f"{tracked}?utm_source=a", site.pages[tracked].modified)
    site.list(f"{tracked}?utm_source=b&utm_medium=c", site.pages[tracked].modified)
    site.well(tracked)
    site.expect("entry.duplicate", tracked)
    indexed = site.page("/listed/indexed/", "bread").path
    site.list(f"{indexed}index.html", site.pages[indexed].modified)
    site.well(indexed)
    site.expect("entry.duplicate", indexed)


def lying_dates(site: Planted) -> None:
    for rule, stated, listed in (
        ("entry.lastmod_late", "2024-02-01", "2025-09-01"),
        ("entry.lastmod_early", "2025-06-01", "2023-01-05"),
    ):
        for n in range(3):
            path = site.page(
                f"{HARVEST}{rule}-{n}/", "harvest", trail=trail(HARVEST), listed=False, modified=stated
            ).path
            site.list(path, listed, news=True)
            site.well(path)
            site.expect(rule, path)
    # near misses: a day apart, with a time, without a date in the page
    for name, stated, listed in (
        ("zone", "2025-06-02", "2025-06-01T23:30:00+00:00"),
        ("time", "2025-06-02", "2025-06-02T11:30:00+02:00"),
        ("before", "2025-06-02", "2025-06-01T06:00:00+00:00"),
        ("after", "2025-06-02", "2025-06-04T06:00:00+00:00"),
    ):
        path = site.page(f"{HARVEST}{name}/", "harvest", trail=trail(HARVEST), listed=False, modified=stated).path
        site.list(path, listed, news=True)
        site.well(path)
    site.page(f"{HARVEST}undated/", "harvest")
    site.well(f"{HARVEST}undated/")


# ---------------------------------------------------------------- languages and media


def versions(
    site: Planted, name: str, *languages: str, names: dict[str, list[tuple[str, str]]] | None = None
) -> dict[str, str]:
    """A page in several languages, each of which names all, and the first as x-default.

    ``names`` says what a version states instead. The answer is the path of each version.
    """
    paths = {language: f"/world/{language}/{name}/" for language in languages}
    usual = [*paths.items(), ("x-default", paths[languages[0]])]
    for language, path in paths.items():
        stated = (names or {}).get(language, usual)
        leaf = site.page(path, "world", lang=language, trail=("/", "/world/"))
        leaf.head += [f'<link rel="alternate" hreflang="{code}" href="{site.url(to)}">' for code, to in stated]
        leaf.links += [(other, "") for other in paths.values() if other != path]
        site.link("/world/", path)
        site.link("/about/", path)
    return paths


def languages(site: Planted) -> None:
    for n in range(15):
        versions(site, f"sound-{n}", "en", "de", "fr")
    en, de = "/world/en/", "/world/de/"

    path = "one-way"
    versions(site, path, "en", "de", names={"de": []})
    site.expect("cluster.not_mutual", f"{en}{path}/")

    path = "selfless"
    stated = [("de", f"{de}{path}/"), ("x-default", f"{de}{path}/")]
    versions(site, path, "en", "de", names={"en": stated, "de": [("en", f"{en}{path}/"), *stated]})
    site.expect("cluster.no_self", f"{en}{path}/")

    path = "no-default"
    stated = [("en", f"{en}{path}/"), ("de", f"{de}{path}/")]
    versions(site, path, "en", "de", names={"en": stated, "de": stated})
    site.expect("cluster.no_default", f"{de}{path}/")  # said once, of the first in order

    path = "mislabelled"
    versions(site, path, "en", "de")
    site.pages[f"{de}{path}/"].lang = "nl"
    site.expect("cluster.label", f"{de}{path}/")  # and not who names it so

    path = "swapped"
    stated = [("de", f"{en}{path}/"), ("en", f"{de}{path}/"), ("x-default", f"{en}{path}/")]
    versions(site, path, "en", "de", names={"en": stated, "de": stated})
    site.expect("cluster.swapped", f"{en}{path}/", f"{de}{path}/")

    path = "torn"
    other = site.page(f"{de}{path}-too/", "world", lang="de").path
    site.well(other)
    stated = [("en", f"{en}{path}/"), ("de", f"{de}{path}/"), ("de", other), ("x-default", f"{en}{path}/")]
    versions(site, path, "en", "de", names={"en": stated, "de": stated})
    site.pages[other].head += [f'<link rel="alternate" hreflang="{code}" href="{site.url(to)}">' for code, to in stated]
    site.expect("cluster.conflict", f"{en}{path}/", f"{de}{path}/", other)
    path = "disagreeing"  # the sitemap says otherwise than the pages
    paths = versions(site, path, "en", "de")
    other = site.page(f"{de}{path}-too/", "world", lang="de", listed=False).path
    site.well(other)
    stated = [("en", paths["en"]), ("de", other), ("x-default", paths["en"])]
    inner = "".join(f'<xhtml:link rel="alternate" hreflang="{code}" href="{site.url(to)}"/>' for code, to in stated)
    next(entry for entry in site.entries if entry.loc == paths["en"]).inner = inner
    site.list(other, site.pages[other].modified, inner)
    site.expect("cluster.conflict", paths["en"])

    path = "no-language"
    here, there = f"{en}{path}/", f"{de}{path}/"
    stated = [("en", here), ("de", there), ("x-default", here)]
    versions(site, path, "en", "de", names={"en": [*stated, ("en-UK", here)], "de": stated})
    site.expect("cluster.code", here)
    # near misses: a region of the language, a script, another case
    versions(site, "regions", "en", "de")
    site.pages[f"{en}regions/"].lang = "en-GB"
    site.pages[f"{de}regions/"].lang = "DE-at"


def languages_that_lead_nowhere(site: Planted) -> None:
    """Versions that are named and are no pages."""
    en, de, fr, path = "/world/en/", "/world/de/", "/world/fr/", "targets"
    bad = ["gone", "moved", "hidden", "copy"]
    codes = ["de", "fr", "it", "es"]
    for kind, code in zip(bad, codes, strict=True):
        here, there = f"{en}{path}-{kind}/", f"/world/{code}/{path}-{kind}/"
        own = [("en", here), ("x-default", here)]
        versions(site, f"{path}-{kind}", "en", names={"en": [*own, (code, there)]})
        site.expect("cluster.target", here)
        if kind == "gone":
            site.gone(there)
        elif kind == "moved":
            site.redirect(there, fr)
        else:
            leaf = site.page(there, lang=code, listed=False)
            back = [*own, (code, there)]
            leaf.head += [f'<link rel="alternate" hreflang="{c}" href="{site.url(to)}">' for c, to in back]
            if kind == "hidden":
                leaf.robots = "noindex"
            else:
                leaf.canonical = de
    site.page(de, "world", lang="de")
    site.page(fr, "world", lang="fr")
    site.well(de, fr)


def media(site: Planted) -> None:
    def pictured(name: str, image: str) -> None:
        path = site.page(f"/pictures/{name}/", "clocks", listed=False).path
        site.well(path)
        site.list(path, inner=f"<image:image><image:loc>{site.url(image)}</image:loc></image:image>")

    for name, status in (("fine", 200), ("absent", 404), ("removed", 410), ("failing", 500), ("busy", 503)):
        site.answers[f"/img/{name}.png"] = Answer(status, b"\x89PNG\r\n\x1a\n", {"Content-Type": "image/png"})
        pictured(name, f"/img/{name}.png")
    site.expect("media.image", "/img/absent.png", "/img/removed.png", "/img/failing.png")
    site.answers["/img/excuse.png"] = Answer(200, b"<title>Sorry</title>", {"Content-Type": "text/html"})
    pictured("excuse", "/img/excuse.png")
    site.expect("media.image", "/img/excuse.png")
    pictured("shared", "/img/absent.png")
    site.redirect("/img/moved.png", "/img/fine.png")
    pictured("moved", "/img/moved.png")  # a near miss, and a busy server is one
    site.answers["/film/fine.mp4"] = Answer(200, b"\0\0\0\x18ftypmp42", {"Content-Type": "video/mp4"})
    for name, film, thumb in (("good", "fine", "fine"), ("dead", "dead", "fine"), ("blind", "fine", "unseen")):
        path = site.page(f"/films/{name}/", "clocks", listed=False).path
        site.well(path)
        inner = (
            f"<video:video><video:thumbnail_loc>{site.url(f'/img/{thumb}.png')}</video:thumbnail_loc>"
            f"<video:title>Film</video:title><video:description>A film.</video:description>"
            f"<video:content_loc>{site.url(f'/film/{film}.mp4')}</video:content_loc></video:video>"
        )
        site.list(path, inner=inner)
    site.expect("media.video", "/film/dead.mp4", "/img/unseen.png")


# ---------------------------------------------------------------- spellings that are all one page


def spellings(site: Planted) -> None:
    """Linked pages that all sources spell in every way. None of it is a finding."""
    page = f"{GARDEN}garden-003/"
    for target in (
        page[:-1],
        f"{page}?utm_source=news&utm_medium=mail",
        f"{page}?gclid=abc&fbclid=def",
        f"{page}?",
        page.replace("garden-003", "g%61rden-003"),
        page.replace("/garden/", "//garden/"),
        page.replace("/garden/", "/./garden/"),
        page.replace("/garden/", "/kitchen/../garden/"),
        f"{page}index.html",
        page.upper(),
        page.title(),
        f"{page}?ref=footer",  # answers the same page, which names its canonical
    ):
        site.visited(target, people=6, bots=2)
        site.searches(target, 1, 10)
        site.analysed.append((target.lower(), 5))
        site.noted.append(site.origin + target)
        site.backlinks.append(("https://links.example.org/", site.origin + target))
    bare = site.origin.partition("://")[2]
    for text in (f"https://{bare}{page}", f"http://www.{bare}{page}", f"HTTP://{bare.upper()}{page}#part"):
        site.searches(text)
        site.noted.append(text)
        site.backlinks.append(("https://links.example.org/", text))
    for target in (
        "/Team/J%C3%BCrgen-Gro%C3%9F",
        "/Team/J%c3%bcrgen-Gro%c3%9f",
        "/Team/Ian-Mac%7EKay",
        "/Team/I%61n-Mac~Kay",
    ):
        site.visited(target, people=8)
        site.noted.append(site.origin + target)
    site.noted.append(f"{site.origin}/Team/Jürgen-Groß")
    for target in ("/team/ada-meyer", "/TEAM/Bo-Li", "/team/ana-ruiz/"):
        site.visited(target, people=8)
        site.analysed.append((target, 11))
    # pages without a canonical: nothing but their content says that they are the same
    for target in ("/guides/index.html", "/guides//", "/about/index.html", "/index.html", "/guides/?ref=footer"):
        site.visited(target, people=8)
    sorted_list = f"{LAMPS}?sort=price&view=grid"
    site.page(sorted_list, "lamps")
    site.well(sorted_list)
    site.visited(f"{LAMPS}?view=grid&sort=price", people=8)
    site.visited(f"{site.origin}{page}", people=4)  # as proxies ask
    site.visited("/?gclid=abc", people=4)
    site.visited(f"{page}", people=4, status=304)
    # what was moved to the home page, and documents
    site.redirect("/campaign-2019/", "/")
    site.visited("/campaign-2019/", people=30)
    site.searches("/campaign-2019/")
    site.searches("/listed/plan.pdf")
    site.searches("/img/fine.png")
    site.visited("/listed/plan.pdf", people=30)
    # the wrong case, which this part of the server does not know: nobody's page
    site.visited("/docs/install", people=2)
    site.visited("/DOCS/FAQ", people=1, bots=3)


ALL = (
    orphans_of_the_sitemap,
    orphans_of_search,
    orphans_of_the_logs,
    pages_of_their_own,
    orphans_of_lists,
    islands,
    by_redirect,
    by_canonical,
    by_noindex,
    by_nofollow,
    by_the_head,
    deep_pages,
    few_links,
    unlisted,
    gone_and_visited,
    gone_and_linked,
    redirects,
    canonicals,
    bad_entries,
    doubled_entries,
    large_pages,
    lying_dates,
    languages,
    languages_that_lead_nowhere,
    media,
    spellings,
)
