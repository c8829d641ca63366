"""What looks like a problem and is none: nothing of it may be reported."""

from .plan import Plan, Plant

LOOKALIKES: dict[str, Plant] = {}
PROBES = (
    "/wp-login.php",
    "/.env",
    "/xmlrpc.php",
    "/phpmyadmin/index.php",
    "/.git/config",
    "/wp-admin/setup-config.php",
)
ASSETS = {
    "/assets/main.css": "text/css",
    "/assets/app.4f3a.js": "text/javascript",
    "/img/hero.webp": "image/webp",
    "/favicon.ico": "image/x-icon",
    "/fonts/inter.woff2": "font/woff2",
}


def lookalike(function: Plant) -> Plant:
    LOOKALIKES[function.__name__.replace("_", " ")] = function
    return function


@lookalike
def thin_page(plan: Plan) -> None:
    page = plan.healthy()
    page.text = "Coming soon."


@lookalike
def sold_out_product(plan: Plan) -> None:
    page = plan.healthy()
    page.title, page.text = "Brass lamp", "Sold out. This product is not available at the moment. " + page.text


@lookalike
def article_about_404(plan: Plan) -> None:
    page = plan.healthy()
    page.title = "How to fix 404 page not found errors"
    page.text = "A page not found error means that the server has no page at a URL. " + page.text


@lookalike
def probes(plan: Plan) -> None:
    for target in PROBES:
        if target not in plan.site.pages:
            plan.sources.visits(target, plan.dice.choice((3, 40)), "scanner", 404)


@lookalike
def health_checks(plan: Plan) -> None:
    target = plan.dice.choice(("/health", "/healthz", "/ping", "/status/live"))
    if target in plan.site.pages:
        return
    page = plan.page(target, "ok")
    page.canonical, page.has_chrome = "", False
    if plan.dice.random() < 0.6:
        page.kind, page.body = "text/plain", b"ok"
    else:
        page.text = "ok"
    plan.sources.visits(target, 200, "health")


@lookalike
def monitors(plan: Plan) -> None:
    plan.sources.visits("/", 100, "monitor", method=plan.dice.choice(("GET", "HEAD")))


@lookalike
def old_redirect(plan: Plan) -> None:
    """A legitimate redirect, which nobody lists or links, but visitors and other sites use."""
    page = plan.answer(301, plan.ordinary().target)
    plan.sources.visits(page.target, 15, status=301)
    plan.sources.backlinks[page.target] = 4


@lookalike
def footer_only(plan: Plan) -> None:
    page = plan.page()
    plan.site.submit(page)
    plan.site.chrome.append(page.target)


@lookalike
def nofollow_and_follow(plan: Plan) -> None:
    page = plan.healthy()
    plan.link(page, 1, "nofollow")
    plan.link(page, 3)


@lookalike
def noindexed_and_indexed(plan: Plan) -> None:
    page = plan.healthy()
    hub = plan.page()
    hub.metas.append(("robots", "noindex, follow"))
    hub.canonical = ""
    hub.links[page.target] = ""
    plan.link(hub)


@lookalike
def pdf(plan: Plan) -> None:
    page = plan.page(plan.target(".pdf"))
    page.kind, page.body = "application/pdf", b"%PDF-1.7\n" + bytes(100)
    plan.link(page)
    plan.sources.visits(page.target, 9)
    if plan.dice.random() < 0.4:
        plan.site.submit(page)


@lookalike
def linked_temporary_redirect(plan: Plan) -> None:
    page = plan.answer(302, plan.ordinary().target)
    plan.link(page)


@lookalike
def tracked_visits(plan: Plan) -> None:
    page = plan.healthy()
    tail = plan.dice.choice(("utm_source=mail&utm_campaign=may", "gclid=a1b2", "fbclid=x9"))
    spelled = f"{page.target}{'&' if '?' in page.target else '?'}{tail}"
    plan.site.pages[spelled] = page
    plan.sources.visits(spelled, 20)
    plan.link(spelled, 1)


@lookalike
def thank_you_page(plan: Plan) -> None:
    """Noindexed on purpose; visitors reach it through a form."""
    page = plan.page()
    page.metas.append(("robots", "noindex"))
    page.canonical = ""
    plan.sources.visits(page.target, 25)


@lookalike
def noindexed_on_purpose(plan: Plan) -> None:
    page = plan.page()
    page.metas.append(("robots", "noindex, follow"))
    page.canonical = ""
    plan.link(page)


@lookalike
def mistyped(plan: Plan) -> None:
    plan.sources.visits(plan.target(), plan.dice.choice((1, 2, 3)), status=404)


@lookalike
def dead_for_tools_only(plan: Plan) -> None:
    plan.sources.visits(plan.target(), 30, "seo", 404)


@lookalike
def assets(plan: Plan) -> None:
    for name, kind in ASSETS.items():
        if name not in plan.site.pages:
            asset = plan.page(name)
            asset.kind, asset.body, asset.canonical = kind, bytes(40), ""
        plan.sources.visits(name, 30)


@lookalike
def posted_form(plan: Plan) -> None:
    plan.sources.visits(plan.target("/add"), 20, status=302, method="POST")


@lookalike
def session_variants(plan: Plan) -> None:
    """A variant that names the page as its canonical, known from search and logs."""
    page = plan.healthy(plan.target("/"))
    variant = plan.page(f"{page.target}?sort=price")
    variant.canonical = page.canonical = page.target
    plan.sources.visits(variant.target, 12)
    plan.sources.search[variant.target] = (0, 30)


@lookalike
def escapes(plan: Plan) -> None:
    """The same URL by RFC 3986, section 6.2.2, in other escapes."""
    page = plan.healthy(f"/d%C3%A9j%C3%A0{plan.target()}")
    spelled = page.target.replace("%C3%A9", "%c3%a9")
    plan.site.pages[spelled] = page
    plan.sources.visits(spelled, 9)


@lookalike
def file_that_is_a_page(plan: Plan) -> None:
    page = plan.healthy(plan.target(plan.dice.choice((".png", ".js", ".net"))))
    plan.sources.visits(page.target, 9)


@lookalike
def image_that_is_there(plan: Plan) -> None:
    page = plan.page()
    plan.link(page)
    image = plan.page(plan.target(".jpg"))
    image.kind, image.body, image.canonical = "image/jpeg", b"\xff\xd8\xff\xe0" + bytes(40), ""
    plan.site.submit(page).images.append(plan.site.absolute(image.target))


@lookalike
def login_page(plan: Plan) -> None:
    page = plan.answer(plan.dice.choice((401, 403)))
    plan.link(page)


@lookalike
def noindex_for_a_stranger(plan: Plan) -> None:
    page = plan.healthy()
    page.metas.append(("ahrefsbot", "noindex"))


@lookalike
def lastmod_with_time(plan: Plan) -> None:
    page = plan.page()
    page.modified = plan.site.date()
    plan.link(page)
    plan.site.submit(page, page.modified.isoformat())
