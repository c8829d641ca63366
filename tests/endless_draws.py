"""Endless sites and ordinary ones, drawn at random: ids of any form at any place in URLs, and what looks like them.

A trap has real pages, whose URLs get new ids on each page that links to them. An ordinary site has URLs of the same
forms, and each of its pages has a text, a picture or links of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple
from uuid import UUID

from endless_sites import Site, anchors, word

HEX, BASE32, LETTERS, DIGITS = "0123456789abcdef", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "abcdefghijklmnop", "0123456789"
URL_SAFE = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


class Drawn(NamedTuple):
    """A site, the names of its real pages, which a path has between two delimiters, and what it is.

    The pages of ``noisy`` of the names differ on each read.
    """

    site: Site
    names: frozenset[str]
    noisy: int
    said: str


def draw_id(chance: Random, form: int) -> str:
    """An id of one of nine forms."""
    if form == 0:
        return str(UUID(int=chance.getrandbits(128), version=4))
    if form == 1:
        return f"{chance.randrange(16**10):x}-{chance.randrange(10**5)}"
    alphabet = (HEX, BASE32, LETTERS, DIGITS, URL_SAFE, HEX.upper(), LETTERS)[form - 2]
    size = (32, 16, 8, 14, 22, 12, 24)[form - 2]
    return chance.choice(alphabet.strip("-_0")) + "".join(chance.choice(alphabet) for _ in range(size - 1))


IDS = ("{0}", "{0}", "{0}", "s-{0}", "(S({0}))", "sid={0}", "{0}.{1}", "{0}~")
NAMED_FORMS = (
    *("/{id}/{name}", "/{id}/{other}/{name}", "/{name}/{id}", "/{name}/{id}/", "/in/{name}/{id}/{other}"),
    *("/{id}/{name}/{other}", "/a/{id}/b/{name}", "/{id}/a/b/c/{name}.html", "/{name}.html;k={id}"),
    *("/{name};{id}/{other}", "/{id};v={other}/{name}", "/{name}?sid={id}", "/?p={name}&sid={id}", "/{name}?{id}"),
    *("/{id}/{name}?k={other}", "/{name}?a={id}&b={other}", "/{name}/{id}/{other}/{third}", "/do/{name}/x?t={id}&v=1"),
    *("/{id}/a/{other}/b/{name}", "/{id}/{other}/{third}/{name}/", "/index.php/{name}/s/{id}", "/{name}/x-{id}-y.html"),
)
NAMELESS_FORMS = (
    "/{id}/{other}",
    "/{id}",
    "/p/{id}",
    "/?k={id}",
    "/{id}?k={other}",
    "/c/{id}/{other}/",
    "/x?a={id}&b={other}",
)


@dataclass
class Ids:
    """Fresh ids for the links of a page."""

    chance: Random
    form: int
    dress: str
    per_link: bool
    one: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.one = self._drawn()

    def _drawn(self) -> dict[str, str]:
        bare = [draw_id(self.chance, self.form) for _ in range(6)]
        return {key: self.dress.format(*bare[2 * n : 2 * n + 2]) for n, key in enumerate(("id", "other", "third"))}

    def next(self) -> dict[str, str]:
        return self._drawn() if self.per_link else self.one


class Noise(NamedTuple):
    """What pages show by chance on each read: all a clock, or some of the names one of so many banners."""

    names: frozenset[str]
    banners: int
    has_clock: bool
    seed: int

    @classmethod
    def drawn(cls, draw: Random, names: list[str], seed: int) -> "Noise":
        chosen = draw.sample(names, len(names) // 5) if draw.random() < 0.4 else []
        return cls(frozenset(chosen), draw.choice([3, 10_000]), len(names) > 1 and draw.random() < 0.3, seed)

    def shown(self, name: str, request: int) -> str:
        chance = Random(f"{self.seed} {name} {request}")
        banner = f"<p>Today with {word(chance.randrange(self.banners))}." if name in self.names else ""
        minute = chance.randrange(1440)
        clock = f"<p>At {minute // 60}:{minute % 60:02} in {chance.random():.3f} s" if self.has_clock else ""
        return banner + clock


def trap(seed: int, *, nameless: bool = False) -> Drawn:
    """Real pages under URLs with ids that are new on every page."""
    draw = Random(f"trap {seed}")
    names = list(dict.fromkeys(f"{word(draw.randrange(10_000))}-{n}" for n in range(draw.choice([1, 2, 5, 15, 40]))))
    link = draw.choice(NAMELESS_FORMS if nameless else NAMED_FORMS)
    id_form, dress, per_link = draw.randrange(9), draw.choice(IDS), draw.random() < 0.5
    if "?" in link or ";" in link:
        dress = "{0}"
    move = draw.choice(["all", "chain", "ring", "tree"] if not nameless else ["all", "ring", "tree"])
    shows = draw.choice(["", "", "own", "new", "picture"])
    if shows == "own" and (nameless or len(names) == 1):
        shows = ""  # nothing tells this from a catalogue whose pages show their numbers
    label = draw.choice(["on", "name"])
    changes = draw.random() < 0.3  # with each request, not only with each URL
    static = ["/", *(f"/{word(n * 3)}" for n in range(draw.randrange(5)))]
    noise = Noise.drawn(draw, [] if nameless else names, seed)
    requests = [0]
    of_url: dict[str, int] = {}  # for URLs without a name: the page that they lead to
    own_id: dict[str, str] = {}

    def hrefs_of(path: str, at: int) -> tuple[str, dict[str, str]]:
        requests[0] += 1
        ids = Ids(Random(f"{seed} {path} {requests[0] if changes else ''}"), id_form, dress, per_link)
        last = len(names) - 1
        shown = {
            "all": range(last + 1),
            "chain": range(min(last, at + 1) + 1),
            "ring": [(at + 1) % (last + 1)],
            "tree": [*range(min(4, last + 1)), *(n for n in range(4 * at + 4, 4 * at + 8) if 4 <= n <= last)],
        }[move]
        hrefs = []
        for n in shown:
            own = ids.next()
            href = link.format(name=names[n], **own)
            if nameless and not per_link:  # a URL without a name has one page
                own = ids.one = ids._drawn()
                href = link.format(name=names[n], **own)
            of_url[href], own_id[href] = n, own["id"]
            said = f"to {names[n]}" if label == "name" else "on"
            hrefs.append(f'<li><a href="{href}">{said}</a>')
        return "".join(hrefs), ids.one

    def site(path: str) -> str | None:
        if path == "/":
            return "<h1>Home</h1>" + anchors(static) + hrefs_of(path, -1)[0]
        if path in static:
            return f"<h1>{path}</h1><p>What {path[1:]} is." + anchors(static)
        at = of_url.get(path)
        if at is None:
            return None
        hrefs, fresh = hrefs_of(path, at)
        told = {
            "own": f"<p>Your session: {own_id[path]}</p>",
            "new": f"<p>Next: {fresh['id']}</p>" if per_link is False else "",
            "picture": f'<img src="/i/{fresh["id"]}.png">' if per_link is False else "",
        }.get(shows, "")
        told += noise.shown(names[at], requests[0])
        return f"<h1>{names[at]}</h1><p>All about {names[at]}.{told}" + anchors(static) + hrefs

    said = (
        f"trap {seed}: {link} id {id_form} {dress} {'per link' if per_link else 'per page'} {move} shows {shows or '-'}"
    )
    said = f"{said} label {label} {len(names)} names{' changes' if changes else ''}, {len(noise.names)} noisy"
    said += ", with a clock" if noise.has_clock else ""
    return Drawn(site, frozenset(names), len(noise.names), said)


def names_read(drawn: Drawn, read: list[str]) -> frozenset[str]:
    """The real pages among these paths, by what the site answers."""
    found = set()
    for path in read:
        body = drawn.site(path)
        if body and "<p>All about " in body:
            found.add(body.partition("<p>All about ")[2].partition(".")[0])
    return frozenset(found)


# ------------------------------------------------------------------------------------------------------- ordinary

Ordinary = tuple[Site, frozenset[str]]
"""A site, and the paths of its pages that have something of their own."""


def _opaque(draw: Random, count: int) -> list[str]:
    form, dress = draw.randrange(9), draw.choice(["{0}", "{0}", "s-{0}", "{0}~"])
    return [dress.format(draw_id(draw, form)) for _ in range(count)]


OPAQUE_FORMS = ("/p/{0}", "/{0}", "/d/{0}/view", "/watch?v={0}", "/{0}.html", "/x/y/{0}/", "/item?id={0}&lang=en")


def tree(draw: Random) -> Ordinary:
    """Pages with opaque URLs, each linking only to pages below it, with a text or a picture of its own."""
    count, width = draw.randrange(60, 300), draw.choice([1, 2, 3, 10])
    form, own = draw.choice(OPAQUE_FORMS), draw.choice(["text", "picture"])
    paths = [form.format(each) for each in _opaque(draw, count)]
    back = draw.choice(["", "home", "parent", "self"])
    at = {path: n for n, path in enumerate(paths)}

    def site(path: str) -> str | None:
        if path == "/":
            return "<h1>Home</h1>" + anchors(paths[:1])
        if path not in at:
            return None
        n = at[path]
        below = paths[n * width + 1 : n * width + width + 1]
        more = {"": [], "home": ["/"], "parent": [paths[(n - 1) // width] if n else "/"], "self": [path]}[back]
        said = f"<p>It is {word(n * 71)}." if own == "text" else f'<img src="/i/{word(n * 71)}.jpg">'
        return f"<h1>A thing</h1>{said}" + anchors([*more, *below])

    return site, frozenset(paths)


def cursors(draw: Random) -> Ordinary:
    """Lists whose pages have an opaque cursor and no text of their own, with items that have one."""
    count, a_page = draw.randrange(40, 400), draw.choice([1, 2, 5, 20])
    pages = -(-count // a_page)
    form = draw.choice(["/list?cursor={0}", "/list/{0}", "/list?after={0}&n=20", "/feed/{0}/"])
    lists = [form.format(each) for each in _opaque(draw, pages)]
    items = [draw.choice(OPAQUE_FORMS).replace("/", "/i/", 1).format(each) for each in _opaque(draw, count)]
    is_slow = draw.random() < 0.3  # an item is one click further away, behind a page of its own
    at, of_list = {path: n for n, path in enumerate(items)}, {path: n for n, path in enumerate(lists)}
    gates = {f"/go{path}": n for n, path in enumerate(items)} if is_slow else {}

    def site(path: str) -> str | None:
        if path == "/":
            return "<h1>Home</h1>" + anchors(lists[:1])
        if path in of_list:
            n = of_list[path]
            shown = range(n * a_page, min(count, (n + 1) * a_page))
            hrefs = [f"/go{items[each]}" if is_slow else items[each] for each in shown]
            return "<h1>A list</h1>" + anchors([*hrefs, *lists[n + 1 : n + 2]])
        if path in gates:
            return "<h1>Are you of age?</h1>" + anchors([items[gates[path]]])
        return f"<h1>An item</h1><p>Made of {word(at[path] * 53)}." + anchors(["/"]) if path in at else None

    return site, frozenset([*items, *lists[:1]])


def profiles(draw: Random) -> Ordinary:
    """People with opaque URLs and no text of their own, each of whom leads to pages that have one."""
    count = draw.randrange(60, 200)
    people, posts = _opaque(draw, count), _opaque(draw, count)
    is_below, hub = draw.random() < 0.5, draw.choice([1, count])
    person = [f"/u/{each}" for each in people]
    post = [f"/u/{each}/posts" if is_below else f"/posts/{other}" for each, other in zip(people, posts, strict=True)]
    at = {path: n for n, path in enumerate(person)}
    of_post = {path: n for n, path in enumerate(post)}

    def site(path: str) -> str | None:
        if path == "/":
            return "<h1>All</h1>" + anchors(person[:hub])
        if path in at:
            n = at[path]
            return "<h1>A person</h1>" + anchors([post[n], *person[n + 1 : n + 2]])
        return f"<p>They say {word(of_post[path] * 31)}." + anchors(["/"]) if path in of_post else None

    return site, frozenset(post)


def catalogue(draw: Random) -> Ordinary:
    """Parts that differ only in an opaque number, which their pages show, linked with their neighbors."""
    count = draw.randrange(60, 200)
    numbers = _opaque(draw, count)
    form = draw.choice(OPAQUE_FORMS)
    paths = [form.format(each) for each in numbers]
    at = {path: n for n, path in enumerate(paths)}
    first = draw.choice([1, 10, count])
    related = draw.choice([2, 4])

    def site(path: str) -> str | None:
        if path == "/":
            return "<h1>Parts</h1>" + anchors(paths[:first])
        if path not in at:
            return None
        n = at[path]
        near = [*paths[max(0, n - related) : n], *paths[n + 1 : n + 1 + related]]
        return f"<h1>Part</h1><p>Part {numbers[n]}, 4.20 each." + anchors(["/", *near])

    return site, frozenset(paths)


def editions(draw: Random) -> Ordinary:
    """The same documents in many versions or languages; some pages differ between them."""
    count, docs = draw.randrange(5, 25), [f"{word(n * 29)}s" for n in range(draw.randrange(5, 20))]
    names = draw.choice(
        [[f"v{n}.{n * 7 % 10}" for n in range(count)], [word(n * 7)[:5] for n in range(count)], _opaque(draw, count)]
    )
    form = draw.choice(["/{0}/{1}", "/docs/{0}/{1}/", "/{1}/{0}", "/{1}?v={0}", "/d;lang={0}/{1}"])
    known = {form.format(name, doc): (n, doc) for n, name in enumerate(names) for doc in docs}
    own = {path for path in known if draw.random() < 0.3}
    beside = draw.choice([1, count])

    def site(path: str) -> str | None:
        if path == "/":
            return "<h1>Documents</h1>" + anchors(form.format(each, docs[0]) for each in names[:2])
        if path not in known:
            return None
        n, doc = known[path]
        others = [form.format(each, doc) for each in names[max(0, n - beside) : n + beside + 1]]
        said = f"<p>New: {word(n * 31 + len(doc))} {word(docs.index(doc))}." if path in own else ""
        return f"<h1>{doc}</h1><p>How {doc} works.{said}" + anchors(
            [*others, *(form.format(names[n], each) for each in docs)]
        )

    return site, frozenset(own)


def diary(draw: Random) -> Ordinary:
    """Weeks without a text, each leading to the next, some with an event that has a page with a text."""
    count = draw.randrange(60, 200)
    weeks = draw.choice(
        [
            [f"/w/{2020 + n // 52}-{n % 52 + 1:02}" for n in range(count)],
            [f"/w/{each}" for each in _opaque(draw, count)],
        ]
    )
    rate = draw.choice([2, 5])
    events = {f"/e/{word(n * 13)}-{n}": n for n in range(0, count, rate)}
    of_week = {n: path for path, n in events.items()}
    at = {path: n for n, path in enumerate(weeks)}

    def site(path: str) -> str | None:
        if path == "/":
            return "<h1>Diary</h1>" + anchors(weeks[:1])
        if path in at:
            n = at[path]
            return "<h1>A week</h1>" + anchors([*([of_week[n]] if n in of_week else []), *weeks[n + 1 : n + 2], "/"])
        return f"<p>We meet at {word(events[path] * 17)}." + anchors(["/"]) if path in events else None

    return site, frozenset(events)


def members(draw: Random) -> Ordinary:
    """People with opaque URLs and the same tabs, each tab leading to another person's; some people wrote a text."""
    count = draw.randrange(60, 200)
    people = _opaque(draw, count)
    tabs = ["about", "posts", "likes", "friends"][: draw.choice([1, 2, 4])]
    form = draw.choice(["/u/{0}/{1}", "/{1}/{0}", "/{0}/{1}/", "/u?id={0}&tab={1}", "/u/{0};{1}"])
    at = {form.format(name, tab): (n, tab) for n, name in enumerate(people) for tab in tabs}
    is_paged = draw.random() < 0.5  # the tabs lead to those of the next person, not to their own neighbors
    # Where fewer wrote a text, or on some paged tabs alone, nothing tells the site from a trap.
    rates = [draw.choice([0.3, 0.9])] * len(tabs) if is_paged else [draw.choice([0.3, 0.6, 0.9]) for _ in tabs]
    own = {(n, tab) for n in range(count) for tab, rate in zip(tabs, rates, strict=True) if draw.random() < rate}
    counts = not is_paged and count * len(tabs) < 400 and draw.random() < 0.3  # figures are no new content for long
    about = "<p>Members tell others of themselves on this page, and whoever wants to may write to them here."

    def site(path: str) -> str | None:
        if path == "/":
            return "<h1>All</h1>" + anchors(form.format(people[n], tab) for n in range(0, count, 20) for tab in tabs)
        if path not in at:
            return None
        n, tab = at[path]
        told = f"I have {n} friends" if counts else f"I am {word(n * 31 + len(tab))}"
        said = f"<p>{told}." if (n, tab) in own else ""
        near = people[n + 1 : n + 2] if is_paged else people[n : n + 2]
        return f"<h1>{tab}</h1>{about}{said}" + anchors(form.format(each, tab) for each in near for tab in tabs)

    return site, frozenset(path for path, which in at.items() if which in own)


ORDINARY: tuple[Callable[[Random], Ordinary], ...] = (tree, cursors, profiles, catalogue, editions, diary, members)


def ordinary(seed: int) -> tuple[Site, frozenset[str], str]:
    """An ordinary site, and the paths that must be listed."""
    draw = Random(f"ordinary {seed}")
    kind = draw.choice(ORDINARY)
    site, paths = kind(draw)
    return site, paths, f"ordinary {seed}: {kind.__name__}, {len(paths)} pages of their own"
