"""The space of what can go wrong: what a broken site answers, for which pages and requests.

A disaster is a kind, a place and a moment, drawn apart from each other. Its ``effect`` is what a product that believed
each answer would do to a page that is hit:

- "failure": nothing for now, since the answer is no page: challenges, halves, 5xx, 429, broken connections;
- "explicit": leave, for a reason that can be meant: 404, 410, a permanent redirect, noindex;
- "leave": leave, for another reason;
- "stand-in": stay, with the date of a text that is not the page's;
- "rewritten": stay, with another whole text of its own: nobody can tell that from the work of editors.
"""

import gzip
import random
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from html import escape
from zlib import crc32

from .answers import Answer, Asked, Cut, Reply, Shouting, Stand, bare_frame, empty_frame, html
from .firewalls import FIREWALLS, Challenge, made_firewall
from .site import Site, paragraph, sentence, title, vocabulary

NOT_HERE = html("<title>404</title>", "<h1>Not found</h1>")


@dataclass
class Kind:
    """One way to be broken. ``extras`` are paths that exist only meanwhile."""

    name: str
    effect: str
    answer: Answer | None = None  # None: pages answer as ever
    extras: dict[str, Reply] = field(default_factory=dict)
    robots: Reply | None = None
    unlinks: bool = False  # the pages that are hit are named by no page
    is_whole: bool = False  # the page's own text is still there


# ---------------------------------------------------------------- kinds


def _status(dice: random.Random, site: Site) -> Kind:
    status = dice.choice((404, 404, 410, 410))
    stand = Stand(dice, "soft404", status)
    return Kind(f"{status}", "explicit", stand)


def _refused(dice: random.Random, site: Site) -> Kind:
    status = dice.choice((401, 403))
    body = dice.choice((b"", html("<title>Forbidden</title>", "<h1>Forbidden</h1>")))
    return Kind(f"{status}", "leave", lambda asked: Reply(status, body))


def _fails(dice: random.Random, site: Site) -> Kind:
    status = dice.choice((429, 500, 502, 503, 504, 520))
    body = dice.choice((b"", html("<title>Error</title>", "<h1>Error</h1>"), b"upstream connect error"))
    headers = (("Retry-After", "1"),) if status in (429, 503) and dice.random() < 0.5 else ()
    return Kind(f"{status}", "failure", lambda asked: Reply(status, body, headers))


def _noindex(dice: random.Random, site: Site) -> Kind:
    where = dice.choice(("meta", "header", "mixed"))
    value = dice.choice(("noindex", "none", "noindex, nofollow", "NOINDEX,FOLLOW"))

    def answer(asked: Asked) -> Reply:
        place = where if where != "mixed" else ("meta", "header")[sum(asked.path.encode()) % 2]
        if place == "header":
            return replace(asked.good, headers=(*asked.good.headers, ("X-Robots-Tag", value)))
        body = asked.good.body.replace(b"<head>", f'<head><meta name="robots" content="{value}">'.encode(), 1)
        return replace(asked.good, body=body, headers=())

    return Kind(f"noindex by {where} ({value})", "explicit", answer, is_whole=True)


def _target(dice: random.Random, site: Site) -> tuple[str, dict[str, Reply], Callable[[str], str]]:
    """Where things are sent: (its name, pages that exist only for it, the target of a path)."""
    name = dice.choice(("start", "page", "login", "login of each", "section", "other host", "404", "hashed", "itself"))
    if name == "start":
        return name, {}, lambda path: "/"
    if name == "itself":  # to set a cookie, or with a token that proves a browser
        token = dice.choice(("", "?check=1", f"?t={dice.randbytes(8).hex()}"))
        return f"itself{token[:2]}", {}, lambda path: f"{path}{token}"
    if name == "page":
        to = dice.choice(sorted(set(site.pages) - {"/"}))
        return name, {}, lambda path: to
    if name in ("login", "login of each"):
        page = Reply(200, html("<title>Sign in</title>", "<h1>Sign in</h1><form><input type=password></form>"))
        return name, {"/login": page}, lambda path: "/login" if name == "login" else f"/login?next={path}"
    if name == "section":
        homes = {page.path: _home(site, page.path) for page in site.pages.values()}
        return name, {}, lambda path: homes.get(path, "/")
    if name == "other host":
        return name, {}, lambda path: f"http://other.example{path}"
    if name == "404":
        return name, {"/gone-away": Reply(404, NOT_HERE)}, lambda path: "/gone-away"
    return name, {}, lambda path: f"/{vocabulary('en')[crc32(path.encode()) % 3000]}-gone"


def _home(site: Site, path: str) -> str:
    section = site.pages[path].section
    return next((each for each in site.sections if site.pages[each].section == section), "/") if section else "/"


def _redirect(dice: random.Random, site: Site) -> Kind:
    status = dice.choice((301, 301, 302, 303, 307, 308))
    name, extras, target = _target(dice, site)
    effect = "explicit" if status in (301, 308) else "leave"

    def answer(asked: Asked) -> Reply:
        to = target(asked.path)
        return asked.good if to == asked.path and name != "itself" else Reply(status, b"", (("Location", to),))

    return Kind(f"{status} to {name}", effect, answer, extras)


def _refresh(dice: random.Random, site: Site) -> Kind:
    name, extras, target = _target(dice, site)
    keeps = dice.random() < 0.5

    def answer(asked: Asked) -> Reply:
        to = target(asked.path)
        tag = f'<meta http-equiv="refresh" content="0; url={escape(to)}">'
        if to == asked.path:
            return asked.good
        if keeps:
            return replace(asked.good, body=asked.good.body.replace(b"<head>", b"<head>" + tag.encode(), 1), headers=())
        return Reply(200, html(tag, "<p>Redirecting …</p>"))

    return Kind(f"refresh to {name}", "leave", answer, extras, is_whole=keeps)


def _canonical(dice: random.Random, site: Site) -> Kind:
    name, extras, target = _target(dice, site)
    by_header = dice.random() < 0.3

    def answer(asked: Asked) -> Reply:
        to = target(asked.path)
        if to == asked.path:
            return asked.good
        to = to if "://" in to else f"http://{asked.host}{to}"
        if by_header:
            return replace(asked.good, headers=(*asked.good.headers, ("Link", f'<{to}>; rel="canonical"')))
        tag = f'<head><link rel="canonical" href="{escape(to)}">'
        return replace(asked.good, body=asked.good.body.replace(b"<head>", tag.encode(), 1), headers=())

    return Kind(f"canonical to {name}", "leave", answer, extras, is_whole=True)


def _stand_in(dice: random.Random, site: Site) -> Kind:
    says = dice.choice(
        (
            "soft404",
            "maintenance",
            "login",
            "login",
            "error",
            "parked",
            "suspended",
            "welcome",
            "consent",
            "forbidden",
            "old",
        )
    )
    stand = Stand(dice, says)
    about = f"{says} page with 200, title of the {stand.titles}"
    return Kind(about + (", in the frame" if stand.keeps == "frame" else ""), "stand-in", stand)


def _empty(dice: random.Random, site: Site) -> Kind:
    name, answer = dice.choice(
        (
            ("frame without content", empty_frame),
            ("shell of an application", bare_frame),
            ("empty body", lambda asked: Reply(200, b"")),
            ("blank page", lambda asked: Reply(200, b"<html><head></head><body></body></html>")),
            ("only its title", lambda asked: Reply(200, html(f"<title>{escape(asked.title)}</title>", ""))),
        )
    )
    return Kind(name, "stand-in", answer)


def _same(dice: random.Random, site: Site) -> Kind:
    path = dice.choice(["/", dice.choice(sorted(site.pages))])
    body = site.render(path).encode()
    return Kind("one page of the site for all", "stand-in", lambda asked: Reply(200, body))


def _type(dice: random.Random, site: Site) -> Kind:
    kind = dice.choice(("text/plain", "application/octet-stream", "application/json", "application/pdf", "image/png"))
    body = dice.choice((None, b'{"error":"internal"}', b"\x89PNG\r\n\x1a\n\x00\x00"))

    def answer(asked: Asked) -> Reply:
        return Reply(200, asked.good.body if body is None else body, kind=kind)

    return Kind(f"content type {kind}", "leave", answer)


def _shouting(dice: random.Random, site: Site) -> Kind:
    text = dice.choice(
        (
            "mysqli_connect(): (HY000/2002): Connection refused in /var/www/db.php on line 42",
            "Undefined variable $theme in /var/www/header.php on line 7",
            f"Template error: {sentence(dice)}",
        )
    )
    return Kind(
        "error text in whole pages",
        "stand-in",
        Shouting(text, dice.choice(("top", "main")), dice.random() < 0.3),
        is_whole=True,
    )


def _cut(dice: random.Random, site: Site) -> Kind:
    framing = dice.choice(("length", "chunked", "close", "close", "lie", "torn"))
    share = dice.choice((0.15, 0.35, 0.5, 0.5, 0.65))
    return Kind(f"bodies cut at {share:.0%} ({framing})", "failure", Cut(share, framing))


def _drops(dice: random.Random, site: Site) -> Kind:
    return Kind("connection closed without an answer", "failure", lambda asked: Reply(framing="drop"))


def _challenge(dice: random.Random, site: Site) -> Kind:
    vendor = dice.choice(sorted(FIREWALLS))
    return _challenged(
        dice, f"{vendor} challenge", FIREWALLS[vendor], dict.fromkeys(FIREWALLS[vendor].statuses, "failure")
    )


def _made_challenge(dice: random.Random, site: Site) -> Kind:
    """Nobody can know that this is a challenge; that all pages say it tells enough."""
    return _challenged(dice, "unknown firewall's challenge", made_firewall(dice), {200: "stand-in", 403: "leave"})


def _challenged(dice: random.Random, name: str, challenge: Challenge, effects: dict[int, str]) -> Kind:
    status, noindex = dice.choice(challenge.statuses), dice.random() < 0.5
    effect = effects.get(status, "failure")
    name = f"{name} with {status}{' and noindex' if noindex else ''}"
    if effect == "stand-in" and noindex:
        effect = "leave"
    return Kind(name, effect, lambda asked: challenge.reply(asked, status, noindex))


def _staging(dice: random.Random, site: Site) -> Kind:
    """Another copy of the site: older, linked to another host, with noindex, or with a canonical to the live one."""
    other = replace(site, template=site.template.redesigned(dice))
    robots = dice.choice(("noindex", "noindex, nofollow", ""))

    def answer(asked: Asked) -> Reply:
        link = "" if robots else f'<link rel="canonical" href="http://staging.example{asked.path}">'
        return Reply(200, other.render(asked.path, robots=robots, head=link).encode())

    return Kind(f"staging copy ({robots or 'canonical to staging'})", "explicit" if robots else "leave", answer)


def _rewritten(dice: random.Random, site: Site) -> Kind:
    """Each page answers with a whole text of its own, but another one than before."""
    pages = deepcopy(site.pages)
    name = dice.choice(("another language", "texts of other pages"))
    if name == "another language":
        for page in pages.values():
            page.title = title(dice, "xx")
            page.paragraphs = [paragraph(dice, "xx") for _ in page.paragraphs]
    else:
        paths = sorted(pages)
        for path, other in zip(paths, dice.sample(paths, len(paths)), strict=True):
            pages[path].title, pages[path].paragraphs = site.pages[other].title, site.pages[other].paragraphs
    other_site = replace(site, pages=pages, language="xx" if name == "another language" else "en")
    return Kind(name, "rewritten", lambda asked: Reply(200, other_site.render(asked.path).encode()), is_whole=True)


def _astray(dice: random.Random, site: Site) -> Kind:
    """All links of a page lead where nothing is, for a base or a prefix that is wrong."""
    base = dice.choice(("http://cdn.example", "/index.php", "/var/www/html", "http://localhost:8080"))
    by_base = dice.random() < 0.3

    def answer(asked: Asked) -> Reply:
        body = asked.good.body
        if by_base:
            body = body.replace(b"<head>", f'<head><base href="{base}/">'.encode(), 1).replace(
                b"<a href=/", b"<a href="
            )
        else:
            body = body.replace(b"<a href=/", f"<a href={base}/".encode())
        return replace(asked.good, body=body, headers=())

    return Kind(f"links to {base}{' by a base' if by_base else ''}", "rewritten", answer)


def _garbled(dice: random.Random, site: Site) -> Kind:
    """Bodies that are no text: compressed and not labelled so, or the other way round."""
    way = dice.choice(("gzip without label", "label without gzip", "noise"))

    def answer(asked: Asked) -> Reply:
        if way == "label without gzip":
            return replace(asked.good, headers=(("Content-Encoding", "gzip"),))
        body = gzip.compress(asked.good.body, mtime=0) if way != "noise" else asked.dice.randbytes(2000)
        return Reply(200, body)

    return Kind(f"garbled: {way}", "leave", answer)


def _migrated(dice: random.Random, site: Site) -> Kind:
    """Every page has a new address, with the same content."""
    extras = {f"/new{path}": Reply(200, site.render(path).encode()) for path in site.pages}

    def answer(asked: Asked) -> Reply:
        return Reply(301, b"", (("Location", f"/new{asked.path}"),))

    return Kind("301 to its new address", "explicit", answer, extras, is_whole=True)


def _robots(dice: random.Random, site: Site) -> Kind:
    name = dice.choice(("disallow", "disallow", "5xx", "html", "429"))
    body, status, kind = b"User-agent: *\nDisallow: /\n", 200, "text/plain"
    if name == "disallow" and site.sections and dice.random() < 0.4:
        section = max(
            site.sections, key=lambda each: sum(p.section == site.pages[each].section for p in site.pages.values())
        )
        name = "disallow of a section"
        body = f"User-agent: *\nDisallow: {section.removesuffix('.html').rstrip('/')}\n".encode()
    elif name == "disallow":
        name = "disallow of all"
    elif name == "html":
        body, kind = html("<title>Hi</title>", "<p>Disallow: nothing</p>"), "text/html"
    else:
        status, body = (503 if name == "5xx" else 429), b""
    return Kind(f"robots.txt: {name}", "leave", robots=Reply(status, body, kind=kind))


def _unlinked(dice: random.Random, site: Site) -> Kind:
    return Kind("pages that no page links to", "leave", unlinks=True)


def _half_missing(dice: random.Random, site: Site) -> Kind:
    """A part of the data is gone: its pages answer 404, and no page names them."""
    return Kind("404, and no page links to it", "explicit", Stand(dice, "soft404", 404), unlinks=True)


KINDS: tuple[tuple[int, Callable[[random.Random, Site], Kind]], ...] = (
    (4, _status),
    (1, _refused),
    (2, _fails),
    (4, _noindex),
    (5, _redirect),
    (3, _refresh),
    (4, _canonical),
    (7, _stand_in),
    (4, _empty),
    (1, _same),
    (2, _type),
    (2, _shouting),
    (5, _cut),
    (1, _drops),
    (6, _challenge),
    (4, _made_challenge),
    (2, _staging),
    (2, _robots),
    (3, _unlinked),
    (2, _half_missing),
    (1, _rewritten),
    (1, _migrated),
    (2, _astray),
    (2, _garbled),
)


def drawn_kind(dice: random.Random, site: Site) -> Kind:
    return dice.choices([make for _, make in KINDS], [weight for weight, _ in KINDS])[0](dice, site)


# ---------------------------------------------------------------- where, and when


@dataclass
class Extent:
    """Which pages are hit, and which requests of a run."""

    name: str
    paths: frozenset[str]
    since: int = 0  # the first request that is hit
    until: int = 1_000_000  # the first one that is not
    nth: int = 1  # of those between, each n-th is hit

    def hits(self, path: str, request: int) -> bool:
        return path in self.paths and self.since <= request < self.until and request % self.nth == 0


def drawn_extent(dice: random.Random, site: Site) -> Extent:
    """A place and a moment."""
    everywhere = frozenset(site.pages)
    place, paths = _place(dice, site, sorted(site.pages))
    size = len(site.pages)
    when = dice.choice(("ever", "ever", "ever", "ever", "after", "after", "until", "nth"))
    if when == "after":
        since = dice.choice((1, max(2, size // 10), size // 3, 20 if size > 40 else size // 2))
        return Extent(f"all from request {since + 1} on", everywhere, since=since)
    if when == "until":
        until = dice.choice((size // 2, size * 3 // 4))
        return Extent(f"all but the start page until request {until}", everywhere - {"/"}, until=until)
    if when == "nth":
        return Extent("each second request but for the start page", everywhere - {"/"}, nth=2)
    return Extent(place, frozenset(paths))


def _place(dice: random.Random, site: Site, paths: list[str]) -> tuple[str, list[str]]:
    half = len(paths) // 2
    others = [path for path in paths if path != "/"]
    large = max(site.sections, key=lambda each: sum(_home(site, path) == each for path in others))
    share = dice.choice((0.3, 0.5, 0.7, 0.9))
    return dice.choice(
        (
            ("all", paths),
            ("all but the start page", others),
            ("all but the start page", others),
            ("first half", [path for path in paths[:half] if path != "/"]),
            ("second half", paths[half:]),
            (f"{share:.0%} at random", dice.sample(others, int(len(others) * share))),
            (f"{share:.0%} at random", dice.sample(others, int(len(others) * share))),
            ("a few", dice.sample(others, max(1, len(others) // 12))),
            ("half of the sections", [path for path in others if _home(site, path) in site.sections[::2]]),
            ("largest section", [path for path in others if _home(site, path) == large]),
            ("all below the sections", [path for path in others if path not in site.sections]),
        )
    )


@dataclass
class Disaster:
    """One or two kinds, each with its extent; where both hit, the first wins."""

    parts: list[tuple[Kind, Extent]]

    @property
    def name(self) -> str:
        return " + ".join(kind.name for kind, _ in self.parts)

    @property
    def extent(self) -> str:
        return " + ".join(dict.fromkeys(extent.name for _, extent in self.parts))

    @property
    def is_steady(self) -> bool:
        """Whether each of its pages but the start page gives one answer that can be meant, each time."""
        kind, extent = self.parts[0]
        whole = extent.since == 0 and extent.until == 1_000_000 and extent.nth == 1
        return len(self.parts) == 1 and kind.effect == "explicit" and whole and "/" not in extent.paths

    def part(self, path: str, request: int) -> Kind | None:
        for kind, extent in self.parts:
            if kind.answer and extent.hits(path, request):
                return kind
        return None


def drawn_disaster(dice: random.Random, site: Site) -> Disaster:
    """One kind at one place; now and then two, and now and then as many as a site in ruins shows."""
    parts = [(drawn_kind(dice, site), drawn_extent(dice, site))]
    more = dice.random()
    if more < 0.15:
        parts.append((drawn_kind(dice, site), drawn_extent(dice, site)))
    elif more > 0.93:
        return drawn_ruins(dice, site)
    return Disaster(parts)


def drawn_ruins(dice: random.Random, site: Site) -> Disaster:
    """Most pages are hit, and each kind hits few of them."""
    paths = sorted(set(site.pages) - {"/"})
    dice.shuffle(paths)
    count = min(len(paths), dice.randrange(6, 10))
    hit = paths[: int(len(paths) * dice.choice((0.5, 0.7, 0.9, 1)))]
    kinds: list[Kind] = []
    while len(kinds) < count:
        kind = drawn_kind(dice, site)
        if kind.answer and not kind.unlinks:
            kinds.append(kind)
    return Disaster([(kind, Extent("each its part", frozenset(hit[n::count]))) for n, kind in enumerate(kinds)])
